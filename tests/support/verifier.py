"""Verification of programs: each step is an operation on results of earlier steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.operations import ARGUMENTS, Op
from linkwork.engine.symbolic.program import MAX_COUNT, Loop, Port, Program

# Number of entries in `FlatSteps.args`, by operation; -1 for values that are not an operation.
_N_ARGS = np.full(256, -1)
for _op in Op:
    _N_ARGS[_op] = 0 if _op in (Op.CONST, Op.LOOP) else ARGUMENTS[_op]


def verify(program: Program) -> None:
    """Raise a ValueError if a program is not valid."""
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
    """Raise a ValueError if a loop, whose body is a valid program, is not valid."""
    _require(0 <= loop.n <= MAX_COUNT, "loops of 0 to 2^31 - 1 iterations")
    sizes = len(loop.body.inputs), len(loop.body.outputs)
    _require(sizes == (3, 2), "loop bodies with three inputs and two outputs")
    is_same = loop.n_carry == loop.body.outputs[0].size
    _require(is_same, "loop bodies whose first input and first output have the same size")


@dataclass(frozen=True)
class FlatSteps:
    """The steps and results of a program as arrays."""

    ops: Array
    args: Array  # arguments of all steps, except the first ones of CONST and LOOP
    constants: Array  # first argument of each CONST: its value
    loops: Array  # first argument of each LOOP: its index in the loops of the program
    results: Array

    KINDS: ClassVar[tuple[str, ...]] = ("<u1", "<i4", "<f8", "<i4", "<i4")

    @classmethod
    def of(cls, program: Program) -> FlatSteps:
        """Convert the steps of a program."""
        first_args = {Op.CONST: list[float](), Op.LOOP: list[int]()}
        args: list[int] = []
        for op, *step_args in program.steps:
            is_separate = op is Op.CONST or op is Op.LOOP
            if is_separate:
                first_args[op].append(step_args[0])
            args += step_args[is_separate:]
        parts = ([step[0] for step in program.steps], args, *first_args.values(), program.results)
        return cls(*(np.array(part, kind) for part, kind in zip(parts, cls.KINDS, strict=True)))

    def _counts(self, loops: Sequence[Loop]) -> Array:
        """Return the number of entries of `args` that belong to each step."""
        counts = _N_ARGS[self.ops]
        counts[self.ops == Op.LOOP] = [loops[k].n_inputs for k in self.loops.tolist()]
        return counts

    def verify(
        self, inputs: Sequence[Port], outputs: Sequence[Port], loops: Sequence[Loop]
    ) -> None:
        """Raise a ValueError unless these are the steps of a valid program.

        Args:
            inputs, outputs: names and shapes.
            loops: the loops of the program, which are valid.
        """
        ops, args, results = self.ops, self.args, self.results
        n_inputs, n_outputs = (sum(port.size for port in ports) for ports in (inputs, outputs))
        _require(n_inputs <= MAX_COUNT, "inputs of at most 2^31 - 1 elements")
        _require(bool((_N_ARGS[ops] >= 0).all()), "known operations")
        is_loop, is_stack = ops == Op.LOOP, ops == Op.LOOP_STACK
        _require(np.count_nonzero(is_loop) == len(self.loops), "a loop for each LOOP")
        exists = (self.loops >= 0) & (self.loops < len(loops))
        _require(bool(exists.all()), "a loop for each LOOP")
        counts = self._counts(loops)
        _require(int(counts.sum()) == len(args), "arguments for each operation")
        _require(np.count_nonzero(ops == Op.CONST) == len(self.constants), "a value for each CONST")
        # Each argument is an earlier step or the index of an input; each result is a step.
        step = np.repeat(np.arange(len(ops)), counts)  # by argument
        ends = np.cumsum(counts)
        is_loop_value = (ops == Op.LOOP_RESULT) | is_stack
        is_index = np.zeros(len(args), bool)
        is_index[(ends - counts)[is_loop_value | (ops == Op.INPUT)]] = True
        limit = np.where(ops[step] == Op.INPUT, n_inputs, np.where(is_index, MAX_COUNT, step))
        _require(bool(((args >= 0) & (args < limit)).all()), "arguments that are earlier steps")
        _require(len(results) == n_outputs, "a result for each element of the outputs")
        _require(bool(((results >= 0) & (results < len(ops))).all()), "results that are steps")
        # Only LOOP_RESULT and LOOP_STACK use a LOOP, and only a LOOP uses a LOOP_STACK.
        is_scalar = ~(is_loop | is_stack)
        _require(bool(is_scalar[results].all()), "results that are scalars")
        is_operand = ~is_index & ~(is_loop | is_loop_value)[step]
        _require(bool(is_scalar[args[is_operand]].all()), "arguments that are scalars")
        self._verify_loops(loops, ends)

    def _verify_loops(self, loops: Sequence[Loop], ends: Array) -> None:
        """Raise a ValueError unless loops, their operands and their values are consistent."""
        loop_of = {
            int(step): loops[k]
            for step, k in zip(np.flatnonzero(self.ops == Op.LOOP), self.loops, strict=True)
        }
        stack_length: dict[int, int] = {}  # by LOOP_STACK
        is_of_loop = (self.ops >= Op.LOOP) & (self.ops <= Op.LOOP_STACK)
        for step in np.flatnonzero(is_of_loop).tolist():
            end = int(ends[step])
            if step in loop_of:
                loop = loop_of[step]
                first_read = end - loop.n_read
                scalars = self.args[end - loop.n_inputs : first_read].tolist()
                are_scalars = all(self.ops[arg] not in (Op.LOOP, Op.LOOP_STACK) for arg in scalars)
                _require(are_scalars, "arguments that are scalars")
                read = self.args[first_read:end].tolist()
                have_items = all(stack_length.get(arg, -1) == loop.n for arg in read)
                _require(have_items, "stacks with an item for each iteration")
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
        raise ValueError(f"invalid program: expected {what}")
