"""Poses with RobWork's names: `aTb` is the pose of frame b in frame a."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from linkwork.compat.robwork.rotations import (
    EAA,
    RPY,
    InertiaMatrix,
    Quaternion,
    Rotation2D,
    Rotation3D,
    as_rotation,
)
from linkwork.compat.robwork.vectors import (
    MathValue,
    Q,
    Vector,
    Vector3D,
    as_floats,
    coordinates,
)
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ShapeError, shown
from linkwork.spatial.source import motion, se3, so3
from linkwork.workcell.files.joints import craig_dh, schilling_dh

if TYPE_CHECKING:
    from typing_extensions import Self


T = TypeVar("T", bound=MathValue)


def six_elements(values: tuple[Any, ...], name: str) -> Array:
    """Convert six elements, two vectors of three, or a pose to position and angle times axis."""
    if len(values) == 2:
        return np.concatenate([as_floats(half, name, (3,)) for half in values])
    if len(values) == 1 and np.shape(values[0]) == (4, 4):
        pose = as_floats(values[0], name)
        return np.concatenate([se3.position_of(pose), so3.log(se3.rotation_of(pose))])
    return coordinates(values, name, 6)


class Screw(Vector):
    """Two vectors at a point: linear (3), angular (3)."""

    def rotated(self, R: Array) -> Self:
        """Return it in other axes, at the same point."""
        return self.around((R @ self._a.reshape(2, 3, 1)).reshape(6))


class VelocityScrew6D(Screw, both_precisions=True):
    """A velocity: linear (3), angular (3)."""

    def __init__(self, *values: Any) -> None:
        """Accept six elements, linear and angular velocity, or a pose; zero without arguments.

        The screw of a pose is its position and its angle times axis.
        """
        super().__init__(six_elements(values, "VelocityScrew6D"))

    def linear(self) -> Vector3D:
        """Return the linear velocity."""
        return self.alike(Vector3D).around(self._a[:3])

    def angular(self) -> EAA:
        """Return the angular velocity."""
        return self.alike(EAA).around(self._a[3:])


class Wrench6D(Screw, both_precisions=True):
    """A force (3) and a torque (3)."""

    def __init__(self, *values: Any) -> None:
        """Accept six elements, or a force and a torque; zero without arguments."""
        if len(values) == 1:
            values = (as_floats(values[0], "Wrench6D", (6,)),)
        super().__init__(six_elements(values, "Wrench6D"))

    def force(self) -> Vector3D:
        """Return the force."""
        return self.alike(Vector3D)(self._a[:3])

    def torque(self) -> Vector3D:
        """Return the torque."""
        return self.alike(Vector3D)(self._a[3:])

    def setForce(self, force: Vector3D) -> None:
        """Set the force."""
        self._a[:3] = as_floats(force, "force", (3,))

    def setTorque(self, torque: Vector3D) -> None:
        """Set the torque."""
        self._a[3:] = as_floats(torque, "torque", (3,))


class Transform3D(MathValue, both_precisions=True):
    """A pose: position P and rotation R, together a (4, 4) matrix."""

    def __init__(self, *parts: Any) -> None:
        """Accept a position and a rotation, one of them, or a (4, 4) matrix; else the identity."""
        matrix = np.eye(4)
        if len(parts) > 2:
            message = f"Transform3D: expected position and rotation, got {len(parts)} arguments"
            raise ArgumentError(message)
        for part in parts:
            array = as_floats(part, "Transform3D")
            if isinstance(part, (RPY, EAA, Quaternion)) or array.shape == (3, 3):
                matrix[:3, :3] = as_rotation(part)
            elif array.shape == (3,):
                matrix[:3, 3] = array
            elif array.shape in ((4, 4), (3, 4)) and len(parts) == 1:
                matrix[:3] = array[:3]
            else:
                raise ArgumentError(
                    f"Transform3D: expected a position or rotation, got {shown(part)}"
                )
        super().__init__(matrix)

    @classmethod
    def identity(cls) -> Self:
        """Return the identity."""
        return cls()

    @classmethod
    def DH(cls, alpha: float, a: float, d: float, theta: float) -> Self:
        """Return the pose Rz(theta) Tz(d) Tx(a) Rx(alpha), the original convention."""
        return cls(schilling_dh(alpha, a, d, theta))

    @classmethod
    def craigDH(cls, alpha: float, a: float, d: float, theta: float) -> Self:
        """Return the pose Rx(alpha) Tx(a) Rz(theta) Tz(d), the convention of Craig's book."""
        return cls(craig_dh(alpha, a, d, theta))

    def P(self) -> Vector3D:
        """Return the position; changes to it change this pose."""
        return self.alike(Vector3D).around(self._a[:3, 3])

    def R(self) -> Rotation3D:
        """Return the rotation; changes to it change this pose."""
        return self.alike(Rotation3D).around(self._a[:3, :3])

    def inverse(self) -> Self:
        """Return the pose of frame a in frame b."""
        return self.around(se3.inverse(np.asarray(self)))

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Transform3D):
            return self.around(self._a @ np.asarray(other))
        if isinstance(other, VelocityScrew6D):  # to the axes and the origin of frame a
            return other.around(motion.transform_motion(np.asarray(self), np.asarray(other)))
        if isinstance(other, Wrench6D):  # the same; RobWork transforms it like a velocity
            return other.around(motion.transform_force(np.asarray(self), np.asarray(other)))
        point = as_floats(other, "product with a transform", (3,))
        return self.alike(Vector3D).around(self._a[:3, :3] @ point + self._a[:3, 3])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.P()!r}, {self.R()!r})"


