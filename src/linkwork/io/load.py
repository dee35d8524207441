"""Load a robot from a file or a text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike

import numpy as np

from linkwork.errors import ArgumentError, Finding, ParseError, warn_of
from linkwork.io.meshes import Folders, MeshFinder, as_folders
from linkwork.io.mjcf.reader import is_mjcf, read_mjcf
from linkwork.io.named_robots import STANDS_FOR, NamedFile, named_robot
from linkwork.io.urdf.elements import DUPLICATE_REPAIRED
from linkwork.io.urdf.reader import read_urdf
from linkwork.io.xacro import expanded, is_xacro
from linkwork.io.xml.source import Reading, Source, read_source, text_error
from linkwork.model.check import RELATIVE_TOLERANCE, check, unphysical_links
from linkwork.model.inertia import Inertia, six
from linkwork.model.model import Model
from linkwork.model.numbers import settle
from linkwork.model.parts import Link
from linkwork.spatial.source import inertia

# Which text is of which format, and who reads it. What is none of these is read as URDF, which
# says what is wrong with it.
FORMATS = ((is_mjcf, read_mjcf),)


def load(
    source: str | bytes | PathLike[str],
    *,
    strict: bool = False,
    repair: bool = False,
    mimic: bool = True,
    package_dirs: Folders = (),
    xacro_args: Mapping[str, str] | None = None,
) -> Model:
    """Load a robot.

    Args:
        source: path of a URDF or MJCF file, or its text; or a robot's name, such as `arm`, which
            is bundled, or `talos` of the package example-robot-data. MJCF needs the package
            `mujoco`, xacro the package `xacro`.
        strict: whether to refuse what is legal but doubtful, instead of warning.
        repair: whether to replace inertias that no body can have by the nearest possible ones, and
            to use the first of several elements where URDF allows one.
        mimic: whether joints that mimic others depend on them; if not, they move freely. In MJCF
            these are linear joint equalities.
        package_dirs: folders in which the packages of `package://` names lie. Meshes are looked for
            but never needed.
        xacro_args: values of the arguments of a xacro file, by name.

    Returns:
        the robot, links and joints in the order of the file.

    Raises:
        MissingFileError: there is no such file or robot.
        SourceError: the file cannot be read.
        ParseError: it is no robot; the message lists all reasons, each with its line.

    Warns:
        LinkworkWarning: once per file, with everything that is doubtful.
    """
    reading = read(
        source, repair=repair, mimic=mimic, package_dirs=package_dirs, xacro_args=xacro_args
    )
    doubts = [finding for finding in reading.findings if finding.severity == "warning"]
    if reading.model is None or (strict and any(not is_repair(doubt) for doubt in doubts)):
        raise ParseError([f for f in reading.findings if f.severity != "note"])
    warn_of([*doubts, *(note for note in reading.findings if STANDS_FOR in note.text)])
    return reading.model


def read(
    source: str | bytes | PathLike[str] | Source,
    *,
    repair: bool = False,
    mimic: bool = True,
    package_dirs: Folders = (),
    xacro_args: Mapping[str, str] | None = None,
    expand: bool = True,
) -> Reading:
    """Read a robot and say everything about it, without raising for what is wrong with its content.

    Args:
        source, repair, mimic, package_dirs, xacro_args: as for `load`.
        expand: whether to expand xacro, which evaluates Python and may read any file; if not, files
            that need it are errors.

    Returns:
        the model, or None if there are errors; and all findings, errors first, then by line.

    Raises:
        SourceError: the file cannot be read.
    """
    named = named_robot(source) if isinstance(source, str) else None
    if named is not None:
        return _read_named(
            named, package_dirs, xacro_args, repair=repair, mimic=mimic, expand=expand
        )
    try:
        original = read_source(source)
        text, said = _expanded(original, package_dirs, xacro_args, expand=expand)
        reader = next((reader for fits, reader in FORMATS if fits(text)), read_urdf)
        with np.errstate(all="ignore"):  # numbers that overflow are rejected by the model's parts
            reading = reader(text, mimic=mimic, package_dirs=package_dirs, repair=repair)
    except ParseError as error:
        return Reading(None, error.findings)
    if reading.model is None:
        return Reading(None, _sorted([*said, *reading.findings]))
    with np.errstate(all="ignore"):
        model, repairs = repaired(reading.model) if repair else (reading.model, [])
        settle(model, source=original.path)  # nobody else has the model yet
        return Reading(model, _sorted([*said, *reading.findings, *repairs, *check(model)]))


def _read_named(
    named: NamedFile, package_dirs: Folders, xacro_args: Mapping[str, str] | None, **options: bool
) -> Reading:
    """Read the file that a name stands for; what the caller gives comes first."""
    folders = (*as_folders(package_dirs), *named.package_dirs)
    arguments = {**named.xacro_args, **(xacro_args or {})} or None
    reading = read(named.path, package_dirs=folders, xacro_args=arguments, **options)
    if not named.note:
        return reading
    return replace(reading, findings=(*reading.findings, Finding("note", "", named.note)))


def _expanded(
    source: Source, package_dirs: Folders, arguments: Mapping[str, str] | None, *, expand: bool
) -> tuple[Source, Sequence[Finding]]:
    """The text with xacro expanded, and what xacro says about it; other texts as they are."""
    if is_xacro(source):
        if not expand:
            text = "xacro is not expanded here, for it evaluates Python and may read any file"
            raise text_error(source.name, f"{text}; expand it first: xacro FILE > robot.urdf")
        return expanded(source, arguments or {}, MeshFinder(source.path, package_dirs))
    if arguments:
        raise ArgumentError(f"xacro_args: {source.name} is no xacro file and takes no arguments")
    return source, ()


def repaired(model: Model) -> tuple[Model, list[Finding]]:
    """Replace inertias that no body can have by the nearest possible ones.

    Mass and centre of mass stay; the tensor becomes the nearest one whose second moments are not
    negative.

    Returns:
        the model, and one finding for each link that was changed.
    """
    bad = {link.name for link in unphysical_links(model.links)}
    links = tuple(_repaired_link(link) if link.name in bad else link for link in model.links)
    findings = [
        Finding("warning", f"link {old.name!r}", _repair_text(old, new), old.location)
        for old, new in zip(model.links, links, strict=True)
        if old.name in bad
    ]
    return replace(model, links=links), findings


REPAIRED = "unphysical inertia repaired"


def is_repair(finding: Finding) -> bool:
    """Whether a finding is about something that `repair` has repaired."""
    return finding.text.startswith((REPAIRED, DUPLICATE_REPAIRED))


def _repaired_link(link: Link) -> Link:
    old = link.inertia
    _, _, tensor = inertia.nearest_physical(
        old.mass, old.com, old.matrix(), tolerance=RELATIVE_TOLERANCE
    )
    return replace(link, inertia=Inertia(old.mass, old.com, six(tensor)))


def _repair_text(old: Link, new: Link) -> str:
    before, after = (
        ", ".join(f"{moment:.6g}" for moment in inertia.principal_moments(link.inertia.matrix()))
        for link in (old, new)
    )
    return f"{REPAIRED}: principal moments {before} became {after}"


def _sorted(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    order: Sequence[str] = ("error", "warning", "note")
    return tuple(
        sorted(
            findings, key=lambda f: (order.index(f.severity), f.location.line if f.location else 0)
        )
    )
