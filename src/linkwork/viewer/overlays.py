"""What is drawn over a robot: centre of mass, inertias, loads of joints, velocities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.spatial.source import quat
from linkwork.viewer.charts import shares_of
from linkwork.viewer.colors import (
    ANGULAR,
    COM,
    LINEAR,
    MANIPULABILITY,
    PHYSICAL,
    UNPHYSICAL,
    linear,
    load_colors,
)
from linkwork.viewer.ellipsoids import Ellipsoid, inertia_ellipsoids, manipulability_ellipsoid
from linkwork.viewer.extent import Extent
from linkwork.viewer.robot import ViewedRobot
from linkwork.viewer.scene import node
from linkwork.viewer.surfaces import cylinder, sphere

LARGEST_DISC = 0.045  # radius of the disc that shows the load of a joint, in reaches
LARGEST_ELLIPSOID = 0.3  # radius of the manipulability ellipsoid, in reaches
VELOCITY_SCALE = 0.15  # radius of that ellipsoid for a velocity of 1 m/s [m]
LINEAR_SCALE = 0.5  # length of the arrow of a velocity of 1 m/s [m]
ANGULAR_SCALE = 0.15  # of 1 rad/s [m]


@dataclass
class Shown:
    """Which of them are drawn."""

    com: bool = False
    inertias: bool = False
    torques: bool = False
    frame: str | None = None  # whose velocity and manipulability are drawn
    velocity: bool = True
    manipulability: bool = False


class Overlays:
    """The nodes of one robot; made when first needed, then moved."""

    def __init__(self, server: Any, robot: ViewedRobot, size: float, extent: Extent) -> None:
        self._scene, self._robot = server.scene, robot
        self._size, self._extent = size, extent
        self._nodes: dict[str, Any] = {}
        self._ellipsoids = inertia_ellipsoids(robot.kd.model.links)
        self.shown = Shown()

    def update(self, poses: Array) -> None:
        """Draw all that is shown.

        Args:
            poses: (frames, 4, 4) of the robot's frames in the world.
        """
        self._com()
        self._inertias(poses)
        self._torques()
        self._velocity(poses)
        self._manipulability(poses)

    def _visible(self, name: str, wanted: bool) -> bool:
        if name in self._nodes:
            self._nodes[name].visible = wanted
        return wanted

    def _com(self) -> None:
        names = ("com", "com_ground", "com_line")
        wanted = self.shown.com and self._robot.total_mass() > 0
        for name in names:
            self._visible(name, wanted)
        if not wanted:
            return
        com = self._robot.com()
        below = np.array([com[0], com[1], self._extent.ground])
        radius = 0.06 * self._size
        if "com" not in self._nodes:
            root = self._robot.name
            self._nodes["com"] = self._scene.add_icosphere(node(root, "com"), radius, color=COM)
            self._nodes["com_ground"] = self._scene.add_mesh_simple(
                node(root, "com_ground"), *_arrays(cylinder(1.2 * radius, 0.1 * radius)), color=COM
            )
            self._nodes["com_line"] = self._scene.add_line_segments(
                node(root, "com_line"), np.zeros((1, 2, 3), dtype=np.float32), COM
            )
        self._nodes["com"].position = com
        self._nodes["com_ground"].position = below + np.array([0.0, 0.0, 0.1 * radius])
        self._nodes["com_line"].points = np.array([[com, below]], dtype=np.float32)

    def _inertias(self, poses: Array) -> None:
        if not self._visible("inertias", self.shown.inertias and bool(self._ellipsoids)):
            return
        index = self._robot.kd.model.frame_index
        placed = np.array([poses[index(name)] @ e.pose for name, e, _ in self._ellipsoids])
        if "inertias" not in self._nodes:
            colors = [PHYSICAL if good else UNPHYSICAL for _, _, good in self._ellipsoids]
            radii = np.array([e.radii for _, e, _ in self._ellipsoids])
            name = node(self._robot.name, "inertias")
            self._nodes["inertias"] = self._batch(name, placed, radii, np.array(colors), 0.55)
        self._move("inertias", placed)

    def _torques(self) -> None:
        robot = self._robot
        if not self._visible("torques", self.shown.torques and bool(robot.sliders)):
            return
        placed = robot.joint_axes()
        colors = load_colors(shares_of(robot.gravity_force(), robot.efforts()))
        if "torques" not in self._nodes:
            # Wider than what covers most joints.
            radius = min(0.34 * self._size, LARGEST_DISC * self._extent.reach)
            scales = np.tile([radius, radius, 0.15 * radius], (len(placed), 1))
            name = node(robot.name, "torques")
            surface = cylinder(1.0, 2.0)
            self._nodes["torques"] = self._batch(name, placed, scales, colors, None, surface)
        self._move("torques", placed)
        self._nodes["torques"].batched_colors = linear(colors)

    def _velocity(self, poses: Array) -> None:
        frame = self.shown.frame
        wanted = frame is not None and self.shown.velocity and bool(self._robot.nu.any())
        if not self._visible("velocity", wanted) or frame is None:
            return
        v = self._robot.frame_velocity(frame)
        at = poses[self._robot.kd.model.frame_index(frame)][:3, 3]
        ends = [at + LINEAR_SCALE * v[:3], at + ANGULAR_SCALE * v[3:]]
        points = np.array([[at, end] for end in ends], dtype=np.float32)
        if "velocity" not in self._nodes:
            thin = 0.02 * self._size
            self._nodes["velocity"] = self._scene.add_arrows(
                node(self._robot.name, "velocity"),
                points,
                np.array([LINEAR, ANGULAR], dtype=np.uint8),
                shaft_radius=thin,
                head_radius=2.5 * thin,
                head_length=5 * thin,
            )
        self._nodes["velocity"].points = points

    def _manipulability(self, poses: Array) -> None:
        frame = self.shown.frame
        wanted = frame is not None and self.shown.manipulability
        if not self._visible("manipulability", wanted) or frame is None:
            return
        at = poses[self._robot.kd.model.frame_index(frame)][:3, 3]
        own = manipulability_ellipsoid(self._robot.jacobian(frame), at, VELOCITY_SCALE)
        largest = LARGEST_ELLIPSOID * self._extent.reach
        shrunk = min(1.0, largest / float(own.radii.max()))
        own = Ellipsoid(own.radii * shrunk, own.pose)
        self._ellipsoid("manipulability", own)

    def _ellipsoid(self, name: str, own: Ellipsoid) -> None:
        if name not in self._nodes:
            self._nodes[name] = self._batch(
                node(self._robot.name, name),
                own.pose[None],
                own.radii[None],
                np.array([MANIPULABILITY]),
                0.4,
            )
        self._nodes[name].batched_scales = own.radii[None].astype(np.float32)
        self._move(name, own.pose[None])

    def _batch(  # noqa: PLR0917
        self,
        name: str,
        poses: Array,
        scales: Array,
        colors: Array,
        opacity: float | None,
        surface: Any = None,
    ) -> Any:
        return self._scene.add_batched_meshes_simple(
            name,
            *_arrays(surface or sphere(1.0)),
            batched_wxyzs=quat.from_rotation(poses[:, :3, :3]).astype(np.float32),
            batched_positions=poses[:, :3, 3].astype(np.float32),
            batched_scales=scales.astype(np.float32),
            batched_colors=linear(colors),
            opacity=opacity,
            lod="off",
            cast_shadow=False,
            receive_shadow=False,
        )

    def _move(self, name: str, poses: Array) -> None:
        handle = self._nodes[name]
        handle.batched_positions = poses[:, :3, 3].astype(np.float32)
        handle.batched_wxyzs = quat.from_rotation(poses[:, :3, :3]).astype(np.float32)


def _arrays(surface: Any) -> tuple[Array, Array]:
    return surface.vertices.astype(np.float32), surface.faces.astype(np.uint32)
