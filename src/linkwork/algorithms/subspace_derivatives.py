"""How the motion subspace of a joint changes by itself: for kinds whose S depends on the position.

What is carried along with the side that the joint's axes are fixed to does not count.
"""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.algorithms.frames import Numbers
from linkwork.mechanics.joints import JointPose, combined
from linkwork.spatial.blocks import Twist, twist_add


@dataclass(frozen=True, slots=True)
class SubspaceChange:
    """What changes along one coordinate of a joint, in the axes of the body that it holds."""

    velocity: Twist  # S nu by the position
    acceleration: Twist  # S nu_dot + S_dot nu by the position
    bias: Twist  # S_dot nu by nu

    @property
    def twists(self) -> tuple[Twist, Twist, Twist]:
        """All three."""
        return self.velocity, self.acceleration, self.bias


def subspace_changes(
    pose: JointPose, nu: Numbers, nu_dot: Numbers | None
) -> list[SubspaceChange] | None:
    """For each coordinate of a joint; None for a constant S. None for nu_dot stands for zero."""
    rates, slopes = pose.columns_rate(nu), pose.columns_slopes()
    indices = pose.mount.nu_indices
    own = [nu[k] for k in indices]
    of_bias = pose.bias_slopes(own)
    if rates is None or slopes is None or of_bias is None:
        return None
    changes: list[SubspaceChange] = []
    for k, (rate, columns) in enumerate(zip(rates, slopes, strict=True)):
        velocity, acceleration = combined(own, columns), of_bias[k]
        if nu_dot is not None:
            acceleration = combined(
                [nu_dot[i] for i in pose.mount.nu_indices], columns, acceleration
            )
        changes.append(SubspaceChange(velocity, acceleration, twist_add(rate, velocity)))
    return changes
