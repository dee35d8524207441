"""What differs between two robots, part by part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import PureWindowsPath
from typing import Any

import numpy as np

from linkwork.model.configurations import Configuration
from linkwork.model.geometry import Mesh, Shape
from linkwork.model.model import Model
from linkwork.model.parts import WORLD, Actuator, Constraint, Frame, Joint, Link
from linkwork.model.pose import Pose
from linkwork.spatial.source import so3

SAME = 1e-9  # numbers that differ by less, relative to the larger or absolute, are the same


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference: the part, the property, and its value in both robots."""

    element: str  # such as "joint 'elbow'"
    what: str  # such as "upper limit"; "" if only one robot has the part
    first: str
    second: str

    def __str__(self) -> str:
        """Return the difference as one line."""
        if not self.what:
            return f"{self.element}: {self.first or self.second}"
        return f"{self.element}: {self.what}: {self.first} -> {self.second}"


def differences(first: Model, second: Model, tolerance: float = SAME) -> list[Difference]:
    """Return all differences between two robots, by the names of their parts.

    Args:
        first, second: the robots.
        tolerance: relative to the larger of two numbers, or absolute if both are small.
    """
    results = [*_named_parts("link", first.links, second.links, _links, tolerance)]
    results += _named_parts("joint", first.joints, second.joints, _joints, tolerance)
    results += _named_parts("frame", first.frames, second.frames, _frames, tolerance)
    results += _named_parts(
        "constraint", first.constraints, second.constraints, _constraints, tolerance
    )
    results += _named_parts(
        "configuration", first.configurations, second.configurations, _configurations, tolerance
    )
    results += _named_parts("actuator", first.actuators, second.actuators, _actuators, tolerance)
    return results


def _named_parts(
    what: str, first: Sequence[Any], second: Sequence[Any], compare: Any, tolerance: float
) -> Iterator[Difference]:
    others = {part.name: part for part in second}
    first_names = {part.name for part in first}
    for part in first:
        element = f"{what} {part.name!r}"
        if part.name not in others:
            yield Difference(element, "", "only in the first", "")
            continue
        for name, one, other in compare(part, others[part.name]):
            if not _is_same(one, other, tolerance):
                yield Difference(element, name, _text(one), _text(other))
    for part in second:
        if part.name not in first_names:
            yield Difference(f"{what} {part.name!r}", "", "", "only in the second")


def _links(one: Link, other: Link) -> Iterator[tuple[str, Any, Any]]:
    a, b = one.inertia, other.inertia
    yield "mass [kg]", a.mass, b.mass
    if a.mass or b.mass:  # without mass there is no such point, whatever the file contains
        yield "center of mass [m]", tuple(a.com), tuple(b.com)
    yield "tensor xx xy xz yy yz zz about the center of mass [kg m^2]", a.tensor, b.tensor
    yield from _shapes("visual", one.visuals, other.visuals)
    yield from _shapes("collision", one.collisions, other.collisions)


def _shapes(
    what: str, first: Sequence[Shape], second: Sequence[Shape]
) -> Iterator[tuple[str, Any, Any]]:
    """Yield shapes in their order: geometry and pose, but not names and colors."""
    yield f"{what}s", len(first), len(second)
    if len(first) != len(second):
        return
    for number, (one, other) in enumerate(zip(first, second, strict=True)):
        (kind, size), (other_kind, other_size) = _geometry(one), _geometry(other)
        yield f"{what} {number}", kind, other_kind
        if kind == other_kind:
            yield f"{what} {number}, size", size, other_size
        yield from _poses(f"{what} {number}", one.link_H_shape, other.link_H_shape)


def _geometry(shape: Shape) -> tuple[str, tuple[float, ...]]:
    """Return the kind of a shape, for a mesh with the name of its file, and its size."""
    kind, sizes = shape.geometry.kind, shape.geometry.sizes
    if isinstance(shape.geometry, Mesh):
        kind += f" {PureWindowsPath(shape.geometry.filename).name}"  # splits at / and at \
    return kind, sizes


