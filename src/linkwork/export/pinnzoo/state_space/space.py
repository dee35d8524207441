"""`StateSpace`: the kernels of a robot whose state is one vector x = [q; v]."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from linkwork.engine.cached_property import cached_property
from linkwork.engine.kernel.arguments import Signature
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic.arrays import Array, ObjectArray
from linkwork.engine.symbolic.program import Port, Program, trace
from linkwork.errors import ArgumentError, name_not_found, shown
from linkwork.export.pinnzoo.state_space.arranged import check_joints
from linkwork.export.pinnzoo.state_space.functions import BY_X, COMPUTED
from linkwork.kindyn import KinDyn

Orientation: TypeAlias = Literal["none", "quaternion", "axis_angle"]
ORIENTATIONS: dict[str, int] = {"none": 3, "quaternion": 7, "axis_angle": 6}
"""How the orientation of a body is written, and how many numbers a body then has."""

_KINEMATIC = "kinematics"  # begins the names of functions that need bodies
_SOLVED = ("forward_dynamics", "dynamics")  # begin the names of those that divide by inertias


@dataclass(frozen=True, eq=False)
class StateSpace:
    """Functions of x = [q; v], compiled when they are first asked for.

    Args:
        kd: the robot, in the body representation and without joint dynamics; each moving joint
            has one coordinate.
        bodies: links and frames whose kinematics are wanted, in their order.
        orientation: whether their orientation follows their position, and how it is written.
    """

    kd: KinDyn
    bodies: tuple[str, ...] = ()
    orientation: Orientation = "none"
    _kernels: dict[str, Kernel] = field(default_factory=dict[str, Kernel], init=False, repr=False)

    def __post_init__(self) -> None:
        if self.kd.representation != "body":
            text = f"representation: expected 'body', got {self.kd.representation!r}"
            raise ArgumentError(f"{text}; write kd.replace(representation='body')")
        if self.kd.joint_dynamics:
            text = "joint_dynamics: armature, damping and friction are no part of a state space"
            raise ArgumentError(f"{text}; write kd.replace(joint_dynamics=False)")
        if self.orientation not in ORIENTATIONS:
            known = ", ".join(map(repr, ORIENTATIONS))
            raise ArgumentError(f"orientation: expected {known}, got {shown(self.orientation)}")
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
        """How many joints move."""
        return len(self.kd.joint_names)

    @property
    def kinematics_size(self) -> int:
        """How many numbers `kinematics` gives."""
        return ORIENTATIONS[self.orientation] * len(self.bodies)

    @property
    def names(self) -> tuple[str, ...]:
        """The functions that `kernel` makes."""
        known = (*COMPUTED, *BY_X)
        return known if self.bodies else tuple(n for n in known if not n.startswith(_KINEMATIC))

    def kernel(self, name: str) -> Kernel:
        """A function by name, made if it is not there yet.

        Raises:
            ArgumentError: it needs bodies, and there are none.
            NameNotFoundError: there is no such function.
        """
        found = self._kernels.get(name)
        if found is None:
            found = self._kernels.setdefault(name, self._made(name))
        return found

    def _made(self, name: str) -> Kernel:
        if name.startswith(_KINEMATIC) and not self.bodies:
            text = f"{name}: no bodies were named when the model was made"
            raise ArgumentError(f"{text}; write kinematics_bodies=[...]")
        if name in BY_X:
            return self.kernel(BY_X[name]).jacobian("x")
        if name not in COMPUTED:
            raise name_not_found("function of a state", name, self.names)
        return self._computed(name)

    def _computed(self, name: str) -> Kernel:
        inputs = tuple(Port(one, (self._sizes[one],)) for one in COMPUTED[name][0])
        meanings = {port.name: self._meanings[port.name] for port in inputs}
        return Kernel(
            Signature(name, inputs, self._outputs(name), meanings=meanings),
            lambda: self._program(name, inputs),
            key=self._key(name),
            check_result=self._check_motion if name.startswith(_SOLVED) else None,
        )

    def _program(self, name: str, inputs: Sequence[Port]) -> Program:
        compute = COMPUTED[name][1]

        def run(*arrays: Array) -> Any:
            views = [array.view(ObjectArray) for array in arrays]
            return compute(self, dict(zip((port.name for port in inputs), views, strict=True)))

        return trace(run, inputs, [port.name for port in self._outputs(name)])

    def _key(self, name: str) -> str | None:
        """Names the function in the cache; the key of the robot's has the digest of the sources."""
        robot = self.kd.function("mass_matrix").key
        if robot is None:  # users' code is part of it
            return None
        text = "|".join(("state space", name, repr(self.bodies), self.orientation, robot))
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def _sizes(self) -> dict[str, int]:
        nq, nv = self.nq, self.nv
        of_state = dict.fromkeys(("x", "x0", "x2"), nq + nv)
        of_velocity = dict.fromkeys(("v", "v_dot", "tau"), nv)
        return {
            **of_state,
            **of_velocity,
            "q": nq,
            "delta_x": 2 * nv,
            "force": self.kinematics_size,
        }

    @cached_property
    def _meanings(self) -> dict[str, str]:
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
            "delta_x": f"[dq; dv] of {self.nv} numbers each",
            "force": f"{ORIENTATIONS[self.orientation]} numbers for each body",
        }

    def _outputs(self, name: str) -> tuple[Port, ...]:
        nq, nv, size = self.nq, self.nv, self.kinematics_size
        nx = nq + nv
        shapes: dict[str, tuple[int, ...]] = {
            "M_func": (nv, nv),
            **dict.fromkeys(("C_func", "forward_dynamics", "inverse_dynamics"), (nv,)),
            **dict.fromkeys(("velocity_kinematics_T_jvp", "kinematics_force"), (nv,)),
            "dynamics": (2 * nv,),
            "velocity_kinematics": (nq, nv),
            "velocity_kinematics_T": (nv, nq),
            "velocity_kinematics_jvp": (nq,),
            **dict.fromkeys(("kinematics", "kinematics_of_q", "kinematics_velocity"), (size,)),
            **dict.fromkeys(("state_error", "error_jacobian_T_jvp"), (2 * nv,)),
            **dict.fromkeys(("apply_delta_x", "error_jacobian_jvp"), (nx,)),
            "error_jacobian": (nx, 2 * nv),
            "error_jacobian_T": (2 * nv, nx),
        }
        if not name.endswith("_deriv"):
            return (Port(name, shapes[name]),)
        rows = shapes[name.removesuffix("_deriv")][0]
        other = COMPUTED[name][0][1]
        return Port(f"{name}_x", (rows, nx)), Port(f"{name}_{other}", (rows, nv))

    def _check_motion(
        self, kernel: Kernel, inputs: Sequence[Array], outputs: Sequence[Array]
    ) -> None:
        """Say which joint moves nothing, if finite input gave something that is not finite."""
        del kernel
        bad = ~np.all([np.isfinite(array).all(axis=1) for array in outputs], axis=0)
        for array in inputs:
            bad = bad & np.isfinite(array).all(axis=1)
        if not bad.any():
            return
        x, tau = (np.broadcast_to(array, (len(bad), array.shape[1]))[bad] for array in inputs)
        q = np.array(x[:, : self.nq])
        if self.floating:
            q[:, 3:7] = (1.0, 0.0, 0.0, 0.0)  # the pose of the base changes no inertia
        self.kd.forward_dynamics(q, x[:, self.nq :], tau)


def _names(given: object, known: Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ArgumentError(f"bodies: expected a list of names, got {shown(given)}")
    for name in given:
        if name not in known:
            raise name_not_found("body", name, known)
    return tuple(given)
