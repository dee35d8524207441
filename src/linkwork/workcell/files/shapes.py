"""Reader of the geometry in a workcell file: `<Drawable>` and `<CollisionModel>`."""

from __future__ import annotations

import os.path
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from linkwork.io.folders import AllowedFolders, Folders
from linkwork.io.meshes import MeshFinder
from linkwork.io.xml.documents import Source
from linkwork.model.geometry import Box, Cylinder, Geometry, Material, Mesh, Shape, Sphere
from linkwork.workcell.files.elements import CellPart, read_pose

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
    if rgb is None:
        return None
    if not all(0 <= number <= 1 for number in rgb):
        color.warning(f"RGB: {list(rgb)} has values outside of 0 to 1")
    return Material(rgba=(rgb[0], rgb[1], rgb[2], (*rgb, 1.0)[3]))


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
