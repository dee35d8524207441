"""Compilation in the background: exit, fork, and the compiler process."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pytest
from tests.support.kernels import BUSY, LONGEST, Never, floater, motion, output_of, run_python

import linkwork as lw
from linkwork.engine.runtime import background as module
from linkwork.engine.runtime.background import Background
from linkwork.engine.runtime.processor import NoMachineCodeError

pytestmark = pytest.mark.slow

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")


@pytest.fixture
def no_cache(monkeypatch):
    monkeypatch.setenv("LINKWORK_CACHE", "off")


@pytest.mark.parametrize("wait", [0.0, 0.1, 0.5])
def test_exit_while_compiling_is_clean_and_leaves_no_process(wait):
    out = output_of(
        BUSY
        + f"""
from linkwork.engine.runtime.background import background
kd.inverse_dynamics(q, nu, tau)
time.sleep({wait})
process = background()._process
print(process.pid or 0 if process else 0)
"""
    )
    assert not is_running(int(out))


@pytest.mark.parametrize("end", ["os._exit(3)", "os.kill(os.getpid(), 9)", "sys.exit(3)", "1 / 0"])
@needs_signals
def test_the_compiler_process_ends_with_its_parent_in_any_way(end):
    returncode, out, err = run_python(
        BUSY
        + f"""
print(worker_pid(), flush=True)
{end}
"""
    )
    assert returncode == {"1 / 0": 1, "os.kill(os.getpid(), 9)": -9}.get(end, 3)
    assert err.count("Traceback") == (end == "1 / 0")
    assert "Exception ignored" not in err
    assert not is_running(int(out))


def is_running(pid: int, patience: float = 10.0) -> bool:
    """Return whether a process is still running after some seconds."""
    until = time.monotonic() + patience
    while pid:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        if time.monotonic() > until:
            return True
        time.sleep(0.05)
    return False


@needs_fork
def test_a_child_forked_while_compiling_works():
    done = output_of(
        BUSY
        + """
def child_works():
    import signal
    signal.alarm(40)
    np.testing.assert_allclose(kd.forward_dynamics(q, nu, tau), expected, rtol=1e-9, atol=1e-9)
    small = floater()
    assert small.com(small.neutral()).shape == (3,)
    small.warmup()
for k in range(5):
    time.sleep(0.05)
    pid = os.fork()
    if pid == 0:
        try:
            child_works()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0
print("done")
"""
    )
    assert done == "done"


@needs_fork
def test_a_child_forked_while_another_thread_compiles_works():
    """Locks that the other thread held are free in the child."""
    done = output_of(
        """
        import signal
        stop = threading.Event()
        shared = floater()
        names = ["com", "mass_matrix", "bias_force", "com_jacobian", "momentum", "gravity_force"]
        def compile_much():
            while not stop.is_set():
                shared._kernels.clear()
                shared.warmup(*names)
        threads = [threading.Thread(target=compile_much) for _ in range(2)]
        for thread in threads: thread.start()
        bad = 0
        for k in range(5):
            time.sleep(0.03 + 0.02 * k)
            pid = os.fork()
            if pid == 0:
                signal.alarm(8)
                try:
                    own = floater()
                    own.com(own.neutral())
                    for name in names: shared.warmup(name)
                    os._exit(0)
                finally:
                    os._exit(1)
            bad += os.waitpid(pid, 0)[1] != 0
        stop.set()
        for thread in threads: thread.join()
        print(bad, "of 5 hang")
        """
    )
    assert done == "0 of 5 hang"


@needs_fork
def test_a_forked_child_ends_without_messages():
    done = output_of(
        BUSY
        + """
pid = os.fork()
if pid == 0:
    import gc
    gc.collect()
    kd.com(q)
    gc.collect()
    sys.exit(0)
assert os.waitpid(pid, 0)[1] == 0
kd.warmup()
print("done")
"""
    )
    assert done == "done"


@needs_fork
def test_a_forked_child_gets_fast_code_too():
    """The parent's background does not compile for the child."""
    done = output_of(
        BUSY
        + """
pid = os.fork()
if pid == 0:
    kernel = kd.function("forward_dynamics")
    until = time.monotonic() + 15
    while not kernel.code.is_fast and time.monotonic() < until:
        kernel(q, nu, tau)
        time.sleep(0.02)
    os._exit(0 if kernel.code.is_fast else 1)
assert os.waitpid(pid, 0)[1] == 0
print("done")
"""
    )
    assert done == "done"


@needs_signals
def test_exit_does_not_wait_for_an_idle_process():
    done = output_of(
        BUSY
        + """
import signal
pid = worker_pid()
os.kill(pid, signal.SIGSTOP)
small = floater()
small.com(small.neutral())
small.warmup()
kd.warmup()
np.testing.assert_allclose(kd.forward_dynamics(q, nu, tau), expected, rtol=1e-9, atol=1e-9)
print(pid)
"""
    )
    os.kill(int(done), signal.SIGCONT)  # it finds that nobody is there any more
    assert not is_running(int(done))


