"""Expansion of `<Include>`, `<Define>` and `<Use>` in workcell files.

    <Include file="arm.xml"/>      the elements of another file, relative to this one
    <Define id="a"> ... </Define>  elements that can be used later in this file
    <Use id="a"/>                  a copy of them

An included file may have several root elements. Only files in allowed folders are opened: the
package of the first file, and `include_dirs`.
"""

from __future__ import annotations

import os.path
import re
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from linkwork.errors import ParseError, nearest, shown
from linkwork.io.folders import AllowedFolders
from linkwork.io.xml.documents import Document, Source, parse_xml, shown_path, tag_of
from linkwork.workcell.files.elements import CellPart, CellReport

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

DYNAMIC = ("DynamicWorkCell", "DynamicWorkcell")
# Limits, because nested includes and uses can grow exponentially.
MAX_ELEMENTS = 100_000
MAX_FILES = 1_000
MAX_DEPTH = 100  # of nested elements

_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Scope:
    """The files and definitions that contain an element, and its depth."""

    folder: Path | None  # of the file; None for a string
    files: tuple[Path, ...] = ()  # from the first one to this one
    uses: tuple[str, ...] = ()  # the definitions that are being copied
    defined: dict[str, Element] = field(default_factory=dict)  # definitions of this file so far
    depth: int = 0


@dataclass(slots=True)
class _Expansion:
    """The report, the allowed folders, and the number of files and elements so far."""

    report: CellReport
    allowed: AllowedFolders
    n_files: int = 1
    n_elements: int = 0
    aborted: bool = False

    def grow(self, element: Element) -> bool:
        """Count an element with its descendants; False if there are too many elements."""
        self.n_elements += sum(1 for _ in element.iter())
        if self.n_elements > MAX_ELEMENTS:
            self.abort(element, f"the cell has more than {MAX_ELEMENTS} elements")
        return not self.aborted

    def abort(self, element: Element, text: str) -> None:
        """Stop the expansion, and report the reason once."""
        if not self.aborted:
            self.report.add("error", element, "", text)
        self.aborted = True


def expand_includes(source: Source, allowed: AllowedFolders) -> tuple[Element, CellReport]:
    """Parse a document, and replace every `<Include>` and `<Use>` by its elements.

    A dynamic workcell includes the file that its attribute `workcell` names.

    Returns:
        The root element, and the report, which has the file and line of every element.

    Raises:
        ParseError: the document is not XML, or exceeds the limits above.
    """
    document = parse_xml(source, any_end_tag=True)
    report = CellReport(source.name)
    report.add_lines(source.name, document.lines)
    report.extend(document.findings)
    path = source.path.resolve() if source.path else None
    expansion = _Expansion(report, allowed)
    workcell = document.root.get("workcell")
    if tag_of(document.root) in DYNAMIC and workcell is not None:
        include = document.root.makeelement("Include", {"file": workcell})
        report.add_lines(source.name, {include: report.location(document.root).line})
        document.root.insert(0, include)
    if expansion.grow(document.root):
        scope = _Scope(path.parent if path else None, (path,) if path else ())
        _expand(expansion, document.root, scope)
    if expansion.aborted:
        raise ParseError([finding for finding in report.findings if finding.severity == "error"])
    return document.root, report


def _expand(expansion: _Expansion, parent: Element, scope: _Scope) -> None:
    """Expand the children of an element."""
    if scope.depth > MAX_DEPTH:
        expansion.abort(parent, "elements are nested too deeply")
    for child in list(parent):
        if expansion.aborted:
            return
        tag = tag_of(child)
        if tag == "Include":
            _insert(expansion, child, _included(expansion, child, scope))
        elif tag == "Use":
            _insert(expansion, child, _used(expansion, child, scope))
        elif tag == "Define":
            _define(expansion, child, scope)
        else:
            _expand(expansion, child, replace(scope, depth=scope.depth + 1))


