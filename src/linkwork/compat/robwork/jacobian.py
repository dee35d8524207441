"""Jacobians under RobWork's names: rows [linear; angular]."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.compat.robwork.numbers import Numbers, Q, Vector3D, VelocityScrew6D, as_numbers
from linkwork.compat.robwork.rotations import EAA, Rotation3D
from linkwork.compat.robwork.transforms import Transform3D
from linkwork.errors import ArgumentError, ShapeError
from linkwork.spatial.source import motion, so3


class Jacobian(Numbers):
    """A matrix from joint velocities to velocities; `J[i, j]`, `J(i, j)`, `J.elem(i, j)` read."""

    __slots__ = ()

    def __init__(self, *given: Any) -> None:
        """Take a matrix, its sizes, or a pose, rotation or position that moves velocities."""
        if len(given) == 1 and isinstance(given[0], Transform3D):
            super().__init__(motion.motion_transform(given[0].asNumpy()))
        elif len(given) == 1 and isinstance(given[0], Rotation3D):
            super().__init__(np.kron(np.eye(2), given[0].asNumpy()))
        elif len(given) == 1 and isinstance(given[0], Vector3D) and not isinstance(given[0], EAA):
            matrix = np.eye(6)
            matrix[:3, 3:] = so3.wedge(given[0].asNumpy())
            super().__init__(matrix)
        elif given and all(isinstance(size, (int, np.integer)) for size in given):
            super().__init__(np.zeros((6, *given)[-2:]))
        else:
            matrix = as_numbers(given[0], "Jacobian") if len(given) == 1 else np.zeros(0)
            if matrix.ndim != 2:
                raise ArgumentError(
                    "Jacobian: expected a matrix, or its numbers of rows and columns"
                )
            super().__init__(matrix)

    @staticmethod
    def zero(size1: int, size2: int) -> Jacobian:
        """All entries zero."""
        return Jacobian(size1, size2)

    def size1(self) -> int:
        """Number of rows."""
        return int(self._a.shape[0])

    def size2(self) -> int:
        """Number of columns."""
        return int(self._a.shape[1])

    def elem(self, row: int, col: int) -> float:
        """An entry."""
        return float(self._a[row, col])

    def addPosition(self, part: Vector3D, row: int, col: int) -> None:
        """Add a linear velocity to a column, in the block of six rows that has this number."""
        self._a[6 * row : 6 * row + 3, col] += as_numbers(part, "addPosition", (3,))

    def addRotation(self, part: Vector3D, row: int, col: int) -> None:
        """Add an angular velocity to a column, in the block of six rows that has this number."""
        self._a[6 * row + 3 : 6 * row + 6, col] += as_numbers(part, "addRotation", (3,))

    def __mul__(self, other: Any) -> Any:
        right = as_numbers(other, "product with a Jacobian")
        if right.shape[:1] != (self.size2(),):
            raise ShapeError(f"product: a Jacobian of {self._a.shape} times {right.shape}")
        product = self._a @ right
        if isinstance(other, Jacobian) or right.ndim == 2:
            return Jacobian(product)
        if isinstance(other, VelocityScrew6D) and self.size1() != 6:
            return Q(product)
        return VelocityScrew6D(product) if product.shape == (6,) else Q(product)

    def __repr__(self) -> str:
        return f"Jacobian {self._a!r}"
