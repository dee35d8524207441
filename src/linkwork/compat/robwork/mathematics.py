"""`Math`, `LinearAlgebra`, `Statistics` and metrics with RobWork's names."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from linkwork.compat.robwork.frames import PointerMethods
from linkwork.compat.robwork.rotations import EAA, Quaternion, Rotation3D
from linkwork.compat.robwork.transforms import Transform3D, inverse
from linkwork.compat.robwork.vectors import (
    MathValue,
    Q,
    Vector,
    Vector3D,
    as_floats,
    norm1,
    norm2,
    normInf,
)
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError
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
    def clampQ(q: Q, *bounds: Any) -> Q:
        """Clip a configuration to bounds: a lower and an upper one, or a pair of them."""
        return Math.clamp(Q(q), *map(np.asarray, bounds if len(bounds) == 2 else bounds[0]))

    @staticmethod
    def isNaN(d: float) -> bool:
        """Return whether a value is NaN."""
        return math.isnan(d)

    @staticmethod
    def ceilLog2(n: int) -> int:
        """Return the smallest k with 2^k >= n."""
        if n < 1:
            raise ArgumentError(f"ceilLog2: expected a positive integer, got {n}")
        return (n - 1).bit_length()

    @staticmethod
    def seed(seed: int | None = None) -> None:
        """Seed the random values with an integer, or with the operating system's entropy."""
        _random.seed(seed)

    @staticmethod
    def ran(lower: float = 0.0, to: float = 1.0) -> float:
        """Draw a number uniformly from `lower`, below `to`."""
        return lower + (to - lower) * int(_random.randint(0, 2**32, dtype=np.uint64)) / 2**32

    @staticmethod
    def ranI(lower: int, to: int) -> int:
        """Draw an integer uniformly from `lower`, below `to`."""
        return math.floor(Math.ran(lower, to))

    @staticmethod
    def ranNormalDist(mean: float, sigma: float) -> float:
        """Draw a number from a normal distribution."""
        return float(_random.normal(mean, sigma))

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

    @staticmethod
    def toStdVector(tmp: MathValue, *sizes: int) -> list[float]:
        """Return the elements of the first rows and columns, row by row."""
        return np.asarray(tmp)[tuple(map(slice, sizes))].ravel().tolist()

    @staticmethod
    def fromStdVectorToMat(data: Sequence[float], tmp: MathValue, size1: int, size2: int) -> None:
        """Write values, row by row, into the first rows and columns."""
        tmp.e()[:size1, :size2] = as_floats(data, "data", (size1 * size2,)).reshape(size1, size2)


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


class Statistics:
    """Mean, variance, median and extreme values of numbers; mean and variance of angles."""

    def __init__(self, data: Sequence[float] = ()) -> None:
        self._data = as_floats(data, "data", (len(data),)).tolist()

    def add(self, v: float) -> None:
        """Add a value."""
        self._data.append(float(v))

    def clear(self) -> None:
        """Remove all values."""
        self._data.clear()

    def _values(self, least: int = 1) -> Array:
        if len(self._data) < least:
            raise ArgumentError(f"expected {least} or more values, got {len(self._data)}")
        return np.array(self._data)

    def mean(self) -> float:
        """Return the mean."""
        return float(np.mean(self._values()))

    def median(self) -> float:
        """Return the median; of an even number of values, the mean of the two in the middle."""
        return float(np.median(self._values()))

    def variance(self) -> float:
        """Return the sum of squared differences from the mean, divided by n - 1."""
        return float(np.var(self._values(2), ddof=1))

    def meanAndVariance(self) -> tuple[float, float]:
        """Return mean and variance."""
        return self.mean(), self.variance()

    def minValue(self) -> float:
        """Return the smallest value."""
        return float(np.min(self._values()))

    def maxValue(self) -> float:
        """Return the largest value."""
        return float(np.max(self._values()))

    def minAndMaxValue(self) -> tuple[float, float]:
        """Return the smallest and the largest value."""
        return self.minValue(), self.maxValue()

    def angularMean(self) -> float:
        """Return the direction of the sum of unit vectors at the angles [rad]."""
        angles = self._values()
        return float(np.arctan2(np.sin(angles).sum(), np.cos(angles).sum()))

    def angularVariance(self) -> float:
        """Return the variance of angles, whose differences from the mean are at most pi."""
        angles = self._values(2) - self.angularMean()
        differences = np.arctan2(np.sin(angles), np.cos(angles))
        return float(np.square(differences).sum() / (len(angles) - 1))

    def angularMeanAndVariance(self) -> tuple[float, float]:
        """Return mean and variance of angles."""
        return self.angularMean(), self.angularVariance()


