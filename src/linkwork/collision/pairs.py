"""Which links of a robot can collide with each other.

Spheres that cover the shapes of links protrude from them, so that spheres may overlap where shapes
do not. Pairs of links are therefore chosen by the shapes. Both bounds follow from the spheres:

    no spheres overlap                                       the shapes do not overlap
    spheres overlap that are reduced by their protrusion     the shapes overlap

because the shapes are inside the spheres, and the reduced spheres are inside the shapes. Where
neither holds for a pair in too many random configurations, its links get smaller spheres.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from os import PathLike
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from linkwork.collision.closest import TOUCHING
from linkwork.collision.core import CollisionCore, kernel_of
from linkwork.collision.exact.pair_queries import links_overlap
from linkwork.collision.exact.queries import ShapeQueries
from linkwork.collision.shapes import LinkPairs, links_with_shapes, uncompiled
from linkwork.collision.spheres.spherize import TOLERANCE, Spherization, refined, spherize
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, name_not_found, shown, warn
from linkwork.io.srdf import load_srdf
from linkwork.kindyn import KinDyn
from linkwork.model.graph import connected_pieces
from linkwork.model.model import Model

Shapes: TypeAlias = Literal["collision", "spheres"] | Spherization
Pairs: TypeAlias = Literal["all", "srdf"] | Iterable[tuple[str, str]]
SrdfPath: TypeAlias = "str | PathLike[str] | None"

SAMPLES = 500  # random configurations in which links that always overlap are found
MOST_UNDECIDED = 0.25  # fraction of these in which only the spheres of a pair overlap
REFINEMENTS = 3  # times that the protrusion of spheres is halved


def _candidates(model: Model, pairs: Pairs, srdf: SrdfPath) -> LinkPairs:
    """The pairs that the argument `pairs` names, and for "all" also those that always overlap."""
    if not isinstance(pairs, str):
        return named_pairs(pairs, model)
    if pairs not in ("all", "srdf"):
        text = "expected 'all', 'srdf' or a list of pairs of links"
        raise ArgumentError(f"pairs: {text}, got {shown(pairs)}")
    if pairs == "all" and srdf is not None:
        raise ArgumentError("srdf: only with pairs='srdf'")
    if pairs == "srdf":
        srdf = model.srdf if srdf is None else srdf
        if srdf is None:
            raise ArgumentError("pairs='srdf': the model was loaded without one; pass srdf=path")
    candidates = link_pairs(model, links_with_shapes(model))
    if srdf is None:
        return candidates
    disabled = load_srdf(srdf, model).disabled_pairs
    return tuple(pair for pair in candidates if frozenset(pair) not in disabled)


def select_pairs(
    kd: KinDyn,
    queries: ShapeQueries,
    *,
    shapes: Shapes,
    pairs: Pairs,
    exclude: Iterable[tuple[str, str]],
    srdf: SrdfPath,
) -> tuple[Model, LinkPairs]:
    """Return the robot with the shapes that are compared, and its pairs of links.

    Args:
        kd: the robot.
        queries: compares shapes without closed form.
        shapes, pairs, exclude, srdf: as of `CollisionModel`.
    """
    model, selected = _compared(kd, queries, shapes, pairs, srdf)
    left_out = excluded_pairs(exclude, model)
    return model, tuple(pair for pair in selected if frozenset(pair) not in left_out)


def _compared(
    kd: KinDyn, queries: ShapeQueries, shapes: Shapes, pairs: Pairs, srdf: SrdfPath
) -> tuple[Model, LinkPairs]:
    """Return the robot with the shapes that are compared, and its pairs without `exclude`."""
    candidates = _candidates(kd.model, pairs, srdf)
    takes_all = isinstance(pairs, str) and pairs == "all"
    if isinstance(shapes, str) and shapes == "collision":
        if takes_all:
            return kd.model, without_constant_overlap(kd, candidates, queries)
        return kd.model, candidates
    is_refined = isinstance(shapes, str) and shapes == "spheres"
    if is_refined:
        shapes = refined_spheres(kd, candidates)
    elif not isinstance(shapes, Spherization):
        text = "expected 'collision', 'spheres' or the result of lw.spherize"
        raise ArgumentError(f"shapes: {text}, got {shown(shapes)}")
    check_spheres(shapes, kd.model)
    if takes_all:
        candidates = pairs_by_shapes(kd, shapes, candidates, is_refined=is_refined)
    return shapes.model, candidates


def link_pairs(model: Model, links: Sequence[str]) -> LinkPairs:
    """Pairs of links that are neither one rigid body nor connected by a joint."""
    group = _rigid_groups(model)
    joined = {frozenset((group[joint.first], group[joint.second])) for joint in model.joints}
    return tuple(
        (a, b)
        for a, b in combinations(links, 2)
        if group[a] != group[b] and frozenset((group[a], group[b])) not in joined
    )


def _rigid_groups(model: Model) -> dict[str, str]:
    """The first of the links that are fixed to each other, by link."""
    fixed = [joint for joint in model.joints if joint.is_fixed]
    pieces = connected_pieces(model.link_names, fixed)
    return {link: piece[0] for piece in pieces for link in piece}


def named_pairs(pairs: Any, model: Model) -> LinkPairs:
    """Pairs of names, checked: links with collision shapes, each pair once."""
    group = _rigid_groups(model)
    checked: list[tuple[str, str]] = []
    for a, b in _checked_pairs("pairs", pairs, [link.name for link in model.links]):
        for name in (a, b):
            if not model.link(name).collisions:
                raise ArgumentError(f"pairs: link {name!r} has no collision shapes")
        if group[a] == group[b]:
            raise ArgumentError(f"pairs: {a!r} and {b!r} do not move relative to each other")
        if (a, b) in checked or (b, a) in checked:
            raise ArgumentError(f"pairs: {a!r} and {b!r} are listed twice")
        checked.append((a, b))
    return tuple(checked)


def excluded_pairs(pairs: Any, model: Model) -> set[frozenset[str]]:
    """The argument `exclude`, checked."""
    names = [link.name for link in model.links]
    return {frozenset(pair) for pair in _checked_pairs("exclude", pairs, names)}


def _checked_pairs(what: str, pairs: Any, names: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of names of links."""
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise ArgumentError(f"{what}: expected pairs of links, got {shown(pairs)}")
    checked: list[tuple[str, str]] = []
    for pair in pairs:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise ArgumentError(f"{what}: expected pairs of links, got {shown(pair)}")
        for name in pair:
            if name not in names:
                raise name_not_found("link", name, names)
        checked.append((pair[0], pair[1]))
    return checked


