"""A tree as algorithms see it: bodies with their frame on the joint that holds them, all facts.

Moving a body's frame onto its joint makes the joint's far mount the identity. A tilted axis is
turned onto z, and a joint of one coordinate read backwards is one about the opposite axis. Where on
the axis is free (see `origins`). What is left for every joint is

    parent_H_body(theta) = near @ M(theta)

with `near` constant. A rotation of `near` about the joint's own axis becomes an offset of the
angle.

Inertia that a joint cannot move relative to the parent is counted with the parent: of a body that
turns about z its mass, its first moment along z, and as much of its tensor as is diag(a, a, 0).
Every sum over the robot stays what it is, and the bodies have fewer numbers that are not 0.
(Gautier, Khalil 1990, use the same to find which parameters can be identified.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Array
from linkwork.mechanics.blocks import Mat, Sym, Vec
from linkwork.mechanics.origins import Site, best_origins
from linkwork.model.kinds import plane_basis
from linkwork.model.layout import Layout
from linkwork.model.parts import Joint
from linkwork.model.pose import ROUNDING_NOISE, snapped
from linkwork.model.tree import Tree
from linkwork.spatial.source import inertia, se3

ALIGNED_KINDS = ("revolute", "revolute_cos_sin", "prismatic", "helical", "planar")
TURNING = ("revolute", "revolute_cos_sin")  # kinds whose axis stays where it is in the parent


@dataclass(frozen=True)
class Mount:
    """The joint that a body hangs by."""

    joint: Joint
    backwards: bool  # only for kinds with several coordinates
    axis: int  # 0, 1, 2: the joint's axis in the body's frame
    sign: float  # 1.0, or -1.0 for a joint about the opposite direction
    rotation: Mat  # of `near`
    position: Vec  # of `near`
    angle_offset: float
    q: tuple[int, ...]  # where the joint's position stands in q
    nu: tuple[int, ...]  # where its velocity stands in nu
    multiplier: float  # of a dependent joint; 1.0 for others
    offset: float


@dataclass(frozen=True)
class Body:
    """One rigid body of the robot, with the inertia that is counted with it."""

    parent: int  # -1 for the base
    mount: Mount | None  # None for the base
    mass: float
    first_moment: Vec  # mass times centre of mass
    tensor: Sym  # inertia about the body's origin

    @property
    def nu(self) -> tuple[int, ...]:
        """Where the velocity of the body's joint stands in nu."""
        return self.mount.nu if self.mount else ()

    @property
    def is_backwards(self) -> bool:
        """Whether the body's joint is read from its moving side."""
        return self.mount is not None and self.mount.backwards


@dataclass(frozen=True)
class Skeleton:
    """A tree as algorithms see it."""

    layout: Layout
    bodies: tuple[Body, ...]
    frames: tuple[tuple[int, Mat, Vec], ...]  # body, rotation and position of each frame in it


def skeleton_of(tree: Tree, layout: Layout) -> Skeleton:
    """Make the skeleton of a tree."""
    moves, nears, aligned = _moved_frames(tree)
    mounts: list[Mount | None] = [None]
    for body, _, joint in tree.outward():
        backwards = tree.backwards[body] and joint.motion.nv > 1
        _, axis, sign = aligned[body]
        mounts.append(_mount(layout, joint, nears[body], axis, sign, backwards=backwards))
    params = inertia.transform(se3.inverse(moves), tree.inertias)
    regrouped = _regrouped(params, tree.parents, mounts, nears)
    bodies = [
        Body(parent, mount, *_inertia_facts(numbers, before))
        for parent, mount, numbers, before in zip(
            tree.parents, mounts, regrouped, params, strict=True
        )
    ]
    new_H_old = se3.inverse(moves)
    frames = [
        (body, *_pose_facts(new_H_old[body] @ pose, moves[body, :3, 3], pose[:3, 3]))
        for body, pose in zip(tree.frame_bodies, tree.body_H_frame, strict=True)
    ]
    return Skeleton(layout, tuple(bodies), tuple(frames))


_Aligned = tuple[Array, int, float]


def _moved_frames(tree: Tree) -> tuple[Array, Array, list[_Aligned]]:
    """Where each body's frame goes: old_H_new, parent_H_new at angle 0, and how it is turned."""
    aligned = [
        (np.eye(4), 2, 1.0) if joint is None else _aligned(joint, backwards=backwards)
        for joint, backwards in zip(tree.joints, tree.backwards, strict=True)
    ]
    turns = np.array([turn for turn, _, _ in aligned])
    moves = se3.inverse(tree.joint_H_body) @ turns
    nears = se3.inverse(moves)[list(tree.parents)] @ tree.parent_H_joint @ turns
    nears[0] = np.eye(4)
    nears[:, :3, :3] = snapped(nears[:, :3, :3])
    sites = [
        Site(joint.kind if joint else "", axis, _mat(near[:3, :3].T), _vec(near[:3, 3]))
        for joint, (_, axis, _), near in zip(tree.joints, aligned, nears, strict=True)
    ]
    origins, positions = best_origins(sites, tree.parents)
    moves = moves @ se3.pose(np.eye(3), origins)
    nears[:, :3, 3] = positions
    return moves, nears, aligned


