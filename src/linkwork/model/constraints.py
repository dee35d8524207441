"""Constraints that are not joints.

The joints of a model may form closed loops. Seen from a base, the joints of a spanning tree carry
the coordinates; every other joint closes a loop and prevents some relative motion of its two links.
A `Constraint` does the same without being a joint:

    point      two points coincide: 3 equations
    pose       two frames coincide: 6 equations
    coupling   the position of a joint is a polynomial of the position of another: 1 equation
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from linkwork.errors import (
    Finding,
    SourceLocation,
    Suggestions,
    concerning,
    model_error,
    nearest,
    shown,
)
from linkwork.model.numbers import finite, instance, settle, text
from linkwork.model.parts import Joint, check_name, duplicate_names
from linkwork.model.pose import IDENTITY, Pose

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
    """Yield errors: names used twice, and frames or joints that do not exist."""
    by_name = {joint.name: joint for joint in joints}
    yield from duplicate_names("constraint", constraints)
    for one in constraints:
        element = f"constraint {one.name!r}"
        if one.name in by_name:
            yield Finding("error", element, "a joint has this name", one.location)
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
