"""The center of mass (CoM) of a robot: where it is and how it moves, in the axes of the world.

A robot without mass has none: all functions but `total_mass` then raise a ModelError.
"""

from __future__ import annotations

from linkwork.algorithms.dynamics.rnea import forces_of_motion, robot_motion, summed_inward
from linkwork.algorithms.kinematics.frames import Matrix, Scalars, joint_poses
from linkwork.errors import model_error
from linkwork.mechanics.base import Representation, base_of
from linkwork.mechanics.joints import JointPose
from linkwork.mechanics.skeleton import Mount, Skeleton
from linkwork.spatial.blocks import (
    IDENTITY,
    ZERO,
    Mat,
    Scalar,
    Twist,
    Vec,
    add,
    apply,
    cross,
    is_zero,
    matmul,
    scale,
    twist_rotate,
)


def total_mass(skeleton: Skeleton) -> float:
    """Mass of the robot [kg]."""
    return sum(body.inertia.mass for body in skeleton.bodies)


def com(skeleton: Skeleton, q: Scalars) -> list[Scalar]:
    """(3,) position of the CoM in the world."""
    base = base_of(skeleton.layout, q, "mixed")
    c = Moments(skeleton, joint_poses(skeleton, q), per_mass(skeleton)).first[0]
    return [*add(base.o, apply(base.R, c))]


def com_velocity(
    skeleton: Skeleton, q: Scalars, nu: Scalars, *, velocity: Representation
) -> list[Scalar]:
    """(3,) velocity of the CoM in the axes of the world."""
    base = base_of(skeleton.layout, q, velocity)
    joints = joint_poses(skeleton, q)
    moments = Moments(skeleton, joints, per_mass(skeleton))
    c, c_dot = moments.first[0], moments.rate(joints, nu)  # as seen from the base
    v, w = base.own_part(nu)
    if velocity == "body":
        return [*apply(base.R, add(add(v, c_dot), cross(w, c)))]
    arm = apply(base.R, c)
    if velocity == "inertial":
        arm = add(base.o, arm)
    return [*add(add(v, cross(w, arm)), apply(base.R, c_dot))]


def com_jacobian(skeleton: Skeleton, q: Scalars, *, velocity: Representation) -> Matrix:
    """(3, nv) J with com_velocity = J nu. What is zero at any configuration is the float 0.0."""
    base = base_of(skeleton.layout, q, velocity)
    joints = joint_poses(skeleton, q)
    moments = Moments(skeleton, joints, per_mass(skeleton))
    by_index: dict[int, Vec] = {}
    if skeleton.layout.floating:
        by_index = dict(enumerate(_columns_of_base(base.R, base.o, moments.first[0], velocity)))
    rotations = body_rotations(skeleton, joints, base.R)
    for number, pose in joints.items():
        body = skeleton.bodies[number]
        first, columns, R = moments.first[number], pose.columns, rotations[number]
        if is_leaf(skeleton, number):  # in the axes of the parent, in which moments are constant
            first = apply(pose.R, first)
            columns = [twist_rotate(pose.R, column) for column in pose.columns]
            R = rotations[body.parent]
        for k, (v, w) in zip(body.nu_indices, columns, strict=True):
            # S adds m v + w x h to the linear momentum
            column = apply(R, add(scale(moments.mass[number], v), cross(w, first)))
            by_index[k] = add(by_index.get(k, ZERO), column)
    in_order = [by_index.get(k, ZERO) for k in range(skeleton.layout.nv)]
    return [[column[row] for column in in_order] for row in range(3)]


def com_acceleration(
    skeleton: Skeleton,
    q: Scalars,
    nu: Scalars,
    nu_dot: Scalars | None = None,
    *,
    velocity: Representation,
) -> list[Scalar]:
    """(3,) acceleration of the CoM in the axes of the world; at nu_dot = 0 for None."""
    base = base_of(skeleton.layout, q, velocity)
    force, _ = momentum_rate(skeleton, q, nu, nu_dot, velocity)
    return [*apply(base.R, scale(per_mass(skeleton), force))]


