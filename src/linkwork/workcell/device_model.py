"""The robot behind a device: its Model, and which body of it each frame of the cell belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from linkwork.arrays import Array
from linkwork.errors import ArgumentError, listed
from linkwork.kindyn import KinDyn
from linkwork.model.model import Model
from linkwork.model.parts import Joint, Link, Mimic
from linkwork.model.pose import inverted
from linkwork.spatial.source import se3
from linkwork.workcell.devices import FreeDevice, MobileDevice, RobotDevice
from linkwork.workcell.parts import CellFrame

if TYPE_CHECKING:
    from linkwork.workcell.cell import WorkCell
    from linkwork.workcell.device import Device


@dataclass(frozen=True)
class DeviceModel:
    """A device as a robot that a `KinDyn` computes; `names` are those of its frames in the cell."""

    model: Model
    base: str
    floating: bool
    names: dict[str, str]  # by link or frame of the model

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


def device_model(device: Device) -> DeviceModel:
    """The robot behind a device: the Model that was placed, or one made of the frames it moves."""
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
    links, joints = [Link(name=device.base)], list[Joint]()
    inside = {device.base}
    for frame in _below(cell, device.base):
        if frame.parent in inside and _moves_along(cell, frame, driven):
            inside.add(frame.name)
            links.append(Link(name=frame.name, inertia=frame.inertia))
            joints.append(_joint(frame))
    missing = [name for name in device.joint_names if name not in inside]
    if missing:
        text = f"device {spec.name!r}: between its base and {listed(missing)} is a joint"
        raise ArgumentError(f"{text} or attachable frame that it does not drive")
    order = {name: k for k, name in enumerate(device.joint_names)}
    joints.sort(key=lambda joint: order.get(joint.name, len(order)))
    model = Model(name=spec.name, links=tuple(links), joints=tuple(joints))
    return DeviceModel(model, device.base, False, {name: name for name in inside})


def _below(cell: WorkCell, base: str) -> list[CellFrame]:
    """Frames that a frame carries in every state, each after the one that it sits on."""
    children: dict[str | None, list[CellFrame]] = {}
    for frame in cell.frames:
        if not frame.attachable:
            children.setdefault(frame.parent, []).append(frame)
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
    leader = frame
    while leader.motion and leader.motion.depends:
        leader = cell.frame(leader.motion.depends.joint)
    return frame.motion is None or leader.name in driven


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
