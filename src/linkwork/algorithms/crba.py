"""The mass matrix, by the composite rigid body algorithm.

Inward, each body's inertia is added to its parent's, so that body i stands for all it carries. A
unit of motion along joint i then takes the momentum  F_i = I_i S_i;  carried inward to joint j it
gives the entry M_ij = S_j^T F_i,  and carried to the base the rows of the base.

Walker, Orin (1982); Featherstone (2008), section 6.2.
"""

from __future__ import annotations

from dataclasses import dataclass

from linkwork.mechanics.blocks import (
    IDENTITY,
    Mat,
    Scalar,
    Sym,
    Vec,
    add,
    apply,
    cross,
    matmul,
    plus,
    scale,
    shift_sym,
    sub,
    sym_add,
    sym_apply,
    turn_sym,
)
from linkwork.mechanics.joints import JointPose, joint_force
from linkwork.mechanics.skeleton import Skeleton

WORTHWHILE = 3  # columns for which a way without a stop is prepared


@dataclass(frozen=True, slots=True)
class Composite:
    """Inertia of a body and all it carries, about the body's origin, in its axes."""

    mass: float
    first: Vec  # mass times centre of mass
    tensor: Sym

    def momentum(self, linear: Vec, angular: Vec) -> tuple[Vec, Vec]:
        """Momentum at a velocity: m v + w x h, and h x v + I w."""
        force = sub(scale(self.mass, linear), cross(self.first, angular))
        return force, add(cross(self.first, linear), sym_apply(self.tensor, angular))


@dataclass(frozen=True, slots=True)
class Inertias:
    """The mass matrix in pieces: the base's composite, momenta at the base, and joint entries."""

    base: Composite
    momenta: dict[int, tuple[Vec, Vec]]  # by place in nu, about the base's origin
    joint: dict[tuple[int, int], Scalar]  # entry (i, j) with i >= j, by places in nu


def composites(skeleton: Skeleton, joints: dict[int, JointPose]) -> dict[int, Composite]:
    """Composite inertia of every body."""
    found = {
        number: Composite(body.mass, body.first_moment, body.tensor)
        for number, body in enumerate(skeleton.bodies)
    }
    for number in reversed(joints):
        parent = skeleton.bodies[number].parent
        found[parent] = _sum(found[parent], _carried(found[number], joints[number]))
    return found


def moved(body: Composite, R: Mat, p: Vec) -> Composite:
    """The same inertia seen from a frame in which the body's frame is at (R, p)."""
    first = apply(R, body.first)
    tensor = shift_sym(turn_sym(R, body.tensor), body.mass, first, p)
    return Composite(body.mass, add(first, scale(body.mass, p)), tensor)


def _carried(body: Composite, pose: JointPose) -> Composite:
    """The inertia of a body seen from its parent."""
    first = apply(pose.E, body.first)
    tensor = shift_sym(pose.turned_sym(body.tensor), body.mass, first, pose.p)
    return Composite(body.mass, add(first, scale(body.mass, pose.p)), tensor)


def inertias(skeleton: Skeleton, joints: dict[int, JointPose], axes: Mat = IDENTITY) -> Inertias:
    """Composite inertias, and the momentum that each joint's motion takes.

    Args:
        skeleton: the robot.
        joints: pose of each body in its parent.
        axes: rotation of the base in the axes in which momenta are wanted.
    """
    carried = composites(skeleton, joints)
    last = _last_steps(skeleton, joints, axes)
    momenta: dict[int, tuple[Vec, Vec]] = {}
    joint: dict[tuple[int, int], Scalar] = {}
    for number, pose in joints.items():
        places = skeleton.bodies[number].nu
        for place, column in zip(places, pose.columns, strict=True):
            force, moment = carried[number].momentum(*column)
            at = number
            while at:
                here = joints[at]
                body = skeleton.bodies[at]
                for other, value in zip(body.nu, joint_force(here, force, moment), strict=True):
                    _enter(joint, place, other, value, same_body=at == number)
                force, moment = (last[at] if body.parent == 0 else here).inward(force, moment)
                at = body.parent
            known = momenta.get(place)
            if known is not None:  # another joint that follows the same coordinate
                force, moment = add(known[0], force), add(known[1], moment)
            momenta[place] = force, moment
    return Inertias(carried[0], momenta, joint)


@dataclass(frozen=True, slots=True)
class _LastStep:
    """From a body that hangs on the base into axes of the base's origin, without a stop between."""

    turn: Mat  # of the body in those axes
    arm: Vec  # from the base's origin to the body's, in the body's axes

    def inward(self, force: Vec, moment: Vec) -> tuple[Vec, Vec]:
        """A wrench on the body, in those axes about the base's origin."""
        moment = add(moment, cross(self.arm, force))
        return apply(self.turn, force), apply(self.turn, moment)


@dataclass(frozen=True, slots=True)
class _TwoSteps:
    """The same by way of the base's own axes, which is less to prepare."""

    pose: JointPose
    axes: Mat

    def inward(self, force: Vec, moment: Vec) -> tuple[Vec, Vec]:
        """A wrench on the body, in those axes about the base's origin."""
        force, moment = self.pose.inward(force, moment)
        return apply(self.axes, force), apply(self.axes, moment)


def _last_steps(
    skeleton: Skeleton, joints: dict[int, JointPose], axes: Mat
) -> dict[int, _LastStep | _TwoSteps]:
    """For each body that hangs on the base, how momenta get from there to the axes wanted."""
    branch: dict[int, int] = {}
    columns: dict[int, int] = {}  # that pass through
    for number, pose in joints.items():
        parent = skeleton.bodies[number].parent
        branch[number] = branch[parent] if parent else number
        columns[branch[number]] = columns.get(branch[number], 0) + len(pose.columns)
    return {
        number: _TwoSteps(joints[number], axes)
        if axes is IDENTITY or count < WORTHWHILE
        else _LastStep(matmul(axes, joints[number].E), joints[number].arm)
        for number, count in columns.items()
    }


def _enter(
    joint: dict[tuple[int, int], Scalar], i: int, j: int, value: Scalar, *, same_body: bool
) -> None:
    """Add a pair of joints to the entry of their coordinates.

    Two joints that follow one coordinate meet in its diagonal entry, each with the other: twice.
    """
    if same_body and j > i:
        return  # the pair comes again the other way round
    key = (max(i, j), min(i, j))
    if i == j and not same_body:
        value = value + value
    joint[key] = plus(joint.get(key, 0.0), value)


def _sum(a: Composite, b: Composite) -> Composite:
    return Composite(a.mass + b.mass, add(a.first, b.first), sym_add(a.tensor, b.tensor))
