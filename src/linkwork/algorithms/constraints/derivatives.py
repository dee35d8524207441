"""Derivatives of constrained dynamics, by the implicit function theorem.

Accelerations a and forces f satisfy, with ID the inverse dynamics of the tree,

    F = ID(q, nu, a) - J(q)^T f - tau = 0
    C = J(q) a + Jdot nu + k_p error(q) + k_d J nu = 0

A change of the inputs changes F by dF and C by dC while a and f are held; then

    df = G^+ (J M^-1 dF - dC)
    da = M^-1 (J^T df - dF)

with the factor of M and the pseudo-inverse of G = J M^-1 J^T of the forward dynamics. dID is
analytic; C and J^T f are short, and differentiated as programs.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.algorithms.constraints.dynamics import (
    Metric,
    Setting,
    System,
    layout_of,
    rows_at,
    solve_accelerations,
    system_of,
)
from linkwork.algorithms.constraints.equations import Row
from linkwork.algorithms.constraints.pseudo_inverse import PseudoInverse, transposed_product
from linkwork.algorithms.derivatives.inverse_dynamics import (
    inverse_dynamics_derivatives as tree_derivatives,
)
from linkwork.algorithms.dynamics.rnea import Wrenches
from linkwork.algorithms.dynamics.rnea import inverse_dynamics as tree_inverse_dynamics
from linkwork.algorithms.kinematics.frames import Matrix, Scalars
from linkwork.algorithms.kinematics.jacobians import jacobian
from linkwork.algorithms.kinematics.manifold import velocity_kinematics
from linkwork.engine.symbolic.elimination import SparseRow
from linkwork.mechanics.base import Representation
from linkwork.mechanics.joint_dynamics import NO_JOINT_DYNAMICS, DynamicsByIndex
from linkwork.mechanics.skeleton import Skeleton
from linkwork.model.joints.derivatives import derivatives
from linkwork.spatial.blocks import Scalar, Vec, is_zero, minus, plus, times, total


def forward_dynamics_derivatives(
    skeleton: Skeleton,
    q: Scalars,
    nu: Scalars,
    tau: Scalars,
    *,
    gravity: Vec,
    velocity: Representation,
    wrenches: Wrenches | None = None,
    joint_dynamics: DynamicsByIndex = NO_JOINT_DYNAMICS,
) -> tuple[Matrix, Matrix, Matrix, Matrix, Matrix, Matrix]:
    """(nv, nv) derivatives of nu_dot w.r.t. q, nu, tau; (m, nv) those of the forces."""
    setting = Setting(gravity, velocity, wrenches or {}, joint_dynamics)
    gains = layout_of(skeleton).gains
    system = system_of(skeleton, q, rows_at(skeleton, q, nu, velocity=velocity), setting)
    bias = tree_inverse_dynamics(skeleton, q, nu, **setting._asdict())
    driving = [minus(t, h) for t, h in zip(tau, bias, strict=True)]
    nu_dot, forces, _ = solve_accelerations(system, driving, gains)
    ID_q, ID_nu, _ = tree_derivatives(skeleton, q, nu, nu_dot, **setting._asdict())
    C_q, C_nu, pull_q = _constraint_derivatives(skeleton, (q, nu, nu_dot), forces, velocity)
    solver = _Solver(system)
    by_q = solver.columns(_difference(ID_q, pull_q), C_q)
    by_nu = solver.columns(ID_nu, C_nu)
    a_tau, f_tau = solver.by_force()
    return by_q[0], by_nu[0], a_tau, by_q[1], by_nu[1], f_tau


def acceleration_derivatives(
    skeleton: Skeleton,
    q: Scalars,
    nu: Scalars,
    tau: Scalars,
    *,
    gravity: Vec,
    velocity: Representation,
    wrenches: Wrenches | None = None,
    joint_dynamics: DynamicsByIndex = NO_JOINT_DYNAMICS,
) -> tuple[Matrix, Matrix, Matrix, list[Matrix]]:
    """(nv, nv) derivatives of nu_dot w.r.t. q, nu, tau; (nv, 6) those w.r.t. each wrench."""
    by_q, by_nu, by_tau, *_ = forward_dynamics_derivatives(
        skeleton,
        q,
        nu,
        tau,
        gravity=gravity,
        velocity=velocity,
        wrenches=wrenches,
        joint_dynamics=joint_dynamics,
    )
    Js = [jacobian(skeleton, q, frame, velocity=velocity) for frame in wrenches or {}]
    by_wrenches = [[[total(*map(times, row, J_row)) for J_row in J] for row in by_tau] for J in Js]
    return by_q, by_nu, by_tau, by_wrenches


def impact_derivatives(
    skeleton: Skeleton,
    q: Scalars,
    nu: Scalars,
    restitution: Scalars,
    *,
    velocity: Representation,
    joint_dynamics: DynamicsByIndex = NO_JOINT_DYNAMICS,
) -> tuple[Matrix, Matrix, Matrix, Matrix]:
    """(nv, nv) derivatives of the velocity after an impact w.r.t. q, nu; (m, nv) of the impulses.

    M (nu+ - nu) = J^T f and J nu+ = -restitution J nu are differentiated as forward dynamics is.
    """
    metric = Metric(velocity, joint_dynamics)
    rows = rows_at(skeleton, q, nu, velocity=velocity)
    system = system_of(skeleton, q, rows, metric)
    solver = _Solver(system)
    reversal = minus(-1.0, restitution[0])
    impulses, _ = solver.pseudo_inverse.solve([times(reversal, row.rate) for row in rows])
    change = system.factor.outward(system.response(impulses))
    after = [plus(v, dv) for v, dv in zip(nu, change, strict=True)]
    # M(q) (nu+ - nu) is inverse dynamics with nu+ - nu for nu_dot, at rest and without gravity
    M_q, _, _ = tree_derivatives(
        skeleton,
        q,
        [0.0] * len(nu),
        change,
        gravity=(0.0, 0.0, 0.0),
        velocity=velocity,
        wrenches={},
        joint_dynamics=joint_dynamics,
    )
    meeting = [plus(v, times(restitution[0], old)) for v, old in zip(after, nu, strict=True)]

    def equations(q: Scalars, meeting: Scalars, impulses: Scalars) -> list[Scalar]:
        moving = rows_at(skeleton, q, meeting, velocity=velocity)
        return [*(row.rate for row in moving), *_pull(moving, impulses, len(meeting))]

    [by_coordinates] = derivatives(equations, q, meeting, impulses, wrt=[0])
    by_q, m = _in_tangent(by_coordinates, skeleton, q, velocity), len(rows)
    after_q, impulses_q = solver.columns(_difference(M_q, by_q[m:]), by_q[:m])
    # w.r.t. nu, with the change of velocity for a: dF = 0, dC = (1 + restitution) J
    J = [[row.jacobian.get(k, 0.0) for k in range(len(nu))] for row in rows]
    C_nu = [[times(plus(1.0, restitution[0]), x) for x in row] for row in J]
    zero = [[0.0] * len(nu) for _ in nu]
    change_nu, impulses_nu = solver.columns(zero, C_nu)
    after_nu = [
        [plus(x, 1.0) if i == k else x for k, x in enumerate(row)]
        for i, row in enumerate(change_nu)
    ]
    return after_q, after_nu, impulses_q, impulses_nu


def _constraint_derivatives(
    skeleton: Skeleton,
    state: tuple[Scalars, Scalars, Scalars],
    forces: Scalars,
    velocity: Representation,
) -> tuple[Matrix, Matrix, Matrix]:
    """(m, nv) derivatives of C w.r.t. q and nu, and (nv, nv) of J^T forces w.r.t. q."""
    k_p, k_d = layout_of(skeleton).gains
    nv = len(state[1])

    def equations(q: Scalars, nu: Scalars, nu_dot: Scalars, forces: Scalars) -> list[Scalar]:
        rows = rows_at(skeleton, q, nu, nu_dot, velocity=velocity)
        stabilized = [total(row.bias, times(k_p, row.error), times(k_d, row.rate)) for row in rows]
        return stabilized + _pull(rows, forces, nv)

    q, m = state[0], len(forces)
    by_coordinates, by_nu = derivatives(equations, *state, forces, wrt=[0, 1])
    by_q = _in_tangent(by_coordinates, skeleton, q, velocity)
    return by_q[:m], by_nu[:m], by_q[m:]


def _pull(rows: Sequence[Row], forces: Scalars, nv: int) -> list[Scalar]:
    """(nv,) J^T forces."""
    pulled = transposed_product([row.jacobian for row in rows], forces)
    return [pulled.get(k, 0.0) for k in range(nv)]


def _in_tangent(rows: Matrix, skeleton: Skeleton, q: Scalars, velocity: Representation) -> Matrix:
    """Derivatives in the tangent space of `integrate`, from those w.r.t. the entries of q."""
    E = velocity_kinematics(skeleton, q, velocity=velocity)
    columns = [
        [(i, row[k]) for i, row in enumerate(E) if not is_zero(row[k])]
        for k in range(skeleton.layout.nv)
    ]
    return [[total(*(times(row[i], x) for i, x in column)) for column in columns] for row in rows]


def _difference(a: Matrix, b: Matrix) -> Matrix:
    return [[minus(x, y) for x, y in zip(*pair, strict=True)] for pair in zip(a, b, strict=True)]


class _Solver:
    """Changes of accelerations and forces, from changes of the equations."""

    def __init__(self, system: System) -> None:
        self._system = system
        self.pseudo_inverse = PseudoInverse(system.delassus)
        self._inverse = self.pseudo_inverse.inverse()

    def columns(self, F: Matrix, C: Matrix) -> tuple[Matrix, Matrix]:
        """(nv, n) da and (m, n) df, from dF (nv, n) and dC (m, n)."""
        nv, m = len(self._system.factor.order), len(C)
        n = len(F[0])
        a, f = [[0.0] * n for _ in range(nv)], [[0.0] * n for _ in range(m)]
        for k in range(n):
            changes = self._column([row[k] for row in F], [row[k] for row in C])
            for matrix, column in zip((a, f), changes, strict=True):
                for row, value in zip(matrix, column, strict=True):
                    row[k] = value
        return a, f

    def _column(self, F: Scalars, C: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        if all(map(is_zero, (*F, *C))):
            return [0.0] * len(F), [0.0] * len(C)
        factor, X = self._system.factor, self._system.X
        u = factor.inward(F)
        z = {c: times(x, factor.inverse_pivots[c]) for c, x in u.items() if not is_zero(x)}
        r = [minus(_dot(row, z), c) for row, c in zip(X, C, strict=True)]
        f = [total(*map(times, row, r)) for row in self._inverse]
        response = self._system.response(f)
        columns = sorted({*z, *response})
        moved = {c: minus(response.get(c, 0.0), z.get(c, 0.0)) for c in columns}
        return factor.outward(moved), f

    def by_force(self) -> tuple[Matrix, Matrix]:
        """(nv, nv) M^-1 - M^-1 J^T G^+ J M^-1, and (m, nv) -G^+ J M^-1: with dF = -1."""
        system, m = self._system, len(self._system.rows)
        units = [[1.0 if i == k else 0.0 for i in range(m)] for k in range(m)]
        Y = [system.factor.outward(system.response(unit)) for unit in units]  # rows of J M^-1
        nv = len(system.factor.order)
        f = [
            [
                minus(0.0, total(*(times(g, y[k]) for g, y in zip(row, Y, strict=True))))
                for k in range(nv)
            ]
            for row in self._inverse
        ]
        a = system.factor.inverse()
        for i in range(nv):
            for j in range(i + 1):
                entry = total(a[i][j], *(times(y[i], row[j]) for y, row in zip(Y, f, strict=True)))
                a[i][j] = a[j][i] = entry
        return a, f


def _dot(row: SparseRow, vector: SparseRow) -> Scalar:
    return total(*(times(row[c], vector[c]) for c in sorted(row.keys() & vector.keys())))
