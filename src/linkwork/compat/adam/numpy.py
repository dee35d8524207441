"""The class of `adam.numpy`, the base of the classes for other frameworks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.adam.core import (
    NAMES,
    NumpyLike,
    Representations,
    name_of,
)
from linkwork.compat.adam.core import SpatialMath as SpatialMath  # noqa: PLC0414 - adam.numpy
from linkwork.compat.adam.kernels import PoseFunction, SmoothFunction, check_gravity
from linkwork.compat.adam.model import (
    AdamModel,
    actuated_joints_of,
    read_adam_model,
    unknown_name,
)
from linkwork.engine.cached_property import cached_property
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ShapeError, shown
from linkwork.kindyn import KinDyn

if TYPE_CHECKING:
    from typing_extensions import Self


STANDARD_GRAVITY = (0.0, 0.0, -9.80665, 0.0, 0.0, 0.0)
"""Acceleration of free fall in the world [m/s^2], and the angular part, as in adam."""

# The quantity of `KinDyn` for each method; methods of frames have the frame as first argument.
QUANTITIES = {
    "forward_kinematics": "transform",
    "jacobian": "jacobian",
    "relative_jacobian": "relative_jacobian",
    "jacobian_dot": "jacobian_dot",
    "CoM_position": "com",
    "CoM_jacobian": "com_jacobian",
    "mass_matrix": "mass_matrix",
    "centroidal_momentum_matrix": "centroidal_momentum_matrix",
    "bias_force": "bias_force",
    "coriolis_term": "coriolis_force",
    "gravity_term": "gravity_force",
    "aba": "forward_dynamics",
}


class KinDynComputations:
    """Kinematics and dynamics of a robot with a floating base, with adam's interface.

    Args:
        urdfstring: path or contents of a URDF, or a `mujoco.MjModel`.
        joints_name_list: the moving joints, in this order; by default all movable joints. Other
            joints are locked at 0.
        dtype: numpy.float64 or numpy.float32.
        root_link: the link whose pose and velocity are those of the base; by default the link that
            is the child of no joint.
        gravity: (6,) acceleration of free fall in the world, and three zeros.

    Raises:
        ValueError: the description is invalid, or has no such joints or link.
    """

    _function: type[PoseFunction] = PoseFunction

    def __init__(
        self,
        urdfstring: Any,
        joints_name_list: Sequence[str] | None = None,
        dtype: Any = np.float64,
        root_link: str | None = None,
        gravity: ArrayLike = STANDARD_GRAVITY,
    ) -> None:
        self._model = read_adam_model(urdfstring, joints_name_list)
        self._root_of_file = self._model.root
        self.model = self._model  # links, frames and joints by name; subclasses may replace it
        self._kd = self._robot(dtype)
        self._views: dict[str, tuple[KinDyn, dict[Any, Kernel]]] = {}
        self.NDoF = self._model.NDoF
        self.g = gravity
        self.set_frame_velocity_representation(Representations.MIXED_REPRESENTATION)
        if root_link is not None:
            self.set_root_link(root_link)

    def _robot(self, dtype: Any) -> KinDyn:
        """Return the robot with the root of the file as its base."""
        return KinDyn(self._model.moving, self._model.root, floating=True, dtype=dtype)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_views": {}, "_kernels": {}}  # kernels are compiled again

    @classmethod
    def from_urdf(cls, urdfstring: Any, *args: Any, **kwargs: Any) -> Self:
        """Read the path or contents of a URDF; further arguments are those of the class."""
        return cls(urdfstring, *args, **kwargs)

    @classmethod
    def from_mujoco_model(
        cls, mujoco_model: Any, use_mujoco_actuators: bool = False, *args: Any, **kwargs: Any
    ) -> Self:
        """Read a `mujoco.MjModel`.

        Args:
            mujoco_model: the compiled model.
            use_mujoco_actuators: whether to lock all joints that no actuator drives, and use the
                order of the actuators.
            args, kwargs: further arguments of the class.
        """
        if use_mujoco_actuators:
            kwargs.setdefault("joints_name_list", actuated_joints_of(mujoco_model))
        return cls(mujoco_model, *args, **kwargs)

    @classmethod
    def from_usd(
        cls, usd_path: Any, robot_prim_path: str | None = None, *args: Any, **kwargs: Any
    ) -> Self:
        """Read a USD file.

        Args:
            usd_path: its path.
            robot_prim_path: path of the robot's prim, if there are several robots.
            args, kwargs: further arguments of the class.
        """
        description = {"usd_path": usd_path, "robot_prim_path": robot_prim_path}
        return cls(description, *args, **kwargs)

    @classmethod
    def from_usd_stage(
        cls, usd_stage: Any, robot_prim_path: str | None = None, *args: Any, **kwargs: Any
    ) -> Self:
        """Read a `pxr.Usd.Stage`; arguments as for `from_usd`."""
        description = {"usd_stage": usd_stage, "robot_prim_path": robot_prim_path}
        return cls(description, *args, **kwargs)

    @cached_property
    def rbdalgos(self) -> RBDAlgorithms:
        """The same quantities under the names of adam's algorithms."""
        return RBDAlgorithms(self, SpatialMath())

    @property
    def root_link(self) -> str:
        """The link whose pose and velocity are those of the base."""
        return self._kd.base

    @property
    def frame_velocity_representation(self) -> Representations:
        """The current representation of velocities of the base and of frames."""
        return next(key for key, name in NAMES.items() if name == self._kd.representation)

    @property
    def g(self) -> Array:
        """(6,) acceleration of free fall in the world [m/s^2], and three zeros; may be changed."""
        return self._constant(self._g)

    @g.setter
    def g(self, value: Any) -> None:
        value = value.detach().cpu().numpy() if hasattr(value, "detach") else value  # a tensor
        gravity = np.array(value, dtype=self._kd.dtype)
        if gravity.shape != (6,):
            hint = "use [0, 0, -9.80665, 0, 0, 0]"
            raise ShapeError(f"gravity: expected (6,), got {gravity.shape}; {hint}")
        check_gravity("gravity", gravity)
        self._g = gravity

    def _constant(self, value: Any) -> Any:
        """Convert a constant to an array of this framework."""
        return value

    def set_frame_velocity_representation(self, representation: Representations) -> None:
        """Set the representation of velocities of the base and of frames, for every method.

        Raises:
            ValueError: there is no such representation.
        """
        name = name_of(representation)
        if name not in self._views:
            self._views[name] = self._kd.replace(representation=name), {}
        self._kd, self._kernels = self._views[name]

    def set_root_link(self, root_link: str | None) -> None:
        """Set another link as the base; order and meaning of the joints are unchanged.

        Args:
            root_link: name of the link; None for the root of the file.

        Raises:
            ValueError: there is no such link, or it is a frame.
        """
        root = self._root_of_file if root_link is None else root_link
        is_replaced = self.model is not self._model
        self._model = self._model.with_root(root)
        self.model = self.model if is_replaced else self._model
        self._kd = self._kd.replace(base=root)
        self._kernels: dict[Any, Kernel] = {}
        self._views = {self._kd.representation: (self._kd, self._kernels)}

    def forward_kinematics(
        self, frame: str, base_transform: ArrayLike, joint_positions: ArrayLike
    ) -> Array:
        """Return the pose of a link or frame in the world.

        Returns:
            (..., 4, 4) w_H_frame.
        """
        return self.frame_kernel("forward_kinematics", frame)(base_transform, joint_positions)

    def link_poses(self, base_transform: ArrayLike, joint_positions: ArrayLike) -> dict[str, Array]:
        """Return poses of all links in the world, by name, depth first; without those of frames.

        Returns:
            (..., 4, 4) w_H_link each, in the order of `model.tree`.
        """
        names = self._model.tree.ordered_nodes_list
        kernel = self._kernels.get("link_poses")
        if kernel is None:
            kernel = self._add_kernel("link_poses", ("transforms", names))
        poses = kernel(base_transform, joint_positions)
        return {name: poses[..., index, :, :] for index, name in enumerate(names)}

    def jacobian(self, frame: str, base_transform: ArrayLike, joint_positions: ArrayLike) -> Array:
        """Return the Jacobian J of a link or frame: its velocity is `J @ nu`.

        Returns:
            (..., 6, 6 + n), columns [base velocity, joint velocities].
        """
        return self.frame_kernel("jacobian", frame)(base_transform, joint_positions)

    def relative_jacobian(self, frame: str, joint_positions: ArrayLike) -> Array:
        """Return the Jacobian of a link or frame relative to the root link.

        Returns:
            (..., 6, n). Body: in the frame; inertial: in the root; mixed: at the origin of the
            frame, in the axes of the root.
        """
        return self.frame_kernel("relative_jacobian", frame)(joint_positions)

    def jacobian_dot(
        self,
        frame: str,
        base_transform: ArrayLike,
        joint_positions: ArrayLike,
        base_velocity: ArrayLike,
        joint_velocities: ArrayLike,
    ) -> Array:
        """Time derivative of the Jacobian of a link or frame.

        Returns:
            (..., 6, 6 + n).
        """
        kernel = self.frame_kernel("jacobian_dot", frame)
        return kernel(base_transform, joint_positions, base_velocity, joint_velocities)

    def CoM_position(self, base_transform: ArrayLike, joint_positions: ArrayLike) -> Array:
        """Return the center of mass in the world.

        Returns:
            (..., 3) [m].
        """
        return self.robot_kernel("CoM_position")(base_transform, joint_positions)

    def CoM_jacobian(self, base_transform: ArrayLike, joint_positions: ArrayLike) -> Array:
        """Return the Jacobian of the center of mass: its velocity in the world is `J @ nu`.

        Returns:
            (..., 3, 6 + n).
        """
        return self.robot_kernel("CoM_jacobian")(base_transform, joint_positions)

    def mass_matrix(self, base_transform: ArrayLike, joint_positions: ArrayLike) -> Array:
        """Return the mass matrix M: the kinetic energy is `nu @ M @ nu / 2`.

        Returns:
            (..., 6 + n, 6 + n).
        """
        return self.robot_kernel("mass_matrix")(base_transform, joint_positions)

    def centroidal_momentum_matrix(
        self, base_transform: ArrayLike, joint_positions: ArrayLike
    ) -> Array:
        """Centroidal momentum matrix A: the momentum about the center of mass is `A @ nu`.

        Returns:
            (..., 6, 6 + n), rows [linear; angular] in the axes of the base (body) or the world.
        """
        return self.robot_kernel("centroidal_momentum_matrix")(base_transform, joint_positions)

    def bias_force(
        self,
        base_transform: ArrayLike,
        joint_positions: ArrayLike,
        base_velocity: ArrayLike,
        joint_velocities: ArrayLike,
    ) -> Array:
        """Bias forces h = C nu + g, so that M nu_dot + h = tau.

        Returns:
            (..., 6 + n).
        """
        kernel = self.robot_kernel("bias_force")
        return kernel(base_transform, joint_positions, base_velocity, joint_velocities, self._g)

    def coriolis_term(
        self,
        base_transform: ArrayLike,
        joint_positions: ArrayLike,
        base_velocity: ArrayLike,
        joint_velocities: ArrayLike,
    ) -> Array:
        """Coriolis forces C nu, a vector.

        Returns:
            (..., 6 + n).
        """
        kernel = self.robot_kernel("coriolis_term")
        return kernel(base_transform, joint_positions, base_velocity, joint_velocities)

    def gravity_term(self, base_transform: ArrayLike, joint_positions: ArrayLike) -> Array:
        """Gravity forces g, which balance gravity at rest.

        Returns:
            (..., 6 + n).
        """
        return self.robot_kernel("gravity_term")(base_transform, joint_positions, self._g)

    def aba(  # noqa: PLR0917 - adam's arguments
        self,
        base_transform: ArrayLike,
        joint_positions: ArrayLike,
        base_velocity: ArrayLike,
        joint_velocities: ArrayLike,
        joint_torques: ArrayLike,
        external_wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> Array:
        """Accelerations nu_dot = M^-1 (tau + sum J^T f - h), with zero generalized base forces.

        Args:
            base_transform, joint_positions, base_velocity, joint_velocities: the state.
            joint_torques: (..., n).
            external_wrenches: (..., 6) on links and frames by name, dual to their velocities.

        Returns:
            (..., 6 + n) derivatives of base velocity and joint velocities.

        Raises:
            SingularJointError: a joint moves no inertia.
        """
        kernel, wrenches = self.aba_kernel(external_wrenches)
        state = base_transform, joint_positions, base_velocity, joint_velocities
        return kernel(*state, joint_torques, self._g, *wrenches)

    def get_total_mass(self) -> float:
        """Return the mass of the robot [kg]."""
        return self._model.get_total_mass()

    def warmup(self) -> None:
        """Wait for the optimized code of all functions that were called. Not in adam."""
        for kernel in list(self._kernels.values()):
            kernel.warmup()

    def robot_kernel(self, method: str) -> Kernel:
        """Return the compiled function of a method. Not in adam."""
        kernel = self._kernels.get(method)
        return self._add_kernel(method, QUANTITIES[method]) if kernel is None else kernel

    def frame_kernel(self, method: str, frame: str) -> Kernel:
        """Return the compiled function of a method of a link or frame. Not in adam."""
        key = method, frame
        kernel = self._kernels.get(key) if isinstance(frame, str) else None
        if kernel is None:
            self._check_frame(frame)
            base = (self.root_link,) if method == "relative_jacobian" else ()
            kernel = self._add_kernel(key, (QUANTITIES[method], *base, frame))
        return kernel

    def aba_kernel(
        self, external_wrenches: Mapping[str, ArrayLike] | None
    ) -> tuple[Kernel, tuple[ArrayLike, ...]]:
        """Return the compiled function of `aba`, and the wrenches in its order. Not in adam."""
        if external_wrenches is None:
            return self.robot_kernel("aba"), ()
        if not isinstance(external_wrenches, Mapping):
            expected = "a mapping from links and frames to wrenches (..., 6)"
            got = shown(external_wrenches)
            raise ArgumentError(f"external_wrenches: expected {expected}, got {got}")
        frames = tuple(external_wrenches)
        key = ("aba", frames) if frames else "aba"
        if key not in self._kernels:
            for frame in frames:
                self._check_frame(frame)
            self._add_kernel(key, QUANTITIES["aba"], frames)
        return self._kernels[key], tuple(external_wrenches.values())

    def _add_kernel(self, key: Any, request: Any, wrenches: tuple[str, ...] = ()) -> Kernel:
        is_moving = tuple(map(self._model.is_moving, self._model.actuated_joints))
        function = self._function(self._kd, request, wrenches, is_moving)
        return self._kernels.setdefault(key, self._wrap(function.kernel))

    def _wrap(self, kernel: Kernel) -> Any:
        """Convert a kernel to a function of this framework's arrays."""
        return kernel

    def _check_frame(self, frame: Any) -> None:
        if not isinstance(frame, str) or frame not in self._kd.model.frame_names:
            raise unknown_name("link or frame", frame, self._kd.model.frame_names)


class DifferentiableKinDyn(KinDynComputations):
    """Base of the classes for CasADi, JAX and PyTorch: smooth in all elements of arguments."""

    _function = SmoothFunction


class ConvertedFunction:
    """A function of a framework's arrays that converts its arguments first."""

    def __init__(self, function: Any, convert: Callable[[Sequence[Any]], Sequence[Any]]) -> None:
        self._function, self._convert = function, convert

    def __call__(self, *arguments: Any) -> Any:
        """Call with arguments of any array type."""
        return self._function(*self._convert(arguments))

    def warmup(self) -> None:
        """Wait for the optimized code."""
        self._function.warmup()


def _with_arrays(method: Callable[..., Any]) -> Callable[..., Any]:
    """Convert a method of `KinDynComputations` to a method of `RBDAlgorithms`."""

    @wraps(method)
    def call(self: RBDAlgorithms, *args: Any, **kwargs: Any) -> Any:
        value = method(self.kindyn, *args, **kwargs)
        if isinstance(value, dict):
            return {name: NumpyLike(array) for name, array in value.items()}
        return NumpyLike(value)

    return call


class RBDAlgorithms:
    """The algorithms behind a `KinDynComputations`; results have the attribute `array`.

    Args:
        model: the robot, or a `KinDynComputations` of it.
        math: stored and not used: arrays are NumPy's.
    """

    def __init__(self, model: AdamModel | KinDynComputations, math: Any) -> None:
        if isinstance(model, AdamModel):
            model = KinDynComputations(model, model.actuated_joints, root_link=model.root)
        self.kindyn, self.math = model, math

    model = property(attrgetter("kindyn.model"))
    NDoF = property(attrgetter("kindyn.NDoF"))
    root_link = property(attrgetter("kindyn.root_link"))
    forward_kinematics = _with_arrays(KinDynComputations.forward_kinematics)
    link_poses = _with_arrays(KinDynComputations.link_poses)
    jacobian = _with_arrays(KinDynComputations.jacobian)
    relative_jacobian = _with_arrays(KinDynComputations.relative_jacobian)
    jacobian_dot = _with_arrays(KinDynComputations.jacobian_dot)
    CoM_position = _with_arrays(KinDynComputations.CoM_position)
    CoM_jacobian = _with_arrays(KinDynComputations.CoM_jacobian)

    @property
    def frame_velocity_representation(self) -> Representations:
        """The representation of velocities of the base and of frames; may be set."""
        return self.kindyn.frame_velocity_representation

    @frame_velocity_representation.setter
    def frame_velocity_representation(self, representation: Representations) -> None:
        self.kindyn.set_frame_velocity_representation(representation)

    def set_frame_velocity_representation(self, representation: Representations) -> None:
        """Set the representation of velocities of the base and of frames, for every method."""
        self.kindyn.set_frame_velocity_representation(representation)

    def get_total_mass(self) -> float:
        """Return the mass of the robot [kg]."""
        return self.kindyn.get_total_mass()

    def crba(self, *state: ArrayLike) -> tuple[NumpyLike, NumpyLike]:
        """(..., 6 + n, 6 + n) mass matrix and (..., 6, 6 + n) centroidal momentum matrix."""
        matrices = self.kindyn.mass_matrix, self.kindyn.centroidal_momentum_matrix
        return NumpyLike(matrices[0](*state)), NumpyLike(matrices[1](*state))

    def joints_jacobian(self, frame: str, joint_positions: ArrayLike) -> NumpyLike:
        """(..., 6, n) Jacobian relative to the root link, in the axes of the frame."""
        body = object.__new__(type(self.kindyn))  # another view with the same kernels
        vars(body).update(vars(self.kindyn))
        body.set_frame_velocity_representation(Representations.BODY_FIXED_REPRESENTATION)
        return NumpyLike(body.relative_jacobian(frame, joint_positions))

    def rnea(self, *state_and_gravity: ArrayLike) -> NumpyLike:
        """(..., 6 + n) bias forces at a state, under a gravity (6,)."""
        return NumpyLike(self.kindyn.robot_kernel("bias_force")(*state_and_gravity))

    def aba(
        self, *arguments: Any, external_wrenches: Mapping[str, ArrayLike] | None = None
    ) -> NumpyLike:
        """(..., 6 + n) accelerations at a state, for joint torques and a gravity (6,).

        As in adam, the wrenches on links and frames may be the last argument.
        """
        if arguments and (arguments[-1] is None or isinstance(arguments[-1], Mapping)):
            arguments, external_wrenches = arguments[:-1], arguments[-1]
        kernel, wrenches = self.kindyn.aba_kernel(external_wrenches)
        return NumpyLike(kernel(*arguments, *wrenches))
