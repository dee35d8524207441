"""Derivatives that kinds of joints give of their own formulas.

Every kind in closed form against what is found from its other formulas when it gives none, and
those against complex steps; at steps of zero length too.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.model.test_kinds import axis_of, columns
from tests.support.kindyn import STEP
from tests.support.models import MOVING_KINDS, assert_close, random_theta

from linkwork.model.joints import KINDS
from linkwork.model.joints.derivatives import derivatives, left_inverse
from linkwork.model.joints.kind import JointKind

each_kind = pytest.mark.parametrize("kind", MOVING_KINDS)
N = 5


def array(rows):
    return np.array(rows, dtype=float)


def bias(kind, axis, theta, nu):
    rates = KINDS[kind].subspace_rate(axis, list(theta), list(nu))
    return columns(rates or [((0.0,) * 3,) * 2] * len(nu)) @ nu


@each_kind
def test_rates_of_positions_give_the_velocity_back(kind, rng):
    it = KINDS[kind]
    for _ in range(N):
        theta = list(random_theta(kind, rng))
        G, J = array(it.position_jacobian_inverse(theta)), array(it.position_jacobian(theta))
        assert_close(G, np.linalg.pinv(J), rtol=1e-14)
        assert_close(G, array(left_inverse(it.position_jacobian(theta))), rtol=1e-14)


@each_kind
def test_derivatives_of_steps_are_those_found_from_the_step(kind, rng):
    it = KINDS[kind]
    for size in (1.0, 1e-3, 1e-9, 0.0):
        theta, step = list(random_theta(kind, rng)), list(size * rng.uniform(-1, 1, size=it.nv))
        found = it.moved_derivatives(theta, step)
        for own, other in zip(found, JointKind.moved_derivatives(it, theta, step), strict=True):
            assert_close(array(own), array(other), rtol=1e-13)
        end = it.moved(theta, step)
        found = it.between_derivatives(theta, end)
        for own, other in zip(found, JointKind.between_derivatives(it, theta, end), strict=True):
            assert_close(array(own), array(other), rtol=1e-13)


@each_kind
def test_the_derivative_of_the_bias_is_that_of_complex_steps(kind, rng):
    it = KINDS[kind]
    for _ in range(N):
        axis, theta, nu = axis_of(kind, rng), random_theta(kind, rng), rng.normal(size=it.nv)
        moved = [theta + 1j * STEP * tangent for tangent in array(it.position_jacobian(theta)).T]
        expected = np.array([bias(kind, axis, there, nu).imag / STEP for there in moved]).T
        ways = [it.bias_jacobian, lambda *at, it=it: JointKind.bias_jacobian(it, *at)]
        for way in ways:
            found = way(axis, list(theta), list(nu))
            assert (found is None) == (kind != "universal")
            zero = np.zeros((6, it.nv))
            assert_close(zero if found is None else columns(found).real, expected, scale=1e-2)
        assert expected.any() == (kind == "universal")


@pytest.mark.parametrize("kind", ["planar", "spherical", "floating"])
def test_derivatives_have_derivatives_at_steps_of_zero_length(kind, rng):
    """Jr(x) = 1 - ad(x) / 2 and Ad(exp(-x)) = 1 - ad(x), up to second order."""
    it, theta = KINDS[kind], list(random_theta(kind, rng))

    def entries(step, which):
        return [x for row in it.moved_derivatives(theta, step)[which] for x in row]

    zero = [0.0] * it.nv
    shape = it.nv, it.nv, it.nv
    (by_theta,) = derivatives(lambda step: entries(step, 0), zero)
    (by_step,) = derivatives(lambda step: entries(step, 1), zero)
    for k, e in enumerate(np.eye(6)[list({"planar": (0, 1, 5)}.get(kind, range(6 - it.nv, 6)))]):
        ad = adjoint(e)
        inside = np.ix_(*(2 * [np.flatnonzero(in_subspace(kind))]))
        assert_close(array(by_theta).reshape(shape)[..., k], -ad[inside], 1e-15, scale=1.0)
        assert_close(array(by_step).reshape(shape)[..., k], -ad[inside] / 2, 1e-15, scale=1.0)


def in_subspace(kind):
    """Which of the six coordinates of a twist a kind moves along, its axis along z."""
    moving = {"planar": (0, 1, 5), "spherical": (3, 4, 5), "floating": range(6)}[kind]
    return [k in moving for k in range(6)]


def adjoint(twist):
    a, b, c, x, y, z = twist
    w, v = ([[0, -r, q], [r, 0, -p], [-q, p, 0]] for p, q, r in ((x, y, z), (a, b, c)))
    return np.block([[np.array(w), np.array(v)], [np.zeros((3, 3)), np.array(w)]])
