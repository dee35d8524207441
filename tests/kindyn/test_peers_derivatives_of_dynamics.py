"""Derivatives of inverse dynamics of all real robots against Pinocchio, in the body representation.

There, tangents, velocities and forces of both are the same numbers in another order.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.kindyn import GRAVITY
from tests.support.models import assert_close
from tests.support.peers import AtPinocchio, Moving
from tests.support.real_robots import ROBOT_FILES, label
from tests.support.spatial import pin

from linkwork.algorithms.derivatives.gravity import gravity_force_derivative
from linkwork.algorithms.derivatives.inverse_dynamics import inverse_dynamics_derivatives
from linkwork.spatial.blocks import Vec

pytestmark = pytest.mark.peers


@pytest.mark.parametrize("path", ROBOT_FILES, ids=label)
def test_derivatives_of_inverse_dynamics_are_those_of_pinocchio(path):
    here = Moving(path, floating=True, velocity="body")
    there = AtPinocchio(path, here)
    model, data, T = there.model, there.data, there.T
    numbers = [list(x) for x in (here.q, here.nu, here.nu_dot)]
    options = {"gravity": Vec(*GRAVITY), "velocity": "body"}

    found = inverse_dynamics_derivatives(here.kd.problem.skeleton, *numbers, **options)
    at_rest = gravity_force_derivative(here.kd.problem.skeleton, numbers[0], **options)

    by_q, by_v, M = pin.computeRNEADerivatives(model, data, there.q, there.v, there.a)
    M = np.triu(M) + np.triu(M, 1).T
    g = pin.computeGeneralizedGravityDerivatives(model, data, there.q)
    for rows, expected in zip((*found, at_rest), (by_q, by_v, M, g), strict=True):
        assert_close(rows, T.T @ expected @ T, rtol=1e-11)
