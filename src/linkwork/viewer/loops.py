"""Closed loops of a robot in the viewer: how they are kept closed, and where they are open."""

from __future__ import annotations

from math import ceil

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.kindyn import KinDyn
from linkwork.kindyn.constrained.assembly import PERTURBATIONS, assembler_of
from linkwork.mechanics.constraints import Anchor
from linkwork.model.layout import BASE_NV
from linkwork.viewer.sliders import Path

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
        """Largest error of each loop [m] or [rad]."""
        errors = np.abs(self._constrained.error(q))
        return {
            name: float(errors[span].max(initial=0.0))
            for name, span in self._constrained.rows.items()
        }

    def anchors(self, poses: Array) -> Array:
        """(n, 2, 3) where the two frames of each loop of `with_anchors` are [m].

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
        """The last configuration between two shares of a path whose loops can be closed."""
        for _ in range(BISECTIONS):
            middle = 0.5 * (reached + missed)
            following, is_closed = self.closed(path.at(q, middle), path.held, anywhere=False)
            if is_closed:
                q, reached = following, middle
            else:
                missed = middle
        return q
