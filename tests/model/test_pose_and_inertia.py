"""Poses and inertias as data: round trips, snapping, solids, and the order of parameters."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.models import assert_close, random_inertia, random_pose
from tests.support.spatial import idyn, pin, random_poses

from linkwork import Inertia, ModelError, Pose
from linkwork.model.inertia import (
    NO_INERTIA,
    combined,
    from_parameters,
    moved,
    point_mass,
    solid_box,
    solid_cylinder,
    solid_sphere,
)
from linkwork.model.pose import IDENTITY, as_pose, composed, inverted, pose_matrices
from linkwork.spatial import quat, se3

pytestmark = pytest.mark.peers

QUARTER = np.pi / 2
COM = (0.1, -0.2, 0.3)


def to_pin(inertia):
    return pin.Inertia(inertia.mass, np.array(inertia.com), inertia.matrix())


def test_matrices_survive_being_a_pose(rng):
    for matrix in random_poses(rng, 500):
        assert_close(as_pose(matrix).matrix(), matrix, rtol=1e-14, scale=1.0)


@pytest.mark.parametrize("off", [0.0, 1e-300, 1e-16, 1e-15, 1e-12, 1e-9, 1e-8, 1e-6, 1e-3])
@pytest.mark.parametrize("sign", [-1, 1])
def test_matrices_at_gimbal_lock_survive_being_a_pose(off, sign, rng):
    """Pitch at or near a quarter turn, where roll and yaw become one."""
    for roll, yaw in rng.uniform(-np.pi, np.pi, size=(50, 2)):
        pitch = sign * (QUARTER - off)
        matrix = np.eye(4)
        matrix[:3, :3] = pin.rpy.rpyToMatrix(roll, pitch, yaw)
        assert_close(as_pose(matrix).matrix(), matrix, rtol=1e-14)


def test_pose_has_the_meaning_of_a_urdf_origin(rng):
    for xyz, rpy in rng.uniform(-4, 4, size=(50, 2, 3)):
        expected = pin.SE3(pin.rpy.rpyToMatrix(*rpy), xyz).homogeneous
        assert_close(Pose(xyz=xyz, rpy=rpy).matrix(), expected, rtol=4e-15, scale=4.0)


@pytest.mark.parametrize("rpy", list(np.ndindex(5, 5, 5)))
def test_right_angles_make_whole_numbers(rpy):
    angles = tuple((np.array(rpy) - 2) * QUARTER)

    matrix = Pose(rpy=angles).matrix()

    assert np.array_equal(matrix, np.round(matrix))
    assert np.array_equal(as_pose(matrix).matrix(), matrix)
    assert not np.signbit(matrix[matrix == 0]).any()


@pytest.mark.parametrize("angle", [2e-15, -3e-15, 1e-14, 1e-9])
def test_digits_beyond_rounding_noise_are_kept(angle):
    assert Pose(rpy=(angle, 0, 0)).matrix()[2, 1] == np.sin(angle)
    assert Pose(rpy=(QUARTER + angle, 0, 0)).matrix()[2, 2] == np.cos(QUARTER + angle)
    turned = np.eye(4)
    turned[2, 1], turned[1, 2] = angle, -angle
    assert as_pose(turned).rpy == pytest.approx((angle, 0, 0), rel=1e-12, abs=0)


def test_rounding_noise_is_not_kept():
    noisy = np.eye(4)
    noisy[:3, :3] += 9e-16 * np.array([[-1, 1, -1], [1, -1, 0], [1, 1, 1]])

    assert as_pose(noisy) == IDENTITY


def test_positions_are_never_snapped():
    assert as_pose(Pose(xyz=(1e-300, 1 + 2e-16, -1e-16)).matrix()).xyz == (
        1e-300,
        1 + 2e-16,
        -1e-16,
    )


def test_many_poses_at_once_are_those_one_by_one(rng):
    poses = [random_pose(rng) for _ in range(30)]

    assert np.array_equal(pose_matrices(poses), [pose.matrix() for pose in poses])
    assert pose_matrices([]).shape == (0, 4, 4)


def test_composing_and_inverting_are_those_of_matrices(rng):
    for _ in range(100):
        a, b = random_pose(rng), random_pose(rng)
        assert_close(composed(a, b).matrix(), a.matrix() @ b.matrix(), rtol=2e-15, scale=5.0)
        assert_close(inverted(a).matrix(), np.linalg.inv(a.matrix()), rtol=2e-15, scale=5.0)


def test_composing_with_the_identity_keeps_every_digit(rng):
    for _ in range(20):
        pose = random_pose(rng)
        assert composed(pose, IDENTITY) == composed(IDENTITY, pose) == pose
    assert inverted(IDENTITY) == IDENTITY


@pytest.mark.parametrize(
    ("ours", "theirs", "moments"),
    [
        (
            solid_box(3.0, (0.2, 0.5, 0.7), COM),
            pin.Inertia.FromBox(3.0, 0.2, 0.5, 0.7),
            (3 * (0.25 + 0.49) / 12, 3 * (0.04 + 0.49) / 12, 3 * (0.04 + 0.25) / 12),
        ),
        (
            solid_cylinder(3.0, 0.2, 0.5, COM),
            pin.Inertia.FromCylinder(3.0, 0.2, 0.5),
            (3 * (0.04 / 4 + 0.25 / 12), 3 * (0.04 / 4 + 0.25 / 12), 3 * 0.04 / 2),
        ),
        (solid_sphere(3.0, 0.2, COM), pin.Inertia.FromSphere(3.0, 0.2), (0.4 * 3 * 0.04,) * 3),
        (point_mass(3.0, COM), pin.Inertia(3.0, np.zeros(3), np.zeros((3, 3))), (0.0, 0.0, 0.0)),
    ],
)
def test_solids_have_the_inertia_of_the_textbook(ours, theirs, moments):
    assert (ours.mass, ours.com) == (3.0, COM)
    assert_close(ours.matrix(), np.diag(moments), rtol=4e-15)
    assert_close(ours.matrix(), theirs.inertia, rtol=4e-15)


def test_parameters_stand_in_the_order_of_idyntree(rng):
    for _ in range(20):
        inertia = random_inertia(rng)
        rotational = idyn.RotationalInertia()
        for row, column in np.ndindex(3, 3):
            rotational.setVal(row, column, float(inertia.matrix()[row, column]))
        theirs = idyn.SpatialInertia()
        position = idyn.Position(*inertia.com)
        theirs.fromRotationalInertiaWrtCenterOfMass(inertia.mass, position, rotational)

        assert_close(inertia.parameters(), theirs.asVector().toNumPy(), rtol=1e-14)


def test_parameters_lead_back_to_the_inertia(rng):
    for inertia in [random_inertia(rng) for _ in range(50)]:
        back = from_parameters(inertia.parameters())
        assert back.mass == inertia.mass
        assert_close(back.com, inertia.com, rtol=4e-15)
        assert_close(back.tensor, inertia.tensor, rtol=1e-14)


def test_a_rotor_without_mass_keeps_its_tensor():
    rotor = Inertia(0.0, (0, 0, 0), (1e-3, 0, 0, 1e-3, 0, 2e-3))

    assert from_parameters(rotor.parameters()) == rotor
    assert combined(rotor, NO_INERTIA) == rotor


def test_moving_an_inertia_is_what_pinocchio_does(rng):
    for _ in range(50):
        inertia, pose = random_inertia(rng), random_pose(rng)
        expected = pin.SE3(pose.matrix()).act(to_pin(inertia))

        found = moved(inertia, pose)

        assert_close(found.matrix(), expected.inertia, rtol=1e-14)
        assert_close(found.com, expected.lever, rtol=1e-14, scale=3.0)
        assert found.mass == inertia.mass


def test_combining_inertias_is_what_pinocchio_does(rng):
    for _ in range(50):
        first, second = random_inertia(rng), random_inertia(rng)
        expected = to_pin(first) + to_pin(second)

        found = combined(first, second)

        assert_close(found.matrix(), expected.inertia, rtol=1e-13)
        assert_close(found.com, expected.lever, rtol=1e-13)
        assert_close(found.mass, expected.mass, rtol=4e-15)


@pytest.mark.parametrize("seed", range(3))
def test_poses_from_matrices_and_quaternions(seed):
    rng = np.random.default_rng(seed)
    wxyz, xyz = rng.normal(size=4), rng.normal(size=3)
    wxyz /= np.linalg.norm(wxyz)
    H = se3.pose(quat.to_rotation(wxyz), xyz)

    np.testing.assert_allclose(Pose.from_matrix(H).matrix(), H, atol=1e-15)
    np.testing.assert_allclose(Pose.from_wxyz(wxyz, xyz).matrix(), H, atol=1e-15)
    np.testing.assert_allclose(Pose.from_wxyz((1 + 1e-6) * wxyz).matrix()[:3, :3], H[:3, :3])
    assert Pose.from_wxyz([0.5, 0.5, 0.5, 0.5]) == Pose.from_wxyz((-0.5,) * 4)
    assert Pose.from_matrix(np.eye(4)) == Pose()


@pytest.mark.parametrize("wxyz", [[0, 0, 0, 0], [1, 1, 0, 0], [1, 0, 0], [np.nan, 0, 0, 1], "abcd"])
def test_quaternions_that_are_no_rotation_are_refused(wxyz):
    with pytest.raises(ModelError, match=r"^wxyz: "):
        Pose.from_wxyz(wxyz)


@pytest.mark.parametrize("matrix", [np.eye(3), 2 * np.eye(4), np.diag([1, 1, -1, 1])])
def test_matrices_that_are_no_pose_are_refused(matrix):
    with pytest.raises(ModelError, match=r"^matrix: "):
        Pose.from_matrix(matrix)
