"""Model parameters as inputs, in every framework: values agree with NumPy's, with gradients."""

from __future__ import annotations

import casadi as ca
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax.test_util import check_grads
from tests.support.jax_robots import enable_x64

import linkwork as lw
import linkwork.casadi
import linkwork.jax
import linkwork.torch

PARAMETERS = [lw.parameters.Payload("tip"), lw.parameters.Gravity()]
OPTIONS = {"floating": False, "parameters": PARAMETERS}


@pytest.fixture(scope="module")
def robot():
    return lw.KinDyn(lw.robots.load("double_pendulum"), **OPTIONS)


@pytest.fixture(scope="module")
def arguments(robot):
    """q, nu, nu_dot, and parameters that are not those of the model."""
    rng = np.random.default_rng(0)
    load = lw.solid_box(1.5, (0.1, 0.2, 0.3), com=(0.01, 0.0, 0.1)).parameters()
    p = robot.parameter_values({"payload.tip": load, "gravity": [0.1, -0.2, -5.0]})
    return (*rng.normal(size=(3, robot.nv)), p)


@pytest.fixture(scope="module")
def gradient_of_sum(robot, arguments):
    """Derivatives of the sum of the forces with respect to the parameters."""
    kernel = robot.function("inverse_dynamics")
    return kernel.jacobian("parameters")(*arguments).sum(axis=0)


def test_torch(robot, arguments, gradient_of_sum):
    kd = linkwork.torch.KinDyn(robot.model, **OPTIONS)
    *state, p = map(torch.from_numpy, arguments)
    p = p.clone().requires_grad_()
    forces = kd.inverse_dynamics(*state, parameters=p)
    forces.sum().backward()
    np.testing.assert_array_equal(
        forces.detach(), robot.inverse_dynamics(*arguments[:3], parameters=arguments[3])
    )
    np.testing.assert_allclose(p.grad, gradient_of_sum, atol=1e-12)
    np.testing.assert_array_equal(
        kd.inverse_dynamics(*state), robot.inverse_dynamics(*arguments[:3])
    )


def test_jax(robot, arguments, gradient_of_sum):
    with enable_x64(True):
        kd = linkwork.jax.KinDyn(robot.model, **OPTIONS)
        *state, p = map(jnp.asarray, arguments)

        @jax.jit
        def total(p):
            return kd.inverse_dynamics(*state, parameters=p).sum()

        expected = robot.inverse_dynamics(*arguments[:3], parameters=arguments[3])
        np.testing.assert_allclose(total(p), expected.sum(), rtol=1e-14)
        np.testing.assert_allclose(jax.grad(total)(p), gradient_of_sum, atol=1e-12)
        default = kd.inverse_dynamics(*state)
        np.testing.assert_allclose(default, robot.inverse_dynamics(*arguments[:3]), rtol=1e-14)


@pytest.mark.parametrize("compiled", [False, True])
def test_casadi(robot, arguments, gradient_of_sum, compiled):
    kd = linkwork.casadi.KinDyn(robot.model, compiled=compiled, **OPTIONS)
    *state, p = arguments
    expected = robot.inverse_dynamics(*state, parameters=p)
    result = kd.inverse_dynamics(*state, parameters=p).full()[:, 0]
    np.testing.assert_allclose(result, expected, rtol=1e-12)
    symbol = ca.MX.sym("p", len(p))
    total = ca.sum1(kd.inverse_dynamics(*state, parameters=symbol))
    gradient = ca.Function("gradient", [symbol], [ca.gradient(total, symbol)])
    np.testing.assert_allclose(gradient(p).full()[:, 0], gradient_of_sum, atol=1e-12)
    default = kd.inverse_dynamics(*state).full()[:, 0]
    np.testing.assert_allclose(default, robot.inverse_dynamics(*state), rtol=1e-12)


@pytest.fixture(scope="module")
def designed():
    """A payload with its mount, a frame, a joint and gravity as inputs; the base floats."""
    model = lw.robots.load("pendulum").with_frame("tool", "rod")
    values = [
        lw.parameters.Payload("tool", mount=True),
        lw.parameters.JointPose(model.joint_names[0]),
        lw.parameters.Gravity(),
    ]
    return lw.KinDyn(model, parameters=values)


REQUESTS = ("inverse_dynamics", ("transform", "tool"))


@pytest.fixture(scope="module")
def point(designed):
    """q, nu, nu_dot and parameters; poses have quaternions of norm 1."""
    rng = np.random.default_rng(3)
    load = lw.solid_box(1.5, (0.1, 0.2, 0.3), com=(0.01, 0.0, 0.1)).parameters()
    pose = [0.1, -0.2, 0.3, 0.8, 0.0, -0.6, 0.0]
    changed = {"payload.tool": load, "mount.tool": pose}
    p = designed.parameter_values(changed)
    return [designed.random(seed=1), *rng.normal(size=(2, designed.nv)), p]


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # raised by PyTorch
def test_second_derivatives_with_respect_to_parameters_in_torch(designed, point):
    function = linkwork.torch.wrap(designed.function(*REQUESTS))
    tensors = [torch.from_numpy(array).requires_grad_() for array in point]
    assert torch.autograd.gradcheck(function, tensors, fast_mode=True, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, tensors, fast_mode=True)


def test_second_derivatives_with_respect_to_parameters_in_jax(designed, point):
    with enable_x64(True):
        function = linkwork.jax.wrap(designed.function(*REQUESTS))

        @jax.jit
        def flat(*arguments):
            return jnp.concatenate([jnp.ravel(part) for part in function(*arguments)])

        check_grads(flat, [jnp.asarray(array) for array in point], order=2, eps=3e-5, rtol=1e-5)
