"""Vectors and matrices as tuples of scalars: how the algorithms compute.

A scalar is a float (a fact of the robot), or what the caller computes with: an expression being
traced, or an array with one entry per robot of a batch. Facts that are 0 or 1 cost nothing, since a
float times a float is a float and an expression drops what adds nothing.

Vec    (x, y, z)
Mat    three rows
Sym    xx, xy, xz, yy, yz, zz of a symmetric matrix
"""

from __future__ import annotations

from typing import Any, TypeAlias

Scalar: TypeAlias = Any
Vec: TypeAlias = tuple[Scalar, Scalar, Scalar]
Mat: TypeAlias = tuple[Vec, Vec, Vec]
Sym: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]

ZERO: Vec = (0.0, 0.0, 0.0)
IDENTITY: Mat = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
NO_SYM: Sym = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
PLACE = ((0, 1, 2), (1, 3, 4), (2, 4, 5))  # where entry (i, j) of a matrix stands in a Sym
UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def plus(a: Scalar, b: Scalar) -> Scalar:
    """A + b; a fact of 0 is free whatever the other is."""
    if isinstance(a, float) and a == 0.0:
        return b
    return a if isinstance(b, float) and b == 0.0 else a + b


def minus(a: Scalar, b: Scalar) -> Scalar:
    """A - b; a fact of 0 is free."""
    if isinstance(b, float) and b == 0.0:
        return a
    return -b if isinstance(a, float) and a == 0.0 else a - b


def times(a: Scalar, b: Scalar) -> Scalar:
    """A b; facts of 0, 1 and -1 are free or nearly so."""
    for x, y in ((a, b), (b, a)):
        if isinstance(x, float) and x in (0.0, 1.0, -1.0):
            return 0.0 if x == 0.0 else y if x == 1.0 else -y
    return a * b


def add(a: Vec, b: Vec) -> Vec:
    """A + b."""
    return (plus(a[0], b[0]), plus(a[1], b[1]), plus(a[2], b[2]))


def sub(a: Vec, b: Vec) -> Vec:
    """A - b."""
    return (minus(a[0], b[0]), minus(a[1], b[1]), minus(a[2], b[2]))


def neg(a: Vec) -> Vec:
    """-a."""
    return sub(ZERO, a)


def scale(s: Scalar, a: Vec) -> Vec:
    """S a."""
    return (times(s, a[0]), times(s, a[1]), times(s, a[2]))


def dot(a: Vec, b: Vec) -> Scalar:
    """A . b."""
    return plus(plus(times(a[0], b[0]), times(a[1], b[1])), times(a[2], b[2]))


def cross(a: Vec, b: Vec) -> Vec:
    """A x b."""
    return (
        minus(times(a[1], b[2]), times(a[2], b[1])),
        minus(times(a[2], b[0]), times(a[0], b[2])),
        minus(times(a[0], b[1]), times(a[1], b[0])),
    )


def apply(m: Mat, v: Vec) -> Vec:
    """M v."""
    return (dot(m[0], v), dot(m[1], v), dot(m[2], v))


def transpose(m: Mat) -> Mat:
    """M with rows and columns swapped."""
    return (
        (m[0][0], m[1][0], m[2][0]),
        (m[0][1], m[1][1], m[2][1]),
        (m[0][2], m[1][2], m[2][2]),
    )


def apply_t(m: Mat, v: Vec) -> Vec:
    """m^T v."""
    return apply(transpose(m), v)


def matmul(a: Mat, b: Mat) -> Mat:
    """A b."""
    columns = transpose(b)
    x, y, z = (tuple(dot(row, column) for column in columns) for row in a)
    return (x, y, z)  # pyright: ignore[reportReturnType]


def mat_add(a: Mat, b: Mat) -> Mat:
    """A + b."""
    return (add(a[0], b[0]), add(a[1], b[1]), add(a[2], b[2]))


def sym_add(a: Sym, b: Sym) -> Sym:
    """A + b."""
    xx, xy, xz, yy, yz, zz = (plus(x, y) for x, y in zip(a, b, strict=True))
    return (xx, xy, xz, yy, yz, zz)


def sym_apply(a: Sym, v: Vec) -> Vec:
    """A v."""
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


def turn_sym(m: Mat, a: Sym) -> Sym:
    """M a m^T for a rotation m. The trace stays, which saves a row."""
    x, y = (apply(full(a), row) for row in m[:2])  # (a m^T)^T
    xx, xy, xz = (dot(x, row) for row in m)
    yy, yz = dot(y, m[1]), dot(y, m[2])
    if is_permutation(m):  # nothing is computed
        return (xx, xy, xz, yy, yz, dot(apply(full(a), m[2]), m[2]))
    trace = plus(plus(a[0], a[3]), a[5])
    return (xx, xy, xz, yy, yz, minus(minus(trace, xx), yy))


def spin_mat(axis: int, c: Scalar, s: Scalar, m: Mat) -> Mat:
    """R m r^T for a rotation r about a coordinate axis, from its cosine and sine.

    In the plane across the axis, with d = m_xx - m_yy, p = m_xy + m_yx and t = c d - s p:
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


def is_permutation(m: Mat) -> bool:
    """Whether a matrix of facts only exchanges axes, perhaps with other signs."""
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
