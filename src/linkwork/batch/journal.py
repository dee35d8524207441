"""Which chunks are done, in a file beside the results: result.zarr.journal.

Lines    the first says what is computed, as JSON; each other one that a chunk is done, with the
         digest of its states. Every line ends with a checksum of itself
Order    a line is written after the files of its chunk are on the disk. So a chunk with a line is
         done, in whatever way the run ended. A power cut may cost the lines of the last second,
         whose chunks are computed again; a kill costs none
Torn     a last line that is not whole does not count
Lock     held by the run that writes; a second one is refused, and so is one that has read the
         journal before another one wrote to it
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from linkwork.batch.store import synchronise, writing
from linkwork.errors import StateError, escaped

SYNCHRONISE_EVERY = 1.0  # [s] the journal itself is brought onto the disk

try:
    import fcntl
except ImportError:  # Windows: nobody stops a second run
    fcntl = None


class Journal:
    """The journal of one run, open for writing."""

    def __init__(self, path: Path, head: dict[str, Any], done: dict[int, str]) -> None:
        self.path, self.head = path, head
        self.done = dict(done)  # digests of the states, by chunk
        self._synchronised = time.monotonic()
        with writing(path):
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                self._lock(self._handle)
                self._check_place()
                self._check_content()
                self._rewrite()
            except BaseException:
                os.close(self._handle)
                raise

    def add(self, chunk: int, digest: str) -> None:
        """Count a chunk as done."""
        with writing(self.path):
            self._append(json.dumps([chunk, digest]))
            if time.monotonic() > self._synchronised + SYNCHRONISE_EVERY:
                os.fsync(self._handle)
                self._synchronised = time.monotonic()
        self.done[chunk] = digest

    def remove(self, chunks: Iterable[int]) -> None:
        """Do not count some chunks as done any more."""
        for chunk in chunks:
            self.done.pop(chunk, None)
        with writing(self.path):
            self._rewrite()

    def change_head(self, **facts: Any) -> None:
        """Say something else in the first line."""
        self.head = {**self.head, **facts}
        with writing(self.path):
            self._rewrite()

    def close(self) -> None:
        """Bring the last lines onto the disk, and let another run write."""
        with contextlib.suppress(OSError):
            os.fsync(self._handle)
        with contextlib.suppress(OSError):
            os.close(self._handle)

    def _append(self, text: str) -> None:
        data = _line(text)
        written = os.write(self._handle, data)
        if written < len(data):  # a full disk takes a part; the next attempt raises
            os.write(self._handle, data[written:])

    def _rewrite(self) -> None:
        """Write all lines to another file, and put it in the place of this one."""
        lines = [json.dumps(self.head), *(json.dumps(entry) for entry in self.done.items())]
        other = self.path.with_name(f"{self.path.name}.{os.getpid()}.partial")
        handle = os.open(other, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o666)
        try:
            with os.fdopen(os.dup(handle), "wb") as file:
                file.writelines(map(_line, lines))
            os.fsync(handle)
            self._lock(handle)
            other.replace(self.path)
            synchronise(self.path.parent)
        except BaseException:
            os.close(handle)  # the file before it stays open, and locked
            other.unlink(missing_ok=True)
            raise
        before, self._handle = self._handle, handle
        os.close(before)

    def _lock(self, handle: int) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._refuse()

    def _check_place(self) -> None:
        """Refuse if another run has put its own file in the place of the one that is locked."""
        own, there = os.fstat(self._handle), self.path.stat()
        if (own.st_dev, own.st_ino) != (there.st_dev, there.st_ino):
            self._refuse()

    def _check_content(self) -> None:
        """Refuse if another run has written since the journal was read, and has ended already."""
        now = read(self.path)
        if now is not None and (now[0].get("facts"), now[1]) != (self.head["facts"], self.done):
            self._refuse()

    def _refuse(self) -> NoReturn:
        text = f"{escaped(str(self.path))}: another run is writing"
        raise StateError(f"{text}; wait for it, or stop it")


def read(path: Path) -> tuple[dict[str, Any], dict[int, str]] | None:
    """The first line of a journal, and the chunks that are done; None if there is no journal."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError:
        return None
    head, *entries = [_content(line) for line in lines]
    if not isinstance(head, dict):
        return None
    return head, {entry[0]: entry[1] for entry in entries if _is_entry(entry)}


def _line(text: str) -> bytes:
    data = text.encode()
    return b"%s %08x\n" % (data, zlib.crc32(data))


def _content(line: bytes) -> Any:
    """What a line says; None if it is not whole, or no JSON."""
    data, _, checksum = line.rpartition(b" ")
    if checksum != b"%08x" % zlib.crc32(data):
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _is_entry(value: Any) -> bool:
    """Whether it is a chunk that is done, with the digest of its states."""
    return (
        isinstance(value, list) and [type(item) for item in value] == [int, str] and value[0] >= 0
    )
