"""Programs: straight-line code and loops, the result of tracing a function (module `tracing`).

A program is a list of steps in static single assignment form: each step is one operation on the
results of earlier steps, which it refers to by index. A LOOP runs its body, which is a program, a
fixed number of times. Programs can be run (on NumPy arrays, mpmath numbers, or other number types),
verified, serialized, and printed as LLVM IR or C. Pruning removes the steps, loop values and loop
operands that the results of a program do not need.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from operator import or_
from typing import Any, NamedTuple, TypeVar

from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.operations import ARITHMETIC, OPERATIONS, Op, operands_of

T = TypeVar("T")

USUAL_ITERATIONS = 4  # after which a loop with a condition has ended, as solvers have
MAX_COUNT = 2**31 - 1  # of inputs, outputs and iterations: indices have 32 bits


@dataclass(frozen=True, slots=True)
class Port:
    """Name of an input or output, and its shape in one row of a batch."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of elements of one row."""
        return prod(self.shape)


def per_port(ports: Iterable[Port], flat: Sequence[T]) -> Iterator[tuple[Port, Sequence[T]]]:
    """Yield each port with its items, from a sequence of one item for each element of all ports."""
    start = 0
    for port in ports:
        yield port, flat[start : start + port.size]
        start += port.size


@dataclass(frozen=True)
class Loop:
    """A body that runs n times, such as JAX's `scan`.

    Inputs of the body    three ports: the carry, invariants, and one item of each stack it reads
    Outputs of the body   two ports: the next carry, and one item of each stack it writes
    Stacks                have n items, one for each iteration; a reversed loop starts with the last
    Conditional           the first entry of the carry is a condition. Where it is 0, an iteration
                          keeps the carry, so that the loop may end once it is 0 in all rows
    """

    body: Program
    n: int
    is_reversed: bool = False
    is_conditional: bool = False  # such a loop has no stacks

    @property
    def usual_n(self) -> int:
        """Number of iterations, or an estimate if it may end early."""
        return min(self.n, USUAL_ITERATIONS) if self.is_conditional else self.n

    @property
    def n_carry(self) -> int:
        """Number of values that one iteration passes to the next."""
        return self.body.inputs[0].size

    @property
    def n_invariants(self) -> int:
        """Number of values that are the same in each iteration."""
        return self.body.inputs[1].size

    @property
    def n_read(self) -> int:
        """Number of stacks that it reads."""
        return self.body.inputs[2].size

    @property
    def n_written(self) -> int:
        """Number of stacks that it writes."""
        return self.body.outputs[1].size

    @property
    def n_inputs(self) -> int:
        """Number of operands of a LOOP step: the initial carry, invariants and stacks to read."""
        return self.n_carry + self.n_invariants + self.n_read

    @cached_property
    def digest(self) -> str:
        """Hash of the content; equal loops have equal digests."""
        text = f"{self.n} {self.is_reversed} {self.is_conditional} {self.body.digest}"
        return hashlib.sha256(text.encode()).hexdigest()

    def run(
        self,
        operands: Sequence[Any],
        functions: dict[Op, Callable[..., Any]],
        constant: Callable[[float], Any] = float,
    ) -> LoopValue:
        """Compute the values of a LOOP step; arguments as in `Program.run`."""
        return self.run_body(
            operands, lambda row: self.body.run(row, functions=functions, constant=constant)
        )

    def dependencies(self, operands: Sequence[int]) -> LoopValue:
        """Return for each value the union of the bits of all operands that it depends on."""
        n_carry = self.n_carry
        carry = list(operands[:n_carry])
        while True:  # until the dependencies of the carry do not grow
            steps = self.body.dependencies([*carry, *operands[n_carry:]])
            results = [steps[step] for step in self.body.results]
            union = [old | new for old, new in zip(carry, results, strict=False)]
            if union == carry:
                return LoopValue(carry, results[n_carry:])
            carry = union

    def run_body(
        self, operands: Sequence[Any], body: Callable[[list[Any]], list[Any]]
    ) -> LoopValue:
        """Run the body n times.

        Args:
            operands: values of the operands of the step; a stack is a list.
            body: computes the outputs of the body from its inputs, both flattened.
        """
        n_carry, n_read = self.n_carry, self.n_read
        carry = list(operands[:n_carry])
        invariants = operands[n_carry : n_carry + self.n_invariants]
        read = operands[len(operands) - n_read :]
        written: list[list[Any]] = [[None] * self.n for _ in range(self.n_written)]
        for k in reversed(range(self.n)) if self.is_reversed else range(self.n):
            results = body([*carry, *invariants, *[stack[k] for stack in read]])
            carry = results[:n_carry]
            for stack, item in zip(written, results[n_carry:], strict=True):
                stack[k] = item
        return LoopValue(carry, written)


