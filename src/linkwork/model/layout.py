"""The indices of each joint's coordinates in the vectors of a robot.

    q  = [base position (3), base quaternion wxyz (4), s]    with a floating base, else s
    nu = [base velocity (6), s_dot]                          with a floating base, else s_dot

s holds the positions of the moving, independent joints in the order of the model, whatever the
base. A dependent joint has no coordinate of its own: theta = multiplier * s_k + offset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import LinkworkError, name_not_found
from linkwork.model.configurations import Configuration
from linkwork.model.graph import walk
from linkwork.model.joints.motion import child_H_parent, normalized
from linkwork.model.model import Model
from linkwork.model.parts import Follower, Joint, resolved_followers
from linkwork.model.pose import IDENTITY, Pose
from linkwork.spatial.blocks import Mat, Scalar, quaternion_rotation
from linkwork.spatial.source import quat, se3

BASE_NQ, BASE_NV = 7, 6
BASE_NEUTRAL = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class JointLimits:
    """Bounds of joints as read-only arrays, infinite where there is none."""

    lower: Array  # of s, [rad] or [m]
    upper: Array
    velocity: Array  # of s_dot, either way [rad/s] or [m/s]
    effort: Array  # either way [N m] or [N]


@dataclass(frozen=True)
class Layout:
    """Slices of q and nu by the name of a joint."""

    model: Model
    floating: bool = True
    base_pose: Pose = IDENTITY  # of a base that does not float, in the world

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """The joints that have coordinates of their own, in the order of s."""
        return tuple(joint.name for joint in self.model.joints if joint.nq)

    @cached_property
    def q(self) -> Mapping[str, slice]:
        """Slice of q that holds a joint's position."""
        sizes = [joint.nq for joint in self.model.joints]
        return self._slices(sizes, BASE_NQ)

    @cached_property
    def nu(self) -> Mapping[str, slice]:
        """Slice of nu that holds a joint's velocity."""
        sizes = [joint.nv for joint in self.model.joints]
        return self._slices(sizes, BASE_NV)

    @property
    def base_position(self) -> slice:
        """Slice of q that holds the position of the base; empty without a floating base."""
        return slice(0, 3 if self.floating else 0)

    @property
    def base_wxyz(self) -> slice:
        """Slice of q that holds the quaternion of the base; empty without a floating base."""
        return slice(3, 7) if self.floating else slice(0, 0)

    def base_rotation(self, q: Sequence[Scalar]) -> Mat:
        """Return the rotation of a floating base in the world."""
        return quaternion_rotation(q[self.base_wxyz])

    @property
    def base_velocity(self) -> slice:
        """Slice of nu that holds the velocity of the base; empty without a floating base."""
        return slice(0, BASE_NV if self.floating else 0)

    @cached_property
    def nq(self) -> int:
        """Length of q."""
        return self.floating * BASE_NQ + sum(joint.nq for joint in self.model.joints)

    @cached_property
    def nv(self) -> int:
        """Length of nu."""
        return self.floating * BASE_NV + sum(joint.nv for joint in self.model.joints)

    @cached_property
    def followers(self) -> Mapping[str, Follower]:
        """The dependent joints, each with the independent joint it follows in the end."""
        return resolved_followers(self.model.joints)

    def neutral(self) -> Array:
        """Return (nq,) as `zero`, but joints whose limits exclude zero are at the nearest limit."""
        return self._neutral.copy()

    def zero(self) -> Array:
        """Return (nq,) with every joint at zero, and the base at the origin of the world."""
        moving = [joint.motion_kind for joint in self.model.joints if joint.nq]
        of_joints = [number for kind in moving for number in kind.neutral]
        return np.array([*(BASE_NEUTRAL if self.floating else ()), *of_joints])

    @cached_property
    def _neutral(self) -> Array:
        q, start = self.zero(), BASE_NQ if self.floating else 0
        q[start:] = np.clip(q[start:], self.limits.lower, self.limits.upper)
        return q

    @cached_property
    def limits(self) -> JointLimits:
        """Bounds of the joints: lower and upper as s, velocity and effort as s_dot.

        A joint of several coordinates has none, nor has a pair (cos, sin).
        """
        joints = [self.model.joint(name) for name in self.joint_names]
        return JointLimits(
            lower=read_only([joint.limits.lower if n == 1 else -inf for joint, n in _each(joints)]),
            upper=read_only([joint.limits.upper if n == 1 else inf for joint, n in _each(joints)]),
            velocity=read_only(
                [joint.limits.velocity for joint in joints for _ in range(joint.nv)]
            ),
            effort=read_only([joint.limits.effort for joint in joints for _ in range(joint.nv)]),
        )

    def theta(self, q: Array, joint: str) -> Array:
        """Return (..., nq of the joint) position of any joint, fixed and dependent ones too."""
        follower = self.followers.get(joint)
        if follower:
            return follower.multiplier * q[..., self.q[follower.leader]] + follower.offset
        kind = self.model.joint(joint).motion_kind
        return q[..., self.q[joint]] if kind.nq else q[..., :0]

    def configured(self, configuration: Configuration, base: str) -> Array:
        """Return a named configuration (nq,) of the model.

        Args:
            configuration: one of the model; positions of joints without coordinates are ignored.
            base: the link or frame whose pose q contains, if the base floats.
        """
        q, model = self.neutral(), self.model
        for name, theta in configuration.positions:
            if name in self.q:  # a joint that closes a loop has no coordinate
                q[self.q[name]] = normalized(model.joint(name), theta)
        if self.floating and configuration.link is not None:
            frame = model.frame(base)
            base_H_link = {frame.link: se3.inverse(frame.link_H_frame.matrix())}
            for link, parent, joint in walk(model, frame.link):
                if joint and parent:
                    link_H_parent = child_H_parent(joint, self.theta(q, joint.name), child=link)
                    base_H_link[link] = base_H_link[parent] @ se3.inverse(link_H_parent)
            link_H_base = se3.inverse(base_H_link[configuration.link])
            H = configuration.world_H_link.matrix() @ link_H_base
            q[self.base_position] = H[:3, 3]
            q[self.base_wxyz] = quat.from_rotation(H[:3, :3])
        return q

    def _slices(self, sizes: Sequence[int], start: int) -> Mapping[str, slice]:
        offset = start if self.floating else 0
        slices: dict[str, slice] = {}
        for joint, size in zip(self.model.joints, sizes, strict=True):
            if size:
                slices[joint.name] = slice(offset, offset + size)
                offset += size
        return _Slices(slices, self.model)


def _each(joints: Sequence[Joint]) -> list[tuple[Joint, int]]:
    """Return the joint of each entry of s, and how many it has."""
    return [(joint, joint.nq) for joint in joints for _ in range(joint.nq)]


def read_only(numbers: Sequence[float]) -> Array:
    """Return numbers as an array of float64 that cannot be written."""
    array = np.array(numbers, dtype=np.float64)
    array.flags.writeable = False
    return array


class _Slices(dict[str, slice]):
    """Slices by name, with an error that explains why a joint has none."""

    def __init__(self, slices: Mapping[str, slice], model: Model) -> None:
        super().__init__(slices)
        self._model = model

    def __missing__(self, name: str) -> slice:
        raise _no_coordinate(self._model, name, self)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (dict(self), self._model)


def _no_coordinate(model: Model, name: str, known: Mapping[str, slice]) -> LinkworkError:
    if name in model.joint_names:
        joint = model.joint(name)
        why = f"mimics {joint.mimic.joint!r}" if joint.mimic else "is fixed"
        error = name_not_found("coordinate of a joint", name, known)
        return type(error)(f"joint {name!r} has no coordinate of its own: it {why}")
    return name_not_found("joint", name, known)
