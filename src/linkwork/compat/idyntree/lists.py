"""Lists, maps and constants under iDynTree's names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import ClassVar, Generic, TypeVar

from linkwork.errors import ValueRangeError

LINK_INVALID_INDEX = -1
JOINT_INVALID_INDEX = -1
FRAME_INVALID_INDEX = -1
TRAVERSAL_INVALID_INDEX = -1
LINK_INVALID_NAME = ""
JOINT_INVALID_NAME = ""
FRAME_INVALID_NAME = ""

cvar = SimpleNamespace(
    LINK_INVALID_INDEX=LINK_INVALID_INDEX,
    LINK_INVALID_NAME=LINK_INVALID_NAME,
    JOINT_INVALID_INDEX=JOINT_INVALID_INDEX,
    JOINT_INVALID_NAME=JOINT_INVALID_NAME,
    FRAME_INVALID_INDEX=FRAME_INVALID_INDEX,
    FRAME_INVALID_NAME=FRAME_INVALID_NAME,
    TRAVERSAL_INVALID_INDEX=TRAVERSAL_INVALID_INDEX,
)
"""Where iDynTree itself keeps its constants."""

Item = TypeVar("Item")


class StdIterator(Generic[Item]):
    """Walks over a list as iDynTree's iterators do in Python: `next()` returns an item."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._items = iter(items)

    def __iter__(self) -> Iterator[Item]:
        return self._items

    def next(self) -> Item:
        """The next item.

        Raises:
            StopIteration: there is none.
        """
        return next(self._items)

    __next__ = next


class StdVector(list[Item], Generic[Item]):
    """A list that also answers to the names of C++'s vector.

    Args:
        items: the items; or how many, each a copy of `item`.
        item: what to fill it with.
    """

    FILL: ClassVar[type] = str

    def __init__(self, items: Iterable[Item] | int = (), item: Item | None = None) -> None:
        if isinstance(items, int):
            items = [type(self).FILL() if item is None else item for _ in range(items)]
        super().__init__(items)

    def append(self, x: Item) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - iDynTree's
        """Put an item at the end."""
        super().append(x)

    push_back = append

    def pop_back(self) -> None:
        """Remove the last item."""
        self.pop()

    def size(self) -> int:
        """How many items there are."""
        return len(self)

    def empty(self) -> bool:
        """Whether there is none."""
        return not self

    def begin(self) -> StdIterator[Item]:
        """An iterator at the first item."""
        return StdIterator(self)

    def front(self) -> Item:
        """The first item."""
        return self._end(0)

    def back(self) -> Item:
        """The last item."""
        return self._end(-1)

    def resize(self, new_size: int, x: Item | None = None) -> None:
        """Cut, or fill up with copies of an item."""
        more = new_size - len(self)
        self[new_size:] = [type(self).FILL() if x is None else x for _ in range(more)]

    def _end(self, index: int) -> Item:
        if not self:
            raise ValueRangeError(f"this {type(self).__name__} is empty")
        return self[index]


class StringVector(StdVector[str]):
    """A list of texts."""


class IndexVector(StdVector[int]):
    """A list of indices."""

    FILL = int


class IntVector(StdVector[int]):
    """A list of whole numbers."""

    FILL = int
