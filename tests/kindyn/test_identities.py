"""Laws of mechanics that bind the quantities of one robot to each other, on robots nobody tuned.

Robots have every kind of joint, dependent joints and joints that point against the tree; the base
is a link or an additional frame; velocities are several metres and radians per second. Quantities
are computed by running their programs, so nothing here depends on compiled code.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.kindyn import (
    GRAVITY,
    STATES,
    STATES_THAT_DIFFER,
    STEP,
    Interpreted,
    base_X,
    base_X_dot_nu,
    on_robots_in,
    random_case,
    spatial_inertia,
    wedge,
)
from tests.support.models import MOVING_KINDS, assert_close

from linkwork.mechanics.base import REPRESENTATIONS
from linkwork.model.joints import KINDS

SEEDS = (10, 15, 24)
in_every_state = on_robots_in(STATES, SEEDS)
in_states_that_differ = on_robots_in(STATES_THAT_DIFFER, SEEDS)
on_many_robots = pytest.mark.parametrize("seed", SEEDS)


@pytest.fixture
def case(seed, floating, velocity):
    return random_case(seed, floating=floating, velocity=velocity)


def largest(*arrays):
    return max(np.abs(array).max(initial=0.0) for array in arrays)


def test_the_robots_of_these_tests_have_everything_that_can_go_wrong():
    cases = [random_case(seed) for seed in SEEDS]
    kinds = {joint.kind for case in cases for joint in case.model.joints}
    followers = [f for case in cases for f in case.kd.layout.followers]
    chained = [
        joint.name
        for case in cases
        for joint in case.model.joints
        if joint.mimic and case.model.joint(joint.mimic.joint).mimic
    ]
    backwards = [
        joint.kind
        for case in cases
        for joint, is_backwards in zip(case.kd.tree.joints, case.kd.tree.backwards, strict=True)
        if joint and is_backwards
    ]
    bases = {case.kd.base in case.model.link_names for case in cases}

    assert kinds == set(KINDS)
    assert len(followers) >= 4
    assert len(chained) >= 1
    assert set(backwards) == set(MOVING_KINDS)
    assert bases == {True, False}
    assert any(not case.kd.layout.followers for case in cases)


@in_states_that_differ
def test_inverse_dynamics_is_mass_matrix_times_acceleration_plus_bias(case):
    kd, q, nu, nu_dot = case.kd, case.q, case.nu, case.nu_dot

    tau = kd.inverse_dynamics(q, nu, nu_dot)

    assert_close(kd.mass_matrix(q) @ nu_dot + kd.bias_force(q, nu), tau, rtol=1e-13)
    assert_close(kd.coriolis_force(q, nu) + kd.gravity_force(q), kd.bias_force(q, nu), rtol=1e-13)


@in_states_that_differ
def test_forward_dynamics_inverts_inverse_dynamics(case):
    kd, q, nu, nu_dot = case.kd, case.q, case.nu, case.nu_dot
    tau = kd.inverse_dynamics(q, nu, nu_dot)
    loss = np.linalg.cond(kd.mass_matrix(q))

    found = kd.forward_dynamics(q, nu, tau)

    assert_close(found, nu_dot, rtol=1e-12 * max(1.0, loss / 1e3))
    assert_close(kd.inverse_dynamics(q, nu, found), tau, rtol=1e-11)


@in_every_state
def test_forward_dynamics_inverts_inverse_dynamics_under_wrenches(case):
    kd, q, nu, nu_dot, wrenches = case.kd, case.q, case.nu, case.nu_dot, case.wrenches
    tau = kd.inverse_dynamics(q, nu, nu_dot, wrenches=wrenches)
    loss = np.linalg.cond(kd.mass_matrix(q))

    found = kd.forward_dynamics(q, nu, tau, wrenches=wrenches)

    assert_close(found, nu_dot, rtol=1e-12 * max(1.0, loss / 1e3))


@in_every_state
def test_wrenches_act_by_the_transpose_of_the_jacobian(case):
    kd, q, nu, nu_dot = case.kd, case.q, case.nu, case.nu_dot
    free = kd.inverse_dynamics(q, nu, nu_dot)
    shares = {f: kd.jacobian(f, q).T @ wrench for f, wrench in case.wrenches.items()}

    together = kd.inverse_dynamics(q, nu, nu_dot, wrenches=case.wrenches)
    alone = {
        f: kd.inverse_dynamics(q, nu, nu_dot, wrenches={f: wrench})
        for f, wrench in case.wrenches.items()
    }

    scale = largest(free, *shares.values())
    assert_close(together, free - sum(shares.values()), rtol=1e-13, scale=scale)
    for frame, found in alone.items():
        assert_close(found, free - shares[frame], rtol=1e-13, scale=scale)


@in_states_that_differ
def test_mass_matrix_is_symmetric_positive_definite_and_the_hessian_of_kinetic_energy(case):
    kd, q = case.kd, case.q
    M = kd.mass_matrix(q)
    one = np.eye(kd.nv)
    alone = kd.kinetic_energy(q, one)
    pairs = kd.kinetic_energy(q, one[:, None] + one)

    assert np.array_equal(M, M.T)
    assert np.linalg.eigvalsh(M).min() > 0
    assert_close(M, pairs - alone[:, None] - alone, rtol=1e-13)
    assert_close(kd.kinetic_energy(q, case.nu), case.nu @ M @ case.nu / 2, rtol=1e-13)


@in_states_that_differ
def test_mass_matrix_is_the_sum_of_what_each_link_weighs(case):
    """M = sum J^T I J over the links, as files give them: nothing lost in merging and moving."""
    kd, q = case.kd, case.q
    body = Interpreted(kd.kd.replace(representation="body"))
    T = np.eye(kd.nv)
    if kd.floating:
        T[:6, :6] = base_X(q, kd.representation)
    expected = np.zeros((kd.nv, kd.nv))
    for link in case.model.links:
        J = body.jacobian(link.name, q) @ T
        expected += J.T @ spatial_inertia(link.inertia) @ J

    assert_close(kd.mass_matrix(q), expected, rtol=1e-13)


@in_every_state
def test_jacobian_times_nu_is_the_velocity_of_the_frame(case):
    kd, q, nu = case.kd, case.q, case.nu
    for frame in case.frames:
        velocity = kd.velocity(frame, q, nu)
        scale = max(1.0, largest(velocity))
        assert_close(kd.jacobian(frame, q) @ nu, velocity, rtol=1e-13, scale=scale)
    if kd.floating:
        assert_close(kd.velocity(kd.base, q, nu), nu[:6], rtol=1e-13)
        assert_close(kd.acceleration(kd.base, q, nu, case.nu_dot), case.nu_dot[:6], 1e-12)


@in_every_state
def test_jacobian_dot_and_accelerations_are_derivatives_along_the_motion(case):
    kd, q, nu, nu_dot = case.kd, case.q, case.nu, case.nu_dot
    for frame in case.frames:
        J_dot = case.derivative(lambda q, nu, frame=frame: kd.jacobian(frame, q))
        V_dot = case.derivative(lambda q, nu, frame=frame: kd.velocity(frame, q, nu))
        J = kd.jacobian(frame, q)
        bias = kd.bias_acceleration(frame, q, nu)
        scale = max(1.0, largest(V_dot, J_dot))

        assert_close(kd.jacobian_dot(frame, q, nu), J_dot, rtol=1e-12, scale=scale)
        assert_close(bias, J_dot @ nu, rtol=1e-12, scale=scale)
        assert_close(kd.acceleration(frame, q, nu, nu_dot), V_dot, rtol=1e-12, scale=scale)
        assert_close(J @ nu_dot + bias, V_dot, rtol=1e-12, scale=scale)


def energy(kd):
    return lambda q, nu: kd.kinetic_energy(q, nu) + kd.potential_energy(q)


@in_every_state
def test_energy_changes_by_the_power_of_torques_and_wrenches(case):
    """Any error in h or in the base's part of it shows here, whatever the representation."""
    kd, q, nu = case.kd, case.q, case.nu
    change = case.derivative(energy(kd))

    tau = kd.inverse_dynamics(q, nu, case.nu_dot)
    pushed = kd.inverse_dynamics(q, nu, case.nu_dot, wrenches=case.wrenches)
    power = sum(f @ kd.velocity(frame, q, nu) for frame, f in case.wrenches.items())

    scale = largest(nu) * largest(tau)
    assert_close(nu @ tau, change, rtol=1e-12, scale=scale)
    assert_close(nu @ pushed + power, change, rtol=1e-12, scale=scale)


