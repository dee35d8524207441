"""What joints themselves add to the dynamics: rotor inertia, damping and dry friction.

Along each coordinate of a joint, with numbers of the model,

    armature * acceleration + damping * velocity + friction * sign(velocity)

A joint that depends on another acts on the other's coordinate, its armature and damping times the
square of the multiplier and its friction times the magnitude.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.model.layout import Layout
from linkwork.spatial.blocks import Scalar, plus, times


@dataclass(frozen=True, slots=True)
class Drive:
    """What acts along one coordinate of nu."""

    armature: float = 0.0
    damping: float = 0.0
    friction: float = 0.0

    def force(self, velocity: Scalar | None, acceleration: Scalar | None) -> Scalar:
        """What has to be added to the force along the coordinate. None stands for zero."""
        total: Scalar = 0.0
        if acceleration is not None:
            total = times(self.armature, acceleration)
        if velocity is None:
            return total
        total = plus(total, times(self.damping, velocity))
        return plus(total, times(self.friction, _sign(velocity))) if self.friction else total


Drives = Mapping[int, Drive]  # by place in nu; places without one are left out
NO_DRIVES: Drives = {}


def drives_of(layout: Layout) -> dict[int, Drive]:
    """The drives of a robot's joints."""
    found: dict[int, Drive] = {}
    for joint in layout.model.joints:
        if not (joint.armature or joint.damping or joint.friction) or not joint.motion_kind.nv:
            continue
        follower = layout.followers.get(joint.name)
        k = follower.multiplier if follower else 1.0
        at = layout.nu[follower.leader if follower else joint.name]
        for place in range(at.start, at.stop):
            old = found.get(place, Drive())
            found[place] = Drive(
                old.armature + k * k * joint.armature,
                old.damping + k * k * joint.damping,
                old.friction + abs(k) * joint.friction,
            )
    return found


def with_drives(
    forces: Sequence[Scalar],
    drives: Drives,
    nu: Sequence[Scalar] | None,
    nu_dot: Sequence[Scalar] | None,
) -> list[Scalar]:
    """Forces of inverse dynamics with what the joints add. None stands for zero."""
    found = list(forces)
    for place, drive in drives.items():
        velocity = None if nu is None else nu[place]
        acceleration = None if nu_dot is None else nu_dot[place]
        found[place] = plus(found[place], drive.force(velocity, acceleration))
    return found


def _sign(x: Scalar) -> Scalar:
    """-1, 0 or 1 as x is; of an expression too."""
    if hasattr(x, "select"):
        return (x < 0.0).select(-1.0, (x > 0.0).select(1.0, x))
    return np.sign(x)
