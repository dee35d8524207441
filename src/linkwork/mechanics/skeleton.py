"""A tree as algorithms see it: constants of bodies whose frames are on the joints that hold them.

A body's frame is on its joint, so that `joint_H_body` is the identity. A tilted axis is rotated
onto z, and a joint whose inverse is the joint about the opposite axis is never read backwards. The
origin on the axis is chosen by `origins`. What is left for every joint is

    parent_H_body(theta) = mount @ M(theta)

with `mount` constant. A rotation of `mount` about the joint's own axis becomes an offset of the
angle, for kinds that take one.

Inertia that a joint cannot move relative to the parent is lumped into the parent: of a body that
rotates about z its mass, its first moment along z, and as much of its tensor as is diag(a, a, 0).
Every sum over the robot stays what it is, and the bodies have fewer numbers that are not 0.
(Gautier, Khalil 1990, use the same to find the base inertial parameters.)
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from dataclasses import dataclass, field

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.mechanics.inertia import RigidInertia
from linkwork.mechanics.origins import JointPlacement, best_origins
from linkwork.model.joints import Axis, JointKind, plane_basis
from linkwork.model.layout import Layout
from linkwork.model.parts import Joint
from linkwork.model.pose import ROUNDING_NOISE, snapped
from linkwork.model.tree import Tree
from linkwork.spatial.blocks import Mat, Sym, Vec
from linkwork.spatial.source import inertia, se3

DIAGONAL = (4, 7, 9)  # indices of Ixx, Iyy, Izz in the ten inertial parameters


@dataclass(frozen=True)
class Mount:
    """The joint that a body hangs by."""

    joint: Joint
    backwards: bool  # whether the body is on the joint's fixed side, moved by M^-1
    axis: Axis  # along a coordinate axis of the body's frame
    R: Mat  # of `mount`
    p: Vec  # of `mount`
    q_indices: tuple[int, ...]  # of the joint's position in q
    nu_indices: tuple[int, ...]  # of its velocity in nu
    multiplier: float  # of a dependent joint; 1.0 for others
    offset: float

    @property
    def kind(self) -> JointKind:
        """The kind of the joint."""
        return self.joint.motion_kind

    @property
    def axis_index(self) -> int:
        """0, 1, 2: the coordinate axis of the body's frame that the joint's axis is along."""
        return _largest(self.axis.direction)


@dataclass(frozen=True)
class Body:
    """One rigid body of the robot, with the inertia that is lumped into it."""

    parent: int  # -1 for the base
    mount: Mount | None  # None for the base
    inertia: RigidInertia  # about the body's origin, in its axes

    @property
    def nu_indices(self) -> tuple[int, ...]:
        """Indices in nu of the velocity of the body's joint."""
        return self.mount.nu_indices if self.mount else ()

    @property
    def is_backwards(self) -> bool:
        """Whether the body is on the fixed side of its joint."""
        return self.mount is not None and self.mount.backwards


@dataclass(frozen=True)
class Skeleton:
    """A tree as algorithms see it."""

    layout: Layout
    bodies: tuple[Body, ...]
    frames: tuple[tuple[int, Mat, Vec], ...]  # body, rotation and position of each frame in it
    # inertias of links that are not those of the model, by index: about the link's origin
    links: Mapping[int, RigidInertia] = field(default_factory=dict[int, RigidInertia])

    def link_inertia(self, link: int) -> RigidInertia:
        """Return the inertia of a link by itself, about its own origin."""
        parameters = self.layout.model.links[link].inertia.parameters()
        return self.links.get(link) or _rigid_inertia(parameters)


@dataclass(frozen=True)
class BodyFrames:
    """The new frames of the bodies."""

    old_H_joint: Array  # (bodies, 4, 4) on the joint, with its axis along a coordinate axis
    old_H_new: Array  # (bodies, 4, 4) the same with the origin moved along the axis
    mounts: Array  # (bodies, 4, 4) pose of the new frame in the parent's at angle 0
    directions: list[Vec]  # of the joint's axis in the new frame
    joint_H_new: Array  # (bodies, 4, 4) pose of the new frame on the joint as the model has it


