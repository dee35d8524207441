"""Every operation of programs in the bridges that replay programs with functions of a package."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.jax_robots import enable_x64

from linkwork.engine.symbolic.operations import NUMPY_FUNCTIONS, OPERATIONS, Op

pytestmark = [
    pytest.mark.peers,
    pytest.mark.parametrize("op", OPERATIONS, ids=lambda op: op.name),
]


def arguments(op, rng):
    """Arguments (arity, 20), and the results of NumPy; the condition of a select is 0 or not."""
    columns = rng.uniform(0.1, 3.0, (OPERATIONS[op].arity, 20))
    columns[0, :5] = columns[-1, :5]
    if op is Op.SELECT:
        columns[0] = columns[0] > 1.0
    return columns, NUMPY_FUNCTIONS[op](*columns)


def test_torch(op, rng):
    import torch

    from linkwork.bridges.torch.operators import _FUNCTIONS

    columns, expected = arguments(op, rng)
    results = _FUNCTIONS[op](*map(torch.as_tensor, columns))
    np.testing.assert_allclose(np.asarray(results), expected, rtol=1e-14)


def test_jax(op, rng):
    import jax

    from linkwork.bridges.jax.lowering import JAX_FUNCTIONS

    columns, expected = arguments(op, rng)
    with enable_x64(True):
        results = JAX_FUNCTIONS[op](*map(jax.numpy.asarray, columns))
        assert results.dtype == np.float64
    np.testing.assert_allclose(np.asarray(results), expected, rtol=1e-13)


def test_casadi(op, rng):
    import casadi as ca

    from linkwork.bridges.casadi.kernels import _functions

    columns, expected = arguments(op, rng)
    symbols = [ca.SX.sym(f"x{k}") for k in range(len(columns))]
    function = ca.Function("f", symbols, [_functions(ca)[op](*symbols)])
    results = [float(function(*point)) for point in columns.T]
    np.testing.assert_allclose(results, expected, rtol=1e-14)
