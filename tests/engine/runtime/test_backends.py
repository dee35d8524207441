"""Backends: selection with `LINKWORK_BACKEND`."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.kernels import floater, motion

import linkwork as lw
from linkwork import errors


@pytest.fixture
def numpy_backend(monkeypatch):
    monkeypatch.setenv("LINKWORK_BACKEND", "numpy")
    monkeypatch.setenv("LINKWORK_CACHE", "off")


@pytest.mark.usefixtures("numpy_backend")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [(), 3, 2500])
def test_numpy_computes_the_quantities_of_a_robot(monkeypatch, n, dtype):
    kd = floater(dtype=dtype)
    q, nu, tau = motion(kd, n)
    actual = kd.forward_dynamics(q, nu, tau), kd.mass_matrix(q)
    assert kd.mass_matrix.status == "NumPy: LINKWORK_BACKEND=numpy"
    kd.warmup("forward_dynamics")
    fast = kd.forward_dynamics(q, nu, tau)
    monkeypatch.delenv("LINKWORK_BACKEND")
    kd = floater(dtype=dtype)
    tolerance = 1e-11 if dtype == np.float64 else 1e-3
    expected = kd.forward_dynamics(q, nu, tau), kd.mass_matrix(q)
    for one, other in zip((*actual, fast), (*expected, expected[0]), strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.usefixtures("numpy_backend")
def test_numpy_computes_loops():
    """Nested loops with more iterations than could be unrolled."""

    @lw.compile(x=(3,))
    def function(x):
        def step(state):
            y = lw.repeat(3, lambda y: 0.5 * y + np.sin(x), state[0])
            return y, state[1] + 0.01 * y

        return lw.repeat(1000, step, (x, np.zeros(3)))

    x = np.random.default_rng(0).normal(size=(5, 3))
    y, total = function(x)
    expected = np.sin(x) * 2.0  # where each inner loop converges to
    np.testing.assert_allclose(y, expected, rtol=1e-12)
    np.testing.assert_allclose(total, 10.0 * expected, rtol=1e-2)


def test_an_unknown_backend_is_named_and_the_default_used(monkeypatch):
    monkeypatch.setenv("LINKWORK_BACKEND", "lvm")
    monkeypatch.setattr(errors, "_warned_topics", set())
    kd = floater()
    with pytest.warns(lw.LinkworkWarning, match="'llvm'"):
        kd.warmup("com")
    assert kd.com.status == "fast"
