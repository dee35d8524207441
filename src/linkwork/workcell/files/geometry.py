"""Geometry of a workcell file: shapes, and pairs of frames whose collisions are ignored.

    <Drawable>, <CollisionModel>        shapes of a frame
    <CollisionSetup file="a.xml"/>      <Exclude> with <FramePair first="" second=""/> in that file
    <ProximitySetup file="b.xml"/>      rules <Exclude PatternA="" PatternB=""/> and <Include .../>:
                                        patterns for names; the last rule that matches decides.
                                        UseIncludeAll="false" starts with no pairs

In a pattern, * stands for any letters and ? for one letter; a pattern that starts with REGEX is a
regular expression. In a device, names and patterns refer to its frames. Both elements may also
contain what their file would: so linkwork writes them. Frames that are fixed to each other are
never checked, whatever ExcludeStaticPairs states, and Volatile has no meaning here.
"""

from __future__ import annotations

import fnmatch
import glob
import os.path
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path

from linkwork.errors import nearest, shown
from linkwork.io.folders import AllowedFolders, Folders
from linkwork.io.meshes import MeshFinder
from linkwork.io.xml.documents import Source, parse_xml
from linkwork.model.geometry import Box, Cylinder, Geometry, Material, Mesh, Shape, Sphere
from linkwork.workcell.cell.frames import CellFrame
from linkwork.workcell.files.elements import CellPart, Scope, full_name, lookup, read_pose

POSE_ELEMENTS = ("Pos", "RPY", "Transform")
# Endings that the name of a geometry file may omit, in the order of the search.
MESH_ENDINGS = (
    "",
    ".stl",
    ".stla",
    ".stlb",
    ".obj",
    ".ac",
    ".ac3d",
    ".3ds",
    ".dae",
    ".ply",
    ".tri",
)
UNSUPPORTED_SHAPES = ("Plane", "Cone", "Tube", "Custom")
RESOLUTION = "level"  # of a mesh that approximates a round shape; not used
MESH = "Polytope"
# By element, which has the name of the class: the shape of some sizes, and their attributes.
PRIMITIVES: dict[str, tuple[Callable[..., Geometry], tuple[str, ...]]] = {
    "Box": (lambda *edges: Box(edges), ("x", "y", "z")),
    "Sphere": (Sphere, ("radius",)),
    "Cylinder": (Cylinder, ("radius", "z")),
}


class CellMeshes:
    """Finds the geometry files that the files of one workcell refer to."""

    def __init__(self, source: Source, package_dirs: Folders, allowed: AllowedFolders) -> None:
        self._first = source.path
        self.allowed = allowed  # folders that robots and meshes may be read from
        self.package_dirs = package_dirs
        self._finders: dict[str, MeshFinder] = {}

    def finder(self, part: CellPart) -> MeshFinder:
        """Return the finder for files relative to the file of an element."""
        file = part.location.file
        if file not in self._finders:
            path = Path(file) if self._first is not None else None
            self._finders[file] = MeshFinder(path, self.package_dirs, allowed=self.allowed)
        return self._finders[file]

    def folder(self, part: CellPart) -> Path | None:
        """Return the folder of the file of an element; None for a string."""
        return Path(part.location.file).resolve().parent if self._first is not None else None

    def mesh(self, part: CellPart, filename: str) -> Mesh:
        """Return the mesh with a name relative to the file of the element."""
        finder = self.finder(part)
        searched: list[str] = []
        path: str | None = None
        for ending in MESH_ENDINGS:
            lookup = finder.find(filename + ending)
            searched += lookup.searched
            if lookup.path is not None:
                path = lookup.path
                break
        return Mesh(
            self._relative_to_first(part.location.file, filename),
            path=path,
            searched=tuple(searched),
        )

    def _relative_to_first(self, file: str, filename: str) -> str:
        """Return the name relative to the first file."""
        if self._first is None or "://" in filename or Path(filename).is_absolute():
            return filename
        folder = os.path.relpath(Path(file).resolve().parent, self._first.resolve().parent)
        return filename if folder == "." else Path(folder, filename).as_posix()


def read_shapes(part: CellPart, meshes: CellMeshes) -> tuple[tuple[Shape, ...], tuple[Shape, ...]]:
    """Read a `<Drawable>` or a `<CollisionModel>`: a pose, a color, and any number of shapes.

    Returns:
        Its visual and its collision shapes.
    """
    is_visual = part.tag == "Drawable"
    attributes = ("name", "refframe", *(("colmodel",) if is_visual else ()))
    part.check((*POSE_ELEMENTS, "RGB", *PRIMITIVES, MESH, *UNSUPPORTED_SHAPES), attributes)
    pose = read_pose(part)
    material = _read_color(part)
    collision = part.choice("colmodel", ("Enabled", "Disabled"), "Enabled") if is_visual else ""
    shapes = tuple(
        Shape(geometry, pose, part.attribute("name") or "", material)
        for child in part.parts()
        if (geometry := _read_geometry(child, meshes)) is not None
    )
    bare = tuple(replace(shape, material=None) for shape in shapes)
    return shapes if is_visual else (), () if collision == "Disabled" else bare


