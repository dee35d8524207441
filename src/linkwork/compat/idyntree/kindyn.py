"""`KinDynComputations`: kinematics and dynamics of a robot in a state, with iDynTree's names.

Results     each method returns its result, or writes it to `out` and returns True
Frames      by name or by index
Jacobians   (..., 6 + n); relative ones (6, n)
Centroidal  quantities are about the center of mass, in the axes of the world, or of the base if
            body-fixed; others are in the representation of the base velocity, or dual to it
Forces      M nu_dot + h = tau + sum J^T f; generalized forces are (6 + n,): the wrench on the base,
            then the joint torques. Wrenches are (links, 6), one for each link, dual to the velocity
            of the link's frame
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.idyntree.arrays import Matrix4x4, Vector3, Vector6, array_of, result, write
from linkwork.compat.idyntree.containers import FreeFloatingGeneralizedTorques, LinkWrenches
from linkwork.compat.idyntree.geometry import (
    Position,
    SpatialInertia,
    SpatialMomentum,
    Transform,
    Twist,
)
from linkwork.compat.idyntree.robot.conversion import traversal
from linkwork.compat.idyntree.state import StateMethods
from linkwork.compat.idyntree.statuses import status
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ShapeError
from linkwork.model.joints.motion import motion_subspace
from linkwork.model.model import Model
from linkwork.model.pose import as_floats


class KinDynComputations(StateMethods):
    """Kinematics and dynamics of a robot in a state: set the state, then call the getters.

    It is not thread-safe; `linkwork.KinDyn` is.
    """

    # Frames.

    @status(False, output="out")
    def getWorldTransform(self, frame: int | str, out: Any = None) -> Any:
        """Return the pose of a frame in the world, (4, 4)."""
        return result(self._kd.transform(self._frame(frame), self._q), out, Transform)

    def getWorldTransformsAsHomogeneous(self, frameNames: Sequence[str]) -> list[Matrix4x4]:
        """Return poses of several frames in the world."""
        names = [self._frame(frame) for frame in frameNames]
        return [array_of(Matrix4x4, pose) for pose in self._kd.transforms(self._q, frames=names)]

    @status(False, output="out")
    def getRelativeTransform(self, reference: int | str, frame: int | str, out: Any = None) -> Any:
        """Return the pose of a frame in a reference frame, (4, 4)."""
        pose = self._kd.relative_transform(self._frame(reference), self._frame(frame), self._q)
        return result(pose, out, Transform)

    @status(False, output="out")
    def getRelativeTransformExplicit(
        self,
        referenceOrigin: int | str,
        referenceOrientation: int | str,
        frameOrigin: int | str,
        frameOrientation: int | str,
        out: Any = None,
    ) -> Any:
        """Return the pose of a frame in another; origin and axes of each are those of two frames.

        Returns:
            (4, 4).
        """
        axes, q = self._frame(referenceOrientation), self._q
        origin = self._kd.relative_transform(axes, self._frame(referenceOrigin), q)
        position = self._kd.relative_transform(axes, self._frame(frameOrigin), q)
        pose = np.array(self._kd.relative_transform(axes, self._frame(frameOrientation), q))
        pose[:3, 3] = position[:3, 3] - origin[:3, 3]
        return result(pose, out, Transform)

    @status(False, output="out")
    def getFrameVel(self, frame: int | str, out: Any = None) -> Any:
        """Return the velocity of a frame, (6,)."""
        return result(self._kd.velocity(self._frame(frame), self._q, self._nu), out, Twist)

    @status(False, output="out")
    def getFrameAcc(
        self,
        frame: int | str,
        baseAcceleration: ArrayLike | None = None,
        jointAccelerations: ArrayLike | None = None,
        out: Any = None,
    ) -> Any:
        """Return the derivative of the velocity of a frame, (6,).

        Without accelerations, as in iDynFor, those of `setRobotAcceleration` are used; an array to
        write to may then be the second argument.
        """
        if baseAcceleration is None or jointAccelerations is None:
            nu_dot = self._stored_acceleration()
            out = baseAcceleration if out is None else out
        else:
            nu_dot = self._nu_dot(baseAcceleration, jointAccelerations)
        acceleration = self._kd.acceleration(self._frame(frame), self._q, self._nu, nu_dot)
        return result(acceleration, out, Vector6)

    @status(False, output="out")
    def getFrameBiasAcc(self, frame: int | str, out: Any = None) -> Any:
        """Return the acceleration of a frame at zero accelerations of base and joints, (6,)."""
        acceleration = self._kd.bias_acceleration(self._frame(frame), self._q, self._nu)
        return result(acceleration, out, Vector6)

    @status(False, output="out")
    def getFrameFreeFloatingJacobian(self, frame: int | str, out: Any = None) -> Any:
        """Return the Jacobian of a frame, (6, 6 + n)."""
        return result(self._kd.jacobian(self._frame(frame), self._q), out)

    @status(False, output="out")
    def getRelativeJacobian(self, reference: int | str, frame: int | str, out: Any = None) -> Any:
        """Return the Jacobian of a frame relative to another, (6, n).

        The velocity is that of the origin of `frame`, or of `reference` if inertial, expressed in
        the axes of `reference`, or of `frame` if body-fixed.
        """
        J = self._kd.relative_jacobian(self._frame(reference), self._frame(frame), self._q)
        return result(J, out)

    @status(False, output="out")
    def getRelativeJacobianExplicit(
        self,
        reference: int | str,
        frame: int | str,
        expressedOrigin: int | str,
        expressedOrientation: int | str,
        out: Any = None,
    ) -> Any:
        """The same with the velocity at the origin and in the axes of other frames, (6, n)."""
        J = self._kd.relative_jacobian(
            self._frame(reference),
            self._frame(frame),
            self._q,
            origin=self._frame(expressedOrigin),
            axes=self._frame(expressedOrientation),
        )
        return result(J, out)

    @status(False, output="out")
    def getFrameFreeFloatingJacobianSparsityPattern(self, frame: int | str, out: Any = None) -> Any:
        """1 where the Jacobian of a frame may differ from 0, (6, 6 + n)."""
        return result(_floating_pattern(self._robot, self._base, self._frame(frame)), out)

    @status(False, output="out")
    def getRelativeJacobianSparsityPattern(
        self, reference: int | str, frame: int | str, out: Any = None
    ) -> Any:
        """1 where the relative Jacobian may differ from 0, (6, n)."""
        names = self._frame(reference), self._frame(frame)
        return result(_relative_pattern(self._robot, *names), out)

    # The entire robot.

    def getCenterOfMassPosition(self, out: Any = None) -> Any:
        """Return the center of mass in the world, (3,)."""
        return result(self._kd.com(self._q), out, Position)

    def getCenterOfMassVelocity(self, out: Any = None) -> Any:
        """Return the velocity of the center of mass in the world, (3,)."""
        return result(self._kd.com_velocity(self._q, self._nu), out, Vector3)

    def getCenterOfMassJacobian(self, out: Any = None) -> Any:
        """Return the Jacobian of the velocity of the center of mass."""
        return result(self._kd.com_jacobian(self._q), out)

    def getCenterOfMassBiasAcc(self, out: Any = None) -> Any:
        """Acceleration of the center of mass at zero accelerations of base and joints, (3,)."""
        return result(self._kd.com_bias_acceleration(self._q, self._nu), out, Vector3)

    def getAverageVelocity(self, out: Any = None) -> Any:
        """Return the velocity of a rigid body with the same inertia and momentum, (6,)."""
        return result(self._kd.average_velocity(self._q, self._nu), out, Twist)

    def getAverageVelocityJacobian(self, out: Any = None) -> Any:
        """Return the Jacobian of the average velocity."""
        return result(self._kd.average_velocity_jacobian(self._q), out)

    def getCentroidalAverageVelocity(self, out: Any = None) -> Any:
        """Return the velocity of the center of mass and average angular velocity, (6,)."""
        return result(self._kd.centroidal_average_velocity(self._q, self._nu), out, Twist)

    def getCentroidalAverageVelocityJacobian(self, out: Any = None) -> Any:
        """Return the Jacobian of the centroidal average velocity."""
        return result(self._kd.centroidal_average_velocity_jacobian(self._q), out)

    def getLinearAngularMomentum(self, out: Any = None) -> Any:
        """Return the momentum, (6,)."""
        return result(self._kd.momentum(self._q, self._nu), out, SpatialMomentum)

    def getLinearAngularMomentumJacobian(self, out: Any = None) -> Any:
        """Return the Jacobian of the momentum."""
        return result(self._kd.momentum_jacobian(self._q), out)

    def getCentroidalTotalMomentum(self, out: Any = None) -> Any:
        """Centroidal momentum, (6,)."""
        return result(self._kd.centroidal_momentum(self._q, self._nu), out, SpatialMomentum)

    def getCentroidalTotalMomentumJacobian(self, out: Any = None) -> Any:
        """Centroidal momentum matrix."""
        return result(self._kd.centroidal_momentum_matrix(self._q), out)

    def getRobotLockedInertia(self, out: Any = None) -> Any:
        """Return the inertia of the robot with its joints locked, (6, 6)."""
        return result(self._kd.locked_inertia(self._q), out, SpatialInertia)

    def getCentroidalRobotLockedInertia(self, out: Any = None) -> Any:
        """Inertia of the robot about the center of mass with its joints locked, (6, 6)."""
        return result(self._kd.centroidal_locked_inertia(self._q), out, SpatialInertia)

    # Dynamics.

    def getFreeFloatingMassMatrix(self, out: Any = None) -> Any:
        """Return the mass matrix, (6 + n, 6 + n)."""
        return result(self._kd.mass_matrix(self._q), out)

    def getCoriolisAndMassMatrices(self, *out: Any) -> Any:
        """Coriolis matrix C, mass matrix M and its derivative, each (6 + n, 6 + n).

        `C @ nu` is the bias force without gravity, and the derivative of M is C + C^T.

        Returns:
            C, M and the derivative of M; or True, if three arrays `out` to write to were passed.
        """
        C = self._kd.coriolis_matrix(self._q, self._nu)
        matrices = (C, self._kd.mass_matrix(self._q), C + C.T)
        if not out:
            return tuple(result(matrix, None) for matrix in matrices)
        if len(out) != 3:
            raise ArgumentError(f"expected 3 arrays or none, got {len(out)}")
        for matrix, array in zip(matrices, out, strict=True):
            write(matrix, array)
        return True

    @status(False, output="out")
    def inverseDynamics(
        self,
        baseAcceleration: ArrayLike,
        jointAccelerations: ArrayLike,
        linkWrenches: ArrayLike | None = None,
        out: Any = None,
    ) -> Any:
        """Return forces of a motion: M nu_dot + h - sum J^T f."""
        nu_dot = self._nu_dot(baseAcceleration, jointAccelerations)
        tau = self._kd.inverse_dynamics(
            self._q,
            self._nu,
            nu_dot,
            wrenches=self._wrenches(linkWrenches),
            gravity=self._gravity,
        )
        return result(tau, out, FreeFloatingGeneralizedTorques)

    @status(False, output="out")
    def inverseDynamicsWithInternalJointForceTorques(
        self,
        baseAcceleration: ArrayLike,
        jointAccelerations: ArrayLike,
        linkWrenches: ArrayLike | None = None,
        out: Any = None,
        internalWrenches: Any = None,
    ) -> Any:
        """Return the same, and the wrench on each link from its parent; 0 on the base.

        Returns:
            Forces and (links, 6) wrenches; or True, if two arrays to write to were passed.
        """
        nu_dot = self._nu_dot(baseAcceleration, jointAccelerations)
        wrenches = self._wrenches(linkWrenches)
        state, g = (self._q, self._nu, nu_dot), self._gravity
        tau = self._kd.inverse_dynamics(*state, wrenches=wrenches, gravity=g)
        joint_wrenches = self._kd.joint_wrenches(*state, wrenches=wrenches, gravity=g)
        link_wrenches = self._by_link(joint_wrenches)
        if out is None and internalWrenches is None:
            return result(tau, None, FreeFloatingGeneralizedTorques), result(
                link_wrenches, None, LinkWrenches
            )
        write(tau, out)
        write(link_wrenches, internalWrenches)
        return True

    def generalizedBiasForces(self, out: Any = None) -> Any:
        """Return forces at zero accelerations: h = C nu + g."""
        h = self._kd.bias_force(self._q, self._nu, gravity=self._gravity)
        return result(h, out, FreeFloatingGeneralizedTorques)

    def generalizedGravityForces(self, out: Any = None) -> Any:
        """Return forces at zero velocities and accelerations: g."""
        g = self._kd.gravity_force(self._q, gravity=self._gravity)
        return result(g, out, FreeFloatingGeneralizedTorques)

    @status(False, output="generalizedExternalForces")
    def generalizedExternalForces(
        self, linkExtForces: ArrayLike, generalizedExternalForces: Any = None
    ) -> Any:
        """Contribution of wrenches on links to the forces of a motion: MINUS sum J^T f."""
        wrenches = self._wrenches(linkExtForces)
        forces = np.zeros(6 + self.getNrOfDegreesOfFreedom())
        if wrenches:
            forces -= self._kd.external_force(self._q, wrenches=wrenches)
        return result(forces, generalizedExternalForces, FreeFloatingGeneralizedTorques)

    @status(False, output="baseForceAndJointTorquesRegressor")
    def inverseDynamicsInertialParametersRegressor(
        self,
        baseFrameAcc: ArrayLike,
        s_ddot: ArrayLike,
        baseForceAndJointTorquesRegressor: Any = None,
    ) -> Any:
        """Y with Y phi = M nu_dot + h, (6 + n, 10 links), phi as in `getInertialParameters`."""
        nu_dot = self._nu_dot(baseFrameAcc, s_ddot)
        Y = self._kd.regressor(self._q, self._nu, nu_dot, gravity=self._gravity)
        return result(Y, baseForceAndJointTorquesRegressor)

    def _wrenches(self, link_wrenches: ArrayLike | None) -> dict[str, Array] | None:
        """Return wrenches by link name; None if all are 0, for which a shorter kernel exists."""
        if link_wrenches is None:
            return None
        values = np.array(as_floats(link_wrenches, "linkWrenches"), subok=False)
        if values.shape != (self.getNrOfLinks(), 6):
            message = f"linkWrenches: expected {(self.getNrOfLinks(), 6)}, got {values.shape}"
            raise ShapeError(message)
        return dict(zip(self._robot.link_names, values, strict=True)) if values.any() else None

    def _by_link(self, joint_wrenches: Array) -> Array:
        """Sort wrenches of joints in the order of the links they act on."""
        robot, wrenches = self._robot, np.zeros((self.getNrOfLinks(), 6))
        for link, _, joint in traversal(robot, robot.frame(self._base).link):
            if joint:
                wrenches[robot.link_index(link)] = joint_wrenches[robot.joint_index(joint.name)]
        return wrenches


def _floating_pattern(robot: Model, base: str, frame: str) -> Array:
    """(6, 6 + n) pattern of 0 and 1 for the velocity of a frame; see `_relative_pattern`."""
    of_base = np.ones((6, 6))
    of_base[3:, :3] = 0.0  # the linear velocity of the base does not change the angular one
    return np.concatenate([of_base, _relative_pattern(robot, base, frame)], axis=1)


def _relative_pattern(robot: Model, reference: str, frame: str) -> Array:
    """(6, n) pattern of 0 and 1 for the velocity of a frame relative to another, as in iDynTree.

    A rotating joint between the two frames may change all components, a translating one the linear
    part. So the pattern holds for every configuration and representation, and for every robot with
    the same joints; `linkwork.KinDyn.jacobian_sparsity` has more zeros.
    """
    between = _joints_between(robot, robot.frame(reference).link, robot.frame(frame).link)
    columns = [np.zeros((6, 0))]
    for joint in robot.joints:
        pattern = np.zeros((6, joint.nv))
        if joint.name in between and joint.nv:
            S = motion_subspace(joint, joint.motion_kind.neutral, child=joint.second)
            pattern[:3], pattern[3:] = 1.0, S[3:].any(axis=0)
        columns.append(pattern)
    return np.concatenate(columns, axis=1)


def _joints_between(robot: Model, start: str, end: str) -> set[str]:
    """Return the names of the joints between two links."""
    visits = {visit.link: visit for visit in traversal(robot, start)}
    names: set[str] = set()
    visit = visits[end]
    while visit.parent is not None and visit.joint is not None:
        names.add(visit.joint.name)
        visit = visits[visit.parent]
    return names
