from __future__ import annotations

import numpy as np
import pytest
from tests.support.spatial import assert_close, idyn, pin, random_poses, random_rotations

from linkwork.errors import ModelError
from linkwork.spatial import inertia, motion, se3


def random_tensors(rng, *batch, scale=1.0):
    """Tensors of random clouds of mass: physical by construction."""
    points = rng.normal(size=(*batch, 6, 3)) * np.sqrt(scale)
    moments = np.swapaxes(points, -1, -2) @ points
    trace = np.trace(moments, axis1=-2, axis2=-1)
    return trace[..., None, None] * np.eye(3) - moments


def random_params(rng, *batch):
    mass, com = rng.uniform(0.1, 5.0, size=batch), rng.normal(size=(*batch, 3))
    return inertia.from_com(mass, com, random_tensors(rng, *batch))


def turned(principal, rotations):
    return rotations @ (np.asarray(principal)[..., None] * np.swapaxes(rotations, -1, -2))


def symmetric(rng, *batch):
    m = rng.normal(size=(*batch, 3, 3))
    return m + np.swapaxes(m, -1, -2)


def pin_inertia(params):
    mass, com, tensor = inertia.to_com(params)
    return pin.Inertia(float(mass), com, tensor)


def idyn_inertia(params):
    vector, peer = idyn.Vector10(), idyn.SpatialInertia()
    for i, value in enumerate(params):
        vector.setVal(i, value)
    peer.fromVector(vector)
    return peer


# --- parameters, matrix, parts


def test_parameters_of_a_point_mass():
    params = inertia.from_com(2.0, [1, 2, 3], np.zeros((3, 3)))
    assert np.array_equal(params, [2, 2, 4, 6, 26, -4, -6, 20, -12, 10])


def test_the_mass_is_in_the_linear_block_of_the_matrix():
    M = inertia.matrix([2, 2, 4, 6, 26, -4, -6, 20, -12, 10])
    assert np.array_equal(M[:3, :3], 2 * np.eye(3))
    assert np.array_equal(M[3:, :3], [[0, -6, 4], [6, 0, -2], [-4, 2, 0]])
    assert np.array_equal(M[:3, 3:], -M[3:, :3])
    assert np.array_equal(M[3:, 3:], [[26, -4, -6], [-4, 20, -12], [-6, -12, 10]])


@pytest.mark.peers
def test_parameters_and_matrix_agree_with_pinocchio(rng):
    for mass, com, tensor in zip(
        rng.uniform(0.1, 5, size=20), rng.normal(size=(20, 3)), random_tensors(rng, 20), strict=True
    ):
        params, peer = inertia.from_com(mass, com, tensor), pin.Inertia(mass, com, tensor)
        assert_close(inertia.matrix(params), peer.matrix(), 1e-15)
        # Pinocchio's order is m, m c, Ixx, Ixy, Iyy, Ixz, Iyz, Izz
        order = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]
        assert_close(params[order], peer.toDynamicParameters(), 1e-15)


@pytest.mark.peers
def test_parameters_and_matrix_agree_with_idyntree(rng):
    for params in random_params(rng, 20):
        peer = idyn_inertia(params)
        assert_close(inertia.matrix(params), peer.asMatrix().toNumPy(), 1e-14)
        assert_close(params, peer.asVector().toNumPy(), 1e-14)


def test_to_com_inverts_from_com(rng):
    mass, com = rng.uniform(0.1, 5.0, size=100), rng.normal(size=(100, 3))
    tensor = random_tensors(rng, 100)
    mass_again, com_again, tensor_again = inertia.to_com(inertia.from_com(mass, com, tensor))
    assert np.array_equal(mass_again, mass)
    assert_close(com_again, com, 1e-15)
    assert_close(tensor_again, tensor, 1e-14)


def test_a_body_without_mass_has_its_com_at_zero():
    mass, com, tensor = inertia.to_com(inertia.from_com(0.0, [1, 2, 3], np.diag([1, 2, 3])))
    assert mass == 0.0
    assert np.array_equal(com, np.zeros(3))
    assert np.array_equal(tensor, np.diag([1, 2, 3]))


def test_from_matrix_inverts_matrix_exactly(rng):
    params = random_params(rng, 50)
    assert np.array_equal(inertia.from_matrix(inertia.matrix(params)), params)


