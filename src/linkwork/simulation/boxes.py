"""Contact points of spheres and capsules with fixed boxes, as MuJoCo chooses them.

A sphere touches at the point of the box that is closest to its center; from inside, at the nearest
face. A capsule touches as two spheres on its axis do: one at the point closest to the box (an end
over a face, or a point across from an edge or a corner), and one as far from it along the axis as
the box reaches. All vectors here are in the axes of the box, from its center.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from linkwork.engine.symbolic.entries import FUNCTIONS, select
from linkwork.model.geometry import Capsule
from linkwork.spatial.blocks import Scalar, Vec

TINY = 1e-15  # mjMINVAL
LEAST_LENGTH = 1e-30  # of an axis along a coordinate, so that quotients are finite
FAR = 1e10  # no square of a distance is larger

BoxPoint = tuple[Scalar, Vec, Vec]  # distance, point, normal out of the box


def sphere_on_box(center: Vec, radius: float, half: Sequence[float]) -> BoxPoint:
    """Return where a sphere touches a box with these half edges."""
    nearest = Vec(*(_clipped(x, s) for x, s in zip(center, half, strict=True)))
    apart = center - nearest
    square = apart.dot(apart)
    is_out = square > TINY * TINY
    length = FUNCTIONS["sqrt"](select(is_out, square, 1.0))
    gaps = [s - abs(x) for x, s in zip(center, half, strict=True)]
    first = select(gaps[1] < gaps[0], False, True)
    gap = select(first, gaps[0], gaps[1])
    is_last = gaps[2] < gap
    chosen = [
        select(is_last, 0.0, select(first, 1.0, 0.0)),
        select(is_last, 0.0, select(first, 0.0, 1.0)),
        select(is_last, 1.0, 0.0),
    ]
    outward = (select(x > 0.0, flag, -flag) for x, flag in zip(center, chosen, strict=True))
    inverse = 1.0 / length
    normal = Vec(
        *(select(is_out, inverse * x, face) for x, face in zip(apart, outward, strict=True))
    )
    depth = select(is_out, length, -select(is_last, gaps[2], gap))
    distance = depth - radius
    return distance, center - (radius + 0.5 * distance) * normal, normal


def capsule_on_box(
    center: Vec, axis: Vec, shape: Capsule, half: Sequence[float], margin: float
) -> tuple[BoxPoint, BoxPoint]:
    """Return where a capsule touches a box.

    Args:
        center: of the capsule.
        axis: its unit direction.
        shape: the capsule.
        half: half of the edges of the box.
        margin: a second point that does not exist is farther away than this.
    """
    reach, radius = 0.5 * shape.length, shape.radius
    along = reach * axis
    found = _closest(center, along, reach, half)
    second, exists = found.second(center, along, axis, half)
    first = sphere_on_box(center + found.at * along, radius, half)
    distance, point, normal = sphere_on_box(center + (found.at + second) * along, radius, half)
    return first, (select(exists, distance, margin + 1.0), point, normal)


@dataclass(frozen=True)
class _Closest:
    """The point of a capsule's axis that is closest to a box, and what it is closest to."""

    square: Scalar  # of the distance
    at: Scalar  # along the axis: -1 to 1
    face: Scalar  # axis of the face; -1: it is inside, or not closest to a face
    end: Scalar  # -1 or 1 if an end is closest to a face or inside, else 0
    edge: Scalar  # axis of the edge
    on_edge: Scalar  # position on the edge: -1 to 1
    is_corner: Scalar  # 1 if that is an end of the edge
    corner: tuple[Scalar, Scalar, Scalar]  # 1 for the upper side of each axis, 0 for the lower

    def or_closer(self, condition: Any, other: _Closest) -> _Closest:
        """Return the other where the condition holds."""
        pairs = zip(self.numbers, other.numbers, strict=True)
        return _of_numbers([select(condition, new, old) for old, new in pairs])

    @property
    def numbers(self) -> list[Scalar]:
        """All numbers, the square first."""
        others = self.face, self.end, self.edge, self.on_edge, self.is_corner
        return [self.square, self.at, *others, *self.corner]

    def second(
        self, center: Vec, along: Vec, axis: Vec, half: Sequence[float]
    ) -> tuple[Scalar, Any]:
        """Return the way along the axis to a second point, and whether there is one."""
        ways = [abs(x) for x in along]
        reach = [2.0 * s / _at_least(x) for x, s in zip(ways, half, strict=True)]
        differs = [
            select(x > 0.0, 1.0 - bit, bit) for x, bit in zip(along, self.corner, strict=True)
        ]
        corner, has_corner = self._of_corner(differs, axis, reach)
        edge, has_edge = self._of_edge(differs, along, axis, reach)
        face = self._of_face(center, along, half)
        is_corner, is_face = self.is_corner > 0.5, abs(self.end) > 0.5
        way = select(is_face, face, select(is_corner, corner, edge))
        has_face = self.face > -0.5
        return way, select(is_face, has_face, select(is_corner, has_corner, has_edge))

    def _of_corner(
        self, differs: Sequence[Scalar], axis: Vec, reach: Sequence[Scalar]
    ) -> tuple[Scalar, Any]:
        count = differs[0] + differs[1] + differs[2]
        is_one = count < 1.5
        chosen = [select(is_one, x, 1.0 - x) for x in differs]
        ahead, behind = 1.0 - self.at, 1.0 + self.at
        sign = select(is_one, 1.0, -1.0)
        forward = _least(select(is_one, ahead, behind), _picked(chosen, reach))
        a, b, c = reach
        others = _picked(chosen, [_least(b, c), _least(a, c), _least(a, b)])
        backward = _least(select(is_one, behind, ahead), others)
        is_along = _picked(chosen, [x * x for x in axis]) > 0.5
        way = select(is_along, sign * forward, -(sign * backward))
        return way, select(count > 0.5, count < 2.5, False)

    def _of_edge(
        self, differs: Sequence[Scalar], along: Vec, axis: Vec, reach: Sequence[Scalar]
    ) -> tuple[Scalar, Any]:
        edge = [select(self.edge < 0.5, 1.0, 0.0), 0.0, select(self.edge > 1.5, 1.0, 0.0)]
        edge[1] = 1.0 - edge[0] - edge[2]
        count = _picked(
            edge, [differs[1] + differs[2], differs[0] + differs[2], differs[0] + differs[1]]
        )
        sizes = [abs(x) for x in axis]  # of the axes across the edge, the larger one is chosen

        def way(edge: int, main: int) -> Scalar:
            return self._along_edge(edge, main, differs, along, reach)

        ring = [(k, (k + 1) % 3, (k + 2) % 3) for k in range(3)]
        ways = [select(sizes[a] > sizes[b], way(k, a), way(k, b)) for k, a, b in ring]
        return _picked(edge, ways), select(count > 0.5, count < 1.5, False)

    def _along_edge(
        self, edge: int, main: int, differs: Sequence[Scalar], along: Vec, reach: Sequence[Scalar]
    ) -> Scalar:
        is_ahead = differs[main] > 0.5
        way = select(is_ahead, 1.0 - self.at, 1.0 + self.at)
        is_up = along[edge] > 0.0
        left = select(
            is_up,
            select(is_ahead, 1.0 - self.on_edge, 1.0 + self.on_edge),
            select(is_ahead, 1.0 + self.on_edge, 1.0 - self.on_edge),
        )
        way = _least(_least(way, reach[main]), 0.5 * (reach[edge] * left))
        return select(is_ahead, way, -way)

    def _of_face(self, center: Vec, along: Vec, half: Sequence[float]) -> Scalar:
        start = center + self.end * along
        way: Scalar = 2.0
        for k, (x, s, a) in enumerate(zip(start, half, along, strict=True)):
            is_across = abs(self.face - k) > 0.5
            inverse = -self.end / select(abs(a) > LEAST_LENGTH, a, LEAST_LENGTH)
            for side in (s, -s):
                reach = (side - x) * inverse
                is_less = select(is_across, select(reach > 0.0, reach < way, False), False)
                way = select(is_less, reach, way)
        return -self.end * way


