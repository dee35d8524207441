"""Derivatives of the CoM's velocity, of the centroidal momentum and of its rate."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.derivatives import Traced, velocity_kinematics_of
from tests.support.kindyn import rotation_of, wedge
from tests.support.models import assert_close
from tests.support.peers import AtPinocchio, Moving
from tests.support.real_robots import ROBOT_FILES, label
from tests.support.skeletons import (
    every_representation,
    floating_or_not,
    random_case,
    skeleton_seen_by,
)
from tests.support.spatial import pin

import linkwork as lw
from linkwork.algorithms.centroidal.com import com_velocity
from linkwork.algorithms.centroidal.momentum import centroidal_momentum, centroidal_momentum_rate
from linkwork.algorithms.derivatives.centroidal import (
    centroidal_momentum_derivatives,
    centroidal_momentum_rate_derivatives,
    com_velocity_derivatives,
)

SEEDS = (7, 19)  # with joints of every kind read backwards
on_many_robots = pytest.mark.parametrize("seed", SEEDS)


def arrays(found):
    return [np.array(rows, dtype=float) for rows in found]


def assert_derivatives(case, function, derivatives, velocity, count):
    """Those of a function of q, nu, ... by each of them, against complex steps."""
    layout = case.layout
    at = (case.q, case.nu, case.nu_dot)[:count]
    traced = Traced(function, case.skeleton, *map(len, at), velocity=velocity)
    tangents = [velocity_kinematics_of(layout, case.q, velocity)] + [np.eye(layout.nv)] * 2
    expected = [traced.along(at, k, tangents[k]) for k in range(count)]
    found = arrays(derivatives(case.skeleton, *map(list, at), velocity=velocity))
    assert len(found) == count
    for own, other in zip(found, expected, strict=True):
        assert_close(own, other, 1e-12, scale=max(1.0, np.abs(expected).max()))


@on_many_robots
@floating_or_not
@every_representation
def test_the_velocity_of_the_com(seed, floating, velocity):
    case = random_case(seed, floating=floating)
    assert_derivatives(case, com_velocity, com_velocity_derivatives, velocity, 2)


@on_many_robots
@floating_or_not
@every_representation
def test_the_centroidal_momentum(seed, floating, velocity):
    case = random_case(seed, floating=floating)
    derivatives = centroidal_momentum_derivatives
    assert_derivatives(case, centroidal_momentum, derivatives, velocity, 2)


@on_many_robots
@floating_or_not
@every_representation
def test_the_rate_of_the_centroidal_momentum(seed, floating, velocity):
    case = random_case(seed, floating=floating)
    derivatives = centroidal_momentum_rate_derivatives
    assert_derivatives(case, centroidal_momentum_rate, derivatives, velocity, 3)


@pytest.mark.parametrize("path", ROBOT_FILES[::2], ids=label)
def test_pinocchio_gives_the_same(path):
    """Its derivatives are in the axes of the world, about the CoM, by its body tangent.

    In the body representation, numbers are R^T of these, and the base's axes rotate with the
    tangent: columns of the base's rotation are less e x h.
    """
    here = Moving(path, floating=True, velocity="body")
    there = AtPinocchio(path, here)
    kd, T = here.kd, there.T
    h_q, g_q, g_v, g_a = pin.computeCentroidalDynamicsDerivatives(
        there.model, there.data, there.q, there.v, there.a
    )
    h, g = there.data.hg.vector.copy(), there.data.dhg.vector.copy()
    R = np.kron(np.eye(2), rotation_of(here.q[3:7]).T)  # to the axes of the base
    h, g, h_q, g_q, g_v, A = (R @ x for x in (h, g, h_q, g_q, g_v, g_a))
    spin = slice(3, 6)
    h_q[:, spin] -= crossed(np.eye(3), h)
    g_q[:, spin] -= crossed(np.eye(3), g)
    # the numbers of the rate are those of g - w x h
    w = here.nu[spin]
    W = np.kron(np.eye(2), wedge(w))
    g_v = g_v - W @ A
    g_v[:, spin] -= crossed(np.eye(3), h)
    expected = [h_q, A, g_q - W @ h_q, g_v, A]
    at = [list(numbers) for numbers in (here.q, here.nu, here.nu_dot)]
    found = centroidal_momentum_derivatives(skeleton_seen_by(kd), *at[:2], velocity="body")
    found += centroidal_momentum_rate_derivatives(skeleton_seen_by(kd), *at, velocity="body")
    for own, other in zip(arrays(found), expected, strict=True):
        assert_close(own, other @ T, 1e-10, scale=max(1.0, np.abs(other).max()))
    rate = centroidal_momentum_rate(skeleton_seen_by(kd), *at, velocity="body")
    assert_close(rate, g - W @ h, 1e-10, scale=max(1.0, np.abs(g).max()))


def crossed(axes, h):
    """(6, n) axis x linear and axis x angular for each axis, as columns."""
    return np.concatenate([np.cross(axes, h[:3]), np.cross(axes, h[3:])], axis=1).T


def test_a_robot_without_mass_has_no_com():
    builder = lw.ModelBuilder("nothing")
    for name in ("one", "two"):
        builder.add_link(name)
    builder.add_joint("hinge", "revolute", "one", "two")
    kd = lw.KinDyn(builder.build())
    zero = [0.0] * kd.nv
    for function in (com_velocity_derivatives, centroidal_momentum_derivatives):
        with pytest.raises(lw.ModelError, match="no mass"):
            function(skeleton_seen_by(kd), list(kd.neutral()), zero, velocity="mixed")
