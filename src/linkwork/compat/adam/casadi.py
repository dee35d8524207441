"""The classes of `adam.casadi`, and its inverse kinematics, which `lw.ik` solves.

Methods accept SX, MX, DM and numbers; methods `*_fun()` return a `casadi.Function`.
"""

# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.bridges.casadi.kernels import as_matrix, casadi_package, matrix_shape, sx_function
from linkwork.compat.adam import parametric
from linkwork.compat.adam.core import SpatialMath as SpatialMath  # noqa: PLC0414 - of adam.casadi
from linkwork.compat.adam.model import unknown_name
from linkwork.compat.adam.numpy import STANDARD_GRAVITY, DifferentiableKinDyn
from linkwork.engine.cached_property import cached_property
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.program import Port
from linkwork.errors import LinkworkError, ShapeError, ValueRangeError
from linkwork.inverse_kinematics.ik import ik
from linkwork.kindyn import KinDyn
from linkwork.model.layout import BASE_NQ
from linkwork.spatial import quat

F_OPTS: dict[str, Any] = {"jit": False, "jit_options": {"flags": "-Ofast"}, "cse": True}

_SHORT = {
    "base_transform": "H",
    "joint_positions": "s",
    "base_velocity": "v_b",
    "joint_velocities": "s_dot",
    "joint_torques": "tau",
}


def _function_of(name: str, symbol: str) -> Callable[..., Any]:
    """Build the method `*_fun()` of a method: it returns a `casadi.Function`.

    Args:
        name: the method.
        symbol: name of the `casadi.Function`.
    """
    method = getattr(DifferentiableKinDyn, name)
    parameters = inspect.signature(method).parameters

    def of_robot(self: KinDynComputations) -> Any:
        return self._casadi_function(symbol, self.robot_kernel(name))  # pyright: ignore[reportPrivateUsage]

    def of_frame(self: KinDynComputations, frame: str) -> Any:
        return self._casadi_function(symbol, self.frame_kernel(name, frame))  # pyright: ignore[reportPrivateUsage]

    function: Any = of_frame if "frame" in parameters else of_robot
    arguments = ", ".join(_SHORT[name] for name in parameters if name in _SHORT)
    summary = (inspect.getdoc(method) or "").partition("\n")[0]
    function.__name__ = f"{name}_fun"
    function.__qualname__ = f"KinDynComputations.{name}_fun"
    function.__doc__ = f"The `casadi.Function` of ({arguments}). {summary}"
    return function


class KinDynComputations(DifferentiableKinDyn):
    """Kinematics and dynamics of a robot with a floating base, for CasADi.

    Args:
        urdfstring: path or contents of a URDF, or a `mujoco.MjModel`.
        joints_name_list: the moving joints, in this order; by default all movable joints. Other
            joints are locked at 0.
        root_link: the link whose pose and velocity are those of the base; by default the link that
            is the child of no joint.
        gravity: (6,) acceleration of free fall in the world, and three zeros.
        f_opts: options of the functions that methods named `*_fun` return.

    Every method accepts SX, MX, DM or numbers, one state at a time; vectors are columns (n, 1).
    Each has a counterpart `*_fun()` that returns a `casadi.Function` of the same arguments, with
    the current velocity representation, root and gravity.
    """

    def __init__(
        self,
        urdfstring: Any,
        joints_name_list: Sequence[str] | None = None,
        root_link: str | None = None,
        gravity: ArrayLike = STANDARD_GRAVITY,
        f_opts: Mapping[str, Any] = F_OPTS,
    ) -> None:
        casadi_package()
        self.f_opts = dict(f_opts)
        super().__init__(urdfstring, joints_name_list, root_link=root_link, gravity=gravity)

    def _wrap(self, kernel: Kernel) -> Any:
        return CasadiFunction(kernel)

    def link_poses(self, base_transform: Any, joint_positions: Any) -> dict[str, Any]:
        """Return poses of all links in the world, by name, depth first; without those of frames.

        Returns:
            (4, 4) w_H_link each.
        """
        names = self._model.tree.ordered_nodes_list
        return {
            name: self.forward_kinematics(name, base_transform, joint_positions) for name in names
        }

    forward_kinematics_fun = _function_of("forward_kinematics", "H")
    jacobian_fun = _function_of("jacobian", "J_tot")
    relative_jacobian_fun = _function_of("relative_jacobian", "J")
    jacobian_dot_fun = _function_of("jacobian_dot", "J_dot")
    mass_matrix_fun = _function_of("mass_matrix", "M")
    centroidal_momentum_matrix_fun = _function_of("centroidal_momentum_matrix", "Jcm")
    CoM_position_fun = _function_of("CoM_position", "CoM_pos")
    CoM_jacobian_fun = _function_of("CoM_jacobian", "J_com")
    bias_force_fun = _function_of("bias_force", "h")
    coriolis_term_fun = _function_of("coriolis_term", "C")
    gravity_term_fun = _function_of("gravity_term", "G")
    aba_fun = _function_of("aba", "aba")

    def _casadi_function(self, name: str, kernel: Any) -> Any:
        """Build a `casadi.Function` with the current gravity and adam's options."""
        symbols = {p.name: self._symbol(p) for p in kernel.inputs if p.name != "g"}
        result = kernel(*[symbols.get(port.name, self.g) for port in kernel.inputs])
        return casadi_package().Function(name, list(symbols.values()), [result], self.f_opts)

    def _symbol(self, port: Port) -> Any:
        """Return the symbol of an argument of a `casadi.Function`."""
        return casadi_package().SX.sym(_SHORT[port.name], *matrix_shape(port))


