"""adam's inverse kinematics: base pose and joint positions for targets of frames, with Opti."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.bridges.casadi.sx import casadi_package
from linkwork.compat.adam.casadi.computations import KinDynComputations
from linkwork.compat.adam.model import unknown_name
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import LinkworkError, ValueRangeError
from linkwork.spatial import quat
from linkwork.spatial.blocks import quaternion_rotation

SLACK = 1e-3  # largest squared distance that a soft constraint between frames allows


class TargetType(Enum):
    """The part of a frame's pose that has a target."""

    POSITION = auto()
    ROTATION = auto()
    POSE = auto()


class FramesConstraint(Enum):
    """Constraint between two frames."""

    BALL = auto()  # the same position
    FIXED = auto()  # the same pose


@dataclass
class Target:
    """The target of a frame."""

    target_type: TargetType
    frame: str
    weight: float = 1.0
    as_soft_constraint: bool = True
    forward_kinematics_function: Any = None
    param_pos: Any = None  # (3, 1) parameter of the problem for a position
    param_rot: Any = None  # (3, 3) parameter of the problem for a rotation


class ProblemError(LinkworkError, RuntimeError):
    """The problem is incomplete, or cannot be changed after it was solved."""


class InverseKinematics:
    """Inverse kinematics as an optimization problem.

    Args:
        urdf_path: path or contents of a URDF.
        joints_list: the moving joints.
        joint_limits_active: whether joints stay within the limits of the file.
        solver_settings: options of IPOPT.

    The variables are the base's position (3), its quaternion (4) as (x, y, z, w), and the joints.
    First add targets, each with a weight or as a hard constraint. Then set their values with
    `update_target` and call `solve`, repeatedly if needed: it starts from the last solution.
    """

    def __init__(
        self,
        urdf_path: Any,
        joints_list: Sequence[str],
        joint_limits_active: bool = True,
        solver_settings: dict[str, Any] | None = None,
    ) -> None:
        ca = casadi_package()
        self.kd = KinDynComputations(urdf_path, joints_list)
        self.joints_list = list(joints_list)
        self.ndof = len(self.joints_list)
        self.opti = ca.Opti()
        self.base_pos = self.opti.variable(3)
        self.base_quat = self.opti.variable(4)
        self.joint_pos = self.opti.variable(self.ndof)
        self.base_homogeneous = self.base_transform()
        self.targets: dict[str, Target] = {}
        self.cost_terms: list[Any] = []
        self.joint_limits_active = joint_limits_active
        self._is_built = False
        self._solution: Any = None
        self.opti.subject_to(ca.sumsqr(self.base_quat) == 1)
        self.set_initial_guess(np.eye(4), np.zeros(self.ndof))
        self.set_default_joint_limit_constraints()
        settings = {"ipopt": {"print_level": 0}} if solver_settings is None else solver_settings
        self.opti.solver("ipopt", settings)

    # The problem.

    def get_opti(self) -> Any:
        """Return the `casadi.Opti`, for further constraints."""
        return self.opti

    def get_opti_variables(self) -> dict[str, Any]:
        """The variables: base_pos (3), base_quat (4) xyzw, joint_pos (n), base_homogeneous."""
        names = ("base_pos", "base_quat", "joint_pos", "base_homogeneous")
        return {name: getattr(self, name) for name in names}

    def get_kin_dyn_computations(self) -> KinDynComputations:
        """Return the robot."""
        return self.kd

    def base_transform(self) -> Any:
        """(4, 4) pose of the base in the world as a function of the variables."""
        ca = casadi_package()
        x, y, z, w = ca.vertsplit(self.base_quat)
        rotation = ca.vertcat(*[ca.horzcat(*row) for row in quaternion_rotation((w, x, y, z))])
        return ca.vertcat(ca.horzcat(rotation, self.base_pos), ca.DM([[0, 0, 0, 1]]))

    def set_solver(self, solver_name: str, solver_settings: dict[str, Any]) -> None:
        """Set another CasADi solver."""
        self.opti.solver(solver_name, solver_settings)
        self._solution = None

    def set_default_joint_limit_constraints(self) -> None:
        """Keep joints within the limits of the file, if these are active."""
        for index, name in enumerate(self.joints_list if self.joint_limits_active else ()):
            limit = self.kd.model.joints[name].limit
            self._bound(index, limit.lower, limit.upper)

    def set_joint_limits(self, lower_bounds: ArrayLike, upper_bounds: ArrayLike) -> None:
        """Keep joints within further bounds, each (n,)."""
        self._check_open()
        lower, upper = np.asarray(lower_bounds, float), np.asarray(upper_bounds, float)
        if lower.shape != (self.ndof,) or upper.shape != (self.ndof,):
            message = f"expected two vectors ({self.ndof},), got {lower.shape} and {upper.shape}"
            raise ValueRangeError(f"joint limits: {message}")
        for index in range(self.ndof):
            self._bound(index, lower[index], upper[index])

    def set_joint_limit(self, joint_name: str, lower_limit: float, upper_limit: float) -> None:
        """Keep one joint within further bounds.

        Raises:
            ValueError: there is no such joint, or the lower limit is above the upper one.
        """
        self._check_open()
        if joint_name not in self.joints_list:
            raise unknown_name("joint", joint_name, self.joints_list)
        if not lower_limit <= upper_limit:
            message = f"expected lower <= upper, got {lower_limit} and {upper_limit}"
            raise ValueRangeError(f"limits of joint {joint_name!r}: {message}")
        self._bound(self.joints_list.index(joint_name), lower_limit, upper_limit)

    def add_cost(self, cost: Any) -> None:
        """Add a term to the cost."""
        self._check_open()
        self.cost_terms.append(cost)

    # Targets.

    def add_target(
        self,
        frame: str,
        target_type: TargetType,
        *,
        as_soft_constraint: bool = True,
        weight: float = 1.0,
    ) -> None:
        """Add a target for a frame; its initial value is the origin and the axes of the world.

        Args:
            frame: a link or frame, which may have one target.
            target_type: position, rotation or pose.
            as_soft_constraint: whether the error is minimized; otherwise it is constrained to zero.
            weight: weight of a soft constraint.
        """
        ca = casadi_package()
        self._check_open()
        if frame in self.targets:
            raise ValueRangeError(f"frame {frame!r} already has a target")
        if not isinstance(target_type, TargetType):
            raise ValueRangeError(f"target_type: expected a TargetType, got {target_type!r}")
        target = Target(target_type, frame, weight, as_soft_constraint)
        target.forward_kinematics_function = self.kd.forward_kinematics_fun(frame)
        pose = self._pose(frame)
        if target_type is not TargetType.ROTATION:
            target.param_pos = self._parameter(np.zeros(3))
            difference = pose[:3, 3] - target.param_pos
            self._add(difference, weight * ca.sumsqr(difference), as_soft_constraint)
        if target_type is not TargetType.POSITION:
            target.param_rot = self._parameter(np.eye(3))
            relative = target.param_rot.T @ pose[:3, :3]
            self._add(_axis(relative), weight * _chordal(relative), as_soft_constraint)
        self.targets[frame] = target

    def add_target_position(
        self, frame: str, *, as_soft_constraint: bool = True, weight: float = 1.0
    ) -> None:
        """Add a target for the position of a frame; arguments as in `add_target`."""
        self.add_target(
            frame, TargetType.POSITION, as_soft_constraint=as_soft_constraint, weight=weight
        )

    def add_target_orientation(
        self, frame: str, *, as_soft_constraint: bool = True, weight: float = 1.0
    ) -> None:
        """Add a target for the rotation of a frame; arguments as in `add_target`."""
        self.add_target(
            frame, TargetType.ROTATION, as_soft_constraint=as_soft_constraint, weight=weight
        )

    def add_target_pose(
        self, frame: str, *, as_soft_constraint: bool = True, weight: float = 1.0
    ) -> None:
        """Add a target for the pose of a frame; arguments as in `add_target`."""
        self.add_target(
            frame, TargetType.POSE, as_soft_constraint=as_soft_constraint, weight=weight
        )

    def update_target(self, frame: str, target: Any) -> None:
        """Set a target: a position (3,), a rotation (3, 3), or both in a tuple for a pose."""
        kind = self._target(frame).target_type
        if kind is TargetType.POSITION:
            self.update_target_position(frame, target)
        elif kind is TargetType.ROTATION:
            self.update_target_orientation(frame, target)
        elif isinstance(target, (list, tuple)) and len(target) == 2:
            self.update_target_pose(frame, *target)
        else:
            raise ValueRangeError(f"target of frame {frame!r}: expected (position, rotation)")

    def update_target_position(self, frame: str, position: ArrayLike) -> None:
        """Set the target position, (3,)."""
        self.opti.set_value(self._target(frame, TargetType.POSITION).param_pos, position)

    def update_target_orientation(self, frame: str, rotation: ArrayLike) -> None:
        """Set the target rotation, (3, 3)."""
        self.opti.set_value(self._target(frame, TargetType.ROTATION).param_rot, rotation)

    def update_target_pose(self, frame: str, position: ArrayLike, rotation: ArrayLike) -> None:
        """Set the target pose, (3,) and (3, 3)."""
        target = self._target(frame, TargetType.POSE)
        self.opti.set_value(target.param_pos, position)
        self.opti.set_value(target.param_rot, rotation)

    # Constraints between frames.

    def add_frames_constraint(
        self,
        parent_frame: str,
        child_frame: str,
        constraint_type: FramesConstraint,
        as_soft_constraint: bool = True,
        weight: float = 1e5,
    ) -> None:
        """Constrain two frames to each other.

        Args:
            parent_frame, child_frame: the frames.
            constraint_type: the same position, or the same pose.
            as_soft_constraint: whether a squared distance [m^2, rad^2] of up to 1e-3 may remain,
                whose square is minimized.
            weight: weight of a soft constraint.
        """
        ca = casadi_package()
        self._check_open()
        if parent_frame == child_frame:
            raise ValueRangeError(f"frame {parent_frame!r} is constrained to itself")
        if not isinstance(constraint_type, FramesConstraint):
            message = f"expected a FramesConstraint, got {constraint_type!r}"
            raise ValueRangeError(f"constraint_type: {message}")
        parent, child = self._pose(parent_frame), self._pose(child_frame)
        offset = child[:3, 3] - parent[:3, 3]
        rotation = parent[:3, :3].T @ child[:3, :3]
        is_fixed = constraint_type is FramesConstraint.FIXED
        if as_soft_constraint:
            slack = self.opti.variable(1)
            error = ca.sumsqr(offset) + (_chordal(rotation) if is_fixed else 0)
            self.opti.subject_to(error <= slack)
            self.opti.subject_to(self.opti.bounded(0, slack, SLACK))
            self.cost_terms.append(weight * slack**2)
            return
        self.opti.subject_to(offset == 0)
        if is_fixed:
            self.opti.subject_to(_axis(rotation) == 0)

    def add_ball_constraint(
        self,
        parent_frame: str,
        child_frame: str,
        as_soft_constraint: bool = True,
        weight: float = 1e5,
    ) -> None:
        """Keep two frames at the same position; arguments as in `add_frames_constraint`."""
        frames = parent_frame, child_frame
        self.add_frames_constraint(*frames, FramesConstraint.BALL, as_soft_constraint, weight)

    def add_fixed_constraint(
        self,
        parent_frame: str,
        child_frame: str,
        as_soft_constraint: bool = True,
        weight: float = 1e5,
    ) -> None:
        """Keep two frames at the same pose; arguments as in `add_frames_constraint`."""
        frames = parent_frame, child_frame
        self.add_frames_constraint(*frames, FramesConstraint.FIXED, as_soft_constraint, weight)

    def add_min_distance_constraint(self, frames_list: Sequence[str], distance: float) -> None:
        """Keep each frame of a list at least a distance [m] from the next one."""
        self._check_open()
        if len(frames_list) < 2:
            raise ValueRangeError("frames_list: expected two frames or more")
        for first, second in pairwise(frames_list):
            offset = self._pose(first)[:3, 3] - self._pose(second)[:3, 3]
            self.opti.subject_to(casadi_package().sumsqr(offset) >= distance**2)

    # Solving.

    def set_initial_guess(self, base_transform: ArrayLike, joint_values: ArrayLike) -> None:
        """Set the initial pose of the base (4, 4) and joints (n,)."""
        pose = np.asarray(base_transform, float)
        w, x, y, z = quat.from_rotation(pose[:3, :3])
        self.opti.set_initial(self.base_pos, pose[:3, 3])
        self.opti.set_initial(self.base_quat, [x, y, z, w])
        self.opti.set_initial(self.joint_pos, joint_values)

    def solve(self) -> None:
        """Solve the problem, from the last solution if there is one."""
        if not self._is_built:
            if not self.cost_terms:
                raise ProblemError("no targets: add at least one soft target, or a cost")
            self.opti.minimize(sum(self.cost_terms))
            self._is_built = True
        if self._solution is not None:
            for variable in (self.base_pos, self.base_quat, self.joint_pos):
                self.opti.set_initial(variable, self._solution.value(variable))
        self._solution = self.opti.solve()

    def get_solution(self) -> tuple[Array, Array]:
        """(4, 4) pose of the base in the world, and (n,) joint positions."""
        if self._solution is None:
            raise ProblemError("there is no solution yet; call solve() first")
        pose = self._solution.value(self.base_homogeneous)
        return np.array(pose), np.reshape(self._solution.value(self.joint_pos), (self.ndof,))

    # Helpers.

    def _add(self, difference: Any, cost: Any, is_soft: bool) -> None:
        if is_soft:
            self.cost_terms.append(cost)
        else:
            self.opti.subject_to(difference == 0)

    def _bound(self, index: int, lower: float, upper: float) -> None:
        self.opti.subject_to(self.opti.bounded(lower, self.joint_pos[index], upper))

    def _parameter(self, value: Array) -> Any:
        parameter = self.opti.parameter(*value.shape)
        self.opti.set_value(parameter, value)
        return parameter

    def _pose(self, frame: str) -> Any:
        return self.kd.forward_kinematics_fun(frame)(self.base_homogeneous, self.joint_pos)

    def _target(self, frame: str, expected: TargetType | None = None) -> Target:
        if frame not in self.targets:
            raise ValueRangeError(f"frame {frame!r} has no target")
        target = self.targets[frame]
        if expected not in (None, target.target_type):
            message = f"is of type {target.target_type.name}, not {expected.name}"
            raise ValueRangeError(f"the target of frame {frame!r} {message}")
        return target

    def _check_open(self) -> None:
        if self._is_built:
            raise ProblemError("the problem was already solved and cannot be changed")


def _chordal(rotation: Any) -> Any:
    """Half the squared chordal distance of a rotation from the identity: about the squared angle.

    Its curvature does not vanish at the identity, so that solvers converge to full precision.
    """
    return 3 - casadi_package().trace(rotation)


def _axis(R: Any) -> Any:
    """(3, 1) axis of a rotation times twice the sine of its angle; zero for the identity."""
    return casadi_package().vertcat(R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])
