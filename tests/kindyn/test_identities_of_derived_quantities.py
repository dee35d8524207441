"""Laws that bind the further quantities of a robot to those of `test_identities`."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.support.kindyn import (
    STATES,
    Interpreted,
    on_numpy,
    on_robots_in,
    random_case,
    rotation_of,
    run_program,
    wedge,
)
from tests.support.models import assert_close

import linkwork as lw

SEEDS = (10, 15, 24)
in_every_state = on_robots_in(STATES, SEEDS)
on_many_robots = pytest.mark.parametrize("seed", SEEDS)


@pytest.fixture
def case(seed, floating, velocity):
    return random_case(seed, floating=floating, velocity=velocity)


def largest(*arrays):
    return max(np.abs(array).max(initial=0.0) for array in arrays)


def inverse(H):
    R, p = H[:3, :3], H[:3, 3]
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = R.T, -R.T @ p
    return found


def adjoint(H):
    """(6, 6) that takes a velocity in b to a, of a_H_b."""
    X = np.kron(np.eye(2), H[:3, :3])
    X[:3, 3:] = wedge(H[:3, 3]) @ H[:3, :3]
    return X


def pairs(case):
    names = case.model.frame_names
    chosen = np.random.default_rng(len(names)).permutation(len(names))[:5]
    return [(names[a], names[b]) for a in chosen for b in chosen[:2]] + [(names[0], names[0])]


@in_every_state
def test_relative_transform_is_one_pose_seen_from_the_other(case):
    kd, q = case.kd, case.q
    for reference, frame in pairs(case):
        expected = inverse(kd.transform(reference, q)) @ kd.transform(frame, q)
        assert_close(kd.relative_transform(reference, frame, q), expected, rtol=1e-13, scale=1.0)


@in_every_state
def test_relative_jacobian_is_the_difference_of_two_motions(case):
    """With J of both frames at the world's origin, whatever the base does cancels."""
    kd, q, rng = case.kd, case.q, np.random.default_rng(3)
    inertial = Interpreted(kd.kd.replace(representation="inertial"))
    first = 6 if kd.floating else 0
    for reference, frame in pairs(case):
        J = (inertial.jacobian(frame, q) - inertial.jacobian(reference, q))[:, first:]
        world_H = {name: kd.transform(name, q) for name in (reference, frame)}
        origin = reference if kd.representation == "inertial" else frame
        axes = frame if kd.representation == "body" else reference
        world_H_at = world_H[axes].copy()
        world_H_at[:3, 3] = world_H[origin][:3, 3]
        expected = adjoint(inverse(world_H_at)) @ J
        scale = max(1.0, largest(expected))

        found = kd.relative_jacobian(reference, frame, q)
        assert_close(found, expected, rtol=1e-12, scale=scale)

        elsewhere = str(rng.choice(case.model.frame_names))
        world_H_at[:3, :3] = kd.transform(elsewhere, q)[:3, :3]
        expected = adjoint(inverse(world_H_at)) @ J
        found = kd.relative_jacobian_at(reference, frame, origin, elsewhere, q)
        assert_close(found, expected, rtol=1e-12, scale=max(1.0, largest(expected)))


@in_every_state
def test_sparsity_patterns_tell_where_jacobians_can_be_other_than_zero(case):
    kd, model = case.kd, case.model
    states = [case.q, *kd.random(3, seed=5)]
    for frame in case.frames:
        pattern = kd.jacobian_sparsity(frame)
        met = np.any([kd.jacobian(frame, q) != 0 for q in states], axis=0)
        assert pattern.shape == (6, kd.nv)
        assert pattern.dtype == bool
        assert np.array_equal(met & pattern, met)
        # columns of joints that do not move the frame are marked empty, the others are not
        assert np.array_equal(pattern.any(axis=0), met.any(axis=0))
    reference, frame = model.frame_names[0], model.frame_names[-1]
    pattern = kd.relative_jacobian_sparsity(reference, frame)
    met = np.any([kd.relative_jacobian(reference, frame, q) != 0 for q in states], axis=0)
    assert np.array_equal(met & pattern, met)
    assert np.array_equal(pattern.any(axis=0), met.any(axis=0))


@in_every_state
def test_coriolis_matrix_and_the_rate_of_the_mass_matrix(case):
    kd, q, nu = case.kd, case.q, case.nu
    C = kd.coriolis_matrix(q, nu)
    M_dot = case.derivative(lambda q, nu: kd.mass_matrix(q))
    scale = largest(C, M_dot)

    assert_close(C @ nu, kd.coriolis_force(q, nu), rtol=1e-12, scale=scale * largest(nu))
    assert_close(C + C.T, M_dot, rtol=1e-12, scale=scale)
    assert_close(kd.mass_matrix_dot(q, nu), M_dot, rtol=1e-12, scale=scale)


