"""Links and joints with the names that adam gives what belongs to them.

Inertia   along the axes of the link, about its centre of mass: the rotation of `<inertial>` is
          applied to the tensor, so that `inertial.origin.rpy` is 0
Joints    `homogeneous(q)` is the pose of the child in the parent, `spatial_transform(q)` the matrix
          that takes velocities in the parent to the child, `motion_subspace()` (6, 1) in the child
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array
from linkwork.model.geometry import Shape
from linkwork.model.inertia import Inertia
from linkwork.model.joint_motion import child_H_parent, motion_subspace, neutral_transform
from linkwork.model.joints import KINDS
from linkwork.model.parts import Joint, Link
from linkwork.model.pose import IDENTITY, Pose
from linkwork.spatial.source import inertia as spatial_inertia
from linkwork.spatial.source import motion


class Values(np.ndarray[Any, Any]):
    """An array that also answers to `array`, as the arrays inside adam do."""

    @property
    def array(self) -> Array:
        """The numbers."""
        return self.view(np.ndarray)


def values(array: ArrayLike) -> Values:
    """The same numbers, which also answer to `array`."""
    return np.asarray(array, dtype=None if isinstance(array, np.ndarray) else float).view(Values)


@dataclass(frozen=True, slots=True)
class AdamPose:
    """Position [m], and roll, pitch and yaw [rad]."""

    pose: Pose

    @property
    def xyz(self) -> Values:
        """(3,) position [m]."""
        return values(self.pose.xyz)

    @property
    def rpy(self) -> Values:
        """(3,) roll, pitch and yaw [rad]."""
        return values(self.pose.rpy)

    def get_xyz(self) -> Values:
        """(3,) position [m]."""
        return self.xyz

    def get_rpy(self) -> Values:
        """(3,) roll, pitch and yaw [rad]."""
        return self.rpy


@dataclass(frozen=True, slots=True)
class AdamInertia:
    """Tensor of inertia about the centre of mass, along the axes of the link [kg m^2]."""

    ixx: float
    ixy: float
    ixz: float
    iyy: float
    iyz: float
    izz: float

    @property
    def matrix(self) -> Values:
        """(3, 3) the tensor."""
        six = (self.ixx, self.ixy, self.ixz, self.iyy, self.iyz, self.izz)
        return values(Inertia(tensor=six).matrix())

    def get_matrix(self) -> Values:
        """(3, 3) the tensor."""
        return self.matrix


@dataclass(frozen=True, slots=True)
class AdamInertial:
    """Mass [kg], tensor, and where the centre of mass is on the link."""

    mass: Values
    inertia: AdamInertia
    origin: AdamPose


@dataclass(frozen=True, slots=True)
class AdamLink:
    """A link or a frame."""

    part: Link

    @property
    def name(self) -> str:
        """Name of the link."""
        return self.part.name

    @property
    def visuals(self) -> tuple[Shape, ...]:
        """What is seen of it."""
        return self.part.visuals

    @property
    def collisions(self) -> tuple[Shape, ...]:
        """What touches others."""
        return self.part.collisions

    @property
    def inertial(self) -> AdamInertial:
        """Mass, tensor and centre of mass."""
        own = self.part.inertia
        return AdamInertial(
            values(own.mass), AdamInertia(*own.tensor), AdamPose(replace(IDENTITY, xyz=own.com))
        )

    def spatial_inertia(self) -> Values:
        """(6, 6) inertia about the origin of the link, rows and columns [linear; angular]."""
        return values(spatial_inertia.matrix(self.part.inertia.parameters()))

    def homogeneous(self) -> Values:
        """(4, 4) pose of the centre of mass, along the axes of the link."""
        return values(replace(IDENTITY, xyz=self.part.inertia.com).matrix())


@dataclass(frozen=True, slots=True)
class AdamLimits:
    """Bounds of a joint as the file has them, whether they mean something for its type or not."""

    lower: float  # [rad] or [m]
    upper: float
    effort: float  # [N m] or [N]
    velocity: float  # [rad/s] or [m/s]


@dataclass(frozen=True, slots=True)
class AdamJoint:
    """A joint, from its parent to its child. In a tree with another root it may point backwards."""

    part: Joint
    parent: str
    child: str
    type: str  # revolute, continuous, prismatic or fixed, or a kind that only linkwork knows
    limit: AdamLimits
    idx: int | None  # index in the joint vector; None if it does not move

    @property
    def name(self) -> str:
        """Name of the joint."""
        return self.part.name

    @property
    def axis(self) -> Values | None:
        """(3,) unit vector in the joint frame; None of a fixed joint."""
        return None if self.part.kind == "fixed" else values(self.part.axis)

    @property
    def origin(self) -> AdamPose:
        """Where the joint is on the parent that the file gives it."""
        return AdamPose(self.part.first_H_joint)

    def reversed(self) -> AdamJoint:
        """The same joint, from its child to its parent."""
        return replace(self, parent=self.child, child=self.parent)

    def homogeneous(self, q: ArrayLike) -> Values:
        """(..., 4, 4) pose of the child in the parent at positions q (...)."""
        batch = np.shape(q)
        if KINDS[self.part.kind].nq > 1:  # adam has none of these; they are locked
            rest = neutral_transform(self.part, child=self.parent)
            return values(np.broadcast_to(rest, (*batch, 4, 4)))
        return values(child_H_parent(self.part, self._theta(q), child=self.parent))

    def spatial_transform(self, q: ArrayLike) -> Values:
        """(..., 6, 6) that takes a velocity in the parent's axes to the child's."""
        theta = np.asarray(q, dtype=float)
        child_H_parent = self.reversed().homogeneous(theta)
        return values(motion.motion_transform(child_H_parent.array))

    def motion_subspace(self) -> Values:
        """(6, 1) velocity of the child, in its axes, for one unit of joint velocity."""
        if KINDS[self.part.kind].nv != 1:
            return values(np.zeros((6, 1)))
        return values(motion_subspace(self.part, [0.0], child=self.child))

    def _theta(self, q: ArrayLike) -> Array:
        theta = np.asarray(q, dtype=float)
        return np.broadcast_to(theta[..., None], (*theta.shape, KINDS[self.part.kind].nq))