def without_constant_overlap(kd: KinDyn, pairs: LinkPairs, shapes: ShapeQueries) -> LinkPairs:
    """The pairs that do not overlap in all of many random configurations.

    Args:
        kd: the robot.
        pairs: the pairs to select from.
        shapes: compares shapes without closed form.
    """
    q, queried = kd.random(SAMPLES, seed=0), uncompiled(kd.model, pairs)
    compiled = tuple(pair for pair in pairs if pair not in set(queried))
    overlapping: set[tuple[str, str]] = set()
    if compiled:
        robot = CollisionCore(kd.model, pairs=compiled, shape_queries=shapes, **kd.options)
        distances = np.asarray(kernel_of(robot, "distances")(q))
        is_constant = (~(distances >= -TOUCHING)).all(axis=0)
        overlapping |= {compiled[k] for k in np.flatnonzero(is_constant)}
    links = sorted({link for pair in queried for link in pair})
    poses = np.asarray(kd.transforms(q, frames=links), np.float64) if links else np.zeros((0, 0))
    for pair in queried:
        parts, at = [kd.model.link(name) for name in pair], [links.index(name) for name in pair]
        # most pairs are free in one of the first configurations
        if all(
            links_overlap(shapes, parts, [poses[rows, k] for k in at]).all()
            for rows in (slice(0, 1), slice(1, 20), slice(20, SAMPLES))
        ):
            overlapping.add(pair)
    return tuple(pair for pair in pairs if pair not in overlapping)


# Robots made of spheres.


class Overlaps(NamedTuple):
    """In which random configurations the links of pairs overlap."""

    spheres: Array  # (samples, n) whether their spheres overlap
    shapes: Array  # (samples, n) whether the original shapes do so with certainty