def test_functions_may_be_called_while_the_process_ends():
    done = output_of(
        """
        import atexit
        kd = floater()
        def last():
            print(kd.com(kd.neutral()).shape)
            kd.warmup()
            print(kd.mass_matrix(kd.neutral()).shape)
        atexit.register(last)
        import linkwork.engine.runtime.background   # leaves before `last`, or after it
        module = linkwork.engine.runtime.background
        atexit.unregister(module._close)
        atexit.register(module._close)
        """
    )
    assert done.split("\n") == ["(3,)", "(8, 8)"]


def test_the_background_keeps_no_reference_to_compiled_kernels(no_cache):
    kd = floater()
    kernel = kd.function("com")
    kernel(kd.neutral())
    kernel.warmup()
    dead = weakref.ref(kernel)
    del kd, kernel
    until = time.monotonic() + LONGEST
    while dead() is not None and time.monotonic() < until:
        gc.collect()
        time.sleep(0.05)
    assert dead() is None


# The process that compiles.

UNTIL = """
import warnings
warnings.simplefilter("default")
from linkwork.engine.runtime import background
def until(condition):
    end = time.monotonic() + 30
    while not condition() and time.monotonic() < end: time.sleep(0.01)
def fast(name):
    kernel = small.function(name)
    kernel(small.neutral())
    until(lambda: kernel.status == "fast")
    return kernel.status
small = floater()
"""
ONE_FOR_ALL = """
import subprocess
started, Popen = [], subprocess.Popen
subprocess.Popen = lambda *args, **named: (started.append(args), Popen(*args, **named))[1]
names = ["com", "mass_matrix", "com_jacobian"]
threads = [threading.Thread(target=fast, args=(name,)) for name in names]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(started), *(small.function(name).status for name in names))
"""
CRASH = """
import signal
kernel = kd.function("forward_dynamics")
pid = worker_pid()
os.kill(pid, signal.SIGSTOP)
time.sleep(0.5)
os.kill(pid, signal.SIGKILL)
until(lambda: kernel.status.startswith("failed"))
np.testing.assert_allclose(kd.forward_dynamics(q, nu, tau), expected, rtol=1e-9, atol=1e-9)
print(kernel.status[:16], fast("com"))
"""
IDLE = """
background.IDLE_LIMIT = 0.2
first, pid = fast("com"), worker_pid()
def is_alive():
    try: os.kill(pid, 0)
    except ProcessLookupError: return False
    return True
until(lambda: not is_alive())
print(first, is_alive(), fast("mass_matrix"), worker_pid() != pid)
"""


def test_all_threads_share_one_compiler_process():
    assert output_of(UNTIL + ONE_FOR_ALL) == "1 fast fast fast"


@needs_signals
def test_a_crash_of_the_compiler_process_is_reported_and_not_repeated_here():
    """What ended it, memory or an error of LLVM, would end this process, too."""
    code, out, err = run_python(BUSY + UNTIL + CRASH)
    assert (code, out) == (0, "failed: EOFError fast\n")
    assert err.count("the compiler process ended during the compilation") == 1


@needs_signals
def test_the_compiler_process_ends_when_it_is_idle_and_starts_again():
    assert output_of(UNTIL + IDLE) == "fast False fast True"


@pytest.mark.parametrize("what", ["another program named python", "llvmlite fails there"])
def test_without_a_compiler_process_code_is_compiled_here(tmp_path, what):
    fake = tmp_path / "python3"
    fake.write_text("#!/bin/sh\necho hello\n", encoding="utf-8")
    fake.chmod(0o755)
    broken = tmp_path / "__init__.py"
    broken.write_text("raise ImportError('not a wheel')", encoding="utf-8")
    change = f"sys.executable = {str(fake)!r}\n"
    if what == "llvmlite fails there":
        change = f"background.llvmlite_file = lambda: {str(broken)!r}\n"
    script = 'print(fast("com"), fast("mass_matrix"))\n'
    code, out, err = run_python(UNTIL + change + script)
    assert (code, out) == (0, "fast fast\n")
    assert err.count("the compiler process could not be started") == 1


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        *((name, "process") for name in ("python", "python3", "python3.13t", "pypy3.10")),
        *((name, "thread") for name in ("uwsgi", "FreeCAD", "isaac-sim.sh", "mypython")),
        *((name, "thread") for name in ("pythonista", "python3.11-config", "")),
    ],
)
def test_only_python_interpreters_are_started(monkeypatch, tmp_path, name, mode):
    """A program that embeds Python would start itself again and again."""
    if name:
        (tmp_path / name).touch(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / name) if name else "")
    assert module.background_mode() == mode
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert module.background_mode() == "thread"


