"""The values of a program in a graph, where its derivatives are made, and facts about its steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from linkwork.engine.autodiff.bounds import Bounds, bounds_of
from linkwork.engine.autodiff.rotations import RotationPairs, rotation_pairs
from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.node import Expr, Graph, Op
from linkwork.engine.symbolic.program import LoopValue, Program


@dataclass(frozen=True)
class Surroundings:
    """What is known of the results of a body where its loop is used."""

    may_be_discarded: bool = False  # by a select
    feed_sqrt: bool = False  # their adjoints may be infinite
    largest_inputs: Sequence[float] | None = None  # bounds of the inputs; None: see bounds.py


@dataclass(frozen=True)
class Primal:
    """A program replayed in a graph, and the input numbers to differentiate with respect to."""

    program: Program
    graph: Graph
    inputs: Sequence[Expr]  # the node of each number of the inputs
    active: frozenset[int]  # indices of those to differentiate with respect to
    around: Surroundings = Surroundings()
    nodes: list[Any] = field(default_factory=list[Any])  # of each step; a `LoopValue` of a LOOP
    # by LOOP step: the stacks of its carries before each iteration, once reverse mode needs them
    carry_stacks: dict[int, list[Expr]] = field(default_factory=dict[int, list[Expr]])

    def __post_init__(self) -> None:
        self.nodes[:] = self.program.replay(self.graph, self.inputs)

    @property
    def results(self) -> list[Expr]:
        """The node of each number of all outputs, flattened."""
        return [self.nodes[step] for step in self.program.results]

    def set_loop(self, step: int, value: LoopValue) -> None:
        """Use other nodes for the values of a loop, as another loop computes them too."""
        self.nodes[step] = value
        known = self.nodes[: step + 1]
        self.nodes[:] = self.program.replay(self.graph, self.inputs, known)

    @cached_property
    def depends(self) -> list[bool]:
        """Which steps depend on the numbers to differentiate with respect to."""
        bits = [int(k in self.active) for k in range(len(self.inputs))]
        return [
            any(any(part) for part in own) if isinstance(own, LoopValue) else bool(own)
            for own in self.program.dependencies(bits)
        ]

    @cached_property
    def rotations(self) -> RotationPairs:
        """The rotations whose derivatives need no operation; none under guards."""
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
        """For each argument of each step, whether the partial derivative may be infinite.

        It is asked only where that can do harm: in programs with a root or a select.
        """
        steps, around = self.program.steps, self.around
        is_harmful = around.may_be_discarded or around.feed_sqrt
        if not is_harmful and not self.program.operations & {Op.SQRT, Op.SELECT}:
            return [(False, False, False)] * len(steps)
        return [self.bounds.steep(self.program, step) for step in range(len(steps))]

    @cached_property
    def under_select(self) -> list[bool]:
        """Which steps a select may discard."""
        return self._used_by(self._having(Op.SELECT), self.around.may_be_discarded)

    @cached_property
    def feeds_sqrt(self) -> list[bool]:
        """Which steps may have an infinite adjoint: a square root that may be 0 depends on them.

        The root of a sum of squares is 0 only where each square is 0. Then the adjoint of what is
        squared is 0, so that nothing that this depends on is among these steps.
        """
        steps, operands = self.program.steps, self.program.operands
        inside = [False] * len(steps)  # sums of squares under a root
        others = self._having(Op.SQRT)  # other roots
        for step in reversed(range(len(steps))):
            op = steps[step][0]
            if op is Op.SQRT:
                argument = operands[step][0]
                is_steep = self.steep[step][0]
                of_squares = is_steep and self.bounds.least[argument] >= 0.0
                others[step] = is_steep and not of_squares
                inside[argument] = inside[argument] or of_squares
            elif inside[step] and (op is Op.ADD or len({*operands[step]}) > 1):
                for operand in operands[step]:
                    inside[operand] = True
        used = self._used_by(others, self.around.feed_sqrt)
        return [a or b for a, b in zip(inside, used, strict=True)]

    @cached_property
    def bounds(self) -> Bounds:
        """Of the value of each step."""
        return bounds_of(self.program, self.active, self.around.largest_inputs)

    def _having(self, op: Op) -> list[bool]:
        """Which steps are this operation, or loops with it in their bodies."""
        has = {k: op in loop.body.operations for k, loop in enumerate(self.program.loops)}
        return [
            step[0] is op or (step[0] is Op.LOOP and has[step[1]]) for step in self.program.steps
        ]

    def _used_by(self, users: Sequence[bool], by_results: bool) -> list[bool]:
        """Which steps these steps, or the results, depend on, directly or not."""
        used = [False] * len(users)
        if by_results:
            for step in self.program.results:
                used[step] = True
        elif not any(users):
            return used
        for step in reversed(range(len(used))):
            if used[step] or users[step]:
                for operand in self.program.operands[step]:
                    used[operand] = True
        return used
