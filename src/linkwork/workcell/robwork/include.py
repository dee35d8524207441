"""`<Include>`, `<Define>` and `<Use>` of workcell files: replaced by what they stand for.

    <Include file="arm.xml"/>      the elements of another file, relative to this one
    <Define id="a"> ... </Define>  elements for use further down in this file
    <Use id="a"/>                  a copy of them

An included file may hold several elements side by side. Only files inside the allowed folders are
opened: the folder of the first file, or the package around it, and those that the caller gives.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from copy import deepcopy
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from linkwork.errors import ArgumentError, ParseError, SourceError, nearest, shown
from linkwork.io.meshes import Folders, root_around
from linkwork.io.xml.parse import Document, parse_xml, tag_of
from linkwork.io.xml.source import Source, read_source, shown_path
from linkwork.workcell.robwork.elements import CellPart, CellReport

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

# Includes and uses can multiply: a cell that grows beyond these is refused.
MOST_ELEMENTS = 100_000
MOST_FILES = 1_000
DEEPEST = 100  # elements inside each other

_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Scope:
    """Where in a cell an element stands: in which files and definitions, and how deep."""

    folder: Path | None  # of the file; None for a text, which lies nowhere
    files: tuple[Path, ...] = ()  # from the first one to this one
    uses: tuple[str, ...] = ()  # the definitions that are being copied
    defined: dict[str, Element] = field(default_factory=dict)  # in this file, so far
    depth: int = 0


@dataclass(slots=True)
class _Work:
    """The report, the allowed folders, and how much was read so far."""

    report: CellReport
    roots: tuple[Path, ...]
    n_files: int = 1
    n_elements: int = 0
    refused: bool = False

    def grow(self, element: Element) -> bool:
        """Whether an element, with all in it, still fits; if not, this is said once."""
        self.n_elements += sum(1 for _ in element.iter())
        if self.n_elements > MOST_ELEMENTS:
            self.refuse(element, f"the cell has more than {MOST_ELEMENTS} elements")
        return not self.refused

    def refuse(self, element: Element, text: str) -> None:
        """Say why nothing more is read."""
        if not self.refused:
            self.report.add("error", element, "", text)
        self.refused = True


def expanded(source: Source, include_dirs: Folders = ()) -> tuple[Element, CellReport]:
    """Parse a file, and replace every `<Include>` and `<Use>` by what it stands for.

    Returns:
        the top element, and the report, which knows the file and line of every element.

    Raises:
        ParseError: the text is not XML, or grows without bound.
    """
    document = parse_xml(source)
    report = CellReport(source.name)
    report.add_locations(source.name, document.lines)
    report.extend(document.findings)
    path = source.path.resolve() if source.path else None
    work = _Work(report, allowed_roots(path, include_dirs))
    if work.grow(document.root):
        scope = _Scope(path.parent if path else None, (path,) if path else ())
        _expand(work, document.root, scope)
    if work.refused:
        raise ParseError([finding for finding in report.findings if finding.severity == "error"])
    return document.root, report


def allowed_roots(path: Path | None, include_dirs: Folders) -> tuple[Path, ...]:
    """The folders that files may be read from: that of the first file, and those given."""
    if include_dirs is None or isinstance(include_dirs, (str, PathLike)):
        include_dirs = () if include_dirs is None else (include_dirs,)
    folders: list[Path] = [Path(root_around(str(path.parent)))] if path else []
    for folder in include_dirs:
        name = fspath(folder) if isinstance(folder, (str, PathLike)) else None
        if not isinstance(name, str):
            raise ArgumentError(f"include_dirs: expected paths, got {shown(folder)}")
        folders.append(Path(name).resolve())
    return tuple(dict.fromkeys(folders))


def _expand(work: _Work, parent: Element, scope: _Scope) -> None:
    """Replace what stands for something else inside an element."""
    if scope.depth > DEEPEST:
        work.refuse(parent, "elements are nested too deep")
    for child in list(parent):
        if work.refused:
            return
        tag = tag_of(child)
        if tag == "Include":
            _insert(work, child, _included(work, child, scope))
        elif tag == "Use":
            _insert(work, child, _used(work, child, scope))
        elif tag == "Define":
            _define(work, child, scope)
        else:
            _expand(work, child, replace(scope, depth=scope.depth + 1))


def _insert(work: _Work, child: Element, found: tuple[Element, _Scope] | None) -> None:
    """Put the elements of a holder, once expanded, in the place of an element."""
    if found is not None:
        holder, scope = found
        _expand(work, holder, replace(scope, depth=scope.depth + 1))
        if (holder.text or "").strip():
            work.report.add("warning", child, "", f"text {shown(holder.text)} is ignored")
        for inner in list(holder):
            child.addprevious(inner)
    _remove(child)


def _remove(element: Element) -> None:
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)


def _define(work: _Work, element: Element, scope: _Scope) -> None:
    part = CellPart(element, "", work.report)
    part.note_unknown(tuple(part.child_tags), ("id",), strict=True)
    name = part.needed_text("id")
    if name:
        scope.defined[name] = element
    _remove(element)


def _used(work: _Work, element: Element, scope: _Scope) -> tuple[Element, _Scope] | None:
    """A copy of what was defined under a name."""
    part = CellPart(element, "", work.report)
    part.note_unknown((), ("id",), strict=True)
    name = part.needed_text("id")
    if not name:
        return None
    if name not in scope.defined:
        part.error(f"nothing is defined as {shown(name)} here; {nearest(name, scope.defined)}")
        return None
    if name in scope.uses:
        part.error(f"definition cycle: {' -> '.join([*scope.uses, name])}")
        return None
    original = scope.defined[name]
    if not work.grow(original):
        return None
    copied = deepcopy(original)
    work.report.copy_locations(original, copied)
    return copied, replace(scope, uses=(*scope.uses, name))


def _included(work: _Work, element: Element, scope: _Scope) -> tuple[Element, _Scope] | None:
    """The elements of another file, in a holder."""
    part = CellPart(element, "", work.report)
    part.note_unknown((), ("file",), strict=True)
    name = part.needed_text("file")
    path = allowed_file(part, name, work.roots, scope.folder) if name else None
    if path is None:
        return None
    if path in scope.files:
        names = [file.name for file in (*scope.files[scope.files.index(path) :], path)]
        part.error(f"include cycle: {' -> '.join(names)}")
        return None
    work.n_files += 1
    if work.n_files > MOST_FILES:
        work.refuse(element, f"the cell includes more than {MOST_FILES} files")
        return None
    document = _fragment(part, path)
    if document is None:
        return None
    work.report.add_locations(str(path), document.lines)
    work.report.extend(document.findings)
    inner = _Scope(path.parent, (*scope.files, path), depth=scope.depth)
    return (document.root, inner) if work.grow(document.root) else None


def _fragment(part: CellPart, path: Path) -> Document | None:
    """A file that may hold several elements side by side, in one holder."""
    try:
        source = read_source(path)
        declared = _DECLARATION.match(source.text)
        start = declared.end() if declared else 0
        body = "\n" * source.text.count("\n", 0, start) + source.text[start:]
        return parse_xml(Source(source.name, f"<Included>{body}</Included>", path))
    except SourceError as error:
        part.error(f"cannot include {shown(part.text('file'))}: {error}")
    except ParseError as error:
        part.report.extend(error.findings)
    return None


def allowed_file(
    part: CellPart, name: str, roots: Collection[Path], folder: Path | None
) -> Path | None:
    """The path of a file that an element names, relative to a folder, if it may be opened."""
    if folder is None and not roots:
        part.error(
            f"cannot read {shown(name)}: a text lies in no folder; load the file by its path, "
            "or give include_dirs"
        )
        return None
    folders = [folder] if folder else list(roots)
    try:
        paths = [(folder / name).resolve() for folder in folders]
        allowed = [path for path in paths if any(path.is_relative_to(root) for root in roots)]
        found = [path for path in allowed if path.is_file()]
    except (OSError, ValueError, RuntimeError) as error:  # a NUL byte, or links in a circle
        part.error(f"cannot read {shown(name)}: {error}")
        return None
    if not allowed:
        part.error(
            f"{shown_path(paths[0])} lies outside of the folders that files may be read from; "
            f"allow its folder: load_workcell(..., include_dirs=[{str(paths[0].parent)!r}])"
        )
        return None
    return (found or allowed)[0]
