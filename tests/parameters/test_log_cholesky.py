"""Log-Cholesky parametrization of inertial parameters."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.complex_steps import evaluated, jacobian_by_steps
from tests.support.models import assert_close, random_inertia

import linkwork as lw
from linkwork.spatial import inertia

log_cholesky = lw.parameters.log_cholesky
log_cholesky_inverse = lw.parameters.log_cholesky_inverse


def by_factor(theta):
    """Reference implementation from the definition J = U U^T, with matrices."""
    alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3 = theta
    U = np.exp(alpha) * np.array(
        [
            [np.exp(d1), s12, s13, t1],
            [0.0, np.exp(d2), s23, t2],
            [0.0, 0.0, np.exp(d3), t3],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )
    J = U @ U.T
    tensor = np.trace(J[:3, :3]) * np.eye(3) - J[:3, :3]
    return np.array([J[3, 3], *J[:3, 3], *tensor[np.triu_indices(3)]])


def test_parameters_equal_those_of_the_definition(rng):
    theta = rng.normal(size=(5, 10))
    result = log_cholesky(theta)
    assert_close(result, [by_factor(row) for row in theta], 1e-13)
    assert inertia.is_physical(result).all()
    assert_close(log_cholesky(theta.tolist()), result)
    assert log_cholesky(np.zeros((0, 10))).shape == (0, 10)


def test_inverse_restores_theta(rng):
    theta = rng.normal(size=(2, 3, 10))
    assert_close(log_cholesky_inverse(log_cholesky(theta)), theta, 1e-11)
    bodies = np.stack([random_inertia(rng).parameters() for _ in range(4)])
    assert_close(log_cholesky(log_cholesky_inverse(bodies)), bodies, 1e-12)


def test_inside_a_compiled_function_with_derivatives(rng):
    @lw.compile(theta=(10,))
    def there_and_back(theta):
        phi = log_cholesky(theta)
        return phi, log_cholesky_inverse(phi)

    theta = rng.normal(size=10)
    phi, back = there_and_back(theta)
    assert_close(phi, log_cholesky(theta), 1e-13)
    assert_close(back, theta, 1e-11)
    expected = jacobian_by_steps(there_and_back, [theta], "theta")
    result = evaluated(there_and_back.jacobian("theta"), [theta])
    assert_close(result[0], expected[0], 1e-12)
    assert_close(result[1], np.eye(10), 1e-9)
    assert abs(np.linalg.det(result[0])) > 0.0


def test_descent_identifies_a_payload_from_torques(rng):
    """Every step stays physical without bounds on the parameters."""
    kd = lw.KinDyn(
        lw.robots.load("arm"), floating=False, parameters=[lw.parameters.Payload("tool")]
    )
    box = lw.solid_box(2.0, (0.1, 0.15, 0.2), com=(0.02, -0.01, 0.1)).parameters()
    q, (nu, nu_dot) = kd.random(60, seed=1), rng.normal(size=(2, 60, kd.nv))
    measured = kd.inverse_dynamics(q, nu, nu_dot, parameters=box)

    @lw.compile(theta=(10,), q=(kd.nq,), nu=(kd.nv,), nu_dot=(kd.nv,), tau=(kd.nv,))
    def loss(theta, q, nu, nu_dot, tau):
        error = kd.inverse_dynamics(q, nu, nu_dot, parameters=log_cholesky(theta)) - tau
        return error @ error

    def total(theta):
        return loss(theta, q, nu, nu_dot, measured).sum()

    def descent(theta):
        return -loss.gradient("theta")(theta, q, nu, nu_dot, measured).sum(axis=0)

    theta = log_cholesky_inverse(lw.solid_sphere(0.5, 0.1).parameters())
    start, inverse = total(theta), np.eye(10) * 1e-3
    downhill = descent(theta)
    for _ in range(150):  # BFGS
        step = inverse @ downhill
        while not total(theta + step) < total(theta) - 1e-4 * (step @ downhill):
            step = 0.5 * step
            if np.abs(step).max() < 1e-14:
                break
        theta = theta + step
        assert inertia.is_physical(log_cholesky(theta))
        changed, downhill = downhill, descent(theta)
        changed = changed - downhill
        if not step @ changed > 0.0:
            break
        projection = np.eye(10) - np.outer(step, changed) / (step @ changed)
        inverse = projection @ inverse @ projection.T + np.outer(step, step) / (step @ changed)
    assert total(theta) < 1e-12 * start
    assert_close(log_cholesky(theta), box, 1e-5)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (lw.Inertia(), "no mass"),
        (lw.point_mass(2.0), "no volume"),
        (lw.Inertia(1.0, tensor=(1, 0, 0, 1, 0, 3)), "no volume"),
    ],
)
def test_inverse_rejects_bodies_without_mass_or_volume(body, reason):
    with pytest.raises(lw.ValueRangeError, match=reason):
        log_cholesky_inverse(body.parameters())
    good = lw.solid_sphere(1.0, 0.1).parameters()
    with pytest.raises(lw.ValueRangeError, match=rf"{reason}.* \(row 1\)$"):
        log_cholesky_inverse([good, body.parameters()])


def test_wrong_shapes_and_types_are_rejected():
    with pytest.raises(lw.ShapeError, match=r"theta: .*10\).*\(9,\)"):
        log_cholesky(np.zeros(9))
    with pytest.raises(lw.ArgumentError, match=r"parameters: .*complex128"):
        log_cholesky_inverse(np.zeros(10, complex))
