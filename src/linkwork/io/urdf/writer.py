"""Writer of URDF files. Reading the file again returns an equal model, without loss of precision.

In URDF, the origin of a child link is on the joint that carries it, and every joint points away
from the root. A model read from URDF has this form; `Model.rerooted` converts any other model.

The file follows the rules of urdfdom, the parser of ROS and Pinocchio:

    <limit>      complete for revolute and prismatic joints; UNLIMITED stands for infinity
    <dynamics>   has damping or friction
    <capsule>    only in version 1.1 or later
    type         one of six; joints of other kinds are extensions that only linkwork reads
    <mimic>      also for linear couplings of two joints; other constraints cannot be written
"""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from os import PathLike
from typing import TYPE_CHECKING

from linkwork.errors import Finding, ModelError, listed, model_error
from linkwork.io.formats import Conversion
from linkwork.io.urdf.elements import BOUNDED_TYPES, EXTENSION_TYPES, MOMENTS, UNLIMITED, URDF_TYPES
from linkwork.io.urdf.reader import read_urdf
from linkwork.io.writing import (
    add,
    configuration_findings,
    document_text,
    expressible,
    finish,
    format_numbers,
    listed_findings,
    reject,
    size_texts,
    top_element,
    unique_name,
)
from linkwork.io.xml.documents import read_source
from linkwork.model.geometry import Capsule, Mesh, Shape
from linkwork.model.graph import require_tree
from linkwork.model.inertia import NO_INERTIA, Inertia
from linkwork.model.model import Model
from linkwork.model.parts import Frame, Joint, Link
from linkwork.model.pose import IDENTITY, Pose

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]


def dump_urdf(model: Model, path: str | PathLike[str] | None = None) -> str:
    """Write a robot as URDF.

    Args:
        model: the robot. Additional frames become empty links on fixed joints, marked so that
            linkwork reads them as frames again.
        path: the file to write; None to only return its content.

    Returns:
        The content of the file.

    Raises:
        ModelError: URDF cannot express the robot; `rerooted` returns one that it can express.

    Warns:
        LinkworkWarning: the robot has joints that only linkwork can read, or properties that URDF
            expresses differently or not at all.
    """
    model, findings = expressible(model)
    return finish(Conversion(urdf_text(model), (*extension_findings(model), *findings)), path)


def convert_urdf(model: Model) -> Conversion:
    """Convert a robot to URDF, and check that it reads back as the same robot.

    Raises:
        ModelError: URDF cannot express the robot.
    """
    model, findings = in_urdf_form(model)
    text = urdf_text(model)
    if read_urdf(read_source(text)).model != replace(model, configurations=()):
        raise model_error("the URDF does not read back as the same robot")
    return Conversion(text, (*findings, *extension_findings(model)), "reads back as the same robot")


def in_urdf_form(model: Model) -> tuple[Model, tuple[Finding, ...]]:
    """Return the robot as URDF can express it, and findings about what changed.

    Link frames are on their joints, and linear couplings are joints that mimic others.
    """
    model, changes = expressible(model)
    try:
        urdf_text(model)
    except ModelError:
        rerooted = model.rerooted()
        moved = [
            joint.second
            for joint in rerooted.joints
            if rerooted.link(joint.second) != model.link(joint.second)
            or joint != model.joint(joint.name)
        ]
        text = "in URDF, the origin of a link is on the joint that carries it; these link frames"
        return rerooted, (*changes, *listed_findings({f"{text} were moved": moved}))
    return model, tuple(changes)


def in_workcell_form(model: Model) -> tuple[Model, tuple[Finding, ...]]:
    """Return the robot as workcell files can express it, which contain URDF, and findings."""
    model, findings = in_urdf_form(model)
    findings = (*findings, *configuration_findings(model, "workcell XML"))
    return replace(model, configurations=()), findings


def urdf_text(model: Model) -> str:
    """Return the content of a URDF file, as `dump_urdf` without warnings."""
    return document_text(robot_element(model))


def robot_element(model: Model) -> Element:
    """Return the `<robot>` element of a robot."""
    _reject_other_forms(model)
    version = "1.1" if _has_capsules(model) else None
    robot = top_element("robot", name=model.name, version=version)
    for link in model.links:
        write_link(robot, link)
    for frame in model.frames:
        add(robot, "link", name=frame.name, linkwork="frame")
    for joint in model.joints:
        _write_joint(robot, joint)
    names = set(model.joint_names)
    for frame in model.frames:
        _write_mount(robot, frame, unique_name(f"{frame.name}_mount", names))
    return robot


