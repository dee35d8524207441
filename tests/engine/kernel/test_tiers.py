"""The first call uses quick code; fast code replaces it in the background."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from tests.support.kernels import (
    BUSY,
    TAKE_OVER,
    Never,
    finish,
    floater,
    motion,
    output_of,
    run_python,
    start_python,
)
from tests.support.rollouts import pendulum

import linkwork as lw
from linkwork.engine.kernel import kernel as kernel_module
from linkwork.engine.runtime import background, compiled_program, compiler
from linkwork.engine.runtime.background import Background
from linkwork.engine.runtime.compiler import FAST, QUICK

needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")


@pytest.fixture
def no_cache(monkeypatch):
    monkeypatch.setenv("LINKWORK_CACHE", "off")


@pytest.fixture
def only_quick(no_cache, monkeypatch):
    """Fast code is compiled only when a test waits for it."""
    monkeypatch.setattr(compiled_program, "background", Never)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [(), 3, 4, 9, 3000])
def test_quick_code_gives_the_same_results(only_quick, dtype, n):
    kd = floater(dtype=dtype)
    q, nu, tau = motion(kd, n)
    by_name = {"q": q, "nu": nu, "nu_dot": tau, "tau": tau}
    for name in ("mass_matrix", "bias_force", "inverse_dynamics", "com_jacobian", "jacobian_dot"):
        request = (name, "tip") if lw.KinDyn.quantities[name].frames else name
        kernel = kd.function(request)
        inputs = [by_name[port.name] for port in kernel.signature.inputs]
        first = kernel(*inputs)
        assert (kernel.code.level, kernel.code.is_fast) == (QUICK, False)
        kernel.warmup()
        assert (kernel.code.level, kernel.code.is_fast) == (FAST, True)
        error = np.abs(kernel(*inputs) - first).max()
        assert error <= (1e-13 if dtype == np.float64 else 1e-4) * np.abs(first).max()


def test_warmup_before_the_first_call_compiles_only_fast_code(only_quick, monkeypatch):
    levels = []
    compiled = compiler.compiled
    monkeypatch.setattr(
        compiler,
        "compiled",
        lambda ir, level=FAST: (levels.append(level), compiled(ir, level))[1],
    )
    kd = floater()
    kd.warmup("com")
    assert levels == [FAST, FAST]
    kd.com(kd.neutral())
    kd.com(kd.random(3000, seed=0))
    kd.warmup()
    kd.warmup("com")
    assert levels == [FAST, FAST]


def test_fast_code_is_installed_automatically(no_cache):
    kd = floater()
    kernel = kd.function("com")
    kernel(kd.neutral())
    until = time.monotonic() + 60
    while not kernel.code.is_fast and time.monotonic() < until:
        time.sleep(0.01)
    assert (kernel.code.level, kernel.code.is_fast) == (FAST, True)


def test_calls_continue_while_faster_code_is_installed():
    done = output_of(TAKE_OVER)
    assert done == "done"


@needs_signals
@pytest.mark.parametrize("when", ["at once", "later"])
def test_calls_continue_if_the_compiler_process_dies(when):
    returncode, out, err = run_python(
        BUSY
        + f"""
import signal
pid = worker_pid()
time.sleep({0 if when == "at once" else 0.3})
os.kill(pid, signal.SIGKILL)
for _ in range(20):
    np.testing.assert_allclose(kd.forward_dynamics(q, nu, tau), expected, rtol=1e-9, atol=1e-9)
kd.warmup()
np.testing.assert_allclose(kd.forward_dynamics(q, nu, tau), expected, rtol=1e-9, atol=1e-9)
small = floater()
small.com(small.neutral())
kernel = small.function("com")
until = time.monotonic() + 60
while not kernel.code.is_fast and time.monotonic() < until: time.sleep(0.01)
assert kernel.code.is_fast   # the background still works
print("done")
"""
    )
    assert (returncode, out) == (0, "done\n")
    # what was being compiled failed, and is reported; what had not been sent yet did not
    assert err.count("the reason: EOFError: the compiler process ended") <= 1
    assert bool(err) == ("the reason: EOFError: the compiler process ended" in err)


@needs_signals
def test_an_interrupt_from_the_terminal_leaves_the_background_working():
    """It is also sent to the compiler process."""
    process = start_python(
        BUSY
        + """
worker_pid()
print("go", flush=True)
try:
    time.sleep(30)
except KeyboardInterrupt:
    pass
