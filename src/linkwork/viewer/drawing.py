"""What is drawn of each link: its shapes and meshes as colored triangles, and notes.

Meshes are read from their files by trimesh. Whatever cannot be read is drawn as a box, with a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import missing_package
from linkwork.io.mesh_files import read_mesh
from linkwork.model.geometry import Box, Cylinder, Mesh, Primitive, Shape, Sphere, Surface
from linkwork.model.model import Model
from linkwork.viewer.colors import GREY, UNRESOLVED, Rgb, rgb_of

VIEWER_PACKAGES = ("viser", "trimesh", "pycollada")
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
    """The surfaces of each link, and notes about shapes that could not be drawn."""

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
    """Return the surfaces of shapes by the name of the link or frame that they are fixed to.

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
        if isinstance(shape.geometry, Primitive):
            yield Part(shape.geometry.surface(), color, opacity, pose)
            continue
        assert isinstance(shape.geometry, Mesh)
        pieces, reason = read_mesh(shape.geometry)
        if reason:
            notes.append(f"{name}: {reason}; drawn as a box")
            yield Part(Box((edge, edge, edge)).surface(), UNRESOLVED, 1.0, pose)
        has_color = shape.material is not None and shape.material.rgba is not None
        for surface, file_color in pieces:
            chosen = color if has_color or file_color is None else file_color
            yield Part(surface, chosen, opacity, pose)


def _between_joints(model: Model) -> float:
    """Return the median distance from the origin of a link to a joint on it [m]."""
    ends = [end for link in model.links for end in _joints_on(model, link.name)]
    lengths = [length for length in np.linalg.norm(ends, axis=-1) if length > 0] if ends else []
    return float(np.median(lengths)) if lengths else TYPICAL


def _joints_on(model: Model, link: str) -> list[Array]:
    """Return where the joints of a link are on it, each (3,) [m]."""
    first = [j.first_H_joint.matrix()[:3, 3] for j in model.joints if j.first == link]
    back = [j.joint_H_second.matrix() for j in model.joints if j.second == link]
    second = [-(pose[:3, :3].T @ pose[:3, 3]) for pose in back]
    return first + second


def _sticks(model: Model) -> dict[str, list[Part]]:
    """Return a ball at the origin of each link, and a stick from it to each joint on it."""
    radius = STICK * _between_joints(model)
    ball = Part(Sphere(1.8 * radius).surface(), (110, 130, 170), 1.0, np.eye(4))
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
    return Part(Cylinder(radius, length).surface(), GREY, 1.0, pose)


def pose_along(axis: Array) -> Array:
    """(4, 4) pose at the origin whose z axis is a unit vector."""
    helper = np.array([1.0, 0.0, 0.0]) if abs(axis[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    pose = np.eye(4)
    pose[:3, :3] = np.stack([x, np.cross(axis, x), axis], axis=-1)
    return pose


def viewer_package(name: str) -> Any:
    """Import a package of the viewer, or raise an error that explains how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise missing_package("the viewer", *VIEWER_PACKAGES) from error
