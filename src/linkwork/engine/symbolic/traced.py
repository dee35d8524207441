"""Traced arrays, and NumPy's functions on them.

`ObjectArray`  an array of traced values, on which NumPy's functions work as on numbers
`where`        `np.where` with a condition that may be traced
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from importlib import import_module
from operator import index
from typing import Any, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwork.engine.symbolic.entries import COMPARISONS, FUNCTIONS, METHODS, Traced, select
from linkwork.errors import ArgumentError

Array: TypeAlias = NDArray[Any]

_FOREIGN = ("jax", "jaxlib", "torch", "casadi", "tensorflow", "cupy", "dask")

# Replacements of NumPy functions on traced arrays. `linkwork.linalg` adds its functions.
REPLACEMENTS: dict[Any, Callable[..., Any]] = {}


def where(condition: Any, yes: Any, no: Any) -> Array:
    """Choose entries from two arrays; condition and arrays may be traced."""
    parts = [unwrapped(np.asarray(part)) for part in (condition, yes, no)]
    if any(part.dtype == object for part in parts):
        return _as_object_array(np.frompyfunc(select, 3, 1)(*parts))
    return np.where(condition, yes, no)


def _numpy_select(conditions: Sequence[Any], choices: Sequence[Any], default: Any = 0) -> Array:
    """`np.select` for traced arrays: the choice of the first condition that holds."""
    result = default
    for condition, choice in reversed([*zip(conditions, choices, strict=True)]):
        result = where(condition, choice, result)
    return result


REPLACEMENTS |= {np.where: where, np.select: _numpy_select}


class ObjectArray(np.ndarray[Any, np.dtype[Any]]):
    """An array of traced values and numbers, on which NumPy's functions work as on numbers.

    A comparison returns an array of conditions, and indexing always returns an array. A function
    that cannot be traced raises an `ArgumentError`.
    """

    def __getitem__(self, key: Any) -> Any:
        return _as_object_array(super().__getitem__(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        is_entry = isinstance(value, ObjectArray) and value.ndim == 0
        super().__setitem__(key, value.item() if is_entry else value)

    def __bool__(self) -> bool:
        for entry in self.flat:
            if isinstance(entry, Traced):
                return bool(entry)
        return super().__bool__()

    def __repr__(self) -> str:
        return f"<traced array {self.shape}>" if is_traced(self) else super().__repr__()

    __str__ = __repr__

    def dot(self, b: Any, out: Any = None) -> Any:
        """Return `np.dot(self, b)`."""
        return np.dot(self, b, out=out)

    def round(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, decimals: SupportsIndex = 0, out: Any = None
    ) -> Any:
        """Round to a number of decimals, as `np.round`."""
        factor = 10.0 ** index(decimals)
        return np.divide(np.rint(self * factor), factor, out=out)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        out = options.pop("out", None)
        for value in inputs:
            package = foreign_package(value)
            if package:
                text = f"a value of {package} cannot be traced"
                raise ArgumentError(f"{text}; convert it with np.asarray(...)")
        raw = [unwrapped(np.asarray(x)) if isinstance(x, np.ndarray) else x for x in inputs]
        function = FUNCTIONS.get(ufunc.__name__)
        try:
            with np.errstate(all="ignore"):  # operations on constants may overflow
                if function is None:
                    result = getattr(ufunc, method)(*raw, **options)
                elif method == "reduce":
                    result = _reduced(function, *raw, **options)
                else:
                    result = getattr(np.frompyfunc(function, ufunc.nin, 1), method)(*raw)
        except TypeError as error:
            if function and isinstance(error, ArgumentError):
                raise
            raise _not_traced("numpy", ufunc.__name__, error, inputs) from error
        if out is None:
            return (
                _conditions(result) if ufunc.__name__ in COMPARISONS else _as_object_array(result)
            )
        out[0][...] = result
        return out[0]

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func.__module__ == "numpy.linalg":
            import_module("linkwork.linalg")  # a higher layer, which adds its functions
        replacement = REPLACEMENTS.get(func)
        if replacement:
            return replacement(*args, **kwargs)
        try:
            result = super().__array_function__(func, types, args, kwargs)
        except (TypeError, AttributeError) as error:
            raise _not_traced(func.__module__, func.__name__, error) from error
        if isinstance(result, (tuple, list)):
            return type(result)(_as_object_array(part) for part in result)
        return _as_object_array(result)


def is_traced(value: Any) -> bool:
    """Return whether a value, array or nested list contains a traced value."""
    if isinstance(value, (list, tuple)):
        return any(type(part) is not float and is_traced(part) for part in value)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return any(map(is_traced, value.flat))
    return isinstance(value, Traced)


def foreign_package(value: Any) -> str | None:
    """Return the name of the array package that a value belongs to; None for NumPy."""
    package = type(value).__module__.partition(".")[0]
    return {"jaxlib": "jax"}.get(package, package) if package in _FOREIGN else None


def unwrapped(array: Array) -> Array:
    """Replace entries that are 0-d arrays by their items; `np.array` may create such entries."""
    if array.dtype != object or not any(isinstance(entry, np.ndarray) for entry in array.flat):
        return array
    bare = [entry.item() if isinstance(entry, np.ndarray) else entry for entry in array.flat]
    return np.array([*bare, None], dtype=object)[:-1].reshape(array.shape)


def _as_object_array(value: Any) -> Any:
    """Convert a traced value or an object array to an `ObjectArray`; return others unchanged."""
    if isinstance(value, np.ndarray):
        return unwrapped(value).view(ObjectArray) if value.dtype == object else value
    return np.asarray(value, object).view(ObjectArray) if isinstance(value, Traced) else value


def _conditions(value: Any) -> Any:
    """Convert the result of a comparison to conditions, or to booleans if no entry is traced."""
    array = np.asarray(value, object)
    return _as_object_array(array) if is_traced(array) else array.astype(bool)[()]


def _not_traced(
    module: str, name: str, error: Exception, inputs: Sequence[Any] = ()
) -> ArgumentError:
    """Build the error for a function that cannot be traced, with a hint."""
    why = str(error) if isinstance(error, ArgumentError) else "it accepts only numbers"
    for value in inputs:
        if value is None or isinstance(value, (str, bytes, complex, dict)):
            why = f"expected real numbers, got {type(value).__name__}"
    if module == "numpy.linalg":
        names = sorted(f.__name__ for f in REPLACEMENTS if f.__module__ == module)
        why = f"it accepts only numbers; linkwork.linalg has {', '.join(names)}"
    return ArgumentError(f"{module}.{name} cannot be traced: {why}")


def _reduced(
    function: Callable[..., Any], array: Array, axis: Any = 0, keepdims: Any = False, **_: Any
) -> Any:
    """Reduce an array along axes with a function of two entries."""
    axes = range(array.ndim) if axis is None else np.atleast_1d(axis) % max(array.ndim, 1)
    moved = np.moveaxis(array, tuple(axes), range(len(axes)))
    rows = moved.reshape(-1, *moved.shape[len(axes) :])
    total = np.asarray(reduce(np.frompyfunc(function, 2, 1), rows), object)
    return np.expand_dims(total, tuple(axes)) if keepdims else total


def _as_method(function: np.ufunc) -> Callable[[ObjectArray], Any]:
    def method(array: ObjectArray) -> Any:
        return function(array)

    return method


# NumPy's functions of one number call the method of the same name of each entry of an object array.
# An entry may be a 0-d traced array, so `ObjectArray` needs these methods.
_ONE_ENTRY = [name for name, arity in METHODS.items() if arity == 1]
for _name in ("tan", "arctan", "arcsin", "arccos", "sinh", "cosh", "tanh", *_ONE_ENTRY):
    setattr(ObjectArray, _name, _as_method(getattr(np, _name)))
