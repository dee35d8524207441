"""A robot as data: an undirected graph of links and joints. No state, no arrays, no base."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum

from linkwork.errors import ModelError, name_not_found
from linkwork.lazy import cached_property
from linkwork.model.parts import Frame, Joint, Link, check_name
from linkwork.model.structure import structure_findings


@dataclass(frozen=True, kw_only=True)
class Model:
    """Links, the joints between them, and further frames on them.

    The links and joints form a tree in which any link can be the base. The world is not a link: a
    single link without joints is a body that floats freely. Each link has a frame of its own, which
    shares its name; `frames` are those in addition. Order is the order of the file or of adding.
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...] = ()
    frames: tuple[Frame, ...] = ()

    def __post_init__(self) -> None:
        check_name("model", self.name)
        for field in ("links", "joints", "frames"):
            object.__setattr__(self, field, tuple(getattr(self, field)))
        findings = structure_findings(self.links, self.joints, self.frames)
        if findings:
            raise ModelError(findings)

    def __repr__(self) -> str:
        counts = f"{len(self.links)} links, {len(self.joints)} joints, {len(self.frames)} frames"
        return f"<Model {self.name!r}: {counts}, {self.total_mass:.6g} kg>"

    @cached_property
    def link_names(self) -> tuple[str, ...]:
        """Names of the links; a link's index is its place here."""
        return tuple(link.name for link in self.links)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of all joints, fixed and dependent ones too; a joint's index is its place here."""
        return tuple(joint.name for joint in self.joints)

    @cached_property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all frames: those of the links in their order, then the additional ones."""
        return (*self.link_names, *(frame.name for frame in self.frames))

    @cached_property
    def total_mass(self) -> float:
        """Sum of the masses of the links [kg]."""
        return fsum(link.inertia.mass for link in self.links)

    @cached_property
    def default_base(self) -> str:
        """The one link that is `second` of no joint (a file's root), or else the first link."""
        seconds = {joint.second for joint in self.joints}
        roots = [name for name in self.link_names if name not in seconds]
        return roots[0] if len(roots) == 1 else self.link_names[0]

    def link(self, name: str) -> Link:
        """The link of this name."""
        return self.links[self.link_index(name)]

    def joint(self, name: str) -> Joint:
        """The joint of this name."""
        return self.joints[self.joint_index(name)]

    def frame(self, name: str) -> Frame:
        """The frame of this name; the frame of a link lies on the link itself."""
        index = self.frame_index(name) - len(self.links)
        return self.frames[index] if index >= 0 else Frame(name=name, link=name)

    def link_index(self, name: str) -> int:
        """Place of a link in `links`."""
        return _look_up("link", name, self._link_places)

    def joint_index(self, name: str) -> int:
        """Place of a joint in `joints`."""
        return _look_up("joint", name, self._joint_places)

    def frame_index(self, name: str) -> int:
        """Place of a frame in `frame_names`."""
        return _look_up("frame", name, self._frame_places)

    def neighbors(self, link: str) -> tuple[tuple[str, str], ...]:
        """(other link, joint) for each joint of a link, in the order of the joints."""
        self.link_index(link)
        return self._adjacency[link]

    @cached_property
    def _link_places(self) -> Mapping[str, int]:
        return {name: index for index, name in enumerate(self.link_names)}

    @cached_property
    def _joint_places(self) -> Mapping[str, int]:
        return {name: index for index, name in enumerate(self.joint_names)}

    @cached_property
    def _frame_places(self) -> Mapping[str, int]:
        return {name: index for index, name in enumerate(self.frame_names)}

    @cached_property
    def _adjacency(self) -> Mapping[str, tuple[tuple[str, str], ...]]:
        found: dict[str, list[tuple[str, str]]] = {name: [] for name in self.link_names}
        for joint in self.joints:
            found[joint.first].append((joint.second, joint.name))
            found[joint.second].append((joint.first, joint.name))
        return {name: tuple(others) for name, others in found.items()}


def _look_up(what: str, name: str, places: Mapping[str, int]) -> int:
    try:
        return places[name]
    except (KeyError, TypeError):  # TypeError: not hashable, so no name either
        raise name_not_found(what, name, places) from None
