"""Statuses: what iDynTree returns where a call fails, with a warning that states the reason.

    ok = loader.loadModelFromFile("missing.urdf")  # False, and a LinkworkWarning
    index = model.getFrameIndex("no such frame")  # -1, and a LinkworkWarning

iDynTree prints the reason and returns False, the index -1 or an empty name; programs test these
values. An argument of the wrong type raises in both.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

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
