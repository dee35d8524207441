"""The energy of a robot."""

from __future__ import annotations

from linkwork.algorithms.centroidal.com import Moments, total_mass
from linkwork.algorithms.dynamics.rnea import poses
from linkwork.algorithms.kinematics.frames import Numbers, velocities
from linkwork.mechanics.base import Representation, base_of
from linkwork.mechanics.joint_dynamics import NO_JOINT_DYNAMICS, DynamicsByIndex
from linkwork.mechanics.skeleton import Skeleton
from linkwork.spatial.blocks import Scalar, Vec, add, apply, dot, minus, plus, scale, times


def kinetic_energy(
    skeleton: Skeleton,
    q: Numbers,
    nu: Numbers,
    *,
    velocity: Representation,
    joint_dynamics: DynamicsByIndex = NO_JOINT_DYNAMICS,
) -> Scalar:
    """Kinetic energy [J]: half of nu M nu."""
    base = base_of(skeleton.layout, q, velocity)
    moving = velocities(skeleton, poses(skeleton, q), nu, base.twist(nu))
    twice: Scalar = 0.0
    for number, (v, w) in moving.items():
        linear, angular = skeleton.bodies[number].inertia.momentum(v, w)
        twice = plus(twice, plus(dot(v, linear), dot(w, angular)))
    for k, added in joint_dynamics.items():
        twice = plus(twice, times(added.armature, times(nu[k], nu[k])))
    return times(0.5, twice)


def potential_energy(skeleton: Skeleton, q: Numbers, *, gravity: Vec) -> Scalar:
    """Energy of the robot in the field of gravity [J]: zero with the CoM at the world's origin.

    Args:
        gravity: acceleration of free fall, in the axes of the world.
    """
    base = base_of(skeleton.layout, q, "mixed")
    h = Moments(skeleton, poses(skeleton, q), 1.0).first[0]
    first_moment = add(scale(total_mass(skeleton), base.o), apply(base.R, h))
    return minus(0.0, dot(gravity, first_moment))