@in_every_state
def test_derivatives_of_inverse_dynamics_give_the_rate_of_forces_along_the_motion(case):
    """With wrenches and nu_dot the same numbers, tau_dot = by_q nu + by_nu nu_dot."""
    kd, q, nu, nu_dot = case.kd, case.q, case.nu, case.nu_dot
    options = {"wrenches": case.wrenches, "gravity": (0.4, -0.3, -9.0)}

    kernel = kd.function("inverse_dynamics_derivatives", wrenches=list(case.wrenches), gravity=True)
    given = q, nu, nu_dot, options["gravity"], *case.wrenches.values()
    by_q, by_nu, M = run_program(kernel.program, *given)

    expected = case.derivative(lambda q, nu: kd.inverse_dynamics(q, nu, nu_dot, **options))
    scale = np.abs(by_q).max() * np.abs(nu).max()
    assert_close(by_q @ nu + by_nu @ nu_dot, expected, rtol=1e-12, scale=scale)
    assert_close(M, kd.mass_matrix(q), rtol=1e-12)
    rate = case.derivative(lambda q, nu: kd.gravity_force(q))
    scale = np.abs(rate).max(initial=1e-9)
    assert_close(kd.gravity_force_derivative(q) @ nu, rate, rtol=1e-12, scale=scale)


@in_every_state
def test_external_force_is_the_sum_of_transposed_jacobians(case):
    kd, q = case.kd, case.q
    expected = sum(kd.jacobian(f, q).T @ wrench for f, wrench in case.wrenches.items())
    assert_close(kd.external_force(q, wrenches=case.wrenches), expected, rtol=1e-13)
    assert not np.any(kd.external_force(q, wrenches={}))


@in_every_state
def test_com_accelerations_are_derivatives_along_the_motion(case):
    kd, q, nu, nu_dot = case.kd, case.q, case.nu, case.nu_dot
    expected = case.derivative(kd.com_velocity)
    J = kd.com_jacobian(q)
    bias = kd.com_bias_acceleration(q, nu)
    assert_close(kd.com_acceleration(q, nu, nu_dot), expected, rtol=1e-12)
    assert_close(J @ nu_dot + bias, expected, rtol=1e-12)


@in_every_state
def test_centroidal_momentum_bias_is_the_rate_that_no_acceleration_gives(case):
    kd, q, nu, nu_dot = case.kd, case.q, case.nu, case.nu_dot
    rate = case.derivative(kd.centroidal_momentum)
    A = kd.centroidal_momentum_matrix(q)
    A_dot = case.derivative(lambda q, nu: kd.centroidal_momentum_matrix(q))
    bias = kd.centroidal_momentum_bias(q, nu)
    assert_close(bias, A_dot @ nu, rtol=1e-12, scale=largest(rate))
    assert_close(A @ nu_dot + bias, rate, rtol=1e-12)


@in_every_state
def test_the_robot_as_one_body(case):
    kd, q, nu = case.kd, case.q, case.nu
    momentum, centroidal = kd.momentum(q, nu), kd.centroidal_momentum(q, nu)
    locked, at_com = kd.locked_inertia(q), kd.centroidal_locked_inertia(q)
    J, A = kd.momentum_jacobian(q), kd.centroidal_momentum_matrix(q)

    assert_close(J @ nu, momentum, rtol=1e-12)
    assert_close(locked, locked.T, rtol=1e-13)
    assert_close(locked @ kd.average_velocity(q, nu), momentum, rtol=1e-11)
    assert_close(locked @ kd.average_velocity_jacobian(q), J, rtol=1e-11)
    assert_close(at_com @ kd.centroidal_average_velocity(q, nu), centroidal, rtol=1e-11)
    assert_close(at_com @ kd.centroidal_average_velocity_jacobian(q), A, rtol=1e-11)
    assert_close(at_com[:3], kd.total_mass * np.eye(3, 6), rtol=1e-12)
    if kd.floating:
        assert_close(kd.mass_matrix(q)[:6, :6], locked, rtol=1e-13)
        turn = rotation_of(q[3:7]) if kd.representation == "body" else np.eye(3)
        com_velocity = turn @ kd.centroidal_average_velocity(q, nu)[:3]
        assert_close(com_velocity, kd.com_velocity(q, nu), rtol=1e-12)
        # a robot that moves as one body has the velocity of its base on average
        nu_base = np.concatenate([nu[:6], np.zeros(kd.nv - 6)])
        assert_close(kd.average_velocity(q, nu_base), nu[:6], rtol=1e-11)


@in_every_state
def test_regressor_times_parameters_is_inverse_dynamics(case):
    kd, q, nu, nu_dot = case.kd, case.q, case.nu, case.nu_dot
    gravity = np.array([0.4, -1.3, 0.7])
    phi = kd.inertial_parameters()
    Y = kd.regressor(q, nu, nu_dot)

    assert Y.shape == (kd.nv, 10 * len(case.model.links))
    tau = kd.inverse_dynamics(q, nu, nu_dot)
    assert_close(Y @ phi, tau, rtol=1e-12)
    Y = kd.regressor(q, nu, nu_dot, gravity=gravity)
    assert_close(Y @ phi, kd.inverse_dynamics(q, nu, nu_dot, gravity=gravity), rtol=1e-12)


