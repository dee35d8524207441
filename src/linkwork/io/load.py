"""Load a robot from a file or a string."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike

import numpy as np

from linkwork.errors import ArgumentError, Finding, ParseError, Severity, warn_of
from linkwork.io.meshes import Folders, MeshFinder, as_folders
from linkwork.io.mjcf.reader import is_mjcf, read_mjcf
from linkwork.io.named_robots import NamedFile, named_robot
from linkwork.io.urdf.reader import read_urdf
from linkwork.io.xacro import expand_xacro, is_xacro
from linkwork.io.xml.source import Reading, Source, read_source, source_parse_error
from linkwork.model.check import RELATIVE_TOLERANCE, check, unphysical_links
from linkwork.model.inertia import Inertia, six
from linkwork.model.model import Model
from linkwork.model.numbers import settle
from linkwork.model.parts import Link
from linkwork.spatial.source import inertia

# (test, reader) of each format other than URDF. All other documents are read as URDF; its reader
# reports errors.
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
    """Load a robot from a URDF, MJCF or xacro file.

    Args:
        source: path of the file, or its content as a string; or the name of a robot, such as `arm`,
            which is bundled, or `talos` from the package example-robot-data. MJCF files need the
            package `mujoco`, xacro files the package `xacro`.
        strict: whether to raise an error instead of a warning, except for warnings about repairs.
        repair: whether to replace unphysical inertias by the nearest physical ones, and to use the
            first of several elements where URDF allows only one.
        mimic: whether to apply `<mimic>` of URDF and linear joint equalities of MJCF; if False,
            these joints move independently.
        package_dirs: folders in which the packages of `package://` addresses are searched. Meshes
            that are not found are not an error.
        xacro_args: arguments of a xacro file, by name.

    Returns:
        The robot, with links and joints in the order of the file.

    Raises:
        MissingFileError: there is no such file or robot.
        SourceError: the file cannot be read.
        ParseError: the file does not describe a valid robot; the message lists all errors, each
            with its line.

    Warns:
        LinkworkWarning: one for the file, with a list of everything that is doubtful.
    """
    reading = read(
        source, repair=repair, mimic=mimic, package_dirs=package_dirs, xacro_args=xacro_args
    )
    warnings = [finding for finding in reading.findings if finding.severity == "warning"]
    if reading.model is None or (strict and any(f.topic != "repair" for f in warnings)):
        raise ParseError([f for f in reading.findings if f.severity != "note"])
    warn_of([*warnings, *(f for f in reading.findings if f.topic == "robot name")])
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
    """Read a robot and report all findings, without raising for errors in its content.

    Args:
        source, repair, mimic, package_dirs, xacro_args: as for `load`.
        expand: whether to expand xacro, which evaluates Python and may read any file; if not, xacro
            files are errors.

    Returns:
        The model, or None if there are errors; and all findings, sorted by severity and line.

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
        document, warnings = _expand(original, package_dirs, xacro_args, expand=expand)
        reader = next((reader for matches, reader in FORMATS if matches(document)), read_urdf)
        with np.errstate(all="ignore"):  # values that overflow are rejected by the model
            reading = reader(document, mimic=mimic, package_dirs=package_dirs, repair=repair)
    except ParseError as error:
        return Reading(None, error.findings)
    if reading.model is None:
        return Reading(None, _sorted([*warnings, *reading.findings]))
    with np.errstate(all="ignore"):
        model, repairs = repair_inertias(reading.model) if repair else (reading.model, [])
        settle(model, source=original.path)  # the model is not shared yet, so it may be modified
        return Reading(model, _sorted([*warnings, *reading.findings, *repairs, *check(model)]))


def _read_named(
    named: NamedFile, package_dirs: Folders, xacro_args: Mapping[str, str] | None, **options: bool
) -> Reading:
    """Read the file of a named robot; the caller's folders and arguments take precedence."""
    folders = (*as_folders(package_dirs), *named.package_dirs)
    arguments = {**named.xacro_args, **(xacro_args or {})} or None
    reading = read(named.path, package_dirs=folders, xacro_args=arguments, **options)
    if not named.note:
        return reading
    note = Finding("note", "", named.note, topic="robot name")
    return replace(reading, findings=(*reading.findings, note))


def _expand(
    source: Source, package_dirs: Folders, arguments: Mapping[str, str] | None, *, expand: bool
) -> tuple[Source, Sequence[Finding]]:
    """Expand a xacro document, and return xacro's warnings; other documents are unchanged."""
    if is_xacro(source):
        if not expand:
            reason = "xacro is disabled, because it evaluates Python and may read any file"
            message = f"{reason}; expand it first: xacro FILE > robot.urdf"
            raise source_parse_error(source.name, message)
        return expand_xacro(source, arguments or {}, MeshFinder(source.path, package_dirs))
    if arguments:
        message = f"xacro_args: {source.name} is not a xacro file, so it has no arguments"
        raise ArgumentError(message)
    return source, ()


def repair_inertias(model: Model) -> tuple[Model, list[Finding]]:
    """Replace unphysical inertias by the nearest physical ones.

    Mass and center of mass stay; the tensor becomes the nearest one whose second moments are not
    negative.

    Returns:
        The model, and one finding for each link that was changed.
    """
    unphysical = {link.name for link in unphysical_links(model.links)}
    links = tuple(_repair_link(link) if link.name in unphysical else link for link in model.links)
    findings = [
        Finding(
            "warning", f"link {old.name!r}", _repair_message(old, new), old.location, topic="repair"
        )
        for old, new in zip(model.links, links, strict=True)
        if old.name in unphysical
    ]
    return replace(model, links=links), findings


def _repair_link(link: Link) -> Link:
    old = link.inertia
    _, _, tensor = inertia.nearest_physical(
        old.mass, old.com, old.matrix(), tolerance=RELATIVE_TOLERANCE
    )
    return replace(link, inertia=Inertia(old.mass, old.com, six(tensor)))


def _repair_message(old: Link, new: Link) -> str:
    before, after = (
        ", ".join(f"{moment:.6g}" for moment in inertia.principal_moments(link.inertia.matrix()))
        for link in (old, new)
    )
    return f"unphysical inertia repaired: principal moments {before} became {after}"


def _sorted(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    order: Sequence[Severity] = ("error", "warning", "note")
    return tuple(
        sorted(
            findings, key=lambda f: (order.index(f.severity), f.location.line if f.location else 0)
        )
    )
