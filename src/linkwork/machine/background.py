"""Compiling without making anyone wait: one job at a time, in a process of its own.

Jobs   are done in the order they came; nobody ever waits for one
Fork   a process that forks keeps its jobs; the child has none, and starts anew when it needs to
Exit   what is not done is dropped
Pipes  are not buffered: a buffer has a lock, and the child of a fork could wait for it for ever
"""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from linkwork.machine import worker
from linkwork.machine.compiler import FAST, LOCK, compiled
from linkwork.machine.processor import this_target

LEAVING = 1.0  # [s] to wait at exit for a thread that prints a program; it may be left to itself


class Background:
    """Does jobs one after the other in a thread, and compiles in a process beside it."""

    def __init__(self) -> None:
        self.closed = False
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.RLock()  # a signal may come, and call a kernel, at any place

    def submit(self, job: Callable[[], None]) -> None:
        """Do something later. An error in it is dropped: whoever waits finds nothing done."""
        with self._lock:
            if self.closed:
                return
            self._jobs.put(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="linkwork", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError:  # no thread to be had: no fast code
                    self._thread = None

    def compiled(self, ir: str) -> bytes:
        """Compile in the process beside; here, if there can be none."""
        target = this_target()
        try:
            process = self._started()
            assert process.stdin
            assert process.stdout
            worker.write_job(process.stdin, FAST, target.cpu, target.features, target.triple, ir)
            return worker.read_answer(process.stdout)
        except worker.CompileError:  # it may lack a package that is here
            pass
        except Exception:  # noqa: BLE001 - the process is in no state to be asked again
            self._drop_process()
        with LOCK:
            self.check_open()
            return compiled(ir, FAST)

    def check_open(self) -> None:
        """Raise if nothing is to be done any more; holding LOCK, this stays true or false."""
        if self.closed:
            raise OSError("closed")

    def close(self) -> None:
        """Drop what is not done; after this, no process and no LLVM of ours runs any more."""
        self.closed = True
        self._jobs.put(None)
        self._kill()  # whoever waits for its answer goes on
        with LOCK:  # whoever starts a process, or compiles here, is done
            self._kill()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(LEAVING)

    def disown(self) -> None:
        """In a forked child: let go of a process that belongs to the parent."""
        process, self._process = self._process, None
        if process is not None:
            process.returncode = 0  # it is not ours to wait for
            _close_pipes(process)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._drop_process()
        if not sys.executable or getattr(sys, "frozen", False):  # it is the program, not Python
            raise OSError("no Python to start")
        with LOCK:  # a child forked in between would keep the pipes open
            self.check_open()
            self._process = subprocess.Popen(
                [sys.executable, "-I", str(Path(worker.__file__))],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # an interrupt from the terminal is for us alone
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
            return self._process

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None and not self.closed:
            with contextlib.suppress(Exception):
                job()
            del job  # it holds a kernel
        self._drop_process()

    def _kill(self) -> None:
        process = self._process
        if process is not None:
            process.kill()
            process.wait()

    def _drop_process(self) -> None:
        self._kill()
        process, self._process = self._process, None
        if process is not None:
            _close_pipes(process)


def _close_pipes(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe:
            with contextlib.suppress(OSError):
                pipe.close()


_state: dict[str, Background] = {}


def background() -> Background:
    """The one of this process; at its end, one that is closed."""
    found = _state.get("background")
    return found or _state.setdefault("background", Background())


def _forget() -> None:
    """In a forked child: the thread and the process belong to the parent."""
    found = _state.pop("background", None)
    if found is not None:
        found.disown()


@atexit.register
def _close() -> None:
    background().close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
