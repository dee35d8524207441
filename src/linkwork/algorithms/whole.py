"""The robot moving as one body: locked inertia, average velocity, and what momentum is made of.

Momentum is written as a wrench on the base is, and the average velocity as the velocity of the base
(see `base`). Centroidal quantities are about the CoM, in the axes of the world, or of the base for
the body representation. The average velocity is that of a rigid body with the robot's inertia and
the robot's momentum.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.algorithms.aba import solve_symmetric
from linkwork.algorithms.centroidal import (
    about_com,
    centroidal_momentum,
    centroidal_momentum_matrix,
    momentum,
    per_mass,
)
from linkwork.algorithms.crba import Composite, composites, inertias, moved
from linkwork.algorithms.dynamics import mass_matrix
from linkwork.algorithms.frames import Matrix, Numbers, Twist
from linkwork.algorithms.rnea import body_wrench, gather, motions, poses
from linkwork.mechanics.base import Representation, base_of, halves
from linkwork.mechanics.blocks import (
    IDENTITY,
    ZERO,
    Scalar,
    Vec,
    add,
    apply,
    cross,
    full,
    scale,
    sub,
    wedge,
)
from linkwork.mechanics.skeleton import Skeleton

NO_GRAVITY: Vec = (0.0, 0.0, 0.0)


def locked_inertia(skeleton: Skeleton, q: Numbers, *, velocity: Representation) -> Matrix:
    """(6, 6) inertia of the robot with its joints locked: momentum = I velocity of the base."""
    return _six_by_six(_locked(skeleton, q, velocity))


def centroidal_locked_inertia(
    skeleton: Skeleton, q: Numbers, *, velocity: Representation
) -> Matrix:
    """(6, 6) the same about the CoM."""
    return _six_by_six(_locked_at_com(skeleton, q, velocity))


def momentum_jacobian(skeleton: Skeleton, q: Numbers, *, velocity: Representation) -> Matrix:
    """(6, nv) J with momentum = J nu."""
    if skeleton.layout.floating:
        return mass_matrix(skeleton, q, velocity=velocity)[:6]
    momenta = inertias(skeleton, poses(skeleton, q)).momenta
    base = base_of(skeleton.layout, q, velocity)
    own = [momenta.get(index, (ZERO, ZERO)) for index in range(skeleton.layout.nv)]
    columns = [base.wrench_out(*column) for column in own]
    return [[column[half][row] for column in columns] for half in (0, 1) for row in range(3)]


def average_velocity(
    skeleton: Skeleton, q: Numbers, nu: Numbers, *, velocity: Representation
) -> list[Scalar]:
    """(6,) velocity of the robot as one body."""
    whole = momentum(skeleton, q, nu, velocity=velocity)
    return _solved(skeleton, _locked(skeleton, q, velocity), [whole])[0]


def average_velocity_jacobian(
    skeleton: Skeleton, q: Numbers, *, velocity: Representation
) -> Matrix:
    """(6, nv) J with average_velocity = J nu."""
    J = momentum_jacobian(skeleton, q, velocity=velocity)
    return _columns_solved(skeleton, _locked(skeleton, q, velocity), J)


def centroidal_average_velocity(
    skeleton: Skeleton, q: Numbers, nu: Numbers, *, velocity: Representation
) -> list[Scalar]:
    """(6,) velocity of the CoM, and the average angular velocity."""
    whole = centroidal_momentum(skeleton, q, nu, velocity=velocity)
    return _solved(skeleton, _locked_at_com(skeleton, q, velocity), [whole])[0]


def centroidal_average_velocity_jacobian(
    skeleton: Skeleton, q: Numbers, *, velocity: Representation
) -> Matrix:
    """(6, nv) J with centroidal_average_velocity = J nu."""
    A = centroidal_momentum_matrix(skeleton, q, velocity=velocity)
    return _columns_solved(skeleton, _locked_at_com(skeleton, q, velocity), A)


def com_acceleration(
    skeleton: Skeleton,
    q: Numbers,
    nu: Numbers,
    nu_dot: Numbers | None,
    *,
    velocity: Representation,
) -> list[Scalar]:
    """(3,) acceleration of the CoM in the axes of the world; at nu_dot = 0 for None."""
    base = base_of(skeleton.layout, q, velocity)
    force, _ = _wrench_at_base(skeleton, q, nu, nu_dot, velocity)
    return [*apply(base.R, scale(per_mass(skeleton), force))]


def centroidal_momentum_bias(
    skeleton: Skeleton, q: Numbers, nu: Numbers, *, velocity: Representation
) -> list[Scalar]:
    """(6,) rate of the centroidal momentum at nu_dot = 0: A_dot nu."""
    base = base_of(skeleton.layout, q, velocity)
    force, moment = _wrench_at_base(skeleton, q, nu, None, velocity)
    c = scale(per_mass(skeleton), composites(skeleton, poses(skeleton, q))[0].first)
    moment = sub(moment, cross(c, force))
    if velocity != "body":
        return [*apply(base.R, force), *apply(base.R, moment)]
    # seen from the base, which turns
    _, w = base.twist(nu)
    numbers = centroidal_momentum(skeleton, q, nu, velocity=velocity)
    linear, angular = halves(numbers)
    return [*sub(force, cross(w, linear)), *sub(moment, cross(w, angular))]


def _wrench_at_base(
    skeleton: Skeleton,
    q: Numbers,
    nu: Numbers,
    nu_dot: Numbers | None,
    velocity: Representation,
) -> Twist:
    """Rate of the robot's momentum: a force and a moment about the base's origin, in its axes."""
    base = base_of(skeleton.layout, q, velocity)
    joints = poses(skeleton, q)
    _, w = base.twist(nu)
    a, u = base.acceleration(nu, nu_dot, NO_GRAVITY)
    moving = motions(skeleton, joints, nu, nu_dot, (w, u, a))
    acting = {k: body_wrench(body, moving[k]) for k, body in enumerate(skeleton.bodies)}
    forces = gather(skeleton, joints, acting)
    return forces.base_force, forces.base_moment


def _locked(skeleton: Skeleton, q: Numbers, velocity: Representation) -> Composite:
    """Inertia of the locked robot, where the velocity of the base is written."""
    base = base_of(skeleton.layout, q, velocity)
    return moved(composites(skeleton, poses(skeleton, q))[0], *base.expressed_at)


def _locked_at_com(skeleton: Skeleton, q: Numbers, velocity: Representation) -> Composite:
    base = base_of(skeleton.layout, q, velocity)
    R = IDENTITY if velocity == "body" else base.R
    whole = moved(composites(skeleton, poses(skeleton, q))[0], R, ZERO)
    c = scale(per_mass(skeleton), whole.first)
    return Composite(whole.mass, ZERO, about_com(whole.tensor, whole.first, c))


def _six_by_six(whole: Composite) -> Matrix:
    m, h, tensor = whole.mass, wedge(whole.first), full(whole.tensor)
    top = [[m if i == j else 0.0 for j in range(3)] + [h[j][i] for j in range(3)] for i in range(3)]
    return top + [[*h[i], *tensor[i]] for i in range(3)]


def _solved(skeleton: Skeleton, whole: Composite, momenta: Sequence[Sequence[Scalar]]) -> Matrix:
    """Velocities of a rigid body of this inertia that has these momenta."""
    per = per_mass(skeleton)
    c = scale(per, whole.first)
    at_com = full(about_com(whole.tensor, whole.first, c))
    found: Matrix = []
    for numbers in momenta:
        linear, angular = halves(numbers)
        turning = sub(angular, cross(c, linear))
        x, y, z = solve_symmetric(at_com, turning, ["the robot as one body"] * 3)
        w: Vec = (x, y, z)
        found.append([*add(scale(per, linear), cross(c, w)), *w])
    return found


def _columns_solved(skeleton: Skeleton, whole: Composite, J: Matrix) -> Matrix:
    columns = _solved(skeleton, whole, [[row[k] for row in J] for k in range(len(J[0]))])
    return [[column[row] for column in columns] for row in range(6)]
