"""Names in C text. A name in a robot file may hold any character; here none of them can do harm.

Identifiers   letters, digits and single underscores; never at the start of a name, where keywords,
              macros and reserved names are: a prefix of ours goes before each
Comments      what could end a comment, join lines or form a trigraph is written as %XX, its UTF-8
              bytes, as in an address of the web; so two names never look the same
"""

from __future__ import annotations

import re

from linkwork.engine.symbolic.node import Op
from linkwork.errors import ArgumentError, shown

LONGEST_PART = 48  # characters of a name in an identifier: file systems take 255 in all
# A prefix also names files: none of these, and no header of C, may be hidden by one of ours.
_TAKEN = frozenset(
    (
        *("main", "selftest", "assert", "complex", "ctype", "errno", "fenv", "float", "inttypes"),
        *("iso646", "limits", "locale", "math", "setjmp", "signal", "stdarg", "stdbool", "stddef"),
        *("stdint", "stdio", "stdlib", "string", "tgmath", "time", "wchar", "wctype", "lw"),
    )
)
# Names of these endings are macros: sizes of vectors of the robot, and of workspaces of functions.
SIZES = ("NQ", "NV", "WORK", "BATCH_WORK")
MACRO_ENDINGS = ("_work", "_batch_work")
# Other names that stand in the files of an export, or in the headers that they include.
_RESERVED = (
    *("lw_unit", "lw_is_far", "lw_vec", "lw_mask", "lw_loose", "lw_rows", "lw_store", "lw_set"),
    *("lw_one", "lw_zero", "lw_sincos", "lw_restrict", "lw_noinline"),
    *(f"lw_{op.name.lower()}" for op in Op),
    *("size_t", "ssize_t", "wchar_t", "ptrdiff_t", "max_align_t", "float_t", "double_t", "off_t"),
    *("fpos_t", "va_list", "math_errhandling"),
)
_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")


def identifier_part(text: str) -> str:
    """A text as the second part of an identifier; what is no ASCII letter or digit becomes `_`."""
    part = re.sub(r"[^A-Za-z0-9]+", "_", text)[:LONGEST_PART].strip("_")
    return part or "x"


def comment_text(text: str) -> str:
    """A text that can stand in a comment of C, in Markdown and in a makefile."""
    return re.sub(
        r"[^A-Za-z0-9 _.,:+=@^()\[\]/-]",
        lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "surrogatepass")),
        text,
    )


def checked_prefix(prefix: object) -> str:
    """A prefix that was given, or an error if names that begin with it would be no good in C."""
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix) or len(prefix) > LONGEST_PART:
        text = "prefix: expected a letter, then letters, digits and single underscores"
        raise ArgumentError(f"{text}, at most {LONGEST_PART} in all; got {shown(prefix)}")
    if prefix.lower() in _TAKEN:
        raise ArgumentError(f"prefix: {prefix!r} is the name of another file; choose another one")
    return prefix


def default_prefix(name: str) -> str:
    """The prefix made from the name of a robot."""
    part = identifier_part(name).lower()
    is_free = part[0].isalpha() and part not in _TAKEN
    return part if is_free else f"robot_{part}"[:LONGEST_PART].rstrip("_")


class Names:
    """Gives every identifier of an export once, whatever the case of its letters.

    Macros are in capitals, and some file systems do not tell capitals from other letters.
    """

    def __init__(self, prefix: str = "") -> None:
        """The names of an export, whose macros and files begin with a prefix."""
        self._taken = {*_RESERVED, *(f"{prefix}_{name}".lower() for name in ("h", *SIZES))}

    def new(self, wanted: str, *endings: str) -> str:
        """The name that is wanted, with a number if it is taken, or it with one of the endings."""
        name, number = wanted, 1
        while any(form in self._taken for form in _forms(name, endings)):
            number += 1
            name = f"{wanted}_{number}"
        self._taken.update(_forms(name, endings))
        return name


def _forms(name: str, endings: tuple[str, ...]) -> list[str]:
    return [name.lower(), *(f"{name}{ending}".lower() for ending in endings)]
