"""A robot in words: its tree as a drawing, its parts as tables. Plain text, for people.

The tables are rows of strings, so that other programs can dress them up. Names come from files, so
characters that would act on a terminal are written as escapes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import NamedTuple

from linkwork.errors import counted, escaped
from linkwork.model.constraints import WORLD
from linkwork.model.description.table import Table, as_text
from linkwork.model.graph import Graph
from linkwork.model.parts import Joint, Mimic
from linkwork.model.pose import IDENTITY, Pose
from linkwork.model.spanning import closing_joints, opened, walk

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
    """Return one line: the numbers of parts and degrees of freedom, and the mass."""
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
        f"{degrees} of freedom{unconstrained}, 6 more if the base floats",
        f"{model.total_mass:.6g} kg",
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
    closing = [
        (escaped(joint.name), f"{joint.kind} joint", escaped(joint.first), escaped(joint.second))
        for joint in closing_joints(model)
    ]
    others = [
        (escaped(one.name), one.kind, escaped(one.first), escaped(one.second or WORLD))
        for one in model.constraints
    ]
    columns = ("constraint", "kind", "first", "second")
    return Table("closed loops and constraints", columns, (*closing, *others))


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
