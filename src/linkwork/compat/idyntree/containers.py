"""Quantities of all links or joints of a robot, in one array each, under iDynTree's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.idyntree.arrays import MatrixDynSize, Numbers, VectorDynSize, made
from linkwork.compat.idyntree.model import Model
from linkwork.compat.idyntree.poses import Transform
from linkwork.compat.idyntree.traversal import Traversal
from linkwork.compat.idyntree.vectors import Wrench
from linkwork.errors import ValueRangeError

if TYPE_CHECKING:
    from typing_extensions import Self


class LinkArray(Numbers):
    """One element for each link of a robot, zeros or identities at first.

    `array(link)` and `array[link]` are an element; changes to it change the array.
    """

    ELEMENT: ClassVar[type[Numbers]] = Numbers

    def __new__(cls, model: Model | int = 0) -> Self:
        """Make an array for a robot, or for a number of links."""
        return made(cls, cls._initial(model))

    @classmethod
    def _initial(cls, model: Model | int) -> Any:
        links = model.getNrOfLinks() if isinstance(model, Model) else int(model)
        element = cls.ELEMENT()
        return np.broadcast_to(element.toNumPy(), (links, *element.shape))

    def __call__(self, link: int) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride] - one index, and an element
        """The element of a link; changes to it change this array."""
        if not 0 <= link < len(self):
            raise ValueRangeError(f"link index {link}: there are {len(self)}, from 0")
        return self.view(np.ndarray)[link].view(self.ELEMENT)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, (int, np.integer)):
            found = self.view(np.ndarray)[key]
            return found.view(self.ELEMENT)
        return super().__getitem__(key)

    def __len__(self) -> int:
        return self.shape[0]

    def getNrOfLinks(self) -> int:
        """How many links there are."""
        return self.shape[0]

    def isConsistent(self, model: Model) -> bool:
        """Whether there is an element for each link of a robot."""
        return self.shape[0] == model.getNrOfLinks()

    def resize(self, model: Model | int) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - iDynTree's
        """Start again for a robot, or for a number of links."""
        initial = self._initial(model)
        super().resize(initial.shape, refcheck=False)
        self[...] = initial

    def toString(self, model: Model | None = None) -> str:
        """The elements as a text, with the names of the links if their robot is given."""
        names = [model.getLinkName(link) for link in range(len(self))] if model else []
        elements = [self(link).toString() for link in range(len(self))]
        return "\n".join(
            f"{name}: {text}" for name, text in zip(names, elements, strict=False)
        ) or ("\n".join(elements))


class LinkWrenches(LinkArray):
    """(links, 6) a wrench for each link of a robot."""

    ELEMENT = Wrench


class LinkPositions(LinkArray):
    """(links, 4, 4) a pose for each link of a robot."""

    ELEMENT = Transform


class JointPosDoubleArray(VectorDynSize):
    """Joint positions: of a robot, of a length, or of numbers; 0 unless these are given."""

    def __new__(cls, numbers: Model | ArrayLike = 0) -> Self:
        """Make joint positions."""
        size = numbers.getNrOfPosCoords() if isinstance(numbers, Model) else numbers
        return super().__new__(cls, size)

    def isConsistent(self, model: Model) -> bool:
        """Whether the length is that of a robot."""
        return self.shape[0] == model.getNrOfPosCoords()

    def resize(self, newSize: Model | int) -> None:
        """Take the length of a robot, or another one."""
        super().resize(newSize.getNrOfPosCoords() if isinstance(newSize, Model) else newSize)


class JointDOFsDoubleArray(VectorDynSize):
    """Joint velocities or torques: of a robot, of a length, or of numbers; 0 unless given."""

    def __new__(cls, numbers: Model | ArrayLike = 0) -> Self:
        """Make joint velocities or torques."""
        size = numbers.getNrOfDOFs() if isinstance(numbers, Model) else numbers
        return super().__new__(cls, size)

    def isConsistent(self, model: Model) -> bool:
        """Whether the length is that of a robot."""
        return self.shape[0] == model.getNrOfDOFs()

    def resize(self, newSize: Model | int) -> None:
        """Take the length of a robot, or another one."""
        super().resize(newSize.getNrOfDOFs() if isinstance(newSize, Model) else newSize)


class FreeFloatingGeneralizedTorques(Numbers):
    """(6 + n,) the wrench on the base, then the joint torques; 0 at first."""

    def __new__(cls, model: Model | None = None) -> Self:
        """Make forces that are 0."""
        return made(cls, np.zeros(6 + (model.getNrOfDOFs() if model else 0)))

    def baseWrench(self) -> Wrench:
        """The wrench on the base; changes to it change these forces."""
        return self[:6].view(Wrench)

    def jointTorques(self) -> JointDOFsDoubleArray:
        """The joint torques; changes to them change these forces."""
        return self[6:].view(JointDOFsDoubleArray)

    def getNrOfDOFs(self) -> int:
        """How many joint torques there are."""
        return self.shape[0] - 6

    def resize(self, model: Model) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - iDynTree's
        """Take the size of a robot, and 0 everywhere."""
        super().resize((6 + model.getNrOfDOFs(),), refcheck=False)
        self.zero()


class _ModelMatrix(MatrixDynSize):
    """A matrix whose shape follows from a robot, or from its number of joint velocities."""

    ROWS: ClassVar[int] = 0  # 0: as many as columns

    def __new__(cls, model: Model | int | None = None) -> Self:
        """Make a matrix of zeros."""
        return made(cls, np.zeros(cls._shape(model)))

    @classmethod
    def _shape(cls, model: Model | int | None) -> tuple[int, int]:
        dofs = model.getNrOfDOFs() if isinstance(model, Model) else int(model or 0)
        return cls.ROWS or 6 + dofs, 6 + dofs

    def isConsistent(self, model: Model) -> bool:
        """Whether the shape is that of a robot."""
        return self.shape == self._shape(model)

    def resize(self, model: Model | int, cols: int | None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - iDynTree's
        """Take the shape of a robot; or rows and columns, as outputs do."""
        shape = (model, cols) if cols is not None else self._shape(model)
        super().resize(*shape)  # pyright: ignore[reportArgumentType] - with columns, the rows


class FreeFloatingMassMatrix(_ModelMatrix):
    """(6 + n, 6 + n) a mass matrix."""


class FrameFreeFloatingJacobian(_ModelMatrix):
    """(6, 6 + n) the Jacobian of a frame."""

    ROWS = 6


def ForwardPositionKinematics(
    model: Model,
    traversal: Traversal,
    worldHbase: ArrayLike,
    jointPositions: ArrayLike,
    linkPositions: LinkPositions,
) -> bool:
    """Write the pose of each link in the world, going along a walk from its base."""
    for index in range(traversal.getNrOfVisitedLinks()):
        link, parent = traversal.getLink(index).getIndex(), traversal.getParentLink(index)
        joint = traversal.getParentJoint(index)
        if parent is None or joint is None:
            linkPositions(link)[...] = Transform(worldHbase)
        else:
            above = parent.getIndex()
            parent_H_link = model.getJoint(joint.getIndex()).getTransform(
                jointPositions, above, link
            )
            linkPositions(link)[...] = linkPositions(above) * parent_H_link
    return True
