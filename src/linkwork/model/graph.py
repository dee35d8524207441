"""The data of a robot: an undirected graph of links and joints, access to its parts, and checks.

`Model` adds edited copies. The modules that compute these copies work on a `Graph`.

The spanning tree says which joints close the loops of the graph; walks follow the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

from linkwork.engine.cached_property import cached_property
from linkwork.errors import (
    MOST_LISTED,
    Finding,
    ModelError,
    NameNotFoundError,
    Suggestions,
    counted,
    listed,
    model_error,
    name_not_found,
    shown,
)
from linkwork.model.configurations import Configuration, configuration_findings
from linkwork.model.parts import (
    Actuator,
    Constraint,
    Frame,
    Joint,
    Link,
    NamedPlace,
    actuator_findings,
    check_name,
    constraint_findings,
    duplicate_names,
    on_joints,
)


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


# Validity: all reasons why parts are not one robot. The links and joints must form a connected
# graph; it may have closed loops. Walks are iterative, so chains of links may have any length.


def structure_findings(
    links: Sequence[Link],
    joints: Sequence[Joint],
    frames: Sequence[Frame],
    constraints: Sequence[Constraint] = (),
) -> list[Finding]:
    """Return all reasons why these parts are not a robot; empty if they are."""
    frame_names = {part.name for part in (*links, *frames)}
    return [
        *part_findings(links, joints, frames),
        *constraint_findings(constraints, frame_names, joints),
    ] or list(_graph_findings(links, joints))


def part_findings(
    links: Sequence[Link],
    joints: Sequence[Joint],
    frames: Sequence[Frame],
    unread_joints: Sequence[NamedPlace] = (),
) -> list[Finding]:
    """Return errors: names used twice, unknown names, and joints that cannot mimic others.

    Args:
        links, joints, frames: the parts.
        unread_joints: names and locations of joints that are there but could not be read.
    """
    return [
        *([] if links else [Finding("error", "", "the robot has no links")]),
        *duplicate_names("link", links),
        *duplicate_names("joint", joints, unread_joints),
        *duplicate_names("frame", frames),
        *_frame_findings(links, frames),
        *_end_findings(links, joints),
        *_mimic_findings(joints, {name for name, _ in unread_joints}),
    ]


def cycles(next_of: Mapping[str, str]) -> Iterator[list[str]]:
    """Yield each cycle among names that lead to at most one other name, once."""
    settled: set[str] = set()
    for start in next_of:
        path: dict[str, None] = {}  # an ordered set
        here = start
        while here in next_of and here not in settled and here not in path:
            path[here] = None
            here = next_of[here]
        if here in path:
            names = list(path)
            yield names[names.index(here) :]
        settled.update(path)


def joined(names: Sequence[str], arrow: str) -> str:
    """Return names with an arrow between them; the middle of a long list is left out."""
    if len(names) > 2 * MOST_LISTED:
        names = [*names[:MOST_LISTED], "...", *names[-MOST_LISTED:]]
    return arrow.join(names)


def _frame_findings(links: Sequence[Link], frames: Sequence[Frame]) -> Iterator[Finding]:
    names = {link.name for link in links}
    suggest = Suggestions(names)
    for frame in frames:
        element = f"frame {frame.name!r}"
        if frame.name in names:
            text = "a link has this name, and so has the link's frame"
            yield Finding("error", element, text, frame.location)
        if frame.link not in names:
            text = f"no link named {shown(frame.link)}{suggest(frame.link)}"
            yield Finding("error", element, text, frame.location)


def _end_findings(links: Sequence[Link], joints: Sequence[Joint]) -> Iterator[Finding]:
    names = {link.name for link in links}
    suggest = Suggestions(names)
    for joint in joints:
        for end in (joint.first, joint.second):
            if end not in names:
                text = f"no link named {shown(end)}{suggest(end)}"
                yield Finding("error", f"joint {joint.name!r}", text, joint.location)


def _mimic_findings(joints: Sequence[Joint], unread_joints: Collection[str]) -> Iterator[Finding]:
    """Yield errors of joints that mimic unknown joints, joints of other kinds, or a cycle."""
    by_name = {joint.name: joint for joint in joints}
    suggest = Suggestions(joint.name for joint in joints if joint.motion_kind.nq == 1)
    for joint in joints:
        if joint.mimic is None or joint.mimic.joint in unread_joints:
            continue
        leader = by_name.get(joint.mimic.joint)
        if leader is None:
            text = f"mimics joint {shown(joint.mimic.joint)}, which does not exist"
            text += suggest(joint.mimic.joint, exclude=joint.name)
        elif leader.motion_kind.nq != 1:
            text = f"mimics the {leader.kind} joint {leader.name!r}, which has no single coordinate"
        else:
            continue
        yield Finding("error", f"joint {joint.name!r}", text, joint.location)
    leaders = {joint.name: joint.mimic.joint for joint in joints if joint.mimic}
    for cycle in cycles(leaders):
        joint = by_name[cycle[0]]
        text = f"mimics itself in a cycle: {joined([*cycle, cycle[0]], ' -> ')}"
        yield Finding("error", f"joint {joint.name!r}", text, joint.location)


def _graph_findings(links: Sequence[Link], joints: Sequence[Joint]) -> Iterator[Finding]:
    """Yield an error about links that no joint connects to the others."""
    pieces = connected_pieces([link.name for link in links], joints)
    if len(pieces) > 1:
        yield _pieces_finding(pieces)


def connected_pieces(links: Sequence[str], joints: Sequence[Joint]) -> list[list[str]]:
    """Return the links in groups that joints connect; each group starts with its first link."""
    neighbors: dict[str, list[str]] = {link: [] for link in links}
    for joint in joints:
        neighbors[joint.first].append(joint.second)
        neighbors[joint.second].append(joint.first)
    pieces: list[list[str]] = []
    reached: set[str] = set()
    for link in links:
        if link in reached:
            continue
        piece, waiting = [], [link]
        reached.add(link)
        while waiting:
            here = waiting.pop()
            piece.append(here)
            for there in neighbors[here]:
                if there not in reached:
                    reached.add(there)
                    waiting.append(there)
        pieces.append(piece)
    return pieces


def _pieces_finding(pieces: list[list[str]]) -> Finding:
    names = listed([repr(piece[0]) for piece in pieces])
    text = f"the links fall into {len(pieces)} pieces that no joint connects; they hold {names}"
    return Finding("error", "", text)


M = TypeVar("M", bound=Graph)


def closing_joints(
    model: Graph, base: str | None = None, cut: Iterable[str] = ()
) -> tuple[Joint, ...]:
    """Return the joints that are not in the spanning tree, in the order of the model.

    Joints are added to the tree one after the other, unless they close a loop: first all that are
    not in `cut`, fixed, actuated and coupled ones before others, joints with fewer degrees of
    freedom before those with more, those near the base before distant ones, and in the order of the
    model.

    Args:
        model: the robot.
        base: the link or frame from which distances are measured; `default_base` if not given.
        cut: names of joints to leave out of the tree.

    Raises:
        NameNotFoundError: there is no such joint.
        ModelError: a joint in `cut` is not part of a loop, or a joint that is coupled to another
            closes a loop.
    """
    names = list(cut)
    for name in names:
        if name not in model.joint_names:
            raise name_not_found("joint", name, model.joint_names)
    if not names and len(model.joints) < len(model.links):
        return ()
    distance = _distances(model, model.frame(base or model.default_base).link)
    coupled = {name for constraint in model.constraints for name in constraint.joints}
    coupled |= {name for one in model.joints if one.mimic for name in (one.name, one.mimic.joint)}

    def priority(joint: Joint) -> tuple[bool, bool, int, int]:
        near = min(distance[joint.first], distance[joint.second])
        free = not (joint.is_fixed or joint.actuated or joint.name in coupled)
        return joint.name in names, free, joint.motion_kind.nv, near

    closing = closing_edges(model.links, sorted(model.joints, key=priority))
    for joint in closing:
        if joint.name in coupled:
            raise model_error(
                "closes a loop, so it has no coordinate, but it is coupled to another joint",
                f"joint {joint.name!r}",
                joint.location,
            )
    left_out = {joint.name for joint in closing}
    for name in names:
        if name not in left_out:
            text = "cannot be cut: it is not part of a loop, or other cut joints open its loops"
            raise model_error(text, f"joint {name!r}", model.joint(name).location)
    return tuple(joint for joint in model.joints if joint.name in left_out)


def require_tree(model: Graph, what: str) -> None:
    """Raise if a robot has closed loops or constraints that `what` cannot represent.

    Raises:
        ModelError: it has.
    """
    closing = closing_joints(model)
    parts = [(f"joint {one.name!r}", "closes a loop", one.location) for one in closing]
    parts += [
        (f"constraint {one.name!r}", f"is a {one.kind} constraint", one.location)
        for one in model.constraints
    ]
    if parts:
        raise ModelError(
            [Finding("error", who, f"{why}; {what}", where) for who, why, where in parts]
        )


def opened(model: M, closing: Sequence[Joint]) -> M:
    """Return the spanning tree of a model: a copy without the joints that close its loops."""
    if not closing:
        return model
    names = {joint.name for joint in closing}
    joints = tuple(joint for joint in model.joints if joint.name not in names)
    return replace(
        model,
        joints=joints,
        constraints=(),
        configurations=tuple(one.with_joints(joints) for one in model.configurations),
        actuators=on_joints(model.actuators, joints),
    )


def closing_edges(links: Sequence[Link], joints: Iterable[Joint]) -> list[Joint]:
    """Return the joints between links that the joints before them connect already (union-find)."""
    piece = {link.name: link.name for link in links}  # by link: another of its piece, or itself

    def representative(link: str) -> str:
        while piece[link] != link:
            piece[link] = link = piece[piece[link]]
        return link

    closing: list[Joint] = []
    for joint in joints:
        a, b = representative(joint.first), representative(joint.second)
        if a == b:
            closing.append(joint)
        piece[a] = b
    return closing


def _distances(model: Graph, base: str) -> dict[str, int]:
    """Return how many joints are between the base and each link, at least."""
    distance, layer = {base: 0}, [base]
    while layer:
        following: list[str] = []
        for link in layer:
            for other, _ in model.neighbors(link):
                if other not in distance:
                    distance[other] = distance[link] + 1
                    following.append(other)
        layer = following
    return distance


class Visit(NamedTuple):
    """A link, and how a walk reaches it; the base has no parent and no joint."""

    link: str
    parent: str | None
    joint: Joint | None


Arrange: TypeAlias = Callable[[Sequence[Visit]], Sequence[Visit]]


def walk(model: Graph, base: str, arranged: Arrange | None = None) -> Iterator[Visit]:
    """Visit every link depth first, each parent before its children; iterative, so of any depth.

    Joints that close loops (`closing_joints`) are not crossed.

    Args:
        model: the robot.
        base: the link to start from.
        arranged: puts the visits that lead on from one link in order; if not given, they come in
            the order of the joints.

    Raises:
        NameNotFoundError: the model has no such link.
    """
    closing = {joint.name for joint in closing_joints(model, base)}
    waiting = [Visit(base, None, None)]
    while waiting:
        here = waiting.pop()
        yield here
        came_by = here.joint and here.joint.name
        onward: Sequence[Visit] = [
            Visit(other, here.link, model.joint(joint))
            for other, joint in model.neighbors(here.link)
            if joint != came_by and joint not in closing
        ]
        waiting.extend(reversed(arranged(onward) if arranged else onward))
