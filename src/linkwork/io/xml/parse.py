"""Safe parsing of XML with line numbers: no entities, no DTD, no network, no deep nesting."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from linkwork.errors import Finding, ParseError, SourceLocation
from linkwork.io.formats import FORMATS
from linkwork.io.xml.source import Source, source_parse_error

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

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
