"""Collision shapes of a robot replaced by spheres that contain them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite

import numpy as np

from linkwork.collision.spheres.cells import (
    CoveredShape,
    Target,
    covered_shape,
    feasible_tolerance,
    target_of,
)
from linkwork.collision.spheres.cover import Balls, cover_by_balls
from linkwork.engine.runtime import cache
from linkwork.engine.runtime.sources import source_digest
from linkwork.errors import (
    ArgumentError,
    Finding,
    ModelError,
    ValueRangeError,
    escaped,
    listed,
    model_error,
    shown,
)
from linkwork.io.mesh_files import read_surface
from linkwork.model.geometry import Mesh, Shape, Sphere, Surface
from linkwork.model.model import Model
from linkwork.model.parts import Link
from linkwork.model.pose import Pose
from linkwork.model.table import Table, as_text

TOLERANCE = 0.02  # by default [m]
LEAST_GROWTH = 1.15  # of the tolerance, if a link needs more shapes than allowed
VOLUME_POINTS = 5_000  # at random, to measure volumes
MOST_PRODUCTS = 20_000_000  # of such points and triangles


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkCover:
    """How well spheres cover the collision shapes of a link."""

    link: str
    n_shapes: int  # spheres
    n_radii: int  # distinct radii
    coverage: float  # fraction of the surface inside the new shapes; 1 is all of it
    protrusion: float  # no point of the new shapes is farther from the old ones [m]
    excess_volume: float | None  # volume outside the old shapes over theirs; None if they are open


@dataclass(frozen=True, slots=True, kw_only=True)
class Spherization:
    """The result of `spherize`; it prints as a table."""

    model: Model  # with spheres as collision shapes
    original: Model  # with the shapes that these cover
    links: tuple[LinkCover, ...]  # the links that have collision shapes, in the order of the model

    @property
    def n_shapes(self) -> int:
        """Number of spheres of the robot."""
        return sum(link.n_shapes for link in self.links)

    def __repr__(self) -> str:
        counts = f"{self.n_shapes} shapes on {len(self.links)} links"
        return f"<Spherization of {self.model.name!r}: {counts}>"

    def __str__(self) -> str:
        rows = [
            (
                escaped(one.link),
                str(one.n_shapes),
                str(one.n_radii),
                f"{100 * one.coverage:.6g} %",
                f"{1000 * one.protrusion:.1f}",
                "-" if one.excess_volume is None else f"{100 * one.excess_volume:.0f} %",
            )
            for one in self.links
        ]
        columns = ("link", "shapes", "radii", "coverage", "protrusion [mm]", "excess volume")
        title = f"{escaped(self.model.name)}: {self.n_shapes} shapes on {len(rows)} links"
        return as_text(Table(title, columns, tuple(rows), frozenset(columns[1:])))


def spherize(
    model: Model,
    *,
    tolerance: float = TOLERANCE,
    max_spheres: int | None = None,
) -> Spherization:
    """Replace the collision shapes of each link by spheres that contain them.

    Every point of the surface of the old shapes is inside a new one: this is ensured for small
    convex pieces of the surface, not for samples. The inside of closed shapes is covered too,
    except for gaps in which no ball fits whose radius is half the tolerance, or 1/20 of the size of
    the link if that is more. Holes of a mesh count as closed, by a cone over their rim.

    Args:
        model: the robot. Its meshes are read with the package `trimesh`.
        tolerance: how far the new shapes may protrude from the old ones [m]. Links with an area of
            more than 2500 times its square may exceed it, which the result reports.
        max_spheres: most spheres of a link; by default there is no limit. A link that needs more
            gets a larger protrusion.

    Returns:
        The robot with the new collision shapes, and for each link how well they fit. The spheres of
        a link are sorted by radius, and share radii where the tolerance allows it. The result is
        the same for every call.

    Raises:
        ModelError: there are no collision shapes, or a mesh is missing or cannot be read; the
            message lists all such meshes and the paths that were searched.
        MissingPackageError: the robot has meshes, and trimesh is not installed.
        ValueRangeError: the tolerance is not above 0, or `max_spheres` is below 1.
    """
    _check_arguments(model, tolerance, max_spheres)
    solids = _read_solids(model)
    covers: dict[str, LinkCover] = {}
    links: list[Link] = []
    for link in model.links:
        if link.name in solids:
            new, report = _covered(link.name, solids[link.name], tolerance, max_spheres)
            covers[link.name] = report
            links.append(replace(link, collisions=new))
        else:
            links.append(link)
    covered = replace(model, links=tuple(links))
    return Spherization(model=covered, original=model, links=tuple(covers.values()))


def _covered(
    link: str, solids: Sequence[CoveredShape], tolerance: float, most: int | None
) -> tuple[tuple[Shape, ...], LinkCover]:
    """The spheres of a link, and how well they fit; from the cache if they were computed."""
    key = _cache_key(solids, tolerance, most)
    content = cache.fetch(key, cache.DATA)
    if content is not None:
        stored = json.loads(content)
        report = LinkCover(link=link, **stored["report"])
    else:
        target = target_of(solids, tolerance)
        balls = _balls(target, feasible_tolerance(solids, tolerance), most)
        report = _report(link, solids, target, balls)
        fields = {name: value for name, value in asdict(report).items() if name != "link"}
        stored = {"centers": balls.centers.tolist(), "radii": balls.radii.tolist()}
        stored["report"] = fields
        cache.store(key, json.dumps(stored).encode(), cache.DATA)
    pairs = zip(stored["centers"], stored["radii"], strict=True)
    return tuple(Shape(Sphere(radius), Pose(xyz=tuple(xyz))) for xyz, radius in pairs), report


def _cache_key(solids: Sequence[CoveredShape], tolerance: float, most: int | None) -> str:
    """A digest of all that decides about the new shapes: surfaces, settings and sources."""
    digest = hashlib.sha256(repr((float(tolerance), most, np.__version__)).encode())
    digest.update(source_digest().encode())
    for solid in solids:
        arrays = [solid.link_H_shape, solid.caps]
        if solid.surface is not None:
            arrays += [solid.surface.vertices, solid.surface.faces]
        digest.update(repr(solid.geometry).encode())
        for array in arrays:
            digest.update(repr((array.shape, array.dtype.str)).encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def refined(cover: Spherization, names: Iterable[str], tolerance: float) -> Spherization:
    """The same with other spheres for some links, which protrude by no more than a tolerance."""
    chosen, original = set(names), cover.original
    bare = [x if x.name in chosen else replace(x, collisions=()) for x in original.links]
    new = spherize(replace(original, links=tuple(bare)), tolerance=tolerance)
    links = [new.model.link(x.name) if x.name in chosen else x for x in cover.model.links]
    reports = {one.link: one for one in new.links}
    return Spherization(
        model=replace(cover.model, links=tuple(links)),
        original=original,
        links=tuple(reports.get(one.link, one) for one in cover.links),
    )


def _check_arguments(model: object, tolerance: object, max_spheres: object) -> None:
    if not isinstance(model, Model):
        raise ArgumentError(f"model: expected a Model, got {shown(model)}")
    if not isinstance(tolerance, (int, float, np.floating)) or isinstance(tolerance, bool):
        raise ArgumentError(f"tolerance: expected a number, got {shown(tolerance)}")
    if not (isfinite(tolerance) and tolerance > 0):
        raise ValueRangeError(f"tolerance: expected a length above 0 [m], got {tolerance}")
    if max_spheres is None:
        return
    if not isinstance(max_spheres, int) or isinstance(max_spheres, bool):
        raise ArgumentError(f"max_spheres: expected an integer, got {shown(max_spheres)}")
    if max_spheres < 1:
        raise ValueRangeError(f"max_spheres: expected at least 1, got {max_spheres}")


def _read_solids(model: Model) -> dict[str, list[CoveredShape]]:
    """The collision shapes of each link that has any."""
    findings: list[Finding] = []
    solids: dict[str, list[CoveredShape]] = {}
    for link in model.links:
        for shape in link.collisions:
            surface: Surface | None = None
            if isinstance(shape.geometry, Mesh):
                surface, reason = read_surface(shape.geometry)
                if reason:
                    reason = _not_found(shape.geometry) if shape.geometry.path is None else reason
                    findings.append(Finding("error", f"link {link.name!r}", reason, link.location))
                    continue
            pose = shape.link_H_shape.matrix()
            solid = covered_shape(shape.geometry, pose, surface)
            solids.setdefault(link.name, []).append(solid)
    if findings:
        raise ModelError(findings)
    if not solids:
        raise model_error("the robot has no collision shapes to cover")
    return solids


def _not_found(mesh: Mesh) -> str:
    hint = "load the robot with package_dirs=..."
    searched = f"; searched {listed(list(mesh.searched))}" if mesh.searched else ""
    return f"mesh {mesh.filename!r} not found{searched}; {hint}"


def _report(link: str, solids: Sequence[CoveredShape], target: Target, balls: Balls) -> LinkCover:
    """Measure how well spheres fit a link."""
    covered = np.zeros(len(target.corners), dtype=bool)
    for center, radius in zip(balls.centers, balls.radii, strict=True):
        left = np.flatnonzero(~covered)
        far = np.linalg.norm(target.corners[left] - center, axis=-1).max(axis=1)
        covered[left] = far + target.radii[left] <= radius
    total = float(target.areas.sum())
    return LinkCover(
        link=link,
        n_shapes=len(balls.radii),
        n_radii=len(np.unique(balls.radii)),
        coverage=float(target.areas[covered].sum()) / total if total else float(covered.mean()),
        protrusion=balls.protrusion,
        excess_volume=_excess_volume(solids, target, balls),
    )


def _excess_volume(solids: Sequence[CoveredShape], target: Target, balls: Balls) -> float | None:
    """The volume of spheres outside the old shapes, over the volume of these."""
    reach = balls.radii[:, None]
    low, high = (balls.centers - reach).min(axis=0), (balls.centers + reach).max(axis=0)
    triangles = sum(len(s.surface.faces) for s in solids if s.surface is not None)
    count = min(VOLUME_POINTS, MOST_PRODUCTS // max(triangles, 1))
    points = np.random.default_rng(0).uniform(low, high, (count, 3))
    inside_new = np.zeros(count, dtype=bool)
    for center, radius in zip(balls.centers, balls.radii, strict=True):
        left = np.flatnonzero(~inside_new)
        inside_new[left] = np.linalg.norm(points[left] - center, axis=-1) <= radius
    inside_old = target.contains(points[inside_new])
    n_old = int(inside_old.sum())
    return float(len(inside_old) - n_old) / n_old if n_old else None


def _balls(target: Target, tolerance: float, most: int | None) -> Balls:
    """Cover by balls; the tolerance grows until they are few enough."""
    balls = cover_by_balls(target, tolerance)
    while most is not None and len(balls.radii) > most:
        tolerance *= max(LEAST_GROWTH, (len(balls.radii) / most) ** (1 / 3))
        balls = cover_by_balls(target, tolerance)
    return balls
