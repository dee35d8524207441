"""Load a robot from a file or a string."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from linkwork.errors import Finding, ParseError, Severity, shown
from linkwork.io.folders import Folders, as_folders
from linkwork.io.formats import FORMATS, Reading, checked
from linkwork.io.named_robots import named_robot
from linkwork.io.xacro import expand_xacro, is_xacro
from linkwork.io.xml.documents import Source, format_of, read_source
from linkwork.model.check import RELATIVE_TOLERANCE, check, unphysical_links
from linkwork.model.inertia import Inertia, six
from linkwork.model.model import Model
from linkwork.model.numbers import settle
from linkwork.model.parts import Link
from linkwork.spatial.source import inertia

if TYPE_CHECKING:
    from linkwork.io.loops import Loops


def load(
    source: str | bytes | PathLike[str],
    *,
    strict: bool = False,
    repair: bool = False,
    mimic: bool = True,
    loops: Loops | None = None,
    package_dirs: Folders = (),
    xacro_args: Mapping[str, str] | None = None,
    srdf: str | bytes | PathLike[str] | None = None,
    inertia_from_meshes: float | None = None,
) -> Model:
    """Load a robot from a URDF, SDF, MJCF, USD or xacro file.

    Args:
        source: path of the file, or its content as a string; or the name of a robot, such as `arm`,
            which is bundled, or `talos` from the package example-robot-data. MJCF files need the
            package `mujoco`, USD files `usd-core`, xacro files `xacro`.
        strict: whether to raise an error instead of a warning, except for warnings about repairs.
        repair: whether to replace unphysical inertias by the nearest physical ones, and to use the
            first of several elements where URDF or SDF allows only one.
        mimic: whether to apply `<mimic>` of URDF and SDF, gearboxes of SDF, and linear joint
            equalities of MJCF; if False, these joints move independently.
        loops: closed loops that the file does not describe: the path of a YAML file with the lists
            `closed_loop`, `type` and `name_mot`; True for the file that has the name of `source`
            and the ending .yaml; a mapping with these lists; or a list of pairs of frames that
            coincide, each with "3d" in addition if only their origins do.
        package_dirs: folders in which the packages of `package://` and `model://` addresses are
            searched. Meshes that are not found are not an error.
        xacro_args: arguments of a xacro file, by name; also of the SRDF file, if it uses xacro.
        srdf: path of an SRDF file of the robot, or its content. Its group states become named
            configurations of the model; `load_srdf` returns everything else. Robots of the package
            example-robot-data have the file of the package by default.
        inertia_from_meshes: a density [kg/m^3]. Links with shapes but without an inertia obtain
            the inertia of their collision shapes, or else of their visual shapes. Meshes need the
            package `trimesh`.

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
        source,
        repair=repair,
        mimic=mimic,
        loops=loops,
        package_dirs=package_dirs,
        xacro_args=xacro_args,
        inertia_from_meshes=inertia_from_meshes,
    )
    if srdf is not None and reading.model is not None:
        reading = _with_srdf(
            reading.model, reading.findings, read_source(srdf), package_dirs, xacro_args
        )
    return checked(reading.model, reading.findings, strict=strict)


def _with_srdf(
    model: Model,
    findings: Sequence[Finding],
    source: Source,
    package_dirs: Folders,
    xacro_args: Mapping[str, str] | None,
) -> Reading:
    """Add the named configurations of an SRDF file, and its findings.

    The arguments belong to the robot's file, so the SRDF file need not declare all of them.
    """
    from linkwork.io.srdf import read_srdf

    arguments = xacro_args if is_xacro(source) else None
    srdf, srdf_findings = read_srdf(source, model, arguments, package_dirs)
    extended = None if srdf is None else replace(srdf.added_to(model), srdf=source.path)
    others = (finding for finding in srdf_findings if finding.topic != "xacro argument")
    return Reading(extended, _sorted([*findings, *others]))


def read(
    source: str | bytes | PathLike[str] | Source,
    *,
    repair: bool = False,
    mimic: bool = True,
    loops: Loops | None = None,
    package_dirs: Folders = (),
    xacro_args: Mapping[str, str] | None = None,
    inertia_from_meshes: float | None = None,
    expand: bool = True,
) -> Reading:
    """Read a robot and report all findings, without raising for errors in its content.

    Args:
        source, repair, mimic, loops, package_dirs, xacro_args, inertia_from_meshes: as for `load`.
        expand: whether to expand xacro, which evaluates Python and may read any file; if not, xacro
            files are errors.

    Returns:
        The model, or None if there are errors; and all findings, sorted by severity and line.

    Raises:
        SourceError: the file cannot be read.
    """
    named = named_robot(source) if isinstance(source, str) else None
    if named is not None:  # the folders and arguments of the caller take precedence
        source = named.path
        package_dirs = (*as_folders(package_dirs), *named.package_dirs)
        xacro_args = {**named.xacro_args, **(xacro_args or {})} or None
    try:
        original = read_source(source)
        document, warnings = expand_xacro(original, xacro_args, package_dirs, expand=expand)
        reader = FORMATS[format_of(document)].reader()
        with np.errstate(all="ignore"):  # values that overflow are rejected by the model
            reading = reader(document, mimic=mimic, package_dirs=package_dirs, repair=repair)
        if reading.model is not None and loops is not None and loops is not False:
            from linkwork.io.loops import with_loops

            closed, of_loops = with_loops(reading.model, loops, original.path)
            reading = Reading(closed, (*reading.findings, *of_loops))
        if reading.model is not None and inertia_from_meshes is not None:
            reading = _with_shape_inertias(reading.model, reading.findings, inertia_from_meshes)
    except ParseError as error:
        return Reading(None, error.findings)
    if reading.model is None:
        return Reading(None, _sorted([*warnings, *reading.findings]))
    with np.errstate(all="ignore"):
        model, repairs = repair_inertias(reading.model) if repair else (reading.model, [])
        settle(model, source=original.path)  # the model is not shared yet, so it may be modified
        findings = [*warnings, *reading.findings, *repairs, *check(model)]
    if named is not None and named.srdf is not None:
        # its findings concern other versions of the robot, so the caller cannot change them
        srdf = read_source(named.srdf)
        model = _with_srdf(model, (), srdf, package_dirs, xacro_args).model or model
    if named is not None and named.note:
        findings.append(Finding("note", "", named.note, topic="robot name"))
    return Reading(model, _sorted(findings))


def _with_shape_inertias(model: Model, findings: Sequence[Finding], density: float) -> Reading:
    """Add the inertias of shapes; warnings about default inertias that they replace are removed."""
    from linkwork.io.solids import with_shape_inertias

    defaults = {(f.location, f.element): f for f in findings if f.topic == "default inertia"}
    of_links = {  # links of nested models have prefixes, which findings do not have
        link.name: defaults.get((link.location, f"link {shown(link.name.split('::')[-1])}"))
        for link in model.links
    }
    names = [name for name, finding in of_links.items() if finding]
    model, added = with_shape_inertias(model, density, names)
    changed = {finding.element for finding in added}
    replaced = [of_links[link.name] for link in model.links if f"link {link.name!r}" in changed]
    findings = [*(f for f in findings if f not in replaced), *added]
    is_valid = not any(finding.severity == "error" for finding in added)
    return Reading(model if is_valid else None, tuple(findings))


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
