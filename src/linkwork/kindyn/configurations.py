"""Configurations of a robot: some to begin with, and steps between them."""

from __future__ import annotations

from operator import index

import numpy as np
from numpy.typing import ArrayLike

from linkwork.arrays import Array
from linkwork.errors import ArgumentError
from linkwork.kindyn.core import KinDynCore
from linkwork.kindyn.methods import quantity
from linkwork.kindyn.sampling import random_configurations


class ConfigurationMethods(KinDynCore):
    """Configurations, and steps between them."""

    def neutral(self) -> Array:
        """(nq,) every joint at rest, the base at the origin of the world."""
        return self.layout.rest().astype(self.dtype)

    def random(self, n: int | tuple[int, ...] = (), *, seed: int | None = None) -> Array:
        """Random configurations: joints within their limits, or within [-pi, pi] and [-1, 1].

        Args:
            n: number of them, or a batch shape.
            seed: for the same ones again.

        Returns:
            (*n, nq); the base within one metre of the world's origin, turned at random.
        """
        q = random_configurations(self.layout, _batch(n), np.random.default_rng(seed))
        return q.astype(self.dtype)

    def integrate(
        self,
        q: ArrayLike,
        nu: ArrayLike,
        dt: ArrayLike = 1.0,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Configuration after moving at constant nu for a time.

        Args:
            q: (..., nq) where the motion starts.
            nu: (..., nv) velocity, in this KinDyn's representation.
            dt: (...) how long [s].
            out: array to write to.
            threads: how many to use for a large batch.

        Returns:
            (..., nq), with quaternions and (cos, sin) of norm 1.
        """
        if type(dt) is float:  # a number becomes an array here faster than in the kernel
            dt = np.array(dt, self.dtype)
        kernel = self._kernels["integrate",]
        if threads is None:
            return kernel(q, nu, dt) if out is None else kernel(q, nu, dt, out=out)
        return kernel(q, nu, dt, out=out, threads=threads)

    @quantity
    def difference(
        self,
        q_start: ArrayLike,
        q_end: ArrayLike,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The constant nu that leads from one configuration to another in one second.

        Rotations take the shorter way; angles of revolute joints are subtracted as they are.

        Returns:
            (..., nv), so that `integrate(q_start, difference(q_start, q_end))` is `q_end`.
        """

    @quantity
    def normalize(
        self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None
    ) -> Array:
        """Configuration with quaternions and (cos, sin) scaled to norm 1.

        Returns:
            (..., nq).
        """


def _batch(n: int | tuple[int, ...]) -> tuple[int, ...]:
    """A number or a shape as a batch shape."""
    try:
        batch = tuple(map(index, n)) if isinstance(n, (tuple, list)) else (index(n),)
    except TypeError:
        batch = (-1,)
    if any(size < 0 for size in batch):
        raise ArgumentError(f"n: expected how many, or a batch shape, got {n!r}")
    return batch
