from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.spatial import (
    ALL_ANGLES,
    AXES,
    BEYOND_PI,
    DIGITS,
    EPS,
    NEAR_PI,
    SMALL_ANGLES,
    UP_TO_PI,
    assert_close,
    exact,
    mp_each,
    mp_inverse,
    pin,
    random_rotations,
    rotation_vectors,
    series,
    slope_along,
    to_float,
    wedge3,
)

from linkwork.spatial import so3

angles = st.floats(-10.0, 10.0)


def mp_exp(phi):
    return series(wedge3(phi), 0)


def mp_left_jacobian(phi):
    return series(wedge3(phi), 1)


def mp_left_jacobian_inverse(phi):
    return mp_inverse(mp_left_jacobian(phi))


def mp_rotation(axis, angle):
    """Exact elementary rotations about 0, 1, 2 = x, y, z."""
    c, s, out = mp.cos(angle), mp.sin(angle), np.array(np.eye(3), dtype=object)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    out[i, i] = out[j, j] = c
    out[i, j], out[j, i] = -s, s
    return out


# --- wedge and vee


def test_wedge_is_the_matrix_of_the_cross_product(rng):
    a, b = rng.normal(size=(2, 20, 3))
    assert_close((so3.wedge(a) @ b[..., None])[..., 0], np.cross(a, b))


def test_wedge_has_these_signs():
    assert np.array_equal(so3.wedge([1, 2, 3]), [[0, -3, 2], [3, 0, -1], [-2, 1, 0]])


def test_vee_inverts_wedge_exactly(rng):
    v = rng.normal(size=(50, 3)) * 10.0 ** rng.integers(-300, 300, size=(50, 1))
    assert np.array_equal(so3.vee(so3.wedge(v)), v)


def test_vee_ignores_a_symmetric_part(rng):
    v, m = rng.normal(size=3), rng.normal(size=(3, 3))
    assert_close(so3.vee(so3.wedge(v) + m + m.T), v, 1e-15 * 10)


# --- exp and log


def test_exp_agrees_with_the_power_series_at_every_angle():
    phi = rotation_vectors(ALL_ANGLES)
    # the angle itself has a rounding error: an angle of 20 is known to 20 eps
    scale = np.maximum(1.0, np.linalg.norm(phi, axis=-1))[:, None, None]
    error = abs(so3.exp(phi) - mp_each(mp_exp, phi)) / scale
    assert error.max() <= 3 * EPS


@pytest.mark.parametrize("angle", [a for a in SMALL_ANGLES if a >= 1e-300])
def test_exp_keeps_every_digit_of_a_tiny_rotation(angle):
    phi = angle * np.array([0.48, 0.6, -0.64])
    assert_close(so3.vee(so3.exp(phi)), phi, max(angle**2, 2 * EPS))


def test_exp_of_zero_is_exactly_the_identity():
    assert np.array_equal(so3.exp(np.zeros(3)), np.eye(3))


def test_exp_of_a_quarter_turn_about_z_carries_x_to_y():
    assert_close(so3.exp([0, 0, np.pi / 2]) @ [1, 0, 0], np.array([0, 1, 0]), EPS)


def test_exp_of_a_full_turn_is_the_identity():
    phi = rotation_vectors([2 * np.pi])
    assert abs(so3.exp(phi) - np.eye(3)).max() < 1e-15 * 2


@pytest.mark.peers
def test_exp_agrees_with_pinocchio(rng):
    for phi in rng.normal(size=(50, 3)):
        assert_close(so3.exp(phi), pin.exp3(phi), 1e-15 * 2)


@pytest.mark.peers
def test_log_agrees_with_pinocchio(rng):
    for R in random_rotations(rng, 50):
        assert_close(so3.log(R), pin.log3(R), 1e-12)


def test_log_inverts_exp_up_to_half_a_turn():
    phi = rotation_vectors([a for a in UP_TO_PI if a == 0.0 or 1e-300 <= a <= np.pi - 1e-12])
    assert_close(so3.log(so3.exp(phi)), phi, 6 * EPS, axes=1)


def test_exp_inverts_log_at_every_angle():
    R = so3.exp(rotation_vectors(ALL_ANGLES))
    assert abs(so3.exp(so3.log(R)) - R).max() <= 6 * EPS


def test_exp_inverts_log_of_random_rotations(rng):
    R = random_rotations(rng, 1000)
    assert abs(so3.exp(so3.log(R)) - R).max() <= 8 * EPS


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("axis", AXES[3:].tolist())
def test_log_is_exact_one_nanoradian_from_pi(gap, axis):
    """The rotation is rounded from 60 digits, so the error is only that of `log`."""
    phi = (np.pi - gap) * np.array(axis)
    assert_close(so3.log(mp_each(mp_exp, [phi])[0]), phi, 3 * EPS)


@pytest.mark.parametrize("angle", [1e-300, 1e-160, 1e-100, 1e-9, 1e-8, 1e-4, 0.0632])
def test_log_is_exact_at_tiny_angles(angle):
    phi = angle * np.array([0.48, 0.6, -0.64])
    assert_close(so3.log(mp_each(mp_exp, [phi])[0]), phi, 3 * EPS)


