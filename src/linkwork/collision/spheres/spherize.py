"""Collision shapes of a robot replaced by spheres or capsules that contain them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite
from typing import Literal, TypeAlias, get_args

import numpy as np

from linkwork.collision.shapes import axes_along
from linkwork.collision.spheres.cells import Solid, Target, feasible_tolerance, solid_of, target_of
from linkwork.collision.spheres.cover import SLACK, Balls, cover_by_balls
from linkwork.engine.runtime import cache
from linkwork.engine.runtime.sources import source_digest
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import (
    ArgumentError,
    Finding,
    ModelError,
    ValueRangeError,
    escaped,
    listed,
    model_error,
    nearest,
    shown,
)
from linkwork.io.mesh_files import read_surface
from linkwork.model.geometry import Capsule, Mesh, Shape, Sphere, Surface
from linkwork.model.model import Model
from linkwork.model.parts import Link
from linkwork.model.pose import Pose, as_pose
from linkwork.model.table import Table, as_text

CoverShapes: TypeAlias = Literal["spheres", "capsules"]

TOLERANCE = 0.02  # by default [m]
LEAST_GROWTH = 1.15  # of the tolerance, if a link needs more shapes than allowed
MOST_CAPSULES = 8  # of a link, unless the caller decides
DIRECTIONS = 64  # in which outer points are looked for
AXIS_SAMPLES = 100  # along a capsule, to bound how far it protrudes
VOLUME_POINTS = 5_000  # at random, to measure volumes
MOST_PRODUCTS = 20_000_000  # of such points and triangles


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkCover:
    """How well spheres or capsules cover the collision shapes of a link."""

    link: str
    n_shapes: int  # spheres or capsules
    n_radii: int  # distinct radii
    coverage: float  # fraction of the surface inside the new shapes; 1 is all of it
    protrusion: float  # no point of the new shapes is farther from the old ones [m]
    excess_volume: float | None  # volume outside the old shapes over theirs; None if they are open


@dataclass(frozen=True, slots=True, kw_only=True)
class Spherization:
    """The result of `spherize`; it prints as a table."""

    model: Model  # with spheres or capsules as collision shapes
    original: Model  # with the shapes that these cover
    links: tuple[LinkCover, ...]  # the links that have collision shapes, in the order of the model

    @property
    def n_shapes(self) -> int:
        """Number of spheres or capsules of the robot."""
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
    shapes: CoverShapes = "spheres",
) -> Spherization:
    """Replace the collision shapes of each link by spheres, or capsules, that contain them.

    Every point of the surface of the old shapes is inside a new one: this is ensured for small
    convex pieces of the surface, not for samples. The inside of closed shapes is covered too,
    except for gaps in which no ball fits whose radius is half the tolerance, or 1/20 of the size of
    the link if that is more. Holes of a mesh count as closed, by a cone over their rim.

    Args:
        model: the robot. Its meshes are read with the package `trimesh`.
        tolerance: how far the new shapes may protrude from the old ones [m]. Links with an area of
            more than 2500 times its square may exceed it, which the result reports.
        max_spheres: most spheres or capsules of a link. A link that needs more gets a larger
            protrusion. By default there is no limit for spheres, and 8 for capsules.
        shapes: "spheres" or "capsules".

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
    _check_arguments(model, tolerance, max_spheres, shapes)
    solids = _read_solids(model, divide=shapes == "spheres")
    covers: dict[str, LinkCover] = {}
    links: list[Link] = []
    for link in model.links:
        if link.name in solids:
            new, report = _covered(link.name, solids[link.name], tolerance, max_spheres, shapes)
            covers[link.name] = report
            links.append(replace(link, collisions=new))
        else:
            links.append(link)
    covered = replace(model, links=tuple(links))
    return Spherization(model=covered, original=model, links=tuple(covers.values()))


def _covered(
    link: str, solids: Sequence[Solid], tolerance: float, most: int | None, kind: CoverShapes
) -> tuple[tuple[Shape, ...], LinkCover]:
    """The new shapes of a link, and how well they fit; from the cache if they were computed."""
    key = _cache_key(solids, tolerance, most, kind)
    content = cache.fetch(key, cache.DATA)
    if content is not None:
        stored = json.loads(content)
        segments, radii = np.array(stored["segments"]), stored["radii"]
        report = LinkCover(link=link, **stored["report"])
    else:
        cover = _Cover(solids, tolerance, most, kind)
        segments, radii, report = cover.segments, cover.radii.tolist(), cover.report(link)
        fields = {name: value for name, value in asdict(report).items() if name != "link"}
        stored = {"segments": segments.tolist(), "radii": radii, "report": fields}
        cache.store(key, json.dumps(stored).encode(), cache.DATA)
    pairs = zip(segments, radii, strict=True)
    return tuple(_shape(start, end, float(radius)) for (start, end), radius in pairs), report


