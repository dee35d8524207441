"""Derivatives of functions of JAX arrays: forward, reverse, and both orders of both."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from tests.support.jax_robots import arguments, flattened, kindyn
from tests.support.jax_robots import request as request_of
from tests.support.kernels import BODY, hinge, joint_kinds

import linkwork as lw
import linkwork.jax

GROUPS = sorted(
    {tuple(one.name for one in quantity.inputs) for quantity in lw.KinDyn.quantities.values()}
)


def of_group(inputs):
    rows = lw.KinDyn.quantities.items()
    return [name for name, row in rows if tuple(one.name for one in row.inputs) == inputs]


@pytest.fixture(scope="module")
def kd():
    """A floating base and one joint."""
    return linkwork.jax.KinDyn(lw.robots.load("pendulum"), floating=True)


@pytest.fixture(scope="module")
def all_joints():
    """A floating base, and joints of three kinds."""
    return linkwork.jax.KinDyn(joint_kinds())


@pytest.fixture(scope="module")
def cos_sin():
    """A floating base, and a joint with (cos, sin) in q."""
    (joint,) = hinge(BODY).joints
    return linkwork.jax.KinDyn(
        replace(hinge(BODY), joints=(replace(joint, kind="revolute_cos_sin"),))
    )


@pytest.mark.parametrize(("robot", "order"), [("all_joints", 1), ("cos_sin", 2)])
@pytest.mark.parametrize("inputs", GROUPS, ids=", ".join)
def test_derivatives_of_every_function_agree_with_differences(robot, order, inputs, request):
    """All functions of the same inputs are in one program: compiling each separately is slow."""
    kd = request.getfixturevalue(robot)
    names = [name for name in of_group(inputs) if name != "normalize"]
    together = kd.function(*(request_of(kd, name) for name in names))
    values = arguments(kd, inputs)
    check_grads(flattened(together), values, order=order, atol=1e-5, rtol=1e-5, eps=3e-5)


def test_derivatives_of_normalize_agree_with_differences(all_joints):
    q = 3 * all_joints.random(seed=1)
    check_grads(jax.jit(all_joints.normalize), [q], order=2, atol=1e-5, rtol=1e-5)


def test_jacobians_agree_with_those_of_the_kernel(kd):
    inputs = arguments(kd, ("q", "nu", "tau"), (3,))
    by_q, by_nu, by_tau = kd.numpy.forward_dynamics.jacobian()(*inputs)
    for way in (jax.jacfwd, jax.jacrev):
        result = jax.vmap(way(kd.forward_dynamics, argnums=(0, 1, 2)))(*inputs)
        for one, other in zip(result, (by_q, by_nu, by_tau), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10 * np.abs(other).max())


def test_a_hessian_is_symmetric_also_for_drifted_quaternions():
    kd = kindyn()
    q, nu = arguments(kd, ("q", "nu"))
    q[3:7] *= 1.0004

    def energy(q, nu):
        return kd.kinetic_energy(q, nu) + kd.potential_energy(q)

    hessian = jax.jit(jax.hessian(energy))(q, nu)
    assert hessian.shape == (kd.nq, kd.nq)
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-12 * np.abs(hessian).max())
    derivatives = [
        (jax.grad(energy)(q + step, nu) - jax.grad(energy)(q - step, nu)) / 2e-6
        for step in 1e-6 * np.eye(kd.nq)
    ]
    np.testing.assert_allclose(hessian, derivatives, atol=1e-7 * np.abs(hessian).max())


def test_the_gradient_of_a_quaternion_is_that_of_the_normalized_one(kd):
    q = kd.random(seed=2)
    longer = q.at[3:7].mul(1.0005)
    np.testing.assert_allclose(
        jax.grad(kd.potential_energy)(longer)[3:7],
        jax.grad(kd.potential_energy)(q)[3:7] / 1.0005,
        rtol=1e-12,
    )


def test_a_hessian_where_the_cotangents_are_zero(kd):
    """At the minimum of |r|^2 the Hessian is 2 J^T J, and each cotangent 2 r is exactly zero."""
    q = kd.random(seed=3)
    residual = jax.jit(lambda q: kd.transform(kd.model.frame_names[-1], q))
    target = residual(q)
    hessian = jax.hessian(lambda q: jnp.sum((residual(q) - target) ** 2))(q)
    J = jax.jacrev(residual)(q).reshape(16, -1)
    np.testing.assert_allclose(hessian, 2 * J.T @ J, atol=1e-12)
    steps = jax.hessian(lambda b: jnp.sum(kd.difference(q, b) ** 2))(q)
    D = jax.jacfwd(lambda b: kd.difference(q, b))(q)
    np.testing.assert_allclose(steps, 2 * D.T @ D, atol=1e-12)


def test_the_gradient_of_a_shared_row_is_summed_over_the_batch(kd):
    q, nu, tau = arguments(kd, ("q", "nu", "tau"), (5,))

    def total(nu, q):
        return jnp.sum(kd.forward_dynamics(q, nu, tau))

    of_each = jax.grad(total)(jnp.broadcast_to(nu[0], nu.shape), q)
    np.testing.assert_allclose(jax.grad(total)(nu[0], q), of_each.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(jax.grad(total)(nu[:1], q)[0], of_each.sum(axis=0), rtol=1e-12)


def test_only_requested_inputs_are_differentiated(kd):
    q, nu, tau = arguments(kd, ("q", "nu", "tau"))
    fresh = kd.replace(gravity=(0.0, 0.0, -3.0))
    jax.grad(lambda tau: jnp.sum(fresh.forward_dynamics(q, nu, tau)))(tau)
    kernel = fresh.numpy.forward_dynamics
    assert {names for _, names in kernel._derivatives} == {("tau",)}


def test_gradients_with_respect_to_gravity_and_wrenches(kd):
    q, nu, tau = arguments(kd, ("q", "nu", "tau"))
    gravity, wrench = np.array([0.1, 0.2, -9.0]), np.arange(6.0)

    def accelerations(gravity, wrench):
        return kd.forward_dynamics(q, nu, tau, gravity=gravity, wrenches={"rod": wrench})

    inputs = {"gravity": gravity, "wrenches": {"rod": wrench}}
    expected = kd.numpy.forward_dynamics(q, nu, tau, **inputs)
    np.testing.assert_array_equal(accelerations(gravity, wrench), expected)
    check_grads(accelerations, (gravity, wrench), order=1, atol=1e-5, rtol=1e-5)


def test_a_derivative_is_a_kernel_and_can_be_wrapped(kd):
    (q,) = arguments(kd, ("q",))
    jacobian = linkwork.jax.wrap(kd.numpy.function("com").jacobian("q"))
    np.testing.assert_allclose(jacobian(q), jax.jacfwd(kd.com)(q), rtol=1e-12, atol=1e-14)
    check_grads(jacobian, (q,), order=1, atol=1e-5, rtol=1e-5)


def test_linear_functions_have_a_transpose_and_others_raise(kd):
    (q,) = arguments(kd, ("q",))
    tangent = jnp.asarray(np.random.default_rng(0).normal(size=q.shape))
    _, pushed = jax.linearize(kd.com, q)
    pulled = jax.linear_transpose(pushed, tangent)
    ct = jnp.asarray([1.0, 2.0, 3.0])
    np.testing.assert_allclose(pulled(ct)[0] @ tangent, ct @ pushed(tangent), rtol=1e-12)
    back = jax.linear_transpose(lambda ct: jax.vjp(kd.com, q)[1](ct)[0], ct)
    np.testing.assert_allclose(back(tangent)[0], pushed(tangent), rtol=1e-12)
    with pytest.raises(lw.ArgumentError, match=r"com.*linear in q"):
        jax.linear_transpose(kd.com, jnp.asarray(q))(ct)
