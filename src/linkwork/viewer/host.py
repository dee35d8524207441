"""What the parts of a viewer share: the server and one lock."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import wraps
from threading import RLock
from typing import Any, TypeVar, cast

from linkwork.errors import LinkworkError
from linkwork.viewer.camera import Camera

Method = TypeVar("Method", bound=Callable[..., None])


class Host:
    """Shared by the stages of a viewer."""

    def __init__(self, server: Any, moved: Callable[[Any], None]) -> None:
        """Share what is given.

        Args:
            server: of the page.
            moved: called with the stage that shall be drawn anew soon, as something has moved.
        """
        self.server, self.moved = server, moved
        self.camera: Camera | None = None  # once everything is drawn
        self.lock = RLock()
        self.writing = False  # whether controls are being set, so that they ask for nothing

    @contextmanager
    def written(self) -> Generator[None, None, None]:
        """Set controls without acting on it; whoever does this holds the lock."""
        before, self.writing = self.writing, True
        try:
            yield
        finally:
            self.writing = before

    def notify(self, text: str) -> None:
        """Tell everyone who looks at the page that something is wrong."""
        for client in self.server.get_clients().values():
            client.add_notification("linkwork", text, auto_close_seconds=8.0, color="red")


def action(method: Method) -> Method:
    """A method that a control calls, from any thread; errors are told on the page.

    While the viewer itself sets a control, nothing happens: the thread that does so holds the lock.
    """

    @wraps(method)
    def run(self: Any, *given: Any) -> None:
        host: Host = self.host
        with host.lock:
            if host.writing:
                return
            try:
                method(self, *given)
            except LinkworkError as error:
                host.notify(str(error))

    return cast("Method", run)
