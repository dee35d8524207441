"""Writing of files: completely or not at all, and never through a symbolic link.

Content is written to a new file with a random name in the same folder, which then replaces the old
one. So no process reads a partial file, an error leaves the old one, and somebody else who can
write to the folder cannot prepare a link that redirects the content. A target that is a link is
replaced, not followed.
"""

from __future__ import annotations

import contextlib
import os
import stat
from os import PathLike
from pathlib import Path

TEMPORARY = ".new-"  # prefix of the names of files that are being written
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_NEW = os.O_CREAT | os.O_EXCL | NO_LINK | getattr(os, "O_BINARY", 0)


def write_file(
    path: str | PathLike[str], data: bytes | str, *, mode: int = 0o666, dir_fd: int | None = None
) -> None:
    """Write a file; an existing one is replaced, and keeps its mode if it belongs to the user.

    Args:
        path: of the file. A device or a pipe, such as /dev/stdout, is written to directly.
        data: the content; a str is encoded as UTF-8.
        mode: of a new file, before the process's mask is applied.
        dir_fd: handle of the folder that `path` is relative to.
    """
    content = data.encode() if isinstance(data, str) else data
    if dir_fd is None and Path(path).exists() and not Path(path).is_file():
        Path(path).write_bytes(content)
        return
    handle, temporary = create_beside(path, os.O_WRONLY, mode=mode, dir_fd=dir_fd)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            if hasattr(os, "fchmod"):
                with contextlib.suppress(FileNotFoundError):
                    old = os.stat(path, dir_fd=dir_fd, follow_symlinks=False)
                    if stat.S_ISREG(old.st_mode) and old.st_uid == os.getuid():
                        os.fchmod(handle, stat.S_IMODE(old.st_mode))
        os.replace(temporary, path, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=dir_fd)
        raise


def create_beside(
    path: str | PathLike[str], flags: int, *, mode: int = 0o666, dir_fd: int | None = None
) -> tuple[int, str]:
    """Create and open a file with a random name in the folder of another one.

    Returns:
        The handle of the file, and its path.
    """
    # Not with tempfile, whose lock could deadlock a forked child.
    name = f"{TEMPORARY}{os.getpid()}-{os.urandom(8).hex()}"
    temporary = str(Path(path).with_name(name))
    return os.open(temporary, flags | _NEW, mode, dir_fd=dir_fd), temporary
