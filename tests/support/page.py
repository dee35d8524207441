"""A client of the viewer without a browser: a websocket that reads and moves controls."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import msgspec
import viser
import zstandard
from websockets.exceptions import ConnectionClosed
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
    """An open page, which draws nothing but stores all controls and their values."""

    def __init__(self, viewer: Any) -> None:
        self.notifications: list[str] = []
        self._controls: dict[str, dict[str, Any]] = {}  # properties by identifier
        self._socket = connect(
            viewer.url.replace("http", "ws"),
            subprotocols=[f"viser-v{viser.__version__}"],
            max_size=None,
        )
        threading.Thread(target=self._receive, daemon=True).start()
        self._send(CAMERA)
        soon(viewer.server.get_clients)
        soon(lambda: self._controls)

    def _send(self, message: dict[str, Any]) -> None:
        self._socket.send(msgspec.msgpack.encode(message))

    def _receive(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            for data in self._socket:
                size = int.from_bytes(data[:8], "little")
                packed = data[16 : 16 + int.from_bytes(data[8:16], "little")]
                content = zstandard.ZstdDecompressor().decompress(packed, max_output_size=size)
                for message in msgspec.msgpack.decode(content)["messages"]:
                    self._update(message)

    def _update(self, message: dict[str, Any]) -> None:
        kind, uuid = message["type"], message.get("uuid")
        if kind == "NotificationShowMessage":
            self.notifications.append(message["props"]["body"])
        elif kind == "GuiUpdateMessage" and uuid in self._controls:
            self._controls[uuid] |= message["updates"]
        elif kind.startswith("Gui") and "props" in message:
            value = {"uuid": uuid, "value": message.get("value")}
            self._controls[uuid] = message["props"] | value

    def control(self, label: str) -> dict[str, Any]:
        """Return the properties of the first control with a label, once the page has it."""

        def found() -> list[dict[str, Any]]:
            controls = list(self._controls.values())
            return [one for one in controls if one.get("label", "").strip() == label]

        soon(found)
        return found()[0]

    def text(self) -> str:
        """All tables and charts of the page, as HTML."""
        return "".join(one.get("content", "") for one in list(self._controls.values()))

    def set(self, label: str, value: Any) -> None:
        """Set a control, as a user would."""
        control = self.control(label)
        control["value"] = value
        updates = {"value": value}
        self._send({"type": "GuiUpdateMessage", "uuid": control["uuid"], "updates": updates})

    def upload(self, label: str, name: str, content: bytes) -> None:
        """Send a file by an upload button."""
        transfer = {
            "source_component_uuid": self.control(label)["uuid"],
            "transfer_uuid": uuid4().hex,
        }
        size = {"mime_type": "", "part_count": 1, "size_bytes": len(content)}
        self._send({"type": "FileTransferStartUpload", **transfer, "filename": name, **size})
        part = {"part_index": 0, "content": content}
        self._send({"type": "FileTransferPart", **transfer, **part})

    def drag(
        self,
        name: str,
        position: Any,
        holds: Callable[[], Any],
        wxyz: Any = (1.0, 0.0, 0.0, 0.0),
    ) -> None:
        """Drag a handle in the scene repeatedly, until a condition holds."""
        moved = {"wxyz": [float(x) for x in wxyz], "position": [float(x) for x in position]}
        message = {"type": "TransformControlsUpdateMessage", "name": name, **moved, "owner": ""}

        def held() -> bool:
            if holds():
                return True
            self._send(message)
            time.sleep(0.1)
            return False

        soon(held)

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()


def within(seconds: float, holds: Callable[[], Any]) -> bool:
    """Return whether a condition becomes true within a time."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def soon(holds: Callable[[], Any], seconds: float = 60.0) -> None:
    """Wait until a condition holds; raise an error if it never does."""
    assert within(seconds, holds), "it does not happen"
