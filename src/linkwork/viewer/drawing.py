"""What is drawn of each link: its shapes and meshes as colored triangles, and notes.

Meshes are read from their files by trimesh. Whatever cannot be read is drawn as a box, with a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import MissingPackageError, clipped, missing_package
from linkwork.model.geometry import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from linkwork.model.model import Model
from linkwork.viewer.colors import GREY, UNRESOLVED, Rgb, rgb_of

VIEWER_PACKAGES = ("viser", "trimesh", "pycollada")
MOST_BYTES = 200_000_000  # of a mesh file that is read
SEGMENTS = 32  # around a round shape
RINGS = 16  # from pole to pole of a ball
ROUNDING = 1e-12  # radii below this fraction of the largest are those of a pole
TYPICAL = 0.2  # distance between the joints of a robot whose links have no length [m]
BOX_EDGE = 0.3  # of the box that replaces a mesh, in typical distances between joints
STICK = 0.06  # radius of a stick between joints, of a robot without shapes, in the same


# Links.


@dataclass(frozen=True, eq=False)
class Part:
    """A surface that moves with a link."""

    surface: Surface
    color: Rgb
    opacity: float
    link_H_part: Array  # (4, 4)


@dataclass(frozen=True, eq=False)
class Drawing:
    """The surfaces of each link, and notes about those that could not be drawn."""

    parts: dict[str, list[Part]]
    notes: list[str]

    @property
    def size(self) -> float:
        """Of the largest link [m], to choose sizes of triads by."""
        extents = [float(p.surface.extents.max()) for parts in self.parts.values() for p in parts]
        return max(extents, default=0.2)


def drawing_of(model: Model) -> Drawing:
    """The visuals of a robot; its collision shapes if it has none, sticks if it has neither."""
    shapes = {link.name: link.visuals for link in model.links}
    notes: list[str] = []
    if not any(shapes.values()):
        shapes = {link.name: link.collisions for link in model.links}
        if any(shapes.values()):
            notes.append("the robot has no visuals; its collision shapes are drawn")
    if not any(shapes.values()):
        return Drawing(_sticks(model), ["the robot has no shapes; joints and sticks are drawn"])
    drawn = drawing_of_shapes(shapes, _between_joints(model))
    return Drawing(drawn.parts, [*notes, *drawn.notes])


def drawing_of_shapes(shapes: dict[str, tuple[Shape, ...]], typical: float = TYPICAL) -> Drawing:
    """The surfaces of shapes by the name of the link or frame that they are fixed to.

    Args:
        shapes: to draw.
        typical: distance between joints, which boxes that stand for meshes are sized by [m].
    """
    notes: list[str] = []
    edge = BOX_EDGE * typical
    parts = {name: list(_parts(of_link, name, notes, edge)) for name, of_link in shapes.items()}
    return Drawing(parts, notes)


def _parts(shapes: Sequence[Shape], name: str, notes: list[str], edge: float) -> Iterable[Part]:
    for shape in shapes:
        pose = shape.link_H_shape.matrix()
        color, opacity = rgb_of(shape.material)
        if not isinstance(shape.geometry, Mesh):
            yield Part(surface_of(shape.geometry), color, opacity, pose)
            continue
        pieces, reason = read_mesh(shape.geometry)
        if reason:
            notes.append(f"{name}: {reason}; drawn as a box")
            yield Part(box((edge, edge, edge)), UNRESOLVED, 1.0, pose)
        has_color = shape.material is not None and shape.material.rgba is not None
        for surface, file_color in pieces:
            chosen = color if has_color or file_color is None else file_color
            yield Part(surface, chosen, opacity, pose)


def _between_joints(model: Model) -> float:
    """The median distance from the origin of a link to a joint on it [m]."""
    ends = [end for link in model.links for end in _joints_on(model, link.name)]
    lengths = [length for length in np.linalg.norm(ends, axis=-1) if length > 0] if ends else []
    return float(np.median(lengths)) if lengths else TYPICAL


def _joints_on(model: Model, link: str) -> list[Array]:
    """Where the joints of a link are on it, each (3,) [m]."""
    first = [j.first_H_joint.matrix()[:3, 3] for j in model.joints if j.first == link]
    back = [j.joint_H_second.matrix() for j in model.joints if j.second == link]
    second = [-(pose[:3, :3].T @ pose[:3, 3]) for pose in back]
    return first + second


def _sticks(model: Model) -> dict[str, list[Part]]:
    """A ball at the origin of each link, and a stick from it to each joint on it."""
    radius = STICK * _between_joints(model)
    ball = Part(sphere(1.8 * radius), (110, 130, 170), 1.0, np.eye(4))
    return {
        link.name: [
            ball,
            *(_stick(end, radius) for end in _joints_on(model, link.name) if end.any()),
        ]
        for link in model.links
    }


def _stick(end: Array, radius: float) -> Part:
    length = float(np.linalg.norm(end))
    pose = pose_along(end / length)
    pose[:3, 3] = end / 2
    return Part(cylinder(radius, length), GREY, 1.0, pose)


def pose_along(axis: Array) -> Array:
    """(4, 4) pose at the origin whose z axis is a unit vector."""
    helper = np.array([1.0, 0.0, 0.0]) if abs(axis[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    pose = np.eye(4)
    pose[:3, :3] = np.stack([x, np.cross(axis, x), axis], axis=-1)
    return pose


# Shapes as triangles.


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles, counterclockwise when seen from outside."""

    vertices: Array  # (n, 3) [m]
    faces: Array  # (m, 3) indices of vertices

    def scaled(self, scale: tuple[float, float, float]) -> Surface:
        """Scaled along the axes; a mirrored surface keeps its outside outside."""
        mirrored = scale[0] * scale[1] * scale[2] < 0
        faces = self.faces[:, ::-1] if mirrored else self.faces
        return Surface(self.vertices * np.array(scale), faces)

    @property
    def extents(self) -> Array:
        """(3,) edges of the box around it [m]."""
        if not len(self.vertices):
            return np.zeros(3)
        return self.vertices.max(axis=0) - self.vertices.min(axis=0)


