"""What joints themselves add to the dynamics: rotor inertia, damping and dry friction.

Along each coordinate of a joint, with values of the model,

    armature * acceleration + damping * velocity + friction * sign(velocity)

A joint that depends on another acts on the other's coordinate, its armature and damping times the
square of the multiplier and its friction times the magnitude.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.engine.symbolic.entries import Traced
from linkwork.model.layout import Layout
from linkwork.spatial.blocks import Scalar, is_zero


@dataclass(frozen=True, slots=True)
class JointDynamics:
    """What joints add along one coordinate of nu."""

    armature: Scalar = 0.0
    damping: Scalar = 0.0
    friction: Scalar = 0.0

    def force(self, velocity: Scalar | None, acceleration: Scalar | None) -> Scalar:
        """Return what is added to the force along the coordinate. None stands for zero."""
        total: Scalar = 0.0
        if acceleration is not None:
            total = self.armature * acceleration
        if velocity is None:
            return total
        total = total + self.damping * velocity
        if is_zero(self.friction):
            return total
        return total + self.friction * _sign(velocity)


DynamicsByIndex = Mapping[int, JointDynamics]  # by index in nu; coordinates may be left out
NO_JOINT_DYNAMICS: DynamicsByIndex = {}


NO_CHANGES: Mapping[tuple[str, str], Scalar] = {}


def joint_dynamics_of(
    layout: Layout, changes: Mapping[tuple[str, str], Scalar] = NO_CHANGES
) -> dict[int, JointDynamics]:
    """Return armature, damping and friction along the coordinates of nu.

    Args:
        layout: of the robot's coordinates.
        changes: numbers in place of the model's, by joint and name, such as ("knee", "damping").
    """
    by_index: dict[int, JointDynamics] = {}
    for joint in layout.model.joints:
        armature, damping, friction = (
            changes.get((joint.name, name), getattr(joint, name))
            for name in ("armature", "damping", "friction")
        )
        if all(map(is_zero, (armature, damping, friction))) or joint.is_fixed:
            continue
        follower = layout.followers.get(joint.name)
        factor = follower.multiplier if follower else 1.0
        span = layout.nu[follower.leader if follower else joint.name]
        for k in range(span.start, span.stop):
            old = by_index.get(k, JointDynamics())
            by_index[k] = JointDynamics(
                old.armature + factor * factor * armature,
                old.damping + factor * factor * damping,
                old.friction + abs(factor) * friction,
            )
    return by_index


def with_joint_dynamics(
    forces: Sequence[Scalar],
    joint_dynamics: DynamicsByIndex,
    nu: Sequence[Scalar] | None,
    nu_dot: Sequence[Scalar] | None,
) -> list[Scalar]:
    """Return forces of inverse dynamics with what the joints add. None stands for zero."""
    total = list(forces)
    for k, added in joint_dynamics.items():
        velocity = None if nu is None else nu[k]
        acceleration = None if nu_dot is None else nu_dot[k]
        total[k] = total[k] + added.force(velocity, acceleration)
    return total


def _sign(x: Scalar) -> Scalar:
    """Return -1, 0 or 1: the sign of a number or of an expression."""
    if isinstance(x, Traced):
        return (x < 0.0).select(-1.0, (x > 0.0).select(1.0, x))
    return np.sign(x)
