"""What is drawn beside links: center of mass, inertias, loads, velocities, traces, obstacles."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.collision.obstacles import WIDTHS, Obstacles, as_obstacles
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ShapeError, ValueRangeError, shown
from linkwork.model.check import unphysical_links
from linkwork.model.geometry import Box, Capsule, Cylinder, Shape, Sphere, Surface
from linkwork.model.parts import Link
from linkwork.simulation.scene import Plane
from linkwork.spatial.source import quat, se3
from linkwork.viewer.charts import shares_of
from linkwork.viewer.drawing import (
    ANGULAR,
    CLOSED,
    COLLIDING,
    COM,
    CONTACT,
    FREE,
    GREY,
    LINEAR,
    MANIPULABILITY,
    OPEN,
    PHYSICAL,
    UNPHYSICAL,
    Rgb,
    linear,
    load_colors,
    pose_along,
)
from linkwork.viewer.robot import ViewedRobot, as_floats
from linkwork.viewer.scene import Extent, add_batch, arrow_sizes, node, place
from linkwork.viewer.scene import arrays_of as _arrays

LARGEST_DISC = 0.045  # radius of the disc that shows the load of a joint, in reaches
LARGEST_ELLIPSOID = 0.3  # radius of the manipulability ellipsoid, in reaches
VELOCITY_SCALE = 0.15  # radius of that ellipsoid for a velocity of 1 m/s [m]
LINEAR_SCALE = 0.5  # length of the arrow of a velocity of 1 m/s [m]
ANGULAR_SCALE = 0.15  # of 1 rad/s [m]
FORCE_SCALE = 1.0  # length of the arrow of a force as large as the robot's weight, in reaches
NEAR = 0.1  # distance of links between which a line is drawn, in reaches
LARGEST_RADIUS = 1e3  # of an ellipsoid [m]; inertias in files may be absurd
LEAST_RATIO = 2e-3  # of the radii of a flat ellipsoid to the largest one
LEAST_RADIUS = 1e-7  # of an ellipsoid that is a point [m]

LEAST_POINT = 0.004  # of points and spheres without a radius, in reaches of the scene
UPWARD = (0.0, 0.0, 1.0, 0.0)  # the half-space below z = 0
PLATE = (4.0, 4.0, 0.01)  # of a half-space, in reaches of the scene


@dataclass
class Shown:
    """Which overlays are drawn."""

    com: bool = False
    inertias: bool = False
    torques: bool = False
    loops: bool = True
    collisions: bool = False
    contacts: bool = True
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
        self._contacts()
        self._velocity(poses)
        self._manipulability(poses)

    def _visible(self, name: str, visible: bool) -> bool:
        if name in self._nodes:
            self._nodes[name].visible = visible
        return visible

    def _com(self) -> None:
        visible = self.shown.com and self._robot.total_mass() > 0
        for name in ("com", "com_ground", "com_line"):
            self._visible(name, visible)
        if not visible:
            return
        com = self._robot.com()
        below = np.array([com[0], com[1], self._extent.ground])
        radius = 0.06 * self._size
        if "com" not in self._nodes:
            disc = _arrays(Cylinder(1.2 * radius, 0.1 * radius).surface())
            self._add("com", self._scene.add_icosphere, radius, color=COM)
            self._add("com_ground", self._scene.add_mesh_simple, *disc, color=COM)
        self._nodes["com"].position = com
        self._nodes["com_ground"].position = below + np.array([0.0, 0.0, 0.1 * radius])
        self._lines("com_line", np.array([[com, below]]), COM)

    def _inertias(self, poses: Array) -> None:
        if not self._visible("inertias", self.shown.inertias and bool(self._ellipsoids)):
            return
        index = self._robot.kd.model.frame_index
        placed = np.array([poses[index(name)] @ e.pose for name, e, _ in self._ellipsoids])
        colors = [PHYSICAL if good else UNPHYSICAL for _, _, good in self._ellipsoids]
        radii = np.array([e.radii for _, e, _ in self._ellipsoids])
        self._batch("inertias", placed, radii, np.array(colors), opacity=0.55)

    def _torques(self) -> None:
        robot = self._robot
        if not self._visible("torques", self.shown.torques and bool(robot.sliders)):
            return
        placed = robot.joint_axes()
        colors = load_colors(shares_of(robot.gravity_force(), robot.efforts()))
        radius = min(0.34 * self._size, LARGEST_DISC * self._extent.reach)  # wider than most joints
        scales = np.tile([radius, radius, 0.15 * radius], (len(placed), 1))
        self._batch("torques", placed, scales, colors, surface=Cylinder(1.0, 2.0).surface())

    def _loops(self, poses: Array) -> None:
        """Draw balls at both frames of each loop, and lines between the frames of open ones."""
        loops = self._robot.loops
        visible = self.shown.loops and loops is not None and bool(loops.with_anchors)
        if not self._visible("loops", visible) or loops is None:
            self._visible("gaps", False)
            return
        is_open = self._robot.open_loops()
        flags = np.array([name in is_open for name in loops.with_anchors])
        ends = loops.anchors(poses)
        colors = np.repeat(np.where(flags[:, None], OPEN, CLOSED), 2, axis=0)
        self._balls("loops", ends.reshape(-1, 3), 0.07 * self._size, colors)
        self._lines("gaps", ends[flags], OPEN)

    def _collisions(self, poses: Array) -> None:
        """Draw collision shapes, red where links collide, and lines between links that are near."""
        surfaces = self._robot.collision_surfaces if self.shown.collisions else {}
        links = [link.name for link in self._robot.kd.model.links if link.collisions]
        for link in links:
            self._visible(f"collision {link}", self.shown.collisions)
        if not self._visible("near", self.shown.collisions and bool(surfaces)):
            return
        contacts = self._robot.near_links(NEAR * self._extent.reach)
        for link, surface in surfaces.items():
            name = f"collision {link}"
            if name not in self._nodes:
                path = node(self._robot.name, "collisions", link)
                self._nodes[name] = self._scene.add_mesh_simple(
                    path, *_arrays(surface), opacity=0.5, cast_shadow=False, receive_shadow=False
                )
            self._nodes[name].color = COLLIDING if link in contacts.colliding else FREE
            place(self._nodes[name], poses[self._robot.kd.model.frame_index(link)])
        self._lines("near", contacts.segments, COLLIDING)

    def _contacts(self) -> None:
        """Draw balls where the robot touches the ground, and arrows of the forces on it."""
        acting = self._robot.contact_forces() if self.shown.contacts else np.zeros((0, 2, 3))
        for name in ("contacts", "contact forces"):
            self._visible(name, bool(len(acting)))
        if not len(acting):
            return
        points, forces = acting[:, 0], acting[:, 1]
        weight = 9.80665 * self._robot.total_mass()
        ends = points + FORCE_SCALE * self._extent.reach / weight * forces
        color = np.tile(CONTACT, (len(points), 1))
        self._balls("contacts", points, 0.04 * self._size, color)
        self._arrows("contact forces", np.stack([points, ends], axis=1), CONTACT)

    def _velocity(self, poses: Array) -> None:
        frame = self.shown.frame
        visible = frame is not None and bool(self._robot.nu.any())
        if not self._visible("velocity", visible) or frame is None:
            return
        v = self._robot.frame_velocity(frame)
        at = poses[self._robot.kd.model.frame_index(frame)][:3, 3]
        ends = [at + LINEAR_SCALE * v[:3], at + ANGULAR_SCALE * v[3:]]
        colors = np.array([LINEAR, ANGULAR], dtype=np.uint8)
        self._arrows("velocity", np.array([[at, end] for end in ends]), colors)

    def _manipulability(self, poses: Array) -> None:
        frame = self.shown.frame
        visible = frame is not None and self.shown.manipulability
        if not self._visible("manipulability", visible) or frame is None:
            return
        at = poses[self._robot.kd.model.frame_index(frame)][:3, 3]
        ellipsoid = manipulability_ellipsoid(self._robot.jacobian(frame), at, VELOCITY_SCALE)
        largest = LARGEST_ELLIPSOID * self._extent.reach
        radii = ellipsoid.radii[None] * min(1.0, largest / float(ellipsoid.radii.max()))
        colors = np.array([MANIPULABILITY])
        self._batch("manipulability", ellipsoid.pose[None], radii, colors, opacity=0.4)

    # Nodes, which are added when they are first needed.

    def _add(self, name: str, add: Callable[..., Any], *arguments: Any, **options: Any) -> None:
        self._nodes[name] = add(node(self._robot.name, name), *arguments, **options)

    def _lines(self, name: str, segments: Array, color: Rgb) -> None:
        """Draw line segments (n, 2, 3); there may be none."""
        if name not in self._nodes:
            empty = np.zeros((1, 2, 3), dtype=np.float32)
            self._add(name, self._scene.add_line_segments, empty, color)
        if self._visible(name, bool(len(segments))):
            self._nodes[name].points = segments.astype(np.float32)

    def _arrows(self, name: str, segments: Array, colors: Any) -> None:
        """Draw arrows (n, 2, 3), with one color or one for each."""
        points = segments.astype(np.float32)
        if name not in self._nodes:
            sizes = arrow_sizes(0.02 * self._size)
            self._add(name, self._scene.add_arrows, points, colors, **sizes)
        self._nodes[name].points = points

    def _balls(self, name: str, centers: Array, radius: float, colors: Array) -> None:
        """Draw balls of one radius."""
        poses = se3.pose(np.eye(3), centers)
        self._batch(name, poses, np.full_like(centers, radius), colors)

    def _batch(
        self,
        name: str,
        poses: Array,
        scales: Array,
        colors: Array,
        *,
        opacity: float | None = None,
        surface: Any = None,
    ) -> None:
        """Draw copies of a surface, by default of a ball of radius 1."""
        if name not in self._nodes:
            path = node(self._robot.name, name)
            both = path, Sphere(1.0).surface() if surface is None else surface
            self._nodes[name] = add_batch(self._scene, *both, poses, scales, colors, opacity)
            return
        handle = self._nodes[name]
        handle.batched_positions = poses[:, :3, 3].astype(np.float32)
        handle.batched_wxyzs = quat.from_rotation(poses[:, :3, :3]).astype(np.float32)
        handle.batched_scales = scales.astype(np.float32)
        handle.batched_colors = linear(colors)


# Ellipsoids.


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """Radii along the axes of a frame, and the pose of that frame."""

    radii: Array  # (3,) [m]
    pose: Array  # (4, 4) in the frame of the link, or in the world


def inertia_ellipsoids(links: Sequence[Link]) -> list[tuple[str, Ellipsoid, bool]]:
    """Return name, ellipsoid in its frame, and validity of the inertia of each link with mass.

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
        pose = se3.pose(_right_handed(axes), link.inertia.com)
        ellipsoid = Ellipsoid(_drawable(np.sqrt(np.abs(squares))), pose)
        ellipsoids.append((link.name, ellipsoid, link.name not in bad))
    return ellipsoids


