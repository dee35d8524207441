"""PinnZoo's states, their errors, quaternions and orders."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from tests.support.complex_steps import jacobian_by_steps
from tests.support.pinnzoo import BRANCHED, close, model, pinocchio_of, unit_states

import linkwork as lw
from linkwork.compat import pinnzoo as pz
from linkwork.spatial import quat

ROBOTS = ("cartpole", "quadrotor", "branched")
each_robot = pytest.mark.parametrize("name", ROBOTS)


@each_robot
def test_E_T_is_a_left_inverse_of_E_and_not_its_transpose(name, rng):
    zoo = model(name)
    x, v = unit_states(zoo, rng)
    E, E_T = zoo.velocity_kinematics(x), zoo.velocity_kinematics_T(x)

    close(E_T @ E, np.eye(zoo.nv))
    close(zoo.error_jacobian_T(x) @ zoo.error_jacobian(x), np.eye(2 * zoo.nv))
    assert np.allclose(E_T, E.T) == (not zoo.is_floating())
    rates = E @ v
    if zoo.is_floating():
        assert abs(rates[3:7] @ x[3:7]) < 1e-14  # the norm of the quaternion is constant
        close(rates[:3], quat.rotate(x[3:7], v[:3]))


@each_robot
def test_E_is_the_rate_along_a_motion(name, rng):
    """Compared with steps of KinDyn.integrate, which also has body velocities."""
    zoo = model(name)
    x, v = unit_states(zoo, rng)
    q, h = x[: zoo.nq], 1e-6
    ahead, behind = (zoo.kd.integrate(q, v, dt) for dt in (h, -h))

    np.testing.assert_allclose(
        zoo.velocity_kinematics(x) @ v, (ahead - behind) / (2 * h), atol=1e-8
    )


@each_robot
@pytest.mark.parametrize("size", [1e-9, 1e-3, 1.0, 3.5])
def test_apply_and_error_are_inverses(name, size, rng):
    zoo = model(name)
    x, _ = unit_states(zoo, rng)
    delta = rng.normal(size=2 * zoo.nv)
    if zoo.is_floating():
        delta[3:6] *= size / np.linalg.norm(delta[3:6])  # also angles larger than pi
    y = zoo.apply_delta_x(x, delta)

    result = zoo.state_error(y, x)
    close(result, delta, 1e-12)
    if zoo.is_floating():
        np.testing.assert_allclose(result[3:6], delta[3:6], rtol=1e-12, atol=1e-15)
    other = zoo.randn_state(5)
    close(zoo.apply_delta_x(other, zoo.state_error(x, other)), x, 1e-12)
    assert np.abs(zoo.state_error(x, x)).max() < 1e-15


@each_robot
def test_error_jacobians_are_derivatives_of_the_error_and_of_its_inverse(name, rng):
    zoo = model(name)
    x, _ = unit_states(zoo, rng)
    nothing = np.zeros(2 * zoo.nv)

    (by_delta,) = jacobian_by_steps(zoo.kernel("apply_delta_x"), [x, nothing], "delta_x")
    (by_x,) = jacobian_by_steps(zoo.kernel("state_error"), [x, x], "x")
    close(zoo.error_jacobian(x), by_delta)
    close(zoo.error_jacobian_T(x), by_x)


def test_a_quaternion_and_its_negative_differ_by_2_pi():
    """The axis-angle vector is up to 2 pi long; at -1, which has no axis, it is zero."""
    q = quat.exp(np.array([0.3, -0.2, 0.5]))
    near, far = pz.quat_to_axis_angle(q), pz.quat_to_axis_angle(-q)

    close(near, [0.3, -0.2, 0.5])
    assert np.linalg.norm(far) == pytest.approx(2 * np.pi - np.linalg.norm(near))
    close(np.cross(near, far), np.zeros(3))
    assert pz.quat_to_axis_angle([-1.0, 0, 0, 0]).tolist() == [0, 0, 0]
    assert pz.quat_to_axis_angle([-1.0, 1e-14, 0, 0])[0] == pytest.approx(-2e-14)


@pytest.mark.parametrize("angle", [0.0, 1e-13, 1e-7, 9e-4, 1.1e-3, 1.0, np.pi, 6.2])
def test_axis_angles_round_trip(angle, rng):
    axis = rng.normal(size=3)
    omega = angle * axis / np.linalg.norm(axis)

    result = pz.quat_to_axis_angle(pz.axis_angle_to_quat(omega))
    np.testing.assert_allclose(result, omega, rtol=1e-11, atol=1e-300)


def test_quaternion_matrices(rng):
    p, q = rng.normal(size=(2, 5, 4))
    v, u, omega = rng.normal(size=(3, 3))

    close((pz.L_mult(p) @ q[..., None])[..., 0], quat.multiply(p, q))
    close((pz.R_mult(q) @ p[..., None])[..., 0], quat.multiply(p, q))
    close(pz.skew(v) @ u, np.cross(v, u))
    w, qv = q[0, 0], q[0, 1:]
    close(pz.attitude_jacobian(q[0]), np.vstack([-qv, w * np.eye(3) + pz.skew(qv)]))
    close(pz.attitude_jacobian(q[0]) @ omega, quat.multiply(q[0], [0.0, *omega]))
    unit = q[0] / np.linalg.norm(q[0])
    rotated = quat.multiply(quat.multiply(unit, [0.0, *v]), pz.quat_conjugate(unit))
    close(pz.quat_to_rot(unit) @ v, rotated[1:])
    close(pz.rot_to_quat(pz.quat_to_rot(unit)), np.sign(unit[0]) * unit)
    S = pz.skew(q[0, 1:])
    close(pz.quat_to_rot(q[0]), np.eye(3) + 2 * q[0, 0] * S + 2 * S @ S)  # without normalization


def test_initial_states():
    zoo, fixed = model("branched"), model("cartpole")

    assert zoo.zero_state().tolist() == [0, 0, 0, 1] + [0] * (zoo.nx - 4)
    assert not fixed.zero_state().any()
    assert np.array_equal(pz.init_state(zoo), zoo.zero_state())
    x = pz.randn_state(zoo, 3)
    assert np.array_equal(x, zoo.randn_state(seed=3))
    assert not np.array_equal(x, zoo.randn_state())
    assert np.linalg.norm(x[3:7]) == pytest.approx(1.0)
    assert pz.randn_state(zoo, 3, batch=(2, 4)).shape == (2, 4, zoo.nx)
    assert pz.is_floating(zoo)
    assert not pz.is_floating(fixed)


def test_initial_states_of_quadrupeds_have_feet_near_the_ground():
    for name in ("go1", "go2"):
        zoo = model(name)
        x = pz.init_state(zoo)
        feet = zoo.kinematics(x).reshape(4, 3)
        assert np.linalg.norm(x[3:7]) == pytest.approx(1.0)
        assert not x[zoo.nq :].any()
        assert np.abs(feet[:, 2]).max() < 0.07


def test_orders_of_other_programs(rng):
    """Compared with Pinocchio and MuJoCo; RigidBodyDynamics orders joints by depth."""
    zoo = model("branched")
    orders = zoo.orders
    joints = {
        name: tuple(joint.removesuffix("_joint") for joint in order.config_names[7:])
        for name, order in orders.items()
    }
    robot = pinocchio_of(zoo)
    simulated = mujoco.MjModel.from_xml_string(BRANCHED)

    assert joints["nominal"] == joints["pinocchio"] == tuple(robot.names)[2:]
    assert orders["nominal"].config_names[7:] == (
        "m",
        "z_joint",
        "b",
        "k",
    )  # z is a coordinate of the base
    names = [simulated.joint(k).name for k in range(simulated.njnt)]
    assert joints["mujoco"] == tuple(name for name in names if name in joints["nominal"])
    assert joints["rigidBodyDynamics"] == ("z", "m", "k", "b")
    assert orders["pinocchio"].config_names[:7] == ("x", "y", "z", "q_x", "q_y", "q_z", "q_w")
    assert orders["rigidBodyDynamics"].config_names[:4] == ("q_w", "q_x", "q_y", "q_z")
    assert orders["rigidBodyDynamics"].vel_names[:3] == ("ang_v_x", "ang_v_y", "ang_v_z")


def test_changes_of_order(rng):
    zoo = model("branched")
    there = zoo.orders["rigidBodyDynamics"]
    x = rng.normal(size=zoo.nx)
    names = zoo.orders["nominal"]
    by_name = dict(zip(names.config_names, x, strict=False))
    velocities = dict(zip(names.vel_names, x[zoo.nq :], strict=True))

    moved = zoo.change_order(x, "nominal", "rigidBodyDynamics")
    assert moved[: zoo.nq].tolist() == [by_name[name] for name in there.config_names]
    assert moved[zoo.nq :].tolist() == [velocities[name] for name in there.vel_names]
    assert np.array_equal(zoo.change_order(moved, "rigidBodyDynamics", "nominal"), x)
    assert np.array_equal(zoo.change_order(x, "nominal", "nominal"), x)

    M, tau = zoo.M_func(zoo.randn_state(1)), rng.normal(size=zoo.nv)
    M_there, moved = (zoo.change_order(one, "nominal", "rigidBodyDynamics") for one in (M, tau))
    close(M_there @ moved, zoo.change_order(M @ tau, "nominal", "rigidBodyDynamics"))
    batch = rng.normal(size=(zoo.nv, zoo.nv))
    rows = zoo.change_order(batch, "nominal", "mujoco", dims=-1)
    assert np.array_equal(rows[3], zoo.change_order(batch[3], "nominal", "mujoco"))
    u = rng.normal(size=zoo.nu)
    driven = dict(zip(names.torque_names, u, strict=True))
    moved = zoo.change_order(u, "nominal", "mujoco")
    assert moved.tolist() == [driven[name] for name in zoo.orders["mujoco"].torque_names]


def test_a_user_defined_order():
    zoo = pz.Model("double_cartpole")
    names = ("pole2", "cart_to_pole", "slider_to_cart")
    zoo.orders["mine"] = pz.StateOrder(names, names)
    with pytest.raises(lw.ArgumentError, match=r"'nominal'.*'mine'.*generate_conversions"):
        zoo.change_order([1.0, 2, 3], "nominal", "mine")
    pz.generate_conversions(zoo.orders, zoo.conversions)

    assert zoo.change_order([1.0, 2, 3], "nominal", "mine").tolist() == [3, 2, 1]
    other = pz.StateOrder(("a", "b", "c"), names)
    with pytest.raises(lw.ValueRangeError, match=r"config_names.*'a', 'b'"):
        pz.create_conversion(zoo.orders["mine"], other)