def test_an_urgent_job_runs_before_the_jobs_that_wait():
    jobs, go, order = Background(), threading.Event(), []
    jobs.submit(lambda: (go.wait(60), order.append("running"))[1])
    ends = [jobs.submit(lambda name=name: order.append(name)) for name in "ab"]
    urgent = jobs.submit(lambda: order.append("urgent"), is_urgent=True)
    go.set()
    assert all(end.wait(60) for end in (*ends, urgent))
    jobs.close()
    assert sorted(order[:2]) == ["running", "urgent"]
    assert order[2:] == ["a", "b"]


# Failures are reported.


FAILING = """
from linkwork.engine.runtime import backends as module
emit_llvm = module.emit_llvm
def broken(program, name, lanes, **options):
    if lanes.width > 1: raise ZeroDivisionError("a printer failed")
    return emit_llvm(program, name, lanes, **options)
module.emit_llvm = broken
kd = floater()
print(kd.com.status)
for name in ("com", "mass_matrix"):
    kernel = kd.function(name)
    kernel(kd.neutral())
    until = time.monotonic() + 30
    while not kernel.code.failure and time.monotonic() < until: time.sleep(0.01)
    print(kernel.status)
print(kd.com(kd.neutral()).shape)
"""


@pytest.mark.parametrize("mode", ["process", "thread"])
@pytest.mark.parametrize("action", ["default", "error"])
def test_a_failure_in_the_background_is_reported_once_with_its_reason(mode, action):
    code = f"import warnings\nwarnings.simplefilter({action!r})\n{FAILING}"
    _, out, err = run_python(code, LINKWORK_BACKGROUND=mode)
    failed = "failed: ZeroDivisionError: a printer failed"
    assert out.splitlines() == ["none", failed, failed, "(3,)"]
    assert err.count("the reason: ZeroDivisionError: a printer failed") == 1


def test_the_status_reports_which_code_is_in_use(no_cache, monkeypatch):
    kd = floater()
    kernel = kd.function("com")
    assert kernel.status == "none"
    with monkeypatch.context() as patch:
        patch.setattr("linkwork.engine.runtime.compiled_program.background", Never)
        kernel(kd.neutral())
    assert kernel.status == "quick"
    kernel.warmup()
    assert kernel.status == kd.com.status == "fast"
    assert kd.com.jvp("q").status == "none"


def test_the_status_reports_why_numpy_is_used(no_cache, monkeypatch):
    monkeypatch.setattr("linkwork.errors._warned_topics", set())

    def refuse() -> None:
        raise NoMachineCodeError("memory is not executable")

    monkeypatch.setattr("linkwork.engine.runtime.compiler.check_executable", refuse)
    kd = floater()
    with pytest.warns(lw.LinkworkWarning, match="executable"):
        kd.com(kd.neutral())
    assert kd.com.status == "NumPy: memory is not executable"


# What the environment chooses.

CHOSEN = """
import subprocess
started, Popen = [], subprocess.Popen
subprocess.Popen = lambda *args, **named: (started.append(args), Popen(*args, **named))[1]
kd = floater()
kernel = kd.function("com")
kernel(kd.neutral())
first = kernel.code.level, kernel.code.is_fast
until = time.monotonic() + 30
while not kernel.code.is_fast and time.monotonic() < until: time.sleep(0.01)
names = [thread.name for thread in threading.enumerate()]
print(len(started), names.count("linkwork"), *first, kernel.code.level, kernel.code.is_fast)
"""


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("", "1 1 0 False 1 True"),
        ("process", "1 1 0 False 1 True"),
        ("thread", "0 1 0 False 1 True"),
        ("off", "0 0 1 True 1 True"),
    ],
)
def test_the_background_mode_can_be_chosen(chosen, expected):
    assert output_of(CHOSEN, LINKWORK_BACKGROUND=chosen) == expected


def test_an_unknown_mode_is_reported_once(monkeypatch):
    monkeypatch.setattr("linkwork.errors._warned_topics", set())
    monkeypatch.setenv("LINKWORK_BACKGROUND", "threads")
    with pytest.warns(lw.LinkworkWarning) as caught:
        modes = [module.background_mode() for _ in range(2)]
    assert modes == ["process", "process"]
    (warning,) = caught
    for fact in ("LINKWORK_BACKGROUND='threads'", "mean 'thread'", "'process'"):
        assert fact in str(warning.message)


# The process is nobody's child, and does not stay.