def overlaps_of(kd: KinDyn, cover: Spherization, pairs: LinkPairs) -> Overlaps:
    """Compare the spheres of links in random configurations.

    Args:
        kd: the robot.
        cover: its spheres.
        pairs: the pairs of links.
    """
    links = sorted({link for pair in pairs for link in pair})
    poses = np.asarray(kd.transforms(kd.random(SAMPLES, seed=0), frames=links), np.float64)
    protrusion = {one.link: one.protrusion for one in cover.links}
    centers: dict[str, Array] = {}
    radii: dict[str, Array] = {}
    for link, H in zip(links, poses.swapaxes(0, 1), strict=True):
        shapes = cover.model.link(link).collisions
        local = np.array([shape.link_H_shape.xyz for shape in shapes])
        centers[link] = local @ H[:, :3, :3].swapaxes(1, 2) + H[:, None, :3, 3]
        radii[link] = np.array([shape.geometry.radius for shape in shapes])  # pyright: ignore[reportAttributeAccessIssue]
    columns = np.empty((2, len(pairs), SAMPLES), dtype=bool)
    for k, (a, b) in enumerate(pairs):
        between = np.linalg.norm(centers[a][:, :, None] - centers[b][:, None], axis=-1)
        inner = [radii[link] - protrusion[link] for link in (a, b)]
        reach = np.where((inner[0] > 0)[:, None] & (inner[1] > 0), inner[0][:, None] + inner[1], 0)
        columns[0, k] = (between < radii[a][:, None] + radii[b]).any(axis=(1, 2))
        columns[1, k] = (between < reach).any(axis=(1, 2))
    return Overlaps(columns[0].T, columns[1].T)


def refined_spheres(kd: KinDyn, pairs: LinkPairs) -> Spherization:
    """Spheres that cover a robot, small where links would otherwise seem to overlap."""
    cover, tolerance = spherize(kd.model), TOLERANCE
    for _ in range(REFINEMENTS if pairs else 0):
        overlaps = overlaps_of(kd, cover, pairs)
        undecided = (overlaps.spheres & ~overlaps.shapes).mean(axis=0) > MOST_UNDECIDED
        # a pair is omitted only if its shapes always overlap: not while that is open
        undecided |= overlaps.spheres.all(axis=0) & ~overlaps.shapes.all(axis=0)
        if not undecided.any():
            break
        tolerance /= 2
        links = {link for k in np.flatnonzero(undecided) for link in pairs[k]}
        cover = refined(cover, links, tolerance)
    return cover


def pairs_by_shapes(
    kd: KinDyn, cover: Spherization, pairs: LinkPairs, *, is_refined: bool
) -> LinkPairs:
    """The pairs whose original shapes do not overlap in all of many random configurations.

    Args:
        kd: the robot.
        cover: its spheres.
        pairs: the pairs to select from.
        is_refined: whether `refined_spheres` returned the spheres. Links whose spheres always
            overlap in spite of that touch each other.
    """
    if not pairs:
        return ()
    overlaps = overlaps_of(kd, cover, pairs)
    seems_constant, is_constant = (x.all(axis=0) for x in overlaps)
    if is_refined:
        is_constant = seems_constant
    kept = tuple(pairs[k] for k in np.flatnonzero(~is_constant))
    doubtful = [pairs[k] for k in np.flatnonzero(seems_constant & ~is_constant)]
    if doubtful:
        a, b = doubtful[0]
        text = f"the spheres of {a!r} and {b!r} overlap in all of {SAMPLES} random configurations"
        others = f", and those of {len(doubtful) - 1} other pairs" if len(doubtful) > 1 else ""
        hint = "use a smaller tolerance, or exclude them by pairs=..."
        warn(f"{text}{others}, although their shapes may not; {hint}")
    return kept


def check_spheres(cover: Spherization, model: Model) -> None:
    """Reject a cover of another robot."""
    if cover.original.joints != model.joints:
        text = f"the spheres are those of {cover.original.name!r}, not of {model.name!r}"
        raise ArgumentError(f"shapes: {text}")
