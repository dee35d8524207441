"""Inertial parameters that are physical whatever the numbers."""

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
    """The same from the definition: J = U U^T, written as matrices."""
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


def test_it_is_the_product_of_the_factor(rng):
    theta = rng.normal(size=(5, 10))
    found = log_cholesky(theta)
    assert_close(found, [by_factor(row) for row in theta], 1e-13)
    assert inertia.is_physical(found).all()
    assert_close(log_cholesky(theta.tolist()), found)
    assert log_cholesky(np.zeros((0, 10))).shape == (0, 10)


def test_the_inverse_undoes_it(rng):
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
    found = evaluated(there_and_back.jacobian("theta"), [theta])
    assert_close(found[0], expected[0], 1e-12)
    assert_close(found[1], np.eye(10), 1e-9)
    assert abs(np.linalg.det(found[0])) > 0.0


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (lw.Inertia(), "has no mass"),
        (lw.point_mass(2.0), "has no volume, or is no physical body"),
        (lw.Inertia(1.0, tensor=(1, 0, 0, 1, 0, 3)), "has no volume, or is no physical body"),
    ],
)
def test_what_has_no_logarithm_is_refused(body, why):
    with pytest.raises(lw.ValueRangeError, match=f"^parameters: the body {why}$"):
        log_cholesky_inverse(body.parameters())
    good = lw.solid_sphere(1.0, 0.1).parameters()
    with pytest.raises(lw.ValueRangeError, match=rf"{why} \(row 1\)$"):
        log_cholesky_inverse([good, body.parameters()])


def test_wrong_shapes_and_types():
    with pytest.raises(lw.ShapeError, match=r"theta: expected \(..., 10\), got \(9,\)"):
        log_cholesky(np.zeros(9))
    with pytest.raises(lw.ArgumentError, match="parameters: expected real numbers, got complex128"):
        log_cholesky_inverse(np.zeros(10, complex))
