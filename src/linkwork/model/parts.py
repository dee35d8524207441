"""The parts of a robot: links, joints between them, frames on them, actuators. Frozen data.

A joint has two mounts and no direction:

    first_H_second(theta) = first_H_joint @ M(theta) @ joint_H_second

with M the motion of its kind. Which of its links is the parent is decided by whoever looks at the
robot from some base, never here.

Constraints

Constraints that are not joints.

The joints of a model may form closed loops. Seen from a base, the joints of a spanning tree carry
the coordinates; every other joint closes a loop and prevents some relative motion of its two links.
A `Constraint` does the same without being a joint:

    point      two points coincide: 3 equations
    pose       two frames coincide: 6 equations
    coupling   the position of a joint is a polynomial of the position of another: 1 equation
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Literal, TypeAlias, get_args

from linkwork.errors import (
    Finding,
    ModelError,
    SourceLocation,
    Suggestions,
    concerning,
    model_error,
    nearest,
    shown,
)
from linkwork.model.geometry import Shape
from linkwork.model.inertia import NO_INERTIA, Inertia
from linkwork.model.joints import KINDS, JointKind
from linkwork.model.numbers import Triple, as_floats, finite, instance, number, settle, text, triple
from linkwork.model.pose import IDENTITY, Pose

# A `Joint` rejects an axis whose norm differs from 1 by more than this; `unit_vector` scales one.
UNIT_TOLERANCE = 1e-12
# An axis whose norm differs from 1 by no more than this is not scaled: scaling would only round it.
UNIT_NORM_ROUNDING = 1e-15
NamedPlace: TypeAlias = tuple[str, SourceLocation | None]  # a name, and where it is used


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A rigid body, and the frame fixed to it."""

    name: str
    inertia: Inertia = NO_INERTIA
    visuals: tuple[Shape, ...] = ()
    collisions: tuple[Shape, ...] = ()
    location: SourceLocation | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        settle(self, name=check_name("link", self.name, self.location))
        with concerning(f"link {self.name!r}", self.location):
            instance(self.inertia, Inertia, "inertia")
            settle(self, visuals=checked_shapes(self.visuals, "visuals"))
            settle(self, collisions=checked_shapes(self.collisions, "collisions"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A further frame fixed to a link, such as a tool tip or a sensor."""

    name: str
    link: str
    link_H_frame: Pose = IDENTITY
    location: SourceLocation | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        settle(self, name=check_name("frame", self.name, self.location))
        with concerning(f"frame {self.name!r}", self.location):
            settle(self, link=text(self.link, "link"))
            instance(self.link_H_frame, Pose, "link_H_frame")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of a joint with one coordinate; infinite where there is none."""

    lower: float = -inf  # [rad] or [m]
    upper: float = inf
    velocity: float = inf  # largest speed, either way [rad/s] or [m/s]
    effort: float = inf  # largest torque or force, either way [N m] or [N]

    def __post_init__(self) -> None:
        for name in ("lower", "upper", "velocity", "effort"):
            value = number(getattr(self, name), f"limit {name}")
            if math.isnan(value):
                raise model_error(f"limit {name} is not a number")
            settle(self, **{name: value})
        if self.lower > self.upper:
            raise model_error(f"limit lower {self.lower:g} is above upper {self.upper:g}")


NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mimic:
    """Dependence of a joint on another: theta = multiplier * theta_other + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        settle(
            self,
            joint=text(self.joint, "mimic joint"),
            multiplier=finite(self.multiplier, "mimic multiplier"),
            offset=finite(self.offset, "mimic offset"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """An edge of the link graph. It joins two links and has no direction of its own.

    Position and velocity describe the motion of `second` relative to `first`. A joint that
    mimics another has no coordinate of its own.
    """

    name: str
    kind: str  # a name in linkwork.model.joints.KINDS
    first: str
    second: str
    axis: Triple = (0.0, 0.0, 1.0)  # unit vector in the joint frame
    pitch: float = 0.0  # of a helical joint: advance along the axis per radian [m/rad]
    first_H_joint: Pose = IDENTITY  # where the joint sits on `first`
    joint_H_second: Pose = IDENTITY  # where `second` sits on the joint at its neutral position
    limits: Limits = NO_LIMITS
    mimic: Mimic | None = None
    damping: float = 0.0  # [N m s/rad] or [N s/m]
    friction: float = 0.0  # Coulomb friction [N m] or [N]
    armature: float = 0.0  # rotor inertia seen at the joint [kg m^2] or [kg]
    actuated: bool | None = None  # whether it has a motor; None if that is not known
    location: SourceLocation | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        settle(self, name=check_name("joint", self.name, self.location))
        with concerning(f"joint {self.name!r}", self.location):
            for name in ("kind", "first", "second"):
                settle(self, **{name: text(getattr(self, name), name)})
            settle(self, axis=triple(self.axis, "axis"))
            for name in ("pitch", "damping", "friction", "armature"):
                settle(self, **{name: number(getattr(self, name), name)})
            for name in ("first_H_joint", "joint_H_second"):
                instance(getattr(self, name), Pose, name)
            instance(self.limits, Limits, "limits")
            if self.actuated is not None:
                instance(self.actuated, bool, "actuated")
            if self.mimic is not None:
                instance(self.mimic, Mimic, "mimic")
        problems = list(_problems(self))
        if problems:
            element = f"joint {self.name!r}"
            raise ModelError([Finding("error", element, why, self.location) for why in problems])

    @property
    def motion_kind(self) -> JointKind:
        """The kind itself, which knows how the joint moves."""
        return KINDS[self.kind]

    @property
    def is_fixed(self) -> bool:
        """Whether the joint makes one body of its links."""
        return not self.motion_kind.nv

    @property
    def nq(self) -> int:
        """How many position coordinates the joint has of its own."""
        return 0 if self.mimic else self.motion_kind.nq

    @property
    def nv(self) -> int:
        """How many velocity coordinates the joint has of its own."""
        return 0 if self.mimic else self.motion_kind.nv


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
        """Return the actuator with the new name of its joint, and a prefix to its own name."""
        return replace(self, name=prefix + self.name, joint=joint[self.joint])


@dataclass(frozen=True, slots=True)
class Follower:
    """How a dependent joint moves: theta = multiplier * theta_leader + offset."""

    leader: str  # an independent joint
    multiplier: float
    offset: float


def resolved_followers(joints: Sequence[Joint]) -> dict[str, Follower]:
    """Follow chains of mimicking joints to their independent end, each joint once."""
    by_name = {joint.name: joint for joint in joints}
    followers: dict[str, Follower] = {}
    for joint in joints:
        chain: list[Joint] = []
        while joint.mimic and joint.name not in followers:
            chain.append(joint)
            joint = by_name[joint.mimic.joint]  # noqa: PLW2901 - walks up the chain
        for dependent in reversed(chain):
            mimic = dependent.mimic
            assert mimic
            above = followers.get(mimic.joint, Follower(mimic.joint, 1.0, 0.0))
            k, c = mimic.multiplier, mimic.offset
            offset = k * above.offset + c
            followers[dependent.name] = Follower(above.leader, k * above.multiplier, offset)
    return {joint.name: followers[joint.name] for joint in joints if joint.name in followers}


def unit_vector(axis: Iterable[float]) -> Triple:
    """Return an axis scaled to norm 1; one that has norm 1 already stays the same bit for bit."""
    numbers = triple(axis, "axis")
    largest = max(map(abs, numbers))
    if largest == 0:
        raise model_error("axis is zero, so it has no direction")
    x, y, z = (number / largest for number in numbers)  # so that no square overflows or vanishes
    length = math.sqrt(x * x + y * y + z * z)
    if abs(length * largest - 1) <= UNIT_NORM_ROUNDING:
        return numbers
    return (x / length, y / length, z / length)


def check_name(what: str, name: object, location: SourceLocation | None = None) -> str:
    """Return the name of a part as a Python str, or raise."""
    if not isinstance(name, str):
        raise model_error(f"the name of a {what} must be a str, got {name!r}", location=location)
    if not name.strip():
        raise model_error(
            f"the name of a {what} must not be empty, got {name!r}", location=location
        )
    return str.__str__(name)


def checked_shapes(shapes: Iterable[Shape], what: str) -> tuple[Shape, ...]:
    """Convert shapes to a tuple; raise if one is not a `Shape`."""
    if not isinstance(shapes, Iterable):
        raise model_error(f"{what}: expected Shapes, got {shown(shapes)}")
    return tuple(instance(shape, Shape, what) for shape in shapes)


def _problems(joint: Joint) -> Iterable[str]:
    """Yield all errors of a joint by itself."""
    if joint.kind not in KINDS:
        yield f"unknown kind {joint.kind!r}; {nearest(joint.kind, KINDS)}"
        return
    if joint.first == joint.second:
        yield f"joins link {joint.first!r} to itself"
    if joint.actuated and not joint.nv:
        yield "has no coordinate, so it cannot be actuated"
    x, y, z = joint.axis
    if abs(math.sqrt(x * x + y * y + z * z) - 1) > UNIT_TOLERANCE:
        yield f"axis {joint.axis} is not of length 1"
    if joint.pitch and not joint.motion_kind.has_pitch:
        yield f"a {joint.kind} joint has no pitch, got {joint.pitch:g}"
    for name in ("pitch", "damping", "friction", "armature"):
        if not math.isfinite(getattr(joint, name)):
            yield f"{name} {getattr(joint, name)} is not finite"
    if joint.mimic and joint.motion_kind.nq != 1:
        yield f"a {joint.kind} joint cannot mimic another; only joints with one coordinate can"
    if joint.mimic and joint.mimic.joint == joint.name:
        yield "mimics itself"
    if joint.motion_kind.nv != 1 and joint.limits != NO_LIMITS:
        yield f"a {joint.kind} joint has no limits, got {joint.limits}"


def on_joints(actuators: Iterable[Actuator], joints: Iterable[Joint]) -> tuple[Actuator, ...]:
    """Return the actuators whose joints are among these and can move."""
    moving = {joint.name for joint in joints if not joint.is_fixed}
    return tuple(one for one in actuators if one.joint in moving)


def duplicate_names(
    what: str, parts: Iterable[Any], unread: Iterable[NamedPlace] = ()
) -> Iterator[Finding]:
    """Yield an error for each part whose name an earlier part has.

    Args:
        what: the kind of the parts, such as "link".
        parts: objects with a name and a location.
        unread: names and locations of further parts.
    """
    first: dict[str, SourceLocation | None] = {}
    for name, location in (*((part.name, part.location) for part in parts), *unread):
        if name not in first:
            first[name] = location
            continue
        earlier = first[name]
        first_use = f"; first used at {earlier.short}" if earlier else ""
        text = f"this name is taken by another {what}{first_use}"
        yield Finding("error", f"{what} {name!r}", text, location)


def actuator_findings(actuators: Sequence[Actuator], joints: Sequence[Joint]) -> Iterator[Finding]:
    """Yield errors: names used twice, unknown joints, and gears of another size."""
    by_name = {joint.name: joint for joint in joints}
    suggest = Suggestions(by_name)
    yield from duplicate_names("actuator", actuators)
    for one in actuators:
        for problem in _gear_problems(one, by_name.get(one.joint), suggest):
            yield Finding("error", f"actuator {one.name!r}", problem, one.location)


def _gear_problems(actuator: Actuator, joint: Joint | None, suggest: Suggestions) -> Iterator[str]:
    if joint is None:
        yield f"no joint named {shown(actuator.joint)}{suggest(actuator.joint)}"
    elif joint.is_fixed:
        yield f"joint {joint.name!r} is fixed"
    elif len(actuator.gear) != joint.motion_kind.nv:
        expected = f"joint {joint.name!r} has {joint.motion_kind.nv} velocity coordinates"
        yield f"{expected}, got a gear of {len(actuator.gear)} numbers"


ConstraintKind: TypeAlias = Literal["point", "pose", "coupling"]
CONSTRAINT_KINDS: tuple[ConstraintKind, ...] = get_args(ConstraintKind)
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
            if self.kind not in CONSTRAINT_KINDS:
                hint = nearest(self.kind, CONSTRAINT_KINDS)
                raise model_error(f"unknown kind {shown(self.kind)}; {hint}")
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
        return () if self.kind == "coupling" else self._ends

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints that a coupling couples."""
        return self._ends if self.kind == "coupling" else ()

    @property
    def _ends(self) -> tuple[str, ...]:
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
