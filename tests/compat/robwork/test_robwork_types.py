"""RobWork's mathematical types: both precisions, vectors, wrenches, inertias, `Math`.

Compared with NumPy, the functions of `linkwork.spatial`, and textbook definitions.
"""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import linkwork as lw
from linkwork.compat import robwork as rw
from linkwork.spatial import motion, so3

TYPES = (
    *("Vector2D", "Vector3D", "VelocityScrew6D", "Wrench6D", "Rotation2D", "Rotation3D"),
    *("RPY", "EAA", "Quaternion", "InertiaMatrix", "Transform3D", "Pose6D"),
)


@pytest.fixture
def pose(rng) -> rw.Transform3D:
    return rw.Transform3D(rw.Vector3D(rng.normal(size=3)), rw.EAA(rng.normal(size=3)))


@pytest.mark.parametrize("name", TYPES)
def test_every_type_has_a_variant_in_single_precision(name, rng):
    double, single = getattr(rw, name), getattr(rw, f"{name}f")
    value = double.around(rng.normal(size=double().e().shape))

    rounded = rw.castToFloat(value)

    assert getattr(rw, f"{name}d") is double
    assert type(rounded) is single
    assert rounded.e().dtype == np.float32
    np.testing.assert_array_equal(rounded, value.e().astype(np.float32))
    assert str(rounded).startswith(f"{name}f")
    restored = pickle.loads(pickle.dumps(rounded))
    assert (type(restored), restored) == (single, rounded)


def test_single_precision_stays_single(pose):
    T = rw.castToFloat(pose)

    results = [
        *(T * T, T.P(), T.R(), T.inverse(), rw.inverse(T), T * T.P(), T.R() * T.P()),
        *(rw.EAAf(T.R()), rw.RPYf(T.R()), rw.Quaternionf(T.R()), T.R().getCol(0)),
        *(rw.EAAf(T.R()).toRotation3D(), rw.Pose6Df(T).toTransform3D(), T.P().cross(T.P())),
        *(T * rw.Wrench6Df(1, 2, 3, 4, 5, 6), rw.VelocityScrew6Df(T).angular()),
    ]

    assert {type(result).__name__[-1] for result in results} == {"f"}
    assert {result.e().dtype for result in results} == {np.dtype(np.float32)}
    T.P()[0] = 0.5  # still a view of the pose
    assert T.e()[0, 3] == 0.5
    with pytest.raises(lw.ArgumentError, match=r"\bQ\b.*single precision"):
        rw.castToFloat(rw.Q(1.0, 2.0))


def test_vectors_have_robworks_operations(rng):
    a, b = rng.normal(size=(2, 3))
    v, w = rw.Vector3D(a), rw.Vector3D(b)

    assert v.dot(w) == rw.dot(v, w) == pytest.approx(a @ b)
    np.testing.assert_allclose(v.cross(w), np.cross(a, b))
    np.testing.assert_allclose(v.normalize(), a / np.linalg.norm(a))
    assert rw.Vector3D().normalize() == rw.Vector3D.zero()
    for method, operation in (
        *((v.elemAdd, np.add), (v.elemSubtract, np.subtract)),
        *((v.elemMultiply, np.multiply), (v.elemDivide, np.divide)),
    ):
        np.testing.assert_allclose(method(w), operation(a, b))
        np.testing.assert_allclose(method(2), operation(a, 2))
    assert (rw.norm1(v), rw.norm2(v), rw.normInf(v)) == pytest.approx(
        [np.linalg.norm(a, order) for order in (1, 2, np.inf)]
    )
    with pytest.raises(lw.ShapeError, match=r"\(3,\), got \(2,\)"):
        v.elemAdd(rw.Vector2D(1, 2))


def test_plane_vectors_and_rotations():
    v, w = rw.Vector2D(2, 1), rw.Vector2D(1, 3)

    assert rw.cross(v, w) == 5
    assert v.angle() == np.arctan2(1, 2)
    np.testing.assert_allclose(rw.Rotation2D(np.pi / 2) * v, [-1, 2], atol=1e-15)
    R = rw.Rotation2D(0.3)
    np.testing.assert_allclose(rw.inverse(R) * R, np.eye(2), atol=1e-15)
    assert rw.Rotation2D(1, 2, 3, 4)[1, 0] == 3
    with pytest.raises(lw.ArgumentError, match=r"Rotation2D: .*\b4\b.*angle"):
        rw.Rotation2D(1, 2, 3)


