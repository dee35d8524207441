"""Descriptions of parameters: which properties of a robot are inputs.

A description states how many values it has, what they are in the model, and how other values change
the robot.
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
from linkwork.parameters import variation
from linkwork.parameters.variation import (
    Variation,
    inertia_from_values,
    moved,
    placement_from_values,
)
from linkwork.spatial.blocks import Scalar, Vec
from linkwork.spatial.source import quat

INERTIA_MEANING = "mass, mass times CoM (3), tensor xx, xy, xz, yy, yz, zz about the origin"
POSE_MEANING = "position (3) [m], quaternion wxyz (4)"

Values = Sequence[Scalar]
Claims = Mapping[tuple[str, str], str]
"""(property, part) -> the group of descriptions that may change it together."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A named slice of the parameter vector."""

    name: str  # such as "payload.tool0"
    values: tuple[float, ...]  # in the model
    meaning: str  # of the values, with their units
    is_pose: bool = False  # whether the values are a position and a unit quaternion

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.values)


@dataclass(frozen=True)
class Parameter(ABC):
    """A property of a robot that is an input of its functions."""

    @abstractmethod
    def entries(self, model: Model) -> tuple[Entry, ...]:
        """Return the entries of the parameter vector, with the values of the model.

        Raises:
            NameNotFoundError: the model has no such part.
        """

    def claims(self, model: Model) -> Claims:
        """Return the properties of the robot that only this parameter may change."""
        del model
        return {}

    @abstractmethod
    def vary(self, model: Model, values: Sequence[Values], into: Variation) -> None:
        """Store the values of each entry in `into`."""


@dataclass(frozen=True)
class _LinkParameter(Parameter):
    link: str

    def __post_init__(self) -> None:
        settle(self, link=text(self.link, "link"))


@dataclass(frozen=True)
class _JointParameter(Parameter):
    joint: str

    def __post_init__(self) -> None:
        settle(self, joint=text(self.joint, "joint"))


@dataclass(frozen=True)
class LinkInertia(_LinkParameter):
    """The ten inertial parameters of a link, about its origin in its axes.

    They are the same as in `KinDyn.inertial_parameters`: mass, mass times center of mass (3), and
    the tensor's xx, xy, xz, yy, yz, zz.
    """

    def entries(self, model: Model) -> tuple[Entry, ...]:
        values = model.link(self.link).inertia.parameters().tolist()
        return (Entry(f"inertia.{self.link}", tuple(values), INERTIA_MEANING),)

    def claims(self, model: Model) -> Claims:
        return {("inertia of link", self.link): "inertia"}

    def vary(self, model: Model, values: Sequence[Values], into: Variation) -> None:
        into.inertias[self.link] = inertia_from_values(values[0])


@dataclass(frozen=True)
class DensityMultiplier(_LinkParameter):
    """A factor of a link's mass and inertia tensor, 1 in the model; the center of mass stays."""

    def entries(self, model: Model) -> tuple[Entry, ...]:
        model.link_index(self.link)
        return (Entry(f"density_multiplier.{self.link}", (1.0,), "factor of mass and inertia"),)

    def claims(self, model: Model) -> Claims:
        return {("inertia of link", self.link): "density multiplier"}

    def vary(self, model: Model, values: Sequence[Values], into: Variation) -> None:
        inertia = inertia_from_values(model.link(self.link).inertia.parameters().tolist())
        into.inertias[self.link] = values[0][0] * inertia


@dataclass(frozen=True)
class LinkLength(_LinkParameter):
    """A factor of the length of a link that is a solid, as in adam.parametric; 1 in the model.

    The solid is the link's first visual, assumed to be a homogeneous box, cylinder or sphere.
    `parameters.variation` describes how its joints move. The inertia of the link becomes that of
    the solid, with the density of the model (or of `LinkDensity`).

    Args:
        link: its name.
    """

    solid: ClassVar[type[variation.Solid]] = variation.Solid

    def entries(self, model: Model) -> tuple[Entry, ...]:
        variation.original_density(model.link(self.link))
        return (Entry(f"length.{self.link}", (1.0,), "factor of the length of its shape"),)

    def claims(self, model: Model) -> Claims:
        group = self.solid.__name__
        joints = [joint.name for joint in model.joints if joint.first == self.link]
        poses = {("pose of joint", name): group for name in joints}
        return {("inertia of link", self.link): group, **poses}

    def vary(self, model: Model, values: Sequence[Values], into: Variation) -> None:
        into.lengths[self.link] = values[0][0]
        variation.vary(model, self.link, into, self.solid)


@dataclass(frozen=True)
class LinkDensity(_LinkParameter):
    """The density [kg/m^3] of a link that is a solid, as in adam.parametric.

    The solid is that of `LinkLength`. The value of the model is the link's mass divided by the
    volume of the solid.

    Args:
        link: its name.
    """

    solid: ClassVar[type[variation.Solid]] = variation.Solid

    def entries(self, model: Model) -> tuple[Entry, ...]:
        density = variation.original_density(model.link(self.link))
        return (Entry(f"density.{self.link}", (density,), "density of its shape [kg/m^3]"),)

    def claims(self, model: Model) -> Claims:
        return {("inertia of link", self.link): self.solid.__name__}

    def vary(self, model: Model, values: Sequence[Values], into: Variation) -> None:
        into.densities[self.link] = values[0][0]
        variation.vary(model, self.link, into, self.solid)


