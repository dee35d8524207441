"""The cache on disk stays below a size: what was used longest ago is removed.

`LINKWORK_CACHE_SIZE` sets the most megabytes, 1,000 if it is not given; `0` is no limit. The files
are counted when a process first keeps something, and again after each tenth of the limit that it
has written. If there is too much, files are removed until four fifths of the limit are left. A file
that is used counts as used again after a day, so that reading rarely writes to the disk.

Only files with names that the cache makes, in a folder with its marker, are counted or removed.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from linkwork.errors import warn_once

MEGABYTE = 1_000_000
MOST_MEGABYTES = 1000
LEFT = 0.8  # of the limit, after removing
RECOUNT = 0.1  # of the limit, written since the files were counted
USED_AGAIN_AFTER = 86_400.0  # [s]
ABANDONED_AFTER = 3600.0  # [s] after which a temporary file belongs to a process that has ended
TEMPORARY = ".new-"  # begins the names of files that are being written
MARKER = "CACHEDIR.TAG"  # a name and a first line that backup programs know, too
MARKER_TEXT = """Signature: 8a477f597d28d172789f06e22f5a1e9b
# Machine code that linkwork compiled. It can be removed at any time: linkwork cache clear
"""
_NAMES = re.compile(r"[0-9a-f]{64}\.(o|quick|program|sources)|\.new-[0-9]+-[0-9a-f]{16}")


@dataclass(frozen=True)
class KeptFile:
    """A file of the cache."""

    path: Path
    size: int  # [bytes]
    used: float  # when it was used last, to a day [s since 1970]


def kept_files(folder: Path) -> list[KeptFile]:
    """The files of a cache, what was used longest ago first."""
    return sorted(_files(folder), key=lambda file: file.used)


def _files(folder: Path) -> Iterator[KeptFile]:
    if folder.is_symlink() or not (folder / MARKER).is_file():
        return
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):  # another process has removed it
                is_ours = _NAMES.fullmatch(entry.name) is not None
                if is_ours and entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    yield KeptFile(Path(entry.path), status.st_size, status.st_mtime)


def size_limit() -> int | None:
    """The most bytes that the cache may have; None if there is no limit."""
    setting = os.environ.get("LINKWORK_CACHE_SIZE", "")
    try:
        limit = float(setting) * MEGABYTE if setting else MOST_MEGABYTES * MEGABYTE
    except ValueError:
        limit = -1.0
    if not 0 <= limit < math.inf:
        text = f"LINKWORK_CACHE_SIZE: expected megabytes, or 0 for no limit, got {setting!r}"
        warn_once("cache size", f"{text}; the limit is {MOST_MEGABYTES} MB")
        limit = MOST_MEGABYTES * MEGABYTE
    return int(limit) or None


class Watch:
    """Counts what this process writes, and has the files counted now and then."""

    def __init__(self) -> None:
        self._written: dict[Path, int] = {}  # since the files of a folder were counted

    def wrote(self, folder: Path, size: int) -> None:
        """Note that a file was written; remove others if there is too much now."""
        limit = size_limit()
        if limit is None:
            return
        before = self._written.get(folder)
        total = size + (before or 0)
        self._written[folder] = total
        if before is None or total > RECOUNT * limit:
            self._written[folder] = 0
            evict(folder, limit)


def evict(folder: Path, limit: int) -> None:
    """Remove what was used longest ago, if a cache is larger than its limit."""
    files = kept_files(folder)
    now = time.time()
    for file in files:
        if file.path.name.startswith(TEMPORARY) and now - file.used > ABANDONED_AFTER:
            _remove(file)
    total = sum(file.size for file in files)
    if total <= limit:
        return
    for file in files:
        if total <= LEFT * limit:
            break
        if not file.path.name.startswith(TEMPORARY):
            _remove(file)
            total -= file.size


def clear(folder: Path) -> int:
    """Remove all files that the cache made; how many there were."""
    files = kept_files(folder)
    for file in files:
        _remove(file)
    return len(files)


def is_used_again(modified: float) -> bool:
    """Whether a file that is used now has to be marked as used, which is once a day at most."""
    return time.time() - modified > USED_AGAIN_AFTER


def _remove(file: KeptFile) -> None:
    with contextlib.suppress(OSError):
        file.path.unlink()
