"""Large batches, shared out over threads chunk by chunk."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from linkwork.errors import ArgumentError


def share_out(work: Callable[[int, int], None], n: int, chunk: int, threads: int) -> None:
    """Call `work(start, stop)` for all chunks of n rows, on several threads.

    The calling thread takes part, so that an interrupt lands there, between two chunks; the others
    then stop as well.
    """
    turns = _Turns(n, chunk)
    others: list[threading.Thread] = []
    try:
        for _ in range(min(threads, -(-n // chunk)) - 1):
            thread = threading.Thread(target=turns.work, args=(work,))
            try:
                thread.start()
            except RuntimeError:  # the system allows no more
                break
            others.append(thread)
        turns.work(work)
    finally:
        turns.stop()
        for thread in others:
            thread.join()
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

    def __init__(self, n: int, chunk: int) -> None:
        self._n, self._chunk = n, chunk
        self._starts = iter(range(0, n, chunk))
        self._lock = threading.Lock()
        self._stopped = False
        self.error: BaseException | None = None  # of the last thread that failed

    def work(self, work: Callable[[int, int], None]) -> None:
        """Take chunks until there are none."""
        while True:
            with self._lock:
                start = None if self._stopped else next(self._starts, None)
            if start is None:
                return
            try:
                work(start, min(start + self._chunk, self._n))
            except BaseException as error:
                self.error = error
                self.stop()
                if threading.current_thread() is threading.main_thread():
                    raise
                return

    def stop(self) -> None:
        """Give out nothing more."""
        self._stopped = True
