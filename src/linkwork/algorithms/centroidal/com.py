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
from linkwork.spatial.blocks import IDENTITY, ZERO, Force, Mat, Scalar, Vec, is_zero


def total_mass(skeleton: Skeleton) -> float:
    """Return the mass of the robot [kg]."""
    return sum(body.inertia.mass for body in skeleton.bodies)


def com(skeleton: Skeleton, q: Scalars) -> list[Scalar]:
    """(3,) position of the CoM in the world."""
    base = base_of(skeleton.layout, q, "mixed")
    c = Moments(skeleton, joint_poses(skeleton, q), per_mass(skeleton)).first[0]
    return [*base.o + base.R @ c]


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
        return [*base.R @ (v + c_dot + w.cross(c))]
    arm = base.R @ c
    if velocity == "inertial":
        arm = base.o + arm
    return [*v + w.cross(arm) + base.R @ c_dot]


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
            first = pose.R @ first
            columns = [pose.R @ column for column in pose.columns]
            R = rotations[body.parent]
        for k, (v, w) in zip(body.nu_indices, columns, strict=True):
            # S adds m v + w x h to the linear momentum
            column = R @ (moments.mass[number] * v + w.cross(first))
            by_index[k] = by_index.get(k, ZERO) + column
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
    return [*base.R @ (per_mass(skeleton) * force)]


def per_mass(skeleton: Skeleton) -> float:
    """Return one over the mass of the robot.

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
            k: factor * body.inertia.first_moment for k, body in enumerate(skeleton.bodies)
        }
        for number in reversed(joints):  # constants are added to constants first
            body, pose = skeleton.bodies[number], joints[number]
            unrotated, rotated = _split(pose.mount, self.first[number])
            passed = pose.R @ unrotated + self.mass[number] * pose.p
            self.first[number] = rotated
            self.first[body.parent] = self.first[body.parent] + passed
            self.mass[body.parent] += self.mass[number]
        self.first = dict(summed_inward(skeleton, joints, self.first, _vector_inward))

    def rate(self, joints: dict[int, JointPose], nu: Scalars) -> Vec:
        """Return the derivative of the first moment of the robot, as seen from the base."""
        rates = {0: ZERO}
        for number, pose in joints.items():
            v_J, w_J = pose.velocity(nu)
            # m v_J + w_J x h
            rates[number] = self.mass[number] * v_J + w_J.cross(self.first[number])
        return dict(summed_inward(self._skeleton, joints, rates, _vector_inward))[0]


def momentum_rate(
    skeleton: Skeleton,
    q: Scalars,
    nu: Scalars,
    nu_dot: Scalars | None,
    velocity: Representation,
) -> Force:
    """Return the rate of the robot's momentum, in the base's axes about its origin."""
    base = base_of(skeleton.layout, q, velocity)
    joints = joint_poses(skeleton, q)
    moving = robot_motion(skeleton, base, joints, nu, nu_dot, gravity=ZERO)
    return forces_of_motion(skeleton, base, joints, moving, {}).base


def body_rotations(skeleton: Skeleton, joints: dict[int, JointPose], base: Mat) -> dict[int, Mat]:
    """Return the rotation of every body, from the base's outward."""
    rotations = {0: base}
    for number, pose in joints.items():
        rotations[number] = rotations[skeleton.bodies[number].parent] @ pose.R
    return rotations


def is_leaf(skeleton: Skeleton, number: int) -> bool:
    """Return whether a body carries no other."""
    return all(body.parent != number for body in skeleton.bodies)


def _split(mount: Mount, first: Vec) -> tuple[Vec, Vec]:
    """Split a first moment into parts invariant and variant under the rotation of a joint."""
    if mount.kind.rotation == "none":
        return first, ZERO
    if mount.kind.rotation == "free":
        return ZERO, first
    across = [k for k in range(3) if k != mount.axis_index]
    return first.without(across), first.without([mount.axis_index])


def _columns_of_base(R: Mat, o: Vec, c: Vec, velocity: Representation) -> list[Vec]:
    """Return columns of the base in the Jacobian of the CoM, which is at c in the base."""
    if velocity == "body":
        return [R @ axis for axis in IDENTITY] + [R @ axis.cross(c) for axis in IDENTITY]
    arm = R @ c
    if velocity == "inertial":
        arm = o + arm
    return [*IDENTITY, *(axis.cross(arm) for axis in IDENTITY)]


def _vector_inward(pose: JointPose, vector: Vec) -> Vec:
    """Return a vector of a body in the axes of its parent."""
    return pose.R @ vector
