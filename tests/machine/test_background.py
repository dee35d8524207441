"""Compiling beside the calls: leaving, forking, and the process that compiles."""

from __future__ import annotations

import contextlib
import gc
import os
import struct
import subprocess
import sys
import threading
import time
import weakref

import pytest
from tests.support.kernels import BUSY, floater, output_of, run_python

from linkwork.machine import background as module
from linkwork.machine import worker
from linkwork.machine.background import Background
from linkwork.machine.processor import this_target

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="signals are others there")


@pytest.fixture
def no_cache(monkeypatch):
    monkeypatch.setenv("LINKWORK_CACHE", "off")


@pytest.mark.parametrize("wait", [0.0, 0.02, 0.1, 0.5, 1.0])
def test_leaving_while_compiling_is_clean_and_leaves_no_process(wait):
    out = output_of(
        BUSY
        + f"""
from linkwork.machine.background import background
kd.inverse_dynamics(q, nu, tau)
time.sleep({wait})
process = background()._process
print(process.pid if process else 0)
"""
    )
    assert not is_running(int(out))


@pytest.mark.parametrize("end", ["os._exit(3)", "os.kill(os.getpid(), 9)", "sys.exit(3)", "1 / 0"])
@needs_signals
def test_any_end_of_a_process_ends_the_one_that_compiles(end):
    returncode, out, err = run_python(
        BUSY
        + f"""
from linkwork.machine.background import background
until = time.monotonic() + 30
while background()._process is None and time.monotonic() < until: time.sleep(0.001)
print(background()._process.pid, flush=True)
{end}
"""
    )
    assert returncode == {"1 / 0": 1, "os.kill(os.getpid(), 9)": -9}.get(end, 3)
    assert err.count("Traceback") == (end == "1 / 0")
    assert "Exception ignored" not in err
    assert not is_running(int(out))


def is_running(pid: int) -> bool:
    """Whether a process is still there after a while."""
    for _ in range(200):
        if not pid:
            return False
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.05)
    return True


def test_nothing_is_started_after_the_end(monkeypatch):
    """Else leaving waits for a process that nobody needs."""
    beside = Background()
    beside.close()
    started = []
    monkeypatch.setattr(subprocess, "Popen", lambda *args, **_: started.append(args))
    with contextlib.suppress(Exception):
        beside.compiled("define void @f() {\n ret void\n}\n")
    assert not started


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
    """Locks that the other thread held are held by nobody in the child."""
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
def test_a_forked_child_ends_without_a_word():
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
    """The parent's background does nothing for it."""
    done = output_of(
        BUSY
        + """
pid = os.fork()
if pid == 0:
    kernel = kd.function("forward_dynamics")
    until = time.monotonic() + 15
    while not kernel._wide and time.monotonic() < until:
        kernel(q, nu, tau)
        time.sleep(0.02)
    os._exit(0 if kernel._wide else 1)
assert os.waitpid(pid, 0)[1] == 0
print("done")
"""
    )
    assert done == "done"


@needs_fork
def test_a_child_forked_while_another_thread_drops_code_works():
    """What is dropped takes the lock of LLVM, wherever that happens."""
    done = output_of(
        """
        import gc, signal
        from linkwork.machine.compiler import Code, compiled
        data = compiled("define void @f() {\\n ret void\\n}\\n")
        stop = threading.Event()
        def drop_much():
            while not stop.is_set():
                Code(data)
        threads = [threading.Thread(target=drop_much) for _ in range(3)]
        for thread in threads: thread.start()
        for _ in range(20):
            pid = os.fork()
            if pid == 0:
                signal.alarm(20)
                os._exit(0 if Code(data).address("f") else 1)
            assert os.waitpid(pid, 0)[1] == 0
        stop.set()
        for thread in threads: thread.join()
        print("done")
        """
    )
    assert done == "done"


