"""What methods with several results return: named tuples of arrays.

A field has the name of the input that the derivative is by. By q means by the tangent of
`KinDyn.integrate`: column k is the derivative along `integrate(q, e_k)`, with all other inputs the
same numbers.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.arrays import Array


class InverseDynamicsDerivatives(NamedTuple):
    """Derivatives of inverse dynamics."""

    q: Array  # (..., nv, nv)
    nu: Array  # (..., nv, nv)
    nu_dot: Array  # (..., nv, nv) the mass matrix


class ForwardDynamicsDerivatives(NamedTuple):
    """Derivatives of forward dynamics."""

    q: Array  # (..., nv, nv)
    nu: Array  # (..., nv, nv)
    tau: Array  # (..., nv, nv) the inverse of the mass matrix
    wrenches: Array  # (..., n, nv, 6) by each of the n wrenches, in the order given