@dataclass(frozen=True)
class Payload(Parameter):
    """The inertia of a load that is fixed to a link or frame; zero in the model.

    Args:
        frame: link or frame that carries the load. The ten inertial parameters (as of
            `LinkInertia`) are about the origin and in the axes of this frame.
        mount: whether the pose of the load in the frame is an input too: position (3), quaternion
            wxyz (4). The ten inertial parameters are then in the frame of the load.
        name: replaces the frame's name in the names of the parameters; needed for several payloads
            on one frame.
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
        load = Entry(f"payload.{name}", (0.0,) * 10, INERTIA_MEANING)
        pose = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
        return (load, Entry(f"mount.{name}", pose, POSE_MEANING, True)) if self.mount else (load,)

    def vary(self, model: Model, values: Sequence[Values], into: Variation) -> None:
        load = inertia_from_values(values[0])
        if self.mount:
            load = moved(load, placement_from_values(values[1]))
        into.payloads.append((self.frame, load))


@dataclass(frozen=True)
class JointDynamicsParameter(_JointParameter):
    """A coefficient of the dynamics of a joint; its value is that attribute of the joint."""

    attribute: ClassVar[Literal["damping", "friction", "armature"]]
    unit: ClassVar[str]

    def entries(self, model: Model) -> tuple[Entry, ...]:
        joint = model.joint(self.joint)
        if joint.is_fixed:
            raise ArgumentError(f"joint {self.joint!r} is fixed, so it has no {self.attribute}")
        return (
            Entry(f"{self.attribute}.{self.joint}", (getattr(joint, self.attribute),), self.unit),
        )

    def claims(self, model: Model) -> Claims:
        return {(f"{self.attribute} of joint", self.joint): self.attribute}

    def vary(self, model: Model, values: Sequence[Values], into: Variation) -> None:
        into.joint_dynamics[self.joint, self.attribute] = values[0][0]


@dataclass(frozen=True)
class JointDamping(JointDynamicsParameter):
    """The viscous friction of a joint [N m s/rad] or [N s/m]; needs `joint_dynamics=True`."""

    attribute = "damping"
    unit = "[N m s/rad] or [N s/m]"


@dataclass(frozen=True)
class JointFriction(JointDynamicsParameter):
    """The Coulomb friction of a joint [N m] or [N]; needs `joint_dynamics=True`."""

    attribute = "friction"
    unit = "[N m] or [N]"


@dataclass(frozen=True)
class JointArmature(JointDynamicsParameter):
    """The rotor inertia of a joint [kg m^2] or [kg]; needs `joint_dynamics=True`."""

    attribute = "armature"
    unit = "[kg m^2] or [kg]"


@dataclass(frozen=True)
class JointPose(_JointParameter):
    """Pose of a joint in its first link, first_H_joint: position (3), quaternion wxyz (4)."""

    def entries(self, model: Model) -> tuple[Entry, ...]:
        pose = model.joint(self.joint).first_H_joint
        return (Entry(f"joint_pose.{self.joint}", pose_values(pose), POSE_MEANING, True),)

    def claims(self, model: Model) -> Claims:
        return {("pose of joint", self.joint): "pose"}

    def vary(self, model: Model, values: Sequence[Values], into: Variation) -> None:
        into.joint_poses[self.joint] = placement_from_values(values[0])


@dataclass(frozen=True)
class FramePose(Parameter):
    """Pose of an additional frame in its link: position (3), quaternion wxyz (4)."""

    frame: str

    def __post_init__(self) -> None:
        settle(self, frame=text(self.frame, "frame"))

    def entries(self, model: Model) -> tuple[Entry, ...]:
        frame = model.frame(self.frame)
        if self.frame in model.link_names:
            message = f"{self.frame!r} is a link, and its frame is fixed to it"
            raise ArgumentError(f"{message}; JointPose moves the joint that carries the link")
        return (
            Entry(f"frame_pose.{self.frame}", pose_values(frame.link_H_frame), POSE_MEANING, True),
        )

    def claims(self, model: Model) -> Claims:
        return {("pose of frame", self.frame): "pose"}

    def vary(self, model: Model, values: Sequence[Values], into: Variation) -> None:
        into.frame_poses[self.frame] = placement_from_values(values[0])


@dataclass(frozen=True)
class Gravity(Parameter):
    """The acceleration of free fall in the world [m/s^2], (3,).

    Its nominal value is the gravity of the `KinDyn`. `gravity=` in a call overrides it.
    """

    def entries(self, model: Model) -> tuple[Entry, ...]:
        return (Entry("gravity", (0.0, 0.0, 0.0), "[m/s^2] in the world"),)

    def vary(self, model: Model, values: Sequence[Values], into: Variation) -> None:
        x, y, z = values[0]
        into.gravity.append(Vec(x, y, z))


def pose_values(pose: Pose) -> tuple[float, ...]:
    """Return the position and quaternion wxyz of a pose."""
    return (*pose.xyz, *quat.from_rotation(pose.matrix()[:3, :3]).tolist())
