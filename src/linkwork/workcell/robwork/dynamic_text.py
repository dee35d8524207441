"""The text of dynamic workcells before it is parsed: end tags, and the workcell that it names."""

from __future__ import annotations

import re
from dataclasses import replace

from linkwork.errors import Finding, SourceLocation
from linkwork.io.xml.source import Source

DYNAMIC = ("DynamicWorkCell", "DynamicWorkcell")
INCLUDED = "IncludeData"  # the root element of files that a dynamic workcell includes
_START = re.compile(r"<([^\s/>!?]+)((?:[^>\"']|\"[^\"]*\"|'[^']*')*)>")
_TAG = re.compile(
    r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|</(?P<end>[^\s>]+)\s*>"
    r"|<(?P<start>[^\s/>!?]+)(?P<rest>(?:[^>\"']|\"[^\"]*\"|'[^']*')*)>",
    re.DOTALL,
)
_PROLOG = {"<!--": "-->", "<?": "?>", "<!": ">"}  # start and end of what may precede the root
_WORKCELL = re.compile(r"\sworkcell\s*=\s*(\"[^\"]*\"|'[^']*')")


def with_workcell(source: Source) -> Source:
    """Add an `<Include>` of its workcell to a dynamic workcell; other documents are unchanged.

    So the rules for included files also apply to the workcell. Line numbers do not change.
    """
    text = source.text
    match = _START.match(text, _root_position(text))
    named = _WORKCELL.search(match[2]) if match and match[1] in DYNAMIC else None
    if match is None or named is None:
        return source
    start, end = text[: match.end() - 1], text[match.end() :]
    include = f"<Include file={named[1]}/>"
    if start.endswith("/"):
        return replace(source, text=f"{start[:-1]}>{include}</{match[1]}>{end}")
    return replace(source, text=f"{start}>{include}{end}")


def with_end_tags(source: Source) -> tuple[Source, list[Finding]]:
    """Rename the end tags of a dynamic workcell whose names differ from those of their elements.

    RobWork does not compare the names, and many published files have such end tags. Other documents
    and tags that are not balanced are unchanged. Line numbers do not change.

    Returns:
        The document, and a warning for each of these end tags.
    """
    text = source.text
    root = _START.match(text, _root_position(text))
    if root is None or root[1] not in (*DYNAMIC, INCLUDED):
        return source, []
    pieces: list[str] = []
    findings: list[Finding] = []
    names: list[str] = []  # of the elements that contain the current position
    position = 0
    for match in _TAG.finditer(text):
        if match["start"] is not None and not match["rest"].endswith("/"):
            names.append(match["start"])
        elif match["end"] is not None:
            if not names:
                return source, []
            if (name := names.pop()) != match["end"]:
                pieces += [text[position : match.start("end")], name]
                position = match.end("end")
                line = text.count("\n", 0, position) + 1
                message = f"<{name}> ends with </{match['end']}>, which XML does not allow"
                location = SourceLocation(source.name, line)
                findings.append(Finding("warning", "", f"{message}; RobWork accepts it", location))
    if names or not findings:
        return source, []
    return replace(source, text="".join([*pieces, text[position:]])), findings


def _root_position(text: str) -> int:
    """Position of the root element, after comments and declarations."""
    position = 0
    while True:
        while text[position : position + 1].isspace():
            position += 1
        mark = next((mark for mark in _PROLOG if text.startswith(mark, position)), None)
        end = text.find(_PROLOG[mark], position) if mark else -1
        if mark is None or end < 0:
            return position
        position = end + len(_PROLOG[mark])