def _cache_key(solids: Sequence[Solid], tolerance: float, most: int | None, kind: str) -> str:
    """A digest of all that decides about the new shapes: surfaces, settings and sources."""
    digest = hashlib.sha256(repr((float(tolerance), most, kind, np.__version__)).encode())
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


def _check_arguments(model: object, tolerance: object, max_spheres: object, shapes: object) -> None:
    if not isinstance(model, Model):
        raise ArgumentError(f"model: expected a Model, got {shown(model)}")
    if not isinstance(tolerance, (int, float, np.floating)) or isinstance(tolerance, bool):
        raise ArgumentError(f"tolerance: expected a number, got {shown(tolerance)}")
    if not (isfinite(tolerance) and tolerance > 0):
        raise ValueRangeError(f"tolerance: expected a length above 0 [m], got {tolerance}")
    if shapes not in get_args(CoverShapes):
        expected = nearest(shapes, get_args(CoverShapes))
        raise ArgumentError(f"shapes: unknown kind {shown(shapes)}; {expected}")
    if max_spheres is None:
        return
    if not isinstance(max_spheres, int) or isinstance(max_spheres, bool):
        raise ArgumentError(f"max_spheres: expected an integer, got {shown(max_spheres)}")
    if max_spheres < 1:
        raise ValueRangeError(f"max_spheres: expected at least 1, got {max_spheres}")


def _read_solids(model: Model, *, divide: bool) -> dict[str, list[Solid]]:
    """The collision shapes of each link that has any."""
    findings: list[Finding] = []
    solids: dict[str, list[Solid]] = {}
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
            solid = solid_of(shape.geometry, pose, surface, divide=divide)
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


