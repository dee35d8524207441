"""Inertias of links from the volumes of their shapes, with a density.

Shapes    the collisions of a link, or its visuals if it has no collisions; where they overlap, the
          volume counts twice
Meshes    must be closed surfaces; otherwise, the convex hull is used, with a warning
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import replace

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, Finding, LinkworkError, ModelError, counted, shown
from linkwork.io.mesh_files import import_trimesh
from linkwork.io.surfaces import joined, read_mesh
from linkwork.model.geometry import Box, Capsule, Cylinder, Geometry, Mesh, Shape, Sphere
from linkwork.model.inertia import (
    NO_INERTIA,
    Inertia,
    combined,
    moved,
    six,
    solid_box,
    solid_cylinder,
    solid_sphere,
)
from linkwork.model.model import Model
from linkwork.model.parts import Link

WORLD = "world"  # needs no inertia
# A mesh with less volume than this fraction of a cube of its size is flat.
FLAT = 1e-9


def with_shape_inertias(
    model: Model, density: float, defaults: Collection[str] = ()
) -> tuple[Model, list[Finding]]:
    """Add the inertias of their shapes to links that have shapes, but no inertia.

    Args:
        model: the robot.
        density: of all shapes [kg/m^3].
        defaults: names of links whose inertia is only a default of the file format.

    Returns:
        The model; a note for each link that was changed, a warning for each mesh that is not
        closed, and an error for each link whose shapes have no volume or cannot be read.

    Raises:
        ArgumentError: the density is not a positive number.
        MissingPackageError: there are meshes, but trimesh is not installed.
    """
    density = _positive(density)
    links: list[Link] = []
    findings: list[Finding] = []
    for link in model.links:
        shapes = link.collisions or link.visuals
        is_missing = link.inertia == NO_INERTIA or link.name in defaults
        if not shapes or not is_missing or link.name == WORLD:
            links.append(link)
            continue
        try:
            total, warnings = _total(shapes, density)
        except (_NoVolumeError, ModelError) as error:
            text = error.findings[0].text if isinstance(error, ModelError) else str(error)
            text = f"no inertia from shapes: {text}"
            findings.append(Finding("error", f"link {link.name!r}", text, link.location))
            continue
        kind = "collision" if link.collisions else "visual"
        text = f"inertia from {counted(len(shapes), f'{kind} shape')}: {total.mass:.6g} kg"
        findings += [
            Finding("note", f"link {link.name!r}", text, link.location),
            *(Finding("warning", f"link {link.name!r}", w, link.location) for w in warnings),
        ]
        links.append(replace(link, inertia=total))
    if len(links) < len(model.links):
        return model, findings
    return replace(model, links=tuple(links)), findings


def solid_primitive(geometry: Box | Cylinder | Capsule | Sphere, density: float) -> Inertia:
    """The inertia of a homogeneous shape about its origin."""
    match geometry:
        case Box(size):
            return solid_box(density * math.prod(size), size)
        case Sphere(radius):
            return solid_sphere(_ball_mass(density, radius), radius)
        case Cylinder(radius, length):
            return solid_cylinder(_cylinder_mass(density, radius, length), radius, length)
        case Capsule(radius, length):
            return _solid_capsule(density, radius, length)


def _ball_mass(density: float, radius: float) -> float:
    # Products, because a power of floats raises OverflowError where a product is infinite, which
    # `Inertia` rejects.
    return density * 4 / 3 * math.pi * (radius * radius * radius)


def _cylinder_mass(density: float, radius: float, length: float) -> float:
    return density * math.pi * (radius * radius) * length


def _solid_capsule(density: float, radius: float, length: float) -> Inertia:
    """A cylinder with a half ball on each end, whose center of mass is 3/8 r from its base."""
    tube = solid_cylinder(_cylinder_mass(density, radius, length), radius, length)
    ball = _ball_mass(density, radius)
    along = 0.4 * ball * radius * radius
    base = 3 / 8 * radius
    offset = length / 2 + base
    across = along + ball * (offset * offset - base * base)
    return Inertia(
        tube.mass + ball,
        tensor=(
            tube.tensor[0] + across,
            0.0,
            0.0,
            tube.tensor[3] + across,
            0.0,
            tube.tensor[5] + along,
        ),
    )


class _NoVolumeError(LinkworkError):
    """A shape that has no volume or cannot be read."""


def _total(shapes: Iterable[Shape], density: float) -> tuple[Inertia, list[str]]:
    """The inertia of all shapes, and warnings about them."""
    total, warnings = NO_INERTIA, list[str]()
    for shape in shapes:
        solid, warning = _solid(shape.geometry, density)
        total = combined(total, moved(solid, shape.link_H_shape))
        warnings += [warning] if warning else []
    if not total.mass:
        raise _NoVolumeError("the shapes have no volume")
    return total, warnings


def _solid(geometry: Geometry, density: float) -> tuple[Inertia, str]:
    """The inertia of a homogeneous shape, and a warning or an empty string."""
    if not isinstance(geometry, Mesh):
        return solid_primitive(geometry, density), ""
    pieces, reason = read_mesh(geometry)
    if reason:
        raise _NoVolumeError(reason)
    surface = joined([piece for piece, _ in pieces])
    return solid_surface(surface.vertices, surface.faces, density, f"mesh {geometry.filename!r}")


def solid_surface(vertices: Array, faces: Array, density: float, name: str) -> tuple[Inertia, str]:
    """The inertia of a homogeneous solid, and a warning if its surface is not closed.

    Args:
        vertices: (n, 3) [m].
        faces: (m, 3) indices of vertices.
        density: [kg/m^3].
        name: of the surface, for messages.
    """
    center = vertices.mean(axis=0)  # so that no digits are lost far from the origin
    mesh = import_trimesh().Trimesh(vertices - center, faces, process=True)
    warning = ""
    if not (mesh.is_watertight and mesh.is_winding_consistent):
        warning = f"{name} is not a closed surface; the inertia is that of its convex hull"
        try:
            mesh = mesh.convex_hull
        except ImportError as error:
            text = f"{name} is not a closed surface, and its convex hull needs scipy"
            raise _NoVolumeError(f"{text}; pip install scipy") from error
        except Exception as error:  # scipy raises QhullError for flat surfaces
            raise _NoVolumeError(f"{name} has no volume") from error
    with np.errstate(all="ignore"):  # trimesh divides by the volume
        volume = float(mesh.volume)
    if abs(volume) <= FLAT * float(mesh.extents.max()) ** 3:
        raise _NoVolumeError(f"{name} has no volume")
    if volume < 0:
        mesh.invert()
    properties = mesh.mass_properties
    com = np.asarray(properties["center_mass"]) + center
    tensor = density * np.asarray(properties["inertia"])
    return Inertia(density * abs(volume), tuple(com.tolist()), six(tensor)), warning


def _positive(density: object) -> float:
    if (
        not isinstance(density, (int, float, np.number))
        or isinstance(density, bool)
        or not 0 < float(density) < math.inf
    ):
        expected = "inertia_from_meshes: expected a density above 0 [kg/m^3], such as 1000"
        raise ArgumentError(f"{expected}, got {shown(density)}")
    return float(density)
