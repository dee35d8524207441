"""Joints between bodies: the pose, the motion subspace, and what they carry inward and outward.

Robots have every kind of joint, read either way, on axes along coordinate axes and tilted ones.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.kindyn import STEP, rate_of_q
from tests.support.models import MOVING_KINDS, assert_close
from tests.support.skeletons import random_case

from linkwork.mechanics.inertia import ArticulatedInertia, RigidInertia
from linkwork.mechanics.joints import combined, joint_pose
from linkwork.spatial.blocks import ZERO_MOTION, Force, Motion, Sym, as_mat, as_vec
from linkwork.spatial.source import se3, so3

SEEDS = range(6)
on_random_robots = pytest.mark.parametrize("seed", SEEDS)


def case_of(seed):
    return random_case(seed, floating=False)


def joints_of(case, q=None):
    """The joint of each body but the base."""
    q = (case.q if q is None else q).tolist()
    return [joint_pose(body.mount, q) for body in case.skeleton.bodies if body.mount]


def adjoint(joint):
    """(6, 6) from motions of the body, about its origin, to motions about the parent's."""
    R, p = np.array(joint.R), np.array(joint.p)
    X = np.kron(np.eye(2), R)
    X[:3, 3:] = so3.wedge(p) @ R
    return X


def random_sym(rng):
    root = rng.normal(size=(3, 3))
    S = root @ root.T
    return S, Sym(*S[np.triu_indices(3)].tolist())


def test_the_robots_have_every_kind_read_either_way():
    mounts = [joint.mount for seed in SEEDS for joint in joints_of(case_of(seed))]
    assert {mount.kind.name for mount in mounts} == set(MOVING_KINDS)
    backwards = {mount.kind.name for mount in mounts if mount.backwards}
    both = {name for name in MOVING_KINDS if name in backwards}
    # the others are the joint about the opposite axis
    assert both == {m.kind.name for m in mounts if not m.kind.inverse_is_opposite}
    assert any(mount.multiplier != 1.0 for mount in mounts)


@on_random_robots
def test_the_velocity_is_the_derivative_of_the_pose(seed):
    case = case_of(seed)
    q_dot = rate_of_q(case.layout, case.q, case.nu, "mixed")
    moved = joints_of(case, case.q + 1j * STEP * q_dot)

    for joint, later in zip(joints_of(case), moved, strict=True):
        R, R_dot = np.array(joint.R), np.array(later.R).imag / STEP
        spin = R.T @ R_dot  # [w]
        twist = [*(R.T @ np.array(later.p).imag / STEP), spin[2, 1], spin[0, 2], spin[1, 0]]
        assert_close(joint.velocity(case.nu.tolist()).entries, twist, rtol=1e-13, scale=1.0)
        assert joint.velocity(None) == ZERO_MOTION


@on_random_robots
def test_the_bias_is_what_the_rates_of_the_columns_add(seed):
    """S_dot is linear in nu, and its partial derivatives are those of S and of S_dot nu."""
    case = case_of(seed)
    nu = case.nu.tolist()
    for joint in joints_of(case):
        own = [nu[k] for k in joint.mount.nu_indices]
        rates, partials = joint.columns_rate(nu), joint.columns_partials()
        assert (rates is None) == (partials is None) == (joint.bias_partials(own) is None)
        if rates is None:
            assert joint.bias(nu) == ZERO_MOTION
            continue
        assert_close(joint.bias(nu).entries, combined(own, rates).entries, rtol=1e-14)
        along = zip(*partials, strict=True)  # each column, differentiated along each coordinate
        summed = [combined(own, of_column).entries for of_column in along]
        assert_close(summed, [rate.entries for rate in rates], rtol=1e-14, scale=1.0)


@on_random_robots
def test_bias_partials_are_derivatives(seed):
    case = case_of(seed)
    nu = case.nu.tolist()
    for index, joint in enumerate(joints_of(case)):
        own = [nu[k] for k in joint.mount.nu_indices]
        partials = joint.bias_partials(own)
        if partials is None or joint.mount.backwards:
            continue
        for k, partial in zip(joint.mount.nu_indices, partials, strict=True):
            step = rate_of_q(case.layout, case.q, np.eye(case.layout.nv)[k], "mixed")
            later = joints_of(case, case.q + 1j * STEP * step)[index]
            expected = np.array(later.bias(nu).entries).imag / STEP
            assert_close(partial.entries, expected, rtol=1e-13, scale=1.0)


@on_random_robots
def test_motions_go_outward_and_forces_inward_at_the_same_power(seed):
    case, rng = case_of(seed), np.random.default_rng(seed)
    for joint in joints_of(case):
        X, (twist, wrench) = adjoint(joint), rng.normal(size=(2, 6))

        outward = joint.outward(Motion.of(twist.tolist()))
        inward = joint.inward(Force.of(wrench.tolist()))

        assert_close(outward.entries, np.linalg.solve(X, twist), rtol=1e-12)
        assert_close(inward.entries, np.linalg.solve(X.T, wrench), rtol=1e-12)
        S = np.array([column.entries for column in joint.columns])
        assert_close(joint.force(Force.of(wrench.tolist())), S @ wrench, rtol=1e-13)
        assert_close(joint.arm, np.array(joint.R).T @ np.array(joint.p), rtol=1e-13, scale=1.0)


@on_random_robots
def test_inertias_go_inward_as_quadratic_forms(seed):
    case, rng = case_of(seed), np.random.default_rng(seed)
    (A, sym_A), (_, sym_D) = random_sym(rng), random_sym(rng)
    B, (mass, *moment) = rng.normal(size=(3, 3)), rng.uniform(0.5, 2.0, size=4).tolist()
    felt = ArticulatedInertia(sym_A, as_mat(B.tolist()), sym_D)
    rigid = RigidInertia(mass, as_vec(moment), sym_D)
    K, L = np.array(felt.matrix), np.array(rigid.articulated().matrix)
    for joint in joints_of(case):
        R, X = np.array(joint.R), np.linalg.inv(adjoint(joint))

        assert_close(joint.rotated(as_mat(B.tolist())), R @ B @ R.T, rtol=1e-13)
        assert_close(joint.rotated_sym(sym_A).full, R @ A @ R.T, rtol=1e-13)
        assert_close(joint.articulated_inward(felt).matrix, X.T @ K @ X, rtol=1e-12)
        assert_close(joint.inertia_inward(rigid).articulated().matrix, X.T @ L @ X, rtol=1e-12)
        product = np.eye(3)
        for factor in joint.rotations:  # applied from the first on
            product = np.array(factor) @ product
        assert_close(product, R, rtol=1e-14)


@on_random_robots
def test_a_body_stands_where_its_joint_and_its_mount_lead(seed):
    case = case_of(seed)
    bodies = [body for body in case.skeleton.bodies if body.mount]
    for body, joint in zip(bodies, joints_of(case), strict=True):
        mount = body.mount
        M = se3.pose(np.array(joint.M[0]), np.array(joint.M[1]))
        if mount.backwards:
            M = se3.inverse(M)
        expected = se3.pose(np.array(mount.R), np.array(mount.p)) @ M
        actual = se3.pose(np.array(joint.R), np.array(joint.p))
        assert_close(actual, expected, rtol=1e-14)
