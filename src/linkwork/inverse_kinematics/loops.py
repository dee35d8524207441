"""Targets of a robot with closed loops as an objective of `gauss_newton`, compiled for it.

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

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.algorithms.constraints.pseudo_inverse import STEP, PseudoInverse
from linkwork.algorithms.constraints.sizes import row_sizes
from linkwork.algorithms.constraints.sparse import dense, gram, transposed_product
from linkwork.algorithms.dynamics.factor import sparse_dot
from linkwork.engine.symbolic import linalg
from linkwork.engine.symbolic.elimination import SparseRow
from linkwork.inverse_kinematics.step import FLOOR, Targets, largest_of, solved
from linkwork.kindyn import ConstrainedKinDyn
from linkwork.kindyn.gauss_newton import Proposal, clamped, unstopped
from linkwork.mechanics.problem import Problem
from linkwork.spatial.blocks import is_zero

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
        others = movable * unstopped(self.bounds, moved, at_limits, movable)
        return Proposal(
            clamped(self.bounds, self.loops.closing_step(at_limits, others, 0.0).q), moved
        )

    def evaluate(self, q: Any, inputs: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return cost and excess of targets and loops."""
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
        """(nv,) -C^+ c: the least step that closes the loops, to first order."""
        return -self._times_pseudo_inverse(list(c))

    def projected(self, row: Any) -> Any:
        """(nv,) P x: the allowed velocity that is nearest to a vector x."""
        entries = {k: x for k, x in enumerate(row) if not is_zero(x)}
        return row - self._times_pseudo_inverse([sparse_dot(c, entries) for c in self._rows])

    def _times_pseudo_inverse(self, r: list[Any]) -> Any:
        y = self._inverse.solve(r)
        return np.stack(dense(transposed_product(self._rows, y), self._nv))