@pytest.mark.parametrize("kind", MOVING_KINDS)
@pytest.mark.parametrize(("floating", "velocity"), STATES_THAT_DIFFER)
def test_chains_of_one_kind_keep_the_balance_of_power(kind, floating, velocity):
    """Where an error of that kind of joint has nowhere to hide."""
    case = random_case(2, floating=floating, velocity=velocity, n_links=6, kinds=(kind,))
    kd, q, nu, nu_dot = case.kd, case.q, case.nu, case.nu_dot
    tau = kd.inverse_dynamics(q, nu, nu_dot)

    assert_close(nu @ tau, case.derivative(energy(kd)), 1e-12, scale=largest(nu) * largest(tau))
    assert_close(kd.mass_matrix(q) @ nu_dot + kd.bias_force(q, nu), tau, rtol=1e-13)
    assert_close(kd.inverse_dynamics(q, nu, kd.forward_dynamics(q, nu, tau)), tau, rtol=1e-11)


@in_states_that_differ
def test_coriolis_forces_take_the_power_that_the_mass_matrix_gains(case):
    kd, q, nu = case.kd, case.q, case.nu
    M_dot = (kd.mass_matrix(q + 1j * STEP * case.q_dot)).imag / STEP
    force = kd.coriolis_force(q, nu)

    scale = largest(nu) * largest(force)
    assert_close(nu @ force, nu @ M_dot @ nu / 2, rtol=1e-12, scale=scale)


