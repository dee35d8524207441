"""Robots with some of their joints only, as iDynTree makes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce as fold

from numpy.typing import ArrayLike

from linkwork.compat.idyntree.order import Visit, walk
from linkwork.errors import ArgumentError, shown
from linkwork.model.geometry import Shape
from linkwork.model.inertia import Inertia, combined, moved
from linkwork.model.model import Model
from linkwork.model.parts import Frame, Joint, Link
from linkwork.model.pose import IDENTITY, Pose, composed, inverted
from linkwork.model.reduce import reduced


@dataclass(frozen=True)
class _Member:
    """A link that became part of another one, the head of its group."""

    head: str
    pose: Pose  # of the link in the head


def reduced_model(
    robot: Model, base: str, joints: Sequence[str], positions: Mapping[str, ArrayLike]
) -> Model:
    """Keep some joints; links that the others held together become one.

    Args:
        robot: the robot.
        base: where the walk that numbers the links starts.
        joints: those that stay, in their new order; fixed ones too.
        positions: where the others are locked; at 0 if not given. Positions of joints that stay,
            of fixed ones and of unknown ones are passed over.

    Returns:
        the robot. Of the links that became one, the one nearest to the base gives its name and
        frame, and the others are frames on it.
    """
    if isinstance(joints, str):
        raise ArgumentError(f"consideredJoints: expected a list of names, got {shown(joints)}")
    kept = list(joints)
    free = [name for name in kept if robot.joint(name).nq]
    locks = {
        joint.name: positions[joint.name]
        for joint in robot.joints
        if joint.nq and joint.name in positions and joint.name not in free
    }
    locked = reduced(robot, free, locks)
    visits = walk(robot, base)  # of the robot, as locking has put the joints in another order
    members = _members(locked, visits, set(kept))
    heads = [name for name, member in members.items() if member.head == name]
    return Model(
        name=robot.name,
        links=tuple(_lumped(locked, head, members) for head in heads),
        joints=tuple(_remounted(locked.joint(name), members) for name in kept),
        frames=tuple(frame for head in heads for frame in _frames_on(locked, head, members)),
    )


def _members(locked: Model, visits: Iterable[Visit], kept: set[str]) -> dict[str, _Member]:
    """The group of each link and its pose there, in the order of a walk."""
    members: dict[str, _Member] = {}
    for link, parent, reached_by in visits:
        if parent is None or reached_by is None or reached_by.name in kept:
            members[link] = _Member(link, IDENTITY)
        else:
            joint = locked.joint(reached_by.name)
            mount = composed(joint.first_H_joint, joint.joint_H_second)
            parent_H_link = mount if joint.second == link else inverted(mount)
            above = members[parent]
            members[link] = _Member(above.head, composed(above.pose, parent_H_link))
    return members


def _lumped(robot: Model, head: str, members: Mapping[str, _Member]) -> Link:
    """One link with the inertias and shapes of a group."""
    group = [(robot.link(n), member.pose) for n, member in members.items() if member.head == head]
    return replace(
        group[0][0],
        inertia=fold(combined, (_in_head(link, pose) for link, pose in group)),
        visuals=_shapes((link.visuals, pose) for link, pose in group),
        collisions=_shapes((link.collisions, pose) for link, pose in group),
    )


def _in_head(link: Link, head_H_link: Pose) -> Inertia:
    return link.inertia if head_H_link == IDENTITY else moved(link.inertia, head_H_link)


def _shapes(each: Iterable[tuple[Sequence[Shape], Pose]]) -> tuple[Shape, ...]:
    return tuple(
        replace(shape, link_H_shape=composed(pose, shape.link_H_shape))
        for shapes, pose in each
        for shape in shapes
    )


def _frames_on(robot: Model, head: str, members: Mapping[str, _Member]) -> Iterable[Frame]:
    """The links of a group but its head as frames, each followed by the frames it had."""
    for name, member in members.items():
        if member.head != head:
            continue
        if name != head:
            yield Frame(name=name, link=head, link_H_frame=member.pose)
        for frame in robot.frames:
            if frame.link == name:
                pose = composed(member.pose, frame.link_H_frame)
                yield replace(frame, link=head, link_H_frame=pose)


def _remounted(joint: Joint, members: Mapping[str, _Member]) -> Joint:
    first, second = members[joint.first], members[joint.second]
    return replace(
        joint,
        first=first.head,
        second=second.head,
        first_H_joint=composed(first.pose, joint.first_H_joint),
        joint_H_second=composed(joint.joint_H_second, inverted(second.pose)),
    )