def test_the_lower_triangle_is_not_read(rng):
    tensor = random_tensors(rng)
    other = np.triu(tensor) + np.tril(rng.normal(size=(3, 3)), -1)
    assert np.array_equal(
        inertia.from_com(1.0, np.zeros(3), other), inertia.from_com(1.0, np.zeros(3), tensor)
    )
    assert_close(inertia.principal_moments(other), inertia.principal_moments(tensor), 1e-14)


# --- physics


@pytest.mark.peers
def test_a_moved_body_agrees_with_pinocchio(rng):
    for H, params in zip(random_poses(rng, 20), random_params(rng, 20), strict=True):
        peer = pin.SE3(H).act(pin_inertia(params))
        assert_close(inertia.matrix(inertia.transform(H, params)), peer.matrix(), 1e-13)


@pytest.mark.peers
def test_a_moved_body_agrees_with_idyntree(rng):
    for H, params in zip(random_poses(rng, 20), random_params(rng, 20), strict=True):
        T = idyn.Transform(idyn.Rotation(*H[:3, :3].ravel()), idyn.Position(*H[:3, 3]))
        peer = T * idyn_inertia(params)
        moved = inertia.matrix(inertia.transform(H, params))
        assert_close(moved, peer.asMatrix().toNumPy(), 1e-13)


def test_a_transform_moves_the_com_and_rotates_the_tensor(rng):
    H, params = random_poses(rng, 50), random_params(rng, 50)
    mass, com, tensor = inertia.to_com(params)
    R = se3.rotation_of(H)
    expected = inertia.from_com(
        mass, se3.transform_point(H, com), R @ tensor @ np.swapaxes(R, -1, -2)
    )
    assert_close(inertia.transform(H, params), expected, 1e-14)


def test_a_transform_and_its_inverse_cancel(rng):
    H, params = random_poses(rng, 50), random_params(rng, 50)
    back = inertia.transform(se3.inverse(H), inertia.transform(H, params))
    assert_close(back, params, 1e-14)


def test_the_identity_transform_is_exact(rng):
    params = random_params(rng, 50)
    assert np.array_equal(inertia.transform(np.eye(4), params), params)


def test_kinetic_energy_does_not_depend_on_the_frame(rng):
    H, params, v = random_poses(rng, 50), random_params(rng, 50), rng.normal(size=(50, 6))
    there = inertia.kinetic_energy(inertia.transform(H, params), motion.transform_motion(H, v))
    assert_close(there, inertia.kinetic_energy(params, v), 1e-14)


def test_momentum_is_the_matrix_times_the_velocity(rng):
    params, v = random_params(rng, 50), rng.normal(size=(50, 6))
    expected = (inertia.matrix(params) @ v[..., None])[..., 0]
    assert_close(inertia.apply(params, v), expected, 1e-15)
    assert_close(inertia.kinetic_energy(params, v), 0.5 * (v * expected).sum(-1), 1e-15)


def test_two_bodies_in_one_frame_add(rng):
    """Two point masses on a rod: the sum has the mass, the com and the tensor of a dumbbell."""
    zero = np.zeros((3, 3))
    dumbbell = inertia.from_com(1.0, [1, 0, 0], zero) + inertia.from_com(3.0, [-1, 0, 0], zero)
    mass, com, tensor = inertia.to_com(dumbbell)
    assert mass == 4.0
    assert np.array_equal(com, [-0.5, 0, 0])
    assert np.array_equal(tensor, np.diag([0, 3, 3]))


@pytest.mark.peers
def test_sums_agree_with_pinocchio(rng):
    a, b = random_params(rng, 2)
    peer = pin_inertia(a) + pin_inertia(b)
    assert_close(inertia.matrix(a + b), peer.matrix(), 1e-14)


# --- second moments


def test_second_moments_are_half_the_trace_minus_the_tensor(rng):
    tensor = random_tensors(rng, 20)
    half = 0.5 * np.trace(tensor, axis1=-2, axis2=-1)[..., None, None]
    assert_close(inertia.second_moments(tensor), half * np.eye(3) - tensor, 1e-15)


