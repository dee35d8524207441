"""`StateSpace`: the kernels of a robot whose state is one vector x = [q; v], ordered as in PinnZoo.

    space = StateSpace(kd, bodies=("l_sole", "r_sole"))
    space.kernel("forward_dynamics_deriv")(x, tau)

The names are those of PinnZoo. `linkwork.compat.pinnzoo` provides them in Python, and
`linkwork.export(..., pinnzoo=True)` in C.

Quaternions are not normalized. A program of `KinDyn` is inlined without the normalization of its
kernel, so each function is the same polynomial in the quaternion as in PinnZoo, and its derivatives
with respect to x are those of this polynomial.

In the axes of the base, the dynamics depends on the quaternion only through R^T g, gravity in the
base: tau = ID(s, v, v_dot) - M[:, :3] R^T g. So derivatives with respect to the quaternion are
-M[:, :3] d(R^T g) for torques, and d(R^T g) in the linear acceleration of the base for v_dot.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from linkwork.engine.kernel.arguments import Signature
from linkwork.engine.kernel.compile import CompiledFunction
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic.arrays import Array, ObjectArray, join
from linkwork.engine.symbolic.program import Port, Program
from linkwork.engine.symbolic.tracing import trace
from linkwork.errors import ArgumentError, model_error, name_not_found, shown
from linkwork.export.pinnzoo import manifold
from linkwork.kindyn import KinDyn
from linkwork.kindyn.checks import unexplained
from linkwork.model.graph import Visit, require_tree, walk
from linkwork.model.model import Model
from linkwork.spatial.source import quat

BASE_CONFIG = ("x", "y", "z", "q_w", "q_x", "q_y", "q_z")
BASE_VELOCITY = ("lin_v_x", "lin_v_y", "lin_v_z", "ang_v_x", "ang_v_y", "ang_v_z")
KINDS = ("fixed", "prismatic", "revolute")  # the joints of a URDF file that PinnZoo reads


def in_state_order(model: Model, base: str | None = None) -> Model:
    """Return the robot with its joints depth first from the base, siblings in alphabetical order.

    This is the order in which Pinocchio reads a URDF file, and so the order of PinnZoo's vectors.
    """
    require_tree(model, "state vectors of PinnZoo are those of trees")
    start = model.default_base if base is None else model.frame(base).link
    visits = walk(model, start, _by_name)
    return replace(model, joints=tuple(visit.joint for visit in visits if visit.joint))


def _by_name(visits: Sequence[Visit]) -> Sequence[Visit]:
    return sorted(visits, key=lambda visit: visit.joint.name if visit.joint else "")


def check_joints(model: Model) -> None:
    """Raise if a joint is not supported by PinnZoo.

    Raises:
        ModelError: names the joint.
    """
    for joint in model.joints:
        if joint.kind not in KINDS:
            message = f"PinnZoo's state vector x = [q; v] does not support {joint.kind} joints"
            raise model_error(f"{message}; supported: {', '.join(KINDS)}", f"joint {joint.name!r}")


def config_names(kd: KinDyn) -> tuple[str, ...]:
    """Return a name for each coordinate of q: those of the base as in PinnZoo, then the joints."""
    return (*(BASE_CONFIG if kd.floating else ()), *joint_labels(kd))


def velocity_names(kd: KinDyn) -> tuple[str, ...]:
    """Return a name for each coordinate of v."""
    return (*(BASE_VELOCITY if kd.floating else ()), *joint_labels(kd))


def joint_labels(kd: KinDyn) -> tuple[str, ...]:
    """Return the names of the joints; `_joint` is appended to names of base coordinates."""
    used = {*kd.joint_names, *BASE_CONFIG, *BASE_VELOCITY} if kd.floating else set[str]()
    labels: list[str] = []
    for name in kd.joint_names:
        label = name
        while label in used and (label != name or name in (*BASE_CONFIG, *BASE_VELOCITY)):
            label += "_joint"
        labels.append(label)
    return tuple(labels)


def actuated_names(kd: KinDyn, actuated: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the actuated velocities.

    If `actuated` is None, these are all joints, or the velocities of the base if there are none.
    """
    names = velocity_names(kd)
    if actuated is None:
        return joint_labels(kd) or names
    if isinstance(actuated, str):
        raise ArgumentError(f"actuated: expected a list of names, got {shown(actuated)}")
    for name in actuated:
        if name not in names:
            raise name_not_found("velocity", name, names)
    return tuple(actuated)


