"""Only pages of the viewer itself may talk to it; and programs, which name no origin."""

from __future__ import annotations

import asyncio

import pytest
import viser
import websockets.asyncio.server
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

import linkwork as lw
from linkwork.viewer.origins import is_own_page, own_pages_only


@pytest.mark.parametrize(
    ("origin", "host", "own"),
    [
        (None, "127.0.0.1:8080", True),
        ("http://127.0.0.1:8080", "127.0.0.1:8080", True),
        ("http://localhost:9000", "localhost:9000", True),  # a port that is forwarded
        ("https://robots.example", "robots.example", True),
        ("https://robots.example", "robots.example:443", True),
        ("http://[::1]:8080", "[::1]:8080", True),
        ("http://evil.example", "127.0.0.1:8080", False),
        ("http://127.0.0.1:8081", "127.0.0.1:8080", False),
        ("http://localhost:8080", "127.0.0.1:8080", False),
        ("null", "127.0.0.1:8080", False),
        ("null", None, False),
        ("", "", False),
        ("http://127.0.0.1:x", "127.0.0.1:8080", False),
    ],
)
def test_a_page_is_own_if_it_came_from_where_the_websocket_goes(origin, host, own):
    assert is_own_page(origin, host) is own


def test_a_page_of_another_origin_cannot_connect():
    with lw.view(lw.robots.load("arm"), port=0) as viewer:
        address = viewer.url.replace("http", "ws")
        options = {"subprotocols": [f"viser-v{viser.__version__}"], "max_size": None}
        with connect(address, origin=viewer.url, **options) as page:
            assert page.recv(timeout=60)
        with pytest.raises(InvalidStatus, match="HTTP 403"):
            connect(address, origin="http://evil.example", **options)


def test_other_servers_are_left_as_they_are():
    plain = websockets.asyncio.server.serve

    async def answer(connection):
        await connection.send("hello")

    async def serve_meanwhile():
        with own_pages_only():
            async with websockets.asyncio.server.serve(answer, "127.0.0.1", 0) as server:
                port = server.sockets[0].getsockname()[1]
                address, origin = f"ws://127.0.0.1:{port}", "http://elsewhere.example"
                async with websockets.connect(address, origin=origin) as client:
                    return await client.recv()

    with pytest.warns(lw.LinkworkWarning, match="any web page"):  # no server of viser was started
        assert asyncio.run(serve_meanwhile()) == "hello"
    assert websockets.asyncio.server.serve is plain
