"""A cache of machine code on disk, so that a robot is compiled once and not once per process.

Programs that take long to make are kept there too, under another ending.

A file contains the digest of its content. It is used only if the digest is right, and only if it
belongs to this user and no other user can write to it or to its folder. It is written under a
temporary name and then renamed, so that no process reads an incomplete file. A file that cannot be
read is made again; errors of writing are ignored. `LINKWORK_CACHE` names another folder, or `off`;
without a home folder there is no cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from pathlib import Path

from linkwork.machine.eviction import TEMPORARY, Watch, note_use
from linkwork.machine.notices import warn_once

CODE, QUICK_CODE, PROGRAM, SOURCES = "o", "quick", "program", "sources"  # endings of files
_MAGIC = b"linkwork object 1\n"
_DIGEST_SIZE = 32
_OFF = ("off", "0", "no", "none")
_watch = Watch()


def cache_folder() -> Path | None:
    """The folder of the cache; None if there is no cache."""
    given = os.environ.get("LINKWORK_CACHE", "")
    if given.lower() in _OFF:
        return None
    return Path(given) if given else _user_folder()


def _user_folder() -> Path | None:
    import platformdirs

    try:
        folder = Path(platformdirs.user_cache_dir("linkwork", appauthor=False)) / "code"
    except (RuntimeError, KeyError, OSError):  # a user without a home
        return None
    return folder if folder.is_absolute() else None  # `~` was not expanded


def fetch(key: str, ending: str = CODE) -> bytes | None:
    """The content that was kept under a key, if it can be trusted."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        status = folder.stat()
        if stat.S_ISDIR(status.st_mode) and not _is_ours(status):
            text = f"{folder}: no machine code is kept here, for others may write to it"
            warn_once("cache", f"{text}; it must belong to this user, with mode 700")
            return None
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        path = folder / f"{key}.{ending}"
        with os.fdopen(os.open(path, flags), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or not _is_ours(status):
                return None
            data = file.read()
    except OSError:
        return None
    head = len(_MAGIC) + _DIGEST_SIZE
    digest, content = data[len(_MAGIC) : head], data[head:]
    is_valid = data.startswith(_MAGIC) and _digest(key, content) == digest
    if is_valid:
        note_use(path, status.st_mtime)
    return content if is_valid else None


def keep(key: str, content: bytes, ending: str = CODE) -> None:
    """Keep a content under a key, if the folder can be written to."""
    folder = cache_folder()
    if folder is None:
        return
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_ours(folder.stat()):
            return
        # not with tempfile: it has a lock, on which a forked child could deadlock
        path = folder / f"{TEMPORARY}{os.getpid()}-{os.urandom(8).hex()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        handle = os.open(path, flags, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + _digest(key, content) + content)
            path.replace(folder / f"{key}.{ending}")
        except OSError:
            with contextlib.suppress(OSError):
                path.unlink()
            return
        _watch.wrote(folder, len(content))


def keep_fast(key: str, code: bytes, width: int) -> None:
    """Keep fast code for so many rows at a time; quick code, of one row, is not needed any more."""
    keep(key, code)
    if width == 1:
        drop(key, QUICK_CODE)


def drop(key: str, ending: str) -> None:
    """Remove what was kept under a key, if it is there."""
    folder = cache_folder()
    if folder is not None:
        with contextlib.suppress(OSError):
            (folder / f"{key}.{ending}").unlink()


def _digest(key: str, content: bytes) -> bytes:
    """Digest of a content and its key, so that a renamed file is not used."""
    return hashlib.sha256(key.encode() + b"\n" + content).digest()


def _is_ours(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to this user and nobody else may write to it."""
    if not hasattr(os, "getuid"):  # Windows: the cache folder of a user is private
        return True
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
