"""The class of `adam.jax`: methods for JAX arrays, to be jitted, mapped and differentiated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from linkwork.bridges.jax import wrap
from linkwork.compat.adam.differentiable import SmoothFunction
from linkwork.compat.adam.kindyn import STANDARD_GRAVITY
from linkwork.compat.adam.kindyn import KinDynComputations as NumpyKinDynComputations


class KinDynComputations(NumpyKinDynComputations):
    """Kinematics and dynamics of a robot with a floating base, for JAX.

    Args:
        urdfstring: path or text of a URDF, or a `mujoco.MjModel`.
        joints_name_list: the joints that move, in their order; all that can if not given. Others
            are locked at 0.
        dtype: of gravity; results have the type of the arguments.
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
        super().__init__(urdfstring, joints_name_list, root_link=root_link, gravity=gravity)

    def _function_of(self, request: Any, wrenches: tuple[str, ...]) -> Any:
        return wrap(SmoothFunction(self._kd, request, wrenches).kernel)