def test_second_moments_of_a_cloud_of_points(rng):
    points, masses = rng.normal(size=(9, 3)), rng.uniform(0.1, 1.0, size=9)
    params = sum(
        inertia.from_com(m, p, np.zeros((3, 3))) for m, p in zip(masses, points, strict=True)
    )
    homogeneous = np.concatenate([points, np.ones((9, 1))], axis=-1)
    expected = (masses[:, None] * homogeneous).T @ homogeneous
    assert_close(inertia.pseudo_inertia(params), expected, 1e-15)


def test_from_second_moments_inverts_second_moments(rng):
    tensor = random_tensors(rng, 20)
    assert_close(inertia.from_second_moments(inertia.second_moments(tensor)), tensor, 1e-15)


def test_principal_moments_do_not_depend_on_the_axes(rng):
    tensor = turned([1.0, 2.0, 2.5], random_rotations(rng, 20))
    assert_close(inertia.principal_moments(tensor), np.tile([1.0, 2.0, 2.5], (20, 1)), 1e-14)


# --- physical consistency

SCALES = [1e-12, 1e-6, 1.0, 1e6]


@pytest.mark.parametrize("scale", SCALES)
def test_clouds_of_mass_are_physical(rng, scale):
    tensor, com = random_tensors(rng, 200, scale=scale), rng.normal(size=(200, 3))
    for mass in (1e-6, 1.0, 1e3):
        assert inertia.is_physical(inertia.from_com(mass, com, tensor)).all()
        assert inertia.is_physical(inertia.from_com(mass, com, tensor), 0.0).all()


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(
    "principal",
    [(1, 2, 3), (1, 1, 2), (0, 1, 1), (1, 1, 1), (0, 0, 0)],
    ids=["plate", "disc", "rod", "ball", "point"],
)
def test_flat_thin_and_pointlike_bodies_are_physical_at_any_position(rng, scale, principal):
    tensor = turned(scale * np.array(principal), random_rotations(rng, 200))
    com = rng.normal(size=(200, 3)) * 10.0 ** rng.integers(-3, 3, size=(200, 1))
    for mass in (1e-6, 1.0, 1e3):
        assert inertia.is_physical(inertia.from_com(mass, com, tensor), 0.0).all()
        moved = inertia.transform(random_poses(rng, 200), inertia.from_com(mass, com, tensor))
        assert inertia.is_physical(moved).all()


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("principal", [(1, 1, 2.001), (-0.001, 1, 1), (-1, -1, -1), (1, 0, 0)])
def test_a_violated_triangle_inequality_is_not_physical(rng, scale, principal):
    tensor = turned(scale * np.array(principal), random_rotations(rng, 50))
    assert not inertia.is_physical(inertia.from_com(1.0, np.zeros(3), tensor)).any()


def test_tolerance_is_relative_to_the_largest_second_moment():
    for scale in SCALES:
        params = inertia.from_com(1.0, np.zeros(3), scale * np.diag([1, 1, 2 + 1e-4]))
        assert not inertia.is_physical(params)
        assert inertia.is_physical(params, 1e-4)
        assert inertia.is_physical(params, tolerance=1e-3)


def test_a_small_violation_far_from_the_origin_is_detected():
    params = inertia.from_com(1.0, [1, 1, 1], 1e-6 * np.diag([1, 1, 2.1]))
    assert not inertia.is_physical(params)


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ([-1, 0, 0, 0, 1, 0, 0, 1, 0, 1], False),  # negative mass
        ([0, 0, 0, 0, 1, 0, 0, 1, 0, 1], True),  # a rotor
        ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0], True),  # nothing
        ([0, 1, 0, 0, 1, 0, 0, 1, 0, 1], False),  # a lever without mass
        ([1, 0, 0, 0, np.nan, 0, 0, 1, 0, 1], False),
        ([1, 0, 0, 0, np.inf, 0, 0, np.inf, 0, np.inf], False),
        ([np.inf, 0, 0, 0, 1, 0, 0, 1, 0, 1], False),
        ([1e-320, 1, 0, 0, 1, 0, 0, 1, 0, 1], False),  # a com beyond every number
        ([1, 1, 0, 0, 0, 0, 0, 0, 0, 0], False),  # a com, but no inertia about the origin
    ],
)
def test_is_physical_on_hard_cases(params, expected):
    assert inertia.is_physical(params) == expected


