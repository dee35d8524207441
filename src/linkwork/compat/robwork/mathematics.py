"""`Math`, `LinearAlgebra` and `MetricUtil` with RobWork's names."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linkwork.compat.robwork.rotations import EAA, Quaternion, Rotation3D
from linkwork.compat.robwork.transforms import Transform3D
from linkwork.compat.robwork.vectors import (
    MathValue,
    Q,
    Vector3D,
    as_floats,
    norm1,
    norm2,
    normInf,
)
from linkwork.engine.symbolic.arrays import Array
from linkwork.spatial.source import so3

# RobWork draws 32-bit integers from the Mersenne Twister, which only this NumPy class seeds in the
# same way. So uniform values equal those of RobWork; values of normal distributions do not.
_random = np.random.RandomState()


class Math:
    """Conversions, limits and random values."""

    @staticmethod
    def quaternionToEAA(quat: Quaternion) -> EAA:
        """Rotation vector of a quaternion; the angle is larger than pi if qw is negative."""
        *vector, w = quat
        length = math.hypot(*vector)
        angle = 2 * math.atan2(length, w)
        return quat.alike(EAA)(np.array(vector) / (length or 1.0) * angle)

    @staticmethod
    def eaaToQuaternion(eaa: EAA) -> Quaternion:
        """Quaternion of a rotation vector; qw is negative if the angle is larger than pi."""
        half = eaa.angle() / 2
        vector = np.asarray(eaa.axis()) * math.sin(half)
        return eaa.alike(Quaternion)(*vector, math.cos(half))

    @staticmethod
    def skew(s: Vector3D) -> Array:
        """(3, 3) matrix S with S @ v = s x v."""
        return so3.wedge(as_floats(s, "skew", (3,)))

    @staticmethod
    def clamp(val: Any, min: Any, max: Any) -> Any:
        """Clip a number, or the elements of a vector, to the range from min to max."""
        if isinstance(val, MathValue):
            return val.around(np.clip(np.asarray(val), min, max))
        return float(np.clip(val, min, max))

    @staticmethod
    def seed(seed: int | None = None) -> None:
        """Seed the random values with an integer, or with the operating system's entropy."""
        _random.seed(seed)

    @staticmethod
    def ran(lower: float = 0.0, to: float = 1.0) -> float:
        """Draw a number uniformly from `lower`, below `to`."""
        return lower + (to - lower) * int(_random.randint(0, 2**32, dtype=np.uint64)) / 2**32

    @staticmethod
    def ranQ(*bounds: Any) -> Q:
        """Draw a configuration uniformly within bounds: a lower and an upper one, or a pair."""
        lower, upper = bounds if len(bounds) == 2 else bounds[0]
        return Q([Math.ran(*pair) for pair in zip(lower, upper, strict=True)])

    @staticmethod
    def ranDir(dim: int, length: float = 1.0) -> Q:
        """Draw a direction uniformly, as a vector of a length."""
        direction = _random.normal(size=dim)
        return Q(length * direction / np.linalg.norm(direction))

    @staticmethod
    def ranRotation3D() -> Rotation3D:
        """Draw a rotation uniformly."""
        return Quaternion(Math.ranDir(4)).toRotation3D()

    @staticmethod
    def ranTransform3D(translationLength: float = 1.0) -> Transform3D:
        """Draw a rotation uniformly, and a position in a random direction at this distance."""
        return Transform3D(np.asarray(Math.ranDir(3, translationLength)), Math.ranRotation3D())


class LinearAlgebra:
    """Decompositions and tests of matrices."""

    @staticmethod
    def isSO(M: Any, precision: float = 1e-12) -> bool:
        """Return whether a matrix is orthonormal with determinant 1, within a precision."""
        matrix = as_floats(M, "isSO")
        error = np.abs(matrix @ matrix.T - np.eye(len(matrix))).max()
        return bool(error <= precision and abs(np.linalg.det(matrix) - 1) <= precision)

    isProperOrthonormal = isSO

    @staticmethod
    def pseudoInverse(am: Any, precision: float = 1e-6) -> Array:
        """Moore-Penrose inverse; singular values below precision times the largest count as 0."""
        return np.linalg.pinv(as_floats(am, "pseudoInverse"), rcond=precision)

    @staticmethod
    def eigenDecompositionSymmetric(Am1: Any) -> tuple[Array, Array]:
        """Eigenvectors of a symmetric matrix as columns, and eigenvalues from small to large."""
        values, vectors = np.linalg.eigh(as_floats(Am1, "eigenDecompositionSymmetric"))
        return vectors, values


class MetricUtil:
    """Norms and distances of vectors."""

    norm1, norm2, normInf = staticmethod(norm1), staticmethod(norm2), staticmethod(normInf)

    @staticmethod
    def dist1(a: Any, b: Any) -> float:
        """Return the sum of the absolute differences of two vectors."""
        return norm1(Q(a) - Q(b))

    @staticmethod
    def dist2(a: Any, b: Any) -> float:
        """Return the Euclidean distance of two vectors."""
        return norm2(Q(a) - Q(b))

    @staticmethod
    def distInf(a: Any, b: Any) -> float:
        """Return the largest absolute difference of two vectors."""
        return normInf(Q(a) - Q(b))