def skeleton_of(
    tree: Tree,
    layout: Layout,
    *,
    inertias: Array | None = None,
    not_lumped: Container[int] = (),
) -> Skeleton:
    """Make the skeleton of a tree.

    Args:
        tree: the robot seen from its base.
        layout: of its coordinates.
        inertias: (bodies, 10) inertial parameters in place of those of the tree.
        not_lumped: bodies of which no inertia is lumped into the parent.
    """
    moved = body_frames(tree)
    body_inertias = tree.inertias if inertias is None else inertias
    mounts: list[Mount | None] = [None]
    for body, _, joint in tree.outward():
        backwards = tree.backwards[body] and not joint.motion_kind.inverse_is_opposite
        direction = moved.directions[body]
        mounts.append(_mount(layout, joint, moved.mounts[body], direction, backwards=backwards))
    new_H_old = se3.inverse(moved.old_H_new)
    at_joint = inertia.transform(se3.inverse(moved.old_H_joint), body_inertias)
    params = inertia.transform(new_H_old, body_inertias)
    regrouped = _regrouped(params, tree.parents, mounts, moved.mounts, not_lumped)
    noise = _rounding_noise(at_joint, params)
    counted = map(_rigid_inertia, np.where(np.abs(regrouped) <= noise, 0.0, regrouped))
    bodies = map(Body, tree.parents, mounts, counted)
    frames = [
        (body, *_frame(new_H_old[body] @ pose, moved.old_H_new[body, :3, 3], pose[:3, 3]))
        for body, pose in zip(tree.frame_bodies, tree.body_H_frame, strict=True)
    ]
    return Skeleton(layout, tuple(bodies), tuple(frames))


def body_frames(tree: Tree) -> BodyFrames:
    """Where to put the frames of the bodies of a tree."""
    aligned = [
        (np.eye(4), Vec(0.0, 0.0, 1.0)) if joint is None else _aligned(joint, backwards=backwards)
        for joint, backwards in zip(tree.joints, tree.backwards, strict=True)
    ]
    rotations, directions = np.array([R for R, _ in aligned]), [axis for _, axis in aligned]
    old_H_joint = se3.inverse(tree.joint_H_body) @ rotations
    mounts = se3.inverse(old_H_joint)[list(tree.parents)] @ tree.parent_H_joint @ rotations
    mounts[0] = np.eye(4)
    mounts[:, :3, :3] = snapped(mounts[:, :3, :3])
    placements = [
        JointPlacement(
            joint.motion_kind.rotation if joint else "free",
            _largest(direction),
            _mat(mount[:3, :3].T),
            _vec(mount[:3, 3]),
        )
        for joint, direction, mount in zip(tree.joints, directions, mounts, strict=True)
    ]
    origins, positions = best_origins(placements, tree.parents)
    mounts[:, :3, 3] = positions
    shifts = se3.pose(np.eye(3), origins)
    return BodyFrames(old_H_joint, old_H_joint @ shifts, mounts, directions, rotations @ shifts)


def _mount(layout: Layout, joint: Joint, mount: Array, direction: Vec, *, backwards: bool) -> Mount:
    R, angle = mount[:3, :3], 0.0
    if joint.motion_kind.takes_angle_offset:
        axis = _largest(direction)
        R, angle = _without_rotation_about(axis, R)
        angle *= direction[axis]
    follower = layout.followers.get(joint.name)
    leader = follower.leader if follower else joint.name
    return Mount(
        joint=joint,
        backwards=backwards,
        axis=Axis(direction, joint.pitch, angle),
        R=_mat(R),
        p=_vec(mount[:3, 3]),
        q_indices=tuple(range(layout.nq)[layout.q[leader]]),
        nu_indices=tuple(range(layout.nv)[layout.nu[leader]]),
        multiplier=follower.multiplier if follower else 1.0,
        offset=follower.offset if follower else 0.0,
    )


