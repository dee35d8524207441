"""Errors and findings: facts in, message out.

    LinkworkError
    ├── FindingsError       ValueError         has several reasons, and holds them as `findings`
    │   ├── ParseError                         a text that is no robot
    │   └── ModelError                         facts that make no robot
    ├── ArgumentError       TypeError          an argument of a type that means nothing here
    ├── SourceError         OSError            a file that cannot be read
    ├── ShapeError          ValueError         an array of the wrong shape
    ├── ValueRangeError     ValueError         a number that means nothing here
    ├── SingularJointError  LinAlgError        a joint whose motion nothing resists
    ├── FrozenError         AttributeError     an object that does not change
    └── NameNotFoundError   KeyError           a name the model does not have

    LinkworkWarning         UserWarning        the one category of every warning

A message is lower case without a full stop; it says what was given, what is wanted, and the nearest
valid name. What concerns a file starts with `file:line:`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Literal

from numpy.linalg import LinAlgError

Severity = Literal["error", "warning", "note"]

MOST_NAMES = 12  # a message lists no more known names than this
MOST_LISTED = 8  # a message names no more parts of a robot than this
MOST_COMPARED = 300  # a name is compared with no more others than this
LONGEST_NAME = 60  # longer names are not compared with others
MOST_FINDINGS = 20  # a message lists no more findings than this


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a file something stands."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong or doubtful in a robot or its file."""

    severity: Severity
    element: str  # such as "joint 'knee'"; empty for the file as a whole
    text: str
    place: Place | None = None

    def __str__(self) -> str:
        parts = [str(self.place or ""), clipped(self.element, 200), clipped(self.text, 600)]
        return ": ".join(part for part in parts if part)


class LinkworkError(Exception):
    """Any error that linkwork raises on purpose."""


class FindingsError(LinkworkError, ValueError):
    """An error that may have several reasons; `findings` holds them all."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__(list_findings(self.findings))

    def __reduce__(self) -> tuple[type[FindingsError], tuple[tuple[Finding, ...]]]:
        return type(self), (self.findings,)


class ParseError(FindingsError):
    """A text that cannot be read as a robot."""


class ModelError(FindingsError):
    """Facts that make no robot: a link joined to itself, two links of one name, a negative mass."""


class ArgumentError(LinkworkError, TypeError):
    """An argument of a type that means nothing here."""


class SourceError(LinkworkError, OSError):
    """A file that does not exist or cannot be read."""


class ShapeError(LinkworkError, ValueError):
    """An array whose shape does not fit."""


class ValueRangeError(LinkworkError, ValueError):
    """A number that means nothing here, such as a quaternion that is far from unit length.

    `mask` tells of a batch whose results overflow which of its rows do, in C order.
    """

    mask: Any = None


class SingularJointError(LinkworkError, LinAlgError, ArithmeticError):
    """A joint whose motion nothing resists, so that forces give it no finite acceleration.

    `mask` tells of a batch which of its rows, in C order, are singular; None of a single call.
    """

    mask: Any = None


class FrozenError(LinkworkError, AttributeError):
    """An object that does not change was to be changed."""


class NameNotFoundError(LinkworkError, KeyError):
    """A name the model does not have."""

    def __str__(self) -> str:  # KeyError would print the repr of the text
        return str(self.args[0])


class LinkworkWarning(UserWarning):
    """The category of every warning that linkwork gives."""

    def __init__(self, message: str, findings: Sequence[Finding] = ()) -> None:
        self.findings = tuple(findings)
        super().__init__(message)


def model_error(text: str, element: str = "", place: Place | None = None) -> ModelError:
    """Build the error for one fact that makes no robot."""
    return ModelError([Finding("error", element, text, place)])


@contextmanager
def concerning(element: str) -> Generator[None, None, None]:
    """Say whom it concerns, in errors about facts that do not say it themselves."""
    try:
        yield
    except ModelError as error:
        named = [replace(f, element=f.element or element) for f in error.findings]
        raise ModelError(named) from None


def name_not_found(kind: str, name: object, known: Iterable[str]) -> NameNotFoundError:
    """Build the error for a name the model does not have."""
    return NameNotFoundError(f"no {kind} named {shown(name)}; {nearest(name, known)}")


def nearest(name: object, known: Iterable[str]) -> str:
    """Say which of the known names is meant, or what names there are."""
    names = sorted(known)
    near = get_close_matches(str(name), _comparable(str(name), names), n=2, cutoff=0.7)
    if near:
        return f"did you mean {' or '.join(map(repr, near))}?"
    if not names:
        return "there is none"
    more = len(names) - MOST_NAMES
    listed = ", ".join(clipped(other) for other in names[:MOST_NAMES])
    return f"known: {listed}" + (f" and {more} more" if more > 0 else "")


def _comparable(name: str, names: Sequence[str]) -> list[str]:
    """The names worth comparing with one: comparing takes long for many names, or long ones."""
    if len(name) > LONGEST_NAME:
        return []
    found = [other for other in names if len(other) <= LONGEST_NAME]
    if len(found) > MOST_COMPARED:  # look at those that begin or end alike
        found = [other for other in found if other[:2] == name[:2] or other[-2:] == name[-2:]]
    return found[:MOST_COMPARED]


def shown(value: object) -> str:
    """A value for a message: in quotes if it is a text, and not too long."""
    return repr(clipped(value)) if isinstance(value, str) else clipped(repr(value))


def clipped(text: str, longest: int = 60) -> str:
    """A text, or its start if it is long."""
    return text if len(text) <= longest else text[: longest - 3] + "..."


class Suggestions:
    """`nearest` for many names in a row; falls silent after some, so that it never takes long."""

    def __init__(self, known: Iterable[str]) -> None:
        self._known = tuple(known)
        self._left = MOST_FINDINGS

    def __call__(self, name: str, *, besides: str | None = None) -> str:
        """The text to append to a message, with its separator; empty once enough was said."""
        self._left -= 1
        if self._left < 0:
            return ""
        return f"; {nearest(name, [known for known in self._known if known != besides])}"


def list_findings(findings: Sequence[Finding], most: int = MOST_FINDINGS) -> str:
    """Write findings one to a line; a single one stands alone, without a headline."""
    if len(findings) == 1:
        return str(findings[0])
    lines = [count_findings(findings), *(f"  {finding}" for finding in findings[:most])]
    if len(findings) > most:
        lines.append(f"  ... and {len(findings) - most} more")
    return "\n".join(lines)


def count_findings(findings: Sequence[Finding]) -> str:
    """Count findings in words: `2 errors, 1 warning`."""
    severities: tuple[Severity, ...] = ("error", "warning", "note")
    counts = {name: sum(f.severity == name for f in findings) for name in severities}
    words = [f"{n} {name}{'s' if n > 1 else ''}" for name, n in counts.items() if n]
    return ", ".join(words) or "nothing found"
