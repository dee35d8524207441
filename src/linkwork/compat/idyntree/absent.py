"""What classes of iDynTree share: errors for names that are not supported, and casts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any


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
