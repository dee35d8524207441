"""Sliders of a robot's joints, and the configurations that they lead to.

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

UNLIMITED_ANGLE = pi  # range of the slider of a joint without limits, each way [rad]
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


def sliders_of(kd: KinDyn) -> list[Slider]:
    """The sliders of all independent joints, in the order of s."""
    sliders: list[Slider] = []
    for name in kd.joint_names:
        joint = kd.model.joint(name)
        for k in range(joint.nv):
            label = name if joint.nv == 1 else f"{name} {k + 1}"
            reach = _reach(joint, k)
            one = joint.nq == 1
            lower = joint.limits.lower if one and isfinite(joint.limits.lower) else -reach
            upper = joint.limits.upper if one and isfinite(joint.limits.upper) else reach
            if lower > upper and isfinite(joint.limits.lower):  # and beyond the range of the other
                upper = lower + 2 * reach
            elif lower > upper:
                lower = upper - 2 * reach
            sliders.append(Slider(label, name, k, lower, upper))
    return sliders


def _reach(joint: Joint, index: int) -> float:
    """Reach of a coordinate without limits: a length if its motion rotates nothing."""
    kind = joint.motion_kind
    _, angular = kind.subspace(Axis(joint.axis, joint.pitch), kind.neutral)[index]
    return UNLIMITED_ANGLE if any(angular) else UNLIMITED_LENGTH


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


class Path:
    """The motion of one slider from its value to another."""

    def __init__(self, kd: KinDyn, slider: Slider, start: float, end: float) -> None:
        self._kd, self._slider, self._ends = kd, slider, (start, end)
        span, joint = kd.layout.nu[slider.joint], kd.model.joint(slider.joint)
        index = span.start + slider.index
        # the coordinate of the slider if it is one of q, else the joint
        self.held = slice(index, index + 1) if joint.nq == joint.nv else span

    @property
    def length(self) -> float:
        """How far the slider moves [rad] or [m]."""
        return abs(self._ends[1] - self._ends[0])

    def at(self, q: Array, share: float) -> Array:
        """A configuration in which the slider is at a share of the way, 0 to 1."""
        start, end = self._ends
        return with_slider(self._kd, q, self._slider, (1.0 - share) * start + share * end)
