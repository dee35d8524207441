"""How workcells are edited: each method returns another cell, and leaves this one as it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, cast

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
from linkwork.model.parts import NO_LIMITS, Limits, Mimic, check_name, unit_vector
from linkwork.model.pose import IDENTITY, Pose, as_pose
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


class Editing:
    """The methods of a `WorkCell` that give another one."""

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
    ) -> WorkCell:
        """A further frame.

        Args:
            name: used by no other frame.
            parent: the frame that it sits on; of an attachable frame, by default.
            parent_H_frame: its pose there, as `Pose` or (4, 4); of a movable frame, by default.
            movable: whether its pose on its parent is part of the state.
            attachable: whether the frame that it sits on is part of the state.
            inertia: of the body that is fixed to it, in its axes.
            visuals, collisions: shapes that are fixed to it.
            properties: texts by name, kept as they are.

        Raises:
            NameNotFoundError: there is no such parent.
            ModelError: the name is empty or taken.
        """
        cell = self._with_room_for(name, parent)
        with concerning(f"frame {name!r}"):
            home = _pose_home(parent_H_frame) if movable else ()
            pose = as_pose(parent_H_frame, "parent_H_frame")
        frame = CellFrame(
            name=name,
            parent=parent,
            parent_H_frame=pose,
            movable=movable,
            attachable=attachable,
            home=home,
            inertia=inertia,
            visuals=tuple(visuals),
            collisions=tuple(collisions),
            properties=_as_properties(properties),
        )
        return cell.extended(frame)

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
    ) -> WorkCell:
        """A frame that a joint moves: parent_H_frame @ M(theta) is its pose on its parent.

        Args:
            name: used by no other frame.
            kind: one of linkwork.model.joints.KINDS, such as revolute or prismatic.
            parent: the frame that the joint sits on.
            parent_H_frame: pose of the frame on its parent at theta = 0, as `Pose` or (4, 4).
            axis: in the frame, of any length but zero.
            pitch: of a helical joint, its advance per radian [m/rad].
            limits: bounds of the position, largest speed and effort.
            acceleration: the largest, either way [rad/s^2] or [m/s^2].
            depends: the joint frame this one depends on, with a factor and an offset.
            active: False for a joint that serial and tree devices leave out.
            home: its position in the default state; its neutral position if not given.
            attachable, inertia, visuals, collisions, properties: as of `with_frame`.
        """
        cell = self._with_room_for(name, parent)
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
            pose = as_pose(parent_H_frame, "parent_H_frame")
            start = () if home is None else tuple(as_floats(home, "home").reshape(-1).tolist())
        if home is not None and depends:
            raise model_error("home: a joint that depends on another has none", f"frame {name!r}")
        frame = CellFrame(
            name=name,
            parent=parent,
            parent_H_frame=pose,
            attachable=attachable,
            motion=motion,
            home=start,
            inertia=inertia,
            visuals=tuple(visuals),
            collisions=tuple(collisions),
            properties=_as_properties(properties),
        )
        findings = [*leader_findings(frame, {other.name: other for other in cell.frames})]
        if findings:
            raise ModelError(findings)
        return cell.extended(frame)

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
    ) -> WorkCell:
        """A robot: its links and frames as frames `<name>.<link>`, and a device of this name.

        Args:
            name: of the device, and prefix of the frames; the same model may be placed again under
                another name.
            model: the robot.
            parent: the frame that its base sits on.
            parent_H_base: pose of the base there, as `Pose` or (4, 4).
            base: link or frame of the model that is placed; its default base if not given.
            floating: whether the pose of the base is part of the state; q of the device then starts
                with its position and quaternion, as that of a `KinDyn` does.
            attachable: whether the frame that the base sits on is part of the state.
            end: link or frame of the model that is the end of the device; if not given, the link
                that is furthest from the base along the last branch.
        """
        cell = _cell(self)
        check_name("device", name)
        cell.layout.frame(parent)
        with concerning(f"robot {name!r}"):
            pose = as_pose(parent_H_base, "parent_H_base")
        placement = Placement(
            name=name,
            parent=parent,
            parent_H_base=pose,
            base=base,
            floating=bool(floating),
            attachable=bool(attachable),
            end=end,
        )
        frames, device = placed(model, placement)
        taken = [frame.name for frame in frames if frame.name in cell.layout.index]
        if taken or name in cell.device_names:
            what = f"frames {listed(taken)}" if taken else f"device {name!r}"
            raise model_error(f"the cell has {what} already; take another name", f"robot {name!r}")
        return replace(cell, frames=(*cell.frames, *frames), devices=(*cell.devices, device))

    def with_device(self, device: DeviceSpec) -> WorkCell:
        """A further device: a SerialDevice, TreeDevice, JointDevice and so on."""
        if not isinstance(device, DeviceSpec):
            raise ArgumentError(
                f"device: expected a device such as SerialDevice, got {shown(device)}"
            )
        if isinstance(device, RobotDevice):
            raise ArgumentError("device: a robot is added with its frames, by `with_robot`")
        cell = _cell(self)
        return replace(cell, devices=(*cell.devices, device))

    def with_changed(self, name: str, **changes: Any) -> WorkCell:
        """Other fields of a frame: parent_H_frame, inertia, visuals, limits, home and so on.

        States stay valid as long as neither its kind nor its parent changes.
        """
        cell = _cell(self)
        index = cell.layout.frame(name)
        frame = cell.frames[index]
        if name == WORLD:
            raise model_error("the root of the cell cannot be changed", f"frame {WORLD!r}")
        known = _OF_FRAME | (_OF_MOTION if frame.motion else set()) - {"name"}
        for given in changes:
            if given not in known:
                raise ArgumentError(
                    f"frame {name!r} has no field {given!r}; {nearest(given, known)}"
                )
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
                changes.setdefault("home", ())  # other numbers than before
            moving = {key: changes.pop(key) for key in list(changes) if key in _OF_MOTION}
            if moving and frame.motion:
                changes["motion"] = replace(frame.motion, **moving)
        frames = list(cell.frames)
        frames[index] = replace(frame, **changes)
        return replace(cell, frames=tuple(frames))

    def with_default(self, state: State) -> WorkCell:
        """Another default state: what `cell.state()` gives."""
        cell = _cell(self)
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

    def without(self, name: str) -> WorkCell:
        """Without a frame. Attachable frames that sit on it by default sit on WORLD then.

        Raises:
            ModelError: other frames are fixed to it, a joint depends on it, or a device needs it.
        """
        cell = _cell(self)
        cell.layout.frame(name)
        return _removed(cell, [name])

    def without_device(self, name: str) -> WorkCell:
        """Without a device; its frames stay."""
        cell = _cell(self)
        if name not in cell.device_names:
            raise name_not_found("device", name, cell.device_names)
        return replace(cell, devices=tuple(d for d in cell.devices if d.name != name))

    def without_robot(self, name: str) -> WorkCell:
        """Without a robot that was placed, its device and all its frames."""
        cell = _cell(self)
        robots = {d.name: d for d in cell.devices if isinstance(d, RobotDevice)}
        if name not in robots:
            raise name_not_found("robot", name, robots)
        own = [robots[name].frame(frame) for frame in robots[name].model.frame_names]
        return _removed(cell.without_device(name), own)

    def _with_room_for(self, name: str, parent: str) -> WorkCell:
        """This cell, if it has the parent of a further frame, and no frame of its name."""
        cell = _cell(self)
        check_name("frame", name)
        if name in cell.layout.index:
            raise model_error("this name is taken", f"frame {name!r}")
        cell.layout.frame(parent)
        return cell


def _cell(editing: Editing) -> WorkCell:
    return cast("WorkCell", editing)  # the only class that has these methods


def _as_properties(
    properties: Mapping[str, str] | Iterable[tuple[str, str]],
) -> tuple[tuple[str, str], ...]:
    """Texts by name as pairs."""
    pairs = properties.items() if isinstance(properties, Mapping) else properties
    return tuple((str(name), str(value)) for name, value in pairs)


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


def _pose_home(pose: Pose | ArrayLike) -> tuple[float, ...]:
    """Position and quaternion of a pose, from its matrix where one is given."""
    if isinstance(pose, Pose):
        return ()
    as_pose(pose, "parent_H_frame")  # refuses what is no pose
    matrix = np.asarray(pose, dtype=np.float64)
    wxyz = quat.from_rotation(matrix[:3, :3])
    return (*matrix[:3, 3].tolist(), *wxyz.tolist())
