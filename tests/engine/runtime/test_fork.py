"""A forked child never waits for a lock that a thread of its parent holds."""

from __future__ import annotations

import ast
import os
import signal
import sys
import threading
from pathlib import Path

import pytest
from tests.support.kernels import output_of

import linkwork
from linkwork.engine.cached_property import cached_property
from linkwork.engine.runtime.compiler import LOCK, compiled, llvmlite_lock

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.slow,
]

SOURCES = sorted(Path(linkwork.__file__).parent.rglob("*.py"))


class Slow:
    """Computes a property for as long as the first reader determines."""

    def __init__(self) -> None:
        self.started, self.wait = threading.Event(), threading.Event()

    @cached_property
    def value(self) -> list[int]:
        """A list."""
        self.started.set()
        self.wait.wait(30)
        return [7]


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_child_computes_what_a_thread_of_its_parent_was_computing():
    first, second = Slow(), Slow()
    second.wait.set()
    thread = threading.Thread(target=lambda: first.value)
    thread.start()
    assert first.started.wait(30)
    pid = os.fork()
    if pid == 0:
        signal.alarm(10)
        os._exit(second.value[0])
    assert os.waitpid(pid, 0)[1] == 7 << 8
    first.wait.set()
    thread.join()


def test_a_property_is_computed_once_and_all_threads_get_the_same():
    slow = Slow()
    actual: list[list[int]] = []
    threads = [threading.Thread(target=lambda: actual.append(slow.value)) for _ in range(4)]
    for thread in threads:
        thread.start()
    slow.wait.set()
    for thread in threads:
        thread.join()
    assert all(one is slow.value for one in actual)
    assert Slow.value.__doc__ == "A list."
    assert isinstance(Slow.value, cached_property)


def test_no_property_holds_a_lock_while_it_is_computed():
    """`functools.cached_property` does before Python 3.12."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "functools":
                assert "cached_property" not in [alias.name for alias in node.names], path


def test_the_lock_of_llvmlite_exists():
    """It is private. If this fails, adapt `llvmlite_lock` to its new name."""
    compiled("define void @f() {\n ret void\n}\n")
    lock = llvmlite_lock()
    assert lock is not None
    done = threading.Event()

    def use_llvm() -> None:
        sys.modules["llvmlite.binding"].parse_assembly("")
        done.set()

    with lock:
        thread = threading.Thread(target=use_llvm)
        thread.start()
        assert not done.wait(0.3)  # it holds LLVM back
    thread.join()
    assert done.is_set()


def test_without_the_lock_of_llvmlite_forks_still_work():
    """Then linkwork's lock guards compiling, loading and freeing code."""
    done = output_of(
        """
        import signal
        from linkwork.engine.runtime import compiler
        compiler.llvmlite_lock = lambda: None
        data = compiler.compiled("define void @f() {\\n ret void\\n}\\n")
        stop = threading.Event()
        def work():
            while not stop.is_set():
                compiler.load_code(data)
                compiler.compiled("define void @g() {\\n ret void\\n}\\n")
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads: thread.start()
        for _ in range(20):
            pid = os.fork()
            if pid == 0:
                signal.alarm(20)
                os._exit(0 if compiler.load_code(data).address("f") else 1)
            assert os.waitpid(pid, 0)[1] == 0
        stop.set()
        for thread in threads: thread.join()
        print("done")
        """,
        LINKWORK_LOADER="llvm",
    )
    assert done == "done"


BACKGROUND = """
import signal
sys.setswitchinterval(1e-4)
for k in range(12):
    kd = floater(gravity=(0, 0, -9 - 0.01 * k))
    q, nu, tau = motion(kd)
    kd.mass_matrix(q)   # and faster code is made in the background
    time.sleep(0.004 * k)
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        other = lw.KinDyn(kd.model, floating=True, gravity=(0, 0, -5 - 0.01 * k))
        np.testing.assert_allclose(other.mass_matrix(q), kd.mass_matrix(q), rtol=1e-9, atol=1e-9)
        assert kd.bias_force(q, nu).shape == (kd.nv,)
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    assert status == 0, (k, status)
print("done")
"""


@pytest.mark.parametrize("mode", ["process", "thread"])
def test_children_forked_again_and_again_while_the_background_compiles_work(mode, tmp_path):
    assert output_of(BACKGROUND, LINKWORK_BACKGROUND=mode, cache=tmp_path) == "done"


@pytest.mark.parametrize("mode", ["process", "thread"])
def test_the_background_imports_nothing_while_a_fork_is_possible(mode):
    """A child forked while a thread imports a module could not import it. A fork waits for LOCK."""
    done = output_of(
        """
        from linkwork.engine.runtime.compiler import LOCK
        imported = []
        class Watch:
            def find_spec(self, name, path=None, target=None):
                if threading.current_thread().name == "linkwork" and not LOCK._is_owned():
                    imported.append(name)
        sys.meta_path.insert(0, Watch())
        kd = floater()
        kernel = kd.function("forward_dynamics")
        kernel(*motion(kd))
        until = time.monotonic() + 30
        while not kernel.code.is_fast and time.monotonic() < until: time.sleep(0.01)
        print(kernel.code.is_fast, imported)
        """,
        LINKWORK_BACKGROUND=mode,
    )
    assert done == "True []"


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_waits_for_the_lock_of_the_compiler():
    """So that the lock is free in the child."""
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with LOCK:
            held.set()
            release.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(30)
    threading.Timer(0.2, release.set).start()
    done = LOCK.acquire(timeout=0)
    assert not done
    pid = os.fork()
    if pid == 0:
        os._exit(0 if LOCK.acquire(timeout=5) else 1)
    assert os.waitpid(pid, 0)[1] == 0
    thread.join()
