"""Reader of MJCF files: MuJoCo compiles them, and the compiled model is converted.

MuJoCo handles defaults, classes, includes, angles, inertias from geoms and all checks; its error
messages are passed on. The package `mujoco` is imported on first use.

MuJoCo opens the files that a model refers to, in any folder, and creates any number of copies of
its elements. Where it searches for a file depends on its version and on settings in all files. So
every possible path is checked before, and the sizes that the files state.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import Finding, ModelError, ParseError, SourceLocation
from linkwork.io.folders import Folders
from linkwork.io.formats import Reading
from linkwork.io.mjcf.elements import gravity_findings
from linkwork.io.mjcf.model import NO_BODIES, read_mjmodel
from linkwork.io.mjcf.package import (
    MjModel,
    collected_warnings,
    import_mujoco,
    matrix_of,
    need_utf8_names,
)
from linkwork.io.xml.documents import (
    MAX_FILE_SIZE,
    Source,
    first_tag,
    parse_xml,
    shown_path,
    source_parse_error,
)

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

# Limits that are checked before MuJoCo reads a file.
MAX_FILES = 1_000  # MJCF files that one model includes
MAX_PATHS = 1_000_000  # possible paths of the files that it refers to
# Copies of elements of a model. MuJoCo's time grows quadratically: 8,000 bodies take 7 s, and
# 200,000 take more than ten minutes.
MAX_COPIES = 10_000
MAX_CELLS = 100_000_000  # of a height field or a texture

_MODEL_ELEMENTS = ("include", "model")  # refer to MJCF files
_INSERTING = ("include", "attach")
_REPEATING = ("replicate", "composite", "flexcomp")
# By element: attributes whose product is the size that MuJoCo allocates.
_GRIDS = {"hfield": ("nrow", "ncol"), "texture": ("width", "height")}
_NEEDS_CHECK = re.compile(rf"<({'|'.join((*_MODEL_ELEMENTS, *_REPEATING, *_GRIDS, 'size'))})\b")
_FOLDERS = ("meshdir", "texturedir", "assetdir")
_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>", re.DOTALL)


@dataclass(slots=True)
class _FileReferences:
    """The files that the files of a model refer to. Dicts are ordered sets."""

    folders: dict[Path, None] = field(default_factory=dict)  # of the MJCF files
    prefixes: dict[str, None] = field(default_factory=lambda: {"": None})  # such as `meshdir`
    models: dict[str, None] = field(default_factory=dict)  # MJCF files
    others: dict[str, None] = field(default_factory=dict)  # meshes, textures and similar files
    copies: int = 1  # upper bound of how often a file is inserted

    def add(self, root: Element, folder: Path) -> None:
        """Add the references of one file."""
        self.folders[folder] = None
        for element in root.iter():
            if element.tag in _INSERTING:
                self.copies *= _copies_around(element)
            for name, value in element.attrib.items():
                text = str(value)
                if name in _FOLDERS:
                    self.prefixes[text] = None
                elif str(name).startswith("file"):
                    (self.models if element.tag in _MODEL_ELEMENTS else self.others)[text] = None

    def paths(self, source: Source, names: Collection[str]) -> Iterator[Path]:
        """Yield existing files of these names, also without their folders, in all folders."""
        if len(self.folders) * len(self.prefixes) * len(names) > MAX_PATHS:
            message = "the model refers to too many files and folders"
            raise source_parse_error(source.name, message)
        for folder, prefix, name in product(self.folders, self.prefixes, names):
            for text in {name, re.split(r"[/\\]", name)[-1]} - {""}:
                try:
                    path = (folder / prefix / text).resolve()
                    exists = path.exists() and not path.is_dir()
                except (
                    OSError,
                    ValueError,
                    RuntimeError,
                ) as error:  # a NUL byte, or a cycle of symbolic links
                    message = f"cannot search for {text!r}: {error}"
                    raise source_parse_error(source.name, message) from None
                if exists:
                    _check_allowed(source, path)
                    yield path


def check_files(source: Source) -> None:
    """Reject a model that needs too much memory, or files outside of its `allowed` folders.

    Without allowed folders, any file may be read, and errors in XML are left to MuJoCo.

    Raises:
        ParseError: there is such a file, or an element exceeds the limits above.
    """
    if source.allowed is None and not _NEEDS_CHECK.search(source.text):
        return
    references, seen = _FileReferences(), set[Path]()
    pending = {source.path.resolve() if source.path else Path()}
    while pending:
        path = pending.pop()
        seen.add(path)
        if len(seen) > MAX_FILES:
            raise source_parse_error(source.name, f"the model includes more than {MAX_FILES} files")
        root = _parse(source, path)
        if root is not None:
            _check_copies(source, root, references.copies)
            _check_sizes(source, root)
            references.add(root, path.parent)
            pending |= set(references.paths(source, references.models)) - seen
    if source.allowed is not None:
        for _ in references.paths(source, references.others):  # the iteration checks each path
            pass


def _parse(source: Source, path: Path) -> Element | None:
    """Parse a file of the model as MuJoCo does: as UTF-8, ignoring the declared encoding."""
    try:
        if source.path is None and path == Path():
            text = source.text
        elif not path.is_file() or path.stat().st_size > MAX_FILE_SIZE:
            raise source_parse_error(source.name, f"{shown_path(path)} is too large, or not a file")
        else:
            text = path.read_bytes().decode("utf-8-sig")
        return parse_xml(Source(source.name, _DECLARATION.sub("", text, count=1), path)).root
    except (OSError, UnicodeDecodeError, ParseError) as error:
        if source.allowed is None:
            return None
        if isinstance(error, ParseError):
            raise
        raise source_parse_error(source.name, f"cannot read {shown_path(path)}: {error}") from None


def _check_copies(source: Source, root: Element, file_copies: int) -> None:
    """Check the number of copies of elements in a file that is inserted `file_copies` times."""
    copies = sum(_count(element) * _copies_around(element) for element in root.iter(*_REPEATING))
    copies *= file_copies
    if copies > MAX_COPIES:
        message = f"<{'>, <'.join(_REPEATING)}> create {copies} copies of elements"
        raise source_parse_error(source.name, f"{message}; at most {MAX_COPIES} are allowed")


def _copies_around(element: Element) -> int:
    return prod(_count(outer) for outer in element.iterancestors() if outer.tag in _REPEATING)


def _check_sizes(source: Source, root: Element) -> None:
    """Check sizes of memory that attributes state directly."""
    for element in root.iter("size"):
        for name in map(str, element.attrib):
            if name.startswith(("nkey", "nuser_")) and _count(element, name) > MAX_COPIES:
                text = f"<size {name}={element.get(name)!r}>: at most {MAX_COPIES} are allowed"
                raise source_parse_error(source.name, text)
    for element in root.iter(*_GRIDS):
        cells = prod(_count(element, name) for name in _GRIDS[element.tag])
        if cells > MAX_CELLS:
            text = f"<{element.tag}> of {cells} cells; at most {MAX_CELLS} are allowed"
            raise source_parse_error(source.name, text)


def _count(element: Element, name: str = "count") -> int:
    """Return the product of the values of an attribute; 1 if it is invalid."""
    try:
        return prod(max(int(float(word)), 1) for word in str(element.get(name, "1")).split())
    except (ValueError, OverflowError):
        return 1


def _check_allowed(source: Source, path: Path) -> None:
    if source.allowed is None or path in source.allowed:
        return
    message = f"{shown_path(path)} is outside of the allowed folders"
    raise source_parse_error(source.name, f"{message}; pass include_dirs to allow others")


UNNAMED = "MuJoCo Model"  # MuJoCo's name for a model without a name

INCLUDED = "mujocoinclude"  # the root element of a file that others include

_LINE = re.compile(r"[Ll]ine(?: number=|:? )(\d+)")


def read_mjcf(
    source: Source, *, mimic: bool = True, package_dirs: Folders = (), repair: bool = False
) -> Reading:
    """Read an MJCF document.

    Args:
        source: the document. If it has a path, MuJoCo reads the file and those it includes; they
            must be in its `allowed` folders, if it has any.
        mimic: whether linear joint equalities make joints depend on others.
        package_dirs, repair: not used, because MuJoCo finds and checks the files.

    Raises:
        ParseError: MuJoCo rejects the file, or it refers to files outside of these folders, or
            creates too many copies of elements.
        MissingPackageError: MuJoCo is not installed.
    """
    del package_dirs, repair
    mj, references, warnings = compile_mjcf(source)
    if mj.nbody <= 1:
        text = f"{NO_BODIES}; if another file includes this one, load that file"
        errors = source_parse_error(source.name, text).findings
        return Reading(None, (*errors, *warnings))
    name = _name(mj, source)
    try:
        model, findings = read_mjmodel(mj, mimic=mimic, name=name, references=references)
    except ModelError as error:
        errors = [
            replace(f, location=f.location or SourceLocation(source.name, 1))
            for f in error.findings
        ]
        return Reading(None, (*errors, *warnings))
    return Reading(model, (*warnings, *findings, *gravity_findings(mj)))


def compile_mjcf(source: Source) -> tuple[MjModel, dict[str, Array], list[Finding]]:
    """Compile a document with MuJoCo.

    Returns:
        The compiled model, the reference poses of its meshes by name, and MuJoCo's warnings.

    Raises:
        ParseError: MuJoCo rejects the file, or it refers to files outside of its `allowed` folders,
            or creates too many copies of elements.
        MissingPackageError: MuJoCo is not installed.
    """
    if first_tag(source) == INCLUDED:
        message = f"<{INCLUDED}> is a part of an MJCF model; load the file that includes it"
        raise source_parse_error(source.name, message)
    check_files(source)
    mujoco = import_mujoco()
    with collected_warnings(mujoco) as messages:
        mj, references = _compile(mujoco, source)
    warnings = [
        Finding("warning", "", text, SourceLocation(source.name, _line(text)))
        for text in dict.fromkeys(messages)
    ]
    return mj, references, warnings


def _compile(mujoco: Any, source: Source) -> tuple[MjModel, dict[str, Array]]:
    """Compile a document, and read the reference poses of its meshes.

    The paths of meshes are absolute if the path of the document is.
    """
    try:
        if source.path is not None:
            mj = mujoco.MjModel.from_xml_path(str(source.path.absolute()))
        else:
            mj = mujoco.MjModel.from_xml_string(source.text)
        need_utf8_names(mj)
        return mj, _mesh_references(mujoco, source) if mj.nmesh else {}
    except ModelError as error:
        raise source_parse_error(source.name, str(error)) from None
    except (
        *(ValueError, RuntimeError, MemoryError),  # RuntimeError: MuJoCo is out of memory
        *(mujoco.FatalError, mujoco.UnexpectedError),
    ) as error:
        raise _mujoco_error(source, str(error)) from None


def _mesh_references(mujoco: Any, source: Source) -> dict[str, Array]:
    """Return the reference poses of meshes by name, which a compiled model lacks.

    The class MjSpec recognizes MJCF by the ending .xml, so files have that name here.
    """
    if source.path is None:
        spec = mujoco.MjSpec.from_string(source.text)
    else:
        path = f"{source.path.absolute()}.xml"
        spec = mujoco.MjSpec.from_file(path, include={path: source.text.encode()})
    return {mesh.name: matrix_of(mesh.refpos, mesh.refquat) for mesh in spec.meshes}


def _mujoco_error(source: Source, message: str) -> ParseError:
    """Convert an error message of MuJoCo, with the line that it states."""
    message = " ".join(message.split())
    return source_parse_error(source.name, f"MuJoCo: {message}", _line(message))


def _line(message: str) -> int:
    line = _LINE.search(message)
    return max(1, int(line.group(1))) if line else 1


def _name(mj: MjModel, source: Source) -> str | None:
    name = mj.names.split(b"\0", 1)[0].decode(errors="replace")
    return source.path.stem if source.path and name in ("", UNNAMED) else None