kernel = kd.function("forward_dynamics")
until = time.monotonic() + 60
while not kernel.code.is_fast and time.monotonic() < until: time.sleep(0.01)
assert kernel.code.is_fast
np.testing.assert_allclose(kernel(q, nu, tau), expected, rtol=1e-9, atol=1e-9)
print("done", flush=True)
"""
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "go\n"
    time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)  # it leads a group of its own
    assert finish(process) == (0, "done\n", "")


@needs_signals
def test_a_signal_may_call_the_function_that_is_being_compiled():
    """Its handler runs in the same thread, during the first call."""
    done = output_of(
        """
        import signal
        kd = lw.KinDyn(lw.robots.load("arm"), floating=True)
        q, nu, tau = motion(kd)
        found = []
        kd.com(q)   # LLVM is loaded: Python itself gives a handler half of what is being imported
        signal.signal(signal.SIGALRM, lambda *_: found.append(kd.forward_dynamics(q, nu, tau)))
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        first = kd.forward_dynamics(q, nu, tau)
        while not found: time.sleep(0.01)
        np.testing.assert_allclose(found[0], first, rtol=1e-9, atol=1e-9)
        print("done")
        """
    )
    assert done == "done"


@pytest.mark.parametrize("mode", ["process", "off"])
@pytest.mark.filterwarnings("always::linkwork.SlowCompileWarning")
def test_a_compilation_that_takes_long_is_reported_once(no_cache, monkeypatch, mode):
    monkeypatch.setenv("LINKWORK_BACKGROUND", mode)
    monkeypatch.setattr(compiled_program, "LONG", 0.0)
    monkeypatch.setattr("linkwork.errors._warned_topics", set())
    kd = floater()
    with pytest.warns(lw.SlowCompileWarning) as caught:
        kd.com(kd.neutral())
    text = str(caught[0].message)
    facts = ["com", f"{len(kd.com.program.steps):,} operations", "warmup()", "batch", "cache"]
    assert [fact for fact in facts if fact not in text] == []
    assert ("in the background" in text) == (mode == "process")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kd.mass_matrix(kd.neutral())


def test_short_functions_are_not_reported(no_cache, monkeypatch):
    monkeypatch.setattr("linkwork.errors._warned_topics", set())
    kd = floater()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kd.warmup("mass_matrix")


# Large batches before the fast code is ready.


def counted(kernel, rolls: bool = False):
    """Record the rows of each computation of a kernel, and whether fast code computes them."""
    rows: list[tuple[int, bool]] = []
    name = "_roll" if rolls else "_run"
    original = getattr(kernel, name)

    def run(*arguments):
        rows.append((arguments[3 if rolls else 2], kernel.code.is_fast))
        return original(*arguments)

    setattr(kernel, name, run)
    return rows


@pytest.fixture
def patient(no_cache, monkeypatch):
    """Every call waits for the fast code."""
    monkeypatch.setattr(kernel_module, "SHORT", 0.0)
    monkeypatch.setattr(kernel_module, "PATIENCE", 1e9)


@pytest.mark.parametrize("before", ["first call", "after a call of one row"])
def test_fast_code_computes_a_large_batch_from_the_first_row(no_cache, monkeypatch, before):
    monkeypatch.setattr(kernel_module, "PATIENCE", 1e5)  # the machine may be busy
    kd = floater()
    kernel, n = kd.function("forward_dynamics"), 600_000
    q, nu, tau = motion(kd)
    if before == "after a call of one row":
        kernel(q, nu, tau)
        assert not kernel.code.is_fast
    rows = counted(kernel)
    kernel(q, nu, np.broadcast_to(tau, (n, kd.nv)))
    assert rows == [(n, True)]


def test_fast_code_computes_a_long_rollout_from_the_first_step(patient):
    step = pendulum()
    rows = counted(step, rolls=True)
    lw.rollout(step, np.zeros((2, 2)), np.zeros((2, 50, 1)))
    assert rows == [(2, True)]


def test_a_small_batch_does_not_wait(no_cache):
    kd = floater()
    kd.com(kd.random(100, seed=0))
    assert not kd.function("com").code.is_fast


@pytest.mark.parametrize("threads", [1, 2])
def test_new_code_computes_the_remaining_rows_of_a_running_batch(no_cache, threads):
    """The new code computes other values here, so that its rows are known."""

    def slow(step):
        @lw.compile(x=())
        def function(x):
            return lw.repeat(30_000, lambda carry: carry + step, x)

        function.warmup()
        return function

    first, second = slow(1.0), slow(2.0)
    out = np.zeros(60_000)

    def replace_code():
        while not out.any():
            time.sleep(0.001)
        first.code.install(second.code.one, second.code.many, FAST)

    thread = threading.Thread(target=replace_code)
    thread.start()
    first(np.zeros(len(out)), out=out, threads=threads)
    thread.join()
    rows = [out == 30_000.0, out == 60_000.0]
    assert all(map(np.any, rows))
    assert np.logical_or(*rows).all()
    if threads == 1:
        assert not rows[0][np.argmax(rows[1]) :].any()


@pytest.mark.parametrize("end", ["fails", "never ends"])
def test_a_large_batch_does_not_depend_on_the_compiler(no_cache, monkeypatch, end):
    """A failure ends the wait; a compilation that never ends is not waited for any longer."""
    never = threading.Event()

    def compiled(self, ir):
        if end == "fails":
            raise OSError("no fast code today")
        never.wait(60)
        raise OSError("the test has ended")

    monkeypatch.setattr(Background, "compiled", compiled)
    monkeypatch.setattr(background, "_report_failure", lambda *_: None)
    monkeypatch.setattr(kernel_module, "SHORT", 0.0)
    monkeypatch.setattr(kernel_module, "PATIENCE", 1e9 if end == "fails" else 1e-3)
    kd = floater()
    kernel = kd.function("com")
    q = kd.random(100, seed=0)
    rows = counted(kernel)
    results = [kernel(q) for _ in range(3)]
    never.set()
    assert background.background().submit(lambda: None).wait(60)  # all jobs have ended
    assert set(rows) == {(100, False)}
    np.testing.assert_array_equal(results[0], results[2])
