"""What an SRDF file says about a robot, as frozen data. All names are names of the model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from linkwork.engine.cached_property import cached_property
from linkwork.errors import name_not_found
from linkwork.model.configurations import Configuration
from linkwork.model.geometry import Shape
from linkwork.model.model import Model

VirtualKind: TypeAlias = Literal["fixed", "planar", "floating"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A named set of links and joints. Chains and nested groups are expanded.

    links: those listed, those along the chains with both ends, the child of each listed joint.
    joints: those listed, those along the chains, the joint that carries each listed link; fixed and
        dependent ones too, but no virtual joints.
    """

    name: str
    links: tuple[str, ...]  # in the order of the model
    joints: tuple[str, ...]  # in the order of the model
    chains: tuple[tuple[str, str], ...] = ()  # (base link, tip link), not those of nested groups
    groups: tuple[str, ...] = ()  # nested groups


@dataclass(frozen=True, slots=True, kw_only=True)
class EndEffector:
    """A group that is attached to a link, such as a gripper."""

    name: str
    parent_link: str
    group: str
    parent_group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualJoint:
    """How a link moves in the world, such as a floating base. It is not a joint of the model."""

    name: str
    kind: VirtualKind
    parent_frame: str
    child_link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DisabledCollision:
    """Two links between which collisions are not checked."""

    first: str
    second: str
    reason: str = ""  # such as "Adjacent" or "Never"


@dataclass(frozen=True, slots=True, kw_only=True)
class SphereApproximation:
    """Spheres that approximate a link."""

    link: str
    spheres: tuple[Shape, ...]


@dataclass(frozen=True, kw_only=True)
class SRDF:
    """The semantic description of a robot, as `load_srdf` reads it."""

    name: str
    groups: tuple[Group, ...] = ()
    configurations: tuple[Configuration, ...] = ()
    """The group states. States of the same name in several groups are named `group/state`."""
    end_effectors: tuple[EndEffector, ...] = ()
    virtual_joints: tuple[VirtualJoint, ...] = ()
    passive_joints: tuple[str, ...] = ()
    disabled_collisions: tuple[DisabledCollision, ...] = ()
    """Each pair once, those of `disable_default_collisions` included."""
    sphere_approximations: tuple[SphereApproximation, ...] = ()
    ignored: tuple[str, ...] = ()
    """Names of elements that are not part of SRDF and were not read, such as `gripper`."""

    @cached_property
    def disabled_pairs(self) -> frozenset[frozenset[str]]:
        """The pairs of links between which collisions are not checked, in any order."""
        return frozenset(frozenset((one.first, one.second)) for one in self.disabled_collisions)

    def group(self, name: str) -> Group:
        """Return the group of this name."""
        by_name = {group.name: group for group in self.groups}
        if name not in by_name:
            raise name_not_found("group", name, by_name)
        return by_name[name]

    def added_to(self, model: Model) -> Model:
        """Return the model with the named configurations of the file, for `kd.q(name)`.

        They replace configurations of the same names.
        """
        names = {one.name for one in self.configurations}
        others = tuple(one for one in model.configurations if one.name not in names)
        return replace(model, configurations=(*others, *self.configurations))
