"""What each kind of joint claims about itself, checked on its own formulas.

Algorithms rely on these claims: where origins may be put, which inertia a joint cannot move, how a
joint is read backwards. Derivatives are taken by complex steps.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.kindyn import STEP
from tests.support.models import ALL_KINDS, assert_close, random_axis, random_theta

from linkwork.model.joints import KINDS, Axis
from linkwork.model.joints.kind import axes_across
from linkwork.spatial.blocks import quaternion_rotation, rotation_about
from linkwork.spatial.source import motion

each_kind = pytest.mark.parametrize("kind", ALL_KINDS)
N = 10


def axis_of(kind, rng, offset=0.0):
    direction = random_axis(rng)
    return Axis(direction, 0.3 if KINDS[kind].has_pitch else 0.0, offset)


def opposite(axis):
    x, y, z = axis.direction
    return Axis((-x, -y, -z), axis.pitch)


def pose(kind, axis, theta):
    R, p = KINDS[kind].pose(axis, list(theta))
    H = np.eye(4, dtype=np.result_type(np.asarray(theta), float))
    H[:3, :3], H[:3, 3] = R, p
    return H


def columns(found):
    return np.array([[*v, *w] for v, w in found], dtype=complex).reshape(len(found), 6).T


@each_kind
def test_both_sides_coincide_at_the_neutral_position(kind, rng):
    assert_close(pose(kind, axis_of(kind, rng), KINDS[kind].neutral), np.eye(4), rtol=1e-15)


@each_kind
def test_a_kind_rotates_and_translates_as_it_says(kind, rng):
    for _ in range(N):
        axis = axis_of(kind, rng)
        H = pose(kind, axis, random_theta(kind, rng))
        if KINDS[kind].rotation == "none":
            assert_close(H[:3, :3], np.eye(3), rtol=1e-15)
        if KINDS[kind].rotation == "about_axis":
            assert_close(H[:3, :3] @ np.array(axis.direction), axis.direction, rtol=4e-15)
        assert np.abs(H[:3, 3]).max() > 0 or not KINDS[kind].translates
        assert KINDS[kind].translates or np.abs(H[:3, 3]).max() == 0


@each_kind
def test_kinds_that_say_so_are_undone_about_the_opposite_axis(kind, rng):
    undone = []
    for _ in range(N):
        axis, theta = axis_of(kind, rng), random_theta(kind, rng)
        product = pose(kind, axis, theta) @ pose(kind, opposite(axis), theta)
        undone.append(np.abs(product - np.eye(4)).max() < 1e-14)
    assert all(undone) == (KINDS[kind].inverse_is_opposite or kind == "fixed")


@each_kind
def test_an_angle_offset_is_a_rotation_of_the_fixed_side(kind, rng):
    """And kinds that take none do not look at it."""
    for _ in range(N):
        axis = axis_of(kind, rng, offset=0.7)
        theta = random_theta(kind, rng)
        bare = Axis(axis.direction, axis.pitch)
        rotated = np.eye(4)
        if KINDS[kind].takes_angle_offset:
            rotated = pose("revolute", Axis(axis.direction), [0.7])
        expected = rotated @ pose(kind, bare, theta)
        assert_close(pose(kind, axis, theta), expected, rtol=4e-15)


@each_kind
def test_the_subspace_is_the_derivative_of_the_pose(kind, rng):
    it = KINDS[kind]
    for _ in range(N):
        axis, theta, nu = axis_of(kind, rng), random_theta(kind, rng), rng.normal(size=it.nv)
        J = np.array(it.position_jacobian(list(theta)), dtype=float).reshape(it.nq, it.nv)
        rate = pose(kind, axis, theta + 1j * STEP * (J @ nu)).imag / STEP
        v, w = np.split(columns(it.subspace(axis, list(theta))).real @ nu, 2)
        seen = pose(kind, axis, theta).T[:3, :3] @ rate[:3]
        wedge = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        assert_close(seen[:, :3], wedge, rtol=1e-14, scale=1 + np.abs(nu).max(initial=0))
        assert_close(seen[:, 3], v, rtol=1e-14, scale=1 + np.abs(nu).max(initial=0))


@each_kind
def test_the_rate_of_the_subspace_is_its_derivative(kind, rng):
    it = KINDS[kind]
    changing = False
    for _ in range(N):
        axis, theta, nu = axis_of(kind, rng), random_theta(kind, rng), rng.normal(size=it.nv)
        J = np.array(it.position_jacobian(list(theta)), dtype=float).reshape(it.nq, it.nv)
        moved = list(theta + 1j * STEP * (J @ nu))
        expected = columns(it.subspace(axis, moved)).imag / STEP
        found = it.subspace_rate(axis, list(theta), list(nu))
        if found is None:
            assert not expected.any()
        else:
            assert_close(columns(found).real, expected, rtol=1e-14, scale=np.abs(nu).max())
        changing = changing or bool(expected.any())
    assert changing == (kind == "universal")


@each_kind
def test_a_step_forth_is_the_way_back(kind, rng):
    it = KINDS[kind]
    for _ in range(N):
        theta, step = list(random_theta(kind, rng)), list(rng.uniform(-1, 1, size=it.nv))
        moved = it.moved(theta, step)
        assert_close(it.between(theta, moved), step, rtol=1e-13, scale=1.0)
        assert_close(it.normalized(moved), moved, rtol=1e-14, scale=1.0)


@each_kind
def test_unit_norm_parts_are_scaled_to_norm_1_and_nothing_else_is(kind, rng):
    it = KINDS[kind]
    theta = random_theta(kind, rng)
    scaled = theta.copy()
    for part in it.unit_norm:
        at = slice(part.start, part.start + part.count)
        assert_close(np.linalg.norm(theta[at]), 1.0, rtol=1e-14)
        scaled[at] *= 3.7
    assert_close(it.normalized(list(scaled)), theta, rtol=1e-14)
    assert len(it.neutral) == len(it.reach) == it.nq


def test_a_universal_joint_is_two_revolute_joints_at_right_angles(rng):
    for _ in range(N):
        axis, theta = axis_of("universal", rng), random_theta("universal", rng)
        second, _ = axes_across(axis.direction)
        expected = pose("revolute", axis, theta[:1]) @ pose("revolute", Axis(second), theta[1:])
        assert abs(np.dot(second, axis.direction)) < 1e-15
        assert_close(pose("universal", axis, theta), expected, rtol=1e-15)


def factor_pose(factor, theta):
    """Pose (4, 4) of a declared factor."""
    H, own = np.eye(4), theta[factor.start :]
    match factor.motion:
        case "rotation":
            H[:3, :3] = rotation_about(factor.axes[0], np.cos(own[0]), np.sin(own[0]))
        case "cos_sin":
            H[:3, :3] = rotation_about(factor.axes[0], own[0], own[1])
        case "translation":
            H[:3, 3] = np.transpose(factor.axes) @ own[: len(factor.axes)]
        case "quaternion":
            H[:3, :3] = quaternion_rotation(own[:4])
    return H


@each_kind
def test_the_pose_is_the_product_of_the_declared_factors(kind, rng):
    axis, theta = axis_of(kind, rng), random_theta(kind, rng)
    product = np.eye(4)
    for factor in KINDS[kind].factors(axis):
        product = product @ factor_pose(factor, theta)
    np.testing.assert_allclose(product, pose(kind, axis, theta), atol=1e-14)


@each_kind
def test_columns_of_the_subspace_are_constant_on_the_declared_side(kind, rng):
    axis, sides = axis_of(kind, rng), KINDS[kind].subspace_sides()
    seen = []
    for _ in range(3):
        theta = random_theta(kind, rng)
        S = columns(KINDS[kind].subspace(axis, theta)).real
        on_fixed_side = motion.motion_transform(pose(kind, axis, theta)) @ S
        seen.append(np.where(np.array(sides) == "fixed", on_fixed_side, S))
    assert len(sides) == KINDS[kind].nv
    np.testing.assert_allclose(seen[1:], [seen[0]] * 2, atol=1e-14)
