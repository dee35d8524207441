"""`Math` and `LinearAlgebra` under RobWork's names: conversions, random poses, matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.compat.robwork.numbers import Numbers, Q, Vector3D, as_numbers
from linkwork.compat.robwork.rotations import EAA, RPY, Quaternion, Rotation3D
from linkwork.compat.robwork.transforms import Transform3D
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError
from linkwork.spatial.source import so3

# RobWork draws numbers of 32 bits from the Mersenne Twister, which only this class of NumPy seeds
# in the same way; so uniform numbers equal those of RobWork. Those of normal distributions do not.
_random = np.random.RandomState()


class Math:
    """Conversions, limits and random values."""

    @staticmethod
    def quaternionToEAA(quat: Quaternion) -> EAA:
        """Angle times axis of a quaternion; the angle is above pi if qw is negative."""
        *vector, w = quat
        length = math.hypot(*vector)
        angle = 2 * math.atan2(length, w)
        return quat.alike(EAA)(np.array(vector) / (length or 1.0) * angle)

    @staticmethod
    def eaaToQuaternion(eaa: EAA) -> Quaternion:
        """The quaternion of angle times axis; qw is negative if the angle is above pi."""
        half = eaa.angle() / 2
        vector = eaa.axis().asNumpy() * math.sin(half)
        return eaa.alike(Quaternion)(*vector, math.cos(half))

    @staticmethod
    def zyxToRotation3D(roll: float, pitch: float, yaw: float) -> Rotation3D:
        """Rotation Rz(roll) Ry(pitch) Rx(yaw)."""
        return RPY(roll, pitch, yaw).toRotation3D()

    @staticmethod
    def skew(s: Vector3D) -> Array:
        """(3, 3) matrix S with S @ v = s x v."""
        return so3.wedge(as_numbers(s, "skew", (3,)))

    @staticmethod
    def clamp(val: Any, min: Any, max: Any) -> Any:
        """A number, or the elements of a vector, moved into the range from min to max."""
        if isinstance(val, Numbers):
            return val.around(np.clip(val.asNumpy(), min, max))
        return float(np.clip(val, min, max))

    @staticmethod
    def clampQ(q: Q, *bounds: Any) -> Q:
        """A configuration moved into bounds: a lower and an upper one, or a pair of them."""
        lower, upper = bounds if len(bounds) == 2 else bounds[0]
        return Math.clamp(Q(q), as_numbers(lower, "bounds"), as_numbers(upper, "bounds"))

    @staticmethod
    def isNaN(d: float) -> bool:
        """Whether a number is not a number."""
        return math.isnan(d)

    @staticmethod
    def ceilLog2(n: int) -> int:
        """Smallest k with 2^k >= n."""
        if n < 1:
            raise ArgumentError(f"ceilLog2: expected a positive integer, got {n}")
        return (n - 1).bit_length()

    @staticmethod
    def seed(seed: int | None = None) -> None:
        """Start the random values anew, from a number or from the operating system's entropy."""
        _random.seed(seed)

    @staticmethod
    def ran(lower: float = 0.0, to: float = 1.0) -> float:
        """A random number from `lower`, below `to`; uniform."""
        return lower + (to - lower) * int(_random.randint(0, 2**32, dtype=np.uint64)) / 2**32

    @staticmethod
    def ranI(lower: int, to: int) -> int:
        """A random integer from `lower`, below `to`; uniform."""
        return math.floor(Math.ran(lower, to))

    @staticmethod
    def ranNormalDist(mean: float, sigma: float) -> float:
        """A random number of the normal distribution."""
        return float(_random.normal(mean, sigma))

    @staticmethod
    def ranQ(*bounds: Any) -> Q:
        """A random configuration within bounds: a lower and an upper one, or a pair; uniform."""
        lower, upper = bounds if len(bounds) == 2 else bounds[0]
        return Q([Math.ran(*pair) for pair in zip(lower, upper, strict=True)])

    @staticmethod
    def ranDir(dim: int, length: float = 1.0) -> Q:
        """A random direction, as a vector of this length; uniform."""
        direction = _random.normal(size=dim)
        return Q(length * direction / np.linalg.norm(direction))

    @staticmethod
    def ranQuaternion() -> Quaternion:
        """A random rotation; uniform."""
        return Quaternion(Math.ranDir(4).asNumpy())

    @staticmethod
    def ranRotation3D() -> Rotation3D:
        """A random rotation; uniform."""
        return Math.ranQuaternion().toRotation3D()

    @staticmethod
    def ranTransform3D(translationLength: float = 1.0) -> Transform3D:
        """A random rotation, and a position in a random direction at this distance."""
        return Transform3D(Math.ranDir(3, translationLength).asNumpy(), Math.ranRotation3D())

    @staticmethod
    def toStdVector(tmp: Numbers, *sizes: int) -> list[float]:
        """The numbers of the first rows and columns, row by row."""
        return tmp.asNumpy()[tuple(map(slice, sizes))].ravel().tolist()

    @staticmethod
    def fromStdVectorToMat(data: Sequence[float], tmp: Numbers, size1: int, size2: int) -> None:
        """Write numbers, row by row, into the first rows and columns."""
        tmp.e()[:size1, :size2] = as_numbers(data, "data", (size1 * size2,)).reshape(size1, size2)


class LinearAlgebra:
    """Decompositions and tests of matrices."""

    @staticmethod
    def isSO(M: Any, precision: float = 1e-12) -> bool:
        """Whether a matrix is orthonormal with determinant 1, to a precision."""
        matrix = as_numbers(M, "isSO")
        off = np.abs(matrix @ matrix.T - np.eye(len(matrix))).max()
        return bool(off <= precision and abs(np.linalg.det(matrix) - 1) <= precision)

    isProperOrthonormal = isSO

    @staticmethod
    def isSkewSymmetric(M: Any, precision: float = 1e-12) -> bool:
        """Whether a matrix is the negative of its transpose, to a precision."""
        matrix = as_numbers(M, "isSkewSymmetric")
        return bool(np.abs(matrix + matrix.T).max() <= precision)

    @staticmethod
    def pseudoInverse(am: Any, precision: float = 1e-6) -> Array:
        """Moore-Penrose inverse; singular values below precision times the largest count as 0."""
        return np.linalg.pinv(as_numbers(am, "pseudoInverse"), rcond=precision)

    @staticmethod
    def eigenDecompositionSymmetric(Am1: Any) -> tuple[Array, Array]:
        """Eigenvectors of a symmetric matrix as columns, and eigenvalues from small to large."""
        values, vectors = np.linalg.eigh(as_numbers(Am1, "eigenDecompositionSymmetric"))
        return vectors, values
