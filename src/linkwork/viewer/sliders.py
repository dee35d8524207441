"""Sliders of a robot: one for each velocity coordinate of its joints, within the limits.

A joint of one coordinate has one slider: its position. Any other joint has one for each of its
velocity coordinates: the step that leads from its neutral position to where it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, isfinite, log10, pi

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.kindyn import KinDyn
from linkwork.model.joints.kind import Axis
from linkwork.model.parts import Joint

UNLIMITED_ANGLE = pi  # reach of the slider of a joint without limits [rad]
UNLIMITED_LENGTH = 1.0  # [m]
STEPS = 1000  # of a slider from end to end


@dataclass(frozen=True)
class Slider:
    """One slider."""

    label: str
    joint: str
    index: int  # of the coordinate among those of the joint
    lower: float  # [rad] or [m]
    upper: float

    @property
    def step(self) -> float:
        """The smallest change; a power of ten, so that the numbers shown are short."""
        width = self.upper - self.lower
        return float(10.0 ** np.floor(np.log10(width / STEPS))) if width > 0 else 1e-3

    @property
    def ends(self) -> tuple[float, float]:
        """Where the slider on the page begins and ends: multiples of its step within the limits.

        So its numbers are short, and zero is among them.
        """
        step, digits = self.step, max(0, -round(log10(self.step)))
        low = round(ceil(self.lower / step - 1e-6) * step, digits)
        high = round(floor(self.upper / step + 1e-6) * step, digits)
        if low >= high:
            return self.lower, self.upper
        return max(low, self.lower), min(high, self.upper)

    def shown(self, value: float) -> float:
        """The nearest value that the slider on the page can show."""
        low, high = self.ends
        return min(max(value, low), high)

    def clamped(self, value: float) -> float:
        """The nearest value within the limits."""
        return min(max(value, self.lower), self.upper)


def sliders_of(kd: KinDyn) -> list[Slider]:
    """The sliders of all joints that have coordinates of their own, in the order of s."""
    found: list[Slider] = []
    for name in kd.joint_names:
        joint = kd.model.joint(name)
        for k in range(joint.nv):
            label = name if joint.nv == 1 else f"{name} {k + 1}"
            reach = _reach(joint, k)
            one = joint.nq == 1
            lower = joint.limits.lower if one and isfinite(joint.limits.lower) else -reach
            upper = joint.limits.upper if one and isfinite(joint.limits.upper) else reach
            if lower > upper:  # one limit is beyond the reach that the other side has without one
                lower, upper = _beside(lower, upper, joint.limits.lower, reach)
            found.append(Slider(label, name, k, lower, upper))
    return found


def _reach(joint: Joint, index: int) -> float:
    """Reach of a coordinate without limits: a length if its motion rotates nothing."""
    kind = joint.motion_kind
    _, angular = kind.subspace(Axis(joint.axis, joint.pitch), kind.neutral)[index]
    return UNLIMITED_ANGLE if any(angular) else UNLIMITED_LENGTH


def _beside(lower: float, upper: float, given: float, reach: float) -> tuple[float, float]:
    return (lower, lower + 2 * reach) if isfinite(given) else (upper - 2 * reach, upper)


def slider_values(kd: KinDyn, q: Array) -> Array:
    """(number of sliders,) the values that belong to a configuration, perhaps beyond the limits."""
    values: list[float] = []
    for name in kd.joint_names:
        kind = kd.model.joint(name).motion_kind
        theta = q[kd.layout.q[name]].tolist()
        values += (
            theta if kind.nq == 1 else [float(x) for x in kind.between(list(kind.neutral), theta)]
        )
    return np.array(values)


def with_slider(kd: KinDyn, q: Array, slider: Slider, value: float) -> Array:
    """A configuration in which one slider has another value."""
    kind, span = kd.model.joint(slider.joint).motion_kind, kd.layout.q[slider.joint]
    changed = q.copy()
    if kind.nq == 1:
        changed[span] = value
        return changed
    neutral = list(kind.neutral)
    step = [float(x) for x in kind.between(neutral, q[span].tolist())]
    step[slider.index] = value
    changed[span] = [float(x) for x in kind.moved(neutral, step)]
    return changed
