"""Input documents from a path, a string or bytes.

Bytes are decoded by this module, by the byte order mark or the encoding of the XML declaration, so
that the checks for forbidden constructs and the parser see the same characters.
"""

from __future__ import annotations

import codecs
import re
import sys
from dataclasses import dataclass
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from typing import BinaryIO

from linkwork.errors import (
    ArgumentError,
    Finding,
    MissingFileError,
    ParseError,
    SourceError,
    SourceLocation,
    clipped,
)
from linkwork.io.folders import AllowedFolders
from linkwork.io.formats import format_of_root, format_of_start
from linkwork.io.named_robots import name_hint

# Larger files are rejected [bytes]: robot files are much smaller, and a device or pipe may be
# endless.
MAX_FILE_SIZE = 256 * 1024 * 1024
CHUNK_SIZE = 1024 * 1024  # [bytes]
TEXT_NAME = "<text>"  # replaces the file name in messages about a string
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
# First bytes of files that are not XML, and their description.
_OTHER_FORMATS = {
    b"PXR-USDC": "a binary USD file; load it from its path",
    b"PK\x03\x04": "a ZIP archive; extract the robot's file first, unless it is a .usdz file",
    b"glTF": "a glTF mesh, not a robot",
    b"solid ": "an STL mesh, not a robot",
    b"\x1f\x8b": "compressed by gzip; decompress it first",
}
_TAG = re.compile(r"<([^\s/>]+)")
_PROLOG = re.compile(r"(?:\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*>)*", re.DOTALL)
_DECLARED = re.compile(rb"""<\?xml[^>]{0,400}?\sencoding\s*=\s*["']([A-Za-z0-9._-]{1,400})["']""")


@dataclass(frozen=True, slots=True)
class Source:
    """A decoded document, and its origin."""

    name: str  # for messages
    text: str
    path: Path | None  # None if it is not from a file
    allowed: AllowedFolders | None = None  # folders of the files it may refer to; None for default
    format: str | None = None  # if it is not XML; then the text of a file is empty


def read_source(source: str | bytes | PathLike[str] | Source) -> Source:
    """Read a document from a path, a string or bytes.

    Args:
        source: a path object; a str, which is a document if it contains `<` or a line break or is
            empty, else a path; or bytes, which are a document.

    Raises:
        MissingFileError: there is no such file.
        SourceError: it is not a regular file, or cannot be read.
        ParseError: the bytes cannot be decoded.
    """
    if isinstance(source, Source):
        return source
    if isinstance(source, bytes):
        return _document(_decode(source, TEXT_NAME), TEXT_NAME)
    if isinstance(source, str) and (not source.strip() or re.search(r"[<\n\r]", source)):
        return _document(_normalize_newlines(source), TEXT_NAME)
    if not isinstance(source, (str, PathLike)):
        raise ArgumentError(f"expected a path or a string, got {type(source).__name__}")
    name = fspath(source)
    if not isinstance(name, str):
        raise ArgumentError(f"expected a path or a string, got a path of {type(name).__name__}")
    path = Path(name)
    data = _read_bytes(path)
    format_name = format_of_start(data, path.name)
    text = "" if format_name else _decode(data, str(path))
    return Source(str(path), text, path, format=format_name)


def _document(text: str, name: str) -> Source:
    """Return a document that is not from a file."""
    return Source(name, text, None, format=format_of_start(text[:20].encode(errors="replace")))


def first_tag(source: Source) -> str:
    """Return the name of the root element without parsing; empty if there is none."""
    prolog = _PROLOG.match(source.text)
    tag = _TAG.match(source.text, prolog.end() if prolog else 0)
    return tag.group(1) if tag else ""


def format_of(source: Source) -> str:
    """Return the name of the format of a document, by its first bytes or its root element.

    Documents of no format are "urdf", whose reader reports errors.
    """
    return source.format or format_of_root(first_tag(source))


def standard_input() -> Source:
    """Read a document from standard input.

    Raises:
        SourceError: it cannot be read, or is too large.
        ParseError: the bytes cannot be decoded.
    """
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise SourceError(f"{STANDARD_INPUT} is closed")
    try:
        data = _read_limited(sys.stdin.buffer, STANDARD_INPUT)
    except OSError as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(f"cannot read {STANDARD_INPUT}: {error.strerror}") from error
    return _document(_decode(data, STANDARD_INPUT), STANDARD_INPUT)


def _read_limited(file: BinaryIO, name: str) -> bytes:
    """Read a file in chunks up to the limit; the size of some files is not known in advance."""
    n_chunks = MAX_FILE_SIZE // CHUNK_SIZE + 1
    chunks = list(islice(iter(lambda: file.read(CHUNK_SIZE), b""), n_chunks))
    if sum(map(len, chunks)) > MAX_FILE_SIZE:
        raise SourceError(f"{name} is larger than {MAX_FILE_SIZE >> 20} MiB")
    return b"".join(chunks)


def _normalize_newlines(text: str) -> str:
    """Remove byte order marks at the start, and end every line by a newline as XML requires."""
    return text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def source_parse_error(name: str, message: str, line: int = 1) -> ParseError:
    """Build the error for a document that cannot be parsed."""
    return ParseError([Finding("error", "", message, SourceLocation(name, line))])


def _read_bytes(path: Path) -> bytes:
    try:
        if not path.exists():
            folder = f"; there is no folder {shown_path(path.parent)}"
            hint = name_hint(str(path)) if path.parent.is_dir() else folder
            raise MissingFileError(f"no file {shown_path(path)}{hint}")
        if path.is_dir():
            raise SourceError(f"{shown_path(path)} is a folder, not a file")
        if not path.is_file():  # a pipe or a device may be endless
            raise SourceError(f"{shown_path(path)} is not a regular file")
        with path.open("rb") as file:
            return _read_limited(file, shown_path(path))
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the path
        if isinstance(error, SourceError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise SourceError(f"cannot read {shown_path(path)}: {reason}") from error


def shown_path(path: Path) -> str:
    """Return a path in quotes; a long path is shortened."""
    return repr(clipped(str(path), 400))


def _decode(data: bytes, name: str) -> str:
    for start, description in _OTHER_FORMATS.items():
        if data.startswith(start):
            raise source_parse_error(name, f"expected XML, but this is {description}")
    encoding = next((codec for mark, codec in _BYTE_ORDER_MARKS if data.startswith(mark)), None)
    if encoding is None:
        declared = _DECLARED.match(data.lstrip()[:1000])
        encoding = declared.group(1).decode("ascii") if declared else "utf-8"
    try:
        is_character_set = codecs.lookup(encoding).name.startswith(_CHARACTER_SETS)
    except LookupError:
        is_character_set = False
    if not is_character_set:  # Python has other codecs, too
        raise source_parse_error(name, f"unknown encoding {encoding!r}")
    try:
        return _normalize_newlines(data.decode(encoding))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{data[error.start]:02x} is not valid {encoding}"
        raise source_parse_error(name, message, line) from None
    except UnicodeError as error:  # such as truncated UTF-16
        raise source_parse_error(name, f"cannot decode as {encoding}: {error}") from None
