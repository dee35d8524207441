"""Elements of a workcell file: numbers in their texts, poses, and what is beyond kinematics."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from linkwork.errors import Finding, ModelError, SourceLocation, counted, nearest
from linkwork.io.degrees import radians_of
from linkwork.io.urdf.elements import LARGEST, Part, Report
from linkwork.io.xml.parse import tag_of
from linkwork.model.numbers import Triple
from linkwork.model.pose import IDENTITY, Pose, as_pose

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

# Larger angles are refused [degrees]: the digits of such a number say nothing about it modulo 360.
LARGEST_DEGREES = 1e8
# An entry of R R^T - 1 up to the first is rounding, up to the second a matrix of few digits.
ROUNDED, INACCURATE = 1e-6, 2e-2

# Elements that say nothing about kinematics, and what each is about.
BEYOND_KINEMATICS: Mapping[str, str] = {
    "Property": "properties for the user",
    "CollisionSetup": "which frames are tested for collisions",
    "ProximitySetup": "which frames are tested for collisions",
    "Calibration": "a calibration file",
    "Camera": "a camera",
}


class CellReport(Report):
    """The findings about a workcell, whose elements may come from several files."""

    def __init__(self, file: str) -> None:
        super().__init__(file, {})
        self._locations: dict[Element, SourceLocation] = {}
        self._passed_over: dict[str, list[SourceLocation]] = {}

    def add_locations(self, file: str, lines: Mapping[Element, int]) -> None:
        """Remember where the elements of one file stand."""
        self._locations.update(
            {element: SourceLocation(file, line) for element, line in lines.items()}
        )

    def copy_locations(self, original: Element, copied: Element) -> None:
        """A copy of an element, and all in it, stand where the original does."""
        for old, new in zip(original.iter(), copied.iter(), strict=True):
            self._locations[new] = self.location(old)

    def location(self, element: Element) -> SourceLocation:
        """Where an element starts."""
        known = self._locations.get(element)
        return known if known is not None else SourceLocation(self.file, element.sourceline or 1)

    def pass_over(self, element: Element, what: str) -> None:
        """Note that an element is not read, to be told once for all of its kind."""
        self._passed_over.setdefault(what, []).append(self.location(element))

    def tell_passed_over(self) -> None:
        """One warning for each kind of element that was not read."""
        for what, places in self._passed_over.items():
            times = f", {counted(len(places), 'time')}" if len(places) > 1 else ""
            self.extend([Finding("warning", "", f"{what} is not read{times}", places[0])])


class CellPart(Part):
    """An element of a workcell file, with its children in the order of the file."""

    report: CellReport

    def __init__(self, element: Element, owner: str, report: CellReport) -> None:
        super().__init__(element, owner, report)
        self.report = report

    def parts(self) -> Iterator[CellPart]:
        """All direct children, in order."""
        for element in self.element:
            yield CellPart(element, self.owner, self.report)

    def one(self, tag: str) -> CellPart | None:
        """The one direct child of this name, if there is one; more than one is an error."""
        part = self.child(tag)
        return CellPart(part.element, self.owner, self.report) if part else None

    def owned_by(self, owner: str) -> CellPart:
        """The same element, as a piece of something else."""
        return CellPart(self.element, owner, self.report)

    def name(self, kind: str) -> CellPart:
        """The same element as the owner of its findings: `frame 'box'`."""
        return self.owned_by(f"{kind} {self.text('name')!r}" if self.text("name") else self.owner)

    def pass_over(self) -> None:
        """Note that the element says nothing about kinematics."""
        self.report.pass_over(self.element, f"<{self.tag}> ({BEYOND_KINEMATICS[self.tag]})")

    def check(self, children: Collection[str], attributes: Collection[str]) -> None:
        """Warn of unknown children and attributes, and note those beyond kinematics."""
        self.note_unknown((*children, *BEYOND_KINEMATICS), attributes, strict=True)
        for part in self.parts():
            if part.tag in BEYOND_KINEMATICS and part.tag != "Property":
                part.pass_over()

    def content(self, *attributes: str) -> str:
        """The text of an element that holds nothing but text."""
        self.note_attributes(*attributes)
        for inner in self.element:
            text = f"unknown element <{tag_of(inner)}> in <{self.tag}> is ignored"
            self.report.add("warning", inner, self.owner, text)
        return "".join([self.element.text or "", *(inner.tail or "" for inner in self.element)])

    def note_attributes(self, *known: str) -> None:
        """Warn of attributes that are not known, of an element that holds a text."""
        for name in map(str, self.element.attrib):
            if ":" not in name and name not in known:
                hint = nearest(name, known) if known else "it has none"
                self.warning(f"<{self.tag}> has an unknown attribute {name!r}; {hint}")

    def content_numbers(self, count: int, *, largest: float = LARGEST) -> tuple[float, ...] | None:
        """The text of an element that holds so many numbers; nothing if it does not."""
        return self.numbers_in(self.content(), "", count, largest=largest)

    def angle(self, attribute: str, default: float | None = None) -> float:
        """An attribute that is an angle in degrees, as radians."""
        degrees = self.numbers(
            attribute, 1, None if default is None else (default,), largest=LARGEST_DEGREES
        )[0]
        word = (self.text(attribute) or "").strip()
        exact = bool(word) and _is(word, degrees)
        return radians_of(word) if exact else radians_of(degrees)

    def choice(self, attribute: str, known: Collection[str], default: str) -> str:
        """An attribute that is one of a few words."""
        value = self.text(attribute)
        if value is None:
            return default
        if value not in known:
            self.error(f"{self.tag} {attribute}: unknown word {value!r}; {nearest(value, known)}")
            return default
        return value


def _is(word: str, number: float) -> bool:
    try:
        return float(word) == number
    except ValueError:
        return False


def is_linkwork_property(part: Part) -> bool:
    """Whether a `<Property>` is one that linkwork writes and reads."""
    return part.tag == "Property" and (part.text("name") or "").startswith("linkwork.")


def read_pose(part: CellPart) -> Pose:
    """Read `<Pos>` and `<RPY>`, or a `<Transform>`, of an element; the identity without them."""
    transform, pos, rpy = part.one("Transform"), part.one("Pos"), part.one("RPY")
    if transform:
        if pos or rpy:
            transform.error("<Transform> stands beside <Pos> or <RPY>; one of the two is wanted")
            return IDENTITY
        return _read_transform(transform)
    xyz = pos.content_numbers(3) if pos and not _is_empty(pos) else None
    angles = _read_rpy(rpy) if rpy and not _is_empty(rpy) else (0.0, 0.0, 0.0)
    return Pose(_triple(xyz), angles)


def _is_empty(part: CellPart) -> bool:
    """Whether an element holds nothing, which means zero."""
    if len(part.element) or (part.element.text or "").strip():
        return False
    part.warning(f"<{part.tag}> is empty; it is read as 0 0 0")
    part.note_attributes()
    return True


def _triple(numbers: tuple[float, ...] | None) -> Triple:
    return (numbers[0], numbers[1], numbers[2]) if numbers else (0.0, 0.0, 0.0)


def _read_rpy(part: CellPart) -> Triple:
    """Three angles in degrees: about z, then the new y, then the new x."""
    text = part.content()
    if part.numbers_in(text, "", 3, largest=LARGEST_DEGREES) is None:
        return (0.0, 0.0, 0.0)
    z, y, x = map(radians_of, text.split())
    return (x, y, z)


def _read_transform(part: CellPart) -> Pose:
    """Three rows of a homogeneous matrix."""
    numbers = part.content_numbers(12)
    if numbers is None:
        return IDENTITY
    matrix = np.vstack([np.reshape(numbers, (3, 4)), [0.0, 0.0, 0.0, 1.0]])
    rotation = matrix[:3, :3]
    with np.errstate(over="ignore", invalid="ignore"):
        error = float(np.abs(rotation @ rotation.T - np.eye(3)).max())
    if not error <= INACCURATE or np.linalg.det(rotation) < 0:
        part.error("Transform: the first three columns are no rotation")
        return IDENTITY
    if error > ROUNDED:
        part.warning(
            f"Transform: the first three columns are a rotation to {error:.1g} only; the nearest "
            "rotation is used"
        )
    u, _, v = np.linalg.svd(rotation)
    if error > 1e-15:
        matrix[:3, :3] = u @ v
    try:
        return as_pose(matrix)
    except ModelError as failure:
        part.error(failure.findings[0].text)
        return IDENTITY
