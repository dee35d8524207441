"""What a process leaves to the next one, however it ends."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.support.kernels import (
    finish,
    floater,
    motion,
    output_of,
    run_python,
    start_python,
)

from linkwork.machine import background, finishing
from linkwork.machine.finishing import Order

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no process compiles there")

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
from linkwork.expr import program
from linkwork.kernel import derive, kernel as module
from linkwork.kindyn import kernels
def refused(*args, **named): raise AssertionError("it is made anew")
module.compiled = program.trace = kernels.trace = refused
derive.PROGRAMS["vjp"] = refused
found = first_calls()
print(float(sum(np.abs(part).sum() for part in found)), "llvmlite" in sys.modules)
os._exit(0)
"""


def made(folder: Path, ending: str) -> int:
    return len(list(folder.glob(f"*.{ending}")))


def wait_for(condition, seconds: float = 60.0) -> bool:
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    return condition()


@pytest.mark.parametrize("end", ENDS)
def test_the_next_process_makes_nothing_anew(tmp_path, end):
    """Neither traced, nor differentiated, nor compiled: LLVM is not even imported."""
    code = SCRIPT + f"import signal\nfirst_calls()\nprint('called', flush=True)\n{ENDS[end]}\n"
    _, out, _ = run_python(code, cache=tmp_path)
    assert out == "called\n"
    total, imported = output_of(SCRIPT + SECOND, cache=tmp_path).split()
    assert imported == "False"
    kd = floater()
    q, nu, tau = motion(kd)
    dynamics = kd.inverse_dynamics
    parts = kd.mass_matrix(q), dynamics(q, nu, tau), dynamics.vjp("q")(q, nu, tau, np.ones(8))
    assert float(total) == pytest.approx(sum(np.abs(part).sum() for part in parts), rel=1e-9)


@pytest.mark.parametrize("end", ["as usual", "interrupt"])
def test_fast_code_is_made_after_the_end(tmp_path, end):
    """Of all three functions, for one row and for several; quick code is removed."""
    code = SCRIPT + f"import signal\nfirst_calls()\n{ENDS[end]}\n"
    _, _, err = run_python(code, cache=tmp_path)
    assert ("KeyboardInterrupt" in err) == (end == "interrupt")
    assert wait_for(lambda: made(tmp_path, "o") == 6)
    assert wait_for(lambda: made(tmp_path, "quick") == 0)
    code = SCRIPT + "first_calls()\nprint(all(k._wide for k in kd._kernels.values()))"
    assert output_of(code, cache=tmp_path) == "True"


def test_paths_that_python_itself_ignores_do_not_matter(tmp_path):
    """Only texts in sys.path are searched, but programs put other things there."""
    code = """
    import pathlib
    sys.path += [pathlib.Path("/x"), None]
    kd = floater()
    kd.com(kd.neutral())
    """
    assert run_python(code, cache=tmp_path) == (0, "", "")
    assert wait_for(lambda: made(tmp_path, "o") == 2)


def test_a_robot_that_is_gone_before_the_end_is_finished_too(tmp_path):
    run_python("def f():\n    kd = floater()\n    kd.com(kd.neutral())\nf()", cache=tmp_path)
    assert wait_for(lambda: made(tmp_path, "o") == 2)


@pytest.mark.parametrize("setting", [{}, {"LINKWORK_BACKGROUND": "thread"}])
def test_nothing_is_handed_over_where_it_must_not_be(tmp_path, setting):
    """Without a cache it would be of no use; with `thread`, no process is to be started."""
    code = """
    from linkwork.machine import background
    background.hand_over = lambda *args: print("handed over")
    kd = floater()
    kd.com(kd.neutral())
    """
    assert output_of(code, cache=tmp_path if setting else "off", **setting) == ""
    assert output_of(code, cache=tmp_path) == "handed over"


def test_many_processes_at_once_make_one_cache(tmp_path):
    processes = [
        start_python(SCRIPT + "print(len(first_calls()))", cache=tmp_path) for _ in range(5)
    ]
    assert {finish(process) for process in processes} == {(0, "3\n", "")}
    assert wait_for(lambda: made(tmp_path, "o") == 6 and not made(tmp_path, "quick"))
    code = SCRIPT + "first_calls()\nprint(all(k._wide for k in kd._kernels.values()))"
    assert output_of(code, cache=tmp_path) == "True"


def order_of(kernel) -> Order:
    return kernel._order()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path))
    monkeypatch.setattr(background.Background, "submit", lambda *_: None)
    return tmp_path


def test_what_is_there_is_not_made_again(folder, monkeypatch):
    kd = floater()
    kernel = kd.function("com")
    kernel(kd.neutral())
    finishing.finish(order_of(kernel))
    assert made(folder, "o") == 2
    monkeypatch.setattr("linkwork.machine.compiler.compiled", lambda *_: pytest.fail("again"))
    finishing.finish(order_of(kernel))
    (folder / f"{order_of(kernel).program}.program").unlink()
    for path in folder.glob("*.o"):
        path.unlink()
    finishing.finish(order_of(kernel))  # the program is gone: so is the order
    assert made(folder, "o") == 0


def test_a_cache_that_was_removed_does_not_come_back(tmp_path):
    folder = tmp_path / "cache"
    code = """
    import shutil
    kd = floater()
    kd.com(kd.neutral())
    shutil.rmtree(os.environ["LINKWORK_CACHE"])
    """
    assert output_of(code, cache=folder) == ""
    time.sleep(1.0)
    assert not folder.exists()


@pytest.fixture
def _alarm_switched_off():
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    handler = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGALRM, handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.usefixtures("_alarm_switched_off")
def test_the_process_ends_at_its_limit(folder):
    """Whatever it does, and whatever this one does with its alarms: here it waits for another."""
    import fcntl

    kd = floater()
    kernel = kd.function("com")
    kernel(kd.neutral())
    with (folder / finishing._LOCK).open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        finishing.hand_over([order_of(kernel)], folder, limit=2)
        assert wait_for(lambda: is_finishing(folder))
        assert wait_for(lambda: not is_finishing(folder))
    assert made(folder, "o") == 0


def is_finishing(folder: Path) -> bool:
    """Whether a process finishes code for this cache."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            settings, command = (process / "environ").read_bytes(), process / "cmdline"
            if str(folder).encode() in settings and b"finishing.py" in command.read_bytes():
                return True
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_errors_of_handing_over_are_ignored(tmp_path, monkeypatch):
    order = Order("a" * 64, "double", False, ((1, "b" * 64),))
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    before = sorted(Path("/proc/self/fd").iterdir())
    finishing.hand_over([order] * 1000, tmp_path)
    assert sorted(Path("/proc/self/fd").iterdir()) == before
