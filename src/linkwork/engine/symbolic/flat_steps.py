"""The steps of a program as arrays, in which they are verified and stored; what is legal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.node import ARGUMENTS, Op
from linkwork.engine.symbolic.program import Loop, Port, Program

MOST_NUMBERS = 2**31 - 1  # steps refer to inputs by an index of 32 bits
_OPS = {int(op): op for op in Op}
# By operation, how many entries of `FlatSteps.args` it has; -1 if there is no such operation.
_N_ARGS = np.full(256, -1)
for _op in Op:
    _N_ARGS[_op] = 0 if _op in (Op.CONST, Op.LOOP) else ARGUMENTS[_op]


def verify(program: Program) -> None:
    """Raise a ValueError if a program is not legal."""
    for loop in program.loops:
        verify_loop(loop)
        verify(loop.body)
    for op, *args in program.steps:
        _require(isinstance(op, Op), "known operations")
        if op is Op.LOOP:
            _require(bool(args) and 0 <= args[0] < len(program.loops), "a loop for each LOOP")
        count = 1 + program.loops[args[0]].n_inputs if op is Op.LOOP else ARGUMENTS[op]
        _require(len(args) == count, "arguments for each operation")
    FlatSteps.of(program).verify(program.inputs, program.outputs, program.loops)


def verify_loop(loop: Loop) -> None:
    """Raise a ValueError if the body of a loop, a legal program, is not that of a loop."""
    _require(0 <= loop.n <= MOST_NUMBERS, "loops of 0 to 2^31 - 1 iterations")
    sizes = len(loop.body.inputs), len(loop.body.outputs)
    _require(sizes == (3, 2), "bodies of loops with three inputs and two outputs")
    is_same = loop.n_carry == loop.body.outputs[0].size
    _require(is_same, "bodies of loops that compute each value that they carry")


@dataclass(frozen=True)
class FlatSteps:
    """The steps and results of a program as arrays, in which they are verified and stored."""

    ops: Array
    args: Array  # of all steps, one after the other, without those below
    constants: Array  # the value of each CONST
    loops: Array  # the index of each LOOP in the loops of the program
    results: Array

    KINDS: ClassVar[tuple[str, ...]] = ("<u1", "<i4", "<f8", "<i4", "<i4")

    @classmethod
    def of(cls, program: Program) -> FlatSteps:
        """Those of a program."""
        apart = {Op.CONST: list[float](), Op.LOOP: list[int]()}
        args: list[int] = []
        for op, *own in program.steps:
            is_apart = op is Op.CONST or op is Op.LOOP
            if is_apart:
                apart[op].append(own[0])
            args += own[is_apart:]
        parts = ([step[0] for step in program.steps], args, *apart.values(), program.results)
        return cls(*(np.array(part, kind) for part, kind in zip(parts, cls.KINDS, strict=True)))

    def steps(self, loops: Sequence[Loop]) -> tuple[tuple[Any, ...], ...]:
        """The steps, which `verify` was called for."""
        steps: list[tuple[Any, ...]] = []
        args, at = self.args.tolist(), 0
        apart = {Op.CONST: iter(self.constants.tolist()), Op.LOOP: iter(self.loops.tolist())}
        counts = self._counts(loops).tolist()
        for number, count in zip(self.ops.tolist(), counts, strict=True):
            op, own = _OPS[number], args[at : at + count]
            steps.append((op, next(apart[op]), *own) if op in apart else (op, *own))
            at += count
        return tuple(steps)

    def _counts(self, loops: Sequence[Loop]) -> Array:
        """How many entries of `args` belong to each step."""
        counts = _N_ARGS[self.ops]
        counts[self.ops == Op.LOOP] = [loops[k].n_inputs for k in self.loops.tolist()]
        return counts

    def verify(
        self, inputs: Sequence[Port], outputs: Sequence[Port], loops: Sequence[Loop]
    ) -> None:
        """Raise a ValueError unless these are the steps of a legal program.

        Args:
            inputs, outputs: names and shapes.
            loops: the loops of the program, which are legal.
        """
        ops, args, results = self.ops, self.args, self.results
        n_inputs, n_outputs = (sum(port.size for port in ports) for ports in (inputs, outputs))
        _require(n_inputs <= MOST_NUMBERS, "inputs of at most 2^31 - 1 numbers")
        _require(bool((_N_ARGS[ops] >= 0).all()), "known operations")
        is_loop, is_stack = ops == Op.LOOP, ops == Op.LOOP_STACK
        _require(np.count_nonzero(is_loop) == len(self.loops), "a loop for each LOOP")
        known = (self.loops >= 0) & (self.loops < len(loops))
        _require(bool(known.all()), "a loop for each LOOP")
        counts = self._counts(loops)
        _require(int(counts.sum()) == len(args), "arguments for each operation")
        _require(np.count_nonzero(ops == Op.CONST) == len(self.constants), "a value for each CONST")
        # Each argument is an earlier step or the index of an input; each result is a step.
        step = np.repeat(np.arange(len(ops)), counts)  # by argument
        ends = np.cumsum(counts)
        of_loop = (ops == Op.LOOP_RESULT) | is_stack
        is_index = np.zeros(len(args), bool)
        is_index[(ends - counts)[of_loop | (ops == Op.INPUT)]] = True
        limit = np.where(ops[step] == Op.INPUT, n_inputs, np.where(is_index, MOST_NUMBERS, step))
        _require(bool(((args >= 0) & (args < limit)).all()), "arguments that are earlier steps")
        _require(len(results) == n_outputs, "a result for each number of the outputs")
        _require(bool(((results >= 0) & (results < len(ops))).all()), "results that are steps")
        # Only LOOP_RESULT and LOOP_STACK use a LOOP, and only a LOOP uses a LOOP_STACK.
        is_scalar = ~(is_loop | is_stack)
        _require(bool(is_scalar[results].all()), "results that are numbers")
        is_plain = ~is_index & ~(is_loop | of_loop)[step]
        _require(bool(is_scalar[args[is_plain]].all()), "arguments that are numbers")
        self._verify_loops(loops, ends)

    def _verify_loops(self, loops: Sequence[Loop], ends: Array) -> None:
        """Raise a ValueError unless loops and their values fit each other."""
        loop_of = {
            int(step): loops[k]
            for step, k in zip(np.flatnonzero(self.ops == Op.LOOP), self.loops, strict=True)
        }
        stack_length: dict[int, int] = {}  # by LOOP_STACK
        for step in np.flatnonzero(self.ops >= Op.LOOP).tolist():
            end = int(ends[step])
            if step in loop_of:
                loop = loop_of[step]
                own = self.args[end - loop.n_inputs : end].tolist()
                numbers, read = own[: len(own) - loop.n_read], own[len(own) - loop.n_read :]
                is_number = all(self.ops[arg] not in (Op.LOOP, Op.LOOP_STACK) for arg in numbers)
                _require(is_number, "arguments that are numbers")
                fit = all(stack_length.get(arg, -1) == loop.n for arg in read)
                _require(fit, "stacks with an item for each iteration")
                continue
            k, loop_step = self.args[end - 2 : end].tolist()
            _require(loop_step in loop_of, "LOOP_RESULT and LOOP_STACK of a LOOP")
            loop = loop_of[loop_step]
            is_stack = self.ops[step] == Op.LOOP_STACK
            _require(k < (loop.n_written if is_stack else loop.n_carry), "a value of the loop")
            if is_stack:
                stack_length[step] = loop.n


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"not a legal program: it needs {what}")
