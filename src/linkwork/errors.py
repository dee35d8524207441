"""Errors, warnings and findings; functions that format their messages.

    LinkworkError
    ├── FindingsError        ValueError         has one or more reasons, listed in `findings`
    │   ├── ParseError                          a file that cannot be read as a robot
    │   └── ModelError                          parts that do not form a valid robot
    ├── ArgumentError        TypeError          an argument of the wrong type
    ├── SourceError          OSError            a file that cannot be read
    │   └── MissingFileError FileNotFoundError  a file that does not exist
    ├── WriteError           OSError            a file that cannot be written
    ├── MissingPackageError  ImportError        an optional package that is not installed
    ├── ShapeError           ValueError         an array of the wrong shape
    ├── ValueRangeError      ValueError         a value outside of its valid range
    ├── SingularJointError   ArithmeticError,   a joint without effective inertia
    │                        LinAlgError
    ├── StateError           ValueError         a state that does not match its workcell
    ├── FrozenError          AttributeError     an attempt to change an immutable object
    └── NameNotFoundError    KeyError,          a name that the model does not contain
                             ValueError

    LinkworkWarning          UserWarning        the category of every warning
    ├── SlowCompileWarning                      a function that takes seconds to compile
    └── FloatingBaseWarning                     a fixed robot whose base floats by default

A message is lower case without a full stop. It states the value that was passed, what was expected,
and the closest valid name. Messages about a file start with `file:line:`. Names may come from
files, so control characters in them are escaped.
"""

from __future__ import annotations

import errno as error_numbers
import re
import sys
import warnings
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from linkwork.singular import SingularJointError as SingularJointError  # noqa: PLC0414

Severity = Literal["error", "warning", "note"]
Topic = Literal["repair", "robot name", "default inertia", "xacro argument", "left out"]
_warned_topics: set[str] = set()  # topics that `warn_once` has warned about

MOST_NAMES = 12  # maximum number of valid names in a message
MOST_LISTED = 8  # maximum number of parts of a robot in a message
MOST_COMPARED = 300  # maximum number of names to compare with a misspelled one
LONGEST_NAME = 60  # longer names are not compared
SHORTEST_WORD = 3  # letters of a part of a name, by which longer names are found
MOST_FINDINGS = 20  # maximum number of findings in a message


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A line of a file."""

    file: str
    line: int  # 0 if the format has no lines

    def __str__(self) -> str:
        return escaped(self.file) + self._suffix

    @property
    def short(self) -> str:
        """The location without the folder, for lists whose headline names the folder."""
        return escaped(PurePath(self.file).name) + self._suffix

    @property
    def _suffix(self) -> str:
        return f":{self.line}" if self.line else ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong or doubtful in a robot or its file."""

    severity: Severity
    element: str  # such as "joint 'knee'"; empty for the entire file
    text: str
    location: SourceLocation | None = None
    topic: Topic | None = None  # for code that handles some findings differently

    def __str__(self) -> str:
        return self.line()

    def line(self, *, short: bool = False, label: bool = False) -> str:
        """Format the finding on one line.

        Args:
            short: whether to omit the folder of the file.
            label: whether to include the severity.
        """
        location = str((self.location.short if short else self.location) if self.location else "")
        severity = self.severity if label else ""
        parts = [location, severity, clipped(self.element, 200), clipped(self.text, 600)]
        return escaped(": ".join(part for part in parts if part))


class LinkworkError(Exception):
    """Any error that linkwork raises on purpose."""