def _insert(
    expansion: _Expansion, child: Element, replacement: tuple[Element, _Scope] | None
) -> None:
    """Replace an element by the expanded children of a holder."""
    if replacement is not None:
        holder, scope = replacement
        _expand(expansion, holder, replace(scope, depth=scope.depth + 1))
        if (holder.text or "").strip():
            expansion.report.add("warning", child, "", f"text {shown(holder.text)} is ignored")
        for inner in list(holder):
            child.addprevious(inner)
    _remove(child)


def _remove(element: Element) -> None:
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)


def _define(expansion: _Expansion, element: Element, scope: _Scope) -> None:
    part = CellPart(element, "", expansion.report)
    part.warn_unknown(tuple(part.child_tags), ("id",), strict=True)
    name = part.required_attribute("id")
    if name:
        scope.defined[name] = element
    _remove(element)


def _used(expansion: _Expansion, element: Element, scope: _Scope) -> tuple[Element, _Scope] | None:
    """Return a copy of a definition, in a holder."""
    part = CellPart(element, "", expansion.report)
    part.warn_unknown((), ("id",), strict=True)
    name = part.required_attribute("id")
    if not name:
        return None
    if name not in scope.defined:
        part.error(f"no definition named {shown(name)}; {nearest(name, scope.defined)}")
        return None
    if name in scope.uses:
        part.error(f"definition cycle: {' -> '.join([*scope.uses, name])}")
        return None
    original = scope.defined[name]
    if not expansion.grow(original):
        return None
    copied = deepcopy(original)
    expansion.report.copy_locations(original, copied)
    return copied, replace(scope, uses=(*scope.uses, name))


def _included(
    expansion: _Expansion, element: Element, scope: _Scope
) -> tuple[Element, _Scope] | None:
    """Return the elements of another file, in a holder."""
    part = CellPart(element, "", expansion.report)
    part.warn_unknown((), ("file",), strict=True)
    name = part.required_attribute("file")
    path = allowed_file(part, name, expansion.allowed, scope.folder) if name else None
    if path is None:
        return None
    if path in scope.files:
        names = [file.name for file in (*scope.files[scope.files.index(path) :], path)]
        part.error(f"include cycle: {' -> '.join(names)}")
        return None
    expansion.n_files += 1
    if expansion.n_files > MAX_FILES:
        expansion.abort(element, f"the cell includes more than {MAX_FILES} files")
        return None
    document = part.included(path, f"cannot include {shown(part.attribute('file'))}", _fragment)
    if document is None:
        return None
    inner = _Scope(path.parent, (*scope.files, path), depth=scope.depth)
    return (document.root, inner) if expansion.grow(document.root) else None


def _fragment(source: Source) -> Document:
    """Parse a file that may have several root elements, into one holder."""
    declared = _DECLARATION.match(source.text)
    start = declared.end() if declared else 0
    body = "\n" * source.text.count("\n", 0, start) + source.text[start:]
    wrapped = Source(source.name, f"<Included>{body}</Included>", source.path)
    return parse_xml(wrapped, any_end_tag=True)


def allowed_file(
    part: CellPart, name: str, allowed: AllowedFolders, folder: Path | None
) -> Path | None:
    """Return the path of a file relative to a folder; report an error if it is not allowed."""
    if folder is None and not allowed:
        part.error(
            f"cannot resolve the relative path {shown(name)}: the input is a string, not a file; "
            "load the file by its path, or pass include_dirs"
        )
        return None
    folders = allowed.folders if folder is None else (str(folder),)
    try:
        paths = [Path(os.path.normpath(Path(one, name))) for one in folders]
        inside = [path for path in paths if path in allowed]
        existing = [path for path in inside if path.is_file()]
    except (OSError, ValueError, RuntimeError) as error:  # a NUL byte, or a cycle of links
        part.error(f"cannot read {shown(name)}: {error}")
        return None
    if not inside:
        target = paths[0].resolve()
        part.error(
            f"{shown_path(target)} is outside of the allowed folders; "
            f"allow its folder: load_workcell(..., include_dirs=[{str(target.parent)!r}])"
        )
        return None
    return (existing or inside)[0].resolve()
