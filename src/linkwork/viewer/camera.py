"""The camera, and the extent of the scene: camera, ground and sizes of marks depend on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.viewer.drawing import Drawing
from linkwork.viewer.robot import ViewedRobot

LEAST_REACH = 1e-4  # of a scene in which everything is at one point [m]
DIRECTION = np.array([1.0, -0.75, 0.42])  # from the scene to the camera
FIELD_OF_VIEW = 0.7  # from the lower edge of the page to the upper one [rad]
MARGIN = 1.05  # the camera moves back for a scene larger than its view by this factor
ASPECT = 1.5  # width of a page divided by its height, if unknown
NARROW = 1.0  # pages of a smaller aspect are narrow
WIDTH = 1280  # of a page, if unknown [pixels]
PANEL = 410  # pixels that the controls cover at the right of a wide page
# Where the scene may be, as fractions of the way from the center of the page to its left, right,
# lower and upper edge. The controls cover the right side of a wide page, or the lower half of a
# narrow one.
WIDE_MARGINS = (0.72, 0.0, 0.66, 0.66)
NARROW_MARGINS = (0.8, 0.8, -0.1, 0.75)


@dataclass(frozen=True, eq=False)
class Extent:
    """A scene as it is when the page opens."""

    points: Array  # (n, 3) of all that is drawn, in the world [m]; at least one
    ground: float  # height of the ground [m]

    @property
    def reach(self) -> float:
        """Diagonal of the box around it [m]; never zero."""
        edges = self.points.max(axis=0) - self.points.min(axis=0)
        return max(float(np.linalg.norm(edges)), LEAST_REACH)

    def including(self, points: Array) -> Extent:
        """Return the extent of this scene and of further points (n, 3)."""
        both = np.concatenate([self.points, points])
        return Extent(both, min(self.ground, float(both[:, 2].min())))

    @property
    def cell(self) -> float:
        """Distance between lines on the ground [m]: a power of ten, at most a quarter of reach."""
        return float(10.0 ** np.floor(np.log10(self.reach / 4)))


def extent_of(robots: Sequence[ViewedRobot], drawings: Sequence[Drawing]) -> Extent:
    """Return the extent of robots where they are now."""
    both = zip(robots, drawings, strict=True)
    return around(
        [drawn_points(drawing, robot.frame_names, robot.poses()) for robot, drawing in both]
    )


def around(clouds: Sequence[Array]) -> Extent:
    """The extent of clouds of points (n, 3); the ground is at 0, or lower if they reach below."""
    points = np.concatenate([*clouds, np.zeros((0, 3))])
    points = points if len(points) else np.zeros((1, 3))
    return Extent(points, min(0.0, float(points[:, 2].min())))


def drawn_points(drawing: Drawing, names: Sequence[str], poses: Array) -> Array:
    """(n, 3) points of surfaces, and origins of frames where there is no surface [m].

    Args:
        drawing: surfaces by the names of frames.
        names: of the frames.
        poses: (frames, 4, 4) of these frames in the world.
    """
    clouds = [np.zeros((0, 3))]
    for name, pose in zip(names, poses, strict=True):
        for part in drawing.parts.get(name, []):
            H = pose @ part.link_H_part
            clouds.append(part.surface.vertices @ H[:3, :3].T + H[:3, 3])
    points = np.concatenate(clouds)
    return points if len(points) else poses[:, :3, 3]


class Camera:
    """Aims the cameras of all pages at the scene."""

    def __init__(self, server: Any, extent: Extent) -> None:
        self._server, self._extent = server, extent
        camera, reach = server.initial_camera, extent.reach
        camera.fov = FIELD_OF_VIEW
        camera.near, camera.far = min(0.01, 0.01 * reach), max(1000.0, 100 * reach)
        camera.position, camera.look_at = sight_of(extent)
        server.on_client_connect(lambda client: self._aim(client.camera))

    def include(self, points: Array) -> None:
        """Move the cameras back if some of these points (n, 3) are outside their view."""
        wider = self._extent.including(points)
        if wider.reach > MARGIN * self._extent.reach:
            self._extent = wider
            for client in self._server.get_clients().values():
                self._aim(client.camera)

    def _aim(self, camera: Any) -> None:
        width, height = max(camera.image_width, 1), max(camera.image_height, 1)
        camera.position, camera.look_at = sight_of(self._extent, width / height, width)


def margins_of(aspect: float, width: float) -> tuple[float, float, float, float]:
    """Return the area of a page for the scene: left, right, down, up.

    Args:
        aspect: width by height.
        width: of the page [pixels].
    """
    if aspect < NARROW:
        return NARROW_MARGINS
    left, _, down, up = WIDE_MARGINS
    return left, max(1 - 2 * PANEL / width, -0.4), down, up


def sight_of(extent: Extent, aspect: float = ASPECT, width: float = WIDTH) -> tuple[Array, Array]:
    """Position of the camera, and the point it looks at: the closest one that sees all points.

    Seen from a camera at (x, y, z), where z points from the scene to the camera, a point (a, b, c)
    is left of the right margin if a - x <= k (z - c), where k is the tangent of the angle to it;
    so for the other margins. The least z that allows all of it follows from the extreme points.
    """
    away = DIRECTION / np.linalg.norm(DIRECTION)
    right = np.cross([0.0, 0.0, 1.0], away)
    right /= np.linalg.norm(right)
    axes = np.stack([right, np.cross(away, right), away])
    below = [*extent.points.mean(axis=0)[:2], extent.ground]
    a, b, c = axes @ np.concatenate([extent.points, [below]]).T
    tangent = np.tan(FIELD_OF_VIEW / 2)
    left, right_, down, up = np.array([aspect, aspect, 1, 1]) * margins_of(aspect, width) * tangent
    aside, z_wide = _fitted(a, c, left, right_)
    above, z_high = _fitted(b, c, down, up)
    z = max(z_wide, z_high, float(c.max()) + 0.5 * extent.reach)
    x, y = (aside + (left - right_) * z) / 2, (above + (down - up) * z) / 2
    middle = (float(c.min()) + float(c.max())) / 2
    return axes.T @ np.array([x, y, z]), axes.T @ np.array([x, y, middle])


def _fitted(across: Array, toward: Array, low: float, high: float) -> tuple[float, float]:
    """Return twice the camera's coordinate across at z = 0, and the least z.

    It lies between upper - high z and low z - lower; the result is their mean.
    """
    upper = float((across + high * toward).max())
    lower = float((-across + low * toward).max())
    return upper - lower, (upper + lower) / (low + high)