class FindingsError(LinkworkError, ValueError):
    """An error that may have several reasons, which `findings` lists."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__(list_findings(self.findings))

    def __reduce__(self) -> tuple[type[FindingsError], tuple[tuple[Finding, ...]]]:
        return type(self), (self.findings,)


class ParseError(FindingsError):
    """A file or string that cannot be read as a robot."""


class ModelError(FindingsError):
    """Parts that do not form a valid robot, such as two links of one name or a negative mass."""


class ArgumentError(LinkworkError, TypeError):
    """An argument of the wrong type."""


class SourceError(LinkworkError, OSError):
    """A file that cannot be read."""


class MissingFileError(SourceError, FileNotFoundError):
    """A file that does not exist."""

    errno = error_numbers.ENOENT


class WriteError(LinkworkError, OSError):
    """A file or folder that cannot be written, such as on a full disk or without permission."""


class MissingPackageError(LinkworkError, ImportError):
    """An optional package that the called function needs is not installed."""


class ShapeError(LinkworkError, ValueError):
    """An array of the wrong shape."""


class ValueRangeError(LinkworkError, ValueError):
    """A value outside of its valid range, such as a quaternion that is far from unit norm.

    If results of a batch overflow, `mask` marks the rows that do, in C order, and `results` is what
    the call would have returned.
    """

    mask: Any = None
    results: Any = None


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import `SingularJointError` when it is first used, since its module imports NumPy."""
        if name != "SingularJointError":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from linkwork.singular import SingularJointError

        return globals().setdefault(name, SingularJointError)


class StateError(LinkworkError, ValueError):
    """A state that is damaged, outdated or of another workcell; or an invalid attachment."""


class FrozenError(LinkworkError, AttributeError):
    """An attempt to change an immutable object."""


class NameNotFoundError(LinkworkError, KeyError, ValueError):
    """A name that the model does not contain."""

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0])


class LinkworkWarning(UserWarning):
    """The category of every warning that linkwork issues."""

    def __init__(self, message: str, findings: Sequence[Finding] = ()) -> None:
        self.findings = tuple(findings)
        super().__init__(message)


class SlowCompileWarning(LinkworkWarning):
    """A function takes more than two seconds to compile; issued once per process."""


class FloatingBaseWarning(LinkworkWarning):
    """A robot seems to have a fixed base, but floats by default; issued once for each robot."""


def warn(
    message: str,
    findings: Sequence[Finding] = (),
    category: type[LinkworkWarning] = LinkworkWarning,
) -> None:
    """Issue a warning that points to the calling line outside of linkwork."""
    level, frame = 1, sys._getframe()  # pyright: ignore[reportPrivateUsage]
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] == "linkwork":
        level, frame = level + 1, frame.f_back
    warnings.warn(category(message, findings), stacklevel=level)


def warn_once(topic: str, message: str, category: type[LinkworkWarning] = LinkworkWarning) -> None:
    """Issue a warning, unless this process has already warned about the topic."""
    if topic not in _warned_topics:
        _warned_topics.add(topic)
        warn(message, category=category)


def warn_of(findings: Sequence[Finding]) -> None:
    """Issue one warning that lists all findings, if there are any."""
    if findings:
        warn(list_findings(findings, usual="warning"), findings)


def missing_package(what: str, *packages: str) -> MissingPackageError:
    """Build the error for optional packages that are not installed.

    Args:
        what: the part of linkwork that needs them.
        packages: the arguments of `pip install`.
    """
    command = " ".join(f'"{name}"' if "[" in name else name for name in packages)
    return MissingPackageError(f"{what} needs another package: pip install {command}")


def model_error(text: str, element: str = "", location: SourceLocation | None = None) -> ModelError:
    """Build an error with a single finding."""
    return ModelError([Finding("error", element, text, location)])


@contextmanager
def concerning(element: str, location: SourceLocation | None = None) -> Generator[None, None, None]:
    """Add the element and its location to model errors raised in this context without them."""
    try:
        yield
    except ModelError as error:
        named = [
            replace(f, element=f.element or element, location=f.location or location)
            for f in error.findings
        ]
        raise ModelError(named) from None


def name_not_found(kind: str, name: object, known: Iterable[str]) -> NameNotFoundError:
    """Build the error for a name that the model does not contain."""
    return NameNotFoundError(f"no {kind} named {shown(name)}; {nearest(name, known)}")


