"""Second derivatives where a first derivative is exactly 0, or a root has the argument 0.

Products with 0 are guarded against infinite factors; the guards must not suppress the derivative of
the factor 0.
"""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw

FUNCTIONS = {
    "root": lambda x: np.sqrt(x @ x + 1.0),
    "root of a sine": lambda x: np.sqrt(2.0 + np.sin(x[0]) ** 2 * np.cos(x[1]) + x[2] ** 2),
    "length of a difference": lambda x: np.sqrt((x - 1.0) @ (x - 1.0)),
    "root in a branch": lambda x: np.where(
        x[0] < 0.5, np.sqrt(x[1] ** 2 + 4.0) + x[0] * x[2], np.sqrt(x[0] - 9.0)
    ),
    "quotient by a root": lambda x: x[0] * x[1] / np.sqrt(x[2] ** 2 + 3.0) + x[0] ** 2,
}
POINTS = [
    np.zeros(3),
    np.array([0.0, 0.3, 0.0]),
    np.array([0.0, 0.0, -0.7]),
    np.array([0.1, 0.2, 0.3]),
]


def by_differences(function, x, step=1e-4):
    """The Hessian by central differences."""
    n, actual = len(x), np.zeros((len(x), len(x)))
    for i in range(n):
        for j in range(n):
            a, b = step * np.eye(n)[i], step * np.eye(n)[j]
            total = function(x + a + b) - function(x + a - b) - function(x - a + b)
            actual[i, j] = (total + function(x - a - b)) / (4 * step**2)
    return actual


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("point", range(len(POINTS)))
def test_every_way_to_the_hessian_agrees_with_differences(name, point):
    plain = FUNCTIONS[name]
    function, x = lw.compile(x=3)(plain), POINTS[point]
    with np.errstate(invalid="ignore"):  # the branch that is not taken
        expected = by_differences(plain, x)
    rows = np.eye(3)
    one = np.array(1.0)
    forward = function.jvp("x").jvp("x")
    mixed, backward = function.vjp("x").jvp("x"), function.vjp("x").vjp("x")
    actual = {
        "hessian": function.hessian("x")(x),
        "jacobian": function.gradient("x").jacobian("x")(x),
        "jvp of vjp": np.array([mixed(x, one, row) for row in rows]),
        "vjp of vjp": np.array([backward(x, one, row) for row in rows]),
        "jvp of jvp": np.array([[forward(x, a, b) for a in rows] for b in rows]),
    }
    for way, hessian in actual.items():
        np.testing.assert_allclose(hessian, expected, atol=1e-6, err_msg=way)


def test_second_derivatives_along_a_tangent_normal_to_the_gradient():
    @lw.compile(x=3)
    def length(x):
        return np.sqrt(x @ x)

    x, across = np.array([1.0, 2.0, 2.0]), np.array([2.0, -1.0, 0.0])
    second = length.jvp("x").jvp("x")(x, across, across)
    np.testing.assert_allclose(second, across @ across / 3.0, rtol=1e-14)


def test_the_norm_of_the_zero_vector_has_the_derivative_zero():
    @lw.compile(x=3)
    def length(x):
        return np.sqrt(x @ x)

    zero = np.zeros(3)
    np.testing.assert_array_equal(length.gradient("x")(zero), zero)
    np.testing.assert_array_equal(length.jacobian("x")(zero), zero)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_both_precisions_are_guarded(dtype):
    function = lw.compile(x=(), dtype=dtype)(lambda x: np.sqrt(x * x + 1.0))
    assert function.hessian("x")(dtype(0.0)) == 1.0
    length = lw.compile(x=2, dtype=dtype)(lambda x: np.sqrt(x @ x))
    np.testing.assert_array_equal(length.gradient("x")(np.zeros(2, dtype)), np.zeros(2))


def test_the_difference_of_equal_configurations_has_its_second_derivative():
    """If the rotation vector is 0, so are the tangents of its length."""
    kd = lw.KinDyn(lw.robots.load("pendulum"), floating=True)
    kernel = kd.function("difference")
    q = kd.random(seed=0)
    tangent = kd.velocity_kinematics(q) @ np.linspace(-1.0, 1.0, kd.nv)
    second = kernel.jvp("q_end").jvp("q_end")
    step = 1e-4
    first = kernel.jvp("q_end")
    expected = (first(q, q + step * tangent, tangent) - first(q, q - step * tangent, tangent)) / (
        2 * step
    )
    np.testing.assert_allclose(second(q, q, tangent, tangent), expected, atol=1e-6)
