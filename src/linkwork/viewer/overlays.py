"""What is drawn over robots: center of mass, inertias, loads, velocities, traces, arrows."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ShapeError, ValueRangeError, shown
from linkwork.model.check import unphysical_links
from linkwork.model.geometry import Cylinder, Sphere
from linkwork.model.parts import Link
from linkwork.spatial.source import quat
from linkwork.viewer.camera import Extent
from linkwork.viewer.charts import shares_of
from linkwork.viewer.colors import (
    ANGULAR,
    CLOSED,
    COLLIDING,
    COM,
    FREE,
    LINEAR,
    MANIPULABILITY,
    OPEN,
    PHYSICAL,
    UNPHYSICAL,
    Rgb,
    linear,
    load_colors,
)
from linkwork.viewer.robot import ViewedRobot
from linkwork.viewer.scene import node

LARGEST_DISC = 0.045  # radius of the disc that shows the load of a joint, in reaches
LARGEST_ELLIPSOID = 0.3  # radius of the manipulability ellipsoid, in reaches
VELOCITY_SCALE = 0.15  # radius of that ellipsoid for a velocity of 1 m/s [m]
LINEAR_SCALE = 0.5  # length of the arrow of a velocity of 1 m/s [m]
ANGULAR_SCALE = 0.15  # of 1 rad/s [m]
NEAR = 0.1  # distance of links between which a line is drawn, in reaches
LARGEST_RADIUS = 1e3  # of an ellipsoid [m]; inertias in files may be absurd
LEAST_RATIO = 2e-3  # of the radii of a flat ellipsoid to the largest one
LEAST_RADIUS = 1e-7  # of an ellipsoid that is a point [m]


@dataclass
class Shown:
    """Which overlays are drawn."""

    com: bool = False
    inertias: bool = False
    torques: bool = False
    loops: bool = True
    collisions: bool = False
    frame: str | None = None  # whose velocity and manipulability are drawn
    manipulability: bool = False


class Overlays:
    """The nodes of one robot; added when first needed, then moved."""

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
        self._loops(poses)
        self._collisions(poses)
        self._velocity(poses)
        self._manipulability(poses)

    def _visible(self, name: str, visible: bool) -> bool:
        if name in self._nodes:
            self._nodes[name].visible = visible
        return visible

    def _com(self) -> None:
        names = ("com", "com_ground", "com_line")
        visible = self.shown.com and self._robot.total_mass() > 0
        for name in names:
            self._visible(name, visible)
        if not visible:
            return
        com = self._robot.com()
        below = np.array([com[0], com[1], self._extent.ground])
        radius = 0.06 * self._size
        if "com" not in self._nodes:
            root = self._robot.name
            self._nodes["com"] = self._scene.add_icosphere(node(root, "com"), radius, color=COM)
            self._nodes["com_ground"] = self._scene.add_mesh_simple(
                node(root, "com_ground"),
                *_arrays(Cylinder(1.2 * radius, 0.1 * radius).surface()),
                color=COM,
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
            # Wider than most joints.
            radius = min(0.34 * self._size, LARGEST_DISC * self._extent.reach)
            scales = np.tile([radius, radius, 0.15 * radius], (len(placed), 1))
            name = node(robot.name, "torques")
            surface = Cylinder(1.0, 2.0).surface()
            self._nodes["torques"] = self._batch(name, placed, scales, colors, None, surface)
        self._move("torques", placed)
        self._nodes["torques"].batched_colors = linear(colors)

    def _loops(self, poses: Array) -> None:
        """Balls at both frames of each loop, and lines between those of open ones."""
        loops = self._robot.loops
        visible = self.shown.loops and loops is not None and bool(loops.with_anchors)
        if not self._visible("loops", visible) or loops is None:
            self._visible("gaps", False)
            return
        is_open = self._robot.open_loops()
        flags = np.array([name in is_open for name in loops.with_anchors])
        ends = loops.anchors(poses)
        placed = np.tile(np.eye(4), (2 * len(ends), 1, 1))
        placed[:, :3, 3] = ends.reshape(-1, 3)
        colors = np.repeat(np.where(flags[:, None], OPEN, CLOSED), 2, axis=0)
        segments = ends[flags].astype(np.float32)
        if "loops" not in self._nodes:
            radii = np.full((len(placed), 3), 0.07 * self._size)
            name = node(self._robot.name, "loops")
            self._nodes["loops"] = self._batch(name, placed, radii, colors, None)
            self._nodes["gaps"] = self._scene.add_line_segments(
                node(self._robot.name, "gaps"), ends.astype(np.float32), OPEN
            )
        self._move("loops", placed)
        self._nodes["loops"].batched_colors = linear(colors)
        if self._visible("gaps", bool(flags.any())):
            self._nodes["gaps"].points = segments

    def _collisions(self, poses: Array) -> None:
        """Collision shapes, red where links collide, and lines between links that are near."""
        surfaces = self._robot.collision_surfaces if self.shown.collisions else {}
        links = [link.name for link in self._robot.kd.model.links if link.collisions]
        for link in links:
            self._visible(f"collision {link}", self.shown.collisions)
        if not self._visible("near", self.shown.collisions and bool(surfaces)):
            return
        contacts = self._robot.near_links(NEAR * self._extent.reach)
        for link, surface in surfaces.items():
            name, pose = f"collision {link}", poses[self._robot.kd.model.frame_index(link)]
            if name not in self._nodes:
                path = node(self._robot.name, "collisions", link)
                self._nodes[name] = self._scene.add_mesh_simple(
                    path, *_arrays(surface), opacity=0.5, cast_shadow=False, receive_shadow=False
                )
            handle = self._nodes[name]
            handle.color = COLLIDING if link in contacts.colliding else FREE
            handle.position, handle.wxyz = pose[:3, 3], quat.from_rotation(pose[:3, :3])
        if "near" not in self._nodes:
            segments = np.zeros((1, 2, 3), dtype=np.float32)
            path = node(self._robot.name, "near")
            self._nodes["near"] = self._scene.add_line_segments(path, segments, COLLIDING)
        if self._visible("near", bool(len(contacts.segments))):
            self._nodes["near"].points = contacts.segments.astype(np.float32)

    def _velocity(self, poses: Array) -> None:
        frame = self.shown.frame
        visible = frame is not None and bool(self._robot.nu.any())
        if not self._visible("velocity", visible) or frame is None:
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
        visible = frame is not None and self.shown.manipulability
        if not self._visible("manipulability", visible) or frame is None:
            return
        at = poses[self._robot.kd.model.frame_index(frame)][:3, 3]
        ellipsoid = manipulability_ellipsoid(self._robot.jacobian(frame), at, VELOCITY_SCALE)
        largest = LARGEST_ELLIPSOID * self._extent.reach
        radii = ellipsoid.radii[None] * min(1.0, largest / float(ellipsoid.radii.max()))
        pose = ellipsoid.pose[None]
        if "manipulability" not in self._nodes:
            name = node(self._robot.name, "manipulability")
            colors = np.array([MANIPULABILITY])
            self._nodes["manipulability"] = self._batch(name, pose, radii, colors, 0.4)
        self._nodes["manipulability"].batched_scales = radii.astype(np.float32)
        self._move("manipulability", pose)

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
            *_arrays(surface or Sphere(1.0).surface()),
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


# Ellipsoids.


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """Radii along the axes of a frame, and the pose of that frame."""

    radii: Array  # (3,) [m]
    pose: Array  # (4, 4) in the frame of the link, or in the world


def inertia_ellipsoids(links: Sequence[Link]) -> list[tuple[str, Ellipsoid, bool]]:
    """For each link with mass: its name, the ellipsoid in its frame, whether a body can have it.

    The ellipsoid is the homogeneous one of the same mass and inertia: with principal moments I,
    its radii are r_i^2 = 5 (I_j + I_k - I_i) / (2 m). Where a radius would be imaginary, the
    inertia is unphysical, and its absolute value is used.
    """
    bad = {link.name for link in unphysical_links(links)}
    ellipsoids: list[tuple[str, Ellipsoid, bool]] = []
    for link in links:
        if link.inertia.mass <= 0:
            continue
        moments, axes = np.linalg.eigh(link.inertia.matrix())
        squares = 2.5 * (moments.sum() - 2 * moments) / link.inertia.mass
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = _right_handed(axes), link.inertia.com
        ellipsoid = Ellipsoid(_drawable(np.sqrt(np.abs(squares))), pose)
        ellipsoids.append((link.name, ellipsoid, link.name not in bad))
    return ellipsoids


def manipulability_ellipsoid(jacobian: Array, at: Array, size: float = 0.3) -> Ellipsoid:
    """The linear velocities that a frame can have with joint velocities of norm 1.

    Args:
        jacobian: (6, n) or (3, n), linear rows first, along the axes of the world.
        at: (3,) where to draw it [m].
        size: radius to draw a velocity of 1 m/s with [m].

    Returns:
        radii are the singular values of the linear part times `size`; flat where it is singular.
    """
    axes, values, _ = np.linalg.svd(jacobian[:3], full_matrices=True)
    radii = np.zeros(3)
    radii[: len(values)] = values
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = _right_handed(axes), at
    return Ellipsoid(_drawable(radii * size), pose)


def manipulability(jacobian: Array) -> float:
    """Yoshikawa's measure: the volume spanned by the linear rows, sqrt(det(J J^T))."""
    return float(np.prod(np.linalg.svd(jacobian[:3], compute_uv=False)[:3]))


