from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from tests.support.spatial import (
    ALL_ANGLES,
    AXES,
    DIGITS,
    EPS,
    SMALL_ANGLES,
    UP_TO_PI,
    assert_close,
    exact,
    mp_each,
    pin,
    random_rotations,
    rotation_vectors,
    to_float,
)

from linkwork.spatial import quat, so3, warmup


def unit(rng, *batch):
    q = rng.normal(size=(*batch, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def mp_exp(phi):
    angle = mp.sqrt(sum(x * x for x in phi))
    sinc = mp.sin(angle / 2) / angle if angle else mp.mpf(1) / 2
    return np.array([mp.cos(angle / 2), *(sinc * x for x in phi)], dtype=object)


def mp_log(q):
    w, v = (q[0], q[1:]) if q[0] >= 0 else (-q[0], -q[1:])
    length = mp.sqrt(sum(x * x for x in v))
    return v * (2 * mp.atan2(length, w) / length) if length else v


# --- algebra


def test_products_follow_hamilton():
    one, i, j, k = np.eye(4)
    assert np.array_equal(quat.multiply(i, j), k)
    assert np.array_equal(quat.multiply(j, k), i)
    assert np.array_equal(quat.multiply(k, i), j)
    assert np.array_equal(quat.multiply(j, i), -k)
    assert np.array_equal(quat.multiply(i, i), -one)


def test_products_of_quaternions_are_products_of_rotations(rng):
    a, b = unit(rng, 2, 200)
    product = quat.to_rotation(quat.multiply(a, b))
    assert abs(product - quat.to_rotation(a) @ quat.to_rotation(b)).max() <= 8 * EPS


@pytest.mark.peers
def test_products_agree_with_pinocchio(rng):
    for a, b in zip(unit(rng, 20), unit(rng, 20), strict=True):
        product = pin.Quaternion(*a) * pin.Quaternion(*b)  # w, x, y, z here; coeffs() is x, y, z, w
        assert_close(quat.multiply(a, b), np.roll(product.coeffs(), 1))


def test_conjugate_is_the_inverse(rng):
    q = unit(rng, 100)
    assert abs(quat.multiply(q, quat.conjugate(q)) - [1, 0, 0, 0]).max() <= 4 * EPS


def test_matrices_of_products(rng):
    a, b = rng.normal(size=(2, 50, 4))
    product = quat.multiply(a, b)
    assert_close((quat.left_matrix(a) @ b[..., None])[..., 0], product)
    assert_close((quat.right_matrix(b) @ a[..., None])[..., 0], product)


def test_normalize_keeps_the_direction(rng):
    q = rng.normal(size=(50, 4)) * 10.0 ** rng.integers(-100, 100, size=(50, 1))
    n = quat.normalize(q)
    assert_close(np.linalg.norm(n, axis=-1), np.ones(50))
    assert_close(n * np.linalg.norm(q, axis=-1, keepdims=True), q, axes=1)


@pytest.mark.parametrize("size", [1e200, 1.7e308, 1e-200, 5e-324])
@pytest.mark.parametrize("is_compiled", [False, True])
def test_normalize_accepts_any_magnitude(size, is_compiled):
    if is_compiled:
        warmup(quat.normalize)
    assert_close(quat.normalize(np.full(4, -size)), np.full(4, -0.5))
    np.testing.assert_array_equal(quat.normalize([0.0, size, 0.0, 0.0]), [0.0, 1.0, 0.0, 0.0])


# --- exp and log


def test_exp_is_exact_at_every_angle():
    phi = rotation_vectors(ALL_ANGLES)
    scale = np.maximum(1.0, np.linalg.norm(phi, axis=-1))[:, None]
    assert (abs(quat.exp(phi) - mp_each(mp_exp, phi)) / scale).max() <= 2 * EPS


def test_exp_keeps_every_digit_of_a_tiny_rotation():
    phi = rotation_vectors(SMALL_ANGLES[2:])
    assert_close(quat.exp(phi)[:, 1:], mp_each(mp_exp, phi)[:, 1:], 2 * EPS, axes=1)


def test_exp_beyond_half_a_turn():
    assert quat.exp([4.0, 0, 0])[0] < 0.0
    assert abs(quat.exp([2 * np.pi, 0, 0]) - [-1, 0, 0, 0]).max() <= EPS
    assert abs(quat.exp([0, 4 * np.pi, 0]) - [1, 0, 0, 0]).max() <= 3 * EPS


def test_log_agrees_with_exact_arithmetic_at_every_angle():
    q = quat.exp(rotation_vectors(ALL_ANGLES))
    assert_close(quat.log(q), mp_each(mp_log, q), 4 * EPS, axes=1)


def test_log_inverts_exp_up_to_half_a_turn():
    phi = rotation_vectors([a for a in UP_TO_PI if a == 0.0 or 1e-300 <= a < np.pi])
    assert_close(quat.log(quat.exp(phi)), phi, 4 * EPS, axes=1)


def test_log_is_the_same_for_both_signs():
    q = quat.exp(rotation_vectors([a for a in UP_TO_PI if a < np.pi - 1e-14]))
    assert np.array_equal(quat.log(-q), quat.log(q))


def test_log_is_the_same_for_every_multiple(rng):
    q = unit(rng, 100)
    for factor in (1e-100, 0.3, 2.0, 1e100):
        assert_close(quat.log(factor * q), quat.log(q), 4 * EPS, axes=1)


def test_log_of_half_a_turn_is_along_the_vector_part():
    assert_close(quat.log([0, 0.6, 0, -0.8]), np.pi * np.array([0.6, 0, -0.8]))
    assert_close(quat.log([-0.0, 0.6, 0, -0.8]), np.pi * np.array([0.6, 0, -0.8]))


def test_log_of_one_and_of_minus_one_is_exactly_zero():
    assert np.array_equal(quat.log([1, 0, 0, 0]), np.zeros(3))
    assert np.array_equal(abs(quat.log([-1, 0, 0, 0])), np.zeros(3))


def test_log_returns_the_shortest_rotation():
    assert_close(quat.log(quat.exp([5.0, 0, 0])), np.array([5.0 - 2 * np.pi, 0, 0]))


# --- rotation matrices


def test_to_rotation_is_the_polynomial_off_the_unit_sphere_too(rng):
    for q in rng.normal(size=(20, 4)):
        K = so3.wedge(q[1:])
        assert_close(quat.to_rotation(q), np.eye(3) + 2 * q[0] * K + 2 * K @ K, 4 * EPS)


@pytest.mark.peers
def test_to_rotation_agrees_with_pinocchio(rng):
    for q in unit(rng, 20):
        assert_close(quat.to_rotation(q), pin.Quaternion(*q).matrix())


def test_rotate_is_the_product_with_the_matrix(rng):
    q, v = rng.normal(size=(50, 4)), rng.normal(size=(50, 3))
    assert_close(quat.rotate(q, v), (quat.to_rotation(q) @ v[..., None])[..., 0], 4 * EPS)


def test_from_rotation_inverts_to_rotation():
    q = quat.exp(rotation_vectors([a for a in UP_TO_PI if a < np.pi - 1e-14]))
    assert abs(quat.from_rotation(quat.to_rotation(q)) - q).max() <= 4 * EPS


def test_to_rotation_inverts_from_rotation(rng):
    R = np.concatenate([random_rotations(rng, 500), so3.exp(rotation_vectors(ALL_ANGLES))])
    assert abs(quat.to_rotation(quat.from_rotation(R)) - R).max() <= 6 * EPS


def test_from_rotation_returns_unit_quaternions_with_positive_w(rng):
    q = quat.from_rotation(np.round(random_rotations(rng, 500), 3))
    assert_close(np.linalg.norm(q, axis=-1), np.ones(500))
    assert (q[:, 0] >= 0.0).all()


@pytest.mark.parametrize("angle", [1e-300, 1e-160, 1e-9, 1e-4])
def test_from_rotation_keeps_every_digit_of_a_tiny_rotation(angle):
    phi = angle * AXES[4]
    assert_close(quat.from_rotation(so3.exp(phi))[1:], 0.5 * phi, max(3 * EPS, angle**2))


@pytest.mark.parametrize("axis", AXES.tolist())
def test_from_rotation_is_exact_near_half_a_turn(axis):
    """Each of the four components is the largest for one of the axes."""
    for angle in (np.pi - 1e-3, np.pi - 1e-9, np.pi - 1e-15):
        phi = angle * np.array(axis)
        with mp.workdps(DIGITS):
            R = to_float(quat.to_rotation(mp_exp(exact(phi))))
            expected = to_float(mp_exp(exact(phi)))
        assert abs(quat.from_rotation(R) - expected).max() <= 2 * EPS


# --- rates


def test_rate_matrix_is_half_the_product_with_the_body_velocity(rng):
    q, omega = unit(rng, 50), rng.normal(size=(50, 3))
    pure = np.concatenate([np.zeros((50, 1)), omega], axis=-1)
    rate = (quat.rate_matrix(q) @ omega[..., None])[..., 0]
    assert_close(rate, 0.5 * quat.multiply(q, pure))


def test_rate_matrix_is_the_derivative_along_a_body_velocity(rng):
    """q exp(h omega) = q + h E omega + O(h^2), with h = 1e-25 in 60 digits."""
    q, omega = unit(rng), rng.normal(size=3)
    with mp.workdps(DIGITS):
        h = mp.mpf(10) ** -25
        ahead = quat.multiply(exact(q), mp_exp(h * exact(omega)))
        rate = to_float((ahead - exact(q)) / h)
    assert_close(quat.rate_matrix(q) @ omega, rate)


def test_rate_inverse_inverts_rate_matrix(rng):
    q = unit(rng, 50)
    assert abs(quat.rate_inverse(q) @ quat.rate_matrix(q) - np.eye(3)).max() <= 4 * EPS


def test_rates_are_tangent_to_the_unit_sphere(rng):
    q = unit(rng, 50)
    assert abs(q[:, None, :] @ quat.rate_matrix(q)).max() <= 2 * EPS