class _Cover:
    """The new shapes of a link, and what they cover."""

    def __init__(
        self,
        solids: Sequence[Solid],
        tolerance: float,
        most: int | None,
        kind: CoverShapes,
    ) -> None:
        self.solids = solids
        self.target = target_of(solids, tolerance)
        if kind == "capsules":
            capsules = _capsules(self.target, tolerance, most or MOST_CAPSULES)
            self.segments = np.array([[one.start, one.end] for one in capsules])
            self.radii = np.array([one.radius for one in capsules])
            self.protrusion = max(one.protrusion for one in capsules)
        else:
            balls = _balls(self.target, feasible_tolerance(solids, tolerance), most)
            self.segments = np.stack([balls.centers, balls.centers], axis=1)
            self.radii = balls.radii
            self.protrusion = balls.protrusion

    def report(self, link: str) -> LinkCover:
        """Measure how well the new shapes fit."""
        covered = np.zeros(len(self.target.corners), dtype=bool)
        for (start, end), radius in zip(self.segments, self.radii, strict=True):
            left = np.flatnonzero(~covered)
            far = _to_segment(self.target.corners[left], start, end).max(axis=1)
            covered[left] = far + self.target.radii[left] <= radius
        areas = self.target.areas
        total = float(areas.sum())
        return LinkCover(
            link=link,
            n_shapes=len(self.radii),
            n_radii=len(np.unique(self.radii)),
            coverage=float(areas[covered].sum()) / total if total else float(covered.mean()),
            protrusion=self.protrusion,
            excess_volume=self._excess_volume(),
        )

    def _excess_volume(self) -> float | None:
        """The volume of the new shapes outside the old ones, over the volume of these."""
        reach = self.radii[:, None, None]
        low, high = (self.segments - reach).min((0, 1)), (self.segments + reach).max((0, 1))
        triangles = sum(len(s.surface.faces) for s in self.solids if s.surface is not None)
        count = min(VOLUME_POINTS, MOST_PRODUCTS // max(triangles, 1))
        points = np.random.default_rng(0).uniform(low, high, (count, 3))
        inside_new = np.zeros(count, dtype=bool)
        for (start, end), radius in zip(self.segments, self.radii, strict=True):
            left = np.flatnonzero(~inside_new)
            inside_new[left] = _to_segment(points[left], start, end) <= radius
        inside_old = self.target.contains(points[inside_new])
        n_old = int(inside_old.sum())
        return float(len(inside_old) - n_old) / n_old if n_old else None


def _balls(target: Target, tolerance: float, most: int | None) -> Balls:
    """Cover by balls; the tolerance grows until they are few enough."""
    balls = cover_by_balls(target, tolerance)
    while most is not None and len(balls.radii) > most:
        tolerance *= max(LEAST_GROWTH, (len(balls.radii) / most) ** (1 / 3))
        balls = cover_by_balls(target, tolerance)
    return balls


def _to_segment(points: Array, start: Array, end: Array) -> Array:
    """(...) distance of points (..., 3) to a segment."""
    along, away = end - start, points - start
    t = np.clip(away @ along / max(float(along @ along), 1e-300), 0.0, 1.0)
    return np.linalg.norm(away - t[..., None] * along, axis=-1)


def _shape(start: Array, end: Array, radius: float) -> Shape:
    """A capsule, or a sphere if its length is zero."""
    middle, along = (start + end) / 2, end - start
    length = float(np.linalg.norm(along))
    if length == 0.0:
        return Shape(Sphere(radius), Pose(xyz=tuple(middle.tolist())))
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = axes_along(along / length), middle
    return Shape(Capsule(radius, length), as_pose(pose))


# Capsules: one around everything; the worst is split in two until the tolerance is met.


@dataclass(frozen=True, eq=False)
class _Fit:
    """A capsule around some cells and points of a target."""

    indices: Array
    start: Array
    end: Array
    radius: float
    protrusion: float


def _capsules(target: Target, tolerance: float, most: int) -> list[_Fit]:
    everything = np.arange(len(target.corners) + len(target.points))
    fits = [_capsule(target, everything)]
    while len(fits) < most:
        worst = max(range(len(fits)), key=lambda k: fits[k].protrusion)
        halves = _split(target, fits[worst])
        if fits[worst].protrusion <= tolerance or not halves:
            break
        fits[worst : worst + 1] = halves
    return sorted(fits, key=lambda fit: fit.radius)


def _split(target: Target, fit: _Fit) -> list[_Fit]:
    """Two capsules for one: split across the principal axis that gives the better two."""
    middles = np.concatenate([target.corners.mean(axis=1), target.points])[fit.indices]
    away = middles - middles.mean(axis=0)
    _, axes = np.linalg.eigh(away.T @ away)
    best: list[_Fit] = []
    for axis in axes.T:
        along = away @ axis
        lower = along < (along.min() + along.max()) / 2
        if lower.all() or not lower.any():
            continue
        pair = [_capsule(target, fit.indices[part]) for part in (lower, ~lower)]
        if not best or _worst(pair) < _worst(best):
            best = pair
    return best


def _worst(fits: Sequence[_Fit]) -> float:
    return max(fit.protrusion for fit in fits)


def _capsule(target: Target, indices: Array) -> _Fit:
    """The capsule that protrudes least, of those along the principal axes of its content."""
    points, around = target.members(indices)
    _, axes = np.linalg.eigh((points - points.mean(axis=0)).T @ (points - points.mean(axis=0)))
    fits = [_capsule_along(target, indices, points, around, axis) for axis in axes.T]
    return min(fits, key=lambda fit: fit.protrusion)


def _capsule_along(
    target: Target, indices: Array, points: Array, around: Array, axis: Array
) -> _Fit:
    frame = axes_along(axis)
    local = points @ frame
    across = _circle_center(local[:, :2], around)
    radial = np.linalg.norm(local[:, :2] - across, axis=1)
    radius = float((radial + around).max())
    free = np.sqrt(np.maximum((radius - around) ** 2 - radial**2, 0.0))
    low, high = float((local[:, 2] + free).min()), float((local[:, 2] - free).max())
    if low > high:
        low = high = (low + high) / 2
    start, end = (frame @ np.array([*across, z]) for z in (low, high))
    radius = float((_to_segment(points, start, end) + around).max()) * (1 + SLACK)
    steps = np.linspace(0.0, 1.0, AXIS_SAMPLES + 1 if high > low else 1)
    depths = target.depth(start + steps[:, None] * (end - start))
    least = float(depths.min())
    if len(steps) > 1:  # depth changes by no more than the way between two samples
        least = float((depths[:-1] + depths[1:] - (high - low) / AXIS_SAMPLES).min()) / 2
    return _Fit(indices, start, end, radius, max(radius - least, 0.0))


def _circle_center(points: Array, around: Array) -> Array:
    """Center of a small circle around points in the plane, each with a radius."""
    angles = np.linspace(0.0, 2 * np.pi, DIRECTIONS, endpoint=False)
    directions = np.stack([np.cos(angles), np.sin(angles)])
    outer = np.unique((points @ directions + around[:, None]).argmax(axis=0))
    points, around = points[outer], around[outer]
    center = best = (points.min(axis=0) + points.max(axis=0)) / 2
    smallest = np.inf
    for step in range(1, 100):
        reach = np.linalg.norm(points - center, axis=1) + around
        if reach.max() < smallest:
            best, smallest = center, reach.max()
        center = center + (points[reach.argmax()] - center) / (step + 2)
    return best
