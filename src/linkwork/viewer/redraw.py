"""A thread that redraws what need not be redrawn at once, and plays trajectories."""

from __future__ import annotations

import threading
from collections.abc import Callable

PERIOD = 0.04  # between two runs [s]


class RedrawThread:
    """Runs a function after it was asked to, at most 25 times a second.

    An exception is reported and does not end the thread: the next `wake` runs the function again.
    """

    def __init__(self, work: Callable[[], bool], report: Callable[[Exception], None]) -> None:
        """Start the thread.

        Args:
            work: run once after each `wake`, and again and again while it returns True.
            report: called with an exception that `work` raised.
        """
        self._work, self._report = work, report
        self._wanted, self._over = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="linkwork viewer", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Ask for a run."""
        self._wanted.set()

    def close(self) -> None:
        """End the thread, after a run that is under way."""
        self._over.set()
        self._wanted.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=5)

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            if self._over.is_set():
                return
            self._wanted.clear()
            try:
                again = self._work()
            except Exception as error:  # noqa: BLE001 - the page must not freeze, whatever it is
                again = False
                self._report(error)
            if again:
                self._wanted.set()
            self._over.wait(PERIOD)
