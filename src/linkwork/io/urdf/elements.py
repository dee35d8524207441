"""Links and joints of a URDF file.

Links    inertia, visuals, collisions, materials
Joints   type, axis, limits, dynamics, mimic
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import replace
from math import inf

from linkwork.errors import ModelError, nearest, shown
from linkwork.io.meshes import MeshFinder
from linkwork.io.xml.elements import PRIMITIVES, SIZES, Part, Report, has_xacro, read_primitive
from linkwork.model.geometry import (
    Geometry,
    Material,
    Mesh,
    Shape,
)
from linkwork.model.inertia import NO_INERTIA, Inertia
from linkwork.model.joints import KINDS
from linkwork.model.parts import NO_LIMITS, Joint, Limits, Link, Mimic
from linkwork.model.pose import IDENTITY, Pose, Triple

FINITE = sys.float_info.max
# Larger angles are rejected [rad]: they are too imprecise modulo 2 pi.
LARGEST_ANGLE = 1e6

# Elements of links for other programs, without information about kinematics or dynamics.
OTHERS_LINK = (
    *("contact", "self_filter", "surface", "verbose", "gravity", "kinematic", "sensor"),
    *("collision_checking", "self_collide", "selfCollide", "velocity_decay", "gazebo"),
)
_SHAPES = (*PRIMITIVES, "mesh")
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
    part.warn_unknown(_SHAPES, ("name",))
    shapes = [child for tag in _SHAPES for child in part.children(tag)]
    if not shapes and any(":" in tag for tag in part.child_tags):
        part.warning("<geometry> contains a shape with a namespace, which is ignored")
        return None
    if len(shapes) != 1:
        part.error(f"<geometry> has {len(shapes)} shapes; expected one of {', '.join(_SHAPES)}")
        return None
    (shape,) = shapes
    if shape.tag == "mesh":
        return _mesh(shape, meshes)
    shape.warn_unknown((), SIZES[PRIMITIVES[shape.tag]])
    return read_primitive(shape, shape.numbers)


def read_material(part: Part, materials: Mapping[str, Material]) -> Material:
    """Read a `<material>`; with only a name, it refers to a material defined elsewhere."""
    part.warn_unknown(("color", "texture"), ("name",))
    name = part.attribute("name") or ""
    color, texture = part.child("color"), part.child("texture")
    if color is None and texture is None:
        if name not in materials:
            part.note(f"material {shown(name)} is not defined")
        return materials.get(name, Material(name))
    rgba = color.rgba(color.numbers("rgba", 4), "rgba") if color else None
    return Material(name, rgba, (texture.attribute("filename") or None) if texture else None)


def _mesh(part: Part, meshes: MeshFinder) -> Mesh:
    part.warn_unknown((), ("filename", "scale"))
    filename = part.required_attribute("filename")
    mesh = meshes.find(filename)
    return Mesh(filename, part.triple("scale", (1.0, 1.0, 1.0)), mesh.path, mesh.searched)


URDF_TYPES = ("continuous", "fixed", "floating", "planar", "prismatic", "revolute")
# Joint types that are not part of URDF, and their kinds in linkwork, which also writes them.
EXTENSION_TYPES = {
    "spherical": "spherical",
    "ball": "spherical",
    "helical": "helical",
    "revolute_cos_sin": "revolute_cos_sin",
    "universal": "universal",
}
# Types whose position is bounded by `lower` and `upper`.
BOUNDED_TYPES = ("revolute", "prismatic", "helical")
# Limits of at least this magnitude mean "unlimited". `dump_urdf` writes it for infinity, because
# urdfdom rejects a joint without limits.
UNLIMITED = 1e30
DEFAULT_AXIS: Triple = (1.0, 0.0, 0.0)
# Angle limits between two revolutions in radians and two revolutions in degrees may be degrees by
# error. Larger ones, such as 1e16, mean "unlimited" in some files.
MAX_PLAUSIBLE_ANGLE, MAX_DEGREES = 4 * math.pi, 720.0

ELEMENTS = ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic")
OTHERS_JOINT = ("calibration", "safety_controller", "gazebo", "sensor", "hardwareInterface")


def read_joint(part: Part, *, mimic: bool) -> Joint | None:
    """Read a `<joint>`; None if its name or one of its links is missing."""
    part.warn_unknown(ELEMENTS, ("name", "type"), ignored=OTHERS_JOINT)
    errors = part.report.n_errors
    name = part.attribute("name") or ""
    kind = _read_type(part)
    parent, child = _read_end(part, "parent"), _read_end(part, "child")
    origin = read_origin(part)
    axis, pitch = _read_axis(part, kind)
    limits = _read_limits(part, kind)
    damping, friction, armature = _read_dynamics(part)
    leader = _read_mimic(part) if mimic else None
    if parent and parent == child:
        part.error(f"cycle: {parent} -> {child}")
    if not (name and parent and child and parent != child):
        return None
    placeholder = Joint(
        name=name, kind="revolute", first=parent, second=child, location=part.location
    )
    if part.report.n_errors > errors:
        return placeholder  # enough to check the graph and the mimics
    try:
        return replace(
            placeholder,
            kind=kind,
            first_H_joint=origin,
            axis=axis,
            pitch=pitch,
            limits=limits,
            damping=damping,
            friction=friction,
            armature=armature,
            mimic=leader,
        )
    except ModelError as error:
        part.report.extend(error.findings)
        return placeholder


def _read_type(part: Part) -> str:
    kind = part.required_attribute("type")
    if kind == "continuous":
        return "revolute"
    if kind in URDF_TYPES:
        return kind
    if kind in EXTENSION_TYPES:
        return EXTENSION_TYPES[kind]
    if kind.strip() and not has_xacro(kind):
        known = (*URDF_TYPES, *EXTENSION_TYPES)
        hint = nearest(kind.lower(), known)
        part.error(f"unknown type {shown(kind)}; {hint}")
    return "fixed"


def _read_end(part: Part, tag: str) -> str:
    end = part.required_child(tag)
    if end is None:
        return ""
    end.warn_unknown((), ("link",), strict=True)
    return end.required_attribute("link")


def _read_axis(part: Part, kind: str) -> tuple[Triple, float]:
    """Return the axis and the pitch; defaults for a joint kind without an axis."""
    axis = part.child("axis")
    xyz = DEFAULT_AXIS
    pitch = 0.0
    if not KINDS[kind].has_axis:
        if axis:
            _warn_unused_axis(axis, kind)
        return (0.0, 0.0, 1.0), 0.0
    if axis:
        axis.warn_unknown((), ("xyz", "pitch"), strict=True)
        xyz = axis.triple("xyz", DEFAULT_AXIS, largest=FINITE)
        if axis.attribute("xyz") is None:
            axis.warning("<axis> has no 'xyz'; 1 0 0 is assumed")
        pitch = axis.number("pitch", 0.0)
    return (axis or part).unit_axis(xyz, DEFAULT_AXIS), pitch


def _warn_unused_axis(axis: Part, kind: str) -> None:
    """Warn about errors in the axis of a joint kind that has none."""
    report = Report(axis.report.file, {})
    Part(axis.element, axis.owner, report).triple("xyz", DEFAULT_AXIS, largest=FINITE)
    for finding in report.findings:
        axis.warning(f"{finding.text}; ignored, as a {kind} joint has no axis")


def _read_limits(part: Part, kind: str) -> Limits:
    limit = part.child("limit")
    bounded = part.attribute("type") in BOUNDED_TYPES
    if limit is None:
        if bounded:
            part.warning("no <limit>; the joint is unlimited")
        return NO_LIMITS
    limit.warn_unknown((), ("lower", "upper", "effort", "velocity"))
    values = {name: _limit(limit, name, inf) for name in ("effort", "velocity")}
    lower, upper = _limit(limit, "lower", 0.0), _limit(limit, "upper", 0.0)
    if KINDS[kind].nv != 1:
        return NO_LIMITS
    missing = [name for name in ("effort", "velocity") if limit.attribute(name) is None]
    if missing:
        names = " and no ".join(map(repr, missing))
        limit.warning(f"<limit> has no {names}; assumed unlimited")
    if not bounded:
        return Limits(**values)
    present = [name for name in ("lower", "upper") if limit.attribute(name) is not None]
    if not present:
        limit.warning("<limit> has no 'lower' and no 'upper'; the position is unlimited")
        return Limits(**values)
    if len(present) == 1:
        other = "upper" if present == ["lower"] else "lower"
        limit.warning(f"<limit> has no {other!r}; it is 0, the default of URDF")
    if lower > upper:
        limit.error(f"limit lower {lower:g} is above upper {upper:g}")
        return NO_LIMITS
    if kind == "revolute" and MAX_PLAUSIBLE_ANGLE < max(abs(lower), abs(upper)) <= MAX_DEGREES:
        message = f"limits {lower:g} and {upper:g} are radians; they look like degrees"
        limit.note(message)
    return Limits(lower=lower, upper=upper, **values)


def _limit(part: Part, attribute: str, default: float) -> float:
    value = part.number(attribute, default)
    return math.copysign(inf, value) if abs(value) >= UNLIMITED else value


def _read_dynamics(part: Part) -> tuple[float, ...]:
    """Return damping, friction and armature."""
    dynamics = part.child("dynamics")
    if dynamics is None:
        return 0.0, 0.0, 0.0
    names = ("damping", "friction", "armature")
    dynamics.warn_unknown((), names)
    return tuple(dynamics.number(name, 0.0) for name in names)


def _read_mimic(part: Part) -> Mimic | None:
    mimic = part.child("mimic")
    if mimic is None:
        return None
    mimic.warn_unknown((), ("joint", "multiplier", "offset"), strict=True)
    leader = mimic.required_attribute("joint")
    multiplier, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
    if part.attribute("type") == "fixed":
        mimic.warning("a fixed joint cannot mimic another; <mimic> is ignored")
        return None
    return Mimic(joint=leader, multiplier=multiplier, offset=offset)
