"""Unit quaternions: the sources of `linkwork.spatial.quat`, which states the conventions."""

from __future__ import annotations

from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import (
    Array,
    atan2,
    cross,
    dot,
    join,
    matrix,
    sqrt,
    stack,
    transpose,
    where,
)
from linkwork.spatial.source._helpers import (
    cosine,
    double_atan,
    expect,
    largest_is_one,
    per_vector,
    sinc,
)

ATAN_BOUND = 1e-3  # below this square of tan(angle/2), `log` uses the power series


def multiply(a_wxyz: ArrayLike, b_wxyz: ArrayLike) -> Array:
    """Product of two quaternions: first rotate by b, then by a.

    Args:
        a_wxyz: (..., 4).
        b_wxyz: (..., 4).

    Returns:
        (..., 4).
    """
    a_w, a_v = _split("a_wxyz", a_wxyz)
    b_w, b_v = _split("b_wxyz", b_wxyz)
    w = a_w * b_w - dot(a_v, b_v)
    v = per_vector(a_w) * b_v + per_vector(b_w) * a_v + cross(a_v, b_v)
    return join([per_vector(w), v])


def conjugate(wxyz: ArrayLike) -> Array:
    """Conjugate (..., 4), with the vector part negated: the inverse of a unit quaternion."""
    w, v = _split("wxyz", wxyz)
    return join([per_vector(w), -v])


def normalize(wxyz: ArrayLike) -> Array:
    """Unit quaternion (..., 4) in the direction of `wxyz`, which must not be zero."""
    return _over_norm(largest_is_one(expect("wxyz", wxyz, 4)))


def _over_norm(wxyz: Array) -> Array:
    return wxyz / per_vector(sqrt(dot(wxyz, wxyz)))


def exp(phi: ArrayLike) -> Array:
    """Quaternion of a rotation vector.

    Args:
        phi: (..., 3) axis times angle [rad], of any length.

    Returns:
        (..., 4) [cos(angle/2); sin(angle/2) axis], with w < 0 for angles above pi.
    """
    phi = expect("phi", phi, 3)
    t = 0.25 * dot(phi, phi)  # (angle/2)^2
    return join([per_vector(cosine(t)), per_vector(0.5 * sinc(t)) * phi])


def log(wxyz: ArrayLike) -> Array:
    """Rotation vector of the shortest rotation, the inverse of `exp` up to an angle of pi.

    Args:
        wxyz: (..., 4), not zero.

    Returns:
        (..., 3) axis times angle [rad], angle from 0 to pi. At pi (w = 0), the axis is
        the direction of the vector part.
    """
    wxyz = expect("wxyz", wxyz, 4)
    w, v = _split("wxyz", where(wxyz[..., :1] < 0.0, -wxyz, wxyz))
    v2, w2 = dot(v, v), w * w
    small = v2 < ATAN_BOUND * w2
    # angle / |v| = 2 atan(x) / x / w with x = |v| / w
    series = double_atan(where(small, v2, 0.0) / where(small, w2, 1.0)) / where(small, w, 1.0)
    length = sqrt(where(small, v2 + 1.0, v2))
    return per_vector(where(small, series, 2.0 * atan2(length, w) / length)) * v


def rotate(wxyz: ArrayLike, vector: ArrayLike) -> Array:
    """Rotate a vector: the same as `to_rotation(wxyz) @ vector`.

    Args:
        wxyz: (..., 4) a_q_b.
        vector: (..., 3) in b.

    Returns:
        (..., 3) the vector in a.
    """
    w, v = _split("wxyz", wxyz)
    vector = expect("vector", vector, 3)
    twice = 2.0 * cross(v, vector)
    return vector + per_vector(w) * twice + cross(v, twice)


def to_rotation(wxyz: ArrayLike) -> Array:
    """Rotation matrix I + 2 w [v]x + 2 [v]x^2, without normalizing.

    Args:
        wxyz: (..., 4) a_q_b.

    Returns:
        (..., 3, 3) a_R_b.
    """
    w, x, y, z = _parts(expect("wxyz", wxyz, 4))
    return matrix(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )


def from_rotation(rotation: ArrayLike) -> Array:
    """Unit quaternion of a rotation matrix, accurate at every angle.

    Args:
        rotation: (..., 3, 3) a_R_b.

    Returns:
        (..., 4) a_q_b with w >= 0, of unit norm even if the matrix is only approximately a
        rotation.
    """
    R = expect("rotation", rotation, 3, 3)
    xx, yy, zz = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    wx, wy, wz = (R[..., i, j] - R[..., j, i] for i, j in ((2, 1), (0, 2), (1, 0)))
    xy, xz, yz = (R[..., i, j] + R[..., j, i] for i, j in ((1, 0), (0, 2), (2, 1)))
    # The rows of 4 q q^T. Each is q times one of its components: use the row of the largest one.
    rows = [
        (1.0 + xx + yy + zz, wx, wy, wz),
        (wx, 1.0 + xx - yy - zz, xy, xz),
        (wy, xy, 1.0 - xx + yy - zz, yz),
        (wz, xz, yz, 1.0 - xx - yy + zz),
    ]
    best = stack(rows[0])
    largest = best[..., :1]
    for i in (1, 2, 3):
        row = stack(rows[i])
        best = where(row[..., i : i + 1] > largest, row, best)
        largest = where(row[..., i : i + 1] > largest, row[..., i : i + 1], largest)
    return _over_norm(where(best[..., :1] < 0.0, -best, best))


def left_matrix(wxyz: ArrayLike) -> Array:
    """Matrix L (..., 4, 4) of products from the left: multiply(q1, q2) = L(q1) @ q2."""
    w, x, y, z = _parts(expect("wxyz", wxyz, 4))
    return matrix([[w, -x, -y, -z], [x, w, -z, y], [y, z, w, -x], [z, -y, x, w]])


def right_matrix(wxyz: ArrayLike) -> Array:
    """Matrix R (..., 4, 4) of products from the right: multiply(q1, q2) = R(q2) @ q1."""
    w, x, y, z = _parts(expect("wxyz", wxyz, 4))
    return matrix([[w, -x, -y, -z], [x, w, z, -y], [y, -z, w, x], [z, y, -x, w]])


def rate_matrix(wxyz: ArrayLike) -> Array:
    """Matrix E of the quaternion's rate: wxyz_dot = E @ omega.

    Args:
        wxyz: (..., 4) a_q_b.

    Returns:
        (..., 4, 3), for the angular velocity omega of b relative to a, expressed in b [rad/s].
    """
    return 0.5 * left_matrix(wxyz)[..., 1:]


def rate_inverse(wxyz: ArrayLike) -> Array:
    """Left inverse of `rate_matrix` at a unit quaternion: omega = rate_inverse @ wxyz_dot.

    Args:
        wxyz: (..., 4) a_q_b.

    Returns:
        (..., 3, 4), four times the transpose of `rate_matrix`.
    """
    return 2.0 * transpose(left_matrix(wxyz)[..., 1:])


def _split(name: str, wxyz: ArrayLike) -> tuple[Array, Array]:
    """Split into scalar part (...) and vector part (..., 3)."""
    array = expect(name, wxyz, 4)
    return array[..., 0], array[..., 1:]


def _parts(wxyz: Array) -> tuple[Array, Array, Array, Array]:
    return wxyz[..., 0], wxyz[..., 1], wxyz[..., 2], wxyz[..., 3]
