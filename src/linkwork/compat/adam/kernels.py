"""Compiled functions that take what adam takes: a pose as a matrix, velocities apart from it.

    base_transform   (4, 4)  world_H_base        base_velocity     (6,)  [linear; angular]
    joint_positions  (n,)                        joint_velocities  (n,)
    g                (6,)    [linear; 0]         joint_torques     (n,)

Each is the function of a `KinDyn`, traced together with what makes its q, nu and tau of these, so
that a call is one call of machine code. That code also checks `base_transform` and `g`: if one of
them is wrong, the first number of the result is NaN, which the kernel notices as it notices a
singular mass matrix, and `_check` finds out why and raises.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.engine.cached_property import cached_property
from linkwork.engine.kernel.arguments import Signature
from linkwork.engine.kernel.compile import CompiledFunction
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic.arrays import Array, ObjectArray, join, where
from linkwork.engine.symbolic.program import Port, Program, trace
from linkwork.errors import LinkworkError, ValueRangeError
from linkwork.kindyn import KinDyn
from linkwork.kindyn.kernels import MOST_UNROLLED, QuantityKernel
from linkwork.spatial.source import quat

NOT_A_POSE = 1e-3  # entries further than this from those of a pose are a mistake, not rounding
WITH_GRAVITY = ("forward_dynamics", "bias_force", "gravity_force")
WITHOUT_BASE = ("relative_jacobian",)


@dataclass(frozen=True)
class PoseFunction:
    """A quantity of a robot as a function of adam's arguments.

    Args:
        kd: the robot, and how it is seen.
        request: what to compute, as `KinDyn.function` takes it.
        wrenches: frames on which wrenches act; each becomes one more input.
    """

    kd: KinDyn
    request: Any
    wrenches: tuple[str, ...] = ()

    @cached_property
    def kernel(self) -> Kernel:
        """The compiled function."""
        inner = self.inner
        text = f"adam|{inner.identity}"  # which contains the digest of the sources
        return Kernel(
            Signature(self._name, self.inputs, inner.signature.outputs),
            self._program,
            key=hashlib.sha256(text.encode()).hexdigest(),
            dtype=inner.dtype.type,
            numpy_path=self._numpy_path if self._is_too_large else None,
            check_result=self._check,
        )

    @cached_property
    def inner(self) -> QuantityKernel[Any]:
        """The function of q, nu, tau, gravity."""
        gravity = self._name in WITH_GRAVITY
        return self.kd.function(self.request, wrenches=self.wrenches, gravity=gravity)

    @property
    def _is_too_large(self) -> bool:
        n_moving = sum(joint.kind != "fixed" for joint in self.kd.model.joints)
        return n_moving > MOST_UNROLLED

    @property
    def _name(self) -> str:
        return self.request if isinstance(self.request, str) else self.request[0]

    @cached_property
    def inputs(self) -> tuple[Port, ...]:
        """What the function takes."""
        n = len(self.kd.joint_names)
        pose, joints = Port("base_transform", (4, 4)), Port("joint_positions", (n,))
        known = {
            "q": (joints,) if self._name in WITHOUT_BASE else (pose, joints),
            "nu": (Port("base_velocity", (6,)), Port("joint_velocities", (n,))),
            "tau": (Port("joint_torques", (n,)),),
            "gravity": (Port("g", (6,)),),
            "parameters": self._parameters,
        }
        own = (known.get(port.name, (port,)) for port in self.inner.signature.inputs)
        return tuple(port for ports in own for port in ports)

    @cached_property
    def _parameters(self) -> tuple[Port, ...]:
        """Of a parametric robot: a length and a density for each link that has them."""
        k = self.kd.parameters.size // 2
        return (Port("length_multiplier", (k,)), Port("densities", (k,))) if k else ()

    def rows(self, given: Mapping[str, Array]) -> list[Array]:
        """What the inner function takes, from what this one takes; traced or in numbers."""
        made = {
            "q": lambda: _q(given.get("base_transform"), given["joint_positions"]),
            "nu": lambda: join([given["base_velocity"], given["joint_velocities"]]),
            "tau": lambda: join([np.zeros(6), given["joint_torques"]]),
            "gravity": lambda: given["g"][..., :3],
            "parameters": lambda: join([given[port.name] for port in self._parameters]),
        }
        names = [port.name for port in self.inner.signature.inputs]
        return [made[name]() if name in made else given[name] for name in names]

    def _program(self) -> Program:
        inner = CompiledFunction(self._name, self.inner.program, self.inner.dtype.type)

        def run(*arrays: Array) -> Any:
            if not any(array.size for array in arrays):  # relative to the base nothing moves
                return np.zeros(self.inner.signature.outputs[0].shape)
            views = [array.view(ObjectArray) for array in arrays]
            given = dict(zip((port.name for port in self.inputs), views, strict=True))
            return _nan_where(_is_wrong(given), inner(*self.rows(given)))

        return trace(run, self.inputs, self._name)

    def _numpy_path(self, *columns: Sequence[Array]) -> Sequence[Any]:
        """The result by columns from the inputs by columns, for what is too large to compile."""
        given = {
            port.name: np.stack(numbers, axis=-1).reshape(-1, *port.shape)
            for port, numbers in zip(self.inputs, columns, strict=True)
        }
        found = _nan_where(_is_wrong(given), self.inner(*self.rows(given)))
        return [found.reshape(len(found), -1).T]

    def _check(self, kernel: Kernel, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Say why finite input gave something that is not finite."""
        del kernel
        bad = ~np.all([np.isfinite(array).all(axis=1) for array in outputs], axis=0)
        for array in inputs if bad.any() else ():
            bad = bad & np.isfinite(array).all(axis=1)
        if not bad.any():
            return
        row = int(np.flatnonzero(bad)[0])
        given = {
            port.name: array[row if len(array) > 1 else 0].reshape(port.shape)
            for port, array in zip(self.inputs, inputs, strict=True)
        }
        try:
            _check_pose(given.get("base_transform"))
            _check_gravity(given.get("g"))
            self.inner(*self.rows(given))  # which says it if nothing resists the motion of a joint
        except LinkworkError as error:
            where_ = f" (in row {row} of {len(bad)})" if len(bad) > 1 else ""
            raise type(error)(f"{error}{where_}") from None


