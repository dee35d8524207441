"""The first call: many threads at once, processes, errors of tracing, deleted kernels."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.support.kernels import BUSY, output_of, wait_for_background

from linkwork.engine.kernel.arguments import Signature
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.runtime.background import background
from linkwork.engine.runtime.compiled_program import CompiledProgram
from linkwork.engine.symbolic.program import Port, Program
from linkwork.engine.symbolic.tracing import trace

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
IN, OUT = Port("x", (3,)), Port("y", (3,))
X = np.array([0.3, -1.0, 2.0])


class Tracer:
    """Traces y = x sin x, and counts how many times."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.count = 0
        self.error = error

    def __call__(self) -> Program:
        self.count += 1
        if self.error is not None:
            raise self.error
        return trace(lambda x: x * np.sin(x), [IN], ["y"])


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch):
    monkeypatch.setenv("LINKWORK_CACHE", "off")


def kernel_of(tracer: object) -> Kernel:
    return Kernel(Signature("f", (IN,), (OUT,)), tracer)


@pytest.mark.parametrize("warm", [False, True])
def test_many_threads_may_call_first_at_once(warm):
    tracer = Tracer()
    kernel = kernel_of(tracer)
    barrier = threading.Barrier(16)

    def work(number: int) -> np.ndarray:
        barrier.wait()
        if warm and number % 2:
            kernel.warmup()
        return kernel(np.tile(X, (number % 4 + 1, 1)))[0]

    with ThreadPoolExecutor(16) as pool:
        actual = list(pool.map(work, range(16)))
    np.testing.assert_allclose(actual, np.tile(X * np.sin(X), (16, 1)), rtol=1e-13)
    assert tracer.count == 1


def test_many_threads_may_first_call_many_functions():
    kernels = [kernel_of(Tracer()) for _ in range(8)]

    def work(number: int) -> np.ndarray:
        return np.array([kernels[(number + k) % 8](X) for k in range(8)])

    with ThreadPoolExecutor(8) as pool:
        for actual in pool.map(work, range(8)):
            np.testing.assert_allclose(actual, np.tile(X * np.sin(X), (8, 1)), rtol=1e-13)


def test_an_error_of_tracing_reaches_every_caller():
    tracer = Tracer(KeyError("no such thing"))
    kernel = kernel_of(tracer)
    for call in (lambda: kernel(X), lambda: kernel(X), lambda: kernel(x=X), kernel.warmup):
        with pytest.raises(KeyError, match="no such thing"):
            call()
    assert tracer.count == 4

    def work(_: int) -> str:
        with pytest.raises(KeyError, match="no such thing"):
            kernel(X)
        return "raised"

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == ["raised"] * 8


def test_a_failed_trace_may_succeed_later():
    tracer = Tracer(KeyboardInterrupt())
    kernel = kernel_of(tracer)
    with pytest.raises(KeyboardInterrupt):
        kernel(X)
    tracer.error = None
    np.testing.assert_allclose(kernel(X), X * np.sin(X), rtol=1e-13)
    kernel.warmup()
    np.testing.assert_allclose(kernel(X), X * np.sin(X), rtol=1e-13)


def test_a_function_that_calls_itself_raises_a_recursion_error():
    def make() -> Program:
        return kernel(X)

    kernel = kernel_of(make)
    for call in (lambda: kernel(X), kernel.warmup, lambda: kernel(X)):
        with pytest.raises(RecursionError):
            call()
    assert kernel_of(Tracer())(X).shape == (3,)  # no lock is left held


def test_a_function_may_call_another_that_is_not_compiled():
    inner = kernel_of(Tracer())

    def make() -> Program:
        factor = float(inner(X)[0])
        return trace(lambda x: factor * x, [IN], ["y"])

    actual = kernel_of(make)(X)
    np.testing.assert_allclose(actual, X[0] * np.sin(X[0]) * X, rtol=1e-13)


@pytest.fixture
def held():
    """Block the background, so that jobs stay in the queue, until `set`."""
    wait_for_background()
    go = threading.Event()
    background().submit(lambda: (go.wait(30), None)[1])
    yield go
    go.set()
    wait_for_background()


def test_a_deleted_kernel_is_not_compiled(held, monkeypatch):
    kernel = kernel_of(Tracer())
    np.testing.assert_allclose(kernel(X), X * np.sin(X), rtol=1e-13)
    compiled: list[object] = []
    monkeypatch.setattr(
        CompiledProgram, "compile_in_background", lambda *args: compiled.append(args)
    )
    dead = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert dead() is None
    held.set()
    wait_for_background()
    assert not compiled


def test_a_kernel_warmed_up_in_the_meantime_is_not_compiled_again(held, monkeypatch):
    kernel = kernel_of(Tracer())
    kernel(X)
    kernel.warmup()
    compiled: list[object] = []
    monkeypatch.setattr(CompiledProgram, "compile_fast", lambda *args: compiled.append(args))
    held.set()
    wait_for_background()
    assert not compiled


def test_results_of_a_deleted_kernel_stay_valid():
    results = []
    for _ in range(20):
        results.append(kernel_of(Tracer())(X))
        gc.collect()
    np.testing.assert_allclose(results, np.tile(X * np.sin(X), (20, 1)), rtol=1e-13)
    wait_for_background()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_started_while_the_background_compiles_give_the_same(method):
    if method == "fork" and not hasattr(os, "fork"):
        pytest.skip("needs fork")
    done = output_of(
        BUSY
        + f"""
import multiprocessing
with multiprocessing.get_context("{method}").Pool(2) as pool:
    for found in pool.starmap(kd.forward_dynamics, [(q, nu, tau)] * 4):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    pool.close()
    pool.join()
np.testing.assert_allclose(kd.forward_dynamics(q, nu, tau), expected, rtol=1e-9, atol=1e-9)
print("done")
"""
    )
    assert done == "done"


@needs_fork
def test_children_of_children_work_while_all_of_them_compile():
    done = output_of(
        BUSY
        + """
def descend(depth):
    np.testing.assert_allclose(kd.forward_dynamics(q, nu, tau), expected, rtol=1e-9, atol=1e-9)
    time.sleep(0.1)
    if depth == 0:
        kd.warmup()
        return
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            descend(depth - 1)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
descend(3)
print("done")
"""
    )
    assert done == "done"


@needs_fork
def test_threads_of_a_forked_child_may_call_unfinished_kernels():
    """The first thread of the child installs the code of the parent again."""
    done = output_of(
        BUSY
        + """
pid = os.fork()
if pid == 0:
    code, good = 1, []
    try:
        sys.setswitchinterval(1e-6)
        barrier = threading.Barrier(8)
        def work():
            barrier.wait()
            for _ in range(20):
                found = kd.forward_dynamics(q, nu, tau)
                np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
            good.append(1)
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        code = 0 if len(good) == 8 else 2
    finally:
        os._exit(code)
assert os.waitpid(pid, 0)[1] == 0
print("done")
"""
    )
    assert done == "done"
