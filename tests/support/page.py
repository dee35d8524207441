"""What a browser is to the viewer: a websocket that says what was moved. No page is drawn."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec
import viser
from websockets.sync.client import connect

CAMERA = {
    "type": "ViewerCameraMessage",
    "wxyz": (1.0, 0.0, 0.0, 0.0),
    "position": (3.0, 3.0, 3.0),
    "fov": 0.8,
    "near": 0.01,
    "far": 100.0,
    "image_height": 600,
    "image_width": 800,
    "look_at": (0.0, 0.0, 0.0),
    "up_direction": (0.0, 0.0, 1.0),
}


class Page:
    """A page that is open, as the server sees it."""

    def __init__(self, viewer: Any) -> None:
        self._viewer = viewer
        self._socket = connect(
            viewer.url.replace("http", "ws"),
            subprotocols=[f"viser-v{viser.__version__}"],
            max_size=None,
        )
        self._send(CAMERA)
        soon(viewer.server.get_clients)

    def _send(self, message: dict[str, Any]) -> None:
        self._socket.send(msgspec.msgpack.encode(message))

    def set(self, control: Any, value: Any) -> None:
        """Move a control, as a hand would."""
        updates = {"value": value}
        self._send({"type": "GuiUpdateMessage", "uuid": control._impl.uuid, "updates": updates})

    def drag(
        self,
        name: str,
        position: Any,
        holds: Callable[[], Any],
        wxyz: Any = (1.0, 0.0, 0.0, 0.0),
    ) -> None:
        """Move a handle in the scene, again and again as a hand does, until something holds."""
        moved = {"wxyz": [float(x) for x in wxyz], "position": [float(x) for x in position]}
        message = {"type": "TransformControlsUpdateMessage", "name": name, **moved, "owner": ""}

        def held() -> bool:
            if holds():
                return True
            self._send(message)
            time.sleep(0.1)
            return False

        soon(held)

    def received(self) -> bytes:
        """The next message of the server."""
        return bytes(self._socket.recv(timeout=30))

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()


def soon(holds: Callable[[], Any], seconds: float = 60.0) -> None:
    """Wait until something holds; it is an error if it never does."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.01)
