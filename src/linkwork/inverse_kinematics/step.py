"""Targets of frames as an objective of `gauss_newton`, compiled for a robot.

With the weighted residual e, its Jacobian J, and the difference d to a posture, a step solves

    (A J^T J A + k) dx = A (J^T e + pull d),    k = damping |e|^2 + pull + FLOOR

A is diagonal: 0 for coordinates that are held, or that are at a limit which the step would exceed,
else 1. The cost is |e|^2 + pull |d|^2.

Distances to keep, see `avoidance`, add rows to e and J.

Loops

Targets of a robot with closed loops as an objective of `gauss_newton`, compiled for it.

The loops are equality constraints, linearized at a configuration: C dx = -c with their error c and
its Jacobian C. With the projection P = 1 - C^+ C onto the velocities that the loops allow, and the
residual e, its Jacobian J and the difference d to a posture as without loops,

    dx = -C^+ c + z,    (P J^T J P + k) z = P (J^T (e + J C^+ c) + pull d)

C^+ is the pseudo-inverse: the equations of planar loops are redundant. Columns of C and J are zero
for coordinates that are held. A coordinate that dx would move beyond a limit stops there, and is
held until the next check of the search. Then a second step, of the others alone, closes the loops:
limits and the curvature of the constraints have opened them.

A step is accepted if it lowers the cost ((|e|^2 + pull |d|^2)^(1/2) + LOOP_WEIGHT |c|)^2. Its least
values have c = 0 also where a target is out of reach, unlike those of a sum of squares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from linkwork.algorithms.constraints.pseudo_inverse import STEP, PseudoInverse
from linkwork.algorithms.constraints.sizes import row_sizes
from linkwork.algorithms.constraints.sparse import dense, gram, transposed_product
from linkwork.algorithms.dynamics.factor import sparse_dot
from linkwork.engine.kernel.compile import compile_function
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic import linalg
from linkwork.engine.symbolic.elimination import SparseRow
from linkwork.inverse_kinematics.avoidance import Avoidance
from linkwork.inverse_kinematics.tasks import Task
from linkwork.kindyn import ConstrainedKinDyn, KinDyn
from linkwork.kindyn.gauss_newton import (
    Bounds,
    Damping,
    Proposal,
    clamped,
    not_pushed_out,
    not_stopped,
    solve_damped,
)
from linkwork.mechanics.problem import Problem
from linkwork.spatial.blocks import is_zero
from linkwork.spatial.source import so3

FLOOR = 1e-11  # keeps the system solvable where the Jacobian is rank deficient


@dataclass(frozen=True)
class Targets:
    """Targets of the frames of a robot, within its joint limits.

    The inputs of a step are `target`, `weights` of the rows, `free` (nv,), which is 0 for
    coordinates that are held, and `inverse_tolerances`; with a posture, also `posture` (nq,) and
    its weight `pull`; with distances to keep, also their values `surroundings`.
    """

    kd: KinDyn  # in the mixed representation
    tasks: tuple[Task, ...]
    bounds: Bounds
    has_posture: bool = False
    avoidance: Avoidance | None = None

    damping: ClassVar[Damping] = Damping(
        initial=0.1, decrease=0.2, increase=6.0, least=1e-7, most=1e6, when_small=1e-7
    )

    @property
    def nv(self) -> int | None:
        """None: a step considers the limits alone."""
        return None

    def shapes(self) -> dict[str, Any]:
        """Return the shapes of q and of the inputs of a step."""
        shapes: dict[str, Any] = {
            "q": self.kd.nq,
            "target": sum(task.target_size for task in self.tasks),
            "weights": sum(task.residual_size for task in self.tasks),
            "free": self.kd.nv,
            "inverse_tolerances": 2 * len(self.tasks),
        }
        if self.has_posture:
            shapes |= {"posture": self.kd.nq, "pull": ()}
        if self.avoidance is not None:
            shapes["surroundings"] = self.avoidance.size
        return shapes

    def propose(self, q: Any, damping: Any, movable: Any, inputs: Mapping[str, Any]) -> Proposal:
        """Propose a step that lowers the weighted residual."""
        e, J = self.rows(q, inputs)
        free, pull = inputs["free"], inputs.get("pull", 0.0)
        d = self.to_posture(q, inputs)
        k = damping * (e @ e) + pull + FLOOR
        gradient = e @ J if d is None else e @ J + pull * d
        J = J * (free * not_pushed_out(self.bounds, q, gradient))
        moved = self.kd.integrate(q, solved(J, e, k, pull, d), 1.0)
        return Proposal(clamped(self.bounds, moved), moved)

    def evaluate(self, q: Any, inputs: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return the cost, and the largest error divided by its tolerance."""
        parts = residuals_of(self.kd, self.tasks, q, inputs["target"])
        e, d = inputs["weights"] * np.concatenate(parts), self.to_posture(q, inputs)
        cost = e @ e if d is None else e @ e + inputs["pull"] * (d @ d)
        excess = largest_of(errors_of(parts), inputs["inverse_tolerances"])
        if self.avoidance is None:
            return cost, excess
        penalty, least = self.avoidance.penalty(q, inputs["surroundings"])
        return cost + penalty, self.avoidance.excess(excess, least, inputs["surroundings"])

    def to_beat(self, cost: Any, excess: Any) -> Any:
        """Return the cost itself: a search improves what is within the tolerance, too."""
        return cost

    def rows(self, q: Any, inputs: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return the weighted residual (rows,) and its Jacobian (rows, nv), tasks first."""
        weights = inputs["weights"]
        e = weights * np.concatenate(residuals_of(self.kd, self.tasks, q, inputs["target"]))
        jacobians = [_jacobian_of(self.kd, task, q) for task in self.tasks]
        J = weights[:, None] * np.concatenate(jacobians)
        if self.avoidance is None:
            return e, J
        r, J_r = self.avoidance.residuals(q, inputs["surroundings"])
        return np.concatenate([e, r]), np.concatenate([J, J_r])

    def to_posture(self, q: Any, inputs: Mapping[str, Any]) -> Any:
        """Return the difference (nv,) from q to the posture, if any, in free coordinates."""
        if not self.has_posture:
            return None
        return inputs["free"] * self.kd.difference(q, inputs["posture"])

    def error_kernel(self) -> Kernel:
        """Compile a function from q and the targets to errors (tasks, 2), their cost and excess.

        Errors are distances [m] and angles [rad]; the angle is 0 for tasks without rotation. The
        cost is the sum of squares of the scaled errors, and a penalty.
        """
        pairs = len(self.tasks), 2

        @compile_function(
            q=self.kd.nq,
            target=sum(task.target_size for task in self.tasks),
            scales=pairs,
            inverse_tolerances=pairs,
            penalty=(),
        )
        def errors(q: Any, target: Any, scales: Any, inverse_tolerances: Any, penalty: Any) -> Any:
            values = errors_of(residuals_of(self.kd, self.tasks, q, target))
            weighted = scales.reshape(-1) * np.stack(values)
            excess = largest_of(values, inverse_tolerances.reshape(-1))
            cost, excess = self.with_loops(q, weighted @ weighted + penalty, excess)
            return np.stack(values).reshape(pairs), cost, excess

        return errors

    def with_loops(self, q: Any, cost: Any, excess: Any) -> tuple[Any, Any]:
        """Return the cost and excess of the targets: there are no loops."""
        return cost, excess


def residuals_of(kd: KinDyn, tasks: Sequence[Task], q: Any, target: Any) -> list[Any]:
    """Return the displacement [m] and the rotation vector [rad] of each task to its target."""
    residuals: list[Any] = []
    start = 0
    for task in tasks:
        task_target = target[start : start + task.target_size]
        start += task.target_size
        if task.kind == "com":
            residuals.append(task_target - kd.com(q))
            continue
        pose = kd.transform(task.frame, q)
        residual = task_target[:3] - pose[:3, 3]
        if task.kind == "pose":
            rotation = so3.log(task_target[3:].reshape(3, 3) @ pose[:3, :3].T)
            residual = np.concatenate([residual, rotation])
        residuals.append(residual)
    return residuals


def errors_of(parts: Sequence[Any]) -> list[Any]:
    """Return the distance and the angle of each task; the angle is 0 without rotation."""
    pairs = [(linalg.norm(e[:3]), linalg.norm(e[3:]) if len(e) > 3 else 0.0) for e in parts]
    return [error for pair in pairs for error in pair]


def largest_of(errors: Sequence[Any], factors: Any) -> Any:
    """Return the largest of errors that are each multiplied by a factor."""
    largest: Any = 0.0
    for k, error in enumerate(errors):
        largest = np.maximum(largest, factors[k] * error)
    return largest


def solved(J: Any, e: Any, k: Any, pull: Any, d: Any) -> Any:
    """Solve (J^T J + k) dx = J^T e + pull d for dx (nv,); d is None without a posture."""
    if d is None:
        return solve_damped(J, e, k)
    base = (pull / k) * d
    return base + solve_damped(J, e - J @ base, k)


def _jacobian_of(kd: KinDyn, task: Task, q: Any) -> Any:
    """Return the Jacobian (rows, nv) of the velocity of a task: linear, and angular for a pose."""
    if task.kind == "com":
        return kd.com_jacobian(q)
    J = kd.jacobian(task.frame, q)
    return J if task.kind == "pose" else J[:3]


# Weight of the errors of loops in the cost, in which targets have weight 1 per meter and radian.
LOOP_WEIGHT = 3.0
# The search aims at the tolerance divided by LOOP_MARGIN, so that rounding cannot change the final
# check.
LOOP_MARGIN = 2.0


@dataclass(frozen=True, kw_only=True)
class ClosedTargets(Targets):
    """Targets of the frames of a robot with closed loops."""

    loops: ConstrainedKinDyn
    tolerance: float  # of loop errors

    @property
    def nv(self) -> int | None:
        """The number of coordinates."""
        return self.kd.nv

    def propose(self, q: Any, damping: Any, movable: Any, inputs: Mapping[str, Any]) -> Proposal:
        """Propose a step that closes the loops and lowers the weighted residual."""
        pull = inputs.get("pull", 0.0)
        e, J = self.rows(q, inputs)
        J = J * movable
        tangent = _Tangent(self.loops.jacobian(q) * movable, self.loops.problem)
        closing = tangent.closing(self.loops.error(q))
        k = damping * (e @ e) + pull + FLOOR
        d = self.to_posture(q, inputs)
        d = None if d is None else tangent.projected(movable * d)
        projected = np.stack([tangent.projected(row) for row in J])
        dx = closing + solved(projected, e - J @ closing, k, pull, d)
        moved = self.kd.integrate(q, dx, 1.0)
        at_limits = clamped(self.bounds, moved)
        others = movable * not_stopped(self.bounds, moved, at_limits, movable)
        return Proposal(
            clamped(self.bounds, self.loops.closing_step(at_limits, others, 0.0).q), moved
        )

    def evaluate(self, q: Any, inputs: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return the cost and excess of targets and loops."""
        return self.with_loops(q, *super().evaluate(q, inputs), margin=LOOP_MARGIN)

    def with_loops(self, q: Any, cost: Any, excess: Any, *, margin: float = 1.0) -> tuple[Any, Any]:
        """Add the errors of loops to the cost and the excess of the targets."""
        c = self.loops.error(q)
        root = np.sqrt(cost) + LOOP_WEIGHT * linalg.norm(c)
        of_loops = largest_of([abs(entry) for entry in c], [1.0 / self.tolerance] * len(c))
        return root * root, np.maximum(excess, margin * of_loops)


class _Tangent:
    """The velocities that constraints with a Jacobian C (m, nv) allow."""

    def __init__(self, C: Any, problem: Problem) -> None:
        self._nv = C.shape[1]
        self._rows: list[SparseRow] = [
            {k: x for k, x in enumerate(row) if not is_zero(x)} for row in C
        ]
        G = gram(self._rows, self._rows)
        self._inverse = PseudoInverse(G, row_sizes(problem, self._rows), STEP)

    def closing(self, c: Any) -> Any:
        """Compute the least step -C^+ c (nv,) that closes the loops, to first order."""
        return -self._times_pseudo_inverse(list(c))

    def projected(self, row: Any) -> Any:
        """Compute the allowed velocity P x (nv,) that is nearest to a vector x."""
        entries = {k: x for k, x in enumerate(row) if not is_zero(x)}
        return row - self._times_pseudo_inverse([sparse_dot(c, entries) for c in self._rows])

    def _times_pseudo_inverse(self, r: list[Any]) -> Any:
        y = self._inverse.solve(r)
        return np.stack(dense(transposed_product(self._rows, y), self._nv))
