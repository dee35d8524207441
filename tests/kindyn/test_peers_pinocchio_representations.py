"""Further quantities of real robots against Pinocchio, in every representation.

iDynTree is asked for all it offers in `tests/compat`, under its own names.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.support.kindyn import Interpreted, base_X, rotation_of, wedge
from tests.support.models import assert_close
from tests.support.peers import AtPinocchio, Moving, robot
from tests.support.spatial import pin

from linkwork.mechanics.base import REPRESENTATIONS

LARGE = ["iCubGenova04/model", "iCubGazeboV2_5/model"]
ROBOTS = [
    *LARGE,
    "talos_data/talos_reduced",
    "anymal_b_simple_description/anymal",
    "panda_description/panda",
    "g1_description/g1_29dof_rev_1_0",
    "allegro_hand_description/allegro_right_hand",
    "hector_description/quadrotor_base",
]
FLOATING = [(name, True, velocity) for name in ROBOTS for velocity in REPRESENTATIONS]
FIXED = [(name, False, "mixed") for name in ROBOTS if name != "hector_description/quadrotor_base"]
# of the large ones, each in some states
SOME = [state for state in FLOATING + FIXED if state[0] not in LARGE]
SOME += [(LARGE[0], True, "mixed"), (LARGE[1], True, "inertial")]
MORE = [*SOME, (LARGE[0], False, "mixed"), (LARGE[1], True, "body")]
# xx, xy, yy, xz, yz, zz at Pinocchio; xx, xy, xz, yy, yz, zz here
THEIR_ORDER = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]


def of(states):
    return pytest.mark.parametrize(("name", "floating", "velocity"), states)


@pytest.fixture
def both(name, floating, velocity):
    return in_both(name, floating, velocity)


@cache
def in_both(name, floating, velocity):
    here = Moving(robot(name), floating=floating, velocity=velocity)
    there = AtPinocchio(robot(name), here)
    return Interpreted(here.kd), here, there


@pytest.mark.peers
@of(MORE)
def test_coriolis_matrix_and_rate_of_mass_matrix(both):
    """Theirs belongs to velocities in the body: C = T^T (C T + M T_dot)."""
    kd, here, there = both
    T, rates = there.T, T_dot(here)
    theirs = pin.computeCoriolisMatrix(there.model, there.data, there.q, there.v).copy()
    M = pin.crba(there.model, there.data, there.q).copy()
    M = np.triu(M) + np.triu(M, 1).T
    expected = T.T @ (theirs @ T + M @ rates)

    C = kd.coriolis_matrix(here.q, here.nu)

    scale = np.abs(expected).max()
    assert_close(C @ here.nu, expected @ here.nu, rtol=1e-11, scale=scale * np.abs(here.nu).max())
    assert_close(C + C.T, expected + expected.T, rtol=1e-11, scale=scale)
    assert_close(kd.mass_matrix_dot(here.q, here.nu), expected + expected.T, 1e-11, scale=scale)


def T_dot(here):
    """Rate of T, which takes nu to velocities in the body."""
    kd, q, nu = here.kd, here.q, here.nu
    found = np.zeros((kd.nv, kd.nv))
    if not kd.floating or kd.representation == "body":
        return found
    X = base_X(q, kd.representation)
    w = X[3:, 3:] @ nu[3:6]
    X_dot = np.kron(np.eye(2), -wedge(w)) @ X
    if kd.representation == "inertial":
        o_dot = nu[:3] + np.cross(nu[3:6], q[:3])
        X_dot[:3, 3:] -= rotation_of(q[3:7]).T @ wedge(o_dot)
    found[:6, :6] = X_dot
    return found


@pytest.mark.peers
@of(FLOATING)  # fixed, Pinocchio leaves out what stands still
def test_com_acceleration_and_rate_of_centroidal_momentum(both):
    kd, here, there = both
    model, data = there.model, there.data
    pin.centerOfMass(model, data, there.q, there.v, there.a)
    expected = data.acom[0].copy()
    assert_close(kd.com_acceleration(here.q, here.nu, here.nu_dot), expected, rtol=1e-11)
    pin.centerOfMass(model, data, there.q, there.v, there.T_dot_nu)
    assert_close(kd.com_bias_acceleration(here.q, here.nu), data.acom[0], 1e-11, scale=10.0)

    dA = pin.dccrba(model, data, there.q, there.v).copy()
    momentum, A = data.hg.vector.copy(), data.Ag.copy()
    bias = dA @ there.v + A @ there.T_dot_nu
    if here.kd.representation == "body":  # seen from the base, which turns
        R = rotation_of(here.q[3:7])
        w = np.kron(np.eye(2), wedge(R @ here.nu[3:6]))
        bias = np.kron(np.eye(2), R.T) @ (bias - w @ momentum)
    scale = max(np.abs(bias).max(), np.abs(momentum).max())
    assert_close(kd.centroidal_momentum_bias(here.q, here.nu), bias, rtol=1e-11, scale=scale)


@pytest.mark.peers
@of(SOME)
def test_regressor(both):
    """Theirs has ten columns for each body; ours sums to it over the links of the body."""
    kd, here, there = both
    Y = pin.computeJointTorqueRegressor(there.model, there.data, there.q, there.v, there.a)
    phi = np.concatenate([i.toDynamicParameters() for i in list(there.model.inertias)[1:]])
    expected = there.T.T @ (Y @ phi)
    ours = kd.regressor(here.q, here.nu, here.nu_dot)
    assert_close(ours @ kd.inertial_parameters(), expected, rtol=1e-11)
    for frame in there.model.frames:
        if frame.type != pin.FrameType.BODY or frame.name not in here.kd.model.link_names:
            continue
        joint = frame.parentJoint
        identity = frame.placement.isIdentity(1e-12)
        if joint == 0 or not identity:
            continue  # a link somewhere on a body
        link = here.kd.model.link_index(frame.name)
        block = Y[:, 10 * (joint - 1) : 10 * joint][:, np.argsort(THEIR_ORDER)]
        found = ours[:, 10 * link : 10 * link + 10]
        assert_close(found, there.T.T @ block, rtol=1e-11, scale=np.abs(Y).max())
