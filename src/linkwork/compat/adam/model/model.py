"""The robot as adam describes it: links, frames and joints by name, and the tree they make.

Links    all links of a file but the frames
Frames   links without `<inertial>` (of MuJoCo: without mass) that end the tree on a fixed joint;
         and sites
Joints   those of the file, and a fixed one for each site
Tree     from the root that is set; joints between it and the file's root point backwards
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf, isinf, pi
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from linkwork.compat.adam.parts import AdamJoint, AdamLimits, AdamLink
from linkwork.compat.adam.tree import Tree, tree_of
from linkwork.engine.cached_property import cached_property
from linkwork.errors import LinkworkError, NameNotFoundError, model_error, name_not_found
from linkwork.model.model import Model as SourceModel
from linkwork.model.parts import Frame, Joint, Link
from linkwork.model.reduce import reduced

if TYPE_CHECKING:
    from linkwork.compat.adam.model.factory import ModelFactory


class UnknownNameError(NameNotFoundError, ValueError):
    """A name the robot does not have; a ValueError too, as in adam."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """Build the error for a name that the robot does not have."""
    return UnknownNameError(str(name_not_found(kind, name, known)))


class MissingFeatureError(LinkworkError, NotImplementedError):
    """A method of adam that linkwork does not have."""


def usd_error(method: str, hint: str) -> MissingFeatureError:
    """Build the error of a method that reads or writes USD."""
    return MissingFeatureError(f"{method}: linkwork neither reads nor writes USD files; {hint}")


@dataclass(frozen=True)
class AdamModel:
    """What adam's users read of a model."""

    source: SourceModel  # all joints as in the file, locked ones too
    root: str
    actuated_joints: list[str]
    bare: frozenset[str]  # links that are frames
    outside: frozenset[str] = frozenset()  # links, joints and frames that adam leaves out
    types: Mapping[str, str] = field(default_factory=dict[str, str])  # where the file tells
    limits: Mapping[str, AdamLimits] = field(default_factory=dict[str, AdamLimits])

    @staticmethod
    def build(
        factory: ModelFactory,
        joints_name_list: list[str] | None = None,
        root_link: str | None = None,
    ) -> AdamModel:
        """The model of a factory.

        Args:
            factory: the robot.
            joints_name_list: the joints that move, in their order; all that can if not given.
            root_link: the root of the tree; the link that no joint holds if not given.

        Raises:
            ValueError: there are no such joints, or there is no such link.
        """
        from linkwork.compat.adam.read import with_joints

        model = with_joints(factory.found, joints_name_list)
        return model if root_link is None else model.with_root(root_link)

    def with_root(self, root_link: str) -> AdamModel:
        """The same robot, seen from another link; joints keep their order and meaning.

        Raises:
            ValueError: there is no such link, or it is a frame.
        """
        if root_link in self.frames:
            (holder,) = (j.parent for j in self.joints.values() if j.child == root_link)
            raise model_error(f"root_link: {root_link!r} is a frame, fixed to link {holder!r}")
        if root_link not in self.links:
            raise unknown_name("link", root_link, self.links)
        return replace(self, root=root_link)

    def to_usd(
        self, usd_output_path: str | PathLike[str], *, robot_prim_path: str = "/Robot"
    ) -> Path:
        """Not available: linkwork does not write USD.

        Raises:
            NotImplementedError: always.
        """
        del usd_output_path, robot_prim_path
        raise usd_error("to_usd", "linkwork.dump_urdf(model.source) writes a URDF")

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.source.name

    @property
    def NDoF(self) -> int:
        """How many joints move."""
        return len(self.actuated_joints)

    @property
    def N(self) -> int:
        """How many links there are."""
        return len(self.links)

    @cached_property
    def links(self) -> Mapping[str, AdamLink]:
        """Links by name."""
        others = self.bare | self.outside
        return {link.name: AdamLink(link) for link in self.source.links if link.name not in others}

    @cached_property
    def frames(self) -> Mapping[str, AdamLink]:
        """Frames by name."""
        bare = [link for link in self.source.links if link.name in self.bare]
        sites = [Link(name=frame.name) for frame in self._sites]
        return {link.name: AdamLink(link) for link in (*bare, *sites)}

    @cached_property
    def joints(self) -> Mapping[str, AdamJoint]:
        """Joints by name, those of frames too."""
        inner = [joint for joint in self.source.joints if joint.name not in self.outside]
        held = [_joint_of(frame) for frame in self._sites]
        return {joint.name: self._joint(joint) for joint in (*inner, *held)}

    @cached_property
    def tree(self) -> Tree:
        """Links and the joints between them, from the root."""
        return tree_of(self.links, self.joints.values(), self.root)

    @cached_property
    def moving(self) -> SourceModel:
        """The robot in which just the actuated joints move."""
        return reduced(self.source, self.actuated_joints)

    def get_total_mass(self) -> float:
        """Mass of the robot [kg]."""
        return self.source.total_mass

    def get_joints_chain(self, root: str, target: str) -> list[AdamJoint]:
        """The joints on the way out from a link to a link or frame.

        Raises:
            ValueError: there is no such link, or the way does not lead out from the root.
        """
        for name in (root, target):
            if name not in self.links and name not in self.frames:
                raise unknown_name("link or frame", name, (*self.links, *self.frames))
        above = {joint.child: joint for joint in self.joints.values() if joint.child in self.frames}
        above |= {node.name: node.parent_arc for node in self.tree if node.parent_arc}
        chain: list[AdamJoint] = []
        here = target
        while here != root:
            if here not in above:
                raise model_error(f"does not hang on link {root!r}", f"link {target!r}")
            chain.insert(0, above[here])
            here = above[here].parent
        return chain

    def print_table(self) -> None:
        """Print which joint joins which links, with the package `rich`."""
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table("Idx", "Parent Link", "Joint name", "Child Link", "Type")
        arcs = [arc for node in self.tree.graph.values() for arc in node.arcs]
        for number, arc in enumerate(arcs, start=1):
            table.add_row(*map(Text, (str(number), arc.parent, arc.name, arc.child, arc.type)))
        Console().print(table)

    @cached_property
    def _sites(self) -> list[Frame]:
        return [frame for frame in self.source.frames if frame.name not in self.outside]

    def _joint(self, joint: Joint) -> AdamJoint:
        moving = joint.name in self.actuated_joints
        return AdamJoint(
            joint,
            parent=joint.first,
            child=joint.second,
            type=self.types.get(joint.name) or _type_of(joint),
            limit=self.limits.get(joint.name) or _limits_of(joint),
            idx=self.actuated_joints.index(joint.name) if moving else None,
        )


Model = AdamModel  # what adam calls it


def _joint_of(frame: Frame) -> Joint:
    """The joint that holds a frame, with the name that adam gives it."""
    return Joint(
        name=f"{frame.link}_to_{frame.name}_fixed",
        kind="fixed",
        first=frame.link,
        second=frame.name,
        first_H_joint=frame.link_H_frame,
    )


def _type_of(joint: Joint) -> str:
    """The type that a URDF would give a joint."""
    unbounded = isinf(joint.limits.lower) and isinf(joint.limits.upper)
    return "continuous" if joint.kind == "revolute" and unbounded else joint.kind


def _limits_of(joint: Joint) -> AdamLimits:
    """What adam has where a file gives no bounds: two turns, or any way."""
    limits, most = joint.limits, inf if joint.kind == "prismatic" else 2 * pi
    lower = -most if isinf(limits.lower) else limits.lower
    upper = most if isinf(limits.upper) else limits.upper
    return AdamLimits(lower, upper, limits.effort, limits.velocity)
