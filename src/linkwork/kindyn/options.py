"""Options of calls: the keyword arguments that functions of robots have in common.

    def mass_matrix(self, q: ArrayLike, **options: Unpack[CallOptions]) -> Array: ...

Type checkers and editors read them from the annotation. `full_signature` lists them for `inspect`
and `help`. Python 3.10 has no `Unpack`, so it is imported where `TYPE_CHECKING` is true.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypedDict, TypeVar

from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, nearest

Class = TypeVar("Class", bound=type)


class CoordinateOptions(TypedDict, total=False):
    """Options of functions that do not depend on model parameters."""

    threads: int | None  # largest number of threads for a large batch; default: the cores
    out: Array | tuple[Array, ...] | None  # where the result is written; default: new arrays


class CallOptions(CoordinateOptions, total=False):
    """Options of most functions."""

    parameters: ArrayLike | None  # (..., n) model parameters; default: the values of the model


class GravityOptions(CallOptions, total=False):
    """Options of functions that depend on gravity."""

    gravity: ArrayLike | None  # (..., 3) in the world; default: the option of the robot


class ForceOptions(GravityOptions, total=False):
    """Options of functions that depend on gravity and external wrenches."""

    wrenches: Mapping[str, ArrayLike] | None  # frame -> (..., 6) external [force; torque]


_TYPES = {
    one.__name__: one for one in (CoordinateOptions, CallOptions, GravityOptions, ForceOptions)
}


def options_of(annotation: object) -> dict[str, str] | None:
    """Return the types of options by name, of an annotation such as "Unpack[CallOptions]"."""
    kind = _TYPES.get(str(annotation).removeprefix("Unpack[").removesuffix("]"))
    if kind is None:
        return None
    return {name: one.__forward_arg__ for name, one in reversed(kind.__annotations__.items())}


def full_signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function with its options one by one."""
    signature = inspect.signature(function)
    *others, last = signature.parameters.values()
    options = options_of(last.annotation)
    if options is None:
        return signature
    kind = inspect.Parameter.KEYWORD_ONLY
    listed = [
        inspect.Parameter(name, kind, default=None, annotation=text)
        for name, text in options.items()
    ]
    return signature.replace(parameters=[*others, *listed])


def check_options(method: Any, options: Mapping[str, Any]) -> None:
    """Raise, with a suggestion, for an option that a declared method does not have.

    Kernels check the options that they know; a method with options of its own calls this.
    """
    known = method.__signature__.parameters
    for name in options:
        if name not in known:
            hint = nearest(name, [*known][1:])
            raise ArgumentError(f"{method.__name__}: argument {name!r} is unknown; {hint}")


def methods_of(name: str) -> Callable[[Class], Class]:
    """Name the methods of a class after the public class that they belong to.

    Python's TypeErrors, such as for a missing argument, contain this name.
    """

    def rename(cls: Class) -> Class:
        for method in vars(cls).values():
            if inspect.isfunction(method):
                method.__qualname__ = f"{name}.{method.__name__}"
        return cls

    return rename


def list_options(cls: Class) -> Class:
    """List the options of all methods of a class one by one in their signatures."""
    for method in vars(cls).values():
        if inspect.isfunction(method):
            method.__signature__ = full_signature(method)  # type: ignore[attr-defined]
    return cls
