"""Loads object files into memory without LLVM, whose library takes longer to load than the code.

Memory   one mapping: code and constants, then data on separate pages; see memory.py
Symbols  that the file does not define are resolved in this process and in libm
Errors   an object file that is not supported raises `ObjectError`, and its memory is freed
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Mapping, Sequence
from functools import cache

from linkwork.engine.runtime.elf import EXECUTE, WRITE, ObjectError, ObjectFile, Section, Symbol
from linkwork.engine.runtime.memory import CodeMemory
from linkwork.engine.runtime.processor import IS_LINUX_ON_X86_64

MOST_BYTES = 1 << 30  # of an object: relative addresses of 32 bits reach 2 GB
_FORMS = {  # by kind of relocation: the format, and whether it is relative to its own address
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
            if not section.is_empty_space:  # new pages are zero
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
        """The address of a function."""
        if name not in self._functions:
            raise ObjectError(f"there is no function {name!r}")
        return self._functions[name]


def _layout(sections: Sequence[Section]) -> tuple[dict[int, int], int, int]:
    """The offset of each section that is loaded; bytes of code and constants, and of data."""
    offsets: dict[int, int] = {}
    ends = [0]  # of code, of constants after it, and of data on further pages
    for access in (EXECUTE, 0, WRITE):
        end = _rounded_up(ends[-1], mmap.PAGESIZE) if access == WRITE else ends[-1]
        for number, section in enumerate(sections):
            if section.is_loaded and section.flags & (EXECUTE | WRITE) == access:
                offsets[number] = _rounded_up(end, max(section.alignment, 1))
                end = offsets[number] + section.size
        ends.append(end)
    code_bytes, all_bytes = (_rounded_up(end, mmap.PAGESIZE) for end in ends[2:])
    if not 0 < all_bytes <= MOST_BYTES:
        raise ObjectError(f"{all_bytes} bytes to load")
    return offsets, code_bytes, all_bytes - code_bytes


def _rounded_up(number: int, step: int) -> int:
    return -(-number // step) * step


def _relocate(block: CodeMemory, file: ObjectFile, offsets: Mapping[int, int]) -> None:
    """Fill in the addresses that depend on where the code was loaded."""
    addresses: dict[int, int] = {}
    for section, offset, kind, number, addend in file.relocations():
        if kind not in _FORMS:
            raise ObjectError(f"relocation of kind {kind}")
        form, is_relative = _FORMS[kind]
        if offset + form.size > file.sections[section].size:
            raise ObjectError("a relocation beyond the end of its section")
        if number not in addresses:
            symbol = file.symbols[number]
            inside = symbol.section is not None
            addresses[number] = (
                block.start + _offset(symbol, file.sections, offsets)
                if inside
                else _resolved(symbol.name)
            )
        target = offsets[section] + offset
        value = addresses[number] + addend - (block.start + target if is_relative else 0)
        try:
            form.pack_into(block.memory, target, value)
        except struct.error as error:
            raise ObjectError(f"{value:#x} does not fit {form.size} bytes") from error


def _offset(symbol: Symbol, sections: Sequence[Section], offsets: Mapping[int, int]) -> int:
    """The offset of a symbol of this file from the start of the memory."""
    section = symbol.section
    if section is None or section not in offsets or symbol.value > sections[section].size:
        raise ObjectError(f"symbol {symbol.name!r} is not in memory")
    return offsets[section] + symbol.value


def _resolved(name: str) -> int:
    """The address of a function that the file does not define."""
    for library in (None, "libm.so.6"):
        try:
            function = _opened(library)[name]
        except (AttributeError, OSError):  # no such function; no such library
            continue
        address = ctypes.cast(function, ctypes.c_void_p).value
        if name and address:
            return address
    raise ObjectError(f"no function {name!r} in this process")


@cache
def _opened(library: str | None) -> ctypes.CDLL:
    return ctypes.CDLL(library)
