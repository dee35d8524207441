"""Where to put the origins of bodies, so that algorithms have fewer operations.

A joint that rotates about its axis does so about any point of it, and one that does not rotate
moves every point alike. An origin is moved to where most coordinates of the positions of
the body in its parent, and of its children in the body, are 0: each other coordinate costs
operations in every algorithm. An origin that cannot be improved stays.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from linkwork.model.joints.kind import Rotation
from linkwork.model.pose import ROUNDING_NOISE
from linkwork.spatial.blocks import IDENTITY, ZERO, Mat, Vec


@dataclass(frozen=True, slots=True)
class JointPlacement:
    """The frame of a body's joint in the parent."""

    rotation: Rotation  # of the joint's kind
    axis: int  # of the frame: the one that the joint moves about or along
    columns: Mat  # of the rotation, as rows
    position: Vec

    def after(self, move: Vec) -> Vec:
        """Return the position of the origin after a move in the frame's own axes."""
        x, y, z = self.columns
        return self.position + move[0] * x + move[1] * y + move[2] * z

    def seen_from(self, origin: Vec) -> JointPlacement:
        """Return this placement as seen from another origin in the parent."""
        return replace(self, position=self.position - origin)

    @property
    def free(self) -> set[int]:
        """Coordinates of the position that a move of the origin alone can make 0."""
        movable = {"none": range(3), "about_axis": (self.axis,), "free": ()}[self.rotation]
        along = [[k for k in range(3) if self.columns[axis][k]] for axis in movable]
        return {axes[0] for axes in along if len(axes) == 1}


def best_origins(
    placements: Sequence[JointPlacement], parents: Sequence[int]
) -> tuple[list[Vec], list[Vec]]:
    """Return where to put origins.

    Args:
        placements: of each body, each parent before its children; that of body 0 does not count.
        parents: body that each body hangs on.

    Returns:
        how far each origin is moved, in the axes of its joint's frame; and its position in the
        parent, seen from the parent's new origin.
    """
    children: list[list[JointPlacement]] = [[] for _ in placements]
    for placement, parent in zip(placements[1:], parents[1:], strict=True):
        children[parent].append(placement)
    moves, positions = [ZERO], [ZERO]
    for body, parent in enumerate(parents[1:], start=1):
        placement = placements[body].seen_from(moves[parent])
        move = _best_move(placement, children[body])
        noise = ROUNDING_NOISE * (
            _size(placements[body].position) + _size(moves[parent]) + _size(move)
        )
        x, y, z = (0.0 if abs(p) <= noise else p for p in placement.after(move))
        moves.append(move)
        positions.append(Vec(x, y, z))
    return moves, positions


def _best_move(placement: JointPlacement, children: Sequence[JointPlacement]) -> Vec:
    """Return how far to move the origin of a body that carries others."""

    def cost(move: Vec) -> tuple[int, int, float]:
        far = _size(move)
        of_joint = _count(placement.after(move), _size(placement.position) + far)
        theirs = [
            _count(child.position - move, _size(child.position) + far, child.free)
            for child in children
        ]
        return of_joint + sum(theirs), of_joint, far

    return min((ZERO, *_targets(placement, children)), key=cost)


def _targets(placement: JointPlacement, children: Sequence[JointPlacement]) -> Iterator[Vec]:
    """Yield moves that make some coordinate 0."""
    if placement.rotation == "none":
        yield -(placement.columns @ placement.position)
        yield from (child.position for child in children)
    elif placement.rotation == "about_axis":
        along = zip(placement.position, placement.columns[placement.axis], strict=True)
        lengths = [
            -p / step for p, step in along if abs(step) > 0.5
        ]  # a nearly parallel plane may be far away
        lengths += [child.position[placement.axis] for child in children]
        for length in lengths:
            yield length * IDENTITY[placement.axis]


def _size(numbers: Vec) -> float:
    return max(map(abs, numbers))


def _count(numbers: Iterable[float], size: float, free: Container[int] = ()) -> int:
    """Count the numbers that are neither rounding noise relative to `size`, nor free."""
    noise = ROUNDING_NOISE * size
    return sum(abs(x) > noise for k, x in enumerate(numbers) if k not in free)