@pytest.mark.parametrize("axis", AXES.tolist())
def test_log_of_exactly_half_a_turn_is_pi_about_the_axis_or_its_opposite(axis):
    a = np.array(axis) / np.linalg.norm(axis)
    phi = so3.log(2.0 * np.outer(a, a) - np.eye(3))
    assert_close(abs(phi), abs(np.pi * a), 4 * EPS)
    assert_close(np.outer(phi, phi), np.pi**2 * np.outer(a, a), 8 * EPS)


def test_log_of_diagonal_half_turns_is_along_plus_the_axis():
    for i in range(3):
        half_turn = 2.0 * np.diag(np.eye(3)[i]) - np.eye(3)
        assert np.array_equal(so3.log(half_turn), np.pi * np.eye(3)[i])


def test_log_never_turns_by_more_than_half_a_turn():
    phi = so3.log(so3.exp(rotation_vectors(ALL_ANGLES)))
    assert np.linalg.norm(phi, axis=-1).max() <= np.pi * (1 + 2 * EPS)


def test_log_of_the_identity_is_exactly_zero():
    assert np.array_equal(so3.log(np.eye(3)), np.zeros(3))


# --- elementary rotations


@pytest.mark.parametrize(("function", "axis"), [(so3.rot_x, 0), (so3.rot_y, 1), (so3.rot_z, 2)])
def test_elementary_rotations_turn_counter_clockwise(function, axis):
    for angle in [0.0, 1e-9, 0.3, np.pi / 2, np.pi, -2.0, 100.0]:
        with mp.workdps(DIGITS):
            expected = to_float(mp_rotation(axis, mp.mpf(angle)))
        assert_close(function(angle), expected, EPS)
        assert np.array_equal(so3.about(np.eye(3)[axis], angle), function(angle))
        assert_close(so3.about(-np.eye(3)[axis], -angle), function(angle), 0.0)


def test_about_an_axis_of_the_frame_keeps_zeros_and_ones():
    R = so3.about([0, 0, 1], 0.1)
    assert R[2, 2] == 1.0
    assert not R[[0, 1, 2, 2], [2, 2, 0, 1]].any()


def test_about_agrees_with_exp():
    axes = AXES / np.linalg.norm(AXES, axis=-1, keepdims=True)
    for angle in ALL_ANGLES:
        assert abs(so3.about(axes, angle) - so3.exp(angle * axes)).max() <= max(1, angle) * 4 * EPS


# --- rpy


@settings(deadline=None)  # how long it takes is no claim
@given(angles, angles, angles)
def test_rpy_is_roll_then_pitch_then_yaw_about_fixed_axes(roll, pitch, yaw):
    R = so3.rot_z(yaw) @ so3.rot_y(pitch) @ so3.rot_x(roll)
    assert abs(so3.from_rpy([roll, pitch, yaw]) - R).max() <= 2 * EPS


@pytest.mark.peers
def test_from_rpy_agrees_with_pinocchio(rng):
    for rpy in rng.uniform(-3, 3, size=(50, 3)):
        assert_close(so3.from_rpy(rpy), pin.rpy.rpyToMatrix(rpy), 4 * EPS)


def test_to_rpy_inverts_from_rpy_away_from_gimbal_lock(rng):
    rpy = rng.uniform([-3.1, -1.5, -3.1], [3.1, 1.5, 3.1], size=(500, 3))
    assert abs(so3.to_rpy(so3.from_rpy(rpy)) - rpy).max() <= 1e-13


GIMBAL = [s * (np.pi / 2 - d) for s in (1, -1) for d in (0, 1e-16, 1e-15, 1e-12, 1e-9, 1e-8, 1e-4)]


@pytest.mark.parametrize("pitch", [*GIMBAL, 0.0, 1.0])
def test_to_rpy_reconstructs_the_rotation_even_at_gimbal_lock(pitch):
    r, y = np.meshgrid([0.0, 1e-9, 0.7, np.pi / 2, 3.0, np.pi, -2.0], [0.0, 1e-9, -1.2, np.pi, 2.9])
    rpy = np.stack([r, np.full_like(r, pitch), y], axis=-1)
    R = so3.from_rpy(rpy)
    assert abs(so3.from_rpy(so3.to_rpy(R)) - R).max() <= 4 * EPS


