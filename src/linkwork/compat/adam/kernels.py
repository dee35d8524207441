"""Compiled functions of adam's arguments: a pose as a matrix, with base and joints separate.

    base_transform   (4, 4)  world_H_base        base_velocity     (6,)  [linear; angular]
    joint_positions  (n,)                        joint_velocities  (n,)
    g                (6,)    [linear; 0]         joint_torques     (n,)

A kernel of `KinDyn` is traced together with the conversion of these arguments to its q, nu and tau,
so that a call is one call of machine code. `PoseFunction` also checks `base_transform` and `g` in
that code: if one of them is invalid, the first element of the result is NaN. The kernel detects it
like a singular mass matrix, and `_check` raises the error. `SmoothFunction` has no check.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from linkwork.engine.cached_property import cached_property
from linkwork.engine.kernel.arguments import Signature
from linkwork.engine.kernel.compile import CompiledFunction
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic.arrays import Array, ObjectArray, join, where
from linkwork.engine.symbolic.program import Port, Program
from linkwork.engine.symbolic.tracing import trace
from linkwork.errors import LinkworkError, ValueRangeError
from linkwork.kindyn import KinDyn
from linkwork.kindyn.checks import unexplained
from linkwork.kindyn.kernels import QuantityKernel
from linkwork.kindyn.programs import MOST_UNROLLED, computation
from linkwork.kindyn.quantities import Context
from linkwork.model.layout import BASE_NEUTRAL, Layout
from linkwork.spatial.blocks import IDENTITY, Mat, Scalar
from linkwork.spatial.source import quat

LARGEST_ERROR = 1e-3  # of elements of a pose that is attributed to rounding
WITH_GRAVITY = ("forward_dynamics", "bias_force", "gravity_force")
WITHOUT_BASE = ("relative_jacobian",)
# Axes of results that have an entry for each joint; those of other quantities: the last one.
JOINT_AXES = {"transform": (), "transforms": (), "com": (), "mass_matrix": (-2, -1)}


@dataclass(frozen=True)
class PoseFunction:
    """A quantity of a robot as a function of adam's arguments.

    Args:
        kd: the robot and its options.
        request: the quantity, as for `KinDyn.function`.
        wrenches: frames on which wrenches act; each becomes one more input.
        is_moving: for each entry of the joint vectors, whether its joint moves; by default all. A
            fixed joint that is listed has an entry without effect, as in adam: rows and columns of
            results are 0.
    """

    kd: KinDyn
    request: Any
    wrenches: tuple[str, ...] = ()
    is_moving: tuple[bool, ...] = ()
    checks_arguments: ClassVar[bool] = True

    @cached_property
    def kernel(self) -> Kernel:
        """The compiled function."""
        inner = self.inner
        fixed = [k for k, moving in enumerate(self.is_moving) if not moving]
        content = f"adam {type(self).__name__}|{fixed}|{inner.identity}"  # includes source digests
        n_moving = sum(joint.kind != "fixed" for joint in self.kd.model.joints)
        return Kernel(
            Signature(self._name, self.inputs, (self._output,)),
            self._program,
            key=hashlib.sha256(content.encode()).hexdigest(),
            dtype=inner.dtype.type,
            column_function=self._column_function if n_moving > MOST_UNROLLED else None,
            check_result=self._check if self.checks_arguments else None,
        )

    @cached_property
    def inner(self) -> QuantityKernel[Any]:
        """The function of q, nu, tau, gravity."""
        gravity = self._name in WITH_GRAVITY
        return self.kd.function(self.request, wrenches=self.wrenches, gravity=gravity)

    @property
    def _name(self) -> str:
        return self.request if isinstance(self.request, str) else self.request[0]

    @cached_property
    def inputs(self) -> tuple[Port, ...]:
        """The arguments of the function."""
        n = len(self.is_moving or self.kd.joint_names)
        pose, joints = Port("base_transform", (4, 4)), Port("joint_positions", (n,))
        replaced = {
            "q": (joints,) if self._name in WITHOUT_BASE else (pose, joints),
            "nu": (Port("base_velocity", (6,)), Port("joint_velocities", (n,))),
            "tau": (Port("joint_torques", (n,)),),
            "gravity": (Port("g", (6,)),),
            "parameters": self._parameters,
        }
        inner = self.inner.signature.inputs
        return tuple(port for one in inner for port in replaced.get(one.name, (one,)))

    @cached_property
    def _output(self) -> Port:
        """The result, with entries of fixed joints."""
        (output,) = self.inner.signature.outputs
        return Port(output.name, self._with_zeros(np.zeros(output.shape)).shape)

    def _with_zeros(self, result: Array) -> Array:
        """Insert zeros for fixed joints into the axes of a result that joints have."""
        if all(self.is_moving):
            return result
        for axis in JOINT_AXES.get(self._name, (-1,)):
            last = np.swapaxes(result, axis, -1)
            zeros = np.zeros((*last.shape[:-1], 1))
            n_base = last.shape[-1] - sum(self.is_moving)
            columns = iter(range(n_base, last.shape[-1]))
            parts = [last[..., k, None] for k in range(n_base)]
            parts += [last[..., next(columns), None] if one else zeros for one in self.is_moving]
            result = np.swapaxes(join(parts), axis, -1)
        return result

    def _of_moving(self, entries: Array) -> Array:
        """Select the entries of the joints that move."""
        return entries if all(self.is_moving) else entries[..., np.flatnonzero(self.is_moving)]

    @cached_property
    def _parameters(self) -> tuple[Port, ...]:
        """Of a parametric robot: a length and a density for each link that has them."""
        k = self.kd.parameters.size // 2
        return (Port("length_multiplier", (k,)), Port("densities", (k,))) if k else ()

    def inner_arguments(self, arguments: Mapping[str, Array]) -> list[Array]:
        """Convert arguments, traced or numeric, to those of the inner function."""

        def joints(name: str) -> Array:
            return self._of_moving(arguments[name])

        conversions = {
            "q": lambda: _q(arguments.get("base_transform"), joints("joint_positions")),
            "nu": lambda: join([arguments["base_velocity"], joints("joint_velocities")]),
            "tau": lambda: join([np.zeros(6), joints("joint_torques")]),
            "gravity": lambda: arguments["g"][..., :3],
            "parameters": lambda: join([arguments[port.name] for port in self._parameters]),
        }
        names = [port.name for port in self.inner.signature.inputs]
        return [conversions[name]() if name in conversions else arguments[name] for name in names]

    def _program(self) -> Program:
        def run(*arrays: Array) -> Any:
            if not any(array.size for array in arrays):  # no joints: no motion relative to the base
                return np.zeros(self._output.shape)
            names = [port.name for port in self.inputs]
            views = [array.view(ObjectArray) for array in arrays]
            return self._with_zeros(self._traced(dict(zip(names, views, strict=True))))

        return trace(run, self.inputs, self._name)

    def _traced(self, arguments: Mapping[str, Array]) -> Array:
        """Return the result for traced arguments."""
        inner = CompiledFunction(self._name, self.inner.program, self.inner.dtype.type)
        return _nan_where(_is_wrong(arguments), inner(*self.inner_arguments(arguments)))

    def _column_function(self, *columns: Sequence[Array]) -> Sequence[Any]:
        """Compute the result by columns, for robots too large to compile."""
        arguments = {
            port.name: np.stack(entries, axis=-1).reshape(-1, *port.shape)
            for port, entries in zip(self.inputs, columns, strict=True)
        }
        result = self.inner(*self.inner_arguments(arguments))
        if self.checks_arguments:
            result = _nan_where(_is_wrong(arguments), result)
        return [self._with_zeros(result).reshape(len(result), -1).T]

    def _check(self, kernel: Kernel, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Raise the error of the first row whose result is not finite although its input is."""
        del kernel
        bad = unexplained(inputs, outputs)
        if not bad.any():
            return
        row = int(np.flatnonzero(bad)[0])
        arguments = {
            port.name: array[row if len(array) > 1 else 0].reshape(port.shape)
            for port, array in zip(self.inputs, inputs, strict=True)
        }
        try:
            if "base_transform" in arguments:
                _check_pose(arguments["base_transform"])
            if "g" in arguments:
                check_gravity("g", arguments["g"])
            self.inner(*self.inner_arguments(arguments))  # raises if a joint moves no inertia
        except LinkworkError as error:
            suffix = f" (in row {row} of {len(bad)})" if len(bad) > 1 else ""
            raise type(error)(f"{error}{suffix}") from None