class CasadiFunction:
    """A kernel as a function of CasADi's matrices and of numbers."""

    def __init__(self, kernel: Kernel) -> None:
        self.inputs = kernel.signature.inputs
        self._function = sx_function(kernel)

    def __call__(self, *arguments: Any) -> Any:
        """Call with SX, MX or DM; the result has the same type."""
        pairs = zip(self.inputs, arguments, strict=True)
        return self._function(*[_matrix(port, value) for port, value in pairs])

    def warmup(self) -> None:
        """Do nothing: nothing is compiled."""


def _matrix(port: Port, value: Any) -> Any:
    """Convert an argument to a matrix of the shape of its port."""
    value, shape = as_matrix(port, value), matrix_shape(port)
    if value.shape == shape[::-1] and 1 in shape:
        return value.T  # a row instead of a column
    if value.shape != shape:
        raise ShapeError(f"{port.name}: expected {shape}, got {value.shape}")
    return value


# Inverse kinematics.

HARD = 1e6  # weight of a target that is a hard constraint
EFFORT: dict[str, Any] = {"tolerance": 1e-10, "max_iterations": 1000, "restarts": 0}  # of `lw.ik`
MISSED = 1e-5  # error [m, rad] above which a hard constraint is not met


class TargetType(Enum):
    """The part of a frame's pose that has a target."""

    POSITION = auto()
    ROTATION = auto()
    POSE = auto()


class ProblemError(LinkworkError, RuntimeError):
    """A method that the state of the problem does not allow, or a problem without a solution."""


@dataclass
class Target:
    """The target of a frame."""

    target_type: TargetType
    frame: str
    weight: float
    as_soft_constraint: bool
    pose: Array  # (4, 4), of which the type selects parts

    def weights(self) -> tuple[float, float]:
        """Return the factors of position and rotation; adam weights the squares of the errors."""
        factor = float(np.sqrt(self.weight if self.as_soft_constraint else HARD))
        kind = self.target_type
        return factor * (kind is not TargetType.ROTATION), factor * (
            kind is not TargetType.POSITION
        )