def test_is_physical_means_no_negative_eigenvalue_of_the_pseudo_inertia(rng):
    mass, com = rng.uniform(0.1, 2.0, size=300), rng.normal(size=(300, 3))
    params = inertia.from_com(mass, com, symmetric(rng, 300) + 6.0 * np.eye(3))
    least = np.linalg.eigvalsh(inertia.pseudo_inertia(params))[:, 0]
    assert 30 < (least > 0).sum() < 270
    assert np.array_equal(inertia.is_physical(params), least > 0)


@pytest.mark.parametrize("scale", SCALES)
def test_the_nearest_physical_inertia_is_physical(rng, scale):
    tensor = scale * symmetric(rng, 300)
    mass, com = rng.uniform(0.0, 2.0, size=300), rng.normal(size=(300, 3))
    repaired = inertia.nearest_physical(mass, com, tensor)
    assert np.array_equal(repaired[0], mass)
    assert np.array_equal(repaired[1], com)
    assert np.array_equal(repaired[2], np.swapaxes(repaired[2], -1, -2))
    assert inertia.is_physical(inertia.from_com(*repaired)).all()
    assert inertia.is_physical(inertia.from_com(mass, 0 * com, repaired[2]), 0.0).all()


@pytest.mark.parametrize("scale", SCALES)
def test_a_physical_inertia_is_returned_unchanged(rng, scale):
    R = random_rotations(rng, 100)
    for principal in [(1, 2, 3), (1, 1, 2), (0, 1, 1), (1, 1, 1), (2, 3, 4)]:
        tensor = turned(scale * np.array(principal), R)
        _, _, again = inertia.nearest_physical(1.0, np.zeros(3), tensor)
        assert np.array_equal(again, tensor)


def test_projecting_twice_is_projecting_once(rng):
    once = inertia.nearest_physical(1.0, np.zeros(3), symmetric(rng, 100))
    assert np.array_equal(inertia.nearest_physical(*once)[2], once[2])


def test_bodies_of_a_batch_are_independent():
    good, bad = np.diag([1.0, 1.0, 1.0]), np.diag([1.0, 1.0, 4.0])
    _, _, tensor = inertia.nearest_physical([1, 1], np.zeros((2, 3)), [good, bad])
    assert np.array_equal(tensor[0], good)
    assert np.array_equal(tensor[1], np.diag([2.0, 2.0, 4.0]))


def test_the_projection_is_nearest_in_second_moments(rng):
    tensor = symmetric(rng)
    moments = inertia.second_moments(tensor)
    _, _, repaired = inertia.nearest_physical(1.0, np.zeros(3), tensor)
    best = np.linalg.norm(inertia.second_moments(repaired) - moments)
    for step in rng.normal(size=(500, 3, 3)) * 10.0 ** rng.uniform(-4, 0, size=(500, 1, 1)):
        root = np.linalg.cholesky(inertia.second_moments(repaired) + 1e-12 * np.eye(3)) + step
        assert np.linalg.norm(root @ root.T - moments) >= best - 1e-9


def test_a_rotor_without_mass_is_repaired_too():
    mass, com, tensor = inertia.nearest_physical(0.0, np.zeros(3), np.diag([1.0, 0.0, 0.0]))
    assert mass == 0.0
    assert np.array_equal(tensor, np.diag([1.0, 0.5, 0.5]))
    assert inertia.is_physical(inertia.from_com(mass, com, tensor))


@pytest.mark.parametrize(
    ("inertia_parts", "name", "value"),
    [
        ((-1.0, [0, 0, 0], np.eye(3)), "mass", "-1.0"),
        (([1, -2.5], [0, 0, 0], np.eye(3)), "mass", "-2.5"),
        ((np.nan, [0, 0, 0], np.eye(3)), "mass", "nan"),
        ((1.0, [0, np.inf, 0], np.eye(3)), "com", "inf"),
        ((1.0, [0, 0, 0], np.full((3, 3), -np.inf)), "tensor", "-inf"),
    ],
)
def test_inertias_that_cannot_be_projected_are_rejected(inertia_parts, name, value):
    with pytest.raises(ModelError, match=f"^{name}: .*{value}$"):
        inertia.nearest_physical(*inertia_parts)