def manipulability_ellipsoid(jacobian: Array, at: Array, size: float = 0.3) -> Ellipsoid:
    """Return the linear velocities that a frame can have with joint velocities of norm 1.

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
    return Ellipsoid(_drawable(radii * size), se3.pose(_right_handed(axes), at))


def manipulability(jacobian: Array) -> float:
    """Yoshikawa's measure: the volume spanned by the linear rows, sqrt(det(J J^T))."""
    return float(np.prod(np.linalg.svd(jacobian[:3], compute_uv=False)[:3]))


def _drawable(radii: Array) -> Array:
    """Return radii limited to a range that can be drawn."""
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
        point = as_floats(value, argument)
        if point.shape != (3,):
            raise ShapeError(f"{argument}: expected (3,), got {point.shape}")
        if not np.isfinite(point).all():
            raise ValueRangeError(f"{argument}: is not finite")
        ends.append(point)
    points = np.array([[ends[0], ends[0] + ends[1]]], dtype=np.float32)
    length = float(np.linalg.norm(ends[1]))
    return server.scene.add_arrows(
        node("arrows", name), points, color, **arrow_sizes(radius, length)
    )


# Obstacles: boxes, spheres and points as one node of each kind, capsules one by one.


def add_ground(server: Any, robot: ViewedRobot, extent: Extent) -> None:
    """Draw the ground of a simulation where it is not the plane z = 0, and fixed boxes."""
    pairs = robot.simulation.scene.contacts if robot.simulation is not None else ()
    boxes: list[Shape] = []
    planes: list[Array] = []
    for fixed, pose in dict.fromkeys((pair.fixed, pair.world_H_fixed) for pair in pairs):
        if isinstance(fixed, Box):
            boxes.append(Shape(fixed, pose))
        elif isinstance(fixed, Plane):
            normal = pose.matrix()[:3, 2]
            row = np.append(normal, normal @ pose.matrix()[:3, 3])
            planes += [] if np.allclose(row, UPWARD, rtol=0, atol=1e-9) else [row]
    rows = Obstacles(half_spaces=np.array(planes).reshape(-1, 4))
    add_obstacles(server, boxes, extent, GREY, root=f"{robot.name} boxes")
    add_obstacles(server, rows, extent, GREY, root=f"{robot.name} ground")


