"""Write a robot as URDF. Reading the text again returns an equal model, digit for digit.

In URDF, the origin of a child link is on the joint that holds it, and every joint points away from
the root. A model read from URDF has this form; `Model.rerooted` brings any other into it.

The text obeys urdfdom, the parser of ROS and Pinocchio:

    <limit>      complete for revolute and prismatic joints; UNLIMITED stands for infinity
    <dynamics>   has damping or friction
    <capsule>    only in version 1.1 or later
    type         one of six; joints of other kinds are extensions that only linkwork reads
"""

from __future__ import annotations

from math import isfinite
from os import PathLike
from typing import TYPE_CHECKING

from linkwork.errors import Finding, ModelError, listed, warn_of
from linkwork.io.urdf.joints import BOUNDED_TYPES, UNLIMITED, URDF_TYPES
from linkwork.io.urdf.links import MOMENTS
from linkwork.io.xml.write import add, document_text, number_text, top_element, write_text
from linkwork.model.geometry import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from linkwork.model.inertia import NO_INERTIA, Inertia
from linkwork.model.model import Model
from linkwork.model.parts import Frame, Joint, Link
from linkwork.model.pose import IDENTITY, Pose

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]


def dump_urdf(model: Model, path: str | PathLike[str] | None = None) -> str:
    """Write a robot as URDF.

    Args:
        model: the robot. Additional frames become bare links on fixed joints, marked so that
            linkwork reads them as frames again.
        path: the file to write; none if only the text is wanted.

    Returns:
        the text.

    Raises:
        ModelError: URDF cannot express the robot as it is; `rerooted` makes it fit.

    Warns:
        LinkworkWarning: the robot has joints that only linkwork reads.
    """
    text = urdf_text(model)
    warn_of(extension_findings(model))
    return write_text(text, path)


def urdf_text(model: Model) -> str:
    """The text of `dump_urdf`, without its warning."""
    return document_text(robot_element(model))


def robot_element(model: Model) -> Element:
    """A robot as a `<robot>` element of URDF."""
    _reject_other_forms(model)
    version = "1.1" if _has_capsules(model) else None
    robot = top_element("robot", name=model.name, version=version)
    for link in model.links:
        write_link(robot, link)
    for frame in model.frames:
        add(robot, "link", name=frame.name, linkwork="frame")
    for joint in model.joints:
        _write_joint(robot, joint)
    for frame, name in zip(model.frames, _mount_names(model), strict=True):
        _write_mount(robot, frame, name)
    return robot


def extension_findings(model: Model) -> list[Finding]:
    """Warnings about joints that URDF does not have: other programs cannot read the file."""
    extensions = {joint.name: joint.kind for joint in model.joints if joint.kind not in URDF_TYPES}
    if not extensions:
        return []
    kinds = listed(sorted(set(extensions.values())))
    text = f"URDF has no joints of kind {kinds}; only linkwork reads this file"
    text = f"{text}: {listed(list(extensions))}"
    return [Finding("warning", "", text)]


def _has_capsules(model: Model) -> bool:
    return any(
        isinstance(shape.geometry, Capsule)
        for link in model.links
        for shape in (*link.visuals, *link.collisions)
    )


def _reject_other_forms(model: Model) -> None:
    seconds: set[str] = set()
    findings: list[Finding] = []
    for joint in model.joints:
        if joint.joint_H_second != IDENTITY or joint.second in seconds | {model.default_base}:
            text = f"URDF wants link {joint.second!r} to hang on this joint by its origin; "
            text += "model.rerooted() moves the origins of links so that they do"
            findings.append(Finding("error", f"joint {joint.name!r}", text, joint.location))
        seconds.add(joint.second)
    if findings:
        raise ModelError(findings)


def _limits(joint: Joint, kind: str) -> dict[str, str]:
    """The attributes of `<limit>`; none if the joint needs no such element."""
    values = {name: getattr(joint.limits, name) for name in ("effort", "velocity")}
    if kind in BOUNDED_TYPES:
        values = {"lower": joint.limits.lower, "upper": joint.limits.upper, **values}
    elif not any(map(isfinite, values.values())):
        return {}
    return {
        name: number_text(max(-UNLIMITED, min(value, UNLIMITED))) for name, value in values.items()
    }


