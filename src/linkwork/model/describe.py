"""A robot in words: its tree as a drawing, its parts as tables. Plain text, for people.

The tables are rows of strings, so that other programs can dress them up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite

from linkwork.model.layout import Layout
from linkwork.model.model import Model
from linkwork.model.parts import Joint
from linkwork.model.pose import IDENTITY, Pose

_AXES = {(1.0, 0.0, 0.0): "x", (0.0, 1.0, 0.0): "y", (0.0, 0.0, 1.0): "z"}


@dataclass(frozen=True, slots=True)
class Table:
    """A table for people: a heading, the names of its columns, and rows of text."""

    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[str] = frozenset()  # columns to be aligned to the right


def describe(model: Model, base: str | None = None) -> str:
    """Describe a robot: a summary, its tree from a base, its joints, links and frames.

    Args:
        model: the robot.
        base: the link that the tree starts from; `model.default_base` if not given.
    """
    parts = [summary(model), "\n".join(tree_lines(model, base))]
    parts += [as_text(table) for table in tables(model) if table.rows]
    return "\n\n".join(parts) + "\n"


def summary(model: Model) -> str:
    """One line: how many parts, how many degrees of freedom, how heavy."""
    layout = Layout(model, floating=False)
    moving = len(layout.joint_names)
    dependent = len(layout.followers)
    counts = [
        _count(len(model.links), "link"),
        f"{_count(len(model.joints), 'joint')} ({moving} moving"
        + (f", {dependent} dependent" if dependent else "")
        + ")",
        *([_count(len(model.frames), "additional frame")] if model.frames else []),
        f"{layout.nv} degree{'' if layout.nv == 1 else 's'} of freedom and 6 of the base",
        f"{model.total_mass:.6g} kg",
    ]
    return f"{model.name}: {', '.join(counts)}"


def tree_lines(model: Model, base: str | None = None) -> Iterator[str]:
    """Draw the tree from a base, one line to a link."""
    base = model.default_base if base is None else base
    yield _link_text(model, base)
    seen = {base}
    waiting = _branches(model, base, seen, "")
    while waiting:
        lead, last, joint, link = waiting.pop()
        seen.add(link)
        joint_text = f"{joint.name} ({_motion_text(joint)})"
        yield f"{lead}{'└─ ' if last else '├─ '}{joint_text} ─ {_link_text(model, link)}"
        waiting.extend(_branches(model, link, seen, lead + ("   " if last else "│  ")))


def tables(model: Model) -> list[Table]:
    """The joints, links and additional frames of a robot."""
    return [joint_table(model), link_table(model), frame_table(model)]


def joint_table(model: Model) -> Table:
    """The joints that move: where they stand in s, how they move, how far."""
    layout = Layout(model, floating=False)
    rows = [_joint_row(joint, layout) for joint in model.joints if not joint.is_fixed]
    columns = (
        "s",
        "joint",
        "kind",
        "axis",
        "lower",
        "upper",
        "velocity",
        "effort",
        "first",
        "second",
    )
    numeric = frozenset({"s", "lower", "upper", "velocity", "effort"})
    return Table("moving joints", columns, tuple(rows), numeric)


def link_table(model: Model) -> Table:
    """The links: how heavy they are, and where."""
    rows = [
        (
            str(index),
            link.name,
            f"{link.inertia.mass:.6g}" if link.inertia.mass else "-",
            _vector(link.inertia.com) if link.inertia.mass else "-",
            _vector(tuple(link.inertia.tensor[i] for i in (0, 3, 5))) if link.inertia.mass else "-",
        )
        for index, link in enumerate(model.links)
    ]
    columns = ("#", "link", "mass [kg]", "centre of mass [m]", "ixx, iyy, izz [kg m^2]")
    return Table("links", columns, tuple(rows), frozenset({"#", "mass [kg]"}))


def frame_table(model: Model) -> Table:
    """The additional frames: what they are fixed to, and where."""
    rows = [(frame.name, frame.link, _pose_text(frame.link_H_frame)) for frame in model.frames]
    return Table("additional frames", ("frame", "link", "pose in the link"), tuple(rows))


def as_text(table: Table) -> str:
    """A table as lines of text, columns aligned."""
    grid = [table.columns, *table.rows]
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if name in table.numeric else cell.ljust(width)
            for cell, width, name in zip(cells, widths, table.columns, strict=True)
        ]
        return "  ".join(padded).rstrip()

    rule = "  ".join("─" * width for width in widths)
    return "\n".join([table.heading, line(table.columns), rule, *map(line, table.rows)])


def _branches(
    model: Model, link: str, seen: set[str], lead: str
) -> list[tuple[str, bool, Joint, str]]:
    """What hangs on a link, the last first, ready to be popped in order."""
    found = [(other, joint) for other, joint in model.neighbors(link) if other not in seen]
    return [
        (lead, index == 0, model.joint(joint), other)
        for index, (other, joint) in enumerate(reversed(found))
    ]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _link_text(model: Model, link: str) -> str:
    mass = model.link(link).inertia.mass
    return f"{link}  {mass:.4g} kg" if mass else link


def _motion_text(joint: Joint) -> str:
    axis = _axis_text(joint) if joint.motion_kind.has_axis else ""
    axis = f" ({axis})" if "," in axis else f" {axis}".rstrip()
    axis += f", {joint.pitch:.4g} m/rad" if joint.pitch else ""
    mimic = f", mimics {joint.mimic.joint}" if joint.mimic else ""
    return f"{joint.kind}{axis}{mimic}"


def _axis_text(joint: Joint) -> str:
    x, y, z = joint.axis
    if joint.axis in _AXES:
        return _AXES[joint.axis]
    opposite = (-x + 0.0, -y + 0.0, -z + 0.0)
    return f"-{_AXES[opposite]}" if opposite in _AXES else _vector(joint.axis)


def _joint_row(joint: Joint, layout: Layout) -> tuple[str, ...]:
    at = layout.q[joint.name] if joint.nq else None
    span = "-" if at is None else _span(at)
    kind = joint.kind if joint.mimic is None else f"{joint.kind} = {_mimic_text(joint)}"
    limits = joint.limits
    return (
        span,
        joint.name,
        kind,
        _axis_text(joint) if joint.motion_kind.has_axis else "-",
        _bound(limits.lower),
        _bound(limits.upper),
        _bound(limits.velocity),
        _bound(limits.effort),
        joint.first,
        joint.second,
    )


def _mimic_text(joint: Joint) -> str:
    assert joint.mimic
    offset = joint.mimic.offset
    sign = "-" if offset < 0 else "+"
    shift = f" {sign} {abs(offset):g}" if offset else ""
    return f"{joint.mimic.multiplier:g} {joint.mimic.joint}{shift}"


def _span(at: slice) -> str:
    return str(at.start) if at.stop == at.start + 1 else f"{at.start}-{at.stop - 1}"


def _bound(value: float) -> str:
    return f"{value:.4g}" if isfinite(value) else "-"


def _vector(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:.4g}" for number in numbers)


def _pose_text(pose: Pose) -> str:
    if pose == IDENTITY:
        return "at its origin"
    turned = f", rpy {_vector(pose.rpy)}" if any(pose.rpy) else ""
    return f"xyz {_vector(pose.xyz)}{turned}"
