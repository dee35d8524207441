"""Workcells from SDF worlds.

Models    become robots; their links are frames `<model>.<link>`
Static    models become fixed frames, without a device
Free      models without a joint to the world have a floating base
"""

from __future__ import annotations

from dataclasses import replace

from linkwork.errors import Finding, ModelError, SourceLocation
from linkwork.io.folders import Folders, as_folders
from linkwork.io.sdf.reader import read_world
from linkwork.io.sdf.robot import PlacedModel
from linkwork.io.urdf.writer import in_workcell_form
from linkwork.io.xml.source import Source
from linkwork.model.check import check
from linkwork.model.constraints import WORLD as WORLD_LINK
from linkwork.workcell.cell.frames import WORLD
from linkwork.workcell.cell.robots import Placement, place_robot
from linkwork.workcell.files.robwork.reader import CellReading
from linkwork.workcell.workcell import WorkCell


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