@in_states_that_differ
def test_gravity_force_is_the_slope_of_potential_energy(case):
    kd, q, nu = case.kd, case.q, case.nu
    slope = (kd.potential_energy(q + 1j * STEP * case.q_dot)).imag / STEP

    assert_close(nu @ kd.gravity_force(q), slope, rtol=1e-13, scale=max(abs(slope), 1.0) * 10)
    assert_close(kd.potential_energy(q), -kd.total_mass * GRAVITY @ kd.com(q), rtol=1e-13)


@in_states_that_differ
def test_bias_less_gravity_is_homogeneous_of_degree_two(case):
    kd, q, nu = case.kd, case.q, case.nu
    at_rest, bias = kd.gravity_force(q), kd.bias_force(q, nu)
    for factor in (-1.0, 3.0, 0.125):
        scaled = kd.bias_force(q, factor * nu) - at_rest
        scale = max(largest(bias, at_rest), factor**2 * largest(bias))
        assert_close(scaled, factor**2 * (bias - at_rest), rtol=1e-13, scale=scale)
    assert_close(kd.bias_force(q, 0 * nu), at_rest, rtol=1e-14)


@in_every_state
def test_momentum_is_linear_in_nu_and_moves_with_the_center_of_mass(case):
    kd, q, nu = case.kd, case.q, case.nu
    A = kd.centroidal_momentum_matrix(q)
    about_com, momentum = kd.centroidal_momentum(q, nu), kd.momentum(q, nu)
    com_rate = (kd.com(q + 1j * STEP * case.q_dot)).imag / STEP
    in_world = np.eye(3)
    if kd.floating and kd.representation == "body":
        in_world = kd.transform(kd.base, q)[:3, :3]

    assert_close(A @ nu, about_com, rtol=1e-13)
    assert_close(kd.com_jacobian(q) @ nu, kd.com_velocity(q, nu), rtol=1e-13)
    assert_close(kd.com_velocity(q, nu), com_rate, rtol=1e-13)
    assert_close(in_world @ about_com[:3], kd.total_mass * com_rate, rtol=1e-12)
    assert_close(momentum[:3], about_com[:3], rtol=1e-12, scale=largest(momentum))
    if kd.floating:
        assert_close(momentum, kd.mass_matrix(q)[:6] @ nu, rtol=1e-13)
        mass_block = kd.total_mass * np.eye(3)
        assert_close(A[:3, :3], mass_block, rtol=1e-13)


@on_many_robots
@pytest.mark.parametrize("velocity", REPRESENTATIONS)
def test_momentum_changes_by_the_forces_from_outside(seed, velocity):
    """Newton and Euler for the whole robot: d/dt of the momentum about the CoM, in world axes."""
    case = random_case(seed, velocity=velocity)
    kd, q, nu = case.kd, case.q, case.nu
    mixed = Interpreted(kd.kd.replace(representation="mixed"))
    T = np.eye(kd.nv)
    T[:6, :6] = np.linalg.inv(base_X(q, "mixed")) @ base_X(q, velocity)
    tau = kd.inverse_dynamics(q, nu, case.nu_dot)
    H = kd.transform(kd.base, q)

    outside = np.linalg.inv(base_X(q, velocity)).T @ tau[:6]  # in the base's axes, at its origin
    force, moment = H[:3, :3] @ outside[:3], H[:3, :3] @ outside[3:]
    moment = moment + np.cross(H[:3, 3] - kd.com(q), force)
    force = force + kd.total_mass * GRAVITY

    def about_com(q, nu):
        X = np.eye(kd.nv, dtype=complex)
        R, o = mixed.transform(kd.base, q)[:3, :3], q[:3]
        if velocity == "body":
            X[:3, :3] = X[3:6, 3:6] = R
        elif velocity == "inertial":
            X[:3, 3:6] = -wedge(o)
        return mixed.centroidal_momentum(q, X @ nu)

    change = case.derivative(about_com)
    assert_close(np.concatenate([force, moment]), change, 1e-12, scale=largest(tau))


