"""Executable memory: one mapping for each object file.

Mapping  code and constants first (read, execute), then data (read, write), each in full pages. A
         page is never writable and executable at the same time
Lease    the owner of the memory, which is freed with the Python object
Limit    Linux allows 65,530 mappings in a process (vm.max_map_count), and merges neighbors. A
         kernel needs at most two, or four if its code has data. At the limit, a
         `NoMachineCodeError` is raised, and NumPy is used
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from linkwork.engine.runtime.processor import NoMachineCodeError

if TYPE_CHECKING:
    from typing_extensions import Never

_PROBED_PAGES = 16  # mappings that `check_executable` tries: more than LLVM needs per object


class Lease:
    """Owner of memory with machine code, which is freed with the last reference to this object.

    Every object with the address of a function must keep its lease. The garbage collector runs the
    finalizers of a cycle in any order, so a finalizer might call a function whose code another one
    has freed. So this object is not tracked by the garbage collector: `__del__` runs only when the
    last reference is dropped.
    """

    __slots__ = ("_release",)

    def __init__(self, release: Callable[[], None]) -> None:
        """Create a lease; `release` frees the memory and must not reference this object."""
        self._release = release
        ctypes.pythonapi.PyObject_GC_UnTrack(ctypes.py_object(self))

    def __reduce__(self) -> Never:
        raise TypeError("machine code cannot be copied or pickled")

    def __del__(self) -> None:
        self._release()


class CodeMemory:
    """The memory of one object file, writable until `make_executable` is called.

    Attributes:
        memory: the mapping: code and constants, then data.
        start: its address.
        lease: owns it.
    """

    def __init__(self, code_bytes: int, data_bytes: int) -> None:
        """Allocate memory for code and constants, and for data, in full pages."""
        self._code_bytes = code_bytes
        try:
            self.memory = _mapped(code_bytes + data_bytes)
        except OSError as error:
            raise _memory_error("memory for code cannot be allocated", error) from error
        self.start = _address(self.memory)
        self.lease = Lease(self.memory.close)

    def make_executable(self) -> None:
        """Make code and constants executable and read-only."""
        try:
            protect(self.start, self._code_bytes, mmap.PROT_READ | mmap.PROT_EXEC)
        except OSError as error:
            raise _memory_error("memory cannot be made executable", error) from error


def check_executable() -> None:
    """Raise if the system does not allow executable memory.

    LLVM does not check: if the system denies it (MemoryDenyWriteExecute of systemd, too many
    mappings), LLVM ends the process.
    """
    if os.name != "posix":
        return
    try:
        memory = _mapped(_PROBED_PAGES * mmap.PAGESIZE)
        for page in range(0, _PROBED_PAGES, 2):
            start = _address(memory) + page * mmap.PAGESIZE
            protect(start, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_EXEC)
    except OSError as error:
        raise _memory_error("memory cannot be made executable", error) from error


def _memory_error(what: str, error: OSError) -> NoMachineCodeError:
    text = f"{what} ({error.strerror})"
    if error.errno == errno.ENOMEM:
        text += "; the process may have reached the limit of mappings, vm.max_map_count"
    return NoMachineCodeError(text)


def protect(start: int, size: int, access: int) -> None:
    """Set the protection of pages."""
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
