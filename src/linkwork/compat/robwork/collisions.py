"""Collision checking with RobWork's names: `CollisionDetector`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linkwork.compat.robwork.containers import FramePairVector, StdVector
from linkwork.compat.robwork.frames import Frame, PointerMethods, State
from linkwork.compat.robwork.workcell import WorkCell
from linkwork.errors import ArgumentError, shown
from linkwork.model.numbers import argument

if TYPE_CHECKING:
    from linkwork.collision.exact.queries import Meshes


class CollisionDetectorQueryType:
    """How many collisions a `ProximityData` asks for; full information is not supported."""

    AllContactsFullInfo, AllContactsNoInfo, FirstContactFullInfo, FirstContactNoInfo = range(4)


class CollisionDetectorQueryResult:
    """Pairs of colliding frames, which `CollisionDetector.inCollision` stores."""

    def __init__(self) -> None:
        self.collidingFrames: list[tuple[Frame, Frame]] = []
        self._fullInfo = StdVector()  # contacts of the shapes, which are not computed

    def getFramePairVector(self) -> FramePairVector:
        """Return the pairs of frames that collide."""
        return FramePairVector(self.collidingFrames)


class ProximityData:
    """What `CollisionDetector.inCollision` computes, and its result in `_collisionData`."""

    def __init__(self) -> None:
        self._collisionData = self.collision_data = CollisionDetectorQueryResult()
        self._type = CollisionDetectorQueryType.FirstContactNoInfo

    def setCollisionQueryType(self, qtype: int) -> None:
        """Set one of the numbers of `CollisionDetectorQueryType`."""
        self._type = int(qtype)

    def getCollisionQueryType(self) -> int:
        """Return one of the numbers of `CollisionDetectorQueryType`."""
        return self._type


class CollisionStrategy(PointerMethods):
    """An algorithm for collisions; `ProximityStrategyFactory` creates it."""

    def __init__(self, meshes: Meshes = "triangles") -> None:
        self.meshes: Meshes = meshes  # what a mesh stands for: its triangles or its convex hull


class ProximityStrategyFactory:
    """Creates algorithms for collisions: "triangles", which has all names of RobWork, and "hull".

    They differ in what a mesh stands for: its triangles, as in RobWork, or its convex hull.
    """

    @staticmethod
    def getCollisionStrategyIDs() -> list[str]:
        """Return the names of the algorithms."""
        return ["triangles", "hull"]

    @staticmethod
    def makeDefaultCollisionStrategy() -> CollisionStrategy:
        """Return the algorithm with triangles."""
        return CollisionStrategy()

    @staticmethod
    def makeCollisionStrategy(id: str) -> CollisionStrategy | None:
        """Return the algorithm with a name, also one of RobWork's; None for other names."""
        if id in ("triangles", "RW", "PQP", "FCL", "Yaobi", "Bullet"):
            return CollisionStrategy()
        return CollisionStrategy("hull") if id == "hull" else None


class CollisionDetector(PointerMethods):
    """Checks the frames of a workcell for collisions."""

    def __init__(self, workcell: WorkCell, strategy: CollisionStrategy | None = None) -> None:
        """Check all frames with shapes, except pairs of the cell's CollisionSetup.

        Args:
            workcell: the workcell.
            strategy: the algorithm; by default, a mesh stands for its triangles, as in RobWork.
        """
        self._structure = argument(workcell, WorkCell, "CollisionDetector").getStateStructure()
        self._strategy = strategy or CollisionStrategy()

    @staticmethod
    def make(workcell: WorkCell, strategy: CollisionStrategy | None = None) -> CollisionDetector:
        """Create a detector."""
        return CollisionDetector(workcell, strategy)

    def getCollisionStrategy(self) -> CollisionStrategy:
        """Return the algorithm."""
        return self._strategy

    def inCollision(self, state: State, result: Any = None, stopAtFirst: bool = False) -> bool:
        """Return whether frames collide in a state.

        Args:
            state: the state.
            result: where pairs of colliding frames are stored, if it is passed: a
                `CollisionDetectorQueryResult`, a `ProximityData`, or a `FramePairVector`.
            stopAtFirst: whether one pair is enough; a `ProximityData` has its own setting.
        """
        cell, value = self._structure.cell, self._structure.checked(state)
        pairs = cell.collisions(value, meshes=self._strategy.meshes)
        if result is None:
            return bool(pairs)
        if isinstance(result, ProximityData):
            stopAtFirst = result.getCollisionQueryType() >= 2
            result = result.collision_data
        names = pairs[:1] if stopAtFirst else pairs
        frames = [(self._structure.frame(a), self._structure.frame(b)) for a, b in names]
        if isinstance(result, CollisionDetectorQueryResult):
            result.collidingFrames = frames
        elif isinstance(result, list):
            result[:] = frames
        else:
            expected = "a CollisionDetectorQueryResult, a ProximityData or a FramePairVector"
            raise ArgumentError(f"result: expected {expected}, got {shown(result)}")
        return bool(pairs)
