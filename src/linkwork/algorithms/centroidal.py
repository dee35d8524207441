"""The robot as a whole: its mass, its centre of mass (CoM), its momentum and its energy.

Quantities of the CoM are in the axes of the world. Momentum is [linear; angular], written as a
wrench on the base is:

    mixed      axes of the world, about the base's origin
    body       axes of the base, about the base's origin
    inertial   axes of the world, about the world's origin

Centroidal momentum is about the CoM, in the axes of the world, or of the base for body.
"""

from __future__ import annotations

from linkwork.algorithms.crba import Composite, composites, moved
from linkwork.algorithms.frames import Matrix, Numbers, Twist, base_part, velocities
from linkwork.algorithms.rnea import gather, poses
from linkwork.errors import model_error
from linkwork.mechanics.base import Representation, base_of
from linkwork.mechanics.blocks import (
    IDENTITY,
    ZERO,
    Mat,
    Scalar,
    Sym,
    Vec,
    add,
    apply,
    cross,
    dot,
    full,
    matmul,
    minus,
    neg,
    plus,
    scale,
    sub,
    times,
)
from linkwork.mechanics.joint_dynamics import NO_DRIVES, Drives
from linkwork.mechanics.joints import JointPose, joint_velocity
from linkwork.mechanics.skeleton import ALIGNED_KINDS, Body, Skeleton


def total_mass(skeleton: Skeleton) -> float:
    """Mass of the robot [kg]."""
    return sum(body.mass for body in skeleton.bodies)


def com(skeleton: Skeleton, q: Numbers) -> list[Scalar]:
    """(3,) position of the CoM in the world.

    Raises:
        ModelError: the robot has no mass.
    """
    base = base_of(skeleton.layout, q, "mixed")
    c = _Moments(skeleton, poses(skeleton, q), per_mass(skeleton)).first[0]
    return [*add(base.o, apply(base.R, c))]


def com_velocity(
    skeleton: Skeleton, q: Numbers, nu: Numbers, *, velocity: Representation
) -> list[Scalar]:
    """(3,) velocity of the CoM in the axes of the world.

    Raises:
        ModelError: the robot has no mass.
    """
    base = base_of(skeleton.layout, q, velocity)
    joints = poses(skeleton, q)
    moments = _Moments(skeleton, joints, per_mass(skeleton))
    c, c_dot = moments.first[0], moments.rate(joints, nu)  # as seen from the base
    v, w = base_part(skeleton, nu)
    if velocity == "body":
        return [*apply(base.R, add(add(v, c_dot), cross(w, c)))]
    arm = apply(base.R, c)
    if velocity == "inertial":
        arm = add(base.o, arm)
    return [*add(add(v, cross(w, arm)), apply(base.R, c_dot))]


def com_jacobian(skeleton: Skeleton, q: Numbers, *, velocity: Representation) -> Matrix:
    """(3, nv) J with com_velocity = J nu. What is zero at any configuration is the float 0.0.

    Raises:
        ModelError: the robot has no mass.
    """
    base = base_of(skeleton.layout, q, velocity)
    joints = poses(skeleton, q)
    moments = _Moments(skeleton, joints, per_mass(skeleton))
    found: dict[int, Vec] = {}
    if skeleton.layout.floating:
        found = dict(enumerate(_com_columns_of_base(base.R, base.o, moments.first[0], velocity)))
    axes = _rotations(skeleton, joints, base.R)
    for number, pose in joints.items():
        body = skeleton.bodies[number]
        first, columns, turn = moments.first[number], pose.columns, axes[number]
        if _is_leaf(skeleton, number):  # in the axes of the parent, in which moments are known
            first, columns, turn = apply(pose.E, first), _turned(pose), axes[body.parent]
        for place, (v, w) in zip(body.nu, columns, strict=True):
            # S adds m v + w x h to the linear momentum
            column = apply(turn, add(scale(moments.mass[number], v), cross(w, first)))
            found[place] = add(found.get(place, ZERO), column)
    whole = [found.get(place, ZERO) for place in range(skeleton.layout.nv)]
    return [[column[row] for column in whole] for row in range(3)]


def momentum(
    skeleton: Skeleton, q: Numbers, nu: Numbers, *, velocity: Representation
) -> list[Scalar]:
    """(6,) momentum of the robot, as a wrench on the base is written."""
    base = base_of(skeleton.layout, q, velocity)
    joints = poses(skeleton, q)
    linear, angular = base.wrench_out(*_at_base(skeleton, joints, nu, base.twist(nu)))
    return [*linear, *angular]


