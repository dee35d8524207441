"""What is wrong with a call is said when it is traced."""

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
    ("given", "error", "text"),
    [
        ("a", lw.ArgumentError, "q: expected an array of JAX, got 'a'"),
        (None, lw.ArgumentError, "q: expected numbers, got None"),
        (np.zeros(12) * 1j, lw.ArgumentError, "q: expected real numbers, got complex128"),
        (np.zeros(5), lw.ShapeError, "q: expected (..., 12), got (5,); q is base position (3)"),
        (1.0, lw.ShapeError, "q: expected (..., 12), got ()"),
        ([[1.0], 2.0], lw.ArgumentError, "q: expected numbers, got ["),
    ],
    ids=["text", "nothing", "complex", "shape", "number", "ragged"],
)
def test_a_wrong_argument(kd, given, error, text):
    with pytest.raises(error) as caught:
        kd.com(given)
    assert str(caught.value).startswith(text)


def test_wrong_names_and_options(kd):
    (q,) = arguments(kd, ("q",))
    for call, text in (
        (kd.com, "com takes q; q missing"),
        (lambda: kd.com(q, q), "com takes 1 arguments (q), got 2"),
        (lambda: kd.com(x=q), "com: argument 'x' is unknown; known: q"),
        (
            lambda: kd.com(q, out=q),
            "com: out= is for calls with NumPy arrays; use the function of linkwork.KinDyn",
        ),
        (lambda: linkwork.jax.KinDyn(kd.model, backend="gpu"), "unknown backend 'gpu'; known: "),
        (lambda: linkwork.jax.wrap(len), "wrap: expected a kernel of linkwork, or a linkwork.Roll"),
        (lambda: kd.replace(floatin=True), "KinDyn has no option 'floatin'; did you mean 'floati"),
    ):
        with pytest.raises(lw.ArgumentError) as caught:
            call()
        assert str(caught.value).startswith(text)


def test_batches_that_do_not_fit(kd):
    q, nu = arguments(kd, ("q", "nu"), (3,))
    text = r"batch axes do not fit each other: q \(3,\), nu \(2,\)"
    with pytest.raises(lw.ShapeError, match=text):
        kd.com_velocity(q, nu[:2])


def test_a_frame_that_is_not_there_and_a_robot_that_changes(kd):
    with pytest.raises(lw.NameNotFoundError, match="did you mean 'ball'"):
        kd.jacobian("bal", kd.neutral())
    with pytest.raises(lw.FrozenError):
        kd.gravity = 1


def test_tracers_in_the_wrong_place(kd):
    with pytest.raises(lw.ArgumentError, match=r"q: a jax array; .*linkwork\.jax"):
        jax.jit(kd.numpy.com)(kd.neutral())
    with pytest.raises(lw.ModelError, match=r"gravity: .*numbers.*JitTracer"):
        jax.jit(lambda g: kd.replace(gravity=g).com(kd.neutral()))(jnp.zeros(3))


def test_wrong_arguments_of_rollouts(rng):
    function = linkwork.jax.wrap(lw.Rollout(pendulum()))
    x0, controls = rng.normal(size=2), rng.normal(size=(5, 1))
    for call, error, text in (
        (lambda: function(x0), lw.ArgumentError, "controls: pendulum takes u besides its states"),
        (lambda: function(x0[:1], controls), lw.ShapeError, "x: expected (..., 2), got (1,)"),
        (
            lambda: function(x0, controls, steps=3),
            lw.ShapeError,
            "steps: 3 are asked for, but u has values for 5",
        ),
        (
            lambda: function(np.zeros((2, 2)), np.zeros((3, 5, 1))),
            lw.ShapeError,
            "batch axes do not fit each other: x (2,), u (3,)",
        ),
    ):
        with pytest.raises(error) as caught:
            call()
        assert str(caught.value).startswith(text)


def test_without_jax_the_extra_is_named():
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
