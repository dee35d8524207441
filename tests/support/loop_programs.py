"""Random programs with loops: nested, reversed, with stacks that other loops read."""

from __future__ import annotations

import numpy as np
from tests.support.verifier import verify

from linkwork.engine.symbolic.operations import Op
from linkwork.engine.symbolic.program import Loop, Port, Program, loop_body, pruned


class Steps:
    """Builds steps whose values stay between about -4 and 4."""

    def __init__(self, draw, n_inputs):
        self.draw, self.steps, self.loops = draw, [], []
        self.numbers = [self.add(Op.INPUT, k) for k in range(n_inputs)]

    def add(self, op, *args):
        self.steps.append((op, *args))
        return len(self.steps) - 1

    def number(self, value):
        return self.add(Op.CONST, float(value))

    def any(self):
        """Choose a recent or an older step."""
        recent = self.numbers[-8:] if self.draw.random() < 0.6 else self.numbers
        return recent[self.draw.integers(len(recent))] if recent else self.number(0.3)

    def grow(self, count):
        """Add some operations."""
        for _ in range(count):
            x, y, kind = self.any(), self.any(), self.draw.integers(7)
            if kind == 0:
                new = self.add(Op.SIN if self.draw.random() < 0.5 else Op.COS, x)
            elif kind == 1:
                new = self.add(Op.SELECT, self.add(Op.LESS, x, y), x, y)
            elif kind == 2:
                new = self.add(Op.SIN, self.add(Op.MUL, x, y))
            elif kind == 3:
                below = self.add(Op.ADD, self.number(2.5), self.add(Op.COS, y))
                new = self.add(Op.DIV, x, below)
            elif kind == 4:
                new = self.add(Op.ATAN2, x, self.add(Op.ADD, self.add(Op.MUL, y, y), self.one()))
            else:
                total = self.add(Op.ADD if kind == 5 else Op.SUB, x, y)
                new = self.add(Op.MUL, total, self.number(self.draw.uniform(0.1, 0.6)))
            self.numbers.append(new)

    def one(self):
        return self.number(1.0)

    def loop(self, n, sizes, *, read=(), is_reversed=False, depth=0, length=12):
        """Add a loop and its results; return its stacks."""
        n_carry, n_invariants, n_written = sizes
        body = random_body(self.draw, (n_carry, n_invariants, len(read)), n_written, depth, length)
        self.loops.append(Loop(body, n, is_reversed))
        operands = [self.any() for _ in range(n_carry + n_invariants)]
        step = self.add(Op.LOOP, len(self.loops) - 1, *operands, *read)
        stacks = [self.add(Op.LOOP_STACK, k, step) for k in range(n_written)]
        self.numbers += [self.add(Op.LOOP_RESULT, k, step) for k in range(n_carry)]
        return stacks

    def total(self, numbers):
        """Add a step that depends on all of these."""
        total = self.number(0.1)
        for number in numbers:
            total = self.add(Op.SIN, self.add(Op.ADD, number, total))
        return total


def random_body(draw, inputs, n_written, depth, length):
    """The body of a loop, which contains loops if `depth` is not 0."""
    steps = Steps(draw, sum(inputs))
    steps.grow(length)
    if depth:
        stacks = steps.loop(3, (2, 2, 2), depth=depth - 1, length=length)
        steps.grow(3)
        steps.loop(3, (1, 0, 0), read=stacks, is_reversed=True, length=length)
        steps.grow(3)
    loops = [k for k, step in enumerate(steps.steps) if step[0] in (Op.INPUT, Op.LOOP_RESULT)]
    steps.numbers.append(steps.total(loops))
    results = [steps.any() for _ in range(inputs[0] + n_written)]
    results[-1:] = [steps.numbers[-1]] if results else []
    program = pruned(Program((), (), tuple(steps.steps), tuple(results), tuple(steps.loops)))
    return loop_body(inputs, (inputs[0], n_written), program)


def loop_program(seed, *, n=5, depth=1, length=12, size=6):
    """A program of a (3,) and b (2, 2), with outputs of `size` and of 3 elements."""
    steps = Steps(np.random.default_rng(seed), 7)
    steps.grow(length)
    first = steps.loop(n, (3, 2, 3), depth=depth, length=length)
    steps.grow(4)
    second = steps.loop(n, (2, 1, 1), read=first[1:], is_reversed=True, length=length)
    steps.loop(n + 1, (2, 0, 0), length=length)
    steps.grow(length)
    steps.loop(n, (2, 0, 0), read=[*second, first[0]], depth=depth, length=length)
    steps.grow(5)
    total = steps.total(k for k, step in enumerate(steps.steps) if step[0] is Op.LOOP_RESULT)
    results = (*(steps.any() for _ in range(size)), total, steps.numbers[0], steps.number(0.25))
    ports = (Port("a", (3,)), Port("b", (2, 2))), (Port("c", (size,)), Port("d", (3,)))
    program = pruned(Program(*ports, tuple(steps.steps), results, tuple(steps.loops)))
    verify(program)
    return program