class Pose6D(MathValue, both_precisions=True):
    """A pose as six elements: position (3), angle times axis (3)."""

    def __init__(self, *values: Any) -> None:
        """Accept six elements, a position and an EAA, or a Transform3D; else the identity."""
        super().__init__(six_elements(values, "Pose6D"))

    def get(self, i: int) -> float:
        """Return an element."""
        return self[i]

    def getEAA(self) -> EAA:
        """Return the rotation; changes to it change this pose."""
        return self.alike(EAA).around(self._a[3:])

    def toTransform3D(self) -> Transform3D:
        """Return the pose as a matrix."""
        return self.alike(Transform3D)(self._a[:3], self.getEAA())


def inverse(value: T) -> T:
    """Return the inverse of a pose, rotation, quaternion or inertia matrix."""
    if isinstance(value, Quaternion):
        return value.around(np.asarray(value) * [-1, -1, -1, 1] / value.getLength() ** 2)
    if isinstance(value, InertiaMatrix):
        return value.around(np.linalg.inv(np.asarray(value)))
    if isinstance(value, (Transform3D, Rotation3D, Rotation2D)):
        return value.inverse()
    raise ArgumentError(f"inverse: expected a Transform3D or a Rotation3D, got {shown(value)}")


class Jacobian(MathValue):
    """A matrix from joint velocities to velocities; `J[i, j]`, `J(i, j)` and `J.elem(i, j)`."""

    def __init__(self, *args: Any) -> None:
        """Accept a matrix, its size, or a pose, rotation or position that transforms velocities."""
        if len(args) == 1 and isinstance(args[0], Transform3D):
            super().__init__(motion.motion_transform(np.asarray(args[0])))
        elif len(args) == 1 and isinstance(args[0], Rotation3D):
            super().__init__(np.kron(np.eye(2), np.asarray(args[0])))
        elif len(args) == 1 and isinstance(args[0], Vector3D) and not isinstance(args[0], EAA):
            matrix = np.eye(6)
            matrix[:3, 3:] = so3.wedge(np.asarray(args[0]))
            super().__init__(matrix)
        elif args and all(isinstance(size, (int, np.integer)) for size in args):
            super().__init__(np.zeros((6, *args)[-2:]))
        else:
            matrix = as_floats(args[0], "Jacobian") if len(args) == 1 else np.zeros(0)
            if matrix.ndim != 2:
                raise ArgumentError(
                    "Jacobian: expected a matrix, or the number of rows and columns"
                )
            super().__init__(matrix)

    @staticmethod
    def zero(size1: int, size2: int) -> Jacobian:
        """Return a matrix of zeros."""
        return Jacobian(size1, size2)

    def size1(self) -> int:
        """Return the number of rows."""
        return int(self._a.shape[0])

    def size2(self) -> int:
        """Return the number of columns."""
        return int(self._a.shape[1])

    def elem(self, row: int, col: int) -> float:
        """Return an element."""
        return float(self._a[row, col])

    def rotated(self, R: Array) -> Jacobian:
        """Return it in other axes, for velocities of the same points."""
        blocks = self._a.reshape(-1, 3, self.size2())
        return Jacobian((R @ blocks).reshape(-1, self.size2()))

    def __mul__(self, other: Any) -> Any:
        right = as_floats(other, "product with a Jacobian")
        if right.shape[:1] != (self.size2(),):
            message = f"product: a Jacobian of shape {self._a.shape} times shape {right.shape}"
            raise ShapeError(message)
        product = self._a @ right
        if isinstance(other, Jacobian) or right.ndim == 2:
            return Jacobian(product)
        if isinstance(other, VelocityScrew6D) and self.size1() != 6:
            return Q(product)
        return VelocityScrew6D(product) if product.shape == (6,) else Q(product)

    def __repr__(self) -> str:
        return f"Jacobian {self._a!r}"
