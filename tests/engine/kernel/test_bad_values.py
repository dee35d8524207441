"""Invalid, very large and very small values: quaternions, NaN, singular robots."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.kernels import BODY, floater, hinge, motion, pendulum

import linkwork as lw

# Quaternions.


@pytest.mark.parametrize("n", [(), 1, 3, 9, 3000])
@pytest.mark.parametrize("scale", [0.9991, 0.99999, 1 + 1e-9, 1.0009])
def test_a_quaternion_nearly_of_norm_1_is_normalized(kd, n, scale):
    q, nu, tau = motion(kd, n)
    near = q.copy()
    near[..., 3:7] *= scale
    np.testing.assert_allclose(kd.mass_matrix(near), kd.mass_matrix(q), rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        kd.forward_dynamics(near, nu, tau), kd.forward_dynamics(q, nu, tau), rtol=1e-9, atol=1e-9
    )
    rotation = kd.transform("tip", near)[..., :3, :3]
    np.testing.assert_allclose(np.linalg.det(rotation), 1.0, atol=1e-13)


@pytest.mark.parametrize("scale", [0.0, 0.5, 0.9985, 1.0015, 2.0, -3.0])
def test_a_quaternion_of_another_norm_is_rejected_with_its_norm(kd, scale):
    q = kd.neutral()
    q[3:7] *= scale
    for argument in (q, q.tolist(), q[None]):
        with pytest.raises(lw.LinkworkError) as caught:
            kd.mass_matrix(argument)
        assert str(caught.value).startswith("q: the base quaternion")
        assert f"norm {abs(scale):.6g}" in str(caught.value)
        assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("n", [9, 2048, 5000])
def test_the_row_of_a_bad_quaternion_is_reported(kd, n):
    q = kd.random(n, seed=1)
    q[n - 2, 3:7] *= 2
    with pytest.raises(lw.LinkworkError, match=rf"norm 2.*row {n - 2}\b"):
        kd.mass_matrix(q)


@pytest.mark.parametrize("size", [1e-200, 1e-320, 1e155, 1e200])
def test_a_quaternion_far_from_norm_1_is_rejected_without_a_warning(kd, size):
    q = kd.neutral()
    q[3:7] = size
    with pytest.raises(ValueError, match=r"q: .*base quaternion"):
        kd.mass_matrix(q)


@pytest.mark.parametrize(
    ("kind", "size", "owner"),
    [
        ("spherical", 4, "the quaternion of 'joint'"),
        ("floating", 7, "the quaternion of 'joint'"),
        ("revolute_cos_sin", 2, "the (cos, sin) of 'joint'"),
    ],
)
def test_unit_norms_of_joints_are_checked_and_normalized(kind, size, owner):
    builder = lw.ModelBuilder("one joint")
    builder.add_link("first", inertia=BODY)
    builder.add_link("second", inertia=BODY)
    builder.add_joint("joint", kind, "first", "second")
    kd = lw.KinDyn(builder.build(), floating=False)
    q = kd.random(5, seed=3)
    expected = kd.transform("second", q)
    part = slice(3, 7) if kind == "floating" else slice(0, size)
    near = q.copy()
    near[:, part] *= 1.0005
    np.testing.assert_allclose(kd.transform("second", near), expected, atol=1e-13)
    q[3, part] *= 3
    with pytest.raises(ValueError, match=r"norm 3.*row 3") as caught:
        kd.transform("second", q)
    assert f"q: {owner}" in str(caught.value)


# NaN and infinity.


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [7, 8])
def test_an_angle_that_is_not_a_number_gives_nan(kd, value, place):
    q, nu, tau = motion(kd)
    q[place] = value
    assert np.isnan(kd.transform("tip", q)).any()
    assert np.isnan(kd.mass_matrix(q)).any()
    assert np.isnan(kd.forward_dynamics(q, nu, tau)).any()
    assert np.isnan(kd.inverse_dynamics(q, nu, tau)).any()


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("n", [4, 7, 3000])
def test_a_row_of_nan_does_not_affect_other_rows(kd, value, n):
    q, nu, tau = motion(kd, n)
    clean = kd.forward_dynamics(q, nu, tau)
    q[2, 7] = value
    actual = kd.forward_dynamics(q, nu, tau)
    assert np.isnan(actual[2]).any()
    others = np.arange(n) != 2
    np.testing.assert_allclose(actual[others], clean[others], rtol=1e-13, atol=1e-13)


def test_a_quaternion_of_nan_gives_nan(kd):
    q, nu, _ = motion(kd)
    q[3:7] = np.nan
    assert np.isnan(kd.transform("tip", q)).any()
    assert np.isnan(kd.bias_force(q, nu)).any()
    assert np.isnan(kd.bias_force(q[None], nu)).any()


def test_a_quaternion_of_infinity_gives_nan_or_is_rejected(kd):
    q = kd.neutral()
    q[3:7] = np.inf
    try:
        actual = kd.transform("tip", q)
    except ValueError:
        return
    assert np.isnan(actual).any()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_check_names_the_joint_of_a_nan(value):
    kd = floater(check=True)
    q, nu, tau = motion(kd)
    bad_q, bad_nu, bad_tau = q.copy(), nu.copy(), tau.copy()
    bad_q[8] = bad_nu[6] = bad_tau[2] = value
    wrench = [value, 0, 0, 0, 0, 0]
    for call, name, entry in (
        (lambda: kd.mass_matrix(bad_q), "q", "joint 'elbow'"),
        (lambda: kd.bias_force(q, bad_nu), "nu", "joint 'shoulder'"),
        (lambda: kd.forward_dynamics(q, nu, bad_tau), "tau", "the base"),
        (lambda: kd.inverse_dynamics(q, nu, bad_tau), "nu_dot", "the base"),
        (lambda: kd.gravity_force(q, gravity=[0, value, 0]), "gravity", "entry 1"),
        (lambda: kd.inverse_dynamics(q, nu, tau, wrenches={"tip": wrench}), "tip", "entry 0"),
    ):
        with pytest.raises(lw.LinkworkError) as caught:
            call()
        assert all(fact in str(caught.value) for fact in (name, entry, str(value)))
        assert isinstance(caught.value, ValueError)


def test_check_names_the_row_of_a_batch():
    kd = floater(check=True)
    q = kd.random((4, 5), seed=1)
    q[2, 3, 7] = np.nan
    with pytest.raises(ValueError, match=r"'shoulder' is nan.*row 13"):
        kd.com(q)


def test_check_reports_a_base_of_nan():
    kd = floater(check=True)
    for index in (0, 5):
        q = kd.neutral()
        q[index] = np.nan
        with pytest.raises(ValueError, match=r"q: .*base.*nan"):
            kd.com(q)


def test_check_does_not_change_results(kd):
    q, nu, tau = motion(kd, 5)
    checked = floater(check=True)
    np.testing.assert_allclose(
        checked.forward_dynamics(q, nu, tau),
        kd.forward_dynamics(q, nu, tau),
        rtol=1e-12,
        atol=1e-12,
    )


# Very large and very small.


ANGLES = [1e3, -1e6, 1e6 + 0.5, 1e10, 1e16, -1e17, 1e38]


@pytest.mark.parametrize(
    ("angle", "dtype"),
    [
        *((angle, np.float32) for angle in ANGLES),
        *((angle, np.float64) for angle in (*ANGLES, 1e100, -1.7e308)),
    ],
)
@pytest.mark.parametrize("n", [1, 8])
def test_angles_of_many_turns_are_as_accurate_as_small_ones(angle, dtype, n):
    kd = pendulum(dtype=dtype)
    frame = kd.model.joint(kd.joint_names[0]).second
    actual = kd.transform(frame, np.full((n, 1), angle, dtype))
    zero, quarter = kd.transform(frame, [0.0]), kd.transform(frame, [np.pi / 2])
    half = kd.transform(frame, [np.pi])
    middle = (zero + half) / 2
    exact = float(dtype(angle))
    expected = middle + np.cos(exact) * (zero - middle) + np.sin(exact) * (quarter - middle)
    tolerance = 1e-14 if dtype is np.float64 else 1e-6
    np.testing.assert_allclose(actual, np.broadcast_to(expected, actual.shape), atol=tolerance)


@pytest.mark.parametrize("value", [5e-324, 1e-310, -1e-308, 1e-200])
def test_denormal_numbers_are_treated_as_zero(kd, value):
    q, _, _ = motion(kd)
    q[7:] = 0
    small = q.copy()
    small[7:] = value
    nu = np.full(8, value)
    np.testing.assert_allclose(kd.mass_matrix(small), kd.mass_matrix(q), atol=1e-14)
    np.testing.assert_allclose(
        kd.bias_force(small, nu), kd.bias_force(q, np.zeros(8)), rtol=1e-13, atol=1e-13
    )


@pytest.mark.parametrize("mass", [1e-150, 1e150])
def test_masses_of_any_size_give_finite_numbers(mass):
    inertia = lw.Inertia(mass, (0.1, 0.2, 0.0), (mass, 0.0, 0.0, mass, 0.0, mass))
    kd = lw.KinDyn(hinge(inertia), floating=False)
    assert np.isfinite(kd.mass_matrix([0.3])).all()
    tau = kd.inverse_dynamics([0.3], [0.2], [0.1])
    np.testing.assert_allclose(kd.forward_dynamics([0.3], [0.2], tau), [0.1], rtol=1e-9)


# Singular robots.

NO_RESISTANCE = "joint 'hinge': nothing resists its motion, so it has no acceleration"


@pytest.mark.parametrize("floating", [False, True])
def test_a_joint_without_inertia_is_named_by_forward_dynamics(floating):
    kd = lw.KinDyn(hinge(lw.Inertia()), floating=floating)
    for n in ((), 3, 3000):
        q, nu, tau = motion(kd, n)
        with pytest.raises(lw.SingularJointError) as caught:
            kd.forward_dynamics(q, nu, tau)
        assert isinstance(caught.value, ArithmeticError)
        assert NO_RESISTANCE in str(caught.value)
        assert np.isfinite(kd.mass_matrix(q)).all()
        assert np.isfinite(kd.inverse_dynamics(q, nu, tau)).all()


@pytest.mark.parametrize("seed", range(6))
def test_a_point_mass_on_the_axis_is_singular_despite_rounding(seed):
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    mount = lw.Pose(xyz=tuple(rng.normal(size=3)), rpy=tuple(rng.normal(size=3)))
    point = lw.Inertia(1.0, tuple(0.3 * axis), (0.0,) * 6)
    kd = lw.KinDyn(hinge(point, axis=tuple(axis), first_H_joint=mount), floating=False)
    with pytest.raises(lw.SingularJointError):
        kd.forward_dynamics([0.3], [0.1], [1.0])


def test_a_robot_without_any_mass_is_singular():
    builder = lw.ModelBuilder("nothing")
    builder.add_link("body")
    kd = lw.KinDyn(builder.build())
    with pytest.raises(lw.SingularJointError):
        kd.forward_dynamics(kd.neutral(), np.zeros(6), np.ones(6))


def test_a_light_robot_is_not_singular():
    light = lw.Inertia(1e-9, (0.1, 0.0, 0.0), (1e-12, 0.0, 0.0, 1e-12, 0.0, 1e-12))
    kd = lw.KinDyn(hinge(light), floating=False)
    mass = kd.mass_matrix([0.3])[0, 0]
    np.testing.assert_allclose(kd.forward_dynamics([0.3], [0.0], [1e-9]), [1e-9 / mass], rtol=1e-9)
