"""Parser of relocatable 64-bit ELF object files, for Linux on x86-64.

Only files as written by LLVM are accepted. Other files, also damaged ones, raise `ObjectError`:
every offset, size and index in a file is checked before it is used.

System V ABI, chapters 4 and 5, and its supplement for AMD64.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

_HEADER = struct.Struct("<4s3B9xHH20xQ10xHH2x")
_SECTION = struct.Struct("<4xIQ8xQQIIQQ")
_SYMBOL = struct.Struct("<IBxHQ8x")
_RELOCATION = struct.Struct("<QIIq")

# 64 bits, little endian, version 1; relocatable, for x86-64
_X86_64_OBJECT = (b"\x7fELF", 2, 1, 1, 1, 62)

_PROGBITS, _SYMTAB, _STRTAB, _RELA, _NOBITS, _REL, _UNWIND = 1, 2, 3, 4, 8, 9, 0x70000001
WRITE, ALLOC, EXECUTE = 1, 2, 4
_KNOWN_FLAGS = WRITE | ALLOC | EXECUTE | 0x10 | 0x20 | 0x10000000  # merge, strings, large
_UNDEFINED, _RESERVED = 0, 0xFF00  # section indices with a special meaning
_KNOWN_TYPES = (0, 1, 2, 3)  # types of symbols: none, object, function, section
_GLOBAL, _FUNCTION = 1, 2
MOST_ALIGNMENT = 4096  # [bytes] a page


class ObjectError(ValueError):
    """An object file that this loader does not support; LLVM may support it."""


class Section(NamedTuple):
    """A section of the file."""

    kind: int
    flags: int
    offset: int  # in the file [bytes]
    size: int  # [bytes]
    link: int  # index of a section that it refers to, such as the names of symbols
    info: int  # index of the section that it applies to
    alignment: int
    entry_size: int

    @property
    def is_loaded(self) -> bool:
        """Whether it is loaded into memory; tables for stack unwinding are not."""
        return bool(self.flags & ALLOC) and self.kind != _UNWIND

    @property
    def is_zero_initialized(self) -> bool:
        """Whether it is zero-initialized, without content in the file."""
        return self.kind == _NOBITS


class Symbol(NamedTuple):
    """The name of an address."""

    name: str
    section: int | None  # index of its section; None if it is not defined in this file
    value: int  # [bytes] from the start of the section
    is_function: bool  # whether it is a global function, which can be called from outside


class Relocation(NamedTuple):
    """A field of a section that is set to an address at load time."""

    section: int  # index of the section that contains the field
    offset: int  # [bytes] from the start of the section
    kind: int
    symbol: int  # index of the symbol whose address is stored
    addend: int


class ObjectFile:
    """The sections, symbols and relocations of an object file."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)
        try:
            self.sections = self._read_sections()
            self.symbols = self._read_symbols()
        except (struct.error, UnicodeDecodeError) as error:
            raise ObjectError(str(error)) from error

    def content(self, section: Section) -> memoryview:
        """Return the bytes of a section."""
        return self._data[section.offset : section.offset + section.size]

    def relocations(self) -> Iterator[Relocation]:
        """Yield the relocations of the sections that are loaded."""
        for table in self.sections:
            if table.kind not in (_RELA, _REL):
                continue
            target = self._section(table.info)
            if not target.is_loaded:
                continue
            self._check_table(table, _RELA, _RELOCATION)
            for offset, kind, symbol, addend in _RELOCATION.iter_unpack(self.content(table)):
                if symbol >= len(self.symbols):
                    raise ObjectError(f"no symbol with index {symbol}")
                yield Relocation(table.info, offset, kind, symbol, addend)

    def _read_sections(self) -> tuple[Section, ...]:
        *kind, start, entry_size, count = _HEADER.unpack_from(self._data)
        if tuple(kind) != _X86_64_OBJECT:
            raise ObjectError("not an object file for x86-64")
        stop = start + count * entry_size
        if entry_size != _SECTION.size or not count or stop > len(self._data):
            raise ObjectError("no valid table of sections")
        sections = tuple(map(Section._make, _SECTION.iter_unpack(self._data[start:stop])))
        for section in sections:
            self._check_section(section)
        return sections

    def _check_section(self, section: Section) -> None:
        end = section.offset + section.size
        if section.kind and not section.is_zero_initialized and end > len(self._data):
            raise ObjectError("a section reaches beyond the end of the file")
        if not section.is_loaded:
            return
        if section.kind not in (_PROGBITS, _NOBITS) or section.flags & ~_KNOWN_FLAGS:
            text = f"section of type {section.kind:#x} with flags {section.flags:#x}"
            raise ObjectError(f"{text} is not supported")
        if section.flags & WRITE and section.flags & EXECUTE:
            raise ObjectError("a section is both writable and executable")
        alignment = section.alignment
        if alignment & (alignment - 1) or alignment > MOST_ALIGNMENT:
            raise ObjectError(f"alignment {alignment} is not supported")

    def _read_symbols(self) -> tuple[Symbol, ...]:
        tables = [section for section in self.sections if section.kind == _SYMTAB]
        if len(tables) != 1:
            raise ObjectError(f"expected one table of symbols, got {len(tables)}")
        self._check_table(tables[0], _SYMTAB, _SYMBOL)
        names = self._section(tables[0].link)
        if names.kind != _STRTAB:
            raise ObjectError("the table of symbols has no names")
        texts = bytes(self.content(names))
        entries = _SYMBOL.iter_unpack(self.content(tables[0]))
        return tuple(_symbol(texts, *entry) for entry in entries)

    def _section(self, index: int) -> Section:
        if index >= len(self.sections):
            raise ObjectError(f"no section with index {index}")
        return self.sections[index]

    def _check_table(self, table: Section, kind: int, entry: struct.Struct) -> None:
        if table.kind != kind or table.entry_size != entry.size or table.size % entry.size:
            text = f"table of type {table.kind:#x} with entries of {table.entry_size} bytes"
            raise ObjectError(f"{text} is not supported")


def _symbol(texts: bytes, name: int, info: int, section: int, value: int) -> Symbol:
    end = texts.find(b"\0", name)
    if end < 0:
        raise ObjectError("the name of a symbol is not terminated")
    binding, kind = info >> 4, info & 15
    if kind not in _KNOWN_TYPES or section >= _RESERVED:
        return Symbol("", None, 0, False)  # unsupported: a relocation with it is rejected
    text = texts[name:end].decode("ascii")
    if section == _UNDEFINED:
        return Symbol(text, None, 0, False)
    return Symbol(text, section, value, (binding, kind) == (_GLOBAL, _FUNCTION))
