"""What the classes share: statuses of failed calls, errors for unsupported names, and casts.

    ok = loader.loadModelFromFile("missing.urdf")  # False, and a LinkworkWarning
    index = model.getFrameIndex("no such frame")  # -1, and a LinkworkWarning

iDynTree prints the reason and returns False, the index -1 or an empty name; programs test these
values. An argument of the wrong type raises in both.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from importlib.resources import files
from inspect import signature
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from linkwork.errors import ArgumentError, LinkworkError, warn

P = ParamSpec("P")
R = TypeVar("R")


def status(
    failure: Any, *, output: str | None = None, raising: tuple[type[LinkworkError], ...] = ()
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function return a status and warn, where it would raise an error.

    Args:
        failure: the result of a failed call.
        output: name of the argument that receives the values. A call without it returns the values
            instead of a status, so it raises.
        raising: errors that are raised all the same, in addition to `ArgumentError`.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        names = list(signature(function).parameters)
        position = names.index(output) if output else 0

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except (LinkworkError, OSError) as error:
                if isinstance(error, (ArgumentError, *raising)):
                    raise
                if output and (args[position:] or (kwargs.get(output),))[0] is None:
                    raise
                warn(f"{function.__name__} returned {failure!r}: {error}")
                return failure

        return call

    return decorate


def success(function: Callable[P, None]) -> Callable[P, bool]:
    """Let a function return True, or False with a warning where it would raise an error."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> bool:
        function(*args, **kwargs)
        return True

    return status(False)(call)


@cache
def replacements() -> dict[str, str]:
    """Return the replacement of each name of iDynTree that is not supported."""
    text = files("linkwork.compat.idyntree").joinpath("absent_names.txt").read_text("utf-8")
    pairs = (line.split(" <- ") for line in text.splitlines() if " <- " in line)
    return {name: replacement for replacement, names in pairs for name in names.split()}


def no_attribute(owner: str, name: str) -> AttributeError:
    """Return the error for a name of iDynTree that is not supported."""
    hint = f"; use {replacements()[name]}" if name in replacements() else ""
    return AttributeError(f"{owner} has no attribute {name!r}{hint}", name=name)


class PartialType(type):
    """The class of `Partial`, which raises the same errors for static methods."""

    if not TYPE_CHECKING:  # so that type checkers report misspelled names

        def __getattr__(cls, name: str) -> object:
            raise no_attribute(cls.__name__, name)


class Partial(metaclass=PartialType):
    """A class of iDynTree that is partially supported; errors name the replacement."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            raise no_attribute(type(self).__name__, name)


def casts(name: str) -> tuple[Callable[[Any], bool], Callable[[Any], Any]]:
    """Return two methods: whether an object is of a class, and the object if it is, else None."""

    def is_of_class(self: Any) -> bool:
        return any(kind.__name__ == name for kind in type(self).__mro__)

    def as_class(self: Any) -> Any:
        return self if is_of_class(self) else None

    is_of_class.__doc__ = f"Return whether it is a `{name}`."
    as_class.__doc__ = f"Return it if it is a `{name}`, else None."
    return is_of_class, as_class
