"""The class of `adam.jax`: methods for JAX arrays, to be jitted, mapped and differentiated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from linkwork.bridges.jax.functions import wrap
from linkwork.compat.adam.differentiable import DifferentiableKinDyn
from linkwork.compat.adam.kindyn import STANDARD_GRAVITY
from linkwork.compat.adam.kindyn import KinDynComputations as NumpyKinDynComputations
from linkwork.engine.kernel.kernel import Kernel
from linkwork.errors import ArgumentError, shown


class KinDynComputations(DifferentiableKinDyn):
    """Kinematics and dynamics of a robot with a floating base, for JAX.

    Args:
        urdfstring: path or text of a URDF, or a `mujoco.MjModel`.
        joints_name_list: the joints that move, in their order; all that can if not given. Others
            are locked at 0.
        dtype: jax.numpy.float64 or jax.numpy.float32. All arguments are converted to this type,
            and results have it; while JAX has 64 bits disabled, float64 is float32.
        root_link: the link whose pose and velocity are those of the base; the one that no joint
            holds if not given.
        gravity: (6,) acceleration of free fall in the world, and three zeros.
    """

    def __init__(
        self,
        urdfstring: Any,
        joints_name_list: Sequence[str] | None = None,
        dtype: Any = jnp.float64,
        root_link: str | None = None,
        gravity: ArrayLike = STANDARD_GRAVITY,
    ) -> None:
        self.dtype = np.dtype(dtype)
        if self.dtype.type not in (np.float32, np.float64):
            text = "expected jax.numpy.float32 or jax.numpy.float64"
            raise ArgumentError(f"dtype: {text}, got {shown(dtype)}")
        super().__init__(urdfstring, joints_name_list, root_link=root_link, gravity=gravity)

    @property
    def g(self) -> Any:
        """(6,) acceleration of free fall in the world [m/s^2], and three zeros; may be changed."""
        return jnp.asarray(self._g, jax.dtypes.canonicalize_dtype(self.dtype))

    @g.setter
    def g(self, value: Any) -> None:
        NumpyKinDynComputations.g.fset(self, value)  # pyright: ignore[reportOptionalCall]

    def _of_kernel(self, kernel: Kernel) -> Any:
        return InDtype(wrap(kernel), self.dtype)


class InDtype:
    """A function of JAX arrays that converts its arguments to one type."""

    def __init__(self, function: Any, dtype: np.dtype[Any]) -> None:
        self._function, self._dtype = function, dtype

    def __call__(self, *arguments: Any) -> Any:
        """The result, in that type."""
        dtype = jax.dtypes.canonicalize_dtype(self._dtype)
        return self._function(*[_converted(value, dtype) for value in arguments])

    def warmup(self) -> None:
        """Wait until the fast code is in use."""
        self._function.warmup()


def _converted(value: Any, dtype: np.dtype[Any]) -> Any:
    if not isinstance(value, jax.Array):
        value = np.asarray(value)
    if value.dtype == dtype or value.dtype.kind in "cOUS":  # the latter is rejected by the function
        return value
    return jnp.asarray(value, dtype)
