"""The two ways in which iDynTree gives a result: as a value, or in an array that the caller has."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.compat.idyntree.arrays import MatrixDynSize, Numbers, VectorDynSize, made
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ShapeError, shown


def give(value: Array, out: Any, kind: type[Numbers]) -> Any:
    """The value as an array of a class; or True, after writing it to `out`."""
    if out is None:
        return made(kind, value)
    write(value, out)
    return True


def give_vector(value: Array, out: Any) -> Any:
    """The same for a vector of any length."""
    return give(value, out, VectorDynSize)


def give_matrix(value: Array, out: Any) -> Any:
    """The same for a matrix of any shape."""
    return give(value, out, MatrixDynSize)


def write(value: Array, out: Any) -> None:
    """Write to an array of the caller's; iDynTree's classes of any size take the size needed.

    Raises:
        ArgumentError: it is no array.
        ShapeError: it has another shape.
    """
    if not isinstance(out, np.ndarray):
        raise ArgumentError(f"output: expected a NumPy array to write to, got {shown(out)}")
    if out.shape != value.shape:
        if not (isinstance(out, (VectorDynSize, MatrixDynSize)) and out.ndim == value.ndim):
            raise ShapeError(f"output: expected {value.shape}, got {out.shape}")
        out.resize(*value.shape)
    out[...] = value
