"""Workcells from what files say, and back: `CellDocument` is what reader and writer know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from linkwork.errors import Finding, ModelError, concerning, model_error
from linkwork.workcell.cell import WorkCell
from linkwork.workcell.devices import (
    CompositeDevice,
    DeviceSpec,
    FreeDevice,
    JointDevice,
    MobileDevice,
    RobotDevice,
    SerialDevice,
    TreeDevice,
)
from linkwork.workcell.parts import CellFrame, Motion
from linkwork.workcell.robwork.document import (
    CellDocument,
    DeviceEntry,
    DeviceKind,
    FrameEntry,
    JointEntry,
    RobotEntry,
)


def cell_of(document: CellDocument) -> WorkCell:
    """The workcell that a file describes.

    Raises:
        ModelError: its parts make no workcell.
    """
    frames: list[CellFrame] = [_world(document.world)]
    robots: dict[str, DeviceSpec] = {}
    homes: dict[str, tuple[float, ...]] = {}
    for node in document.nodes:
        if isinstance(node, FrameEntry):
            frames.append(_frame(node))
            continue
        cell = WorkCell(document.name, tuple(frames)).with_robot(
            node.name,
            node.model,
            parent=node.parent,
            parent_H_base=node.pose,
            base=node.base,
            floating=node.floating,
            attachable=node.attachable,
            end=node.end,
        )
        frames = list(cell.frames)
        robots[node.name] = cell.devices[-1]
        if node.home is not None:
            homes[node.name] = node.home
    devices = [
        robots[entry.name] if entry.kind == "robot" else _device(entry)
        for entry in document.devices
    ]
    homes.update({entry.name: entry.home for entry in document.devices if entry.home is not None})
    return _with_homes(WorkCell(document.name, tuple(frames), tuple(devices)), homes, document)


def _with_homes(
    cell: WorkCell, homes: dict[str, tuple[float, ...]], document: CellDocument
) -> WorkCell:
    """A cell in whose default state devices are where their files say."""
    frames = {frame.name: frame for frame in cell.frames}
    places = {entry.name: entry.place for entry in document.devices}
    findings: list[Finding] = []
    for name, home in homes.items():
        device = cell.device(name)
        if len(home) != device.nq:
            text = f"Q 'Home': expected {device.nq} numbers, got {len(home)}"
            findings.append(Finding("error", f"device {name!r}", text, places[name]))
            continue
        at = 0
        for joint in device.joint_names:
            size = frames[joint].size
            frames[joint] = replace(frames[joint], home=home[at : at + size])
            at += size
    if findings:
        raise ModelError(findings)
    return replace(cell, frames=tuple(frames.values())) if homes else cell


def _world(entry: FrameEntry) -> CellFrame:
    return CellFrame(
        name=entry.name,
        parent=None,
        inertia=entry.inertia,
        visuals=entry.visuals,
        collisions=entry.collisions,
        properties=entry.properties,
    )


def _frame(entry: FrameEntry) -> CellFrame:
    with concerning(f"frame {entry.name!r}", entry.place):
        motion = _motion(entry.joint) if entry.joint else None
    return CellFrame(
        name=entry.name,
        parent=entry.parent,
        parent_H_frame=entry.pose,
        movable=entry.movable,
        attachable=entry.attachable,
        motion=motion,
        home=entry.home,
        home_parent=entry.home_parent,
        inertia=entry.inertia,
        visuals=entry.visuals,
        collisions=entry.collisions,
        properties=entry.properties,
        place=entry.place,
    )


def _motion(joint: JointEntry) -> Motion:
    return Motion(**{name: getattr(joint, name) for name in JointEntry.__dataclass_fields__})


def _device(entry: DeviceEntry) -> DeviceSpec:
    name, base, ends = entry.name, entry.base, entry.ends
    match entry.kind:
        case "serial":
            return SerialDevice(name, base, ends[0])
        case "tree":
            return TreeDevice(name, base, ends)
        case "joint":
            return JointDevice(name, base, ends[0], entry.joints)
        case "composite":
            return CompositeDevice(name, base, ends[0], entry.parts, ends[1:])
        case "mobile":
            if len(entry.joints) != 2:
                text = f"a mobile device has two wheels, got {len(entry.joints)}"
                raise model_error(text, f"device {name!r}", entry.place)
            left, right = entry.joints
            return MobileDevice(name, base, ends[0], left, right, entry.radius, entry.track)
        case "free":
            return FreeDevice(name, base, ends[0])
        case "robot":
            raise TypeError(entry)


def document_of(cell: WorkCell) -> CellDocument:
    """What a file of a workcell says."""
    robots = {d.name: d for d in cell.devices if isinstance(d, RobotDevice)}
    owner = {
        robot.frame(name): robot for robot in robots.values() for name in robot.model.frame_names
    }
    nodes: dict[object, FrameEntry | RobotEntry] = {}
    for frame in cell.frames[1:]:
        robot = owner.get(frame.name)
        if robot is None:
            nodes[frame.name] = _frame_entry(frame)
        elif (robot.name, "robot") not in nodes:
            nodes[robot.name, "robot"] = _robot_entry(cell, robot, frame)
    return CellDocument(
        name=cell.name,
        world=replace(_frame_entry(cell.frames[0]), parent=""),
        nodes=tuple(nodes.values()),
        devices=tuple(map(_device_entry, cell.devices)),
    )


def _robot_entry(cell: WorkCell, robot: RobotDevice, base: CellFrame) -> RobotEntry:
    frames = {frame.name: frame for frame in cell.frames}
    home = [number for name in robot.joints for number in frames[name].home]
    neutral = [number for name in robot.joints for number in replace(frames[name], home=()).home]
    return RobotEntry(
        name=robot.name,
        model=robot.model,
        parent=str(base.parent),
        pose=base.parent_H_frame,
        base=None if robot.base_link == robot.model.default_base else robot.base_link,
        floating=robot.floating,
        attachable=base.attachable,
        end=robot.end.removeprefix(f"{robot.name}."),
        home=None if home == neutral else tuple(home),
    )


def _frame_entry(frame: CellFrame) -> FrameEntry:
    motion = frame.motion
    names: Sequence[str] = tuple(JointEntry.__dataclass_fields__)
    joint = JointEntry(**{name: getattr(motion, name) for name in names}) if motion else None
    return FrameEntry(
        name=frame.name,
        parent=str(frame.parent),
        pose=frame.parent_H_frame,
        movable=frame.movable,
        attachable=frame.attachable,
        joint=joint,
        home=() if replace(frame, home=()).home == frame.home else frame.home,
        home_parent=frame.home_parent,
        inertia=frame.inertia,
        visuals=frame.visuals,
        collisions=frame.collisions,
        properties=frame.properties,
    )


def _device_entry(device: DeviceSpec) -> DeviceEntry:
    facts: dict[str, Any] = {
        "name": device.name,
        "base": device.base,
        "ends": device.all_ends(),
    }
    if isinstance(device, RobotDevice):
        return DeviceEntry(name=device.name, kind="robot")
    if isinstance(device, JointDevice):
        return DeviceEntry(kind="joint", joints=device.joints, **facts)
    if isinstance(device, CompositeDevice):
        return DeviceEntry(kind="composite", parts=device.parts, **facts)
    if isinstance(device, MobileDevice):
        facts |= {"radius": device.radius, "track": device.track}
        return DeviceEntry(kind="mobile", joints=(device.left, device.right), **facts)
    return DeviceEntry(kind=_SIMPLE[type(device)], **facts)


_SIMPLE: dict[type[DeviceSpec], DeviceKind] = {
    SerialDevice: "serial",
    TreeDevice: "tree",
    FreeDevice: "free",
}
