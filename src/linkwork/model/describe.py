"""Descriptions of robots for people: summaries, and tables as text and as HTML.

Tables are lines of text that fit the width there is. No cell is ever cut. A table that is too wide
comes in blocks of columns, each with the columns that name the row; a cell that is too wide even so
goes over several lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import zip_longest
from math import isfinite
from typing import NamedTuple
from unicodedata import combining, east_asian_width

from linkwork.errors import counted, escaped
from linkwork.model.graph import Graph, closing_joints, opened, walk
from linkwork.model.parts import WORLD, Joint, Mimic
from linkwork.model.pose import IDENTITY, Pose

GAP = "  "  # between columns
NARROWEST = 8  # characters; cells of a narrower column would break in every word
_BREAKS = " _-/,.:"  # a long cell is folded after one of these, if there is one


@dataclass(frozen=True, slots=True)
class Table:
    """A table for people: a heading, the names of its columns, and rows of text."""

    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[str] = frozenset()  # columns to be aligned to the right
    n_naming: int = (
        1  # number of leading columns that name the row; they are repeated in every block
    )


def as_text(table: Table, width: int | None = None) -> str:
    """Return a table as lines of text, columns aligned.

    Args:
        table: what to write.
        width: how many characters fit on a line; any number if not given.
    """
    blocks = ["\n".join(_lines(table, *block)) for block in _blocks(table, width)]
    return "\n".join([table.heading, "\n\n".join(blocks)])


def as_html(heading: str, tables: Iterable[Table]) -> str:
    """Return a heading, and tables without rows left out, each to be opened by a click."""
    parts = [f"<b>{escape(heading)}</b>"]
    for table in tables:
        if table.rows:
            rows = "".join(_html_row("td", row) for row in table.rows)
            body = f"<table>{_html_row('th', table.columns)}{rows}</table>"
            parts.append(f"<details><summary>{escape(table.heading)}</summary>{body}</details>")
    return "\n".join(parts)


def _html_row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def width_of(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if combining(letter) else 2 if east_asian_width(letter) in "WF" else 1 for letter in text
    )


def _blocks(table: Table, width: int | None) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the columns of each block, and their widths."""
    grid = [table.columns, *table.rows]
    widths = [max(map(width_of, column)) for column in zip(*grid, strict=True)]
    if width is None or sum(widths) + len(GAP) * (len(widths) - 1) <= width:
        yield list(range(len(widths))), widths
        return
    naming = list(range(table.n_naming))
    name = naming[-1]  # the others are numbers
    widths[name] = min(widths[name], max(NARROWEST, width // 2))
    room = width - sum(widths[column] + len(GAP) for column in naming)
    block: list[int] = []
    for column in range(table.n_naming, len(widths)):
        widths[column] = min(widths[column], max(NARROWEST, room))
        used_width = sum(widths[other] + len(GAP) for other in block)
        if block and used_width + widths[column] > room:
            yield [*naming, *block], widths
            block = []
        block.append(column)
    yield [*naming, *block], widths


def _lines(table: Table, columns: Sequence[int], widths: Sequence[int]) -> Iterator[str]:
    """Yield a block of columns: names, a rule, rows."""
    names = [table.columns[column] for column in columns]
    chosen = [widths[column] for column in columns]
    for row in (names, None, *([row[column] for column in columns] for row in table.rows)):
        if row is None:
            yield GAP.join("─" * width for width in chosen)
            continue
        folded = [_folded(cell, width) for cell, width in zip(row, chosen, strict=True)]
        for pieces in zip_longest(*folded, fillvalue=""):
            cells = [
                _padded(piece, width, right=name in table.numeric)
                for piece, width, name in zip(pieces, chosen, names, strict=True)
            ]
            yield GAP.join(cells).rstrip()


def _padded(text: str, width: int, *, right: bool) -> str:
    space = " " * (width - width_of(text))
    return space + text if right else text + space


def _folded(text: str, width: int) -> list[str]:
    """Return a text in pieces that fit, cut after a separator where there is one."""
    pieces: list[str] = []
    while width_of(text) > width:
        end = 0
        while width_of(text[: end + 1]) <= width:
            end += 1
        best = max(text.rfind(mark, 0, end) for mark in _BREAKS) + 1
        if text[end] == " ":
            best = end
        best = best or max(end, 1)
        pieces.append(text[:best].rstrip())
        text = text[best:].lstrip()
    return [*pieces, text]


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
