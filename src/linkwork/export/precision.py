"""Functions in single precision that keep the digits which their inputs have."""

from __future__ import annotations

from dataclasses import replace

from linkwork.export.compensated import compensated
from linkwork.export.function import FLOAT
from linkwork.export.requests import Exported
from linkwork.export.rounding import critical_steps
from linkwork.export.samples import DIFFERENCE, difference, in_numpy, sample_of
from linkwork.kindyn import KinDyn

# States at which roundings are weighed. Others may be worse: so of what is allowed, no more than a
# tenth is aimed at. These are other states than those at which the C code is checked.
STATES = 64
AIM = DIFFERENCE["float"] / 10
_SEED = 1
_TRIES = 3  # each aims at half of what the one before did


def with_enough_digits(kd: KinDyn, one: Exported) -> Exported:
    """The same function for single precision, with those roundings corrected that matter.

    Most functions come back as they are. Small differences of large numbers, as in the dynamics of
    a light base that carries a heavy arm, are computed with more digits than a float has.
    """
    sample = sample_of(kd, one, FLOAT, rows=STATES, seed=_SEED)
    apart = difference(in_numpy(one, sample.inputs, FLOAT), sample.outputs)
    found, left = one, apart
    for aim in (AIM / 2**k for k in range(_TRIES)):
        if left <= 2 * AIM:
            break
        critical = critical_steps(one.function, sample.inputs, share=min(1.0, aim / apart))
        found = replace(one, function=compensated(one.function, critical))
        left = difference(in_numpy(found, sample.inputs, FLOAT), sample.outputs)
    return found
