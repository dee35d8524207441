"""How far what is drawn reaches: by it the camera, the ground and the sizes of marks are chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.viewer.parts import Drawing
from linkwork.viewer.robot import ViewedRobot

LEAST = 1e-4  # reach of a scene in which all is at one point [m]


@dataclass(frozen=True, eq=False)
class Extent:
    """A scene as it is when the page opens."""

    points: Array  # (n, 3) of all that is drawn, in the world [m]; at least one
    ground: float  # height of the ground [m]

    @property
    def reach(self) -> float:
        """Diagonal of the box around it [m]; never zero."""
        edges = self.points.max(axis=0) - self.points.min(axis=0)
        return max(float(np.linalg.norm(edges)), LEAST)

    def including(self, points: Array) -> Extent:
        """The extent of this scene and of further points (n, 3)."""
        both = np.concatenate([self.points, points])
        return Extent(both, min(self.ground, float(both[:, 2].min())))

    @property
    def cell(self) -> float:
        """Distance between lines on the ground [m]: a power of ten, at most a quarter of reach."""
        return float(10.0 ** np.floor(np.log10(self.reach / 4)))


def extent_of(robots: Sequence[ViewedRobot], drawings: Sequence[Drawing]) -> Extent:
    """The extent of robots where they are now."""
    both = zip(robots, drawings, strict=True)
    return around([drawn_points(own, robot.frame_names, robot.poses()) for robot, own in both])


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
    found = [np.zeros((0, 3))]
    for name, pose in zip(names, poses, strict=True):
        for part in drawing.parts.get(name, []):
            H = pose @ part.link_H_part
            found.append(part.surface.vertices @ H[:3, :3].T + H[:3, 3])
    points = np.concatenate(found)
    return points if len(points) else poses[:, :3, 3]
