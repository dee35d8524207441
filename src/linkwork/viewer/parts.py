"""What is drawn of each link: its visuals as surfaces with colours and poses, and notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.model.geometry import Mesh, Shape
from linkwork.model.model import Model
from linkwork.viewer.colors import UNRESOLVED, Rgb, rgb_of
from linkwork.viewer.meshes import read_mesh
from linkwork.viewer.surfaces import Surface, box, cylinder, sphere, surface_of

TYPICAL = 0.2  # distance between the joints of a robot that says nothing of it [m]
BOX_EDGE = 0.3  # of a box that stands for a mesh, in typical distances between joints
STICK = 0.06  # radius of a stick between joints, of a robot without shapes, in the same


@dataclass(frozen=True, eq=False)
class Part:
    """A surface that moves with a link."""

    surface: Surface
    color: Rgb
    opacity: float
    link_H_part: Array  # (4, 4)


@dataclass(frozen=True, eq=False)
class Drawing:
    """What is drawn of each link, and what could not be."""

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
    """The surfaces of shapes by the name of what they are fixed to.

    Args:
        shapes: to draw.
        typical: distance between joints, which boxes that stand for meshes are sized by [m].
    """
    notes: list[str] = []
    parts = {
        name: list(_parts(own, name, notes, BOX_EDGE * typical)) for name, own in shapes.items()
    }
    return Drawing(parts, notes)


def _parts(shapes: Sequence[Shape], name: str, notes: list[str], edge: float) -> Iterable[Part]:
    for shape in shapes:
        pose = shape.link_H_shape.matrix()
        color, opacity = rgb_of(shape.material)
        if not isinstance(shape.geometry, Mesh):
            surface = surface_of(shape.geometry)
            assert surface is not None
            yield Part(surface, color, opacity, pose)
            continue
        pieces, why = read_mesh(shape.geometry)
        if why:
            notes.append(f"{name}: {why}; drawn as a box")
            yield Part(box((edge, edge, edge)), UNRESOLVED, 1.0, pose)
        given = shape.material is not None and shape.material.rgba is not None
        for surface, own in pieces:
            yield Part(surface, color if given or own is None else own, opacity, pose)


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
    z = end / length
    helper = np.array([1.0, 0.0, 0.0]) if abs(z[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x = np.cross(helper, z)
    x /= np.linalg.norm(x)
    pose = np.eye(4)
    pose[:3, :3] = np.stack([x, np.cross(z, x), z], axis=-1)
    pose[:3, 3] = end / 2
    return Part(cylinder(radius, length), (170, 176, 186), 1.0, pose)