def _aligned(joint: Joint, *, backwards: bool) -> tuple[Array, Vec]:
    """(4, 4) rotation that puts the joint's axis on a coordinate axis, and the axis after it."""
    R = np.eye(4)
    if not joint.motion_kind.has_axis:
        return R, Vec(0.0, 0.0, 1.0)
    direction = np.array(joint.axis)
    sign = -1.0 if backwards and joint.motion_kind.inverse_is_opposite else 1.0
    if np.count_nonzero(direction) == 1:
        return R, _vec(sign * np.round(direction))
    R[:3, :2], R[:3, 2] = plane_basis(direction), direction
    R[:3, :3] = snapped(R[:3, :3])
    return R, Vec(0.0, 0.0, sign)


def _without_rotation_about(axis: int, R: Array) -> tuple[Array, float]:
    """Split off a rotation about a coordinate axis where that is simpler: R = R' R_axis(angle)."""
    along = R[:, axis]
    if np.count_nonzero(along) != 1 or np.count_nonzero(R) == 3:
        return R, 0.0  # the axis is tilted, or the axes are only exchanged
    y, z = (axis + 1) % 3, (axis + 2) % 3
    simple = np.zeros((3, 3))
    simple[:, axis] = along
    simple[(int(np.argmax(np.abs(along))) + 1) % 3, y] = 1.0
    simple[:, z] = np.cross(along, simple[:, y])
    about = simple.T @ R
    return simple, math.atan2(about[z, y], about[y, y])


def _regrouped(
    params: Array,
    parents: tuple[int, ...],
    mounts: list[Mount | None],
    poses: Array,
    not_lumped: Container[int],
) -> Array:
    """Lump what the joint cannot move into the parent, from the leaves inward."""
    params = params.copy()
    for body in reversed(range(1, len(parents))):
        if body in not_lumped:
            continue
        mount = mounts[body]
        assert mount is not None
        share = _unmoved(params[body], mount)
        params[body] -= share
        params[parents[body]] += inertia.transform(poses[body], share)
    return params


def _unmoved(params: Array, mount: Mount) -> Array:
    """The part of a body's inertia that its joint cannot move relative to the parent."""
    share = np.zeros(10)
    kind, axis = mount.kind, mount.axis_index
    if not kind.translates:
        share[0] = params[0]
        if kind.rotation == "about_axis":
            share[1 + axis] = params[1 + axis]
            y, z = DIAGONAL[(axis + 1) % 3], DIAGONAL[(axis + 2) % 3]
            share[y] = share[z] = params[z]
    elif kind.rotation == "none":
        share[4:] = params[4:]
    return share


def _rounding_noise(at_joint: Array, moved: Array) -> Array:
    """(bodies, 10) below which inertial parameters are rounding noise.

    The scale is that of the inertia about the joint. Where the move of the origin along the axis
    has added to a number, it is that of what was added; the inertia about the axis itself stays.
    """
    magnitudes = np.abs(at_joint)
    sizes = np.concatenate(
        [np.zeros_like(magnitudes[:, :1]), *_largest_of(magnitudes[:, 1:4], magnitudes[:, 4:])], 1
    )
    return ROUNDING_NOISE * (sizes + np.abs(moved - at_joint))


def _largest_of(*groups: Array) -> list[Array]:
    return [np.broadcast_to(group.max(1, keepdims=True), group.shape) for group in groups]


def _frame(pose: Array, *summands: Array) -> tuple[Mat, Vec]:
    """Rotation and position; coordinates that are only rounding noise of their summands are 0."""
    p, noise = pose[:3, 3], ROUNDING_NOISE * sum(np.abs(other).max() for other in summands)
    return _mat(snapped(pose[:3, :3])), _vec(np.where(np.abs(p) <= noise, 0.0, p))


def _rigid_inertia(params: Array) -> RigidInertia:
    mass, x, y, z, *tensor = (float(value) + 0.0 for value in params)
    return RigidInertia(mass, Vec(x, y, z), Sym(*tensor))


def _largest(direction: Vec) -> int:
    return max(range(3), key=lambda k: abs(direction[k]))


def _vec(values: Array) -> Vec:
    return Vec(*(float(value) + 0.0 for value in values))


def _mat(values: Array) -> Mat:
    return Mat(*map(_vec, values))
