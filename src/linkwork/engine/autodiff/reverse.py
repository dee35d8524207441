"""Reverse mode: the adjoints of each step, from the last to the first.

The adjoint of a step is the derivative of the outputs times their cotangents with respect to its
value. Each step adds to the adjoints of its arguments; a sum of products needs one fused operation
a term.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linkwork.engine.autodiff.loops import keep_carries, loop_adjoints
from linkwork.engine.autodiff.partials import (
    is_zero,
    mask_infinite_adjoint,
    masked,
    partial_derivatives,
)
from linkwork.engine.autodiff.primal import Primal
from linkwork.engine.symbolic.node import Expr, Op


def reverse(at: Primal, seeds: Mapping[int, Sequence[Expr]]) -> dict[int, Expr]:
    """The adjoints of the input numbers to differentiate with respect to, where not 0.

    Args:
        at: the program.
        seeds: by step, the cotangents of its value, which are summed when it is visited.
    """
    if at.program.loops:
        keep_carries(at)
    return _Sweep(at, seeds).run()


class _Sweep:
    """One pass over the steps, from the last to the first."""

    def __init__(self, at: Primal, seeds: Mapping[int, Sequence[Expr]]) -> None:
        self._at, self._seeds = at, seeds
        operations = at.graph.operations
        self._plus, self._minus = operations[Op.ADD], operations[Op.SUB]
        self._times, self._negative = operations[Op.MUL], operations[Op.NEG]
        self._last = max(seeds, default=-1)
        self._adjoint: list[Expr | None] = [None] * (self._last + 1)
        self._of_results: dict[int, dict[int, Expr]] = {}  # by LOOP: the adjoints of its results
        self._of_stacks: dict[int, dict[int, list[Expr]]] = {}  # and stacks that are summed
        self._depends = at.depends
        self._by_angle, self._absorbed_factor = at.rotations.by_angle, at.rotations.absorbed_factor
        self._guarded = at.guarded

    def run(self) -> dict[int, Expr]:
        """Visit each step, which adds to the adjoints of its arguments."""
        steps, adjoint, depends = self._at.program.steps, self._adjoint, self._depends
        of_each = {
            Op.MUL: self._of_product,
            Op.ADD: self._of_sum,
            Op.SUB: self._of_sum,
            Op.NEG: self._of_negative,
            Op.DIV: self._of_quotient,
            Op.LOOP_RESULT: self._of_loop_result,
        }
        found: dict[int, Expr] = {}
        for step in range(self._last, -1, -1):
            if not depends[step]:
                continue
            for seed in self._seeds.get(step, ()):
                self._add(step, seed)
            if steps[step][0] is Op.LOOP:
                self._of_loop(step)
            entry = adjoint[step]
            if entry is None:
                continue
            adjoint[step] = None
            op = steps[step][0]
            if op is Op.INPUT:
                found[steps[step][1]] = entry
            elif self._guarded[step] and op is not Op.LOOP_RESULT:
                self._of_any(step, entry)
            else:
                of_each.get(op, self._of_any)(step, entry)
        return found

    def _of_loop_result(self, step: int, entry: Expr) -> None:
        _, k, loop = self._at.program.steps[step]
        self._of_results.setdefault(loop, {})[k] = entry

    def _of_loop(self, step: int) -> None:
        results, stacks = self._of_results.pop(step, {}), self._of_stacks.pop(step, {})
        if not results and not stacks:
            return
        steps, operands = self._at.program.steps, self._at.program.operands[step]
        adjoints = loop_adjoints(self._at, step, results, stacks, reverse)
        for position, entry in adjoints.items():
            operand = operands[position]
            if not self._depends[operand]:
                continue
            if steps[operand][0] is Op.LOOP_STACK:
                _, k, loop = steps[operand]
                self._of_stacks.setdefault(loop, {}).setdefault(k, []).append(entry)
            else:
                self._add(operand, entry)

    def _of_product(self, step: int, entry: Expr) -> None:
        _, a, b = self._at.program.steps[step]
        nodes, absorbed = self._at.nodes, self._absorbed_factor.get(step)
        if self._depends[a] and absorbed != 0:
            self._add(a, self._times(entry, nodes[b]))
        if self._depends[b] and absorbed != 1:
            self._add(b, self._times(entry, nodes[a]))

    def _of_sum(self, step: int, entry: Expr) -> None:
        op, a, b = self._at.program.steps[step]
        if step in self._by_angle:
            self._of_angle(step, entry)
        if self._depends[a]:
            self._add(a, entry)
        if self._depends[b]:
            (self._add if op is Op.ADD else self._subtract)(b, entry)

    def _of_angle(self, step: int, entry: Expr) -> None:
        """A number of a rotated vector: its derivative with respect to the angle is another."""
        angle, sign, other = self._by_angle[step]
        if self._depends[angle]:
            term = self._times(entry, self._at.nodes[other])
            (self._add if sign > 0 else self._subtract)(angle, term)

    def _of_negative(self, step: int, entry: Expr) -> None:
        self._subtract(self._at.program.steps[step][1], entry)

    def _of_quotient(self, step: int, entry: Expr) -> None:
        """The partial derivatives of a / b are 1 / b and -(a / b) / b."""
        _, a, b = self._at.program.steps[step]
        scaled = entry * (1.0 / self._at.nodes[b])
        if self._depends[a]:
            self._add(a, scaled)
        if self._depends[b]:
            self._subtract(b, scaled * self._at.nodes[step])

    def _of_any(self, step: int, entry: Expr) -> None:
        """Any operation, also where a partial derivative that does not count may be infinite."""
        at = self._at
        op, *indices = at.program.steps[step]
        args = [at.nodes[index] for index in indices]
        if op is Op.SELECT:
            zero = at.graph.constant(0.0)
            self._add(indices[1], args[0].select(entry, zero))
            self._add(indices[2], args[0].select(zero, entry))
            return
        # A step that is not selected has the adjoint 0, and adds 0 even if a factor of it is NaN.
        guarded = op is Op.SQRT or at.under_select[step]
        partials = partial_derivatives(op, args, at.nodes[step])
        for index, partial, steep in zip(indices, partials, at.steep[step], strict=False):
            if not self._depends[index]:
                continue
            term = masked(entry, partial) if guarded and steep else entry * partial
            # The adjoint of an argument of sqrt(0) is infinite; where the factor is 0, it adds 0.
            if at.feeds_sqrt[step] and isinstance(partial, Expr):
                term = mask_infinite_adjoint(term, entry, partial)
            self._add(index, term)

    def _add(self, step: int, term: Expr) -> None:
        known = self._adjoint[step]
        if known is not None:
            self._adjoint[step] = self._plus(known, term)
        elif not is_zero(term):
            self._adjoint[step] = term

    def _subtract(self, step: int, term: Expr) -> None:
        known = self._adjoint[step]
        if known is not None:
            self._adjoint[step] = self._minus(known, term)
        elif not is_zero(term):
            self._adjoint[step] = self._negative(term)