def _read_color(part: CellPart) -> Material | None:
    color = part.child("RGB")
    if color is None:
        return None
    text = color.content()
    rgb = color.numbers_in(text, "", 4 if len(text.split()) == 4 else 3)
    return Material(rgba=color.rgba(rgb)) if rgb else None


def _read_geometry(part: CellPart, meshes: CellMeshes) -> Geometry | None:
    if part.tag in UNSUPPORTED_SHAPES:
        part.report.ignore(part.element, f"the shape <{part.tag}>")
        return None
    if part.tag == MESH:
        part.warn_unknown((), ("file",), strict=True)
        name = part.required_attribute("file")
        return meshes.mesh(part, name) if name.strip() else None
    if part.tag not in PRIMITIVES:
        return None
    create, names = PRIMITIVES[part.tag]
    part.warn_unknown((), names if part.tag == "Box" else (*names, RESOLUTION), strict=True)
    return create(*(_length(part, name) for name in names))


def _length(part: CellPart, attribute: str) -> float:
    value = part.number(attribute)
    if value < 0:
        part.error(f"{part.tag} {attribute}: {value:g} is negative")
    return abs(value)


SETUPS = ("CollisionSetup", "ProximitySetup")
_RULES = ("Include", "Exclude")
_REGEX = "REGEX"  # start of a pattern that is a regular expression


def read_setup(part: CellPart, meshes: CellMeshes) -> CellPart | None:
    """Return the contents of a setup, from its file if it has one; None without that file."""
    name = part.attribute("file")
    if name is None:
        return part
    lookup = meshes.finder(part).find(name)
    if lookup.path is None:
        reason = "whose file does not exist in the allowed folders"
        part.report.ignore(part.element, f"<{part.tag}> {reason}")
        return None
    path = Path(lookup.path)
    parse = partial(parse_xml, any_end_tag=True)
    document = part.included(path, f"cannot read {shown(name)}", parse)
    if document is None:
        return None
    inner = CellPart(document.root, part.owner, part.report)
    if inner.tag != part.tag:
        inner.error(f"expected <{part.tag}> as the root, got <{inner.tag.lstrip(':')}>")
        return None
    return inner


def excluded_pairs(
    setups: Sequence[tuple[CellPart, Scope]], frames: Sequence[CellFrame]
) -> list[tuple[str, str]]:
    """Return the pairs of frames that setups exclude."""
    pairs: dict[tuple[str, str], None] = {}
    for setup, scope in setups:
        read = _listed if setup.tag == "CollisionSetup" else _by_rules
        pairs.update(dict.fromkeys(read(setup, scope, frames)))
    return list(pairs)


def _listed(
    setup: CellPart, scope: Scope, frames: Sequence[CellFrame]
) -> Iterator[tuple[str, str]]:
    names = {frame.name for frame in frames}
    for group in setup.parts():
        for part in group.parts() if group.tag == "Exclude" else ():
            ends: list[str] = []
            for attribute in ("first", "second"):
                if not (name := part.required_attribute(attribute)).strip():
                    continue
                full = lookup(name, scope, names)
                if full is None:
                    part.warning(f"no frame named {shown(name)}; {nearest(name, names)}")
                else:
                    ends.append(full)
            if len(ends) == 2:
                yield ends[0], ends[1]


def _by_rules(
    setup: CellPart, scope: Scope, frames: Sequence[CellFrame]
) -> Iterator[tuple[str, str]]:
    prefix = full_name("", scope)
    rules: list[tuple[str, re.Pattern[str], re.Pattern[str]]] = []
    for part in setup.parts():
        if part.tag in _RULES:
            patterns = [part.required_attribute(f"Pattern{side}") for side in "AB"]
            try:
                first, second = (_compiled(pattern, prefix) for pattern in patterns)
            except (re.error, OverflowError, RecursionError) as error:
                part.error(f"{' and '.join(map(shown, patterns))}: {error}")
                continue
            rules.append((part.tag, first, second))
    includes_all = (setup.attribute("UseIncludeAll") or "true").lower() != "false"
    with_shapes = [frame.name for frame in frames if frame.collisions]
    for a, b in combinations(with_shapes, 2):
        included = includes_all
        for kind, first, second in rules:
            if any(first.fullmatch(x) and second.fullmatch(y) for x, y in ((a, b), (b, a))):
                included = kind == "Include"
        if not included:
            yield a, b


def _compiled(pattern: str, prefix: str) -> re.Pattern[str]:
    """Convert a pattern to a regular expression for names that start with the device."""
    regex = pattern.removeprefix(_REGEX)
    if regex not in ("", pattern):
        re.compile(regex)  # so that an error has the position in the pattern
        return re.compile(f"{re.escape(prefix)}(?:{regex})")
    return re.compile(fnmatch.translate(glob.escape(prefix) + pattern.replace("[", "[[]")))
