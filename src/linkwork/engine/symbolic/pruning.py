"""Pruning: removal of steps, loop values and loop operands that the results do not need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from linkwork.engine.symbolic.operations import Op
from linkwork.engine.symbolic.program import Loop, Program, loop_body


@dataclass
class _UsedValues:
    """The values and operands of a loop that are used, by index."""

    results: set[int] = field(default_factory=set[int])
    stacks: set[int] = field(default_factory=set[int])
    operands: list[int] = field(default_factory=list[int])

    def add_dependencies(self, loop: Loop) -> None:
        """Add the carry entries that these values depend on, and set the operands."""
        body = loop.body
        if loop.is_conditional:
            self.results.add(0)
        while True:
            needed, _ = _needed(body, [body.results[k] for k in self.body_outputs(loop)])
            inputs = {
                step[1]
                for step, is_used in zip(body.steps, needed, strict=True)
                if is_used and step[0] is Op.INPUT
            }
            carry = {k for k in inputs if k < loop.n_carry}
            if carry <= self.results:
                self.operands = sorted(inputs | self.results)
                return
            self.results |= carry

    def body_outputs(self, loop: Loop) -> list[int]:
        """Return the indices of the body outputs that are used."""
        return [*sorted(self.results), *(loop.n_carry + k for k in sorted(self.stacks))]


def pruned(program: Program) -> Program:
    """Remove carry entries, stacks and invariants of loops that the results do not need."""
    return _pruned(program, program.results)


def values_of(program: Program) -> Program:
    """Return the program that computes the same values, without what only derivatives need."""
    if Op.IMPLICIT not in program.operations:
        return program
    step_of: list[int] = []
    steps: list[tuple[Any, ...]] = []
    for (op, *args), operands in zip(program.steps, program.operands, strict=True):
        if op is Op.IMPLICIT:
            step_of.append(step_of[args[0]])
            continue
        first = args[: len(args) - len(operands)]
        step_of.append(len(steps))
        steps.append((op, *first, *[step_of[arg] for arg in operands]))
    loops = tuple(replace(loop, body=values_of(loop.body)) for loop in program.loops)
    results = tuple(step_of[step] for step in program.results)
    return pruned(replace(program, steps=tuple(steps), results=results, loops=loops))


def _pruned(program: Program, results: Sequence[int]) -> Program:
    """Return the part of a program that computes `results`, with the same ports."""
    needed, uses = _needed(program, results)
    step_of: dict[int, int] = {}
    steps: list[tuple[Any, ...]] = []
    loops: dict[str, tuple[int, Loop]] = {}  # by digest
    for step, (op, *args) in enumerate(program.steps):
        if not needed[step]:
            continue
        step_of[step] = len(steps)
        operands = program.operands[step]
        first = args[: len(args) - len(operands)]
        if op is Op.LOOP:
            loop, use = program.loops[args[0]], uses[step]
            smaller = _with_values(loop, use)
            index, _ = loops.setdefault(smaller.digest, (len(loops), smaller))
            first, operands = [index], tuple(operands[k] for k in use.operands)
        elif op is Op.LOOP_RESULT or op is Op.LOOP_STACK:
            use = uses[args[1]]
            first = [sorted(use.results if op is Op.LOOP_RESULT else use.stacks).index(args[0])]
        steps.append((op, *first, *[step_of[arg] for arg in operands]))
    return Program(
        program.inputs,
        program.outputs,
        tuple(steps),
        tuple(step_of[step] for step in results),
        tuple(loop for _, loop in loops.values()),
        program.follows_numpy,
    )


def _with_values(loop: Loop, use: _UsedValues) -> Loop:
    """Reduce a loop to the values and operands that are used."""
    n_carry, n_read = loop.n_carry, loop.n_read
    outputs = use.body_outputs(loop)
    if len(use.operands) == loop.n_inputs and len(outputs) == len(loop.body.results):
        return loop
    body = _pruned(loop.body, [loop.body.results[k] for k in outputs])
    steps = with_inputs(body, {old: new for new, old in enumerate(use.operands)})
    first_read = loop.n_inputs - n_read
    sizes_in = (
        sum(k < n_carry for k in use.operands),
        sum(n_carry <= k < first_read for k in use.operands),
        sum(k >= first_read for k in use.operands),
    )
    sizes_out = len(use.results), len(use.stacks)
    return replace(loop, body=loop_body(sizes_in, sizes_out, replace(body, steps=steps)))


def with_inputs(program: Program, new_index: Mapping[int, int]) -> tuple[tuple[Any, ...], ...]:
    """Return the steps of a program with other input indices."""
    return tuple(
        (op, new_index[first]) if op is Op.INPUT else (op, first, *others)
        for op, first, *others in program.steps
    )


def _needed(program: Program, results: Iterable[int]) -> tuple[bytearray, dict[int, _UsedValues]]:
    """Find the steps that `results` need, and the values of each LOOP step that they use."""
    needed = bytearray(len(program.steps))
    uses: dict[int, _UsedValues] = {}
    for step in results:
        needed[step] = 1
    for step in reversed(range(len(needed))):
        if not needed[step]:
            continue
        op, *args = program.steps[step]
        operands = program.operands[step]
        if op is Op.LOOP:
            uses[step].add_dependencies(program.loops[args[0]])
            operands = tuple(operands[k] for k in uses[step].operands)
        elif op is Op.LOOP_RESULT or op is Op.LOOP_STACK:
            use = uses.setdefault(args[1], _UsedValues())
            (use.results if op is Op.LOOP_RESULT else use.stacks).add(args[0])
        for operand in operands:
            needed[operand] = 1
    return needed, uses
