"""A program inlined into a graph, to be differentiated there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.engine.autodiff.bounds import Bounds, bounds_of
from linkwork.engine.autodiff.rotations import RotationPairs, rotation_pairs
from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.node import Expr, Graph, Op
from linkwork.engine.symbolic.program import Program


@dataclass(frozen=True)
class Inlined:
    """A program inlined into a graph, and the input numbers to differentiate by."""

    program: Program
    graph: Graph
    nodes: Sequence[Expr]  # of each step
    active: frozenset[int]  # indices of those numbers

    @property
    def results(self) -> list[Expr]:
        """The node of each number of all outputs, flattened."""
        return [self.nodes[step] for step in self.program.results]

    @cached_property
    def depends(self) -> list[bool]:
        """Which steps depend on the numbers to differentiate by."""
        depends: list[bool] = []
        for step, operands in zip(self.program.steps, self.program.operands, strict=True):
            found = step[0] is Op.INPUT and step[1] in self.active
            for operand in operands:
                found = found or depends[operand]
            depends.append(found)
        return depends

    @cached_property
    def rotations(self) -> RotationPairs:
        """The rotations whose derivatives by an angle need no operation; none under guards."""
        return rotation_pairs(self.program, self.guarded)

    @cached_property
    def guarded(self) -> list[bool]:
        """Which steps need products that are 0 where a factor is 0 and the other not finite."""
        under_select, steep = self.under_select, self.steep
        return [
            root or (under_select[step] and any(steep[step]))
            for step, root in enumerate(self.feeds_sqrt)
        ]

    @cached_property
    def steep(self) -> list[tuple[bool, ...]]:
        """For each argument of each step, whether the partial derivative by it may be infinite.

        It is asked only where that can do harm: in programs with a root or a select.
        """
        steps = self.program.steps
        if not any(step[0] is Op.SQRT or step[0] is Op.SELECT for step in steps):
            return [(False, False, False)] * len(steps)
        return [self._bounds.steep(self.program, step) for step in range(len(steps))]

    @cached_property
    def under_select(self) -> list[bool]:
        """Which steps a select may discard."""
        return self._used_by([step[0] is Op.SELECT for step in self.program.steps])

    @cached_property
    def feeds_sqrt(self) -> list[bool]:
        """Which steps may have an infinite adjoint: a square root that may be 0 depends on them.

        The root of a sum of squares is 0 only where each square is 0. Then the adjoint of what is
        squared is 0, so that nothing that this depends on is among these steps.
        """
        steps, operands = self.program.steps, self.program.operands
        inside = [False] * len(steps)  # sums of squares under a root
        others = [False] * len(steps)  # other roots
        for step in reversed(range(len(steps))):
            op = steps[step][0]
            if op is Op.SQRT and self.steep[step][0]:
                argument = operands[step][0]
                of_squares = self._bounds.least[argument] >= 0.0
                (inside if of_squares else others)[argument if of_squares else step] = True
            elif inside[step] and (op is Op.ADD or len({*operands[step]}) > 1):
                for operand in operands[step]:
                    inside[operand] = True
        return [a or b for a, b in zip(inside, self._used_by(others), strict=True)]

    @cached_property
    def _bounds(self) -> Bounds:
        return bounds_of(self.program, self.active)

    def _used_by(self, users: Sequence[bool]) -> list[bool]:
        """Which steps these steps depend on, directly or not."""
        used = [False] * len(users)
        if not any(users):
            return used
        for step in reversed(range(len(used))):
            if used[step] or users[step]:
                for operand in self.program.operands[step]:
                    used[operand] = True
        return used


def inlined(program: Program, active: frozenset[int], graph: Graph) -> Inlined:
    """A program inlined into a new graph, whose first inputs are those of the program.

    Args:
        program: what to differentiate.
        active: the indices of the input numbers to differentiate by.
        graph: an empty graph.
    """
    inputs = [graph.input() for port in program.inputs for _ in range(port.size)]
    return Inlined(program, graph, program.replay(graph, inputs), active)
