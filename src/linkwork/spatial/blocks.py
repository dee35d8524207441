"""The algebra of 3-D vectors on tuples of scalars, which joint kinds and algorithms use.

A scalar is a float (a constant of the robot), a traced expression, or an array with one entry per
robot of a batch. Operations on floats are computed immediately, and sums and products with 0.0 and
1.0 (structural zeros and ones) are omitted. The other modules of `spatial` have the same algebra on
arrays, without structural zeros.

Vec    (x, y, z)
Mat    three rows
Sym    xx, xy, xz, yy, yz, zz of a symmetric matrix
Twist  (linear, angular), two Vecs: velocities, wrenches, columns of a motion subspace
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from linkwork.engine.symbolic.arrays import Array, as_array, stack
from linkwork.engine.symbolic.entries import is_zero as is_zero
from linkwork.engine.symbolic.entries import minus as minus
from linkwork.engine.symbolic.entries import plus as plus
from linkwork.engine.symbolic.entries import times as times

Scalar: TypeAlias = Any
Vec: TypeAlias = tuple[Scalar, Scalar, Scalar]
Mat: TypeAlias = tuple[Vec, Vec, Vec]
Sym: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]
Twist: TypeAlias = tuple[Vec, Vec]

ZERO: Vec = (0.0, 0.0, 0.0)
IDENTITY: Mat = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))  # (row, column) of the entries of a Sym
SYM_INDEX = ((0, 1, 2), (1, 3, 4), (2, 4, 5))  # index in a Sym of entry (row, column)


def add(a: Vec, b: Vec) -> Vec:
    """a + b."""
    return (plus(a[0], b[0]), plus(a[1], b[1]), plus(a[2], b[2]))


def sub(a: Vec, b: Vec) -> Vec:
    """a - b."""
    return (minus(a[0], b[0]), minus(a[1], b[1]), minus(a[2], b[2]))


def total(*terms: Scalar) -> Scalar:
    """Sum of scalars."""
    value: Scalar = 0.0
    for term in terms:
        value = plus(value, term)
    return value


def neg(a: Vec) -> Vec:
    """-a."""
    return sub(ZERO, a)


def scale(s: Scalar, a: Vec) -> Vec:
    """s a."""
    return (times(s, a[0]), times(s, a[1]), times(s, a[2]))


def dot(a: Vec, b: Vec) -> Scalar:
    """a . b."""
    return plus(plus(times(a[0], b[0]), times(a[1], b[1])), times(a[2], b[2]))


def cross(a: Vec, b: Vec) -> Vec:
    """a x b."""
    return (
        minus(times(a[1], b[2]), times(a[2], b[1])),
        minus(times(a[2], b[0]), times(a[0], b[2])),
        minus(times(a[0], b[1]), times(a[1], b[0])),
    )


def apply(m: Mat, v: Vec) -> Vec:
    """m v."""
    return (dot(m[0], v), dot(m[1], v), dot(m[2], v))


def transpose(m: Mat) -> Mat:
    """m^T."""
    return (
        (m[0][0], m[1][0], m[2][0]),
        (m[0][1], m[1][1], m[2][1]),
        (m[0][2], m[1][2], m[2][2]),
    )


def apply_t(m: Mat, v: Vec) -> Vec:
    """m^T v."""
    return apply(transpose(m), v)


def matmul(a: Mat, b: Mat) -> Mat:
    """a b."""
    columns = transpose(b)
    x, y, z = (tuple(dot(row, column) for column in columns) for row in a)
    return (x, y, z)  # pyright: ignore[reportReturnType]


def mat_add(a: Mat, b: Mat) -> Mat:
    """a + b."""
    return (add(a[0], b[0]), add(a[1], b[1]), add(a[2], b[2]))


def mat_sub(a: Mat, b: Mat) -> Mat:
    """a - b."""
    return (sub(a[0], b[0]), sub(a[1], b[1]), sub(a[2], b[2]))


def sym_add(a: Sym, b: Sym) -> Sym:
    """a + b."""
    xx, xy, xz, yy, yz, zz = (plus(x, y) for x, y in zip(a, b, strict=True))
    return (xx, xy, xz, yy, yz, zz)


def sym_apply(a: Sym, v: Vec) -> Vec:
    """a v."""
    return apply(full(a), v)


def full(a: Sym) -> Mat:
    """A symmetric matrix with all its entries."""
    xx, xy, xz, yy, yz, zz = a
    return ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))


def upper(m: Mat) -> Sym:
    """The upper triangle of a matrix that is symmetric."""
    xx, xy, xz, yy, yz, zz = (m[i][j] for i, j in UPPER)
    return (xx, xy, xz, yy, yz, zz)


def wedge(v: Vec) -> Mat:
    """The matrix of v x."""
    x, y, z = v
    return ((0.0, minus(0.0, z), y), (z, 0.0, minus(0.0, x)), (minus(0.0, y), x, 0.0))


def rotate_sym(R: Mat, a: Sym) -> Sym:
    """R a R^T for a rotation R; the trace is invariant, which saves a row."""
    x, y = (apply(full(a), row) for row in R[:2])  # (a R^T)^T
    xx, xy, xz = (dot(x, row) for row in R)
    yy, yz = dot(y, R[1]), dot(y, R[2])
    if is_permutation(R):  # no operations
        return (xx, xy, xz, yy, yz, dot(apply(full(a), R[2]), R[2]))
    trace = plus(plus(a[0], a[3]), a[5])
    return (xx, xy, xz, yy, yz, minus(minus(trace, xx), yy))


def rotate_mat_about(axis: int, c: Scalar, s: Scalar, m: Mat) -> Mat:
    """R m R^T for a rotation R about a coordinate axis, from its cosine and sine.

    In the plane normal to the axis, with d = m_xx - m_yy, p = m_xy + m_yx and t = c d - s p:
    m_xx' = m_yy + c t,  m_yy' = m_xx - c t,  m_xy' = m_xy + s t,  m_yx' = m_yx + s t.
    """
    x, y = (axis + 1) % 3, (axis + 2) % 3
    t = minus(times(c, minus(m[x][x], m[y][y])), times(s, plus(m[x][y], m[y][x])))
    ct, st = times(c, t), times(s, t)
    new = [list(row) for row in m]
    new[x][x], new[y][y] = plus(m[y][y], ct), minus(m[x][x], ct)
    new[x][y], new[y][x] = plus(m[x][y], st), plus(m[y][x], st)
    new[x][axis] = minus(times(c, m[x][axis]), times(s, m[y][axis]))
    new[y][axis] = plus(times(s, m[x][axis]), times(c, m[y][axis]))
    new[axis][x] = minus(times(c, m[axis][x]), times(s, m[axis][y]))
    new[axis][y] = plus(times(s, m[axis][x]), times(c, m[axis][y]))
    a, b, d = ((row[0], row[1], row[2]) for row in new)
    return (a, b, d)


def is_zero_vector(v: Vec) -> bool:
    """Return whether a vector is the constant 0."""
    return all(map(is_zero, v))


def is_permutation(m: Mat) -> bool:
    """Return whether a matrix is a constant signed permutation of the axes."""
    return all(isinstance(x, float) and x in (0.0, 1.0, -1.0) for row in m for x in row)


def shift_sym(a: Sym, mass: Scalar, first: Vec, p: Vec) -> Sym:
    """Inertia tensor about the origin after moving a body of first moment `first` by p."""
    kx, ky, kz = add(first, scale(0.5, scale(mass, p)))
    px, py, pz = p
    tx, ty, tz = (times(times(2.0, x), k) for x, k in ((px, kx), (py, ky), (pz, kz)))
    shift: Sym = (
        plus(ty, tz),
        minus(0.0, plus(times(px, ky), times(py, kx))),
        minus(0.0, plus(times(px, kz), times(pz, kx))),
        plus(tx, tz),
        minus(0.0, plus(times(py, kz), times(pz, ky))),
        plus(tx, ty),
    )
    return sym_add(a, shift)


def rotation_about(axis: Vec, c: Scalar, s: Scalar) -> Mat:
    """Rotation about a constant unit vector a, from cosine and sine: a a^T + c (1 - a a^T) + s [a].

    About a coordinate axis, the entries are cosines, sines and constants.
    """
    across = wedge(axis)
    rows: list[Vec] = []
    for i in range(3):
        along = [axis[i] * axis[j] for j in range(3)]
        x, y, z = (
            total(along[j], times(c, IDENTITY[i][j] - along[j]), times(s, across[i][j]))
            for j in range(3)
        )
        rows.append((x, y, z))
    return (rows[0], rows[1], rows[2])


def quaternion_rotation(wxyz: Sequence[Scalar]) -> Mat:
    """Rotation of a unit quaternion: 1 + 2 w [v] + 2 [v]^2."""
    w, x, y, z = wxyz
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz = x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    return (
        (1.0 - (yy + zz), xy - wz, xz + wy),
        (xy + wz, 1.0 - (xx + zz), yz - wx),
        (xz - wy, yz + wx, 1.0 - (xx + yy)),
    )


def twist_add(a: Twist, b: Twist) -> Twist:
    """a + b, of twists or of wrenches."""
    return add(a[0], b[0]), add(a[1], b[1])


def twist_sub(a: Twist, b: Twist) -> Twist:
    """a - b, of twists or of wrenches."""
    return sub(a[0], b[0]), sub(a[1], b[1])


def twist_rotate(R: Mat, a: Twist) -> Twist:
    """R a: both parts of a twist or of a wrench rotated."""
    return apply(R, a[0]), apply(R, a[1])


def power(twist: Twist, wrench: Twist) -> Scalar:
    """Power of a wrench along a twist."""
    return plus(dot(twist[0], wrench[0]), dot(twist[1], wrench[1]))


def twist_cross(a: Twist, b: Twist) -> Twist:
    """a x b: the rate of change of a twist b that moves with a."""
    return add(cross(a[1], b[0]), cross(a[0], b[1])), cross(a[1], b[1])


def wrench_cross(a: Twist, wrench: Twist) -> Twist:
    """a x* wrench: the rate of change of a wrench (force, moment) that moves with a twist a."""
    (v, w), (force, moment) = a, wrench
    return cross(w, force), add(cross(w, moment), cross(v, force))


def halves(vector: Sequence[Scalar]) -> Twist:
    """Split six scalars into the linear and the angular part."""
    return (vector[0], vector[1], vector[2]), (vector[3], vector[4], vector[5])


def as_vector(entries: Sequence[Scalar]) -> Array:
    """Convert n scalars to an array (..., n)."""
    return as_array(stack(entries)) if entries else as_array([])


def scalars(vector: Array) -> list[Scalar]:
    """Split an array (..., n) into n scalars."""
    entries = [vector[..., k] for k in range(vector.shape[-1])]
    return [x.item() if x.dtype == object and x.ndim == 0 else x for x in entries]
