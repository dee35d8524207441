"""Object files to code in memory, without LLVM: its library takes longer to load than the code.

Memory   code, constants and data, each on pages of its own: read and run, read, read and write
Outside  functions that the code calls are those of this process and of libm
Refused  what is not known raises `ObjectError`; nothing is left behind then
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Mapping, Sequence
from functools import cache

from linkwork.machine.elf import EXECUTE, WRITE, ObjectError, ObjectFile, Section, Symbol
from linkwork.machine.processor import IS_LINUX_ON_X86_64

MOST_BYTES = 1 << 30  # so that all parts of an object are within reach of each other
_FORMS = {  # kinds of addresses: how they are written, and whether they count from their own place
    1: (struct.Struct("<Q"), False),  # R_X86_64_64
    2: (struct.Struct("<i"), True),  # R_X86_64_PC32
    4: (struct.Struct("<i"), True),  # R_X86_64_PLT32
    24: (struct.Struct("<q"), True),  # R_X86_64_PC64
}


class LoadedObject:
    """An object file in memory; it stays as long as this object."""

    def __init__(self, data: bytes) -> None:
        if not IS_LINUX_ON_X86_64:
            raise ObjectError("only for Linux on x86-64")
        try:
            self._load(ObjectFile(data))
        except (OSError, OverflowError, MemoryError) as error:
            raise ObjectError(str(error)) from error

    def address(self, name: str) -> int:
        """Where a function starts."""
        if name not in self._functions:
            raise ObjectError(f"there is no function {name!r}")
        return self._functions[name]

    def _load(self, file: ObjectFile) -> None:
        places, ends = _layout(file.sections)
        memory = mmap.mmap(-1, ends[-1], flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        for number, place in places.items():
            section = file.sections[number]
            if not section.is_empty_space:
                memory[place : place + section.size] = file.content(section)
        _fill_in(memory, start, file, places)
        code, constants, _ = ends
        _protect(start, code, mmap.PROT_READ | mmap.PROT_EXEC)
        _protect(start + code, constants - code, mmap.PROT_READ)
        self._functions = {
            symbol.name: start + _place(symbol, file.sections, places)
            for symbol in file.symbols
            if symbol.is_function
        }
        self._memory = memory  # goes back to the system with this object


def _layout(sections: Sequence[Section]) -> tuple[dict[int, int], list[int]]:
    """Where each section goes, and where code, constants and data end, on whole pages."""
    places: dict[int, int] = {}
    ends: list[int] = []
    end = 0
    for access in (EXECUTE, 0, WRITE):
        for number, section in enumerate(sections):
            if section.is_loaded and section.flags & (EXECUTE | WRITE) == access:
                places[number] = _rounded_up(end, max(section.alignment, 1))
                end = places[number] + section.size
        end = _rounded_up(end, mmap.PAGESIZE)
        ends.append(end)
    if not 0 < end <= MOST_BYTES:
        raise ObjectError(f"{end} bytes to load")
    return places, ends


def _rounded_up(number: int, step: int) -> int:
    return -(-number // step) * step


def _fill_in(memory: mmap.mmap, start: int, file: ObjectFile, places: Mapping[int, int]) -> None:
    """Write the addresses that were not known when the code was made."""
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
                start + _place(symbol, file.sections, places) if inside else _outside(symbol.name)
            )
        place = places[section] + offset
        value = addresses[number] + addend - (start + place if is_relative else 0)
        try:
            form.pack_into(memory, place, value)
        except struct.error as error:
            raise ObjectError(f"{value:#x} does not fit {form.size} bytes") from error


def _place(symbol: Symbol, sections: Sequence[Section], places: Mapping[int, int]) -> int:
    """Where a symbol of this file is, from the start of the memory."""
    section = symbol.section
    if section is None or section not in places or symbol.value > sections[section].size:
        raise ObjectError(f"symbol {symbol.name!r} is nowhere in memory")
    return places[section] + symbol.value


def _outside(name: str) -> int:
    """Address of a function that is not in the file."""
    for library in (None, "libm.so.6"):
        try:
            function = _opened(library)[name]
        except (AttributeError, OSError):  # not there; no such library
            continue
        address = ctypes.cast(function, ctypes.c_void_p).value
        if name and address:
            return address
    raise ObjectError(f"no function {name!r} in this process")


@cache
def _opened(library: str | None) -> ctypes.CDLL:
    return ctypes.CDLL(library, use_errno=True)


def _protect(start: int, size: int, access: int) -> None:
    if size and _opened(None).mprotect(ctypes.c_void_p(start), ctypes.c_size_t(size), access):
        raise OSError(ctypes.get_errno(), "mprotect")
