"""The rows of the table of operations: their parts agree with each other and with mpmath."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from tests.support.expressions import MPMATH, mp_jacobian, program_for, values

from linkwork.engine.autodiff import diff
from linkwork.engine.symbolic.operations import (
    FLOAT_FUNCTIONS,
    NUMPY_FUNCTIONS,
    OPERATIONS,
    Bound,
    Op,
)

ALL = pytest.mark.parametrize("op", OPERATIONS, ids=lambda op: op.name)
DIFFERENTIABLE = pytest.mark.parametrize(
    "op", [op for op in OPERATIONS if op is not Op.SELECT], ids=lambda op: op.name
)


def points(op, rng, n=20):
    """Points (n, arity) where an operation and its derivatives are defined."""
    return rng.uniform(0.1, 3.0, (n, OPERATIONS[op].arity))


def program_of_one(op):
    arity = OPERATIONS[op].arity
    return program_for(lambda a: a[0].graph.apply(op, *a), (arity,))


def test_numbers_of_operations_stay_the_same():
    """Stored programs contain them: new operations are added at the end."""
    names = (
        "CONST INPUT ADD SUB MUL DIV NEG SQRT SIN COS ATAN2 LESS SELECT EXP LOG LESS_EQUAL FLOOR"
    )
    names += " EXPM1 LOG1P EXP2 POW HYPOT FMOD COPYSIGN LOOP LOOP_RESULT LOOP_STACK"
    assert [op.name for op in Op][:27] == names.split()
    assert [int(op) for op in Op] == list(range(len(Op)))


@ALL
def test_floats_and_arrays_agree_with_mpmath(op, rng):
    at = points(op, rng)
    expected = [float(MPMATH[op](*map(mp.mpf, point))) for point in at]
    assert [FLOAT_FUNCTIONS[op](*point) for point in at.tolist()] == pytest.approx(expected)
    np.testing.assert_allclose(NUMPY_FUNCTIONS[op](*at.T), expected, rtol=1e-14)


@DIFFERENTIABLE
def test_partial_derivatives_agree_with_differences(op, rng):
    if op is Op.IMPLICIT:  # by definition: it has the derivative of its second argument
        (slopes,) = values(diff.jacobian(program_of_one(op), "a"), points(op, rng)[0])
        assert slopes.tolist() == [0.0, 1.0]
        return
    program = program_of_one(op)
    jacobian = diff.jacobian(program, "a")
    for point in points(op, rng):
        expected = mp_jacobian(program, [point], range(len(point)))[0]
        np.testing.assert_allclose(values(jacobian, point)[0], expected, rtol=1e-12, atol=1e-15)


@DIFFERENTIABLE
def test_values_and_derivatives_are_within_their_bounds(op, rng):
    """Arguments are at least 0.1 and at most 3 in magnitude."""
    row, at = OPERATIONS[op], points(op, rng, 200)
    results = np.abs(NUMPY_FUNCTIONS[op](*at.T))
    arguments = [Bound(3.0, 0.1)] * row.arity
    most = row.most(*arguments)
    assert results.max() <= most
    steepest = row.steepest(Bound(most, -math.inf), *arguments)
    jacobian = diff.jacobian(program_of_one(op), "a")
    partials = np.abs([values(jacobian, point)[0] for point in at]).max(axis=0)
    assert np.all(partials <= np.broadcast_to(steepest, row.arity) + 1e-12)


@DIFFERENTIABLE
def test_unknown_arguments_have_no_finite_bound(op):
    """Unless the result is bounded for all arguments."""
    unknown = [Bound(math.inf, -math.inf)] * OPERATIONS[op].arity
    assert OPERATIONS[op].most(*unknown) > 1e38 or OPERATIONS[op].is_comparison


@pytest.mark.parametrize("op", [op for op, row in OPERATIONS.items() if row.parity])
def test_parity(op, rng):
    at = points(op, rng)[:, 0]
    f = NUMPY_FUNCTIONS[op]
    np.testing.assert_array_equal(f(-at), OPERATIONS[op].parity * f(at))
