"""Threads, processes, copies; large batches and their memory; interrupts."""

from __future__ import annotations

import copy
import gc
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.support.kernels import (
    finish,
    floater,
    motion,
    output_of,
    pendulum,
    run_python,
    start_python,
    wait_for_background,
)

import linkwork as lw

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

# Threads.


@pytest.mark.parametrize("n", [(), 7, 3000])
def test_threads_may_share_one_robot(n):
    kd = floater()
    inputs = [motion(kd, n, seed=seed) for seed in range(8)]

    def work(seed: int) -> np.ndarray:
        results = [kd.forward_dynamics(*inputs[seed]) for _ in range(50)]
        for other in results[1:]:
            np.testing.assert_allclose(other, results[0], rtol=1e-11, atol=1e-11)
        return results[-1]

    with ThreadPoolExecutor(8) as pool:
        actual = list(pool.map(work, range(8)))
    for seed in range(8):
        expected = kd.forward_dynamics(*inputs[seed])
        np.testing.assert_allclose(actual[seed], expected, rtol=1e-11, atol=1e-11)


def test_threads_may_request_the_same_new_function_at_once():
    kd = floater()
    q, nu, _ = motion(kd)
    barrier = threading.Barrier(8)

    def work(_: int) -> tuple[object, np.ndarray]:
        barrier.wait()
        return kd.function("bias_force"), kd.bias_force(q, nu)

    with ThreadPoolExecutor(8) as pool:
        actual = list(pool.map(work, range(8)))
    assert len({id(kernel) for kernel, _ in actual}) == 1
    for _, result in actual:
        np.testing.assert_allclose(result, actual[0][1], rtol=1e-12, atol=1e-12)


def test_an_absurd_number_of_threads_is_accepted():
    done = output_of(
        """
        kd = floater()
        q = kd.random(5000, seed=0)
        found = kd.function("com")(q, threads=1_000_000)
        np.testing.assert_allclose(found, kd.com(q), atol=1e-13)
        print("done")
        """
    )
    assert done == "done"


@pytest.mark.parametrize("when", ["at the first call", "at a large batch"])
def test_calls_work_where_no_thread_can_be_started(when):
    _, out, err = run_python(
        f"""
        kd = floater()
        if {when == "at a large batch"}:
            kd.warmup("com")
        def refuse(thread): raise RuntimeError("can't start new thread")
        threading.Thread.start = refuse
        q = kd.random(9000, seed=0)
        found = [kd.com(row) for row in q[:3]]
        np.testing.assert_allclose(kd.com(q)[:3], found, atol=1e-13)
        print("done")
        """
    )
    assert out == "done\n"
    # without the thread there is no fast code, which is reported
    assert err.count("the reason: RuntimeError: can't start") == (when == "at the first call")


# Copies and processes.


@pytest.mark.parametrize("how", ["copy", "deepcopy", "pickle", "replace"])
@pytest.mark.parametrize("used", [False, True])
def test_a_copy_gives_the_same(how, used):
    kd = floater(base="tip", representation="body", gravity=(0, 1, 2), check=True)
    inputs = motion(kd, 3)
    if used:
        kd.forward_dynamics(*inputs)
    other = {
        "copy": copy.copy,
        "deepcopy": copy.deepcopy,
        "pickle": lambda kd: pickle.loads(pickle.dumps(kd)),
        "replace": lambda kd: kd.replace(),
    }[how](kd)
    for name in ("base", "floating", "representation", "gravity", "dtype", "check"):
        assert getattr(other, name) == getattr(kd, name)
    np.testing.assert_allclose(
        other.forward_dynamics(*inputs), kd.forward_dynamics(*inputs), rtol=1e-12
    )


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol_of_pickle_works(protocol):
    kd = pendulum(dtype=np.float32)
    other = pickle.loads(pickle.dumps(kd, protocol))
    assert other.dtype == np.float32
    np.testing.assert_allclose(other.com([0.3]), kd.com([0.3]))


