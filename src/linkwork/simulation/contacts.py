"""Contact points of shapes with the ground: distances, positions and frames, as MuJoCo finds them.

Each pair of shapes has a fixed number of slots, one for each point that may touch:

    sphere, ellipsoid    1
    capsule              2, the ends of its axis
    cylinder             4: the lowest points of both rims, and two more on the lower rim
    box                  4: of the two ends of each diagonal, the lower one
    mesh                 3 or 4: the corners of the lowest face, of those with the lowest point the
                         one that is most parallel to the plane

A contact lies midway between the surfaces. Its frame has the normal first, then two tangents; a
capsule's first tangent is along its axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.engine.symbolic.entries import FUNCTIONS, select
from linkwork.model.geometry import Box, Capsule, Cylinder, Sphere
from linkwork.parameters.variation import Placement, composed
from linkwork.simulation.boxes import BoxPoint, capsule_on_box, sphere_on_box
from linkwork.simulation.scene import ContactPair, Ellipsoid, Hull, MovingShape, Plane
from linkwork.simulation.world import World, matrix_of
from linkwork.spatial.blocks import Mat, Scalar, Vec

TINY = 1e-30  # squares of lengths below it count as zero
SLOTS = {Sphere: 1, Ellipsoid: 1, Capsule: 2, Cylinder: 4, Box: 4, Hull: 4}  # on a plane
MOST_POINTS, MOST_CORNERS = 100, 4  # of a mesh, and of its faces
FAR = 1.0  # beyond the margin: a slot that is not used
SLOTS_ON_BOXES = {Sphere: 1, Capsule: 2}


@dataclass(frozen=True, slots=True)
class Touch:
    """A contact slot at one configuration."""

    pair: ContactPair
    body: int
    distance: Scalar  # between the surfaces; negative if they overlap
    point: Vec  # from the base's origin
    frame: Mat  # rows: the normal away from the ground, and two tangents
    sign: float  # -1 if MuJoCo's normal points into the ground


@dataclass(frozen=True, slots=True)
class _Placed:
    """A shape: its rotation, and its center relative to a point of the plane."""

    R: Mat
    height: Scalar  # of the center above the plane
    center: Vec  # from the base's origin
    normal: Vec  # of the plane
    margin: float


Point = tuple[Scalar, Vec, Vec | None]  # distance; the lowest point; direction of a tangent


def n_slots(pair: ContactPair) -> int:
    """Return the number of contact slots of a pair."""
    if isinstance(pair.shape, Hull):
        return max(map(len, pair.shape.faces))
    return _slots(pair)[type(pair.shape)]


def problem_of(pair: ContactPair) -> str:
    """Return why the contacts of a pair cannot be computed; empty if they can."""
    shape = pair.shape
    if type(shape) not in _slots(pair):
        kinds = (type(one).__name__.replace("Hull", "mesh").lower() for one in (shape, pair.fixed))
        return f"no contacts of a {' on a '.join(kinds)}"
    if isinstance(shape, Hull):
        largest = max(map(len, shape.faces), default=MOST_CORNERS + 1)
        if len(shape.points) > MOST_POINTS or largest > MOST_CORNERS:
            text = f"its hull has {len(shape.points)} points, and faces with {largest}"
            return f"{text}; at most {MOST_POINTS} and {MOST_CORNERS} are supported"
    return ""


def _slots(pair: ContactPair) -> Mapping[type[Any], int]:
    return SLOTS if isinstance(pair.fixed, Plane) else SLOTS_ON_BOXES


def touches(world: World, pair: ContactPair, ground: Placement) -> Iterator[Touch]:
    """Yield the contact slots of a pair; all fixed shapes are on the ground."""
    body, R_link, r_link = world.frame(world.skeleton.layout.model.frame_index(pair.link))
    R_shape, p_shape = matrix_of(pair.link_H_shape.matrix())
    R_fixed, p_fixed = composed(ground, matrix_of(pair.world_H_fixed.matrix()))
    R, center = R_link @ R_shape, r_link + R_link @ p_shape
    sign = -1.0 if pair.moving_first else 1.0
    if not isinstance(pair.fixed, Plane):
        origin = p_fixed - world.base.o
        for distance, local, out in _on_box(pair, R_fixed.T @ (center - origin), R_fixed.T @ R):
            frame = frame_of(sign * (R_fixed @ out), None)
            yield Touch(pair, body, distance, origin + R_fixed @ local, frame, sign)
        return
    normal = Vec(*(row[2] for row in R_fixed))
    height = center.dot(normal) + (world.base.o - p_fixed).dot(normal)
    placed = _Placed(R, height, center, normal, pair.margin)
    for distance, lowest, tangent in POINTS[type(pair.shape)](pair.shape, placed):
        point = lowest - (0.5 * distance) * normal
        frame = frame_of(sign * normal, tangent)
        yield Touch(pair, body, distance, point, frame, sign)


def _on_box(pair: ContactPair, center: Vec, R: Mat) -> Sequence[BoxPoint]:
    shape, fixed = pair.shape, pair.fixed
    assert isinstance(fixed, Box)
    half = [0.5 * edge for edge in fixed.size]
    if isinstance(shape, Sphere):
        return [sphere_on_box(center, shape.radius, half)]
    assert isinstance(shape, Capsule)
    axis = Vec(*(row[2] for row in R))
    return capsule_on_box(center, axis, shape, half, pair.margin)


def frame_of(normal: Vec, tangent: Vec | None) -> Mat:
    """Return MuJoCo's contact frame; `tangent` is the direction of the second row, if there is one.

    A direction along the normal is replaced by the x axis.
    """
    if tangent is None:
        y = normal[1]
        is_upright = select(y < 0.5, y > -0.5, False)
        tangent = Vec(0.0, select(is_upright, 1.0, 0.0), select(is_upright, 0.0, 1.0))
    across = tangent - normal.dot(tangent) * normal
    square = across.dot(across)
    if isinstance(square, float):
        first = (1.0 / math.sqrt(square)) * across
    else:
        is_free = square > TINY
        inverse = 1.0 / FUNCTIONS["sqrt"](select(is_free, square, 1.0))
        axes = zip(across, (1.0, 0.0, 0.0), strict=True)
        first = Vec(*(select(is_free, inverse * x, other) for x, other in axes))
    return Mat(normal, first, normal.cross(first))


def _of_sphere(shape: Sphere, at: _Placed) -> Iterator[Point]:
    yield at.height - shape.radius, at.center - shape.radius * at.normal, None


def _of_capsule(shape: Capsule, at: _Placed) -> Iterator[Point]:
    axis = Vec(*(row[2] for row in at.R))
    along = at.normal.dot(axis)
    for half in (0.5 * shape.length, -0.5 * shape.length):
        lowest = at.center + half * axis - shape.radius * at.normal
        yield at.height + half * along - shape.radius, lowest, axis


def _of_ellipsoid(shape: Ellipsoid, at: _Placed) -> Iterator[Point]:
    radii = shape.radii
    down = [-r * x for r, x in zip(radii, at.R.T @ at.normal, strict=True)]
    inverse = 1.0 / FUNCTIONS["sqrt"](sum(x * x for x in down))
    local = Vec(*(r * (x * inverse) for r, x in zip(radii, down, strict=True)))
    offset = at.R @ local
    yield at.height + offset.dot(at.normal), at.center + offset, None


def _of_box(shape: Box, at: _Placed) -> Iterator[Point]:
    x, y, z = (0.5 * edge for edge in shape.size)
    for corner in (Vec(-x, -y, -z), Vec(x, -y, -z), Vec(-x, y, -z), Vec(x, y, -z)):
        offset = at.R @ corner
        rise = offset.dot(at.normal)
        sign = select(rise > 0.0, -1.0, 1.0)  # the other end of the diagonal is lower
        yield at.height + sign * rise, at.center + sign * offset, None


def _of_cylinder(shape: Cylinder, at: _Placed) -> Iterator[Point]:
    R, n, radius, half = at.R, at.normal, shape.radius, 0.5 * shape.length
    axis = Vec(*(row[2] for row in R))
    rise = n.dot(axis)
    axis, rise = _where(rise > 0.0, -axis, axis), -abs(rise)  # it points down
    down = rise * axis - n  # across the axis
    square = down.dot(down)
    is_tilted = square >= TINY
    scale = radius / FUNCTIONS["sqrt"](select(is_tilted, square, 1.0))
    x_axis = Vec(*(row[0] for row in R))
    rim = _where(is_tilted, scale * down, radius * x_axis)  # from the axis to the lowest point
    drop = rim.dot(n)
    cap = half * axis
    lower, upper = at.height + half * rise, at.height - half * rise
    yield lower + drop, at.center + rim + cap, None
    yield upper + drop, at.center + rim - cap, None
    across = rim.cross(axis)
    side = (math.sqrt(0.75)) * across  # |rim x axis| = radius
    third = lower - 0.5 * drop
    for sideways in (side, -side):
        yield third, at.center + sideways + cap - 0.5 * rim, None


def _of_hull(shape: Hull, at: _Placed) -> Iterator[Point]:
    up = at.R.T @ at.normal
    rises = [up.dot(Vec(*point)) for point in shape.points]
    lowest = _lowest(rises)
    corners = max(map(len, shape.faces))
    steepest: Scalar = math.inf
    chosen: list[Scalar] = [0.0] * (4 * corners)  # of each corner: whether it is there, x, y, z
    for face, normal in zip(shape.faces, shape.normals, strict=True):
        side = up.dot(Vec(*normal))
        is_lowest = _lowest([rises[k] for k in face]) <= lowest
        is_better = select(is_lowest, side < steepest, False)
        steepest = select(is_better, side, steepest)
        numbers = [x for k in face for x in (1.0, *shape.points[k])]
        numbers += [0.0] * (len(chosen) - len(numbers))
        chosen = [select(is_better, x, old) for x, old in zip(numbers, chosen, strict=True)]
    for k in range(0, len(chosen), 4):
        exists, *point = chosen[k : k + 4]
        offset = at.R @ Vec(*point)
        distance = at.height + offset.dot(at.normal)
        yield select(exists > 0.5, distance, at.margin + FAR), at.center + offset, None


def _lowest(rises: Sequence[Scalar]) -> Scalar:
    lowest = rises[0]
    for rise in rises[1:]:
        lowest = select(rise < lowest, rise, lowest)
    return lowest


POINTS: dict[type[MovingShape], Callable[..., Iterator[Point]]] = {
    Sphere: _of_sphere,
    Capsule: _of_capsule,
    Box: _of_box,
    Cylinder: _of_cylinder,
    Ellipsoid: _of_ellipsoid,
    Hull: _of_hull,
}


def _where(condition: Scalar, yes: Vec, no: Vec) -> Vec:
    return Vec(*(select(condition, a, b) for a, b in zip(yes, no, strict=True)))
