"""Elements of a workcell file: their content, poses, and elements that are ignored."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from linkwork.errors import Finding, SourceLocation, counted, listed, nearest, shown
from linkwork.io.writing import radians_from_degrees
from linkwork.io.xml.documents import tag_of
from linkwork.io.xml.elements import LARGEST, Part, Report
from linkwork.model.numbers import Triple
from linkwork.model.pose import IDENTITY, Pose, as_pose
from linkwork.spatial.source import so3

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

Scope: TypeAlias = tuple[str, ...]
"""Names of the device and the chains that contain an element."""

# Larger angles are rejected [degrees]: they are too imprecise modulo 360.
LARGEST_DEGREES = 1e8
# An entry of R R^T - 1 up to the first is rounding; up to the second, R has few digits.
ROUNDED, INACCURATE = 1e-6, 2e-2

# Elements without information about kinematics, with their descriptions.
IGNORED_ELEMENTS: Mapping[str, str] = {
    "Property": "properties for the user",
    "CollisionSetup": "frames to check for collisions",
    "ProximitySetup": "frames to check for collisions",
    "Calibration": "a calibration file",
    "Camera": "a camera",
}


class CellReport(Report):
    """The findings about a workcell, whose elements may come from several files."""

    def __init__(self, file: str) -> None:
        super().__init__(file, {})
        self._ignored: dict[str, list[SourceLocation]] = {}
        self._doubtful: dict[str, dict[str, SourceLocation]] = {}

    def copy_locations(self, original: Element, copied: Element) -> None:
        """Use the lines of an element and its descendants for a copy of it."""
        for old, new in zip(original.iter(), copied.iter(), strict=True):
            location = self.location(old)
            self.add_lines(location.file, {new: location.line})

    def ignore(self, element: Element, description: str) -> None:
        """Record an ignored element; `report_ignored` warns once per description."""
        self._ignored.setdefault(description, []).append(self.location(element))

    def doubt(self, element: Element, name: str, text: str) -> None:
        """Record a doubtful frame; `report_ignored` warns once per text, and names the frames."""
        self._doubtful.setdefault(text, {}).setdefault(name, self.location(element))

    def report_ignored(self) -> None:
        """Add one warning for each kind of ignored elements, and without errors, of doubts."""
        for text, locations in self._doubtful.items() if not self.n_errors else ():
            names = listed([shown(name) for name in locations])
            self.extend(
                [Finding("warning", "", f"{text}: {names}", next(iter(locations.values())))]
            )
        for description, locations in self._ignored.items():
            times = f", {counted(len(locations), 'time')}" if len(locations) > 1 else ""
            self.extend([Finding("warning", "", f"{description} is ignored{times}", locations[0])])


class CellPart(Part):
    """An element of a workcell file, with its children in the order of the file."""

    report: CellReport

    def parts(self) -> Iterator[CellPart]:
        """Return all direct children, in order."""
        for element in self.element:
            yield CellPart(element, self.owner, self.report)

    def name(self, kind: str) -> CellPart:
        """Return the same element as the owner of its findings, such as `frame 'box'`."""
        return self.owned_by(
            f"{kind} {self.attribute('name')!r}" if self.attribute("name") else self.owner
        )

    def ignore(self) -> None:
        """Record that the element is ignored."""
        self.report.ignore(self.element, f"<{self.tag}> ({IGNORED_ELEMENTS[self.tag]})")

    def check(self, children: Collection[str], attributes: Collection[str]) -> None:
        """Warn about unknown children and attributes, and record ignored children."""
        self.warn_unknown((*children, *IGNORED_ELEMENTS), attributes, strict=True)
        for part in self.parts():
            if part.tag in IGNORED_ELEMENTS and part.tag != "Property":
                part.ignore()

    def content(self, *attributes: str) -> str:
        """Return the text of an element without children."""
        self.warn_unknown_attributes(*attributes)
        for inner in self.element:
            text = f"unknown element <{tag_of(inner)}> in <{self.tag}> is ignored"
            self.report.add("warning", inner, self.owner, text)
        return "".join([self.element.text or "", *(inner.tail or "" for inner in self.element)])

    def warn_unknown_attributes(self, *allowed: str) -> None:
        """Warn about attributes that are not allowed."""
        for name in map(str, self.element.attrib):
            if ":" not in name and name not in allowed:
                hint = nearest(name, allowed) if allowed else "it has none"
                self.warning(f"<{self.tag}> has an unknown attribute {name!r}; {hint}")

    def content_numbers(self, count: int, *, largest: float = LARGEST) -> tuple[float, ...] | None:
        """Return the `count` numbers in the text of an element; None after an error."""
        return self.numbers_in(self.content(), "", count, largest=largest)

    def angle(self, attribute: str, default: float | None = None) -> float:
        """Return an attribute with an angle in degrees, converted to radians."""
        degrees = self.numbers(
            attribute, 1, None if default is None else (default,), largest=LARGEST_DEGREES
        )[0]
        return self.radians(attribute, degrees)

    def radians(self, attribute: str, degrees: float) -> float:
        """Convert the number in an attribute to radians, with all digits of the text."""
        text = (self.attribute(attribute) or "").strip()
        try:
            has_all_digits = float(text) == degrees
        except ValueError:
            has_all_digits = False
        return radians_from_degrees(text if has_all_digits else degrees)

    def choice(self, attribute: str, allowed: Collection[str], default: str) -> str:
        """Return an attribute with one of several allowed values."""
        value = self.attribute(attribute)
        if value is None:
            return default
        if value not in allowed:
            hint = nearest(value, allowed)
            self.error(f"{self.tag} {attribute}: unknown value {value!r}; {hint}")
            return default
        return value

    def flag(self, attribute: str) -> bool:
        """Return an attribute that is true or false; without it, False."""
        return self.choice(attribute, ("true", "false"), "false") == "true"


def full_name(name: str, scope: Scope) -> str:
    """Name of a frame with the names of its device and chains."""
    return ".".join((*scope, name))


def lookup(name: str, scope: Scope, names: Container[str]) -> str | None:
    """Return the full name of the frame that a name refers to: in the innermost scope that has it.

    Args:
        name: the name in the file.
        scope: the scope of the element.
        names: full names of all frames.
    """
    candidates = (full_name(name, scope[:depth]) for depth in range(len(scope), -1, -1))
    return next((candidate for candidate in candidates if candidate in names), None)


def is_linkwork_property(part: Part) -> bool:
    """Whether an element is a `<Property>` of linkwork."""
    return part.tag == "Property" and (part.attribute("name") or "").startswith("linkwork.")


def read_pose(part: CellPart) -> Pose:
    """Read `<Pos>` and `<RPY>`, or a `<Transform>`, of an element; the identity without them."""
    transform, pos, rpy = part.child("Transform"), part.child("Pos"), part.child("RPY")
    if transform:
        if pos or rpy:
            transform.error("both <Transform> and <Pos> or <RPY> are present; expected one of them")
            return IDENTITY
        return _read_transform(transform)
    xyz = pos.content_numbers(3) if pos and not _is_empty(pos) else None
    angles = _read_rpy(rpy) if rpy and not _is_empty(rpy) else (0.0, 0.0, 0.0)
    return Pose(_triple(xyz), angles)


def _is_empty(part: CellPart) -> bool:
    """Whether an element is empty, which is read as zero."""
    if len(part.element) or (part.element.text or "").strip():
        return False
    part.warning(f"<{part.tag}> is empty; it is read as 0 0 0")
    part.warn_unknown_attributes()
    return True


def _triple(numbers: tuple[float, ...] | None) -> Triple:
    return (numbers[0], numbers[1], numbers[2]) if numbers else (0.0, 0.0, 0.0)


def _read_rpy(part: CellPart) -> Triple:
    """Read three angles in degrees: about z, the rotated y, and the rotated x."""
    text = part.content()
    if part.numbers_in(text, "", 3, largest=LARGEST_DEGREES) is None:
        return (0.0, 0.0, 0.0)
    z, y, x = map(radians_from_degrees, text.split())
    return (x, y, z)


def _read_transform(part: CellPart) -> Pose:
    """Read three rows of a homogeneous matrix."""
    numbers = part.content_numbers(12)
    if numbers is None:
        return IDENTITY
    matrix = np.vstack([np.reshape(numbers, (3, 4)), [0.0, 0.0, 0.0, 1.0]])
    rotation = matrix[:3, :3]
    with np.errstate(over="ignore", invalid="ignore"):
        error = float(np.abs(rotation @ rotation.T - np.eye(3)).max())
    if not error <= INACCURATE:
        part.error("Transform: the first three columns are not a rotation")
        return IDENTITY
    if np.linalg.det(rotation) < 0:
        part.warning(
            "Transform: the first three columns are a reflection, which is not a pose; "
            "the third one is reversed"
        )
        rotation[:, 2] *= -1
    if error > ROUNDED:
        part.warning(
            f"Transform: the first three columns differ from a rotation by {error:.1g}; "
            "the nearest rotation is used"
        )
    if error > 1e-15:
        matrix[:3, :3] = so3.project(rotation)
    return as_pose(matrix)
