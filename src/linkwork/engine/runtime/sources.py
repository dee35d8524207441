"""The digest of linkwork's own sources, part of every key of the disk cache.

Machine code in the cache is used only by the sources that made it. All sources count, so that no
list of folders has to be kept up to date. Reading all of them takes longer than the rest of a first
call, so the digest is kept in the cache too, under the names, sizes and times of the files.

What users define is not in these sources. A key made of them covers a program only if nothing else
decides it, which `are_known` asks; else the digest of the program itself is the key.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from functools import cache as remembered
from pathlib import Path
from typing import Any

from linkwork.engine.runtime import cache

_PACKAGE = Path(__file__).parents[2]
_EXCLUDED = ("cli", "viewer", "robots")  # folders whose sources do not enter programs


@remembered
def source_digest() -> str:
    """SHA-256 of the sources that make programs, or make code from them."""
    facts = sorted(_sources(str(_PACKAGE), _EXCLUDED))
    key = hashlib.sha256(repr((str(_PACKAGE), facts)).encode()).hexdigest()
    kept = cache.fetch(key, cache.SOURCES)
    if kept is not None:
        return kept.decode()
    digest = hashlib.sha256()
    for path, _, _ in facts:
        name = Path(path).relative_to(_PACKAGE)
        digest.update(name.as_posix().encode() + b"\n" + Path(path).read_bytes())
    cache.keep(key, digest.hexdigest().encode(), cache.SOURCES)
    return digest.hexdigest()


def _sources(folder: str, excluded: tuple[str, ...] = ()) -> Iterator[tuple[str, int, int]]:
    """Path, size and time of change of each source file."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                status = entry.stat()
                yield entry.path, status.st_size, status.st_mtime_ns
            elif entry.name not in (*excluded, "__pycache__") and entry.is_dir():
                yield from _sources(entry.path)


def are_known(objects: Iterable[object]) -> bool:
    """Whether linkwork's sources say what objects do: functions, or objects of its classes.

    Not so for a class that users derive, or whose methods they replaced, or for their functions.
    """
    return all(_is_known(value) for value in objects)


def _is_known(value: Any) -> bool:
    if callable(value):
        return _is_of_linkwork(value)
    for kind in type(value).__mro__[:-1]:  # but object
        if not all(map(_is_of_linkwork, (kind, *_functions(vars(kind).values())))):
            return False
    return True


def _functions(attributes: Iterable[Any]) -> Iterator[Any]:
    """The functions among the attributes of a class: methods, and those of properties."""
    for attribute in attributes:
        function = getattr(attribute, "__func__", getattr(attribute, "fget", attribute))
        if hasattr(function, "__code__"):
            yield function


def _is_of_linkwork(definition: Any) -> bool:
    """Whether a class or function is defined in linkwork, or comes with its kind of class."""
    return str(definition.__module__).partition(".")[0] in _SOURCES


_SOURCES = ("linkwork", "abc", "dataclasses", "typing")
