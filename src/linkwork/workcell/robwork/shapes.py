"""Geometry of a workcell file: `<Drawable>` and `<CollisionModel>`."""

from __future__ import annotations

import os.path
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from linkwork.io.meshes import Folders, MeshFinder
from linkwork.io.xml.source import Source
from linkwork.model.geometry import Box, Cylinder, Geometry, Material, Mesh, Shape, Sphere
from linkwork.workcell.robwork.elements import CellPart, read_pose

PLACED = ("Pos", "RPY", "Transform")
# Endings that a name of a geometry file may leave out, in the order in which they are tried.
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
# Shapes that linkwork has no form for.
NOT_KEPT = ("Plane", "Cone", "Tube", "Custom")
RESOLUTION = "level"  # of a mesh that approximates a round shape; linkwork keeps the shape itself


class CellMeshes:
    """Finds the geometry files that the files of one workcell name."""

    def __init__(self, source: Source, package_dirs: Folders, roots: tuple[Path, ...]) -> None:
        self._first = source.path
        self.roots = roots  # folders that robots may be read from
        self.package_dirs = package_dirs
        self._finders: dict[str, MeshFinder] = {}

    def finder(self, part: CellPart) -> MeshFinder:
        """Finds files beside the one that an element stands in."""
        file = part.location.file
        if file not in self._finders:
            path = Path(file) if self._first is not None else None
            self._finders[file] = MeshFinder(path, self.package_dirs)
        return self._finders[file]

    def folder(self, part: CellPart) -> Path | None:
        """The folder of the file that an element stands in; None for a text."""
        return Path(part.location.file).resolve().parent if self._first is not None else None

    def mesh(self, part: CellPart, filename: str) -> Mesh:
        """A mesh, by a name relative to the file that the element stands in."""
        finder = self.finder(part)
        searched: list[str] = []
        path: str | None = None
        for ending in MESH_ENDINGS:
            found = finder.find(filename + ending)
            searched += found.searched
            if found.path is not None:
                path = found.path
                break
        return Mesh(
            self._from_first_file(part.location.file, filename), path=path, searched=tuple(searched)
        )

    def _from_first_file(self, file: str, filename: str) -> str:
        """The name as the first file would write it."""
        if self._first is None or "://" in filename or Path(filename).is_absolute():
            return filename
        folder = os.path.relpath(Path(file).resolve().parent, self._first.resolve().parent)
        return filename if folder == "." else Path(folder, filename).as_posix()


@dataclass(frozen=True, slots=True)
class Shapes:
    """Shapes of a frame: what is drawn, and what is tested for collisions."""

    visuals: tuple[Shape, ...] = ()
    collisions: tuple[Shape, ...] = ()

    def __add__(self, other: Shapes) -> Shapes:
        return Shapes(self.visuals + other.visuals, self.collisions + other.collisions)


def read_shapes(part: CellPart, meshes: CellMeshes) -> Shapes:
    """Read a `<Drawable>` or a `<CollisionModel>`: a pose, a colour, and any number of shapes."""
    drawn = part.tag == "Drawable"
    attributes = ("name", "refframe", *(("colmodel",) if drawn else ()))
    part.check((*PLACED, "RGB", *_GEOMETRIES, *NOT_KEPT), attributes)
    pose = read_pose(part)
    material = _read_color(part)
    collides = not drawn or part.choice("colmodel", ("Enabled", "Disabled"), "Enabled") == "Enabled"
    shapes = tuple(
        Shape(geometry, pose, part.text("name") or "", material)
        for child in part.parts()
        if (geometry := _read_geometry(child, meshes)) is not None
    )
    bare = tuple(replace(shape, material=None) for shape in shapes)
    return Shapes(shapes if drawn else (), bare if collides else ())


def _read_color(part: CellPart) -> Material | None:
    color = part.one("RGB")
    if color is None:
        return None
    text = color.content()
    numbers = color.numbers_in(text, "", 4 if len(text.split()) == 4 else 3)
    if numbers is None:
        return None
    if not all(0 <= number <= 1 for number in numbers):
        color.warning(f"RGB: {list(numbers)} is not within 0 to 1")
    return Material(rgba=(numbers[0], numbers[1], numbers[2], (*numbers, 1.0)[3]))


def _read_geometry(part: CellPart, meshes: CellMeshes) -> Geometry | None:
    if part.tag in NOT_KEPT:
        part.report.pass_over(part.element, f"the shape <{part.tag}>")
        return None
    reader = _GEOMETRIES.get(part.tag)
    return reader(part, meshes) if reader else None


def _length(part: CellPart, attribute: str) -> float:
    value = part.number(attribute)
    if value < 0:
        part.error(f"{part.tag} {attribute}: {value:g} is negative")
    return value


def _box(part: CellPart, meshes: CellMeshes) -> Box:
    del meshes
    part.note_unknown((), ("x", "y", "z"), strict=True)
    return Box((_length(part, "x"), _length(part, "y"), _length(part, "z")))


def _sphere(part: CellPart, meshes: CellMeshes) -> Sphere:
    del meshes
    part.note_unknown((), ("radius", RESOLUTION), strict=True)
    return Sphere(_length(part, "radius"))


def _cylinder(part: CellPart, meshes: CellMeshes) -> Cylinder:
    del meshes
    part.note_unknown((), ("radius", "z", RESOLUTION), strict=True)
    return Cylinder(_length(part, "radius"), _length(part, "z"))


def _polytope(part: CellPart, meshes: CellMeshes) -> Mesh | None:
    part.note_unknown((), ("file",), strict=True)
    name = part.needed_text("file")
    return meshes.mesh(part, name) if name.strip() else None


_GEOMETRIES: dict[str, Callable[[CellPart, CellMeshes], Geometry | None]] = {
    "Box": _box,
    "Sphere": _sphere,
    "Cylinder": _cylinder,
    "Polytope": _polytope,
}
