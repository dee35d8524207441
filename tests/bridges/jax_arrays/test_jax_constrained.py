"""`ConstrainedKinDyn` in JAX: values and derivatives, with redundant contacts."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from tests.support.constrained import arguments, stance_of
from tests.support.linkages import four_bar

import linkwork as lw
import linkwork.jax
from linkwork.bridges.methods import CONSTRAINED_METHODS


@pytest.fixture(scope="module")
def stance():
    return stance_of(linkwork.jax.KinDyn)


@pytest.mark.parametrize("name", CONSTRAINED_METHODS)
def test_every_method_has_the_same_bits_as_in_numpy(stance, name):
    values = arguments(stance, [one.name for one in CONSTRAINED_METHODS[name].inputs], (3,))
    expected = jax.tree.leaves(getattr(stance.numpy, name)(*values))
    result = jax.tree.leaves(jax.jit(getattr(stance, name))(*values))
    for actual, array in zip(result, expected, strict=True):
        np.testing.assert_array_equal(actual, array)


def test_derivatives_are_right_although_constraints_are_redundant(stance):
    q, nu, tau = arguments(stance, ("q", "nu", "tau"))
    exact = stance.numpy.forward_dynamics_derivatives(q, nu, tau)
    E = stance.numpy.kindyn.velocity_kinematics(q)
    jacobian = jax.jit(jax.jacrev(lambda q: stance.forward_dynamics(q, nu, tau).nu_dot))(q)
    np.testing.assert_allclose(jacobian @ E, exact.q, atol=1e-6 * np.abs(exact.q).max())
    torques = np.stack([tau, 2 * tau])
    mapped = jax.vmap(lambda tau: stance.step(q, nu, tau, 1e-3))(torques)
    np.testing.assert_array_equal(mapped.nu, stance.numpy.step(q, nu, torques, 1e-3).nu)
    assert stance.forces_of("toe", q, stance.forward_dynamics(q, nu, tau).forces).shape == (6,)


def test_rollouts_have_gradients():
    loop = linkwork.jax.KinDyn(four_bar(), floating=False).constrained()
    q, nu = loop.numpy.kindyn.random(seed=0), np.zeros(3)
    rollout, dt = lw.Rollout(loop.numpy.step), {"dt": 0.01}
    simulate = linkwork.jax.wrap(rollout)

    def angle(tau):
        return simulate((q, nu), tau, params=dt, final=True)[0][0]

    gradient = jax.grad(angle)(np.zeros((5, 3)))
    seed = np.eye(3)[0], np.zeros(3)
    expected = rollout.vjp((q, nu), np.zeros((5, 3)), final=seed, params=dt)
    np.testing.assert_allclose(gradient, expected.controls, atol=1e-12)