def nearest(name: object, known: Iterable[str]) -> str:
    """Suggest the closest known names, or those with a part of the name, or list all."""
    names = sorted(known)
    near = get_close_matches(str(name), _comparable(str(name), names), n=2, cutoff=0.7)
    if near:
        return f"did you mean {' or '.join(map(repr, near))}?"
    if not names:
        return "there are none"
    for word in _words(name) if isinstance(name, str) else ():
        names_with = [clipped(other) for other in names if word in other.lower()]
        if names_with:
            return f"known with {word!r}: {listed(names_with, MOST_NAMES)}"
    return f"known: {listed([clipped(other) for other in names], MOST_NAMES)}"


def _words(name: str) -> list[str]:
    """Parts of a name, such as `sole` of `l_sole`, the longest first."""
    words = re.split(r"[\W\d_]+", name.lower()) if len(name) <= LONGEST_NAME else []
    return sorted((word for word in words if len(word) >= SHORTEST_WORD), key=len, reverse=True)


def listed(names: Sequence[str], most: int = MOST_LISTED) -> str:
    """Join the first `most` names with commas, and append the number of further names."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return escaped(", ".join(names[:most]) + more)


def _comparable(name: str, names: Sequence[str]) -> list[str]:
    """Select the names to compare with a name: few and short enough to compare quickly."""
    if len(name) > LONGEST_NAME:
        return []
    near = [other for other in names if len(other) <= LONGEST_NAME]
    if len(near) > MOST_COMPARED:  # keep names with the same beginning or end
        near = [other for other in near if other[:2] == name[:2] or other[-2:] == name[-2:]]
    return near[:MOST_COMPARED]


def shown(value: object) -> str:
    """Format a value for a message: shortened, and quoted if it is a string."""
    if isinstance(value, str):
        return repr(clipped(value))
    try:
        return clipped(repr(value))
    except ValueError:  # Python does not print integers of many thousand digits
        return f"an {type(value).__name__} with too many digits to print"


def clipped(text: str, longest: int = 60) -> str:
    """Truncate a string that is longer than `longest`."""
    return text if len(text) <= longest else text[: longest - 3] + "..."


def escaped(text: str) -> str:
    """Replace control characters and line breaks by escape sequences."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )


def counted(number: int, noun: str) -> str:
    """Format a count with its noun: `1 link`, `2 links`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


class Suggestions:
    """`nearest` for a series of names; only for the first ones, to limit the time it takes."""

    def __init__(self, known: Iterable[str]) -> None:
        self._known = tuple(known)
        self._left = MOST_FINDINGS

    def __call__(self, name: str, *, exclude: str | None = None) -> str:
        """Return the hint to append to a message, with its separator; empty after the limit."""
        self._left -= 1
        if self._left < 0:
            return ""
        return f"; {nearest(name, [known for known in self._known if known != exclude])}"


def list_findings(findings: Sequence[Finding], usual: Severity = "error") -> str:
    """Format findings, one per line under a headline; a single one without a headline.

    Args:
        findings: the findings.
        usual: if all findings have this severity, the lines omit it.
    """
    label = any(finding.severity != usual for finding in findings)
    if len(findings) == 1:
        return findings[0].line(label=label)
    files = sorted({finding.location.file for finding in findings if finding.location})
    name = files[0] if len(files) == 1 else ""
    headline_has_folder = PurePath(name).name != name
    headline = count_findings(findings) + (f" in {escaped(name)}" if headline_has_folder else "")
    lines = [f.line(short=headline_has_folder, label=label) for f in findings[:MOST_FINDINGS]]
    if len(findings) > MOST_FINDINGS:
        lines.append(f"... and {len(findings) - MOST_FINDINGS} more")
    return "\n  ".join([headline, *lines])


def count_findings(findings: Sequence[Finding]) -> str:
    """Count findings by severity: `2 errors, 1 warning`."""
    severities: tuple[Severity, ...] = ("error", "warning", "note")
    counts = {name: sum(f.severity == name for f in findings) for name in severities}
    return ", ".join(counted(n, name) for name, n in counts.items() if n) or "no findings"
