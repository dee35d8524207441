"""Names in C code. A name in a robot file may contain any character; these functions escape it.

Identifiers   letters, digits and single underscores. Each has a prefix, so that it cannot be a
              keyword, macro or reserved name
Comments      characters that could end a comment, join lines or form a trigraph are written as %XX,
              their UTF-8 bytes, as in a URL; so different names stay different
"""

from __future__ import annotations

import re

from linkwork.engine.symbolic.operations import Op
from linkwork.errors import ArgumentError, shown

LONGEST_PART = 48  # characters of a name in an identifier; file systems allow 255 in total
# A prefix is also a file name: it must differ from these files and from the headers of C.
_USED_FILE_NAMES = frozenset(
    (
        *("main", "selftest", "assert", "complex", "ctype", "errno", "fenv", "float", "inttypes"),
        *("iso646", "limits", "locale", "math", "setjmp", "signal", "stdarg", "stdbool", "stddef"),
        *("stdint", "stdio", "stdlib", "string", "tgmath", "time", "wchar", "wctype", "lw"),
    )
)
# Endings of macro names: sizes of vectors of the robot, and of workspaces of functions.
SIZES = ("NQ", "NV", "WORK", "BATCH_WORK")
MACRO_ENDINGS = ("_work", "_batch_work")
# Other names that occur in the files of an export, or in the headers that they include.
_RESERVED = (
    *("lw_unit", "lw_is_far", "lw_vec", "lw_mask", "lw_loose", "lw_rows", "lw_store", "lw_set"),
    *("lw_one", "lw_zero", "lw_sincos", "lw_restrict", "lw_noinline"),
    *(f"lw_{op.name.lower()}" for op in Op),
    *("size_t", "ssize_t", "wchar_t", "ptrdiff_t", "max_align_t", "float_t", "double_t", "off_t"),
    *("fpos_t", "va_list", "math_errhandling"),
)
_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")


def identifier_part(text: str) -> str:
    """Convert a string to part of an identifier; other than ASCII letters and digits become `_`."""
    part = re.sub(r"[^A-Za-z0-9]+", "_", text)[:LONGEST_PART].strip("_")
    return part or "x"


def comment_text(text: str) -> str:
    """Escape a string for comments in C, Markdown and makefiles."""
    return re.sub(
        r"[^A-Za-z0-9 _.,:+=@^()\[\]/-]",
        lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass")),
        text,
    )


def checked_prefix(prefix: object) -> str:
    """Return the user's prefix; raise if names that begin with it would be invalid in C."""
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix) or len(prefix) > LONGEST_PART:
        message = "prefix: expected a letter, then letters, digits and single underscores"
        raise ArgumentError(f"{message}, at most {LONGEST_PART} characters; got {shown(prefix)}")
    if prefix.lower() in _USED_FILE_NAMES:
        message = f"prefix: {prefix!r} is the name of another file or header; choose another one"
        raise ArgumentError(message)
    return prefix


def default_prefix(name: str) -> str:
    """Return the prefix derived from the name of a robot."""
    part = identifier_part(name).lower()
    is_free = part[0].isalpha() and part not in _USED_FILE_NAMES
    return part if is_free else f"robot_{part}"[:LONGEST_PART].rstrip("_")


class Names:
    """The identifiers of an export, each unique even when case is ignored.

    Macros are in capitals, and some file systems ignore case.
    """

    def __init__(self, prefix: str = "") -> None:
        """Reserve the names of the macros and files that begin with a prefix."""
        self._used = {*_RESERVED, *(f"{prefix}_{name}".lower() for name in ("h", *SIZES))}

    def new(self, name: str, *endings: str) -> str:
        """Return a name, with a number if it, or it with one of the endings, is used already."""
        unique, number = name, 1
        while any(form in self._used for form in _forms(unique, endings)):
            number += 1
            unique = f"{name}_{number}"
        self._used.update(_forms(unique, endings))
        return unique


def _forms(name: str, endings: tuple[str, ...]) -> list[str]:
    return [name.lower(), *(f"{name}{ending}".lower() for ending in endings)]
