"""Validity of the structure of a robot: reports all reasons why its parts are not one robot.

The links and joints must form a connected graph; it may have closed loops. Walks are iterative, so
that the recursion limit of Python bounds no chain of links.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from linkwork.errors import MOST_LISTED, Finding, Suggestions, listed, shown
from linkwork.model.constraints import Constraint, constraint_findings
from linkwork.model.parts import Frame, Joint, Link, NamedPlace, duplicate_names


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
