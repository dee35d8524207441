"""`linkwork.compile`: compilation of users' functions of arrays.

    @linkwork.compile(x=(3,), A=(3, 3))
    def f(x, A):
        return A @ x

    f(x, A)          # (..., 3)
    f.jacobian("x")  # a function that returns d f / d x, (..., 3, 3)

Tracing      the function is run once, when it is decorated, on arrays of expressions; the
             operations are recorded and compiled. It sees one row, without batch axes
Supported    operators, indexing, `@`, NumPy's functions of arrays and elements, `np.where`,
             `np.linalg.solve` and others of `linkwork.linalg`, `linkwork.spatial`, methods of
             `KinDyn` and all other kernels; loops with `linkwork.repeat`
Unsupported  branches that depend on a value (use `np.where`); functions that need numeric values,
             such as `np.linalg.svd` or `np.sort`
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from typing import Any

import numpy as np

from linkwork.engine.kernel.arguments import Signature
from linkwork.engine.kernel.extension import usual_mode
from linkwork.engine.kernel.kernel import OPTIONS, Kernel
from linkwork.engine.symbolic import linalg
from linkwork.engine.symbolic.arrays import Array, ObjectArray
from linkwork.engine.symbolic.node import Expr
from linkwork.engine.symbolic.program import Port, Program
from linkwork.engine.symbolic.traced import foreign_package, unwrapped
from linkwork.engine.symbolic.tracing import trace
from linkwork.errors import ArgumentError, LinkworkError, ShapeError, name_not_found, shown

_SHOWN_AS = {  # replacements for the names of our classes in messages of other packages
    "linkwork.engine.symbolic.traced.ObjectArray": "traced array",
    "linkwork.engine.symbolic.node.Expr": "traced value",
    "ObjectArray": "traced array",
    "Expr": "traced value",
}
_NO_OBJECTS = {  # hints, by a part of a message of NumPy or SciPy about object arrays
    "Cannot cast ufunc": "numpy.linalg does not accept lists or np.array(...) of traced values; use"
    " linkwork.linalg, or create arrays with np.stack",
    "has no callable": "NumPy's functions do not accept np.array(...) of traced values and numbers;"
    " create arrays with np.stack",
    "object arrays are not supported": "SciPy accepts only numbers; linkwork.linalg has"
    f" {', '.join(linalg.NAMES)}",
}


class CompiledFunction(Kernel):
    """A compiled function of arrays, with its derivatives.

    Called inside another function that is being traced, it becomes part of that function.
    """

    def __init__(self, name: str, program: Program, dtype: type[np.floating[Any]]) -> None:
        signature = Signature(name, program.inputs, program.outputs)
        super().__init__(signature, lambda: program, dtype=dtype)
        self.__name__ = self.__qualname__ = name

    def __reduce__(self) -> Any:
        """Pickle by name, as Python pickles functions."""
        return self.__qualname__


def compile_function(
    *positional: Any, dtype: Any = np.float64, **shapes: int | tuple[int, ...]
) -> Callable[[Callable[..., Any]], CompiledFunction]:
    """Decorator that compiles a function of NumPy arrays.

    The function is traced when it is decorated: it runs once with symbolic arguments, and its
    operations are recorded. It is compiled at the first call.

    Args:
        positional: not allowed; shapes are passed by name.
        dtype: numpy.float64 or numpy.float32.
        shapes: the shape of each argument without batch axes; () for a scalar. An argument without
            a shape is a constant with its default value.

    Returns:
        A decorator that returns a `CompiledFunction`. Each argument of the compiled function may
        have any leading batch axes, broadcast as in NumPy; `out` and `threads` are as in every
        `Kernel`. If the function returns a tuple, so does the compiled function.
    """
    if positional:
        raise ArgumentError(_missing_shapes(positional[0]))
    if dtype not in (np.float64, np.float32):
        raise ArgumentError(f"dtype: expected float64 or float32, got {shown(dtype)}")
    checked_shapes = {name: _shape(name, shape) for name, shape in shapes.items()}

    def decorate(function: Callable[..., Any]) -> CompiledFunction:
        name = getattr(function, "__name__", type(function).__name__)
        if isinstance(function, np.ufunc):  # which has arguments other than arrays
            text = f"compile: expected a Python function, got np.{name}"
            raise ArgumentError(f"{text}; write lambda {', '.join(shapes)}: np.{name}(...)")
        inputs = _inputs(name, function, checked_shapes)
        program = _traced(name, function, inputs)
        compiled = CompiledFunction(name, program, np.dtype(dtype).type)
        update_wrapper(compiled, function, updated=())  # keeps the attributes of the kernel
        return compiled

    return decorate


def _missing_shapes(value: Any) -> str:
    """Build the message for shapes that are not passed by name, as in a bare decorator."""
    names: list[str] = []
    if inspect.isfunction(value):
        parameters = inspect.signature(value).parameters.values()
        names = [p.name for p in parameters if p.default is p.empty]
        text = f"{value.__name__} is decorated without the shapes of its arguments"
    else:
        text = f"expected the shapes of arguments by name, got {shown(value)}"
    shapes = ", ".join(f"{name}=(3,)" for name in names or ["x"])
    return f"compile: {text}; write @linkwork.compile({shapes}), with () for a number"


def _shape(name: str, shape: Any) -> tuple[int, ...]:
    if name in OPTIONS:
        raise ArgumentError(f"{name!r} is an option of every call, and cannot be an input")
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    for size in sizes:
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 0:
            raise ArgumentError(f"{name}: expected a shape such as (3,), got {shown(shape)}")
    return tuple(int(size) for size in sizes)


def _inputs(
    name: str, function: Callable[..., Any], shapes: Mapping[str, tuple[int, ...]]
) -> list[Port]:
    """Return the arguments of a function that have a shape, in the order of the function."""
    if not callable(function):
        raise ArgumentError(f"compile: expected a function, got {type(function).__name__}")
    parameters = inspect.signature(function).parameters
    for argument in shapes:
        if argument not in parameters:
            raise ArgumentError(str(name_not_found(f"argument of {name}", argument, parameters)))
    inputs: list[Port] = []
    for parameter in parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ArgumentError(f"{name}: *{parameter.name} has no shape; list each argument")
        if parameter.name in shapes:
            inputs.append(Port(parameter.name, shapes[parameter.name]))
        elif parameter.default is parameter.empty:
            text = f"{name}: argument {parameter.name!r} has no shape"
            raise ArgumentError(f"{text}; write @linkwork.compile({parameter.name}=(3,), ...)")
    return inputs


@usual_mode
def _traced(name: str, function: Callable[..., Any], inputs: Sequence[Port]) -> Program:
    """Trace a function; error messages contain its name."""

    def run(*arrays: Array) -> Any:
        bound = inspect.signature(function).bind_partial()
        for port, array in zip(inputs, arrays, strict=True):
            bound.arguments[port.name] = array.view(ObjectArray)
        bound.apply_defaults()
        try:
            returned = function(*bound.args, **bound.kwargs)
        except Exception as error:
            _explain(name, error)
            raise
        if not isinstance(returned, tuple):
            return _result(name, returned)
        if not returned:
            raise ArgumentError(f"{name} returns an empty tuple")
        return tuple(_result(f"{name}[{k}]", part) for k, part in enumerate(returned))

    return trace(run, inputs, name, follows_numpy=True)


def _explain(name: str, error: Exception) -> None:
    """Raise a clearer error if another package does not support traced values."""
    for part, hint in _NO_OBJECTS.items():
        if not isinstance(error, LinkworkError) and part in str(error):
            raise ArgumentError(f"{name} cannot be traced: {hint}") from error
    if not isinstance(error, LinkworkError) and any(word in str(error) for word in _SHOWN_AS):
        text = str(error).partition("\n")[0]
        for class_name, shown_name in _SHOWN_AS.items():
            text = text.replace(class_name, shown_name)
        text = f"{name} cannot be traced: {text}"
        raise ArgumentError(f"{text}; use NumPy's functions, or call it outside") from error


def _result(name: str, value: Any) -> Array:
    """Convert a returned value to an array of expressions and numbers; raise if it is not one."""
    if foreign_package(value):
        text = f"{name}: expected an array of numbers to be returned"
        raise ArgumentError(f"{text}, got {type(value).__name__} of {foreign_package(value)}")
    try:
        array = unwrapped(np.asarray(value, dtype=object))
    except ValueError:
        raise ShapeError(f"{name}: the returned rows have different lengths") from None
    for entry in array.flat:
        if not isinstance(entry, (Expr, int, float, np.integer, np.floating, np.bool_)):
            text = f"{name}: expected an array of numbers to be returned"
            raise ArgumentError(f"{text}, got {type(entry).__name__}")
    return array
