"""Shared parts of a viewer: the server, one lock, and a thread that redraws."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import wraps
from math import isfinite
from typing import Any, TypeVar, cast

from linkwork.errors import ArgumentError, LinkworkError, shown
from linkwork.viewer.camera import Camera

REDRAW_PERIOD = 0.04  # between two runs of the thread [s]

Method = TypeVar("Method", bound=Callable[..., None])


class ViewerContext:
    """Shared by the controllers of a viewer."""

    def __init__(self, server: Any, moved: Callable[[Any], None]) -> None:
        """Create the lock.

        Args:
            server: of the page.
            moved: called by a controller whose robot or workcell has moved, to be redrawn soon.
        """
        self.server, self.moved = server, moved
        self.camera: Camera | None = None  # once everything is drawn
        self.lock = threading.RLock()
        self._suppressed = False

    @contextmanager
    def callbacks_suppressed(self) -> Generator[None, None, None]:
        """Set controls without running their actions; the caller holds the lock."""
        before, self._suppressed = self._suppressed, True
        try:
            yield
        finally:
            self._suppressed = before

    def run(self, act: Callable[[], None]) -> None:
        """Run the action of a control, unless callbacks are suppressed; errors go to the page."""
        with self.lock:
            if self._suppressed:
                return
            try:
                act()
            except LinkworkError as error:
                self.notify(str(error))

    def notify(self, text: str) -> None:
        """Show an error on all open pages."""
        for client in self.server.get_clients().values():
            client.add_notification("linkwork", text, auto_close_seconds=8.0, color="red")


def finite(value: object) -> float:
    """Return a number of a control; other values come only from programs that are not the page."""
    if isinstance(value, (int, float)) and isfinite(value):
        return float(value)
    raise ArgumentError(f"expected a finite number, got {shown(value)}")


def action(method: Method) -> Method:
    """Return a method of a controller that a control calls, from any thread."""

    @wraps(method)
    def run(self: Any, *arguments: Any) -> None:
        self.context.run(lambda: method(self, *arguments))

    return cast("Method", run)


class RedrawThread:
    """Runs a function on request, at most 25 times a second.

    An exception is reported and does not end the thread: the next `wake` runs the function again.
    """

    def __init__(self, work: Callable[[], bool], report: Callable[[Exception], None]) -> None:
        """Start the thread.

        Args:
            work: run once after each `wake`, and again and again while it returns True.
            report: called with an exception that `work` raised.
        """
        self._work, self._report = work, report
        self._requested, self._closed = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="linkwork viewer", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Request a run."""
        self._requested.set()

    def close(self) -> None:
        """End the thread, after a run that is under way."""
        self._closed.set()
        self._requested.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=5)

    def _run(self) -> None:
        while True:
            self._requested.wait()
            if self._closed.is_set():
                return
            self._requested.clear()
            try:
                again = self._work()
            except Exception as error:  # noqa: BLE001 - the page must not freeze
                again = False
                self._report(error)
            if again:
                self._requested.set()
            self._closed.wait(REDRAW_PERIOD)
