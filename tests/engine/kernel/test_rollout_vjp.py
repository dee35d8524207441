"""`Rollout.vjp`: against complex steps, products of Jacobians, and loops; in little memory."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.support.kernels import floater, output_of
from tests.support.kindyn import WITH_COMPLEX_SIGNS
from tests.support.messages import assert_facts
from tests.support.rollouts import (
    loop,
    numbers,
    pendulum,
    said_when_interrupted,
    spring,
    spring_inputs,
    stretching,
)
from tests.support.stand_ins import WITHOUT_EXTENSION, WITHOUT_MACHINE_CODE

import linkwork as lw
from linkwork.engine.kernel import rollout as module

BATCHES = [(), (1,), (3,), (4,), (6,), (2, 3), (70,)]


def ready(step):
    """A rollout whose fast code is in use, so that the same call gives the same bits."""
    step.warmup()
    step.vjp(*(port.name for port in step.signature.inputs)).warmup()
    return lw.Rollout(step)


@pytest.fixture(scope="module")
def swing():
    return ready(pendulum())


@pytest.fixture(scope="module")
def sprung():
    return ready(spring())


@pytest.fixture(params=["all states kept", "checkpoints"])
def memory(request, monkeypatch):
    """Whether a thread stores all states, or checkpoints."""
    if request.param == "checkpoints":
        monkeypatch.setattr(module, "STORED_BYTES", 0)


def close(actual, expected, tolerance=1e-11):
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * scale)


def backwards(step, x0, controls, params, cotangents):
    """Cotangents by a loop over the Jacobians of the step; states, controls and params in turn."""
    states = loop(step, x0, controls, params)
    inputs = step.signature.inputs
    n, steps = len(states), states[0].shape[-2] - 1
    jacobian = step.jacobian(*(port.name for port in inputs))
    carried = [ct[..., steps, :] for ct in cotangents]
    controls = [a.reshape(*a.shape[: states[0].ndim - 1], -1) for a in controls]
    actual = [[] for _ in inputs]
    for time in reversed(range(steps)):
        now = [state[..., time, :] for state in states]
        now += [
            a[..., time, :].reshape((*states[0].shape[:-2], *port.shape))
            for a, port in zip(controls, inputs[n:], strict=False)
        ]
        blocks = jacobian(*now, *params.values())
        products = []
        for k, port in enumerate(inputs):
            flat = 0.0
            for output in range(n):
                block = blocks[output * len(inputs) + k]
                block = block.reshape(*states[0].shape[:-2], carried[output].shape[-1], -1)
                flat = flat + np.einsum("...i,...ij->...j", carried[output], block)
            products.append(flat.reshape((*states[0].shape[:-2], *port.shape)))
        for stored, product in zip(actual[n:], products[n:], strict=True):
            stored.append(product)
        carried = [a + ct[..., time, :] for a, ct in zip(products, cotangents, strict=False)]
    batch = states[0].ndim - 2
    timed = [np.stack(stored[::-1], axis=batch) for stored in actual[n : n + len(controls)]]
    return carried, timed, [sum(stored) for stored in actual[n + len(controls) :]]


# Values.


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("steps", [1, 2, 17])
def test_gradients_are_products_of_jacobians(sprung, batch, steps, memory):
    x0, controls, params = spring_inputs(batch, steps)
    cotangents = numbers(*batch, steps + 1, 2), numbers(*batch, steps + 1, 2, seed=1)
    actual = sprung.vjp(x0, controls, cotangents, params=params)
    by_x0, by_controls, by_params = backwards(sprung.step, x0, controls, params, cotangents)
    for one, other in zip(actual.x0, by_x0, strict=True):
        close(one, other)
    for one, other in zip(actual.controls, by_controls, strict=True):
        assert one.shape == other.shape
        close(one, other)
    for one, other in zip(actual.params.values(), by_params, strict=True):
        assert one.shape == other.shape
        close(one, other)
    assert [*actual.params] == ["mass", "stiffness"]


def test_gradients_against_complex_steps(sprung, memory):
    """The whole rollout on complex numbers, by the interpreter of programs."""
    steps, h = 12, 1e-30
    x0, controls, params = spring_inputs((), steps)
    weights = numbers(steps + 1, 2), numbers(steps + 1, 2, seed=1)
    program = sprung.step.program

    def cost(p, v, *others):
        force, wind, mass, stiffness = others
        total = weights[0][0] @ p + weights[1][0] @ v
        for time in range(steps):
            rows = [p, v, force[time], wind[time], mass, stiffness]
            values = program.run(*map(np.ravel, rows), functions=WITH_COMPLEX_SIGNS)
            p, v = np.array(values[:2]), np.array(values[2:])
            total = total + weights[0][time + 1] @ p + weights[1][time + 1] @ v
        return total

    arguments = [*x0, *controls, *params.values()]
    actual = sprung.vjp(x0, controls, weights, params=params)
    gradients = [*actual.x0, *actual.controls, *actual.params.values()]
    for place, gradient in enumerate(gradients):
        for index in np.ndindex(gradient.shape):
            moved = [np.array(a, dtype=complex) for a in arguments]
            moved[place][index] += 1j * h
            expected = cost(*moved).imag / h
            assert abs(gradient[index] - expected) <= 1e-11 * max(1.0, abs(expected))


def test_cotangents_of_the_last_states_are_added(swing, memory):
    x0, controls = numbers(5, 2), numbers(5, 9, 1)
    every, last = numbers(5, 10, 2, seed=3), numbers(5, 2, seed=4)
    at_end = np.zeros((5, 10, 2))
    at_end[:, -1] = last
    for one, other in zip(
        swing.vjp(x0, controls, final=last)[:2], swing.vjp(x0, controls, at_end)[:2], strict=True
    ):
        np.testing.assert_array_equal(one, other)
    both = swing.vjp(x0, controls, every, final=last)
    summed = swing.vjp(x0, controls, every + at_end)
    close(both.x0, summed.x0)
    close(both.controls, summed.controls)


def test_states_of_the_caller_are_not_computed_again(swing, sprung):
    x0, controls = numbers(70, 2), numbers(70, 9, 1)
    every = numbers(70, 10, 2, seed=3)
    plain = swing.vjp(x0, controls, every)
    actual = swing.vjp(x0, controls, every, states=swing(x0, controls))
    np.testing.assert_array_equal(actual.x0, plain.x0)
    np.testing.assert_array_equal(actual.controls, plain.controls)
    moved = swing.vjp(x0, controls, every, states=swing(x0 + 0.3, controls))
    assert np.abs(moved.x0 - plain.x0).max() > 1e-4
    two, forces, params = spring_inputs((), 6)
    states = sprung(two, forces, params=params)
    ct = numbers(7, 2), None
    plain = sprung.vjp(two, forces, ct, params=params)
    actual = sprung.vjp(two, forces, ct, params=params, states=states)
    for one, other in zip(
        (*plain.x0, *plain.controls), (*actual.x0, *actual.controls), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_a_rollout_without_steps_or_rows(swing):
    ct = numbers(3, 1, 2)
    actual = swing.vjp(numbers(3, 2), np.zeros((3, 0, 1)), ct, final=numbers(3, 2, seed=5))
    np.testing.assert_array_equal(actual.x0, ct[:, 0] + numbers(3, 2, seed=5))
    assert actual.controls.shape == (3, 0, 1)
    actual = swing.vjp(np.zeros((0, 2)), np.zeros((0, 4, 1)), np.zeros((0, 5, 2)))
    assert (actual.x0.shape, actual.controls.shape) == ((0, 2), (0, 4, 1))


def test_params_alone(swing):
    x0, u = numbers(4, 2), numbers(4, 1)
    ct = numbers(4, 9, 2)
    actual = swing.vjp(x0, cotangents=ct, params={"u": u}, steps=8)
    timed = swing.vjp(x0, np.repeat(u[:, None], 8, axis=1), ct)
    assert actual.controls is None
    close(actual.params["u"], timed.controls.sum(axis=1))
    close(actual.x0, timed.x0)
    assert timed.params == {}


@pytest.mark.parametrize(
    ("start", "control", "cotangent"),
    [((), (70,), ()), ((70,), (), (1,)), ((), (), (70,)), ((7, 1), (1, 9), (9,))],
)
def test_batch_axes_are_broadcast_and_gradients_have_all_of_them(swing, start, control, cotangent):
    x0, controls = numbers(*start, 2), numbers(*control, 6, 1)
    ct = numbers(*cotangent, 7, 2)
    batch = np.broadcast_shapes(start, control, cotangent)
    actual = swing.vjp(x0, controls, ct)
    full = swing.vjp(
        np.array(np.broadcast_to(x0, (*batch, 2))),
        np.array(np.broadcast_to(controls, (*batch, 6, 1))),
        np.array(np.broadcast_to(ct, (*batch, 7, 2))),
    )
    np.testing.assert_array_equal(actual.x0, full.x0)
    np.testing.assert_array_equal(actual.controls, full.controls)


def test_long_rollouts_with_and_without_checkpoints_agree(swing, monkeypatch):
    for steps in (99, 100, 101, 1000):
        x0, controls = numbers(5, 2), numbers(5, steps, 1)
        ct = numbers(5, steps + 1, 2)
        monkeypatch.setattr(module, "STORED_BYTES", 16 << 20)
        stored = swing.vjp(x0, controls, ct)
        monkeypatch.setattr(module, "STORED_BYTES", 0)
        again = swing.vjp(x0, controls, ct)
        np.testing.assert_array_equal(again.x0, stored.x0)
        np.testing.assert_array_equal(again.controls, stored.controls)


def test_float32(memory):
    single, double = lw.Rollout(pendulum(np.float32)), lw.Rollout(pendulum())
    x0, controls = numbers(9, 2), numbers(9, 20, 1)
    ct = numbers(9, 21, 2)
    actual, exact = (sim.vjp(x0, controls, ct) for sim in (single, double))
    assert actual.x0.dtype == actual.controls.dtype == np.float32
    close(actual.x0, exact.x0, 1e-4)
    close(actual.controls, exact.controls, 1e-4)


def test_a_row_that_is_not_finite_does_not_affect_others(swing, memory):
    x0, controls = numbers(50, 2), numbers(50, 30, 1)
    ct = numbers(50, 31, 2)
    expected = swing.vjp(x0, controls, ct)
    x0[7] = np.nan
    actual = swing.vjp(x0, controls, ct)
    assert np.isnan(actual.x0[7]).all()
    others = np.delete(np.arange(50), 7)
    np.testing.assert_array_equal(actual.x0[others], expected.x0[others])
    np.testing.assert_array_equal(actual.controls[others], expected.controls[others])


# Robots and unit norms.


def test_states_with_unit_norms_have_gradients_of_the_normalized_ones(memory):
    """Each step divides the pair by its norm, which is 1.5 after the first one."""
    sim = lw.Rollout(stretching())
    rate = numbers(3, 6)
    x0 = np.stack([np.cos([0.1, 2.0, 4.0]), np.sin([0.1, 2.0, 4.0])], axis=-1)
    x0[1] *= 1 + 5e-4
    weights = numbers(3, 7, 2)

    def cost(x, rate):
        total = weights[:, 0, 0] * x[0] + weights[:, 0, 1] * x[1]
        for time in range(6):
            norm = np.sqrt(x[0] ** 2 + x[1] ** 2)
            c, s = np.cos(rate[time]), np.sin(rate[time])
            x = 1.5 * (x[0] * c - x[1] * s) / norm, 1.5 * (x[1] * c + x[0] * s) / norm
            total = total + weights[:, time + 1, 0] * x[0] + weights[:, time + 1, 1] * x[1]
        return total

    actual = sim.vjp(x0, rate, weights)
    arguments = [*x0.T.astype(complex), *rate.T.astype(complex)]
    for index in range(8):
        moved = [a + 1e-30j * (k == index) for k, a in enumerate(arguments)]
        expected = cost(moved[:2], moved[2:]).imag / 1e-30
        gradient = actual.x0[:, index] if index < 2 else actual.controls[:, index - 2]
        close(gradient, expected, 1e-12)


def test_a_floating_robot_rolled_out_has_the_gradients_of_differences(memory):
    kd = floater()
    dt = 0.01

    @lw.compile(q=kd.nq, nu=kd.nv, tau=kd.nv)
    def step(q, nu, tau):
        nu = nu + dt * kd.forward_dynamics(q, nu, tau)
        return kd.integrate(q, nu, dt), nu

    sim = lw.Rollout(step)
    q, nu, tau = kd.random(1, seed=2)[0], numbers(kd.nv), numbers(9, kd.nv)
    weights = numbers(10, kd.nq), numbers(10, kd.nv)
    actual = sim.vjp((q, nu), tau, weights)
    assert abs(actual.x0[0][3:7] @ q[3:7]) < 1e-9 + abs(weights[0][0][3:7] @ q[3:7])

    def cost(given):
        states = sim((given[0], given[1]), given[2])
        return sum((a * w).sum(axis=(-2, -1)) for a, w in zip(states, weights, strict=True))

    given, h = [q, nu, tau], 1e-4
    for index, gradient in enumerate([*actual.x0, actual.controls]):
        direction = numbers(*gradient.shape, seed=index)
        if index == 0:  # stays on the unit quaternions to second order
            direction[3:7] -= q[3:7] * (q[3:7] @ direction[3:7])
        moved = [a[None] for a in given]
        factors = h * np.array([-2.0, -1.0, 1.0, 2.0])
        moved[index] = given[index] + factors.reshape(-1, *[1] * gradient.ndim) * direction
        values = cost(moved)
        expected = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
        assert abs((gradient * direction).sum() - expected) < 1e-8 * max(1.0, abs(expected))


# Ways to compute it.


@pytest.mark.parametrize("threads", [1, 2, 3, None])
def test_any_number_of_threads_gives_the_same(sprung, threads, memory):
    x0, controls, params = spring_inputs((300,), 40)
    ct = numbers(300, 41, 2), numbers(300, 41, 2, seed=1)
    alone = sprung.vjp(x0, controls, ct, params=params, threads=1)
    actual = sprung.vjp(x0, controls, ct, params=params, threads=threads)
    for one, other in zip(
        (*actual.x0, *actual.controls, *actual.params.values()),
        (*alone.x0, *alone.controls, *alone.params.values()),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


SAME = """
import json
from tests.support.rollouts import *
from linkwork.engine.kernel import rollout as module
found = []
for module.STORED_BYTES in (16 << 20, 0):
    for step in (spring(), spring(np.float32)):
        sim = lw.Rollout(step)
        for batch in ((), (0,), (1100,)):
            for steps in (1, 10):
                x0, u, params = spring_inputs(batch, steps)
                rng = np.random.default_rng(1)
                ct = tuple(rng.normal(size=(2, *batch, steps + 1, 2)))
                a, b, c = sim.vjp(x0, u, ct, params=params, final=(x0[1], None))
                found += [*a, *b, *c.values()]
    rate = np.random.default_rng(2).normal(size=(6, 5))
    a, b, _ = lw.Rollout(stretching()).vjp([0.8, 0.6], rate, np.ones((6, 2)))
    found += [a, b]
