"""PinnZoo's functions compared with Pinocchio; derivatives compared with complex steps."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.complex_steps import jacobian_by_steps
from tests.support.pinnzoo import close, model, pinocchio_of, unit_states
from tests.support.spatial import pin

from linkwork.compat import pinnzoo as pz
from linkwork.spatial import quat, so3

ROBOTS = ("cartpole", "double_cartpole", "quadrotor", "branched", "go2")
SMALL = ("double_pendulum", "quadrotor", "branched")
each_robot = pytest.mark.parametrize("name", ROBOTS)
each_small = pytest.mark.parametrize("name", SMALL)


def there(zoo, x):
    """Return Pinocchio's q and v."""
    state = pz.change_order(zoo, x, "nominal", "pinocchio")
    return state[: zoo.nq], state[zoo.nq :]


@each_robot
def test_dynamics_agree_with_pinocchio(name, rng):
    zoo = model(name)
    robot = pinocchio_of(zoo)
    data = robot.createData()
    x, tau = unit_states(zoo, rng)
    q, v = there(zoo, x)

    M = pin.crba(robot, data, q)
    close(zoo.M_func(x), np.triu(M) + np.triu(M, 1).T)
    close(zoo.C_func(x), pin.nle(robot, data, q, v))
    close(zoo.inverse_dynamics(x, tau), pin.rnea(robot, data, q, v, tau))
    v_dot = zoo.forward_dynamics(x, tau)
    close(v_dot, pin.aba(robot, data, q, v, tau))
    close(zoo.inverse_dynamics(x, v_dot), tau, rtol=1e-10)
    assert np.array_equal(zoo.dynamics(x, tau), [*x[zoo.nq :], *v_dot])


@each_robot
def test_projected_derivatives_agree_with_pinocchio(name, rng):
    """Pinocchio differentiates in the tangent space; E maps it to the coordinates of q."""
    zoo = model(name)
    robot = pinocchio_of(zoo)
    data = robot.createData()
    x, tau = unit_states(zoo, rng)
    q, v = there(zoo, x)
    E = pz.error_jacobian(zoo, x)

    by_x, by_v_dot = pz.inverse_dynamics_deriv(zoo, x, tau)
    by_q, by_v, M = pin.computeRNEADerivatives(robot, data, q, v, tau)
    close(by_x @ E, np.hstack([by_q, by_v]), 1e-10)
    close(by_v_dot, np.triu(M) + np.triu(M, 1).T)

    by_x, by_tau = pz.forward_dynamics_deriv(zoo, x, tau)
    by_q, by_v, inverse = pin.computeABADerivatives(robot, data, q, v, tau)
    close(by_x @ E, np.hstack([by_q, by_v]), 1e-9)
    close(by_tau, np.triu(inverse) + np.triu(inverse, 1).T, 1e-10)

    A, B = pz.dynamics_deriv(zoo, x, tau)
    close(A[zoo.nv :], by_x)
    close(A[: zoo.nv], np.hstack([np.zeros((zoo.nv, zoo.nq)), np.eye(zoo.nv)]))
    close(B, np.vstack([np.zeros((zoo.nv, zoo.nv)), by_tau]))


def poses_there(zoo, x):
    robot = pinocchio_of(zoo)
    data = robot.createData()
    q, v = there(zoo, x)
    pin.forwardKinematics(robot, data, q, v)
    pin.updateFramePlacements(robot, data)
    frames = [robot.getFrameId(body) for body in zoo.kinematics_bodies]
    velocities = [
        pin.getFrameVelocity(robot, data, frame, pin.LOCAL_WORLD_ALIGNED).vector for frame in frames
    ]
    return [data.oMf[frame].homogeneous for frame in frames], velocities


@each_robot
def test_positions_and_their_velocities_agree_with_pinocchio(name, rng):
    zoo = model(name, orientation="none")
    x, _ = unit_states(zoo, rng)
    poses, velocities = poses_there(zoo, x)

    close(zoo.kinematics(x), np.concatenate([pose[:3, 3] for pose in poses]))
    close(zoo.kinematics_velocity(x), np.concatenate([v[:3] for v in velocities]))
    assert zoo.kinematics_size() == 3 * zoo.nc == len(zoo.kinematics(x))


@pytest.mark.parametrize("name", ["quadrotor", "branched"])
def test_orientations_and_their_rates(name, rng):
    """Rates are E omega for quaternions, and use the inverse Jacobian for axis-angle vectors."""
    for orientation, n in (("quaternion", 7), ("axis_angle", 6)):
        zoo = model(name, orientation=orientation)
        x, _ = unit_states(zoo, rng)
        poses, velocities = poses_there(zoo, x)
        result = zoo.kinematics(x).reshape(zoo.nc, n)
        rates = zoo.kinematics_velocity(x).reshape(zoo.nc, n)

        for k, (pose, velocity) in enumerate(zip(poses, velocities, strict=True)):
            R, omega = pose[:3, :3], velocity[3:]
            if orientation == "quaternion":
                expected = quat.from_rotation(R)
                rate = quat.rate_matrix(expected) @ (R.T @ omega)
            else:
                expected = so3.log(R)
                rate = np.linalg.solve(so3.left_jacobian(expected), omega)
            close(result[k], [*pose[:3, 3], *expected])
            close(rates[k, 3:], rate, 1e-10)


