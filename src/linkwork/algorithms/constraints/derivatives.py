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

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any, cast

from linkwork.algorithms.constraints.dynamics import (
    Setting,
    System,
    pseudo_inverse_of_columns,
    rows_at,
    solve_accelerations,
    stabilized,
    system_of,
)
from linkwork.algorithms.constraints.equations import Row
from linkwork.algorithms.constraints.sparse import columns_of, dense, transposed_product
from linkwork.algorithms.derivatives.inverse_dynamics import (
    inverse_dynamics_derivatives as tree_derivatives,
)
from linkwork.algorithms.dynamics.factor import sparse_dot
from linkwork.algorithms.dynamics.rnea import Wrenches
from linkwork.algorithms.dynamics.rnea import inverse_dynamics as tree_inverse_dynamics
from linkwork.algorithms.kinematics.frames import Matrix, Scalars
from linkwork.algorithms.kinematics.jacobians import jacobian
from linkwork.algorithms.kinematics.manifold import velocity_kinematics
from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.elimination import SparseRow
from linkwork.engine.symbolic.node import Expr
from linkwork.mechanics.base import Representation
from linkwork.mechanics.joint_dynamics import NO_JOINT_DYNAMICS, DynamicsByIndex
from linkwork.mechanics.problem import Problem
from linkwork.mechanics.skeleton import Body, Mount
from linkwork.model.joints.derivatives import derivatives
from linkwork.model.joints.kind import Axis
from linkwork.spatial.blocks import ZERO, Scalar, Vec, inner, is_zero, total


