"""A program inlined into a graph, to be differentiated there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.expr.node import Expr, Graph, Op
from linkwork.expr.program import Program
from linkwork.expr.turns import Turns, turns_of
from linkwork.lazy import cached_property


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
    def turns(self) -> Turns:
        """The rotations whose derivatives by an angle need no operation; none under guards."""
        return Turns() if any(self.optional) or any(self.rooted) else turns_of(self.program)

    @cached_property
    def optional(self) -> list[bool]:
        """Which steps a select may discard."""
        return self._used_by(Op.SELECT)

    @cached_property
    def rooted(self) -> list[bool]:
        """Which steps a square root depends on."""
        return self._used_by(Op.SQRT)

    def _used_by(self, user: Op) -> list[bool]:
        """Which steps an operation of this kind depends on, directly or not."""
        used = [False] * len(self.program.steps)
        if all(step[0] is not user for step in self.program.steps):
            return used
        for step in reversed(range(len(used))):
            if used[step] or self.program.steps[step][0] is user:
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
    return Inlined(program, graph, program.inlined(graph, inputs), active)
