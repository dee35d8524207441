from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from tests.support.spatial import (
    ALL_ANGLES,
    AXES,
    BATCHES,
    DIGITS,
    EPS,
    UP_TO_PI,
    adjoint6,
    assert_close,
    exact,
    mp_each,
    mp_inverse,
    pin,
    random_poses,
    rotation_vectors,
    series,
    slope_along,
    to_float,
    wedge6,
)

from linkwork.spatial import motion, se3, so3

AXES_HERE = AXES[[2, 4]]


def twists(angles, axes=AXES_HERE):
    """Twists [v; w] with every angle, with v of every direction."""
    w = rotation_vectors(angles, axes)
    v = np.array([[0.3, -1.2, 0.7], [-2.0, 0.1, 0.4]])[np.arange(len(w)) % 2]
    return np.concatenate([v, w], axis=-1)


def mp_exp(xi):
    return series(wedge6(xi), 0)


def mp_left_jacobian(xi):
    return series(adjoint6(xi), 1)


def mp_left_jacobian_inverse(xi):
    return mp_inverse(mp_left_jacobian(xi))


def mp_pose_inverse(H):
    out = np.array(np.eye(4), dtype=object)
    out[:3, :3] = H[:3, :3].T
    out[:3, 3] = -(H[:3, :3].T @ H[:3, 3])
    return out


# --- poses


def test_a_pose_has_its_rotation_and_position(rng):
    H = random_poses(rng, 4)
    assert np.array_equal(se3.pose(H[:, :3, :3], H[:, :3, 3]), H)
    assert np.array_equal(se3.rotation_of(H), H[:, :3, :3])
    assert np.array_equal(se3.position_of(H), H[:, :3, 3])


def test_one_rotation_is_broadcast_to_many_positions(rng):
    H = se3.pose(np.eye(3), rng.normal(size=(4, 5, 3)))
    assert H.shape == (4, 5, 4, 4)
    assert np.array_equal(H[..., 3, :], np.broadcast_to([0, 0, 0, 1.0], (4, 5, 4)))


@pytest.mark.parametrize("batch", BATCHES)
def test_identity_is_a_fresh_array_of_any_batch(batch):
    H = se3.identity(*batch)
    assert np.array_equal(H, np.broadcast_to(np.eye(4), (*batch, 4, 4)))
    H[...] = 0.0
    assert np.array_equal(se3.identity(), np.eye(4))


def test_inverse_inverts_a_pose(rng):
    H = random_poses(rng, 100)
    assert abs(se3.inverse(H) @ H - np.eye(4)).max() <= 1e-14
    assert abs(H @ se3.inverse(H) - np.eye(4)).max() <= 1e-14


def test_a_point_is_rotated_then_moved():
    a_H_b = se3.from_xyz_rpy([1, 2, 3], [0, 0, np.pi / 2])
    assert_close(se3.transform_point(a_H_b, [1, 0, 0]), np.array([1.0, 3.0, 3.0]))


def test_points_chain_by_adjacency(rng):
    a_H_b, b_H_c = random_poses(rng, 2)
    point = rng.normal(size=3)
    stepwise = se3.transform_point(a_H_b, se3.transform_point(b_H_c, point))
    assert_close(se3.transform_point(a_H_b @ b_H_c, point), stepwise, 1e-15 * 4)


@pytest.mark.peers
def test_from_xyz_rpy_agrees_with_pinocchio(rng):
    for xyz, rpy in rng.uniform(-3, 3, size=(20, 2, 3)):
        expected = pin.SE3(pin.rpy.rpyToMatrix(rpy), xyz).homogeneous
        assert_close(se3.from_xyz_rpy(xyz, rpy), expected, 4 * EPS)


# --- wedge and vee


def test_wedge_has_the_linear_part_in_the_last_column():
    expected = [[0, -6, 5, 1], [6, 0, -4, 2], [-5, 4, 0, 3], [0, 0, 0, 0]]
    assert np.array_equal(se3.wedge([1, 2, 3, 4, 5, 6]), expected)


def test_vee_inverts_wedge_exactly(rng):
    xi = rng.normal(size=(50, 6))
    assert np.array_equal(se3.vee(se3.wedge(xi)), xi)


# --- exp and log


def test_exp_agrees_with_the_power_series_at_every_angle():
    xi = twists(ALL_ANGLES)
    scale = np.maximum(1.0, np.linalg.norm(xi[:, 3:], axis=-1))[:, None, None]
    error = abs(se3.exp(xi) - mp_each(mp_exp, xi)) / scale
    assert error.max() <= 6 * EPS


def test_exp_without_rotation_is_a_translation():
    expected = np.eye(4)
    expected[:3, 3] = [1, 2, 3]
    assert np.array_equal(se3.exp([1, 2, 3, 0, 0, 0]), expected)


def test_exp_of_a_quarter_turn_follows_the_circle():
    """Moving along x while rotating about z: a circle of radius 1."""
    H = se3.exp([np.pi / 2, 0, 0, 0, 0, np.pi / 2])
    assert_close(H[:3, 3], np.array([1.0, 1.0, 0.0]))