def test_to_rpy_reconstructs_random_rotations(rng):
    R = random_rotations(rng, 2000)
    assert abs(so3.from_rpy(so3.to_rpy(R)) - R).max() <= 6 * EPS


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_to_rpy_at_exact_gimbal_lock_has_no_yaw(zero):
    R = np.array([[zero, 0.0, 1.0], [zero, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    assert_close(so3.to_rpy(R), np.array([0.0, np.pi / 2, 0.0]), EPS)


def test_pitch_stays_within_a_quarter_turn(rng):
    rpy = so3.to_rpy(random_rotations(rng, 500))
    assert abs(rpy[:, 1]).max() <= np.pi / 2


# --- Jacobians


def test_left_jacobian_agrees_with_the_power_series_at_every_angle():
    phi = rotation_vectors(ALL_ANGLES)
    scale = np.maximum(1.0, np.linalg.norm(phi, axis=-1))[:, None, None]
    error = abs(so3.left_jacobian(phi) - mp_each(mp_left_jacobian, phi)) / scale
    assert error.max() <= 4 * EPS


@pytest.mark.parametrize("angle", UP_TO_PI + [a for a in BEYOND_PI if a < 6.1])
def test_inverse_of_the_left_jacobian_is_exact(angle):
    phi = rotation_vectors([angle])
    expected = mp_each(mp_left_jacobian_inverse, phi)
    assert_close(so3.left_jacobian_inverse(phi), expected, (8 if angle < 5.0 else 20) * EPS)


def test_inverse_jacobians_invert_jacobians():
    phi = rotation_vectors([a for a in ALL_ANGLES if a < 6.1])
    left = so3.left_jacobian(phi) @ so3.left_jacobian_inverse(phi)
    right = so3.right_jacobian(phi) @ so3.right_jacobian_inverse(phi)
    assert abs(left - np.eye(3)).max() <= 1e-14
    assert abs(right - np.eye(3)).max() <= 1e-14


def test_right_jacobian_is_the_left_one_of_the_opposite_rotation():
    """To rounding: faster code, which rounds differently, may take over at any moment."""
    phi = rotation_vectors([a for a in ALL_ANGLES if a < 6.1])
    assert abs(so3.right_jacobian(phi) - so3.left_jacobian(-phi)).max() <= 1e-15
    inverses = so3.right_jacobian_inverse(phi), so3.left_jacobian_inverse(-phi)
    np.testing.assert_allclose(*inverses, rtol=1e-12, atol=1e-14)


def test_left_jacobian_is_the_rotation_times_the_right_jacobian():
    phi = rotation_vectors(ALL_ANGLES)
    assert abs(so3.exp(phi) @ so3.right_jacobian(phi) - so3.left_jacobian(phi)).max() <= 1e-14


@pytest.mark.peers
def test_right_jacobian_agrees_with_pinocchio(rng):
    for phi in rng.normal(size=(50, 3)):
        assert_close(so3.right_jacobian(phi), pin.Jexp3(phi), 1e-13)
        R = pin.exp3(phi)
        assert_close(so3.right_jacobian_inverse(so3.log(R)), pin.Jlog3(R), 1e-12)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 0.5, 2.9, 3.1, np.pi, 4.0, 2 * np.pi])
def test_jacobians_are_the_derivatives_of_exp(angle):
    """exp(phi + h d) exp(-phi) = 1 + h (J_l d)^ + O(h^2), with h = 1e-25 in 60 digits."""
    phi, d = angle * AXES[4], np.array([0.3, -0.7, 0.2])
    with mp.workdps(DIGITS):
        h = mp.mpf(10) ** -25
        ahead, here = mp_exp(exact(phi) + h * exact(d)), mp_exp(exact(phi))
        left = to_float((ahead @ here.T - np.eye(3)) / h)
        right = to_float((here.T @ ahead - np.eye(3)) / h)
    assert abs(so3.left_jacobian(phi) @ d - so3.vee(left)).max() <= 1e-15 * 4
    assert abs(so3.right_jacobian(phi) @ d - so3.vee(right)).max() <= 1e-15 * 4


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.03, 0.04, 0.5, 2.9, 3.1])
def test_the_formulas_are_differentiable_at_zero(angle):
    """The derivatives of the formulas are the Jacobians: no branch has a kink."""
    phi, d = angle * AXES[4], np.array([0.3, -0.7, 0.2])
    rate = so3.exp(phi).T @ slope_along(so3.exp, phi, d)
    assert abs(so3.vee(rate) - so3.right_jacobian(phi) @ d).max() <= 1e-14
    assert abs(slope_along(lambda x: so3.log(so3.exp(x)), phi, d) - d).max() <= 1e-14


# --- project


def test_project_repairs_rounded_entries(rng):
    R = random_rotations(rng, 100)
    repaired = so3.project(np.round(R, 4))
    assert abs(repaired - R).max() < 1e-4
    assert abs(repaired @ np.swapaxes(repaired, -1, -2) - np.eye(3)).max() <= 1e-14


def test_project_leaves_a_rotation_unchanged():
    R = so3.exp(rotation_vectors(NEAR_PI + SMALL_ANGLES))
    assert abs(so3.project(R) - R).max() <= 1e-14


def test_project_never_returns_a_reflection(rng):
    R = so3.project(rng.normal(size=(200, 3, 3)))
    assert_close(np.linalg.det(R), np.ones(200), 1e-14)


def test_project_is_nearer_than_any_neighbor(rng):
    m = rng.normal(size=(3, 3))
    best = np.linalg.norm(so3.project(m) - m)
    for small in rng.normal(size=(50, 3)) * 0.1:
        assert np.linalg.norm(so3.exp(small) @ so3.project(m) - m) >= best