def centroidal_momentum(
    skeleton: Skeleton, q: Numbers, nu: Numbers, *, velocity: Representation
) -> list[Scalar]:
    """(6,) momentum of the robot about its CoM.

    Raises:
        ModelError: the robot has no mass.
    """
    base = base_of(skeleton.layout, q, velocity)
    joints = poses(skeleton, q)
    linear, angular = _at_base(skeleton, joints, nu, base.twist(nu))
    c = _Moments(skeleton, joints, per_mass(skeleton)).first[0]
    angular = sub(angular, cross(c, linear))
    if velocity == "body":
        return [*linear, *angular]
    return [*apply(base.R, linear), *apply(base.R, angular)]


def centroidal_momentum_matrix(
    skeleton: Skeleton, q: Numbers, *, velocity: Representation
) -> Matrix:
    """(6, nv) A with centroidal_momentum = A nu.

    Raises:
        ModelError: the robot has no mass.
    """
    base = base_of(skeleton.layout, q, velocity)
    joints = poses(skeleton, q)
    carried = composites(skeleton, joints)
    axes = _rotations(skeleton, joints, IDENTITY if velocity == "body" else base.R)
    whole = moved(carried[0], axes[0], ZERO)
    c = scale(per_mass(skeleton), whole.first)  # from the base's origin
    found: dict[int, Twist] = {}
    if skeleton.layout.floating:
        lever = add(base.o, c) if velocity == "inertial" else c
        found = dict(enumerate(_momentum_columns_of_base(whole, c, lever)))
    arms = {0: neg(c)}  # from the CoM to the origin of each body
    for number, pose in joints.items():
        body = skeleton.bodies[number]
        arms[number] = add(arms[body.parent], apply(axes[body.parent], pose.p))
        inertia, columns, turn = carried[number], pose.columns, axes[number]
        if _is_leaf(skeleton, number):  # in the axes of the parent, in which inertias are known
            inertia, columns, turn = moved(inertia, pose.E, ZERO), _turned(pose), axes[body.parent]
        for place, column in zip(body.nu, columns, strict=True):
            # F = I S, about the CoM
            linear, angular = (apply(turn, half) for half in inertia.momentum(*column))
            angular = add(angular, cross(arms[number], linear))
            known = found.get(place, (ZERO, ZERO))
            found[place] = add(known[0], linear), add(known[1], angular)
    all_columns = [found.get(place, (ZERO, ZERO)) for place in range(skeleton.layout.nv)]
    return [[column[half][row] for column in all_columns] for half in (0, 1) for row in range(3)]


def kinetic_energy(
    skeleton: Skeleton,
    q: Numbers,
    nu: Numbers,
    *,
    velocity: Representation,
    drives: Drives = NO_DRIVES,
) -> Scalar:
    """Kinetic energy [J]: half of nu M nu."""
    base = base_of(skeleton.layout, q, velocity)
    moving = velocities(skeleton, poses(skeleton, q), nu, base.twist(nu))
    twice: Scalar = 0.0
    for number, (v, w) in moving.items():
        linear, angular = _own(skeleton.bodies[number]).momentum(v, w)
        twice = plus(twice, plus(dot(v, linear), dot(w, angular)))
    for place, drive in drives.items():
        twice = plus(twice, times(drive.armature, times(nu[place], nu[place])))
    return times(0.5, twice)


def potential_energy(skeleton: Skeleton, q: Numbers, *, gravity: Vec) -> Scalar:
    """Energy of the robot in the field of gravity [J]: zero with the CoM at the world's origin.

    Args:
        gravity: acceleration of free fall, in the axes of the world.
    """
    base = base_of(skeleton.layout, q, "mixed")
    h = _Moments(skeleton, poses(skeleton, q), 1.0).first[0]
    whole = add(scale(total_mass(skeleton), base.o), apply(base.R, h))
    return minus(0.0, dot(gravity, whole))


class _Moments:
    """Masses and first moments of each body with all it carries, times a factor.

    A part that the motion of a body's joint leaves in place may be counted with the parent instead:
    it does not matter to S nu, and there it is a sum of facts.
    """

    def __init__(self, skeleton: Skeleton, joints: dict[int, JointPose], factor: float) -> None:
        self._bodies = skeleton.bodies
        self.mass = {k: factor * body.mass for k, body in enumerate(skeleton.bodies)}
        self.first = {k: scale(factor, body.first_moment) for k, body in enumerate(self._bodies)}
        for number in reversed(joints):  # facts are added to facts first
            body, pose = self._bodies[number], joints[number]
            still, turning = _split(body, self.first[number])
            passed = add(apply(pose.E, still), scale(self.mass[number], pose.p))
            self.first[number] = turning
            self.first[body.parent] = add(self.first[body.parent], passed)
            self.mass[body.parent] += self.mass[number]
        for number in reversed(joints):
            parent = self._bodies[number].parent
            passed = apply(joints[number].E, self.first[number])
            self.first[parent] = add(self.first[parent], passed)

    def rate(self, joints: dict[int, JointPose], nu: Numbers) -> Vec:
        """Derivative of the first moment of the whole, as seen from the base."""
        rates = dict.fromkeys(self.first, ZERO)
        for number in reversed(joints):
            body, pose = self._bodies[number], joints[number]
            v_J, w_J = joint_velocity(pose, body.nu, nu)
            # h_dot + m v_J + w_J x h
            own = add(scale(self.mass[number], v_J), cross(w_J, self.first[number]))
            own = apply(pose.E, add(rates[number], own))
            rates[body.parent] = add(rates[body.parent], own)
        return rates[0]


