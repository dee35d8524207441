"""The base in each representation: its velocity, acceleration and wrench from their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.kindyn import base_X
from tests.support.models import assert_close, random_wxyz

from linkwork.mechanics.base import REPRESENTATIONS, Base
from linkwork.spatial.blocks import Force, Motion, Vec, as_mat, as_vec
from linkwork.spatial.source import quat, so3

STEP = 1e-100
GRAVITY = Vec(0.3, -0.7, -9.8)
every_representation = pytest.mark.parametrize("velocity", REPRESENTATIONS)


def random_base(rng, velocity, *, floating=True):
    """A base in a random pose, and its coordinates in q."""
    o, wxyz = rng.normal(size=3), random_wxyz(rng)
    R = as_mat(quat.to_rotation(wxyz).tolist())
    return Base(R, as_vec(o.tolist()), velocity, floating), np.concatenate([o, wxyz])


def velocity_in_world(R, o, nu, velocity):
    """Velocity of the origin and angular velocity in the axes of the world."""
    v, w = nu[:3], nu[3:]
    if velocity == "body":
        return R @ v, R @ w
    return (v + np.cross(w, o), w) if velocity == "inertial" else (v, w)


def acceleration_in_base(base, nu, nu_dot):
    """The derivative of `velocity_in_world` along the motion, in the axes of the base."""
    R, o = np.array(base.R), np.array(base.o)
    v, w = velocity_in_world(R, o, nu, base.velocity)
    moved_R, moved_o = R + 1j * STEP * so3.wedge(w) @ R, o + 1j * STEP * v
    moved = velocity_in_world(moved_R, moved_o, nu + 1j * STEP * nu_dot, base.velocity)
    return np.concatenate([R.T @ part.imag / STEP for part in moved])


@every_representation
def test_the_twist_is_linear_in_nu(velocity, rng):
    base, q = random_base(rng, velocity)
    nu, X = rng.normal(size=6), base_X(q, velocity)

    assert_close(base.twist(nu.tolist()).entries, X @ nu, rtol=1e-14)
    assert_close([column.entries for column in base.columns], X.T, rtol=1e-14)
    assert_close(base.twist(None).entries, np.zeros(6))


@every_representation
def test_the_frame_of_the_velocity_is_the_one_in_which_nu_is_the_twist(velocity, rng):
    base, _ = random_base(rng, velocity)
    nu = rng.normal(size=6)
    R, o = base.expressed_at

    there = (R @ base.twist(nu.tolist())).shifted(o)

    assert_close(there.entries, nu, rtol=1e-14)


@every_representation
def test_the_acceleration_is_the_derivative_of_the_velocity_less_gravity(velocity, rng):
    base, _ = random_base(rng, velocity)
    nu, nu_dot = rng.normal(size=(2, 6))
    weight = np.concatenate([np.array(base.R.T @ GRAVITY), np.zeros(3)])

    moving = base.acceleration(nu.tolist(), nu_dot.tolist(), GRAVITY)
    starting = base.acceleration(None, nu_dot.tolist(), GRAVITY)
    steady = base.acceleration(nu.tolist(), None, GRAVITY)

    zero = np.zeros(6)
    assert_close(moving.entries, acceleration_in_base(base, nu, nu_dot) - weight, rtol=1e-14)
    assert_close(starting.entries, acceleration_in_base(base, zero, nu_dot) - weight, rtol=1e-14)
    assert_close(steady.entries, acceleration_in_base(base, nu, zero) - weight, rtol=1e-14)


@every_representation
def test_the_derivative_of_nu_is_recovered_from_the_acceleration(velocity, rng):
    base, _ = random_base(rng, velocity)
    nu, nu_dot = rng.normal(size=(2, 6))

    for start in (nu, np.zeros(6)):
        acceleration = Motion.of(acceleration_in_base(base, start, nu_dot).tolist())
        values = start.tolist() if start.any() else None
        assert_close(base.derivative(values, acceleration).entries, nu_dot, rtol=1e-13)


@every_representation
def test_wrenches_have_the_power_of_forces_along_nu(velocity, rng):
    base, _ = random_base(rng, velocity)
    nu, entries = rng.normal(size=(2, 6))
    wrench = Force.of(entries.tolist())

    tau = base.wrench_out(wrench)

    assert_close(np.dot(tau.entries, nu), wrench.dot(base.twist(nu.tolist())), rtol=1e-13)
    assert_close(base.wrench_in(tau.entries).entries, entries, rtol=1e-14)


@every_representation
def test_a_fixed_base_only_resists_gravity(velocity, rng):
    base, _ = random_base(rng, velocity, floating=False)
    nu, nu_dot = rng.normal(size=(2, 6)).tolist()  # of the joints

    assert base.columns == []
    assert_close(base.twist(nu).entries, np.zeros(6))
    expected = np.concatenate([-np.array(base.R).T @ np.array(GRAVITY), np.zeros(3)])
    assert_close(base.acceleration(nu, nu_dot, GRAVITY).entries, expected, rtol=1e-15)
