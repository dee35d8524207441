"""Compiling without making anyone wait: one job at a time, in a thread or in another process.

`LINKWORK_BACKGROUND` chooses:

process  LLVM runs in a process of its own, so that calls never wait for it (the default, where
         there is a Python to start; else `thread`). It ends with us, or when it was idle
thread   LLVM runs in a thread; what else is to be compiled waits for it
off      nothing runs beside the calls: the first call makes the fast code, and takes longer

Jobs   are done in the order they came; nobody ever waits for one
Fork   a process that forks keeps its jobs; the child has none, and begins with a thread of its own
Exit   what is not done is dropped
"""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import re
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from linkwork.machine.compiler import FAST, LOCK, compiled
from linkwork.machine.notices import setting
from linkwork.machine.processor import this_target
from linkwork.machine.worker import CompileError

if TYPE_CHECKING:
    from linkwork.machine.process import CompilerProcess

_PYTHON = re.compile(r"(python|pypy)[0-9.]*[a-z]{0,2}")  # names of interpreters
IDLE_LIMIT = 5.0  # [s] without a job, after which the process is ended
EXIT_LIMIT = 1.0  # [s] to wait at exit for the thread; it cannot be stopped while it emits IR


def background_mode() -> str:
    """Where fast code is made: `process`, `thread`, or `off`."""
    mode = setting("LINKWORK_BACKGROUND", ("process", "thread", "off"))
    return "thread" if mode == "process" and not _can_start_python() else mode


def _can_start_python() -> bool:
    """Whether there is a Python to start: `sys.executable` may be a program with Python inside."""
    path = Path(sys.executable or "nothing")
    return (
        os.name == "posix"
        and not getattr(sys, "frozen", False)
        and _PYTHON.fullmatch(path.name) is not None
        and os.access(path, os.X_OK)
    )


class Background:
    """Does jobs one after the other in a thread, and compiles in a process beside it."""

    def __init__(self) -> None:
        self.closed = False
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._process: CompilerProcess | None = None
        self._lock = threading.RLock()  # reentrant: a signal handler may call a kernel

    def submit(self, job: Callable[[], None]) -> None:
        """Do something later. An error in it is dropped: whoever waits finds nothing done."""
        if background_mode() == "process":
            with contextlib.suppress(ImportError):  # not in the thread: a fork meanwhile may hang
                import_module("linkwork.machine.process")
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
        """Compile in the process beside; here, if there can be none.

        Not here if that process ended over it: whatever ended it would end this one, too.
        """
        for _ in range(2):
            process = self._started_process()
            if process is None:
                break
            try:
                return process.compiled(FAST, this_target(), ir)
            except CompileError:  # it may lack a package that is here
                break
            except BrokenPipeError:  # it had ended before: another one is started
                self._end_process()
            except BaseException:
                self._end_process()
                raise
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
        self._end_process()  # whoever waits for its answer goes on
        with LOCK:  # whoever starts a process, or compiles here, is done
            self._end_process()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(EXIT_LIMIT)

    def disown(self) -> None:
        """In a forked child: leave the process to the parent."""
        process, self._process = self._process, None
        if process is not None:
            process.disown()

    def _started_process(self) -> CompilerProcess | None:
        """The process beside; None if there can be none."""
        if background_mode() != "process" or self._process is not None:
            return self._process
        try:
            from linkwork.machine.process import CompilerProcess

            with LOCK:  # no fork meanwhile
                self.check_open()
                self._process = CompilerProcess()
            self._process.wait_until_ready()
        except Exception:  # noqa: BLE001 - then there is none
            self._end_process()
        return self._process

    def _work(self) -> None:
        while not self.closed:
            try:
                job = self._jobs.get(timeout=IDLE_LIMIT if self._process else None)
            except queue.Empty:
                self._end_process()
                continue
            if job is None:
                break
            with contextlib.suppress(Exception):
                job()
            del job  # it holds a kernel
        self._end_process()

    def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.close()


_state: dict[str, Background] = {}


def background() -> Background:
    """The one of this process; at its end, one that is closed."""
    return _state.get("background") or _state.setdefault("background", Background())


def _forget() -> None:
    """In a forked child: the thread and the process belong to the parent."""
    parents = _state.pop("background", None)
    if parents is not None:
        parents.disown()


@atexit.register
def _close() -> None:
    background().close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