Statistics_f = Statistics  # which computes in double precision


class VectorMetric(PointerMethods):
    """A norm of the difference of two vectors; `distance(a)` is the norm of a.

    Args:
        norm: the norm.
        weights: factors of the elements of the difference, if any.
    """

    def __init__(self, norm: Callable[[Vector], float], *weights: Any) -> None:
        self._norm = norm
        self._weights = Q(*weights) if weights else None

    def distance(self, a: Any, b: Any = None) -> float:
        """Return the distance of two vectors, or of one vector from zero."""
        elements = as_floats(a, "a")
        if b is not None:
            elements = elements - as_floats(b, "b", elements.shape)
        difference = Q(elements)
        return self._norm(
            difference if self._weights is None else difference.elemMultiply(self._weights)
        )

    def size(self) -> int:
        """Return the number of weights; -1 if vectors may have any number of elements."""
        return -1 if self._weights is None else self._weights.size()


class Rotation3DAngleMetric(PointerMethods):
    """The angle between two rotations."""

    def distance(self, a: Rotation3D, b: Rotation3D | None = None) -> float:
        """Return the angle between two rotations, or of one rotation [rad]."""
        return EAA(a if b is None else a * inverse(b)).angle()


class Transform3DAngleMetric(PointerMethods):
    """The weighted sum of the distance and the angle of two poses."""

    def __init__(self, posWeight: float, angWeight: float) -> None:
        self._weights = posWeight, angWeight

    def distance(self, a: Transform3D, b: Transform3D | None = None) -> float:
        """Return the distance of two poses, or of one pose from the identity."""
        pose = a if b is None else inverse(b) * a
        position, angle = self._weights
        return position * pose.P().norm2() + angle * EAA(pose.R()).angle()


NORMS = {"Manhattan": norm1, "Euclidean": norm2, "Infinity": normInf}
METRICS: dict[str, Callable[..., VectorMetric]] = {
    f"{weighted}{name}Metric{kind}": partial(VectorMetric, norm)
    for weighted in ("", "Weighted")
    for name, norm in NORMS.items()
    for kind in ("Q", "Vector2D", "Vector3D")
}
"""`EuclideanMetricQ`, `WeightedInfinityMetricVector3D` and so on, as SWIG names templates."""
METRICS |= {  # RobWork's spelling
    name.replace("ManhattanM", "ManhattenM"): metric
    for name, metric in METRICS.items()
    if name.startswith("WeightedManhattan")
} | {"ManhattenMatricQ": METRICS["ManhattanMetricQ"]}


class MetricFactory:
    """Creates metrics: `makeEuclidean()`, `makeWeightedInfinityQ(weights)` and similar ones."""

    makeRotation3DMetric = Rotation3DAngleMetric
    makeTransform3DMetric = Transform3DAngleMetric


for _weighted, _name, _kind in product(("", "Weighted"), NORMS, ("", "Q")):
    _metric = staticmethod(METRICS[f"{_weighted}{_name}MetricQ"])
    setattr(MetricFactory, f"make{_weighted}{_name}{_kind}", _metric)


class MetricUtil:
    """Norms and distances of vectors."""

    norm1, norm2, normInf = staticmethod(norm1), staticmethod(norm2), staticmethod(normInf)
    dist1 = staticmethod(VectorMetric(norm1).distance)
    dist2 = staticmethod(VectorMetric(norm2).distance)
    distInf = staticmethod(VectorMetric(normInf).distance)