def _of_numbers(numbers: Sequence[Scalar]) -> _Closest:
    *first, x, y, z = numbers
    return _Closest(*first, (x, y, z))  # pyright: ignore[reportCallIssue]


def _closest(center: Vec, along: Vec, reach: float, half: Sequence[float]) -> _Closest:
    best = _of_numbers([FAR, *[0.0] * 9])
    for sign in (-1.0, 1.0):
        end = center + sign * along
        count: Scalar = 0.0
        face: Scalar = -1.0
        for k, (x, s) in enumerate(zip(end, half, strict=True)):
            is_out = abs(x) > s
            count = count + select(is_out, 1.0, 0.0)
            face = select(is_out, float(k), face)
        apart = end - Vec(*(_clipped(x, s) for x, s in zip(end, half, strict=True)))
        square = apart.dot(apart)
        over = _Closest(square, sign, face, sign, 0.0, 0.0, 0.0, (0.0, 0.0, 0.0))
        best = best.or_closer(select(count < 1.5, square < best.square, False), over)
    for k in range(3):
        for sides in product((0, 1), repeat=2):  # the first axis changes first
            x, y = sides[::-1]
            corner = [x, y]
            corner.insert(k, 0)
            found = _at_edge(center, along, reach, half, (k, corner))
            is_closer = select(found.is_crossing, found.point.square < best.square - TINY, False)
            best = best.or_closer(is_closer, found.point)
    return best