def computed(zoo):
    """Return names of functions, their inputs and the derivative with respect to x."""
    nv, nq = zoo.nv, zoo.nq
    return (
        ("inverse_dynamics", ("x", nv), "inverse_dynamics_deriv"),
        ("forward_dynamics", ("x", nv), "forward_dynamics_deriv"),
        ("dynamics", ("x", nv), "dynamics_deriv"),
        ("kinematics", ("x",), "kinematics_jacobian"),
        ("kinematics_velocity", ("x",), "kinematics_velocity_jacobian"),
        ("kinematics_force", ("x", zoo.kinematics_size()), "kinematics_force_jacobian"),
        ("velocity_kinematics_jvp", ("x", nv), "velocity_kinematics_jvp_deriv"),
        ("velocity_kinematics_T_jvp", ("x", nq), "velocity_kinematics_T_jvp_deriv"),
        ("error_jacobian_jvp", ("x", 2 * nv), "error_jacobian_jvp_deriv"),
        ("error_jacobian_T_jvp", ("x", nq + nv), "error_jacobian_T_jvp_deriv"),
    )


@each_small
@pytest.mark.parametrize("norm", [1.0, 1.7])
def test_derivatives_with_respect_to_x_agree_with_complex_steps(name, norm, rng):
    """Functions are polynomials in the quaternion, so derivatives are exact at any norm."""
    zoo = model(name, orientation="none")
    x, _ = unit_states(zoo, rng)
    if zoo.is_floating():
        x[3:7] *= norm
    for function, sizes, derivative in computed(zoo):
        arguments = [x, *(rng.normal(size=n) for n in sizes[1:])]
        result = getattr(zoo, derivative)(*arguments)
        (expected,) = jacobian_by_steps(zoo.kernel(function), arguments, "x")
        close(result[0] if isinstance(result, tuple) else result, expected)
        if isinstance(result, tuple):
            second = "v_dot" if function == "inverse_dynamics" else "tau"
            close(result[1], jacobian_by_steps(zoo.kernel(function), arguments, second)[0])


def test_jacobians_of_orientations_agree_with_other_extensions_after_projection():
    """PinnZoo computes the root of 1 + trace(R), another function where the norm is not 1."""
    zoo = model("quadrotor", orientation="quaternion")
    x = zoo.randn_state(seed=3)
    x[3:7] = [0.8, 0.2, -0.4, 0.4]

    def by_trace(x):
        w, u = x[3], x[4:7]
        R = np.eye(3) + 2 * w * pz.skew(u) + 2 * pz.skew(u) @ pz.skew(u)
        root = np.sqrt(1 + np.trace(R))
        skew = R - R.T
        return np.concatenate(
            [x[:3], [root / 2], np.array([skew[2, 1], skew[0, 2], skew[1, 0]]) / (2 * root)]
        )

    steps = 1e-6 * np.eye(zoo.nx)
    other = np.stack([(by_trace(x + h) - by_trace(x - h)) / 2e-6 for h in steps], axis=1)
    J, E = zoo.kinematics_jacobian(x), zoo.error_jacobian(x)
    np.testing.assert_allclose(by_trace(x), zoo.kinematics(x), atol=1e-12)
    np.testing.assert_allclose(J @ E, other @ E, atol=1e-8)
    assert np.abs(J - other)[:, 3:7].max() > 0.1


@pytest.mark.parametrize("orientation", ["quaternion", "axis_angle"])
def test_derivatives_of_orientations_agree_with_complex_steps(orientation, rng):
    zoo = model("branched", orientation=orientation, kinematics_bodies=("a",))
    x, _ = unit_states(zoo, rng)
    force = rng.normal(size=zoo.kinematics_size())
    for function, derivative, more in (
        ("kinematics", "kinematics_jacobian", ()),
        ("kinematics_velocity", "kinematics_velocity_jacobian", ()),
        ("kinematics_force", "kinematics_force_jacobian", (force,)),
    ):
        (expected,) = jacobian_by_steps(zoo.kernel(function), [x, *more], "x")
        close(getattr(zoo, derivative)(x, *more), expected, 1e-9)


@each_robot
def test_parts_of_the_kinematic_derivatives(name, rng):
    zoo = model(name)
    x, _ = unit_states(zoo, rng)
    E, J = zoo.velocity_kinematics(x), zoo.kinematics_jacobian(x)
    of_velocity = zoo.kinematics_velocity_jacobian(x)

    assert not J[:, zoo.nq :].any()
    close(of_velocity[:, zoo.nq :], J[:, : zoo.nq] @ E)
    close(zoo.kinematics_velocity(x), J[:, : zoo.nq] @ E @ x[zoo.nq :])


def test_the_power_of_a_force_on_a_body_is_that_of_its_generalized_force(rng):
    """The generalized force is E^T J^T f; kinematics_force_jacobian is its derivative."""
    zoo = model("branched")
    x, _ = unit_states(zoo, rng)
    force = rng.normal(size=zoo.kinematics_size())
    torques = zoo.kernel("kinematics_force")(x, force)

    assert torques @ x[zoo.nq :] == pytest.approx(force @ zoo.kinematics_velocity(x), rel=1e-12)


def test_the_mass_matrix_does_not_depend_on_the_base_and_is_positive_definite(rng):
    zoo = model("branched")
    x, y = zoo.randn_state(1), zoo.randn_state(2)
    y[7 : zoo.nq] = x[7 : zoo.nq]

    close(zoo.M_func(x), zoo.M_func(y))
    assert np.linalg.eigvalsh(zoo.M_func(x))[0] > 0