def forward_dynamics_derivatives(
    problem: Problem,
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
    system, nu_dot, forces, _ = solve_accelerations(problem, q, nu, tau, setting)
    ID_q, ID_nu, _ = tree_derivatives(problem.skeleton, q, nu, nu_dot, **setting._asdict())
    C_q, C_nu, pull_q = _constraint_derivatives(problem, (q, nu, nu_dot), forces, velocity)
    solver = _Solver(system)
    by_q = solver.columns(_difference(ID_q, pull_q), C_q)
    by_nu = solver.columns(ID_nu, C_nu)
    a_tau, f_tau = solver.by_force()
    return by_q[0], by_nu[0], a_tau, by_q[1], by_nu[1], f_tau


def acceleration_derivatives(
    problem: Problem,
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
        problem,
        q,
        nu,
        tau,
        gravity=gravity,
        velocity=velocity,
        wrenches=wrenches,
        joint_dynamics=joint_dynamics,
    )
    Js = [jacobian(problem.skeleton, q, frame, velocity=velocity) for frame in wrenches or {}]
    by_wrenches = [[[inner(row, J_row) for J_row in J] for row in by_tau] for J in Js]
    return by_q, by_nu, by_tau, by_wrenches


def impact_derivatives(
    problem: Problem,
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
    rows = rows_at(problem, q, nu, velocity=velocity)
    system = system_of(problem, q, rows, velocity=velocity, joint_dynamics=joint_dynamics)
    solver = _Solver(system)
    reversal = -1.0 - restitution[0]
    impulses = solver.pseudo_inverse.solve([reversal * row.rate for row in rows])
    change = system.factor.outward(system.response(impulses))
    after = [v + dv for v, dv in zip(nu, change, strict=True)]
    # M(q) (nu+ - nu) is inverse dynamics with nu+ - nu for nu_dot, at rest and without gravity
    M_q, _, _ = tree_derivatives(
        problem.skeleton,
        q,
        [0.0] * len(nu),
        change,
        gravity=ZERO,
        velocity=velocity,
        wrenches={},
        joint_dynamics=joint_dynamics,
    )
    meeting = [v + restitution[0] * old for v, old in zip(after, nu, strict=True)]

    def equations(
        problem: Problem, q: Scalars, meeting: Scalars, impulses: Scalars
    ) -> list[Scalar]:
        moving = rows_at(problem, q, meeting, velocity=velocity)
        return [*(row.rate for row in moving), *_pull(moving, impulses, len(meeting))]

    [by_coordinates] = _partials(equations, problem, q, meeting, impulses, wrt=[0])
    by_q, m = _in_tangent(by_coordinates, problem, q, velocity), len(rows)
    after_q, impulses_q = solver.columns(_difference(M_q, by_q[m:]), by_q[:m])
    # w.r.t. nu, with the change of velocity for a: dF = 0, dC = (1 + restitution) J
    J = [dense(row.jacobian, len(nu)) for row in rows]
    C_nu = [[(1.0 + restitution[0]) * x for x in row] for row in J]
    zero = [[0.0] * len(nu) for _ in nu]
    change_nu, impulses_nu = solver.columns(zero, C_nu)
    after_nu = [
        [x + 1.0 if i == k else x for k, x in enumerate(row)] for i, row in enumerate(change_nu)
    ]
    return after_q, after_nu, impulses_q, impulses_nu


def inverse_dynamics_derivatives(
    problem: Problem,
    q: Scalars,
    nu: Scalars,
    nu_dot: Scalars,
    *,
    gravity: Vec,
    velocity: Representation,
    wrenches: Wrenches | None = None,
    joint_dynamics: DynamicsByIndex = NO_JOINT_DYNAMICS,
) -> tuple[Matrix, Matrix, Matrix, Matrix, Matrix, Matrix]:
    """(n, nv) derivatives of the torques w.r.t. q, nu, nu_dot; (m, nv) those of the forces.

    With A the columns of J of the coordinates without actuator, transposed, forces = A^T y and
    A A^T y = needed there; so  A A^T dy = d needed - d(A A^T) y,  d forces = A^T dy + dA^T y.
    """
    setting = Setting(gravity, velocity, wrenches or {}, joint_dynamics)
    actuated, unactuated = problem.actuated_indices, problem.unactuated_indices
    needed = tree_inverse_dynamics(problem.skeleton, q, nu, nu_dot, **setting._asdict())
    by_inputs = tree_derivatives(problem.skeleton, q, nu, nu_dot, **setting._asdict())
    jacobian_rows = [row.jacobian for row in rows_at(problem, q, velocity=velocity)]
    A = columns_of(jacobian_rows, unactuated)
    inverse = pseudo_inverse_of_columns(problem, A, unactuated)
    y = inverse.solve([needed[k] for k in unactuated])
    m, nv = len(jacobian_rows), problem.layout.nv
    forces = dense(transposed_product(A, y), m)

    def geometry(problem: Problem, q: Scalars, y: Scalars, forces: Scalars) -> list[Scalar]:
        rows = [row.jacobian for row in rows_at(problem, q, velocity=velocity)]
        A = columns_of(rows, unactuated)
        by_y = dense(transposed_product(A, y), m)
        return [
            *(total(*(x * by_y[i] for i, x in column.items())) for column in A),
            *by_y,
            *dense(transposed_product(rows, forces), nv),
        ]

    n = len(unactuated)
    zero: Matrix = [[0.0] * nv for _ in range(n + m + nv)]
    by_q = zero
    if n:
        [by_coordinates] = _partials(geometry, problem, q, y, forces, wrt=[0])
        by_q = _in_tangent(by_coordinates, problem, q, velocity)
    torques: list[Matrix] = []
    of_forces: list[Matrix] = []
    matrix = inverse.inverse()
    for of_needed, of_geometry in zip(by_inputs, (by_q, zero, zero), strict=True):
        changes = [
            _inverse_column(
                ([row[k] for row in of_needed], [row[k] for row in of_geometry]),
                (A, matrix, jacobian_rows),
                (actuated, unactuated),
            )
            for k in range(nv)
        ]
        of_torques, of_these = zip(*changes, strict=True)
        torques.append(_transposed(of_torques))
        of_forces.append(_transposed(of_these))
    return (*torques, *of_forces)  # pyright: ignore[reportReturnType]


def _inverse_column(
    changes: tuple[Scalars, Scalars],
    system: tuple[list[SparseRow], Matrix, list[SparseRow]],
    coordinates: tuple[Sequence[int], Sequence[int]],
) -> tuple[list[Scalar], list[Scalar]]:
    """Changes of torques and forces, from those of the needed forces and of the geometry."""
    (needed, geometry), (A, matrix, rows), (actuated, unactuated) = changes, system, coordinates
    n, m = len(unactuated), len(rows)
    right = [needed[k] - geometry[i] for i, k in enumerate(unactuated)]
    dy = [inner(row, right) for row in matrix]
    through = dense(transposed_product(A, dy), m)
    forces = [x + geometry[n + i] for i, x in enumerate(through)]
    provided = dense(transposed_product(rows, forces), len(needed))
    torques = [needed[k] - geometry[n + m + k] - provided[k] for k in actuated]
    return torques, forces


def _constraint_derivatives(
    problem: Problem,
    state: tuple[Scalars, Scalars, Scalars],
    forces: Scalars,
    velocity: Representation,
) -> tuple[Matrix, Matrix, Matrix]:
    """(m, nv) derivatives of C w.r.t. q and nu, and (nv, nv) of J^T forces w.r.t. q."""
    gains = problem.gains
    nv = len(state[1])

    def equations(
        problem: Problem, q: Scalars, nu: Scalars, nu_dot: Scalars, forces: Scalars
    ) -> list[Scalar]:
        rows = rows_at(problem, q, nu, nu_dot, velocity=velocity)
        return [stabilized(row, gains) for row in rows] + _pull(rows, forces, nv)

    q, m = state[0], len(forces)
    by_coordinates, by_nu = _partials(equations, problem, *state, forces, wrt=[0, 1])
    by_q = _in_tangent(by_coordinates, problem, q, velocity)
    return by_q[:m], by_nu[:m], by_q[m:]


def _pull(rows: Sequence[Row], forces: Scalars, nv: int) -> list[Scalar]:
    """(nv,) J^T forces."""
    return dense(transposed_product([row.jacobian for row in rows], forces), nv)


def _partials(
    function: Callable[..., Sequence[Scalar]],
    problem: Problem,
    *arguments: Scalars,
    wrt: Sequence[int],
) -> list[Matrix]:
    """Return derivatives of `function(problem, *arguments)` with respect to some arguments.

    Parameters of the robot are expressions of the caller; they become one more argument.
    """
    parameters: dict[int, Expr] = {}
    skeleton = problem.skeleton
    _mapped(skeleton.bodies, lambda x: parameters.setdefault(id(x), x))
    _mapped(skeleton.frames, lambda x: parameters.setdefault(id(x), x))

    def of_scalars(*vectors: Scalars) -> Sequence[Scalar]:
        *others, values = vectors
        by_id = dict(zip(parameters, values, strict=False))
        robot = problem
        if parameters:
            bodies = _mapped(skeleton.bodies, lambda x: by_id[id(x)])
            frames = _mapped(skeleton.frames, lambda x: by_id[id(x)])
            robot = problem.with_skeleton(replace(skeleton, bodies=bodies, frames=frames))
        return function(robot, *others)

    last = list(parameters.values()) or [0.0]
    return derivatives(of_scalars, *arguments, last, wrt=wrt)


def _mapped(value: Any, new: Callable[[Expr], Any]) -> Any:
    """Return nested tuples and dataclasses with every expression replaced."""
    if isinstance(value, Expr):
        return new(value)
    if isinstance(value, tuple):
        parts = [_mapped(part, new) for part in cast("tuple[Any, ...]", value)]
        return tuple(parts) if type(value) is tuple else type(value)(*parts)  # such as a Vec
    if isinstance(value, (Body, Mount, Axis)):
        return replace(
            value, **{one.name: _mapped(getattr(value, one.name), new) for one in fields(value)}
        )
    return value


def _in_tangent(rows: Matrix, problem: Problem, q: Scalars, velocity: Representation) -> Matrix:
    """Return derivatives in the tangent space of `integrate`, from derivatives w.r.t. q."""
    E = velocity_kinematics(problem.skeleton, q, velocity=velocity)
    columns = [
        [(i, row[k]) for i, row in enumerate(E) if not is_zero(row[k])]
        for k in range(problem.layout.nv)
    ]
    return [[total(*(row[i] * x for i, x in column)) for column in columns] for row in rows]


def _difference(a: Matrix, b: Matrix) -> Matrix:
    return [[x - y for x, y in zip(*pair, strict=True)] for pair in zip(a, b, strict=True)]


class _Solver:
    """Changes of accelerations and forces, from changes of the equations.

    With M^-1 = W D^-1 W^T, X = J W and u = W^T dF, changes dF alone cause

        df = G^+ X D^-1 u
        da = -W B u             B = D^-1 - D^-1 X^T G^+ X D^-1

    B differs from D^-1 only in the columns that constraints act on, the *constrained* ones. With
    a column they include those of all joints that carry it. dC alone causes  df = -G^+ dC  and
    da = -(G^+ J M^-1)^T dC.
    """

    def __init__(self, system: System) -> None:
        self._system = system
        factor = self._factor = system.factor
        rows = self._rows = [row | {k: 1.0} for k, row in enumerate(factor.W)]
        self._constrained = {c for row in system.X for c in row}
        free = set(range(len(rows))) - self._constrained
        self._shared = self._constrained & {c for i in free for c in rows[i]}
        self.pseudo_inverse = system.pseudo_inverse()
        self._inverse = self.pseudo_inverse.inverse()
        self._forces_by_u = [transposed_product(system.scaled, row) for row in self._inverse]
        B = self._inner_inverse()
        self._accelerations_by_u = [
            transposed_product([B[c] for c in row], list(row.values())) for row in rows
        ]
        self._forces_by_F = [
            {i: sparse_dot(force, row) for i, row in enumerate(rows)} for force in self._forces_by_u
        ]

    def _inner_inverse(self) -> list[SparseRow]:
        """The rows of B, which is symmetric; each pair of entries once."""
        B: list[SparseRow] = [{k: pivot} for k, pivot in enumerate(self._factor.inverse_pivots)]
        columns = columns_of(self._system.scaled, range(len(B)))
        forces = columns_of(self._forces_by_u, range(len(B)))
        for i in sorted(self._constrained):
            for j in sorted(self._constrained):
                if j <= i:
                    entry = B[i].get(j, 0.0) - sparse_dot(columns[i], forces[j])
                    B[i][j] = B[j][i] = entry
        return B

    @cached_property
    def _accelerations_by_F(self) -> list[SparseRow]:
        """W B W^T, by columns of W; symmetric, each pair once."""
        accelerations: list[SparseRow] = [{} for _ in self._rows]
        for i, row in enumerate(self._rows):
            for j, other in enumerate(self._rows[: i + 1]):
                by_i, by_j = self._accelerations_by_u[i], self._accelerations_by_u[j]
                pairs = (other, by_i), (row, by_j)  # equal; the one with fewer products
                entry = sparse_dot(*min(pairs, key=lambda pair: len(pair[0].keys() & pair[1])))
                accelerations[i][j] = accelerations[j][i] = entry
        return accelerations

    def columns(self, F: Matrix, C: Matrix) -> tuple[Matrix, Matrix]:
        """(nv, n) da and (m, n) df, from dF (nv, n) and dC (m, n)."""
        changes = [
            self._column([row[k] for row in F], [row[k] for row in C]) for k in range(len(F[0]))
        ]
        accelerations, forces = zip(*changes, strict=True)
        return _transposed(accelerations), _transposed(forces)

    def _column(self, F: Scalars, C: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        """Changes of accelerations and forces, in the way that needs the fewest products."""
        factor, constrained = self._factor, self._constrained
        n_C = sum(not is_zero(x) for x in C)
        n_outward = sum(map(len, self._system.X)) + sum(len(factor.W[c]) for c in constrained)
        entries = {c: F[k] for c, k in enumerate(factor.order) if not is_zero(F[k])}
        n_inward = sum(len(factor.W[c]) for c in entries)
        by_matrix = len(constrained) * (len(entries) + n_C)
        if constrained.issuperset(entries) and by_matrix <= n_inward + n_outward:
            return self._outward(entries, {}, C, self._accelerations_by_F, self._forces_by_F)
        u = {c: x for c, x in factor.inward(F).items() if not is_zero(x)}
        z = {c: -factor.inverse_pivots[c] * x for c, x in u.items()}
        if len(constrained) * (len(constrained & u.keys()) + n_C) <= n_outward:
            return self._outward(u, z, C, self._accelerations_by_u, self._forces_by_u)
        df = self._forces(u, C, self._forces_by_u)
        for c, x in self._system.response(df).items():
            z[c] = z.get(c, 0.0) + x
        return factor.outward(z), df

    def _outward(
        self,
        u: SparseRow,
        z: SparseRow,
        C: Scalars,
        accelerations: list[SparseRow],
        forces: list[SparseRow],
    ) -> tuple[list[Scalar], list[Scalar]]:
        """da and df: constrained coordinates through matrices, then the others outward.

        Args:
            u: dF, or W^T dF.
            z: W^-1 da where it is not constrained.
            C: dC.
            accelerations, forces: matrices of changes per unit of u.
        """
        W, order = self._factor.W, self._factor.order
        da: list[Scalar] = [0.0] * len(order)
        for i, k in enumerate(order):
            if i not in self._constrained:
                da[k] = z.get(i, 0.0) + sparse_dot(W[i], z)
                continue
            by_C = (force[i] * c for force, c in zip(self._forces_by_F, C, strict=True))
            da[k] = -(sparse_dot(accelerations[i], u) + total(*by_C))
            if i in self._shared:
                z[i] = da[k] - sparse_dot(W[i], z)
        return da, self._forces(u, C, forces)

    def _forces(self, u: SparseRow, C: Scalars, forces: list[SparseRow]) -> list[Scalar]:
        return [
            sparse_dot(row, u) - inner(inverse, C)
            for row, inverse in zip(forces, self._inverse, strict=True)
        ]

    def by_force(self) -> tuple[Matrix, Matrix]:
        """(nv, nv) M^-1 - M^-1 J^T G^+ J M^-1, and (m, nv) -G^+ J M^-1: with dF = -1."""
        order = self._factor.order
        column = sorted(range(len(order)), key=order.__getitem__)
        a = [[self._accelerations_by_F[i][j] for j in column] for i in column]
        f = [[-row[i] for i in column] for row in self._forces_by_F]
        return a, f


def _transposed(rows: Sequence[Sequence[Scalar]]) -> Matrix:
    return [list(column) for column in zip(*rows, strict=True)]
