"""JAX functions: `KinDyn` and compiled functions of JAX arrays, with derivatives.

import linkwork.jax

kd = linkwork.jax.KinDyn(linkwork.load("robot.urdf"))
M = kd.mass_matrix(q)  # a JAX array; works under jit, vmap, grad, scan and others
"""

from __future__ import annotations

from linkwork.errors import missing_package

try:
    from linkwork.bridges.jax.functions import TARGET, ConstrainedKinDyn, Function, KinDyn, wrap
except ModuleNotFoundError as error:
    if error.name != "jax":
        raise
    raise missing_package("linkwork.jax", "jax") from error

__all__ = ["TARGET", "ConstrainedKinDyn", "Function", "KinDyn", "wrap"]
