"""Who may talk to the page's server: only pages that came from it.

A browser lets every web page open a websocket to this machine, and says in the header `Origin`
which page does so. The server of viser does not look at it, so that a page of the internet could
move the robot and read its meshes while a viewer runs. Programs that are no browsers send no
`Origin`.

It is not enough that `Origin` and `Host` are the same: the name of a page of the internet can be
resolved to this machine after the page was loaded (DNS rebinding), and then both are that name. So
the server answers only to names that nobody else can define: those of this machine (localhost),
literal IP addresses, and the host that it was opened with.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http import HTTPStatus
from ipaddress import ip_address
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

from linkwork.errors import LinkworkWarning

_STANDARD_PORTS = {"http": 80, "https": 443}
OTHER_NAME = (
    "The viewer does not answer to this name. Open it by its IP address or as localhost, or give "
    "the name as the host of the viewer: linkwork view ROBOT --host NAME\n"
)
_starting = Lock()  # one server at a time


def is_own_page(origin: str | None, host: str | None, configured: str) -> bool:
    """Whether a websocket was asked for by a page of this server.

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
        standard = _STANDARD_PORTS.get(from_page.scheme)
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
    """Let the server of viser that is started meanwhile reject pages of other origins.

    Args:
        host: the host that it is opened with.

    viser hands `websockets.serve` a function that sees each request, but has no place for one of
    ours. So that `serve` is wrapped while the server starts; for the handler of viser alone.
    """
    import websockets.asyncio.server as websockets

    plain: Any = websockets.serve
    checked: list[Any] = []

    def serve(handler: Any, *given: Any, **options: Any) -> Any:
        if not getattr(handler, "__module__", "").startswith("viser."):
            return plain(handler, *given, **options)
        checked.append(handler)
        options["process_request"] = _checked(options.get("process_request"), host)
        return plain(handler, *given, **options)

    with _starting:
        websockets.serve = serve
        try:
            yield
        finally:
            websockets.serve = plain
    if not checked:
        text = "this version of viser lets any web page that you open talk to the viewer"
        warnings.warn(text, LinkworkWarning, stacklevel=2)


def _checked(
    process: Callable[[Any, Any], Any] | None, configured: str
) -> Callable[[Any, Any], Any]:
    """Process a request for the page by its own name, or for a websocket of the page."""

    def run(connection: Any, request: Any) -> Any:
        origin, host = request.headers.get("Origin"), request.headers.get("Host")
        if "websocket" in request.headers.get("Upgrade", "").lower():
            if not is_own_page(origin, host, configured):
                return connection.respond(HTTPStatus.FORBIDDEN, "this page is of another origin\n")
        elif host is not None and not is_own_name(host, configured):
            return connection.respond(HTTPStatus.FORBIDDEN, OTHER_NAME)
        return None if process is None else process(connection, request)

    return run
