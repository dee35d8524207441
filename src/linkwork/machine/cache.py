"""Machine code on disk, so that a robot is compiled once and not once per process.

A file holds its own digest and is used only if that fits, and only if it belongs to this user and
nobody else may write to it. It is written beside its place and moved there, so that no process ever
sees half a file. What cannot be read is made again; what cannot be written is not kept.
`LINKWORK_CACHE` names another folder, or `off`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from pathlib import Path

_MAGIC = b"linkwork object 1\n"
_DIGEST_SIZE = 32
_OFF = ("off", "0", "no", "none")


def cache_folder() -> Path | None:
    """Where machine code is kept; None if it is not."""
    given = os.environ.get("LINKWORK_CACHE", "")
    if given.lower() in _OFF:
        return None
    if given:
        return Path(given)
    import platformdirs

    return Path(platformdirs.user_cache_dir("linkwork", appauthor=False)) / "code"


def fetch(key: str) -> bytes | None:
    """What was kept under a key, if it can be trusted."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(folder / f"{key}.o", flags), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or not _is_ours(status):
                return None
            if not _is_ours(folder.stat()):
                return None
            data = file.read()
    except OSError:
        return None
    head = len(_MAGIC) + _DIGEST_SIZE
    digest, content = data[len(_MAGIC) : head], data[head:]
    whole = data.startswith(_MAGIC) and _digest(key, content) == digest
    return content if whole else None


def keep(key: str, content: bytes) -> None:
    """Keep something under a key, if the folder lets us."""
    folder = cache_folder()
    if folder is None:
        return
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + _digest(key, content) + content)
            Path(name).replace(folder / f"{key}.o")
        except OSError:
            with contextlib.suppress(OSError):
                Path(name).unlink()


def _digest(key: str, content: bytes) -> bytes:
    """Fits one content under one key only."""
    return hashlib.sha256(key.encode() + b"\n" + content).digest()


def _is_ours(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to this user and nobody else may write to it."""
    if not hasattr(os, "getuid"):  # Windows: the folder is the user's own
        return True
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