@in_states_that_differ
def test_gravity_as_an_argument_is_gravity_of_the_kindyn(case):
    g = np.array([1.5, -2.0, 4.0])
    kd, q, nu, nu_dot = case.kd, case.q, case.nu, case.nu_dot
    other = Interpreted(kd.kd.replace(gravity=tuple(g.tolist())))
    tau = kd.inverse_dynamics(q, nu, nu_dot)

    close = {"rtol": 1e-13}
    assert_close(
        kd.inverse_dynamics(q, nu, nu_dot, gravity=g),
        other.inverse_dynamics(q, nu, nu_dot),
        **close,
    )
    assert_close(kd.bias_force(q, nu, gravity=g), other.bias_force(q, nu), **close)
    assert_close(kd.gravity_force(q, gravity=g), other.gravity_force(q), **close)
    assert_close(kd.potential_energy(q, gravity=g), other.potential_energy(q), **close)
    assert_close(
        kd.forward_dynamics(q, nu, tau, gravity=g), other.forward_dynamics(q, nu, tau), rtol=1e-11
    )
    assert_close(kd.bias_force(q, nu, gravity=0 * g), kd.coriolis_force(q, nu), **close)


@on_many_robots
@pytest.mark.parametrize("velocity", ["mixed", "inertial"])
def test_representations_differ_by_the_formula_of_a_change_of_velocities(seed, velocity):
    """M_r = X^T M_B X, h_r = X^T (h_B + M_B X_dot nu_r), at base velocities that are not small."""
    case = random_case(seed, velocity=velocity)
    kd, q, nu, nu_dot = case.kd, case.q, 4 * case.nu, case.nu_dot
    body = Interpreted(kd.kd.replace(representation="body"))
    X = np.eye(kd.nv)
    X[:6, :6] = base_X(q, velocity)
    X_dot_nu = np.zeros(kd.nv)
    X_dot_nu[:6] = base_X_dot_nu(q, nu, velocity)
    M_B = body.mass_matrix(q)
    h = X.T @ (body.bias_force(q, X @ nu) + M_B @ X_dot_nu)
    tau = body.inverse_dynamics(q, X @ nu, X @ nu_dot + X_dot_nu)

    assert_close(kd.mass_matrix(q), X.T @ M_B @ X, rtol=1e-13)
    assert_close(kd.bias_force(q, nu), h, rtol=1e-12)
    assert_close(kd.gravity_force(q), X.T @ body.gravity_force(q), rtol=1e-13)
    assert_close(kd.inverse_dynamics(q, nu, nu_dot), X.T @ tau, rtol=1e-12)
    assert_close(kd.kinetic_energy(q, nu), body.kinetic_energy(q, X @ nu), rtol=1e-13)
    assert_close(kd.com_jacobian(q), body.com_jacobian(q) @ X, rtol=1e-13)


@on_many_robots
@pytest.mark.parametrize("velocity", REPRESENTATIONS)
def test_a_fixed_base_is_a_floating_one_that_rests_at_the_origin(seed, velocity):
    fixed = random_case(seed, floating=False, velocity=velocity)
    kd, q, nu, nu_dot = fixed.kd, fixed.q, fixed.nu, fixed.nu_dot
    free = Interpreted(kd.kd.replace(floating=True))
    Q = np.concatenate([[0, 0, 0, 1, 0, 0, 0], q])
    V, A = np.concatenate([np.zeros(6), nu]), np.concatenate([np.zeros(6), nu_dot])

    wrenches = fixed.wrenches
    assert_close(kd.mass_matrix(q), free.mass_matrix(Q)[6:, 6:], rtol=1e-13)
    assert_close(
        kd.inverse_dynamics(q, nu, nu_dot, wrenches=wrenches),
        free.inverse_dynamics(Q, V, A, wrenches=wrenches)[6:],
        rtol=1e-13,
    )
    assert_close(kd.momentum(q, nu), free.momentum(Q, V), rtol=1e-13)
    assert_close(kd.centroidal_momentum(q, nu), free.centroidal_momentum(Q, V), rtol=1e-13)
    assert_close(kd.com_jacobian(q), free.com_jacobian(Q)[:, 6:], rtol=1e-13)
