"""Joints of a URDF file: type, axis, limits, dynamics, mimic."""

from __future__ import annotations

import math
from dataclasses import replace
from math import inf

from linkwork.errors import ModelError, nearest, shown
from linkwork.io.urdf.elements import Part, Report, is_xacro
from linkwork.io.urdf.links import FINITE, read_origin
from linkwork.model.joints import KINDS
from linkwork.model.parts import NO_LIMITS, Joint, Limits, Mimic, unit_vector
from linkwork.model.pose import Triple

URDF_TYPES = ("continuous", "fixed", "floating", "planar", "prismatic", "revolute")
# Types that URDF does not have, and the kinds they are read as. linkwork writes them too.
EXTENSION_TYPES = {
    "spherical": "spherical",
    "ball": "spherical",
    "helical": "helical",
    "revolute_cos_sin": "revolute_cos_sin",
    "universal": "universal",
}
# Types whose position is bounded by `lower` and `upper`.
BOUNDED_TYPES = ("revolute", "prismatic", "helical")
# The magnitude from which a limit means "none". `dump_urdf` writes it for infinity, because urdfdom
# rejects a joint without limits.
UNLIMITED = 1e30
DEFAULT_AXIS: Triple = (1.0, 0.0, 0.0)
# An axis whose norm is further than this from 1 is scaled with a finding that says so; closer ones
# are rounded unit vectors, such as 0.707 0.707 0.
UNIT_NOTICE = 1e-3
# Limits of angles beyond two turns, up to two turns in degrees, may be degrees by mistake. Larger
# ones, such as 1e16, are how some files write that there is none.
TURNS, DEGREES = 4 * math.pi, 720.0

KNOWN = ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic")
OTHERS_JOINT = ("calibration", "safety_controller", "gazebo", "sensor", "hardwareInterface")


def read_joint(part: Part, *, mimic: bool) -> Joint | None:
    """Read a `<joint>`; nothing if it does not say which links it joins."""
    part.note_unknown((*KNOWN, *OTHERS_JOINT), ("name", "type"))
    errors = part.report.n_errors
    name = part.text("name") or ""
    kind = _read_type(part)
    parent, child = _read_end(part, "parent"), _read_end(part, "child")
    origin = read_origin(part)
    axis, pitch = _read_axis(part, kind)
    limits = _read_limits(part, kind)
    damping, friction, armature = _read_dynamics(part)
    leader = _read_mimic(part) if mimic else None
    if parent and parent == child:
        part.error(f"cycle: {parent} -> {child}")
    if not (name and parent and child and parent != child):
        return None
    stand_in = Joint(name=name, kind="revolute", first=parent, second=child, location=part.location)
    if part.report.n_errors > errors:
        return stand_in  # enough to check the graph, and who mimics whom
    try:
        return replace(
            stand_in,
            kind=kind,
            first_H_joint=origin,
            axis=axis,
            pitch=pitch,
            limits=limits,
            damping=damping,
            friction=friction,
            armature=armature,
            mimic=leader,
        )
    except ModelError as error:
        part.report.extend(error.findings)
        return stand_in


def _read_type(part: Part) -> str:
    kind = part.needed_text("type")
    if kind == "continuous":
        return "revolute"
    if kind in URDF_TYPES:
        return kind
    if kind in EXTENSION_TYPES:
        return EXTENSION_TYPES[kind]
    if kind.strip() and not is_xacro(kind):
        known = (*URDF_TYPES, *EXTENSION_TYPES)
        hint = nearest(kind.lower(), known)
        part.error(f"unknown type {shown(kind)}; {hint}")
    return "fixed"


def _read_end(part: Part, tag: str) -> str:
    end = part.needed_child(tag)
    if end is None:
        return ""
    end.note_unknown((), ("link",), strict=True)
    return end.needed_text("link")


