"""Conversion of a device to a robot model for `KinDyn`.

Frames that move, but not by the device, such as movable frames and passive joints, are locked if
they are between the base of the device and its joints or ends: they are fixed at their pose in a
state.
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
    """A device as a robot model."""

    model: Model
    base: str
    floating: bool
    names: dict[str, str]  # by link or frame of the model: the frame of the cell
    locked: tuple[str, ...] = ()  # moving frames of the cell that are fixed in the model
    attachments: tuple[tuple[str, str], ...] = ()  # (frame, parent) of attachable locked frames

    def bodies(self, cell: WorkCell, kd: KinDyn) -> dict[int, tuple[int, Array]]:
        """By frame of the cell: its body, and its pose in the first link of the body."""
        tree, model = kd.tree, self.model
        first = {
            body: tree.body_H_frame[model.frame_index(links[0])]
            for body, links in enumerate(tree.links)
        }
        bodies: dict[int, tuple[int, Array]] = {}
        for k, name in enumerate(model.frame_names):
            if name in self.names:
                body = tree.frame_bodies[k]
                pose = se3.inverse(first[body]) @ tree.body_H_frame[k]
                bodies[cell.frame_index(self.names[name])] = body, np.asarray(pose)
        return bodies

    def beyond_locked(self) -> set[str]:
        """Frames whose pose in their body depends on the poses of locked frames."""
        frames: set[str] = set(self.locked)
        for joint in self.model.joints:  # parents come first
            if joint.is_fixed and joint.first in frames:
                frames.add(joint.second)
        return frames

    def check_attachments(self, cell: WorkCell, state: State) -> None:
        """Reject states in which a locked frame is attached to another parent."""
        for name, parent in self.attachments:
            column = cell.layout.column[cell.frame_index(name)]
            if (state.parents[..., column] != cell.frame_index(parent)).any():
                message = f"frame {name!r}, between the base and the joints of the device,"
                raise StateError(f"{message} must be attached to {parent!r} in this state")


def device_model(device: Device, state: State | None = None) -> DeviceModel:
    """The robot of a device: the Model that was placed, or one built from its frames.

    Args:
        device: a device of a cell.
        state: the state that defines the poses of locked frames; default the default state.

    Raises:
        ArgumentError: the device has no joints, or drives a movable frame.
    """
    cell, spec = device.cell, device.spec
    if isinstance(spec, RobotDevice):
        names = {name: spec.frame(name) for name in spec.model.frame_names}
        return DeviceModel(spec.model, spec.base_link, spec.floating, names)
    if isinstance(spec, (MobileDevice, FreeDevice)):
        kind = "cart" if isinstance(spec, MobileDevice) else "movable frame"
        message = f"device {spec.name!r} is a {kind}, not a robot with joints"
        raise ArgumentError(f"{message}; use cell.with_robot(..., floating=True)")
    driven = set(device.joint_names)
    for name in device.joint_names:
        if cell.frame(name).movable:
            message = f"device {spec.name!r} contains the movable frame {name!r}"
            hint = "use a device with joints only, or cell.with_robot(..., floating=True)"
            raise ArgumentError(f"{message}; {hint}")
    state = cell.state() if state is None else cell.check_state(state)
    locked = _locked(device, driven)
    links, joints = [Link(name=device.base)], list[Joint]()
    inside = {device.base}
    for frame in _below(cell, device.base, locked):
        is_locked = frame.name in locked
        if frame.default_parent in inside and (is_locked or _belongs_to(cell, frame, driven)):
            inside.add(frame.name)
            links.append(Link(name=frame.name, inertia=frame.inertia))
            joints.append(_locked_joint(cell, frame, state) if is_locked else _joint(frame))
    order = {name: k for k, name in enumerate(device.joint_names)}
    moving = sorted((j for j in joints if j.name in order), key=lambda j: order[j.name])
    joints = [*moving, *(j for j in joints if j.name not in order)]
    model = Model(name=spec.name, links=tuple(links), joints=tuple(joints))
    attached = [cell.frame(name) for name in locked if cell.frame(name).attachable]
    robot = DeviceModel(
        model,
        device.base,
        False,
        {name: name for name in inside},
        tuple(name for name in locked if cell.frame(name).movable or cell.frame(name).motion),
        tuple((frame.name, str(frame.default_parent)) for frame in attached),
    )
    robot.check_attachments(cell, state)
    return robot


def locked_pose(cell: WorkCell, frame: str, values: Array) -> Array:
    """(..., 4, 4) pose of a locked frame in its parent, for state values (..., n_values)."""
    return local_pose(cell, cell.frame_index(frame), values)


def _locked(device: Device, driven: set[str]) -> tuple[str, ...]:
    """Frames between the base and the joints or ends that move, but not by the device."""
    cell = device.cell
    locked: dict[str, None] = {}
    for name in (*device.joint_names, *device.ends):
        path: list[CellFrame] = []
        current = cell.frame(name)
        while current.name != device.base and current.default_parent is not None:
            path.append(current)
            current = cell.frame(current.default_parent)
        if current.name != device.base:
            if name in driven:
                message = f"device {device.name!r}: its base {device.base!r} does not carry"
                raise ArgumentError(f"{message} its joint {name!r} in the default state")
            continue
        for frame in reversed(path):
            if frame.attachable or not _belongs_to(cell, frame, driven):
                locked[frame.name] = None
    for name in locked:
        if name in driven:
            message = f"joint {name!r} of device {device.name!r} is attachable"
            raise ArgumentError(f"{message}; joints of a robot must be fixed to their link")
    return tuple(locked)


def _below(cell: WorkCell, base: str, locked: tuple[str, ...]) -> list[CellFrame]:
    """Frames that a frame carries, parents before children.

    Attachable frames are excluded, except locked ones, which have their default parent.
    """
    children: dict[str | None, list[CellFrame]] = {}
    for frame in cell.frames:
        if not frame.attachable or frame.name in locked:
            children.setdefault(frame.default_parent, []).append(frame)
    frames: list[CellFrame] = []
    pending = [base]
    while pending:
        below = children.get(pending.pop(), [])
        frames += below
        pending += [frame.name for frame in below]
    return frames


def _belongs_to(cell: WorkCell, frame: CellFrame, driven: set[str]) -> bool:
    """Whether a frame is fixed to its parent, or moved by joints of the device."""
    if frame.movable:
        return False
    leader = cell.frames[leader_of(cell, frame)[0]]
    return frame.motion is None or leader.name in driven


def _locked_joint(cell: WorkCell, frame: CellFrame, state: State) -> Joint:
    """A fixed joint at the pose of a frame in a state."""
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
    if motion.backwards:
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
