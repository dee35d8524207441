"""The text of a robot from what the user gives: a path, a text, or bytes. Nothing is executed.

Bytes are decoded here, by the byte order mark or the encoding that the XML declaration names, so
that what is searched for forbidden constructs is exactly what the parser sees.
"""

from __future__ import annotations

import codecs
import re
import sys
from dataclasses import dataclass
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from linkwork.errors import (
    ArgumentError,
    Finding,
    MissingFileError,
    ParseError,
    SourceError,
    SourceLocation,
    clipped,
)
from linkwork.io.named_robots import name_hint

if TYPE_CHECKING:
    from linkwork.model.model import Model  # which imports NumPy: too slow for shell completion

# Larger files are refused [bytes]: no description of a robot comes near, and a device or pipe may
# never end.
LARGEST_FILE = 256 * 1024 * 1024
CHUNK = 1024 * 1024  # bytes read at once
TEXT_NAME = "<text>"  # the file name in messages about a text that came from no file
STANDARD_INPUT = "<standard input>"

_BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_CHARACTER_SETS = (
    *("utf-8", "utf-16", "utf-32", "ascii", "iso8859", "cp", "koi8", "gb", "big5", "euc"),
    *("shift_jis", "mac"),
)
# How files start that are no XML, and what they are.
_OTHER_FORMATS = {
    b"#usda": "a USD file; linkwork does not read USD",
    b"PXR-USDC": "a binary USD file; linkwork does not read USD",
    b"PK\x03\x04": "a ZIP archive, such as .usdz; extract the robot's file first",
    b"glTF": "a glTF mesh, not a robot",
    b"solid ": "an STL mesh, not a robot",
    b"\x1f\x8b": "compressed by gzip; decompress it first",
}
_DECLARED = re.compile(rb"""<\?xml[^>]{0,400}?\sencoding\s*=\s*["']([A-Za-z0-9._-]{1,400})["']""")


@dataclass(frozen=True, slots=True)
class Source:
    """A text, and where it came from."""

    name: str  # for messages
    text: str
    path: Path | None  # None if it came as a text
    roots: tuple[Path, ...] | None = None  # folders that its files may be in; None for any


def read_source(source: str | bytes | PathLike[str] | Source) -> Source:
    """Take a path, or a text that holds XML.

    Args:
        source: a path object; or a str, which is a text if it holds `<` or a line break or is
            empty, and a path otherwise; or bytes, which are a text.

    Raises:
        MissingFileError: there is no such file.
        SourceError: it is no regular file, or it may not be read.
        ParseError: the bytes are no text.
    """
    if isinstance(source, Source):
        return source
    if isinstance(source, bytes):
        return Source(TEXT_NAME, _decoded(source, TEXT_NAME), None)
    if isinstance(source, str) and (not source.strip() or re.search(r"[<\n\r]", source)):
        return Source(TEXT_NAME, _normalized(source), None)
    if not isinstance(source, (str, PathLike)):
        raise ArgumentError(f"expected a path or a text, got {type(source).__name__}")
    name = fspath(source)
    if not isinstance(name, str):
        raise ArgumentError(f"expected a path or a text, got a path of {type(name).__name__}")
    path = Path(name)
    return Source(str(path), _decoded(_bytes_of(path), str(path)), path)


def standard_input() -> Source:
    """The text on standard input.

    Raises:
        SourceError: it cannot be read, or is too large.
        ParseError: the bytes are no text.
    """
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise SourceError(f"{STANDARD_INPUT} is closed")
    try:
        data = _limited(sys.stdin.buffer, STANDARD_INPUT)
    except OSError as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(f"cannot read {STANDARD_INPUT}: {error.strerror}") from error
    return Source(STANDARD_INPUT, _decoded(data, STANDARD_INPUT), None)


def _limited(file: BinaryIO, name: str) -> bytes:
    """All bytes of a file, chunk by chunk: some files do not know their size beforehand."""
    chunks = list(islice(iter(lambda: file.read(CHUNK), b""), LARGEST_FILE // CHUNK + 1))
    if sum(map(len, chunks)) > LARGEST_FILE:
        raise SourceError(f"{name} is larger than {LARGEST_FILE >> 20} MiB")
    return b"".join(chunks)


def _normalized(text: str) -> str:
    """The text without byte order marks at its start, every line ended as XML ends it."""
    return text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def text_error(name: str, text: str, line: int = 1) -> ParseError:
    """Build the error for a text that cannot be read at all."""
    return ParseError([Finding("error", "", text, SourceLocation(name, line))])


def _bytes_of(path: Path) -> bytes:
    try:
        if not path.exists():
            folder = f"; there is no folder {shown_path(path.parent)}"
            hint = name_hint(str(path)) if path.parent.is_dir() else folder
            raise MissingFileError(f"no file {shown_path(path)}{hint}")
        if path.is_dir():
            raise SourceError(f"{shown_path(path)} is a folder, not a file")
        if not path.is_file():  # a pipe or a device might never end
            raise SourceError(f"{shown_path(path)} is not a regular file")
        with path.open("rb") as file:
            return _limited(file, shown_path(path))
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the path
        if isinstance(error, SourceError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise SourceError(f"cannot read {shown_path(path)}: {reason}") from error


def shown_path(path: Path) -> str:
    """A path in quotes; of one longer than any message should be, the start."""
    return repr(clipped(str(path), 400))


def _decoded(data: bytes, name: str) -> str:
    for start, meaning in _OTHER_FORMATS.items():
        if data.startswith(start):
            raise text_error(name, f"expected XML, but this is {meaning}")
    encoding = next((codec for mark, codec in _BYTE_ORDER_MARKS if data.startswith(mark)), None)
    if encoding is None:
        declared = _DECLARED.match(data.lstrip()[:1000])
        encoding = declared.group(1).decode("ascii") if declared else "utf-8"
    try:
        known = codecs.lookup(encoding).name.startswith(_CHARACTER_SETS)
    except LookupError:
        known = False
    if not known:  # Python also knows codecs that are no character sets
        raise text_error(name, f"unknown encoding {encoding!r}")
    try:
        return _normalized(data.decode(encoding))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        text = f"byte 0x{data[error.start]:02x} is not valid {encoding}"
        raise text_error(name, text, line) from None
    except UnicodeError as error:  # such as UTF-16 that stops in the middle
        raise text_error(name, f"cannot decode as {encoding}: {error}") from None


@dataclass(frozen=True, slots=True)
class Reading:
    """What came out of a file: a model unless there were errors, and all findings."""

    model: Model | None
    findings: tuple[Finding, ...]
