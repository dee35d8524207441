"""Derivatives by the numbers of a robot."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.complex_steps import evaluated, jacobian_by_steps, tangents_by_steps
from tests.support.models import assert_close
from tests.support.parameters import varied

import linkwork as lw
from linkwork import parameters as lp
from linkwork.kindyn.quantities import QUANTITIES


def traced(case):
    """The robot of a case with programs."""
    return lw.KinDyn(case.kd.model, **case.kd.options)


def arguments(case, name):
    given = case.arguments(QUANTITIES[name].inputs)
    return [argument[0] for argument in given] + [case.p[0]]


def test_inverse_dynamics_by_inertial_parameters_is_the_regressor():
    model = lw.robots.load("arm")
    kd = lw.KinDyn(model, parameters=[lp.LinkInertia(name) for name in model.link_names])
    q = kd.random(seed=1)
    nu, nu_dot = np.random.default_rng(2).normal(size=(2, kd.nv))
    p = kd.parameter_values()
    np.testing.assert_array_equal(p, kd.inertial_parameters())
    by = kd.function("inverse_dynamics").jacobian("parameters")
    (found,) = evaluated(by, [q, nu, nu_dot, p])
    (Y,) = evaluated(kd.function("regressor"), [q, nu, nu_dot, p])
    assert_close(found, Y, 1e-13)
    (tau,) = evaluated(kd.function("inverse_dynamics"), [q, nu, nu_dot, p])
    assert_close(Y @ p, tau, 1e-12)


@pytest.mark.parametrize("name", ["mass_matrix", "forward_dynamics", "com", "gravity_force"])
def test_jacobians_by_parameters_are_those_of_complex_steps(name):
    case = varied(1, floating=False)
    kernel = traced(case).function(name)
    given = arguments(case, name)
    (expected,) = jacobian_by_steps(kernel, given, "parameters")
    (found,) = evaluated(kernel.jacobian("parameters"), given)
    assert_close(found, expected, 1e-10)


@pytest.mark.parametrize("name", ["inverse_dynamics", "centroidal_momentum"])
def test_products_with_tangents_and_cotangents(name, rng):
    case = varied(0)
    kernel = traced(case).function(name)
    given = arguments(case, name)
    tangents = [rng.normal(size=np.shape(x)) for x in given]
    cotangent = rng.normal(size=kernel.signature.outputs[0].shape)
    (expected,) = tangents_by_steps(kernel, given, tangents)
    (found,) = evaluated(kernel.jvp(), [*given, *tangents])
    assert_close(found, expected, 1e-10)
    back = evaluated(kernel.vjp(), [*given, cotangent])
    paired = sum((one * d).sum() for one, d in zip(back, tangents, strict=True))
    assert_close(paired, (cotangent * expected).sum(), 1e-10)


def test_the_derivative_by_q_is_the_analytic_one_at_the_parameters():
    case = varied(2)
    kernel = traced(case).function("inverse_dynamics")
    given = arguments(case, "inverse_dynamics")
    (found,) = evaluated(kernel.jacobian("q"), given)
    (expected,) = jacobian_by_steps(kernel, given, "q")
    assert_close(found, expected, 1e-9)


def test_second_derivatives_of_a_number(rng):
    kd = lw.KinDyn(
        lw.robots.load("double_pendulum"), floating=False, parameters=[lp.Payload("tip")]
    )
    kernel = kd.function("kinetic_energy")
    given = [kd.random(seed=3), rng.normal(size=kd.nv), rng.uniform(0.5, 1.0, 10)]
    hessian = kernel.hessian("nu", "parameters")
    found = evaluated(hessian, given)
    gradient = kernel.gradient("nu")
    (expected,) = jacobian_by_steps(gradient, given, "parameters")
    assert_close(found[1], expected, 1e-12)  # nu by parameters
    assert_close(found[3], np.zeros((10, 10)), scale=1.0)  # linear in the inertial parameters
