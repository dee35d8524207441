"""The server of the page: viser, bound to this machine unless told otherwise."""

from __future__ import annotations

import socket
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from linkwork.errors import ArgumentError, SourceError, missing_package, shown
from linkwork.viewer.meshes import VIEWER_PACKAGES
from linkwork.viewer.origins import own_pages_only

LOCAL = "127.0.0.1"
FIRST_PORT = 8080


def viser_package() -> Any:
    """The package viser, or the error that says how to install it."""
    try:
        import viser
    except ImportError as error:
        raise missing_package("the viewer", *VIEWER_PACKAGES) from error
    return viser


def open_server(host: str, port: int | None, title: str) -> Any:
    """Start the server; `server.get_port()` says where.

    Args:
        host: the address to listen at.
        port: to listen on; 0 for any that is free; if not given, 8080 or the next that is free.
        title: on the page.

    Raises:
        SourceError: the port is taken.
    """
    viser = viser_package()
    if port is not None and (isinstance(port, bool) or not isinstance(port, int)):
        raise ArgumentError(f"port: expected a number, got {shown(port)}")
    if port is not None and not 0 <= port < 2**16:
        raise ArgumentError(f"port: expected 0 to 65535, got {port}")
    if port:
        _check_free(host, port)

    class Server(viser.ViserServer):
        """A server that no page can ask to be shown to the whole internet."""

        def request_share_url(self, verbose: bool = True) -> None:
            """Refuse: what is bound to this machine stays there."""
            del verbose

    # It prints a box with its address.
    with own_pages_only(host), redirect_stdout(StringIO()):
        server: Any = Server(
            host=host, port=FIRST_PORT if port is None else port, label=title, verbose=False
        )
    return server


def _check_free(host: str, port: int) -> None:
    """Refuse a port that is taken: viser would silently take another one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            reason = error.strerror or str(error)
            raise SourceError(f"cannot listen at {host}:{port}: {reason}") from None
