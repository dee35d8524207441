"""RobWork's mathematical types: conventions, round trips, and views of their parts."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import linkwork as lw
from linkwork.compat import robwork as rw
from linkwork.spatial.source import so3


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def rotations(rng: np.random.Generator) -> list[np.ndarray]:
    """Return random rotations, also near the identity and near pi."""
    axes = rng.normal(size=(60, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    angles = [*rng.uniform(-3, 3, 30), *10.0 ** rng.uniform(-12, -3, 10)]
    angles += [np.pi - angle for angle in 10.0 ** rng.uniform(-12, -3, 10)] + [np.pi] * 10
    return [so3.exp(axis * angle) for axis, angle in zip(axes, angles, strict=True)]


def test_rpy_has_the_rotation_about_z_first():
    R = rw.RPY(0.3, 0.2, 0.1).toRotation3D().e()

    np.testing.assert_allclose(R, so3.rot_z(0.3) @ so3.rot_y(0.2) @ so3.rot_x(0.1), atol=1e-15)


def test_eaa_is_angle_times_axis():
    eaa = rw.EAA(rw.Vector3D(0, 0, 1), 0.7)

    np.testing.assert_allclose(eaa.toRotation3D().e(), so3.rot_z(0.7), atol=1e-15)
    assert eaa.angle() == 0.7
    assert eaa.axis() == rw.Vector3D(0, 0, 1)
    assert rw.EAA().axis() == rw.Vector3D()


def test_quaternions_have_w_last():
    half = np.sqrt(0.5)

    np.testing.assert_allclose(
        rw.Quaternion(0, 0, half, half).toRotation3D().e(), so3.rot_z(np.pi / 2), atol=1e-15
    )
    assert rw.Quaternion().getQw() == 1
    q = rw.Quaternion(0, 0, 2, 2)
    q.normalize()
    np.testing.assert_allclose(q.e(), [0, 0, half, half])


@pytest.mark.parametrize("kind", [rw.RPY, rw.EAA, rw.Quaternion])
def test_rotations_round_trip(kind, rng):
    for R in rotations(rng):
        back = kind(rw.Rotation3D(R)).toRotation3D().e()
        np.testing.assert_allclose(back, R, atol=3e-15)


def test_eaa_of_two_directions_rotates_the_first_to_the_second(rng):
    pairs = [*rng.normal(size=(20, 2, 3)), np.array([[1, 2, 3], [1, 2, 3.0]])]
    pairs.append(np.array([[0, 0, 1.0], [0, 0, -1]]))
    for a, b in pairs:
        turned = rw.EAA(rw.Vector3D(a), rw.Vector3D(b)).toRotation3D() * rw.Vector3D(a)
        np.testing.assert_allclose(turned.e() / turned.norm2(), b / np.linalg.norm(b), atol=1e-14)


def test_denavit_hartenberg_transforms_take_alpha_a_d_theta():
    alpha, a, d, theta = 0.4, 0.3, 0.2, 0.1
    x, z = so3.rot_x(alpha), so3.rot_z(theta)

    craig, standard = (
        rw.Transform3D.craigDH(alpha, a, d, theta),
        rw.Transform3D.DH(alpha, a, d, theta),
    )

    np.testing.assert_allclose(craig.R().e(), x @ z, atol=1e-15)
    np.testing.assert_allclose(craig.P().e(), [a, *(x[1:, 2] * d)], atol=1e-15)
    np.testing.assert_allclose(standard.R().e(), z @ x, atol=1e-15)
    np.testing.assert_allclose(standard.P().e(), [a * z[0, 0], a * z[1, 0], d], atol=1e-15)


def test_transforms_multiply_and_invert():
    aTb = rw.Transform3D(rw.Vector3D(1, 2, 3), rw.RPY(0.1, 0.2, 0.3))
    bTc = rw.Transform3D(rw.Vector3D(4, 5, 6), rw.EAA(0.3, 0.2, 0.1))

    aTc = aTb * bTc

    np.testing.assert_allclose(aTc.e(), aTb.e() @ bTc.e())
    assert (rw.inverse(aTb) * aTb).equal(rw.Transform3D.identity(), 1e-15)
    assert aTb * rw.Vector3D(0, 0, 0) == rw.Vector3D(1, 2, 3)
    assert rw.inverse(aTb.R()) == aTb.R().inverse()


def test_position_and_rotation_of_a_transform_can_be_written():
    T = rw.Transform3D()
    T.P()[2] = 5.0
    T.R()[0, 1] = 7.0
    T[1, 3] = 3.0

    assert (T(2, 3), T(0, 1), T.P()[1]) == (5, 7, 3)
    assert rw.Transform3D.identity() == rw.Transform3D(np.eye(4))


def test_configurations_are_created_in_all_of_robworks_ways():
    assert rw.Q(3, 0.5).toStdVector() == [0.5, 0.5, 0.5]
    assert rw.Q([1, 2]).toStdVector() == [1, 2]
    assert rw.Q(1.5, 2.5).toStdVector() == [1.5, 2.5]
    assert rw.Q(2, 7.0, 8.0).toStdVector() == [7, 8]
    assert rw.Q(2).toStdVector() == [0, 0]
    assert rw.Q().empty()
    assert rw.Q(np.arange(3.0, dtype=np.float32)[::2]).toStdVector() == [0, 2]
    assert (rw.Q(1.0, 2.0) + rw.Q(1.0, 1.0)) * 2 == rw.Q(4.0, 6.0)
    assert rw.concat(rw.Q(1, 1.0), rw.Q(1, 2.0)).getSubPart(1, 1) == rw.Q(1, 2.0)
    with pytest.raises(lw.ShapeError, match=r"Q: .*\b3\b.*\b2\b"):
        rw.Q(3, 1.0, 2.0)


def test_values_print_as_in_robwork():
    assert str(rw.Vector3D(0, -0.0125, 1 / 3)) == "Vector3D(0, -0.0125, 0.333333)"
    assert str(rw.Q(1.0, 2.0)) == "Q[2]{1, 2}"
    assert str(rw.RPY(1, 2, 3)) == "RPY {1, 2, 3}"


def test_jacobians_are_indexed_and_multiplied_as_in_robwork():
    J = rw.Jacobian(np.arange(12.0).reshape(6, 2))

    assert (J[2, 1], J(2, 1), J.elem(2, 1), J.size1(), J.size2()) == (5, 5, 5, 6, 2)
    v = J * rw.Q(1.0, 2.0)
    assert v.linear().e().tolist() == [2, 8, 14]
    assert v.angular().e().tolist() == [20, 26, 32]
    assert rw.Jacobian.zero(6, 2).e().shape == rw.Jacobian(2).e().shape
    with pytest.raises(lw.ShapeError, match=r"Jacobian.*\(6, 2\).*\(3,\)"):
        J * rw.Q(3, 0.0)


def test_velocities_are_transformed_as_screws(rng):
    aTb = rw.Transform3D(rw.Vector3D(1, 2, 3), rw.RPY(0.1, 0.2, 0.3))
    v = rw.VelocityScrew6D(rng.normal(size=6))

    moved = aTb * v

    R, p = aTb.R().e(), aTb.P().e()
    np.testing.assert_allclose(moved.angular().e(), R @ v.angular().e())
    expected = R @ v.linear().e() + np.cross(p, R @ v.angular().e())
    np.testing.assert_allclose(moved.linear().e(), expected)
    np.testing.assert_allclose((rw.Jacobian(aTb) * v).e(), moved.e())
    np.testing.assert_allclose((rw.Jacobian(aTb.R()) * v).e(), (aTb.R() * v).e())
    shift = rw.Jacobian(aTb.P()) * v
    np.testing.assert_allclose(shift.linear().e(), v.linear().e() + np.cross(p, v.angular().e()))


@pytest.mark.parametrize(
    "value",
    [rw.Vector3D(1, 2, 3), rw.Transform3D(rw.Vector3D(1, 2, 3)), rw.Q(1.0), rw.Jacobian(6, 1)],
)
def test_copies_are_independent(value):
    for other in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert other == value
        other.e()[...] = 9
        assert other != value


def test_invalid_values_raise():
    with pytest.raises(lw.ShapeError, match=r"Vector3D: .*\(3,\).*\(2,\)"):
        rw.Vector3D([1, 2])
    with pytest.raises(lw.ArgumentError, match=r"Vector3D: .*'a'"):
        rw.Vector3D("a")
    with pytest.raises(lw.ArgumentError, match=r"position.*rotation"):
        rw.Transform3D([1, 2])
    with pytest.raises(lw.ArgumentError, match="zero quaternion"):
        rw.Quaternion(0, 0, 0, 0).toRotation3D()
    with pytest.raises(lw.ArgumentError, match=r"inverse: .*Transform3D"):
        rw.inverse(3)  # type: ignore[call-overload]
