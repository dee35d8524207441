"""Derivatives of the CoM's velocity, of the centroidal momentum and of its rate."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.derivatives import Traced, velocity_kinematics_of
from tests.support.models import assert_close
from tests.support.skeletons import every_representation, floating_or_not, random_case

from linkwork.algorithms.centroidal_derivatives import (
    centroidal_momentum_derivatives,
    centroidal_momentum_rate_derivatives,
)
from linkwork.algorithms.com import com_velocity
from linkwork.algorithms.com_derivatives import com_velocity_derivatives
from linkwork.algorithms.momentum import centroidal_momentum, centroidal_momentum_rate

SEEDS = (1, 4, 7, 15, 19)  # with joints of every kind read backwards
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
