"""A freely moving body in MuJoCo and in linkwork.

    MuJoCo    qvel = [velocity of the origin o in the world; angular velocity in the body's axes]
    linkwork  nu   = [linear; angular], mixed, body or inertial

`qvel = T nu`, with R the body's rotation, w its angular velocity and ^ the cross product's matrix:

              T                       T^-1                     T_dot nu
    mixed     [1, 0; 0, R^T]          [1, 0; 0, R]             0
    body      [R, 0; 0, 1]            [R^T, 0; 0, 1]           [R (w x v); 0]
    inertial  [1, -o^; 0, R^T]        [1, o^ R; 0, R]          [w x (v + w x o); 0]

(w and v as they stand in nu.) For mixed and inertial the angular rows of T_dot nu are w x w = 0.
"""

from __future__ import annotations

import numpy as np

from linkwork.engine.symbolic.arrays import Array, cross, matvec, transpose
from linkwork.mechanics.base import Representation
from linkwork.spatial import motion, quat, so3


def free_map(position_wxyz: Array, representation: Representation) -> Array:
    """(..., 6, 6) T with qvel = T nu, at a pose (..., 7)."""
    o, R = _parts(position_wxyz)
    if representation == "body":
        return _blocks(R, None, np.eye(3))
    return _blocks(np.eye(3), -so3.wedge(o) if representation == "inertial" else None, transpose(R))


def free_map_inverse(position_wxyz: Array, representation: Representation) -> Array:
    """(..., 6, 6) inverse of `free_map`."""
    o, R = _parts(position_wxyz)
    if representation == "body":
        return _blocks(transpose(R), None, np.eye(3))
    return _blocks(np.eye(3), so3.wedge(o) @ R if representation == "inertial" else None, R)


def free_bias(position_wxyz: Array, nu: Array, representation: Representation) -> Array:
    """(..., 6) T_dot nu: the part of qacc that is not T nu_dot."""
    o, R = _parts(position_wxyz)
    v, w = motion.split(nu)
    match representation:
        case "body":
            linear = matvec(R, cross(w, v))
        case "inertial":
            linear = cross(w, v + cross(w, o))
        case "mixed":
            linear = np.zeros(np.broadcast_shapes(o.shape, v.shape))
    return motion.join(linear, np.zeros_like(linear))


def _parts(position_wxyz: Array) -> tuple[Array, Array]:
    return position_wxyz[..., :3], quat.to_rotation(position_wxyz[..., 3:])


def _blocks(upper: Array, corner: Array | None, lower: Array) -> Array:
    """(..., 6, 6) [upper, corner; 0, lower]."""
    batch = np.broadcast_shapes(upper.shape[:-2], lower.shape[:-2])
    matrix = np.zeros((*batch, 6, 6))
    matrix[..., :3, :3], matrix[..., 3:, 3:] = upper, lower
    if corner is not None:
        matrix[..., :3, 3:] = corner
    return matrix
