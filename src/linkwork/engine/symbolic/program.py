"""Programs: straight-line code, the result of tracing a function.

A program is a list of steps in static single assignment form: each step is one operation on the
results of earlier steps, referred to by their index. It can be run (on NumPy arrays, mpmath
numbers, or any other numbers), counted, verified, and printed as LLVM IR or C.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any, TypeVar

import numpy as np

from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.node import ARGUMENTS, ARITHMETIC, LAST_LEAF, Expr, Graph, Op
from linkwork.engine.symbolic.rules import FLOAT_FUNCTIONS, RULES

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Port:
    """A named input or output, and the shape of one row of it."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many numbers one row has."""
        return prod(self.shape)


def per_port(ports: Iterable[Port], flat: Sequence[T]) -> Iterator[tuple[Port, Sequence[T]]]:
    """Each port with its items, from a sequence with one item for each number of all ports."""
    start = 0
    for port in ports:
        yield port, flat[start : start + port.size]
        start += port.size


@dataclass(frozen=True)
class Program:
    """A function of arrays as straight-line code on scalars."""

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    # (op, *arguments): indices of earlier steps; the value of a CONST; the index of an INPUT
    steps: tuple[tuple[Any, ...], ...]
    results: tuple[int, ...]  # the index of the step of each number of all outputs, flattened

    @cached_property
    def n_ops(self) -> int:
        """How many additions, subtractions, multiplications, divisions and negations there are."""
        return sum(step[0] in ARITHMETIC for step in self.steps)

    @cached_property
    def digest(self) -> str:
        """A hash of the content, the same for equal programs."""
        data = hashlib.sha256(repr((self.inputs, self.outputs, self.results)).encode())
        for op, *args in self.steps:
            if op is Op.CONST:
                data.update(struct.pack("<bd", op, args[0]))
            else:
                data.update(struct.pack(f"<b{len(args)}i", op, *args))
        return data.hexdigest()

    @cached_property
    def operands(self) -> tuple[tuple[int, ...], ...]:
        """For each step, the steps whose results it uses; none for constants and inputs."""
        return tuple(step[1:] if step[0] > LAST_LEAF else () for step in self.steps)

    def run(
        self,
        *inputs: Sequence[Any],
        functions: dict[Op, Callable[..., Any]],
        constant: Callable[[float], Any] = float,
    ) -> list[Any]:
        """The numbers of all outputs, flattened.

        Args:
            inputs: for each input its numbers, flattened; anything that `functions` can take.
            functions: how to compute each operation.
            constant: what a constant becomes.
        """
        numbers = [number for numbers in inputs for number in numbers]
        values = self._values(numbers, functions, constant)
        return [values[step] for step in self.results]

    def inlined(self, graph: Graph, inputs: Sequence[Expr]) -> list[Expr]:
        """The node of each step in another graph, whose rules are applied once more.

        Args:
            graph: the graph.
            inputs: the nodes that replace the numbers of all inputs, flattened.
        """
        functions = {op: partial(rule, graph) for op, rule in RULES.items()}
        return self._values(inputs, functions, graph.constant)

    def _values(
        self,
        inputs: Sequence[Any],
        functions: dict[Op, Callable[..., Any]],
        constant: Callable[[float], Any] = float,
    ) -> list[Any]:
        """The value of each step."""
        values: list[Any] = []
        for op, *args in self.steps:
            if op is Op.CONST:
                values.append(constant(args[0]))
            elif op is Op.INPUT:
                values.append(inputs[args[0]])
            else:
                values.append(functions[op](*[values[arg] for arg in args]))
        return values

    def verify(self) -> None:
        """Assert that the program is well formed, which tracing guarantees."""
        assert len(self.results) == sum(port.size for port in self.outputs)
        n_inputs = sum(port.size for port in self.inputs)
        for step, (op, *args) in enumerate(self.steps):
            assert isinstance(op, Op)
            assert len(args) == ARGUMENTS[op]
            if op is Op.INPUT:
                assert 0 <= args[0] < n_inputs
            elif op is not Op.CONST:
                assert all(0 <= arg < step for arg in args)
        assert all(0 <= step < len(self.steps) for step in self.results)


# The value of each operation on NumPy arrays.
NUMPY_FUNCTIONS: dict[Op, Callable[..., Any]] = FLOAT_FUNCTIONS | {
    Op.DIV: np.divide,
    Op.SQRT: np.sqrt,
    Op.SIN: np.sin,
    Op.COS: np.cos,
    Op.ATAN2: np.arctan2,
    Op.LESS: lambda a, b: (a < b) * 1.0,
    Op.SELECT: lambda c, a, b: np.where(np.not_equal(c, 0), a, b),
    Op.EXP: np.exp,
    Op.LOG: np.log,
    Op.LESS_EQUAL: lambda a, b: (a <= b) * 1.0,
    Op.FLOOR: np.floor,
    Op.EXPM1: np.expm1,
    Op.LOG1P: np.log1p,
    Op.EXP2: np.exp2,
}


def trace(
    function: Callable[..., Any], inputs: Iterable[Port], output_names: Sequence[str] | str
) -> Program:
    """Run a function on arrays of expressions and record its operations.

    Args:
        function: takes one array for each input and returns an array, or a tuple of arrays.
        inputs: names and shapes of its arguments.
        output_names: one for each array it returns; or one text for all, numbered if it returns a
            tuple.
    """
    ports = tuple(inputs)
    graph = Graph()
    returned = function(*(_input_array(graph, port) for port in ports))
    arrays = returned if isinstance(returned, tuple) else (returned,)
    if isinstance(output_names, str):
        numbered = [f"{output_names}[{k}]" for k, _ in enumerate(arrays)]
        output_names = numbered if isinstance(returned, tuple) else [output_names]
    flat = [graph.lifted(value) for array in arrays for value in np.asarray(array, object).flat]
    outputs = tuple(
        Port(name, tuple(np.shape(array))) for name, array in zip(output_names, arrays, strict=True)
    )
    graph.is_finished = True
    return program_of(ports, outputs, flat, graph)


def _input_array(graph: Graph, port: Port) -> Array:
    array = np.empty(port.size, dtype=object)
    array[:] = [graph.input() for _ in range(port.size)]
    return array.reshape(port.shape)


def program_of(
    inputs: tuple[Port, ...], outputs: tuple[Port, ...], results: Sequence[Expr], graph: Graph
) -> Program:
    """The program that computes some nodes; nodes that they do not depend on are left out.

    Args:
        inputs: names and shapes; their numbers are the inputs of the graph, in order.
        outputs: names and shapes.
        results: the node of each number of all outputs, flattened.
        graph: what the nodes belong to.
    """
    needed = bytearray(len(graph.nodes))
    for node in results:
        needed[node.index] = 1
    for node in reversed(graph.nodes):
        if needed[node.index] and node.op > LAST_LEAF:
            for arg in node.args:
                needed[arg.index] = 1
    step_of = [0] * len(graph.nodes)  # by index of a node
    steps: list[tuple[Any, ...]] = []
    for node in graph.nodes:
        if not needed[node.index]:
            continue
        step_of[node.index] = len(steps)
        if node.op > LAST_LEAF:
            steps.append((node.op, *[step_of[arg.index] for arg in node.args]))
        else:
            steps.append((node.op, *node.args))
    return Program(inputs, outputs, tuple(steps), tuple(step_of[node.index] for node in results))
