from __future__ import annotations

import numpy as np
import pytest
from tests.support.spatial import assert_close, idyn, pin, random_poses

from linkwork.spatial import motion, se3


def times(matrix, vector):
    return (matrix @ vector[..., None])[..., 0]


def idyn_transform(H):
    rotation = idyn.Rotation(*H[:3, :3].ravel())
    return idyn.Transform(rotation, idyn.Position(*H[:3, 3]))


@pytest.fixture
def a_H_b(rng):
    return random_poses(rng, 20)


@pytest.fixture
def b_v(rng):
    return rng.normal(size=(20, 6))


def test_the_linear_part_comes_first():
    linear, angular = motion.split([1, 2, 3, 4, 5, 6])
    assert np.array_equal(linear, [1, 2, 3])
    assert np.array_equal(angular, [4, 5, 6])
    assert np.array_equal(motion.join(linear, angular), [1, 2, 3, 4, 5, 6])


def test_parts_of_different_batches_are_broadcast(rng):
    v = motion.join(rng.normal(size=(4, 1, 3)), rng.normal(size=(5, 3)))
    assert v.shape == (4, 5, 6)


def test_a_lever_arm_gives_linear_velocity():
    """A body that rotates about z at b moves sideways at the origin of a."""
    a_H_b = se3.pose(np.eye(3), [1, 0, 0])
    spin = [0, 0, 0, 0, 0, 2]
    assert np.array_equal(motion.transform_motion(a_H_b, spin), [0, -2, 0, 0, 0, 2])


def test_a_lever_arm_gives_moment():
    """A force along y at b, one meter along x, has a moment about z at the origin of a."""
    a_H_b = se3.pose(np.eye(3), [1, 0, 0])
    push = [0, 3, 0, 0, 0, 0]
    assert np.array_equal(motion.transform_force(a_H_b, push), [0, 3, 0, 0, 0, 3])


def test_matrices_agree_with_the_functions(a_H_b, b_v):
    X, Xf = motion.motion_transform(a_H_b), motion.force_transform(a_H_b)
    assert_close(motion.transform_motion(a_H_b, b_v), times(X, b_v), 1e-15 * 2)
    assert_close(motion.transform_force(a_H_b, b_v), times(Xf, b_v), 1e-15 * 2)


def test_inverse_transforms_invert(a_H_b, b_v):
    a_v = motion.transform_motion(a_H_b, b_v)
    a_f = motion.transform_force(a_H_b, b_v)
    assert_close(motion.inverse_transform_motion(a_H_b, a_v), b_v, 4e-15)
    assert_close(motion.inverse_transform_force(a_H_b, a_f), b_v, 4e-15)


def test_inverse_transforms_are_transforms_by_the_inverse_pose(a_H_b, b_v):
    b_H_a = se3.inverse(a_H_b)
    assert_close(
        motion.inverse_transform_motion(a_H_b, b_v), motion.transform_motion(b_H_a, b_v), 4e-15
    )
    assert_close(
        motion.inverse_transform_force(a_H_b, b_v), motion.transform_force(b_H_a, b_v), 4e-15
    )


def test_forces_move_by_the_inverse_transpose(a_H_b):
    X, Xf = motion.motion_transform(a_H_b), motion.force_transform(a_H_b)
    assert abs(np.swapaxes(Xf, -1, -2) @ X - np.eye(6)).max() <= 1e-14


def test_power_is_the_same_in_every_frame(a_H_b, b_v, rng):
    b_f = rng.normal(size=(20, 6))
    a_v, a_f = motion.transform_motion(a_H_b, b_v), motion.transform_force(a_H_b, b_f)
    assert_close((a_f * a_v).sum(-1), (b_f * b_v).sum(-1), 1e-14)


def test_transforms_chain_by_adjacency(rng):
    a_H_b, b_H_c = random_poses(rng, 2, 10)
    for transform in (motion.motion_transform, motion.force_transform):
        assert_close(transform(a_H_b @ b_H_c), transform(a_H_b) @ transform(b_H_c), 4e-15)


@pytest.mark.peers
def test_transforms_agree_with_pinocchio(a_H_b, b_v):
    for H, v in zip(a_H_b, b_v, strict=True):
        M = pin.SE3(H)
        assert_close(motion.motion_transform(H), M.toActionMatrix(), 1e-15)
        assert_close(motion.force_transform(H), M.toDualActionMatrix(), 1e-15)
        assert_close(motion.transform_motion(H, v), M.act(pin.Motion(v)).vector, 2e-15)
        assert_close(motion.transform_force(H, v), M.act(pin.Force(v)).vector, 2e-15)
        assert_close(motion.inverse_transform_motion(H, v), M.actInv(pin.Motion(v)).vector, 2e-15)
        assert_close(motion.inverse_transform_force(H, v), M.actInv(pin.Force(v)).vector, 2e-15)


@pytest.mark.peers
def test_transforms_agree_with_idyntree(a_H_b):
    for H in a_H_b:
        T = idyn_transform(H)
        assert_close(motion.motion_transform(H), T.asAdjointTransform().toNumPy(), 1e-15)
        assert_close(motion.force_transform(H), T.asAdjointTransformWrench().toNumPy(), 1e-15)


@pytest.mark.peers
def test_cross_products_agree_with_pinocchio(b_v, rng):
    for v, u in zip(b_v, rng.normal(size=(20, 6)), strict=True):
        V = pin.Motion(v)
        assert_close(motion.motion_cross(v, u), V.cross(pin.Motion(u)).vector, 2e-15)
        assert_close(motion.force_cross(v, u), V.cross(pin.Force(u)).vector, 2e-15)


def test_matrices_of_the_cross_products(b_v, rng):
    u = rng.normal(size=(20, 6))
    assert_close(times(motion.motion_cross_matrix(b_v), u), motion.motion_cross(b_v, u), 2e-15)
    assert_close(times(motion.force_cross_matrix(b_v), u), motion.force_cross(b_v, u), 2e-15)
    transposed = -np.swapaxes(motion.motion_cross_matrix(b_v), -1, -2)
    assert np.array_equal(motion.force_cross_matrix(b_v), transposed)


def test_a_motion_crossed_with_itself_is_zero(b_v):
    assert abs(motion.motion_cross(b_v, b_v)).max() <= 1e-15


def test_motion_cross_obeys_jacobi(rng):
    a, b, c = rng.normal(size=(3, 20, 6))
    x = motion.motion_cross
    assert abs(x(a, x(b, c)) + x(b, x(c, a)) + x(c, x(a, b))).max() <= 5e-14


def test_cross_product_is_the_rate_of_the_transform(rng):
    """d/dt exp(t v) X u at t = 0 is v x u."""
    v, u, h = rng.normal(size=6), rng.normal(size=6), 1e-5
    for transform, product in (
        (motion.transform_motion, motion.motion_cross),
        (motion.transform_force, motion.force_cross),
    ):
        rate = (transform(se3.exp(h * v), u) - transform(se3.exp(-h * v), u)) / (2 * h)
        assert_close(rate, product(v, u), 1e-8)
