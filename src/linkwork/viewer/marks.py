"""What a program draws besides robots: traces of frames, and arrows."""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ShapeError, ValueRangeError, shown
from linkwork.viewer.colors import Rgb
from linkwork.viewer.robot import ViewedRobot
from linkwork.viewer.scene import node


class Trace:
    """The way that the origin of a frame has taken."""

    def __init__(
        self, server: Any, robot: ViewedRobot, frame: str, length: int, color: Rgb
    ) -> None:
        robot.kd.model.frame_index(frame)
        if isinstance(length, bool) or not isinstance(length, int) or length < 2:
            raise ValueRangeError(f"length: expected 2 or more, got {shown(length)}")
        self.robot, self.frame = robot, frame
        self._server, self._color, self._handle = server, color, None
        self._points: deque[Array] = deque(maxlen=length)
        self._changed = False
        self._removed = False
        self._lock = Lock()  # a program may clear a trace while the page is drawn

    @property
    def points(self) -> Array:
        """(n, 3) where the frame was [m], oldest first."""
        with self._lock:
            return np.array(list(self._points)).reshape(-1, 3)

    def add(self) -> None:
        """Add where the frame is now, if it has moved."""
        here = self.robot.pose(self.frame)[:3, 3].copy()
        with self._lock:
            if not self._points or not np.array_equal(self._points[-1], here):
                self._points.append(here)
                self._changed = True

    def draw(self) -> None:
        """Draw the line, if it has changed."""
        with self._lock:
            if not self._changed or len(self._points) < 2 or self._removed:
                return
            self._changed = False
            points = np.array(list(self._points))
            segments = np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)
            if self._handle is None:
                name = node(self.robot.name, "traces", self.frame)
                scene = self._server.scene
                self._handle: Any = scene.add_line_segments(name, segments, self._color)
            else:
                self._handle.points = segments

    def clear(self) -> None:
        """Forget the points so far."""
        with self._lock:
            self._points.clear()
            if self._handle is not None:
                self._handle.remove()
                self._handle = None

    def remove(self) -> None:
        """Remove the trace from the page."""
        self._removed = True
        self.clear()


def add_arrow(
    server: Any, name: str, start: ArrayLike, vector: ArrayLike, *, color: Rgb, radius: float
) -> Any:
    """Draw an arrow in the world; one of the same name is replaced."""
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"name: expected the name of the arrow, got {shown(name)}")
    ends: list[Array] = []
    for what, given in (("start", start), ("vector", vector)):
        try:
            numbers = np.asarray(given, dtype=float)
        except (TypeError, ValueError):
            raise ArgumentError(f"{what}: expected three numbers, got {shown(given)}") from None
        if numbers.shape != (3,):
            raise ShapeError(f"{what}: expected (3,), got {numbers.shape}")
        if not np.isfinite(numbers).all():
            raise ValueRangeError(f"{what}: is not finite")
        ends.append(numbers)
    points = np.array([[ends[0], ends[0] + ends[1]]], dtype=np.float32)
    length = float(np.linalg.norm(ends[1]))
    return server.scene.add_arrows(
        node("arrows", name),
        points,
        color,
        shaft_radius=radius,
        head_radius=2.5 * radius,
        head_length=min(5 * radius, 0.6 * length),
    )
