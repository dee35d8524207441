"""The server of the page, and what the controllers share: a lock, and a thread that redraws.

The server is viser's, bound to this machine, and accepts connections of its pages only. A browser
lets every web page open a websocket to this machine, and names that page in the header `Origin`.
viser's server does not check it, so a page of the internet could move the robot and read its meshes
while a viewer runs. Programs that are not browsers send no `Origin`.

It is not enough that `Origin` and `Host` are the same: the name of a page of the internet can be
resolved to this machine after the page was loaded (DNS rebinding), and then both are that name. So
the server answers only to names that nobody else can define: localhost, literal IP addresses, and
the host that it was opened with.
"""

from __future__ import annotations

import socket
import threading
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stdout
from functools import wraps
from http import HTTPStatus
from io import StringIO
from ipaddress import ip_address
from math import isfinite
from threading import Lock
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, LinkworkError, LinkworkWarning, SourceError, shown
from linkwork.viewer.drawing import viewer_package

LOCAL = "127.0.0.1"
FIRST_PORT = 8080
STANDARD_PORTS = {"http": 80, "https": 443}
OTHER_NAME = (
    "The viewer does not answer to this name. Open it by its IP address or as localhost, or pass "
    "the name as the host of the viewer: linkwork view ROBOT --host NAME\n"
)
_starting = Lock()  # one server at a time


def open_server(host: str, port: int | None, title: str) -> Any:
    """Start the server; `server.get_port()` returns its port.

    Args:
        host: the address to listen at.
        port: to listen on; 0 for any free port; by default, 8080 or the next free port.
        title: on the page.

    Raises:
        SourceError: the port is in use.
    """
    viser = viewer_package("viser")
    if port is not None and (isinstance(port, bool) or not isinstance(port, int)):
        raise ArgumentError(f"port: expected a number, got {shown(port)}")
    if port is not None and not 0 <= port < 2**16:
        raise ArgumentError(f"port: expected 0 to 65535, got {port}")
    if port:
        _check_free(host, port)

    class Server(viser.ViserServer):
        """A server that no page can share on the internet."""

        def request_share_url(self, verbose: bool = True) -> None:
            """Do nothing: the server stays bound to this machine."""
            del verbose

    with own_pages_only(host), redirect_stdout(StringIO()):  # it prints a box
        server: Any = Server(
            host=host, port=FIRST_PORT if port is None else port, label=title, verbose=False
        )
    return server


def _check_free(host: str, port: int) -> None:
    """Raise if a port is in use: viser would silently use another one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            reason = error.strerror or str(error)
            raise SourceError(f"cannot listen at {host}:{port}: {reason}") from None


def is_own_page(origin: str | None, host: str | None, configured: str) -> bool:
    """Return whether a page of this server has requested a websocket.

    Args:
        origin: the header `Origin` of the request; None if it has none.
        host: its header `Host`: the name and port by which the browser has reached the server,
            which differ from those of the server where a port is forwarded.
        configured: the host that the server was opened with.
    """
    if origin is None:
        return True
    if not is_own_name(host, configured):
        return False
    try:
        from_page = urlsplit(origin)
        standard = STANDARD_PORTS.get(from_page.scheme)
        to_server = urlsplit(f"//{host or ''}")
        page = (from_page.hostname, from_page.port or standard)
        server = (to_server.hostname, to_server.port or standard)
    except ValueError:  # a port that is no number
        return False
    return page[0] is not None and page == server


def is_own_name(host: str | None, configured: str) -> bool:
    """Return whether a header `Host` names this machine, an IP address, or the configured host."""
    try:
        name = (urlsplit(f"//{host or ''}").hostname or "").rstrip(".")
    except ValueError:
        return False
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        ip_address(name)
    except ValueError:
        return name != "" and name == configured.lower().rstrip(".")
    return True


@contextmanager
def own_pages_only(host: str) -> Generator[None, None, None]:
    """Make the server of viser that is started meanwhile reject pages of other origins.

    viser passes `websockets.serve` a function that processes each request, and has no option for
    another one. So `serve` is wrapped while the server starts, for the handler of viser alone.

    Args:
        host: the host that it is opened with.
    """
    import websockets.asyncio.server as websockets

    original: Any = websockets.serve
    checked: list[Any] = []

    def serve(handler: Any, *arguments: Any, **options: Any) -> Any:
        if not getattr(handler, "__module__", "").startswith("viser."):
            return original(handler, *arguments, **options)
        checked.append(handler)
        options["process_request"] = _checked(options.get("process_request"), host)
        return original(handler, *arguments, **options)

    with _starting:
        websockets.serve = serve
        try:
            yield
        finally:
            websockets.serve = original
    if not checked:
        text = "this version of viser lets any web page that you open talk to the viewer"
        warnings.warn(text, LinkworkWarning, stacklevel=2)


def _checked(
    process: Callable[[Any, Any], Any] | None, configured: str
) -> Callable[[Any, Any], Any]:
    """Process a request for the page under an accepted host name, or for its websocket."""

    def run(connection: Any, request: Any) -> Any:
        origin, host = request.headers.get("Origin"), request.headers.get("Host")
        if "websocket" in request.headers.get("Upgrade", "").lower():
            if not is_own_page(origin, host, configured):
                return connection.respond(HTTPStatus.FORBIDDEN, "this page is of another origin\n")
        elif host is not None and not is_own_name(host, configured):
            return connection.respond(HTTPStatus.FORBIDDEN, OTHER_NAME)
        return None if process is None else process(connection, request)

    return run


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
        self.include: Callable[[Array], None] = lambda points: None  # in the view of the camera
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
