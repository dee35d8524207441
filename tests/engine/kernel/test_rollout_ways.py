"""`linkwork.rollout`: `out=`, threads, interrupts; without the extension or machine code."""

from __future__ import annotations

import json
import pickle
import signal
import threading

import numpy as np
import pytest
from tests.support.kernels import floater, output_of
from tests.support.rollouts import numbers, said_when_interrupted, spring_inputs
from tests.support.stand_ins import WITHOUT_EXTENSION, WITHOUT_MACHINE_CODE

import linkwork as lw

# out=


def test_results_are_written_to_out(swing, sprung):
    x0, controls = numbers(6, 2), numbers(6, 9, 1)
    out = np.full((6, 10, 2), 7.0)
    assert lw.rollout(swing, x0, controls, out=out) is out
    np.testing.assert_array_equal(out, lw.rollout(swing, x0, controls))
    strided = np.full((10, 6, 4), 7.0)
    view = np.swapaxes(strided, 0, 1)[..., ::2]
    assert lw.rollout(swing, x0, controls, out=view) is view
    np.testing.assert_array_equal(view, out)
    np.testing.assert_array_equal(strided[..., 1::2], 7.0)
    last = np.empty((6, 2))
    assert lw.rollout(swing, x0, controls, final=True, out=last) is last
    np.testing.assert_array_equal(last, out[:, -1])
    two, forces, params = spring_inputs((6,), 9)
    pair = np.empty((6, 10, 2)), np.empty((6, 10, 2))
    actual = lw.rollout(sprung, two, forces, params=params, out=pair)
    assert actual[0] is pair[0]
    assert actual[1] is pair[1]
    np.testing.assert_array_equal(pair[0], lw.rollout(sprung, two, forces, params=params)[0])


def test_out_may_be_an_input(swing):
    x0, controls = numbers(70, 2), numbers(70, 9, 1)
    room = np.zeros((70, 10, 2))
    room[:, 0] = x0
    expected = lw.rollout(swing, x0, controls)
    np.testing.assert_array_equal(lw.rollout(swing, room[:, 0], controls, out=room), expected)
    both = x0.copy()
    lw.rollout(swing, both, controls, final=True, out=both)
    np.testing.assert_array_equal(both, expected[:, -1])


# Threads, and processes without this or that.


@pytest.mark.parametrize("threads", [1, 2, 3, 64, None])
@pytest.mark.parametrize("rows", [2, 9, 64, 65, 1000])
def test_any_number_of_threads_gives_the_same(swing, rows, threads):
    x0, controls = numbers(rows, 2), numbers(rows, 1500, 1)
    alone = lw.rollout(swing, x0, controls, threads=1)
    np.testing.assert_array_equal(lw.rollout(swing, x0, controls, threads=threads), alone)


def test_rollouts_in_many_python_threads(swing):
    x0, controls = numbers(200, 2), numbers(200, 100, 1)
    expected, actual = lw.rollout(swing, x0, controls), [None] * 4

    def work(place):
        for _ in range(5):
            actual[place] = lw.rollout(swing, x0, controls)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in actual:
        np.testing.assert_array_equal(one, expected)


SAME = """
import json
from tests.support.rollouts import *
def results():
    found = []
    for dtype in (np.float64, np.float32):
        swing, sprung = pendulum(dtype), spring(dtype)
        for batch in ((), (1,), (5,), (2, 3), (0,), (1100,)):
            rng = np.random.default_rng(1)
            x0, u = rng.normal(size=(*batch, 2)), rng.normal(size=(*batch, 9, 1))
            found.append(lw.rollout(swing, x0, u))
            found.append(lw.rollout(swing, x0, u, final=True))
            x0, u, params = spring_inputs(batch, 7)
            found.extend(lw.rollout(sprung, x0, u, params=params))
    kd = floater()
    q = kd.random(6, seed=1)
    q[:, 3:7] *= 1 + 1e-5
    nu = np.random.default_rng(2).normal(size=(6, 5, kd.nv))
    found.append(lw.rollout(kd.function("integrate"), q, nu, params={"dt": 0.1}))
    return [[list(a.shape), str(a.dtype), a.ravel()[:60].tolist()] for a in found]
print(json.dumps(results()))
"""


@pytest.mark.parametrize("missing", [WITHOUT_EXTENSION, WITHOUT_MACHINE_CODE])
def test_without_the_extension_or_machine_code_the_results_are_the_same(missing):
    with_it, without = json.loads(output_of(SAME)), json.loads(output_of(missing + SAME))
    assert len(with_it) == len(without) == 49
    for one, other in zip(with_it, without, strict=True):
        assert one[:2] == other[:2]
        tolerance = 1e-12 if one[1] == "float64" else 1e-4
        np.testing.assert_allclose(other[2], one[2], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("rows", [1, 300])
@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_stops_a_long_rollout(rows, threads):
    completed = said_when_interrupted(
        f"""
        from tests.support.rollouts import *
        step = pendulum()
        step.warmup()
        x0 = np.zeros(({rows}, 2))
        print("ready", flush=True)
        try:
            controls = np.broadcast_to(np.zeros(1), (2_000_000_000, 1))
            lw.rollout(step, x0, controls, final=True, threads={threads})
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        x0 = np.ones((5, 2))
        assert np.isfinite(lw.rollout(step, x0, np.ones((9, 1)), threads={threads})).all()
        print("done", flush=True)
        """
    )
    assert completed == ("interrupted\ndone\n", 0, "")


def test_signal_handlers_run_during_a_rollout_and_may_roll_out_themselves(swing):
    seen = []

    def handler(number, frame):
        del number, frame
        seen.append(lw.rollout(swing, [0.1, 0.2], np.ones((5, 1)), final=True))

    expected = lw.rollout(swing, [0.1, 0.2], np.ones((5, 1)), final=True)
    zeros = np.broadcast_to(np.zeros(1), (1_500_000, 1))
    alone = lw.rollout(swing, [0.5, 0.0], zeros, final=True)
    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        actual = lw.rollout(swing, [0.5, 0.0], zeros, final=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    np.testing.assert_array_equal(actual, alone)
    assert seen
    for one in seen:
        np.testing.assert_array_equal(one, expected)


def test_a_rollout_of_a_robot_can_be_pickled():
    kd = floater()
    sim = lw.Rollout(kd.function("integrate"))
    copy = pickle.loads(pickle.dumps(sim))
    q, nu = kd.random(3, seed=0), numbers(3, 4, kd.nv)
    np.testing.assert_allclose(
        copy(q, nu, params={"dt": 0.1}), sim(q, nu, params={"dt": 0.1}), atol=1e-13
    )
