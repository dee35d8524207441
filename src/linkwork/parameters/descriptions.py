"""Which numbers of a robot are inputs: one frozen description for each.

A description says how many numbers it stands for, which they are in the model, and what becomes of
the robot when they are others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from linkwork.errors import ArgumentError
from linkwork.model.model import Model
from linkwork.model.numbers import settle, text
from linkwork.model.pose import Pose
from linkwork.parameters import shapes
from linkwork.parameters.variation import Variation, inertia_of, moved, placement_of
from linkwork.spatial.blocks import Scalar
from linkwork.spatial.source import quat

TEN = "mass, mass times CoM (3), tensor xx, xy, xz, yy, yz, zz about the origin"
SEVEN = "position (3) [m], quaternion wxyz (4)"

Numbers = Sequence[Scalar]
Claims = Mapping[tuple[str, str], str]
"""By what is changed and of which part: the group of descriptions that may change it together."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Some numbers of a robot that are inputs."""

    name: str  # such as "payload.tool0"
    values: tuple[float, ...]  # those of the model
    meaning: str
    is_pose: bool = False  # whether it is a position and a unit quaternion

    @property
    def size(self) -> int:
        """How many numbers they are."""
        return len(self.values)


@dataclass(frozen=True)
class Parameter(ABC):
    """Some numbers of a robot that are inputs of its functions."""

    @abstractmethod
    def entries(self, model: Model) -> tuple[Entry, ...]:
        """The numbers, as the model has them; names that it does not have are refused."""

    @abstractmethod
    def claims(self, model: Model) -> Claims:
        """What the numbers change."""

    @abstractmethod
    def vary(self, model: Model, numbers: Sequence[Numbers], into: Variation) -> None:
        """Put numbers, for each entry, in place of those of the model."""


@dataclass(frozen=True)
class _OfLink(Parameter):
    link: str

    def __post_init__(self) -> None:
        settle(self, link=text(self.link, "link"))


@dataclass(frozen=True)
class _OfJoint(Parameter):
    joint: str

    def __post_init__(self) -> None:
        settle(self, joint=text(self.joint, "joint"))


@dataclass(frozen=True)
class LinkInertia(_OfLink):
    """The ten inertial parameters of a link, about its origin in its axes.

    They are those of the link in `KinDyn.inertial_parameters`: mass, mass times centre of mass (3),
    and the tensor's xx, xy, xz, yy, yz, zz.
    """

    def entries(self, model: Model) -> tuple[Entry, ...]:
        own = model.link(self.link).inertia.parameters().tolist()
        return (Entry(f"inertia.{self.link}", tuple(own), TEN),)

    def claims(self, model: Model) -> Claims:
        return {("inertia of link", self.link): "inertia"}

    def vary(self, model: Model, numbers: Sequence[Numbers], into: Variation) -> None:
        into.inertias[self.link] = inertia_of(numbers[0])


@dataclass(frozen=True)
class DensityMultiplier(_OfLink):
    """A factor of a link's mass and inertia; its centre of mass stays. 1 is the model."""

    def entries(self, model: Model) -> tuple[Entry, ...]:
        model.link_index(self.link)
        return (Entry(f"density_multiplier.{self.link}", (1.0,), "factor of mass and inertia"),)

    def claims(self, model: Model) -> Claims:
        return {("inertia of link", self.link): "density multiplier"}

    def vary(self, model: Model, numbers: Sequence[Numbers], into: Variation) -> None:
        own = inertia_of(model.link(self.link).inertia.parameters().tolist())
        into.inertias[self.link] = own.times(numbers[0][0])


@dataclass(frozen=True)
class LinkLength(_OfLink):
    """A factor of the length of a link that is a solid, as in adam.parametric. 1 is the model.

    The link's first visual is the solid: a box, cylinder or sphere, homogeneous. See
    `parameters.shapes` for what moves. The inertia of the link becomes that of the solid, with the
    mass of the model (or the density of `LinkDensity`).

    Args:
        link: its name.
    """

    solid: ClassVar[type[shapes.Solid]] = shapes.Solid

    def entries(self, model: Model) -> tuple[Entry, ...]:
        shapes.original_density(model.link(self.link))
        return (Entry(f"length.{self.link}", (1.0,), "factor of the length of its shape"),)

    def claims(self, model: Model) -> Claims:
        group = self.solid.__name__
        joints = [joint.name for joint in model.joints if joint.first == self.link]
        poses = {("pose of joint", name): group for name in joints}
        return {("inertia of link", self.link): group, **poses}

    def vary(self, model: Model, numbers: Sequence[Numbers], into: Variation) -> None:
        into.lengths[self.link] = numbers[0][0]
        shapes.vary(model, self.link, into, self.solid)


@dataclass(frozen=True)
class LinkDensity(_OfLink):
    """The density [kg/m^3] of a link that is a solid, as in adam.parametric.

    The solid is that of `LinkLength`. In the model, it is the link's mass over the solid's volume.

    Args:
        link: its name.
    """

    solid: ClassVar[type[shapes.Solid]] = shapes.Solid

    def entries(self, model: Model) -> tuple[Entry, ...]:
        own = shapes.original_density(model.link(self.link))
        return (Entry(f"density.{self.link}", (own,), "density of its shape [kg/m^3]"),)

    def claims(self, model: Model) -> Claims:
        return {("inertia of link", self.link): self.solid.__name__}

    def vary(self, model: Model, numbers: Sequence[Numbers], into: Variation) -> None:
        into.densities[self.link] = numbers[0][0]
        shapes.vary(model, self.link, into, self.solid)


