"""A program replayed in the graph of its derivatives, and properties of its steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from linkwork.engine.autodiff.guards import bounds_of, steep_arguments
from linkwork.engine.autodiff.rotations import RotationPairs, rotation_pairs
from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.loops import replay
from linkwork.engine.symbolic.node import Expr, Graph
from linkwork.engine.symbolic.operations import Bound, Op
from linkwork.engine.symbolic.program import LoopValue, Program


@dataclass(frozen=True)
class LoopContext:
    """Properties of the program around a loop that affect the derivatives of its body."""

    may_be_discarded: bool = False  # whether a select may discard its results
    feed_sqrt: bool = False  # whether the adjoints of its results may be infinite
    largest_inputs: Sequence[float] | None = None  # bounds of the inputs; default as in guards.py


@dataclass(frozen=True)
class Primal:
    """A program replayed in a graph, and the input elements to differentiate with respect to."""

    program: Program
    graph: Graph
    inputs: Sequence[Expr]  # the node of each element of all inputs
    active: frozenset[int]  # indices of the elements to differentiate with respect to
    context: LoopContext = LoopContext()
    nodes: list[Any] = field(default_factory=list[Any])  # by step; a `LoopValue` for a LOOP
    # By LOOP step: stacks of the carry before each iteration, which reverse mode adds.
    carry_stacks: dict[int, list[Expr]] = field(default_factory=dict[int, list[Expr]])

    def __post_init__(self) -> None:
        self.nodes[:] = replay(self.program, self.graph, self.inputs)

    @property
    def results(self) -> list[Expr]:
        """The node of each element of all outputs, flattened."""
        return [self.nodes[step] for step in self.program.results]

    def set_loop(self, step: int, value: LoopValue) -> None:
        """Replace the values of a loop by those of another loop that computes the same values."""
        self.nodes[step] = value
        first_nodes = self.nodes[: step + 1]
        self.nodes[:] = replay(self.program, self.graph, self.inputs, first_nodes)

    @cached_property
    def depends(self) -> list[bool]:
        """Whether each step depends on the active inputs, and the derivatives depend on it."""
        bits = [int(k in self.active) for k in range(len(self.inputs))]
        depends = [
            any(any(part) for part in value) if isinstance(value, LoopValue) else bool(value)
            for value in self.program.dependencies(bits)
        ]
        if Op.IMPLICIT not in self.program.operations:
            return depends
        return [a and b for a, b in zip(depends, self._matters, strict=True)]

    @property
    def _matters(self) -> list[bool]:
        """Whether derivatives of the results depend on the derivative of each step."""
        matters = [False] * len(self.program.steps)
        for step in self.program.results:
            matters[step] = True
        for step in reversed(range(len(matters))):
            if matters[step]:
                operands = self.program.operands[step]
                is_implicit = self.program.steps[step][0] is Op.IMPLICIT
                for operand in operands[1:] if is_implicit else operands:
                    matters[operand] = True
        return matters

    @cached_property
    def rotations(self) -> RotationPairs:
        """The rotations among the steps without guards."""
        return rotation_pairs(self.program, self.guarded)

    @cached_property
    def guarded(self) -> list[bool]:
        """Whether derivatives of each step need guards, where 0 times infinity or NaN is 0."""
        under_select, steep = self.under_select, self.steep
        return [
            feeds_sqrt or (under_select[step] and any(steep[step]))
            for step, feeds_sqrt in enumerate(self.feeds_sqrt)
        ]

    @cached_property
    def steep(self) -> list[tuple[bool, ...]]:
        """For each argument of each step, whether the partial derivative may not be finite.

        This matters only for programs with a square root or a select, and is False for others.
        """
        steps, context = self.program.steps, self.context
        matters = context.may_be_discarded or context.feed_sqrt
        if not matters and not self.program.operations & {Op.SQRT, Op.SELECT}:
            return [(False, False, False)] * len(steps)
        return [steep_arguments(self.program, step, self.bounds) for step in range(len(steps))]

    @cached_property
    def under_select(self) -> list[bool]:
        """Whether a select may discard each step: no result depends on it in another way."""
        may_be_discarded = self.context.may_be_discarded
        selects = self._contains(Op.SELECT)
        used = self._used_by(selects, may_be_discarded)
        if may_be_discarded:
            return used
        kept = [False] * len(used)
        for step in self.program.results:
            kept[step] = True
        for step in reversed(range(len(kept))):
            if kept[step] and not selects[step]:
                for operand in self.program.operands[step]:
                    kept[operand] = True
        return [a and not b for a, b in zip(used, kept, strict=True)]

    @cached_property
    def feeds_sqrt(self) -> list[bool]:
        """Whether each step may have an infinite adjoint, as it feeds a square root of 0.

        The root of a sum of squares is 0 only where each square is 0. There the adjoint of each
        squared value is 0, so the steps that the squared values depend on are excluded.
        """
        steps, operands = self.program.steps, self.program.operands
        inside = [False] * len(steps)  # parts of sums of squares under a root
        others = self._contains(Op.SQRT)  # roots of other values
        for step in reversed(range(len(steps))):
            op = steps[step][0]
            if op is Op.SQRT and self.depends[step]:
                argument = operands[step][0]
                is_steep = self.steep[step][0]
                is_of_squares = is_steep and self.bounds[argument].least >= 0.0
                others[step] = is_steep and not is_of_squares
                inside[argument] = inside[argument] or is_of_squares
            elif inside[step] and (op is Op.ADD or len({*operands[step]}) > 1):
                for operand in operands[step]:
                    inside[operand] = True
        used = self._used_by(others, self.context.feed_sqrt)
        return [a or b for a, b in zip(inside, used, strict=True)]

    @cached_property
    def bounds(self) -> list[Bound]:
        """Bounds of the value of each step."""
        return bounds_of(self.program, self.active, self.context.largest_inputs)

    def _contains(self, op: Op) -> list[bool]:
        """Whether each step is differentiated and is this operation, or a loop that has it."""
        in_loop = [op in loop.body.operations for loop in self.program.loops]
        return [
            depends and (step[0] is op or (step[0] is Op.LOOP and in_loop[step[1]]))
            for step, depends in zip(self.program.steps, self.depends, strict=True)
        ]

    def _used_by(self, users: Sequence[bool], by_results: bool) -> list[bool]:
        """Whether `users`, or the results if `by_results`, depend on each step."""
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
