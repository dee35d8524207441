"""The spanning tree of a robot: which joints close its loops, and walks along the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias, TypeVar

from linkwork.errors import Finding, ModelError, model_error, name_not_found
from linkwork.model.graph import Graph
from linkwork.model.parts import Joint, Link, on_joints

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