@dataclass(frozen=True)
class Payload(Parameter):
    """The inertia of a load that is fixed to a link or frame; none in the model.

    Args:
        frame: link or frame that carries it. Its ten numbers (as of `LinkInertia`) are about the
            origin and in the axes of this frame.
        mount: whether the pose of the load in the frame is an input too, of 7 numbers: position
            (3), quaternion wxyz (4). The ten numbers are then those in the load's own axes.
        name: in place of the frame's, for several payloads on one frame.
    """

    frame: str
    mount: bool = False
    name: str | None = None

    def __post_init__(self) -> None:
        settle(self, frame=text(self.frame, "frame"), mount=bool(self.mount))
        if self.name is not None:
            settle(self, name=text(self.name, "name"))

    def entries(self, model: Model) -> tuple[Entry, ...]:
        model.frame_index(self.frame)
        name = self.name or self.frame
        load = Entry(f"payload.{name}", (0.0,) * 10, TEN)
        pose = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
        return (load, Entry(f"mount.{name}", pose, SEVEN, True)) if self.mount else (load,)

    def claims(self, model: Model) -> Claims:
        return {}

    def vary(self, model: Model, numbers: Sequence[Numbers], into: Variation) -> None:
        load = inertia_of(numbers[0])
        if self.mount:
            load = moved(load, placement_of(numbers[1]))
        into.payloads.append((self.frame, load))


@dataclass(frozen=True)
class JointNumber(_OfJoint):
    """A number of a joint's own dynamics."""

    of: ClassVar[Literal["damping", "friction", "armature"]]
    unit: ClassVar[str]

    def entries(self, model: Model) -> tuple[Entry, ...]:
        joint = model.joint(self.joint)
        if joint.is_fixed:
            raise ArgumentError(f"joint {self.joint!r} is fixed, so it has no {self.of}")
        return (Entry(f"{self.of}.{self.joint}", (getattr(joint, self.of),), self.unit),)

    def claims(self, model: Model) -> Claims:
        return {(f"{self.of} of joint", self.joint): self.of}

    def vary(self, model: Model, numbers: Sequence[Numbers], into: Variation) -> None:
        into.joint_numbers[self.joint, self.of] = numbers[0][0]


@dataclass(frozen=True)
class JointDamping(JointNumber):
    """The viscous friction of a joint [N m s/rad] or [N s/m]; for `joint_dynamics=True`."""

    of = "damping"
    unit = "[N m s/rad] or [N s/m]"


@dataclass(frozen=True)
class JointFriction(JointNumber):
    """The Coulomb friction of a joint [N m] or [N]; for `joint_dynamics=True`."""

    of = "friction"
    unit = "[N m] or [N]"


@dataclass(frozen=True)
class JointArmature(JointNumber):
    """The rotor inertia of a joint [kg m^2] or [kg]; for `joint_dynamics=True`."""

    of = "armature"
    unit = "[kg m^2] or [kg]"


@dataclass(frozen=True)
class JointPose(_OfJoint):
    """Where a joint sits on its first link, first_H_joint: position (3), quaternion wxyz (4)."""

    def entries(self, model: Model) -> tuple[Entry, ...]:
        pose = model.joint(self.joint).first_H_joint
        return (Entry(f"joint_pose.{self.joint}", seven(pose), SEVEN, True),)

    def claims(self, model: Model) -> Claims:
        return {("pose of joint", self.joint): "pose"}

    def vary(self, model: Model, numbers: Sequence[Numbers], into: Variation) -> None:
        into.joint_poses[self.joint] = placement_of(numbers[0])


@dataclass(frozen=True)
class FramePose(Parameter):
    """Where an additional frame sits on its link: position (3), quaternion wxyz (4)."""

    frame: str

    def __post_init__(self) -> None:
        settle(self, frame=text(self.frame, "frame"))

    def entries(self, model: Model) -> tuple[Entry, ...]:
        frame = model.frame(self.frame)
        if self.frame in model.link_names:
            text = f"{self.frame!r} is a link, whose frame does not move on it"
            raise ArgumentError(f"{text}; JointPose moves the joint that holds it")
        return (Entry(f"frame_pose.{self.frame}", seven(frame.link_H_frame), SEVEN, True),)

    def claims(self, model: Model) -> Claims:
        return {("pose of frame", self.frame): "pose"}

    def vary(self, model: Model, numbers: Sequence[Numbers], into: Variation) -> None:
        into.frame_poses[self.frame] = placement_of(numbers[0])


@dataclass(frozen=True)
class Gravity(Parameter):
    """The acceleration of free fall in the world [m/s^2], (3,); that of the `KinDyn` if not given.

    A call that gives `gravity=` uses that instead.
    """

    def entries(self, model: Model) -> tuple[Entry, ...]:
        return (Entry("gravity", (0.0, 0.0, 0.0), "[m/s^2] in the world"),)

    def claims(self, model: Model) -> Claims:
        return {}

    def vary(self, model: Model, numbers: Sequence[Numbers], into: Variation) -> None:
        x, y, z = numbers[0]
        into.gravity.append((x, y, z))


def seven(pose: Pose) -> tuple[float, ...]:
    """Position and quaternion wxyz of a pose."""
    return (*pose.xyz, *quat.from_rotation(pose.matrix()[:3, :3]).tolist())