Orientation: TypeAlias = Literal["none", "quaternion", "axis_angle"]
ORIENTATIONS: dict[str, int] = {"none": 3, "quaternion": 7, "axis_angle": 6}
"""Representation of the orientation of a body, and the size of its kinematics with it."""

_KINEMATIC = "kinematics"  # begins the names of functions that need bodies
_SOLVED = ("forward_dynamics", "dynamics")  # begin the names of functions that divide by inertias


@dataclass(frozen=True, eq=False)
class StateSpace:
    """Functions of x = [q; v], compiled when they are first requested.

    Args:
        kd: the robot, in the body representation and without joint dynamics; each moving joint
            has one coordinate.
        bodies: links and frames whose kinematics are computed, in this order.
        orientation: whether an orientation follows each position, and its representation.
    """

    kd: KinDyn
    bodies: tuple[str, ...] = ()
    orientation: Orientation = "none"
    _kernels: dict[str, Kernel] = field(default_factory=dict[str, Kernel], init=False, repr=False)

    def __post_init__(self) -> None:
        if self.kd.representation != "body":
            message = f"representation: expected 'body', got {self.kd.representation!r}"
            raise ArgumentError(f"{message}; use kd.replace(representation='body')")
        if self.kd.joint_dynamics:
            message = (
                "joint_dynamics: a state space does not support armature, damping and friction"
            )
            raise ArgumentError(f"{message}; use kd.replace(joint_dynamics=False)")
        if self.orientation not in ORIENTATIONS:
            allowed = ", ".join(map(repr, ORIENTATIONS))
            raise ArgumentError(f"orientation: expected {allowed}, got {shown(self.orientation)}")
        object.__setattr__(self, "bodies", _names(self.bodies, self.kd.model.frame_names))
        check_joints(self.kd.model)

    def __reduce__(self) -> Any:
        return type(self), (self.kd, self.bodies, self.orientation)

    @property
    def floating(self) -> bool:
        """Whether the base moves freely."""
        return self.kd.floating

    @property
    def nq(self) -> int:
        """Length of q."""
        return self.kd.nq

    @property
    def nv(self) -> int:
        """Length of v."""
        return self.kd.nv

    @property
    def n_joints(self) -> int:
        """Number of moving joints."""
        return len(self.kd.joint_names)

    @property
    def kinematics_size(self) -> int:
        """Length of the result of `kinematics`."""
        return ORIENTATIONS[self.orientation] * len(self.bodies)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the functions that `kernel` returns."""
        names = (*_COMPUTED, *_DERIVATIVES)
        return names if self.bodies else tuple(n for n in names if not n.startswith(_KINEMATIC))

    def kernel(self, name: str) -> Kernel:
        """Return a function by name.

        Raises:
            ArgumentError: the function needs bodies, and there are none.
            NameNotFoundError: there is no such function.
        """
        kernel = self._kernels.get(name)
        if kernel is None:
            kernel = self._kernels.setdefault(name, self._new_kernel(name))
        return kernel

    def _new_kernel(self, name: str) -> Kernel:
        if name.startswith(_KINEMATIC) and not self.bodies:
            message = f"{name}: the model has no kinematics_bodies"
            raise ArgumentError(f"{message}; set kinematics_bodies=[...]")
        if name in _DERIVATIVES:
            return self.kernel(_DERIVATIVES[name]).jacobian("x")
        if name not in _COMPUTED:
            raise name_not_found("function of a state", name, self.names)
        inputs, outputs, compute = _COMPUTED[name]
        lengths = {"nq": self.nq, "nv": self.nv, "nx": self.nq + self.nv, "2nv": 2 * self.nv}
        lengths["size"] = self.kinematics_size

        def port(name: str, dimensions: str) -> Port:
            return Port(name, tuple(lengths[one] for one in dimensions.split()))

        input_ports = [port(one, _INPUTS[one]) for one in inputs.split()]
        # A derivative has two results, named after the inputs of the differentiation.
        shapes = outputs.split(", ")
        names = [name] if len(shapes) == 1 else [f"{name}_{one}" for one in inputs.split()]
        output_ports = [port(*pair) for pair in zip(names, shapes, strict=True)]

        def run(*arrays: Array) -> Any:
            return compute(self, *(array.view(ObjectArray) for array in arrays))

        def program() -> Program:
            return trace(run, input_ports, names)

        meanings = self._meanings()
        return Kernel(
            Signature(
                name,
                tuple(input_ports),
                tuple(output_ports),
                meanings={one.name: meanings[one.name] for one in input_ports},
            ),
            program,
            key=self._key(name),
            check_result=self._check_motion if name.startswith(_SOLVED) else None,
        )

    def _key(self, name: str) -> str | None:
        """Return the key of a function in the cache, with the robot's key and its source digest."""
        robot = self.kd.function("mass_matrix").key
        if robot is None:  # it depends on users' code
            return None
        content = "|".join(("state space", name, repr(self.bodies), self.orientation, robot))
        return hashlib.sha256(content.encode()).hexdigest()

    def _meanings(self) -> dict[str, str]:
        """Descriptions of the inputs, for messages."""
        n = self.n_joints
        q, v = f"[joints ({n})]", f"[joints ({n})]"
        if self.floating:
            q = f"[base position (3), quaternion w x y z (4), joints ({n})]"
            v = f"[linear (3) and angular (3) velocity of the base, joints ({n})]"
        state = f"[q; v], q = {q}, v = {v}"
        return {
            **dict.fromkeys(("x", "x0", "x2"), state),
            **dict.fromkeys(("v", "v_dot", "tau"), v),
            "q": q,
            "delta_x": f"[dq; dv] with {self.nv} elements each",
            "force": f"{ORIENTATIONS[self.orientation]} elements for each body",
        }

    def _check_motion(
        self, kernel: Kernel, inputs: Sequence[Array], outputs: Sequence[Array]
    ) -> None:
        """Raise for the singular joint if finite inputs lead to infinity or NaN."""
        del kernel
        bad = unexplained(inputs, outputs)
        if not bad.any():
            return
        x, tau = (np.broadcast_to(array, (len(bad), array.shape[1]))[bad] for array in inputs)
        q = np.array(x[:, : self.nq])
        if self.floating:
            q[:, 3:7] = (1.0, 0.0, 0.0, 0.0)  # inertias do not depend on the pose of the base
        self.kd.forward_dynamics(q, x[:, self.nq :], tau)


