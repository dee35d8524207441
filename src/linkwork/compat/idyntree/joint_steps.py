"""One step along a walk: the motion of a link from that of its parent, under iDynTree's names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arrays import Array
from linkwork.compat.idyntree.axis import TransformDerivative
from linkwork.model.joint_motion import child_H_parent, motion_subspace, position_jacobian
from linkwork.model.parts import Joint
from linkwork.model.pose import as_floats
from linkwork.spatial import motion, se3


class JointSteps:
    """The part of a joint that takes poses, velocities and accelerations from parent to child.

    Velocities and accelerations are of the links' frames, in their own axes.
    """

    @property
    def _joint(self) -> Joint:
        raise NotImplementedError

    def _side(self, child: int, parent: int | None) -> str:
        raise NotImplementedError

    def _theta(self, positions: ArrayLike) -> Array:
        raise NotImplementedError

    def getDOFsOffset(self) -> int:
        """Where its velocity starts in the joint velocities."""
        raise NotImplementedError

    def getTransformDerivative(
        self, jntPos: ArrayLike, child: int, parent: int, posCoord_i: int = 0
    ) -> TransformDerivative:
        """Derivative by a position coordinate of the pose of the parent in the child.

        Only joints whose velocity is the rate of their position have it.
        """
        theta, side = self._theta(jntPos), self._side(child, parent)
        pose = child_H_parent(self._joint, theta, child=side)
        S = motion_subspace(self._joint, theta, child=side)
        rates = np.linalg.pinv(position_jacobian(self._joint, theta))
        velocity = S @ rates[:, posCoord_i]  # of the child in the parent, in the child's axes
        return TransformDerivative(-se3.wedge(velocity) @ pose)

    def computeChildPosVelAcc(  # noqa: PLR0917 - iDynTree's
        self,
        jntPos: ArrayLike,
        jntVel: ArrayLike,
        jntAcc: ArrayLike,
        linkPositions: Any,
        linkVels: Any,
        linkAccs: Any,
        child: int,
        parent: int,
    ) -> None:
        """Write pose, velocity and acceleration of the child."""
        pose = child_H_parent(self._joint, self._theta(jntPos), child=self._side(child, parent))
        linkPositions(child)[...] = linkPositions(parent).toNumPy() @ se3.inverse(pose)
        self.computeChildVelAcc(jntPos, jntVel, jntAcc, linkVels, linkAccs, child, parent)

    def computeChildVelAcc(  # noqa: PLR0917 - iDynTree's
        self,
        jntPos: ArrayLike,
        jntVel: ArrayLike,
        jntAcc: ArrayLike,
        linkVels: Any,
        linkAccs: Any,
        child: int,
        parent: int,
    ) -> None:
        """Write velocity and acceleration of the child."""
        self.computeChildVel(jntPos, jntVel, linkVels, child, parent)
        self.computeChildAcc(jntPos, jntVel, linkVels, jntAcc, linkAccs, child, parent)

    def computeChildVel(
        self, jntPos: ArrayLike, jntVel: ArrayLike, linkVels: Any, child: int, parent: int
    ) -> None:
        """Write the velocity of the child."""
        X, S = self._step(jntPos, child, parent)
        linkVels(child)[...] = X @ linkVels(parent).toNumPy() + S @ self._own_part(jntVel)

    def computeChildAcc(  # noqa: PLR0917 - iDynTree's
        self,
        jntPos: ArrayLike,
        jntVel: ArrayLike,
        linkVels: Any,
        jntAcc: ArrayLike,
        linkAccs: Any,
        child: int,
        parent: int,
    ) -> None:
        """Write the acceleration of the child, whose velocity is known."""
        X, S = self._step(jntPos, child, parent)
        bias = motion.motion_cross(linkVels(child).toNumPy(), S @ self._own_part(jntVel))
        own = S @ self._own_part(jntAcc)
        linkAccs(child)[...] = X @ linkAccs(parent).toNumPy() + own + bias

    def computeChildBiasAcc(  # noqa: PLR0917 - iDynTree's
        self,
        jntPos: ArrayLike,
        jntVel: ArrayLike,
        linkVels: Any,
        linkBiasAccs: Any,
        child: int,
        parent: int,
    ) -> None:
        """Write the acceleration of the child with joint acceleration 0."""
        zero = 0.0 * as_floats(jntVel, "jntVel")
        self.computeChildAcc(jntPos, jntVel, linkVels, zero, linkBiasAccs, child, parent)

    def _step(self, positions: ArrayLike, child: int, parent: int) -> tuple[Array, Array]:
        """Matrix that moves velocities from parent to child, and the motion subspace."""
        theta, side = self._theta(positions), self._side(child, parent)
        pose = child_H_parent(self._joint, theta, child=side)
        return motion.motion_transform(pose), motion_subspace(self._joint, theta, child=side)

    def _own_part(self, velocities: ArrayLike) -> Array:
        """The coordinates of this joint in velocities or accelerations of all joints."""
        numbers, first = np.ravel(as_floats(velocities, "joint velocities")), self.getDOFsOffset()
        return np.array(numbers[first : first + self._joint.nv])
