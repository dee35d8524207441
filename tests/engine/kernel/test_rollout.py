"""`linkwork.rollout`: the returned states against loops in Python and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.kernels import floater
from tests.support.rollouts import DT, loop, numbers, pendulum, spring_inputs, stretching

import linkwork as lw

BATCHES = [(), (1,), (3,), (4,), (5,), (2, 3), (67,), (300,), (0,), (2, 0)]


# What comes out.


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("steps", [0, 1, 2, 57])
def test_a_rollout_is_bitwise_equal_to_a_loop(swing, batch, steps):
    x0, controls = numbers(*batch, 2), numbers(*batch, steps, 1)
    (expected,) = loop(swing, x0, controls)
    actual = lw.rollout(swing, x0, controls)
    assert actual.shape == (*batch, steps + 1, 2)
    np.testing.assert_array_equal(actual, expected)
    last = lw.rollout(swing, x0, controls, final=True)
    np.testing.assert_array_equal(last, expected[..., -1, :])


@pytest.mark.parametrize("batch", BATCHES)
def test_several_states_controls_and_params(sprung, batch):
    x0, controls, params = spring_inputs(batch, 23)
    expected = loop(sprung, x0, controls, params)
    actual = lw.rollout(sprung, x0, controls, params=params)
    assert isinstance(actual, tuple)
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(
        lw.rollout(sprung, list(x0), list(controls), params=params, final=True),
        expected,
        strict=True,
    ):
        np.testing.assert_array_equal(one, other[..., -1, :])


def test_a_harmonic_oscillator_follows_its_closed_form():
    @lw.compile(x=(), v=(), omega=())
    def leap(x, v, omega):  # the exact solution over DT
        c, s = np.cos(omega * DT), np.sin(omega * DT)
        return c * x + s / omega * v, c * v - omega * s * x

    omega = np.array([0.5, 2.0, 31.0])
    x, v = lw.rollout(leap, (1.5, -0.3), params={"omega": omega}, steps=2000)
    t = DT * np.arange(2001)
    phase = omega[:, None] * t
    np.testing.assert_allclose(
        x, 1.5 * np.cos(phase) - 0.3 / omega[:, None] * np.sin(phase), atol=1e-11
    )
    np.testing.assert_allclose(
        v, -0.3 * np.cos(phase) - 1.5 * omega[:, None] * np.sin(phase), atol=1e-10
    )


def test_every_input_after_the_states_may_be_a_control_or_a_param(sprung):
    x0, (force, wind), params = spring_inputs((5,), 11)
    timed = {name: np.repeat(a[:, None], 11, axis=1) for name, a in params.items()}
    all_timed = (force, wind, timed["mass"], timed["stiffness"])
    expected = lw.rollout(sprung, x0, (force, wind), params=params)
    for one, other in zip(lw.rollout(sprung, x0, all_timed), expected, strict=True):
        np.testing.assert_array_equal(one, other)
    constant = {**params, "force": force[:, 0], "wind": wind[:, 0]}
    held = lw.rollout(sprung, x0, params=constant, steps=11)
    still = tuple(np.repeat(a[:, :1], 11, axis=1) for a in (force, wind))
    for one, other in zip(held, lw.rollout(sprung, x0, still, params=params), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("start", "control"),
    [((), (70,)), ((70,), ()), ((1,), (70,)), ((70,), (1,)), ((7, 1), (1, 9)), ((9,), (7, 1))],
)
def test_batch_axes_are_broadcast(swing, start, control):
    x0, controls = numbers(*start, 2), numbers(*control, 13, 1)
    (expected,) = loop(swing, x0, controls)
    np.testing.assert_array_equal(lw.rollout(swing, x0, controls), expected)


def test_params_have_batch_axes_too(sprung):
    x0, controls, _ = spring_inputs((), 9)
    params = {"mass": np.linspace(1, 2, 12).reshape(3, 1, 4), "stiffness": np.eye(2)}
    expected = loop(sprung, x0, controls, params)
    for one, other in zip(lw.rollout(sprung, x0, controls, params=params), expected, strict=True):
        assert one.shape == (3, 1, 4, 10, 2)
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", ["time first", "every second", "backwards", "float32", "integers"])
def test_arrays_may_have_any_memory_layout(swing, kind):
    controls = numbers(40, 12, 1)
    arguments = {
        "time first": np.swapaxes(np.ascontiguousarray(np.swapaxes(controls, 0, 1)), 0, 1),
        "every second": np.repeat(controls, 2, axis=1)[:, ::2],
        "backwards": np.ascontiguousarray(controls[::-1, ::-1])[::-1, ::-1],
        "float32": controls.astype(np.float32),
        "integers": (10 * controls).astype(np.int64),
    }[kind]
    plain = np.ascontiguousarray(arguments, dtype=np.float64)
    x0 = numbers(40, 2)
    np.testing.assert_array_equal(lw.rollout(swing, x0, arguments), lw.rollout(swing, x0, plain))


def test_lists_of_numbers_are_accepted(swing):
    actual = lw.rollout(swing, [0.1, 0], [[0.5], [1]])
    np.testing.assert_array_equal(
        actual, lw.rollout(swing, np.array([0.1, 0.0]), np.array([[0.5], [1.0]]))
    )


def test_a_rollout_object_can_be_reused(swing):
    sim = lw.Rollout(swing)
    x0, controls = numbers(3, 2), numbers(3, 8, 1)
    np.testing.assert_array_equal(sim(x0, controls), lw.rollout(swing, x0, controls))
    assert repr(sim) == "<Rollout of <Kernel pendulum: x (2,), u (1,) -> pendulum (2,)>>"


@pytest.mark.parametrize("steps", [0, 1, 30])
def test_float32_stays_float32(steps):
    step = pendulum(np.float32)
    step.warmup()
    for batch in [(), (7,), (8,), (9,), (100,)]:
        x0 = numbers(*batch, 2).astype(np.float32)
        controls = numbers(*batch, steps, 1).astype(np.float32)
        actual = lw.rollout(step, x0, controls)
        assert actual.dtype == np.float32
        np.testing.assert_array_equal(actual, loop(step, x0, controls)[0])


def test_the_first_rollout_needs_no_warmup():
    x0, controls = numbers(6, 2), numbers(6, 20, 1)
    fresh, warm = pendulum(), pendulum()
    warm.warmup()
    np.testing.assert_allclose(
        lw.rollout(fresh, x0, controls), lw.rollout(warm, x0, controls), rtol=1e-13, atol=1e-13
    )


# Unit norms.


def test_quaternions_are_normalized_in_each_step_as_in_a_call():
    kd = floater()
    step = kd.function("integrate")
    step.warmup()
    rng = np.random.default_rng(3)
    q = kd.random(9, seed=1)
    q[:, 3:7] *= 1 + 1e-6 * rng.normal(size=(9, 1))
    nu = rng.normal(size=(9, 400, kd.nv))
    (expected,) = loop(step, q, nu, {"dt": 0.01})
    actual = lw.rollout(step, q, nu, params={"dt": 0.01})
    np.testing.assert_array_equal(actual, expected)
    np.testing.assert_array_equal(actual[:, 0], q)


def test_drift_beyond_the_tolerance_does_not_stop_a_rollout():
    step = stretching()
    step.warmup()
    angle, rate = np.linspace(0, 3, 7), numbers(7, 40)
    x0 = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    actual = lw.rollout(step, x0, rate)
    angles = angle[:, None] + np.cumsum(rate, axis=1)
    expected = 1.5 * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    np.testing.assert_allclose(actual[:, 1:], expected, atol=1e-13)


def test_a_robot_that_is_not_finite_does_not_affect_others():
    kd = floater()
    kernel = kd.function("integrate")
    q, nu = kd.random(5, seed=2), numbers(5, 3, kd.nv)
    nu[2, 1] = np.nan
    actual = lw.rollout(kernel, q, nu, params={"dt": 0.01})
    assert np.isfinite(np.delete(actual, 2, axis=0)).all()
    assert np.isfinite(actual[2, :2]).all()
    assert np.isnan(actual[2, 2:]).any(axis=-1).all()


def test_an_initial_state_without_unit_norm_is_rejected_and_out_is_unchanged():
    kd = floater()
    q, nu = kd.random(5, seed=2), numbers(5, 3, kd.nv)
    q[3, 3:7] *= 1.01
    out = np.full((5, 4, kd.nq), 7.0)
    with pytest.raises(lw.ValueRangeError) as caught:
        lw.rollout(kd.function("integrate"), q, nu, params={"dt": 0.01}, out=out)
    for fact in ("q", "base quaternion", "norm 1.01", "row 3"):
        assert fact in str(caught.value)
    np.testing.assert_array_equal(out, 7.0)


# Not finite.


def test_a_row_that_is_not_finite_does_not_affect_others(swing):
    x0, controls = numbers(50, 2), numbers(50, 30, 1)
    expected = lw.rollout(swing, x0, controls)
    x0[7], controls[20, 11] = np.nan, np.inf
    actual = lw.rollout(swing, x0, controls)
    assert np.isnan(actual[7]).all()
    assert np.isfinite(actual[20, :12]).all()
    assert not np.isfinite(actual[20, 12:]).any(axis=-1).any()
    others = np.delete(np.arange(50), [7, 20])
    np.testing.assert_array_equal(actual[others], expected[others])
