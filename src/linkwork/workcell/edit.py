"""Editing workcells: each function gives another one; `WorkCell` documents what they do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.errors import (
    ArgumentError,
    Finding,
    ModelError,
    concerning,
    listed,
    model_error,
    name_not_found,
    nearest,
    shown,
)
from linkwork.model.model import Model
from linkwork.model.numbers import as_floats
from linkwork.model.parts import check_name, unit_vector
from linkwork.model.pose import Pose, as_pose
from linkwork.spatial.source import quat
from linkwork.workcell.check import leader_findings
from linkwork.workcell.devices import DeviceSpec, RobotDevice
from linkwork.workcell.parts import WORLD, CellFrame, Motion
from linkwork.workcell.robots import Placement, placed

if TYPE_CHECKING:
    from linkwork.workcell.cell import WorkCell
    from linkwork.workcell.state import State

_OF_MOTION = {field.name for field in fields(Motion)}
_OF_FRAME = {field.name for field in fields(CellFrame)}


def as_properties(given: Mapping[str, str] | Iterable[tuple[str, str]]) -> tuple[Any, ...]:
    """Texts by name as pairs."""
    pairs = given.items() if isinstance(given, Mapping) else given
    return tuple((str(name), str(value)) for name, value in pairs)


def new_frame(
    cell: WorkCell, name: str, parent: str, pose: Pose | ArrayLike, **about: Any
) -> CellFrame:
    """A frame that a cell does not have yet."""
    _refuse_taken(cell, name)
    cell.layout.frame(parent)
    with concerning(f"frame {name!r}"):
        home = _pose_home(pose) if about.get("movable") else ()
        place = as_pose(pose, "parent_H_frame")
    return CellFrame(name=name, parent=parent, parent_H_frame=place, home=home, **about)


def new_joint(
    cell: WorkCell,
    name: str,
    kind: str,
    parent: str,
    pose: Pose | ArrayLike,
    *,
    axis: Iterable[float],
    home: ArrayLike | None,
    motion: Mapping[str, Any],
    **about: Any,
) -> CellFrame:
    """A joint frame that a cell does not have yet."""
    _refuse_taken(cell, name)
    cell.layout.frame(parent)
    with concerning(f"frame {name!r}"):
        own = Motion(kind=kind, axis=unit_vector(axis), **motion)
        place = as_pose(pose, "parent_H_frame")
        start = () if home is None else tuple(as_floats(home, "home").reshape(-1).tolist())
    if home is not None and own.depends:
        raise model_error("home: a joint that depends on another has none", f"frame {name!r}")
    return CellFrame(
        name=name, parent=parent, parent_H_frame=place, motion=own, home=start, **about
    )


def with_part(cell: WorkCell, frame: CellFrame) -> WorkCell:
    """A cell with a further frame, whose name and parent were checked."""
    if frame.motion and frame.motion.depends:
        findings = [*leader_findings(frame, {other.name: other for other in cell.frames})]
        if findings:
            raise ModelError(findings)
    return cell.extended(frame)


def with_robot(
    cell: WorkCell,
    name: str,
    model: Model,
    parent: str,
    parent_H_base: Pose | ArrayLike,
    **options: Any,
) -> WorkCell:
    """A cell with the frames and the device of a robot."""
    check_name("device", name)
    cell.layout.frame(parent)
    with concerning(f"robot {name!r}"):
        pose = as_pose(parent_H_base, "parent_H_base")
    frames, device = placed(model, Placement(name, parent, pose, **options))
    taken = [frame.name for frame in frames if frame.name in cell.layout.index]
    if taken or name in cell.device_names:
        what = f"frames {listed(taken)}" if taken else f"device {name!r}"
        raise model_error(f"the cell has {what} already; take another name", f"robot {name!r}")
    return replace(cell, frames=(*cell.frames, *frames), devices=(*cell.devices, device))


def with_device(cell: WorkCell, device: DeviceSpec) -> WorkCell:
    """A cell with a further device."""
    if not isinstance(device, DeviceSpec):
        raise ArgumentError(f"device: expected a device such as SerialDevice, got {shown(device)}")
    if isinstance(device, RobotDevice):
        raise ArgumentError("device: a robot is added with its frames, by `with_robot`")
    return replace(cell, devices=(*cell.devices, device))


def with_changed(cell: WorkCell, name: str, changes: Mapping[str, Any]) -> WorkCell:
    """A cell with other fields of a frame."""
    index = cell.layout.frame(name)
    frame = cell.frames[index]
    if name == WORLD:
        raise model_error("the root of the cell cannot be changed", f"frame {WORLD!r}")
    known = _OF_FRAME | (_OF_MOTION if frame.motion else set()) - {"name"}
    for given in changes:
        if given not in known:
            raise ArgumentError(f"frame {name!r} has no field {given!r}; {nearest(given, known)}")
    changes = dict(changes)
    with concerning(f"frame {name!r}"):
        if "parent_H_frame" in changes:
            if frame.movable and "home" not in changes:
                changes["home"] = _pose_home(changes["parent_H_frame"])
            changes["parent_H_frame"] = as_pose(changes["parent_H_frame"], "parent_H_frame")
        if "axis" in changes:
            changes["axis"] = unit_vector(changes["axis"])
        if "properties" in changes:
            changes["properties"] = as_properties(changes["properties"])
        if {"kind", "movable", "depends"} & changes.keys():
            changes.setdefault("home", ())  # other numbers than before
        moving = {key: changes.pop(key) for key in list(changes) if key in _OF_MOTION}
        if moving and frame.motion:
            changes["motion"] = replace(frame.motion, **moving)
    frames = list(cell.frames)
    frames[index] = replace(frame, **changes)
    return replace(cell, frames=tuple(frames))


def with_default(cell: WorkCell, state: State) -> WorkCell:
    """A cell with another default state."""
    cell.check_state(state)
    if state.batch_shape:
        raise ArgumentError(f"state: expected a single state, got a batch {state.batch_shape}")
    layout, frames = cell.layout, list(cell.frames)
    for k, frame in enumerate(frames):
        if frame.size:
            frame = replace(frame, home=tuple(state.values[layout.span(k)].tolist()))  # noqa: PLW2901
        if frame.attachable:
            parent = frames[int(state.parents[layout.column[k]])].name
            frame = replace(frame, home_parent=None if parent == frame.parent else parent)  # noqa: PLW2901
        frames[k] = frame
    return replace(cell, frames=tuple(frames))


def without(cell: WorkCell, name: str) -> WorkCell:
    """A cell without a frame."""
    cell.layout.frame(name)
    return _removed(cell, [name])


def without_device(cell: WorkCell, name: str) -> WorkCell:
    """A cell without a device."""
    if name not in cell.device_names:
        raise name_not_found("device", name, cell.device_names)
    return replace(cell, devices=tuple(d for d in cell.devices if d.name != name))


def without_robot(cell: WorkCell, name: str) -> WorkCell:
    """A cell without a robot, its device and its frames."""
    robots = {d.name: d for d in cell.devices if isinstance(d, RobotDevice)}
    if name not in robots:
        raise name_not_found("robot", name, robots)
    own = [robots[name].frame(frame) for frame in robots[name].model.frame_names]
    return _removed(without_device(cell, name), own)


def _removed(cell: WorkCell, names: Iterable[str]) -> WorkCell:
    gone = dict.fromkeys(names)
    if WORLD in gone:
        raise model_error("the root of the cell cannot be removed", f"frame {WORLD!r}")
    left = [frame for frame in cell.frames if frame.name not in gone]
    findings: list[Finding] = []
    for name in gone:
        element = f"frame {name!r}"
        fixed = [f.name for f in left if f.parent == name and not f.attachable]
        if fixed:
            text = f"other frames sit on it: {listed(fixed)}; remove them first"
            findings.append(Finding("error", element, text))
        led = [
            f.name for f in left if f.motion and f.motion.depends and f.motion.depends.joint == name
        ]
        if led:
            text = f"joints depend on it: {listed(led)}; remove them first"
            findings.append(Finding("error", element, text))
        using = [d.name for d in cell.devices if name in _needs(cell, d)]
        if using:
            text = f"devices need it: {listed(using)}; remove them first"
            findings.append(Finding("error", element, text))
    if findings:
        raise ModelError(findings)
    frames = [_fallen(frame, gone) for frame in left]
    return replace(cell, frames=tuple(frames))


def _fallen(frame: CellFrame, gone: Mapping[str, None]) -> CellFrame:
    """An attachable frame whose parent is gone sits on WORLD."""
    parent = WORLD if frame.parent in gone else frame.parent
    home = WORLD if frame.default_parent in gone else frame.default_parent
    home_parent = None if home == parent else home
    if (parent, home_parent) == (frame.parent, frame.home_parent):
        return frame
    return replace(frame, parent=parent, home_parent=home_parent)


def _needs(cell: WorkCell, device: DeviceSpec) -> set[str]:
    frames = {frame.name: frame for frame in cell.frames}
    devices = {other.name: other for other in cell.devices}
    return {*device.frame_names(), *device.driven(frames, devices)}


def _refuse_taken(cell: WorkCell, name: str) -> None:
    check_name("frame", name)
    if name in cell.layout.index:
        raise model_error("this name is taken", f"frame {name!r}")


def _pose_home(pose: Pose | ArrayLike) -> tuple[float, ...]:
    """Position and quaternion of a pose, from its matrix where one is given."""
    if isinstance(pose, Pose):
        return ()
    as_pose(pose, "parent_H_frame")  # refuses what is no pose
    matrix = np.asarray(pose, dtype=np.float64)
    wxyz = quat.from_rotation(matrix[:3, :3])
    return (*matrix[:3, 3].tolist(), *wxyz.tolist())
