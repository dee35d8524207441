"""Constraints that are not joints, and the spanning tree of a model with closed loops.

The joints of a model may form closed loops. Seen from a base, the joints of a spanning tree carry
the coordinates; every other joint closes a loop and prevents some relative motion of its two links.
A `Constraint` does the same without being a joint:

    point      two points coincide: 3 equations
    pose       two frames coincide: 6 equations
    coupling   the position of a joint is a polynomial of the position of another: 1 equation
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from linkwork.errors import (
    Finding,
    ModelError,
    SourceLocation,
    Suggestions,
    concerning,
    model_error,
    name_not_found,
    nearest,
    shown,
)
from linkwork.model.actuators import on_joints
from linkwork.model.numbers import finite, instance, settle, text
from linkwork.model.parts import Joint, Link, check_name
from linkwork.model.pose import IDENTITY, Pose

if TYPE_CHECKING:
    from linkwork.model.model import Model

ConstraintKind: TypeAlias = Literal["point", "pose", "coupling"]
KINDS: tuple[ConstraintKind, ...] = get_args(ConstraintKind)
WORLD = "world"
"""In messages: the other side of a constraint without a second frame."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """An equation between two frames, between a frame and the world, or between two joints."""

    name: str
    kind: ConstraintKind
    first: str  # a frame; of a coupling, the joint whose position is prescribed
    second: str | None = None  # a frame, or None for the world; of a coupling, the other joint
    first_H_anchor: Pose = IDENTITY  # the point, or the frame, that is constrained
    second_H_anchor: Pose = IDENTITY  # the same on the other side
    coefficients: tuple[float, ...] = ()  # of a coupling: theta_first = c0 + c1 theta_second + ...
    location: SourceLocation | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        settle(self, name=check_name("constraint", self.name, self.location))
        with concerning(f"constraint {self.name!r}", self.location):
            if self.kind not in KINDS:
                raise model_error(f"unknown kind {shown(self.kind)}; {nearest(self.kind, KINDS)}")
            settle(self, first=text(self.first, "first"))
            if self.second is not None:
                settle(self, second=text(self.second, "second"))
            for name in ("first_H_anchor", "second_H_anchor"):
                instance(getattr(self, name), Pose, name)
            numbers = tuple(finite(value, "coefficients") for value in self.coefficients)
            settle(self, coefficients=numbers)
            self._check()

    def _check(self) -> None:
        if self.first == self.second:
            raise model_error(f"constrains {self.first!r} to itself")
        if self.kind != "coupling":
            if self.coefficients:
                raise model_error(f"a {self.kind} constraint has no coefficients")
        elif not self.coefficients:
            raise model_error("a coupling needs the coefficients of its polynomial")
        elif self.second is None and len(self.coefficients) > 1:
            raise model_error("a coupling without a second joint has one coefficient, the position")
        elif (self.first_H_anchor, self.second_H_anchor) != (IDENTITY, IDENTITY):
            raise model_error("a coupling has no anchors")

    @property
    def frames(self) -> tuple[str, ...]:
        """The frames that it constrains; none for a coupling."""
        if self.kind == "coupling":
            return ()
        return (self.first,) if self.second is None else (self.first, self.second)

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints that a coupling couples."""
        if self.kind != "coupling":
            return ()
        return (self.first,) if self.second is None else (self.first, self.second)


def constraint_findings(
    constraints: Sequence[Constraint], frames: Collection[str], joints: Sequence[Joint]
) -> Iterator[Finding]:
    """Names used twice, and constraints of frames or joints that do not exist."""
    by_name = {joint.name: joint for joint in joints}
    seen: set[str] = set()
    for one in constraints:
        element = f"constraint {one.name!r}"
        if one.name in seen:
            yield Finding("error", element, "another constraint has this name", one.location)
        if one.name in by_name:
            yield Finding("error", element, "a joint has this name", one.location)
        seen.add(one.name)
        for name in one.frames:
            if name not in frames:
                message = f"no frame named {shown(name)}{Suggestions(frames)(name)}"
                yield Finding("error", element, message, one.location)
        for name in one.joints:
            if name not in by_name:
                message = f"no joint named {shown(name)}{Suggestions(by_name)(name)}"
                yield Finding("error", element, message, one.location)
            elif by_name[name].motion_kind.nq != 1:
                kind = by_name[name].kind
                message = f"the {kind} joint {name!r} has no single coordinate to couple"
                yield Finding("error", element, message, one.location)


def closing_joints(
    model: Model, base: str | None = None, cut: Iterable[str] = ()
) -> tuple[Joint, ...]:
    """The joints that are not in the spanning tree, in the order of the model.

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


def require_tree(model: Model, what: str) -> None:
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


def opened(model: Model, closing: Sequence[Joint]) -> Model:
    """The spanning tree of a model: a copy without the joints that close its loops."""
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
    """The joints between links that the joints before them connect already (union-find)."""
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


def _distances(model: Model, base: str) -> dict[str, int]:
    """How many joints are between the base and each link, at least."""
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
