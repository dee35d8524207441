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

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from linkwork.errors import Finding, ModelError, model_error, nearest, shown
from linkwork.io.folders import AllowedFolders, Folders, as_folders
from linkwork.io.xml.documents import Source, namespace_of
from linkwork.model.model import Model
from linkwork.model.parts import Constraint, Joint, Link
from linkwork.workcell.cell.devices import RobotDevice
from linkwork.workcell.cell.frames import WORLD, CellFrame
from linkwork.workcell.cell.robots import Placement, joint_of, place_robot
from linkwork.workcell.files.collect import (
    Collected,
    ParallelDevice,
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
        for parallel in cell.parallels:
            by_name = {frame.name: frame for frame in frames}
            changed, devices[parallel.name] = _place_parallel(parallel, by_name)
            by_name |= {frame.name: frame for frame in changed}
            frames = list(by_name.values())
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
    for name, of_file in cell.homes.items():
        device = workcell.device(name)
        joints = [frames[joint] for joint in device.joint_names]
        home = _with_passive(cell, name, of_file, joints)
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


def _with_passive(
    cell: Collected, name: str, home: tuple[float, ...], joints: Sequence[CellFrame]
) -> tuple[float, ...]:
    """Add zeros for passive joints to the home position of a parallel device, if needed."""
    part = next((one.part for one in cell.parallels if one.name == name), None)
    active = [frame for frame in joints if frame.motion and frame.motion.active]
    if part is None or len(active) == len(joints) or len(home) != sum(f.size for f in active):
        return home
    part.warning("Q 'Home' has the active joints only; the passive ones are at zero")
    values = iter(home)
    return tuple(
        next(values) if frame in active else 0.0 for frame in joints for _ in range(frame.size)
    )


# Parallel devices become robots: their frames are links, the junctions pose constraints, and the
# active joints have motors.


def _place_parallel(
    device: ParallelDevice, frames: Mapping[str, CellFrame]
) -> tuple[list[CellFrame], RobotDevice]:
    """Return the frames of a parallel device, each joint with its name in the robot, and the robot.

    Raises:
        ModelError: they do not form a robot.
    """
    own = [frames[name] for name in device.frames if name in frames]
    base = own[0]
    model = _parallel_model(device, own)
    _, robot = place_robot(
        model,
        Placement(
            name=device.name,
            parent=str(base.parent),
            parent_H_base=base.parent_H_frame,
            base=_link(device, base.name),
            end=_link(device, device.end),
        ),
    )
    named = [
        replace(frame, motion=replace(frame.motion, joint=_link(device, frame.name)))
        if frame.motion
        else frame
        for frame in own
    ]
    return named, robot


def _parallel_model(device: ParallelDevice, frames: Sequence[CellFrame]) -> Model:
    return Model(
        name=device.name,
        links=tuple(
            Link(
                name=_link(device, frame.name),
                inertia=frame.inertia,
                visuals=frame.visuals,
                collisions=frame.collisions,
                location=frame.location,
            )
            for frame in frames
        ),
        joints=tuple(_parallel_joint(device, frame) for frame in frames[1:]),
        constraints=tuple(
            Constraint(
                name=f"{_link(device, first)}_to_{_link(device, second)}",
                kind="pose",
                first=_link(device, first),
                second=_link(device, second),
                location=location,
            )
            for first, second, location in device.junctions
        ),
    )


def _parallel_joint(device: ParallelDevice, frame: CellFrame) -> Joint:
    """Return the joint between a frame and its parent.

    Raises:
        ModelError: the frame is movable, or not on a frame of the device.
    """
    name, location = _link(device, frame.name), frame.location
    problem = ""
    if frame.movable or frame.attachable:
        problem = "is movable; the frames of a ParallelDevice are joints or fixed"
    elif frame.parent not in device.frames:
        problem = f"is on {frame.parent!r}, which is not a frame of its ParallelDevice"
    if problem:
        raise model_error(problem, f"frame {frame.name!r}", location)
    depends = frame.motion and frame.motion.depends
    more: dict[str, Any] = {"location": location}
    if depends:
        more["mimic"] = replace(depends, joint=_link(device, depends.joint))
    elif frame.motion:
        more["actuated"] = frame.motion.active
    return joint_of(frame, name, _link(device, str(frame.parent)), name, **more)


def _link(device: ParallelDevice, frame: str) -> str:
    """Return the name of a frame of the device as a link: without the name of the device."""
    return frame.removeprefix(f"{device.name}.")
