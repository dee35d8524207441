"""The equations that constrain a robot: closed loops, contacts, couplings of joints.

An equation group compares two anchors, frames fixed to a link or to the world. It is written in the
axes of the *reference* anchor, in terms of the motion of the *moving* anchor relative to it:

    linear row    u . p         u a constant direction, p the position of the moving anchor
    angular row   n . rotation  the relative rotation about a direction n

The force of a row acts on the moving anchor, and its opposite on the reference anchor. A coupling
is one equation between the coordinates of two joints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from linkwork.errors import model_error
from linkwork.model.joints.kind import Axis, Closure
from linkwork.model.parts import Constraint, Joint
from linkwork.model.pose import IDENTITY, Pose, inverted
from linkwork.spatial.blocks import IDENTITY as AXES
from linkwork.spatial.blocks import Vec, as_vec


@dataclass(frozen=True, slots=True)
class Anchor:
    """A frame fixed to a frame of the robot, or to the world."""

    frame: str | None  # None for the world
    pose: Pose = IDENTITY  # of the anchor in the frame


@dataclass(frozen=True, slots=True)
class FrameEquations:
    """Equations between two anchors."""

    name: str
    reference: Anchor
    moving: Anchor
    closure: Closure  # what they prevent, in the axes of the reference anchor
    angular: tuple[Vec, ...] = AXES  # directions of the rows of a locked rotation
    radius: float | None = None  # of a ball that rolls on the plane z = 0 of the reference
    has_target: bool = True  # if not, the pose at any time is as good as another: no error

    @property
    def size(self) -> int:
        """The number of equations."""
        left_out = 3 - len(self.angular) if self.closure.rotation == "locked" else 0
        return self.closure.size - left_out

    @property
    def n_linear(self) -> int:
        """The number of linear equations, which come before the angular ones."""
        if self.radius is not None:
            return self.size
        return len(self.closure.linear) + (self.closure.pitch is not None)


@dataclass(frozen=True, slots=True)
class Coupling:
    """theta_first = c0 + c1 theta_second + c2 theta_second^2 + ..., an equation of two joints."""

    name: str
    first: str
    second: str | None
    coefficients: tuple[float, ...]

    @property
    def size(self) -> int:
        """The number of equations."""
        return 1


Equations: TypeAlias = FrameEquations | Coupling


def equations_of_joint(joint: Joint) -> FrameEquations:
    """The equations of a joint that closes a loop.

    Raises:
        ModelError: joints of its kind do not say what they prevent.
    """
    closure = joint.motion_kind.closure(Axis(as_vec(joint.axis), joint.pitch))
    if closure is None:
        text = f"joints of kind {joint.kind!r} cannot close a loop; cut another joint of it"
        raise model_error(text, f"joint {joint.name!r}", joint.location)
    return FrameEquations(
        joint.name,
        Anchor(joint.first, joint.first_H_joint),
        Anchor(joint.second, inverted(joint.joint_H_second)),
        closure,
    )


def equations_of_constraint(constraint: Constraint) -> Equations:
    """The equations of a constraint of a model."""
    if constraint.kind == "coupling":
        return Coupling(
            constraint.name, constraint.first, constraint.second, constraint.coefficients
        )
    first = Anchor(constraint.first, constraint.first_H_anchor)
    second = Anchor(constraint.second, constraint.second_H_anchor)
    closure = Closure(AXES, "locked" if constraint.kind == "pose" else "free")
    if second.frame is None:  # the world is the reference, if it takes part
        return FrameEquations(constraint.name, second, first, closure)
    return FrameEquations(constraint.name, first, second, closure)
