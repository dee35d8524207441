"""Loader of object files that does not import LLVM, which would take longer than loading the code.

Memory   one mapping: code and constants, then data on separate pages; see memory.py
Symbols  that the file does not define are looked up in this process and in libm
Errors   an object file that is not supported raises `ObjectError`, and its memory is freed
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from linkwork.engine.runtime.elf import EXECUTE, WRITE, ObjectError, ObjectFile, Section, Symbol
from linkwork.engine.runtime.memory import CodeMemory
from linkwork.engine.runtime.processor import IS_LINUX_ON_X86_64

MOST_BYTES = 1 << 30  # maximum size of an object, since relative addresses of 32 bits reach 2 GB
_FORMS = {  # by kind of relocation: the format, and whether the address is relative to the field
    1: (struct.Struct("<Q"), False),  # R_X86_64_64
    2: (struct.Struct("<i"), True),  # R_X86_64_PC32
    4: (struct.Struct("<i"), True),  # R_X86_64_PLT32
    24: (struct.Struct("<q"), True),  # R_X86_64_PC64
}


class LoadedObject:
    """An object file in memory, for the lifetime of its lease."""

    def __init__(self, data: bytes) -> None:
        if not IS_LINUX_ON_X86_64:
            raise ObjectError("only for Linux on x86-64")
        file = ObjectFile(data)
        offsets, code_bytes, data_bytes = _layout(file.sections)
        block = CodeMemory(code_bytes, data_bytes)
        for number, offset in offsets.items():
            section = file.sections[number]
            if not section.is_zero_initialized:  # new pages are zero
                block.memory[offset : offset + section.size] = file.content(section)
        _relocate(block, file, offsets)
        block.make_executable()
        self._functions = {
            symbol.name: block.start + _offset(symbol, file.sections, offsets)
            for symbol in file.symbols
            if symbol.is_function
        }
        self.lease = block.lease

    def address(self, name: str) -> int:
        """Return the address of a function."""
        if name not in self._functions:
            raise ObjectError(f"no function named {name!r}")
        return self._functions[name]


def _layout(sections: Sequence[Section]) -> tuple[dict[int, int], int, int]:
    """Return the offset of each section that is loaded, and the bytes of code and of data."""
    offsets: dict[int, int] = {}
    ends = [0]  # of code, of constants after it, and of data on separate pages
    for access in (EXECUTE, 0, WRITE):
        end = _rounded_up(ends[-1], mmap.PAGESIZE) if access == WRITE else ends[-1]
        for number, section in enumerate(sections):
            if section.is_loaded and section.flags & (EXECUTE | WRITE) == access:
                offsets[number] = _rounded_up(end, max(section.alignment, 1))
                end = offsets[number] + section.size
        ends.append(end)
    code_bytes, all_bytes = (_rounded_up(end, mmap.PAGESIZE) for end in ends[2:])
    if not 0 < all_bytes <= MOST_BYTES:
        raise ObjectError(f"expected 1 to {MOST_BYTES} bytes to load, got {all_bytes}")
    return offsets, code_bytes, all_bytes - code_bytes


def _rounded_up(number: int, step: int) -> int:
    return -(-number // step) * step


def _relocate(block: CodeMemory, file: ObjectFile, offsets: Mapping[int, int]) -> None:
    """Set the fields that depend on the address of the loaded code."""
    addresses: dict[int, int] = {}
    for section, offset, kind, number, addend in file.relocations():
        if kind not in _FORMS:
            raise ObjectError(f"relocation of type {kind} is not supported")
        form, is_relative = _FORMS[kind]
        if offset + form.size > file.sections[section].size:
            raise ObjectError("a relocation is beyond the end of its section")
        if number not in addresses:
            symbol = file.symbols[number]
            is_external = symbol.section is None
            addresses[number] = (
                _external_address(symbol.name)
                if is_external
                else block.start + _offset(symbol, file.sections, offsets)
            )
        target = offsets[section] + offset
        value = addresses[number] + addend - (block.start + target if is_relative else 0)
        try:
            form.pack_into(block.memory, target, value)
        except struct.error as error:
            raise ObjectError(f"{value:#x} does not fit into {form.size} bytes") from error


def _offset(symbol: Symbol, sections: Sequence[Section], offsets: Mapping[int, int]) -> int:
    """Return the offset of a symbol of this file from the start of the memory."""
    section = symbol.section
    if section is None or section not in offsets or symbol.value > sections[section].size:
        raise ObjectError(f"symbol {symbol.name!r} is not in a loaded section")
    return offsets[section] + symbol.value


def _external_address(name: str) -> int:
    """Return the address of a function that the file does not define."""
    find, handles = _SYMBOLS
    for handle in handles if name else ():
        address = find(handle, name.encode())
        if address:
            return address
    raise ObjectError(f"no function named {name!r} in this process")


def _symbol_finder() -> tuple[Callable[[int, bytes], int | None], tuple[int, ...]]:
    """Return `dlsym`, and the handles of this process and of libm.

    ctypes looks up the names of functions with the GIL held, and waits for the lock of the dynamic
    loader meanwhile. Another thread can hold this lock and wait for the GIL, while it imports an
    extension that runs Python code when it is loaded, as those of USD do. A call of `dlsym` as a
    foreign function releases the GIL.
    """
    if not IS_LINUX_ON_X86_64:
        return (lambda handle, name: None), ()
    process = ctypes.CDLL(None)
    find = process.dlsym
    find.argtypes, find.restype = (ctypes.c_void_p, ctypes.c_char_p), ctypes.c_void_p
    libraries = [process]
    with suppress(OSError):  # no such library
        libraries.append(ctypes.CDLL("libm.so.6"))
    return find, tuple(library._handle for library in libraries)


_SYMBOLS = _symbol_finder()  # when the module is imported, before the background thread starts
