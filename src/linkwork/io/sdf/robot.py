"""A robot from the parts of an SDF model: the world, free groups of links, gearboxes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ModelError, listed
from linkwork.io.sdf.frames import WORLD
from linkwork.io.sdf.joints import PARALLEL, Gearbox
from linkwork.io.sdf.model import ModelParts
from linkwork.model.check import doubtful_parts
from linkwork.model.configurations import initial_poses
from linkwork.model.constraints import Constraint
from linkwork.model.graph import connected_pieces, part_findings
from linkwork.model.model import Model
from linkwork.model.parts import Joint, Link
from linkwork.model.pose import IDENTITY, Pose, as_pose
from linkwork.spatial.source import quat, se3


@dataclass(frozen=True, slots=True)
class PlacedModel:
    """A robot, the pose of its default base in the world, and whether it is fixed to the world."""

    model: Model
    world_H_base: Pose  # while all joints are at zero
    is_static: bool


def assemble_robot(parts: ModelParts, world_H_model: Array, *, mimic: bool) -> PlacedModel | None:
    """Return the robot of a model; None after an error.

    Args:
        parts: the parts of the model.
        world_H_model: its pose in the world, for the joints with the world.
        mimic: whether gearboxes couple joints.
    """
    report = parts.part.report
    if not parts.links:
        if not report.n_errors:
            parts.part.error("the model has no links")
        return None
    poses = {link: world_H_model @ pose for link, pose in parts.frames.link_poses.items()}
    joints = [_in_world(joint, poses) for joint in _kept_joints(parts)]
    report.extend(
        part_findings(_with_world(parts, joints), joints, parts.extra_frames, parts.unread)
    )
    couplings = tuple(_couplings(parts, joints, poses)) if mimic else ()
    if report.n_errors:
        report.extend(doubtful_parts(parts.links, joints))
        return None
    joints += _fixed_joints(parts, joints, poses)
    free = _free_joints(parts, joints)
    joints += free
    try:
        model = Model(
            name=parts.name,
            links=_with_world(parts, joints),
            joints=tuple(joints),
            frames=tuple(parts.extra_frames),
            constraints=couplings,
            configurations=initial_poses({j.name: _coordinates(poses[j.second]) for j in free}),
        )
    except ModelError as error:
        report.extend(error.findings)
        return None
    base = model.default_base
    world_H_base = IDENTITY if base == WORLD else as_pose(poses[base])
    return PlacedModel(model, world_H_base, parts.is_static)


def _with_world(parts: ModelParts, joints: Sequence[Joint]) -> tuple[Link, ...]:
    """Return the links, after the link `world` if a joint is attached to it."""
    world = Link(name=WORLD, location=parts.part.location)
    uses_world = any(joint.first == WORLD for joint in joints)
    return (world, *parts.links) if uses_world else tuple(parts.links)


def _kept_joints(parts: ModelParts) -> list[Joint]:
    """Return the joints that are not between links that are fixed to the world."""
    fixed = {WORLD, *parts.static}
    moving = [j for j in parts.joints if not parts.static or not {j.first, j.second} <= fixed]
    if len(moving) < len(parts.joints):
        names = [joint.name for joint in parts.joints if {joint.first, joint.second} <= fixed]
        text = f"the model is static; its joints are left out: {listed(names)}"
        parts.part.note(text, "left out")
    return moving


def _in_world(joint: Joint, world_H_link: Mapping[str, Array]) -> Joint:
    """Return the joint; a mount in the world was relative to the child link until now."""
    if joint.first != WORLD or joint.second not in world_H_link:
        return joint
    pose = world_H_link[joint.second] @ joint.first_H_joint.matrix()
    return replace(joint, first_H_joint=as_pose(pose))


def _fixed_joints(
    parts: ModelParts, joints: Sequence[Joint], world_H_link: Mapping[str, Array]
) -> list[Joint]:
    """Return the joints that fix the links of static models to the world."""
    return [
        Joint(
            name=name,
            kind="fixed",
            first=WORLD,
            second=link,
            first_H_joint=as_pose(world_H_link[link]),
            location=parts.part.location,
        )
        for link, name in _new_names(parts.static, joints, "fixed")
    ]


def _free_joints(parts: ModelParts, joints: Sequence[Joint]) -> list[Joint]:
    """Return floating joints between the world and groups of links that are not connected to it.

    A robot that is a single group without a joint to the world needs none: it has a floating base.
    The poses in the file are the configuration `initial`.
    """
    groups = connected_pieces([link.name for link in _with_world(parts, joints)], joints)
    if len(groups) == 1:
        return []
    seconds = {joint.second for joint in joints}
    order = {link.name: index for index, link in enumerate(parts.links)}
    free = [
        min({*group} - seconds or {group[0]}, key=order.__getitem__)
        for group in groups
        if WORLD not in group
    ]
    parts.part.note(f"links without a joint to the world move freely: {listed(free)}")
    return [
        Joint(name=name, kind="floating", first=WORLD, second=link, location=parts.part.location)
        for link, name in _new_names(free, joints, "free")
    ]


def _coordinates(world_H_link: Array) -> tuple[float, ...]:
    """Return the coordinates of a floating joint."""
    wxyz = quat.from_rotation(se3.rotation_of(world_H_link))
    return (*se3.position_of(world_H_link).tolist(), *wxyz.tolist())


def _new_names(
    links: Iterable[str], joints: Sequence[Joint], suffix: str
) -> Iterator[tuple[str, str]]:
    """Yield links with unique names for new joints, such as `arm_fixed`."""
    used = {joint.name for joint in joints}
    for link in links:
        name = f"{link}_{suffix}"
        while name in used:
            name += "_"
        used.add(name)
        yield link, name


def _couplings(
    parts: ModelParts, joints: Sequence[Joint], world_H_link: Mapping[str, Array]
) -> Iterator[Constraint]:
    """Yield gearboxes as couplings of two revolute joints."""
    for gearbox in parts.gearboxes:
        if gearbox.child not in world_H_link:
            continue  # another model has the same name, which is reported
        world_R_child = se3.rotation_of(world_H_link[gearbox.child])
        turning: list[tuple[str, float]] = []
        for link, axis in (
            (gearbox.parent, gearbox.parent_axis),
            (gearbox.child, gearbox.child_axis),
        ):
            joint = _gear_joint(gearbox, link, world_R_child @ np.array(axis), joints, world_H_link)
            if joint is None:
                break
            turning.append(joint)
        else:
            (parent, parent_sign), (child, child_sign) = turning
            ratio = -gearbox.ratio * parent_sign * child_sign
            yield Constraint(
                name=gearbox.name,
                kind="coupling",
                first=child,
                second=parent,
                coefficients=(0.0, ratio),
                location=gearbox.part.location,
            )


def _gear_joint(
    gearbox: Gearbox,
    link: str,
    axis: Array,
    joints: Sequence[Joint],
    world_H_link: Mapping[str, Array],
) -> tuple[str, float] | None:
    """Return the revolute joint of a link and the reference of a gearbox, and its sign."""
    ends, reachable = {gearbox.reference, link}, {WORLD, *world_H_link}
    for joint in joints:
        if joint.kind == "revolute" and {joint.first, joint.second} == ends <= reachable:
            joint_R_second = se3.rotation_of(joint.joint_H_second.matrix())
            world_R_second = se3.rotation_of(world_H_link[joint.second])
            direction = world_R_second @ joint_R_second.T @ np.array(joint.axis)
            sign = 1.0 if joint.second == link else -1.0
            if np.linalg.norm(np.cross(direction, axis)) <= PARALLEL:
                return joint.name, sign * float(np.sign(direction @ axis))
    text = f"no revolute joint about its axis connects {gearbox.reference!r} and {link!r}"
    gearbox.part.error(f"a gearbox couples two revolute joints, but {text}")
    return None
