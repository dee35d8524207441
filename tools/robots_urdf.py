"""A robot as links and joints in sections, and its text as URDF."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from robots_solids import ZERO, Solid, Vec, mass_properties, mirrored_rpy, mirrored_xyz

PALETTE: dict[str, str] = {
    "white": "0.92 0.92 0.9 1",
    "silver": "0.7 0.72 0.74 1",
    "graphite": "0.2 0.21 0.23 1",
    "blue": "0.16 0.38 0.66 1",
    "orange": "0.93 0.48 0.13 1",
    "teal": "0.1 0.55 0.52 1",
    "glass": "0.55 0.75 0.85 0.4",
}

AXES: dict[str, Vec] = {
    "x": (1, 0, 0),
    "y": (0, 1, 0),
    "z": (0, 0, 1),
    "-x": (-1, 0, 0),
    "-y": (0, -1, 0),
    "-z": (0, 0, -1),
}

ORIGIN = """
The inertia of each link is that of its visuals, taken as homogeneous solids. This file is written
by tools/make_robots.py: edit the robot there.
"""

WIDTH = 100


@dataclass(frozen=True)
class Link:
    """A rigid body made of solids; without any it is massless and serves as a frame."""

    name: str
    solids: tuple[Solid, ...] = ()


@dataclass(frozen=True)
class Drive:
    """What moves a joint: its range (none for a continuous joint), strength and losses."""

    effort: float
    velocity: float
    damping: float
    friction: float
    lower: float | None = None
    upper: float | None = None

    def within(self, lower: float, upper: float) -> Drive:
        """The same drive with a range."""
        return replace(self, lower=lower, upper=upper)


@dataclass(frozen=True)
class Joint:
    """A joint; without a drive it is fixed. ``mimic`` is (joint, multiplier, offset)."""

    name: str
    kind: str
    parent: str
    child: str
    xyz: Vec = ZERO
    rpy: Vec = ZERO
    axis: str = "z"
    drive: Drive | None = None
    mimic: tuple[str, float, float] | None = None


@dataclass(frozen=True)
class Section:
    """Some links and joints under a title."""

    title: str
    parts: tuple[Link | Joint, ...]


@dataclass(frozen=True)
class Robot:
    """A robot; ``about`` is the text at the top of its file, with a blank line after paragraphs."""

    name: str
    about: str
    sections: tuple[Section, ...]

    @property
    def links(self) -> list[Link]:
        """All links, in the order of the file."""
        return [part for part in self._parts() if isinstance(part, Link)]

    @property
    def joints(self) -> list[Joint]:
        """All joints, in the order of the file."""
        return [part for part in self._parts() if isinstance(part, Joint)]

    def _parts(self) -> Iterator[Link | Joint]:
        return (part for section in self.sections for part in section.parts)


def frame(name: str, parent: str, xyz: Vec = ZERO, rpy: Vec = ZERO) -> tuple[Joint, Link]:
    """A massless link fixed to another one."""
    return Joint(f"{name}_fixed", "fixed", parent, name, xyz, rpy), Link(name)


def mirrored(parts: Iterable[Link | Joint], prefix: str, other: str) -> tuple[Link | Joint, ...]:
    """The image of some parts in the plane y = 0, with names changed from prefix to other.

    Axes keep their direction. So the image of a turn about x or z is the opposite turn, and its
    range changes sign, while the image of a turn about y is the same turn.
    """

    def renamed(name: str) -> str:
        return other + name.removeprefix(prefix) if name.startswith(prefix) else name

    def image(part: Link | Joint) -> Link | Joint:
        if isinstance(part, Link):
            return Link(renamed(part.name), tuple(solid.mirrored() for solid in part.solids))
        if part.kind not in {"fixed", "revolute"}:
            raise ValueError(f"the mirror image of a {part.kind} joint is not defined here")
        drive = part.drive
        if drive and drive.lower is not None and drive.upper is not None and "y" not in part.axis:
            drive = drive.within(-drive.upper, -drive.lower)
        return replace(
            part,
            name=renamed(part.name),
            parent=renamed(part.parent),
            child=renamed(part.child),
            xyz=mirrored_xyz(part.xyz),
            rpy=mirrored_rpy(part.rpy),
            drive=drive,
        )

    return tuple(image(part) for part in parts)


def urdf(robot: Robot) -> str:
    """The text of the robot's file."""
    lines = ['<?xml version="1.0" encoding="utf-8"?>', *_header(robot)]
    lines.append(f'<robot name="{robot.name}">')
    used = {solid.material for link in robot.links for solid in link.solids}
    for name in (name for name in PALETTE if name in used):
        color = _element("color", rgba=PALETTE[name])
        lines += _indented(_block("material", [color], name=name))
    for section in robot.sections:
        lines += ["", f"  <!-- {section.title} -->"]
        for part in section.parts:
            text = _link(part) if isinstance(part, Link) else _joint(part)
            lines += ["", *_indented(text)]
    return "\n".join([*lines, "", "</robot>", ""])


