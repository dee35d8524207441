"""Descriptions of robots for people: the tree as a drawing, tables, and what differs between two.

The tables are rows of strings, so that other programs can format them. Names come from files, so
characters that would act on a terminal are written as escapes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import PureWindowsPath
from typing import Any, NamedTuple

import numpy as np

from linkwork.errors import counted, escaped
from linkwork.model.configurations import Configuration
from linkwork.model.geometry import Mesh, Shape
from linkwork.model.graph import Graph, closing_joints, opened, walk
from linkwork.model.parts import WORLD, Actuator, Constraint, Frame, Joint, Link, Mimic
from linkwork.model.pose import IDENTITY, Pose
from linkwork.model.table import Table, as_text
from linkwork.spatial.source import so3

_AXES = {(1.0, 0.0, 0.0): "x", (0.0, 1.0, 0.0): "y", (0.0, 0.0, 1.0): "z"}


class Branch(NamedTuple):
    """A line of the drawing of a tree, taken apart."""

    lead: str  # the lines that pass by on the left
    corner: str  # where this branch leaves its parent; empty for the base
    joint: str  # empty for the base
    link: str

    def __str__(self) -> str:
        return f"{self.lead}{self.corner}{self.joint}{' ─ ' if self.joint else ''}{self.link}"


def describe(model: Graph, base: str | None = None) -> str:
    """Describe a robot: a summary, its tree from a base, its joints, links and frames.

    Args:
        model: the robot.
        base: the link that the tree starts from; `model.default_base` if not given.
    """
    parts = [summary(model), "\n".join(tree_lines(model, base))]
    parts += [as_text(table) for table in tables(model) if table.rows]
    return "\n\n".join(parts) + "\n"


def summary(model: Graph) -> str:
    """Return one line: the numbers of parts, the mass and the degrees of freedom."""
    closing = closing_joints(model)
    joints = opened(model, closing).joints
    moving = sum(joint.nq > 0 for joint in joints)
    dependent = sum(joint.mimic is not None for joint in joints)
    degrees = counted(sum(joint.nv for joint in joints), "degree")
    unconstrained = " without loops and constraints" if closing or model.constraints else ""
    counts = [
        counted(len(model.links), "link"),
        f"{counted(len(model.joints), 'joint')} ({moving} moving"
        + (f", {dependent} dependent" if dependent else "")
        + ")",
        *([counted(len(model.frames), "additional frame")] if model.frames else []),
        *([counted(len(closing), "closed loop")] if closing else []),
        *([counted(len(model.constraints), "constraint")] if model.constraints else []),
        f"{model.total_mass:.6g} kg",
        f"{degrees} of freedom{unconstrained} (6 more if the base floats)",
    ]
    return f"{escaped(model.name)}: {', '.join(counts)}"


def tree_lines(model: Graph, base: str | None = None) -> Iterator[str]:
    """Draw the tree from a base, one line to a link."""
    return map(str, branches(model, base))


def branches(model: Graph, base: str | None = None) -> Iterator[Branch]:
    """Yield the tree from a base, one branch to a link."""
    visits = list(walk(model, model.default_base if base is None else base))
    last = {visit.parent: visit.link for visit in visits}  # the last child of each link
    leads = {visits[0].link: ""}  # what stands before the children of a link
    yield Branch("", "", "", _link_text(model, visits[0].link))
    for link, parent, joint in visits[1:]:
        assert parent is not None
        assert joint is not None
        lead, is_last = leads[parent], last[parent] == link
        leads[link] = lead + ("   " if is_last else "│  ")
        joint_text = f"{escaped(joint.name)} ({_motion_text(joint)})"
        yield Branch(lead, "└─ " if is_last else "├─ ", joint_text, _link_text(model, link))


def tables(model: Graph) -> list[Table]:
    """Return the joints, links, additional frames, constraints, and configurations of a robot."""
    of_parts = [joint_table(model), link_table(model), frame_table(model)]
    return [*of_parts, constraint_table(model), configuration_table(model)]


def joint_table(model: Graph) -> Table:
    """Return index, kind, axis and limits of the joints that move."""
    rows: list[tuple[str, ...]] = []
    start = 0  # index in s
    for joint in opened(model, closing_joints(model)).joints:
        if not joint.is_fixed:
            rows.append(_joint_row(joint, start))
        start += joint.nq
    columns = (
        *("s", "joint", "kind", "axis", "lower", "upper", "velocity", "effort"),
        *("first", "second", "mimics"),
    )
    if not any(joint.mimic for joint in model.joints):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    numeric = frozenset({"s", "lower", "upper", "velocity", "effort"})
    return Table("moving joints", columns, tuple(rows), numeric, n_naming=2)


def link_table(model: Graph) -> Table:
    """Return the mass, center of mass and moments of the links."""
    rows = [
        (
            str(index),
            escaped(link.name),
            f"{link.inertia.mass:.6g}" if link.inertia.mass else "-",
            _vector(link.inertia.com) if link.inertia.mass else "-",
            _vector(tuple(link.inertia.tensor[i] for i in (0, 3, 5))) if link.inertia.mass else "-",
        )
        for index, link in enumerate(model.links)
    ]
    columns = ("#", "link", "mass [kg]", "center of mass [m]", "ixx, iyy, izz [kg m^2]")
    return Table("links", columns, tuple(rows), frozenset({"#", "mass [kg]"}), n_naming=2)


def frame_table(model: Graph) -> Table:
    """Return the links and poses of the additional frames."""
    rows = [
        (escaped(frame.name), escaped(frame.link), _pose_text(frame.link_H_frame))
        for frame in model.frames
    ]
    return Table("additional frames", ("frame", "link", "pose in the link"), tuple(rows))


def constraint_table(model: Graph) -> Table:
    """Return the joints that close loops, and the constraints that are not joints."""
    rows = [(j.name, f"{j.kind} joint", j.first, j.second) for j in closing_joints(model)]
    rows += [(one.name, one.kind, one.first, one.second or WORLD) for one in model.constraints]
    cells = tuple(tuple(map(escaped, row)) for row in rows)
    return Table("closed loops and constraints", ("constraint", "kind", "first", "second"), cells)


def configuration_table(model: Graph) -> Table:
    """Return the named configurations, and the positions of their joints."""
    rows = [
        (escaped(one.name), ", ".join(f"{escaped(name)} {_vector(q)}" for name, q in one.positions))
        for one in model.configurations
    ]
    return Table("named configurations", ("configuration", "positions"), tuple(rows))


def _link_text(model: Graph, link: str) -> str:
    mass = model.link(link).inertia.mass
    return escaped(link) + (f"  {mass:.4g} kg" if mass else "")


def _motion_text(joint: Joint) -> str:
    axis = _axis_text(joint) if joint.motion_kind.has_axis else ""
    axis = f" ({axis})" if "," in axis else f" {axis}".rstrip()
    axis += f", {joint.pitch:.4g} m/rad" if joint.pitch else ""
    mimic = f", mimics {escaped(joint.mimic.joint)}" if joint.mimic else ""
    return f"{joint.kind}{axis}{mimic}"


def _axis_text(joint: Joint) -> str:
    x, y, z = joint.axis
    if joint.axis in _AXES:
        return _AXES[joint.axis]
    opposite = (-x + 0.0, -y + 0.0, -z + 0.0)
    return f"-{_AXES[opposite]}" if opposite in _AXES else _vector(joint.axis)


def _joint_row(joint: Joint, start: int) -> tuple[str, ...]:
    limits = joint.limits
    return (
        _indices_text(start, start + joint.nq - 1),
        escaped(joint.name),
        joint.kind,
        _axis_text(joint) if joint.motion_kind.has_axis else "-",
        _bound(limits.lower),
        _bound(limits.upper),
        _bound(limits.velocity),
        _bound(limits.effort),
        escaped(joint.first),
        escaped(joint.second),
        _mimic_text(joint.mimic) if joint.mimic else "-",
    )


def _mimic_text(mimic: Mimic) -> str:
    offset = mimic.offset
    sign = "-" if offset < 0 else "+"
    shift = f" {sign} {abs(offset):g}" if offset else ""
    return f"{mimic.multiplier:g} {escaped(mimic.joint)}{shift}"


def _indices_text(first: int, last: int) -> str:
    if last < first:
        return "-"
    return str(first) if first == last else f"{first}-{last}"


def _bound(value: float) -> str:
    return f"{value:.4g}" if isfinite(value) else "-"


def _vector(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:.4g}" for number in numbers)


def _pose_text(pose: Pose) -> str:
    if pose == IDENTITY:
        return "at its origin"
    turned = f", rpy {_vector(pose.rpy)}" if any(pose.rpy) else ""
    return f"xyz {_vector(pose.xyz)}{turned}"


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


def differences(first: Graph, second: Graph, tolerance: float = SAME) -> list[Difference]:
    """Return all differences between two robots, by the names of their parts.

    Args:
        first, second: the robots.
        tolerance: relative to the larger of two numbers, or absolute if both are small.
    """
    compared = (_links, _joints, _frames, _constraints, _configurations, _actuators)
    results: list[Difference] = []
    for compare in compared:
        parts = compare.__name__[1:]  # the field of the robots
        several = getattr(first, parts), getattr(second, parts)
        results += _named_parts(parts.removesuffix("s"), *several, compare, tolerance)
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
