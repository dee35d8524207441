"""What writers share: elements of XML, robots in simpler terms, findings, unique names.

Numbers are written in the fewest digits that read back as the same floats, also angles in degrees.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Context, Decimal
from os import PathLike
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np

from linkwork.engine.runtime.atomic_files import write_file
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import Finding, ModelError, listed, model_error, shown, warn_of
from linkwork.io.formats import Conversion, Reading
from linkwork.io.xml.documents import Source, read_source
from linkwork.io.xml.elements import SIZES
from linkwork.model.geometry import Geometry, Mesh, row_of
from linkwork.model.graph import walk
from linkwork.model.inertia import NO_INERTIA
from linkwork.model.model import Model
from linkwork.model.parts import Constraint, Joint, Mimic
from linkwork.model.reduce import backwards
from linkwork.spatial.source import se3

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]


def top_element(tag: str, **attributes: str | None) -> Element:
    """Create a root element with the attributes that are not None."""
    from lxml import etree

    top = etree.Element(tag)
    _set(top, attributes)
    return top


def add(parent: Element, tag: str, **attributes: str | None) -> Element:
    """Add an element with the attributes that are not None.

    Raises:
        ModelError: an attribute has a character that XML does not allow.
    """
    from lxml import etree

    added = etree.SubElement(parent, tag)
    _set(added, attributes)
    return added


def format_numbers(*numbers: float) -> str:
    """Format numbers in the fewest digits that read back as the same floats."""
    return " ".join(repr(float(number)).removesuffix(".0") for number in numbers)


def size_texts(geometry: Geometry, title: str) -> dict[str, str | None]:
    """Return the sizes of a box, cylinder, sphere or capsule as text by name, for URDF and SDF.

    Args:
        geometry: the shape.
        title: the format, for the message about other shapes.
    """
    sizes = {name: getattr(geometry, name) for name in row_of(SIZES, geometry, title)}
    return {
        name: format_numbers(*(size if isinstance(size, tuple) else (size,)))
        for name, size in sizes.items()
    }


def document_text(top: Element) -> str:
    """Return the content of an XML file with this root element, indented."""
    from lxml import etree

    etree.indent(top, space="  ")
    text = etree.tostring(top, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def write_text(text: str, path: str | PathLike[str] | None) -> str:
    """Write to a file, unless the path is None; return the text."""
    if path is not None:
        write_file(path, text)
    return text


def _set(target: Element, attributes: dict[str, str | None]) -> None:
    for name, value in attributes.items():
        if value is None:
            continue
        try:
            # names that are Python keywords have an underscore, such as `class_`
            target.set(name.removesuffix("_"), value)
        except ValueError:  # a control character
            message = f"{name} {shown(value)} contains a character that XML does not allow"
            raise model_error(message, f"<{target.tag}>") from None


WORLD = "world"


def finish(conversion: Conversion, path: str | PathLike[str] | None) -> str:
    """Issue the warnings of a conversion, and write its text to a file unless the path is None."""
    warn_of([finding for finding in conversion.findings if finding.severity == "warning"])
    return write_text(conversion.text, path)


def reject(findings: Sequence[Finding]) -> None:
    """Raise an error with all findings, if there are any."""
    if findings:
        raise ModelError(findings)


def read_back(read: Callable[[Source], Reading], text: str) -> Model:
    """Read a file that was written; raise if that is not possible."""
    reading = read(read_source(text))
    if reading.model is None:
        raise ModelError([one for one in reading.findings if one.severity == "error"])
    return reading.model


def unique_name(name: str, used: set[str]) -> str:
    """Append underscores to a name until it is not in use, and add it to the names in use."""
    while name in used:
        name += "_"
    used.add(name)
    return name


class GroupedWarnings:
    """Warnings that are merged if they have the same text, with the names of all their parts."""

    def __init__(self) -> None:
        self._names: dict[str, list[str]] = {}  # by text

    def add(self, text: str, *names: str) -> None:
        """Add a warning about parts."""
        several = self._names.setdefault(text, [])
        several += [name for name in dict.fromkeys(names) if name not in several]

    @property
    def findings(self) -> list[Finding]:
        """Return one finding for each text."""
        return listed_findings(self._names)


def listed_findings(texts: Mapping[str, Sequence[str]]) -> list[Finding]:
    """Return a warning for each text whose list of names is not empty."""
    return [
        Finding("warning", "", f"{text}: {listed(names)}") for text, names in texts.items() if names
    ]


def rejected_constraints(model: Model, title: str) -> list[Finding]:
    """Return an error for each constraint, in a format without constraints."""
    text = f"{title} has no such constraint"
    elements = [(f"constraint {one.name!r}", one.location) for one in model.constraints]
    return [Finding("error", element, text, location) for element, location in elements]


def is_world(model: Model, link: str) -> bool:
    """Return whether a link is the world: the base, named `world`, without an inertia."""
    return link == WORLD and model.link(link).inertia == NO_INERTIA and link == model.default_base


def away_from_world(joint: Joint) -> Joint:
    """Return the joint with the world as its first link, which some formats require."""
    return backwards(joint) if joint.second == WORLD else joint


def parent_H_child(joint: Joint, child: str) -> Array:
    """Return the pose of a link in its parent, while the joint between them is at zero."""
    pose = joint.first_H_joint.matrix() @ joint.joint_H_second.matrix()
    return pose if joint.second == child else np.asarray(se3.inverse(pose))


def poses_at_zero(model: Model) -> dict[str, Array]:
    """Return base_H_link of all links, while all joints are at zero."""
    poses: dict[str, Array] = {}
    for link, parent, joint in walk(model, model.default_base):
        if parent is None or joint is None:
            poses[link] = np.eye(4)
        else:
            poses[link] = poses[parent] @ parent_H_child(joint, link)
    return poses


def relative_meshes(model: Model) -> list[Finding]:
    """Return a warning about meshes whose paths are relative to the file of the robot."""
    shapes = [s for link in model.links for s in (*link.visuals, *link.collisions)]
    names = [s.geometry.filename for s in shapes if isinstance(s.geometry, Mesh)]
    relative = [
        name
        for name in dict.fromkeys(names)
        if "://" not in name and not PurePath(name).is_absolute()
    ]
    text = "paths of meshes are relative to the input file and may be wrong for the new file"
    return listed_findings({text: relative})


def configuration_findings(model: Model, title: str) -> list[Finding]:
    """Return a warning about named configurations, which are not written."""
    names = [one.name for one in model.configurations]
    return listed_findings({f"named configurations are not written to {title}": names})


def expressible(model: Model) -> tuple[Model, list[Finding]]:
    """Return the robot without motors and linear couplings, and warnings about the change.

    Where possible, joints that mimic others replace the couplings.
    """
    findings: list[Finding] = []
    motors = [joint.name for joint in model.joints if joint.actuated]
    if motors:
        names = listed(motors)
        findings.append(Finding("warning", "", f"left out: which joints are actuated: {names}"))
    elif any(joint.actuated is False for joint in model.joints):
        findings.append(Finding("warning", "", "left out: that no joint is actuated"))
    if any(joint.actuated is not None for joint in model.joints):
        joints = tuple(replace(joint, actuated=None) for joint in model.joints)
        model = replace(model, joints=joints)
    gears = [one.name for one in model.actuators]
    findings += listed_findings({"left out: actuators and their gears": gears})
    model = replace(model, actuators=()) if gears else model
    names = [one.name for one in model.constraints]
    model = _with_mimics(model)
    kept = [one.name for one in model.constraints]
    text = "couplings become joints that mimic others and have no coordinate, so q, the mass"
    text += " matrix and Jacobians are smaller"
    return model, [*findings, *listed_findings({text: [n for n in names if n not in kept]})]


def _with_mimics(model: Model) -> Model:
    for constraint in model.constraints:
        mimic = _mimic(constraint)
        if mimic is None or model.joint(constraint.first).mimic:
            continue
        joints = tuple(
            replace(joint, mimic=mimic) if joint.name == constraint.first else joint
            for joint in model.joints
        )
        constraints = tuple(one for one in model.constraints if one != constraint)
        with suppress(ModelError):  # a joint would depend on itself in a cycle
            model = replace(model, joints=joints, constraints=constraints)
    return model


def _mimic(constraint: Constraint) -> Mimic | None:
    """Return a coupling as a joint that mimics another; None if that is not possible."""
    if constraint.kind != "coupling" or constraint.second is None:
        return None
    offset, multiplier, *higher = (*constraint.coefficients, 0.0)
    if any(higher):
        return None
    return Mimic(joint=constraint.second, multiplier=multiplier, offset=offset)


# Degrees are converted to and from radians with correct rounding, with more digits than a float
# has. So 90 degrees is read as the float nearest to pi/2, and every float in radians can be written
# in degrees without loss.
_PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862"
)
_CONTEXT = Context(prec=60, Emax=9999, Emin=-9999)
_DIGITS = 22  # enough for degrees that read back as the same float in radians


def radians_from_degrees(degrees: str | float) -> float:
    """Convert degrees, as a decimal string or a float, to radians."""
    if float(degrees) == 0:  # also a string whose exponent is out of range for Decimal
        return float(degrees)
    exact = Decimal(degrees)
    return float(_CONTEXT.divide(_CONTEXT.multiply(exact, _PI), Decimal(180)))


def degrees_text(radians: float) -> str:
    """Format an angle in degrees, with few digits that read back as the same float in radians."""
    if not math.isfinite(radians):
        raise ValueError(radians)
    if radians == 0:
        return "0"
    for digits in (6, 12, 15, 16, 17):
        text = f"{math.degrees(radians):.{digits}g}"
        if radians_from_degrees(text) == radians:
            return text
    exact = _CONTEXT.divide(_CONTEXT.multiply(Decimal(radians), Decimal(180)), _PI)
    return f"{exact:.{_DIGITS}g}"
