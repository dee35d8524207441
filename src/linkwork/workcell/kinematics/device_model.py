"""Conversion of a device to a robot model for `KinDyn`.

Frames that move, but not by the device, such as movable frames and passive joints, are locked if
they are between the base of the device and its joints or ends: they are fixed at their pose in a
state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, StateError, listed
from linkwork.kindyn import KinDyn
from linkwork.model.graph import opened, walk
from linkwork.model.inertia import NO_INERTIA
from linkwork.model.model import Model
from linkwork.model.parts import Constraint, Joint, Link, Mimic
from linkwork.model.pose import IDENTITY, as_pose
from linkwork.spatial.source import se3
from linkwork.workcell.cell.data import CellData
from linkwork.workcell.cell.devices import DeviceSpec, FreeDevice, MobileDevice, RobotDevice
from linkwork.workcell.cell.frames import WORLD, CellFrame
from linkwork.workcell.cell.robots import Placement, joint_of, place_robot
from linkwork.workcell.cell.structure import carriers, leader_of, local_pose, parent_name
from linkwork.workcell.kinematics.device_joints import DeviceJoints
from linkwork.workcell.state.state import State


@dataclass(frozen=True)
class DeviceModel:
    """A device as a robot model."""

    model: Model
    base: str
    floating: bool
    names: dict[str, str]  # by link or frame of the model: the frame of the cell
    locked: tuple[str, ...] = ()  # moving frames of the cell that are fixed in the model
    attachments: tuple[tuple[str, str], ...] = ()  # (frame, parent) of attachable locked frames
    cut: tuple[str, ...] = ()  # joints of the model that close loops, as in `KinDyn`

    def kindyn(self, **options: Any) -> KinDyn:
        """Return the robot as compiled functions, with options of `KinDyn`."""
        return KinDyn(self.model, self.base, floating=self.floating, cut=self.cut, **options)

    def bodies(self, cell: CellData, kd: KinDyn) -> dict[int, tuple[int, Array]]:
        """Return the body of each frame of the cell, and its pose in the first link of the body."""
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
        """Return the frames whose pose in their body depends on the poses of locked frames."""
        frames: set[str] = set(self.locked)
        for joint in self.model.joints:  # parents come first
            if joint.is_fixed and joint.first in frames and joint.second in self.names:
                frames.add(joint.second)
        return frames

    def joints_outside(self, device: DeviceJoints) -> list[str]:
        """Return dependent joint frames of the device that are not part of the model."""
        cell, inside = device.cell, set(self.names.values())
        dependent = [frame for frame in cell.frames if frame.motion and frame.motion.depends]
        leaders = [cell.frames[leader_of(cell, frame)[0]].name for frame in dependent]
        return [
            frame.name
            for frame, leader in zip(dependent, leaders, strict=True)
            if leader in device.joint_names and frame.name not in inside
        ]

    def check_attachments(self, cell: CellData, state: State) -> None:
        """Reject states in which a locked frame is attached to another parent."""
        for name, parent in self.attachments:
            column = cell.layout.columns[cell.frame_index(name)]
            if (state.parents[..., column] != cell.frame_index(parent)).any():
                message = f"frame {name!r}, between the base and the joints of the device,"
                raise StateError(f"{message} must be attached to {parent!r} in this state")


def device_model(device: DeviceJoints, state: State | None = None) -> DeviceModel:
    """Return the robot of a device: the Model that was placed, or one built from its frames.

    Args:
        device: a device of a cell.
        state: the state that defines the poses of locked frames; default the default state.

    Raises:
        ArgumentError: the device has no joints, drives a movable frame, or drives only some joints
            of a robot with closed loops; or a joint of a robot has another kind, parent or leader
            than in its model.
    """
    cell, spec = device.cell, device.spec
    if isinstance(spec, RobotDevice):
        names = {name: spec.frame(name) for name in spec.model.frame_names}
        model = cell.cache.get("robot models", spec.name, _current_model, cell, spec)
        return DeviceModel(model, spec.base_link, spec.floating, names, cut=spec.cut)
    if isinstance(spec, (MobileDevice, FreeDevice)):
        kind = "cart" if isinstance(spec, MobileDevice) else "movable frame"
        message = f"device {spec.name!r} is a {kind}, not a robot with joints"
        raise ArgumentError(f"{message}; use cell.with_robot(..., floating=True)")
    for name in device.joint_names:
        if cell.frame(name).movable:
            message = f"device {spec.name!r} contains the movable frame {name!r}"
            hint = "use a device with joints only, or cell.with_robot(..., floating=True)"
            raise ArgumentError(f"{message}; {hint}")
        if cell.frame(name).attachable:
            message = f"joint {name!r} of device {spec.name!r} is attachable"
            raise ArgumentError(f"{message}; joints of a robot must be fixed to their link")
    default = cell.default_state
    state = default if state is None else cell.check_state(state)
    at_state = State.trusted(cell.layout, state.values, default.parents)
    robot = _frames_model(device, at_state)
    robot.check_attachments(cell, state)
    return robot


def with_shapes(cell: CellData, robot: DeviceModel) -> Model:
    """Return the model of a device, with the shapes of its frames and the inertia of its base.

    Dynamics needs neither: the base of a device that is not a robot does not move.
    """
    links: list[Link] = []
    for link in robot.model.links:
        if link.name not in robot.names:
            links.append(link)
            continue
        frame = cell.frame(robot.names[link.name])
        is_bare_base = link.name == robot.base and link.inertia == NO_INERTIA
        inertia = frame.inertia if is_bare_base else link.inertia
        shapes = {"visuals": frame.visuals, "collisions": frame.collisions}
        links.append(replace(link, inertia=inertia, **shapes))
    return replace(robot.model, links=tuple(links))


def _current_model(cell: CellData, robot: RobotDevice) -> Model:
    """Return the model of a robot with everything that was changed in its frames in the cell."""
    model, joints = robot.model, {joint.name: joint for joint in robot.model.joints}
    placement = Placement(robot.name, WORLD, IDENTITY, robot.base_link, cut=robot.cut)
    original = {frame.name: frame for frame in place_robot(model, placement)[0]}
    root = model.frame(robot.base_link).link
    for link, parent, joint in walk(opened(model, robot.closing_joints()), root):
        frame = cell.frame(robot.frame(link))
        before = original[frame.name]
        if joint and (frame.parent_H_frame, frame.motion) != (before.parent_H_frame, before.motion):
            if _structure(frame) != _structure(before):
                message = f"frame {frame.name!r} has another kind, parent or leader than in the"
                raise ArgumentError(f"{message} model of its robot; add a robot with another model")
            names = ("mimic", "damping", "friction", "armature", "actuated", "location")
            more = {name: getattr(joint, name) for name in names}
            joints[joint.name] = joint_of(frame, joint.name, str(parent), link, **more)
    frames = [
        replace(one, link_H_frame=cell.frame(robot.frame(one.name)).parent_H_frame)
        if one.name != robot.base_link
        else one
        for one in model.frames
    ]
    if [*joints.values()] != [*model.joints] or frames != [*model.frames]:
        model = replace(model, joints=tuple(joints.values()), frames=tuple(frames))
    for link in model.links:
        inertia = cell.frame(robot.frame(link.name)).inertia
        if inertia != link.inertia:
            model = model.with_inertia(link.name, inertia)
    for frame in model.frames:
        inertia = cell.frame(robot.frame(frame.name)).inertia
        if inertia != NO_INERTIA:
            model = model.with_payload(frame.name, inertia)
    return model


def _structure(frame: CellFrame) -> tuple[object, ...]:
    return frame.kind, frame.parent, frame.motion and frame.motion.depends


def _frames_model(device: DeviceJoints, state: State) -> DeviceModel:
    """Build a robot of the frames of a cell, with the closed loops of its robots.

    Args:
        device: its joints drive the robot, which has the same base.
        state: a single state, which defines the attachments and the poses of locked frames.

    Raises:
        ArgumentError: the base does not carry a joint of the device, or the device drives only some
            joints of a robot with closed loops.
    """
    cell, driven = device.cell, set(device.joint_names)
    locked = _locked(device, state.parents)
    links, joints = [Link(name=device.base)], dict[str, Joint]()
    names = {device.base: device.base}
    robots = [robot for robot in cell.devices if isinstance(robot, RobotDevice)]
    sources = {frame: joint for robot in robots for frame, joint in _moves(cell, robot).items()}
    for frame, parent in _below(cell, device, state.parents, locked):
        is_locked = frame.name in locked
        if parent not in names or not (is_locked or _belongs_to(cell, frame, driven)):
            continue
        names[frame.name] = frame.name
        links.append(Link(name=frame.name, inertia=frame.inertia))
        if is_locked:
            joints[frame.name] = _locked_joint(cell, frame, parent, state)
        else:
            joints[frame.name] = _joint(cell, frame, parent, sources.get(frame.name))
    order = [*device.joint_names, *(name for name in joints if name not in driven)]
    loops = [_loops(device, robot) for robot in robots if driven.intersection(robot.joints)]
    closing = [joint for of_robot, _ in loops for joint in of_robot]
    tree = [joints[name] for name in order if name in joints]
    attached = [name for name in locked if cell.frame(name).attachable]
    return DeviceModel(
        Model(
            name=device.name,
            links=tuple(links),
            joints=(*tree, *closing),
            constraints=tuple(one for _, of_robot in loops for one in of_robot),
        ),
        device.base,
        False,
        names,
        tuple(name for name in locked if cell.frame(name).movable or cell.frame(name).motion),
        tuple(
            (name, parent_name(cell, cell.frame_index(name), state.parents)) for name in attached
        ),
        tuple(joint.name for joint in closing),
    )


def _locked(device: DeviceJoints, parents: Array) -> tuple[str, ...]:
    """Return the frames between base and joints or ends that the device does not move."""
    cell, driven = device.cell, set(device.joint_names)
    base = cell.frame_index(device.base)
    locked: dict[str, None] = {}
    for name in (*device.joint_names, *device.ends):
        index = cell.frame_index(name)
        path = [index, *carriers(cell.layout, index, parents)]
        if base not in path:
            if name in driven:
                message = f"device {device.name!r}: its base {device.base!r} does not carry"
                raise ArgumentError(f"{message} its joint {name!r} in the default state")
            continue
        for k in reversed(path[: path.index(base)]):
            frame = cell.frames[k]
            is_driven = frame.name in driven
            if not is_driven and (frame.attachable or not _belongs_to(cell, frame, driven)):
                locked[frame.name] = None
    return tuple(locked)


def _below(
    cell: CellData, device: DeviceJoints, parents: Array, locked: tuple[str, ...]
) -> Iterator[tuple[CellFrame, str]]:
    """Return the frames that the base of a device carries with their parents, parents first.

    Attachable frames are excluded, except those that are locked or driven.
    """
    included = {*locked, *device.joint_names}
    children: dict[str, list[CellFrame]] = {}
    for k, frame in enumerate(cell.frames[1:], start=1):
        if not frame.attachable or frame.name in included:
            children.setdefault(parent_name(cell, k, parents), []).append(frame)
    pending = [device.base]
    while pending:
        parent = pending.pop()
        below = children.get(parent, [])
        yield from ((frame, parent) for frame in below)
        pending += [frame.name for frame in below]


def _belongs_to(cell: CellData, frame: CellFrame, driven: set[str]) -> bool:
    """Whether a frame is fixed to its parent, or moved by joints of the device."""
    if frame.movable:
        return frame.name in driven
    leader = cell.frames[leader_of(cell, frame)[0]]
    return frame.motion is None or leader.name in driven


def _locked_joint(cell: CellData, frame: CellFrame, parent: str, state: State) -> Joint:
    """Return a fixed joint at the pose of a frame in a state."""
    pose = frame.parent_H_frame
    if frame.movable or frame.motion:
        pose = as_pose(local_pose(cell, cell.frame_index(frame.name), state.values), frame.name)
    return Joint(name=frame.name, kind="fixed", first=parent, second=frame.name, first_H_joint=pose)


def _joint(cell: CellData, frame: CellFrame, parent: str, source: Joint | None) -> Joint:
    """Return the joint of a frame that is fixed, or moved by the device.

    Args:
        cell: the workcell.
        frame: the frame.
        parent: its parent.
        source: the joint of the robot model, which has armature, damping and friction.
    """
    names = ("damping", "friction", "armature", "actuated") if source else ()
    more = {name: getattr(source, name) for name in names}
    if frame.motion and frame.motion.depends:
        leader, factor, offset = leader_of(cell, frame)
        more["mimic"] = Mimic(joint=cell.frame_names[leader], multiplier=factor, offset=offset)
    return joint_of(frame, frame.name, parent, frame.name, **more)


def _moves(cell: CellData, robot: RobotDevice) -> dict[str, Joint]:
    """Return the joint of the model that moves each frame of a robot, by frame."""
    motions = {name: cell.frame(robot.frame(name)).motion for name in robot.model.link_names}
    return {
        robot.frame(link): robot.model.joint(motion.joint)
        for link, motion in motions.items()
        if motion and motion.joint in robot.model.joint_names
    }


def _loops(device: DeviceJoints, robot: RobotDevice) -> tuple[list[Joint], list[Constraint]]:
    """Return the closing joints and constraints of a robot, between frames of the cell."""
    closing, constraints = robot.closing_joints(), robot.model.constraints
    missing = [name for name in robot.joints if name not in device.joint_names]
    if missing and (closing or constraints):
        message = f"device {device.name!r} does not drive {listed(missing)}"
        hint = f"the robot {robot.name!r} has closed loops: drive all its joints or none"
        raise ArgumentError(f"{message}, but {hint}")
    cell = device.cell
    frames = {joint.name: frame for frame, joint in _moves(cell, robot).items()}
    joints = [
        replace(
            joint,
            name=loop_name(cell, robot, joint.name),
            first=robot.frame(joint.first),
            second=robot.frame(joint.second),
        )
        for joint in closing
    ]
    return joints, [_in_cell(cell, robot, one, frames) for one in constraints]


def _in_cell(
    cell: CellData, robot: RobotDevice, constraint: Constraint, frames: Mapping[str, str]
) -> Constraint:
    """Convert a constraint of a robot to frames of the cell; `frames` is by joint."""
    name = loop_name(cell, robot, constraint.name)
    if constraint.kind == "coupling":
        second = constraint.second and frames[constraint.second]
        return replace(constraint, name=name, first=frames[constraint.first], second=second)
    first = robot.frame(constraint.first)
    if constraint.second is not None:
        return replace(constraint, name=name, first=first, second=robot.frame(constraint.second))
    return replace(  # the robot's world is the frame on which it is placed
        constraint,
        name=name,
        first=robot.base,
        second=first,
        first_H_anchor=constraint.second_H_anchor,
        second_H_anchor=constraint.first_H_anchor,
    )


def loop_name(cell: CellData, robot: DeviceSpec, name: str) -> str:
    """Return the name of a closing joint or a constraint, which is not the name of a frame."""
    if not isinstance(robot, RobotDevice):
        return name  # of a robot of frames, which has the names of the cell
    in_cell = robot.frame(name)
    return f"{in_cell} loop" if in_cell in cell.layout.index else in_cell