@needs_signals
def test_waiting_for_all_children_does_not_wait_for_the_process_that_compiles():
    done = output_of(
        BUSY
        + """
worker_pid()
pid = os.fork()
if pid == 0: os._exit(7)
waited = []
try:
    while True: waited.append(os.wait())
except ChildProcessError:
    pass
assert waited == [(pid, 7 << 8)]
kd.warmup()
print("done")
"""
    )
    assert done == "done"


@needs_signals
def test_a_compilation_in_progress_ends_with_its_parent():
    """Not only after it is done: large code takes a minute and a gigabyte."""
    returncode, out, _ = run_python(
        """
        from linkwork.engine.runtime.compiler_process import CompilerProcess
        from linkwork.engine.runtime.processor import NoMachineCodeError, llvmlite_file, this_target
        steps = [f" %v{k+1} = fmul double %v{k}, %v{k // 2}" for k in range(400_000)]
        steps = ["define double @f(double %v0) {", *steps, " ret double %v400000", "}"]
        ir = "\\n".join(steps)
        process = CompilerProcess("")
        process.wait_until_ready()
        arguments = (1, this_target(), ir)
        threading.Thread(target=process.compiled, args=arguments, daemon=True).start()
        time.sleep(1.0)
        print(process.pid, os.getpriority(os.PRIO_PROCESS, process.pid), flush=True)
        os.kill(os.getpid(), 9)
        """
    )
    pid, priority = map(int, out.split())
    assert (returncode, priority) == (-9, 19)
    assert not is_running(pid, 3.0)


# What a process leaves to the next one, however it ends: files, and no process.

SCRIPT = """
kd = floater()
q, nu, tau = motion(kd)
def first_calls():
    dynamics = kd.function("inverse_dynamics")
    return [kd.mass_matrix(q), dynamics(q, nu, tau), dynamics.vjp("q")(q, nu, tau, np.ones(8))]
"""
ENDS = {
    "as usual": "",
    "os._exit": "os._exit(0)",
    "killed": "os.kill(os.getpid(), 9)",
    "exception": "1 / 0",
    "sys.exit": "sys.exit(3)",
    "interrupt": "signal.raise_signal(signal.SIGINT)",
}
SECOND = """
from linkwork.engine.symbolic import tracing
from linkwork.engine.kernel import derive
from linkwork.engine.runtime import compiler as module
from linkwork.kindyn import programs
def refused(*args, **named): raise AssertionError("it is made anew")
module.compiled = tracing.trace = programs.trace = refused
derive.PROGRAMS["vjp"] = refused
found = first_calls()
print(float(sum(np.abs(part).sum() for part in found)), "llvmlite" in sys.modules, flush=True)
os._exit(0)
"""


def processes_with(setting: str) -> list[str]:
    """The ids of all processes that have a variable in their environment."""
    actual: list[str] = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if setting.encode() in path.read_bytes().split(b"\0"):
                actual.append(path.parent.name)
    return actual


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("end", ENDS)
def test_the_next_process_continues_and_none_is_left(tmp_path, end):
    """Programs are not traced, differentiated or compiled again: LLVM is not imported."""
    code = SCRIPT + f"import signal\nfirst_calls()\nprint('called', flush=True)\n{ENDS[end]}\n"
    name = f"{tmp_path.parent.name}-{tmp_path.name}"
    _, out, _ = run_python(code, cache=tmp_path, LINKWORK_TEST_NAME=name)
    assert out == "called\n"
    until = time.monotonic() + 5
    while processes_with(f"LINKWORK_TEST_NAME={name}") and time.monotonic() < until:
        time.sleep(0.02)
    assert processes_with(f"LINKWORK_TEST_NAME={name}") == []
    total, imported = output_of(SCRIPT + SECOND, cache=tmp_path).split()
    assert imported == "False"
    kd = floater()
    q, nu, tau = motion(kd)
    dynamics = kd.inverse_dynamics
    parts = kd.mass_matrix(q), dynamics(q, nu, tau), dynamics.vjp("q")(q, nu, tau, np.ones(8))
    assert float(total) == pytest.approx(sum(np.abs(part).sum() for part in parts), rel=1e-9)


@needs_signals
def test_a_compiler_process_that_was_stopped_neither_blocks_calls_nor_outlives_this_one():
    out = output_of(
        BUSY
        + """
import signal
from linkwork.engine.kernel import kernel as kernel_module
pid = worker_pid()
os.kill(pid, signal.SIGSTOP)
kernel_module.SHORT, kernel_module.PATIENCE = 0.0, 1.0
other = lw.KinDyn(lw.robots.load("arm"), floating=False)
q = other.random(1000, seed=0)
assert other.mass_matrix(q).shape == (1000, other.nv, other.nv)
assert other.function("mass_matrix").status == "quick"
other.warmup("mass_matrix")
assert other.function("mass_matrix").status == "fast"
print(pid)
"""
    )
    assert not is_running(int(out))