def number(value: float) -> str:
    """Six significant digits. Rounding twice makes ties fall the same way on every machine."""
    steady = float(f"{value:.12g}")
    return "0" if abs(steady) < 1e-12 else f"{steady:.6g}"


def _header(robot: Robot) -> Iterator[str]:
    mass = sum(solid.mass for link in robot.links for solid in link.solids)
    moving = [joint for joint in robot.joints if joint.kind != "fixed"]
    count = f"{len(moving) or 'no'} moving {'joint' if len(moving) == 1 else 'joints'}"
    if any(joint.mimic for joint in moving):
        count += " (one follows another)"
    paragraphs = (
        *robot.about.split("\n\n"),
        f"{len(robot.links)} links, {count}, {mass:.6g} kg. SI units; x forward, y left, z up.",
        ORIGIN,
    )
    yield "<!--"
    for index, paragraph in enumerate(paragraphs):
        if index:
            yield ""
        text = " ".join(paragraph.split())
        yield from textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="  ")
    yield "-->"


def _link(link: Link) -> list[str]:
    if not link.solids:
        return [_element("link", name=link.name)]
    lines = _inertial(link.solids)
    for solid in link.solids:
        lines += _block("visual", [*_shape(solid), _element("material", name=solid.material)])
    for solid in link.solids:
        if solid.collides:
            lines += _block("collision", _shape(solid))
    return _block("link", lines, name=link.name)


def _inertial(solids: tuple[Solid, ...]) -> list[str]:
    total = mass_properties(solids)
    (ixx, ixy, ixz), (_, iyy, iyz), (_, _, izz) = total.inertia.tolist()
    lines = [
        _element("origin", xyz=total.com, rpy=total.rpy),
        _element("mass", value=total.mass),
        _element("inertia", ixx=ixx, ixy=ixy, ixz=ixz, iyy=iyy, iyz=iyz, izz=izz),
    ]
    if len(solids) > 1:
        summands = " + ".join(f"{solid.kind} {number(solid.mass)} kg" for solid in solids)
        lines.insert(0, f"<!-- {summands} -->")
    return _block("inertial", lines)


def _shape(solid: Solid) -> list[str]:
    geometry = _element(solid.kind, **solid.shape.attributes)
    return [_element("origin", xyz=solid.xyz, rpy=solid.rpy), *_block("geometry", [geometry])]


def _joint(joint: Joint) -> list[str]:
    lines = [
        _element("parent", link=joint.parent),
        _element("child", link=joint.child),
        _element("origin", xyz=joint.xyz, rpy=joint.rpy),
    ]
    if joint.drive is not None:
        drive = joint.drive
        strength = {"effort": drive.effort, "velocity": drive.velocity}
        if drive.lower is not None and drive.upper is not None:
            strength = {"lower": drive.lower, "upper": drive.upper, **strength}
        lines.append(_element("axis", xyz=AXES[joint.axis]))
        lines.append(_element("limit", **strength))
        lines.append(_element("dynamics", damping=drive.damping, friction=drive.friction))
    if joint.mimic is not None:
        leader, multiplier, offset = joint.mimic
        lines.append(_element("mimic", joint=leader, multiplier=multiplier, offset=offset))
    return _block("joint", lines, name=joint.name, type=joint.kind)


def _element(tag: str, **attributes: str | float | Vec) -> str:
    return f"<{tag}{_attributes(attributes)}/>"


def _block(tag: str, lines: Iterable[str], **attributes: str | float | Vec) -> list[str]:
    return [f"<{tag}{_attributes(attributes)}>", *_indented(lines), f"</{tag}>"]


def _attributes(attributes: dict[str, str | float | Vec]) -> str:
    return "".join(f' {name}="{_text(value)}"' for name, value in attributes.items())


def _text(value: str | float | Vec) -> str:
    if isinstance(value, str):
        return value
    return " ".join(map(number, value)) if isinstance(value, tuple) else number(value)


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]
