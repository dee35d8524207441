"""Links and joints of an SDF file.

Inertia   about the center of mass, in the axes of the `<pose>` inside `<inertial>`. A link without
          `<inertial>` has the mass 1 and the principal moments 1, the defaults of SDF
Shapes    box, capsule, cylinder, sphere and mesh; there is no shape for others
Frame     the joint frame has the `<pose>` of the joint; at the position zero, it is fixed to both
          links
Axis      in the joint frame, or in the frame `expressed_in`; before version 1.5 in that of the
          model, and up to version 1.6 also with `use_parent_model_frame`
Types     revolute and continuous, prismatic, ball (spherical), fixed, screw (helical), universal
          and revolute2 (universal)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ModelError, listed, nearest, shown
from linkwork.io.sdf.elements import (
    MODEL,
    RELATIVE_TO_VERSION,
    WORLD,
    Frames,
    RelativePose,
    Scope,
    SdfFile,
    SdfPart,
)
from linkwork.io.urdf.elements import FINITE, MOMENTS
from linkwork.io.xml.elements import PRIMITIVES, SIZES, has_xacro, read_primitive
from linkwork.model.geometry import (
    Geometry,
    Material,
    Mesh,
    Primitive,
    Shape,
)
from linkwork.model.inertia import NO_INERTIA, Inertia, combined, moved
from linkwork.model.numbers import Triple
from linkwork.model.parts import NO_LIMITS, Joint, Limits, Link, Mimic, unit_vector
from linkwork.model.pose import IDENTITY, Pose, as_pose, composed, inverted, snapped
from linkwork.spatial.source import se3

DEFAULT_MOMENTS = (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)
DEFAULT_DENSITY = 1000.0  # of collisions with automatic inertia [kg/m^3]
READ_LINK = ("pose", "inertial", "visual", "collision", "gravity", "kinematic", "velocity_decay")
# Elements of links without information about kinematics or dynamics.
OTHERS_LINK = (
    *("self_collide", "must_be_base_link", "enable_wind", "sensor", "projector", "audio_sink"),
    *("audio_source", "battery", "light", "particle_emitter", "plugin"),
)
OTHERS_SHAPE = (
    *("cast_shadows", "transparency", "laser_retro", "meta", "plugin", "visibility_flags"),
    *("max_contacts", "surface"),
)
AUTOMATIC = ("density", "auto_inertia_params")  # for automatic inertias
_SHAPES = (*PRIMITIVES, "mesh")
# Shapes for which linkwork has no geometry.
OTHERS_GEOMETRY = ("cone", "ellipsoid", "plane", "heightmap", "image", "polyline", "empty")


def read_link(part: SdfPart, name: str, model_H_link: Array, scope: Scope, *, static: bool) -> Link:
    """Read a `<link>`, whose complete name is `name`; a static one needs no inertia."""
    part.check((*READ_LINK, "frame"), OTHERS_LINK, ("name",))
    _warn_left_out(part)
    shapes = {
        tag: [read_shape(child, model_H_link, scope) for child in part.children(tag)]
        for tag in ("visual", "collision")
    }
    return Link(
        name=name,
        inertia=_read_inertia(part, shapes["collision"], static=static),
        visuals=tuple(shape for shape in shapes["visual"] if shape),
        collisions=tuple(shape for shape in shapes["collision"] if shape),
        location=part.location,
    )


def _warn_left_out(part: SdfPart) -> None:
    """Warn about elements that affect the motion but have no counterpart."""
    if not part.flag("gravity", default=True):
        part.warning("left out: <gravity> is false, but gravity acts on all links")
    if part.flag("kinematic"):
        part.warning("left out: <kinematic>")
    for decay in part.children("velocity_decay"):
        if any(decay.value(tag, 0.0) for tag in ("linear", "angular")):
            decay.warning("left out: <velocity_decay>")
    for frame in part.children("frame"):
        frame.warning("a <frame> inside <link> is ignored; SDF has frames of models only")


def _read_inertia(part: SdfPart, collisions: list[Shape | None], *, static: bool) -> Inertia:
    inertial = part.child("inertial")
    is_automatic = inertial is not None and inertial.boolean(inertial.attribute("auto"))
    if static and (inertial is None or is_automatic):
        return NO_INERTIA
    if inertial is None:
        text = "no <inertial>; mass 1 and principal moments 1, 1, 1 are the default of SDF"
        part.warning(text, topic="default inertia")
        return Inertia(1.0, (0.0, 0.0, 0.0), DEFAULT_MOMENTS)
    if is_automatic:
        return _automatic_inertia(part, inertial, collisions)
    return read_inertial(inertial)


def read_inertial(part: SdfPart) -> Inertia:
    """Read an `<inertial>`, and express it in the axes of the link."""
    read = ("pose", "mass", "inertia", "fluid_added_mass", *AUTOMATIC, "frame")
    part.check(read, (), ("auto",))
    if part.child("fluid_added_mass"):
        part.warning("left out: <fluid_added_mass>")
    errors = part.report.n_errors
    missing = [] if part.child("mass") else ["<mass>"]
    mass, moments = part.value("mass", 1.0), DEFAULT_MOMENTS
    inertia = part.child("inertia")
    if inertia is None:
        missing.append("<inertia>")
    else:
        inertia.check(MOMENTS)
        missing += [f"<{name}>" for name in ("ixx", "iyy", "izz") if not inertia.child(name)]
        defaults = dict(zip(MOMENTS, DEFAULT_MOMENTS, strict=True))
        xx, xy, xz, yy, yz, zz = (inertia.value(name, defaults[name]) for name in MOMENTS)
        moments = (xx, xy, xz, yy, yz, zz)
    if missing:
        part.warning(f"<inertial> has no {listed(missing)}; the default of SDF is 1")
    return part.inertia(mass, moments, _local_pose(part), errors)


def _local_pose(part: SdfPart) -> Pose:
    """Return the `<pose>` of an `<inertial>`, which is always relative to the link."""
    pose = part.child("pose")
    if pose is None:
        return IDENTITY
    for name in ("relative_to", "frame"):
        if (pose.attribute(name) or "").strip():
            pose.error(f"the pose of <inertial> is relative to the link; remove {name!r}")
    return pose.pose()


def _automatic_inertia(part: SdfPart, inertial: SdfPart, collisions: list[Shape | None]) -> Inertia:
    """Return the inertia of the collisions, scaled to the mass if it is stated."""
    total, errors = NO_INERTIA, part.report.n_errors
    default = inertial.value("density", DEFAULT_DENSITY)
    try:
        for element, shape in zip(part.children("collision"), collisions, strict=True):
            density = element.value("density", default)
            if shape and isinstance(shape.geometry, Primitive):
                solid = shape.geometry.inertia(density)
                total = combined(total, moved(solid, shape.link_H_shape))
            else:
                element.error("the inertia of this shape is not computed; write <inertia>")
        if total.mass and inertial.child("mass"):
            scale = inertial.value("mass", 1.0) / total.mass
            xx, xy, xz, yy, yz, zz = (moment * scale for moment in total.tensor)
            total = Inertia(total.mass * scale, total.com, (xx, xy, xz, yy, yz, zz))
    except ModelError as error:
        inertial.error(error.findings[0].text)
        return NO_INERTIA
    if not total.mass and part.report.n_errors == errors:
        inertial.error("the inertia is computed from collisions, but there is none with a volume")
    return total


def read_shape(part: SdfPart, model_H_link: Array, scope: Scope) -> Shape | None:
    """Read a `<visual>` or a `<collision>`; None if there is no such geometry."""
    part.check(("pose", "geometry", "material", *AUTOMATIC, "frame"), OTHERS_SHAPE, ("name",))
    placed = part.relative_pose(scope.file)
    pose = placed.pose
    if placed.relative_to:
        model_H_shape = scope.frames.pose(part, placed.relative_to) @ pose.matrix()
        pose = as_pose(se3.inverse(model_H_link) @ model_H_shape)
    material = part.child("material")
    appearance = read_material(material) if material else None
    geometry_part = part.child("geometry")
    if geometry_part is None:
        part.warning(f"left out: a <{part.tag}> without <geometry>")
        return None
    geometry = read_geometry(geometry_part, scope.file)
    if geometry is None:
        return None
    return Shape(geometry, pose, part.attribute("name") or "", appearance)


def read_geometry(part: SdfPart, file: SdfFile) -> Geometry | None:
    """Read a `<geometry>`: one shape, or several polylines; None if linkwork has no such shape."""
    part.check((*_SHAPES, *OTHERS_GEOMETRY))
    shapes = list(part.children(*_SHAPES, *OTHERS_GEOMETRY))
    if len(shapes) > 1 and any(shape.tag != "polyline" for shape in shapes):
        part.error(f"<geometry> has {len(shapes)} shapes; expected one")
        return None
    if not shapes:
        return None
    shape = shapes[0]
    if shape.tag == "mesh":
        return _mesh(shape, file)
    if shape.tag in PRIMITIVES:
        sizes = SIZES[PRIMITIVES[shape.tag]]
        shape.check(sizes)
        for name in sizes:
            shape.required_child(name)
        return read_primitive(shape, lambda name, count: shape.values(name, count, (0.0,) * count))
    if shape.tag != "empty":
        shape.warning(f"left out: linkwork has no shape for <{shape.tag}>")
    return None


def read_material(part: SdfPart) -> Material | None:
    """Read a `<material>`: its diffuse color, else its ambient color."""
    others = ("script", "shader", "render_order", "lighting", "double_sided", "shininess", "pbr")
    part.check(("diffuse", "ambient", "specular", "emissive"), others)
    color = part.child("diffuse") or part.child("ambient")
    if color is None:
        return None
    words = len(color.text().split())
    numbers = color.numbers_in(color.text(), "", 3 if words == 3 else 4)
    return Material(rgba=color.rgba(numbers)) if numbers else None


def _mesh(part: SdfPart, file: SdfFile) -> Mesh:
    part.check(("uri", "scale", "submesh"), ("convex_decomposition",), ("optimization",))
    uri = part.required_text("uri")
    submesh = part.child("submesh")
    if submesh:
        submesh.warning("<submesh> is ignored; the complete mesh is used")
    x, y, z = part.values("scale", 3, (1.0, 1.0, 1.0))
    mesh = file.meshes.find(uri)
    return Mesh(uri, (x, y, z), mesh.path, mesh.searched)


KIND_OF = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "ball": "spherical",
    "fixed": "fixed",
    "screw": "helical",
    "universal": "universal",
    "revolute2": "universal",
}
TYPES = (*KIND_OF, "gearbox")
TWO_AXES = ("universal", "revolute2", "gearbox")
WITHOUT_AXIS = ("ball", "fixed")
UNLIMITED = 1e16  # limits of at least this magnitude mean "unlimited"
# The axes of a universal joint are perpendicular within this [rad]; files have rounded angles.
PERPENDICULAR = 1e-3
PARALLEL = 1e-3  # the same for axes of a gearbox and its joints that are parallel

READ = (
    *("parent", "child", "pose", "axis", "axis2", "thread_pitch", "screw_thread_pitch"),
    *("gearbox_ratio", "gearbox_reference_body", "frame"),
)
OTHERS_JOINT = ("physics", "sensor", "plugin", "provide_feedback")


@dataclass(frozen=True, slots=True)
class JointElement:
    """A joint of a model before the frames of the model are resolved."""

    part: SdfPart
    name: str
    frame: str  # name of its frame in the model
    parent: str
    child: str
    pose: RelativePose


@dataclass(frozen=True, slots=True)
class Gearbox:
    """A gearbox: theta_child = -ratio * theta_parent, both relative to the reference link.

    Axes are unit vectors in the axes of the child link while all joints are at zero.
    """

    part: SdfPart
    name: str
    parent: str
    child: str
    reference: str
    ratio: float
    parent_axis: Triple
    child_axis: Triple


@dataclass(frozen=True, slots=True)
class _AxisValues:
    direction: Triple = (0.0, 0.0, 1.0)  # in the joint frame
    limits: Limits = NO_LIMITS
    damping: float = 0.0
    friction: float = 0.0
    mimic: Mimic | None = None


def read_joint_element(part: SdfPart, name: str, file: SdfFile) -> JointElement | None:
    """Read the links and the pose of a `<joint>`; None if a link is missing."""
    part.check(READ, OTHERS_JOINT, ("name", "type"))
    for frame in part.children("frame"):
        frame.warning("a <frame> inside <joint> is ignored; SDF has frames of models only")
    parent, child = part.required_text("parent"), part.required_text("child")
    pose = part.relative_pose(file)
    if child == WORLD:
        part.error("the child of a joint cannot be 'world'; exchange <parent> and <child>")
        return None
    if not (parent and child):
        return None
    return JointElement(part, name, name, parent, child, pose)


def read_joint(element: JointElement, scope: Scope) -> Joint | Gearbox | None:
    """Read a `<joint>`.

    Args:
        element: its links and its pose.
        scope: the frames of its model.

    Returns:
        A joint. The mount of a joint with the world is relative to its child link, until the pose
        of the model is known. A gearbox for that type; None after an error.
    """
    part, errors, frames = element.part, element.part.report.n_errors, scope.frames
    kind = _read_type(part)
    first = WORLD if element.parent == WORLD else frames.link(part, element.parent)
    is_known = element.child in frames.poses  # else `FrameGraph` reports it
    second = frames.link(part, element.child) if is_known else ""
    if first and first == second:
        part.error(f"cycle: {first} -> {second}")
    model_H_joint = frames.poses.get(element.frame, np.eye(4))
    axes = [_read_axis(part, tag, kind, model_H_joint, scope) for tag in ("axis", "axis2")]
    pitch = _read_pitch(part) if kind == "screw" else 0.0
    if not first or not second or first == second:
        return None
    if kind == "gearbox":
        return _read_gearbox(element, (first, second), axes, model_H_joint, scope)
    if frames.poses[element.child] is frames.link_poses[second] and not element.pose.relative_to:
        child_H_joint = element.pose.pose  # without rounding
    else:
        child_H_joint = _in_link(second, model_H_joint, frames)
    placeholder = Joint(
        name=scope.prefix + element.name,
        kind="revolute",
        first=first,
        second=second,
        location=part.location,
    )
    if part.report.n_errors > errors:
        return placeholder  # enough to check the graph and the mimics
    joint = replace(
        placeholder,
        kind=KIND_OF[kind],
        axis=axes[0].direction,
        pitch=pitch,
        first_H_joint=child_H_joint if first == WORLD else _in_link(first, model_H_joint, frames),
        joint_H_second=inverted(child_H_joint),
    )
    try:
        return _with_values(part, kind, joint, axes)
    except ModelError as error:
        part.report.extend(error.findings)
        return placeholder


def _in_link(link: str, model_H_joint: Array, frames: Frames) -> Pose:
    return as_pose(se3.inverse(frames.link_poses[link]) @ model_H_joint)


def _with_values(part: SdfPart, kind: str, joint: Joint, axes: list[_AxisValues]) -> Joint:
    """Add limits, dynamics and mimic; a joint with several coordinates has no limits."""
    values = {"damping": axes[0].damping, "friction": axes[0].friction}
    if joint.motion_kind.nv == 1:
        return replace(joint, limits=axes[0].limits, mimic=axes[0].mimic, **values)
    if any(axis.limits != NO_LIMITS for axis in axes) and kind != "fixed":
        part.warning(f"left out: limits of a {kind} joint")
    if any(axis.mimic for axis in axes):
        part.error(f"a {kind} joint cannot mimic another; only joints with one coordinate can")
    if kind == "fixed":
        return joint
    if kind not in TWO_AXES:
        return replace(joint, **values)
    if (axes[1].damping, axes[1].friction) != (axes[0].damping, axes[0].friction):
        part.warning("left out: damping and friction of <axis2>, which differ from those of <axis>")
    return _universal(part, replace(joint, **values), axes[1].direction)


def _universal(part: SdfPart, joint: Joint, second_axis: Triple) -> Joint:
    """Return the joint with its first axis along z and its second axis along x of its frame."""
    e1, e2 = np.array(joint.axis), np.array(second_axis)
    if abs(e1 @ e2) > PERPENDICULAR:
        angle = math.degrees(math.acos(min(1.0, abs(float(e1 @ e2)))))
        part.error(f"the axes must be perpendicular, but their angle is {angle:.4g} degrees")
        return joint
    e2 = e2 - (e1 @ e2) * e1
    e2 = e2 / np.linalg.norm(e2)
    rotation = snapped(np.stack([e2, np.cross(e1, e2), e1], axis=1))
    turned = as_pose(se3.pose(rotation, np.zeros(3)))
    return replace(
        joint,
        axis=(0.0, 0.0, 1.0),
        first_H_joint=composed(joint.first_H_joint, turned),
        joint_H_second=composed(inverted(turned), joint.joint_H_second),
    )


def _read_type(part: SdfPart) -> str:
    kind = part.required_attribute("type").strip()
    if kind not in TYPES and kind and not has_xacro(kind):
        part.error(f"unknown type {shown(kind)}; {nearest(kind.lower(), TYPES)}")
    return kind if kind in TYPES else "fixed"


def _read_axis(
    part: SdfPart, tag: str, kind: str, model_H_joint: Array, scope: Scope
) -> _AxisValues:
    axis = part.child(tag)
    is_needed = kind not in WITHOUT_AXIS and (tag == "axis" or kind in TWO_AXES)
    if axis is None:
        if is_needed:
            part.error(f"a {kind} joint needs <{tag}>")
        return _AxisValues()
    if tag == "axis2" and kind not in TWO_AXES:
        axis.warning(f"<axis2> is ignored, as a {kind} joint has at most one axis")
        return _AxisValues()
    read = ("xyz", "limit", "dynamics", "mimic", "use_parent_model_frame", "initial_position")
    axis.check(read)
    if axis.value("initial_position", 0.0):
        axis.warning("left out: <initial_position>; pass positions in q")
    direction = _read_direction(axis, model_H_joint, scope) if is_needed else (0.0, 0.0, 1.0)
    dynamics, limits = _read_dynamics(axis), _read_limits(axis, bounded=kind != "continuous")
    mimic = _read_mimic(axis, scope.prefix) if scope.file.mimic else None
    return _AxisValues(direction, limits, *dynamics, mimic)


def _read_direction(axis: SdfPart, model_H_joint: Array, scope: Scope) -> Triple:
    """Return the axis as a unit vector in the joint frame."""
    xyz = axis.child("xyz")
    if xyz is None:
        axis.warning(f"<{axis.tag}> has no <xyz>; 0 0 1 is the default of SDF")
    else:
        xyz.check((), (), ("expressed_in",))
    x, y, z = axis.values("xyz", 3, (0.0, 0.0, 1.0), largest=FINITE)
    direction = axis.unit_axis((x, y, z), (0.0, 0.0, 1.0))
    frame = _axis_frame(axis, xyz, scope.file)
    if not frame:
        return direction
    rotation = se3.rotation_of(model_H_joint).T @ se3.rotation_of(scope.frames.pose(axis, frame))
    return unit_vector((snapped(rotation) @ np.array(direction)).tolist())


def _axis_frame(axis: SdfPart, xyz: SdfPart | None, file: SdfFile) -> str:
    """Return the frame whose axes an axis is expressed in; empty for the joint frame."""
    expressed_in = (xyz.attribute("expressed_in") or "").strip() if xyz else ""
    in_model = axis.flag("use_parent_model_frame", default=file.version < (1, 5))
    if in_model and file.version >= RELATIVE_TO_VERSION:
        axis.error('<use_parent_model_frame> is expressed_in="__model__" since SDF 1.7')
    return expressed_in or (MODEL if in_model else "")


def _read_limits(axis: SdfPart, *, bounded: bool) -> Limits:
    limit = axis.child("limit")
    if limit is None:
        return NO_LIMITS
    limit.check(("lower", "upper", "effort", "velocity"), ("stiffness", "dissipation"))
    lower = limit.bound("lower", -inf, UNLIMITED)
    upper = limit.bound("upper", inf, UNLIMITED)
    # negative values, the default of old versions, mean "unlimited"
    most = {name: limit.bound(name, inf, UNLIMITED) for name in ("effort", "velocity")}
    most = {name: inf if value < 0 else value for name, value in most.items()}
    if not bounded:
        return Limits(**most)
    if lower > upper:
        limit.error(f"limit lower {lower:g} is above upper {upper:g}")
        return NO_LIMITS
    return Limits(lower=lower, upper=upper, **most)


def _read_dynamics(axis: SdfPart) -> tuple[float, float]:
    """Return damping and friction."""
    dynamics = axis.child("dynamics")
    if dynamics is None:
        return 0.0, 0.0
    dynamics.check(("damping", "friction", "spring_reference", "spring_stiffness"))
    dynamics.value("spring_reference", 0.0)
    if dynamics.value("spring_stiffness", 0.0):
        dynamics.warning("left out: <spring_stiffness>")
    return dynamics.value("damping", 0.0), dynamics.value("friction", 0.0)


def _read_mimic(axis: SdfPart, prefix: str) -> Mimic | None:
    """Return the dependence on another joint: multiplier * (position - reference) + offset."""
    mimic = axis.child("mimic")
    if mimic is None:
        return None
    mimic.check(("multiplier", "offset", "reference"), (), ("joint", "axis"))
    leader = mimic.required_attribute("joint").strip()
    if (mimic.attribute("axis") or "axis").strip() != "axis":
        mimic.error("mimics the second axis of a joint; only joints with one coordinate can lead")
    multiplier = mimic.value("multiplier", 1.0)
    offset = mimic.value("offset", 0.0) - multiplier * mimic.value("reference", 0.0)
    return Mimic(joint=prefix + leader, multiplier=multiplier, offset=offset)


def _read_pitch(part: SdfPart) -> float:
    """Return the advance of a screw joint per radian [m/rad].

    `screw_thread_pitch` is in meters per revolution of a right-handed thread, `thread_pitch` in
    radians per meter of a left-handed thread.
    """
    if part.child("screw_thread_pitch"):
        return part.value("screw_thread_pitch", 0.0) / (2 * math.pi)
    if not part.child("thread_pitch"):
        part.error("a screw joint needs <screw_thread_pitch>")
    inverse = part.value("thread_pitch", 1.0)
    if inverse == 0:
        part.error("<thread_pitch> is zero")
        return 0.0
    return -1.0 / inverse


def _read_gearbox(
    element: JointElement,
    ends: tuple[str, str],
    axes: list[_AxisValues],
    model_H_joint: Array,
    scope: Scope,
) -> Gearbox | None:
    part, (parent, child) = element.part, ends
    if not part.child("gearbox_ratio"):
        part.error("a gearbox joint needs <gearbox_ratio>")
    name = part.required_text("gearbox_reference_body")
    reference = WORLD if name == WORLD else scope.frames.link(part, name) if name else ""
    ratio = part.value("gearbox_ratio", 1.0)
    if not reference or parent == WORLD:
        if parent == WORLD:
            part.error("the parent of a gearbox joint cannot be 'world'")
        return None
    child_R_joint = se3.rotation_of(_in_link(child, model_H_joint, scope.frames).matrix())
    first, second = (tuple((child_R_joint @ np.array(axis.direction)).tolist()) for axis in axes)
    return Gearbox(
        part, scope.prefix + element.name, parent, child, reference, ratio, first, second
    )
