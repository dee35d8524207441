"""Elements of a URDF file, read strictly: what is wrong is noted, and reading goes on.

A `Part` is an element together with the link or joint it belongs to. Its readers return a harmless
value after noting an error; a file with errors never becomes a model, so that value goes nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from linkwork.errors import MOST_LISTED, Finding, Severity, SourceLocation, nearest, shown
from linkwork.io.xml.parse import tag_of
from linkwork.model.pose import Triple

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_XML_SPACE = re.compile(r"[ \t\r\n]+")
# Larger numbers are refused: no robot has them, and products of a few up to this are finite.
LARGEST = 1e60
DUPLICATE_REPAIRED = "duplicate element repaired"  # how a finding about it starts


class Report:
    """The findings about one file.

    Args:
        file: the name of the file in messages.
        lines: the line on which an element starts, where the parser does not know it.
        repair: whether the first of several elements is used where the format allows one; None
            where the reader has no such option.
    """

    def __init__(
        self, file: str, lines: Mapping[Element, int], *, repair: bool | None = None
    ) -> None:
        self.file = file
        self.repair = repair
        self._lines = lines
        self.n_errors = 0
        self.findings: list[Finding] = []

    def add(self, severity: Severity, element: Element, owner: str, text: str) -> None:
        """Add a finding about an element of the file."""
        self.extend([Finding(severity, owner, text, self.location(element))])

    def extend(self, findings: Iterable[Finding]) -> None:
        """Add findings."""
        for finding in findings:
            self.findings.append(finding)
            self.n_errors += finding.severity == "error"

    def location(self, element: Element) -> SourceLocation:
        """Where an element starts."""
        return SourceLocation(self.file, self._lines.get(element, element.sourceline or 1))


class Part:
    """An element, the link or joint it belongs to, and the report that takes its findings."""

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
        """Where the element starts."""
        return self.report.location(self.element)

    def error(self, text: str) -> None:
        """Note something that makes the file unreadable."""
        self.report.add("error", self.element, self.owner, text)

    def warning(self, text: str) -> None:
        """Note something doubtful."""
        self.report.add("warning", self.element, self.owner, text)

    @property
    def child_tags(self) -> Collection[str]:
        """Names of the direct children."""
        return self._elements.keys()

    def note(self, text: str) -> None:
        """Note something worth knowing."""
        self.report.add("note", self.element, self.owner, text)

    def children(self, tag: str) -> Iterator[Part]:
        """All direct children of this name."""
        for element in self._elements.get(tag, ()):
            yield Part(element, self.owner, self.report)

    def child(self, tag: str, *, several: Severity = "error") -> Part | None:
        """The one direct child of this name, if there is one.

        Args:
            tag: the name.
            several: the severity of more than one. As a warning, or where the report repairs, the
                first one is used, as other programs do.
        """
        parts = list(self.children(tag))
        if len(parts) > 1:
            lines = ", ".join(str(part.location.line) for part in parts[:MOST_LISTED])
            more = ", ..." if len(parts) > MOST_LISTED else ""
            text = f"<{self.tag}> has {len(parts)} <{tag}>, on lines {lines}{more}"
            if several == "error" and self.report.repair:
                parts[1].warning(f"{DUPLICATE_REPAIRED}: {text}; the first one is used")
            elif several == "warning":
                parts[1].warning(f"{text}; the first one is used")
            else:
                hint = "" if self.report.repair is None else "; repair=True uses the first one"
                parts[1].error(f"{text}; expected one{hint}")
        return parts[0] if parts else None

    def needed_child(self, tag: str) -> Part | None:
        """The one direct child of this name; it is an error if there is none."""
        part = self.child(tag)
        if part is None:
            near = get_close_matches(tag, self._elements, n=1, cutoff=0.7)
            hint = f"; is <{near[0]}> meant to be it?" if near else ""
            self.error(f"<{self.tag}> has no <{tag}>{hint}")
        return part

    def text(self, attribute: str) -> str | None:
        """An attribute as it stands, or nothing."""
        return self.element.get(attribute)

    def needed_text(self, attribute: str) -> str:
        """An attribute that must be there and not be empty."""
        value = self.text(attribute)
        if value is None:
            self._miss(attribute)
        elif not value.strip():
            self.error(f"<{self.tag}> has an empty {attribute!r}")
        elif is_xacro(value):
            self.error(xacro_text(f"{attribute}={shown(value)}"))
        return value or ""

    def number(self, attribute: str, default: float | None = None) -> float:
        """An attribute that is one number; an error if it is missing and there is no default."""
        return self.numbers(attribute, 1, None if default is None else (default,))[0]

    def triple(
        self, attribute: str, default: Triple | None = None, *, largest: float = LARGEST
    ) -> Triple:
        """An attribute that is three numbers."""
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
        """An attribute that is a given count of numbers between blanks, tabs or line breaks."""
        value = self.text(attribute)
        if value is None:
            if default is None:
                self._miss(attribute)
            return tuple(default or (0.0,) * count)
        valid = self.numbers_in(value, attribute, count, largest=largest)
        return valid if valid is not None else tuple(default or (0.0,) * count)

    def numbers_in(
        self, value: str, label: str, count: int, *, largest: float = LARGEST
    ) -> tuple[float, ...] | None:
        """The numbers of a text, or nothing, with the error noted under a label."""
        words = value.split() if value.isascii() else [w for w in _XML_SPACE.split(value) if w]
        what = f"{self.tag} {label}".strip()
        if is_xacro(value):
            self.error(xacro_text(f"{label or self.tag}={shown(value)}"))
        elif len(words) != count:
            plural = "" if count == 1 else "s"
            self.error(
                f"{what}: expected {count} number{plural}, got {len(words)} in {shown(value)}"
            )
        else:
            numbers = [self._number(what, word, largest) for word in words]
            valid = tuple(number for number in numbers if number is not None)
            if len(valid) == count:
                return valid
        return None

    def note_unknown(
        self, children: Collection[str], attributes: Collection[str], *, strict: bool = False
    ) -> None:
        """Warn of children that are not known, and of attributes that look like misspelt ones.

        Args:
            children: the known ones; elements of a namespace are known to others and passed over.
            attributes: the known ones.
            strict: warn of every unknown attribute, not only of one close to a known one.
        """
        self._known_attributes = attributes
        for tag, elements in self._elements.items():
            if tag not in children:
                for element in elements:
                    self._unknown_child(element, tag, children)
        for name in map(str, self.element.attrib):
            if name in attributes or ":" in name:
                continue
            if strict or _looks_misspelt(name, attributes):
                hint = nearest(name.lower(), attributes)
                self.warning(f"<{self.tag}> has an unknown attribute {name!r}; {hint}")
        self._note_stray_text()

    def _unknown_child(self, element: Element, tag: str, children: Collection[str]) -> None:
        lost = lost_part(element)
        if lost is not None:
            around = tag if lost is not element else self.tag
            where = "in a namespace" if ":" in tag_of(lost) else f"inside <{around}>"
            name = tag_of(lost).lstrip(":")
            text = f"a <{name}> stands {where}; it must stand directly inside <robot>"
            self.report.add("error", lost, self.owner, text)
            return
        if ":" in tag:
            return
        near = get_close_matches(tag.lower(), children, n=1, cutoff=0.7)
        hint = f"; did you mean <{near[0]}>?" if near else ""
        text = f"unknown element <{tag}> in <{self.tag}> is ignored{hint}"
        self.report.add("warning", element, self.owner, text)

    def _note_stray_text(self) -> None:
        texts = [(self.element, self.element.text), *((e, e.tail) for e in self.element)]
        for before, text in texts:
            if text and not text.isspace():
                said = f"text {shown(text.strip())} in <{self.tag}> is ignored"
                self.report.add("warning", before, self.owner, said)

    def _miss(self, attribute: str) -> None:
        others = [
            name for name in map(str, self.element.attrib) if name not in self._known_attributes
        ]
        near = get_close_matches(attribute, others, n=1, cutoff=0.6)
        hint = f"; is {near[0]!r} meant to be it?" if near else ""
        self.error(f"<{self.tag}> has no {attribute!r}{hint}")

    def _number(self, what: str, word: str, largest: float) -> float | None:
        """A decimal number, the same in every locale; or nothing, with the error noted."""
        if _DECIMAL.fullmatch(word):
            number = float(word)
            if abs(number) <= largest:
                return number
            problem = "is too large"
        elif word.lower().lstrip("+-") in ("nan", "inf", "infinity"):
            problem = "is not finite"
        else:
            problem = "is not a decimal number"
        self.error(f"{what}: {shown(word)} {problem}")
        return None


def _looks_misspelt(name: str, known: Collection[str]) -> bool:
    similar = [other for other in known if abs(len(other) - len(name)) <= 2]
    return bool(get_close_matches(name.lower(), similar, n=1, cutoff=0.6))


def lost_part(element: Element) -> Element | None:
    """A link or joint in an element that is not read, which would be lost without a word."""
    if tag_of(element) in ("link", "joint", ":link", ":joint"):
        return element
    for inner in element.iterdescendants():
        if tag_of(inner) in ("link", "joint") and inner.get("name") is not None:
            return inner
    return None


def is_xacro(value: str) -> bool:
    """Whether a value holds an expression that xacro should have replaced."""
    return "${" in value or "$(" in value


def xacro_text(what: str) -> str:
    """The message for what xacro should have replaced."""
    return f"{what} looks like xacro; expand the file first, as in `xacro robot.xacro > robot.urdf`"