def test_log_inverts_exp_up_to_half_a_turn():
    xi = twists([a for a in UP_TO_PI if a <= np.pi - 1e-12])
    assert_close(se3.log(se3.exp(xi)), xi, 10 * EPS, axes=1)


def test_log_keeps_every_digit_of_a_tiny_motion():
    xi = np.array([0.3, -1.2, 0.7, -0.48, 0.64, 0.6])
    for size in (1e-300, 1e-160, 1e-100, 1e-9):
        assert_close(se3.log(se3.exp(size * xi)), size * xi, 4 * EPS)


def test_exp_inverts_log(rng):
    H = np.concatenate([random_poses(rng, 500), se3.exp(twists(ALL_ANGLES))])
    assert abs(se3.exp(se3.log(H)) - H).max() <= 1e-14


@pytest.mark.peers
def test_exp_and_log_agree_with_pinocchio(rng):
    for xi in rng.normal(size=(50, 6)):
        H = se3.exp(xi)
        assert_close(H, pin.exp6(xi).homogeneous, 1e-14)
        assert_close(se3.log(H), pin.log6(pin.SE3(H)).vector, 1e-12)


# --- Jacobians


def test_left_jacobian_agrees_with_the_power_series_at_every_angle():
    xi = twists(ALL_ANGLES)
    scale = np.maximum(1.0, np.linalg.norm(xi[:, 3:], axis=-1))[:, None, None]
    error = abs(se3.left_jacobian(xi) - mp_each(mp_left_jacobian, xi)) / scale
    assert error.max() <= 8 * EPS


def test_inverse_of_the_left_jacobian_is_exact():
    xi = twists([*UP_TO_PI, 4.0, 5.0])
    expected = mp_each(mp_left_jacobian_inverse, xi)
    assert_close(se3.left_jacobian_inverse(xi), expected, 20 * EPS, axes=2)


def test_inverse_jacobians_invert_jacobians():
    xi = twists([a for a in ALL_ANGLES if a < 5.5])
    left = se3.left_jacobian(xi) @ se3.left_jacobian_inverse(xi)
    right = se3.right_jacobian(xi) @ se3.right_jacobian_inverse(xi)
    assert abs(left - np.eye(6)).max() <= 1e-13
    assert abs(right - np.eye(6)).max() <= 1e-13


def test_left_jacobian_is_the_right_one_in_the_fixed_frame():
    xi = twists(ALL_ANGLES)
    moved = motion.motion_transform(se3.exp(xi)) @ se3.right_jacobian(xi)
    assert abs(moved - se3.left_jacobian(xi)).max() <= 1e-13


@pytest.mark.peers
def test_right_jacobian_agrees_with_pinocchio(rng):
    for xi in rng.normal(size=(50, 6)):
        assert_close(se3.right_jacobian(xi), pin.Jexp6(pin.Motion(xi)), 1e-12)
        H = pin.exp6(xi)
        assert_close(se3.right_jacobian_inverse(se3.log(H.homogeneous)), pin.Jlog6(H), 1e-12)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 0.5, 2.9, 3.1, np.pi, 4.0, 2 * np.pi])
def test_jacobians_are_the_derivatives_of_exp(angle):
    """exp(xi + h d) exp(xi)^-1 = 1 + h (J_l d)^ + O(h^2), with h = 1e-25 in 60 digits."""
    xi = twists([angle])[1]
    d = np.array([0.3, -0.7, 0.2, 0.5, 0.1, -0.4])
    with mp.workdps(DIGITS):
        h = mp.mpf(10) ** -25
        ahead, here = mp_exp(exact(xi) + h * exact(d)), mp_exp(exact(xi))
        left = to_float((ahead @ mp_pose_inverse(here) - np.eye(4)) / h)
        right = to_float((mp_pose_inverse(here) @ ahead - np.eye(4)) / h)
    assert abs(se3.left_jacobian(xi) @ d - se3.vee(left)).max() <= 1e-14
    assert abs(se3.right_jacobian(xi) @ d - se3.vee(right)).max() <= 1e-14


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.03, 0.04, 0.5, 2.9, 3.1])
def test_the_formulas_are_differentiable_at_zero(angle):
    xi, d = twists([angle])[1], np.array([0.3, -0.7, 0.2, 0.5, 0.1, -0.4])
    rate = se3.inverse(se3.exp(xi)) @ slope_along(se3.exp, xi, d)
    assert abs(se3.vee(rate) - se3.right_jacobian(xi) @ d).max() <= 1e-14
    assert abs(slope_along(lambda x: se3.log(se3.exp(x)), xi, d) - d).max() <= 1e-13


def test_the_rotation_block_is_the_jacobian_of_the_rotation():
    xi = twists(ALL_ANGLES)
    J = se3.left_jacobian(xi)
    assert_close(J[:, 3:, 3:], so3.left_jacobian(xi[:, 3:]), EPS)
    assert np.array_equal(J[:, :3, :3], J[:, 3:, 3:])
    assert not J[:, 3:, :3].any()
