"""The data of a robot: an undirected graph of links and joints, and access to its parts.

`Model` adds edited copies. The modules that compute these copies work on a `Graph`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import fsum
from pathlib import Path

from linkwork.engine.cached_property import cached_property
from linkwork.errors import ModelError, NameNotFoundError, counted, name_not_found, shown
from linkwork.model.configurations import Configuration, configuration_findings
from linkwork.model.constraints import Constraint
from linkwork.model.parts import Actuator, Frame, Joint, Link, actuator_findings, check_name
from linkwork.model.structure import structure_findings


@dataclass(frozen=True, kw_only=True)
class Graph:
    """The fields of a `Model`, its checks, and access to parts by name."""

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...] = ()
    frames: tuple[Frame, ...] = ()
    constraints: tuple[Constraint, ...] = ()  # that are not joints
    configurations: tuple[Configuration, ...] = ()  # such as "home"; kd.q("home") returns one
    actuators: tuple[Actuator, ...] = ()  # kd.actuation is the matrix of their gears
    source: Path | None = field(default=None, compare=False)
    """The file that it was loaded from, also of changed copies; None if there is none."""
    srdf: Path | None = field(default=None, compare=False)
    """The SRDF file of the robot, also of changed copies; None if there is none."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", check_name("model", self.name))
        for name in ("links", "joints", "frames", "constraints", "configurations", "actuators"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        findings = structure_findings(self.links, self.joints, self.frames, self.constraints)
        findings += configuration_findings(self.configurations, self.links, self.joints)
        findings += actuator_findings(self.actuators, self.joints)
        if findings:
            raise ModelError(findings)

    def __repr__(self) -> str:
        sizes = {"link": len(self.links), "joint": len(self.joints), "frame": len(self.frames)}
        optional = {
            "constraint": len(self.constraints),
            "closed loop": self.n_loops,
            "configuration": len(self.configurations),
            "actuator": len(self.actuators),
        }
        sizes |= {noun: size for noun, size in optional.items() if size}
        counts = ", ".join(counted(size, noun) for noun, size in sizes.items())
        return f"<{type(self).__name__} {self.name!r}: {counts}, {self.total_mass:.6g} kg>"

    @cached_property
    def link_names(self) -> tuple[str, ...]:
        """Names of the links, in the order of their indices."""
        return tuple(link.name for link in self.links)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of all joints, fixed and dependent ones too; in the order of the indices."""
        return tuple(joint.name for joint in self.joints)

    @cached_property
    def actuated(self) -> tuple[str, ...] | None:
        """Names of the joints that have motors; None if that is not known of every joint."""
        moving = [joint for joint in self.joints if joint.nv]
        if any(joint.actuated is None for joint in moving):
            return None
        return tuple(joint.name for joint in moving if joint.actuated)

    @cached_property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all frames: first of the links, then of the additional frames."""
        return (*self.link_names, *(frame.name for frame in self.frames))

    @cached_property
    def total_mass(self) -> float:
        """Sum of the masses of the links [kg]."""
        return fsum(link.inertia.mass for link in self.links)

    @property
    def n_loops(self) -> int:
        """How many joints close a loop: those beyond the joints of a spanning tree."""
        return len(self.joints) - len(self.links) + 1

    @cached_property
    def default_base(self) -> str:
        """The one link that is `second` of no joint (a file's root), or else the first link."""
        seconds = {joint.second for joint in self.joints}
        roots = [name for name in self.link_names if name not in seconds]
        return roots[0] if len(roots) == 1 else self.link_names[0]

    def link(self, name: str) -> Link:
        """Return the link of this name."""
        return self.links[self.link_index(name)]

    def joint(self, name: str) -> Joint:
        """Return the joint of this name."""
        return self.joints[self.joint_index(name)]

    def frame(self, name: str) -> Frame:
        """Return the frame of this name; the frame of a link lies on the link itself."""
        index = self.frame_index(name) - len(self.links)
        return self.frames[index] if index >= 0 else Frame(name=name, link=name)

    def configuration(self, name: str) -> Configuration:
        """Return the named configuration of this name."""
        names = {one.name: index for index, one in enumerate(self.configurations)}
        return self.configurations[_look_up("configuration", name, names)]

    def link_index(self, name: str) -> int:
        """Return the index of a link in `links`."""
        return _look_up("link", name, self._link_indices)

    def joint_index(self, name: str) -> int:
        """Return the index of a joint in `joints`."""
        return _look_up("joint", name, self._joint_indices)

    def frame_index(self, name: str) -> int:
        """Return the index of a frame in `frame_names`."""
        try:
            return self._frame_indices[name]
        except (KeyError, TypeError):
            raise self._no_frame(name) from None

    def neighbors(self, link: str) -> tuple[tuple[str, str], ...]:
        """Return (other link, joint) for each joint of a link, in the order of the joints."""
        self.link_index(link)
        return self._adjacency[link]

    @cached_property
    def _link_indices(self) -> Mapping[str, int]:
        return _indices(self.link_names)

    @cached_property
    def _joint_indices(self) -> Mapping[str, int]:
        return _indices(self.joint_names)

    @cached_property
    def _frame_indices(self) -> Mapping[str, int]:
        return _indices(self.frame_names)

    @cached_property
    def _adjacency(self) -> Mapping[str, tuple[tuple[str, str], ...]]:
        others: dict[str, list[tuple[str, str]]] = {name: [] for name in self.link_names}
        for joint in self.joints:
            others[joint.first].append((joint.second, joint.name))
            others[joint.second].append((joint.first, joint.name))
        return {name: tuple(pairs) for name, pairs in others.items()}

    def _no_frame(self, name: object) -> NameNotFoundError:
        if not isinstance(name, str):
            return name_not_found("frame", name, self._frame_indices)
        joint = next((joint for joint in self.joints if joint.name == name), None)
        if joint is None:
            return name_not_found("frame", name, self._frame_indices)
        between = f"it joins the links {shown(joint.first)} and {shown(joint.second)}"
        return NameNotFoundError(f"no frame named {shown(name)}, but a joint; {between}")


def _indices(names: Iterable[str]) -> dict[str, int]:
    return {name: index for index, name in enumerate(names)}


def _look_up(what: str, name: str, indices: Mapping[str, int]) -> int:
    try:
        return indices[name]
    except (KeyError, TypeError):  # TypeError: not hashable, so no name either
        raise name_not_found(what, name, indices) from None
