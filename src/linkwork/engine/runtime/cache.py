"""A cache of machine code on disk, so that a function is compiled once and not in every process.

Programs, which take long to trace, are stored too, with another file extension.

Folder   `linkwork-code` in the folder named by `LINKWORK_CACHE`, else `code` in the user's cache
         folder for linkwork. `off` disables the cache; a user without a home folder has none.
         Only files whose names have the cache's pattern are written, counted and removed
Trust    the folder and its files are used only if they belong to this user, only this user may
         write to them, and they are not symbolic links; files are opened relative to the folder
Content  a file contains the digest of its content, and is used only if the digest is correct. It is
         written under a temporary name and then renamed, so that no process reads a partial file
Size     `LINKWORK_CACHE_SIZE` sets the limit in megabytes, 1,000 by default; `0` is no limit. Files
         are counted when a process first stores one, and again after it has written a tenth of the
         limit. Above the limit, the least recently used files are removed until four fifths of it
         remain. Times of use are updated once a day, so that reading rarely writes to the disk

A file that cannot be read is created again; errors of writing are ignored.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import re
import stat
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

from linkwork.engine.runtime.atomic_files import NO_LINK, TEMPORARY, write_file
from linkwork.errors import warn_once

# file extensions; DATA is for results other than code that take long to compute
CODE, QUICK_CODE, PROGRAM, SOURCES, DATA = "o", "quick", "program", "sources", "data"
SUBFOLDER = "linkwork-code"  # in the folder named by LINKWORK_CACHE
_MAGIC = b"linkwork object 1\n"
_DIGEST_SIZE = 32
_OFF = ("off", "0", "no", "none")
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
MEGABYTE = 1_000_000
MOST_MEGABYTES = 1000
LEFT = 0.8  # fraction of the limit that remains after removal
RECOUNT = 0.1  # files are counted again after writing this fraction of the limit
USED_AGAIN_AFTER = 86_400.0  # [s] after which the time of use of a file is updated
ABANDONED_AFTER = 3600.0  # [s] after which a temporary file is removed
MARKER = "CACHEDIR.TAG"  # the standard name and first line that backup programs recognize
MARKER_TEXT = """Signature: 8a477f597d28d172789f06e22f5a1e9b
# Machine code that linkwork compiled. It can be removed at any time.
"""
_NAMES = re.compile(r"[0-9a-f]{64}\.(o|quick|program|sources|data)|\.new-[0-9]+-[0-9a-f]{16}")


def cache_folder() -> Path | None:
    """Return the folder of the cache; None if there is no cache."""
    setting = os.environ.get("LINKWORK_CACHE", "")
    if setting.lower() in _OFF:
        return None
    return Path(setting) / SUBFOLDER if setting else _user_folder()


def _user_folder() -> Path | None:
    import platformdirs

    try:
        folder = Path(platformdirs.user_cache_dir("linkwork", appauthor=False)) / "code"
    except (RuntimeError, KeyError, OSError):  # a user without a home folder
        return None
    return folder if folder.is_absolute() else None  # `~` was not expanded


def fetch(key: str, ending: str = CODE) -> bytes | None:
    """Return the content stored under a key; None if it is missing or cannot be trusted."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        with _opened(folder) as opened:
            if opened is None:
                return None
            handle = opened.open(f"{key}.{ending}", _READ)
            with os.fdopen(handle, "rb") as file:
                status = os.fstat(handle)
                if not stat.S_ISREG(status.st_mode) or not _is_ours(status):
                    return None
                data = file.read()
                head = len(_MAGIC) + _DIGEST_SIZE
                digest, content = data[len(_MAGIC) : head], data[head:]
                if not data.startswith(_MAGIC) or _digest(key, content) != digest:
                    return None
                if is_used_again(status.st_mtime) and os.utime in os.supports_fd:
                    with contextlib.suppress(OSError):
                        os.utime(handle)
                return content
    except OSError:
        return None


def store(key: str, content: bytes, ending: str = CODE) -> None:
    """Store a content under a key, if the folder can be written to."""
    folder = cache_folder()
    if folder is None:
        return
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _opened(folder) as opened:
            if opened is None:
                return
            opened.write(MARKER, MARKER_TEXT.encode(), replace=False)
            opened.write(f"{key}.{ending}", _MAGIC + _digest(key, content) + content)
        _watch.wrote(folder, len(content))


