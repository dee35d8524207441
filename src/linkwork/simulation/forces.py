"""Forces of actuators, springs, dampers and gravity compensation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.engine.symbolic.entries import FUNCTIONS, select
from linkwork.model.layout import BASE_NV, Layout
from linkwork.simulation.scene import ANY, ActuatorModel, JointForces, Range, Scene
from linkwork.simulation.world import State, World
from linkwork.spatial.blocks import Force, Scalar, Vec, is_zero

TINY = 1e-15  # mjMINVAL: the smallest time constant


@dataclass(frozen=True, slots=True)
class Actuation:
    """What actuators do at one state."""

    forces: list[Scalar]  # of each actuator
    along: dict[int, Scalar]  # on joints, by index in nu
    next_activation: list[Scalar]
    gains: dict[int, Scalar]  # derivatives of `along` with respect to nu, which are negative


def has_activation(actuator: ActuatorModel) -> bool:
    """Return whether an actuator has a state."""
    return actuator.dynamics != "none"


def span_of(layout: Layout, joint: str) -> range:
    """Return the indices in nu of a joint; "" is the base."""
    if not joint:
        return range(BASE_NV if layout.floating else 0)
    return range(layout.nv)[layout.nu[joint]]


def actuation(layout: Layout, scene: Scene, state: State) -> Actuation:
    """Return forces of actuators, and their next activations."""
    states = iter(state.activation)
    result = Actuation([], {}, [], {})
    for one, u in zip(scene.actuators, state.control, strict=True):
        u = _clipped(u, one.control_range)  # noqa: PLW2901 - the control in its range
        if has_activation(one):
            now = next(states)
            following = _next_activation(one, now, u, scene.options.timestep)
            result.next_activation.append(following)
            u = following if one.early else now  # noqa: PLW2901
        (theta,) = state.q[layout.q[one.joint]]
        (k,) = span_of(layout, one.joint)
        length, rate = one.gear * theta, one.gear * state.nu[k]
        (g0, g1, g2), (b0, b1, b2) = one.gain, one.bias
        free = (g0 + g1 * length + g2 * rate) * u + (b0 + b1 * length + b2 * rate)
        low, high = one.force_range
        force = _clipped(free, one.force_range)
        slope = g2 * u + b2
        if not is_zero(slope):
            if low > -math.inf or high < math.inf:
                slope = select(select(low < free, free < high, False), slope, 0.0)
            result.gains[k] = result.gains.get(k, 0.0) + (one.gear * one.gear) * slope
        result.forces.append(force)
        result.along[k] = result.along.get(k, 0.0) + one.gear * force
    return result


def passive_forces(
    layout: Layout, joints: Sequence[JointForces], state: State
) -> dict[int, Scalar]:
    """Return the forces of springs and dampers, by index in nu."""
    along: dict[int, Scalar] = {}
    for one in joints:
        span = span_of(layout, one.joint)
        if not is_zero(one.damping):
            for k in span:
                along[k] = along.get(k, 0.0) - one.damping * state.nu[k]
        if not is_zero(one.stiffness) and one.joint:
            kind = layout.model.joint(one.joint).motion_kind
            stretch = kind.between(one.spring_reference, state.q[layout.q[one.joint]])
            for k, value in zip(span, stretch, strict=True):
                along[k] = along.get(k, 0.0) - one.stiffness * value
    return along


def gravity_compensation(world: World, scene: Scene, gravity: Vec) -> dict[int, Scalar]:
    """Return the forces that hold a part of the weight of links, by index in nu."""
    wrenches: dict[int, Force] = {}
    skeleton = world.skeleton
    for name, part in scene.gravity_compensation:
        index = skeleton.layout.model.frame_index(name)
        inertia = skeleton.link_inertia(index)
        body, R, r = world.frame(index)
        lift = -part * gravity
        moment = (inertia.mass * r + R @ inertia.first_moment).cross(lift)
        wrench = Force(inertia.mass * lift, moment)
        wrenches[body] = wrenches[body] + wrench if body in wrenches else wrench
    return world.forces(wrenches)


def joint_forces(
    layout: Layout,
    joints: Sequence[JointForces],
    actuators: Actuation,
    passive: dict[int, Scalar],
    compensation: dict[int, Scalar],
) -> tuple[list[Scalar], dict[int, Scalar]]:
    """Return the sum of all forces, with the ranges of what actuators may exert on joints.

    Returns:
        the forces, and the derivatives of those of actuators with respect to nu: 0 at a range.
    """
    driven, total = dict(actuators.along), [passive.get(k, 0.0) for k in range(layout.nv)]
    slopes = dict(actuators.gains)
    compensated = dict(compensation)
    for one in joints:
        for k in span_of(layout, one.joint):
            if one.gravity_by_actuators and k in compensated:
                held = compensated.pop(k)
                if actuators.forces:  # as MuJoCo, which computes no actuation otherwise
                    driven[k] = driven.get(k, 0.0) + held
            if k in driven:
                low, high = one.force_range
                if k in slopes and one.force_range != ANY:
                    is_free = select(low < driven[k], driven[k] < high, False)
                    slopes[k] = select(is_free, slopes[k], 0.0)
                driven[k] = _clipped(driven[k], one.force_range)
    for more in (driven, compensated):
        for k, value in more.items():
            total[k] = total[k] + value
    return total, slopes


def _next_activation(one: ActuatorModel, now: Scalar, u: Scalar, timestep: float) -> Scalar:
    if one.dynamics == "integrator":
        following = now + timestep * u
    else:
        tau = max(TINY, one.time_constant)
        exact = one.dynamics == "filterexact"
        share = -math.expm1(-timestep / tau) if exact else timestep / tau
        following = now + share * (u - now)
    return _clipped(following, one.activation_range)


def _clipped(x: Scalar, bounds: Range) -> Scalar:
    low, high = bounds
    x = x if low == -math.inf else FUNCTIONS["maximum"](low, x)
    return x if high == math.inf else FUNCTIONS["minimum"](x, high)
