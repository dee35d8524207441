"""Where to put the origins of bodies, so that algorithms have fewer operations.

A joint that rotates about its axis does so about any point of it, and one that does not rotate
moves every point alike. An origin is moved to where most coordinates of the positions of
the body in its parent, and of its children in the body, are 0: each other coordinate costs
operations in every algorithm. An origin that cannot be improved stays.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import mul, sub

from linkwork.model.kinds.kind import Rotation
from linkwork.model.pose import ROUNDING_NOISE

Triple = tuple[float, float, float]
STAY: Triple = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Site:
    """The frame of a body's joint in the parent."""

    rotation: Rotation  # of the joint's kind
    axis: int  # of the frame: the one that the joint moves about or along
    columns: tuple[Triple, Triple, Triple]  # of the rotation
    position: Triple

    def after(self, move: Triple) -> Triple:
        """Position of the origin after a move in the frame's own axes."""
        return tuple(
            p + x * move[0] + y * move[1] + z * move[2]
            for p, x, y, z in zip(self.position, *self.columns, strict=True)
        )  # pyright: ignore[reportReturnType]

    def seen_from(self, origin: Triple) -> Site:
        """The same from another origin in the parent."""
        return replace(self, position=tuple(map(sub, self.position, origin)))

    @property
    def free(self) -> set[int]:
        """Coordinates of the position that a move of the origin alone can make 0."""
        movable = {"none": range(3), "about_axis": (self.axis,), "free": ()}[self.rotation]
        along = [[k for k in range(3) if self.columns[axis][k]] for axis in movable]
        return {axes[0] for axes in along if len(axes) == 1}


def best_origins(
    sites: Sequence[Site], parents: Sequence[int]
) -> tuple[list[Triple], list[Triple]]:
    """Where to put origins.

    Args:
        sites: of each body, each parent before its children; that of body 0 does not count.
        parents: body that each body hangs on.

    Returns:
        how far each origin is moved, in the axes of its joint's frame; and its position in the
        parent, seen from the parent's new origin.
    """
    children: list[list[Site]] = [[] for _ in sites]
    for site, parent in zip(sites[1:], parents[1:], strict=True):
        children[parent].append(site)
    moves, positions = [STAY], [STAY]
    for body, parent in enumerate(parents[1:], start=1):
        site = sites[body].seen_from(moves[parent])
        move = _best_move(site, children[body])
        noise = ROUNDING_NOISE * (_size(sites[body].position) + _size(moves[parent]) + _size(move))
        x, y, z = (0.0 if abs(p) <= noise else p for p in site.after(move))
        moves.append(move)
        positions.append((x, y, z))
    return moves, positions


def _best_move(site: Site, children: Sequence[Site]) -> Triple:
    """How far to move the origin of a body that carries others."""

    def cost(move: Triple) -> tuple[int, int, float]:
        far = _size(move)
        own = _count(site.after(move), _size(site.position) + far)
        theirs = [
            _count(map(sub, child.position, move), _size(child.position) + far, child.free)
            for child in children
        ]
        return own + sum(theirs), own, far

    return min((STAY, *_targets(site, children)), key=cost)


def _targets(site: Site, children: Sequence[Site]) -> Iterator[Triple]:
    """Moves that make some coordinate 0."""
    if site.rotation == "none":
        x, y, z = (-sum(map(mul, column, site.position)) for column in site.columns)
        yield (x, y, z)
        yield from (child.position for child in children)
    elif site.rotation == "about_axis":
        along = zip(site.position, site.columns[site.axis], strict=True)
        lengths = [
            -p / step for p, step in along if abs(step) > 0.5
        ]  # a nearly parallel plane may be far away
        lengths += [child.position[site.axis] for child in children]
        for length in lengths:
            x, y, z = (length if k == site.axis else 0.0 for k in range(3))
            yield (x, y, z)


def _size(numbers: Triple) -> float:
    return max(map(abs, numbers))


def _count(numbers: Iterable[float], size: float, free: Container[int] = ()) -> int:
    """How many numbers are neither rounding noise relative to `size`, nor free."""
    noise = ROUNDING_NOISE * size
    return sum(abs(x) > noise for k, x in enumerate(numbers) if k not in free)
