"""From where a scene is seen when a page opens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linkwork.arrays import Array

DIRECTION = np.array([1.0, -0.75, 0.42])  # from the middle of the scene to the camera
MARGIN = 0.12  # around the origins of links, which are inside of what is drawn [m]
DISTANCE = 1.9  # in radii of what is seen
ASIDE = 0.35  # how far right of the middle it looks, in radii: the controls cover the right side


def sight_of(points: Sequence[Array], ground: float) -> tuple[Array, Array]:
    """Position of the camera, and the point it looks at.

    Args:
        points: (n, 3) arrays of what shall be seen [m].
        ground: height of the ground, which shall be seen, too [m].
    """
    together = np.concatenate([*points, np.zeros((0, 3))])
    if not len(together):
        together = np.zeros((1, 3))
    low, high = together.min(axis=0) - MARGIN, together.max(axis=0) + MARGIN
    low[2] = min(low[2], ground)
    middle = (low + high) / 2
    radius = max(float(np.linalg.norm(high - low)) / 2, 0.2)
    away = DIRECTION / np.linalg.norm(DIRECTION)
    to_the_right = np.cross([0.0, 0.0, 1.0], away) * ASIDE * radius
    return middle + to_the_right + away * DISTANCE * radius, middle + to_the_right
