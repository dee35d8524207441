"""Input documents and their parsing.

Input     from a path, a string or bytes. Bytes are decoded by the byte order mark or the encoding
          of the XML declaration, so that the checks for forbidden constructs and the parser see the
          same characters
Parsing   XML with line numbers: no entities, no DTD, no network, no deep nesting
"""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

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
from linkwork.io.formats import FORMATS, format_of_root, format_of_start
from linkwork.io.named_robots import name_hint

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

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
_FIRST_TAG = re.compile(r"<([^\s/>]+)")
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
    tag = _FIRST_TAG.match(source.text, prolog.end() if prolog else 0)
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


_UNDEFINED_PREFIX = "NS_ERR_UNDEFINED_NAMESPACE"
_DECLARATION = re.compile(r"((?:\s|<!--(?:(?!-->).)*-->)*)(<\?xml\s.*?\?>)", re.DOTALL)
_START = re.compile(r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<[^/!?]|\n", re.DOTALL)
_BEFORE_DOCTYPE = re.compile(r"(?:\s+|<!--.*?-->|<\?.*?\?>)*", re.DOTALL)
_DECLARATIONS = re.compile(r"""<!DOCTYPE(?:[^\[>"']|"[^"]*"|'[^']*')*\[""", re.IGNORECASE)
_NOT_NEWLINE = re.compile(r"[^\n]")
# In a document that is not well-formed, these may have no end: then they contain all that follows.
_ENDLESS = r"<!--.*|<!\[CDATA\[.*|<\?.*"
_COMMENT = re.compile(rf"<!--(.*?)-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|{_ENDLESS}", re.DOTALL)
_TAG = re.compile(
    rf"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|{_ENDLESS}"
    r"|<(?P<end>/?)(?P<name>[^\s/<>!?]+)(?P<rest>(?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*)>",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed document: its root, the line on which each element starts, and warnings."""

    root: Element
    lines: dict[Element, int]
    findings: list[Finding]


def parse_xml(source: Source, *, any_end_tag: bool = False) -> Document:
    """Parse a document, without comments and processing instructions.

    Args:
        source: the document.
        any_end_tag: whether an end tag with another name ends its element, with a warning.

    Raises:
        ParseError: the document is empty, not well-formed, or declares entities.
    """
    if source.format is not None:
        title = FORMATS[source.format].title
        raise source_parse_error(source.name, f"expected XML, but this is a {title} file")
    if not source.text.strip():
        raise source_parse_error(source.name, "empty document")
    nul = source.text.find("\0")
    if nul >= 0:
        raise source_parse_error(source.name, "NUL byte", source.text.count("\n", 0, nul) + 1)
    _reject_declarations(source)
    root, findings = _parse(source, _REPAIRS | _END_TAG_REPAIRS if any_end_tag else _REPAIRS)
    if _has_declarations(root):  # in case the scan above missed them
        raise source_parse_error(source.name, _DECLARATIONS_MESSAGE)
    return Document(root, _lines(root, source.text), findings)


def tag_of(element: Element) -> str:
    """Name of an element; `prefix:name` if it has a namespace."""
    tag = element.tag
    return f"{element.prefix or ''}:{tag.rpartition('}')[2]}" if tag[0] == "{" else tag


def namespace_of(element: Element) -> str:
    """Return the namespace of an element; empty if it has none."""
    return element.tag[1:].partition("}")[0] if element.tag[0] == "{" else ""


def _lines(root: Element, text: str) -> dict[Element, int]:
    """Return the line on which the tag of each element starts; lxml has the line where it ends."""
    elements = iter(root.iter())
    lines: dict[Element, int] = {}
    line = 1
    for match in _START.finditer(text):
        token = match.group()
        if token == "\n":
            line += 1
        elif token[1] in "!?":
            line += token.count("\n")
        else:
            element = next(elements, None)
            if element is None:
                break
            lines[element] = line
            line += token.count("\n")  # a tag whose name is on the next line
    return lines


def _parse(source: Source, repairs: Mapping[str, _Repair]) -> tuple[Element, list[Finding]]:
    from lxml import etree

    def parser(*, recover: bool) -> etree.XMLParser:
        return etree.XMLParser(
            encoding="utf-8",
            recover=recover,
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            dtd_validation=False,
            huge_tree=False,
            remove_comments=True,
            remove_pis=True,
        )

    try:
        data = source.text.encode("utf-8")
    except UnicodeEncodeError as error:
        line = source.text.count("\n", 0, error.start) + 1
        raise source_parse_error(source.name, "unpaired surrogate character", line) from None
    strict = parser(recover=False)
    try:
        return etree.fromstring(data, strict), []
    except etree.XMLSyntaxError as error:
        entries = [e for e in strict.error_log if e.type_name != _UNDEFINED_PREFIX]
        repair = repairs.get(entries[0].type_name) if entries else None
        repaired = repair.apply(source.text) if repair else source.text
        if repair and repaired != source.text:
            location = SourceLocation(source.name, entries[0].line)
            root, findings = _parse(replace(source, text=repaired), repairs)
            return root, [Finding("warning", "", repair.message, location), *findings]
        if entries or not len(strict.error_log):
            raise _syntax_error(source, entries[0] if entries else error) from None
        text = "a namespace prefix is used but never declared"
        finding = Finding("warning", "", text, SourceLocation(source.name, error.lineno or 1))
        return etree.fromstring(data, parser(recover=True)), [finding]


def _without_comments(text: str) -> str:
    """Replace comments by blanks, so that lines stay the same."""

    def blank(match: re.Match[str]) -> str:
        comment = match.group(1)
        return match.group() if comment is None else "<!--" + _NOT_NEWLINE.sub(" ", comment) + "-->"

    return _COMMENT.sub(blank, text)


def without_declaration(text: str) -> str:
    """Replace the XML declaration by blanks, so that lines stay the same."""
    match = _DECLARATION.match(text)
    if not match:
        return text
    return match.group(1) + _NOT_NEWLINE.sub(" ", match.group(2)) + text[match.end() :]


def _with_matching_ends(text: str) -> str:
    """Give each end tag the name of its element; unchanged if there are too many or too few."""
    pieces: list[str] = []
    names: list[str] = []  # of the elements that are open
    done = 0
    for match in _TAG.finditer(text):
        if match["end"]:
            if not names:
                return text
            pieces += [text[done : match.start("name")], names.pop()]
            done = match.end("name")
        elif match["name"] and not match["rest"].endswith("/"):
            names.append(match["name"])
    return text if names else "".join([*pieces, text[done:]])


@dataclass(frozen=True, slots=True)
class _Repair:
    """A change of a document that other parsers accept, and the warning about it."""

    message: str
    apply: Callable[[str], str]


_REPAIRS = {  # by the name of the error in libxml2
    "ERR_HYPHEN_IN_COMMENT": _Repair(
        "'--' inside a comment, which XML does not allow; the comment is ignored",
        _without_comments,
    ),
    "ERR_RESERVED_XML_NAME": _Repair(
        "white space or a comment before the XML declaration, which XML does not allow",
        without_declaration,
    ),
    "ERR_UNKNOWN_VERSION": _Repair(
        "unknown version in the XML declaration; read as XML 1.0", without_declaration
    ),
}
_END_TAG_REPAIRS = {
    "ERR_TAG_NAME_MISMATCH": _Repair(
        "an end tag has another name than its element, which XML does not allow; "
        "it is read as the end of that element",
        _with_matching_ends,
    ),
}


def _syntax_error(source: Source, error: Any) -> ParseError:
    """Convert an error of lxml: an exception, or an entry of its log."""
    message, line = str(getattr(error, "message", error)), getattr(error, "line", 1) or 1
    column = getattr(error, "column", 0)
    reason = re.sub(r", line \d+, column \d+.*$", "", message, flags=re.DOTALL).strip()
    if "xcessive depth" in reason:
        return source_parse_error(source.name, "elements are nested too deeply", line)
    if source.text.lstrip()[:1] != "<":
        reason = f"the document starts with {source.text.lstrip()[:20]!r}"
    return source_parse_error(source.name, f"not well-formed XML (column {column}): {reason}", line)


_DECLARATIONS_MESSAGE = "a DOCTYPE with declarations is not allowed; remove the entities"


def _reject_declarations(source: Source) -> None:
    """Reject a DOCTYPE with declarations: entities can grow without bound or read files."""
    before = _BEFORE_DOCTYPE.match(source.text)
    start = before.end() if before else 0
    if _DECLARATIONS.match(source.text, start):
        line = source.text.count("\n", 0, start) + 1
        raise source_parse_error(source.name, _DECLARATIONS_MESSAGE, line)


def _has_declarations(root: Element) -> bool:
    dtd: Any = root.getroottree().docinfo.internalDTD
    if dtd is None:
        return False
    return any(True for _ in dtd.iterentities()) or any(True for _ in dtd.iterelements())
