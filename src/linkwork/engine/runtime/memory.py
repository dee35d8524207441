"""Executable memory: the code of many kernels in few memory mappings.

The system limits the mappings of a process (65,530 on Linux), and every page whose protection
differs from that of the previous page starts another one. So code is put into slabs, where pages of
the same protection are adjacent. A page is never writable and executable at the same time.

Slab     one mapping with three regions: code (read, run), constants (read), data (read, write)
Block    the pages of one object file, some in each region
Lease    what owns the pages of a block, or other memory with code; freed with the Python object
Locks    are never waited for: a thread that finds the slabs in use allocates a new slab. So signal
         handlers, destructors and forked children may load code at any time
"""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from linkwork.engine.runtime.processor import NoMachineCodeError

if TYPE_CHECKING:
    from typing_extensions import Never

REGION_BYTES = 1 << 20  # of each region of a slab; more if an object is larger
_PROBED_PAGES = 16  # `check_executable` tries as many mappings, more than LLVM makes per object

Sizes: TypeAlias = tuple[int, int, int]  # [bytes] of code, constants and data, in full pages


class Lease:
    """Owns memory with machine code: it is freed when nothing refers to this object any more.

    Whatever holds the address of a function holds its lease too. The garbage collector runs the
    finalizers of a cycle in any order, so one of them might call a function whose code another has
    freed. It does not see this object: `__del__` runs when the last reference is dropped, and never
    before.
    """

    __slots__ = ("_release",)

    def __init__(self, release: Callable[[], None]) -> None:
        """Take what frees the memory; it must not refer to this object."""
        self._release = release
        ctypes.pythonapi.PyObject_GC_UnTrack(ctypes.py_object(self))

    def __reduce__(self) -> Never:
        raise TypeError("machine code cannot be copied or pickled")

    def __del__(self) -> None:
        self._release()


class Block:
    """The pages of one object file; they return to the slab with its lease.

    Attributes:
        memory, start: the slab, and its address.
        offsets: where code, constants and data of this object start in it.
        lease: owns the pages.
    """

    def __init__(self, slab: Slab, offsets: Sizes, sizes: Sizes) -> None:
        self.memory, self.start, self.offsets = slab.memory, slab.start, offsets
        self._sizes = sizes
        self.lease = Lease(lambda: slab.owner.give_back(slab, offsets, sizes))

    def make_writable(self) -> None:
        """Make all pages writable."""
        self._protect(mmap.PROT_READ | mmap.PROT_WRITE, mmap.PROT_READ | mmap.PROT_WRITE)

    def make_executable(self) -> None:
        """Make the code executable, and both code and constants read-only."""
        self._protect(mmap.PROT_READ | mmap.PROT_EXEC, mmap.PROT_READ)

    def _protect(self, *accesses: int) -> None:
        for offset, size, access in zip(self.offsets, self._sizes, accesses, strict=False):
            protect(self.start + offset, size, access)


class Slab:
    """A mapping with a region each for code, constants and data."""

    def __init__(self, owner: Slabs, spans: Sizes) -> None:
        self.owner = owner
        self.memory = _mapped(sum(spans))
        self.start = _address(self.memory)
        self.blocks = 0  # how many are in use
        starts = (0, spans[0], spans[0] + spans[1])
        # for each region, offset and size of each free range, ascending
        self._free = [[(start, span)] for start, span in zip(starts, spans, strict=True)]

    def take(self, sizes: Sizes) -> Block | None:
        """Allocate pages for an object file; None if there are not enough."""
        code, constants, data = map(_first_fit, self._free, sizes)
        if code is None or constants is None or data is None:
            return None
        offsets = code, constants, data
        self._free = list(map(_without, self._free, offsets, sizes))
        self.blocks += 1
        return Block(self, offsets, sizes)

    def give_back(self, offsets: Sizes, sizes: Sizes) -> None:
        """Free the pages of a block, and return their memory to the system."""
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
        self._dropped: list[tuple[Slab, Sizes, Sizes]] = []  # blocks that are still to be freed

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
        """Free the pages of a block: now, or at the next use if the slabs are locked."""
        self._dropped.append((slab, offsets, sizes))
        if self._lock.acquire(blocking=False):
            try:
                self._tidy()
            finally:
                self._lock.release()

    def _shared(self, sizes: Sizes) -> Block | None:
        """Pages of a shared slab; None if another thread holds the lock."""
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
    """Raise if the system refuses to make memory executable.

    LLVM does not check: where it is refused (MemoryDenyWriteExecute of systemd, too many mappings),
    it ends the process.
    """
    if os.name != "posix":
        return
    try:
        memory = _mapped(_PROBED_PAGES * mmap.PAGESIZE)
        for page in range(0, _PROBED_PAGES, 2):
            start = _address(memory) + page * mmap.PAGESIZE
            protect(start, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_EXEC)
    except OSError as error:
        text = f"memory cannot be made executable ({error.strerror})"
        raise NoMachineCodeError(text) from error


def protect(start: int, size: int, access: int) -> None:
    """Set the protection of some pages."""
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


Free: TypeAlias = list[tuple[int, int]]  # (offset, size) of each free range, ascending


def _first_fit(free: Free, size: int) -> int | None:
    """Offset of the first free range that is large enough."""
    return next((offset for offset, span in free if span >= size), None if size else 0)


def _without(free: Free, offset: int, size: int) -> Free:
    """The free ranges after an allocation at `offset`."""
    if not size:
        return free
    parts = [(o + size, s - size) if o == offset else (o, s) for o, s in free]
    return [part for part in parts if part[1]]


def _with(free: Free, offset: int, size: int) -> Free:
    """The free ranges after pages are freed; adjacent ranges are merged."""
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
    """In a forked child: the lock may be held for ever. Code that is loaded stays loaded."""
    _state.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
