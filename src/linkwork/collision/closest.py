"""Return the closest points of two shapes, in closed form and without branches.

A shape is a *core*, a point, a segment, a box or a cylinder, grown by a radius. The signed distance
of two shapes is the distance of their cores less the radii. Where cores overlap, it is the negative
of the penetration depth: the shortest translation that separates them.

    point, segment   closest parameter t of the segment, limited to [0, 1]
    two segments     the smallest of five candidates: each end against the other segment, and the
                     common perpendicular, with its parameters limited
    segment, box     f(t) = squared distance of the box to the point at t is convex, and f' is
                     piecewise linear with breakpoints where a coordinate enters or leaves the box.
                     Its root is found by interpolation between the breakpoints around it. If the
                     segment enters the box, it is the depth along one of six axes: across a face,
                     or across an edge and the segment
    half-space       the lowest point of the shape along the normal

All functions compute with the value types of `spatial.blocks`, also inside traced functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from linkwork.engine.symbolic.entries import Traced
from linkwork.spatial.blocks import IDENTITY, Mat, Scalar, Vec, total

# Squared lengths below this are taken for it, so that directions and derivatives are finite.
TINY = 1e-30
ROUNDING = 1e-24  # of squared distances of segments, relative to their squares, and coordinates
PARALLEL = 1e-16  # square of the sine of an angle that is taken for zero
NEVER = -1e30  # a separation that is never the largest

TOUCHING = 1e-9  # shapes overlap if their distance is below the negative of this [m]


@dataclass(frozen=True, slots=True)
class PlacedSphere:
    """The points within a radius of a center."""

    center: Vec
    radius: Scalar


@dataclass(frozen=True, slots=True)
class PlacedCapsule:
    """The points within a radius of a segment: a capsule."""

    a: Vec
    b: Vec
    radius: Scalar


@dataclass(frozen=True, slots=True)
class PlacedBox:
    """A box: half of its edges along the columns of a rotation."""

    R: Mat
    center: Vec
    half: Vec


@dataclass(frozen=True, slots=True)
class PlacedCylinder:
    """A cylinder along the third column of a rotation."""

    R: Mat
    center: Vec
    radius: Scalar
    half_length: Scalar


@dataclass(frozen=True, slots=True)
class HalfSpace:
    """The points x with  normal . x <= offset,  for a unit vector."""

    normal: Vec
    offset: Scalar


PlacedShape: TypeAlias = PlacedSphere | PlacedCapsule | PlacedBox | PlacedCylinder | HalfSpace


class Closest(NamedTuple):
    """The closest points of two shapes; the deepest ones where they overlap."""

    distance: Scalar  # signed
    first: Vec  # on the first shape
    second: Vec  # on the second
    normal: Vec  # unit vector from the first to the second


def closest(first: PlacedShape, second: PlacedShape) -> Closest:
    """Return signed distance and closest points of two shapes.

    Raises:
        KeyError: there is no closed form; see `has_closed_form`.
    """
    function = _FUNCTIONS.get((type(first), type(second)))
    if function is not None:
        return function(first, second)
    swapped = _FUNCTIONS[type(second), type(first)](second, first)
    return Closest(swapped.distance, swapped.second, swapped.first, -swapped.normal)


def has_closed_form(first: type[PlacedShape], second: type[PlacedShape]) -> bool:
    """Return whether `closest` accepts two shapes."""
    return (first, second) in _FUNCTIONS or (second, first) in _FUNCTIONS


def nearer(first: Closest, second: Closest) -> Closest:
    """Return the closest points with the smaller distance."""
    return selected(second.distance < first.distance, second, first)


def selected(condition: Any, yes: Any, no: Any) -> Any:
    """Return one of two scalars, vectors or tuples of them, by a condition."""
    if isinstance(yes, tuple):
        parts = [selected(condition, a, b) for a, b in zip(yes, no, strict=True)]
        return tuple(parts) if type(yes) is tuple else type(yes)(*parts)
    if isinstance(condition, Traced):
        return condition.select(yes, no)
    if isinstance(condition, np.ndarray):
        return np.where(condition, yes, no)
    return yes if condition else no


def smaller(a: Scalar, b: Scalar) -> Scalar:
    """Return the smaller of two scalars."""
    return selected(b < a, b, a)


def larger(a: Scalar, b: Scalar) -> Scalar:
    """Return the larger of two scalars."""
    return selected(a < b, b, a)


def square_root(x: Scalar) -> Scalar:
    """Return the square root of a scalar that is not negative."""
    return larger(x, TINY) ** 0.5


def length(v: Vec) -> Scalar:
    """Return the length of a vector, at least `TINY` ** 0.5."""
    return square_root(v.dot(v))


def _limited(t: Scalar) -> Scalar:
    return smaller(larger(t, 0.0), 1.0)


def _absolute(x: Scalar) -> Scalar:
    return larger(x, -x)


def _along(a: Vec, d: Vec, t: Scalar) -> Vec:
    return a + t * d


def _reciprocal(x: Scalar) -> Scalar:
    return 1.0 / larger(x, TINY)


def _grown(
    cores: tuple[Vec, Vec], first: Scalar, second: Scalar, aside: Vec, meeting: Scalar = TINY
) -> Closest:
    """Return the closest points of two cores, grown by radii.

    Args:
        cores: the closest points of the cores.
        first: radius of the first.
        second: radius of the second.
        aside: the direction to separate them in where the cores meet; need not be a unit vector.
        meeting: square of a distance of the cores that is a rounding error.
    """
    a, b = cores
    between = b - a
    squared = between.dot(between)
    n = selected(squared > meeting, between, aside)
    n = (1.0 / length(n)) * n
    distance = square_root(squared) - (first + second)
    return Closest(distance, _along(a, n, first), _along(b, -n, second), n)


def _sphere_sphere(a: PlacedSphere, b: PlacedSphere) -> Closest:
    return _grown((a.center, b.center), a.radius, b.radius, IDENTITY[2])


def _nearest_parameter(p: Vec, a: Vec, d: Vec) -> Scalar:
    return _limited((p - a).dot(d) * _reciprocal(d.dot(d)))


def _across(d: Vec) -> Vec:
    """Return a direction perpendicular to another, which may be zero."""
    smallest = smaller(smaller(_absolute(d[0]), _absolute(d[1])), _absolute(d[2]))
    x = selected(_absolute(d[0]) <= smallest, IDENTITY[0], IDENTITY[1])
    axis = selected(_absolute(d[2]) <= smallest, IDENTITY[2], x)
    return selected(d.dot(d) <= TINY, IDENTITY[0], d.cross(axis))


def _sphere_capsule(sphere: PlacedSphere, capsule: PlacedCapsule) -> Closest:
    d = capsule.b - capsule.a
    on_capsule = _along(capsule.a, d, _nearest_parameter(sphere.center, capsule.a, d))
    meeting = ROUNDING * (d.dot(d) + sphere.center.dot(sphere.center))
    return _grown(
        (sphere.center, on_capsule),
        sphere.radius,
        capsule.radius,
        _across(d),
        larger(meeting, TINY),
    )


def _capsule_capsule(first: PlacedCapsule, second: PlacedCapsule) -> Closest:
    d, e = first.b - first.a, second.b - second.a
    r = first.a - second.a
    dd, ee, de = d.dot(d), e.dot(e), d.dot(e)
    dr, er = d.dot(r), e.dot(r)
    inverse = _reciprocal(dd * ee - de * de)
    s = _limited((de * er - dr * ee) * inverse)
    on_first = _along(first.a, d, s)
    candidates = [(on_first, _along(second.a, e, _nearest_parameter(on_first, second.a, e)))]
    for end in (first.a, first.b):
        candidates.append((end, _along(second.a, e, _nearest_parameter(end, second.a, e))))
    for end in (second.a, second.b):
        candidates.append((_along(first.a, d, _nearest_parameter(end, first.a, d)), end))

    def squared(cores: tuple[Vec, Vec]) -> Scalar:
        between = cores[1] - cores[0]
        return between.dot(between)

    pairs = [(squared(cores), cores) for cores in candidates]
    _, cores = reduce(lambda p, q: selected(q[0] < p[0], q, p), pairs)
    normal = d.cross(e)
    parallel = normal.dot(normal) <= larger(PARALLEL * (dd * ee), TINY)
    aside = selected(parallel, _across(selected(dd < ee, e, d)), normal)
    meeting = larger(ROUNDING * (dd + ee + first.a.dot(first.a)), TINY)
    return _grown(cores, first.radius, second.radius, aside, meeting)


def _box_point(half: Vec, x: Vec) -> Closest:
    """Return the closest points of a box about the origin, and of a point."""
    limited = Vec(*(smaller(larger(c, -h), h) for c, h in zip(x, half, strict=True)))
    outside = x - limited
    far = outside.dot(outside) > TINY
    distance = length(outside)
    # inside, the nearest face
    depths = [_absolute(c) - h for c, h in zip(x, half, strict=True)]
    depth, axis, on_face = depths[0], *_face(x, half, 0)
    for k in (1, 2):
        depth, axis, on_face = selected(
            depth < depths[k], (depths[k], *_face(x, half, k)), (depth, axis, on_face)
        )
    return Closest(
        selected(far, distance, depth),
        selected(far, limited, on_face),
        x,
        selected(far, (1.0 / distance) * outside, axis),
    )


def _face(x: Vec, half: Vec, k: int) -> tuple[Vec, Vec]:
    """Return normal and closest point of the face along an axis that is nearest to a point."""
    sign = selected(x[k] < 0.0, -1.0, 1.0)
    point = Vec(*(sign * half[k] if i == k else c for i, c in enumerate(x)))
    return sign * IDENTITY[k], point


def _in_world(core: Closest, R: Mat, o: Vec, radius: Scalar) -> Closest:
    """Return closest points in the axes of a core, of a second shape grown by a radius."""
    n = R @ core.normal
    return Closest(
        core.distance - radius,
        o + R @ core.first,
        o + R @ core.second - radius * n,
        n,
    )


def _box_sphere(box: PlacedBox, sphere: PlacedSphere) -> Closest:
    x = box.R.T @ (sphere.center - box.center)
    return _in_world(_box_point(box.half, x), box.R, box.center, sphere.radius)


def _box_capsule(box: PlacedBox, capsule: PlacedCapsule) -> Closest:
    a, b = (box.R.T @ (end - box.center) for end in (capsule.a, capsule.b))
    d = b - a
    t = _parameter_nearest_to_box(a, d, box.half)
    separated = _box_point(box.half, _along(a, d, t))
    overlapping = _box_segment_depth(a, d, box.half, t)
    core = selected(overlapping.distance < 0.0, overlapping, separated)
    return _in_world(core, box.R, box.center, capsule.radius)


def _parameter_nearest_to_box(a: Vec, d: Vec, half: Vec) -> Scalar:
    """Return the t in [0, 1] at which a + t d is nearest to a box about the origin."""

    def slope(t: Scalar) -> Scalar:
        terms: list[Scalar] = []
        for x, v, h in zip(a, d, half, strict=True):
            y = x + t * v
            excess = y - smaller(larger(y, -h), h)
            terms.append(v * excess)
        return total(*terms)

    low, below = 0.0, slope(0.0)  # f' <= 0
    high, above = 1.0, slope(1.0)  # f' >= 0
    start, end = below, above
    for x, v, h in zip(a, d, half, strict=True):
        # a coordinate that does not change has no breakpoint: 0 / TINY, or far outside [0, 1]
        inverse = 1.0 / selected(v * v < TINY, TINY**0.5, v)
        for side in (h, -h):
            t = _limited((side - x) * inverse)
            at_t = slope(t)
            is_low = both(at_t <= 0.0, low < t)
            low, below = selected(is_low, (t, at_t), (low, below))
            is_high = both(at_t >= 0.0, t < high)
            high, above = selected(is_high, (t, at_t), (high, above))
    rise = above - below
    flat = rise <= TINY
    fraction = -below * (1.0 / selected(flat, 1.0, rise))
    t = low + selected(flat, 0.5, _limited(fraction)) * (high - low)
    # monotone, so an end is nearest if f' does not change its sign
    return selected(start >= 0.0, 0.0, selected(end <= 0.0, 1.0, t))


def both(a: Any, b: Any) -> Any:
    """Return whether two conditions hold."""
    return a & b if isinstance(a, (Traced, np.ndarray)) else (a and b)


def _box_segment_depth(a: Vec, d: Vec, half: Vec, t: Scalar) -> Closest:
    """Return the largest separation of a box about the origin and a segment along some axes.

    The axes decide: it is positive if and only if they do not overlap, and then at most the
    distance.

    Args:
        a: start of the segment.
        d: from its start to its end.
        half: half of the edges of the box.
        t: parameter of a point of the segment that is nearest to the box.
    """
    center = _along(a, d, 0.5)
    slack = ROUNDING**0.5 * (length(d) + total(*half))
    best: Closest | None = None
    for k in range(3):  # the axis of a face: an end of the segment is deepest
        n = _toward(center, IDENTITY[k], 1.0)
        slope = n.dot(d)
        deepest = selected(slope < -slack, 1.0, selected(slope > slack, 0.0, t))
        best = _deeper(best, _along(a, d, deepest), n, half[k])
    for k in range(3):  # the axis across an edge and the segment: an inner point is deepest
        axis = IDENTITY[k].cross(d)
        n = _toward(center, axis, 1.0 / length(axis))
        edge = Vec(*(selected(x < 0.0, -h, h) for x, h in zip(n, half, strict=True)))
        m = IDENTITY[k].cross(n)
        md = m.dot(d)
        deepest = m.dot(edge - a) * (1.0 / selected(md * md <= TINY, 1.0, md))
        reach = selected(axis.dot(axis) <= TINY, -NEVER, n.dot(edge))
        best = _deeper(best, _along(a, d, _limited(deepest)), n, reach, 0.01 * slack)
    assert best is not None
    return best


def _toward(center: Vec, axis: Vec, inverse: Scalar) -> Vec:
    """Return an axis, times `inverse`, on the side of a point."""
    return selected(axis.dot(center) < 0.0, -1.0, 1.0) * inverse * axis


def _deeper(
    best: Closest | None, deepest: Vec, n: Vec, reach: Scalar, slack: Scalar = 0.0
) -> Closest:
    """Return the separation of a point and a box along an axis, if it is larger than another.

    Along an edge that is parallel to a face, it is equal up to rounding, and the point is not
    unique. `slack` prefers the face.
    """
    separation = n.dot(deepest) - reach
    candidate = Closest(separation, deepest - separation * n, deepest, n)
    if best is None:
        return candidate
    return selected(best.distance + slack < separation, candidate, best)


def _cylinder_sphere(cylinder: PlacedCylinder, sphere: PlacedSphere) -> Closest:
    center = x, y, z = cylinder.R.T @ (sphere.center - cylinder.center)
    rho = square_root(x * x + y * y)
    inverse = 1.0 / rho
    on_axis = rho <= TINY**0.5
    u = selected(on_axis, 1.0, x * inverse), selected(on_axis, 0.0, y * inverse)
    # a rectangle in the half-plane of the axis and the center of the sphere
    flat = _box_point(Vec(cylinder.radius, -NEVER, cylinder.half_length), Vec(rho, 0.0, z))

    def lifted(v: Vec) -> Vec:
        return Vec(v[0] * u[0], v[0] * u[1], v[2])

    core = Closest(flat.distance, lifted(flat.first), center, lifted(flat.normal))
    return _in_world(core, cylinder.R, cylinder.center, sphere.radius)


def _above(plane: HalfSpace, lowest: Vec, radius: Scalar) -> Closest:
    """Return the closest points of a half-space and a shape, by the lowest point of its core."""
    lowest = lowest - radius * plane.normal
    distance = plane.normal.dot(lowest) - plane.offset
    below = lowest - distance * plane.normal
    return Closest(distance, below, lowest, plane.normal)


def _plane_sphere(plane: HalfSpace, sphere: PlacedSphere) -> Closest:
    return _above(plane, sphere.center, sphere.radius)


def _plane_capsule(plane: HalfSpace, capsule: PlacedCapsule) -> Closest:
    is_b = plane.normal.dot(capsule.b - capsule.a) < 0.0
    return _above(plane, selected(is_b, capsule.b, capsule.a), capsule.radius)


def _plane_box(plane: HalfSpace, box: PlacedBox) -> Closest:
    corner = box.center
    for axis, h in zip(box.R.T, box.half, strict=True):
        side = selected(plane.normal.dot(axis) < 0.0, h, -h)
        corner = _along(corner, axis, side)
    return _above(plane, corner, 0.0)


def _plane_cylinder(plane: HalfSpace, cylinder: PlacedCylinder) -> Closest:
    axis = cylinder.R.T[2]
    slope = plane.normal.dot(axis)
    down = -cylinder.half_length
    on_axis = _along(cylinder.center, axis, selected(slope < 0.0, cylinder.half_length, down))
    radial = plane.normal - slope * axis  # away from the plane, along the end face
    rim = on_axis - cylinder.radius * (1.0 / length(radial)) * radial
    return _above(plane, rim, 0.0)


_FUNCTIONS: dict[tuple[type[Any], type[Any]], Callable[[Any, Any], Closest]] = {
    (PlacedSphere, PlacedSphere): _sphere_sphere,
    (PlacedSphere, PlacedCapsule): _sphere_capsule,
    (PlacedCapsule, PlacedCapsule): _capsule_capsule,
    (PlacedBox, PlacedSphere): _box_sphere,
    (PlacedBox, PlacedCapsule): _box_capsule,
    (PlacedCylinder, PlacedSphere): _cylinder_sphere,
    (HalfSpace, PlacedSphere): _plane_sphere,
    (HalfSpace, PlacedCapsule): _plane_capsule,
    (HalfSpace, PlacedBox): _plane_box,
    (HalfSpace, PlacedCylinder): _plane_cylinder,
}
