"""Frames of a robot under iDynTree's names. A frame is given by its name or its index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.idyntree.arrays import Matrix4x4, Vector6, made
from linkwork.compat.idyntree.outputs import give, give_matrix
from linkwork.compat.idyntree.patterns import floating_pattern, relative_pattern
from linkwork.compat.idyntree.poses import Transform
from linkwork.compat.idyntree.state import StateMethods
from linkwork.compat.idyntree.vectors import Twist


class FrameMethods(StateMethods):
    """Where frames are, how they move, and their Jacobians.

    Each gives its result, or writes it to `out` and gives True.
    """

    def getWorldTransform(self, frame: int | str, out: Any = None) -> Any:
        """Pose of a frame in the world, (4, 4)."""
        return give(self._kd.transform(self._frame(frame), self._q), out, Transform)

    def getWorldTransformsAsHomogeneous(self, frameNames: Sequence[str]) -> list[Matrix4x4]:
        """Poses of several frames in the world."""
        names = [self._frame(frame) for frame in frameNames]
        return [made(Matrix4x4, pose) for pose in self._kd.transforms(self._q, frames=names)]

    def getRelativeTransform(self, reference: int | str, frame: int | str, out: Any = None) -> Any:
        """Pose of a frame in a reference frame, (4, 4)."""
        pose = self._kd.relative_transform(self._frame(reference), self._frame(frame), self._q)
        return give(pose, out, Transform)

    def getRelativeTransformExplicit(
        self,
        referenceOrigin: int | str,
        referenceOrientation: int | str,
        frameOrigin: int | str,
        frameOrientation: int | str,
        out: Any = None,
    ) -> Any:
        """Pose of a frame in another, the origin and the axes of each taken from two frames.

        Returns:
            (4, 4).
        """
        axes, q = self._frame(referenceOrientation), self._q
        origin = self._kd.relative_transform(axes, self._frame(referenceOrigin), q)
        place = self._kd.relative_transform(axes, self._frame(frameOrigin), q)
        pose = np.array(self._kd.relative_transform(axes, self._frame(frameOrientation), q))
        pose[:3, 3] = place[:3, 3] - origin[:3, 3]
        return give(pose, out, Transform)

    def getFrameVel(self, frame: int | str, out: Any = None) -> Any:
        """Velocity of a frame, (6,)."""
        return give(self._kd.velocity(self._frame(frame), self._q, self._nu), out, Twist)

    def getFrameAcc(
        self,
        frame: int | str,
        baseAcceleration: ArrayLike,
        jointAccelerations: ArrayLike,
        out: Any = None,
    ) -> Any:
        """Derivative of the velocity of a frame, (6,)."""
        nu_dot = self._nu_dot(baseAcceleration, jointAccelerations)
        found = self._kd.acceleration(self._frame(frame), self._q, self._nu, nu_dot)
        return give(found, out, Vector6)

    def getFrameBiasAcc(self, frame: int | str, out: Any = None) -> Any:
        """Acceleration of a frame with those of the base and the joints 0, (6,)."""
        found = self._kd.bias_acceleration(self._frame(frame), self._q, self._nu)
        return give(found, out, Vector6)

    def getFrameFreeFloatingJacobian(self, frame: int | str, out: Any = None) -> Any:
        """Jacobian of a frame, (6, 6 + n)."""
        return give_matrix(self._kd.jacobian(self._frame(frame), self._q), out)

    def getRelativeJacobian(self, reference: int | str, frame: int | str, out: Any = None) -> Any:
        """Jacobian of a frame relative to another, (6, n).

        Its velocity is taken at the origin of `frame`, of `reference` if inertial; and written in
        the axes of `reference`, of `frame` if body-fixed.
        """
        found = self._kd.relative_jacobian(self._frame(reference), self._frame(frame), self._q)
        return give_matrix(found, out)

    def getRelativeJacobianExplicit(
        self,
        reference: int | str,
        frame: int | str,
        expressedOrigin: int | str,
        expressedOrientation: int | str,
        out: Any = None,
    ) -> Any:
        """The same with the velocity taken and written where it is asked for, (6, n)."""
        found = self._kd.relative_jacobian(
            self._frame(reference),
            self._frame(frame),
            self._q,
            origin=self._frame(expressedOrigin),
            axes=self._frame(expressedOrientation),
        )
        return give_matrix(found, out)

    def getFrameFreeFloatingJacobianSparsityPattern(self, frame: int | str, out: Any = None) -> Any:
        """1 where the Jacobian of a frame may be other than 0, (6, 6 + n)."""
        return give_matrix(floating_pattern(self._robot, self._base, self._frame(frame)), out)

    def getRelativeJacobianSparsityPattern(
        self, reference: int | str, frame: int | str, out: Any = None
    ) -> Any:
        """1 where the relative Jacobian may be other than 0, (6, n)."""
        names = self._frame(reference), self._frame(frame)
        return give_matrix(relative_pattern(self._robot, *names), out)