@dataclass(frozen=True)
class SmoothFunction(PoseFunction):
    """A quantity of a robot as a smooth function of all entries of adam's arguments.

    The rotation of the base is the matrix itself. So derivatives with respect to its entries are
    polynomials as in adam, and a matrix that is not quite a rotation, as inside an optimization,
    has a result instead of an error.
    """

    checks_arguments = False

    def _traced(self, arguments: Mapping[str, Array]) -> Array:
        kd, problem = self.kd, self.kd.problem
        if "base_transform" in arguments:
            x, y, z = (tuple(row) for row in arguments["base_transform"][:3, :3])
            layout = _LayoutWithRotation(problem.layout.model, rotation=(x, y, z))  # pyright: ignore
            problem = replace(problem, layout=layout)

        def context(*parameters: Any) -> Context:
            current = kd._context(*parameters)  # pyright: ignore[reportPrivateUsage]
            skeleton = replace(current.problem.skeleton, layout=problem.layout)
            return replace(current, problem=problem.with_skeleton(skeleton))

        compute = computation(context, problem, self.inner.request)
        return compute(*[tuple(array) for array in self.inner_arguments(arguments)])[0]


@dataclass(frozen=True, eq=False)
class _LayoutWithRotation(Layout):
    """The layout of a floating base whose rotation is a matrix instead of the quaternion in q."""

    rotation: Mat = IDENTITY

    def base_rotation(self, q: Sequence[Scalar]) -> Mat:
        return self.rotation


