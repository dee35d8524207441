"""Who may talk to the page's server: only pages that came from it.

A browser lets every web page open a websocket to this machine, and says in the header `Origin`
which page does so. The server of viser does not look at it, so that a page of the internet could
move the robot and read its meshes while a viewer runs. Programs that are no browsers send no
`Origin`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http import HTTPStatus
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

from linkwork.errors import LinkworkWarning

_STANDARD_PORTS = {"http": 80, "https": 443}
_starting = Lock()  # one server at a time


def is_own_page(origin: str | None, host: str | None) -> bool:
    """Whether a websocket was asked for by a page of this server.

    Args:
        origin: the header `Origin` of the request; None if it has none.
        host: its header `Host`: the name and port by which the browser has reached the server,
            which differ from those of the server where a port is forwarded.
    """
    if origin is None:
        return True
    try:
        from_page = urlsplit(origin)
        standard = _STANDARD_PORTS.get(from_page.scheme)
        to_server = urlsplit(f"//{host or ''}")
        page = (from_page.hostname, from_page.port or standard)
        server = (to_server.hostname, to_server.port or standard)
    except ValueError:  # a port that is no number
        return False
    return page[0] is not None and page == server


@contextmanager
def own_pages_only() -> Generator[None, None, None]:
    """Let the server of viser that is started meanwhile refuse pages of other origins.

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
        options["process_request"] = _refusing(options.get("process_request"))
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


def _refusing(process: Callable[[Any, Any], Any] | None) -> Callable[[Any, Any], Any]:
    """Process a request, if it is not for a websocket of another page."""

    def run(connection: Any, request: Any) -> Any:
        headers = request.headers
        wanted = "websocket" in headers.get("Upgrade", "").lower()
        if wanted and not is_own_page(headers.get("Origin"), headers.get("Host")):
            return connection.respond(HTTPStatus.FORBIDDEN, "this page is of another origin\n")
        return None if process is None else process(connection, request)

    return run
