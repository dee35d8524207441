"""Numbers of a robot's parts: Python floats from the start, whatever the caller wrote them as.

A part compares, hashes and prints by its numbers, and compiled code is kept under them. So an
integer, a NumPy scalar or an array of no dimension becomes a float when the part is made, and
everything that is not a real number is rejected.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from numbers import Real
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array, is_masked
from linkwork.errors import ArgumentError, model_error, shown

T = TypeVar("T")
Triple: TypeAlias = tuple[float, float, float]


def number(value: object, what: str) -> float:
    """Return one real number as a float, infinity and NaN included, or raise.

    Args:
        value: an int, a float, or any other real number, such as a NumPy scalar or 0-d array.
        what: its name, for the message.

    Raises:
        ModelError: it is no real number, or too large for a float.
    """
    if type(value) is float:
        return value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not isinstance(value, Real) or isinstance(value, bool):
        raise model_error(f"{what}: expected a number, got {shown(value)}")
    try:
        return float(value)
    except OverflowError:
        raise model_error(f"{what}: the number is too large") from None


def finite(value: object, what: str) -> float:
    """Return one finite real number as a float, or raise."""
    converted = number(value, what)
    if not math.isfinite(converted):
        raise model_error(f"{what} {converted} is not finite")
    return converted


def size(value: object, what: str) -> float:
    """Return a finite number of at least 0 as a float, or raise."""
    converted = finite(value, what)
    if converted < 0.0:
        raise model_error(f"{what}: expected at least 0, got {converted!r}")
    return converted


def finite_numbers(values: object, count: int, what: str) -> tuple[float, ...]:
    """Return `count` finite real numbers as floats, or raise."""
    if not isinstance(values, Iterable) or isinstance(values, (str, bytes)):
        raise model_error(f"{what}: expected a list of {count} numbers, got {shown(values)}")
    if isinstance(values, np.ndarray) and values.ndim == 0:
        raise model_error(f"{what}: expected a list of {count} numbers, got {values[()]!r}")
    converted = tuple(number(value, what) for value in values)
    if len(converted) != count:
        raise model_error(f"{what}: expected {count} numbers, got {len(converted)}")
    if not all(map(math.isfinite, converted)):
        raise model_error(f"{what}: {converted} is not finite")
    return converted


def triple(values: object, what: str) -> Triple:
    """Return three finite real numbers as floats, or raise."""
    x, y, z = finite_numbers(values, 3, what)
    return (x, y, z)


def as_floats(values: ArrayLike, what: str) -> Array:
    """Convert numbers to an array of floats; raise if they are not numeric."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):  # rows of several lengths
        raise model_error(f"{what}: expected numbers, got {shown(values)}") from None
    if is_masked(values):
        raise model_error(f"{what}: masked elements have no value; use filled() to give one")
    if array.dtype.kind in "fiu":
        return np.asarray(array, dtype=np.float64)
    if array.dtype.kind == "O":
        entries = array.ravel().tolist()
        if all(isinstance(entry, Real) for entry in entries):
            flat = [number(entry, what) for entry in entries]
            return np.array(flat, dtype=np.float64).reshape(array.shape)
    raise model_error(f"{what}: expected numbers, got {shown(values)}")


def instance(
    value: Any, kind: type[T], what: str, error: Callable[[str], Exception] = model_error
) -> T:
    """Return an object of a type; raise if it has another type.

    Args:
        value: the object.
        kind: the type.
        what: its name, for the message.
        error: the error that is raised, with the message.
    """
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise error(f"{what}: expected {article} {kind.__name__}, got {shown(value)}")
    return value


def argument(value: Any, kind: type[T], name: str) -> T:
    """Return an argument of a type; raise an `ArgumentError` if it has another type."""
    return instance(value, kind, name, ArgumentError)


def text(value: object, what: str) -> str:
    """Return a string as a Python str, which `numpy.str_` is not; raise for others."""
    return str.__str__(instance(value, str, what))


def settle(part: object, **values: object) -> None:
    """Set fields of a frozen part while it is being made."""
    for name, value in values.items():
        object.__setattr__(part, name, value)
