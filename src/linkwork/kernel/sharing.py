"""Large batches, shared out over threads chunk by chunk.

Threads that help are started when they are first needed, and wait for more to do. A forked child
starts its own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue

from linkwork.errors import ArgumentError


def share_out(work: Callable[[int, int], None], n: int, chunk: int, threads: int) -> None:
    """Call `work(start, stop)` for all chunks of n rows, on several threads.

    The calling thread takes part, so that an interrupt lands there, between two chunks; the others
    then stop as well.
    """
    turns = _Turns(work, n, chunk)
    _helpers.call(turns, min(threads, -(-n // chunk)) - 1)
    try:
        turns.take()
    finally:
        turns.stop()
        turns.wait()
    if turns.error is not None:
        raise turns.error


def thread_count(threads: int | None) -> int:
    """How many threads to use: as asked for, else LINKWORK_THREADS, else one for each core."""
    if threads is not None and not isinstance(threads, int):
        raise ArgumentError(f"threads: expected a whole number, got {threads!r}")
    if threads is None:
        given = os.environ.get("LINKWORK_THREADS", "")
        if given.isdecimal():
            threads = int(given)
        elif hasattr(os, "sched_getaffinity"):
            threads = len(os.sched_getaffinity(0))
        else:
            threads = os.cpu_count() or 1
    return max(1, threads)


class _Turns:
    """Chunks, each given to one thread."""

    def __init__(self, work: Callable[[int, int], None], n: int, chunk: int) -> None:
        self._work, self._n, self._chunk = work, n, chunk
        self._starts = iter(range(0, n, chunk))
        self._changed = threading.Condition()
        self._busy = 0  # threads that work on a chunk
        self._stopped = False
        self.error: BaseException | None = None  # of the last thread that failed

    def take(self) -> None:
        """Take chunks until there are none."""
        while True:
            with self._changed:
                start = None if self._stopped else next(self._starts, None)
                if start is None:
                    return
                self._busy += 1
            try:
                self._work(start, min(start + self._chunk, self._n))
            except BaseException as error:
                self.error = error
                self.stop()
                if threading.current_thread() is threading.main_thread():
                    raise
                return
            finally:
                with self._changed:
                    self._busy -= 1
                    self._changed.notify_all()

    def stop(self) -> None:
        """Give out nothing more."""
        self._stopped = True

    def wait(self) -> None:
        """Until no thread works on a chunk any more."""
        with self._changed:
            while self._busy:
                self._changed.wait()


class _Helpers:
    """Threads that wait for turns to take."""

    def __init__(self) -> None:
        self.start_anew()

    def start_anew(self) -> None:
        """With no threads: at first, and in a forked child, which has none of its parent's."""
        self._calls: SimpleQueue[_Turns] = SimpleQueue()
        self._lock = threading.Lock()
        self._count = 0

    def call(self, turns: _Turns, count: int) -> None:
        """Have some threads take turns, as far as the system allows so many."""
        if count <= 0:
            return
        with self._lock:
            while self._count < count:
                thread = threading.Thread(target=self._help, daemon=True, name="linkwork")
                try:
                    thread.start()
                except RuntimeError:  # the system allows no more, or the interpreter ends
                    break
                self._count += 1
        for _ in range(min(count, self._count)):
            self._calls.put(turns)

    def _help(self) -> None:
        while True:
            turns = self._calls.get()
            turns.take()
            del turns  # what it works on is not kept until the next call


_helpers = _Helpers()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.start_anew)
