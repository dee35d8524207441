"""Inertias under iDynTree's names: (6, 6) matrices from velocity to momentum, in one frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.idyntree.arrays import (
    Matrix3x3,
    Matrix6x6,
    Vector10,
    made,
)
from linkwork.compat.idyntree.vectors import (
    Position,
    SpatialForceVector,
    SpatialMotionVector,
    Twist,
    Vector6,
    Wrench,
)
from linkwork.spatial import inertia, motion, so3

if TYPE_CHECKING:
    from typing_extensions import Self


class RotationalInertia(Matrix3x3):
    """Inertia tensor."""

    FAMILY = "rotational inertia"


class SpatialInertia(Matrix6x6):
    """Inertia of a body: 0, a matrix, or mass, centre of mass and tensor about the origin."""

    FAMILY = "inertia"

    def __new__(cls, *numbers: ArrayLike) -> Self:
        """Make an inertia."""
        if len(numbers) != 3:
            return super().__new__(cls, *numbers)
        mass, com, tensor = numbers
        self = super().__new__(cls)
        self[:3, :3] = float(np.asarray(mass)) * np.eye(3)
        self[3:, :3] = so3.wedge(float(np.asarray(mass)) * Position(com).toNumPy())
        self[:3, 3:] = self[3:, :3].T
        self[3:, 3:] = RotationalInertia(tensor)
        return self

    @staticmethod
    def combine(op1: SpatialInertia, op2: SpatialInertia) -> SpatialInertia:
        """Inertia of two bodies that are fixed to one frame."""
        return op1 + op2

    def fromRotationalInertiaWrtCenterOfMass(
        self, mass: float, com: ArrayLike, rotInertia: ArrayLike
    ) -> None:
        """Become the inertia of a mass, its centre, and the tensor about that centre."""
        tensor = RotationalInertia(rotInertia).toNumPy()
        self[...] = inertia.matrix(inertia.from_com(mass, Position(com).toNumPy(), tensor))

    def fromVector(self, inertialParams: ArrayLike) -> None:
        """Become the inertia of m, m c, and ixx, ixy, ixz, iyy, iyz, izz about the origin."""
        self[...] = inertia.matrix(Vector10(inertialParams).toNumPy())

    def asVector(self) -> Vector10:
        """The ten numbers of `fromVector`."""
        return made(Vector10, inertia.from_matrix(self.toNumPy()))

    def asMatrix(self) -> Matrix6x6:
        """The matrix from velocity to momentum."""
        return made(Matrix6x6, self)

    def getMass(self) -> float:
        """Mass [kg]."""
        return self.getVal(0, 0)

    def getCenterOfMass(self) -> Position:
        """Centre of mass [m]; the origin if there is no mass."""
        mass = self.getMass()
        return made(Position, so3.vee(self[3:, :3]) / mass) if mass else Position()

    def getRotationalInertiaWrtFrameOrigin(self) -> RotationalInertia:
        """Tensor about the origin; changes to it change this inertia."""
        return self[3:, 3:].view(RotationalInertia)

    def getRotationalInertiaWrtCenterOfMass(self) -> RotationalInertia:
        """Tensor about the centre of mass."""
        return made(RotationalInertia, inertia.to_com(self.asVector().toNumPy())[2])

    def multiply(self, op: ArrayLike) -> SpatialForceVector:
        """This inertia times a motion."""
        return made(SpatialForceVector, self.toNumPy() @ SpatialMotionVector(op).toNumPy())

    def applyInverse(self, mom: ArrayLike) -> Twist:
        """Velocity of the body that has a momentum."""
        return made(Twist, np.linalg.solve(self.toNumPy(), Vector6(mom).toNumPy()))

    def getInverse(self) -> Matrix6x6:
        """Matrix from momentum to velocity."""
        return made(Matrix6x6, np.linalg.inv(self.toNumPy()))

    def biasWrench(self, V: ArrayLike) -> Wrench:
        """Wrench on the body that moves with a velocity and has spatial acceleration 0."""
        v = Twist(V).toNumPy()
        return made(Wrench, motion.force_cross(v, self.toNumPy() @ v))

    def isPhysicallyConsistent(self) -> bool:
        """Whether some distribution of mass has this inertia."""
        numbers = self.asVector().toNumPy()
        return bool(numbers[0] > 0 and inertia.is_physical(numbers))