def drop(key: str, ending: str) -> None:
    """Remove the content stored under a key, if any."""
    folder = cache_folder()
    if folder is not None:
        with contextlib.suppress(OSError), _opened(folder) as opened:
            if opened is not None:
                opened.remove(f"{key}.{ending}")


class _Folder:
    """The folder of the cache; its files are opened relative to its handle if possible."""

    def __init__(self, path: Path, handle: int | None) -> None:
        self._path, self._handle = path, handle

    def open(self, name: str, flags: int) -> int:
        """Open a file that is not a symbolic link."""
        return os.open(self._name(name), flags | NO_LINK, 0o600, dir_fd=self._handle)

    def write(self, name: str, data: bytes, *, replace: bool = True) -> None:
        """Write a file under a temporary name, and rename it."""
        if not replace and self._exists(name):
            return
        write_file(self._name(name), data, mode=0o600, dir_fd=self._handle)

    def remove(self, name: str) -> None:
        """Remove a file."""
        os.unlink(self._name(name), dir_fd=self._handle)

    def _exists(self, name: str) -> bool:
        try:
            os.stat(self._name(name), dir_fd=self._handle, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def _name(self, name: str) -> str | Path:
        return self._path / name if self._handle is None else name


@contextlib.contextmanager
def _opened(folder: Path) -> Generator[_Folder | None, None, None]:
    """Open the folder of the cache; None, with a warning, if others may write to it."""
    if os.open not in os.supports_dir_fd:  # Windows: the cache folder of a user is private
        yield _Folder(folder, None)
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | NO_LINK)
    try:
        is_private = _is_ours(os.fstat(handle))
        if not is_private:
            text = f"{folder}: the cache of machine code is not used, since others may write to it"
            warn_once("cache", f"{text}; it must belong to this user and have mode 700")
        yield _Folder(folder, handle) if is_private else None
    finally:
        os.close(handle)


def _digest(key: str, content: bytes) -> bytes:
    """Compute the digest of a content and its key, so that renamed files are rejected."""
    return hashlib.sha256(key.encode() + b"\n" + content).digest()


_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def _is_ours(status: os.stat_result) -> bool:
    """Return whether a file or folder belongs to this user, and only this user may write to it."""
    if not hasattr(os, "getuid"):  # Windows
        return True
    return status.st_uid == os.getuid() and not status.st_mode & _OTHERS_WRITE


# The size of the cache.


@dataclass(frozen=True)
class CachedFile:
    """A file of the cache."""

    path: Path
    size: int  # [bytes]
    used: float  # time of last use, to a day [s since 1970]


def cached_files(folder: Path) -> list[CachedFile]:
    """List the files of a cache, the least recently used first."""
    return sorted(_files(folder), key=lambda file: file.used)


def _files(folder: Path) -> Iterator[CachedFile]:
    if folder.is_symlink() or not (folder / MARKER).is_file():
        return
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):  # removed by another process
                is_ours = _NAMES.fullmatch(entry.name) is not None
                if is_ours and entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    yield CachedFile(Path(entry.path), status.st_size, status.st_mtime)


def size_limit() -> int | None:
    """Return the maximum size of the cache in bytes; None if there is no limit."""
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


class SizeWatch:
    """Counts the bytes that this process writes, and enforces the limit after some of them."""

    def __init__(self) -> None:
        self._written: dict[Path, int] = {}  # bytes by folder, since its files were counted

    def wrote(self, folder: Path, size: int) -> None:
        """Record that a file was written; remove others if the cache is too large."""
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
    """Remove the least recently used files, if a cache is larger than its limit."""
    files = cached_files(folder)
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
    """Remove all files of the cache; return their number."""
    files = cached_files(folder)
    for file in files:
        _remove(file)
    return len(files)


def is_used_again(modified: float) -> bool:
    """Return whether the time of use of a file has to be updated, at most once a day."""
    return time.time() - modified > USED_AGAIN_AFTER


def _remove(file: CachedFile) -> None:
    with contextlib.suppress(OSError):
        file.path.unlink()


_watch = SizeWatch()