def _names(bodies: object, frames: Sequence[str]) -> tuple[str, ...]:
    if isinstance(bodies, str) or not isinstance(bodies, Sequence):
        raise ArgumentError(f"bodies: expected a list of names, got {shown(bodies)}")
    for name in bodies:
        if name not in frames:
            raise name_not_found("body", name, frames)
    return tuple(bodies)


# The functions, for traced arrays of one row.


def _unnormalized(space: StateSpace, *request: Any) -> CompiledFunction:
    """Return a quantity of the robot without normalization, to be called while tracing."""
    kernel = space.kd.function(request)  # pyright: ignore[reportArgumentType]
    return CompiledFunction(kernel.signature.name, kernel.program, np.float64)


def _halves(space: StateSpace, x: Array) -> tuple[Array, Array]:
    """Split x into the configuration q and the velocity v."""
    return x[: space.nq], x[space.nq :]


def _quantity(name: str) -> Callable[..., Any]:
    """Return the function of a quantity of q, v and further inputs."""
    return lambda space, x, *more: _unnormalized(space, name)(*_halves(space, x), *more)


def _on_manifold(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of the manifold as one of a state space."""
    return lambda space, *arrays: function(*arrays, floating=space.floating)


_forward_dynamics = _quantity("forward_dynamics")
_velocity_kinematics = _on_manifold(manifold.matrix_E)
_velocity_kinematics_T = _on_manifold(manifold.matrix_E_T)
_times_E, _times_E_T = _on_manifold(manifold.times_E), _on_manifold(manifold.times_E_T)


def _mass_matrix(space: StateSpace, x: Array) -> Any:
    return _unnormalized(space, "mass_matrix")(_halves(space, x)[0])


def _dynamics(space: StateSpace, x: Array, tau: Array) -> Any:
    return join([_halves(space, x)[1], _forward_dynamics(space, x, tau)])


def _inverse_dynamics_deriv(space: StateSpace, x: Array, v_dot: Array) -> Any:
    q, v = _halves(space, x)
    dtau_dq, dtau_dv, M = _unnormalized(space, "inverse_dynamics_derivatives")(q, v, v_dot)[:3]
    if space.floating:
        dtau_dquat = -M[:, :3] @ _base_gravity_jacobian(space, q)
        dtau_dq = np.concatenate([np.zeros((space.nv, 3)), dtau_dquat, dtau_dq[:, 6:]], axis=1)
    return np.concatenate([dtau_dq, dtau_dv], axis=1), M


def _forward_dynamics_deriv(space: StateSpace, x: Array, tau: Array) -> Any:
    q, v = _halves(space, x)
    derivatives = _unnormalized(space, "forward_dynamics_derivatives")(q, v, tau)
    dvd_dq, dvd_dv, dvd_dtau = derivatives[:3]
    if space.floating:
        dvd_dquat = np.concatenate(
            [_base_gravity_jacobian(space, q), np.zeros((space.nv - 3, 4))], axis=0
        )
        dvd_dq = np.concatenate([np.zeros((space.nv, 3)), dvd_dquat, dvd_dq[:, 6:]], axis=1)
    return np.concatenate([dvd_dq, dvd_dv], axis=1), dvd_dtau


def _dynamics_deriv(space: StateSpace, x: Array, tau: Array) -> Any:
    dvd_dx, dvd_dtau = _forward_dynamics_deriv(space, x, tau)
    dv_dx = np.concatenate([np.zeros((space.nv, space.nq)), np.eye(space.nv)], axis=1)
    zeros = np.zeros((space.nv, space.nv))
    return np.concatenate([dv_dx, dvd_dx], axis=0), np.concatenate([zeros, dvd_dtau], axis=0)


def _base_gravity_jacobian(space: StateSpace, q: Array) -> Array:
    return manifold.base_gravity_jacobian(q[3:7], np.array(space.kd.gravity))


def _kinematics_of_q(space: StateSpace, q: Array) -> Any:
    """Positions of the bodies in the world, each followed by its orientation if requested."""
    poses = _unnormalized(space, "transforms", space.bodies)(q)
    parts: list[Array] = []
    for pose in poses:
        parts.append(pose[:3, 3])
        if space.orientation != "none":
            wxyz = quat.from_rotation(pose[:3, :3])
            parts.append(wxyz if space.orientation == "quaternion" else quat.log(wxyz))
    return join(parts)


def _kinematics(space: StateSpace, x: Array) -> Any:
    return _kinematics_of_q(space, _halves(space, x)[0])


def _kinematics_velocity(space: StateSpace, x: Array) -> Any:
    q, v = _halves(space, x)
    return space.kernel("kinematics_of_q").jvp("q")(q, _times_E(space, q, v))


def _kinematics_force(space: StateSpace, x: Array, force: Array) -> Any:
    q = _halves(space, x)[0]
    of_q = space.kernel("kinematics_of_q").vjp("q")(q, force)
    return manifold.times_E_transposed(q, of_q, floating=space.floating)


def _error_jacobian(space: StateSpace, x: Array) -> Any:
    return manifold.block_diagonal(_velocity_kinematics(space, x), np.eye(space.nv))


def _error_jacobian_T(space: StateSpace, x: Array) -> Any:
    return manifold.block_diagonal(_velocity_kinematics_T(space, x), np.eye(space.nv))


def _error_jacobian_jvp(space: StateSpace, x: Array, delta_x: Array) -> Any:
    return join([_times_E(space, x, delta_x[: space.nv]), delta_x[space.nv :]])


def _error_jacobian_T_jvp(space: StateSpace, x: Array, x2: Array) -> Any:
    q2, v2 = _halves(space, x2)
    return join([_times_E_T(space, x, q2), v2])


_INPUTS = {  # lengths by name
    **dict.fromkeys(("x", "x0", "x2"), "nx"),
    **dict.fromkeys(("v", "v_dot", "tau"), "nv"),
    "q": "nq",
    "delta_x": "2nv",
    "force": "size",
}
_COMPUTED: dict[str, tuple[str, str, Callable[..., Any]]] = {
    # by name: the inputs, the shapes of the outputs, and the function that computes them
    "M_func": ("x", "nv nv", _mass_matrix),
    "C_func": ("x", "nv", _quantity("bias_force")),
    "forward_dynamics": ("x tau", "nv", _forward_dynamics),
    "forward_dynamics_deriv": ("x tau", "nv nx, nv nv", _forward_dynamics_deriv),
    "inverse_dynamics": ("x v_dot", "nv", _quantity("inverse_dynamics")),
    "inverse_dynamics_deriv": ("x v_dot", "nv nx, nv nv", _inverse_dynamics_deriv),
    "dynamics": ("x tau", "2nv", _dynamics),
    "dynamics_deriv": ("x tau", "2nv nx, 2nv nv", _dynamics_deriv),
    "velocity_kinematics": ("x", "nq nv", _velocity_kinematics),
    "velocity_kinematics_T": ("x", "nv nq", _velocity_kinematics_T),
    "velocity_kinematics_jvp": ("x v", "nq", _times_E),
    "velocity_kinematics_T_jvp": ("x q", "nv", _times_E_T),
    "kinematics_of_q": ("q", "size", _kinematics_of_q),
    "kinematics": ("x", "size", _kinematics),
    "kinematics_velocity": ("x", "size", _kinematics_velocity),
    "kinematics_force": ("x force", "nv", _kinematics_force),
    "state_error": ("x x0", "2nv", _on_manifold(manifold.state_error)),
    "apply_delta_x": ("x delta_x", "nx", _on_manifold(manifold.apply_delta_x)),
    "error_jacobian": ("x", "nx 2nv", _error_jacobian),
    "error_jacobian_T": ("x", "2nv nx", _error_jacobian_T),
    "error_jacobian_jvp": ("x delta_x", "nx", _error_jacobian_jvp),
    "error_jacobian_T_jvp": ("x x2", "2nv", _error_jacobian_T_jvp),
}
_DERIVATIVES: dict[str, str] = {  # names of derivatives with respect to x, and their functions
    "kinematics_jacobian": "kinematics",
    "kinematics_velocity_jacobian": "kinematics_velocity",
    "kinematics_force_jacobian": "kinematics_force",
    "velocity_kinematics_jvp_deriv": "velocity_kinematics_jvp",
    "velocity_kinematics_T_jvp_deriv": "velocity_kinematics_T_jvp",
    "error_jacobian_jvp_deriv": "error_jacobian_jvp",
    "error_jacobian_T_jvp_deriv": "error_jacobian_T_jvp",
}


def input_names(name: str) -> tuple[str, ...]:
    """Return the names of the inputs of a function."""
    return tuple(_COMPUTED[_DERIVATIVES.get(name, name)][0].split())