def _mount(
    layout: Layout, joint: Joint, near: Array, axis: int, sign: float, *, backwards: bool
) -> Mount:
    rotation, spin = near[:3, :3], 0.0
    if joint.kind in ("revolute", "helical"):
        rotation, spin = _without_spin(rotation, axis)
    follower = layout.followers.get(joint.name)
    leader = follower.leader if follower else joint.name
    return Mount(
        joint=joint,
        backwards=backwards,
        axis=axis,
        sign=sign,
        rotation=_mat(rotation),
        position=_vec(near[:3, 3]),
        angle_offset=sign * spin,
        q=tuple(range(layout.nq)[layout.q[leader]]),
        nu=tuple(range(layout.nv)[layout.nu[leader]]),
        multiplier=follower.multiplier if follower else 1.0,
        offset=follower.offset if follower else 0.0,
    )


def _aligned(joint: Joint, *, backwards: bool) -> _Aligned:
    """(4, 4) turn that puts the joint's axis on a coordinate axis, which one, and its sign."""
    turn = np.eye(4)
    if joint.kind not in ALIGNED_KINDS:
        return turn, 2, 1.0
    direction = np.array(joint.axis)
    flip = -1.0 if backwards and joint.motion.nv == 1 else 1.0
    if joint.kind != "planar" and np.count_nonzero(direction) == 1:
        largest = int(np.argmax(np.abs(direction)))
        return turn, largest, flip * float(np.sign(direction[largest]))
    turn[:3, :2], turn[:3, 2] = plane_basis(direction), direction
    turn[:3, :3] = snapped(turn[:3, :3])
    return turn, 2, flip


def _without_spin(rotation: Array, axis: int) -> tuple[Array, float]:
    """Split off a rotation about the joint's axis where that is simpler: R = R' R_axis(angle)."""
    along = rotation[:, axis]
    if np.count_nonzero(along) != 1 or np.count_nonzero(rotation) == 3:
        return rotation, 0.0  # the axis is tilted, or the axes are only exchanged
    y, z = (axis + 1) % 3, (axis + 2) % 3
    simple = np.zeros((3, 3))
    simple[:, axis] = along
    simple[(int(np.argmax(np.abs(along))) + 1) % 3, y] = 1.0
    simple[:, z] = np.cross(along, simple[:, y])
    spin = simple.T @ rotation
    return simple, math.atan2(spin[z, y], spin[y, y])


def _regrouped(
    params: Array, parents: tuple[int, ...], mounts: list[Mount | None], nears: Array
) -> Array:
    """Count with the parent what the joint cannot move, from the leaves inward."""
    params = params.copy()
    for body in reversed(range(1, len(parents))):
        mount = mounts[body]
        assert mount is not None
        share = _still(params[body], mount)
        params[body] -= share
        params[parents[body]] += inertia.transform(nears[body], share)
    return params


def _still(params: Array, mount: Mount) -> Array:
    """The part of a body's inertia that its joint cannot move relative to the parent."""
    share = np.zeros(10)
    kind = mount.joint.kind
    if kind in (*TURNING, "spherical"):  # the origin stays
        share[0] = params[0]
    if kind in TURNING:  # so does the axis
        share[1 + mount.axis] = params[1 + mount.axis]
        diagonal = [4, 7, 9]  # places of Ixx, Iyy, Izz
        y, z = diagonal[(mount.axis + 1) % 3], diagonal[(mount.axis + 2) % 3]
        share[y] = share[z] = params[z]
    if kind == "prismatic":  # nothing turns
        share[4:] = params[4:]
    return share


def _inertia_facts(params: Array, before: Array) -> tuple[float, Vec, Sym]:
    """Mass, first moment and tensor; what is rounding noise beside the numbers before is 0."""
    first, tensor = params[1:4], params[4:]
    noise = ROUNDING_NOISE * np.abs(before[4:]).max()
    tensor = np.where(np.abs(tensor) <= noise, 0.0, tensor)
    return float(params[0]), _vec(_without_noise(first, before[1:4])), _sym(tensor)


def _without_noise(numbers: Array, *beside: Array) -> Array:
    """Numbers, of which those are 0 that are rounding noise beside others."""
    noise = ROUNDING_NOISE * sum(np.abs(other).max() for other in beside)
    return np.where(np.abs(numbers) <= noise, 0.0, numbers)


def _pose_facts(pose: Array, *beside: Array) -> tuple[Mat, Vec]:
    return _mat(snapped(pose[:3, :3])), _vec(_without_noise(pose[:3, 3], *beside))


def _vec(values: Array) -> Vec:
    x, y, z = (float(value) + 0.0 for value in values)
    return (x, y, z)


def _mat(values: Array) -> Mat:
    return (_vec(values[0]), _vec(values[1]), _vec(values[2]))


def _sym(values: Array) -> Sym:
    xx, xy, xz, yy, yz, zz = (float(value) + 0.0 for value in values)
    return (xx, xy, xz, yy, yz, zz)