@on_many_robots
def test_each_column_of_the_regressor_is_what_one_parameter_does(seed):
    """Also of links without mass: every link gets other numbers, one after the other."""
    case, rng = random_case(seed), np.random.default_rng(seed)
    kd, q, nu, nu_dot = case.kd, case.q, case.nu, case.nu_dot
    Y, tau = kd.regressor(q, nu, nu_dot), kd.inverse_dynamics(q, nu, nu_dot)
    for number, link in enumerate(case.model.links):
        change = rng.uniform(0.1, 1.0, size=6) * [1, 0.1, 0.1, 1, 0.1, 1]
        heavier = lw.Inertia(
            link.inertia.mass + 0.7,
            tuple(np.add(link.inertia.com, 0.1)),
            tuple(np.add(link.inertia.tensor, change)),
        )
        delta = heavier.parameters() - link.inertia.parameters()
        other = on_numpy(lw.KinDyn(case.model.with_inertia(link.name, heavier), **kd.kd.options))
        expected = other.inverse_dynamics(q, nu, nu_dot) - tau
        found = Y[:, 10 * number : 10 * number + 10] @ delta
        assert_close(found, expected, rtol=1e-11, scale=largest(tau, expected))


@in_every_state
def test_wrenches_through_joints_are_what_moves_all_beyond(case):
    """Cut at a joint: what is beyond has the momentum rate that the joint's wrench gives it."""
    kd, q, nu, nu_dot = case.kd, case.q, case.nu, case.nu_dot
    through = kd.joint_wrenches(q, nu, nu_dot, wrenches=case.wrenches)
    tau = kd.inverse_dynamics(q, nu, nu_dot, wrenches=case.wrenches)
    assert through.shape == (len(case.model.joints), 6)
    inertial = Interpreted(kd.kd.replace(representation="inertial"))
    world = inertial_wrenches(case, through)
    # what a joint feels along its coordinates is its torque
    first = 6 if kd.floating else 0
    power = np.zeros(kd.nv)
    for joint, wrench in zip(case.model.joints, world, strict=True):
        parent, child = ends(case, joint)
        J = inertial.jacobian(child, q) - inertial.jacobian(parent, q)
        power += J.T @ wrench
    assert_close(power[first:], tau[first:], rtol=1e-11, scale=largest(tau, world))
    # Newton and Euler for each link by itself, in the world
    for link in case.model.links:
        rate = momentum_rate(case, link)
        acting = sum(
            (1 if ends(case, joint)[1] == link.name else -1) * wrench
            for joint, wrench in zip(case.model.joints, world, strict=True)
            if link.name in ends(case, joint)
        )
        acting = acting + outer_wrench(case, link)
        if link.name != case.model.frame(kd.base).link:
            assert_close(acting, rate, rtol=1e-11, scale=largest(world, rate))


@cache
def ends(case, joint):
    """(parent, child) links of a joint, seen from the base."""
    near = nearer_links(case.model, case.model.frame(case.kd.base).link, joint.name)
    return (joint.first, joint.second) if joint.first in near else (joint.second, joint.first)


def nearer_links(model, base, cut):
    seen, waiting = {base}, [base]
    while waiting:
        for other, joint in model.neighbors(waiting.pop()):
            if joint != cut and other not in seen:
                seen.add(other)
                waiting.append(other)
    return seen


def inertial_wrenches(case, through):
    """Wrenches through joints about the world's origin, in its axes."""
    found = []
    for joint, wrench in zip(case.model.joints, through, strict=True):
        found.append(to_world(case, ends(case, joint)[1], wrench))
    return np.array(found)


def to_world(case, frame, wrench):
    H = case.kd.transform(frame, case.q)
    force, moment = wrench[:3], wrench[3:]
    if case.kd.representation == "inertial":
        return wrench
    if case.kd.representation == "body":
        force, moment = H[:3, :3] @ force, H[:3, :3] @ moment
    return np.concatenate([force, moment + np.cross(H[:3, 3], force)])


def outer_wrench(case, link):
    """Gravity and given wrenches on a link, about the world's origin."""
    kd = case.kd
    H = kd.transform(link.name, case.q)
    com = H[:3, :3] @ link.inertia.com + H[:3, 3]
    weight = link.inertia.mass * np.array(kd.gravity)
    total = np.concatenate([weight, np.cross(com, weight)])
    for frame, wrench in case.wrenches.items():
        if case.model.frame(frame).link == link.name:
            total = total + to_world(case, frame, wrench)
    return total


def momentum_rate(case, link):
    """Derivative of the momentum of a link about the world's origin, along the motion."""
    body = Interpreted(case.kd.kd)

    def momentum(q, nu):
        H = body.transform(link.name, q)
        R, o = H[..., :3, :3], H[..., :3, 3]
        V = body.velocity(link.name, q, nu)
        v, w = V[:3], V[3:]
        if case.kd.representation == "body":
            v, w = R @ v, R @ w
        elif case.kd.representation == "inertial":
            v = v + np.cross(w, o)
        c = R @ np.array(link.inertia.com)
        force = link.inertia.mass * (v + np.cross(w, c))
        spin = R @ link.inertia.matrix() @ R.T @ w
        return np.concatenate([force, spin + np.cross(o + c, force)])

    return case.derivative(momentum)
