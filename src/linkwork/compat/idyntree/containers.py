"""Lists, constants, and arrays sized by a robot, with iDynTree's names."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.idyntree.arrays import BaseArray, VectorDynSize, array_of
from linkwork.compat.idyntree.geometry import Wrench
from linkwork.compat.idyntree.records import ModelRecords
from linkwork.compat.idyntree.statuses import Partial
from linkwork.errors import ValueRangeError

if TYPE_CHECKING:
    from typing_extensions import Self


LINK_INVALID_INDEX = JOINT_INVALID_INDEX = FRAME_INVALID_INDEX = TRAVERSAL_INVALID_INDEX = -1

cvar = SimpleNamespace(
    LINK_INVALID_INDEX=LINK_INVALID_INDEX,
    LINK_INVALID_NAME="",
    JOINT_INVALID_INDEX=JOINT_INVALID_INDEX,
    JOINT_INVALID_NAME="",
    FRAME_INVALID_INDEX=FRAME_INVALID_INDEX,
    FRAME_INVALID_NAME="",
    TRAVERSAL_INVALID_INDEX=TRAVERSAL_INVALID_INDEX,
)
"""iDynTree's constants, in the namespace where its bindings have them."""

Item = TypeVar("Item")


class StdVector(Partial, list[Item], Generic[Item]):
    """A Python list with the most common methods of C++'s vector."""

    def append(self, x: Item) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - iDynTree's
        """Append an item."""
        super().append(x)

    push_back = append

    def size(self) -> int:
        """Return the number of items."""
        return len(self)

    def empty(self) -> bool:
        """Return whether there are no items."""
        return not self


class StringVector(StdVector[str]):
    """A list of strings."""


class IndexVector(StdVector[int]):
    """A list of indices."""


class LinkWrenches(BaseArray):
    """(links, 6) a wrench for each link of a robot, initially zero.

    `array(link)` and `array[link]` are wrenches; changes to them change the array.
    """

    def __new__(cls, model: ModelRecords | int = 0) -> Self:
        """Create an array for a robot, or for a number of links."""
        links = model if isinstance(model, int) else model.getNrOfLinks()
        return array_of(cls, np.zeros((links, 6)))

    def __call__(self, link: int) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - one index, and an element
        """Return the element of a link; changes to it change this array."""
        if not 0 <= link < len(self):
            raise ValueRangeError(f"link index {link}: expected 0 to {len(self) - 1}")
        return self[link]

    def __getitem__(self, key: Any) -> Any:
        element = super().__getitem__(key)
        return element.view(Wrench) if isinstance(key, (int, np.integer)) else element

    def __len__(self) -> int:
        return self.shape[0]

    def getNrOfLinks(self) -> int:
        """Return the number of links."""
        return self.shape[0]

    def toString(self, model: ModelRecords | None = None) -> str:
        """Format the elements, with the names of the links if their robot is passed."""
        names = [f"{model.getLinkName(k)}: " if model else "" for k in range(len(self))]
        return "\n".join(f"{name}{self[k].toString()}" for k, name in enumerate(names))


class JointPosDoubleArray(VectorDynSize):
    """Joint positions of a robot, zeros of a length, or a copy of an array."""

    def __new__(cls, values: ModelRecords | ArrayLike = 0) -> Self:
        """Create joint positions."""
        return super().__new__(cls, cls._size(values))

    def resize(self, newSize: ModelRecords | int) -> None:
        """Change the length to the number of coordinates of a robot, or to a number."""
        super().resize(self._size(newSize))

    @classmethod
    def _size(cls, values: Any) -> Any:
        """Return the number of positions of a robot; other values unchanged."""
        return getattr(values, "getNrOfPosCoords", lambda: values)()


class JointDOFsDoubleArray(JointPosDoubleArray):
    """Joint velocities or torques of a robot, zeros of a length, or a copy of an array."""

    @classmethod
    def _size(cls, values: Any) -> Any:
        """Return the number of velocities of a robot; other values unchanged."""
        return getattr(values, "getNrOfDOFs", lambda: values)()


class FreeFloatingGeneralizedTorques(BaseArray):
    """(6 + n,) the wrench on the base, then the joint torques; initially 0."""

    def __new__(cls, model: ModelRecords | None = None) -> Self:
        """Create forces that are 0."""
        return array_of(cls, np.zeros(6 + (model.getNrOfDOFs() if model else 0)))

    def baseWrench(self) -> Wrench:
        """Return the wrench on the base; changes to it change these forces."""
        return self[:6].view(Wrench)

    def jointTorques(self) -> JointDOFsDoubleArray:
        """Return the joint torques; changes to them change these forces."""
        return self[6:].view(JointDOFsDoubleArray)

    def getNrOfDOFs(self) -> int:
        """Return the number of joint torques."""
        return self.shape[0] - 6

    def resize(self, model: ModelRecords) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - iDynTree's
        """Change the size to fit a robot, and set all elements to 0."""
        super().resize((6 + model.getNrOfDOFs(),), refcheck=False)
        self.zero()
