"""XML with line numbers, read without trust: no entities, no DTD, no network, no deep nesting."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from linkwork.errors import Finding, ParseError, Place
from linkwork.io.source import Source, text_error

if TYPE_CHECKING:
    from lxml.etree import XMLSyntaxError
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

_UNDEFINED_PREFIX = "NS_ERR_UNDEFINED_NAMESPACE"


def parse_xml(source: Source) -> tuple[Element, list[Finding]]:
    """Parse a text.

    Returns:
        its top element, without comments and processing instructions, and warnings about the text.

    Raises:
        ParseError: the text is empty, not well formed, or declares entities.
    """
    if not source.text.strip():
        raise text_error(source.name, "empty document")
    nul = source.text.find("\0")
    if nul >= 0:
        raise text_error(source.name, "NUL byte", source.text.count("\n", 0, nul) + 1)
    _refuse_declarations(source)
    return _parse(source)


def tag_of(element: Element) -> str:
    """Name of an element; one from a namespace keeps a colon."""
    tag = element.tag
    return f"{element.prefix or ''}:{tag.rpartition('}')[2]}" if tag[0] == "{" else tag


def _parse(source: Source) -> tuple[Element, list[Finding]]:
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
        raise text_error(source.name, "half a surrogate pair is no character", line) from None
    strict = parser(recover=False)
    try:
        return etree.fromstring(data, strict), []
    except etree.XMLSyntaxError as error:
        if any(entry.type_name != _UNDEFINED_PREFIX for entry in strict.error_log):
            raise _syntax_error(source, error) from None
        text = "a namespace prefix is used but never declared"
        finding = Finding("warning", "", text, Place(source.name, error.lineno or 1))
        return etree.fromstring(data, parser(recover=True)), [finding]


def _syntax_error(source: Source, error: XMLSyntaxError) -> ParseError:
    line, column = error.position
    reason = re.sub(r", line \d+, column \d+$", "", error.msg or "unknown reason").strip()
    if "xcessive depth" in reason:
        return text_error(source.name, "elements are nested too deep", line or 1)
    if source.text.lstrip()[:1] != "<":
        reason = f"the text starts with {source.text.lstrip()[:20]!r}"
    return text_error(source.name, f"not well-formed XML (column {column}): {reason}", line or 1)


def _refuse_declarations(source: Source) -> None:
    """Refuse a DOCTYPE that declares anything: entities can grow without bound or name files."""
    text, at = source.text, 0
    while True:
        at = _space_end(text, at)
        if text.startswith("<!--", at):
            at = _after(text, "-->", at)
        elif text.startswith("<?", at):
            at = _after(text, "?>", at)
        else:
            break
    if text[at : at + 9].upper() != "<!DOCTYPE":
        return
    declaration = text[at : _after(text, ">", at)]
    if "[" in declaration:
        line = text.count("\n", 0, at) + 1
        raise text_error(source.name, "a DOCTYPE that declares entities is refused", line)


def _space_end(text: str, start: int) -> int:
    while start < len(text) and text[start].isspace():
        start += 1
    return start


def _after(text: str, mark: str, start: int) -> int:
    found = text.find(mark, start)
    return len(text) if found < 0 else found + len(mark)
