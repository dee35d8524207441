"""A line in space, about which or along which a joint moves, under iDynTree's names."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from linkwork.compat.idyntree.vectors import Direction, Position
from linkwork.errors import ArgumentError


class Axis:
    """A direction and a point: x through the origin unless both, or another axis, are given."""

    FAMILY = "axis"

    def __init__(self, *parts: Any) -> None:
        self._direction, self._origin = Direction(), Position()
        if len(parts) == 1 and isinstance(parts[0], Axis):
            self.setDirection(parts[0].getDirection())
            self.setOrigin(parts[0].getOrigin())
        elif len(parts) == 2:
            self._direction, self._origin = Direction(parts[0]), Position(parts[1])
        elif parts:
            raise ArgumentError(f"Axis: expected a direction and a point, got {len(parts)} parts")

    def __repr__(self) -> str:
        return f"Axis({self._direction.tolist()}, {self._origin.tolist()})"

    def __str__(self) -> str:
        return self.toString()

    def toString(self) -> str:
        """The numbers as a text."""
        return f"Direction: {self._direction.toString()} Origin: {self._origin.toString()}"

    def getDirection(self) -> Direction:
        """Direction of the axis; changes to it change the axis."""
        return self._direction

    def getOrigin(self) -> Position:
        """A point of the axis; changes to it change the axis."""
        return self._origin

    def setDirection(self, _direction: ArrayLike) -> None:
        """Give it another direction."""
        self._direction[...] = Direction(_direction)

    def setOrigin(self, _position: ArrayLike) -> None:
        """Give it another point."""
        self._origin[...] = Position(_position)

    def reverse(self) -> Axis:
        """The same line the other way."""
        return Axis(self._direction.reverse(), self._origin)
