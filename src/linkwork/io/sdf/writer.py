"""Writer of SDF 1.9 files.

Poses      of links are those while all joints are at zero, relative to the base; joints are placed
           on their child links
World      a massless base with the name `world` is the world of SDF
Loops      are written if they are closed while all joints are at zero
Mimic      linear couplings of two joints are written as `<mimic>`
Names      joints with the name of a link or a frame are renamed
Not in SDF   armature, named configurations, actuators; planar and floating joints
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import copysign, inf, isfinite, pi
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import Finding, listed, model_error
from linkwork.io.formats import Conversion
from linkwork.io.sdf.elements import SEPARATOR, is_reserved
from linkwork.io.sdf.parts import KIND_OF, UNLIMITED
from linkwork.io.sdf.reader import read_sdf
from linkwork.io.urdf.elements import MOMENTS
from linkwork.io.writing import (
    WORLD,
    add,
    away_from_world,
    configuration_findings,
    document_text,
    expressible,
    finish,
    format_numbers,
    is_world,
    listed_findings,
    parent_H_child,
    poses_at_zero,
    read_back,
    reject,
    rejected_constraints,
    size_texts,
    top_element,
    unique_name,
)
from linkwork.model.describe import differences
from linkwork.model.geometry import Mesh, Shape
from linkwork.model.inertia import NO_INERTIA, Inertia
from linkwork.model.joints.kind import axes_across
from linkwork.model.joints.motion import motion_pose, normalized
from linkwork.model.model import Model
from linkwork.model.parts import Joint, Limits, Link
from linkwork.model.pose import IDENTITY, Pose, as_pose, inverted

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

VERSION = "1.9"
TYPES = {kind: name for name, kind in reversed(KIND_OF.items())}  # the first name of each kind
READ_BACK = 1e-8  # poses are computed, so they are read with rounding
CLOSED = 1e-9  # frames of a joint that closes a loop differ by less than this at zero [m], [rad]


def dump_sdf(model: Model, path: str | PathLike[str] | None = None) -> str:
    """Write a robot as SDF 1.9.

    Args:
        model: the robot. Frames become frames of the SDF model.
        path: the file to write; None to only return its content.

    Returns:
        The content of the file.

    Raises:
        ModelError: SDF cannot express the robot: it has planar or floating joints, constraints that
            are no joints, or loops that are open while all joints are at zero.

    Warns:
        LinkworkWarning: the robot has properties that SDF expresses differently or not at all.
    """
    text, findings = sdf_text(model)
    return finish(Conversion(text, tuple(findings)), path)


def convert_sdf(model: Model) -> Conversion:
    """Convert a robot to SDF, and check that it reads back as the same robot.

    Raises:
        ModelError: SDF cannot express the robot.
    """
    text, findings = sdf_text(model)
    written = read_back(read_sdf, text)
    changes = differences(in_sdf_form(model, written), written, READ_BACK)
    if changes:
        raise model_error(f"the SDF does not read back as the same robot: {changes[0]}")
    return Conversion(text, tuple(findings), "reads back as the same robot")


def sdf_text(model: Model) -> tuple[str, list[Finding]]:
    """Return the content of an SDF file, and warnings about what it does not contain."""
    model, findings = in_sdf_terms(model)
    poses = poses_at_zero(model)
    _reject_inexpressible(model, poses)
    findings += _left_out(model)
    top = top_element("sdf", version=VERSION)
    element = add(top, "model", name=model.name)
    for link in model.links:
        if not is_world(model, link.name):
            _write_link(element, link, poses[link.name])
    for joint in model.joints:
        _write_joint(element, away_from_world(joint))
    for frame in model.frames:
        part = add(element, "frame", name=frame.name, attached_to=frame.link)
        _write_pose(part, frame.link_H_frame)
    return document_text(top), findings


def in_sdf_terms(model: Model) -> tuple[Model, list[Finding]]:
    """Return the robot without properties that SDF does not have, and warnings about them."""
    model, findings = expressible(model)
    findings += configuration_findings(model, "SDF")
    model, of_world = _without_parts_of_world(model)
    findings += of_world
    frames = {*model.link_names, *(frame.name for frame in model.frames)}
    used = {*frames, *model.joint_names}
    names = {
        name: unique_name(f"{name}_joint", used) for name in model.joint_names if name in frames
    }
    if names:
        text = "joints are renamed, because names of links, joints and frames differ in SDF"
        pairs = listed([f"{old} to {new}" for old, new in names.items()])
        findings.append(Finding("warning", "", f"{text}: {pairs}"))
        model = model.renamed(joints=names)
    joints = tuple(_joint_in_sdf_terms(joint) for joint in model.joints)
    changed = [(a, b) for a, b in zip(model.joints, joints, strict=True) if a != b]
    damped = [a.name for a, b in changed if (a.damping, a.friction) != (b.damping, b.friction)]
    unlimited = [a.name for a, b in changed if a.limits != b.limits]
    texts = {
        "left out: armature of joints": [joint.name for joint in model.joints if joint.armature],
        "left out: damping and friction of fixed joints": damped,
        f"left out: limits of fixed joints, and limits of {UNLIMITED:g} or more": unlimited,
    }
    findings += listed_findings(texts)
    return replace(model, joints=joints, configurations=()), findings


def in_sdf_form(model: Model, written: Model) -> Model:
    """Return the robot as SDF can express it.

    Args:
        model: the robot.
        written: the same robot read from SDF. Where a joint of both robots has the same motion, the
            result has its mounts, because the frame of a universal joint is not unique.
    """
    model, _ = in_sdf_terms(model)
    others = {joint.name: joint for joint in written.joints}
    joints: list[Joint] = []
    for joint in model.joints:
        other = others.get(joint.name)
        if other is not None and _has_same_motion(joint, other):
            names = ("first", "second", "axis", "first_H_joint", "joint_H_second")
            joint = replace(joint, **{name: getattr(other, name) for name in names})  # noqa: PLW2901
        joints.append(joint)
    return replace(model, joints=tuple(joints))


def _has_same_motion(joint: Joint, other: Joint) -> bool:
    """Return whether two joints move the same links equally, in a sample of positions."""
    ends = {joint.first, joint.second}
    if joint.kind != other.kind or ends != {other.first, other.second}:
        return False
    random = np.random.default_rng(0)
    for _ in range(3):
        theta = normalized(joint, random.uniform(-1, 1, joint.motion_kind.nq))
        poses = [
            one.first_H_joint.matrix() @ motion_pose(one, theta) @ one.joint_H_second.matrix()
            for one in (joint, other)
        ]
        if joint.first != other.first:
            poses[1] = np.linalg.inv(poses[1])
        if np.abs(poses[0] - poses[1]).max() > READ_BACK * (1 + np.abs(poses[0]).max()):
            return False
    return True


def _without_parts_of_world(model: Model) -> tuple[Model, list[Finding]]:
    """Return the robot without shapes and frames of the world, which SDF models do not contain."""
    if not any(is_world(model, name) for name in model.link_names):
        return model, []
    world = model.link(WORLD)
    used = {name for one in model.constraints for name in one.frames}  # they are rejected later
    frames = [one.name for one in model.frames if one.link == WORLD and one.name not in used]
    shapes = [s.name or "without a name" for s in (*world.visuals, *world.collisions)]
    bare = replace(world, visuals=(), collisions=())
    model = replace(
        model,
        links=tuple(bare if link is world else link for link in model.links),
        frames=tuple(frame for frame in model.frames if frame.name not in frames),
    )
    texts = {"left out: shapes of the world": shapes, "left out: frames of the world": frames}
    return model, listed_findings(texts)


def _joint_in_sdf_terms(joint: Joint) -> Joint:
    """Return a joint without armature; without damping, friction and limits if it is fixed."""
    if joint.is_fixed:
        joint = replace(joint, damping=0.0, friction=0.0)
    limits = Limits() if joint.is_fixed else joint.limits
    bounds = (limits.lower, limits.upper, limits.velocity, limits.effort)
    lower, upper, velocity, effort = (
        copysign(inf, bound) if abs(bound) >= UNLIMITED else bound for bound in bounds
    )
    limits = Limits(lower=lower, upper=upper, velocity=velocity, effort=effort)
    return replace(joint, armature=0.0, limits=limits)


def _reject_inexpressible(model: Model, poses: dict[str, Array]) -> None:
    findings = rejected_constraints(model, "SDF")
    for joint in model.joints:
        text = ""
        apart = poses[joint.first] @ parent_H_child(joint, joint.second) - poses[joint.second]
        if joint.kind not in TYPES:
            text = f"SDF has no joints of kind {joint.kind!r}"
        elif np.abs(apart).max() > CLOSED:
            text = "in SDF, loops are closed while all joints are at zero, but this one is open"
        elif joint.second == WORLD and joint.kind in ("spherical", "universal"):
            text = "SDF does not allow 'world' as the child of a joint"
        if text:
            findings.append(Finding("error", f"joint {joint.name!r}", text, joint.location))
    parts = [("model", model.name)] if not _is_valid(model.name) else []
    parts += [("link", name) for name in model.link_names if not is_world(model, name)]
    parts += [("joint", name) for name in model.joint_names]
    parts += [("frame", frame.name) for frame in model.frames]
    seen: set[str] = set()
    for kind, name in parts:
        if name in seen or not _is_valid(name):
            text = "the name is reserved in SDF, or another part has it; rename it"
            findings.append(Finding("error", f"{kind} {name!r}", text))
        seen.add(name)
    reject(findings)


def _is_valid(name: str) -> bool:
    """Return whether a part of an SDF file may have a name."""
    return not is_reserved(name) and SEPARATOR not in name and name == name.strip()


def _left_out(model: Model) -> list[Finding]:
    """Return warnings about textures and massless links, and notes about names and materials."""

    def links(chosen: Callable[[Link], bool]) -> list[str]:
        return [link.name for link in model.links if chosen(link)]

    def renames_shapes(link: Link) -> bool:
        several = [[shape.name for shape in shapes] for shapes in (link.visuals, link.collisions)]
        return any("" in names or len(set(names)) < len(names) for names in several)

    materials = {
        link.name: [s.material for s in link.visuals if s.material] for link in model.links
    }
    warnings = {
        "left out: textures of links": links(lambda x: any(m.texture for m in materials[x.name])),
        "links without mass, which simulators may reject": links(
            lambda x: x.inertia == NO_INERTIA and not is_world(model, x.name)
        ),
    }
    notes = {
        "left out: names of materials, on links": links(
            lambda x: any(m.name for m in materials[x.name])
        ),
        "left out: materials of collision shapes, on links": links(
            lambda x: any(shape.material for shape in x.collisions)
        ),
        "shapes without a name, or with one that is not unique, get new names, on links": links(
            renames_shapes
        ),
    }
    later = [replace(finding, severity="note") for finding in listed_findings(notes)]
    return [*listed_findings(warnings), *later]


def _value(parent: Element, tag: str, *numbers: float) -> Element:
    element = add(parent, tag)
    element.text = format_numbers(*numbers)
    return element


def _write_pose(parent: Element, pose: Pose) -> None:
    if pose != IDENTITY:
        _value(parent, "pose", *pose.xyz, *pose.rpy)


def _write_link(model: Element, link: Link, base_H_link: Array) -> None:
    element = add(model, "link", name=link.name)
    _write_pose(element, as_pose(base_H_link))
    _write_inertial(element, link.inertia)
    for tag, shapes in (("visual", link.visuals), ("collision", link.collisions)):
        used = {shape.name for shape in shapes}
        for index, shape in enumerate(shapes):
            name = shape.name
            if not name or [one.name for one in shapes[:index]].count(name):
                name = unique_name(f"{tag}_{index}", used)
            _write_shape(element, tag, name, shape)


def _write_inertial(link: Element, inertia: Inertia) -> None:
    element = add(link, "inertial")
    _write_pose(element, Pose(inertia.com))
    _value(element, "mass", inertia.mass)
    tensor = add(element, "inertia")
    for name, value in zip(MOMENTS, inertia.tensor, strict=True):
        _value(tensor, name, value)


def _write_shape(link: Element, tag: str, name: str, shape: Shape) -> None:
    element = add(link, tag, name=name)
    _write_pose(element, shape.link_H_shape)
    geometry = add(element, "geometry")
    sizes = add(geometry, shape.geometry.kind)
    if isinstance(shape.geometry, Mesh):
        _write_mesh(sizes, shape.geometry)
    else:
        for size, text in size_texts(shape.geometry, "SDF").items():
            add(sizes, size).text = text
    if tag == "visual" and shape.material and shape.material.rgba:
        _value(add(element, "material"), "diffuse", *shape.material.rgba)


def _write_mesh(element: Element, mesh: Mesh) -> None:
    add(element, "uri").text = mesh.filename
    if mesh.scale != (1.0, 1.0, 1.0):
        _value(element, "scale", *mesh.scale)


def _write_joint(model: Element, joint: Joint) -> None:
    element = add(model, "joint", name=joint.name, type=TYPES[joint.kind])
    _write_pose(element, inverted(joint.joint_H_second))
    add(element, "parent").text = joint.first
    add(element, "child").text = joint.second
    if joint.kind == "helical":
        _value(element, "screw_thread_pitch", joint.pitch * 2 * pi)
    if joint.motion_kind.has_axis or joint.damping or joint.friction:
        _write_axis(element, "axis", joint)
    if joint.kind == "universal":
        second, _ = axes_across(joint.axis)
        x, y, z = (float(number) for number in second)  # pyright: ignore[reportArgumentType]
        _write_axis(element, "axis2", replace(joint, axis=(x, y, z)))


def _write_axis(joint_element: Element, tag: str, joint: Joint) -> None:
    axis = add(joint_element, tag)
    _value(axis, "xyz", *joint.axis)
    limits = joint.limits
    if joint.motion_kind.nv == 1:
        limit = add(axis, "limit")
        _value(limit, "lower", max(limits.lower, -UNLIMITED))
        _value(limit, "upper", min(limits.upper, UNLIMITED))
        for name in ("effort", "velocity"):
            if isfinite(getattr(limits, name)):
                _value(limit, name, getattr(limits, name))
    if joint.damping or joint.friction:
        dynamics = add(axis, "dynamics")
        _value(dynamics, "damping", joint.damping)
        _value(dynamics, "friction", joint.friction)
    if joint.mimic:
        mimic = add(axis, "mimic", joint=joint.mimic.joint)
        _value(mimic, "multiplier", joint.mimic.multiplier)
        _value(mimic, "offset", joint.mimic.offset)
        _value(mimic, "reference", 0.0)
