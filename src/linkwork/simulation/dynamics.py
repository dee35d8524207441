"""One step of a simulation: contacts, accelerations, and the state after the step.

All functions take the `problem`, which has the robot and the scene, and scalars.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from linkwork.algorithms.dynamics.crba import mass_matrix
from linkwork.algorithms.dynamics.rnea import inverse_dynamics
from linkwork.algorithms.kinematics.manifold import integrate
from linkwork.engine.symbolic.entries import FUNCTIONS, is_zero, select
from linkwork.engine.symbolic.implicit import implicit_entry
from linkwork.engine.symbolic.linalg import solve
from linkwork.mechanics.joint_dynamics import JointDynamics
from linkwork.model.layout import BASE_NV
from linkwork.simulation.constraints.equalities import EqualityRow, equality_rows
from linkwork.simulation.constraints.rows import ContactRow, EllipticRow, JointRow, PyramidRow
from linkwork.simulation.constraints.softness import (
    friction_gains,
    gains,
    impedance,
    inverse_regularization,
)
from linkwork.simulation.constraints.solver import (
    ContactProblem,
    differentiable,
    inner_sparse,
    solved,
)
from linkwork.simulation.contacts import Touch, touches
from linkwork.simulation.forces import (
    actuation,
    gravity_compensation,
    joint_forces,
    passive_forces,
    span_of,
)
from linkwork.simulation.moment import Moment, SimulationProblem
from linkwork.simulation.scene import JointLimit
from linkwork.simulation.sensors import links_of_sensors, sensor_values
from linkwork.simulation.world import State, World, world_of
from linkwork.spatial.blocks import ZERO, Force, Motion, Scalar, Vec, as_vec, total

LEAST_FRICTION = 1e-5  # mjMINMU


def moment_of(problem: SimulationProblem, state: State) -> Moment:
    """Return contacts, forces and accelerations at a state."""
    scene, layout, skeleton = problem.scene, problem.layout, problem.skeleton
    q, nu = state.q, state.nu
    gravity = problem.gravity
    world = world_of(skeleton, q, _bodies(problem))
    armature = armature_of(problem)
    actuators = actuation(layout, scene, state)
    passive = passive_forces(layout, scene.joints, state)
    held = gravity_compensation(world, scene, gravity)
    forces, slopes = joint_forces(layout, scene.joints, actuators, passive, held)
    actuators = replace(actuators, gains=slopes)
    bias = inverse_dynamics(skeleton, q, nu, None, gravity=gravity, velocity="mixed")
    tau = [a - b for a, b in zip(forces, bias, strict=True)]
    M = mass_matrix(skeleton, q, velocity="mixed", joint_dynamics=armature)
    touching = tuple(
        touch for pair in scene.contacts for touch in touches(world, pair, problem.ground)
    )
    motions = world.motions(nu) if touching else {}
    contacts = tuple(contact_row(problem, touch, motions[touch.body]) for touch in touching)
    equalities = tuple(equality_rows(world, scene, state, problem.weights))
    soft_M, soft_tau = _with_equalities(M, tau, equalities)
    joints = tuple(joint_rows(problem, q, nu))
    precision = 2.0 ** (-23 if problem.single else -52)
    rows = contacts, joints
    contact_problem = ContactProblem(world, soft_M, soft_tau, *rows, problem.settings, precision)
    solution = solved(contact_problem, state.acceleration)
    a = solution.a

    # the gradient of the cost at the solution, which carries its derivatives
    constant = [implicit_entry(x, 0.0) for x in a]
    moved = inverse_dynamics(
        skeleton, q, nu, constant, gravity=gravity, velocity="mixed", joint_dynamics=armature
    )
    pushed = contact_problem.forces(contact_problem.residuals(constant))
    for row in equalities:
        force = row.force(constant)
        for k, coefficient in row.J.items():
            pushed[k] = pushed[k] + coefficient * force
    foreseen = _foreseen(problem, world, touching, motions)
    coming = [foreseen.get(k, 0.0) for k in range(layout.nv)]
    acting = zip(moved, forces, pushed, coming, strict=True)
    gradient = [m - f - p - c for m, f, p, c in acting]
    a = differentiable(contact_problem, a, gradient)
    return Moment(
        problem,
        state,
        world,
        touching,
        contacts,
        actuators,
        armature,
        M,
        a,
        solution.residual,
        pushed,
    )


def step(problem: SimulationProblem, *entries: Sequence[Scalar]) -> tuple[list[Scalar], ...]:
    """Return q, nu, activation and acceleration after a step."""
    now = moment_of(problem, State(*entries))
    q, nu = now.state.q, now.state.nu
    h = problem.scene.options.timestep
    a = _integrated(now)
    next_nu = [v + h * x for v, x in zip(nu, a, strict=True)]
    next_q = integrate(problem.skeleton, q, next_nu, [h], velocity="mixed")
    return next_q, next_nu, now.actuators.next_activation, list(now.nu_dot)


def forward(problem: SimulationProblem, *entries: Sequence[Scalar]) -> tuple[Any, ...]:
    """Return what `Forward` has, in its order."""
    now = moment_of(problem, State(*entries))
    distances = [touch.distance for touch in now.touches]
    active = [select(one.distance < one.pair.margin, 1.0, 0.0) for one in now.touches]
    frames = [_pose(touch, now.world.base.o) for touch in now.touches]
    acting = now.nu_dot, now.contact_forces, distances, active, now.residual, sensor_values(now)
    return *acting, frames


def _pose(touch: Touch, origin: Vec) -> list[list[Scalar]]:
    """Return the pose of a contact frame in the world; the x axis is the normal."""
    point = origin + touch.point
    return [[*(row[k] for row in touch.frame), point[k]] for k in range(3)] + [[0, 0, 0, 1]]


def contact_row(problem: SimulationProblem, touch: Touch, motion: Motion) -> ContactRow:
    """Return the rows of a contact slot.

    Args:
        problem: the robot and the scene.
        touch: the slot.
        motion: velocity of the body at the base's origin.
    """
    pair, options = touch.pair, problem.scene.options
    moving, _ = problem.weights.links[pair.link]
    position = touch.distance - pair.margin
    is_active = touch.distance < pair.margin
    d = impedance(pair.softness, position)
    friction = [_at_least(x, LEAST_FRICTION) for x in pair.friction[: pair.condim - 1]]
    lines = [touch.sign * axis for axis in touch.frame]
    axes = tuple(lines[: max(0, pair.condim - 3)])
    lines = tuple(lines[: min(pair.condim, 3)])
    own = gains(pair.softness.solref, pair.softness, options)
    is_elliptic = options.cone == "elliptic" and pair.condim > 1
    sliding = friction_gains(pair.solref_friction, pair.softness, options) if is_elliptic else own
    v, w = motion.at(touch.point)
    velocity = [*(v.dot(line) for line in lines), *(w.dot(axis) for axis in axes)]
    reference = [-(own.b * velocity[0]) - own.k * (d * position)]
    reference += [-(sliding.b * v) for v in velocity[1:]]
    arguments = touch.body, touch.point, lines, axes, tuple(reference)
    if pair.condim == 1:
        D = select(is_active, inverse_regularization(d, moving), 0.0)
        return PyramidRow(*arguments, D, ())
    if is_elliptic:
        D = select(is_active, inverse_regularization(d, moving), 0.0)
        mu = friction[0] * (max(1e-15, options.impratio) ** -0.5)
        return EllipticRow(*arguments, D, tuple(friction), mu)
    first = friction[0] * friction[0]
    weight = moving + first * moving
    shared = (2.0 / max(1e-15, options.impratio)) * (first * weight)
    D = select(is_active, inverse_regularization(d, shared), 0.0)
    return PyramidRow(*arguments, D, tuple(friction))


def _foreseen(
    problem: SimulationProblem,
    world: World,
    touching: Sequence[Touch],
    motions: Mapping[int, Motion],
) -> dict[int, Scalar]:
    """Return forces of contacts that are about to touch, by index in nu: zeros with derivatives.

    Their derivatives are those of the normal force as if it touched, times (1 - gap / width)^2.
    """
    width, options = problem.settings.touchdown_gradient, problem.scene.options
    wrenches: dict[int, Force] = {}
    for touch in touching if width else ():
        softness, axis = touch.pair.softness, touch.sign * touch.frame[0]
        gap = touch.distance - touch.pair.margin
        near = 1.0 - gap * (1.0 / width)
        weight = select(near > 0.0, select(gap < 0.0, 0.0, near * near), 0.0)
        d, law = impedance(softness, 0.0), gains(softness.solref, softness, options)
        D = inverse_regularization(d, problem.weights.links[touch.pair.link][0])
        wrench = Force(axis, touch.point.cross(axis))
        reference = -(law.b * motions[touch.body].dot(wrench)) - (law.k * d) * gap
        push = implicit_entry(0.0, implicit_entry(weight * D, 0.0) * reference)
        own, body = push * wrench, touch.body
        wrenches[body] = wrenches[body] + own if body in wrenches else own
    return world.forces(wrenches)


def joint_rows(
    problem: SimulationProblem, q: Sequence[Scalar], nu: Sequence[Scalar]
) -> Iterator[JointRow]:
    """Yield the rows of dry friction and limits."""
    scene, layout, weights = problem.scene, problem.layout, problem.weights
    for friction in scene.frictions:
        if is_zero(friction.loss):
            continue
        own = gains(friction.softness.solref, friction.softness, scene.options)
        d = impedance(friction.softness, 0.0)
        joint_weights = weights.joints[friction.joint]
        for k, weight in zip(span_of(layout, friction.joint), joint_weights, strict=True):
            D = inverse_regularization(d, weight)
            yield JointRow({k: 1.0}, -(own.b * nu[k]), D, friction.loss)
    for limit in scene.limits:
        yield from _limit_rows(problem, limit, q, nu)


def _limit_rows(
    problem: SimulationProblem, limit: JointLimit, q: Sequence[Scalar], nu: Sequence[Scalar]
) -> Iterator[JointRow]:
    layout, options, softness = problem.layout, problem.scene.options, limit.softness
    weight = problem.weights.joints[limit.joint][0]
    own = gains(softness.solref, softness, options)
    span = span_of(layout, limit.joint)
    theta = q[layout.q[limit.joint]]

    def row(distance: Scalar, J: Mapping[int, Scalar]) -> JointRow:
        position = distance - limit.margin
        d = impedance(softness, position)
        rate = total(*(c * nu[k] for k, c in J.items()))
        D = select(distance < limit.margin, inverse_regularization(d, weight), 0.0)
        return JointRow(J, -(own.b * rate) - own.k * (d * position), D)

    if len(span) == 3:
        kind = layout.model.joint(limit.joint).motion_kind
        rotation = Vec(*kind.between((1.0, 0.0, 0.0, 0.0), theta))
        square = rotation.dot(rotation)
        is_turned = square > 1e-30
        angle = select(is_turned, FUNCTIONS["sqrt"](select(is_turned, square, 1.0)), 0.0)
        inverse = 1.0 / select(is_turned, angle, 1.0)
        axis = Vec(select(is_turned, inverse * rotation[0], 1.0), *(inverse * rotation)[1:])
        upper = max(limit.lower, limit.upper)
        yield row(upper - angle, dict(zip(span, -axis, strict=True)))
        return
    (k,), (x,) = span, theta
    has_lower, has_upper = limit.lower > -float("inf"), limit.upper < float("inf")
    if has_lower and has_upper and limit.upper - limit.lower > 2.0 * max(limit.margin, 0.0):
        # at most one of both is active: the nearer one
        is_low = x < 0.5 * (limit.lower + limit.upper)
        sign = select(is_low, 1.0, -1.0)
        yield row(select(is_low, x - limit.lower, limit.upper - x), {k: sign})
        return
    if has_lower:
        yield row(x - limit.lower, {k: 1.0})
    if has_upper:
        yield row(limit.upper - x, {k: -1.0})


def armature_of(problem: SimulationProblem) -> dict[int, JointDynamics]:
    """Return the armature of joints by index in nu."""
    return {
        k: JointDynamics(armature=one.armature)
        for one in problem.scene.joints
        if not is_zero(one.armature)
        for k in span_of(problem.layout, one.joint)
    }


def _integrated(now: Moment) -> list[Scalar]:
    """Return the acceleration x that a step integrates: A x = M nu_dot.

    A = M + h D, and M + h (D + B) for implicitfast of a single rigid body, as in MuJoCo: B is the
    derivative of its gyroscopic forces with respect to nu. The derivatives of x are those of
    M (x - nu_dot) + h (D + B) x = 0: they need neither those of the factors nor those of M, whose
    products are inverse dynamics.
    """
    problem, M = now.problem, now.M
    options, damping = problem.scene.options, _implicit_damping(now)
    is_rigid = problem.layout.floating and len(M) == BASE_NV
    spinning = is_rigid and options.integrator == "implicitfast"
    if not damping and not spinning:
        return list(now.nu_dot)
    h, nu_dot = options.timestep, now.nu_dot
    A = [[x if is_zero(x) else implicit_entry(x, 0.0) for x in row] for row in M]
    pull = [inner_sparse(row, [implicit_entry(x, 0.0) for x in nu_dot]) for row in A]
    for k, value in damping.items():
        A[k][k] = A[k][k] + h * implicit_entry(value, 0.0)
    if spinning:
        units = [[float(j == k) for j in range(BASE_NV)] for k in range(BASE_NV)]
        columns = [_gyroscopic_rate(now, unit) for unit in units]
        rates = zip(*columns, strict=True)
        A = [
            [x + h * implicit_entry(y, 0.0) for x, y in zip(row, rate, strict=True)]
            for row, rate in zip(A, rates, strict=True)
        ]

    def divided(right: list[Scalar]) -> list[Scalar]:
        """Return A^-1 b."""
        if spinning:  # A is not symmetric
            return solve(A, right).tolist()
        return ContactProblem(now.world, A, right, (), ()).solve(A, right)

    x = divided(pull)
    residual = inverse_dynamics(
        problem.skeleton,
        now.state.q,
        None,
        [one - other for one, other in zip(x, nu_dot, strict=True)],
        gravity=ZERO,
        velocity="mixed",
        joint_dynamics=now.armature,
    )
    for k, value in damping.items():
        residual[k] = residual[k] + h * (value * x[k])
    if spinning:
        rate = _gyroscopic_rate(now, x)
        residual = [one + h * more for one, more in zip(residual, rate, strict=True)]
    return [implicit_entry(one, one - step) for one, step in zip(x, divided(residual), strict=True)]


def _implicit_damping(now: Moment) -> dict[int, Scalar]:
    """Return the diagonal of D: minus derivatives of forces with respect to nu, by index in nu."""
    scene, implicit = now.problem.scene, dict[int, Scalar]()
    if scene.options.integrator == "implicitfast" or scene.options.eulerdamp:
        for one in scene.joints:
            if not is_zero(one.damping):
                for k in span_of(now.problem.layout, one.joint):
                    implicit[k] = one.damping
    if scene.options.integrator == "implicitfast":
        for k, gain in now.actuators.gains.items():
            implicit[k] = implicit.get(k, 0.0) - gain
    return implicit


def _gyroscopic_rate(now: Moment, change: Sequence[Scalar]) -> list[Scalar]:
    """Return how w x (w x m c) and w x I w of a rigid body change with nu."""
    inertia = now.problem.skeleton.bodies[0].inertia.rotated(now.world.R[0])
    h, w, dw = inertia.first_moment, as_vec(now.state.nu[3:]), as_vec(change[3:])
    force = dw.cross(w.cross(h)) + w.cross(dw.cross(h))
    return [*force, *(dw.cross(inertia.tensor @ w) + w.cross(inertia.tensor @ dw))]


def _with_equalities(
    M: list[list[Scalar]], tau: list[Scalar], rows: Sequence[EqualityRow]
) -> tuple[list[list[Scalar]], list[Scalar]]:
    """Return M + J^T D J and tau + J^T D a_ref."""
    if not rows:
        return M, tau
    M, tau = [list(row) for row in M], list(tau)
    for row in rows:
        for i, c in row.J.items():
            weighted = row.D * c
            tau[i] = tau[i] + weighted * row.reference
            for j, other in row.J.items():
                M[i][j] = M[i][j] + weighted * other
    return M, tau


def _bodies(problem: SimulationProblem) -> set[int]:
    """Return the bodies that contacts, equations, gravity compensation and sensors are on."""
    scene, frame_index = problem.scene, problem.layout.model.frame_index
    names = {pair.link for pair in scene.contacts}
    names |= {name for name, _ in scene.gravity_compensation}
    names |= links_of_sensors(scene)
    for one in scene.equalities:
        if one.kind != "joint":
            names |= {name for name in (one.first, one.second) if name is not None}
    return {problem.skeleton.frames[frame_index(name)][0] for name in sorted(names)}


def _at_least(x: Scalar, least: float) -> Scalar:
    return max(x, least) if isinstance(x, float) else select(x < least, least, x)
