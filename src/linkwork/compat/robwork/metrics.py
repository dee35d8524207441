"""Metrics with RobWork's names: distances between configurations, vectors, rotations and poses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from linkwork.compat.robwork.frames import PointerMethods
from linkwork.compat.robwork.rotations import EAA, Rotation3D
from linkwork.compat.robwork.transforms import Transform3D, inverse
from linkwork.compat.robwork.vectors import Q, Vector, as_floats, norm1, norm2, normInf


class VectorMetric(PointerMethods):
    """A norm of the difference of two vectors; `distance(a)` is the norm of a."""

    def __init__(self, norm: Callable[[Vector], float]) -> None:
        self._norm = norm

    def distance(self, a: Any, b: Any = None) -> float:
        """Return the distance of two vectors, or of one vector from zero."""
        elements = as_floats(a, "a")
        if b is not None:
            elements = elements - as_floats(b, "b", elements.shape)
        return self._norm(self._scaled(Q(elements)))

    def _scaled(self, difference: Q) -> Q:
        return difference

    def size(self) -> int:
        """Return the number of elements of its vectors; -1 if any number is allowed."""
        return -1


class WeightedVectorMetric(VectorMetric):
    """A norm of the difference of two vectors, whose elements are multiplied with weights."""

    def __init__(self, norm: Callable[[Vector], float], weights: Any) -> None:
        super().__init__(norm)
        self._weights = Q(weights)

    def _scaled(self, difference: Q) -> Q:
        return difference.elemMultiply(self._weights)

    def size(self) -> int:
        """Return the number of weights."""
        return self._weights.size()


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


class MetricFactory:
    """Creates metrics."""

    makeManhattan = makeManhattanQ = staticmethod(partial(VectorMetric, norm1))
    makeEuclidean = makeEuclideanQ = staticmethod(partial(VectorMetric, norm2))
    makeInfinity = makeInfinityQ = staticmethod(partial(VectorMetric, normInf))
    makeWeightedManhattan = makeWeightedManhattanQ = staticmethod(
        partial(WeightedVectorMetric, norm1)
    )
    makeWeightedEuclidean = makeWeightedEuclideanQ = staticmethod(
        partial(WeightedVectorMetric, norm2)
    )
    makeWeightedInfinity = makeWeightedInfinityQ = staticmethod(
        partial(WeightedVectorMetric, normInf)
    )
    makeRotation3DMetric = Rotation3DAngleMetric
    makeTransform3DMetric = Transform3DAngleMetric


class MetricUtil:
    """Norms and distances of vectors."""

    norm1, norm2, normInf = staticmethod(norm1), staticmethod(norm2), staticmethod(normInf)
    dist1 = staticmethod(VectorMetric(norm1).distance)
    dist2 = staticmethod(VectorMetric(norm2).distance)
    distInf = staticmethod(VectorMetric(normInf).distance)


METRICS: dict[str, Callable[..., VectorMetric]] = {
    f"{weighted}{name}Metric{kind}": partial(metric, norm)
    for weighted, metric in (("", VectorMetric), ("Weighted", WeightedVectorMetric))
    for name, norm in (("Manhattan", norm1), ("Euclidean", norm2), ("Infinity", normInf))
    for kind in ("Q", "Vector2D", "Vector3D")
}
"""`EuclideanMetricQ`, `WeightedInfinityMetricVector3D` and so on, as SWIG names templates."""
METRICS |= {  # RobWork's spelling
    "ManhattenMatricQ": METRICS["ManhattanMetricQ"],
    **{
        name.replace("ManhattanM", "ManhattenM"): metric
        for name, metric in METRICS.items()
        if name.startswith("WeightedManhattan")
    },
}
