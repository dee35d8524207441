"""The robot as a whole: against sums over its links, derivatives, the mass matrix, and Pinocchio.

Derivatives are taken by complex steps, without a difference of nearby numbers.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.kindyn import STEP, base_X, rate_of_q, rotation_of
from tests.support.models import MOVING_KINDS, assert_close, random_q
from tests.support.skeletons import (
    REAL,
    SEEDS,
    Case,
    every_representation,
    floating_or_not,
    frame_poses,
    random_case,
    real_case,
    robot_file,
)
from tests.support.spatial import pin
from tests.support.verifier import verify

import linkwork as lw
from linkwork.algorithms.centroidal import com as com_of
from linkwork.algorithms.centroidal import momentum as momentum_of
from linkwork.algorithms.dynamics import crba, rnea
from linkwork.algorithms.kinematics import frames
from linkwork.engine.symbolic.operations import NUMPY_FUNCTIONS
from linkwork.engine.symbolic.program import Port
from linkwork.engine.symbolic.tracing import trace
from linkwork.spatial.blocks import Vec

GRAVITY = Vec(0.3, -0.2, -9.7)


def base_pose(case):
    """Rotation and position of the base."""
    if not case.layout.floating:
        return np.eye(3), np.zeros(3)
    return rotation_of(case.q[3:7]), case.q[:3]


def links_in_the_world(case, velocity):
    """Mass, CoM, its velocity, world tensor and angular velocity of each link."""
    poses = frame_poses(case.tree, case.layout, case.q)
    for link in case.model.links:
        frame = case.model.frame_index(link.name)
        R, o = poses[frame, :3, :3], poses[frame, :3, 3]
        v, w = np.split(case.moving(frames.frame_velocity, frame=frame, velocity=velocity), 2)
        if velocity == "body":
            v, w = R @ v, R @ w
        if velocity == "inertial":
            v = v + np.cross(w, o)
        arm = R @ np.array(link.inertia.com)
        tensor = R @ link.inertia.matrix() @ R.T
        yield link.inertia.mass, o + arm, v + np.cross(w, arm), tensor, w


def summed(case, velocity):
    """Mass, CoM, its velocity, angular momentum about it and kinetic energy, link by link."""
    links = list(links_in_the_world(case, velocity))
    mass = sum(m for m, *_ in links)
    com = sum(m * c for m, c, *_ in links) / mass
    com_dot = sum(m * v for m, _, v, *_ in links) / mass
    angular = sum(np.cross(c - com, m * v) + inertia @ w for m, c, v, inertia, w in links)
    energy = sum(m * v @ v + w @ inertia @ w for m, _, v, inertia, w in links) / 2
    return mass, com, com_dot, angular, energy


@pytest.mark.parametrize("seed", SEEDS)
@floating_or_not
@every_representation
def test_a_robot_is_the_sum_of_its_links(seed, floating, velocity):
    case = random_case(seed, floating=floating)
    mass, com, com_dot, angular, energy = summed(case, velocity)
    back = base_pose(case)[0].T if velocity == "body" else np.eye(3)

    assert_close(com_of.total_mass(case.skeleton), mass, rtol=1e-14)
    assert_close(case.at(com_of.com), com, rtol=1e-13)
    assert_close(case.moving(com_of.com_velocity, velocity=velocity), com_dot, rtol=1e-13)
    assert_close(
        case.moving(momentum_of.centroidal_momentum, velocity=velocity),
        np.concatenate([back @ com_dot * mass, back @ angular]),
        rtol=1e-13,
    )
    assert_close(case.moving(momentum_of.kinetic_energy, velocity=velocity), energy, rtol=1e-13)
    assert_close(
        case.at(momentum_of.potential_energy, gravity=GRAVITY),
        -mass * com @ np.array(GRAVITY),
        rtol=1e-12,
    )


@pytest.mark.parametrize("seed", SEEDS)
@floating_or_not
@every_representation
def test_matrices_take_nu_to_what_they_are_named_for(seed, floating, velocity):
    case = random_case(seed, floating=floating)

    J = case.at(com_of.com_jacobian, velocity=velocity)
    A = case.at(momentum_of.centroidal_momentum_matrix, velocity=velocity)

    assert_close(J @ case.nu, case.moving(com_of.com_velocity, velocity=velocity), 1e-13)
    momentum = case.moving(momentum_of.centroidal_momentum, velocity=velocity)
    assert_close(A @ case.nu, momentum, rtol=1e-13)
    back = base_pose(case)[0].T if velocity == "body" else np.eye(3)
    assert_close(A[:3], com_of.total_mass(case.skeleton) * back @ J, rtol=1e-13)


@pytest.mark.parametrize("kind", MOVING_KINDS)
@floating_or_not
@every_representation
def test_matrices_of_chains_of_one_kind_give_sums_over_links(kind, floating, velocity):
    """Where an error of that kind has nowhere to hide."""
    case = random_case(3, floating=floating, kinds=[kind])
    mass, com, com_dot, angular, _ = summed(case, velocity)
    back = base_pose(case)[0].T if velocity == "body" else np.eye(3)

    J = case.at(com_of.com_jacobian, velocity=velocity)
    A = case.at(momentum_of.centroidal_momentum_matrix, velocity=velocity)

    assert_close(case.at(com_of.com), com, rtol=1e-13)
    assert_close(J @ case.nu, com_dot, rtol=1e-13)
    expected = np.concatenate([back @ com_dot * mass, back @ angular])
    assert_close(A @ case.nu, expected, rtol=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
@floating_or_not
@every_representation
def test_com_velocity_is_the_derivative_of_the_com(seed, floating, velocity):
    case = random_case(seed, floating=floating)
    q = case.q + 1j * STEP * rate_of_q(case.layout, case.q, case.nu, velocity)

    expected = np.array(com_of.com(case.skeleton, list(q)), dtype=complex).imag / STEP

    assert_close(case.moving(com_of.com_velocity, velocity=velocity), expected, rtol=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
@floating_or_not
@every_representation
def test_kinetic_energy_and_momentum_are_those_of_the_mass_matrix(seed, floating, velocity):
    case = random_case(seed, floating=floating)
    M = case.at(crba.mass_matrix, velocity=velocity)

    energy = case.moving(momentum_of.kinetic_energy, velocity=velocity)

    assert_close(energy, case.nu @ M @ case.nu / 2, rtol=1e-12)
    if floating:
        momentum = case.moving(momentum_of.momentum, velocity=velocity)
        assert_close(momentum, (M @ case.nu)[:6], rtol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
@floating_or_not
def test_momentum_changes_its_numbers_as_a_wrench_does(seed, floating):
    case = random_case(seed, floating=floating)
    in_body = case.nu.copy()
    momentum = case.moving(momentum_of.momentum, velocity="body")
    for velocity in ("mixed", "inertial"):
        X = base_X(case.q, velocity) if floating else np.eye(6)
        if floating:
            case.nu = in_body.copy()
            case.nu[:6] = np.linalg.solve(X, in_body[:6])

        found = case.moving(momentum_of.momentum, velocity=velocity)

        assert_close(found, X.T @ momentum, rtol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
@floating_or_not
@every_representation
def test_momentum_about_the_base_and_about_the_com_are_one(seed, floating, velocity):
    case = random_case(seed, floating=floating)
    R, o = base_pose(case)
    point = o if velocity != "inertial" else np.zeros(3)
    arm = case.at(com_of.com) - point
    if velocity == "body":
        arm = R.T @ arm

    about_com = case.moving(momentum_of.centroidal_momentum, velocity=velocity)
    about_point = case.moving(momentum_of.momentum, velocity=velocity)

    moved = about_com[3:] + np.cross(arm, about_com[:3])
    assert_close(about_point, np.concatenate([about_com[:3], moved]), rtol=1e-12)


@floating_or_not
@every_representation
def test_power_of_gravity_is_what_potential_energy_loses(floating, velocity, rng):
    case = random_case(5, floating=floating)
    q = case.q + 1j * STEP * rate_of_q(case.layout, case.q, case.nu, velocity)
    energy = momentum_of.potential_energy(case.skeleton, list(q), gravity=GRAVITY)
    options = {"gravity": GRAVITY, "velocity": velocity}

    force = rnea.inverse_dynamics(case.skeleton, list(case.q), None, None, **options)

    assert_close(np.array(force, dtype=float) @ case.nu, energy.imag / STEP, rtol=1e-12)


@floating_or_not
@every_representation
def test_batches_and_traced_programs_give_what_single_calls_give(floating, velocity, rng):
    case = random_case(11, floating=floating)
    skeleton = case.skeleton

    def function(q, nu):
        q, nu = tuple(q), tuple(nu)
        J = com_of.com_jacobian(skeleton, q, velocity=velocity)
        A = momentum_of.centroidal_momentum_matrix(skeleton, q, velocity=velocity)
        return [
            *com_of.com(skeleton, q),
            *com_of.com_velocity(skeleton, q, nu, velocity=velocity),
            *momentum_of.momentum(skeleton, q, nu, velocity=velocity),
            *momentum_of.centroidal_momentum(skeleton, q, nu, velocity=velocity),
            momentum_of.kinetic_energy(skeleton, q, nu, velocity=velocity),
            momentum_of.potential_energy(skeleton, q, gravity=GRAVITY),
            *(x for row in J + A for x in row),
        ]

    q, nu = random_q(case.layout, rng, (5,)), rng.normal(size=(5, case.layout.nv))
    program = trace(
        lambda q, nu: np.array(function(q, nu), dtype=object),
        [Port("q", (case.layout.nq,)), Port("nu", (case.layout.nv,))],
        ["all"],
    )
    verify(program)
    single = np.array([function(*row) for row in zip(q, nu, strict=True)], dtype=float)

    for found in (function(q.T, nu.T), program.run(q.T, nu.T, functions=NUMPY_FUNCTIONS)):
        whole = np.stack(np.broadcast_arrays(*found), axis=-1)
        assert_close(np.broadcast_to(whole, single.shape), single, rtol=1e-13)


def test_a_robot_without_mass_has_no_com_but_has_energies():
    builder = lw.ModelBuilder("ghost")
    builder.add_link("base")
    builder.add_link("tip")
    builder.add_joint("hinge", "revolute", "base", "tip")
    case = Case(builder.build(), np.random.default_rng(0), floating=True)

    for function in (com_of.com_jacobian, momentum_of.centroidal_momentum_matrix):
        with pytest.raises(lw.ModelError, match=r"robot.* no mass"):
            case.at(function, velocity="mixed")
    with pytest.raises(lw.ModelError):
        case.at(com_of.com)

    assert case.at(momentum_of.potential_energy, gravity=GRAVITY) == 0.0
    assert case.moving(momentum_of.kinetic_energy, velocity="mixed") == 0.0
    assert not case.moving(momentum_of.momentum, velocity="inertial").any()


@pytest.mark.peers
@pytest.mark.parametrize(("name", "floating"), REAL)
@every_representation
def test_real_robots_are_as_a_whole_what_pinocchio_says(name, floating, velocity):
    case = real_case(name, np.random.default_rng(7), floating=floating)
    layout, q = case.layout, case.q
    # with a fixed base, Pinocchio leaves the base's mass out of account: its base floats, at rest
    there = pin.buildModelFromUrdf(str(robot_file(name)), pin.JointModelFreeFlyer())
    there.gravity.linear = np.array(GRAVITY)
    data, q_pin, T = there.createData(), pin.neutral(there), np.zeros((there.nv, layout.nv))
    if floating:
        q_pin[:3], q_pin[3:6], q_pin[6] = q[:3], q[4:7], q[3]
        T[:6, :6] = base_X(case.q, velocity)
    for joint in layout.joint_names:
        other = there.joints[there.getJointId(joint)]
        angle = q[layout.q[joint]][0]
        both = [angle] if other.nq == 1 else [np.cos(angle), np.sin(angle)]
        q_pin[other.idx_q : other.idx_q + other.nq] = both
        T[other.idx_v, layout.nu[joint].start] = 1.0
    v_pin = T @ case.nu
    pin.ccrba(there, data, q_pin, v_pin)
    pin.jacobianCenterOfMass(there, data, q_pin)
    pin.centerOfMass(there, data, q_pin, v_pin)
    back = base_pose(case)[0].T if velocity == "body" else np.eye(3)
    turn = np.kron(np.eye(2), back)
    options = {"velocity": velocity}

    A = case.at(momentum_of.centroidal_momentum_matrix, **options)
    assert_close(com_of.total_mass(case.skeleton), data.mass[0], rtol=1e-13)
    assert_close(case.at(com_of.com), data.com[0], rtol=1e-12)
    assert_close(case.moving(com_of.com_velocity, **options), data.vcom[0], rtol=1e-12)
    assert_close(case.at(com_of.com_jacobian, **options), data.Jcom @ T, rtol=1e-12)
    assert_close(A, turn @ data.Ag @ T, rtol=1e-12)
    momentum = case.moving(momentum_of.centroidal_momentum, **options)
    assert_close(momentum, turn @ data.hg.vector, rtol=1e-12)
    kinetic = pin.computeKineticEnergy(there, data, q_pin, v_pin)
    assert_close(case.moving(momentum_of.kinetic_energy, **options), kinetic, rtol=1e-12)
    potential = pin.computePotentialEnergy(there, data, q_pin)
    assert_close(case.at(momentum_of.potential_energy, gravity=GRAVITY), potential, rtol=1e-12)
