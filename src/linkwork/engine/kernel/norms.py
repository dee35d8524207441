"""Elements whose norm must be 1: quaternions, and (cos, sin) of angles.

Elements whose norm is 1 up to rounding are left unchanged. If their norm has drifted, as in
integrators and estimators, they are normalized. If it is further from 1, they are rejected. The C
extension does the same, with the limits defined here. If one is infinite, all become NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.engine.symbolic.arrays import Array

TOLERANCE = 1e-3  # largest accepted distance of a norm from 1; larger than the drift of integrators

Span = tuple[int, int, int]  # index of an input, offset of the first element in a row, count


def limits(dtype: Any) -> tuple[float, float]:
    """Return the rounding error of a sum of squares, and the largest drift of a norm from 1."""
    return 8 * float(np.finfo(dtype).eps), TOLERANCE


def norms(rows: Array, span: Span) -> Array:
    """Compute the norm of a span of each row; infinite on overflow, NaN if one is not finite."""
    return np.sqrt(_squares(rows, span))


def normalized(
    rows: Sequence[Array], spans: Sequence[Span], dtype: Any
) -> tuple[Array, ...] | None:
    """Normalize the rows that have drifted, in copies; None if a norm is too far from 1."""
    results, (noise, tolerance) = list(rows), limits(dtype)
    for span in spans:
        index, offset, count = span
        squares = _squares(results[index], span)
        norm = np.sqrt(squares)
        with np.errstate(invalid="ignore"):
            drifted = ~(np.abs(squares - 1.0) <= noise)  # also NaN
            if (np.abs(norm - 1.0) > tolerance).any():
                return None
        if drifted.any():
            if results[index] is rows[index]:
                results[index] = rows[index].copy()
            results[index][drifted, offset : offset + count] /= norm[drifted, None]
    return tuple(results)


def _squares(rows: Array, span: Span) -> Array:
    _, offset, count = span
    elements = rows[:, offset : offset + count].astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # NaN and infinity are allowed
        squares = (elements * elements).sum(axis=1)
    return np.where(np.isfinite(elements).all(axis=1), squares, np.nan)
