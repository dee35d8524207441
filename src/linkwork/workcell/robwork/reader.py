"""RobWork's workcell files. What is wrong is reported with file and line, all at once.

Units     RPY, the angles of DHJoint, and limits of revolute joints are in degrees; Q in radians
RPY       three angles a b c: Rz(a) Ry(b) Rx(c), so the first is about z
Names     frame `f` of a device `d` is `d.f`
Parents   `refframe` in a workcell, WORLD without it; see `workcell_devices` for devices
Kept      frames, joints, devices, shapes, properties of frames; the rest is told of, once per kind
Masses    from dynamic workcells, see `workcell_dynamic`
"""

from __future__ import annotations

from linkwork.errors import Finding, nearest, shown
from linkwork.io.meshes import Folders
from linkwork.io.xml.parse import namespace_of
from linkwork.io.xml.source import Source
from linkwork.workcell.robwork.collect import Collected, Pending, resolve
from linkwork.workcell.robwork.devices import DEVICES, FRAMES, read_device
from linkwork.workcell.robwork.document import (
    WORLD,
    CellDocument,
    CellReading,
    DeviceEntry,
    RobotEntry,
)
from linkwork.workcell.robwork.dynamic import (
    DYNAMIC,
    INCLUDED,
    read_dynamics,
    with_workcell,
    workcell_of,
)
from linkwork.workcell.robwork.elements import BEYOND_KINEMATICS, CellPart, is_own_property
from linkwork.workcell.robwork.extensions import read_own_device, read_placed_robot
from linkwork.workcell.robwork.include import allowed_roots, expanded
from linkwork.workcell.robwork.joints import LIMITS, MODELS
from linkwork.workcell.robwork.shapes import CellMeshes

_OWN = ("Robot", "Device")
_KNOWN = (*DEVICES, *FRAMES, *MODELS, *LIMITS, *_OWN, *BEYOND_KINEMATICS)


def read_workcell(
    source: Source, *, include_dirs: Folders = (), package_dirs: Folders = ()
) -> CellReading:
    """Read a workcell, a dynamic workcell, or a device, which makes a workcell of its own.

    Args:
        source: the text.
        include_dirs: folders that files may be included from, besides that of the file.
        package_dirs: folders in which the packages of `package://` names lie.

    Raises:
        ParseError: the text is not XML.
    """
    root, report = expanded(with_workcell(source), include_dirs)
    top = CellPart(root, "", report)
    dynamic = top if top.tag in DYNAMIC else None
    if dynamic is not None:
        top = workcell_of(dynamic)
    path = source.path.resolve() if source.path else None
    roots = allowed_roots(path, include_dirs)
    cell = Collected(report, CellMeshes(source, package_dirs, roots))
    name = top.text("name") or ""
    if top.tag == "WorkCell":
        name = _name(top, source)
        _read_cell(cell, top)
    elif top.tag in DEVICES:
        read_device(cell, top, WORLD)
    elif dynamic is None:
        _refuse(top)
    if dynamic is not None:
        read_dynamics(cell, dynamic)
    nodes = () if report.n_errors else resolve(cell)
    if not report.n_errors:
        _check_devices(cell)
    report.tell_passed_over()
    if report.n_errors:
        return CellReading(None, tuple(report.findings))
    document = CellDocument(name=name, world=cell.world, nodes=nodes, devices=tuple(cell.devices))
    return CellReading(document, tuple(report.findings))


def _refuse(top: CellPart) -> None:
    known = ("WorkCell", *DEVICES)
    namespace = namespace_of(top.element)
    hint = f" in the namespace {shown(namespace)}" if namespace else ""
    if top.tag == "robot":
        hint = "; this is URDF: load it as a robot, and place it in a cell"
    elif top.tag == INCLUDED:
        hint = "; this is a part of a dynamic workcell: load the file that includes it"
    elif not hint:
        hint = f"; {nearest(top.tag, known)}"
    top.error(f"expected <WorkCell> at the top, found <{top.tag.lstrip(':')}>{hint}")


def _name(top: CellPart, source: Source) -> str:
    name = top.text("name")
    if name and name.strip():
        return name
    instead = source.path.name.split(".")[0] if source.path else "workcell"
    instead = instead.strip() or "workcell"
    top.warning(f"<WorkCell> has no name; it is called {instead!r}")
    return instead


def _read_cell(cell: Collected, top: CellPart) -> None:
    """Read what stands in a workcell, in order."""
    top.note_unknown(_KNOWN, ("name",), strict=True)
    last = WORLD  # full name of the last frame that is in no device
    for part in top.parts():
        if part.tag in FRAMES:
            ref = part.text("refframe")
            cell.note_first(part)
            if name := cell.add_frame(part, (), ref or None, WORLD):
                if ref is None and last != WORLD and name in cell.pending:
                    cell.on_world.append(cell.pending[name])
                last = name
        elif part.tag in DEVICES:
            read_device(cell, part, last)
        elif part.tag in MODELS:
            cell.add_model(part, (), None)
        elif part.tag in LIMITS:
            part.error(f"<{part.tag}> stands outside of a device")
        elif part.tag in _OWN:
            _read_own(cell, part, last)
        elif is_own_property(part):
            part.error("a <Property> of linkwork stands outside of a frame")
        elif part.tag == "Property":
            cell.add_property(part, (), None)
        elif part.tag in BEYOND_KINEMATICS:
            part.pass_over()


def _read_own(cell: Collected, part: CellPart, last: str) -> None:
    """Read a `<Robot>` or a `<Device>`."""
    part = part.name("robot" if part.tag == "Robot" else "device")
    name = part.needed_text("name")
    if not name.strip():
        return
    if name in cell.device_parts:
        where = cell.device_parts[name].place
        part.error(f"the name {name!r} is taken by the device of {where.short}")
        return
    cell.device_parts[name] = part
    if part.tag == "Device":
        device = read_own_device(part, name)
        if device is not None:
            cell.devices.append(device)
        return
    robot = read_placed_robot(part, name, cell.meshes)
    if robot is not None:
        cell.devices.append(DeviceEntry(name=name, kind="robot", place=part.place))
        cell.add(Pending(robot, part, (), part.text("refframe") or None, last))


def _check_devices(cell: Collected) -> None:
    """Are the frames there that `<Device>` elements name?"""
    frames = {WORLD, *cell.pending}
    for pending in cell.pending.values():
        if isinstance(pending.entry, RobotEntry):
            own = pending.entry
            frames |= {f"{own.name}.{frame}" for frame in own.model.frame_names}
    for device in cell.devices:
        if device.kind == "robot":
            continue
        for name in (device.base, *device.ends, *device.joints):
            if name not in frames:
                text = f"no frame named {shown(name)}; {nearest(name, frames)}"
                finding = Finding("error", f"device {device.name!r}", text, device.place)
                cell.report.extend([finding])