def _write_origin(parent: Element, pose: Pose) -> None:
    if pose != IDENTITY:
        add(parent, "origin", xyz=number_text(*pose.xyz), rpy=number_text(*pose.rpy))


def write_link(robot: Element, link: Link) -> None:
    """Add a `<link>` to an element."""
    element = add(robot, "link", name=link.name)
    if link.inertia != NO_INERTIA:
        _write_inertial(element, link.inertia)
    for tag, shapes in (("visual", link.visuals), ("collision", link.collisions)):
        for shape in shapes:
            _write_shape(element, tag, shape)


def _write_inertial(link: Element, inertia: Inertia) -> None:
    element = add(link, "inertial")
    _write_origin(element, Pose(inertia.com))
    add(element, "mass", value=number_text(inertia.mass))
    moments = {
        name: number_text(value) for name, value in zip(MOMENTS, inertia.tensor, strict=True)
    }
    add(element, "inertia", **moments)


def _write_shape(link: Element, tag: str, shape: Shape) -> None:
    element = add(link, tag, name=shape.name or None)
    _write_origin(element, shape.link_H_shape)
    geometry = add(element, "geometry")
    match shape.geometry:
        case Box(size):
            add(geometry, "box", size=number_text(*size))
        case Cylinder(radius, length):
            add(geometry, "cylinder", radius=number_text(radius), length=number_text(length))
        case Capsule(radius, length):
            add(geometry, "capsule", radius=number_text(radius), length=number_text(length))
        case Sphere(radius):
            add(geometry, "sphere", radius=number_text(radius))
        case Mesh(filename, scale):
            scaled = number_text(*scale) if scale != (1.0, 1.0, 1.0) else None
            add(geometry, "mesh", filename=filename, scale=scaled)
    if shape.material:
        material = add(element, "material", name=shape.material.name)
        if shape.material.rgba:
            add(material, "color", rgba=number_text(*shape.material.rgba))
        if shape.material.texture:
            add(material, "texture", filename=shape.material.texture)


def _write_joint(robot: Element, joint: Joint) -> None:
    unbounded = joint.limits.lower == -joint.limits.upper and not isfinite(joint.limits.upper)
    kind = "continuous" if joint.kind == "revolute" and unbounded else joint.kind
    element = add(robot, "joint", name=joint.name, type=kind)
    _write_origin(element, joint.first_H_joint)
    add(element, "parent", link=joint.first)
    add(element, "child", link=joint.second)
    if joint.motion_kind.has_axis:
        pitch = number_text(joint.pitch) if joint.pitch else None
        add(element, "axis", xyz=number_text(*joint.axis), pitch=pitch)
    if limits := _limits(joint, kind):
        add(element, "limit", **limits)
    if joint.damping or joint.friction or joint.armature:
        values = {"damping": joint.damping, "friction": joint.friction, "armature": joint.armature}
        nonzero = {name: number_text(value) for name, value in values.items() if value}
        add(element, "dynamics", **{"damping": "0", **nonzero})
    if joint.mimic:
        mimic = joint.mimic
        numbers = {"multiplier": number_text(mimic.multiplier), "offset": number_text(mimic.offset)}
        add(element, "mimic", joint=mimic.joint, **numbers)


def _mount_names(model: Model) -> list[str]:
    """Names for the fixed joints of frames, which no other joint has."""
    taken = set(model.joint_names)
    names: list[str] = []
    for frame in model.frames:
        name = f"{frame.name}_mount"
        while name in taken:
            name += "_"
        taken.add(name)
        names.append(name)
    return names


def _write_mount(robot: Element, frame: Frame, name: str) -> None:
    element = add(robot, "joint", name=name, type="fixed")
    _write_origin(element, frame.link_H_frame)
    add(element, "parent", link=frame.link)
    add(element, "child", link=frame.name)
