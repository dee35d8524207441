"""Strict reading of XML elements: errors are recorded, and reading continues.

A `Part` is an element together with the link or joint it belongs to. After an error, its readers
return a default value; it is never used, because a file with errors does not become a model.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from linkwork.errors import (
    MOST_LISTED,
    Finding,
    ModelError,
    ParseError,
    Severity,
    SourceError,
    SourceLocation,
    Topic,
    listed,
    nearest,
    shown,
)
from linkwork.io.xml.documents import (
    Document,
    Source,
    namespace_of,
    parse_xml,
    read_source,
    tag_of,
)
from linkwork.model.geometry import Box, Capsule, Cylinder, Geometry, Sphere
from linkwork.model.inertia import NO_INERTIA, Inertia, Six, moved
from linkwork.model.parts import unit_vector
from linkwork.model.pose import Pose, Triple

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_XML_SPACE = re.compile(r"[ \t\r\n]+")
# Larger numbers are rejected: no robot has them, and products of a few smaller ones are finite.
LARGEST = 1e60
# Scaling an axis to length 1 is reported if its length differs from 1 by more than this. Closer
# ones are rounded unit vectors, such as 0.707 0.707 0.
UNIT_NOTICE = 1e-3
P = TypeVar("P", bound="Part")
T = TypeVar("T")
D = TypeVar("D")
# The sizes of shapes in URDF and SDF, which have the names of the fields, and how many numbers each
# size has. An element has the name of the class.
SIZES: dict[type[Geometry], dict[str, int]] = {
    Box: {"size": 3},
    Cylinder: {"radius": 1, "length": 1},
    Sphere: {"radius": 1},
    Capsule: {"radius": 1, "length": 1},
}
PRIMITIVES = {shape.__name__.lower(): shape for shape in SIZES}  # by the name of the element


class Report:
    """The findings about a file, and about other files that it includes.

    Args:
        file: the name of the file in messages.
        lines: the line on which an element starts, if it differs from lxml's `sourceline`.
        repair: whether to use the first of several elements where the format allows only one; None
            if the reader has no such option.
    """

    def __init__(
        self,
        file: str,
        lines: Mapping[Element, int],
        *,
        repair: bool | None = None,
    ) -> None:
        self.file = file
        self.repair = repair
        self._lines = lines
        self._others: dict[Element, tuple[str, int]] = {}  # file and line
        self.n_errors = 0
        self.findings: list[Finding] = []
        self.ignored: Counter[str] = Counter()  # by name: elements for other programs

    def add(
        self,
        severity: Severity,
        element: Element,
        owner: str,
        text: str,
        topic: Topic | None = None,
    ) -> None:
        """Add a finding about an element of the file."""
        self.extend([Finding(severity, owner, text, self.location(element), topic)])

    def extend(self, findings: Iterable[Finding]) -> None:
        """Add findings."""
        for finding in findings:
            self.findings.append(finding)
            self.n_errors += finding.severity == "error"

    def note_ignored(self) -> None:
        """Add a note that lists the elements for other programs, if there are any."""
        if self.ignored:
            counts = [f"<{tag}> ({count})" for tag, count in self.ignored.items()]
            text = f"left out: elements for other programs: {listed(counts)}"
            location = SourceLocation(self.file, 1)
            self.extend([Finding("note", "", text, location, "left out")])

    def location(self, element: Element) -> SourceLocation:
        """Return the file and the line on which an element starts."""
        if element in self._others:
            return SourceLocation(*self._others[element])
        return SourceLocation(self.file, self._lines.get(element, element.sourceline or 1))

    def add_lines(self, file: str, lines: Mapping[Element, int]) -> None:
        """Store the lines of the elements of a further file."""
        self._others.update({element: (file, line) for element, line in lines.items()})


class Part:
    """An element, the link or joint it belongs to, and the report that collects its findings."""

    container: ClassVar[str] = "robot"  # the element that contains links and joints

    def __init__(self, element: Element, owner: str, report: Report) -> None:
        self.element = element
        self.owner = owner
        self.report = report
        self.tag = tag_of(element)
        self._known_attributes: Collection[str] = ()
        self._elements: dict[str, list[Element]] = {}
        for child in element:
            self._elements.setdefault(tag_of(child), []).append(child)

    @property
    def location(self) -> SourceLocation:
        """The line on which the element starts."""
        return self.report.location(self.element)

    def error(self, text: str) -> None:
        """Record an error: the file does not become a model."""
        self.report.add("error", self.element, self.owner, text)

    def warning(self, text: str, topic: Topic | None = None) -> None:
        """Record a warning."""
        self.report.add("warning", self.element, self.owner, text, topic)

    @property
    def child_tags(self) -> Collection[str]:
        """Names of the direct children."""
        return self._elements.keys()

    def note(self, text: str, topic: Topic | None = None) -> None:
        """Record a note."""
        self.report.add("note", self.element, self.owner, text, topic)

    def owned_by(self: P, owner: str) -> P:
        """Return the same element with another owner of its findings."""
        return type(self)(self.element, owner, self.report)

    def children(self: P, *tags: str) -> Iterator[P]:
        """Yield all direct children with these names, in the order of the file."""
        for element in self.element:
            if tag_of(element) in tags:
                yield type(self)(element, self.owner, self.report)

    def child(self: P, tag: str, *, several: Severity = "error") -> P | None:
        """Return the direct child with this name, or None.

        Args:
            tag: the name.
            several: the severity of more than one such child. With a warning, or if the report
                repairs, the first one is used, as in other programs.
        """
        parts = list(self.children(tag))
        if len(parts) > 1:
            lines = ", ".join(str(part.location.line) for part in parts[:MOST_LISTED])
            more = ", ..." if len(parts) > MOST_LISTED else ""
            text = f"<{self.tag}> has {len(parts)} <{tag}>, on lines {lines}{more}"
            if several == "error" and self.report.repair:
                message = f"duplicate element repaired: {text}; the first one is used"
                parts[1].warning(message, "repair")
            elif several == "warning":
                parts[1].warning(f"{text}; the first one is used")
            else:
                hint = "" if self.report.repair is None else "; repair=True uses the first one"
                parts[1].error(f"{text}; expected one{hint}")
        return parts[0] if parts else None

    def required_child(self: P, tag: str) -> P | None:
        """Return the direct child with this name; it is an error if there is none."""
        part = self.child(tag)
        if part is None:
            near = get_close_matches(tag, self._elements, n=1, cutoff=0.7)
            hint = f"; did you mean <{tag}> by <{near[0]}>?" if near else ""
            self.error(f"<{self.tag}> has no <{tag}>{hint}")
        return part

    def attribute(self, name: str) -> str | None:
        """Return an attribute as a string, or None."""
        return self.element.get(name)

    def required_attribute(self, name: str) -> str:
        """Return an attribute that must exist and not be empty."""
        value = self.attribute(name)
        if value is None:
            self._report_missing(name)
        elif not value.strip():
            self.error(f"<{self.tag}> has an empty {name!r}")
        elif has_xacro(value):
            self.error(xacro_message(f"{name}={shown(value)}"))
        return value or ""

    def number(self, attribute: str, default: float | None = None) -> float:
        """Return an attribute with one number; without a default, it must exist."""
        return self.numbers(attribute, 1, None if default is None else (default,))[0]

    def triple(
        self, attribute: str, default: Triple | None = None, *, largest: float = LARGEST
    ) -> Triple:
        """Return an attribute with three numbers."""
        x, y, z = self.numbers(attribute, 3, default, largest=largest)
        return (x, y, z)

    def numbers(
        self,
        attribute: str,
        count: int,
        default: Sequence[float] | None = None,
        *,
        largest: float = LARGEST,
    ) -> tuple[float, ...]:
        """Return an attribute with `count` numbers, separated by white space."""
        value = self.attribute(attribute)
        if value is None:
            if default is None:
                self._report_missing(attribute)
            return tuple(default or (0.0,) * count)
        valid = self.numbers_in(value, attribute, count, largest=largest)
        return valid if valid is not None else tuple(default or (0.0,) * count)

    def numbers_in(
        self, value: str, label: str, count: int, *, largest: float = LARGEST
    ) -> tuple[float, ...] | None:
        """Return the numbers in a string, or None after an error, which names the label."""
        words = value.split() if value.isascii() else [w for w in _XML_SPACE.split(value) if w]
        subject = f"{self.tag} {label}".strip()
        if has_xacro(value):
            self.error(xacro_message(f"{label or self.tag}={shown(value)}"))
        elif len(words) != count:
            plural = "" if count == 1 else "s"
            self.error(
                f"{subject}: expected {count} number{plural}, got {len(words)} in {shown(value)}"
            )
        else:
            numbers = [self._number(subject, word, largest) for word in words]
            valid = tuple(number for number in numbers if number is not None)
            if len(valid) == count:
                return valid
        return None

    def warn_unknown(
        self,
        children: Collection[str],
        attributes: Collection[str],
        *,
        ignored: Collection[str] = (),
        strict: bool = False,
    ) -> None:
        """Warn about unknown children, and about attributes that look misspelled.

        Args:
            children: the known children; elements with a namespace are ignored.
            attributes: the known attributes.
            ignored: children for other programs, which are counted in the report.
            strict: warn about every unknown attribute, not only about those close to a known one.
        """
        self._known_attributes = attributes
        for tag, elements in self._elements.items():
            if tag in ignored:
                self.report.ignored[tag] += len(elements)
            elif tag not in children:
                for element in elements:
                    self._unknown_child(element, tag, (*children, *ignored))
        for name in map(str, self.element.attrib):
            if name in attributes or ":" in name:
                continue
            if strict or _looks_misspelled(name, attributes):
                hint = nearest(name.lower(), attributes)
                self.warning(f"<{self.tag}> has an unknown attribute {name!r}; {hint}")
        self._warn_stray_text()

    def _unknown_child(self, element: Element, tag: str, children: Collection[str]) -> None:
        misplaced = misplaced_part(element)
        if misplaced is not None:
            around = tag if misplaced is not element else self.tag
            where = "in a namespace" if ":" in tag_of(misplaced) else f"inside <{around}>"
            name = tag_of(misplaced).lstrip(":")
            text = f"a <{name}> is {where}; it must be directly inside <{self.container}>"
            self.report.add("error", misplaced, self.owner, text)
            return
        if ":" in tag:
            return
        near = get_close_matches(tag.lower(), children, n=1, cutoff=0.7)
        hint = f"; did you mean <{near[0]}>?" if near else ""
        text = f"unknown element <{tag}> in <{self.tag}> is ignored{hint}"
        self.report.add("warning", element, self.owner, text)

    def _warn_stray_text(self) -> None:
        texts = [(self.element, self.element.text), *((e, e.tail) for e in self.element)]
        for before, text in texts:
            if text and not text.isspace():
                message = f"text {shown(text.strip())} in <{self.tag}> is ignored"
                self.report.add("warning", before, self.owner, message)

    def build(
        self, default: D, create: Callable[..., T], *values: object, **fields: object
    ) -> T | D:
        """Call a function that may raise a `ModelError`; it becomes an error of the element.

        Args:
            default: the result after an error.
            create: the function.
            values, fields: its arguments.
        """
        try:
            return create(*values, **fields)
        except ModelError as error:
            self.error(error.findings[0].text)
            return default

    def included(
        self, path: Path, problem: str, parse: Callable[[Source], Document] = parse_xml
    ) -> Document | None:
        """Parse a further file, and add its lines and findings; None after an error.

        Args:
            path: the file.
            problem: the start of the message if it cannot be read.
            parse: the function that parses it.
        """
        try:
            document = parse(read_source(path))
        except SourceError as error:
            self.error(f"{problem}: {error}")
        except ParseError as error:
            self.report.extend(error.findings)
        else:
            self.report.add_lines(str(path), document.lines)
            self.report.extend(document.findings)
            return document
        return None

    def rgba(self, numbers: Sequence[float], label: str = "") -> tuple[float, float, float, float]:
        """Return a color, which is opaque by default; warn about values outside of 0 to 1."""
        if not all(0 <= number <= 1 for number in numbers):
            subject = f"{self.tag} {label}".strip()
            self.warning(f"{subject}: {list(numbers)} has values outside of 0 to 1")
        r, g, b, alpha = (*numbers, 1.0)[:4]
        return (r, g, b, alpha)

    def unit_axis(self, xyz: Triple, default: Triple) -> Triple:
        """Return an axis scaled to length 1; the default after an error."""
        axis = self.build(None, unit_vector, xyz)
        if axis is None:
            return default
        length = math.hypot(*xyz)
        if abs(length - 1) > UNIT_NOTICE:
            self.warning(f"axis {list(xyz)} has length {length:.6g}; it is scaled to length 1")
        return axis

    def inertia(self, mass: float, moments: Six, com: Pose, errors: int) -> Inertia:
        """Return an inertia in the axes of the link; none after an error.

        Args:
            mass, moments: the mass, and the moments about the center of mass in its axes.
            com: pose of the center of mass in the link.
            errors: number of errors before the values were read.
        """
        about_com = self.build(NO_INERTIA, Inertia, mass, (0.0, 0.0, 0.0), moments)
        if self.report.n_errors > errors:
            return NO_INERTIA
        if com.rpy == (0.0, 0.0, 0.0):
            return Inertia(mass, com.xyz, moments)
        return moved(about_com, com)

    def _report_missing(self, attribute: str) -> None:
        others = [
            name for name in map(str, self.element.attrib) if name not in self._known_attributes
        ]
        near = get_close_matches(attribute, others, n=1, cutoff=0.6)
        hint = f"; did you mean {attribute!r} by {near[0]!r}?" if near else ""
        self.error(f"<{self.tag}> has no {attribute!r}{hint}")

    def _number(self, subject: str, word: str, largest: float) -> float | None:
        """Parse a decimal number independently of the locale; None after an error."""
        if _DECIMAL.fullmatch(word):
            number = float(word)
            if abs(number) <= largest:
                return number
            problem = "is too large"
        elif word.lower().lstrip("+-") in ("nan", "inf", "infinity"):
            problem = "is not finite"
        else:
            problem = "is not a decimal number"
        self.error(f"{subject}: {shown(word)} {problem}")
        return None


def read_primitive(part: Part, numbers: Callable[[str, int], tuple[float, ...]]) -> Geometry:
    """Read a box, cylinder, sphere or capsule.

    Args:
        part: its element.
        numbers: reads the numbers of a size, by its name and their count.
    """
    shape = PRIMITIVES[part.tag]
    sizes: dict[str, Any] = {}
    for name, count in SIZES[shape].items():
        values = numbers(name, count)
        if min(values) < 0:
            part.error(f"{part.tag} {name}: {min(values):g} is negative")
        sizes[name] = abs(values[0]) if count == 1 else tuple(map(abs, values))
    return shape(**sizes)


def _looks_misspelled(name: str, known: Collection[str]) -> bool:
    similar = [other for other in known if abs(len(other) - len(name)) <= 2]
    return bool(get_close_matches(name.lower(), similar, n=1, cutoff=0.6))


def misplaced_part(element: Element) -> Element | None:
    """Return a link or joint inside of an element that is not read."""
    if tag_of(element) in ("link", "joint", ":link", ":joint"):
        return element
    for inner in element.iterdescendants():
        if tag_of(inner) in ("link", "joint") and inner.get("name") is not None:
            return inner
    return None


def report_xacro(robot: Part, text: str) -> bool:
    """Report the first element of xacro, which remains if xacro is not installed.

    Args:
        robot: the root.
        text: the document.

    Returns:
        Whether there is such an element.
    """
    for element in robot.element.iter() if "xacro" in text else ():
        tag = tag_of(element)
        if tag.startswith("xacro:") or namespace_of(element).endswith("/wiki/xacro"):
            message = f"{xacro_message(f'<{tag}>')}, or install xacro: pip install xacro"
            robot.report.add("error", element, "", message)
            return True
    return False


def has_xacro(value: str) -> bool:
    """Return whether a value contains an expression that xacro should have replaced."""
    return "${" in value or "$(" in value


def xacro_message(subject: str) -> str:
    """Return the message for an expression that xacro should have replaced."""
    hint = "expand the file first, as in `xacro robot.xacro > robot.urdf`"
    return f"{subject} looks like xacro; {hint}"