def extension_findings(model: Model) -> list[Finding]:
    """Return warnings about joints that are not part of URDF, and about configurations."""
    findings = configuration_findings(model, "URDF")
    extensions = {joint.name: joint.kind for joint in model.joints if joint.kind not in URDF_TYPES}
    if extensions:
        kinds = listed(sorted(set(extensions.values())))
        reason = f"URDF has no joints of kind {kinds}, so only linkwork can read this file"
        findings.append(Finding("warning", "", f"{reason}: {listed(list(extensions))}"))
    return findings


def _has_capsules(model: Model) -> bool:
    return any(
        isinstance(shape.geometry, Capsule)
        for link in model.links
        for shape in (*link.visuals, *link.collisions)
    )


def _reject_other_forms(model: Model) -> None:
    require_tree(model, "URDF describes trees of links only")
    seconds: set[str] = set()
    findings: list[Finding] = []
    for joint in model.joints:
        if joint.kind not in (*URDF_TYPES, *EXTENSION_TYPES.values(), *EXTENSION_TYPES):
            text = f"joints of kind {joint.kind!r} cannot be written"
            findings.append(Finding("error", f"joint {joint.name!r}", text, joint.location))
        if joint.joint_H_second != IDENTITY or joint.second in seconds | {model.default_base}:
            text = f"in URDF, the origin of link {joint.second!r} must be on this joint; "
            text += "model.rerooted() moves the origins of the links"
            findings.append(Finding("error", f"joint {joint.name!r}", text, joint.location))
        seconds.add(joint.second)
    reject(findings)


def _limits(joint: Joint, kind: str) -> dict[str, str]:
    """Return the attributes of `<limit>`; empty if the joint needs no such element."""
    values = {name: getattr(joint.limits, name) for name in ("effort", "velocity")}
    if kind in BOUNDED_TYPES:
        values = {"lower": joint.limits.lower, "upper": joint.limits.upper, **values}
    elif not any(map(isfinite, values.values())):
        return {}
    return {
        name: format_numbers(max(-UNLIMITED, min(value, UNLIMITED)))
        for name, value in values.items()
    }


def _write_origin(parent: Element, pose: Pose) -> None:
    if pose != IDENTITY:
        add(parent, "origin", xyz=format_numbers(*pose.xyz), rpy=format_numbers(*pose.rpy))


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
    add(element, "mass", value=format_numbers(inertia.mass))
    moments = {
        name: format_numbers(value) for name, value in zip(MOMENTS, inertia.tensor, strict=True)
    }
    add(element, "inertia", **moments)


def _write_shape(link: Element, tag: str, shape: Shape) -> None:
    element = add(link, tag, name=shape.name or None)
    _write_origin(element, shape.link_H_shape)
    geometry = add(element, "geometry")
    if isinstance(shape.geometry, Mesh):
        attributes = _mesh(shape.geometry)
    else:
        attributes = size_texts(shape.geometry, "URDF")
    add(geometry, shape.geometry.kind, **attributes)
    if shape.material:
        material = add(element, "material", name=shape.material.name)
        if shape.material.rgba:
            add(material, "color", rgba=format_numbers(*shape.material.rgba))
        if shape.material.texture:
            add(material, "texture", filename=shape.material.texture)


def _mesh(mesh: Mesh) -> dict[str, str | None]:
    scale = format_numbers(*mesh.scale) if mesh.scale != (1.0, 1.0, 1.0) else None
    return {"filename": mesh.filename, "scale": scale}


def _write_joint(robot: Element, joint: Joint) -> None:
    unbounded = joint.limits.lower == -joint.limits.upper and not isfinite(joint.limits.upper)
    kind = "continuous" if joint.kind == "revolute" and unbounded else joint.kind
    element = add(robot, "joint", name=joint.name, type=kind)
    _write_origin(element, joint.first_H_joint)
    add(element, "parent", link=joint.first)
    add(element, "child", link=joint.second)
    if joint.motion_kind.has_axis:
        pitch = format_numbers(joint.pitch) if joint.pitch else None
        add(element, "axis", xyz=format_numbers(*joint.axis), pitch=pitch)
    if limits := _limits(joint, kind):
        add(element, "limit", **limits)
    if joint.damping or joint.friction or joint.armature:
        values = {"damping": joint.damping, "friction": joint.friction, "armature": joint.armature}
        nonzero = {name: format_numbers(value) for name, value in values.items() if value}
        add(element, "dynamics", **{"damping": "0", **nonzero})
    if joint.mimic:
        mimic = joint.mimic
        coefficients = {
            "multiplier": format_numbers(mimic.multiplier),
            "offset": format_numbers(mimic.offset),
        }
        add(element, "mimic", joint=mimic.joint, **coefficients)


def _write_mount(robot: Element, frame: Frame, name: str) -> None:
    element = add(robot, "joint", name=name, type="fixed")
    _write_origin(element, frame.link_H_frame)
    add(element, "parent", link=frame.link)
    add(element, "child", link=frame.name)
