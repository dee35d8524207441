"""Errors of wrong calls are raised when they are traced."""

from __future__ import annotations

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.support.jax_robots import arguments, kindyn
from tests.support.rollouts import pendulum

import linkwork as lw
import linkwork.jax


@pytest.fixture(scope="module")
def kd():
    return kindyn()


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        ("a", lw.ArgumentError, "q: .*JAX.*'a'"),
        (None, lw.ArgumentError, "q: .*None"),
        (np.zeros(12) * 1j, lw.ArgumentError, "q: .*complex128"),
        (np.zeros(5), lw.ShapeError, r"q: .*\(..., 12\).*\(5,\).*base position \(3\)"),
        (1.0, lw.ShapeError, r"q: .*\(..., 12\).*\(\)"),
        ([[1.0], 2.0], lw.ArgumentError, r"q: .*\["),
    ],
    ids=["text", "nothing", "complex", "shape", "number", "ragged"],
)
def test_a_wrong_argument(kd, inputs, error, message):
    with pytest.raises(error, match=f"^{message}"):
        kd.com(inputs)


def test_wrong_names_and_options(kd):
    (q,) = arguments(kd, ("q",))
    for call, message in (
        (kd.com, "com .*missing: q"),
        (lambda: kd.com(q, q), r"com .*1.*\(q\).*2"),
        (lambda: kd.com(x=q), r"com: .*'x'.*\bq\b"),
        (
            lambda: kd.com(q, out=q),
            r"com: out=.*NumPy.*linkwork\.KinDyn",
        ),
        (lambda: linkwork.jax.KinDyn(kd.model, backend="gpu"), ".*backend.*'gpu'"),
        (lambda: linkwork.jax.wrap(len), r"wrap: .*kernel.*linkwork\.Rollout"),
        (lambda: kd.replace(floatin=True), "KinDyn.*'floatin'.*'floating'"),
    ):
        with pytest.raises(lw.ArgumentError, match=f"^{message}"):
            call()


def test_batches_that_cannot_be_broadcast(kd):
    q, nu = arguments(kd, ("q", "nu"), (3,))
    with pytest.raises(lw.ShapeError, match=r"batch.*q \(3,\).*nu \(2,\)"):
        kd.com_velocity(q, nu[:2])


def test_unknown_frames_and_changed_options_raise(kd):
    with pytest.raises(lw.NameNotFoundError, match="'ball'"):
        kd.jacobian("bal", kd.neutral())
    with pytest.raises(lw.FrozenError):
        kd.gravity = 1


def test_tracers_passed_to_numpy_functions_raise(kd):
    with pytest.raises(lw.ArgumentError, match=r"q: .*a jax array; .*linkwork\.jax"):
        jax.jit(kd.numpy.com)(kd.neutral())
    with pytest.raises(lw.ModelError, match=r"gravity: .*Trace"):
        jax.jit(lambda g: kd.replace(gravity=g).com(kd.neutral()))(jnp.zeros(3))


def test_wrong_arguments_of_rollouts(rng):
    function = linkwork.jax.wrap(lw.Rollout(pendulum()))
    x0, controls = rng.normal(size=2), rng.normal(size=(5, 1))
    for call, error, message in (
        (lambda: function(x0), lw.ArgumentError, r"controls: pendulum.*\bu\b"),
        (lambda: function(x0[:1], controls), lw.ShapeError, r"x: .*\(..., 2\).*\(1,\)"),
        (
            lambda: function(x0, controls, steps=3),
            lw.ShapeError,
            r"steps: .*5.*\bu\b.*3",
        ),
        (
            lambda: function(np.zeros((2, 2)), np.zeros((3, 5, 1))),
            lw.ShapeError,
            r"batch.*x \(2,\).*u \(3,\)",
        ),
    ):
        with pytest.raises(error, match=f"^{message}"):
            call()


def test_without_jax_the_missing_package_is_named():
    code = """
import sys
sys.modules["jax"] = None
import linkwork
try:
    import linkwork.jax
except linkwork.MissingPackageError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("linkwork.jax ")
    assert done.stdout.strip().endswith("pip install jax")


@pytest.mark.parametrize("compiled", [False, True])
def test_results_that_overflow_are_infinite_or_nan(kd, compiled):
    q, nu, tau = kd.random(3, seed=0), jnp.ones((3, kd.nv)), jnp.zeros((3, kd.nv))
    function = jax.jit(kd.forward_dynamics) if compiled else kd.forward_dynamics
    expected = np.asarray(function(q, nu, tau))
    actual = np.asarray(function(q, nu.at[1].set(1e200), tau))
    assert not np.isfinite(actual[1]).all()
    np.testing.assert_array_equal(actual[[0, 2]], expected[[0, 2]])
