"""Simpler copies of models: joints locked, links lumped, another root. `Model` documents them.

They keep the total mass, the center of mass, and the motion of the remaining joints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce as fold

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, LinkworkError, ShapeError, model_error, name_not_found
from linkwork.model.geometry import Shape
from linkwork.model.graph import Graph, M, closing_joints, walk
from linkwork.model.inertia import combined, moved
from linkwork.model.joints.motion import motion_pose, normalized, position
from linkwork.model.parts import (
    Constraint,
    Follower,
    Frame,
    Joint,
    Link,
    on_joints,
    resolved_followers,
)
from linkwork.model.pose import IDENTITY, Pose, as_floats, as_pose, composed, inverted
from linkwork.spatial.source import se3


def reduced(model: M, joints: Iterable[str], positions: Mapping[str, ArrayLike] | None = None) -> M:
    """Implement `Model.reduced`."""
    if isinstance(joints, str):
        raise ArgumentError(f"joints: expected a list of names, got the text {joints!r}")
    names, positions = list(joints), dict(positions or {})
    _check_kept(model, names, positions)
    kept = set(names)
    followers = resolved_followers(model.joints)
    kept |= {name for name, follower in followers.items() if follower.leader in kept}
    listed = set(names)
    others = [
        joint
        if joint.name in kept or joint.is_fixed
        else _locked(joint, _lock_position(joint, positions, followers.get(joint.name)))
        for joint in model.joints
        if joint.name not in listed
    ]
    kept_joints = (*(model.joint(name) for name in names), *others)
    configurations = tuple(one.with_joints(kept_joints) for one in model.configurations)
    return replace(
        model,
        joints=kept_joints,
        configurations=configurations,
        actuators=on_joints(model.actuators, kept_joints),
    )


def lumped(model: M) -> M:
    """Implement `Model.lumped`."""
    closing = closing_joints(model)
    matrices, leader = _rigid_groups(model)
    pose_in_body = {link: as_pose(matrix) for link, matrix in matrices.items()}
    pose_in_body |= {
        frame.name: composed(pose_in_body[frame.link], frame.link_H_frame) for frame in model.frames
    }
    members: dict[str, list[str]] = {}
    for link, first in leader.items():
        members.setdefault(first, []).append(link)
    return replace(
        model,
        links=tuple(
            lumped_link(model, members[name], pose_in_body)
            for name in model.link_names
            if name in members
        ),
        joints=tuple(
            remounted(joint, leader, pose_in_body)
            for joint in model.joints
            if not joint.is_fixed or joint in closing
        ),
        frames=tuple(
            Frame(name=name, link=leader[model.frame(name).link], link_H_frame=pose_in_body[name])
            for name in model.frame_names
            if name not in members
        ),
        configurations=tuple(
            one.on_link(leader[one.link], inverted(pose_in_body[one.link])) if one.link else one
            for one in model.configurations
        ),
    )


def _rigid_groups(model: Graph) -> tuple[dict[str, Array], dict[str, str]]:
    """Return body_H_link of each link, and the link nearest to the base of its rigid group."""
    poses: dict[str, Array] = {}
    leader: dict[str, str] = {}
    for link, parent, joint in walk(model, model.default_base):
        poses[link], leader[link] = np.eye(4), link
        if joint and parent and joint.is_fixed:
            mounts = (joint.first_H_joint.matrix(), joint.joint_H_second.matrix())
            if joint.first == link:
                mounts = (se3.inverse(mounts[1]), se3.inverse(mounts[0]))
            poses[link] = poses[parent] @ mounts[0] @ mounts[1]
            leader[link] = leader[parent]
    return poses, leader


def rerooted(model: M, base: str | None = None) -> M:
    """Implement `Model.rerooted`."""
    base = model.default_base if base is None else base
    holders = {visit.link: visit.joint for visit in walk(model, base) if visit.joint}
    # old_H_new of every link: where its frame has to go
    moves = {base: IDENTITY} | {
        link: inverted(joint.joint_H_second) if joint.second == link else joint.first_H_joint
        for link, joint in holders.items()
    }
    back = {link: inverted(pose) for link, pose in moves.items()}
    outer = {joint.name: link for link, joint in holders.items()}
    return replace(
        model,
        links=tuple(_moved_link(link, back[link.name]) for link in model.links),
        joints=tuple(_pointed(joint, outer.get(joint.name), back) for joint in model.joints),
        frames=tuple(
            replace(frame, link_H_frame=composed(back[frame.link], frame.link_H_frame))
            for frame in model.frames
        ),
        constraints=tuple(_moved_constraint(one, back) for one in model.constraints),
        configurations=tuple(
            one.on_link(one.link, moves[one.link]) if one.link else one
            for one in model.configurations
        ),
    )


def _moved_constraint(constraint: Constraint, back: Mapping[str, Pose]) -> Constraint:
    """Return a constraint whose anchors stay where they are while frames of links move."""
    if constraint.kind == "coupling":
        return constraint
    ends = (constraint.first, constraint.second)
    first, second = (back.get(name or "", IDENTITY) for name in ends)
    return replace(
        constraint,
        first_H_anchor=composed(first, constraint.first_H_anchor),
        second_H_anchor=composed(second, constraint.second_H_anchor),
    )


def _check_kept(model: Graph, names: Sequence[str], positions: Mapping[str, ArrayLike]) -> None:
    moving = {joint.name for joint in model.joints if joint.nq}
    for name in (*names, *positions):
        if name not in moving:
            raise _not_movable(model, name, moving)
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise model_error("named twice", f"joint {name!r}")
        if name in positions:
            raise model_error("cannot both move and be locked at a position", f"joint {name!r}")
        seen.add(name)


def _not_movable(model: Graph, name: str, moving: set[str]) -> LinkworkError:
    if name not in model.joint_names:
        return name_not_found("moving joint", name, moving)
    mimic = model.joint(name).mimic
    why = f"mimics {mimic.joint!r} and follows it by itself" if mimic else "is fixed"
    return model_error(why, f"joint {name!r}")


def _lock_position(
    joint: Joint, positions: Mapping[str, ArrayLike], follower: Follower | None
) -> Array:
    leader = follower.leader if follower else joint.name
    theta_given = as_floats(
        positions.get(leader, joint.motion_kind.neutral), f"joint {leader!r}: position"
    )
    theta = position(joint, theta_given.reshape(1) if theta_given.ndim == 0 else theta_given)
    if theta.ndim > 1:
        expected = f"({joint.motion_kind.nq},)"
        raise ShapeError(f"joint {leader!r}: position: expected {expected}, got {theta.shape}")
    if not np.isfinite(theta).all():
        raise model_error(f"position {theta.tolist()} is not finite", f"joint {leader!r}")
    if follower:
        return follower.multiplier * theta + follower.offset
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled = normalized(joint, theta)
    if not np.isfinite(scaled).all():
        text = f"position {theta.tolist()} has length 0, so it is no rotation"
        raise model_error(text, f"joint {leader!r}")
    return scaled


def _locked(joint: Joint, theta: Array) -> Joint:
    """Return a fixed joint with the pose that the joint has at `theta`."""
    return Joint(
        name=joint.name,
        kind="fixed",
        first=joint.first,
        second=joint.second,
        first_H_joint=composed(joint.first_H_joint, as_pose(motion_pose(joint, theta))),
        joint_H_second=joint.joint_H_second,
        location=joint.location,
    )


def lumped_link(model: Graph, members: Sequence[str], pose_in_body: Mapping[str, Pose]) -> Link:
    """Return one link with the inertia and shapes of all members, in the first frame."""
    if len(members) == 1:
        return model.link(members[0])
    links = [_moved_link(model.link(name), pose_in_body[name]) for name in members]
    return replace(
        links[0],
        inertia=fold(combined, (link.inertia for link in links)),
        visuals=tuple(shape for link in links for shape in link.visuals),
        collisions=tuple(shape for link in links for shape in link.collisions),
    )


def remounted(joint: Joint, leader: Mapping[str, str], pose_in_body: Mapping[str, Pose]) -> Joint:
    """Return the joint on the links that represent the bodies of its links."""
    first, second = leader[joint.first], leader[joint.second]
    return replace(_on_moved_links(joint, pose_in_body), first=first, second=second)


def _on_moved_links(joint: Joint, new_H_old: Mapping[str, Pose]) -> Joint:
    """Return the joint at the same place while the frames of its links move."""
    return replace(
        joint,
        first_H_joint=composed(new_H_old[joint.first], joint.first_H_joint),
        joint_H_second=composed(joint.joint_H_second, inverted(new_H_old[joint.second])),
    )


def backwards(joint: Joint) -> Joint:
    """Return the joint from its second to its first link, with the same coordinates.

    M(theta) about the axis, backwards, is M(theta) about the opposite axis.
    """
    x, y, z = joint.axis
    return replace(
        joint,
        first=joint.second,
        second=joint.first,
        axis=(-x, -y, -z) if joint.motion_kind.nv else joint.axis,
        first_H_joint=inverted(joint.joint_H_second),
        joint_H_second=inverted(joint.first_H_joint),
    )


def _moved_link(link: Link, new_H_old: Pose) -> Link:
    """Return the link with everything on it expressed in another frame."""
    if new_H_old == IDENTITY:
        return link

    def shapes(old: Sequence[Shape]) -> tuple[Shape, ...]:
        return tuple(
            replace(shape, link_H_shape=composed(new_H_old, shape.link_H_shape)) for shape in old
        )

    return replace(
        link,
        inertia=moved(link.inertia, new_H_old),
        visuals=shapes(link.visuals),
        collisions=shapes(link.collisions),
    )


def _pointed(joint: Joint, outer: str | None, back: Mapping[str, Pose]) -> Joint:
    """Return the joint from its inner to its outer link, on whose new frame it sits.

    A joint without outer link closes a loop: it stays where it is on both links.
    """
    if outer is None:
        return _on_moved_links(joint, back)
    if joint.second != outer:
        if joint.motion_kind.nv and not joint.motion_kind.inverse_is_opposite:
            text = f"a {joint.kind} joint cannot be turned around with the same coordinates"
            raise model_error(text, f"joint {joint.name!r}", joint.location)
        joint = backwards(joint)
    mount = composed(back[joint.first], joint.first_H_joint)
    return replace(joint, first_H_joint=mount, joint_H_second=IDENTITY)
