"""The digest of linkwork's source files, which is part of every key of the disk cache.

Machine code in the cache is used only by the version of the sources that compiled it. Reading all
source files takes longer than the remainder of a first call, so the digest is stored in the cache
too, under the names, sizes and modification times of the files.

The digest does not cover code of users. Where users' classes or functions define the program
(`are_known` is False), the digest of the program itself is the key.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cache as remembered
from pathlib import Path
from typing import Any

from linkwork.engine import UNRELATED_FOLDERS
from linkwork.engine.runtime import cache

_PACKAGE = Path(__file__).parents[2]


@remembered
def source_digest() -> str:
    """Return the SHA-256 of the source files that define programs and compile them."""
    files = sorted(_sources(str(_PACKAGE), UNRELATED_FOLDERS))
    key = hashlib.sha256(repr((str(_PACKAGE), files)).encode()).hexdigest()
    stored = cache.fetch(key, cache.SOURCES)
    if stored is not None:
        return stored.decode()
    digest = hashlib.sha256()
    for path, _, _ in files:
        name = Path(path).relative_to(_PACKAGE)
        digest.update(name.as_posix().encode() + b"\n" + Path(path).read_bytes())
    cache.store(key, digest.hexdigest().encode(), cache.SOURCES)
    return digest.hexdigest()


def _sources(folder: str, excluded: Sequence[str] = ()) -> Iterator[tuple[str, int, int]]:
    """Yield path, size and modification time of each source file."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                status = entry.stat()
                yield entry.path, status.st_size, status.st_mtime_ns
            elif entry.name not in (*excluded, "__pycache__") and entry.is_dir():
                yield from _sources(entry.path)


def are_known(objects: Iterable[object]) -> bool:
    """Return whether linkwork's source files define all objects: functions, or instances.

    False for functions of users, for classes that users derive, and for replaced methods.
    """
    return all(_is_known(value) for value in objects)


def _is_known(value: Any) -> bool:
    if callable(value):
        return _is_of_linkwork(value)
    for kind in type(value).__mro__[:-1]:  # without object
        if not all(map(_is_of_linkwork, (kind, *_functions(vars(kind).values())))):
            return False
    return True


def _functions(attributes: Iterable[Any]) -> Iterator[Any]:
    """Yield the functions among the attributes of a class: methods, and getters of properties."""
    for attribute in attributes:
        function = getattr(attribute, "__func__", getattr(attribute, "fget", attribute))
        if hasattr(function, "__code__"):
            yield function


def _is_of_linkwork(definition: Any) -> bool:
    """Return whether a class or function is of linkwork, or generated for its classes."""
    return str(definition.__module__).partition(".")[0] in _KNOWN_PACKAGES


_KNOWN_PACKAGES = ("linkwork", "abc", "dataclasses", "typing")
