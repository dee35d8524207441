"""The class of `adam.jax`: methods for JAX arrays, to be jitted, mapped and differentiated."""

# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.compat.adam import parametric
from linkwork.compat.adam.core import SpatialMath as SpatialMath  # noqa: PLC0414 - of adam's module
from linkwork.compat.adam.numpy import STANDARD_GRAVITY, ConvertedFunction, DifferentiableKinDyn
from linkwork.engine.kernel.kernel import Kernel
from linkwork.errors import ArgumentError, missing_package, shown

try:
    import jax
    import jax.numpy as jnp

    from linkwork.bridges.jax.functions import wrap
except ModuleNotFoundError as error:
    if error.name != "jax":
        raise
    raise missing_package("linkwork.compat.adam.jax", "jax") from error


class KinDynComputations(DifferentiableKinDyn):
    """Kinematics and dynamics of a robot with a floating base, for JAX.

    Args:
        urdfstring: path or contents of a URDF, or a `mujoco.MjModel`.
        joints_name_list: the moving joints, in this order; by default all movable joints. Other
            joints are locked at 0.
        dtype: jax.numpy.float64 or jax.numpy.float32. All arguments are converted to this type,
            and results have it; while JAX has 64 bits disabled, float64 is float32.
        root_link: the link whose pose and velocity are those of the base; by default the link that
            is the child of no joint.
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
            message = "expected jax.numpy.float32 or jax.numpy.float64"
            raise ArgumentError(f"dtype: {message}, got {shown(dtype)}")
        super().__init__(urdfstring, joints_name_list, root_link=root_link, gravity=gravity)

    def _constant(self, value: Any) -> Any:
        return jnp.asarray(value, jax.dtypes.canonicalize_dtype(self.dtype))

    def _wrap(self, kernel: Kernel) -> Any:
        return ConvertedFunction(wrap(kernel), self._convert)

    def _convert(self, arguments: Sequence[Any]) -> list[Any]:
        """Convert arguments to the type of the class; the function rejects other than real ones."""
        dtype = jax.dtypes.canonicalize_dtype(self.dtype)
        arrays = [x if isinstance(x, jax.Array) else np.asarray(x) for x in arguments]
        return [
            x if x.dtype == dtype or x.dtype.kind in "cOUS" else jnp.asarray(x, dtype)
            for x in arrays
        ]


class KinDynComputationsParametric(parametric.KinDynComputationsParametric, KinDynComputations):
    """A robot with lengths and densities as inputs: the class of `adam.parametric.jax`."""

    def forward_kinematics_fun(
        self, frame: str, length_multiplier: Any, densities: Any
    ) -> Callable[[Any, Any], Any]:
        """`forward_kinematics` of a frame as a function of (base_transform, joint_positions)."""
        shape = {"length_multiplier": length_multiplier, "densities": densities}
        return partial(self.forward_kinematics, frame, **shape)
