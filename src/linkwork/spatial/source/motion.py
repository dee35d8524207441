"""Spatial vectors: the sources of `linkwork.spatial.motion`, which states the conventions."""

from __future__ import annotations

from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array, cross, matvec, transpose
from linkwork.engine.symbolic.arrays import join as join_vectors
from linkwork.spatial.source._helpers import block, expect, split_pose, zero
from linkwork.spatial.source.so3 import wedge


def split(vector: ArrayLike, name: str = "vector") -> tuple[Array, Array]:
    """Linear part (..., 3) and angular part (..., 3) of a 6-vector (..., 6).

    `name` is the name of the vector in error messages.
    """
    array = expect(name, vector, 6)
    return array[..., :3], array[..., 3:]


def join(linear: ArrayLike, angular: ArrayLike) -> Array:
    """6-vector (..., 6) with these linear (..., 3) and angular (..., 3) parts."""
    return join_vectors([expect("linear", linear, 3), expect("angular", angular, 3)])


def motion_transform(a_H_b: ArrayLike) -> Array:
    """Matrix a_X_b of `transform_motion`.

    Args:
        a_H_b: (..., 4, 4) pose of b in a.

    Returns:
        (..., 6, 6).
    """
    R, p = split_pose(a_H_b)
    return block([[R, wedge(p) @ R], [zero(R), R]])


def force_transform(a_H_b: ArrayLike) -> Array:
    """Matrix a_Xf_b of `transform_force`, the inverse transpose of a_X_b.

    Args:
        a_H_b: (..., 4, 4) pose of b in a.

    Returns:
        (..., 6, 6).
    """
    R, p = split_pose(a_H_b)
    return block([[R, zero(R)], [wedge(p) @ R, R]])


def transform_motion(a_H_b: ArrayLike, b_v: ArrayLike) -> Array:
    """Express a motion vector in another frame: a_X_b @ b_v.

    Args:
        a_H_b: (..., 4, 4) pose of b in a.
        b_v: (..., 6) motion vector in b.

    Returns:
        (..., 6) the same motion in a.
    """
    R, p = split_pose(a_H_b)
    linear, angular = (matvec(R, part) for part in split(b_v, "b_v"))
    return join(linear + cross(p, angular), angular)


def inverse_transform_motion(a_H_b: ArrayLike, a_v: ArrayLike) -> Array:
    """Express a motion vector in the other frame: b_X_a @ a_v, from the pose of b in a.

    Args:
        a_H_b: (..., 4, 4) pose of b in a.
        a_v: (..., 6) motion vector in a.

    Returns:
        (..., 6) the same motion in b.
    """
    R, p = split_pose(a_H_b)
    linear, angular = split(a_v, "a_v")
    Rt = transpose(R)
    return join(matvec(Rt, linear - cross(p, angular)), matvec(Rt, angular))


def transform_force(a_H_b: ArrayLike, b_f: ArrayLike) -> Array:
    """Express a force vector in another frame: a_Xf_b @ b_f.

    Args:
        a_H_b: (..., 4, 4) pose of b in a.
        b_f: (..., 6) force vector in b, moments about b's origin.

    Returns:
        (..., 6) the same force in a, moments about a's origin.
    """
    R, p = split_pose(a_H_b)
    linear, angular = (matvec(R, part) for part in split(b_f, "b_f"))
    return join(linear, angular + cross(p, linear))


def inverse_transform_force(a_H_b: ArrayLike, a_f: ArrayLike) -> Array:
    """Express a force vector in the other frame: b_Xf_a @ a_f, from the pose of b in a.

    Args:
        a_H_b: (..., 4, 4) pose of b in a.
        a_f: (..., 6) force vector in a, moments about a's origin.

    Returns:
        (..., 6) the same force in b, moments about b's origin.
    """
    R, p = split_pose(a_H_b)
    linear, angular = split(a_f, "a_f")
    Rt = transpose(R)
    return join(matvec(Rt, linear), matvec(Rt, angular - cross(p, linear)))


def motion_cross(v: ArrayLike, m: ArrayLike) -> Array:
    """Rate of change of a motion vector `m` that moves with the velocity `v`.

    Args:
        v: (..., 6) motion vector.
        m: (..., 6) motion vector, expressed in the same frame.

    Returns:
        (..., 6) the motion vector v x m, in that frame.
    """
    v_lin, v_ang = split(v, "v")
    m_lin, m_ang = split(m, "m")
    return join(cross(v_ang, m_lin) + cross(v_lin, m_ang), cross(v_ang, m_ang))


def force_cross(v: ArrayLike, f: ArrayLike) -> Array:
    """Rate of change of a force vector `f` that moves with the velocity `v`.

    Args:
        v: (..., 6) motion vector.
        f: (..., 6) force vector, expressed in the same frame.

    Returns:
        (..., 6) the force vector v x* f, in that frame.
    """
    v_lin, v_ang = split(v, "v")
    f_lin, f_ang = split(f, "f")
    return join(cross(v_ang, f_lin), cross(v_ang, f_ang) + cross(v_lin, f_lin))


def motion_cross_matrix(v: ArrayLike) -> Array:
    """Matrix (..., 6, 6) of `motion_cross` for `v` (..., 6): [[w^, v^], [0, w^]]."""
    linear, angular = (wedge(part) for part in split(v, "v"))
    return block([[angular, linear], [zero(angular), angular]])


def force_cross_matrix(v: ArrayLike) -> Array:
    """Matrix (..., 6, 6) of `force_cross` for `v` (..., 6): [[w^, 0], [v^, w^]]."""
    linear, angular = (wedge(part) for part in split(v, "v"))
    return block([[angular, zero(angular)], [linear, angular]])