def test_a_kernel_cannot_be_copied_into_an_invalid_object(kd):
    kernel = kd.function("com")
    for make in (copy.copy, copy.deepcopy, lambda kernel: pickle.loads(pickle.dumps(kernel))):
        try:
            other = make(kernel)
        except TypeError:
            continue
        np.testing.assert_array_equal(other(kd.neutral()), kernel(kd.neutral()))


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_process_started_anew_gives_the_same(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    kd = floater()
    q = kd.random(5, seed=0)
    expected = kd.mass_matrix(q)
    with multiprocessing.get_context(method).Pool(1) as pool:
        actual = pool.apply(kd.mass_matrix, (q,))
        pool.close()
        pool.join()
    np.testing.assert_allclose(actual, expected, atol=1e-13)


@needs_fork
@pytest.mark.parametrize("cache", ["off", "folder"])
def test_a_forked_process_gives_the_same(cache, tmp_path):
    done = output_of(
        """
        import multiprocessing
        kd = floater()
        q, nu, tau = motion(kd, 3000)
        expected = kd.forward_dynamics(q, nu, tau)   # used before
        def work(queue):
            kd.warmup()
            queue.put((kd.forward_dynamics(q, nu, tau), kd.bias_force(q, nu)))   # and new there
        context = multiprocessing.get_context("fork")
        queue = context.SimpleQueue()
        children = [context.Process(target=work, args=(queue,)) for _ in range(3)]
        for child in children: child.start()
        for child in children:
            old, new = queue.get()
            np.testing.assert_allclose(old, expected, rtol=1e-11, atol=1e-11)
            np.testing.assert_allclose(new, kd.bias_force(q, nu), rtol=1e-11, atol=1e-11)
        for child in children:
            child.join()
            assert child.exitcode == 0
        print("done")
        """,
        cache="off" if cache == "off" else tmp_path,
    )
    assert done == "done"


# Large batches.


def peak_beside(call, result_bytes: int) -> int:
    """Peak memory of a call in bytes, without its result."""
    call()
    wait_for_background()
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        call()
        return tracemalloc.get_traced_memory()[1] - before - result_bytes
    finally:
        tracemalloc.stop()


def test_a_million_rows_need_little_memory_except_the_result():
    kd = pendulum()
    kd.mass_matrix([0.0])
    kd.warmup()
    q = np.linspace(-3, 3, 1_000_000)[:, None]
    actual = kd.mass_matrix(q)
    assert actual.shape == (1_000_000, 1, 1)
    np.testing.assert_allclose(actual[::99_999], kd.mass_matrix(q[::99_999].copy()), rtol=1e-13)
    assert peak_beside(lambda: kd.mass_matrix(q), actual.nbytes) < 4e6


def test_a_large_batch_that_floats_needs_no_copy_of_its_input(kd):
    q = kd.random(200_000, seed=0)
    kd.com(q)
    kd.warmup()
    result = 200_000 * 3 * 8
    assert peak_beside(lambda: kd.com(q), result) < 1.5 * q.nbytes
    nearly = q.copy()
    nearly[:, 3:7] *= 1.0001
    assert peak_beside(lambda: kd.com(nearly), result) < 3 * q.nbytes


def test_a_broadcast_row_is_not_copied(kd):
    q, nu, tau = motion(kd, 200_000)
    kd.forward_dynamics(q[0], nu[0], tau)
    kd.warmup()
    call = lambda: kd.forward_dynamics(q[0], nu[0], tau)  # noqa: E731
    assert peak_beside(call, tau.nbytes) < 0.6 * tau.nbytes


def test_a_batch_too_large_for_any_memory_is_a_memory_error(kd):
    q = np.broadcast_to(kd.neutral(), (2**40, 9))
    with pytest.raises((MemoryError, ValueError)):
        kd.mass_matrix(q)


# Interrupts.


@pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")
@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_stops_a_long_batch(threads):
    process = start_python(
        f"""
        import linkwork.engine.runtime.compiled_program as module
        module.background = Never   # so that the slow code of the first call stays
        kd = lw.KinDyn(lw.robots.load("arm"), floating=False)
        kernel = kd.function("forward_dynamics")
        q, nu, _ = motion(kd)
        tau = np.zeros((500_000, kd.nv))
        kernel(q, nu, tau[:3])
        try:
            kernel(q, nu, tau, threads={threads})
            print("go", flush=True)
            while True:
                kernel(q, nu, tau, threads={threads})
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        assert threading.active_count() <= {threads}  # those that help wait for more
        np.testing.assert_allclose(kernel(q, nu, tau[:3])[2], kernel(q, nu, tau[0]), rtol=1e-12)
        print("done", flush=True)
        """
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "go\n"
    process.send_signal(signal.SIGINT)
    message = process.stdout.readline()
    returncode, rest, errors = finish(process)
    assert (returncode, errors) == (0, "")
    assert (message, rest) == ("interrupted\n", "done\n")


def test_robots_do_not_affect_each_other():
    one, other = floater(), floater(gravity=(0, 0, -1.62), representation="body")
    inputs = motion(one, 5)
    first = one.bias_force(*inputs[:2])
    other.bias_force(*inputs[:2])
    np.testing.assert_array_equal(one.bias_force(*inputs[:2]), first)
    assert not np.allclose(other.bias_force(*inputs[:2]), first)
    assert isinstance(one, lw.KinDyn)
