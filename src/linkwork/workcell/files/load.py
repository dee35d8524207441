"""Loading of workcells from RobWork's XML and SDF worlds, and writing as RobWork's XML.

    cell = load_workcell("scene.wc.xml")
    text = dump_workcell(cell)          # load_workcell(text) == cell

The models of an SDF world become robots, whose links are frames `<model>.<link>`. Static models
become fixed frames without a device; models without a joint to the world have a floating base.
"""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path

from linkwork.errors import (
    Finding,
    LinkworkError,
    MissingFileError,
    ModelError,
    SourceLocation,
    model_error,
    nearest,
    shown,
    warn_of,
)
from linkwork.io.folders import Folders, as_folders
from linkwork.io.formats import checked
from linkwork.io.named_robots import CELL_FOLDER, bundled_cells
from linkwork.io.sdf.reader import PlacedModel, read_world
from linkwork.io.urdf.writer import in_workcell_form
from linkwork.io.writing import write_text
from linkwork.io.xml.documents import Source, format_of, read_source
from linkwork.model.check import check
from linkwork.model.numbers import argument
from linkwork.model.parts import WORLD as WORLD_LINK
from linkwork.workcell.cell.frames import WORLD
from linkwork.workcell.cell.robots import Placement, place_robot
from linkwork.workcell.files.reader import CellReading, read_workcell
from linkwork.workcell.files.writer import WorkcellOutput, write_workcell
from linkwork.workcell.workcell import WorkCell


def load_workcell(
    source: str | bytes | PathLike[str],
    *,
    strict: bool = False,
    include_dirs: Folders = (),
    package_dirs: Folders = (),
) -> WorkCell:
    """Load a workcell from RobWork's XML or an SDF world.

    A dynamic workcell of RobWork has masses and inertias. The models of an SDF world become robots,
    static ones fixed frames.

    Args:
        source: path of a file, its content as a string, or the name of a bundled cell:
            pick_and_place, two_arms, mobile_manipulator.
        strict: whether warnings are errors.
        include_dirs: folders of included files, robots and meshes, in addition to the folder of the
            file and the package that contains it.
        package_dirs: folders that contain the packages of `package://` and `model://` names.

    Returns:
        The cell; frames are in the order of the file, except that parents come before children.

    Raises:
        MissingFileError: there is no such file.
        SourceError: the file cannot be read.
        ParseError: the file does not describe a valid workcell; the message lists all errors, each
            with its file and line.

    Warns:
        LinkworkWarning: once per call, with everything that is doubtful or ignored.
    """
    document = _source(source)
    read = read_sdf_cell if format_of(document) == "sdf" else read_workcell
    reading = read(document, include_dirs=include_dirs, package_dirs=package_dirs)
    return cell_in(reading, strict=strict)


def cell_in(reading: CellReading, *, strict: bool = False) -> WorkCell:
    """Return the cell that was read; raise an error or warn about all findings."""
    return checked(reading.cell, reading.findings, strict=strict)


def dump_workcell(
    cell: WorkCell, path: str | PathLike[str] | None = None, *, robwork: bool = False
) -> str:
    """Write a workcell as RobWork's XML.

    Devices whose frames are consecutive become SerialDevice, TreeDevice and MobileDevice elements,
    which RobWork can read. Everything that RobWork cannot express is written as extensions:
    inertias as properties, robots and other devices as additional elements. docs/from_robwork.md
    lists them.

    Args:
        cell: the workcell.
        path: the file to write; None to only return its content.
        robwork: whether RobWork must be able to read the file.

    Returns:
        The content of the file; reading it returns an equal cell.

    Raises:
        ModelError: the format cannot express the cell, or, with `robwork`, RobWork cannot read it;
            the message lists all reasons.

    Warns:
        LinkworkWarning: joints that RobWork cannot read.
    """
    text, joints, elements = checked_output(argument(cell, WorkCell, "cell"))
    if robwork and (joints or elements):
        errors = [replace(finding, severity="error") for finding in (*joints, *elements)]
        raise ModelError(errors)
    warn_of(joints)
    return write_text(text, path)


def checked_output(cell: WorkCell) -> WorkcellOutput:
    """Write a workcell as XML that reads back as an equal cell; report what RobWork cannot read.

    Raises:
        ModelError: the format cannot express the cell.
    """
    for devices in (True, False):
        output = write_workcell(cell, devices=devices)
        if _reads_back(output.text, cell):
            return output
    message = "the file does not read back as the same cell; usual reasons are changed frames of a"
    raise model_error(f"{message} robot, and names that XML cannot express", cell.name)


def _reads_back(text: str, cell: WorkCell) -> bool:
    try:
        return read_workcell(read_source(text)).cell == cell
    except LinkworkError:
        return False


def _source(source: str | bytes | PathLike[str]) -> Source:
    """Read a file, a string, or a bundled cell by its name."""
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
        message = f"no file and no bundled workcell named {shown(source)}; {hint}"
        raise MissingFileError(message) from None


def read_sdf_cell(
    source: Source,
    *,
    include_dirs: Folders = (),
    package_dirs: Folders = (),
    writable: bool = False,
) -> CellReading:
    """Read all models of an SDF document as a workcell.

    Args:
        source: the document.
        include_dirs, package_dirs: folders that contain the models and packages of `model://` and
            `package://` names.
        writable: whether to move link frames onto their joints, as workcell files require.

    Raises:
        ParseError: the document is not XML.
    """
    folders = [*as_folders(include_dirs), *as_folders(package_dirs)]
    world = read_world(source, package_dirs=folders)
    if not world.models:
        return CellReading(None, world.findings)
    cell, errors, moved = WorkCell(name=world.name), list[Finding](), list[Finding]()
    for placed in world.models:
        try:
            if writable and not placed.is_static:
                model, findings = in_workcell_form(placed.model)
                placed = replace(placed, model=model)  # noqa: PLW2901
                moved += findings
            cell = _with_model(cell, placed)
        except ModelError as error:
            location = SourceLocation(source.name, 1)
            errors += [replace(f, location=f.location or location) for f in error.findings]
    doubts = [finding for placed in world.models for finding in check(placed.model)]
    return CellReading(None if errors else cell, (*errors, *world.findings, *moved, *doubts))


def _with_model(cell: WorkCell, placed: PlacedModel) -> WorkCell:
    """Return the cell with one more model."""
    model = placed.model
    floating = model.default_base != WORLD_LINK
    if not placed.is_static:
        cell = cell.with_robot(
            model.name, model, parent_H_base=placed.world_H_base, floating=floating
        )
        for joint, pose in [pair for one in model.configurations for pair in one.positions]:
            cell = cell.with_changed(f"{model.name}.{model.joint(joint).second}", home=pose)
        return cell
    frames, _ = place_robot(model, Placement(model.name, WORLD, placed.world_H_base))
    return replace(cell, frames=(*cell.frames, *frames))
