"""Links of a URDF file: inertia, visuals, collisions, materials."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

from linkwork.errors import shown
from linkwork.io.meshes import MeshFinder
from linkwork.io.xml.elements import Part
from linkwork.model.geometry import (
    Box,
    Capsule,
    Cylinder,
    Geometry,
    Material,
    Mesh,
    Shape,
    Sphere,
)
from linkwork.model.inertia import NO_INERTIA, Inertia
from linkwork.model.parts import Link
from linkwork.model.pose import IDENTITY, Pose

FINITE = sys.float_info.max
# Larger angles are rejected [rad]: they are too imprecise modulo 2 pi.
LARGEST_ANGLE = 1e6

# Elements of links for other programs, without information about kinematics or dynamics.
OTHERS_LINK = (
    *("contact", "self_filter", "surface", "verbose", "gravity", "kinematic", "sensor"),
    *("collision_checking", "self_collide", "selfCollide", "velocity_decay", "gazebo"),
)
MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def read_link(part: Part, materials: Mapping[str, Material], meshes: MeshFinder) -> Link:
    """Read a `<link>`."""
    part.warn_unknown(
        ("inertial", "visual", "collision"), ("name", "type", "linkwork"), ignored=OTHERS_LINK
    )
    inertial = part.child("inertial")
    visuals = [read_shape(child, materials, meshes) for child in part.children("visual")]
    collisions = [read_shape(child, materials, meshes) for child in part.children("collision")]
    return Link(
        name=part.attribute("name") or "",
        inertia=read_inertial(inertial) if inertial else NO_INERTIA,
        visuals=tuple(shape for shape in visuals if shape),
        collisions=tuple(shape for shape in collisions if shape),
        location=part.location,
    )


def read_inertial(part: Part) -> Inertia:
    """Read an `<inertial>`, and rotate it into the axes of the link."""
    part.warn_unknown(("origin", "mass", "inertia"), ())
    errors = part.report.n_errors
    mass_part, inertia_part = part.required_child("mass"), part.required_child("inertia")
    mass, moments = 0.0, NO_INERTIA.tensor
    if mass_part:
        mass_part.warn_unknown((), ("value",), strict=True)
        mass = mass_part.number("value")
    if inertia_part:
        inertia_part.warn_unknown((), MOMENTS, strict=True)
        xx, xy, xz, yy, yz, zz = (inertia_part.number(name) for name in MOMENTS)
        moments = (xx, xy, xz, yy, yz, zz)
    return part.inertia(mass, moments, read_origin(part), errors)


def read_origin(part: Part) -> Pose:
    """Read the `<origin>` of an element; the identity if it has none.

    Several origins of a visual are only a warning, because they affect only the appearance.
    """
    origin = part.child("origin", several="warning" if part.tag == "visual" else "error")
    if origin is None:
        return IDENTITY
    origin.warn_unknown((), ("xyz", "rpy"), strict=True)
    xyz = origin.triple("xyz", (0.0, 0.0, 0.0))
    rpy = origin.triple("rpy", (0.0, 0.0, 0.0), largest=FINITE)
    if any(abs(angle) > LARGEST_ANGLE for angle in rpy):
        origin.error(f"origin rpy: an angle exceeds {LARGEST_ANGLE:g} rad")
        return IDENTITY
    return Pose(xyz, rpy)


def read_shape(part: Part, materials: Mapping[str, Material], meshes: MeshFinder) -> Shape | None:
    """Read a `<visual>` or a `<collision>`."""
    part.warn_unknown(("origin", "geometry", "material"), ("name", "group"), ignored=OTHERS_LINK)
    origin = read_origin(part)
    material = part.child("material")
    appearance = read_material(material, materials) if material else None
    geometry_part = part.required_child("geometry")
    geometry = read_geometry(geometry_part, meshes) if geometry_part else None
    if geometry is None:
        return None
    return Shape(geometry, origin, part.attribute("name") or "", appearance)


def read_geometry(part: Part, meshes: MeshFinder) -> Geometry | None:
    """Read a `<geometry>`: exactly one shape."""
    part.warn_unknown(tuple(_GEOMETRIES), ("name",))
    shapes = [child for tag in _GEOMETRIES for child in part.children(tag)]
    if not shapes and any(":" in tag for tag in part.child_tags):
        part.warning("<geometry> contains a shape with a namespace, which is ignored")
        return None
    if len(shapes) != 1:
        part.error(f"<geometry> has {len(shapes)} shapes; expected one of {', '.join(_GEOMETRIES)}")
        return None
    return _GEOMETRIES[shapes[0].tag](shapes[0], meshes)


def read_material(part: Part, materials: Mapping[str, Material]) -> Material:
    """Read a `<material>`; with only a name, it refers to a material defined elsewhere."""
    part.warn_unknown(("color", "texture"), ("name",))
    name = part.attribute("name") or ""
    color, texture = part.child("color"), part.child("texture")
    if color is None and texture is None:
        if name not in materials:
            part.note(f"material {shown(name)} is not defined")
        return materials.get(name, Material(name))
    rgba = color.numbers("rgba", 4) if color else None
    if color and rgba and not all(0 <= number <= 1 for number in rgba):
        color.warning(f"color rgba: {list(rgba)} has values outside of 0 to 1")
    return Material(
        name,
        rgba=None if rgba is None else (rgba[0], rgba[1], rgba[2], rgba[3]),
        texture=(texture.attribute("filename") or None) if texture else None,
    )


def _length(part: Part, attribute: str) -> float:
    value = part.number(attribute)
    if value < 0:
        part.error(f"{part.tag} {attribute}: {value:g} is negative")
    return abs(value)


def _box(part: Part, meshes: MeshFinder) -> Box:
    del meshes
    part.warn_unknown((), ("size",))
    size = part.triple("size")
    if any(edge < 0 for edge in size):
        part.error(f"box size: {list(size)} has a negative edge")
    x, y, z = map(abs, size)
    return Box((x, y, z))


def _round(
    shape: Callable[..., Cylinder | Capsule | Sphere], *lengths: str
) -> Callable[[Part, MeshFinder], Geometry]:
    """Return the reader of a shape with these lengths as attributes."""

    def read(part: Part, meshes: MeshFinder) -> Geometry:
        del meshes
        part.warn_unknown((), lengths)
        return shape(*(_length(part, name) for name in lengths))

    return read


def _mesh(part: Part, meshes: MeshFinder) -> Mesh:
    part.warn_unknown((), ("filename", "scale"))
    filename = part.required_attribute("filename")
    mesh = meshes.find(filename)
    return Mesh(filename, part.triple("scale", (1.0, 1.0, 1.0)), mesh.path, mesh.searched)


_GEOMETRIES: dict[str, Callable[[Part, MeshFinder], Geometry]] = {
    "box": _box,
    "cylinder": _round(Cylinder, "radius", "length"),
    "sphere": _round(Sphere, "radius"),
    "capsule": _round(Capsule, "radius", "length"),
    "mesh": _mesh,
}
