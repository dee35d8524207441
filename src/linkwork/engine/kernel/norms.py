"""Numbers whose norm must be 1: quaternions, and (cos, sin) of angles.

A norm that differs from 1 by rounding is left as it is; one that drifted, as integrators and
estimators let it, is made 1; one further away is refused. The C extension does the same with the
same limits, which it is given from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.engine.symbolic.arrays import Array

TOLERANCE = 1e-3  # a norm further than this from 1 is refused: no integrator drifts that far

Span = tuple[int, int, int]  # index of an input, offset of the first number in a row, count


def limits(dtype: Any) -> tuple[float, float]:
    """How far a sum of squares may be from 1 by rounding; how far a norm may drift from 1."""
    return 8 * float(np.finfo(dtype).eps), TOLERANCE


def norms(rows: Array, span: Span) -> Array:
    """The norm of a span of each row; infinite on overflow."""
    return np.sqrt(_squares(rows, span))


def normalized(
    rows: Sequence[Array], spans: Sequence[Span], dtype: Any
) -> tuple[Array, ...] | None:
    """Rows with unit norms, copied where they had drifted; None if a norm is too far from 1."""
    results, (noise, tolerance) = list(rows), limits(dtype)
    for span in spans:
        index, offset, count = span
        squares = _squares(results[index], span)
        norm = np.sqrt(squares)
        with np.errstate(invalid="ignore"):
            drifted = np.abs(squares - 1.0) > noise
            if (np.abs(norm - 1.0) > tolerance).any():
                return None
        if drifted.any():
            if results[index] is rows[index]:
                results[index] = rows[index].copy()
            results[index][drifted, offset : offset + count] /= norm[drifted, None]
    return tuple(results)


def _squares(rows: Array, span: Span) -> Array:
    _, offset, count = span
    numbers = rows[:, offset : offset + count].astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # NaN and infinity pass, as anywhere
        return (numbers * numbers).sum(axis=1)
