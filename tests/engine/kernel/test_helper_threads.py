"""Helper threads for large batches, which are kept for later batches."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from linkwork.engine.kernel._call import thread_counts
from tests.support.kernels import floater, motion, output_of

from linkwork import KinDyn, robots
from linkwork.errors import ValueRangeError

ROWS = 9003  # enough work for several threads, and no multiple of any number of lanes

needs_helpers = pytest.mark.skipif(os.name != "posix", reason="needs POSIX threads")
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture(scope="module")
def kd():
    kd = floater()
    kd.warmup("com", "mass_matrix")
    return kd


@pytest.fixture(scope="module")
def q(kd):
    return kd.random(ROWS, seed=0)


def shared_batches(call):
    """Count the batches that a call shares with helper threads."""
    before, _ = thread_counts()
    call()
    return thread_counts()[0] - before


@needs_helpers
def test_work_decides_whether_threads_share_a_batch(monkeypatch):
    """A thousand rows of a long program are shared; a thousand rows of a short one are not."""
    monkeypatch.setenv("LINKWORK_THREADS", "2")
    kd = KinDyn(robots.load("quadruped"))
    kd.warmup("forward_dynamics", "com")
    q, nu, tau = motion(kd, 1000)
    assert shared_batches(lambda: kd.forward_dynamics(q, nu, tau)) == 1
    assert shared_batches(lambda: kd.forward_dynamics(q, nu, tau, threads=2)) == 1
    assert shared_batches(lambda: kd.forward_dynamics(q, nu, tau, threads=1)) == 0
    assert shared_batches(lambda: kd.forward_dynamics(q[:50], nu[:50], tau[:50], threads=2)) == 0
    assert shared_batches(lambda: kd.com(q, threads=2)) == 0


@needs_helpers
def test_the_work_of_code_from_the_disk_is_stored(monkeypatch, tmp_path):
    """Its program is not loaded."""
    monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path))
    for _ in range(2):
        kd = KinDyn(robots.load("quadruped"))
        kd.warmup("forward_dynamics")
        q, nu, tau = motion(kd, 1000)
        call = partial(kd.forward_dynamics, q, nu, tau, threads=2)
        assert shared_batches(call) == 1
    assert kd.forward_dynamics.code.cached_program is None


@needs_helpers
def test_helpers_compute_chunks_of_a_shared_batch(kd, q):
    kernel, (_, before) = kd.function("com"), thread_counts()
    until = time.monotonic() + 60
    while thread_counts()[1] == before and time.monotonic() < until:
        kernel(q, threads=2)
    assert thread_counts()[1] > before


@pytest.mark.parametrize("threads", [2, 3, 8, 64])
@pytest.mark.parametrize("rows", [9000, 9001, 9002, 9003])
def test_every_row_is_computed_once(kd, q, threads, rows):
    kernel = kd.function("com")
    expected = kernel(q[:rows], threads=1)
    for _ in range(20):
        out = np.full((rows + 1, 3), np.pi)
        kernel(q[:rows], out=out[:rows], threads=threads)
        np.testing.assert_allclose(out[:rows], expected, atol=1e-13)
        assert (out[rows] == np.pi).all()


def test_concurrent_calls_do_not_interfere(kd):
    """One call at a time uses the helpers: others run on the calling thread."""
    kernel = kd.function("com")
    batches = [kd.random(ROWS, seed=seed) for seed in range(6)]
    expected = [kernel(batch, threads=1) for batch in batches]

    def work(number):
        for _ in range(50):
            np.testing.assert_allclose(
                kernel(batches[number], threads=3), expected[number], atol=1e-13
            )

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))


def test_sleeping_helpers_wake_up(kd, q):
    kernel = kd.function("com")
    expected = kernel(q, threads=1)
    for pause in (0.0, 1e-5, 1e-4, 1e-3, 0.02):
        for _ in range(10):
            time.sleep(pause)
            np.testing.assert_allclose(kernel(q, threads=4), expected, atol=1e-13)


@pytest.mark.parametrize("row", [0, 1, ROWS // 2, ROWS - 1])
def test_invalid_rows_are_found_at_any_index(kd, q, row):
    kernel = kd.function("com")
    expected = kernel(q, threads=1)
    off = q.copy()
    off[row, kd.layout.base_wxyz] *= 1 + 1e-8
    np.testing.assert_allclose(kernel(off, threads=4), expected, atol=1e-13)
    off[row, kd.layout.base_wxyz] *= 2.0
    out = np.full((ROWS, 3), np.pi)
    with pytest.raises(ValueRangeError, match=rf"norm 2\b.*row {row}\b"):
        kernel(off, out=out, threads=4)
    assert (out == np.pi).all()
    np.testing.assert_allclose(kernel(q, threads=4), expected, atol=1e-13)


@needs_fork
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_starts_new_helpers(kd, q):
    kernel = kd.function("com")
    expected = kernel(q, threads=4)
    stop = threading.Event()

    def keep_busy():
        while not stop.is_set():
            kernel(q, threads=4)

    def check():
        np.testing.assert_allclose(kernel(q, threads=4), expected, atol=1e-13)

    busy = threading.Thread(target=keep_busy)
    busy.start()
    try:
        context = multiprocessing.get_context("fork")
        for _ in range(10):
            child = context.Process(target=check)
            child.start()
            child.join(60)
            assert child.exitcode == 0
    finally:
        stop.set()
        busy.join()


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals")
def test_helpers_do_not_receive_signals():
    done = output_of(
        """
        import signal, os
        kd = floater()
        kd.warmup("com")
        q = kd.random(9000, seed=0)
        kd.function("com")(q, threads=4)
        seen = []
        signal.signal(signal.SIGUSR1, lambda *_: seen.append(1))
        for _ in range(50):
            os.kill(os.getpid(), signal.SIGUSR1)
            kd.function("com")(q, threads=4)
        print("done" if seen else "lost")
        """
    )
    assert done == "done"


def test_the_environment_may_change_during_calls():
    """Another Python thread may write to `os.environ` when the GIL is not held."""
    code = """
    sys.setswitchinterval(1e-5)
    for k in range(20_000):
        os.environ[f"NUMBER_{k}"] = "x" * 20
    kernel = floater().function("com")
    kernel.warmup()
    q = floater().random(9001, seed=1)
    expected, stop, calls = kernel(q), threading.Event(), []
    def work():
        while not stop.is_set():
            calls.append(np.allclose(kernel(q), expected, atol=1e-13))
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads: thread.start()
    for k in range(20_000):
        os.environ[f"MORE_{k}"] = "x"
    stop.set()
    for thread in threads: thread.join()
    print(len(calls) > 10 and all(calls))
    """
    assert output_of(code, LINKWORK_BACKGROUND="off") == "True"