def surface_of(geometry: Box | Cylinder | Capsule | Sphere) -> Surface:
    """The surface of a shape about its origin."""
    if isinstance(geometry, Box):
        return box(geometry.size)
    if isinstance(geometry, Cylinder):
        return cylinder(geometry.radius, geometry.length)
    if isinstance(geometry, Capsule):
        return capsule(geometry.radius, geometry.length)
    return sphere(geometry.radius)


def box(size: tuple[float, float, float]) -> Surface:
    """A box about the origin; sides share no vertices, so that edges look sharp."""
    vertices: list[list[float]] = []
    faces: list[list[int]] = []
    for axis in range(3):
        for side in (-1.0, 1.0):
            first, second = (axis + 1) % 3, (axis + 2) % 3
            at = len(vertices)
            for u, v in ((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)):
                corner = [0.0, 0.0, 0.0]
                corner[axis], corner[first], corner[second] = side, u, v
                vertices.append(corner)
            order = (0, 1, 2, 3) if side > 0 else (3, 2, 1, 0)
            a, b, c, d = (at + k for k in order)
            faces += [[a, b, c], [a, c, d]]
    return Surface(np.array(vertices) * np.array(size) / 2, np.array(faces))


def cylinder(radius: float, length: float) -> Surface:
    """A cylinder about the origin, along z."""
    half = length / 2
    side = _revolved([radius, radius], [-half, half])
    caps = [_revolved([0.0, radius], [-half, -half]), _revolved([radius, 0.0], [half, half])]
    return _joined([side, *caps])


