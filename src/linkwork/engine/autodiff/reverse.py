"""Reverse mode: the adjoints of each step, from the last to the first.

The adjoint of a step is the derivative of the dot product of outputs and cotangents with respect to
the value of the step. Each step adds its terms to the adjoints of its arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linkwork.engine.autodiff.guards import (
    is_zero,
    mask_infinite_adjoint,
    masked,
    partial_derivatives,
)
from linkwork.engine.autodiff.loops import keep_carries, loop_adjoints
from linkwork.engine.autodiff.primal import Primal
from linkwork.engine.symbolic.node import Expr
from linkwork.engine.symbolic.operations import Op


def reverse(primal: Primal, seeds: Mapping[int, Sequence[Expr]]) -> dict[int, Expr]:
    """Return the adjoints of the active input elements, without structural zeros.

    Args:
        primal: the program.
        seeds: by step, the cotangents of its value, which are summed.
    """
    if primal.program.loops:
        keep_carries(primal)
    return _Sweep(primal, seeds).run()


class _Sweep:
    """One pass over the steps, from the last to the first."""

    def __init__(self, primal: Primal, seeds: Mapping[int, Sequence[Expr]]) -> None:
        self._primal, self._seeds = primal, seeds
        operations = primal.graph.operations
        self._plus, self._minus = operations[Op.ADD], operations[Op.SUB]
        self._times, self._negative = operations[Op.MUL], operations[Op.NEG]
        self._last = max(seeds, default=-1)
        self._adjoint: list[Expr | None] = [None] * (self._last + 1)
        # By LOOP: adjoints of its results; terms of the adjoints of its stacks.
        self._result_adjoints: dict[int, dict[int, Expr]] = {}
        self._stack_adjoints: dict[int, dict[int, list[Expr]]] = {}
        self._depends = primal.depends
        self._angle_derivative = primal.rotations.angle_derivative
        self._absorbed_factor = primal.rotations.absorbed_factor
        self._guarded = primal.guarded

    def run(self) -> dict[int, Expr]:
        """Visit each step, and add its terms to the adjoints of its arguments."""
        steps, adjoint, depends = self._primal.program.steps, self._adjoint, self._depends
        visit_by_op = {
            Op.MUL: self._visit_product,
            Op.ADD: self._visit_sum,
            Op.SUB: self._visit_sum,
            Op.NEG: self._visit_negative,
            Op.DIV: self._visit_quotient,
            Op.LOOP_RESULT: self._visit_loop_result,
        }
        input_adjoints: dict[int, Expr] = {}
        for step in range(self._last, -1, -1):
            if not depends[step]:
                continue
            for seed in self._seeds.get(step, ()):
                self._add(step, seed)
            if steps[step][0] is Op.LOOP:
                self._visit_loop(step)
            entry = adjoint[step]
            if entry is None:
                continue
            adjoint[step] = None
            op = steps[step][0]
            if op is Op.INPUT:
                input_adjoints[steps[step][1]] = entry
            elif self._guarded[step] and op is not Op.LOOP_RESULT:
                self._visit_any(step, entry)
            else:
                visit_by_op.get(op, self._visit_any)(step, entry)
        return input_adjoints

    def _visit_loop_result(self, step: int, entry: Expr) -> None:
        _, k, loop = self._primal.program.steps[step]
        self._result_adjoints.setdefault(loop, {})[k] = entry

    def _visit_loop(self, step: int) -> None:
        results, stacks = self._result_adjoints.pop(step, {}), self._stack_adjoints.pop(step, {})
        if not results and not stacks:
            return
        steps, operands = self._primal.program.steps, self._primal.program.operands[step]
        adjoints = loop_adjoints(self._primal, step, results, stacks, reverse)
        for position, entry in adjoints.items():
            operand = operands[position]
            if not self._depends[operand]:
                continue
            if steps[operand][0] is Op.LOOP_STACK:
                _, k, loop = steps[operand]
                self._stack_adjoints.setdefault(loop, {}).setdefault(k, []).append(entry)
            else:
                self._add(operand, entry)

    def _visit_product(self, step: int, entry: Expr) -> None:
        _, a, b = self._primal.program.steps[step]
        nodes, absorbed = self._primal.nodes, self._absorbed_factor.get(step)
        if self._depends[a] and absorbed != 0:
            self._add(a, self._times(entry, nodes[b]))
        if self._depends[b] and absorbed != 1:
            self._add(b, self._times(entry, nodes[a]))

    def _visit_sum(self, step: int, entry: Expr) -> None:
        op, a, b = self._primal.program.steps[step]
        if step in self._angle_derivative:
            self._visit_angle(step, entry)
        if self._depends[a]:
            self._add(a, entry)
        if self._depends[b]:
            (self._add if op is Op.ADD else self._subtract)(b, entry)

    def _visit_angle(self, step: int, entry: Expr) -> None:
        """Add the term of the angle of a rotation, where the derivative is another step."""
        angle, sign, other = self._angle_derivative[step]
        if self._depends[angle]:
            term = self._times(entry, self._primal.nodes[other])
            (self._add if sign > 0 else self._subtract)(angle, term)

    def _visit_negative(self, step: int, entry: Expr) -> None:
        self._subtract(self._primal.program.steps[step][1], entry)

    def _visit_quotient(self, step: int, entry: Expr) -> None:
        """Add the terms of a / b, with the partial derivatives 1 / b and -(a / b) / b."""
        _, a, b = self._primal.program.steps[step]
        scaled = entry * (1.0 / self._primal.nodes[b])
        if self._depends[a]:
            self._add(a, scaled)
        if self._depends[b]:
            self._subtract(b, scaled * self._primal.nodes[step])

    def _visit_any(self, step: int, entry: Expr) -> None:
        """Add the terms of any operation, with guards where a partial may not be finite."""
        primal = self._primal
        op, *indices = primal.program.steps[step]
        args = [primal.nodes[index] for index in indices]
        if op is Op.SELECT:
            zero = primal.graph.constant(0.0)
            self._add(indices[1], args[0].select(entry, zero))
            self._add(indices[2], args[0].select(zero, entry))
            return
        # The adjoint of a discarded step is 0: it adds 0, even if its partial derivative is NaN.
        guarded = op is Op.SQRT or primal.under_select[step]
        partials = partial_derivatives(op, args, primal.nodes[step])
        for index, partial, steep in zip(indices, partials, primal.steep[step], strict=False):
            if not self._depends[index]:
                continue
            term = masked(entry, partial) if guarded and steep else entry * partial
            # The adjoint of the argument of sqrt(0) is infinite; times a partial of 0 it adds 0.
            if primal.feeds_sqrt[step] and isinstance(partial, Expr):
                term = mask_infinite_adjoint(term, entry, partial)
            self._add(index, term)

    def _add(self, step: int, term: Expr) -> None:
        adjoint = self._adjoint[step]
        if adjoint is not None:
            self._adjoint[step] = self._plus(adjoint, term)
        elif not is_zero(term):
            self._adjoint[step] = term

    def _subtract(self, step: int, term: Expr) -> None:
        adjoint = self._adjoint[step]
        if adjoint is not None:
            self._adjoint[step] = self._minus(adjoint, term)
        elif not is_zero(term):
            self._adjoint[step] = self._negative(term)