def per_mass(skeleton: Skeleton) -> float:
    """One over the mass of the robot.

    Raises:
        ModelError: the robot has no mass.
    """
    mass = total_mass(skeleton)
    if is_zero(mass):
        raise model_error("has no mass, and so no center of mass", "the robot")
    return 1.0 / mass


class Moments:
    """Masses and first moments of each body with all it carries, times a factor.

    The part of a first moment that the joint cannot rotate is lumped into the parent instead. It
    adds nothing to S nu, and sums of constants stay constants there.
    """

    def __init__(self, skeleton: Skeleton, joints: dict[int, JointPose], factor: float) -> None:
        self._skeleton = skeleton
        self.mass = {k: factor * body.inertia.mass for k, body in enumerate(skeleton.bodies)}
        self.first = {
            k: scale(factor, body.inertia.first_moment) for k, body in enumerate(skeleton.bodies)
        }
        for number in reversed(joints):  # constants are added to constants first
            body, pose = skeleton.bodies[number], joints[number]
            unrotated, rotated = _split(pose.mount, self.first[number])
            passed = add(apply(pose.R, unrotated), scale(self.mass[number], pose.p))
            self.first[number] = rotated
            self.first[body.parent] = add(self.first[body.parent], passed)
            self.mass[body.parent] += self.mass[number]
        self.first = dict(summed_inward(skeleton, joints, self.first, add, _vector_inward))

    def rate(self, joints: dict[int, JointPose], nu: Scalars) -> Vec:
        """Derivative of the first moment of the robot, as seen from the base."""
        rates = {0: ZERO}
        for number, pose in joints.items():
            v_J, w_J = pose.velocity(nu)
            # m v_J + w_J x h
            rates[number] = add(scale(self.mass[number], v_J), cross(w_J, self.first[number]))
        return dict(summed_inward(self._skeleton, joints, rates, add, _vector_inward))[0]


def momentum_rate(
    skeleton: Skeleton,
    q: Scalars,
    nu: Scalars,
    nu_dot: Scalars | None,
    velocity: Representation,
) -> Twist:
    """Rate of the robot's momentum: a force and a moment about the base's origin, in its axes."""
    base = base_of(skeleton.layout, q, velocity)
    joints = joint_poses(skeleton, q)
    moving = robot_motion(skeleton, base, joints, nu, nu_dot, gravity=ZERO)
    forces = forces_of_motion(skeleton, base, joints, moving, {})
    return forces.base_force, forces.base_moment


def body_rotations(skeleton: Skeleton, joints: dict[int, JointPose], base: Mat) -> dict[int, Mat]:
    """Rotation of every body, from the base's outward."""
    rotations = {0: base}
    for number, pose in joints.items():
        rotations[number] = matmul(rotations[skeleton.bodies[number].parent], pose.R)
    return rotations


def is_leaf(skeleton: Skeleton, number: int) -> bool:
    """Whether a body carries no other."""
    return all(body.parent != number for body in skeleton.bodies)


def _split(mount: Mount, first: Vec) -> tuple[Vec, Vec]:
    """A first moment in two: what the rotation of a joint leaves as it is, and what it changes."""
    if mount.kind.rotation == "none":
        return first, ZERO
    if mount.kind.rotation == "free":
        return ZERO, first
    along = [x if k == mount.axis_index else 0.0 for k, x in enumerate(first)]
    across = [0.0 if k == mount.axis_index else x for k, x in enumerate(first)]
    return (along[0], along[1], along[2]), (across[0], across[1], across[2])


def _columns_of_base(R: Mat, o: Vec, c: Vec, velocity: Representation) -> list[Vec]:
    """Columns of the base in the Jacobian of the CoM, which is at c in the base."""
    if velocity == "body":
        return [apply(R, axis) for axis in IDENTITY] + [
            apply(R, cross(axis, c)) for axis in IDENTITY
        ]
    arm = apply(R, c)
    if velocity == "inertial":
        arm = add(o, arm)
    return [*IDENTITY, *(cross(axis, arm) for axis in IDENTITY)]


def _vector_inward(pose: JointPose, vector: Vec) -> Vec:
    """A vector of a body in the axes of its parent."""
    return apply(pose.R, vector)
