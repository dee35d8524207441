"""Methods of KinDyn that give derivatives of kinematic and centroidal quantities."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.kindyn import Interpreted, random_case
from tests.support.models import assert_close

import linkwork as lw
from linkwork.kindyn import results

OF_ONE = [  # quantity, its derivatives, and what they are by
    ("com_velocity", "com_velocity_derivatives", ("q", "nu")),
    ("centroidal_momentum", "centroidal_momentum_derivatives", ("q", "nu")),
    ("centroidal_momentum_rate", "centroidal_momentum_rate_derivatives", ("q", "nu", "nu_dot")),
    ("velocity", "velocity_derivatives", ("q", "nu")),
    ("acceleration", "acceleration_derivatives", ("q", "nu", "nu_dot")),
]


@pytest.fixture(scope="module")
def kd():
    return lw.KinDyn(lw.robots.load("quadruped"))


def state(kd, batch=()):
    rng = np.random.default_rng(2)
    return kd.random(batch, seed=1), *rng.normal(size=(2, *batch, kd.nv))


@pytest.mark.parametrize(("name", "derivatives", "by"), OF_ONE)
def test_derivatives_with_a_fixed_base_that_is_not_at_the_origin(name, derivatives, by):
    """All joints of the arm have one coordinate, so that both derivatives are the same."""
    pose = lw.Pose((0.3, -0.2, 0.5), (0.4, 0.5, -0.6))
    model = lw.robots.load("arm")
    for velocity in ("mixed", "body", "inertial"):
        kd = lw.KinDyn(model, floating=False, base_pose=pose, representation=velocity)
        at = state(kd)[: len(by)]
        frames = kd.model.frame_names[-1:] if name in ("velocity", "acceleration") else ()
        ambient = kd.function((name, *frames)).jacobian("q")(*at)
        found = getattr(kd, derivatives)(*frames, *at)
        assert_close(found.q, ambient, 1e-12, scale=np.abs(ambient).max())


@pytest.mark.parametrize(("name", "derivatives", "by"), OF_ONE)
def test_E_and_E_T_lead_between_tangent_and_ambient_derivatives(name, derivatives, by, kd):
    """Derivatives of the compiled function by the nq numbers of q are those of the normalised q."""
    at = state(kd)[: len(by)]
    frames = kd.model.frame_names[-1:] if name in ("velocity", "acceleration") else ()
    ambient = kd.function((name, *frames)).jacobian("q")(*at)
    found = getattr(kd, derivatives)(*frames, *at)
    E, E_T = kd.velocity_kinematics(at[0]), kd.velocity_kinematics_inverse(at[0])
    assert found._fields == by
    scale = np.abs(ambient).max()
    assert_close(found.q, ambient @ E, 1e-12, scale=scale)
    assert_close(found.q @ E_T, ambient, 1e-12, scale=scale)


def test_steps_have_derivatives_that_chain(kd):
    """difference(q, integrate(q, nu)) is nu: its derivatives by q are zero, by nu the identity."""
    q, nu, _ = state(kd)
    nu = nu / 3  # less than half a turn
    end = kd.integrate(q, nu)
    steps, back = kd.integrate_derivatives(q, nu), kd.difference_derivatives(q, end)
    assert type(steps) is results.IntegrateDerivatives
    assert type(back) is results.DifferenceDerivatives
    assert_close(back.q_end @ steps.nu, np.eye(kd.nv), rtol=1e-13)
    assert_close(back.q_start + back.q_end @ steps.q, np.zeros((kd.nv, kd.nv)), 1e-13, scale=1.0)


def test_the_time_of_a_step_may_be_a_number_or_one_for_each_row(kd):
    q, nu, _ = state(kd, (3,))
    times = np.array([0.1, 0.2, 0.3])
    found = kd.integrate_derivatives(q, nu, times)
    for row in range(3):
        one = kd.integrate_derivatives(q[row], nu[row], float(times[row]))
        scaled = kd.integrate_derivatives(q[row], nu[row] * times[row], threads=1)
        assert_close(found.q[row], one.q, rtol=1e-14)
        assert_close(one.q, scaled.q, rtol=1e-14)
        assert_close(one.nu, scaled.nu * times[row], rtol=1e-14)
    again = kd.integrate_derivatives(q, nu, times, out=found)
    assert again is found


def test_the_rate_of_the_centroidal_momentum_is_its_derivative():
    for velocity, floating in (("mixed", True), ("body", True), ("inertial", False)):
        case = random_case(5, velocity=velocity, floating=floating)
        kd = Interpreted(case.kd.kd)
        found = kd.centroidal_momentum_rate(case.q, case.nu, case.nu_dot)
        expected = case.derivative(kd.centroidal_momentum)
        assert_close(found, expected, rtol=1e-12)
        A = kd.centroidal_momentum_matrix(case.q)
        bias = kd.centroidal_momentum_bias(case.q, case.nu)
        assert_close(found, A @ case.nu_dot + bias, rtol=1e-12)


def test_one_function_gives_several_of_them(kd):
    at = state(kd, (4,))
    foot = kd.model.frame_names[-1]
    both = kd.function(("velocity_derivatives", foot), "centroidal_momentum_derivatives")
    found = both(at[0], at[1])
    assert len(found) == 4
    assert_close(found[0], kd.velocity_derivatives(foot, *at[:2]).q, rtol=1e-12)
    assert_close(found[3], kd.centroidal_momentum_matrix(at[0]), rtol=1e-12)