def test_eigen_arrays_share_memory_and_have_rows_and_columns():
    v, R = rw.Vector3D(1, 2, 3), rw.Rotation3D()

    v.e()[1] = 7

    assert v == rw.Vector3D(1, 7, 3)
    assert (v.e()[1, 0], v.e().rows(), v.e().cols()) == (7, 3, 1)
    assert (R.e()[1, 0], R.e().rows(), R.e().cols()) == (0, 3, 3)
    np.testing.assert_array_equal(v.e()[np.array([True, False, True])], [1, 3])
    assert type(np.asarray(v)) is np.ndarray


def test_angle_axis_is_a_vector_and_composes_as_a_rotation(rng):
    a, b = (rw.EAA(rng.normal(size=3)) for _ in range(2))

    np.testing.assert_allclose((a * b).toRotation3D(), so3.exp(a.e()) @ so3.exp(b.e()), atol=1e-15)
    np.testing.assert_allclose((a * 0.5).e(), a.e() / 2)
    assert isinstance(a.toRotation3D() * b, rw.EAA)
    assert a == a.toVector3D() == a
    assert a != rw.Vector3D(b.e())
    for axis in np.eye(3):
        for angle in (0.0, np.pi / 2, np.pi):
            back = rw.EAA(rw.EAA(rw.Vector3D(axis), angle).toRotation3D())
            assert (back.angle(), back) == (angle, rw.EAA(axis * angle))
    with pytest.raises(lw.ArgumentError, match=r"Jacobian: .*matrix"):
        rw.Jacobian(a)


def test_quaternions_are_added_and_scaled():
    a, b = rw.Quaternion(1, 2, 3, 4), rw.Quaternion(4, 3, 2, 1)

    assert (+a, -a) == (a, rw.Quaternion(-1, -2, -3, -4))
    assert a + b == rw.Quaternion(5, 5, 5, 5)
    assert a - b == rw.Quaternion(-3, -1, 1, 3)
    assert a * 2 == rw.Quaternion(2, 4, 6, 8)


def test_rotations_are_normalized_in_place(rng):
    R = so3.exp(rng.normal(size=3))
    rough = rw.Rotation3D(R + 1e-3 * rng.normal(size=(3, 3)))

    rough.normalize()

    assert rough.isProperRotation(1e-14)
    np.testing.assert_allclose(rough, R, atol=5e-3)


def test_transforms_of_wrenches_and_velocities_preserve_power(pose, rng):
    """RobWork transforms wrenches like velocities, which does not preserve power."""
    w, v = rw.Wrench6D(rng.normal(size=6)), rw.VelocityScrew6D(rng.normal(size=6))

    moved = pose * w

    assert moved.dot(pose * v) == pytest.approx(w.dot(v))
    np.testing.assert_allclose(moved.force(), pose.R() * w.force())
    torque = pose.R() * w.torque() + rw.cross(pose.P(), pose.R() * w.force())
    np.testing.assert_allclose(moved.torque(), torque)
    np.testing.assert_allclose((pose.R() * w).torque(), pose.R() * w.torque())
    w.setForce(rw.Vector3D(1, 2, 3))
    w.setTorque(rw.Vector3D(4, 5, 6))
    assert w == rw.Wrench6D(1, 2, 3, 4, 5, 6)
    with pytest.raises(lw.ShapeError, match="Wrench6D"):
        rw.Wrench6D(pose)


def test_poses_as_six_elements(pose):
    x = rw.Pose6D(pose)

    np.testing.assert_allclose(x.toTransform3D(), pose, atol=1e-15)
    np.testing.assert_allclose(x, [*pose.P(), *so3.log(pose.R().e())])
    assert (x.get(4), x.getEAA()) == (x[4], rw.EAA(x.e()[3:]))
    np.testing.assert_array_equal(rw.VelocityScrew6D(pose), x)
    assert rw.Pose6D(rw.Vector3D(1, 2, 3), rw.EAA(4, 5, 6)) == rw.Pose6D(1, 2, 3, 4, 5, 6)
    assert rw.Pose6D().toTransform3D() == rw.Transform3D.identity()


def test_inertias_rotate_add_and_multiply(rng):
    body, R = rw.InertiaMatrix(1, 2, 3), rw.EAA(rng.normal(size=3)).toRotation3D()

    np.testing.assert_allclose(R * body * rw.inverse(R), R.e() @ np.diag([1, 2, 3]) @ R.e().T)
    np.testing.assert_allclose(rw.inverse(body), np.diag([1, 1 / 2, 1 / 3]))
    assert body + body == rw.InertiaMatrix(2, 4, 6)
    assert body * rw.Vector3D(1, 1, 1) == rw.Vector3D(1, 2, 3)
    assert rw.InertiaMatrix(*range(9)) == rw.InertiaMatrix(np.arange(9.0).reshape(3, 3))
    assert rw.InertiaMatrix() == rw.InertiaMatrix(0, 0, 0)


