"""Compiling without making anyone wait: one job at a time, in a process of its own.

Jobs are done in the order they came. A process that forks leaves its jobs behind; the child starts
anew. At exit, what is not done is dropped.
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
from typing import Any

from linkwork.kernel import worker
from linkwork.kernel.jit import FAST, compiled, this_machine


class Background:
    """Does jobs one after the other in a thread, and compiles in a process beside it."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._lock = threading.Lock()

    def submit(self, job: Callable[[], None]) -> None:
        """Do something later. An error in it is dropped: whoever waits finds nothing done."""
        with self._lock:
            if self._closed:
                return
            self._jobs.put(job)
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="linkwork", daemon=True)
                with contextlib.suppress(RuntimeError):  # no thread to be had: no fast code
                    thread.start()
                    self._thread = thread

    def compiled(self, ir: str) -> bytes:
        """Compile in the process beside; here, if there can be none."""
        machine = this_machine()
        try:
            process = self._started()
            assert process.stdin
            assert process.stdout
            worker.write_job(process.stdin, FAST, machine.cpu, machine.features, machine.triple, ir)
            return worker.read_answer(process.stdout)
        except Exception:
            if self._closed:
                raise
            return compiled(ir, FAST)

    def close(self) -> None:
        """Drop what is not done; after this, nothing of ours runs any more."""
        self._closed = True
        self._jobs.put(None)
        process = self._process
        if process is not None:
            process.kill()
        if self._thread is not None:
            self._thread.join()

    def disown(self) -> None:
        """Let go of a process that belongs to another, without waiting for it."""
        process, self._process = self._process, None
        if process is not None:
            process.returncode = 0
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    with contextlib.suppress(OSError):
                        pipe.close()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._closed:
            raise OSError
        if self._process is None or self._process.poll() is not None:
            self._drop_process()
            self._process = subprocess.Popen(
                [sys.executable, "-I", str(Path(worker.__file__))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        return self._process

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None and not self._closed:
            with contextlib.suppress(Exception):
                job()
            del job  # it holds a kernel
        self._drop_process()

    def _drop_process(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    with contextlib.suppress(OSError):
                        pipe.close()


_state: dict[str, Any] = {}


def background() -> Background:
    """The one of this process."""
    return _state.setdefault("background", Background())


def _forget() -> None:
    """In a forked child: the thread and the process belong to the parent."""
    found = _state.pop("background", None)
    if found is not None:
        found.disown()


@atexit.register
def _close() -> None:
    found = _state.pop("background", None)
    if found is not None:
        found.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
