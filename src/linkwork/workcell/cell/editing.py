"""Editing of workcells: each method returns a new cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

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
from linkwork.model.geometry import Shape
from linkwork.model.inertia import NO_INERTIA, Inertia
from linkwork.model.model import Model
from linkwork.model.numbers import as_floats
from linkwork.model.parts import (
    NO_LIMITS,
    Limits,
    Mimic,
    check_name,
    unit_vector,
)
from linkwork.model.pose import IDENTITY, Pose, as_pose
from linkwork.workcell.cell.checks import leader_findings
from linkwork.workcell.cell.data import CellData
from linkwork.workcell.cell.devices import DeviceSpec, RobotDevice
from linkwork.workcell.cell.frames import WORLD, CellFrame, Motion, pose_to_xyz_wxyz
from linkwork.workcell.cell.robots import Placement, place_robot

if TYPE_CHECKING:
    from typing_extensions import Self

CellT = TypeVar("CellT", bound=CellData)

_MOTION_FIELDS = {field.name for field in fields(Motion)}
_FRAME_FIELDS = {field.name for field in fields(CellFrame)} - {"name"}


@dataclass(frozen=True)
class Editing(CellData):
    """The methods of a `WorkCell` that return a modified cell."""

    def with_frame(
        self,
        name: str,
        parent: str = WORLD,
        parent_H_frame: Pose | ArrayLike = IDENTITY,
        *,
        movable: bool = False,
        attachable: bool = False,
        inertia: Inertia = NO_INERTIA,
        visuals: Iterable[Shape] = (),
        collisions: Iterable[Shape] = (),
        properties: Mapping[str, str] | Iterable[tuple[str, str]] = (),
    ) -> Self:
        """Add a frame.

        Args:
            name: unique name.
            parent: its parent; of an attachable frame, in the default state.
            parent_H_frame: its pose in the parent, as `Pose` or (4, 4); of a movable frame, in the
                default state.
            movable: whether its pose in its parent is part of the state.
            attachable: whether its parent is part of the state.
            inertia: inertia of the body that is fixed to it, in its axes.
            visuals, collisions: shapes that are fixed to it.
            properties: additional strings by name.

        Raises:
            NameNotFoundError: there is no such parent.
            ModelError: the name is empty or in use.
        """
        return self._with_new_frame(
            name,
            parent,
            parent_H_frame,
            movable=movable,
            attachable=attachable,
            inertia=inertia,
            visuals=visuals,
            collisions=collisions,
            properties=properties,
        )

    def with_joint(
        self,
        name: str,
        kind: str,
        parent: str = WORLD,
        parent_H_frame: Pose | ArrayLike = IDENTITY,
        *,
        axis: Iterable[float] = (0.0, 0.0, 1.0),
        pitch: float = 0.0,
        limits: Limits = NO_LIMITS,
        acceleration: float = float("inf"),
        depends: Mimic | None = None,
        active: bool = True,
        home: ArrayLike | None = None,
        attachable: bool = False,
        inertia: Inertia = NO_INERTIA,
        visuals: Iterable[Shape] = (),
        collisions: Iterable[Shape] = (),
        properties: Mapping[str, str] | Iterable[tuple[str, str]] = (),
    ) -> Self:
        """Add a joint frame: its pose in its parent is parent_H_frame @ M(theta).

        Args:
            name: unique name.
            kind: one of linkwork.model.joints.KINDS, such as revolute or prismatic.
            parent: its parent.
            parent_H_frame: pose of the frame in its parent at theta = 0, as `Pose` or (4, 4).
            axis: axis in the frame; any nonzero length.
            pitch: advance of a helical joint per radian [m/rad].
            limits: limits of position, velocity and effort.
            acceleration: limit of the magnitude of the acceleration [rad/s^2] or [m/s^2].
            depends: the joint frame this one depends on, with a factor and an offset.
            active: False to exclude the joint from serial and tree devices.
            home: position in the default state; default the neutral position.
            attachable, inertia, visuals, collisions, properties: as in `with_frame`.
        """
        with concerning(f"frame {name!r}"):
            motion = Motion(
                kind=kind,
                axis=unit_vector(axis),
                pitch=pitch,
                limits=limits,
                acceleration=acceleration,
                depends=depends,
                active=bool(active),
            )
            values = () if home is None else tuple(as_floats(home, "home").reshape(-1).tolist())
            if home is not None and depends:
                raise model_error("home: a joint that depends on another has no home position")
        return self._with_new_frame(
            name,
            parent,
            parent_H_frame,
            motion=motion,
            home=values,
            attachable=attachable,
            inertia=inertia,
            visuals=visuals,
            collisions=collisions,
            properties=properties,
        )

    def with_robot(
        self,
        name: str,
        model: Model,
        *,
        parent: str = WORLD,
        parent_H_base: Pose | ArrayLike = IDENTITY,
        base: str | None = None,
        floating: bool = False,
        attachable: bool = False,
        end: str | None = None,
        cut: Iterable[str] = (),
    ) -> Self:
        """Add a robot: its links and frames become frames `<name>.<link>`, and it is a device.

        Args:
            name: name of the device, and prefix of the frames; a model may be added several times
                with different names.
            model: the robot.
            parent: parent of its base.
            parent_H_base: pose of the base in the parent, as `Pose` or (4, 4).
            base: link or frame of the model that is the base; default its default base.
            floating: whether the pose of the base is part of the state; q of the device then starts
                with its position and quaternion, as in `KinDyn`.
            attachable: whether the parent of the base is part of the state.
            end: link or frame of the model that is the end of the device; default the last link of
                the last branch.
            cut: joints of the model that close its loops and have no coordinates, as of `KinDyn`.
        """
        check_name("device", name)
        self.layout.frame(parent)
        if isinstance(cut, str) or not isinstance(cut, Iterable):
            raise ArgumentError(f"cut: expected a list of names of joints, got {shown(cut)}")
        with concerning(f"robot {name!r}"):
            pose = as_pose(parent_H_base, "parent_H_base")
        kind = {"floating": bool(floating), "attachable": bool(attachable)}
        placement = Placement(name, parent, pose, base, **kind, end=end, cut=tuple(cut))
        frames, device = place_robot(model, placement)
        existing = [frame.name for frame in frames if frame.name in self.layout.index]
        if existing or name in self.device_names:
            parts = f"frames {listed(existing)}" if existing else f"device {name!r}"
            message = f"the cell already has {parts}; use another name"
            raise model_error(message, f"robot {name!r}")
        return replace(self, frames=(*self.frames, *frames), devices=(*self.devices, device))

    def with_device(self, device: DeviceSpec) -> Self:
        """Add a device: a SerialDevice, TreeDevice, JointDevice and so on."""
        if not isinstance(device, DeviceSpec):
            raise ArgumentError(
                f"device: expected a device such as SerialDevice, got {shown(device)}"
            )
        if isinstance(device, RobotDevice):
            raise ArgumentError("device: use `with_robot` to add a robot with its frames")
        return replace(self, devices=(*self.devices, device))

    def with_changed(self, name: str, **changes: Any) -> Self:
        """Change fields of a frame: parent_H_frame, inertia, visuals, limits, home and so on.

        States remain valid unless its kind or its parent changes.
        """
        index = self.layout.frame(name)
        frame = self.frames[index]
        if name == WORLD:
            raise model_error("the root of the cell cannot be changed", f"frame {WORLD!r}")
        allowed = _FRAME_FIELDS | _MOTION_FIELDS if frame.motion else _FRAME_FIELDS
        for key in changes:
            if key not in allowed:
                raise ArgumentError(f"frame {name!r} has no field {key!r}; {nearest(key, allowed)}")
        with concerning(f"frame {name!r}"):
            if "parent_H_frame" in changes:
                if frame.movable and "home" not in changes:
                    changes["home"] = _pose_home(changes["parent_H_frame"])
                changes["parent_H_frame"] = as_pose(changes["parent_H_frame"], "parent_H_frame")
            if "axis" in changes:
                changes["axis"] = unit_vector(changes["axis"])
            if "properties" in changes:
                changes["properties"] = _as_properties(changes["properties"])
            if {"kind", "movable", "depends"} & changes.keys():
                changes.setdefault("home", ())  # the old values have another meaning
            motion_changes = {
                key: changes.pop(key) for key in list(changes) if key in _MOTION_FIELDS
            }
            if motion_changes and frame.motion:
                changes["motion"] = replace(frame.motion, **motion_changes)
        frames = list(self.frames)
        frames[index] = replace(frame, **changes)
        return replace(self, frames=tuple(frames))

    def with_excluded_pairs(self, pairs: Iterable[tuple[str, str]]) -> Self:
        """Ignore collisions of further pairs of frames.

        Args:
            pairs: pairs of names, in any order.

        Raises:
            ModelError: there is no such frame.
        """
        added = [tuple(map(str, pair)) for pair in pairs]
        return replace(self, excluded_pairs=tuple(dict.fromkeys([*self.excluded_pairs, *added])))

    def without(self, name: str) -> Self:
        """Remove a frame. Frames that are attached to it by default become attached to WORLD.

        Raises:
            ModelError: other frames are fixed to it, a joint depends on it, or a device uses it.
        """
        self.layout.frame(name)
        return _remove(self, [name])

    def without_device(self, name: str) -> Self:
        """Remove a device, but not its frames."""
        if name not in self.device_names:
            raise name_not_found("device", name, self.device_names)
        return replace(self, devices=tuple(d for d in self.devices if d.name != name))

    def without_robot(self, name: str) -> Self:
        """Remove a robot: its device and all its frames."""
        robots = {d.name: d for d in self.devices if isinstance(d, RobotDevice)}
        if name not in robots:
            raise name_not_found("robot", name, robots)
        frames = [robots[name].frame(frame) for frame in robots[name].model.frame_names]
        return _remove(self.without_device(name), frames)

    def _with_new_frame(
        self,
        name: str,
        parent: str,
        pose: Pose | ArrayLike,
        *,
        properties: Mapping[str, str] | Iterable[tuple[str, str]],
        **fields: Any,
    ) -> Self:
        """Add a frame after a check of its name, its parent and its pose."""
        check_name("frame", name)
        if name in self.layout.index:
            raise model_error("this name is in use", f"frame {name!r}")
        self.layout.frame(parent)
        with concerning(f"frame {name!r}"):
            if fields.get("movable"):
                fields["home"] = _pose_home(pose)
            fields["parent_H_frame"] = as_pose(pose, "parent_H_frame")
        pairs = _as_properties(properties)
        frame = CellFrame(name=name, parent=parent, properties=pairs, **fields)
        others = {other.name: other for other in self.frames} if frame.motion else {}
        findings = [*leader_findings(frame, others)]
        if findings:
            raise ModelError(findings)
        return self.extended(frame)


def _as_properties(
    properties: Mapping[str, str] | Iterable[tuple[str, str]],
) -> tuple[tuple[str, str], ...]:
    """Convert properties to (name, value) pairs."""
    pairs = properties.items() if isinstance(properties, Mapping) else properties
    return tuple((str(name), str(value)) for name, value in pairs)


def _remove(cell: CellT, names: Iterable[str]) -> CellT:
    """Remove frames that nothing else in the cell needs."""
    removed = dict.fromkeys(names)
    if WORLD in removed:
        raise model_error("the root of the cell cannot be removed", f"frame {WORLD!r}")
    remaining = [frame for frame in cell.frames if frame.name not in removed]
    findings: list[Finding] = []
    for name in removed:
        users = {
            "it is the parent of other frames": [
                f.name for f in remaining if f.parent == name and not f.attachable
            ],
            "joints depend on it": [
                f.name
                for f in remaining
                if f.motion and f.motion.depends and f.motion.depends.joint == name
            ],
            "devices use it": [d.name for d in cell.devices if name in _used_frames(cell, d)],
        }
        findings += [
            Finding("error", f"frame {name!r}", f"{text}: {listed(names)}; remove them first")
            for text, names in users.items()
            if names
        ]
    if findings:
        raise ModelError(findings)
    frames = [_reattached(frame, removed) for frame in remaining]
    pairs = tuple(pair for pair in cell.excluded_pairs if not removed.keys() & set(pair))
    return replace(cell, frames=tuple(frames), excluded_pairs=pairs)


def _reattached(frame: CellFrame, removed: Mapping[str, None]) -> CellFrame:
    """Attach an attachable frame to WORLD if its parent was removed."""
    parent = WORLD if frame.parent in removed else frame.parent
    home = WORLD if frame.default_parent in removed else frame.default_parent
    home_parent = None if home == parent else home
    if (parent, home_parent) == (frame.parent, frame.home_parent):
        return frame
    return replace(frame, parent=parent, home_parent=home_parent)


def _used_frames(cell: CellData, device: DeviceSpec) -> set[str]:
    frames = {frame.name: frame for frame in cell.frames}
    return {*device.frame_names(), *device.driven(frames, cell.device_specs)}


def _pose_home(pose: Pose | ArrayLike) -> tuple[float, ...]:
    """Return position and quaternion of a pose that is a matrix; nothing for a `Pose`."""
    if isinstance(pose, Pose):
        return ()
    as_pose(pose, "parent_H_frame")  # raises if it is not a pose
    return pose_to_xyz_wxyz(np.asarray(pose, dtype=np.float64))
