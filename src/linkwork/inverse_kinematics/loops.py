"""One step of Levenberg-Marquardt for a robot with closed loops, compiled for it.

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

from collections.abc import Sequence
from typing import Any

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
from linkwork.inverse_kinematics.step import (
    FLOOR,
    clamped,
    cost_and_excess,
    error_kernel,
    largest_of,
    next_damping,
    solved,
    step_shapes,
    weighted_rows,
)
from linkwork.inverse_kinematics.tasks import Task
from linkwork.kindyn import KinDyn
from linkwork.kindyn.bounds import Bounds
from linkwork.kindyn.constrained import ConstrainedKinDyn
from linkwork.mechanics.problem import Problem
from linkwork.spatial.blocks import is_zero

# Weight of the errors of loops in the cost, in which targets have weight 1 per meter and radian.
LOOP_WEIGHT = 3.0
# The search aims at the tolerance divided by LOOP_MARGIN, so that rounding cannot change the final
# check.
LOOP_MARGIN = 2.0


def closed_step_kernel(  # noqa: PLR0917
    kd: KinDyn,
    loops: ConstrainedKinDyn,
    tasks: Sequence[Task],
    bounds: Bounds,
    posture: bool,
    avoidance: Avoidance | None,
    tolerance: float,
) -> Kernel:
    """Compile a step from (q, damping, cost, excess, movable) to their next values.

    `movable` (nv,) is 1 for coordinates that the step may move, 0 for those that are held or that
    have reached a limit. `tolerance` is that of loop errors. All other arguments are those of
    `step_kernel`.
    """
    problem = loops.problem

    def step(  # noqa: PLR0917
        q: Any,
        damping: Any,
        cost: Any,
        excess: Any,
        movable: Any,
        target: Any,
        weights: Any,
        free: Any,
        inverse_tolerances: Any,
        posture: Any = None,
        pull: Any = 0.0,
        surroundings: Any = None,
    ) -> Any:
        e, J = weighted_rows(kd, tasks, (q, target, weights), avoidance, surroundings)
        J = J * movable
        tangent = _Tangent(loops.jacobian(q) * movable, problem)
        closing = tangent.closing(loops.error(q))
        k = damping * (e @ e) + pull + FLOOR
        d = None if posture is None else tangent.projected(movable * kd.difference(q, posture))
        projected = np.stack([tangent.projected(row) for row in J])
        dx = closing + solved(projected, e - J @ closing, k, pull, d)
        moved = kd.integrate(q, dx, 1.0)
        at_limits = clamped(bounds, moved)
        unstopped = movable * _unstopped(bounds, moved, at_limits, kd.nv)
        q_new = clamped(bounds, loops.closing_step(at_limits, unstopped, 0.0).q)

        d_new = None if posture is None else free * kd.difference(q_new, posture)
        from_posture = None if d_new is None else pull * (d_new @ d_new)
        inputs = q_new, target, weights, inverse_tolerances
        cost_new, excess_new = cost_and_excess(
            kd, tasks, inputs, from_posture, avoidance, surroundings
        )
        c_new = loops.error(q_new)
        cost_new = _with_loops(cost_new, c_new)
        excess_new = np.maximum(excess_new, LOOP_MARGIN * _loop_excess(c_new, tolerance))
        accepted = cost_new < cost
        q_next = np.where(accepted, q_new, q)
        return (
            q_next,
            next_damping(damping, accepted),
            np.where(accepted, cost_new, cost),
            np.where(accepted, excess_new, excess),
            movable * _unstopped(bounds, moved, q_next, kd.nv),
        )

    shapes = step_shapes(kd, tasks, posture, avoidance)
    return compile_function(**shapes, movable=kd.nv)(step)


def closed_error_kernel(
    kd: KinDyn, loops: ConstrainedKinDyn, tasks: Sequence[Task], tolerance: float
) -> Kernel:
    """Compile `error_kernel` for a robot with loops: their errors are part of cost and excess."""
    pairs, of_targets = (len(tasks), 2), error_kernel(kd, tasks)

    @compile_function(
        q=kd.nq,
        target=sum(t.target_size for t in tasks),
        scales=pairs,
        inverse_tolerances=pairs,
        penalty=(),
    )
    def errors(q: Any, target: Any, scales: Any, inverse_tolerances: Any, penalty: Any) -> Any:
        values, cost, excess = of_targets(q, target, scales, inverse_tolerances, penalty)
        c = loops.error(q)
        return values, _with_loops(cost, c), np.maximum(excess, _loop_excess(c, tolerance))

    return errors


def _with_loops(cost: Any, c: Any) -> Any:
    """The cost of targets and posture together with that of open loops."""
    root = np.sqrt(cost) + LOOP_WEIGHT * linalg.norm(c)
    return root * root


def _loop_excess(c: Any, tolerance: float) -> Any:
    """The largest error of loops divided by its tolerance."""
    return largest_of([abs(entry) for entry in c], [1.0 / tolerance] * len(c))


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
        """(nv,) -C^+ c: the least step that closes the loops, to first order."""
        return -self._times_pseudo_inverse(list(c))

    def projected(self, row: Any) -> Any:
        """(nv,) P x: the allowed velocity that is nearest to a vector x."""
        entries = {k: x for k, x in enumerate(row) if not is_zero(x)}
        return row - self._times_pseudo_inverse([sparse_dot(c, entries) for c in self._rows])

    def _times_pseudo_inverse(self, r: list[Any]) -> Any:
        y = self._inverse.solve(r)
        return np.stack(dense(transposed_product(self._rows, y), self._nv))


def _unstopped(bounds: Bounds, moved: Any, q: Any, nv: int) -> Any:
    """(nv,) 0 for coordinates of q at a limit that a step would have exceeded, else 1."""
    flags: list[Any] = [1.0] * nv
    for q_index, nu_index, lower, upper in zip(
        bounds.q_indices, bounds.nu_indices, bounds.lower, bounds.upper, strict=True
    ):
        below = np.where(q[q_index] <= lower, np.where(moved[q_index] < lower, 0.0, 1.0), 1.0)
        above = np.where(q[q_index] >= upper, np.where(moved[q_index] > upper, 0.0, 1.0), 1.0)
        flags[nu_index] = below * above
    return np.stack(flags)
