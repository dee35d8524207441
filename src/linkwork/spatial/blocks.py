"""The algebra of 3-D vectors on scalars, which joint kinds and algorithms use.

A scalar is a float (a constant of the robot), a traced expression, or an array with one entry per
robot of a batch. Operations on floats are computed immediately, and the operators omit sums and
products with 0.0 and 1.0 (structural zeros and ones). The other modules of `spatial` have the same
algebra on arrays, without structural zeros.

Vec      (x, y, z)
Mat      three rows, each a Vec
Sym      xx, xy, xz, yy, yz, zz of a symmetric matrix
Motion   (linear, angular), two Vecs: velocities, accelerations, columns of a motion subspace
Force    (force, moment), two Vecs: wrenches, momenta

Values are immutable. They are tuples: they are unpacked, indexed and compared as such. `+`, `-` and
`*` with a scalar are the operations of a linear space, not those of tuples; `@` is the product of a
matrix with any of them. `as_vec` and `as_mat` convert plain tuples, where these enter.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from linkwork.engine.symbolic.arrays import Array, as_array, stack
from linkwork.engine.symbolic.entries import is_zero as is_zero
from linkwork.engine.symbolic.entries import minus, plus, times

if TYPE_CHECKING:
    from typing_extensions import Self

Scalar: TypeAlias = Any
_new = tuple.__new__

UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))  # (row, column) of the entries of a Sym


class _Scalars(tuple[Scalar, ...]):
    """Scalars with the operations of a linear space."""

    __slots__ = ()
    __array_priority__ = 1.0  # an array times a value is computed here, not by NumPy

    def __add__(self, other: Self) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _new(type(self), map(plus, self, other))

    def __sub__(self, other: Self) -> Self:
        return _new(type(self), map(minus, self, other))

    def __neg__(self) -> Self:
        return _new(type(self), [minus(0.0, x) for x in self])

    def __mul__(self, factor: Scalar) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _new(type(self), [times(factor, x) for x in self])

    def __rmul__(self, factor: Scalar) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self * factor

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)


class _Vectors(tuple["Vec", ...]):
    """Vectors with the operations of a linear space."""

    __slots__ = ()
    __array_priority__ = 1.0

    def __add__(self, other: Self) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _new(type(self), map(operator.add, self, other))

    def __sub__(self, other: Self) -> Self:
        return _new(type(self), map(operator.sub, self, other))

    def __neg__(self) -> Self:
        return _new(type(self), map(operator.neg, self))

    def __mul__(self, factor: Scalar) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _new(type(self), [x * factor for x in self])

    def __rmul__(self, factor: Scalar) -> Self:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self * factor

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)


class Vec(_Scalars):
    """A vector: three scalars."""

    __slots__ = ()

    def __new__(cls, x: Scalar, y: Scalar, z: Scalar) -> Vec:
        """Create it from its entries."""
        return _new(cls, (x, y, z))

    def dot(self, other: Vec) -> Scalar:
        """Return the scalar product with another vector."""
        x, y, z = self
        a, b, c = other
        return plus(plus(times(x, a), times(y, b)), times(z, c))

    def cross(self, other: Vec) -> Vec:
        """Return the vector product, self x other."""
        x, y, z = self
        a, b, c = other
        return Vec(
            minus(times(y, c), times(z, b)),
            minus(times(z, a), times(x, c)),
            minus(times(x, b), times(y, a)),
        )

    @property
    def wedge(self) -> Mat:
        """The matrix of the vector product: v.wedge @ a = v.cross(a)."""
        x, y, z = self
        return Mat(
            Vec(0.0, minus(0.0, z), y), Vec(z, 0.0, minus(0.0, x)), Vec(minus(0.0, y), x, 0.0)
        )

    @property
    def wedge_squared(self) -> Sym:
        """The matrix [v]^2 = v v^T - (v . v) 1."""
        x, y, z = self
        xx, yy, zz = times(x, x), times(y, y), times(z, z)
        xy, xz, yz = times(x, y), times(x, z), times(y, z)
        return Sym(
            minus(0.0, plus(yy, zz)), xy, xz, minus(0.0, plus(xx, zz)), yz, minus(0.0, plus(xx, yy))
        )

    def outer(self, other: Vec) -> Mat:
        """Return the matrix self other^T."""
        return Mat(*(other * x for x in self))

    def without(self, axes: Sequence[int]) -> Vec:
        """Return the vector with the entries of some coordinate axes set to 0."""
        return Vec(*(0.0 if axis in axes else x for axis, x in enumerate(self)))

    @property
    def is_zero(self) -> bool:
        """Whether the vector is the constant 0."""
        return all(map(is_zero, self))


class Mat(_Vectors):
    """A matrix: three rows."""

    __slots__ = ()

    def __new__(cls, x: Vec, y: Vec, z: Vec) -> Mat:
        """Create it from its rows."""
        return _new(cls, (x, y, z))

    @property
    def T(self) -> Mat:
        """The transpose."""
        (a, b, c), (d, e, f), (g, h, i) = self
        return Mat(Vec(a, d, g), Vec(b, e, h), Vec(c, f, i))

    def __matmul__(self, other: Operand) -> Operand:
        """Return the product with a vector, a matrix, or both vectors of a motion or force."""
        if isinstance(other, Vec):
            x, y, z = self
            return Vec(x.dot(other), y.dot(other), z.dot(other))
        if isinstance(other, Mat):
            columns = other.T
            return Mat(*(Vec(*(row.dot(column) for column in columns)) for row in self))
        return type(other)(self @ other[0], self @ other[1])

    @property
    def upper(self) -> Sym:
        """The upper triangle of a matrix that is symmetric."""
        return Sym(*(self[i][j] for i, j in UPPER))

    @property
    def is_permutation(self) -> bool:
        """Whether the matrix is a constant signed permutation of the axes."""
        return all(isinstance(x, float) and x in (0.0, 1.0, -1.0) for row in self for x in row)

    def rotated_about(self, axis: int, c: Scalar, s: Scalar) -> Mat:
        """Return R self R^T for a rotation R about a coordinate axis, from its cosine and sine.

        In the plane normal to the axis, with d = m_xx - m_yy, p = m_xy + m_yx and t = c d - s p:
        m_xx' = m_yy + c t,  m_yy' = m_xx - c t,  m_xy' = m_xy + s t,  m_yx' = m_yx + s t.
        """
        m, x, y = self, (axis + 1) % 3, (axis + 2) % 3
        t = minus(times(c, minus(m[x][x], m[y][y])), times(s, plus(m[x][y], m[y][x])))
        ct, st = times(c, t), times(s, t)
        new = [list(row) for row in m]
        new[x][x], new[y][y] = plus(m[y][y], ct), minus(m[x][x], ct)
        new[x][y], new[y][x] = plus(m[x][y], st), plus(m[y][x], st)
        new[x][axis] = minus(times(c, m[x][axis]), times(s, m[y][axis]))
        new[y][axis] = plus(times(s, m[x][axis]), times(c, m[y][axis]))
        new[axis][x] = minus(times(c, m[axis][x]), times(s, m[axis][y]))
        new[axis][y] = plus(times(s, m[axis][x]), times(c, m[axis][y]))
        return as_mat(new)

    def minus_wedges(self, a: Vec, b: Vec) -> Mat:
        """Return self - [a] [b], with [a] [b] = b a^T - (a . b) 1, in fewer operations."""
        x, y, z = map(times, a, b)
        rows = [[minus(self[i][j], times(b[i], a[j])) for j in range(3)] for i in range(3)]
        for i, others in enumerate((plus(y, z), plus(x, z), plus(x, y))):
            rows[i][i] = plus(self[i][i], others)
        return as_mat(rows)


class Sym(_Scalars):
    """A symmetric matrix: its upper triangle."""

    __slots__ = ()

    def __new__(cls, *entries: Scalar) -> Sym:
        """Create it from xx, xy, xz, yy, yz, zz."""
        return _new(cls, entries)

    @staticmethod
    def outer(a: Vec, b: Vec) -> Sym:
        """Return a b^T for vectors whose product is symmetric."""
        return Sym(*(times(a[i], b[j]) for i, j in UPPER))

    @property
    def full(self) -> Mat:
        """The matrix with all its entries."""
        xx, xy, xz, yy, yz, zz = self
        return Mat(Vec(xx, xy, xz), Vec(xy, yy, yz), Vec(xz, yz, zz))

    def __matmul__(self, other: VecOrMat) -> VecOrMat:
        return self.full @ other

    def rotated(self, R: Mat) -> Sym:
        """Return R self R^T for a rotation R; the trace is invariant, which saves a row."""
        x, y = (self @ row for row in R[:2])  # (self R^T)^T
        xx, xy, xz = (x.dot(row) for row in R)
        yy, yz = y.dot(R[1]), y.dot(R[2])
        if R.is_permutation:  # no operations
            return Sym(xx, xy, xz, yy, yz, (self @ R[2]).dot(R[2]))
        trace = plus(plus(self[0], self[3]), self[5])
        return Sym(xx, xy, xz, yy, yz, minus(minus(trace, xx), yy))

    def shifted(self, p: Vec, mass: Scalar, first_moment: Vec) -> Sym:
        """Return an inertia tensor about an origin from which the present one is at p.

        It is I - m [p]^2 - [h] [p] - [p] [h], with k = h + m p / 2 in place of h and m p.
        """
        kx, ky, kz = first_moment + 0.5 * (mass * p)
        px, py, pz = p
        tx, ty, tz = (times(times(2.0, x), k) for x, k in ((px, kx), (py, ky), (pz, kz)))
        shift = Sym(
            plus(ty, tz),
            minus(0.0, plus(times(px, ky), times(py, kx))),
            minus(0.0, plus(times(px, kz), times(pz, kx))),
            plus(tx, tz),
            minus(0.0, plus(times(py, kz), times(pz, ky))),
            plus(tx, ty),
        )
        return self + shift

    def about_com(self, first_moment: Vec, com: Vec) -> Sym:
        """Return an inertia tensor about the center of mass c = h / m: I - (h . c) 1 + h c^T."""
        h, c = first_moment, com
        x, y, z = map(times, h, c)
        xx, xy, xz, yy, yz, zz = self
        return Sym(
            minus(xx, plus(y, z)),
            plus(xy, times(h[0], c[1])),
            plus(xz, times(h[0], c[2])),
            minus(yy, plus(x, z)),
            plus(yz, times(h[1], c[2])),
            minus(zz, plus(x, y)),
        )

    def euler_moment(self, w: Vec, u: Vec, W: Mat) -> Vec:
        """Return I u + w x I w, with W = [u] + [w]^2, whose entries save operations."""
        xx, xy, xz, yy, yz, zz = self
        wxx, wyy, wzz = (times(x, x) for x in w)
        wxy, wxz, wyz = times(w[0], w[1]), times(w[0], w[2]), times(w[1], w[2])
        return Vec(
            total(
                times(xx, u[0]),
                times(zz - yy, wyz),
                minus(0.0, times(xy, W[2][0])),
                times(xz, W[1][0]),
                _times_difference(yz, wyy, wzz),
            ),
            total(
                times(yy, u[1]),
                times(xx - zz, wxz),
                minus(0.0, times(yz, W[0][1])),
                times(xy, W[2][1]),
                _times_difference(xz, wzz, wxx),
            ),
            total(
                times(zz, u[2]),
                times(yy - xx, wxy),
                minus(0.0, times(xz, W[1][2])),
                times(yz, W[0][2]),
                _times_difference(xy, wxx, wyy),
            ),
        )

    def without(self, axes: Sequence[int]) -> Sym:
        """Return the matrix with rows and columns of some coordinate axes set to 0."""
        entries = zip(UPPER, self, strict=True)
        return Sym(*(0.0 if i in axes or j in axes else x for (i, j), x in entries))


class _Pair(_Vectors):
    """Two vectors: of a motion, or of a force."""

    __slots__ = ()

    def __new__(cls, linear: Vec, angular: Vec) -> Self:
        return _new(cls, (linear, angular))

    @classmethod
    def of(cls, entries: Sequence[Scalar]) -> Self:
        """Return the pair of the first six scalars."""
        return cls(Vec(*entries[:3]), Vec(*entries[3:6]))

    @property
    def entries(self) -> list[Scalar]:
        """The six scalars, linear ones first."""
        return [*self[0], *self[1]]

    def dot(self, other: Motion | Force) -> Scalar:
        """Return the power of a force along a motion."""
        return plus(self[0].dot(other[0]), self[1].dot(other[1]))


class Motion(_Pair):
    """A linear and an angular vector, which change by w x p where the point changes by p."""

    __slots__ = ()

    def at(self, p: Vec) -> Motion:
        """Return the motion of the point p of the same body: v + w x p, and w."""
        v, w = self
        return Motion(v + w.cross(p), w)

    def shifted(self, p: Vec) -> Motion:
        """Return the motion of the point from which the present one is at p: v + p x w, and w."""
        v, w = self
        return Motion(v + p.cross(w), w)

    def cross(self, other: PairT) -> PairT:
        """Return the rate of change of a motion or a force that moves with this motion."""
        (v, w), (linear, angular) = self, other
        if isinstance(other, Force):
            return Force(w.cross(linear), w.cross(angular) + v.cross(linear))
        return Motion(w.cross(linear) + v.cross(angular), w.cross(angular))


class Force(_Pair):
    """A force and a moment about an origin."""

    __slots__ = ()

    def shifted(self, p: Vec) -> Force:
        """Return the force about an origin from which the present one is at p."""
        force, moment = self
        return Force(force, moment + p.cross(force))


Operand = TypeVar("Operand", Vec, Mat, Motion, Force)
VecOrMat = TypeVar("VecOrMat", Vec, Mat)
PairT = TypeVar("PairT", Motion, Force)

ZERO = Vec(0.0, 0.0, 0.0)
IDENTITY = Mat(Vec(1.0, 0.0, 0.0), Vec(0.0, 1.0, 0.0), Vec(0.0, 0.0, 1.0))
ZERO_MATRIX = Mat(ZERO, ZERO, ZERO)
ZERO_MOTION = Motion(ZERO, ZERO)
ZERO_FORCE = Force(ZERO, ZERO)


def as_vec(entries: Iterable[Scalar]) -> Vec:
    """Convert three scalars to a vector."""
    return entries if isinstance(entries, Vec) else Vec(*entries)


def as_mat(rows: Iterable[Iterable[Scalar]]) -> Mat:
    """Convert three rows of scalars to a matrix."""
    return rows if isinstance(rows, Mat) else Mat(*map(as_vec, rows))


def total(*terms: Scalar) -> Scalar:
    """Return the sum of scalars."""
    value: Scalar = 0.0
    for term in terms:
        value = plus(value, term)
    return value


def inner(a: Iterable[Scalar], b: Iterable[Scalar]) -> Scalar:
    """Return the sum of the products of scalars, pair by pair."""
    return total(*map(times, a, b))


def rotation_about(axis: Sequence[float], c: Scalar, s: Scalar) -> Mat:
    """Rotation about a constant unit vector a, from cosine and sine: a a^T + c (1 - a a^T) + s [a].

    About a coordinate axis, the entries are cosines, sines and constants.
    """
    axis = as_vec(axis)
    along = axis.outer(axis)
    return along + c * (IDENTITY - along) + s * axis.wedge


def quaternion_rotation(wxyz: Sequence[Scalar]) -> Mat:
    """Rotation of a unit quaternion: 1 + 2 w [v] + 2 [v]^2."""
    w, x, y, z = wxyz
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz = x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    return Mat(
        Vec(1.0 - (yy + zz), xy - wz, xz + wy),
        Vec(xy + wz, 1.0 - (xx + zz), yz - wx),
        Vec(xz - wy, yz + wx, 1.0 - (xx + yy)),
    )


def as_vector(entries: Sequence[Scalar]) -> Array:
    """Convert n scalars to an array (..., n)."""
    return as_array(stack(entries)) if entries else as_array([])


def scalars(vector: Array) -> list[Scalar]:
    """Split an array (..., n) into n scalars."""
    entries = [vector[..., k] for k in range(vector.shape[-1])]
    return [x.item() if x.dtype == object and x.ndim == 0 else x for x in entries]


def _times_difference(k: Scalar, a: Scalar, b: Scalar) -> Scalar:
    """Return k (a - b); nothing is computed for a constant k of 0."""
    return 0.0 if is_zero(k) else times(k, minus(a, b))