def _q(pose: Array | None, s: Array) -> Array:
    """(..., nq) configuration; without a pose, the base is at the origin."""
    if pose is None:
        return join([np.array(BASE_NEUTRAL), s])
    return join([pose[..., :3, 3], quat.from_rotation(pose[..., :3, :3]), s])


def _is_wrong(arguments: Mapping[str, Array]) -> Array | None:
    """(..., 1) 0 where pose and gravity are valid, else NaN; None without both."""
    bounds = []
    if "base_transform" in arguments:
        bounds.append(_pose_error(arguments["base_transform"]) - LARGEST_ERROR)
    if "g" in arguments:
        bounds.append(abs(arguments["g"][..., 3:]).max(axis=-1, keepdims=True))
    flags = [where(bound <= 0.0, 0.0, np.nan) for bound in bounds]
    return sum(flags[1:], start=flags[0]) if flags else None


def _nan_where(invalid: Array | None, result: Array) -> Array:
    """Return the result with NaN as its first element where an argument is invalid."""
    if invalid is None or not result.size:
        return result
    n_outer = invalid.ndim - 1
    flat = result.reshape(*result.shape[:n_outer], -1)
    return join([flat[..., :1] + invalid, flat[..., 1:]]).reshape(result.shape)


def _pose_error(pose: Array) -> Array:
    """(..., 1) largest difference between elements of a matrix and of the nearest pose."""
    error = pose[..., :3, :3] - quat.to_rotation(quat.from_rotation(pose[..., :3, :3]))
    last = pose[..., 3, :] - np.array([0.0, 0.0, 0.0, 1.0])
    both = join([error.reshape(*error.shape[:-2], 9), last])
    return abs(both).max(axis=-1, keepdims=True)


def _check_pose(pose: Array) -> None:
    error = _pose_error(pose)[0]
    if not error <= LARGEST_ERROR:
        message = "expected a pose, the rotation and position of the base in the world"
        raise ValueRangeError(f"base_transform: {message}; elements differ by {error:.3g}")


def check_gravity(name: str, g: Array) -> None:
    """Raise if the last three of six elements are not 0."""
    if g[3:].any():
        message = f"the last three elements of {g.tolist()} must be 0"
        raise ValueRangeError(f"{name}: {message}; gravity has no angular part")