class LoopValue(NamedTuple):
    """The values of a LOOP step: numbers, nodes of a graph, or properties such as dependencies."""

    results: list[Any]  # the carry after the last iteration
    stacks: list[Any]


def loop_body(inputs: tuple[int, int, int], outputs: tuple[int, int], program: Program) -> Program:
    """Replace the ports of a program by those of a loop body.

    Args:
        inputs: number of its inputs that are the carry, invariants and items, in this order.
        outputs: number of its outputs that are the next carry and items, in this order.
        program: the program.
    """
    sizes_in = zip(("carry", "invariants", "items"), inputs, strict=True)
    sizes_out = zip(("carry", "items"), outputs, strict=True)
    ports_in = tuple(Port(name, (size,)) for name, size in sizes_in)
    ports_out = tuple(Port(name, (size,)) for name, size in sizes_out)
    return replace(program, inputs=ports_in, outputs=ports_out)


@dataclass(frozen=True)
class Program:
    """A function of arrays as straight-line code on scalars, with loops over such code."""

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    # (op, *arguments). Arguments are indices of earlier steps, except the first one of a CONST (its
    # value), an INPUT (its index), a LOOP (its index in `loops`), a LOOP_RESULT (its index in the
    # carry) and a LOOP_STACK (its index among the stacks written); see `operations.operands_of`.
    steps: tuple[tuple[Any, ...], ...]
    results: tuple[int, ...]  # the step of each element of all outputs, flattened
    loops: tuple[Loop, ...] = ()
    # Whether a difference of two products is 0 where they are equal, as in NumPy; see `fusion`.
    follows_numpy: bool = False

    @cached_property
    def n_ops(self) -> int:
        """Number of additions, subtractions, multiplications, divisions and negations of one run.

        A loop body counts once per iteration, that of a conditional loop at most USUAL_ITERATIONS
        times. What only derivatives need does not count.
        """
        if Op.IMPLICIT in self.operations:
            return values_of(self).n_ops
        outside_loops = sum(step[0] in ARITHMETIC for step in self.steps)
        return outside_loops + sum(loop.usual_n * loop.body.n_ops for loop in self._loops_of_steps)

    @cached_property
    def n_steps(self) -> int:
        """Number of steps, where the body of a loop counts once."""
        return len(self.steps) + sum(loop.body.n_steps for loop in self._loops_of_steps)

    @property
    def _loops_of_steps(self) -> Iterator[Loop]:
        """The loop of each LOOP step."""
        return (self.loops[step[1]] for step in self.steps if step[0] is Op.LOOP)

    @cached_property
    def digest(self) -> str:
        """Hash of the content; equal programs have equal digests."""
        data = hashlib.sha256(repr((self.inputs, self.outputs, self.results)).encode())
        data.update(bytes([self.follows_numpy]))
        for op, *args in self.steps:
            if op is Op.CONST:
                data.update(struct.pack("<bd", op, args[0]))
            else:
                data.update(struct.pack(f"<b{len(args)}i", op, *args))
        for loop in self.loops:
            data.update(loop.digest.encode())
        return data.hexdigest()

    @cached_property
    def operands(self) -> tuple[tuple[int, ...], ...]:
        """For each step, the steps whose results it uses; empty for constants and inputs."""
        return tuple(operands_of(op, tuple(args)) for op, *args in self.steps)

    def is_zero(self, step: int) -> bool:
        """Return whether a step is the constant 0."""
        return self.steps[step] == (Op.CONST, 0.0)

    @cached_property
    def operations(self) -> frozenset[Op]:
        """The operations that occur, including those in loop bodies."""
        outside_loops = frozenset(step[0] for step in self.steps)
        return outside_loops.union(*(loop.body.operations for loop in self.loops))

    @cached_property
    def without_derivatives(self) -> Program:
        """The program without IMPLICIT steps, and what only they need."""
        step_of: list[int] = []
        steps: list[tuple[Any, ...]] = []
        for (op, *args), operands in zip(self.steps, self.operands, strict=True):
            if op is Op.IMPLICIT:
                step_of.append(step_of[args[0]])
                continue
            first = args[: len(args) - len(operands)]
            step_of.append(len(steps))
            steps.append((op, *first, *[step_of[arg] for arg in operands]))
        loops = tuple(replace(loop, body=values_of(loop.body)) for loop in self.loops)
        results = tuple(step_of[step] for step in self.results)
        return pruned(replace(self, steps=tuple(steps), results=results, loops=loops))

    def values(
        self,
        inputs: Sequence[Any],
        functions: Mapping[Op, Callable[..., Any]],
        constant: Callable[[float], Any],
        loop: Callable[[Loop, list[Any]], LoopValue],
        first_values: Sequence[Any] = (),
    ) -> list[Any]:
        """Compute the value of each step; that of a LOOP is a `LoopValue`.

        Values are numbers, nodes of a graph, or properties, such as the inputs that a step depends
        on.

        Args:
            inputs: the value of each element of all inputs, flattened.
            functions: by operation, a function of the values of its operands.
            constant: maps the number of a CONST to its value.
            loop: computes the values of a loop from the values of its operands.
            first_values: values of the first steps, which are not computed again.
        """
        values: list[Any] = list(first_values)
        for op, *args in self.steps[len(values) :]:
            function = functions.get(op)
            if function is not None:
                values.append(function(*[values[arg] for arg in args]))
            elif op is Op.CONST:
                values.append(constant(args[0]))
            elif op is Op.INPUT:
                values.append(inputs[args[0]])
            elif op is Op.LOOP:
                values.append(loop(self.loops[args[0]], [values[arg] for arg in args[1:]]))
            else:
                loop_value: LoopValue = values[args[1]]
                is_result = op is Op.LOOP_RESULT
                values.append((loop_value.results if is_result else loop_value.stacks)[args[0]])
        return values

    def run(
        self,
        *inputs: Sequence[Any],
        functions: dict[Op, Callable[..., Any]],
        constant: Callable[[float], Any] = float,
    ) -> list[Any]:
        """Compute the elements of all outputs, flattened.

        Args:
            inputs: the elements of each input, flattened, of any type that `functions` accept.
            functions: by operation, a function that computes it.
            constant: converts a constant to the type of the elements.
        """
        elements = [element for elements in inputs for element in elements]
        run_loop = partial(Loop.run, functions=functions, constant=constant)
        values = self.values(elements, functions, constant, run_loop)
        return [values[step] for step in self.results]

    def dependencies(self, bits: Sequence[int]) -> list[Any]:
        """Return for each step the union of the bits of all inputs that it depends on.

        Args:
            bits: the bits of each element of all inputs, flattened.

        Returns:
            The bits of each step; a `LoopValue` of bits for a LOOP.
        """
        return self.values(bits, _UNIONS, lambda value: 0, Loop.dependencies)


_UNION_OF: dict[int, Callable[..., int]] = {1: int, 2: or_, 3: lambda a, b, c: a | b | c}
_UNIONS = {op: _UNION_OF[row.arity] for op, row in OPERATIONS.items()}


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
    return program.without_derivatives if Op.IMPLICIT in program.operations else program


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
