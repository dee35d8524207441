"""Jacobians that come from algorithms for derivatives, against those of differentiated programs."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.complex_steps import arguments_of, as_list
from tests.support.models import MOVING_KINDS, assert_close, random_model

import linkwork as lw


@pytest.fixture(scope="module")
def kd():
    rng = np.random.default_rng(5)
    return lw.KinDyn(random_model(rng, 6, MOVING_KINDS))


@pytest.mark.parametrize(
    "name", [name for name, one in lw.KinDyn.quantities.items() if one.derivatives]
)
def test_analytic_and_differentiated_jacobians_agree(kd, name, rng):
    function = kd.function((name, *["frame0" for _ in lw.KinDyn.quantities[name].frames]))
    arguments = arguments_of(function, kd, rng)
    inputs = [port.name for port in function.signature.inputs]
    analytic = as_list(function.jacobian()(*arguments))
    products = function.vjp()
    size = function.signature.outputs[0].size
    shape = function.signature.outputs[0].shape
    rows = [as_list(products(*arguments, e.reshape(shape))) for e in np.eye(size)]

    for k, (found, _) in enumerate(zip(analytic, inputs, strict=True)):
        assert_close(found, np.array([row[k] for row in rows]), 1e-11)


def test_they_take_fewer_operations():
    kd = lw.KinDyn(lw.robots.load("humanoid"))
    analytic = kd.inverse_dynamics.jacobian("q").program.n_ops

    assert analytic < kd.inverse_dynamics_derivatives.program.n_ops
    assert analytic < 12 * kd.inverse_dynamics.program.n_ops


def test_wrenches_and_gravity_given_are_differentiated_too(kd, rng):
    function = kd.function("inverse_dynamics", wrenches=["frame0"], gravity=True)
    arguments = arguments_of(function, kd, rng)
    by_q = function.jacobian("q")(*arguments)
    by_both = function.jacobian("q", "gravity")(*arguments)

    assert_close(by_q, by_both[0], 1e-11)
    assert by_both[1].shape == (kd.nv, 3)
