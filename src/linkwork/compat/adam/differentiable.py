"""adam's class for frameworks that differentiate: smooth in all entries of its arguments.

The rotation of the base enters as the matrix that is given. So the derivatives by its entries are
polynomials as adam has them, and a matrix that is not quite a rotation, as within an optimisation,
gives a number rather than an error.
"""

# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.compat.adam.kernels import PoseFunction
from linkwork.compat.adam.kindyn import KinDynComputations
from linkwork.engine.cached_property import cached_property
from linkwork.engine.kernel.arguments import Signature
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.program import Program, trace
from linkwork.kindyn.kernels import computation
from linkwork.mechanics.base import WithRotation
from linkwork.spatial.blocks import IDENTITY


class DifferentiableKinDyn(KinDynComputations):
    """What the classes for CasADi, JAX and PyTorch share."""

    def _function_of(self, request: Any, wrenches: tuple[str, ...]) -> Any:
        return self._of_kernel(SmoothFunction(self._kd, request, wrenches).kernel)

    def centroidal_momentum_matrix(self, base_transform: Any, joint_positions: Any) -> Any:
        """Centroidal momentum matrix A: the momentum about the center of mass is `A @ nu`.

        Returns:
            (..., 6, 6 + n), rows [linear; angular] in the axes of the base (body) or the world.
        """
        return super().centroidal_momentum_matrix(base_transform, joint_positions)


@dataclass(frozen=True)
class SmoothFunction(PoseFunction):
    """A quantity of a robot as a smooth function of adam's arguments."""

    @cached_property
    def kernel(self) -> Kernel:
        """The compiled function."""
        text = f"adam, smooth|{self.inner.identity}"
        return Kernel(
            Signature(self._name, self.inputs, self.inner.signature.outputs),
            self._program,
            key=hashlib.sha256(text.encode()).hexdigest(),
            dtype=self.inner.dtype.type,
            numpy_path=self._numpy_path if self._is_too_large else None,
        )

    def _program(self) -> Program:
        kd, inner = self.kd, self.inner
        compute = computation(kd._context, kd.layout, inner.order)  # pyright: ignore[reportPrivateUsage]

        def run(*arrays: Array) -> Any:
            if not any(array.size for array in arrays):  # relative to the base nothing moves
                return np.zeros(inner.signature.outputs[0].shape)
            given = dict(zip((port.name for port in self.inputs), arrays, strict=True))
            rows = [tuple(row) for row in self.rows(given)]
            rows[0] = _configuration(given)
            return compute(*rows)[0]

        return trace(run, self.inputs, self._name)


def _configuration(given: dict[str, Array]) -> WithRotation:
    """The configuration q, with the rotation as it is given."""
    pose, s = given.get("base_transform"), tuple(given["joint_positions"])
    position: tuple[Any, ...] = (0.0, 0.0, 0.0) if pose is None else tuple(pose[:3, 3])
    q = WithRotation((*position, *(1.0, 0.0, 0.0, 0.0), *s))
    rows: list[Any] = [] if pose is None else [tuple(row) for row in pose[:3, :3]]
    q.rotation = (rows[0], rows[1], rows[2]) if rows else IDENTITY
    return q