def _split(body: Body, first: Vec) -> tuple[Vec, Vec]:
    """A first moment in two: what a joint's motion leaves in place, and what it turns."""
    assert body.mount is not None
    if body.mount.joint.kind == "prismatic":
        return first, ZERO
    if body.mount.joint.kind not in ALIGNED_KINDS:
        return ZERO, first
    along = [x if k == body.mount.axis else 0.0 for k, x in enumerate(first)]
    across = [0.0 if k == body.mount.axis else x for k, x in enumerate(first)]
    return (along[0], along[1], along[2]), (across[0], across[1], across[2])


def _at_base(
    skeleton: Skeleton, joints: dict[int, JointPose], nu: Numbers, base: Twist
) -> tuple[Vec, Vec]:
    """(linear, angular) momentum of the robot in the base's axes, about its origin."""
    moving = velocities(skeleton, joints, nu, base)
    own = {k: _own(skeleton.bodies[k]).momentum(*twist) for k, twist in moving.items()}
    whole = gather(skeleton, joints, own)
    return whole.base_force, whole.base_moment


def _own(body: Body) -> Composite:
    return Composite(body.mass, body.first_moment, body.tensor)


def per_mass(skeleton: Skeleton) -> float:
    """One over the mass of the robot.

    Raises:
        ModelError: the robot has no mass.
    """
    mass = total_mass(skeleton)
    if mass == 0.0:
        raise model_error("has no mass, and so no centre of mass", "the robot")
    return 1.0 / mass


def _rotations(skeleton: Skeleton, joints: dict[int, JointPose], base: Mat) -> dict[int, Mat]:
    """Rotation of every body, from the base's outward."""
    found = {0: base}
    for number, pose in joints.items():
        found[number] = matmul(found[skeleton.bodies[number].parent], pose.E)
    return found


def _is_leaf(skeleton: Skeleton, number: int) -> bool:
    return all(body.parent != number for body in skeleton.bodies)


def _turned(pose: JointPose) -> tuple[Twist, ...]:
    """Columns of S in the parent's axes."""
    return tuple(
        (apply(pose.E, linear), apply(pose.E, angular)) for linear, angular in pose.columns
    )


def _com_columns_of_base(R: Mat, o: Vec, c: Vec, velocity: Representation) -> list[Vec]:
    """What the numbers of the base do to the CoM, which is at c in the base."""
    if velocity == "body":
        return [apply(R, axis) for axis in IDENTITY] + [
            apply(R, cross(axis, c)) for axis in IDENTITY
        ]
    arm = apply(R, c)
    if velocity == "inertial":
        arm = add(o, arm)
    return [*IDENTITY, *(cross(axis, arm) for axis in IDENTITY)]


def _momentum_columns_of_base(whole: Composite, c: Vec, lever: Vec) -> list[Twist]:
    """Momentum about the CoM of the robot moving as one body.

    Args:
        whole: its inertia about the base's origin.
        c: the CoM from there.
        lever: the CoM from the point whose velocity the numbers of the base give.
    """
    pushed = [(scale(whole.mass, axis), ZERO) for axis in IDENTITY]
    first = whole.first if lever is c else scale(whole.mass, lever)
    tensor = full(about_com(whole.tensor, whole.first, c))
    turned = zip(IDENTITY, tensor, strict=True)
    return pushed + [(cross(axis, first), row) for axis, row in turned]


def about_com(tensor: Sym, first: Vec, c: Vec) -> Sym:
    """I - m (c.c 1 - c c^T), with first = m c."""
    x, y, z = (times(a, b) for a, b in zip(first, c, strict=True))
    xx, xy, xz, yy, yz, zz = tensor
    return (
        minus(xx, plus(y, z)),
        plus(xy, times(first[0], c[1])),
        plus(xz, times(first[0], c[2])),
        minus(yy, plus(x, z)),
        plus(yz, times(first[1], c[2])),
        minus(zz, plus(x, y)),
    )
