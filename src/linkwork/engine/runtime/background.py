"""Compilation in the background: one job at a time, in a thread or in another process.

`LINKWORK_BACKGROUND` selects:

process  LLVM runs in a separate process, so that calls never wait for it. The default if a Python
         interpreter can be started; else `thread`. It ends with this process, or when idle
thread   LLVM runs in a thread; a call that has to compile code itself waits for it
off      the first call compiles the fast code, and takes longer

Jobs    run in order; a call waits for one only if it has much to compute and faster code would
        pay off, for a limited time, and that job runs before the others
Fork    the parent keeps its jobs; the child has none, and starts its own thread when it needs one
Start   the first job starts after a delay, so that a program of a few calls is not slowed down
Exit    unfinished jobs are dropped: no process of linkwork outlives this one. Compiled code is in
        the disk cache, and the next process continues from there
Errors  are reported once as a warning with the reason; the code in use stays in use
"""

from __future__ import annotations

import atexit
import os
import queue
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from linkwork.engine.runtime.compiler import FAST, LOCK, compiled, setting
from linkwork.engine.runtime.compiler_process import CompileError, CompilerProcess
from linkwork.engine.runtime.processor import llvmlite_file, this_target
from linkwork.errors import LinkworkWarning, warn_once

_PYTHON = re.compile(r"(python|pypy)[0-9.]*[a-z]{0,2}")  # names of interpreters
DELAY = 0.05  # [s] before the first of several jobs
IDLE_LIMIT = 5.0  # [s] without a job, after which the compiler process is ended
_NO_FAST_CODE = "fast code could not be compiled; slower code stays in use (see Kernel.status)"
_NO_PROCESS = (
    "the compiler process could not be started; LLVM runs in this process, and first calls may"
    " wait for it"
)
EXIT_LIMIT = 0.03  # [s] maximum wait at exit for the thread, which may be emitting IR


def background_mode() -> str:
    """Return where fast code is compiled: `process`, `thread`, or `off`."""
    mode = setting("LINKWORK_BACKGROUND", ("process", "thread", "off"))
    return "thread" if mode == "process" and not _can_start_python() else mode


def _can_start_python() -> bool:
    """Return whether `sys.executable` is an interpreter, not a program that embeds Python."""
    path = Path(sys.executable or "nothing")
    return (
        os.name == "posix"
        and not getattr(sys, "frozen", False)
        and _PYTHON.fullmatch(path.name) is not None
        and os.access(path, os.X_OK)
    )


class Background:
    """A thread that runs jobs in order, and the compiler process that they use."""

    def __init__(self) -> None:
        self.closed = False
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._urgent: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._end = threading.Event()  # set by `close`
        self._thread: threading.Thread | None = None
        self._process: CompilerProcess | None = None
        self._lock = threading.RLock()  # reentrant: a signal handler may call a kernel

    def submit(self, job: Callable[[], None], *, is_urgent: bool = False) -> threading.Event:
        """Queue a job, before all others if it is urgent; its exceptions are reported as warnings.

        Returns:
            An event that is set when the job has ended, in any way.
        """
        end = threading.Event()

        def announced() -> None:
            try:
                job()
            finally:
                end.set()

        with self._lock:
            if self.closed:
                end.set()
                return end
            (self._urgent if is_urgent else self._jobs).put(announced)
            if is_urgent:
                self._jobs.put(self._run_urgent)  # wakes the thread
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._work, name="linkwork", daemon=True)
                try:
                    self._thread.start()
                except RuntimeError as error:  # no more threads
                    self._thread = None
                    end.set()
                    _report_failure(_NO_FAST_CODE, error)
        return end

    def compiled(self, ir: str) -> bytes:
        """Compile in the compiler process, or in this one if there is none.

        If that process crashes, the job is not repeated here, since it could crash this process.
        """
        reason: CompileError | None = None
        for _ in range(2):
            process = self._started_process()
            if process is None:
                break
            try:
                return process.compiled(FAST, this_target(), ir)
            except CompileError as error:  # such as a package that is missing there
                reason = error
                break
            except BrokenPipeError:  # it ended before the job: start another one
                self._end_process()
            except BaseException:
                self._end_process()
                raise
        with LOCK:
            self.check_open()
            code = compiled(ir, FAST)
        if reason is not None:
            _report_failure(_NO_PROCESS, reason)
        return code

    def check_open(self) -> None:
        """Raise if it was closed; called with LOCK held, which `close` waits for."""
        if self.closed:
            raise OSError("closed")

    def close(self) -> None:
        """Drop all jobs; afterwards, LLVM runs neither in the compiler process nor in this one."""
        self.closed = True
        self._end.set()
        self._jobs.put(None)
        self._end_process()  # so that a job stops waiting for its answer
        with LOCK:  # wait for a job that starts a process, or compiles in this one
            self._end_process()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(EXIT_LIMIT)

    def disown(self) -> None:
        """In a forked child, leave the process to the parent."""
        process, self._process = self._process, None
        if process is not None:
            process.disown()

    def _started_process(self) -> CompilerProcess | None:
        """Return the compiler process, started if necessary; None if it cannot be started."""
        if background_mode() != "process" or self._process is not None:
            return self._process
        try:
            with LOCK:  # prevents a fork
                self.check_open()
                self._process = CompilerProcess(llvmlite_file() or "")
            self._process.wait_until_ready()
        except Exception as error:  # noqa: BLE001 - any reason why it cannot be started
            self._end_process()
            if not self.closed:
                _report_failure(_NO_PROCESS, error)
        return self._process

    def _work(self) -> None:
        was_idle = True
        while not self.closed:
            try:
                job = self._jobs.get(timeout=IDLE_LIMIT if self._process else None)
            except queue.Empty:
                self._end_process()
                was_idle = True
                continue
            if job is None:
                break
            if was_idle and self._urgent.empty():
                self._end.wait(DELAY)
            was_idle = False
            self._run_urgent()
            self._run(job)
            del job  # which references a kernel
        self._end_process()

    def _run_urgent(self) -> None:
        while not self._urgent.empty():  # only this thread takes jobs
            self._run(self._urgent.get())

    def _run(self, job: Callable[[], None]) -> None:
        try:
            if not self.closed:
                job()
        except BaseException as error:  # noqa: BLE001 - reported as a warning
            if not self.closed:
                _report_failure(_NO_FAST_CODE, error)

    def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.close()


_state: dict[str, Background] = {}


def background() -> Background:
    """Return the background of this process, which is closed at exit."""
    return _state.get("background") or _state.setdefault("background", Background())


def _forget() -> None:
    """In a forked child, leave the thread and the process to the parent."""
    parent_background = _state.pop("background", None)
    if parent_background is not None:
        parent_background.disown()


@atexit.register
def _close() -> None:
    background().close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _report_failure(what: str, error: BaseException) -> None:
    """Warn once about an error in the background thread, which continues.

    If warnings are errors, the warning is passed to `threading.excepthook`.
    """
    reason = f"{type(error).__name__}: {error}".removesuffix(": ")
    try:
        warn_once(what, f"{what}; the reason: {reason}")
    except LinkworkWarning as warning:
        details = type(warning), warning, error.__traceback__, threading.current_thread()
        threading.excepthook(threading.ExceptHookArgs(details))
