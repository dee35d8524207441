"""Constrained dynamics: accelerations and constraint forces, impacts, and inverse dynamics.

    M nu_dot + h = tau + J^T forces
    J nu_dot + Jdot nu = -k_p error - k_d J nu

With M^-1 = W D^-1 W^T (`dynamics.factor`) and X = J W, the forces solve G forces = r, where

    G = X D^-1 X^T                          the Delassus matrix J M^-1 J^T
    r = b - J M^-1 (tau - h)                b the right side of the second equation less Jdot nu

G is singular where constraints are redundant; `pseudo_inverse` solves it then too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from linkwork.algorithms.constraints.equations import Row, State, constraint_rows
from linkwork.algorithms.constraints.pseudo_inverse import INDEPENDENT, REDUNDANT, PseudoInverse
from linkwork.algorithms.constraints.sizes import entry_sizes, regularization_of, row_sizes
from linkwork.algorithms.constraints.sparse import columns_of, dense, gram, transposed_product
from linkwork.algorithms.dynamics.factor import Factor, sparse_dot
from linkwork.algorithms.dynamics.inverse_mass_matrix import mass_factor
from linkwork.algorithms.dynamics.rnea import Wrenches
from linkwork.algorithms.dynamics.rnea import inverse_dynamics as tree_inverse_dynamics
from linkwork.algorithms.kinematics.frames import Matrix, Scalars
from linkwork.algorithms.kinematics.manifold import integrate
from linkwork.engine.symbolic.elimination import SparseRow
from linkwork.mechanics.base import Representation, base_of
from linkwork.mechanics.joint_dynamics import NO_JOINT_DYNAMICS, DynamicsByIndex
from linkwork.mechanics.problem import Problem
from linkwork.model.layout import BASE_NV
from linkwork.spatial.blocks import ZERO, Motion, Scalar, Vec, inner, is_zero, total


def rows_at(
    problem: Problem,
    q: Scalars,
    nu: Scalars | None = None,
    nu_dot: Scalars | None = None,
    *,
    velocity: Representation,
) -> list[Row]:
    """The constraint rows, with velocities and Jacobians in a representation.

    Without nu_dot, `bias` is Jdot nu; with it, J nu_dot + Jdot nu. None for nu stands for zero.
    """
    base = base_of(problem.layout, q, velocity)
    if not base.floating or velocity == "mixed":
        return constraint_rows(problem, State(q, nu, nu_dot))
    state = State(q)
    if nu is not None:
        V = (base.R @ base.twist(nu)).entries
        A = (base.R @ base.acceleration(nu, nu_dot, ZERO)).entries
        of_joints = [0.0] * (len(nu) - BASE_NV) if nu_dot is None else nu_dot[BASE_NV:]
        state = State(q, [*V, *nu[BASE_NV:]], [*A, *of_joints])
    columns = [base.R @ column for column in base.columns]
    rows = constraint_rows(problem, state)
    return [replace(row, jacobian=_with_base_columns(row.jacobian, columns)) for row in rows]


def _with_base_columns(row: SparseRow, columns: Sequence[Motion]) -> SparseRow:
    """A row by velocities of another representation; columns: mixed velocity per unit of each."""
    changed = {k: entry for k, entry in row.items() if k >= BASE_NV}
    for k, column in enumerate(columns):
        entry = inner((row.get(i, 0.0) for i in range(BASE_NV)), column.entries)
        if not is_zero(entry):
            changed[k] = entry
    return changed


@dataclass(frozen=True)
class System:
    """The constraint rows of a robot at a state, and the factor of its mass matrix."""

    problem: Problem
    rows: list[Row]
    factor: Factor
    X: list[SparseRow]  # J W, by columns of W
    scaled: list[SparseRow]  # X D^-1

    @property
    def delassus(self) -> Matrix:
        """(m, m) G = J M^-1 J^T."""
        return gram(self.X, self.scaled)

    def pseudo_inverse(self) -> PseudoInverse:
        """That of the Delassus matrix."""
        rows = [row.jacobian for row in self.rows]
        mobilities = dict(zip(self.factor.order, self.factor.inverse_pivots, strict=True))
        sizes = row_sizes(self.problem, rows, mobilities)
        weights = dict(enumerate(self.factor.inverse_pivots))
        regularization = regularization_of(self.problem)
        return PseudoInverse(self.delassus, sizes, regularization, self.X, weights)

    def response(self, forces: Sequence[Scalar]) -> SparseRow:
        """D^-1 X^T forces, by columns of W."""
        return transposed_product(self.scaled, forces)


def system_of(
    problem: Problem,
    q: Scalars,
    rows: list[Row],
    *,
    velocity: Representation,
    joint_dynamics: DynamicsByIndex,
) -> System:
    """The constraints and the mass matrix."""
    factor = mass_factor(problem.skeleton, q, velocity=velocity, joint_dynamics=joint_dynamics)
    X = [factor.row_product(row.jacobian) for row in rows]
    scaled = [{c: x * factor.inverse_pivots[c] for c, x in row.items()} for row in X]
    return System(problem, rows, factor, X, scaled)


class Setting(NamedTuple):
    """What acts on the robot, and in which representation the caller writes it."""

    gravity: Vec
    velocity: Representation
    wrenches: Wrenches
    joint_dynamics: DynamicsByIndex


def driven_system(
    problem: Problem, q: Scalars, nu: Scalars, tau: Scalars, setting: Setting
) -> tuple[System, list[Scalar]]:
    """The constraints and the mass matrix, and the generalized forces tau - h."""
    velocity, joint_dynamics = setting.velocity, setting.joint_dynamics
    rows = rows_at(problem, q, nu, velocity=velocity)
    system = system_of(problem, q, rows, velocity=velocity, joint_dynamics=joint_dynamics)
    bias = tree_inverse_dynamics(problem.skeleton, q, nu, **setting._asdict())
    return system, [t - h for t, h in zip(tau, bias, strict=True)]


def stabilized(row: Row, gains: tuple[float, float]) -> Scalar:
    """What a row requires to be zero: its acceleration, plus what reduces its error."""
    k_p, k_d = gains
    return total(row.bias, k_p * row.error, k_d * row.rate)


def forward_dynamics(
    problem: Problem,
    q: Scalars,
    nu: Scalars,
    tau: Scalars,
    *,
    gravity: Vec,
    velocity: Representation,
    wrenches: Wrenches | None = None,
    joint_dynamics: DynamicsByIndex = NO_JOINT_DYNAMICS,
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """nu_dot, constraint forces, and by how much the constraint accelerations miss their target."""
    setting = Setting(gravity, velocity, wrenches or {}, joint_dynamics)
    return solve_accelerations(problem, q, nu, tau, setting)[1:]


def solve_accelerations(
    problem: Problem, q: Scalars, nu: Scalars, tau: Scalars, setting: Setting
) -> tuple[System, list[Scalar], list[Scalar], list[Scalar]]:
    """The system, nu_dot, the forces, and what is missed."""
    system, driving = driven_system(problem, q, nu, tau, setting)
    inverse = system.pseudo_inverse()
    target = [-stabilized(row, problem.gains) for row in system.rows]
    nu_dot, forces, missed = _accelerations(system, inverse, driving, target)
    if problem.single:  # one step of iterative refinement: what is missing in both equations
        needed = tree_inverse_dynamics(problem.skeleton, q, nu, nu_dot, **setting._asdict())
        rows, by_index = [row.jacobian for row in system.rows], dict(enumerate(nu_dot))
        pull = dense(transposed_product(rows, forces), problem.layout.nv)
        driving = [t - n + f for t, n, f in zip(tau, needed, pull, strict=True)]
        target = [b - sparse_dot(row, by_index) for b, row in zip(target, rows, strict=True)]
        more, more_forces, missed = _accelerations(system, inverse, driving, target)
        nu_dot = [a + da for a, da in zip(nu_dot, more, strict=True)]
        forces = [f + df for f, df in zip(forces, more_forces, strict=True)]
    return system, nu_dot, forces, missed


def _accelerations(
    system: System, inverse: PseudoInverse, driving: Scalars, target: Scalars
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """a and f with  M a = driving + J^T f  and  J a = target,  and by how much J a misses it."""
    u = system.factor.inward(driving)
    free = {c: x * system.factor.inverse_pivots[c] for c, x in u.items()}
    r = [b - sparse_dot(row, free) for b, row in zip(target, system.X, strict=True)]
    forces = inverse.solve(r)
    response = system.response(forces)
    missed = [sparse_dot(row, response) - b for row, b in zip(system.X, r, strict=True)]
    z = {c: x + response.get(c, 0.0) for c, x in free.items()}
    return system.factor.outward(z), forces, missed


def impact(
    problem: Problem,
    q: Scalars,
    nu: Scalars,
    restitution: Scalars,
    *,
    velocity: Representation,
    joint_dynamics: DynamicsByIndex = NO_JOINT_DYNAMICS,
) -> tuple[list[Scalar], list[Scalar]]:
    """Velocity after an impact, J nu+ = -restitution J nu, and the impulses J^T acts with."""
    rows = rows_at(problem, q, nu, velocity=velocity)
    system = system_of(problem, q, rows, velocity=velocity, joint_dynamics=joint_dynamics)
    reversal = -1.0 - restitution[0]
    change, impulses = _jump(system, [reversal * row.rate for row in system.rows])
    return [v + dv for v, dv in zip(nu, change, strict=True)], impulses


def project_velocity(
    problem: Problem,
    q: Scalars,
    nu: Scalars,
    *,
    velocity: Representation,
    joint_dynamics: DynamicsByIndex = NO_JOINT_DYNAMICS,
) -> Scalars:
    """(nv,) the nearest velocity that satisfies J nu = 0, in the metric of the kinetic energy."""
    return impact(problem, q, nu, (0.0,), velocity=velocity, joint_dynamics=joint_dynamics)[0]


def _jump(system: System, change: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
    """The change of nu that changes J nu by `change`, and the impulses behind it."""
    impulses = system.pseudo_inverse().solve(change)
    return system.factor.outward(system.response(impulses)), impulses


def step(
    problem: Problem,
    q: Scalars,
    nu: Scalars,
    tau: Scalars,
    dt: Scalars,
    *,
    gravity: Vec,
    velocity: Representation,
    joint_dynamics: DynamicsByIndex = NO_JOINT_DYNAMICS,
) -> tuple[list[Scalar], list[Scalar]]:
    """(nq,), (nv,) the state after a semi-implicit step.

    The forces of the constraints act as impulses that make J nu+ = -error / (T + dt), with T the
    time constant of the stabilization, 1 / k_p^(1/2); without stabilization, J nu+ = 0.
    """
    setting = Setting(gravity, velocity, {}, joint_dynamics)
    system, driving = driven_system(problem, q, nu, tau, setting)
    free_acceleration = system.factor.solve(driving)
    free = [v + dt[0] * a for v, a in zip(nu, free_acceleration, strict=True)]
    by_index = dict(enumerate(free))
    k_p, _ = problem.gains
    rate = 1.0 / (k_p**-0.5 + dt[0]) if k_p else 0.0
    change = [-rate * row.error - sparse_dot(row.jacobian, by_index) for row in system.rows]
    jump, _ = _jump(system, change)
    after = [v + dv for v, dv in zip(free, jump, strict=True)]
    return integrate(problem.skeleton, q, after, dt, velocity=velocity), after


def inverse_dynamics(
    problem: Problem,
    q: Scalars,
    nu: Scalars,
    nu_dot: Scalars,
    *,
    gravity: Vec,
    velocity: Representation,
    wrenches: Wrenches | None = None,
    joint_dynamics: DynamicsByIndex = NO_JOINT_DYNAMICS,
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """Torques of the actuated coordinates, constraint forces, and what neither can provide.

    Where a coordinate has no actuator, J^T forces = M nu_dot + h. The forces are the solution of
    least norm; the actuators provide the remainder.
    """
    setting = Setting(gravity, velocity, wrenches or {}, joint_dynamics)
    needed = tree_inverse_dynamics(problem.skeleton, q, nu, nu_dot, **setting._asdict())
    rows = [row.jacobian for row in rows_at(problem, q, velocity=velocity)]
    # J^T forces = needed where there is no actuator: forces = A^T y with A A^T y = needed
    unactuated = problem.unactuated_indices
    A = columns_of(rows, unactuated)
    inverse = pseudo_inverse_of_columns(problem, A, unactuated)
    y = inverse.solve([needed[k] for k in unactuated])
    forces = dense(transposed_product(A, y), len(rows))
    provided = dense(transposed_product(rows, forces), problem.layout.nv)
    torques = [needed[k] - provided[k] for k in problem.actuated_indices]
    return torques, forces, [needed[k] - provided[k] for k in unactuated]


def pseudo_inverse_of_columns(
    problem: Problem, A: list[SparseRow], columns: Sequence[int]
) -> PseudoInverse:
    """That of A A^T, with A some columns of J, transposed."""
    sizes = columns_of(entry_sizes(problem), columns)
    c = [total(*column.values()) for column in sizes]
    regularization = regularization_of(problem)
    if regularization is INDEPENDENT:  # the columns need not be independent
        regularization = REDUNDANT
    return PseudoInverse(gram(A, A), c, regularization, A)
