"""Reader of RobWork's workcell files. All errors are reported at once, with file and line.

Units     RPY, the angles of DHJoint, and limits of revolute joints are in degrees; Q in radians
RPY       three angles a b c: Rz(a) Ry(b) Rx(c), so the first is about z
Names     frame `f` of a device `d` is `d.f`
Parents   `refframe` in a workcell, WORLD without it; see `devices` for devices
Read      frames, joints, devices, shapes, properties of frames, pairs that are not checked for
          collisions; one warning per kind of other elements
Masses    from dynamic workcells, see `dynamic`
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from linkwork.errors import Finding, ModelError, nearest, shown
from linkwork.io.folders import AllowedFolders, Folders, as_folders
from linkwork.io.xml.documents import Source, namespace_of
from linkwork.workcell.cell.frames import WORLD, CellFrame
from linkwork.workcell.cell.robots import place_robot
from linkwork.workcell.files.collect import (
    Collected,
    Pending,
    report_missing_parents,
    resolve,
)
from linkwork.workcell.files.devices import DEVICES, FRAMES, read_device
from linkwork.workcell.files.dynamic import (
    INCLUDED,
    read_dynamics,
    workcell_of,
)
from linkwork.workcell.files.elements import (
    IGNORED_ELEMENTS,
    CellPart,
    is_linkwork_property,
)
from linkwork.workcell.files.extensions import (
    PlacedRobot,
    read_linkwork_device,
    read_placed_robot,
)
from linkwork.workcell.files.geometry import SETUPS, CellMeshes, excluded_pairs
from linkwork.workcell.files.include import DYNAMIC, expand_includes
from linkwork.workcell.files.joints import LIMITS, MODELS
from linkwork.workcell.workcell import WorkCell

_EXTENSIONS = ("Robot", "Device")
_IMPLICIT_PARENT = (
    f"without 'refframe', the parent is {WORLD}, as in RobWork's loader;"
    " according to its manual it is the frame before"
)
_KNOWN = (*DEVICES, *FRAMES, *MODELS, *LIMITS, *_EXTENSIONS, *IGNORED_ELEMENTS)


class CellReading(NamedTuple):
    """The result of reading a file: the workcell, or None if there are errors, and all findings."""

    cell: WorkCell | None
    findings: tuple[Finding, ...]


def read_workcell(
    source: Source, *, include_dirs: Folders = (), package_dirs: Folders = ()
) -> CellReading:
    """Read a workcell, a dynamic workcell, or a device, which becomes a workcell.

    Args:
        source: the document.
        include_dirs: folders of included files, in addition to the folder of the file.
        package_dirs: folders that contain the packages of `package://` names.

    Raises:
        ParseError: the document is not XML.
    """
    allowed = AllowedFolders.of(source.path, as_folders(include_dirs, "include_dirs"))
    root, report = expand_includes(source, allowed)
    top = CellPart(root, "", report)
    dynamic = top if top.tag in DYNAMIC else None
    if dynamic is not None:
        top = workcell_of(dynamic)
    cell = Collected(report, CellMeshes(source, package_dirs, allowed))
    name = top.attribute("name") or ""
    if top.tag == "WorkCell":
        name = _name(top, source)
        _read_cell(cell, top)
    elif top.tag in DEVICES:
        read_device(cell, top, WORLD)
    elif dynamic is None:
        _report_wrong_root(top)
    if dynamic is not None:
        read_dynamics(cell, dynamic)
    if report.n_errors:
        names = {element.get("name", "") for element in root.iter()}
        robots = {element.get("name", "") for element in root.iter("Robot")}
        report_missing_parents(cell, {*names, WORLD}, robots)
    workcell = _build(cell, name)
    report.report_ignored()
    return CellReading(None if report.n_errors else workcell, tuple(report.findings))


def _report_wrong_root(top: CellPart) -> None:
    roots = ("WorkCell", *DEVICES)
    namespace = namespace_of(top.element)
    hint = f" in the namespace {shown(namespace)}" if namespace else ""
    if top.tag == "robot":
        hint = "; this is URDF: load it as a robot, and add it with cell.with_robot"
    elif top.tag == INCLUDED:
        hint = "; this is a part of a dynamic workcell: load the file that includes it"
    elif top.tag in SETUPS:
        hint = "; this is a part of a workcell: load the file that names it"
    elif not hint:
        hint = f"; {nearest(top.tag, roots)}"
    top.error(f"expected <WorkCell> as the root, got <{top.tag.lstrip(':')}>{hint}")


def _name(top: CellPart, source: Source) -> str:
    name = top.attribute("name")
    if name and name.strip():
        return name
    default = source.path.name.split(".")[0] if source.path else "workcell"
    default = default.strip() or "workcell"
    top.warning(f"<WorkCell> has no name; {default!r} is used")
    return default


def _read_cell(cell: Collected, top: CellPart) -> None:
    """Read the elements of a workcell, in order."""
    top.warn_unknown(_KNOWN, ("name",), strict=True)
    last = WORLD  # full name of the last frame outside of devices
    for part in top.parts():
        if part.tag in FRAMES:
            ref = part.attribute("refframe")
            cell.note_first(part)
            if name := cell.add_frame(part, (), ref or None, WORLD):
                if ref is None and last != WORLD and name in cell.pending:
                    cell.report.doubt(part.element, name, _IMPLICIT_PARENT)
                last = name
        elif part.tag in DEVICES:
            read_device(cell, part, last)
        elif part.tag in LIMITS:
            part.error(f"<{part.tag}> is outside of a device")
        elif part.tag in _EXTENSIONS:
            _read_robot_or_device(cell, part, last)
        elif is_linkwork_property(part):
            part.error("a <Property> of linkwork is outside of a frame")
        else:
            cell.add_other(part, ())


def _read_robot_or_device(cell: Collected, part: CellPart, last: str) -> None:
    """Read a `<Robot>` or a `<Device>`."""
    part = part.name("robot" if part.tag == "Robot" else "device")
    name = part.required_attribute("name")
    if not name.strip():
        return
    if part.tag == "Device":
        cell.add_device(name, read_linkwork_device(part, name), part)
        return
    if not cell.add_device(name, None, part):
        return
    robot = read_placed_robot(part, name, cell.meshes)
    if robot is not None:
        cell.add(Pending(robot, part, (), part.attribute("refframe") or None, last))
        if robot.home is not None:
            cell.homes[name] = robot.home


def _build(cell: Collected, name: str) -> WorkCell | None:
    """Build the workcell; None if there are errors, which are reported."""
    if cell.report.n_errors:
        return None
    contents = resolve(cell)
    if cell.report.n_errors:
        return None
    frames: list[CellFrame] = [cell.world]
    devices = dict(cell.devices)
    try:
        for content in contents:
            if isinstance(content, PlacedRobot):
                added, devices[content.name] = place_robot(content.model, content.placement)
                frames += added
            else:
                frames.append(content)
        specs = tuple(device for device in devices.values() if device is not None)
        pairs = tuple(excluded_pairs(cell.setups, frames))
        return _with_homes(WorkCell(name, tuple(frames), specs, pairs), cell)
    except ModelError as error:
        located = {f"device {one!r}": part.location for one, part in cell.device_parts.items()}
        cell.report.extend(
            replace(finding, location=finding.location or located.get(finding.element))
            for finding in error.findings
        )
        return None


def _with_homes(workcell: WorkCell, cell: Collected) -> WorkCell:
    """Return the cell with the home positions of devices from the file as default state."""
    frames = {frame.name: frame for frame in workcell.frames}
    for name, home in cell.homes.items():
        device = workcell.device(name)
        if len(home) != device.nq:
            text = f"Q 'Home': expected {device.nq} numbers, got {len(home)}"
            location = cell.device_parts[name].location
            cell.report.extend([Finding("error", f"device {name!r}", text, location)])
            continue
        start = 0
        for joint in device.joint_names:
            size = frames[joint].size
            frames[joint] = replace(frames[joint], home=home[start : start + size])
            start += size
    return replace(workcell, frames=tuple(frames.values())) if cell.homes else workcell