print(json.dumps([[list(a.shape), str(a.dtype), a.ravel()[:60].tolist()] for a in found]))
"""


@pytest.mark.parametrize("missing", [WITHOUT_EXTENSION, WITHOUT_MACHINE_CODE])
def test_without_the_extension_or_machine_code_the_results_are_the_same(missing):
    with_it, without = json.loads(output_of(SAME)), json.loads(output_of(missing + SAME))
    assert len(with_it) == len(without) == 148
    for one, other in zip(with_it, without, strict=True):
        assert one[:2] == other[:2]
        tolerance = 1e-12 if one[1] == "float64" else 1e-4
        np.testing.assert_allclose(other[2], one[2], rtol=tolerance, atol=tolerance)


def test_an_interrupt_stops_a_long_rollout_backwards():
    completed = said_when_interrupted(
        """
        from tests.support.rollouts import *
        sim = lw.Rollout(pendulum())
        sim.step.warmup()
        sim.step.vjp("x", "u").warmup()
        print("ready", flush=True)
        try:
            sim.vjp(np.zeros((3, 2)), final=np.ones(2), params={"u": [0.0]}, steps=2_000_000_000)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        """
    )
    assert completed == ("interrupted\n", 0, "")


# What is rejected.


def error_of(kind, sim, *args, **named) -> str:
    with pytest.raises(kind) as caught:
        sim.vjp(*args, **named)
    return str(caught.value)


def test_bad_cotangents(swing, sprung):
    x0, controls = numbers(3, 2), numbers(3, 5, 1)
    text = error_of(lw.ArgumentError, swing, x0, controls)
    assert_facts(text, "vjp: .*cotangents.*final=")
    text = error_of(lw.ShapeError, swing, x0, controls, numbers(3, 5, 2))
    assert_facts(text, r"cotangents of x: .*\(\.\.\., 6, 2\).*\(3, 5, 2\)")
    text = error_of(lw.ShapeError, swing, x0, controls, final=numbers(3))
    assert_facts(text, r"final of x: .*\(\.\.\., 2\).*\(3,\)")
    text = error_of(lw.ShapeError, swing, x0, controls, final=np.ones(2), states=numbers(3, 4, 2))
    assert_facts(text, r"states of x: .*\(\.\.\., 6, 2\).*\(3, 4, 2\)")
    text = error_of(lw.ShapeError, swing, x0, controls, numbers(4, 6, 2))
    assert_facts(text, r"batch.*x \(3,\), u \(3,\), cotangents of x \(4,\)")
    two, forces, params = spring_inputs((), 4)
    text = error_of(lw.ArgumentError, sprung, two, forces, numbers(5, 2), params=params)
    assert_facts(text, r"cotangents: .*2 arrays \(p, v\).*ndarray")
    ct, half = (numbers(5, 2), None), (numbers(5, 2), None)
    text = error_of(lw.ArgumentError, sprung, two, forces, ct, params=params, states=half)
    assert_facts(text, "states of v: .*NoneType")
