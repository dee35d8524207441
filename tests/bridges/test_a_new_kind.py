"""A joint kind defined in a test, in every bridge: values and derivatives agree with NumPy's."""

from __future__ import annotations

import casadi as ca
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from tests.support.jax_robots import enable_x64
from tests.support.kindyn import random_case
from tests.support.models import random_q
from tests.support.rolling_joint import Rolling

import linkwork as lw
import linkwork.casadi
import linkwork.jax
import linkwork.torch
from linkwork.model import joints as kinds

CLOSE = {"rtol": 1e-10, "atol": 1e-10}


@pytest.fixture(autouse=True)
def _register(monkeypatch):
    monkeypatch.setitem(kinds._ALL, "rolling", Rolling())


@pytest.fixture
def model():
    return random_case(17, n_links=5, kinds=("rolling", "universal", "fixed")).model


@pytest.fixture
def kd(model):
    return lw.KinDyn(model, floating=False)


@pytest.fixture
def states(kd, rng):
    """(5, ...) q, nu and nu_dot."""
    q = random_q(kd.layout, rng, (5,))
    return q, rng.normal(size=(5, kd.nv)), rng.normal(size=(5, kd.nv))


@pytest.fixture
def expected(kd, states):
    """Forces (5, nv), and the derivative (5, nq) of their sum with respect to q."""
    kernel = kd.function("inverse_dynamics")
    return kernel(*states), kernel.jacobian("q")(*states).sum(axis=1)


def test_the_derivative_is_that_of_the_forces(kd, states, expected):
    q, nu, nu_dot = (rows[0] for rows in states)
    step = 1e-6 * np.eye(kd.nq)
    derivatives = kd.inverse_dynamics(q + step, nu, nu_dot) - kd.inverse_dynamics(
        q - step, nu, nu_dot
    )
    np.testing.assert_allclose(derivatives.sum(axis=1) / 2e-6, expected[1][0], atol=1e-5)


@pytest.mark.parametrize("replay", [False, True])
def test_torch(model, states, expected, replay):
    kd = linkwork.torch.KinDyn(model, floating=False, replay=replay)
    q, nu, nu_dot = map(torch.from_numpy, states)
    q.requires_grad_()
    forces = kd.inverse_dynamics(q, nu, nu_dot)
    forces.sum().backward()
    np.testing.assert_allclose(forces.detach(), expected[0], **CLOSE)
    np.testing.assert_allclose(q.grad, expected[1], **CLOSE)


@pytest.mark.parametrize("backend", ["cpu", "xla"])
def test_jax(model, states, expected, backend):
    with enable_x64(True):
        kd = linkwork.jax.KinDyn(model, floating=False, backend=backend)
        q, nu, nu_dot = map(jnp.asarray, states)
        np.testing.assert_allclose(kd.inverse_dynamics(q, nu, nu_dot), expected[0], **CLOSE)
        gradient = jax.grad(lambda q: kd.inverse_dynamics(q, nu, nu_dot).sum())(q)
        np.testing.assert_allclose(gradient, expected[1], **CLOSE)


@pytest.mark.parametrize(("symbol", "compiled"), [(ca.SX, False), (ca.MX, False), (ca.MX, True)])
def test_casadi(model, states, expected, symbol, compiled):
    kd = linkwork.casadi.KinDyn(model, floating=False, compiled=compiled)
    q = symbol.sym("q", kd.nq)
    forces = kd.inverse_dynamics(q, states[1][0], states[2][0])
    function = ca.Function("f", [q], [forces, ca.gradient(ca.sum1(forces), q)])
    values, gradient = function(states[0][0])
    np.testing.assert_allclose(values.full()[:, 0], expected[0][0], **CLOSE)
    np.testing.assert_allclose(gradient.full()[:, 0], expected[1][0], **CLOSE)