def _q(pose: Array | None, s: Array) -> Array:
    """(..., nq) configuration; without a pose, that of the base does not matter."""
    if pose is None:
        return join([np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), s])
    return join([pose[..., :3, 3], quat.from_rotation(pose[..., :3, :3]), s])


def _is_wrong(given: Mapping[str, Array]) -> Array | None:
    """(..., 1) 0 where pose and gravity make sense, NaN where not; None if there is neither."""
    bounds = []
    if "base_transform" in given:
        bounds.append(_off_pose(given["base_transform"]) - NOT_A_POSE)
    if "g" in given:
        bounds.append(abs(given["g"][..., 3:]).max(axis=-1, keepdims=True))
    flags = [where(bound <= 0.0, 0.0, np.nan) for bound in bounds]
    return sum(flags[1:], start=flags[0]) if flags else None


def _nan_where(wrong: Array | None, result: Array) -> Array:
    """The result, its first number NaN where something is wrong."""
    if wrong is None or not result.size:
        return result
    n_outer = wrong.ndim - 1
    flat = result.reshape(*result.shape[:n_outer], -1)
    return join([flat[..., :1] + wrong, flat[..., 1:]]).reshape(result.shape)


def _off_pose(pose: Array) -> Array:
    """(..., 1) how far entries of a matrix are from those of the nearest pose."""
    off = pose[..., :3, :3] - quat.to_rotation(quat.from_rotation(pose[..., :3, :3]))
    last = pose[..., 3, :] - np.array([0.0, 0.0, 0.0, 1.0])
    both = join([off.reshape(*off.shape[:-2], 9), last])
    return abs(both).max(axis=-1, keepdims=True)


def _check_pose(pose: Array | None) -> None:
    if pose is None:
        return
    off = _off_pose(pose)[0]
    if not off <= NOT_A_POSE:
        text = "expected a pose, the rotation and position of the base in the world"
        raise ValueRangeError(f"base_transform: {text}; entries are off by {off:.3g}")


def _check_gravity(g: Array | None) -> None:
    if g is not None and g[3:].any():
        raise ValueRangeError(f"g: the last three of {g.tolist()} must be 0; gravity turns nothing")
