"""Random robots whose constraints are redundant, nearly redundant or contradictory, and an oracle.

The oracle is dense: singular values of J M^-1/2 decide which equations count. A case whose singular
values are neither clearly rounding errors nor clearly real has no expected result.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import linkwork as lw
from linkwork.algorithms.constraints import dynamics
from linkwork.algorithms.constraints.pseudo_inverse import (
    INDEPENDENT,
    REDUNDANT,
    REDUNDANT_LARGE,
    ROUNDED,
)
from linkwork.algorithms.constraints.sizes import regularization_of
from linkwork.algorithms.dynamics.crba import mass_matrix
from linkwork.algorithms.dynamics.rnea import inverse_dynamics
from linkwork.spatial.blocks import as_vec

GRAVITY = (0.0, 0.0, -9.80665)
N_STATES = 3
# Errors of accelerations, relative to their size: usual ones, and those where an equation that is a
# rounding error has a target, which nothing can satisfy.
ERROR, ERROR_OF_IMPOSSIBLE = 1e-8, 3e-6
# Norms of rows of J M^-1/2 relative to those that they have if all entries have the size of the
# robot, and singular values of the rows that count, with norm 1. Either result is right between.
BETWEEN = {
    INDEPENDENT: ((3e-9, 1e-6), (3e-9, 2e-6)),
    REDUNDANT: ((3e-9, 1e-6), (3e-9, 2e-6)),
    REDUNDANT_LARGE: ((3e-9, 1e-6), (1e-7, 2e-5)),
    ROUNDED: ((3e-9, 3e-3), (1e-8, 1e-3)),
}


@dataclass(frozen=True)
class Case:
    """A robot with constraints, and states."""

    robot: lw.ConstrainedKinDyn
    length: float  # the size of its links
    q: np.ndarray
    nu: np.ndarray
    tau: np.ndarray


def rounded(rng, angle):
    """A number written with some digits."""
    return round(angle, int(rng.integers(4, 17)))


def random_offset(rng):
    """A distance that may be a rounding error, or not."""
    return 10.0 ** rng.uniform(-17, -3) if rng.random() < 0.7 else 0.0


def random_case(seed):
    """A robot of a few links, with constraints most of which are redundant in some way."""
    rng = np.random.default_rng(seed)
    length = 10.0 ** rng.uniform(-3, 3)
    n = int(rng.integers(2, 6))
    masses = 10.0 ** rng.uniform(-3, 3, size=n) if rng.random() < 0.5 else np.ones(n)
    b = lw.ModelBuilder(f"redundant{seed}")
    is_planar = rng.random() < 0.4
    for k in range(n):
        com = tuple(0.3 * length * rng.normal(size=3))
        sizes = tuple(length * rng.uniform(0.3, 1.0, size=3))
        b.add_link(f"l{k}", inertia=lw.solid_box(float(masses[k]), sizes, com=com))
    for k in range(1, n):
        kinds = ["revolute"] if is_planar else ["revolute", "revolute", "prismatic", "spherical"]
        rpy = (rounded(rng, np.pi / 2), 0.0, 0.0) if rng.random() < 0.5 else (0.0, 0.0, 0.0)
        axis = (0.0, 1.0, 0.0) if rpy[0] == 0.0 else (0.0, 0.0, -1.0)
        if not is_planar:
            axis = tuple(rng.normal(size=3)) if rng.random() < 0.5 else axis
        parent = f"l{int(rng.integers(max(0, k - 2), k))}"
        mount = lw.Pose(tuple(length * rng.uniform(-1, 1, size=3)), rpy=rpy)
        back = lw.Pose(rpy=(-rpy[0], 0.0, 0.0)) if is_planar else lw.Pose()
        b.add_joint(
            f"j{k}", str(rng.choice(kinds)), parent, f"l{k}", axis=axis,
            first_H_joint=mount, joint_H_second=back,
        )  # fmt: skip
    model = b.build()
    floating = bool(rng.random() < 0.3)
    kd = lw.KinDyn(model, "l0", floating=floating, gravity=GRAVITY)
    q = kd.random(N_STATES, seed=seed)
    model, contacts = _constraints(rng, model, kd, length, q[0])
    stabilization = float(rng.choice([0.0, 3.0]))
    robot = lw.KinDyn(model, "l0", floating=floating, gravity=GRAVITY)
    nu, tau = rng.normal(size=(2, N_STATES, kd.nv))
    if rng.random() < 0.5:
        nu = 1e-3 * nu
    tau = tau * length * masses.mean() * length
    return Case(robot.constrained(contacts, stabilization=stabilization), length, q, nu, tau)


def _constraints(rng, model, kd, length, q):
    """The model with frames and constraints, and contacts."""
    n, contacts = len(model.links), []
    for k in range(int(rng.integers(1, 4))):
        link = f"l{int(rng.integers(1, n))}"
        joint = next(one for one in model.joints if one.second == link)
        kind = str(rng.choice(["point", "point", "pose"]))
        off = length * random_offset(rng) * rng.normal(size=3)
        along = length * rng.uniform(-1, 1) * np.array(joint.axis)
        on_axis = joint.joint_H_second.matrix()[:3, :3].T @ along
        place = on_axis if rng.random() < 0.5 else length * rng.uniform(-1, 1, size=3)
        choice = rng.integers(4)
        if choice <= 1:  # a contact, and perhaps almost the same once more
            name = f"c{k}"
            model = model.with_frame(name, link, lw.Pose(tuple(place + off)))
            target = lw.Pose(tuple(rng.normal(size=3))) if rng.random() < 0.3 else None
            contacts.append(lw.Contact(name, kind, target=target))
            if rng.random() < 0.6:
                turned = (0.0, 0.0, rounded(rng, np.pi / 2))
                model = model.with_frame(f"{name}x", link, lw.Pose(tuple(place - off), rpy=turned))
                contacts.append(lw.Contact(f"{name}x", str(rng.choice(["point", "pose"]))))
        elif choice == 2:  # a loop that is closed in one configuration
            other = f"l{int(rng.integers(0, n))}"
            if other == link:
                continue
            pose = np.linalg.inv(kd.transform(link, q)) @ kd.transform(other, q)
            ends = link, other
            model = model.with_constraint(
                kind, *ends, name=f"loop{k}", first_xyz=tuple(pose[:3, 3] + off)
            )
            if rng.random() < 0.5:
                model = model.with_constraint(
                    "point", *ends, name=f"again{k}", first_xyz=tuple(pose[:3, 3] - off)
                )
        else:  # frames that are rigidly connected
            model = model.with_frame(f"r{k}", link, lw.Pose(tuple(off)))
            model = model.with_constraint(kind, link, f"r{k}", name=f"rigid{k}")
    if not contacts and not model.constraints:
        model = model.with_frame("c", "l1")
        contacts.append(lw.Contact("c", "point"))
    return model, contacts


def _columns(array):
    return [np.ascontiguousarray(array[:, k]) for k in range(array.shape[1])]


def _rows(values, n):
    """(n, ...) from nested lists of numbers and columns."""
    if isinstance(values, (list, tuple)):
        if not values:
            return np.zeros((n, 0))
        return np.stack([_rows(one, n) for one in values], axis=1)
    return np.broadcast_to(np.asarray(values, dtype=float), (n,))


@dataclass(frozen=True)
class Outcome:
    """Errors of the states of a case, and whether each has one expected result."""

    is_finite: bool
    residual_error: float  # of the reported residual, relative to its terms
    errors: list[float]  # of nu_dot in the norm of the kinetic energy; NaN without an expectation
    allowed: list[float]
    largest: float  # of nu_dot in this norm, relative to the part that does not contradict


def outcome(case):
    """Compare the forward dynamics of a case with the oracle."""
    robot, n = case.robot, len(case.q)
    problem = robot.problem
    skeleton = problem.skeleton
    q, nu, tau = map(_columns, (case.q, case.nu, case.tau))
    result = dynamics.forward_dynamics(
        problem, q, nu, tau, gravity=as_vec(GRAVITY), velocity="mixed"
    )
    nu_dot, _, residual = (_rows(part, n) for part in result)
    M = _rows(mass_matrix(skeleton, q, velocity="mixed"), n)
    h = _rows(inverse_dynamics(skeleton, q, nu, velocity="mixed", gravity=as_vec(GRAVITY)), n)
    rows = dynamics.rows_at(problem, q, nu, velocity="mixed")
    J = _rows([[row.jacobian.get(k, 0.0) for k in range(robot.nv)] for row in rows], n)
    target = -_rows([dynamics.stabilized(row, robot.stabilization) for row in rows], n)
    regularization = regularization_of(problem)
    system = dynamics.system_of(problem, q, rows, velocity="mixed", joint_dynamics={})
    weights = np.sqrt(_rows(system.pseudo_inverse().U, n) / regularization.mu)
    full = _entry_sizes(case) * np.array(
        [[c in row.jacobian for c in range(robot.nv)] for row in rows]
    )
    errors, allowed, honest, largest = [], [], 0.0, 0.0
    for k in range(n):
        missed = J[k] @ nu_dot[k] - target[k]
        terms = np.abs(J[k]) @ np.abs(nu_dot[k]) + np.abs(target[k])
        scale = np.maximum(terms, np.abs(tau_scale(J[k], M[k], case.tau[k] - h[k])))
        honest = max(honest, float((np.abs(missed - residual[k]) / (scale + 1e-300)).max()))
        equations = J[k], M[k], case.tau[k] - h[k], target[k], weights[k]
        sizes = sizes_of(J[k], M[k], full)
        expected, smallest, size = solved(equations, sizes, BETWEEN[regularization])
        C = np.linalg.cholesky(M[k])
        largest = max(largest, np.linalg.norm(C.T @ nu_dot[k]) / size)
        if expected is None:
            errors.append(np.nan)
            allowed.append(np.inf)
            continue
        norm = np.linalg.norm(C.T @ expected) + size
        errors.append(float(np.linalg.norm(C.T @ (nu_dot[k] - expected)) / norm))
        t = regularization.mu / smallest**2
        is_possible = not np.any(target[k][sizes < BETWEEN[regularization][0][0]])
        error = ERROR if is_possible else ERROR_OF_IMPOSSIBLE
        error += 1e-16 * np.linalg.cond(M[k])
        allowed.append(error + 1e-13 / smallest**2 + 1e-15 / smallest**3 + 70.0 * t**3)
    return Outcome(bool(np.isfinite(nu_dot).all()), honest, errors, allowed, largest)


def sizes_of(J, M, full):
    """(m,) norms of rows of J M^-1/2, relative to those of rows with entries of full size.

    The latter count each coordinate with its mobility while those before it are locked.
    """
    mobilities = np.array([np.linalg.inv(M[k:, k:])[0, 0] for k in range(len(M))])
    norms = np.sqrt(np.maximum(np.einsum("mi,ij,mj->m", J, np.linalg.inv(M), J), 0.0))
    return norms / np.sqrt(np.square(full) @ mobilities + 1e-300)


def tau_scale(J, M, driving):
    """Constraint accelerations of the free robot."""
    return np.abs(J) @ np.abs(np.linalg.solve(M, driving))


def solved(equations, sizes, between):
    """nu_dot of the equations that count, the smallest singular value, the size of a solution.

    The weights decide how equations that contradict each other are compromised; they do not decide
    which equations count.
    """
    (J, M, driving, target, weights), (row_band, band) = equations, between
    C = np.linalg.cholesky(M)
    y0 = np.linalg.solve(C, driving)
    X = np.linalg.solve(C, J.T).T
    keep = sizes >= row_band[0]
    norms = np.linalg.norm(X, axis=1)
    size = np.linalg.norm(y0) + (np.abs(target[keep]) / norms[keep]).max(initial=0.0)
    s = np.linalg.svd(X[keep] / norms[keep, None], compute_uv=False)
    is_between = ((sizes >= row_band[0]) & (sizes <= row_band[1])).any()
    if is_between or ((s > band[0]) & (s < band[1])).any():
        return None, 1.0, size + 1e-300
    rank = int((s >= band[1]).sum())
    U, s_weighted, V = np.linalg.svd(X[keep] / weights[keep, None], full_matrices=False)
    U, V = U[:, :rank], V[:rank]
    y = y0 - V.T @ (V @ y0) + V.T @ ((U.T @ (target[keep] / weights[keep])) / s_weighted[:rank])
    return np.linalg.solve(C.T, y), s[:rank].min(initial=1.0), size + 1e-300


def _entry_sizes(case):
    """(m, nv) sizes of entries of the Jacobian that are no rounding errors."""
    layout = case.robot.layout
    angular = np.zeros(layout.nv, dtype=bool)
    angular[3 : 6 if layout.floating else 3] = True
    for name, span in layout.nu.items():
        angular[span] = layout.model.joint(name).kind != "prismatic"
    rows = []
    for group in case.robot.problem.equations:
        linear = np.where(angular, case.length, 1.0)
        rows += [linear] * group.n_linear
        rows += [np.where(angular, 1.0, 1.0 / case.length)] * (group.size - group.n_linear)
    return np.array(rows)
