"""What is drawn of each link: its shapes and meshes as colored triangles, and notes; color scales.

Meshes are read from their files by trimesh. Whatever cannot be read is drawn as a box, with a note.
Colors are RGB, each 0 to 255.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from linkwork.collision.shapes import axes_along
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import missing_package
from linkwork.io.mesh_files import read_mesh
from linkwork.model.geometry import Box, Cylinder, Material, Mesh, Primitive, Shape, Sphere, Surface
from linkwork.model.model import Model

Rgb: TypeAlias = tuple[int, int, int]

GREY: Rgb = (170, 176, 186)  # of a link whose file says nothing
UNRESOLVED: Rgb = (214, 160, 80)  # of a box that stands for a mesh
UNPHYSICAL: Rgb = (220, 40, 40)
PHYSICAL: Rgb = (70, 150, 220)
CLOSED: Rgb = (60, 170, 110)  # of a loop
OPEN: Rgb = (220, 40, 40)
FREE: Rgb = (70, 170, 120)  # of collision shapes
COLLIDING: Rgb = (220, 40, 40)
OBSTACLE: Rgb = (205, 140, 90)
COM: Rgb = (240, 200, 40)
LINEAR: Rgb = (40, 130, 230)  # arrows of velocities
CONTACT: Rgb = (215, 30, 90)  # forces on the robot
ANGULAR: Rgb = (235, 130, 40)
TRACE: Rgb = (200, 60, 160)
MANIPULABILITY: Rgb = (120, 90, 210)

# From no load to full load: each color, and its share of the load.
_LOAD_SHARES = (0.0, 0.5, 0.8, 1.0)
_LOAD_COLORS = ((90, 190, 110), (240, 210, 70), (240, 140, 50), (220, 40, 40))


def rgb_of(material: Material | None, otherwise: Rgb = GREY) -> tuple[Rgb, float]:
    """Return the color and opacity of a material; numbers are clipped to 0 to 1."""
    if material is None or material.rgba is None:
        return otherwise, 1.0
    r, g, b, a = (min(max(number, 0.0), 1.0) for number in material.rgba)
    return (round(255 * r), round(255 * g), round(255 * b)), a


def load_colors(shares: ArrayLike) -> Array:
    """Return (..., 3) colors of loads: green for none, red for 1, the limit, and beyond it.

    Args:
        shares: (...) each load divided by its limit, of either sign.
    """
    return _scale(np.minimum(np.abs(np.asarray(shares, float)), 1.0), _LOAD_SHARES, _LOAD_COLORS)


def linear(rgb: ArrayLike) -> Array:
    """Colors as viser takes them for batches of meshes: proportional to light, not sRGB."""
    share = np.asarray(rgb, float) / 255
    light = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return np.round(255 * light).astype(np.uint8)


def hexadecimal(rgb: ArrayLike) -> str:
    """Return a color as HTML writes it, such as #ff8000."""
    r, g, b = np.asarray(rgb).tolist()
    return f"#{r:02x}{g:02x}{b:02x}"


def _scale(shares: Array, at: tuple[float, ...], colors: tuple[Rgb, ...]) -> Array:
    table = np.array(colors, float)
    channels = [np.interp(shares, at, table[:, k]) for k in range(3)]
    return np.round(np.stack(channels, axis=-1)).astype(np.uint8)


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
    """Draw the visuals of a robot, else its collision shapes, else sticks between its joints."""
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
    """Return the pose at the origin, (4, 4), whose z axis is a unit vector."""
    pose = np.eye(4)
    pose[:3, :3] = axes_along(axis)
    return pose


def viewer_package(name: str) -> Any:
    """Import a package of the viewer, or raise an error that explains how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise missing_package("the viewer", *VIEWER_PACKAGES) from error
