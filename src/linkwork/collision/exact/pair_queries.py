"""Functions of robots with pairs of links whose distances have no closed form.

They are kernels, as of other robots: with batches, `out=`, parameters and first derivatives.
A query of the shapes takes the place of a program, so they cannot be part of a compiled function.
The pairs that do have closed forms are computed by the compiled functions of a second robot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from linkwork.collision.colliders import Collider
from linkwork.collision.core import CollisionCore, kernel_of, rates
from linkwork.collision.exact.queries import Placed, ShapeQueries, smallest
from linkwork.collision.shapes import CLOSED_FORMS, uncompiled
from linkwork.engine.autodiff.ports import Kind
from linkwork.engine.kernel.derive import signature_of_derivative
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError
from linkwork.kindyn.kernels import QuantityKernel
from linkwork.kindyn.requests import KernelRequest

Partials = dict[str, Array]  # by input: (rows, size of the output, size of the input)


class PairQueries(Collider):
    """A collider of pairs without closed form: by queries, and the other pairs compiled."""

    def __init__(self, robot: CollisionCore, obstruction: str) -> None:
        """Convert the shapes of the links, so that all that is wrong is reported at once.

        Args:
            robot: the robot.
            obstruction: why motions cannot be tested in C.

        Raises:
            MissingPackageError: `coal` is not installed, or a package that reads the meshes.
            MissingFileError: a mesh cannot be read.
            ValueRangeError: a shape is too large.
        """
        super().__init__(robot, obstruction)
        self.pairs = uncompiled(robot.model, robot.pairs)
        compiled = tuple(pair for pair in robot.pairs if pair not in set(self.pairs))
        self.compiled = robot.with_pairs(compiled) if compiled else None
        self._order = np.argsort([robot.pairs.index(pair) for pair in (*compiled, *self.pairs)])
        self.shapes = shapes = robot.shape_queries
        for link in {link: None for pair in self.pairs for link in pair}:
            for shape in robot.model.link(link).collisions:
                shapes.coal_shape(shape.geometry, f"link {link!r}")
        shapes.warn_of_hulls(robot.model.name)

    @property
    def _functions(self) -> dict[str, Callable[..., Sequence[Array]]]:
        return {
            "distances": self._distances,
            "distance_jacobian": self._distance_jacobian,
            "witness_points": self._witness_points,
            "minimum_distance": self._minimum_distance,
            "smooth_minimum_distance": self._smooth_minimum_distance,
            "in_collision": self._in_collision,
        }

    def kernel(self, request: KernelRequest) -> QuantityKernel[Any]:
        """Build the kernel of quantities, by queries if they depend on the pairs."""
        functions, robot = self._functions, self.robot
        if not any(spec.name in functions for spec in request.specs):
            return super().kernel(request)
        others = [spec.name for spec in request.specs if spec.name not in functions]
        if others:
            names = ", ".join(spec.name for spec in request.specs)
            text = f"{names}: distances of {robot.model.name} that have no closed form cannot be"
            raise ArgumentError(f"{text} one function with {others[0]!r}")
        names = [one.name for one in request.inputs]

        def compute(*columns: Sequence[Any]) -> list[Any]:
            rows = _rows(names, columns)
            outputs: list[Any] = []
            for spec in request.specs:
                for array in functions[spec.name](rows):
                    outputs.append(array.reshape(len(array), -1).T)
            return outputs

        kernel = QueryKernel(robot, request, compute)
        kernel.queries = self
        return kernel

    # Values, from the rows of each input by name.

    def _distances(self, rows: dict[str, Array]) -> Sequence[Array]:
        return [self._merged("distances", rows, self._nearest(rows)[..., 0])]

    def _distance_jacobian(self, rows: dict[str, Array]) -> Sequence[Array]:
        q, kd = rows["q"], self.robot.kindyn_for_queries
        points = self._nearest(rows)
        options = _options(rows)
        J = np.empty((len(q), len(self.pairs), kd.nv))
        for k, (a, b) in enumerate(self.pairs):
            first, second, n = points[:, k, 1:4], points[:, k, 4:7], points[:, k, 7:]
            J[:, k] = rates(kd, b, q, (second, n), options) - rates(kd, a, q, (first, n), options)
        return [self._merged("distance_jacobian", rows, J)]

    def _witness_points(self, rows: dict[str, Array]) -> Sequence[Array]:
        points = self._nearest(rows)
        parts = [points[..., k : k + 3] for k in (1, 4, 7)]
        if self.compiled is None:
            return parts
        others = kernel_of(self.compiled, "witness_points")(rows["q"], **_options(rows))
        return [self._inserted(a, b) for a, b in zip(others, parts, strict=True)]

    def _minimum_distance(self, rows: dict[str, Array]) -> Sequence[Array]:
        return [self._distances(rows)[0].min(axis=-1)]

    def _smooth_minimum_distance(self, rows: dict[str, Array]) -> Sequence[Array]:
        d, width = self._distances(rows)[0], rows["width"]
        least = d.min(axis=-1)
        total = np.exp((least[:, None] - d) / width).sum(axis=-1)
        return [least - width[:, 0] * np.log(total)]

    def _in_collision(self, rows: dict[str, Array]) -> Sequence[Array]:
        q = rows["q"]
        collides: Array = np.logical_not(np.isfinite(q).all(axis=-1))
        if self.compiled is not None:
            overlap = kernel_of(self.compiled, "in_collision")(q, **_options(rows))
            collides |= np.asarray(overlap) > 0.5
        poses = self._poses(rows)
        for a, b in self.pairs:
            left = (~collides).nonzero()[0]
            if left.size:
                links = [self.robot.model.link(link) for link in (a, b)]
                at = [poses[link][left] for link in (a, b)]
                collides[left] = links_overlap(self.shapes, links, at)
        return [collides.astype(np.float64)]

    # First derivatives.

    def partials(self, name: str, rows: dict[str, Array]) -> Partials:
        """Derivatives of a quantity with respect to its inputs."""
        E_T = np.asarray(self.robot.kindyn_for_queries.velocity_kinematics_inverse(rows["q"]))
        J = self._distance_jacobian(rows)[0] @ E_T
        if name == "distances":
            return {"q": J}
        d = self._distances(rows)[0]
        nearest = d.argmin(axis=-1)
        if name == "minimum_distance":
            return {"q": J[np.arange(len(J)), nearest][:, None]}
        away = d.min(axis=-1, keepdims=True) - d
        weights = np.exp(away / rows["width"])
        total = weights.sum(axis=-1, keepdims=True)
        slope = (weights * away).sum(axis=-1, keepdims=True) / (total * rows["width"])
        return {
            "q": (weights / total)[:, None] @ J,
            "width": (slope - np.log(total))[:, None],
        }

    # Pairs.

    def _merged(self, name: str, rows: dict[str, Array], queried: Array) -> Array:
        """(rows, n, ...) values of all pairs."""
        if self.compiled is None:
            return queried
        others = kernel_of(self.compiled, name)(rows["q"], **_options(rows))
        return self._inserted(np.asarray(others), queried)

    def _inserted(self, compiled: Array, queried: Array) -> Array:
        return np.concatenate([compiled, queried], axis=1)[:, self._order]

    def _poses(self, rows: dict[str, Array]) -> dict[str, Array]:
        """(rows, 4, 4) poses of the links of the pairs."""
        links = sorted({link for pair in self.pairs for link in pair})
        kd = self.robot.kindyn_for_queries
        poses = np.asarray(kd.transforms(rows["q"], frames=links, **_options(rows)))
        return {link: poses[:, k] for k, link in enumerate(links)}

    def _nearest(self, rows: dict[str, Array]) -> Array:
        """(rows, n, 10) distances, points and normals of the pairs that queries compute."""
        q = rows["q"]
        poses, is_finite = self._poses(rows), np.isfinite(q).all(axis=-1)
        results = np.full((len(q), len(self.pairs), 10), np.nan)
        for k, (a, b) in enumerate(self.pairs):
            at_a, at_b = poses[a][is_finite], poses[b][is_finite]
            links = [self.robot.model.link(link) for link in (a, b)]
            pairs = shape_pairs(links, (at_a, at_b))
            results[is_finite, k] = smallest(self.shapes.nearest(*pair) for pair in pairs)
        return results


def shape_pairs(
    links: Sequence[Any], poses: Sequence[Array], kind: str = "link"
) -> list[tuple[Placed, Placed]]:
    """Pairs of shapes of two links, or frames of another kind, at poses (rows, 4, 4)."""
    first, second = (
        [Placed(shape, at, f"{kind} {link.name!r}") for shape in link.collisions]
        for link, at in zip(links, poses, strict=True)
    )
    return list(product(first, second))


def links_overlap(
    shapes: ShapeQueries, links: Sequence[Any], poses: Sequence[Array], kind: str = "link"
) -> Array:
    """(rows,) whether two links, or frames of another kind, at poses (rows, 4, 4) overlap."""
    overlap = np.zeros(len(poses[0]), dtype=bool)
    for pair in shape_pairs(links, poses, kind):
        left = (~overlap).nonzero()[0]
        if left.size:
            x, y = (one._replace(poses=one.poses[left]) for one in pair)
            overlap[left] = shapes.overlap(x, y)
    return overlap


class QueryKernel(QuantityKernel[Any]):
    """A quantity of pairs that queries compute. It has first derivatives."""

    queries: PairQueries

    @property
    def status(self) -> str:
        """How calls are computed."""
        return "queries of shapes"

    def _call_traced(self, values: Sequence[Any], out: Any) -> Any:
        del values, out
        raise ArgumentError(f"{self._reason()}, and cannot be compiled; {CLOSED_FORMS}")

    def _reason(self) -> str:
        a, b = self.queries.pairs[0]
        return f"{self.signature.name}: the distance of {a!r} and {b!r} has no closed form"

    @property
    def program(self) -> Any:
        """There is none."""
        raise ArgumentError(f"{self._reason()}, so there is no program; {CLOSED_FORMS}")

    def _make_derivative(self, kind: Kind, wrt: tuple[str, ...]) -> Kernel:
        specs = self.request.specs
        name = specs[0].name if len(specs) == 1 else ""
        smooth = ("distances", "minimum_distance", "smooth_minimum_distance")
        inputs = [port.name for port in self.signature.inputs]
        unknown = [one for one in wrt if one not in inputs]
        if unknown:
            raise ArgumentError(f"{self.signature.name} has no input {unknown[0]!r}")
        if name not in smooth or kind in ("hessian", "hvp") or "parameters" in wrt:
            text = f"{self._reason()}, so it has no {kind} with respect to {', '.join(wrt)}"
            raise ArgumentError(f"{text}; {CLOSED_FORMS}")
        return QueryDerivative(self, kind, wrt)


class QueryDerivative(Kernel):
    """A first derivative of a `QueryKernel`."""

    def __init__(self, function: QueryKernel, kind: Kind, wrt: tuple[str, ...]) -> None:
        """Prepare a derivative.

        Args:
            function: what is differentiated.
            kind: "jacobian", "gradient", "jvp" or "vjp".
            wrt: names of the inputs.
        """
        signature = signature_of_derivative(function.signature, kind, wrt)
        names = [port.name for port in signature.inputs]
        name = function.request.specs[0].name

        def compute(*columns: Sequence[Any]) -> list[Any]:
            rows = _rows(names, columns)
            by = function.queries.partials(name, rows)
            if kind == "jvp":
                return [sum((by[one] @ rows[f"d_{one}"][..., None])[..., 0] for one in wrt).T]  # pyright: ignore[reportAttributeAccessIssue]
            if kind == "vjp":
                cotangent = rows[names[-1]][:, None, :]
                return [(cotangent @ by[one])[:, 0].T for one in wrt]
            return [by[one].reshape(len(by[one]), -1).T for one in wrt]

        super().__init__(
            signature,
            lambda: function.program,
            dtype=function.dtype.type,
            column_function=compute,
        )
        self._parts = function, kind, wrt

    def __reduce__(self) -> Any:
        function, kind, wrt = self._parts
        return _derivative, (function, kind, wrt)

    def _make_derivative(self, kind: Kind, wrt: tuple[str, ...]) -> Kernel:
        text = f"{self.signature.name}: distances without closed form have first derivatives only"
        raise ArgumentError(f"{text}, no {kind} with respect to {', '.join(wrt)}; {CLOSED_FORMS}")


def _derivative(function: QueryKernel, kind: Kind, wrt: tuple[str, ...]) -> Kernel:
    return function.derivative(kind, wrt)


def _rows(names: Sequence[str], columns: Sequence[Sequence[Any]]) -> dict[str, Array]:
    """(rows, size) of each input, from its columns."""
    arrays = [np.stack([np.atleast_1d(x) for x in part], axis=-1) for part in columns]
    n = max(len(array) for array in arrays)
    wide = [np.broadcast_to(array, (n, array.shape[-1])).astype(np.float64) for array in arrays]
    return dict(zip(names, wide, strict=True))


def _options(rows: dict[str, Array]) -> dict[str, Any]:
    return {"parameters": rows["parameters"]} if "parameters" in rows else {}
