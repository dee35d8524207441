"""Functions in single precision that keep the digits which their inputs have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linkwork.engine.codegen.c.statements import FLOAT
from linkwork.export.compensated import compensated
from linkwork.export.requests import Exported
from linkwork.export.rounding import critical_steps
from linkwork.export.samples import DIFFERENCE, errors_of_rounding, sample_of
from linkwork.kindyn import KinDyn

# States at which errors are measured, others than those at which the C code is checked, and how
# many of them, with the largest errors, are looked at more closely.
STATES, WORST = 256, 32
# Other states may be worse: so more than half of what is allowed is mended, down to a quarter.
TOO_MUCH, AIM = DIFFERENCE["float"] / 2, DIFFERENCE["float"] / 4
_SEED = 1
_TRIES = 3  # each aims at half of what the one before did


def with_enough_digits(kd: KinDyn, one: Exported) -> Exported:
    """The same function for single precision, with those roundings corrected that matter.

    Most functions come back as they are. Small differences of large numbers, as in the dynamics of
    a light base that carries a heavy arm, are computed with more digits than a float has.
    """
    sample = sample_of(kd, one, FLOAT, rows=STATES, seed=_SEED)
    errors = errors_of_rounding(one, sample.inputs, sample.outputs, FLOAT)
    found, left = one, float(errors.max())
    if left <= TOO_MUCH or one.function.program.loops:  # steps in loops have no pairs
        return one
    worst = np.argsort(-errors)[:WORST]
    inputs = [part[worst] for part in sample.inputs]
    for aim in (AIM / 2**k for k in range(_TRIES)):
        critical = critical_steps(one.function, inputs, share=aim / float(errors.max()))
        found = replace(one, function=compensated(one.function, critical))
        left = float(errors_of_rounding(found, sample.inputs, sample.outputs, FLOAT).max())
        if left <= AIM:
            break
    return found
