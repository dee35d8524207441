"""A headless Chromium, driven by the DevTools protocol over one websocket."""

from __future__ import annotations

import base64
import io
import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from websockets.sync.client import connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HINT = "no Chromium found; `make test-viewer` installs it, or: apt-get install chromium"
OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # which root cannot have; the pages are our own
    "--remote-debugging-port=0",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-extensions",
    "--disable-background-networking",
)


def program() -> str | None:
    """The path of a browser, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page of a browser."""

    def __init__(self, width: int = 1200, height: int = 800) -> None:
        actual = program()
        assert actual is not None, HINT
        self._folder = tempfile.TemporaryDirectory(prefix="linkwork-browser-")
        options = [*OPTIONS, f"--user-data-dir={self._folder.name}"]
        options.append(f"--window-size={width},{height}")
        self._process = subprocess.Popen(
            [actual, *options, "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.messages: list[str] = []  # errors that the page has written
        self._number = 0
        self._socket = connect(self._address(), max_size=None, open_timeout=60)
        target = next(
            t for t in self._send("Target.getTargets")["targetInfos"] if t["type"] == "page"
        )
        attached = {"targetId": target["targetId"], "flatten": True}
        self._session = self._send("Target.attachToTarget", attached)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._send(f"{domain}.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._send("Emulation.setDeviceMetricsOverride", size)

    _session: str | None = None

    def _address(self) -> str:
        file = Path(self._folder.name) / "DevToolsActivePort"
        for _ in range(600):
            lines = file.read_text().split() if file.exists() else []
            if len(lines) == 2:
                return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
            assert self._process.poll() is None, "the browser has ended"
            time.sleep(0.1)
        raise AssertionError("the browser does not start")

    def _send(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params or {}}
        if self._session:
            message["sessionId"] = self._session
        self._socket.send(json.dumps(message))
        while True:
            answer = json.loads(self._socket.recv(timeout=120))
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self._listen(answer)

    def _listen(self, event: dict[str, Any]) -> None:
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.messages.append(str(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] == "error":
            self.messages.append(str([a.get("value", a) for a in params["args"]]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.messages.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")

    def open(self, url: str) -> None:
        self._send("Page.navigate", {"url": url})

    def run(self, script: str) -> Any:
        """Evaluate an expression in the page."""
        done = self._send("Runtime.evaluate", {"expression": script, "returnByValue": True})
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def image(self) -> np.ndarray:
        """Take a screenshot of the page: (height, width, 3)."""
        return np.asarray(Image.open(io.BytesIO(self.png())).convert("RGB"))

    def png(self) -> bytes:
        data = self._send("Page.captureScreenshot", {"format": "png"})["data"]
        return base64.b64decode(data)

    def mouse(self, kind: str, x: float, y: float, *, held: bool = False) -> None:
        button = {"button": "left", "buttons": 1} if held or kind == "mousePressed" else {}
        if kind == "mouseReleased":
            button = {"button": "left"}
        event = {"type": kind, "x": x, "y": y, "clickCount": int(kind != "mouseMoved"), **button}
        self._send("Input.dispatchMouseEvent", event)

    def click(self, x: float, y: float) -> None:
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y)
        self.mouse("mouseReleased", x, y)

    def drag(self, start: tuple[float, float], end: tuple[float, float], steps: int = 10) -> None:
        self.mouse("mouseMoved", *start)
        self._drawn()  # what is below the pointer is found when a picture is drawn
        self.mouse("mousePressed", *start)
        self._drawn()
        for k in range(1, steps + 1):
            x, y = (a + (b - a) * k / steps for a, b in zip(start, end, strict=True))
            self.mouse("mouseMoved", x, y, held=True)
            time.sleep(0.02)
        self._drawn()
        self.mouse("mouseReleased", *end)

    def _drawn(self) -> None:
        """Wait until the page was drawn, also on slow machines."""
        for _ in range(2):
            self.png()

    def click_text(self, text: str) -> None:
        """Click the innermost element with a text."""
        index = self.run(
            f"""(() => {{
              const all = [...document.querySelectorAll('body *')];
              let found = all.filter(e => e.textContent.trim() === {json.dumps(text)}
                && e.checkVisibility() && e.getBoundingClientRect().width > 0)[0];
              while (found && found.children.length === 1) found = found.children[0];
              if (!found) return null;
              found.scrollIntoView({{block: 'center'}});
              const box = found.getBoundingClientRect();
              return [box.x + box.width / 2, box.y + box.height / 2];
            }})()"""
        )
        assert index, f"the page shows no {text!r}"
        self.click(*index)

    def close(self) -> None:
        self._socket.close()
        self._process.terminate()
        self._process.wait(timeout=30)
        self._folder.cleanup()

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()