class InverseKinematics:
    """Inverse kinematics as an optimization problem.

    Add targets, each with a weight or as a hard constraint. Then set their values with
    `update_target` and call `solve`, repeatedly if needed: it starts from the last solution.

    Args:
        urdf_path: path or contents of a URDF.
        joints_list: the moving joints.
        joint_limits_active: whether joints stay within the limits of the file.
        solver_settings: options of IPOPT in adam; they have no effect.
    """

    def __init__(
        self,
        urdf_path: Any,
        joints_list: Sequence[str],
        joint_limits_active: bool = True,
        solver_settings: dict[str, Any] | None = None,
    ) -> None:
        del solver_settings
        self.kd = KinDynComputations(urdf_path, joints_list)
        self.joints_list, self.ndof = list(joints_list), len(joints_list)
        self.targets: dict[str, Target] = {}
        self.joint_limits_active = joint_limits_active
        self._moving = [self.kd.model.is_moving(name) for name in self.joints_list]
        self._bounds = {  # by joint
            name: (joint.limit.lower, joint.limit.upper)
            if joint_limits_active
            else (-np.inf, np.inf)
            for name in self.joints_list
            if (joint := self.kd.model.joints[name])
        }
        self._robot: KinDyn | None = None  # with these bounds
        self._is_solved = False
        self.set_initial_guess(np.eye(4), np.zeros(self.ndof))

    def get_kin_dyn_computations(self) -> KinDynComputations:
        """Return the robot."""
        return self.kd

    def set_joint_limits(self, lower_bounds: ArrayLike, upper_bounds: ArrayLike) -> None:
        """Keep joints within further bounds, each (n,)."""
        lower, upper = np.asarray(lower_bounds, float), np.asarray(upper_bounds, float)
        if lower.shape != (self.ndof,) or upper.shape != (self.ndof,):
            message = f"expected two vectors ({self.ndof},), got {lower.shape} and {upper.shape}"
            raise ValueRangeError(f"joint limits: {message}")
        for name, low, high in zip(self.joints_list, lower, upper, strict=True):
            self.set_joint_limit(name, low, high)

    def set_joint_limit(self, joint_name: str, lower_limit: float, upper_limit: float) -> None:
        """Keep one joint within further bounds.

        Raises:
            ValueError: there is no such joint, or no position is within all of its bounds.
        """
        if joint_name not in self._bounds:
            raise unknown_name("joint", joint_name, self.joints_list)
        lower, upper = self._bounds[joint_name]
        bounds = max(lower, float(lower_limit)), min(upper, float(upper_limit))
        if not bounds[0] <= bounds[1]:
            message = f"expected lower <= upper, got {bounds[0]} and {bounds[1]}"
            raise ValueRangeError(f"limits of joint {joint_name!r}: {message}")
        self._bounds[joint_name], self._robot = bounds, None

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
            as_soft_constraint: whether the error is minimized; otherwise it must become zero.
            weight: weight of a soft constraint.
        """
        if frame in self.targets:
            raise ValueRangeError(f"frame {frame!r} already has a target")
        if not isinstance(target_type, TargetType):
            raise ValueRangeError(f"target_type: expected a TargetType, got {target_type!r}")
        self.kd.frame_kernel("forward_kinematics", frame)  # raises if there is no such frame
        self.targets[frame] = Target(target_type, frame, weight, as_soft_constraint, np.eye(4))

    def add_target_position(self, frame: str, **options: Any) -> None:
        """Add a target for the position of a frame; options as in `add_target`."""
        self.add_target(frame, TargetType.POSITION, **options)

    def add_target_orientation(self, frame: str, **options: Any) -> None:
        """Add a target for the rotation of a frame; options as in `add_target`."""
        self.add_target(frame, TargetType.ROTATION, **options)

    def add_target_pose(self, frame: str, **options: Any) -> None:
        """Add a target for the pose of a frame; options as in `add_target`."""
        self.add_target(frame, TargetType.POSE, **options)

    def update_target(self, frame: str, target: Any) -> None:
        """Set a target: a position (3,), a rotation (3, 3), or both in a tuple for a pose."""
        match self._target(frame).target_type:
            case TargetType.POSITION:
                self.update_target_position(frame, target)
            case TargetType.ROTATION:
                self.update_target_orientation(frame, target)
            case TargetType.POSE:
                self.update_target_pose(frame, *target)

    def update_target_position(self, frame: str, position: ArrayLike) -> None:
        """Set the target position, (3,)."""
        self._target(frame, TargetType.POSITION).pose[:3, 3] = position

    def update_target_orientation(self, frame: str, rotation: ArrayLike) -> None:
        """Set the target rotation, (3, 3)."""
        self._target(frame, TargetType.ROTATION).pose[:3, :3] = rotation

    def update_target_pose(self, frame: str, position: ArrayLike, rotation: ArrayLike) -> None:
        """Set the target pose, (3,) and (3, 3)."""
        pose = self._target(frame, TargetType.POSE).pose
        pose[:3, 3], pose[:3, :3] = position, rotation

    def _target(self, frame: str, expected: TargetType | None = None) -> Target:
        if frame not in self.targets:
            raise ValueRangeError(f"frame {frame!r} has no target")
        target = self.targets[frame]
        if expected not in (None, target.target_type):
            message = f"is of type {target.target_type.name}, not {expected.name}"
            raise ValueRangeError(f"the target of frame {frame!r} {message}")
        return target

    # Solving.

    def set_initial_guess(self, base_transform: ArrayLike, joint_values: ArrayLike) -> None:
        """Set the initial pose of the base (4, 4) and joints (n,)."""
        pose, joints = np.asarray(base_transform, float), np.asarray(joint_values, float)
        self._joints = joints.reshape(self.ndof).copy()
        wxyz = quat.from_rotation(pose[:3, :3])
        self._q = np.concatenate([pose[:3, 3], wxyz, self._joints[self._moving]])

    def solve(self) -> None:
        """Solve the problem, from the last solution if there is one.

        Raises:
            RuntimeError: there are no targets, or a hard constraint cannot be met from the start.
        """
        if not self.targets:
            raise ProblemError("no targets: add at least one")
        if self._robot is None:
            bounds = {name: b for name, b in self._bounds.items() if self.kd.model.is_moving(name)}
            moving = self.kd.model.moving.with_limits(position=bounds)
            self._robot = KinDyn(moving, self.kd.root_link, floating=True)
        weights = {frame: target.weights() for frame, target in self.targets.items()}
        poses = {frame: target.pose for frame, target in self.targets.items()}
        result = ik(self._robot, poses, self._q, weights=weights, **EFFORT)
        for frame, target in self.targets.items():
            errors = result.position_errors[frame], result.rotation_errors[frame]
            used = [error for error, weight in zip(errors, target.weights(), strict=True) if weight]
            if not target.as_soft_constraint and max(used) > MISSED:
                raise ProblemError(f"the target of frame {frame!r}, a hard constraint, is not met")
        self._q, self._is_solved = result.q, True

    def get_solution(self) -> tuple[Array, Array]:
        """(4, 4) pose of the base in the world, and (n,) joint positions."""
        if not self._is_solved or self._robot is None:
            raise ProblemError("there is no solution yet; call solve() first")
        joints = self._joints.copy()
        joints[self._moving] = self._q[BASE_NQ:]
        return np.array(self._robot.transform(self._robot.base, self._q)), joints


class KinDynComputationsParametric(parametric.KinDynComputationsParametric, KinDynComputations):
    """A robot with lengths and densities as inputs: the class of `adam.parametric.casadi`.

    They are the last arguments of the functions `*_fun()`. Methods without `_fun`, which adam does
    not have here, take the arguments themselves.
    """

    @cached_property
    def length_multiplier(self) -> Any:
        """(k, 1) symbols of the lengths in the functions `*_fun()`."""
        return casadi_package().SX.sym("length_multiplier", len(self.links_name_list))

    @cached_property
    def densities(self) -> Any:
        """(k, 1) symbols of the densities in the functions `*_fun()`."""
        return casadi_package().SX.sym("densities", len(self.links_name_list))

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()  # CasADi's symbols cannot be pickled
        return {key: value for key, value in state.items() if key not in parametric.SHAPE}

    def get_total_mass(self) -> Any:
        """Return the function of the mass [kg], from lengths and densities."""
        return sx_function(self._mass_kernel())

    def _symbol(self, port: Port) -> Any:
        if port.name in parametric.SHAPE:
            return getattr(self, port.name)
        return super()._symbol(port)
