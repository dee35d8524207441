"""Files that an MJCF file names, and files that include it.

MuJoCo opens what a model includes by itself, wherever it lies, and repeats parts of it as often as
it says. So both are checked before MuJoCo sees the file: where it looks for a file depends on its
version and on settings of all files together, so every place where it could look is checked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from linkwork.errors import MOST_LISTED, ParseError
from linkwork.io.xml.parse import parse_xml
from linkwork.io.xml.source import LARGEST_FILE, Source, shown_path, text_error

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

MOST_FILES = 1_000  # of MJCF, included by one model
MOST_PLACES = 1_000_000  # where files that it names could be
# Copies of parts of a model. MuJoCo's time grows with their square: 8,000 bodies take 7 s, and
# 200,000 take more than ten minutes.
MOST_COPIES = 10_000
MOST_CELLS = 100_000_000  # of a height field or a texture

_MODELS = ("include", "model")  # elements that name files of MJCF
_INSERTED = ("include", "attach")
_REPEATING = ("replicate", "composite", "flexcomp")
# By element: attributes whose product MuJoCo allocates; and those of <size>, each by itself.
_GRIDS = {"hfield": ("nrow", "ncol"), "texture": ("width", "height")}
_WORTH_A_LOOK = re.compile(rf"<({'|'.join((*_MODELS, *_REPEATING, *_GRIDS, 'size'))})\b")
_FOLDERS = ("meshdir", "texturedir", "assetdir")
_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>", re.DOTALL)

# The search for files that include a given one is for a hint in a message only, so it stays short:
MOST_SEARCHED = 100  # files of a folder
MOST_SEARCHED_IN = 1 << 20  # characters of each file


@dataclass(slots=True)
class _Names:
    """What the files of a model say about further files."""

    # As keys, each once: folders of the files of MJCF, and what they say.
    folders: dict[Path, None] = field(default_factory=dict)
    prefixes: dict[str, None] = field(default_factory=lambda: {"": None})
    models: dict[str, None] = field(default_factory=dict)  # further files of MJCF
    others: dict[str, None] = field(default_factory=dict)  # meshes, textures and the like
    copies: int = 1  # of a further file, if parts are included again and again

    def add(self, root: Element, folder: Path) -> None:
        """Take what one file says."""
        self.folders[folder] = None
        for element in root.iter():
            if element.tag in _INSERTED:
                self.copies *= _copies_around(element)
            for name, value in element.attrib.items():
                text = str(value)
                if name in _FOLDERS:
                    self.prefixes[text] = None
                elif str(name).startswith("file"):
                    (self.models if element.tag in _MODELS else self.others)[text] = None

    def paths(self, source: Source, names: Collection[str]) -> Iterator[Path]:
        """Every place where files of these names are; MuJoCo can leave out their folders."""
        if len(self.folders) * len(self.prefixes) * len(names) > MOST_PLACES:
            raise text_error(source.name, "the model names too many files and folders")
        for folder, prefix, name in product(self.folders, self.prefixes, names):
            for text in {name, re.split(r"[/\\]", name)[-1]} - {""}:
                try:
                    path = (folder / prefix / text).resolve()
                    is_there = path.exists() and not path.is_dir()
                except (
                    OSError,
                    ValueError,
                    RuntimeError,
                ) as error:  # a NUL byte, a circle of links
                    reason = f"cannot look for {text!r}: {error}"
                    raise text_error(source.name, reason) from None
                if is_there:
                    _check_place(source, path)
                    yield path


def check_files(source: Source) -> None:
    """Reject a model that names files outside of its `roots`, or that asks for too much memory.

    Without `roots`, any file may be read, and files that are not XML are left to MuJoCo.

    Raises:
        ParseError: there is such a file, or an element asks for more than the limits above.
    """
    if source.roots is None and not _WORTH_A_LOOK.search(source.text):
        return
    names, seen = _Names(), set[Path]()
    waiting = {source.path.resolve() if source.path else Path()}
    while waiting:
        path = waiting.pop()
        seen.add(path)
        if len(seen) > MOST_FILES:
            raise text_error(source.name, f"the model includes more than {MOST_FILES} files")
        root = _parsed(source, path)
        if root is not None:
            _check_copies(source, root, names.copies)
            _check_sizes(source, root)
            names.add(root, path.parent)
            waiting |= set(names.paths(source, names.models)) - seen
    if source.roots is not None:
        for _ in names.paths(source, names.others):  # each is checked
            pass


def _parsed(source: Source, path: Path) -> Element | None:
    """A file of the model as MuJoCo reads it: in UTF-8, whatever it declares."""
    try:
        if source.path is None and path == Path():
            text = source.text
        elif not path.is_file() or path.stat().st_size > LARGEST_FILE:
            raise text_error(source.name, f"{shown_path(path)} is too large, or not a file")
        else:
            text = path.read_bytes().decode("utf-8-sig")
        return parse_xml(Source(source.name, _DECLARATION.sub("", text, count=1), path)).root
    except (OSError, UnicodeDecodeError, ParseError) as error:
        if source.roots is None:
            return None
        if isinstance(error, ParseError):
            raise
        raise text_error(source.name, f"cannot read {shown_path(path)}: {error}") from None


def _check_copies(source: Source, root: Element, outside: int) -> None:
    """Check how many copies the elements of a file ask for, if the file is inserted so often."""
    inside = sum(_count(element) * _copies_around(element) for element in root.iter(*_REPEATING))
    if inside * outside > MOST_COPIES:
        text = f"<{'>, <'.join(_REPEATING)}> make {inside * outside} copies of elements"
        raise text_error(source.name, f"{text}; at most {MOST_COPIES} are allowed")


def _copies_around(element: Element) -> int:
    return prod(_count(outer) for outer in element.iterancestors() if outer.tag in _REPEATING)


def _check_sizes(source: Source, root: Element) -> None:
    """Check what is allocated because a number says so."""
    for element in root.iter("size"):
        for name in map(str, element.attrib):
            if name.startswith(("nkey", "nuser_")) and _count(element, name) > MOST_COPIES:
                text = f"<size {name}={element.get(name)!r}>: at most {MOST_COPIES} are allowed"
                raise text_error(source.name, text)
    for element in root.iter(*_GRIDS):
        cells = prod(_count(element, name) for name in _GRIDS[element.tag])
        if cells > MOST_CELLS:
            text = f"<{element.tag}> of {cells} cells; at most {MOST_CELLS} are allowed"
            raise text_error(source.name, text)


def _count(element: Element, name: str = "count") -> int:
    """The product of the numbers of an attribute; 1 if MuJoCo has to say what is wrong with it."""
    try:
        return prod(max(int(float(word)), 1) for word in str(element.get(name, "1")).split())
    except (ValueError, OverflowError):
        return 1


def _check_place(source: Source, path: Path) -> None:
    if source.roots is None or any(path.is_relative_to(root) for root in source.roots):
        return
    text = f"{shown_path(path)} lies outside of the folders that files may be read from"
    raise text_error(source.name, f"{text}; give include_dirs to allow others")


def included_by(path: Path | None) -> str:
    """Files beside a file, or one folder above, that include it; as `: a.xml or b.xml`."""
    if path is None:
        return ""
    folders = (path.parent, path.parent.parent)
    files = [file for folder in folders for file in sorted(folder.glob("*.xml"))[:MOST_SEARCHED]]
    include = re.compile(rf"<include\s[^>]*[\"'/\\]{re.escape(path.name)}[\"']")
    names = [str(file) for file in files if include.search(_start_of(file))]
    return f": {' or '.join(names[:MOST_LISTED])}" if names else ""


def _start_of(file: Path) -> str:
    """The first part of a text file; nothing if it cannot be read."""
    try:
        if not file.is_file():  # a pipe might never end
            return ""
        with file.open(errors="replace") as text:
            return text.read(MOST_SEARCHED_IN)
    except OSError:
        return ""
