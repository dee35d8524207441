"""How the motion subspace of a joint changes by itself: for kinds whose S depends on the position.

What is carried along with the side that the joint's axes are fixed to does not count.
"""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.algorithms.frames import Numbers
from linkwork.mechanics.joints import JointPose, combined, written_in_body
from linkwork.spatial.blocks import Twist, times, twist_add


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
    mount, rates = pose.mount, pose.columns_rate(nu)
    if rates is None:
        return None
    own = [nu[k] for k in mount.nu_indices]
    scaled = [times(mount.multiplier, value) for value in own]
    slopes = mount.kind.bias_jacobian(mount.axis, pose.theta, scaled)
    assert slopes is not None
    of_bias = written_in_body(mount, pose.M, slopes)
    changes: list[SubspaceChange] = []
    for k, rate in enumerate(rates):
        along = [mount.multiplier if i == k else 0.0 for i in range(len(rates))]
        changed = mount.kind.subspace_rate(mount.axis, pose.theta, along)
        assert changed is not None
        columns = written_in_body(mount, pose.M, changed)
        velocity, acceleration = combined(own, columns), of_bias[k]
        if nu_dot is not None:
            acceleration = combined([nu_dot[i] for i in mount.nu_indices], columns, acceleration)
        changes.append(SubspaceChange(velocity, acceleration, twist_add(rate, velocity)))
    return changes
