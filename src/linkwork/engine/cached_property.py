"""`cached_property` without a lock.

Before Python 3.12, `functools.cached_property` holds a lock while it computes. A child process
forked in the meantime inherits the lock, but not the thread that would release it: a deadlock.
Without a lock, two threads may compute the same value; both get the value that was stored first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801 - named as the one of functools
    """A property that is computed when it is first read, and stored in the instance."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function = function
        self._name = function.__name__
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...
    def __get__(self, instance: object, owner: type | None = None) -> cached_property[T] | T:
        if instance is None:
            return self
        return instance.__dict__.setdefault(self._name, self._function(instance))
