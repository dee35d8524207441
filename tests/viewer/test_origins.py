"""Only pages of the viewer itself may talk to it; and programs, which name no origin."""

from __future__ import annotations

import asyncio
import socket
from http.client import HTTPConnection

import pytest
import viser
import websockets.asyncio.server
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

import linkwork as lw
from linkwork.viewer.server import is_own_page, own_pages_only


@pytest.mark.parametrize(
    ("origin", "host", "expected"),
    [
        (None, "127.0.0.1:8080", True),
        ("http://127.0.0.1:8080", "127.0.0.1:8080", True),
        ("http://localhost:9000", "localhost:9000", True),  # a port that is forwarded
        ("https://robots.example", "robots.example", True),  # the configured host
        ("https://robots.example", "robots.example:443", True),
        ("http://ROBOTS.example.:8080", "ROBOTS.example.:8080", True),
        ("http://viewer.localhost:8080", "viewer.localhost:8080", True),
        ("http://192.168.0.7:8080", "192.168.0.7:8080", True),
        ("http://evil.example:18080", "evil.example:18080", False),  # DNS rebinding
        ("http://127.0.0.1.evil.example:8080", "127.0.0.1.evil.example:8080", False),
        ("http://localhost.evil.example", "localhost.evil.example", False),
        ("http://evil.robots.example", "evil.robots.example", False),
        ("http://2130706433:8080", "2130706433:8080", False),
        ("http://[evil]:8080", "[evil]:8080", False),
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
def test_a_page_is_own_if_it_came_from_where_the_websocket_goes(origin, host, expected):
    assert is_own_page(origin, host, "Robots.example") is expected


def test_a_page_of_another_origin_cannot_connect():
    with lw.view(lw.robots.load("arm"), port=0) as viewer:
        address = viewer.url.replace("http", "ws")
        options = {"subprotocols": [f"viser-v{viser.__version__}"], "max_size": None}
        with connect(address, origin=viewer.url, **options) as page:
            assert page.recv(timeout=60)
        with pytest.raises(InvalidStatus, match="HTTP 403"):
            connect(address, origin="http://evil.example", **options)
        port = viewer.url.rpartition(":")[2]
        with socket.create_connection(("127.0.0.1", int(port.strip("/")))) as rebound:
            evil = f"evil.example:{port}"
            with pytest.raises(InvalidStatus, match="HTTP 403"):
                connect(f"ws://{evil}", origin=f"http://{evil}", sock=rebound, **options)


@pytest.mark.parametrize(("name", "status"), [("evil.example", 403), ("localhost", 200)])
def test_the_page_is_not_shown_under_names_that_others_define(name, status):
    with lw.view(lw.robots.load("arm"), port=0) as viewer:
        port = int(viewer.url.rpartition(":")[2].strip("/"))
        asked = HTTPConnection("127.0.0.1", port, timeout=60)
        asked.request("GET", "/", headers={"Host": f"{name}:{port}"})
        answer = asked.getresponse()
        assert answer.status == status
        assert (b"--host" in answer.read()) is (status == 403)
        asked.close()


def test_other_servers_are_left_as_they_are():
    plain = websockets.asyncio.server.serve

    async def answer(connection):
        await connection.send("hello")

    async def serve_meanwhile():
        with own_pages_only("127.0.0.1"):
            async with websockets.asyncio.server.serve(answer, "127.0.0.1", 0) as server:
                port = server.sockets[0].getsockname()[1]
                address, origin = f"ws://127.0.0.1:{port}", "http://elsewhere.example"
                async with websockets.connect(address, origin=origin) as client:
                    return await client.recv()

    with pytest.warns(lw.LinkworkWarning, match="any web page"):  # no server of viser was started
        assert asyncio.run(serve_meanwhile()) == "hello"
    assert websockets.asyncio.server.serve is plain


@pytest.mark.parametrize("value", [2**63, -1e308, float("nan"), float("inf"), None, "x", [1, 2]])
def test_values_that_no_page_sends_do_not_move_the_robot_out_of_its_limits(value):
    """Whoever can reach the port can send them."""
    arm = lw.robots.load("arm")
    limits = lw.KinDyn(arm, floating=False).limits
    with lw.view(arm, port=0) as viewer:
        (controller,) = viewer._robots.values()
        for index in range(len(controller.robot.sliders)):
            controller.slide(index, value)
        assert ((limits.lower <= viewer.q()) & (viewer.q() <= limits.upper)).all()


@pytest.mark.parametrize("frame", [b"", b"\xc1", b"\x93", b"\x80", b"\xdf\xff\xff\xff\xff", "text"])
def test_frames_that_are_no_messages_end_their_connection_only(frame):
    with lw.view(lw.robots.load("pendulum"), port=0) as viewer:
        address = viewer.url.replace("http", "ws")
        options = {"subprotocols": [f"viser-v{viser.__version__}"], "max_size": None}
        with connect(address, **options) as page:
            page.send(frame)
        with connect(address, **options) as page:
            assert page.recv(timeout=60)
