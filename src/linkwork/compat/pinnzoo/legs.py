"""Inverse kinematics of legs in closed form: the hip rotates about x, thigh and calf about y.

In the frame of the hip, with r the position of the foot, d the offset of the thigh along y, h and k
the lengths of thigh and calf, and angles a (hip), b (thigh), c (calf):

    Rx(a)^T r = (x, d, z)                    z = -+ sqrt(r_y^2 + r_z^2 - d^2), two solutions
    x = -h sin b - k sin(b + c)              cos c = (x^2 + z^2 - h^2 - k^2) / (2 h k), c <= 0
    z = -h cos b - k cos(b + c)              b = atan2(-x, -z) - atan2(k sin c, h + k cos c)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.pinnzoo.model import Model
from linkwork.engine.symbolic.arrays import Array, as_array, matvec, transpose
from linkwork.errors import ModelError, ShapeError, ValueRangeError, model_error
from linkwork.spatial.source import quat

_JOINTS_PER_LEG = 3
_TOLERANCE = 1e-6  # for lengths [m] and directions that must be zero for the formulas to hold


@dataclass(frozen=True, slots=True)
class Leg:
    """The dimensions of a leg [m]."""

    hip: Array  # (3,) origin of the hip in the base
    side: float  # offset of the thigh from the hip along y
    thigh: float
    calf: float


def inverse_kinematics(model: Model, x: ArrayLike, foot_locs: ArrayLike) -> Array:
    """(..., joints, 2) the two solutions for the angles of the legs; NaN where there is none.

    Args:
        model: a robot whose bodies are feet on legs of three joints, such as go1 and go2.
        x: (..., nx) state, or (..., nq) configuration; only the pose of the base is used.
        foot_locs: (..., 3 legs) target positions of the feet in the world, as from `kinematics`.

    Returns:
        Angles in (-pi, pi]. In the first solution the foot is below the hip in the leg's plane.

    Raises:
        ModelError: the legs have other joints.
    """
    legs = _legs(model)
    state, feet = as_array(x, "x"), as_array(foot_locs, "foot_locs", (3 * len(legs),))
    if state.shape[-1] not in (model.nq, model.nx):
        raise ShapeError(f"x: expected (..., {model.nx}) or (..., {model.nq}), got {state.shape}")
    R_T = transpose(quat.to_rotation(state[..., 3:7]))
    solutions: list[Array] = []
    for k, leg in enumerate(legs):
        foot = matvec(R_T, feet[..., 3 * k : 3 * k + 3] - state[..., :3]) - leg.hip
        solutions.append(np.stack([_angles(leg, foot, sign) for sign in (-1.0, 1.0)], axis=-1))
    return np.concatenate(solutions, axis=-2)


def nearest_ik(
    model: Model, q: ArrayLike, foot_locs: ArrayLike, *, obey_limits: bool = True
) -> Array:
    """(..., nq) or (..., nx) with the angles of each leg from the solution nearest to those in q.

    Args:
        model: as for `inverse_kinematics`.
        q: (..., nq) configuration, or (..., nx) state.
        foot_locs: (..., 3 legs) target positions of the feet in the world.
        obey_limits: whether angles must be within the limits of the joints.

    Raises:
        ValueRangeError: some angles cannot be within their limits.
    """
    current = as_array(q, "q")
    solutions = inverse_kinematics(model, current, foot_locs)
    batch = np.broadcast_shapes(current.shape[:-1], solutions.shape[:-2])
    nearest = np.array(np.broadcast_to(current, (*batch, current.shape[-1])))
    options = [np.array(nearest) for _ in range(2)]
    for k, option in enumerate(options):
        option[..., 7 : model.nq] = solutions[..., k]
        if obey_limits:
            options[k] = fix_joint_limits(model, option, suppress_error=True)
    for start in range(7, model.nq, _JOINTS_PER_LEG):
        leg = slice(start, start + _JOINTS_PER_LEG)
        first, second = (np.linalg.norm(o[..., leg] - nearest[..., leg], axis=-1) for o in options)
        is_first = (first <= second) | np.isnan(second)
        nearest[..., leg] = np.where(
            is_first[..., None], options[0][..., leg], options[1][..., leg]
        )
    return fix_joint_limits(model, nearest) if obey_limits else nearest


def fix_joint_limits(model: Model, x: ArrayLike, *, suppress_error: bool = False) -> Array:
    """Return x or q with revolute joints moved into their limits by multiples of 2 pi.

    Args:
        model: the robot.
        x: (..., nx) state, or (..., nq) configuration.
        suppress_error: whether to clip other angles to the nearer limit, instead of raising.

    Raises:
        ValueRangeError: no multiple of 2 pi brings an angle within its limits.
    """
    result = np.array(as_array(x, "x"), dtype=np.float64)
    if result.shape[-1] not in (model.nq, model.nx):
        raise ShapeError(f"x: expected (..., {model.nx}) or (..., {model.nq}), got {result.shape}")
    start = model.nq - len(model.joint_names)
    for k, name in enumerate(model.joint_names):
        lower, upper = model.kd.limits.lower[k], model.kd.limits.upper[k]
        angle = result[..., start + k]
        if model.kd.model.joint(name).kind == "revolute":
            angle = _wrapped(angle, lower, upper)
        outside = (angle < lower) | (angle > upper)
        if outside.any() and not suppress_error:
            worst = angle[outside].flat[0]
            message = f"joint {name!r}: {worst:g} is outside its limits {lower:g} to {upper:g}"
            raise ValueRangeError(f"{message}; suppress_error=True clips it")
        result[..., start + k] = np.clip(angle, lower, upper)
    return result


def _wrapped(angle: Array, lower: float, upper: float) -> Array:
    """Move an angle by multiples of 2 pi into its limits, or as near to them as possible."""
    period = 2.0 * np.pi
    count = np.where(angle < lower, np.ceil((lower - angle) / period), 0.0)
    count = np.where(angle > upper, -np.ceil((angle - upper) / period), count)
    moved = np.where(count == 0.0, angle, angle + period * count)
    other = moved - np.sign(count) * period  # one period less, outside the violated limit
    excess, other_excess = (np.maximum(lower - one, one - upper) for one in (moved, other))
    return np.where((count != 0.0) & (excess > 0.0) & (other_excess < excess), other, moved)


def _angles(leg: Leg, foot: Array, sign: float) -> Array:
    """(..., 3) angles of hip, thigh and calf for a foot (..., 3) in the frame of the hip."""
    x, y, z = foot[..., 0], foot[..., 1], foot[..., 2]
    h, k, d = leg.thigh, leg.calf, leg.side
    with np.errstate(invalid="ignore"):
        down = sign * np.sqrt(y * y + z * z - d * d)
        a = np.arctan2(z, y) - np.arctan2(down, d)
        c = -np.arccos((x * x + down * down - h * h - k * k) / (2.0 * h * k))
    b = np.arctan2(-x, -down) - np.arctan2(k * np.sin(c), h + k * np.cos(c))
    angles = np.stack([np.where(np.isnan(c), np.nan, a), b, c], axis=-1)
    return np.pi - np.mod(np.pi - angles, 2.0 * np.pi)  # in (-pi, pi]


def _legs(model: Model) -> list[Leg]:
    """Return the dimensions of the legs, from the positions of their parts at zero."""
    names = model.joint_names
    feet = model.kinematics_bodies
    if not model.space.floating or not feet or len(names) != _JOINTS_PER_LEG * len(feet):
        message = "inverse kinematics need a floating base and three joints for each body"
        raise model_error(f"{message}; got {len(names)} joints and {len(feet)} bodies")
    q = np.zeros(model.nq)
    q[3] = 1.0
    legs: list[Leg] = []
    for k, foot in enumerate(feet):
        joints = [model.kd.model.joint(name) for name in names[3 * k : 3 * k + 3]]
        axes = [np.array(joint.axis) for joint in joints]
        poses = [model.kd.transform(joint.second, q) for joint in joints]
        is_level = all(np.abs(pose[:3, :3] - np.eye(3)).max() < _TOLERANCE for pose in poses)
        hip, thigh, calf, end = (*(p[:3, 3] for p in poses), model.kd.transform(foot, q)[:3, 3])
        steps = np.array([thigh - hip, calf - thigh, end - calf])
        expected_axes = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
        must_vanish = [
            *(np.array(axes) - expected_axes).flat,
            *steps[:, 0],
            steps[0, 2],
            *steps[1:, 1],
        ]
        if not is_level or np.abs(must_vanish).max() > _TOLERANCE:
            raise _not_a_leg(foot)
        legs.append(Leg(hip, float(steps[0, 1]), float(-steps[1, 2]), float(-steps[2, 2])))
    return legs


def _not_a_leg(foot: str) -> ModelError:
    message = "inverse kinematics need a hip with axis x, a thigh and a calf with axis y, and"
    return model_error(f"{message} each below the previous one at zero", f"leg of {foot!r}")
