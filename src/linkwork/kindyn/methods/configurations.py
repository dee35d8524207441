"""Configurations of a robot: some to begin with, and steps between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import pi, radians
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.algorithms.kinematics import manifold
from linkwork.engine.symbolic.arrays import Array, ObjectArray, as_array
from linkwork.engine.symbolic.traced import is_traced
from linkwork.errors import ArgumentError, ShapeError, model_error, shown, warn
from linkwork.kindyn.core import KinDynCore
from linkwork.kindyn.inputs import UNNORMALIZED_Q
from linkwork.kindyn.options import CoordinateOptions, methods_of
from linkwork.kindyn.quantities import quantity
from linkwork.model.joints import KINDS, JointKind
from linkwork.model.layout import BASE_NQ, Layout
from linkwork.model.parts import NO_LIMITS, Limits
from linkwork.model.pose import Pose, as_floats, as_pose
from linkwork.spatial.source import quat

if TYPE_CHECKING:
    from typing_extensions import Unpack


@methods_of("KinDyn")
class ConfigurationMethods(KinDynCore):
    """Configurations, and steps between them."""

    def neutral(self) -> Array:
        """(nq,) the neutral configuration: joints at zero, the base at the origin of the world.

        A joint whose limits exclude zero is at the limit nearest to zero.
        """
        return self.layout.neutral().astype(self.dtype)

    def q(
        self,
        positions: str | Mapping[str, ArrayLike] | None = None,
        /,
        *,
        base_pose: Pose | ArrayLike | None = None,
        **joints: ArrayLike,
    ) -> Array:
        """(nq,) configuration from positions of joints by name; the others are neutral.

            kd.q(elbow_pitch=0.3, base_pose=H)
            kd.q({"elbow-pitch": 0.3})
            kd.q("home", elbow_pitch=0.3)

        Args:
            positions: positions by names that cannot be written as keywords: a number, or as many
                as the joint has coordinates. Or the name of a configuration of the model, in which
                `joints` replace positions.
            base_pose: pose of a floating base in the world, as `Pose` or (4, 4) matrix.
            joints: positions by name.

        A position outside the limits of its joint is taken as it is, with a warning.
        """
        q, layout = self.layout.neutral(), self.layout
        if isinstance(positions, str):
            configuration = self.model.configuration(positions)
            q, positions = layout.configured(configuration, self.base), None
        if positions is not None and not isinstance(positions, Mapping):
            expected = "positions by name, or the name of a configuration"
            raise ArgumentError(f"q: expected {expected}, got {shown(positions)}")
        by_name = dict(positions or {})
        for name, value in joints.items():
            if name in by_name:
                raise ArgumentError(f"joint {name!r} is given twice")
            by_name[name] = value
        for name, value in by_name.items():
            span, numbers = layout.q[name], _numbers(value, f"joint {name!r}")
            size = span.stop - span.start
            if numbers.shape != (size,) and not (size == 1 and numbers.ndim == 0):
                expected = "a number" if size == 1 else f"{size} numbers"
                raise ShapeError(f"joint {name!r}: expected {expected}, got shape {numbers.shape}")
            q = _written(q, span, numbers)
        self._warn_of_limits(by_name, q)
        if base_pose is not None:
            if not self.floating:
                raise ArgumentError(
                    "base_pose: q of a fixed base has none; KinDyn takes it instead"
                )
            H = _matrix(base_pose)
            q = _written(q, layout.base_position, H[:3, 3])
            q = _written(q, layout.base_wxyz, quat.from_rotation(H[:3, :3]))
        return q if isinstance(q, ObjectArray) else q.astype(self.dtype)

    def _warn_of_limits(self, names: Mapping[str, Any], q: Array) -> None:
        """Warn of positions that are outside their limits: degrees, perhaps."""
        if isinstance(q, ObjectArray):
            return
        for name in names:
            limits, value = self.model.joint(name).limits, float(q[self.layout.q[name]][0])
            if self.model.joint(name).nq > 1 or limits.lower <= value <= limits.upper:
                continue
            rounding = 1e-6 * max(1.0, abs(value))
            if limits.lower - rounding <= value <= limits.upper + rounding:
                continue
            rotates = self.model.joint(name).motion_kind.rotation != "none"
            is_angle = rotates and abs(value) > pi
            hint = f"; q is in radians: np.deg2rad({value:g}) = {radians(value):.4g}"
            text = f"joint {name!r}: {value:g} is outside its limits"
            warn(f"{text} {limits.lower:g} to {limits.upper:g}{hint if is_angle else ''}")

    @quantity(manifold.integrate, ("nq",), "configuration", has_body=True)
    def integrate(
        self, q: ArrayLike, nu: ArrayLike, dt: ArrayLike = 1.0, **options: Unpack[CoordinateOptions]
    ) -> Array:
        """(..., nq) configuration after moving from q at constant nu for a time dt (...) [s].

        Its quaternions and (cos, sin) have norm 1.

        Examples:
            >>> kd = lw.KinDyn(lw.load("quadruped"))
            >>> nu = np.eye(kd.nv)[2]  # the base moves up with 1 m/s
            >>> kd.integrate(kd.neutral(), nu, 0.5)[:3]
            array([0. , 0. , 0.5])
        """
        if type(dt) is float:  # a number becomes an array here faster than in the kernel
            dt = np.array(dt, self.dtype)
        return self._of("integrate")(q, nu, dt, **options)

    @quantity(manifold.difference, ("nv",), "[m, rad]")
    def difference(
        self, q_start: ArrayLike, q_end: ArrayLike, **options: Unpack[CoordinateOptions]
    ) -> Array:
        """(..., nv) the constant nu that leads from one configuration to another in one second.

        `integrate(q_start, difference(q_start, q_end))` is `q_end`. Rotations take the shorter way;
        angles of revolute joints are subtracted as they are.
        """
        ...

    @quantity(manifold.normalize, ("nq",), "configuration", inputs=(UNNORMALIZED_Q,))
    def normalize(self, q: ArrayLike, **options: Unpack[CoordinateOptions]) -> Array:
        """(..., nq) configuration with quaternions and (cos, sin) scaled to norm 1."""
        ...


def _numbers(value: ArrayLike, what: str) -> Array:
    """Convert numbers to floats; return traced values as they are."""
    return as_array(value, what) if is_traced(value) else as_floats(value, what)


def _written(q: Array, span: slice, numbers: Array) -> Array:
    """Return a configuration with changed entries, which is traced if they are."""
    if isinstance(numbers, ObjectArray):
        q = q.astype(object).view(ObjectArray)
    q[span] = numbers
    return q


def _matrix(base_pose: Any) -> Array:
    """Convert a pose to a (4, 4) matrix. Traced matrices are not validated."""
    if not is_traced(base_pose):
        return as_pose(base_pose, "base_pose").matrix()
    H = as_array(base_pose, "base_pose")
    if H.shape != (4, 4):
        raise model_error(f"base_pose: expected a Pose or a (4, 4) matrix, got shape {H.shape}")
    return H


def batch_shape(n: int | tuple[int, ...]) -> tuple[int, ...]:
    """Convert a number or a shape to a batch shape."""
    try:
        batch = tuple(map(index, n)) if isinstance(n, (tuple, list)) else (index(n),)
    except TypeError:
        batch = (-1,)
    if any(size < 0 for size in batch):
        raise ArgumentError(f"n: expected how many, or a batch shape, got {n!r}")
    return batch


def random_configurations(layout: Layout, batch: Sequence[int], rng: np.random.Generator) -> Array:
    """Random configurations: joints within their limits, or within [-pi, pi] and [-1, 1].

    Returns:
        (*batch, nq); the base within one meter of the world's origin, with a random rotation.
    """
    q = np.empty((*batch, layout.nq))
    if layout.floating:
        q[..., :BASE_NQ] = _random_positions(KINDS["floating"], NO_LIMITS, batch, rng)
    for name, span in layout.q.items():
        joint = layout.model.joint(name)
        q[..., span] = _random_positions(joint.motion_kind, joint.limits, batch, rng)
    return q


def _random_positions(
    kind: JointKind, limits: Limits, batch: Sequence[int], rng: np.random.Generator
) -> Array:
    """Return (*batch, nq) positions within limits or the kind's reach."""
    theta = rng.uniform(*_bounds(kind, limits), (*batch, kind.nq))
    for part in kind.unit_norm:
        direction = rng.normal(size=(*batch, part.count))
        norm = np.linalg.norm(direction, axis=-1, keepdims=True)
        theta[..., part.start : part.start + part.count] = direction / norm
    return theta


def _bounds(kind: JointKind, limits: Limits) -> tuple[Array, Array]:
    """Return (nq,) the least and the largest positions: the limits, or the kind's reach."""
    reach = np.array(kind.reach)
    lower = limits.lower if np.isfinite(limits.lower) else -reach
    upper = limits.upper if np.isfinite(limits.upper) else np.maximum(reach, lower)
    return np.minimum(lower, upper), np.asarray(upper)
