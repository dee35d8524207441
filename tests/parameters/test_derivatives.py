"""Derivatives with respect to model parameters."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.complex_steps import evaluated, jacobian_by_steps, tangents_by_steps
from tests.support.models import assert_close
from tests.support.parameters import varied

import linkwork as lw
from linkwork import parameters as lp


def traced(case):
    """The robot of a case with programs."""
    return lw.KinDyn(case.kd.model, **case.kd.options)


def arguments(case, name):
    inputs = case.arguments(lw.KinDyn.quantities[name].inputs)
    return [argument[0] for argument in inputs] + [case.p[0]]


def test_jacobian_of_inverse_dynamics_by_inertial_parameters_is_the_regressor():
    model = lw.robots.load("arm")
    kd = lw.KinDyn(model, parameters=[lp.LinkInertia(name) for name in model.link_names])
    q = kd.random(seed=1)
    nu, nu_dot = np.random.default_rng(2).normal(size=(2, kd.nv))
    p = kd.parameter_values()
    np.testing.assert_array_equal(p, kd.inertial_parameters())
    by = kd.function("inverse_dynamics").jacobian("parameters")
    (result,) = evaluated(by, [q, nu, nu_dot, p])
    (Y,) = evaluated(kd.function("regressor"), [q, nu, nu_dot, p])
    assert_close(result, Y, 1e-13)
    (tau,) = evaluated(kd.function("inverse_dynamics"), [q, nu, nu_dot, p])
    assert_close(Y @ p, tau, 1e-12)


@pytest.mark.parametrize("name", ["mass_matrix", "forward_dynamics", "com", "gravity_force"])
def test_jacobians_agree_with_complex_steps(name):
    case = varied(1, floating=False)
    kernel = traced(case).function(name)
    inputs = arguments(case, name)
    (expected,) = jacobian_by_steps(kernel, inputs, "parameters")
    (result,) = evaluated(kernel.jacobian("parameters"), inputs)
    assert_close(result, expected, 1e-10)


@pytest.mark.parametrize("name", ["inverse_dynamics", "centroidal_momentum"])
def test_jvp_and_vjp_agree_with_the_jacobian(name, rng):
    case = varied(0)
    kernel = traced(case).function(name)
    inputs = arguments(case, name)
    tangents = [rng.normal(size=np.shape(x)) for x in inputs]
    cotangent = rng.normal(size=kernel.signature.outputs[0].shape)
    (expected,) = tangents_by_steps(kernel, inputs, tangents)
    (result,) = evaluated(kernel.jvp(), [*inputs, *tangents])
    assert_close(result, expected, 1e-10)
    back = evaluated(kernel.vjp(), [*inputs, cotangent])
    paired = sum((one * d).sum() for one, d in zip(back, tangents, strict=True))
    assert_close(paired, (cotangent * expected).sum(), 1e-10)


def test_derivative_with_respect_to_q_uses_the_parameters():
    case = varied(2)
    kernel = traced(case).function("inverse_dynamics")
    inputs = arguments(case, "inverse_dynamics")
    (result,) = evaluated(kernel.jacobian("q"), inputs)
    (expected,) = jacobian_by_steps(kernel, inputs, "q")
    assert_close(result, expected, 1e-9)


def test_second_derivatives_with_respect_to_a_parameter(rng):
    kd = lw.KinDyn(
        lw.robots.load("double_pendulum"), floating=False, parameters=[lp.Payload("tip")]
    )
    kernel = kd.function("kinetic_energy")
    inputs = [kd.random(seed=3), rng.normal(size=kd.nv), rng.uniform(0.5, 1.0, 10)]
    hessian = kernel.hessian("nu", "parameters")
    result = evaluated(hessian, inputs)
    gradient = kernel.gradient("nu")
    (expected,) = jacobian_by_steps(gradient, inputs, "parameters")
    assert_close(result[1], expected, 1e-12)  # nu by parameters
    assert_close(result[3], np.zeros((10, 10)), scale=1.0)  # linear in the inertial parameters