def test_conversions_and_limits_of_math(rng):
    eaa = rw.EAA(rng.normal(size=3))

    for angle in (0.0, 1e-9, 1.0, 3.0, 4.0, 6.0):
        rotation = rw.EAA(eaa.axis() * angle)
        q = rw.Math.eaaToQuaternion(rotation)
        np.testing.assert_allclose(q.toRotation3D(), rotation.toRotation3D(), atol=1e-15)
        np.testing.assert_allclose(rw.Math.quaternionToEAA(q), rotation, rtol=1e-14)
    np.testing.assert_allclose(rw.Math.skew(eaa) @ [1, 2, 3], np.cross(eaa, [1, 2, 3]))
    assert rw.Math.clamp(5, 0, 1) == 1
    bounds = (rw.Q(0.0, 0.0), rw.Q(1.0, 2.0))
    for clamped in (rw.Math.clampQ(rw.Q(-1.0, 3.0), bounds), rw.Math.clampQ([-1, 3], *bounds)):
        assert clamped == rw.Q(0.0, 2.0)
    assert (rw.Math.isNaN(np.nan), rw.Math.isNaN(1.0)) == (True, False)
    assert [rw.Math.ceilLog2(n) for n in (1, 2, 3, 4, 5, 8, 9)] == [0, 1, 2, 2, 3, 3, 4]
    with pytest.raises(lw.ArgumentError, match=r"ceilLog2: .*positive.*\b0\b"):
        rw.Math.ceilLog2(0)


def test_uniform_random_numbers_agree_with_robwork():
    """RobWork's tests contain these three values for the seed 10."""
    rw.Math.seed(10)

    assert rw.Math.ran() == pytest.approx(0.77132064313627779, abs=1e-15)
    assert rw.Math.ran(-0.2, 0.4) == pytest.approx(-0.020743304910138233, abs=1e-15)
    assert rw.Math.ranI(-200, 7000) == -51


def test_random_values_have_their_distributions():
    rw.Math.seed(1)
    lower, upper = rw.Q(0.0, 5.0), rw.Q(1.0, 6.0)

    samples = np.array([rw.Math.ranQ(lower, upper) for _ in range(500)])
    poses = [rw.Math.ranTransform3D(2.0) for _ in range(500)]

    assert (samples >= lower.e()).all()
    assert (samples < upper.e()).all()
    np.testing.assert_allclose(samples.mean(axis=0), [0.5, 5.5], atol=0.05)
    np.testing.assert_allclose([pose.P().norm2() for pose in poses], 2.0)
    assert all(pose.R().isProperRotation() for pose in poses)
    np.testing.assert_allclose(np.mean([pose.R().e() for pose in poses], axis=0), 0, atol=0.1)
    normal = [rw.Math.ranNormalDist(3.0, 0.5) for _ in range(500)]
    assert (np.mean(normal), np.std(normal)) == pytest.approx((3.0, 0.5), abs=0.1)


def test_matrices_are_converted_to_lists_and_back(pose):
    values = rw.Math.toStdVector(pose, 3, 4)
    restored = rw.Transform3D()

    rw.Math.fromStdVectorToMat(values, restored, 3, 4)

    assert (len(values), restored) == (12, pose)
    assert rw.Math.toStdVector(rw.Vector3D(1, 2, 3), 2) == [1, 2]


def test_linear_algebra(pose, rng):
    A = rng.normal(size=(6, 4))

    R = pose.R()
    assert rw.LinearAlgebra.isSO(R.e())
    assert not rw.LinearAlgebra.isSO(-R.e())
    assert not rw.LinearAlgebra.isProperOrthonormal(2 * R.e())
    np.testing.assert_allclose(rw.LinearAlgebra.pseudoInverse(A) @ A, np.eye(4), atol=1e-14)
    vectors, values = rw.LinearAlgebra.eigenDecompositionSymmetric(A.T @ A)
    np.testing.assert_allclose(A.T @ A @ vectors, vectors * values, atol=1e-12)
    assert (np.diff(values) > 0).all()


def test_velocities_of_a_jacobian_have_angle_axes(rng):
    J = rw.Jacobian(rng.normal(size=(6, 2)))

    v = J * rw.Q(1.0, 2.0)

    assert isinstance(v.angular(), rw.EAA)
    np.testing.assert_array_equal([*v.linear(), *v.angular()], v)
    np.testing.assert_array_equal(motion.join(v.linear(), v.angular()), v)
