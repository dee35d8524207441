"""Loops in programs: tracing, simplification, the interpreter, NumPy code, bytes, legality."""

from __future__ import annotations

import numpy as np

import linkwork as lw
from linkwork.engine.runtime.numpy_code import NumpyCode
from linkwork.engine.symbolic.arrays import ObjectArray
from linkwork.engine.symbolic.node import Op
from linkwork.engine.symbolic.program import NUMPY_FUNCTIONS, Port, trace
from linkwork.engine.symbolic.serialization import from_bytes, to_bytes


def traced(function, *shapes):
    """The program of a function of arrays, with loops."""
    ports = [Port(f"x{k}", shape) for k, shape in enumerate(shapes)]
    return trace(lambda *arrays: function(*(a.view(ObjectArray) for a in arrays)), ports, "y")


def nested(x, p):
    """Two loops, one in the other, which use values of each function around them."""

    def outer(carry):
        a, t = carry
        b = np.sin(a) * p + np.sum(p**2)
        d = lw.repeat(3, lambda z: z * 0.9 + p[0] * t + np.sin(p), b)
        return np.where(d > 1.0, d, a - p), t + 0.1

    return lw.repeat(5, outer, (x, 0.0))


def count_of(program, op):
    """How many steps of an operation there are, with those of bodies."""
    own = sum(step[0] is op for step in program.steps)
    return own + sum(count_of(loop.body, op) for loop in program.loops)


def test_a_program_with_nested_loops(rng):
    program = traced(nested, (3,), (3,))
    program.verify()
    assert from_bytes(to_bytes(program)) == program
    X, P = rng.normal(size=(2, 7, 3))
    expected = [nested(x, p)[0] for x, p in zip(X, P, strict=True)]
    got = [program.run(x, p, functions=NUMPY_FUNCTIONS)[:3] for x, p in zip(X, P, strict=True)]
    np.testing.assert_allclose(got, expected, rtol=1e-13)
    columns, t = NumpyCode(program)(X.T, P.T)
    np.testing.assert_allclose(np.transpose(columns), expected, rtol=1e-13)
    np.testing.assert_allclose(t[0], 0.5)
    # what is the same in each iteration is computed once, outside of both loops
    assert sum(step[0] is Op.SIN for step in program.steps) == 3 == count_of(program, Op.SIN) - 3
