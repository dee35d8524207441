"""The robot, base, representation and state of `KinDynComputations`.

State      pose and velocity of the base, joint positions and velocities, gravity in the world;
           accelerations, if they were set
Initial    the base at the world's origin, everything else 0, including gravity
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import linkwork.model.model as described
from linkwork.compat.idyntree.absent import Partial
from linkwork.compat.idyntree.arrays import (
    Vector3,
    Vector6,
    VectorDynSize,
    array_of,
    result,
    write,
)
from linkwork.compat.idyntree.geometry import Transform, Twist
from linkwork.compat.idyntree.robot.model import Model
from linkwork.compat.idyntree.robot.records import name_at
from linkwork.compat.idyntree.statuses import status, success
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import (
    ArgumentError,
    LinkworkError,
    ModelError,
    ShapeError,
    ValueRangeError,
    shown,
)
from linkwork.kindyn import KinDyn
from linkwork.mechanics.base import Representation
from linkwork.model.layout import Layout
from linkwork.model.pose import as_floats, as_pose
from linkwork.spatial import motion, quat, se3, so3

INERTIAL_FIXED_REPRESENTATION = 0
BODY_FIXED_REPRESENTATION = 1
MIXED_REPRESENTATION = 2
NOT_ROUNDING = 1e-12  # up to this error a rotation is used unchanged
ROUNDED_ROTATION = 5e-3  # above this error it is rejected; it allows 1e-3 in each element
_REPRESENTATIONS: tuple[Representation, ...] = ("inertial", "body", "mixed")


class StateMethods(Partial):
    """Load a robot, choose its base and representation, and set its state."""

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
        if not isinstance(model, Model):
            raise ArgumentError(f"model: expected a Model, got {shown(model)}")
        base = model.link_name(model.getDefaultBaseLink())
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

    def getDescriptionOfDegreesOfFreedom(self) -> str:
        """Return names of the joints, one per line, in the order of the joint velocities."""
        names = enumerate(self._dof_names())
        return "".join(f"DOF Index: {index} Name: {name}\n" for index, name in names)

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
        for value, array in zip(requested, out, strict=True):
            write(value, array)
        return True

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
        write(base, baseAcc)
        write(joints, s_ddot)
        return True

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