@needs_signals
def test_nobody_waits_for_a_process_that_does_nothing():
    done = output_of(
        BUSY
        + """
from linkwork.machine.background import background
import signal
until = time.monotonic() + 30
while background()._process is None and time.monotonic() < until: time.sleep(0.001)
os.kill(background()._process.pid, signal.SIGSTOP)
small = floater()
small.com(small.neutral())
small.warmup()
kd.warmup()
np.testing.assert_allclose(kd.forward_dynamics(q, nu, tau), expected, rtol=1e-9, atol=1e-9)
print("done")
"""
    )
    assert done == "done"


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
        import linkwork.machine.background   # leaves before `last`, or after it
        module = linkwork.machine.background
        atexit.unregister(module._close)
        atexit.register(module._close)
        """
    )
    assert done.split("\n") == ["(3,)", "(8, 8)"]


def test_the_background_lets_go_of_what_it_compiled(no_cache):
    kd = floater()
    kernel = kd.function("com")
    kernel(kd.neutral())
    kernel.warmup()
    dead = weakref.ref(kernel)
    del kd, kernel
    until = time.monotonic() + 20
    while dead() is not None and time.monotonic() < until:
        gc.collect()
        time.sleep(0.05)
    assert dead() is None


def test_all_threads_have_the_same_background(monkeypatch):
    """Two of them would start two processes, of which one is never closed."""
    monkeypatch.setattr(module, "_state", {})
    init = Background.__init__
    monkeypatch.setattr(Background, "__init__", lambda own: (time.sleep(0.01), init(own))[1])
    found: list[object] = []
    barrier = threading.Barrier(8)

    def ask() -> None:
        barrier.wait()
        found.append(module.background())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1


# The process that compiles.


@pytest.fixture
def process():
    arguments = [sys.executable, "-I", worker.__file__]
    pipe = subprocess.PIPE
    with subprocess.Popen(arguments, stdin=pipe, stdout=pipe, stderr=pipe) as started:
        yield started
        started.kill()


def ask(process, ir: str, level: int = 1, *, triple: str | None = None) -> bytes:
    machine = this_target()
    texts = (machine.cpu, machine.features, triple or machine.triple, ir)
    worker.write_job(process.stdin, level, *texts)
    return worker.read_answer(process.stdout)


GOOD = "define i32 @f() {\n ret i32 5\n}\n"


@pytest.mark.parametrize(
    "ir",
    [
        "garbage",
        "define void @f() {",
        "define void @f() {\n ret i32 1\n}\n",
        "define i32 @f() {\n %x = add i32 %y, 1\n ret i32 %x\n}\n",
        "ü" * 1000,
        "}" * 100_000,
    ],
)
def test_ir_that_is_none_is_an_answer_and_the_next_job_is_done(process, ir):
    with pytest.raises(RuntimeError):
        ask(process, ir)
    assert ask(process, GOOD)[:4]
    assert process.poll() is None


def test_nothing_at_all_is_compiled_to_an_empty_object(process):
    assert ask(process, "")


@pytest.mark.parametrize(("level", "triple"), [(200, None), (1, "nonsense-triple"), (1, " ")])
def test_a_job_that_cannot_be_is_an_answer_and_the_next_job_is_done(process, level, triple):
    with pytest.raises(RuntimeError):
        ask(process, GOOD, level, triple=triple)
    assert ask(process, GOOD)


def test_bytes_that_are_no_text_are_an_answer_and_the_next_job_is_done(process):
    process.stdin.write(struct.pack("<B4I", 1, 0, 0, 0, 4) + b"\xff\xfe\xff\xff")
    process.stdin.flush()
    with pytest.raises(RuntimeError):
        worker.read_answer(process.stdout)
    assert ask(process, GOOD)


@pytest.mark.parametrize("sent", [b"", b"\x01", b"\x01" * 12, struct.pack("<B4I", 1, 9, 9, 9, 9)])
def test_a_job_cut_off_ends_the_process_without_a_word(process, sent):
    out, err = process.communicate(sent, timeout=60)
    assert (process.returncode, out, err) == (0, b"", b"")


def test_ir_that_is_none_is_an_error_here_as_well():
    beside = Background()
    try:
        with pytest.raises(RuntimeError):
            beside.compiled("garbage")
        assert beside.compiled(GOOD)
    finally:
        beside.close()
        if beside._process:
            beside._process.communicate()


def test_a_frozen_program_does_not_start_itself_again(monkeypatch):
    """There, `sys.executable` is the program, which would start the next, and so on."""
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    started = []
    monkeypatch.setattr(subprocess, "Popen", lambda *args, **_: started.append(args))
    beside = Background()
    assert beside.compiled(GOOD)
    beside.close()
    assert not started


@pytest.mark.parametrize("executable", [None, "", "/nonexistent/python"])
def test_without_a_python_to_start_it_is_compiled_here(monkeypatch, executable):
    """Programs that have Python inside do not know of one beside."""
    monkeypatch.setattr(sys, "executable", executable)
    beside = Background()
    assert beside.compiled(GOOD)
    beside.close()