def _drawable(radii: Array) -> Array:
    """Radii limited to a range that can be drawn."""
    radii = np.minimum(np.nan_to_num(radii, nan=0.0, posinf=LARGEST_RADIUS), LARGEST_RADIUS)
    return np.maximum(radii, max(LEAST_RATIO * float(radii.max()), LEAST_RADIUS))


def _right_handed(axes: Array) -> Array:
    return axes if np.linalg.det(axes) > 0 else axes * np.array([1.0, 1.0, -1.0])


# Traces and arrows of a program.


class Trace:
    """The path of the origin of a frame."""

    def __init__(
        self, server: Any, robot: ViewedRobot, frame: str, length: int, color: Rgb
    ) -> None:
        robot.kd.model.frame_index(frame)
        if isinstance(length, bool) or not isinstance(length, int) or length < 2:
            raise ValueRangeError(f"length: expected 2 or more, got {shown(length)}")
        self.robot, self.frame = robot, frame
        self._server, self._color, self._handle = server, color, None
        self._points: deque[Array] = deque(maxlen=length)
        self._changed = self._removed = False
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
    for argument, value in (("start", start), ("vector", vector)):
        try:
            point = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            raise ArgumentError(f"{argument}: expected three floats, got {shown(value)}") from None
        if point.shape != (3,):
            raise ShapeError(f"{argument}: expected (3,), got {point.shape}")
        if not np.isfinite(point).all():
            raise ValueRangeError(f"{argument}: is not finite")
        ends.append(point)
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
