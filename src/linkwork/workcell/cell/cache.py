"""Caches of what is derived from immutable objects: results by topic and key, or by argument."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

CACHE_SIZE = 256  # entries of a dictionary below; one more replaces the oldest


class Results(dict[K, T]):
    """Results of a function by its argument; reading one that exists costs no call of Python."""

    def __init__(self, compute: Callable[[K], T]) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, key: K) -> T:
        return _stored(self, key, self._compute(key))


class Cache:
    """Values that are derived from an immutable object, by topic and key."""

    def __init__(self) -> None:
        self._topics: dict[str, dict[Hashable, Any]] = {}

    def get(self, topic: str, key: Hashable, compute: Callable[..., T], *arguments: Any) -> T:
        """Return the value of a key; if there is none, compute it from arguments and store it."""
        try:
            return self._topics[topic][key]
        except KeyError:
            pass
        return _stored(self._topics.setdefault(topic, {}), key, compute(*arguments))

    def count(self, topic: str) -> int:
        """Return the number of entries of a topic."""
        return len(self._topics.get(topic, {}))


def _stored(entries: dict[K, T], key: K, value: T) -> T:
    """Store a value; return the value that another thread has stored first, if any."""
    if len(entries) >= CACHE_SIZE:
        entries.pop(next(iter(entries)), None)  # the oldest
    return entries.setdefault(key, value)