@dataclass(frozen=True)
class _AtEdge:
    point: _Closest
    is_crossing: Any  # whether the capsule is not parallel to the edge


def _at_edge(
    center: Vec, along: Vec, reach: float, half: Sequence[float], edge: tuple[int, Sequence[int]]
) -> _AtEdge:
    """Return the point of the axis that is closest to an edge: its direction and its corner."""
    k, corner = edge
    s = half[k]
    middle = Vec(*(0.0 if j == k else (1 if corner[j] else -1) * half[j] for j in range(3)))
    apart = middle - center
    aa, ab, bb = s * s, -s * along[k], reach * reach
    u, v = -s * apart[k], along.dot(apart)
    det = aa * bb - ab * ab
    is_crossing = abs(det) > TINY
    inverse = 1.0 / select(is_crossing, det, 1.0)
    on_edge, at = (bb * u - ab * v) * inverse, (aa * v - ab * u) * inverse
    is_high, is_low = on_edge > 1.0, on_edge < -1.0
    at = select(is_high, (v - ab) * (1.0 / bb), select(is_low, (v + ab) * (1.0 / bb), at))
    side = select(is_high, 1.0, select(is_low, -1.0, 0.0))  # at which end of the edge
    on_edge = _clipped(on_edge, 1.0)
    for sign in (1.0, -1.0):  # beyond an end of the axis
        is_beyond = sign * at > 1.0
        other = (u - sign * ab) * (1.0 / aa)
        its_side = select(other > 1.0, 1.0, select(other < -1.0, -1.0, side))
        side = select(is_beyond, its_side, side)
        on_edge = select(is_beyond, _clipped(other, 1.0), on_edge)
    at = _clipped(at, 1.0)
    unit = Vec(*(1.0 if j == k else 0.0 for j in range(3)))
    apart = apart - at * along + (s * on_edge) * unit
    square = apart.dot(apart)
    bits: list[Scalar] = [float(bit) for bit in corner]
    bits[k] = select(side > 0.5, 1.0, 0.0)
    is_corner = select(abs(side) > 0.5, 1.0, 0.0)
    found = _Closest(
        square, at, -1.0, 0.0, float(k), on_edge, is_corner, (bits[0], bits[1], bits[2])
    )
    return _AtEdge(found, is_crossing)


def _picked(flags: Sequence[Scalar], values: Sequence[Scalar]) -> Scalar:
    """Return the value whose flag is 1."""
    return select(flags[0] > 0.5, values[0], select(flags[1] > 0.5, values[1], values[2]))


def _least(a: Scalar, b: Scalar) -> Scalar:
    return select(a < b, a, b)


def _at_least(x: Scalar) -> Scalar:
    return select(x > LEAST_LENGTH, x, LEAST_LENGTH)


def _clipped(x: Scalar, bound: float) -> Scalar:
    return select(x > bound, bound, select(x < -bound, -bound, x))