def add_obstacles(
    server: Any,
    obstacles: Obstacles | Iterable[Shape],
    extent: Extent,
    color: Rgb,
    *,
    root: str = "obstacles",
) -> list[Any]:
    """Draw obstacles below a root and return their nodes; a half-space is a square plate."""
    rows = as_obstacles(obstacles)
    for kind in WIDTHS:
        if getattr(rows, kind).ndim > 2:
            shape = getattr(rows, kind).shape
            raise ShapeError(f"obstacles: expected obstacles of one state, got {kind} {shape}")
    spheres, boxes = rows.rows("spheres"), [*rows.boxes]
    boxes += [_plate(one, extent.reach) for one in rows.half_spaces]
    nodes: list[Any] = []

    def add(name: str, surface: Surface, poses: Array, scales: Array) -> None:
        colors, path = np.tile(color, (len(poses), 1)), node(root, name)
        nodes.append(add_batch(server.scene, path, surface, poses, scales, colors, 0.8))

    if len(spheres):
        radii = np.maximum(spheres[:, 3:], LEAST_POINT * extent.reach)
        poses = se3.pose(np.eye(3), spheres[:, :3])
        add("spheres", Sphere(1.0).surface(), poses, np.tile(radii, 3))
    if boxes:
        table = np.array(boxes)
        poses = se3.pose(quat.to_rotation(table[:, 3:7]), table[:, :3])
        add("boxes", Box((1.0, 1.0, 1.0)).surface(), poses, table[:, 7:])
    for k, one in enumerate(rows.capsules):
        axis, middle = one[3:6] - one[:3], (one[:3] + one[3:6]) / 2
        length = float(np.linalg.norm(axis))
        rotation = pose_along(axis / length)[:3, :3] if length else np.eye(3)
        surface = Capsule(float(one[6]), length).surface()
        add(f"capsule {k}", surface, se3.pose(rotation, middle)[None], np.ones((1, 3)))
    return nodes


def _plate(half_space: Array, reach: float) -> Array:
    """Return the box of a half-space, as a row of `Obstacles.boxes`."""
    normal, size = half_space[:3], reach * np.array(PLATE)
    center = normal * (half_space[3] - size[2] / 2)
    return np.concatenate([center, quat.from_rotation(pose_along(normal)[:3, :3]), size])
