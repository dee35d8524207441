"""Workcells in files: RobWork's XML, read and written.

cell = load_workcell("scene.wc.xml")
text = dump_workcell(cell)          # load_workcell(text) == cell
"""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path

from linkwork.errors import (
    ArgumentError,
    LinkworkError,
    MissingFileError,
    ModelError,
    ParseError,
    model_error,
    nearest,
    shown,
    warn_of,
)
from linkwork.io.meshes import Folders
from linkwork.io.named_robots import CELL_FOLDER, bundled_cells
from linkwork.io.xml.source import Source, read_source
from linkwork.workcell.cell import WorkCell
from linkwork.workcell.robwork.reader import read_workcell
from linkwork.workcell.robwork.writer import write_workcell


def load_workcell(
    source: str | bytes | PathLike[str],
    *,
    strict: bool = False,
    include_dirs: Folders = (),
    package_dirs: Folders = (),
) -> WorkCell:
    """Load a workcell from RobWork's XML; a dynamic workcell with its masses and inertias.

    Args:
        source: path of a file, its text, or the name of a bundled cell: pick_and_place, two_arms,
            mobile_manipulator.
        strict: whether to refuse what is legal but doubtful, instead of warning.
        include_dirs: folders that included files and robots may be read from, besides the folder
            of the file and the package around it.
        package_dirs: folders in which the packages of `package://` names lie.

    Returns:
        the cell; frames keep the order of the file, except that parents come before children.

    Raises:
        MissingFileError: there is no such file.
        SourceError: the file cannot be read.
        ParseError: it is no workcell; the message lists all reasons, each with its file and line.

    Warns:
        LinkworkWarning: once per call, with everything that is doubtful or not read.
    """
    text = _source(source)
    reading = read_workcell(text, include_dirs=include_dirs, package_dirs=package_dirs)
    doubts = [finding for finding in reading.findings if finding.severity == "warning"]
    if reading.cell is None or (strict and doubts):
        errors = [finding for finding in reading.findings if finding.severity != "note"]
        raise ParseError(sorted(errors, key=lambda f: f.severity))
    warn_of(doubts)
    return reading.cell


def dump_workcell(
    cell: WorkCell, path: str | PathLike[str] | None = None, *, robwork: bool = False
) -> str:
    """Write a workcell as RobWork's XML.

    Devices whose frames stand together become SerialDevice, TreeDevice and MobileDevice elements,
    as RobWork reads them. What RobWork has no words for is written in linkwork's: inertias in
    properties, robots and other devices in elements of their own. docs/from_robwork.md lists them.

    Args:
        cell: the workcell.
        path: the file to write; none if only the text is wanted.
        robwork: whether RobWork must be able to read the file.

    Returns:
        the text; reading it gives an equal cell.

    Raises:
        ModelError: no file can describe the cell, or, if `robwork`, none that RobWork can read;
            the message lists all reasons.

    Warns:
        LinkworkWarning: joints that RobWork cannot read.
    """
    if not isinstance(cell, WorkCell):
        raise ArgumentError(f"cell: expected a WorkCell, got {shown(cell)}")
    for devices in (True, False):
        text, joints, elements = write_workcell(cell, devices=devices)
        if _reads_back(text, cell):
            if robwork and (joints or elements):
                beyond = [replace(finding, severity="error") for finding in (*joints, *elements)]
                raise ModelError(beyond)
            warn_of(joints)
            if path is not None:
                Path(path).write_text(text, encoding="utf-8")
            return text
    what = "its file would not read back as the same cell; a robot's frames that were changed, or "
    raise model_error(what + "names that XML cannot hold, are the usual reason", cell.name)


def _reads_back(text: str, cell: WorkCell) -> bool:
    try:
        return read_workcell(read_source(text)).cell == cell
    except LinkworkError:
        return False


def _source(source: str | bytes | PathLike[str]) -> Source:
    """A file or text, or a bundled cell by its name."""
    if not isinstance(source, str):
        return read_source(source)
    if source in bundled_cells() and not Path(source).exists():
        return read_source(CELL_FOLDER / f"{source}.xml")
    try:
        return read_source(source)
    except MissingFileError:
        if Path(source).name != source or "." in source:
            raise
        hint = nearest(source, bundled_cells())
        text = f"no file and no bundled workcell named {shown(source)}; {hint}"
        raise MissingFileError(text) from None
