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

from linkwork.errors import ArgumentError, Finding, LinkworkError, ModelError, counted, shown
from linkwork.io.mesh_files import import_trimesh, read_surface
from linkwork.model.geometry import Geometry, Mesh, Primitive, Shape, Surface
from linkwork.model.inertia import NO_INERTIA, Inertia, combined, moved, six
from linkwork.model.model import Model
from linkwork.model.parts import Link

WORLD = "world"  # needs no inertia
FLAT = 1e-9  # volume of a flat mesh of size 1


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
        except (NoVolumeError, ModelError) as error:
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


class NoVolumeError(LinkworkError):
    """A shape that has no volume or cannot be read."""


def _total(shapes: Iterable[Shape], density: float) -> tuple[Inertia, list[str]]:
    """Return the inertia of all shapes, and warnings about them."""
    total, warnings = NO_INERTIA, list[str]()
    for shape in shapes:
        solid, warning = _solid(shape.geometry, density)
        total = combined(total, moved(solid, shape.link_H_shape))
        warnings += [warning] if warning else []
    if not total.mass:
        raise NoVolumeError("the shapes have no volume")
    return total, warnings


def _solid(geometry: Geometry, density: float) -> tuple[Inertia, str]:
    """Return the inertia of a homogeneous shape, and a warning or an empty string."""
    if isinstance(geometry, Mesh):
        surface, reason = read_surface(geometry)
        if surface is None:
            raise NoVolumeError(reason)
        return solid_surface(surface, density, f"mesh {geometry.filename!r}")
    assert isinstance(geometry, Primitive)
    return geometry.inertia(density), ""


def solid_surface(surface: Surface, density: float, name: str) -> tuple[Inertia, str]:
    """Return the inertia of a homogeneous solid, and a warning if its surface is not closed.

    Args:
        surface: of the solid.
        density: [kg/m^3].
        name: of the surface, for messages.
    """
    # centered, so that no digits are lost far from the origin; of size 1, because trimesh merges
    # vertices that are nearer than 1e-8
    center, size = surface.vertices.mean(axis=0), float(surface.extents.max())
    if not size:
        raise NoVolumeError(f"{name} has no volume")
    unit = (surface.vertices - center) / size
    mesh = import_trimesh().Trimesh(unit, surface.faces, process=True)
    warning = ""
    if not (mesh.is_watertight and mesh.is_winding_consistent):
        warning = f"{name} is not a closed surface; the inertia is that of its convex hull"
        try:
            mesh = mesh.convex_hull
        except ImportError as error:
            text = f"{name} is not a closed surface, and its convex hull needs scipy"
            raise NoVolumeError(f"{text}; pip install scipy") from error
        except Exception as error:  # scipy raises QhullError for flat surfaces
            raise NoVolumeError(f"{name} has no volume") from error
    with np.errstate(all="ignore"):  # trimesh divides by the volume
        volume = float(mesh.volume)
    if abs(volume) <= FLAT:
        raise NoVolumeError(f"{name} has no volume")
    if volume < 0:
        mesh.invert()
    properties = mesh.mass_properties
    mass = density * abs(volume) * (size * size * size)
    com = np.asarray(properties["center_mass"]) * size + center
    tensor = mass / abs(volume) * (size * size) * np.asarray(properties["inertia"])
    return Inertia(mass, tuple(com.tolist()), six(tensor)), warning


def _positive(density: object) -> float:
    if (
        not isinstance(density, (int, float, np.number))
        or isinstance(density, bool)
        or not 0 < float(density) < math.inf
    ):
        expected = "inertia_from_meshes: expected a density above 0 [kg/m^3], such as 1000"
        raise ArgumentError(f"{expected}, got {shown(density)}")
    return float(density)
