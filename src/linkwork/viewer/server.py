"""The server of the page: viser, bound to this machine, accepting connections of its pages only.

A browser lets every web page open a websocket to this machine, and names that page in the header
`Origin`. viser's server does not check it, so a page of the internet could move the robot and read
its meshes while a viewer runs. Programs that are not browsers send no `Origin`.

It is not enough that `Origin` and `Host` are the same: the name of a page of the internet can be
resolved to this machine after the page was loaded (DNS rebinding), and then both are that name. So
the server answers only to names that nobody else can define: those of this machine (localhost),
literal IP addresses, and the host that it was opened with.
"""

from __future__ import annotations

import socket
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stdout
from http import HTTPStatus
from io import StringIO
from ipaddress import ip_address
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

from linkwork.errors import ArgumentError, LinkworkWarning, SourceError, shown
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
    """Whether a header `Host` is a name of this machine, an IP address, or the configured host."""
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
