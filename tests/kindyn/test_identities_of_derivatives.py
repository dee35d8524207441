"""Laws of derivatives: along the motion of a robot, they add up to the rates of quantities."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.kindyn import random_case
from tests.support.models import assert_close

CASES = [(10, True, "mixed"), (15, False, "inertial"), (24, True, "body")]
in_some_states = pytest.mark.parametrize(("seed", "floating", "velocity"), CASES)


@pytest.fixture
def case(seed, floating, velocity):
    return random_case(seed, floating=floating, velocity=velocity)


@in_some_states
def test_derivatives_of_a_frame_along_the_motion_are_rates(case):
    kd, q, nu, nu_dot = case.kd, case.q, case.nu, case.nu_dot
    for frame in case.frames:
        A = kd.acceleration(frame, q, nu, nu_dot)
        found = kd.velocity_derivatives(frame, q, nu)
        assert_close(found.q @ nu + found.nu @ nu_dot, A, 1e-11, scale=1e2)
        jerk = case.derivative(lambda q, nu, f=frame: kd.acceleration(f, q, nu, nu_dot))
        found = kd.acceleration_derivatives(frame, q, nu, nu_dot)
        assert_close(found.q @ nu + found.nu @ nu_dot, jerk, 1e-11, scale=1e3)
        assert_close(found.nu_dot, kd.jacobian(frame, q), 1e-12)


@in_some_states
def test_derivatives_of_the_com_and_of_the_momentum_along_the_motion_are_rates(case):
    kd, at, nu_dot = case.kd, (case.q, case.nu), case.nu_dot
    found = kd.com_velocity_derivatives(*at)
    assert_close(found.q @ case.nu + found.nu @ nu_dot, kd.com_acceleration(*at, nu_dot), 1e-11)
    found = kd.centroidal_momentum_derivatives(*at)
    rate = kd.centroidal_momentum_rate(*at, nu_dot)
    assert_close(found.q @ case.nu + found.nu @ nu_dot, rate, 1e-11)
    second = case.derivative(lambda q, nu: kd.centroidal_momentum_rate(q, nu, nu_dot))
    found = kd.centroidal_momentum_rate_derivatives(*at, nu_dot)
    assert_close(found.q @ case.nu + found.nu @ nu_dot, second, 1e-11)


@in_some_states
def test_the_velocity_of_the_configuration_is_that_of_the_motion(case):
    kd = case.kd
    E, E_T = kd.velocity_kinematics(case.q), kd.velocity_kinematics_inverse(case.q)
    assert_close(E @ case.nu, case.q_dot, 1e-14)
    assert_close(E_T @ case.q_dot, case.nu, 1e-14)


@in_some_states
def test_steps_there_and_back_undo_each_other(case):
    kd, nu = case.kd, case.nu / 9
    end = kd.integrate(case.q, nu, 1.0)
    there, back = kd.integrate_derivatives(case.q, nu, 1.0), kd.difference_derivatives(case.q, end)
    nothing = back.q_start + back.q_end @ there.q
    assert_close(nothing, 0 * nothing, 1e-12, scale=1.0)
    assert_close(back.q_end @ there.nu, np.eye(len(nu)), 1e-12)
