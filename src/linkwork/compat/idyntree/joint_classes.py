"""The kinds of joints that iDynTree has, and the one for all others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.idyntree.axis import Axis
from linkwork.compat.idyntree.joints import IJoint
from linkwork.compat.idyntree.poses import Transform
from linkwork.compat.idyntree.vectors import Position
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError
from linkwork.model.joint_motion import neutral_transform
from linkwork.model.parts import unit_vector
from linkwork.model.pose import Pose, as_pose
from linkwork.spatial import se3

if TYPE_CHECKING:
    from linkwork.compat.idyntree.model import Model


class FixedJoint(IJoint):
    """Two links that are one body.

    Args:
        parts: none; the pose of the second link in the first; both links and that pose; or a joint.
    """

    KIND = "fixed"

    def __init__(self, *parts: Any) -> None:
        super().__init__()
        _construct(self, parts, axis=False)


class AxisJoint(IJoint):
    """A joint that moves about or along an axis."""

    def __init__(self, *parts: Any) -> None:
        super().__init__()
        _construct(self, parts, axis=True)

    def getAxis(self, child: int, parent: int | None = None) -> Axis:
        """The axis in the frame of a link, so that this link moves relative to the other one."""
        joint = self._joint
        if self._side(child, parent) == joint.first:
            pose, sign = joint.first_H_joint.matrix(), -1.0
        else:
            pose, sign = se3.inverse(joint.joint_H_second.matrix()), 1.0
        return Axis(sign * (pose[:3, :3] @ np.array(joint.axis)), pose[:3, 3])

    def setAxis(self, axis: Axis, child: int | None = None, parent: int | None = None) -> None:
        """Set the axis in the frame of a link, as `getAxis` gives it.

        Without links it is that of the second link, in the frame of the first.
        """
        joint = self._joint
        rest = neutral_transform(joint, child=joint.first)
        if child is None:
            in_first = axis
        elif self._side(child, parent) == joint.first:
            in_first = axis.reverse()
        else:
            in_first = Transform(rest) * axis
        mount = Pose(xyz=tuple(in_first.getOrigin().tolist()))
        self._set(
            axis=unit_vector(in_first.getDirection().tolist()),
            first_H_joint=mount,
            joint_H_second=as_pose(se3.inverse(mount.matrix()) @ rest),
        )


class RevoluteJoint(AxisJoint):
    """Rotation about an axis.

    Args:
        parts: none; the pose of the second link in the first, and the axis in the first; both links
            in front of these; or a joint.
    """

    KIND = "revolute"


class PrismaticJoint(AxisJoint):
    """Translation along an axis. Arguments as those of `RevoluteJoint`."""

    KIND = "prismatic"


class SphericalJoint(IJoint):
    """Rotation about a point; its position is a quaternion w, x, y, z.

    Args:
        parts: none; the pose of the second link in the first; or a joint.
    """

    KIND = "spherical"

    def __init__(self, *parts: Any) -> None:
        super().__init__()
        _construct(self, parts, axis=False)

    def setRestTransform(self, link1_X_link2: ArrayLike) -> None:
        """Set the pose of the second link in the first at position 0; the centre stays there."""
        rest = Transform(link1_X_link2).toNumPy()
        self._mount(rest, np.array(self._joint.first_H_joint.xyz))

    def getPositionDerivativeVelocityJacobian(self, jntPos: ArrayLike, jac: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - iDynTree's
        """J with theta_dot = J nu, (4, 3): nu is the angular velocity in the second link's axes."""
        return super().getPositionDerivativeVelocityJacobian(jntPos, jac)

    def setJointCenter(self, link: int, center: ArrayLike) -> None:
        """Set the point about which the links turn, in the frame of one of them."""
        rest = neutral_transform(self._joint, child=self._joint.first)
        point = Position(center).toNumPy()
        in_first = self._side(link, None) == self._joint.first
        self._mount(rest, point if in_first else se3.transform_point(rest, point))

    def getJointCenter(self, link: int) -> Position:
        """The point about which the links turn, in the frame of one of them."""
        if self._side(link, None) == self._joint.first:
            return Position(self._joint.first_H_joint.xyz)
        return Position(se3.inverse(self._joint.joint_H_second.matrix())[:3, 3])

    def _mount(self, rest: Array, center: Array) -> None:
        """Axes of the joint along those of the second link, as iDynTree writes velocities."""
        first_H_joint = se3.pose(rest[:3, :3], center)
        self._set(
            first_H_joint=as_pose(first_H_joint),
            joint_H_second=as_pose(se3.inverse(first_H_joint) @ rest),
        )


class OtherJoint(IJoint):
    """A joint of a kind that iDynTree does not have, such as a helical or a planar one."""

    KIND = "other"


CLASSES: dict[str, type[IJoint]] = {
    kind.KIND: kind for kind in (FixedJoint, RevoluteJoint, PrismaticJoint, SphericalJoint)
}


def joint_of(model: Model, index: int) -> IJoint:
    """The joint of a robot at an index, of the class of its kind."""
    return CLASSES.get(model.joint_records[index].joint.kind, OtherJoint).of(model, index)


def _construct(joint: Any, parts: tuple[Any, ...], *, axis: bool) -> None:
    """Take the parts that iDynTree's constructors take."""
    if len(parts) == 1 and isinstance(parts[0], type(joint)):
        joint.__dict__.update(parts[0].clone().__dict__)
        return
    rest = list(parts)
    if len(rest) == 3 + axis:
        joint.setAttachedLinks(rest.pop(0), rest.pop(0))
    if len(rest) not in (0, 1 + axis):
        wanted = "a pose and an axis" if axis else "a pose"
        text = f"{type(joint).__name__}: expected nothing, {wanted}, or a joint of this class"
        raise ArgumentError(f"{text}; both links may come first; got {len(parts)} arguments")
    if rest:
        joint.setRestTransform(rest[0])
    if len(rest) == 2:
        joint.setAxis(rest[1])
