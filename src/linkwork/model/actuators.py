"""Actuators: motors with gears, and the joints that they drive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from linkwork.errors import Finding, SourceLocation, Suggestions, concerning, model_error, shown
from linkwork.model.numbers import as_floats, settle, text
from linkwork.model.parts import Joint, check_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Actuator:
    """A motor. Its force or torque u exerts `gear * u` on a joint."""

    name: str
    joint: str  # may depend on another joint
    gear: tuple[float, ...] = (1.0,)  # for each velocity coordinate of the joint's kind
    location: SourceLocation | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        settle(self, name=check_name("actuator", self.name, self.location))
        with concerning(f"actuator {self.name!r}", self.location):
            settle(self, joint=text(self.joint, "joint"))
            numbers = as_floats(self.gear, "gear").reshape(-1)
            settle(self, gear=tuple(numbers.tolist()))
            if not all(abs(number) < float("inf") for number in self.gear):
                raise model_error(f"gear {list(self.gear)} is not finite")

    def renamed(self, joint: Mapping[str, str], prefix: str) -> Actuator:
        """The actuator with the new name of its joint, and a prefix to its own name."""
        return replace(self, name=prefix + self.name, joint=joint[self.joint])


def on_joints(actuators: Iterable[Actuator], joints: Iterable[Joint]) -> tuple[Actuator, ...]:
    """The actuators whose joints are among these and can move."""
    moving = {joint.name for joint in joints if not joint.is_fixed}
    return tuple(one for one in actuators if one.joint in moving)


def actuator_findings(actuators: Sequence[Actuator], joints: Sequence[Joint]) -> Iterator[Finding]:
    """Names used twice, unknown joints, and gears that do not fit to the joint."""
    by_name = {joint.name: joint for joint in joints}
    suggest = Suggestions(by_name)
    seen: set[str] = set()
    for one in actuators:
        for problem in _problems(one, by_name.get(one.joint), suggest):
            yield Finding("error", f"actuator {one.name!r}", problem, one.location)
        if one.name in seen:
            text = "another actuator has this name"
            yield Finding("error", f"actuator {one.name!r}", text, one.location)
        seen.add(one.name)


def _problems(actuator: Actuator, joint: Joint | None, suggest: Suggestions) -> Iterator[str]:
    if joint is None:
        yield f"no joint named {shown(actuator.joint)}{suggest(actuator.joint)}"
    elif joint.is_fixed:
        yield f"joint {joint.name!r} is fixed"
    elif len(actuator.gear) != joint.motion_kind.nv:
        expected = f"joint {joint.name!r} has {joint.motion_kind.nv} velocity coordinates"
        yield f"{expected}, got a gear of {len(actuator.gear)} numbers"
