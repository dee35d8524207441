"""Robots with some of their joints only, as iDynTree makes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from numpy.typing import ArrayLike

from linkwork.compat.idyntree.order import Visit, walk
from linkwork.errors import ArgumentError, shown
from linkwork.model.model import Model
from linkwork.model.parts import Frame
from linkwork.model.pose import IDENTITY, Pose, composed, inverted
from linkwork.model.reduce import lumped_link, reduced, remounted


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
    heads, poses = _groups(locked, visits, set(kept))
    groups = {head: [name for name in heads if heads[name] == head] for head in heads.values()}
    return Model(
        name=robot.name,
        links=tuple(lumped_link(locked, members, poses) for members in groups.values()),
        joints=tuple(remounted(locked.joint(name), heads, poses) for name in kept),
        frames=tuple(
            frame for members in groups.values() for frame in _frames_on(locked, members, poses)
        ),
    )


def _groups(
    locked: Model, visits: Iterable[Visit], kept: set[str]
) -> tuple[dict[str, str], dict[str, Pose]]:
    """For each link the one that stands for its group, and its pose there, in a walk's order."""
    heads: dict[str, str] = {}
    poses: dict[str, Pose] = {}
    for link, parent, reached_by in visits:
        if parent is None or reached_by is None or reached_by.name in kept:
            heads[link], poses[link] = link, IDENTITY
            continue
        joint = locked.joint(reached_by.name)
        mount = composed(joint.first_H_joint, joint.joint_H_second)
        parent_H_link = mount if joint.second == link else inverted(mount)
        heads[link], poses[link] = heads[parent], composed(poses[parent], parent_H_link)
    return heads, poses


def _frames_on(robot: Model, members: Sequence[str], poses: Mapping[str, Pose]) -> Iterator[Frame]:
    """The links of a group but its first as frames, each followed by the frames it had."""
    head = members[0]
    for name in members:
        if name != head:
            yield Frame(name=name, link=head, link_H_frame=poses[name])
        for frame in robot.frames:
            if frame.link == name:
                pose = composed(poses[name], frame.link_H_frame)
                yield replace(frame, link=head, link_H_frame=pose)
