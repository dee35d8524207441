"""The journal of a run: which chunks are done, in the file result.zarr.journal.

Lines    the first describes the run, as JSON; each other line is a chunk that is done, with the
         digest of its states. Every line ends with its checksum
Order    a line is written after the files of its chunk are on the disk. So a chunk with a line is
         done, however the run ended. A power failure may lose the lines of the last second, whose
         chunks are computed again; a kill loses none
Torn     a line whose checksum is wrong is ignored; a file whose first line is not a description
         of a run is not modified
Lock     held by the run that writes; a second run is rejected, and so is one that has read the
         journal before another run wrote to it
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from linkwork.batch.store import synchronize, writing
from linkwork.engine.runtime.atomic_files import NO_LINK, create_beside
from linkwork.errors import StateError, escaped

MAX_BYTES = 1 << 28  # of a journal; a chunk has less than 40
SYNCHRONIZE_PERIOD = 1.0  # [s] between two synchronizations of the journal with the disk

try:
    import fcntl
except ImportError:  # Windows: a second run is not detected
    fcntl = None


class Journal:
    """The journal of one run, open for writing."""

    def __init__(self, path: Path, head: dict[str, Any], done: dict[int, str]) -> None:
        self.path, self.head = path, head
        self.done = dict(done)  # digests of the states, by chunk
        self._synchronized = time.monotonic()
        with writing(path):
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINK, 0o666)
            try:
                self._lock(self._handle)
                self._check_file()
                self._check_content()
                self._rewrite()
            except BaseException:
                os.close(self._handle)
                raise

    def add(self, chunk: int, digest: str) -> None:
        """Mark a chunk as done."""
        with writing(self.path):
            self._append(json.dumps([chunk, digest]))
            if time.monotonic() > self._synchronized + SYNCHRONIZE_PERIOD:
                os.fsync(self._handle)
                self._synchronized = time.monotonic()
        self.done[chunk] = digest

    def remove(self, chunks: Iterable[int]) -> None:
        """Mark chunks as not done."""
        for chunk in chunks:
            self.done.pop(chunk, None)
        with writing(self.path):
            self._rewrite()

    def change_head(self, **facts: Any) -> None:
        """Change the first line."""
        self.head = {**self.head, **facts}
        with writing(self.path):
            self._rewrite()

    def close(self) -> None:
        """Write the last lines to the disk, and release the lock."""
        with contextlib.suppress(OSError):
            os.fsync(self._handle)
        with contextlib.suppress(OSError):
            os.close(self._handle)

    def _append(self, text: str) -> None:
        data = _line(text)
        written = os.write(self._handle, data)
        if written < len(data):  # a full disk accepts only a part; the next attempt raises
            os.write(self._handle, data[written:])

    def _rewrite(self) -> None:
        """Write all lines to another file, and replace this one with it."""
        lines = [json.dumps(self.head), *(json.dumps(entry) for entry in self.done.items())]
        handle, other = create_beside(self.path, os.O_RDWR | os.O_APPEND)
        try:
            with os.fdopen(os.dup(handle), "wb") as file:
                file.writelines(map(_line, lines))
            os.fsync(handle)
            self._lock(handle)
            Path(other).replace(self.path)
            synchronize(self.path.parent)
        except BaseException:
            os.close(handle)  # the previous file stays open and locked
            with contextlib.suppress(OSError):
                Path(other).unlink()
            raise
        previous, self._handle = self._handle, handle
        os.close(previous)

    def _lock(self, handle: int) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise self._busy() from None

    def _check_file(self) -> None:
        """Raise if another run has replaced the locked file."""
        if not os.path.samestat(os.fstat(self._handle), self.path.stat()):
            raise self._busy()

    def _check_content(self) -> None:
        """Raise if another run has written since the journal was read, and has already ended."""
        now = read(self.path)
        if now is not None and (now[0]["facts"], now[1]) != (self.head["facts"], self.done):
            raise self._busy()

    def _busy(self) -> StateError:
        message = f"{escaped(str(self.path))}: another run is writing"
        return StateError(f"{message}; wait for it, or stop it")


def read(path: Path) -> tuple[dict[str, Any], dict[int, str]] | None:
    """Return the first line of a journal and the chunks that are done; None without a journal.

    Raises:
        StateError: the file is not a journal, or its first line is damaged.
    """
    if not path.is_file():  # a pipe may be endless
        return None
    try:
        with path.open("rb") as file:
            lines = file.read(MAX_BYTES + 1).split(b"\n")
    except OSError:
        return None
    if lines == [b""]:  # a run was killed before it wrote the first line
        return None
    head, *entries = [_content(line) for line in lines]
    if not _is_head(head) or path.stat().st_size > MAX_BYTES:
        message = f"{escaped(str(path))} is damaged, or is not a journal of `linkwork batch`"
        raise StateError(f"{message}; use another --out, or remove it and the results")
    return head, {entry[0]: entry[1] for entry in entries if _is_entry(entry)}


def _line(text: str) -> bytes:
    data = text.encode()
    return b"%s %08x\n" % (data, zlib.crc32(data))


def _content(line: bytes) -> Any:
    """Return the content of a line; None if it is torn or not JSON."""
    data, _, checksum = line.rpartition(b" ")
    if checksum != b"%08x" % zlib.crc32(data):
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _is_head(value: Any) -> bool:
    """Whether a value describes a run: the computation, its states and the processor."""
    if not isinstance(value, dict):
        return False
    head: dict[str, Any] = value
    facts = head.get("facts")
    if not isinstance(facts, dict) or not isinstance(head.get("processor"), str):
        return False
    lists = (facts.get("robot"), facts.get("functions"))
    return "stamp" in head and all(
        isinstance(names, list) and names and all(isinstance(name, str) for name in names)
        for names in lists
    )


def _is_entry(value: Any) -> bool:
    """Whether a value is the index of a chunk that is done, with the digest of its states."""
    return (
        isinstance(value, list) and [type(item) for item in value] == [int, str] and value[0] >= 0
    )
