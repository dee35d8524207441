"""From where a scene is seen when a page opens."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.arrays import Array
from linkwork.viewer.extent import Extent

DIRECTION = np.array([1.0, -0.75, 0.42])  # from the scene to the camera
FIELD_OF_VIEW = 0.7  # from the lower edge of the page to the upper one [rad]
ASPECT = 1.5  # width of a page by its height, if it is not known
NARROW = 1.0  # the same of a page that is higher than wide
# Where the scene may be, as shares of the way from the middle of the page to its left, right, lower
# and upper edge: the controls cover the right side of a page, or the lower half of a narrow one.
WIDE_PLACE = (0.72, 0.2, 0.66, 0.66)
NARROW_PLACE = (0.8, 0.8, -0.1, 0.75)


def aim(server: Any, extent: Extent) -> None:
    """Let pages open where all is seen."""
    camera, reach = server.initial_camera, extent.reach
    camera.fov = FIELD_OF_VIEW
    camera.near, camera.far = min(0.01, 0.01 * reach), max(1000.0, 100 * reach)
    camera.position, camera.look_at = sight_of(extent)
    server.on_client_connect(lambda client: _aim_narrow(client.camera, extent))


def _aim_narrow(camera: Any, extent: Extent) -> None:
    """Let a page that is higher than wide see all, too."""
    aspect = camera.image_width / max(camera.image_height, 1)
    if aspect < NARROW:
        camera.position, camera.look_at = sight_of(extent, aspect)


def place_for(aspect: float) -> tuple[float, float, float, float]:
    """Where the scene may be on a page of some width by height: left, right, down, up."""
    return WIDE_PLACE if aspect >= NARROW else NARROW_PLACE


def sight_of(extent: Extent, aspect: float = ASPECT) -> tuple[Array, Array]:
    """Position of the camera, and the point it looks at: all points are seen, as near as may be.

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
    left, right_, down, up = np.array([aspect, aspect, 1, 1]) * place_for(aspect) * tangent
    aside, z_wide = _fitted(a, c, left, right_)
    above, z_high = _fitted(b, c, down, up)
    z = max(z_wide, z_high, float(c.max()) + 0.5 * extent.reach)
    x, y = (aside + (left - right_) * z) / 2, (above + (down - up) * z) / 2
    middle = (float(c.min()) + float(c.max())) / 2
    return axes.T @ np.array([x, y, z]), axes.T @ np.array([x, y, middle])


def _fitted(across: Array, toward: Array, low: float, high: float) -> tuple[float, float]:
    """What the camera's coordinate across is at z = 0, twice; and the least z.

    It lies between upper - high z and low z - lower; the middle of these is taken.
    """
    upper = float((across + high * toward).max())
    lower = float((-across + low * toward).max())
    return upper - lower, (upper + lower) / (low + high)
