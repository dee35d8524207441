"""The formats of robot files, one row each.

`load`, the conversion between formats, the command line and its completion read this table. A
format NAME is a folder `io/NAME` with these functions, which are imported on first use:

    reader.py   read_NAME(source, *, mimic, package_dirs, repair) -> Reading
    writer.py   convert_NAME(model) -> Conversion, with `options` as keyword arguments

Shell completion reads the table, so this module does not import NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

from linkwork.errors import ArgumentError, Finding, ParseError, nearest, warn_of

if TYPE_CHECKING:
    from linkwork.model.model import Model

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading a file: the model, or None if there are errors, and all findings."""

    model: Model | None
    findings: tuple[Finding, ...]


def checked(result: T | None, findings: Sequence[Finding], *, strict: bool = False) -> T:
    """Return what was read, and warn about doubtful parts.

    Args:
        result: what was read; None after an error.
        findings: all findings.
        strict: whether to raise an error instead of a warning, except for warnings about repairs.

    Raises:
        ParseError: there is no result, or a warning that is an error; it lists both.
    """
    warnings = [finding for finding in findings if finding.severity == "warning"]
    if result is None or (strict and any(f.topic != "repair" for f in warnings)):
        serious = [finding for finding in findings if finding.severity != "note"]
        raise ParseError(sorted(serious, key=lambda finding: finding.severity))
    warn_of([*warnings, *(f for f in findings if f.topic == "robot name")])
    return result


@dataclass(frozen=True, slots=True)
class Conversion:
    """The content of a new file, its differences from the robot, and how it was checked."""

    text: str
    findings: tuple[Finding, ...] = ()
    checked: str = ""


@dataclass(frozen=True, slots=True)
class Format:
    """A format of robot files."""

    name: str
    title: str
    endings: tuple[str, ...]  # of files that are written in this format
    also_read: tuple[str, ...] = ()  # further endings of files that are read
    roots: tuple[str, ...] = ()  # root elements of XML documents
    starts: tuple[tuple[bytes, str], ...] = ()
    """First bytes of files that are not XML, and the ending that such a file must have, or ""."""
    options: tuple[str, ...] = ()  # keyword arguments of the conversion

    def reader(self) -> Callable[..., Reading]:
        """Import the function that reads a document of this format."""
        return getattr(import_module(f"linkwork.io.{self.name}.reader"), f"read_{self.name}")

    def converter(self) -> Callable[..., Conversion]:
        """Import the function that converts a robot to this format."""
        return getattr(import_module(f"linkwork.io.{self.name}.writer"), f"convert_{self.name}")


_ROWS = (
    Format("urdf", "URDF", (".urdf",), (".xacro",), roots=("robot",)),
    # before version 1.3, the root was <gazebo>
    Format("sdf", "SDF", (".sdf",), (".world",), roots=("sdf", "gazebo")),
    Format(
        "mjcf",
        "MJCF",
        (".mjcf", ".xml"),
        roots=("mujoco", "mujocoinclude"),
        options=("floating", "meshes"),
    ),
    Format(
        "usd",
        "USD",
        (".usda", ".usd"),
        (".usdc", ".usdz"),
        starts=((b"#usda", ""), (b"PXR-USDC", ""), (b"PK", ".usdz")),
    ),
)
FORMATS = {row.name: row for row in _ROWS}
DEFAULT = "urdf"  # its reader reports what is wrong with documents of no format
# Workcells have devices and frames, so `linkwork.workcell` reads and writes their files.
WORKCELL = Format("workcell", "workcell XML", (".wc.xml",))
WRITTEN = {**FORMATS, WORKCELL.name: WORKCELL}


def endings() -> tuple[str, ...]:
    """Return the endings of all robot files that can be read."""
    return tuple(end for row in _ROWS for end in (*row.endings, *row.also_read))


def format_of_root(tag: str) -> str:
    """Return the name of the format of XML documents with a root element."""
    return next((row.name for row in _ROWS if tag in row.roots), DEFAULT)


def format_of_start(data: bytes, file: str = "") -> str | None:
    """Return the name of the format of data that is not XML; None if there is none."""
    for row in _ROWS:
        for start, ending in row.starts:
            if data.startswith(start) and file.lower().endswith(ending):
                return row.name
    return None


def format_to_write(file: str, requested: str | None) -> str:
    """Return the name of the format to write: as requested, or by the ending of the file.

    Raises:
        ArgumentError: there is no such format or ending.
    """
    if requested is not None:
        if requested not in WRITTEN:
            raise ArgumentError(f"unknown format {requested!r}; {nearest(requested, WRITTEN)}")
        return requested
    names = {end: row.name for row in WRITTEN.values() for end in row.endings}
    for ending in sorted(names, key=len, reverse=True):  # .wc.xml before .xml
        if file.lower().endswith(ending):
            return names[ending]
    message = f"unknown file ending of {file!r}; use one of {', '.join(names)}"
    raise ArgumentError(f"{message}, or pass --to FORMAT")


def titles(*more: str) -> str:
    """Return the formats as a list in words, such as "URDF, SDF or MJCF"."""
    *words, last = (*(row.title for row in _ROWS), *more)
    return f"{', '.join(words)} or {last}"


EARTH = (0.0, 0.0, -9.81)
EARTH_ROUNDING = 0.02  # [m/s^2] covers the values in use: 9.8, 9.80665, 9.81


def left_out_gravity(gravity: Sequence[float]) -> list[Finding]:
    """Return a warning about a gravity that differs from the default of `KinDyn`."""
    if all(abs(x - y) <= EARTH_ROUNDING for x, y in zip(gravity, EARTH, strict=True)):
        return []
    vector = ", ".join(f"{x:g}" for x in gravity)
    message = f"left out: gravity; pass it as KinDyn(model, gravity=({vector}))"
    return [Finding("warning", "", message)]