def _joints(one: Joint, other: Joint) -> Iterator[tuple[str, Any, Any]]:
    yield "kind", one.kind, other.kind
    yield "links", f"{one.first} to {one.second}", f"{other.first} to {other.second}"
    yield from _poses("mount on its first link", one.first_H_joint, other.first_H_joint)
    yield from _poses("mount of its second link", one.joint_H_second, other.joint_H_second)
    yield "axis", tuple(one.axis), tuple(other.axis)
    yield "pitch [m/rad]", one.pitch, other.pitch
    for name in ("lower", "upper", "velocity", "effort"):
        yield f"{name} limit", getattr(one.limits, name), getattr(other.limits, name)
    for name in ("damping", "friction", "armature"):
        yield name, getattr(one, name), getattr(other, name)
    yield "mimics", _mimic(one), _mimic(other)
    yield "motor", _motor(one), _motor(other)


def _motor(joint: Joint) -> str:
    return {None: "not known", True: "yes", False: "no"}[joint.actuated]


def _frames(one: Frame, other: Frame) -> Iterator[tuple[str, Any, Any]]:
    yield "link", one.link, other.link
    yield from _poses("pose", one.link_H_frame, other.link_H_frame)


def _constraints(one: Constraint, other: Constraint) -> Iterator[tuple[str, Any, Any]]:
    yield "kind", one.kind, other.kind
    ends = [f"{part.first} and {part.second or WORLD}" for part in (one, other)]
    yield "between", ends[0], ends[1]
    yield from _poses("first anchor", one.first_H_anchor, other.first_H_anchor)
    yield from _poses("second anchor", one.second_H_anchor, other.second_H_anchor)
    coefficients = [" ".join(f"{c:g}" for c in part.coefficients) for part in (one, other)]
    yield "coefficients", coefficients[0], coefficients[1]


def _configurations(one: Configuration, other: Configuration) -> Iterator[tuple[str, Any, Any]]:
    a, b = dict(one.positions), dict(other.positions)
    for joint in dict.fromkeys((*a, *b)):
        first, second = a.get(joint, "neutral"), b.get(joint, "neutral")
        if isinstance(first, str) != isinstance(second, str):
            first, second = _text(first), _text(second)
        yield f"position of joint {joint!r}", first, second
    yield "link with a pose", one.link or "none", other.link or "none"
    yield from _poses("its pose", one.world_H_link, other.world_H_link)


def _actuators(one: Actuator, other: Actuator) -> Iterator[tuple[str, Any, Any]]:
    yield "joint", one.joint, other.joint
    first, second = (" ".join(f"{number:.9g}" for number in part.gear) for part in (one, other))
    yield "gear", first, second


def _poses(what: str, one: Pose, other: Pose) -> Iterator[tuple[str, Any, Any]]:
    yield f"{what}, position [m]", tuple(one.xyz), tuple(other.xyz)
    a, b = one.matrix()[:3, :3], other.matrix()[:3, :3]
    yield f"{what}, rotation", a, b


def _mimic(joint: Joint) -> str:
    mimic = joint.mimic
    return f"{mimic.multiplier:g} * {mimic.joint} + {mimic.offset:g}" if mimic else "nothing"


def _is_same(one: Any, other: Any, tolerance: float) -> bool:
    if isinstance(one, str):
        return one == other
    a, b = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    with np.errstate(invalid="ignore"):  # infinite limits
        apart = abs(a - b)
        close = apart <= tolerance * np.maximum(1.0, np.maximum(abs(a), abs(b)))
    return bool(((close & np.isfinite(apart)) | (a == b)).all())


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    array = np.asarray(value, dtype=float)
    if array.shape == (3, 3):
        return f"rpy {_text(so3.to_rpy(array))}"
    return " ".join(f"{x + 0.0:.9g}" if isfinite(x) else "none" for x in array.reshape(-1))
