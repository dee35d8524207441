"""`KinDynComputations`: kinematics and dynamics of a robot in a state, with iDynTree's names.

State       pose and velocity of the base, joint positions and velocities, gravity in the world;
            accelerations, if they were set. Initially the base is at the world's origin, and
            everything else is 0, including gravity
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

import linkwork.model.model as described
from linkwork.compat.idyntree.arrays import (
    Matrix4x4,
    Vector3,
    Vector6,
    VectorDynSize,
    array_of,
    result,
    write_all,
)
from linkwork.compat.idyntree.containers import FreeFloatingGeneralizedTorques
from linkwork.compat.idyntree.geometry import (
    Position,
    SpatialInertia,
    SpatialMomentum,
    Transform,
    Twist,
)
from linkwork.compat.idyntree.model import Model
from linkwork.compat.idyntree.records import name_at
from linkwork.compat.idyntree.statuses import Partial, status, success
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import (
    ArgumentError,
    LinkworkError,
    ModelError,
    ShapeError,
    ValueRangeError,
)
from linkwork.kindyn import KinDyn
from linkwork.mechanics.base import Representation
from linkwork.model.layout import Layout
from linkwork.model.numbers import argument
from linkwork.model.pose import as_floats, as_pose
from linkwork.spatial import motion, quat, se3, so3

INERTIAL_FIXED_REPRESENTATION = 0
BODY_FIXED_REPRESENTATION = 1
MIXED_REPRESENTATION = 2
NOT_ROUNDING = 1e-12  # up to this error a rotation is used unchanged
ROUNDED_ROTATION = 5e-3  # above this error it is rejected; it allows 1e-3 in each element
_REPRESENTATIONS: tuple[Representation, ...] = ("inertial", "body", "mixed")


class KinDynComputations(Partial):
    """Kinematics and dynamics of a robot in a state: set the state, then call the getters.

    It is not thread-safe; `linkwork.KinDyn` is.
    """

    def __init__(self) -> None:
        self._model = Model()
        self._base = ""
        self._representation = MIXED_REPRESENTATION
        self._computations: dict[tuple[str, int], KinDyn] = {}
        self._computed_robot: described.Model | None = None
        self._base_pose, self._base_velocity = np.eye(4), np.zeros(6)
        self._s, self._sd, self._gravity = np.zeros(0), np.zeros(0), np.zeros(3)
        self._q = np.zeros(0)
        self._acceleration: Array | None = None  # of base and joints

    @success
    def loadRobotModel(self, model: Model) -> None:
        """Copy a robot; the state is reset, and the base is the default one."""
        base = argument(model, Model, "model").link_name(model.getDefaultBaseLink())
        zero = Layout(model.robot, floating=False).zero()
        self._model.copy_from(model)
        self._base, self._computations, self._acceleration = base, {}, None
        self._set_state(np.eye(4), zero, np.zeros(6), np.zeros(model.getNrOfDOFs()), np.zeros(3))

    def isValid(self) -> bool:
        """Return whether there is a robot."""
        return self._model.getNrOfLinks() > 0

    def model(self) -> Model:
        """Return the robot; always the same object, empty before the first `loadRobotModel`."""
        return self._model

    getRobotModel = model

    def getNrOfDegreesOfFreedom(self) -> int:
        """Return the length of the joint velocities."""
        return self.model().getNrOfDOFs()

    def getNrOfLinks(self) -> int:
        """Return the number of links."""
        return self.model().getNrOfLinks()

    def getNrOfFrames(self) -> int:
        """Return the number of frames, including those of links."""
        return self.model().getNrOfFrames()

    def getFrameIndex(self, frameName: str) -> int:
        """Return the index of a frame."""
        return self.model().getFrameIndex(frameName)

    def getFrameName(self, frameIndex: int) -> str:
        """Return the name of a frame."""
        return self.model().getFrameName(frameIndex)

    @status("")
    def getDescriptionOfDegreeOfFreedom(self, dof_index: int) -> str:
        """Return the name of the joint that a velocity coordinate belongs to."""
        return name_at("degree of freedom", self._dof_names(), dof_index)

    def _dof_names(self) -> list[str]:
        return [joint.name for joint in self._robot.joints for _ in range(joint.nv)]

    def getFloatingBase(self) -> str:
        """Return the name of the base."""
        self._sizes()
        return self._base

    @success
    def setFloatingBase(self, floatingBaseName: str) -> None:
        """Choose another link or frame as base; the values of the state are unchanged."""
        self._base = self._robot.frame_names[self._robot.frame_index(floatingBaseName)]

    def getFrameVelocityRepresentation(self) -> int:
        """Return the representation of velocities."""
        return self._representation

    @success
    def setFrameVelocityRepresentation(self, frameVelRepr: int) -> None:
        """Set the representation of velocities: inertial (0), body (1) or mixed (2).

        The motion stays the same: the velocity of the base is converted. The acceleration is
        removed; set it again in the new representation.
        """
        if frameVelRepr not in (0, 1, 2):
            raise ValueRangeError(
                f"representation: expected INERTIAL_FIXED_REPRESENTATION (0), "
                f"BODY_FIXED_REPRESENTATION (1) or MIXED_REPRESENTATION (2), got {frameVelRepr!r}"
            )
        if frameVelRepr != self._representation:
            new_H_base = self._frame_H_base(frameVelRepr)
            old_H_base = self._frame_H_base(self._representation)
            new_H_old = new_H_base @ se3.inverse(old_H_base)
            self._base_velocity = motion.transform_motion(new_H_old, self._base_velocity)
            self._representation, self._acceleration = int(frameVelRepr), None

    @status(False, raising=(ModelError,))
    def setRobotState(self, *state: ArrayLike) -> bool:
        """Set the entire state.

        Args:
            state: either pose of the base (4, 4), joint positions, velocity of the base (6,), joint
                velocities, gravity (3,); or only joint positions, joint velocities and gravity, and
                the base is at rest at the world's origin.
        """
        if len(state) == 3:
            state = (np.eye(4), state[0], np.zeros(6), state[1], state[2])
        if len(state) != 5:
            raise ArgumentError(f"setRobotState: expected 5 or 3 arguments, got {len(state)}")
        pose, s, velocity, sd, gravity = state
        positions, velocities = self._sizes()
        self._set_state(
            _pose(pose),
            _vector(s, "joint positions", positions),
            _vector(velocity, "base velocity", 6),
            _vector(sd, "joint velocities", velocities),
            _vector(gravity, "gravity", 3),
        )
        return True

    @success
    def setJointPos(self, s: ArrayLike) -> None:
        """Set the joint positions."""
        positions = _vector(s, "joint positions", self._sizes()[0])
        self._set_state(self._base_pose, positions, self._base_velocity, self._sd, self._gravity)

    @status(False, raising=(ModelError,))
    def setWorldBaseTransform(self, pose: ArrayLike) -> bool:
        """Set the pose of the base; the values of its velocity are unchanged."""
        self._set_state(_pose(pose), self._s, self._base_velocity, self._sd, self._gravity)
        return True

    def getRobotState(self, *out: Any) -> Any:
        """Return the state, in the order of `setRobotState`.

        Returns:
            All five arrays; or True, if five or three arrays `out` to write to were passed.
        """
        base = (array_of(Transform, self._base_pose), array_of(Twist, self._base_velocity))
        s, sd = self.getJointPos(), self.getJointVel()
        state = (base[0], s, base[1], sd, array_of(Vector3, self._gravity))
        if not out:
            return state
        if len(out) not in (3, 5):
            raise ArgumentError(f"getRobotState: expected 5, 3 or no arrays, got {len(out)}")
        requested = state if len(out) == 5 else (s, sd, state[4])
        return write_all(requested, out)

    @success
    def setRobotAcceleration(self, baseAcc: ArrayLike, s_ddot: ArrayLike) -> None:
        """Set the accelerations of base (6,) and joints, a method of iDynFor."""
        self._acceleration = self._nu_dot(baseAcc, s_ddot)

    @status(False, output="baseAcc")
    def getRobotAcceleration(self, baseAcc: Any = None, s_ddot: Any = None) -> Any:
        """Return the accelerations of base and joints that were set.

        Returns:
            Both arrays; or True, if two arrays to write to were passed.
        """
        base, joints = np.split(self._stored_acceleration(), [6])
        if baseAcc is None:
            return array_of(Vector6, base), array_of(VectorDynSize, joints)
        return write_all((base, joints), (baseAcc, s_ddot))

    def _stored_acceleration(self) -> Array:
        if self._acceleration is None:
            raise LinkworkError("no acceleration yet; call setRobotAcceleration first")
        return self._acceleration

    def getWorldBaseTransform(self, out: Any = None) -> Any:
        """Return the pose of the base in the world."""
        return result(self._base_pose, out, Transform)

    def getBaseTwist(self, out: Any = None) -> Any:
        """Return the velocity of the base, in the current representation."""
        return result(self._base_velocity, out, Twist)

    def getJointPos(self, out: Any = None) -> Any:
        """Return the joint positions."""
        return result(self._s, out, VectorDynSize)

    def getJointVel(self, out: Any = None) -> Any:
        """Return the joint velocities."""
        return result(self._sd, out, VectorDynSize)

    def getModelVel(self, out: Any = None) -> Any:
        """Return the velocity of the base, then of the joints."""
        return result(self._nu, out, VectorDynSize)

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
        return write_all(matrices, out)

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

    @property
    def _robot(self) -> described.Model:
        if not self.isValid():
            raise LinkworkError("no robot yet; call loadRobotModel first")
        return self._model.robot

    def _sizes(self) -> tuple[int, int]:
        """Return the number of joint positions and joint velocities."""
        robot = self._robot
        return sum(joint.nq for joint in robot.joints), sum(joint.nv for joint in robot.joints)

    @property
    def _kd(self) -> KinDyn:
        """The `KinDyn` for the robot, base and representation; rebuilt if `model()` was changed."""
        if self._computed_robot is not self._robot:
            self._computed_robot, self._computations = self._robot, {}
        key = (self._base, self._representation)
        if key not in self._computations:
            representation = _REPRESENTATIONS[self._representation]
            self._computations[key] = KinDyn(
                self._robot, self._base, floating=True, representation=representation
            )
        return self._computations[key]

    @property
    def _nu(self) -> Array:
        return np.concatenate([self._base_velocity, self._sd])

    def _frame_H_base(self, representation: int) -> Array:
        """Pose of the base in the frame in which a representation expresses its velocity."""
        pose = np.eye(4) if representation == BODY_FIXED_REPRESENTATION else self._base_pose.copy()
        if representation == MIXED_REPRESENTATION:
            pose[:3, 3] = 0.0
        return pose

    def _set_state(self, pose: Array, s: Array, velocity: Array, sd: Array, gravity: Array) -> None:
        """Set the state atomically: an invalid rotation raises before anything is set."""
        self._q = np.concatenate([pose[:3, 3], quat.from_rotation(pose[:3, :3]), s])
        self._base_pose, self._s, self._base_velocity = pose, s, velocity
        self._sd, self._gravity = sd, gravity

    def _frame(self, frame: int | str) -> str:
        """Return the name of a frame, from its name or index."""
        if isinstance(frame, str):
            return self._robot.frame_names[self._robot.frame_index(frame)]
        return self.model().frame_name(frame)

    def _nu_dot(self, base: ArrayLike, joints: ArrayLike) -> Array:
        dofs = self.model().getNrOfDOFs()
        return np.concatenate(
            [_vector(base, "base acceleration", 6), _vector(joints, "joint accelerations", dofs)]
        )


def _vector(value: ArrayLike, name: str, size: int) -> Array:
    """Copy a vector, which may also be a row or a column."""
    vector = np.array(as_floats(value, name), subok=False)
    if vector.shape not in ((size,), (size, 1), (1, size)):
        raise ShapeError(f"{name}: expected {(size,)}, got {vector.shape}")
    return vector.reshape(size)


def _pose(value: ArrayLike) -> Array:
    """Copy a pose; a rotation that was rounded, as in a file, is replaced by the nearest one."""
    pose = np.array(as_floats(value, "base pose"), subok=False)
    if pose.shape == (4, 4) and pose[3].tolist() == [0.0, 0.0, 0.0, 1.0]:
        R = pose[:3, :3]
        error = np.abs(R @ R.T - np.eye(3)).max()
        if error <= ROUNDED_ROTATION and np.linalg.det(R) > 0 and np.isfinite(pose).all():
            if error > NOT_ROUNDING:
                pose[:3, :3] = so3.project(R)
            return pose
    as_pose(pose, "base pose")  # raises with the reason
    return pose
