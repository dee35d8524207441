"""`lw.repeat` in compiled functions: values, batches, precisions, derivatives, robots."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.kernels import output_of

import linkwork as lw

DT = 0.01


def newton(x, a):
    """Iterations towards the roots of a, with a value of the enclosing function."""
    return lw.repeat(20, lambda y: 0.5 * (y + a / y), x)


@pytest.fixture(scope="module")
def root():
    made = lw.compile(x=3, a=3)(newton)
    made.warmup()
    return made


@pytest.fixture(scope="module")
def robot():
    return lw.KinDyn(lw.robots.load("pendulum"), floating=False)


def step_of(kd):
    def step(q, nu, tau):
        nu = nu + DT * kd.forward_dynamics(q, nu, tau)
        return kd.integrate(q, nu, DT), nu

    return step


def steps_of(kd, n):
    """n steps of a robot in one function."""

    @lw.compile(q=kd.nq, nu=kd.nv, tau=kd.nv)
    def simulated(q, nu, tau):
        step = step_of(kd)
        return lw.repeat(n, lambda x: step(*x, tau), (q, nu))

    return simulated


def test_one_row_and_batches(root, rng):
    a = rng.uniform(0.1, 9.0, (1000, 3))
    np.testing.assert_allclose(root(np.ones(3), a[0]), np.sqrt(a[0]), rtol=1e-14)
    for threads in (1, 2):
        np.testing.assert_allclose(root(np.ones(3), a, threads=threads), np.sqrt(a), rtol=1e-14)
    assert root(np.ones((7, 1, 3)), a[:5]).shape == (7, 5, 3)


def test_single_precision(rng):
    single = lw.compile(x=3, a=3, dtype=np.float32)(newton)
    a = rng.uniform(0.1, 9.0, (100, 3)).astype(np.float32)
    actual = single(np.ones(3, np.float32), a)
    assert actual.dtype == np.float32
    np.testing.assert_allclose(actual, np.sqrt(a), rtol=1e-6)


def test_derivatives(root, rng):
    """The derivatives of a converged iteration are those of the root."""
    a, da, ct = rng.uniform(0.5, 9.0, (3, 50, 3))
    x = np.ones(3)
    slope = 0.5 / np.sqrt(a)
    np.testing.assert_allclose(root.jvp("a")(x, a, da), slope * da, rtol=1e-12)
    np.testing.assert_allclose(root.vjp("a")(x, a, ct), slope * ct, rtol=1e-12)
    expected = slope[:, None] * np.eye(3)
    np.testing.assert_allclose(root.jacobian("a")(x, a), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(root.jacobian("x")(x, a), 0.0, atol=1e-12)


def test_second_derivatives(rng):
    @lw.compile(x=2, p=2)
    def chaotic(x, p):
        return np.sum(lw.repeat(8, lambda y: np.sin(p * y[::-1]) + 0.3 * y, x) ** 2)

    @lw.compile(x=2, p=2)
    def unrolled(x, p):
        y = x
        for _ in range(8):
            y = np.sin(p * y[::-1]) + 0.3 * y
        return np.sum(y**2)

    x, p = rng.uniform(0.5, 1.5, (2, 20, 2))
    for derive in ("gradient", "hessian"):
        actual, expected = (getattr(one, derive)("x", "p")(x, p) for one in (chaotic, unrolled))
        for one, other in zip(actual, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11 * np.abs(other).max())
    actual, expected = (one.gradient("x").jvp("p")(x, p, x) for one in (chaotic, unrolled))
    np.testing.assert_allclose(actual, expected, rtol=1e-11)


def test_steps_of_a_robot_are_those_of_a_rollout(robot, rng):
    n = 40
    simulated = steps_of(robot, n)
    step = lw.compile(q=robot.nq, nu=robot.nv, tau=robot.nv)(step_of(robot))
    q, nu, tau = robot.random(6, seed=0), rng.normal(size=(6, 1)), rng.normal(size=(6, 1))
    controls = np.repeat(tau[:, None], n, axis=1)
    for actual, expected in zip(
        simulated(q, nu, tau), lw.rollout(step, (q, nu), controls, final=True), strict=True
    ):
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)
    ct = rng.normal(size=(6, robot.nq)), rng.normal(size=(6, robot.nv))
    by_q, by_nu, by_tau = simulated.vjp()(q, nu, tau, *ct)
    gradients = lw.Rollout(step).vjp((q, nu), controls, final=ct)
    np.testing.assert_allclose(by_q, gradients.x0[0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(by_nu, gradients.x0[1], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(by_tau, gradients.controls.sum(axis=1), rtol=1e-10, atol=1e-12)


def test_a_loop_that_could_not_be_unrolled(robot):
    """A million operations, and their derivatives, from a short program."""
    simulated = steps_of(robot, 200_000)
    assert simulated.program.n_ops > 10**6 > 10**4 * simulated.program.n_steps
    rest = np.zeros((2, 1))
    np.testing.assert_allclose(simulated([0.0], *rest), 0.0, atol=1e-12)
    backwards = simulated.vjp()
    assert backwards.program.n_steps < 100
    # a small force and what it does, forwards and backwards
    forwards = simulated.jvp("tau")([0.3], *rest, [1.0])
    by_tau = backwards([0.3], *rest, [1.0], [0.0])[2]
    np.testing.assert_allclose(by_tau, forwards[0], rtol=1e-6)


def test_a_loop_in_a_kernel_in_a_loop(root):
    outer = lw.compile(a=3)(lambda a: lw.repeat(3, lambda y: root(np.ones(3), y) + a, a))
    a = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(outer(a), lw.repeat(3, lambda y: np.sqrt(y) + a, a), rtol=1e-13)


def test_numpy_computes_loops_without_a_compiler():
    text = """
import sys
sys.modules["llvmlite"] = None
import warnings
warnings.simplefilter("ignore")
import numpy as np
import linkwork as lw
f = lw.compile(x=3, a=3)(lambda x, a: lw.repeat(20, lambda y: 0.5 * (y + a / y), x))
print(f(np.ones(3), [1.0, 4.0, 9.0]).round(12).tolist(), f.status)
"""
    actual, status = output_of(text).split(" NumPy: ")
    assert actual == "[1.0, 2.0, 3.0]"
    assert "llvmlite" in status
