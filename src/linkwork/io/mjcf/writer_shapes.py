"""Shapes as geoms: those that are drawn in group 2 and touch nothing, those that touch in group 3.

Meshes are named by where they lie on this machine, since MuJoCo opens them and knows no packages.
It reads binary STL, OBJ and MSH.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from linkwork.io.mjcf.writer_doubts import Doubts
from linkwork.io.xml.write import add, number_text
from linkwork.model.geometry import Box, Capsule, Cylinder, Geometry, Material, Mesh, Shape, Sphere
from linkwork.model.parts import Link
from linkwork.model.pose import IDENTITY
from linkwork.spatial.source import quat

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

VISUAL, COLLISION = "visual", "collision"  # classes of geoms
MESH_FILES = (".stl", ".obj", ".msh")


class ShapeWriter:
    """Writes geoms, and the meshes and materials that they use, each once."""

    def __init__(self, top: Element, *, meshes: bool) -> None:
        defaults = add(top, "default")
        for name, group, touches in ((VISUAL, "2", "0"), (COLLISION, "3", None)):
            geoms = add(defaults, "default", class_=name)
            add(geoms, "geom", group=group, contype=touches, conaffinity=touches)
        self._assets = add(top, "asset")
        self._wanted = meshes
        self._meshes: dict[tuple[str, tuple[float, float, float]], str] = {}
        self._materials: dict[str, tuple[float, float, float, float] | None] = {}
        self._names: set[str] = set()
        self.doubts = Doubts()

    def write(self, body: Element, link: Link) -> None:
        """Add the shapes of a link."""
        for kind, shapes in ((VISUAL, link.visuals), (COLLISION, link.collisions)):
            for shape in shapes:
                self._write_geom(body, link, shape, kind)

    def _write_geom(self, body: Element, link: Link, shape: Shape, kind: str) -> None:
        geometry = self._geometry(shape.geometry, link)
        if geometry is None:
            return
        pose = shape.link_H_shape
        turned = any(pose.rpy)
        add(
            body,
            "geom",
            name=self._name(shape.name, link),
            class_=kind,
            **geometry,
            pos=number_text(*pose.xyz) if pose != IDENTITY else None,
            quat=number_text(*quat.from_rotation(pose.matrix()[:3, :3])) if turned else None,
            **self._material(shape.material, link),
        )

    def _geometry(self, geometry: Geometry, link: Link) -> dict[str, str | None] | None:
        match geometry:
            case Mesh():
                return self._mesh(geometry, link)
            case Box(size):
                sizes, kind = tuple(edge / 2 for edge in size), "box"
            case Sphere(radius):
                sizes, kind = (radius,), "sphere"
            case Cylinder(radius, length):
                sizes, kind = (radius, length / 2), "cylinder"
            case Capsule(radius, length):
                sizes, kind = (radius, length / 2), "capsule"
        if min(sizes) <= 0:
            self.doubts.add("left out: shapes without size, which MuJoCo refuses", link.name)
            return None
        return {"type": kind, "size": number_text(*sizes)}

    def _mesh(self, mesh: Mesh, link: Link) -> dict[str, str | None] | None:
        if not self._wanted:
            self.doubts.add("left out, as asked: meshes", link.name)
            return None
        if mesh.path is None:
            self.doubts.add("left out: meshes that were not found", mesh.filename)
            return None
        if Path(mesh.path).suffix.lower() not in MESH_FILES:
            kinds = ", ".join(MESH_FILES)
            self.doubts.add(
                f"left out: meshes of a kind that MuJoCo cannot read ({kinds})", mesh.filename
            )
            return None
        known = mesh.path, mesh.scale
        if known not in self._meshes:
            name = Path(mesh.path).stem
            while name in self._meshes.values():
                name += "_"
            self._meshes[known] = name
            scaled = number_text(*mesh.scale) if mesh.scale != (1.0, 1.0, 1.0) else None
            add(self._assets, "mesh", name=name, file=mesh.path, scale=scaled)
        return {"type": "mesh", "mesh": self._meshes[known]}

    def _material(self, material: Material | None, link: Link) -> dict[str, str | None]:
        if material is None:
            return {}
        if material.texture:
            self.doubts.add("left out: textures", link.name)
        rgba = None if material.rgba is None else number_text(*material.rgba)
        if not material.name:
            return {"rgba": rgba}
        if material.name not in self._materials:
            self._materials[material.name] = material.rgba
            add(self._assets, "material", name=material.name, rgba=rgba)
        own = material.rgba != self._materials[material.name]
        return {"material": material.name, "rgba": rgba if own else None}

    def _name(self, name: str, link: Link) -> str | None:
        """A name that no other geom has, as MuJoCo wants it."""
        if not name:
            return None
        unique, number = name, 2
        while unique in self._names:
            unique, number = f"{name}_{number}", number + 1
        self._names.add(unique)
        if unique != name:
            self.doubts.add("shapes of one name have numbers behind it", link.name)
        return unique