def capsule(radius: float, length: float) -> Surface:
    """A cylinder along z with a half ball on each end."""
    angles = np.linspace(-np.pi / 2, np.pi / 2, RINGS + 2)
    angles = np.insert(angles, len(angles) // 2, [0.0, 0.0])
    middle = np.arange(len(angles)) >= len(angles) // 2
    heights = radius * np.sin(angles) + np.where(middle, length / 2, -length / 2)
    return _revolved((radius * np.cos(angles)).tolist(), heights.tolist())


def sphere(radius: float) -> Surface:
    """A ball about the origin."""
    angles = np.linspace(-np.pi / 2, np.pi / 2, RINGS + 1)
    return _revolved((radius * np.cos(angles)).tolist(), (radius * np.sin(angles)).tolist())


def _joined(surfaces: list[Surface]) -> Surface:
    """Several surfaces as one."""
    counts = np.cumsum([0, *(len(s.vertices) for s in surfaces)])
    faces = [s.faces + at for s, at in zip(surfaces, counts[:-1], strict=True)]
    return Surface(np.concatenate([s.vertices for s in surfaces]), np.concatenate(faces))


def _revolved(radii: list[float], heights: list[float]) -> Surface:
    """The surface of revolution of a polyline about z, from its lower end to its upper one."""
    angle = np.arange(SEGMENTS) * (2 * np.pi / SEGMENTS)
    around = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    r, z = np.array(radii), np.array(heights)
    r[np.abs(r) <= ROUNDING * np.abs(r).max()] = 0.0
    rings = np.empty((len(r), SEGMENTS, 3))
    rings[..., :2] = r[:, None, None] * around
    rings[..., 2] = z[:, None]
    here = np.arange(SEGMENTS)
    following = (here + 1) % SEGMENTS
    faces: list[Array] = [np.zeros((0, 3), dtype=np.intp)]
    for ring in range(len(r) - 1):
        low, high = ring * SEGMENTS, (ring + 1) * SEGMENTS
        if r[ring] > 0:
            faces.append(np.stack([low + here, low + following, high + following], axis=-1))
        if r[ring + 1] > 0:
            faces.append(np.stack([low + here, high + following, high + here], axis=-1))
    return Surface(rings.reshape(-1, 3), np.concatenate(faces))


# Mesh files.


def viewer_package(name: str) -> Any:
    """Import a package of the viewer, or raise an error that explains how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise missing_package("the viewer", *VIEWER_PACKAGES) from error


def read_mesh(mesh: Mesh) -> tuple[list[tuple[Surface, Rgb | None]], str]:
    """The scaled surfaces of a mesh, each with the color that its file gives, if any.

    Returns:
        the surfaces, and the reason if there are none; one of the two is empty.
    """
    if mesh.path is None:
        where = f"; searched {len(mesh.searched)} locations" if mesh.searched else ""
        return [], f"mesh {mesh.filename!r} not found{where}"
    try:
        pieces = _pieces(mesh.path, Path(mesh.path).stat().st_mtime_ns)
    except MissingPackageError:
        raise
    except Exception as error:  # noqa: BLE001 - readers of formats raise whatever comes to hand
        return [], f"mesh {mesh.filename!r} cannot be read: {clipped(_reason(error), 200)}"
    if not pieces:
        return [], f"mesh {mesh.filename!r} has no triangles"
    return [(surface.scaled(mesh.scale), color) for surface, color in pieces], ""


@lru_cache(maxsize=512)
def _pieces(path: str, changed: int) -> list[tuple[Surface, Rgb | None]]:
    """The surfaces in a file; `changed` is its time, so that a new file is read again."""
    del changed
    trimesh = viewer_package("trimesh")
    if Path(path).stat().st_size > MOST_BYTES:
        text = f"it is larger than {MOST_BYTES // 1_000_000} MB"
        raise ValueError(text)
    scene = trimesh.load_scene(path)
    pieces: list[tuple[Surface, Rgb | None]] = []
    for node in sorted(scene.graph.nodes_geometry):
        pose, name = scene.graph[node]
        mesh = scene.geometry[name]
        if not isinstance(mesh, trimesh.Trimesh) or not len(mesh.faces):
            continue
        vertices = np.asarray(mesh.vertices) @ pose[:3, :3].T + pose[:3, 3]
        if not np.isfinite(vertices).all():
            raise ValueError("a vertex is not finite")
        mirrored = np.linalg.det(pose[:3, :3]) < 0
        faces = np.asarray(mesh.faces)
        pieces.append((Surface(vertices, faces[:, ::-1] if mirrored else faces), _color(mesh)))
    return pieces


def _color(mesh: Any) -> Rgb | None:
    """The color that a file gives a piece, or None."""
    visual = mesh.visual
    if not getattr(visual, "defined", False):
        return None
    material = getattr(visual, "material", None)
    main: Any = visual.main_color if material is None else material.main_color
    r, g, b = np.asarray(main)[:3].tolist()
    return int(r), int(g), int(b)


def _reason(error: Exception) -> str:
    if isinstance(error, ImportError):
        return f"{error}; pip install {' '.join(VIEWER_PACKAGES)}"
    return str(error) or type(error).__name__
