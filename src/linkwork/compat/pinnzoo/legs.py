"""Inverse kinematics of legs in closed form: a hip that rolls, a thigh and a calf that pitch.

In the frame of the hip, with r the foot, d how far the thigh is from the hip along y, h and k the
lengths of thigh and calf, and angles a (hip), b (thigh), c (calf):

    Rx(a)^T r = (x, d, z)                    z = -+ sqrt(r_y^2 + r_z^2 - d^2), two solutions
    x = -h sin b - k sin(b + c)              cos c = (x^2 + z^2 - h^2 - k^2) / (2 h k), c <= 0
    z = -h cos b - k cos(b + c)              b = atan2(-x, -z) - atan2(k sin c, h + k cos c)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array, as_array, matvec, transpose
from linkwork.errors import ModelError, ShapeError, ValueRangeError, model_error
from linkwork.spatial.source import quat

if TYPE_CHECKING:
    from linkwork.compat.pinnzoo.model import Model

_JOINTS_PER_LEG = 3
_TOLERANCE = 1e-6  # of lengths [m] and directions that must be zero for the formulas to hold


@dataclass(frozen=True, slots=True)
class Leg:
    """The lengths of a leg."""

    hip: Array  # (3,) origin of the hip in the base
    side: float  # of the thigh from the hip, along y
    thigh: float
    calf: float


def inverse_kinematics(model: Model, x: ArrayLike, foot_locs: ArrayLike) -> Array:
    """(..., joints, 2) the two solutions for the angles of the legs, NaN where there is none.

    Args:
        model: a robot whose bodies are feet on legs of three joints, such as go1 and go2.
        x: (..., nx) state, or (..., nq) configuration; only the pose of the base is used.
        foot_locs: (..., 3 legs) where the feet shall be in the world, as `kinematics` gives them.

    Returns:
        angles in (-pi, pi]. In the first solution the foot is below the hip in the leg's plane.

    Raises:
        ModelError: the legs are not of this kind.
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
    """(..., nq) or (..., nx) with the angles of each leg from the solution nearest to those given.

    Args:
        model: as for `inverse_kinematics`.
        q: (..., nq) configuration, or (..., nx) state.
        foot_locs: (..., 3 legs) where the feet shall be in the world.
        obey_limits: whether angles must be within the limits of the joints.

    Raises:
        ValueRangeError: some angles cannot be within their limits.
    """
    given = as_array(q, "q")
    found = inverse_kinematics(model, given, foot_locs)
    batch = np.broadcast_shapes(given.shape[:-1], found.shape[:-2])
    nearest = np.array(np.broadcast_to(given, (*batch, given.shape[-1])))
    options = [np.array(nearest) for _ in range(2)]
    for k, option in enumerate(options):
        option[..., 7 : model.nq] = found[..., k]
        if obey_limits:
            options[k] = fix_joint_limits(model, option, suppress_error=True)
    for start in range(7, model.nq, _JOINTS_PER_LEG):
        at = slice(start, start + _JOINTS_PER_LEG)
        first, second = (np.linalg.norm(o[..., at] - nearest[..., at], axis=-1) for o in options)
        is_first = (first <= second) | np.isnan(second)
        nearest[..., at] = np.where(is_first[..., None], options[0][..., at], options[1][..., at])
    return fix_joint_limits(model, nearest) if obey_limits else nearest


def fix_joint_limits(model: Model, x: ArrayLike, *, suppress_error: bool = False) -> Array:
    """x or q with the angles of its revolute joints moved by whole turns into their limits.

    Args:
        model: the robot.
        x: (..., nx) state, or (..., nq) configuration.
        suppress_error: whether to clip what does not fit to the nearer limit, instead of raising.

    Raises:
        ValueRangeError: no number of turns brings an angle within its limits.
    """
    found = np.array(as_array(x, "x"), dtype=np.float64)
    if found.shape[-1] not in (model.nq, model.nx):
        raise ShapeError(f"x: expected (..., {model.nx}) or (..., {model.nq}), got {found.shape}")
    start = model.nq - len(model.joint_names)
    for k, name in enumerate(model.joint_names):
        lower, upper = model.kd.limits.lower[k], model.kd.limits.upper[k]
        angle = found[..., start + k]
        if model.kd.model.joint(name).kind == "revolute":
            angle = _turned(angle, lower, upper)
        outside = (angle < lower) | (angle > upper)
        if outside.any() and not suppress_error:
            worst = angle[outside].flat[0]
            text = f"joint {name!r}: {worst:g} is outside of its limits {lower:g} to {upper:g}"
            raise ValueRangeError(f"{text}; suppress_error=True clips it")
        found[..., start + k] = np.clip(angle, lower, upper)
    return found


def _turned(angle: Array, lower: float, upper: float) -> Array:
    """An angle moved by whole turns into its limits, or as near to them as it gets."""
    turn = 2.0 * np.pi
    turns = np.where(angle < lower, np.ceil((lower - angle) / turn), 0.0)
    turns = np.where(angle > upper, -np.ceil((angle - upper) / turn), turns)
    moved = np.where(turns == 0.0, angle, angle + turn * turns)
    other = moved - np.sign(turns) * turn  # beyond the limit that it came from
    outside, before = (np.maximum(lower - one, one - upper) for one in (moved, other))
    return np.where((turns != 0.0) & (outside > 0.0) & (before < outside), other, moved)


def _angles(leg: Leg, foot: Array, sign: float) -> Array:
    """(..., 3) angles of hip, thigh and calf that bring the foot (..., 3), seen from the hip."""
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
    """The lengths of the legs, from where their parts are at zero."""
    names = model.joint_names
    feet = model.kinematics_bodies
    if not model.space.floating or not feet or len(names) != _JOINTS_PER_LEG * len(feet):
        text = "inverse kinematics need a floating base and three joints for each body"
        raise model_error(f"{text}; got {len(names)} joints and {len(feet)} bodies")
    q = np.zeros(model.nq)
    q[3] = 1.0
    found: list[Leg] = []
    for k, foot in enumerate(feet):
        joints = [model.kd.model.joint(name) for name in names[3 * k : 3 * k + 3]]
        axes = [np.array(joint.axis) for joint in joints]
        poses = [model.kd.transform(joint.second, q) for joint in joints]
        is_level = all(np.abs(pose[:3, :3] - np.eye(3)).max() < _TOLERANCE for pose in poses)
        hip, thigh, calf, end = (*(p[:3, 3] for p in poses), model.kd.transform(foot, q)[:3, 3])
        steps = np.array([thigh - hip, calf - thigh, end - calf])
        wanted = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
        must_vanish = [*(np.array(axes) - wanted).flat, *steps[:, 0], steps[0, 2], *steps[1:, 1]]
        if not is_level or np.abs(must_vanish).max() > _TOLERANCE:
            raise _not_a_leg(foot)
        found.append(Leg(hip, float(steps[0, 1]), float(-steps[1, 2]), float(-steps[2, 2])))
    return found


def _not_a_leg(foot: str) -> ModelError:
    text = "inverse kinematics need a hip that turns about x, a thigh and a calf about y, and"
    return model_error(f"{text} each below the other at zero", f"leg of {foot!r}")
