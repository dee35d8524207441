"""Collision checking with RobWork's names: `CollisionDetector`."""

from __future__ import annotations

from linkwork.compat.robwork.frames import Frame
from linkwork.compat.robwork.structure import PointerMethods, State
from linkwork.compat.robwork.workcell import WorkCell
from linkwork.errors import ArgumentError, shown


class CollisionDetectorQueryResult:
    """What `CollisionDetector.inCollision` writes to."""

    def __init__(self) -> None:
        self.collidingFrames: list[tuple[Frame, Frame]] = []

    def getFramePairVector(self) -> list[tuple[Frame, Frame]]:
        """Return the pairs of frames that collide."""
        return list(self.collidingFrames)


class CollisionDetector(PointerMethods):
    """Checks the frames of a workcell for collisions."""

    def __init__(self, workcell: WorkCell, strategy: object = None) -> None:
        """Check all frames with shapes, except pairs of the cell's CollisionSetup.

        Args:
            workcell: the workcell.
            strategy: ignored; there is one algorithm.
        """
        if not isinstance(workcell, WorkCell):
            raise ArgumentError(f"CollisionDetector: expected a WorkCell, got {shown(workcell)}")
        del strategy
        self._structure = workcell.getStateStructure()

    def inCollision(
        self,
        state: State,
        result: CollisionDetectorQueryResult | None = None,
        stopAtFirst: bool = False,
    ) -> bool:
        """Return whether frames collide in a state.

        Args:
            state: the state.
            result: where pairs of colliding frames are stored, if it is passed.
            stopAtFirst: whether one pair is enough.
        """
        cell, value = self._structure.cell, self._structure.checked(state)
        if result is None:
            return bool(cell.in_collision(value))
        pairs = cell.collisions(value)
        names = pairs[:1] if stopAtFirst else pairs
        result.collidingFrames = [
            (self._structure.frame(first), self._structure.frame(second)) for first, second in names
        ]
        return bool(pairs)
