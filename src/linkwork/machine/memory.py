"""Executable memory: the code of many kernels in few memory mappings.

The system limits the mappings of a process (65,530 on Linux), and every page whose access differs
from that of the page before starts another one. So code is put into slabs, code beside code and
constants beside constants. A page is written first and made executable then, never both at a time.

Slab     one mapping with three regions: code (read, run), constants (read), data (read, write)
Block    the pages of one object file, some in each region; they are free again when it is dropped
Locks    are never waited for: whoever finds the slabs in use gets a slab of its own. So signal
         handlers, destructors and forked children may load code at any time
"""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from functools import cache
from typing import TypeAlias

from linkwork.machine.processor import NoMachineCodeError

REGION_BYTES = 1 << 20  # of each region of a slab; as many as it needs for a large object
_PROBED_PAGES = 16  # more mappings than LLVM makes for one object

Sizes: TypeAlias = tuple[int, int, int]  # [bytes] of code, constants and data: whole pages


class Block:
    """The pages of one object file; they go back to the slab with this Python object.

    Attributes:
        memory, start: the slab, and its address.
        offsets: where code, constants and data of this object start in it.
    """

    def __init__(self, slab: Slab, offsets: Sizes, sizes: Sizes) -> None:
        self.memory, self.start, self.offsets = slab.memory, slab.start, offsets
        self._slab, self._sizes = slab, sizes

    def make_writable(self) -> None:
        """Let all pages be written to."""
        self._protect(mmap.PROT_READ | mmap.PROT_WRITE, mmap.PROT_READ | mmap.PROT_WRITE)

    def make_executable(self) -> None:
        """Let the code be run; neither it nor the constants can be written to any more."""
        self._protect(mmap.PROT_READ | mmap.PROT_EXEC, mmap.PROT_READ)

    def _protect(self, *accesses: int) -> None:
        for offset, size, access in zip(self.offsets, self._sizes, accesses, strict=False):
            protect(self.start + offset, size, access)

    def __del__(self) -> None:
        self._slab.owner.give_back(self._slab, self.offsets, self._sizes)


class Slab:
    """A mapping with a region each for code, constants and data."""

    def __init__(self, owner: Slabs, spans: Sizes) -> None:
        self.owner = owner
        self.memory = _mapped(sum(spans))
        self.start = _address(self.memory)
        self.blocks = 0  # in use
        starts = (0, spans[0], spans[0] + spans[1])
        # of each region, the offset and size of what is free, in rising order
        self._free = [[(start, span)] for start, span in zip(starts, spans, strict=True)]

    def take(self, sizes: Sizes) -> Block | None:
        """Pages for an object file; None if there is no room."""
        code, constants, data = map(_first_fit, self._free, sizes)
        if code is None or constants is None or data is None:
            return None
        offsets = code, constants, data
        self._free = list(map(_without, self._free, offsets, sizes))
        self.blocks += 1
        return Block(self, offsets, sizes)

    def give_back(self, offsets: Sizes, sizes: Sizes) -> None:
        """Take back the pages of a block; the system gets their memory."""
        for offset, size in zip(offsets, sizes, strict=True):
            if size:
                self.memory.madvise(mmap.MADV_DONTNEED, offset, size)
        self._free = list(map(_with, self._free, offsets, sizes))
        self.blocks -= 1


class Slabs:
    """All slabs of a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._slabs: list[Slab] = []
        self._dropped: list[tuple[Slab, Sizes, Sizes]] = []  # blocks whose pages are not free yet

    def take(self, sizes: Sizes) -> Block:
        """Writable pages for an object file."""
        try:
            block = self._shared(sizes) or Slab(self, sizes).take(sizes)
            assert block
            block.make_writable()
        except OSError as error:
            raise NoMachineCodeError(f"there is no memory for code ({error.strerror})") from error
        return block

    def give_back(self, slab: Slab, offsets: Sizes, sizes: Sizes) -> None:
        """Free the pages of a block: now, or when the slabs are next in use."""
        self._dropped.append((slab, offsets, sizes))
        if self._lock.acquire(blocking=False):
            try:
                self._tidy()
            finally:
                self._lock.release()

    def _shared(self, sizes: Sizes) -> Block | None:
        """Pages of a slab that others use, too; None if somebody is changing the slabs now."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            self._tidy()
            for slab in self._slabs:
                block = slab.take(sizes)
                if block:
                    return block
            code, constants, data = (max(size, REGION_BYTES) for size in sizes)
            self._slabs.append(Slab(self, (code, constants, data)))
            return self._slabs[-1].take(sizes)
        finally:
            self._lock.release()

    def _tidy(self) -> None:
        if not self._dropped:
            return
        while self._dropped:
            slab, offsets, sizes = self._dropped.pop()
            slab.give_back(offsets, sizes)
        self._slabs = [slab for slab in self._slabs if slab.blocks]


_state: dict[str, Slabs] = {}


def slabs() -> Slabs:
    """The slabs of this process."""
    return _state.get("slabs") or _state.setdefault("slabs", Slabs())


def check_executable() -> None:
    """Raise if the system lets no more memory be made executable.

    LLVM does not ask: where it is refused (MemoryDenyWriteExecute of systemd, too many mappings),
    it ends the process.
    """
    if os.name != "posix":
        return
    try:
        memory = _mapped(_PROBED_PAGES * mmap.PAGESIZE)
        for page in range(0, _PROBED_PAGES, 2):
            place = _address(memory) + page * mmap.PAGESIZE
            protect(place, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_EXEC)
    except OSError as error:
        text = f"memory cannot be made executable ({error.strerror})"
        raise NoMachineCodeError(text) from error


def protect(start: int, size: int, access: int) -> None:
    """Set what may be done with some pages."""
    if size and _libc().mprotect(ctypes.c_void_p(start), ctypes.c_size_t(size), access):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _mapped(size: int) -> mmap.mmap:
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def _address(memory: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


Free: TypeAlias = list[tuple[int, int]]


def _first_fit(free: Free, size: int) -> int | None:
    """Offset of the first free pages that are enough."""
    return next((offset for offset, span in free if span >= size), None if size else 0)


def _without(free: Free, offset: int, size: int) -> Free:
    """What is left when the start of some free pages is taken."""
    if not size:
        return free
    parts = [(o + size, s - size) if o == offset else (o, s) for o, s in free]
    return [part for part in parts if part[1]]


def _with(free: Free, offset: int, size: int) -> Free:
    """What is free when some pages are given back; neighbours become one."""
    if not size:
        return free
    merged: Free = []
    for start, span in sorted([*free, (offset, size)]):
        if merged and sum(merged[-1]) == start:
            merged[-1] = (merged[-1][0], merged[-1][1] + span)
        else:
            merged.append((start, span))
    return merged


def _forget() -> None:
    """In a forked child: the slabs may have been in use. What is loaded stays loaded."""
    _state.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
