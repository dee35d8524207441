"""How joints move on the page: sliders, and loops that are kept closed.

A joint of one coordinate has one slider: its position. Any other joint has one for each of its
velocity coordinates: the step that leads from its neutral position to where it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, isfinite, log10, pi

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.kindyn import KinDyn
from linkwork.kindyn.constrained.assembly import PERTURBATIONS, assembler_of
from linkwork.mechanics.constraints import Anchor
from linkwork.model.joints.motion import motion_subspace
from linkwork.model.layout import BASE_NV
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
        """Return the nearest value that the slider on the page can show."""
        low, high = self.ends
        return min(max(value, low), high)


def sliders_of(kd: KinDyn) -> list[Slider]:
    """Return the sliders of all independent joints, in the order of s."""
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
    """Return the reach of a coordinate without limits: a length if its motion rotates nothing."""
    S = motion_subspace(joint, joint.motion_kind.neutral, child=joint.second)
    return UNLIMITED_ANGLE if S[3:, index].any() else UNLIMITED_LENGTH


def slider_values(kd: KinDyn, q: Array) -> Array:
    """Return the value of each slider at a configuration, perhaps beyond its limits."""
    values: list[float] = []
    for name in kd.joint_names:
        kind = kd.model.joint(name).motion_kind
        theta = q[kd.layout.q[name]].tolist()
        values += (
            theta if kind.nq == 1 else [float(x) for x in kind.between(list(kind.neutral), theta)]
        )
    return np.array(values)


def with_slider(kd: KinDyn, q: Array, slider: Slider, value: float) -> Array:
    """Return a configuration in which one slider has another value."""
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
        """Return a configuration in which the slider is at a share of the way, 0 to 1."""
        start, end = self._ends
        return with_slider(self._kd, q, self._slider, (1.0 - share) * start + share * end)


OPEN = 1e-6  # largest error of a loop that is shown as closed [m] or [rad]
# A slider moves in steps of this size, so that the loops stay in the same assembly mode.
LARGEST_STEP = 0.05  # [rad] or [m]
MOST_STEPS = 128
BISECTIONS = 12  # of the last step, where the loops cannot be closed beyond


class Loops:
    """The loops of one robot: joints that close them, and constraints of the model."""

    def __init__(self, kd: KinDyn) -> None:
        self._kd, self._constrained = kd, kd.constrained()
        self._assembler = assembler_of(self._constrained)
        self.with_anchors = self._constrained.wrench_names

    @property
    def descriptions(self) -> dict[str, str]:
        """What each loop is, by name."""
        texts = {
            joint.name: f"{joint.kind}, {joint.first} to {joint.second}"
            for joint in self._kd.closing_joints
        }
        for constraint in self._kd.model.constraints:
            second = "world" if constraint.second is None else constraint.second
            texts[constraint.name] = f"{constraint.kind}, {constraint.first} to {second}"
        return texts

    def errors(self, q: Array) -> dict[str, float]:
        """Return the largest error of each loop [m] or [rad]."""
        errors = np.abs(self._constrained.error(q))
        return {
            name: float(errors[span].max(initial=0.0))
            for name, span in self._constrained.rows.items()
        }

    def anchors(self, poses: Array) -> Array:
        """Return (n, 2, 3), where the two frames of each loop of `with_anchors` are [m].

        Args:
            poses: (frames, 4, 4) of the frames of the robot in the world.
        """
        ends = [
            [self._position(anchor, poses) for anchor in (group.reference, group.moving)]
            for group in self._constrained.problem.frame_equations
        ]
        return np.array(ends).reshape(-1, 2, 3)

    def _position(self, anchor: Anchor, poses: Array) -> Array:
        H = anchor.pose.matrix()
        if anchor.frame is None:
            return H[:3, 3]
        return (poses[self._kd.model.frame_index(anchor.frame)] @ H)[:3, 3]

    def closed(
        self, q: Array, held: slice | None = None, *, anywhere: bool = True
    ) -> tuple[Array, bool]:
        """Close the loops near a configuration, as far as possible; the base stays.

        Args:
            q: (nq,) where to start.
            held: coordinates in nu that stay.
            anywhere: whether a closed configuration that is not near is better than none.

        Returns:
            the configuration, and whether its loops are closed.
        """
        free = np.ones(self._kd.nv)
        free[:BASE_NV] = 0.0
        if held is not None:
            free[held] = 0.0
        further = PERTURBATIONS if anywhere else ()
        rows, errors = self._assembler.close(q[None], free, perturbations=further)
        return rows[0], bool(np.abs(errors).max(initial=0.0) <= self._assembler.tolerance)

    def follow(self, path: Path, q: Array) -> tuple[Array, bool]:
        """Move along a path of configurations with closed loops, as far as they can be closed.

        Args:
            path: of one joint.
            q: (nq,) where to start.

        Returns:
            the last configuration, and whether the path was followed to its end.
        """
        is_closed = max(self.errors(q).values()) <= OPEN
        if not is_closed:  # from an open configuration, any closed one is better
            return self.closed(path.at(q, 1.0), path.held)
        steps = min(max(1, ceil(path.length / LARGEST_STEP)), MOST_STEPS)
        reached = 0.0
        for share in np.linspace(0.0, 1.0, steps + 1)[1:]:
            following, is_closed = self.closed(path.at(q, float(share)), path.held, anywhere=False)
            if not is_closed:
                return self._nearest(path, q, reached, float(share)), False
            q, reached = following, float(share)
        return q, True

    def _nearest(self, path: Path, q: Array, reached: float, missed: float) -> Array:
        """Return the last configuration between two shares of a path whose loops can be closed."""
        for _ in range(BISECTIONS):
            middle = 0.5 * (reached + missed)
            following, is_closed = self.closed(path.at(q, middle), path.held, anywhere=False)
            if is_closed:
                q, reached = following, middle
            else:
                missed = middle
        return q
