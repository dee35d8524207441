"""The robot behind a device: its Model, and which body of it each frame of the cell belongs to.

Frames between the base of a device and its joints or ends that the device does not drive, such as
movable frames and passive joints, are locked where they are in a state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, StateError
from linkwork.kindyn import KinDyn
from linkwork.model.model import Model
from linkwork.model.parts import Joint, Link, Mimic
from linkwork.model.pose import as_pose, inverted
from linkwork.spatial.source import se3
from linkwork.workcell.devices import FreeDevice, MobileDevice, RobotDevice
from linkwork.workcell.parts import CellFrame, leader_of, local_pose

if TYPE_CHECKING:
    from linkwork.workcell.cell import WorkCell
    from linkwork.workcell.device import Device
    from linkwork.workcell.state import State


@dataclass(frozen=True)
class DeviceModel:
    """A device as a robot that a `KinDyn` computes; `names` are those of its frames in the cell."""

    model: Model
    base: str
    floating: bool
    names: dict[str, str]  # by link or frame of the model
    locked: tuple[str, ...] = ()  # frames of the cell that the model takes for fixed
    attachments: tuple[tuple[str, str], ...] = ()  # (frame, parent) of attachable ones among them

    def bodies(self, cell: WorkCell, kd: KinDyn) -> dict[int, tuple[int, Array]]:
        """By frame of the cell: its body, and its pose on the first link of the body."""
        tree, model = kd.tree, self.model
        first = {
            body: tree.body_H_frame[model.frame_index(links[0])]
            for body, links in enumerate(tree.links)
        }
        found: dict[int, tuple[int, Array]] = {}
        for k, name in enumerate(model.frame_names):
            if name in self.names:
                body = tree.frame_bodies[k]
                pose = se3.inverse(first[body]) @ tree.body_H_frame[k]
                found[cell.frame_index(self.names[name])] = body, np.asarray(pose)
        return found

    def beyond_locked(self) -> set[str]:
        """Frames whose pose on their body depends on where locked frames are."""
        found: set[str] = set(self.locked)
        for joint in self.model.joints:  # parents come first
            if joint.is_fixed and joint.first in found:
                found.add(joint.second)
        return found

    def check_attachments(self, cell: WorkCell, state: State) -> None:
        """Refuse a state in which a frame between the base and the joints is attached elsewhere."""
        for name, parent in self.attachments:
            column = cell.layout.column[cell.frame_index(name)]
            if (state.parents[..., column] != cell.frame_index(parent)).any():
                text = f"frame {name!r}, between the base and the joints of the device, "
                raise StateError(f"{text}is not attached to {parent!r} in this state")


def device_model(device: Device, state: State | None = None) -> DeviceModel:
    """The robot behind a device: the Model that was placed, or one made of the frames it moves.

    Args:
        device: of a cell.
        state: in which frames between its joints that it does not drive are locked; the default
            state if not given.

    Raises:
        ArgumentError: the device has no joints, or drives a movable frame.
    """
    cell, spec = device.cell, device.spec
    if isinstance(spec, RobotDevice):
        names = {name: spec.frame(name) for name in spec.model.frame_names}
        return DeviceModel(spec.model, spec.base_link, spec.floating, names)
    if isinstance(spec, (MobileDevice, FreeDevice)):
        what = "cart that rolls" if isinstance(spec, MobileDevice) else "movable frame"
        text = f"device {spec.name!r} is a {what}, and no robot with joints"
        raise ArgumentError(f"{text}; place one with cell.with_robot(..., floating=True)")
    driven = set(device.joint_names)
    for name in device.joint_names:
        if cell.frame(name).movable:
            text = f"device {spec.name!r} drives the movable frame {name!r}"
            raise ArgumentError(f"{text}; dynamics is of joints, or of a robot that floats")
    state = cell.state() if state is None else cell.check_state(state)
    locked = _locked(device, driven)
    links, joints = [Link(name=device.base)], list[Joint]()
    inside = {device.base}
    for frame in _below(cell, device.base, locked):
        is_locked = frame.name in locked
        if frame.default_parent in inside and (is_locked or _moves_along(cell, frame, driven)):
            inside.add(frame.name)
            links.append(Link(name=frame.name, inertia=frame.inertia))
            joints.append(_locked_joint(cell, frame, state) if is_locked else _joint(frame))
    order = {name: k for k, name in enumerate(device.joint_names)}
    moving = sorted((j for j in joints if j.name in order), key=lambda j: order[j.name])
    joints = [*moving, *(j for j in joints if j.name not in order)]
    model = Model(name=spec.name, links=tuple(links), joints=tuple(joints))
    attached = [cell.frame(name) for name in locked if cell.frame(name).attachable]
    found = DeviceModel(
        model,
        device.base,
        False,
        {name: name for name in inside},
        tuple(name for name in locked if cell.frame(name).movable or cell.frame(name).motion),
        tuple((frame.name, str(frame.default_parent)) for frame in attached),
    )
    found.check_attachments(cell, state)
    return found


def locked_pose(cell: WorkCell, frame: str, values: Array) -> Array:
    """(..., 4, 4) pose of a locked frame on its parent, for numbers (..., n_values) of states."""
    return local_pose(cell, cell.frame_index(frame), values)


def _locked(device: Device, driven: set[str]) -> tuple[str, ...]:
    """Frames between the base, and joints and ends, that move but not by the device."""
    cell = device.cell
    found: dict[str, None] = {}
    for name in (*device.joint_names, *device.ends):
        path: list[CellFrame] = []
        here = cell.frame(name)
        while here.name != device.base and here.default_parent is not None:
            path.append(here)
            here = cell.frame(here.default_parent)
        if here.name != device.base:
            text = f"device {device.name!r}: its base {device.base!r} does not carry {name!r}"
            if name in driven:
                raise ArgumentError(f"{text} in the default state, so it is no robot on one base")
            continue
        for frame in reversed(path):
            if frame.attachable or not _moves_along(cell, frame, driven):
                found[frame.name] = None
    for name in found:
        if name in driven:
            text = f"device {device.name!r} drives the joint {name!r}, which is attachable"
            raise ArgumentError(f"{text}; dynamics is of joints that stay on their link")
    return tuple(found)


def _below(cell: WorkCell, base: str, locked: tuple[str, ...]) -> list[CellFrame]:
    """Frames that a frame carries, each after the one that it sits on.

    Attachable frames are left out, except those that are locked, on their default parent.
    """
    children: dict[str | None, list[CellFrame]] = {}
    for frame in cell.frames:
        if not frame.attachable or frame.name in locked:
            children.setdefault(frame.default_parent, []).append(frame)
    found: list[CellFrame] = []
    waiting = [base]
    while waiting:
        own = children.get(waiting.pop(), [])
        found += own
        waiting += [frame.name for frame in own]
    return found


def _moves_along(cell: WorkCell, frame: CellFrame, driven: set[str]) -> bool:
    """Whether a frame is fixed to its parent, or moved on it by joints of the device."""
    if frame.movable:
        return False
    leader = cell.frames[leader_of(cell, frame)[0]]
    return frame.motion is None or leader.name in driven


def _locked_joint(cell: WorkCell, frame: CellFrame, state: State) -> Joint:
    """A frame as fixed to its parent where it is in a state."""
    pose = frame.parent_H_frame
    if frame.movable or frame.motion:
        pose = as_pose(locked_pose(cell, frame.name, state.values), frame.name)
    return Joint(
        name=frame.name,
        kind="fixed",
        first=str(frame.default_parent),
        second=frame.name,
        first_H_joint=pose,
    )


def _joint(frame: CellFrame) -> Joint:
    motion, parent = frame.motion, str(frame.parent)
    if motion is None:
        return Joint(
            name=frame.name,
            kind="fixed",
            first=parent,
            second=frame.name,
            first_H_joint=frame.parent_H_frame,
        )
    first, second = (frame.name, parent) if motion.backwards else (parent, frame.name)
    before, after = frame.parent_H_frame, motion.joint_H_frame
    if motion.backwards:  # read from `second` to `first`
        before, after = inverted(after), inverted(before)
    depends = motion.depends
    return Joint(
        name=frame.name,
        kind=motion.kind,
        first=first,
        second=second,
        axis=motion.axis,
        pitch=motion.pitch,
        first_H_joint=before,
        joint_H_second=after,
        limits=motion.limits,
        mimic=depends
        and Mimic(joint=depends.joint, multiplier=depends.multiplier, offset=depends.offset),
    )