def _read_axis(part: Part, kind: str) -> tuple[Triple, float]:
    """The axis, and the pitch of a helical joint; an axis that means nothing is not kept."""
    axis = part.child("axis")
    numbers = DEFAULT_AXIS
    pitch = 0.0
    if not KINDS[kind].has_axis:
        if axis:
            _note_unused_axis(axis, kind)
        return (0.0, 0.0, 1.0), 0.0
    if axis:
        axis.note_unknown((), ("xyz", "pitch"), strict=True)
        numbers = axis.triple("xyz", DEFAULT_AXIS, largest=FINITE)
        if axis.text("xyz") is None:
            axis.warning("<axis> has no 'xyz'; 1 0 0 is assumed")
        pitch = axis.number("pitch", 0.0)
    try:
        direction = unit_vector(numbers)
    except ModelError as error:
        (axis or part).error(error.findings[0].text)
        return DEFAULT_AXIS, pitch
    length = math.hypot(*numbers)
    if axis and abs(length - 1) > UNIT_NOTICE:
        axis.warning(f"axis {list(numbers)} has length {length:.6g}; it is scaled to length 1")
    return direction, pitch


def _note_unused_axis(axis: Part, kind: str) -> None:
    """Warn of what is wrong with the axis of a joint that has none: it changes nothing."""
    aside = Report(axis.report.file, {})
    Part(axis.element, axis.owner, aside).triple("xyz", DEFAULT_AXIS, largest=FINITE)
    for finding in aside.findings:
        axis.warning(f"{finding.text}; ignored, as a {kind} joint has no axis")


def _read_limits(part: Part, kind: str) -> Limits:
    limit = part.child("limit")
    bounded = part.text("type") in BOUNDED_TYPES
    if limit is None:
        if bounded:
            part.warning("no <limit>; the joint is taken as unlimited")
        return NO_LIMITS
    limit.note_unknown((), ("lower", "upper", "effort", "velocity"))
    values = {name: _limit(limit, name, inf) for name in ("effort", "velocity")}
    lower, upper = _limit(limit, "lower", 0.0), _limit(limit, "upper", 0.0)
    if KINDS[kind].nv != 1:
        return NO_LIMITS
    missing = [name for name in ("effort", "velocity") if limit.text(name) is None]
    if missing:
        limit.warning(f"<limit> has no {' and no '.join(map(repr, missing))}; taken as unlimited")
    if not bounded:
        return Limits(**values)
    given = [name for name in ("lower", "upper") if limit.text(name) is not None]
    if not given:
        limit.warning("<limit> has no 'lower' and no 'upper'; taken as unlimited")
        return Limits(**values)
    if len(given) == 1:
        other = "upper" if given == ["lower"] else "lower"
        limit.warning(f"<limit> has no {other!r}; it is 0, the default of URDF")
    if lower > upper:
        limit.error(f"limit lower {lower:g} is above upper {upper:g}")
        return NO_LIMITS
    if kind == "revolute" and TURNS < max(abs(lower), abs(upper)) <= DEGREES:
        limit.note(f"limits {lower:g} and {upper:g} are in radians; are they meant in degrees?")
    return Limits(lower=lower, upper=upper, **values)


def _limit(part: Part, attribute: str, default: float) -> float:
    value = part.number(attribute, default)
    return math.copysign(inf, value) if abs(value) >= UNLIMITED else value


def _read_dynamics(part: Part) -> tuple[float, ...]:
    """Damping, friction and armature."""
    dynamics = part.child("dynamics")
    if dynamics is None:
        return 0.0, 0.0, 0.0
    names = ("damping", "friction", "armature")
    dynamics.note_unknown((), names)
    return tuple(dynamics.number(name, 0.0) for name in names)


def _read_mimic(part: Part) -> Mimic | None:
    mimic = part.child("mimic")
    if mimic is None:
        return None
    mimic.note_unknown((), ("joint", "multiplier", "offset"), strict=True)
    leader = mimic.needed_text("joint")
    multiplier, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
    if part.text("type") == "fixed":
        mimic.warning("a fixed joint cannot mimic another; <mimic> is ignored")
        return None
    return Mimic(joint=leader, multiplier=multiplier, offset=offset)
