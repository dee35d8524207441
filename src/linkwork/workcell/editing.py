"""How workcells are edited: each method gives another cell, and leaves this one as it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from numpy.typing import ArrayLike

from linkwork.model.geometry import Shape
from linkwork.model.inertia import NO_INERTIA, Inertia
from linkwork.model.model import Model
from linkwork.model.parts import NO_LIMITS, Limits, Mimic
from linkwork.model.pose import IDENTITY, Pose
from linkwork.workcell import edit
from linkwork.workcell.devices import DeviceSpec
from linkwork.workcell.parts import WORLD

if TYPE_CHECKING:
    from linkwork.workcell.cell import WorkCell
    from linkwork.workcell.state import State


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
        frame = edit.new_frame(
            _cell(self),
            name,
            parent,
            parent_H_frame,
            movable=movable,
            attachable=attachable,
            inertia=inertia,
            visuals=tuple(visuals),
            collisions=tuple(collisions),
            properties=edit.as_properties(properties),
        )
        return edit.with_part(_cell(self), frame)

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
        frame = edit.new_joint(
            _cell(self),
            name,
            kind,
            parent,
            parent_H_frame,
            axis=axis,
            home=home,
            motion={
                "pitch": pitch,
                "limits": limits,
                "acceleration": acceleration,
                "depends": depends,
                "active": bool(active),
            },
            attachable=attachable,
            inertia=inertia,
            visuals=tuple(visuals),
            collisions=tuple(collisions),
            properties=edit.as_properties(properties),
        )
        return edit.with_part(_cell(self), frame)

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
        return edit.with_robot(
            _cell(self),
            name,
            model,
            parent,
            parent_H_base,
            base=base,
            floating=bool(floating),
            attachable=bool(attachable),
            end=end,
        )

    def with_device(self, device: DeviceSpec) -> WorkCell:
        """A further device: a SerialDevice, TreeDevice, JointDevice and so on."""
        return edit.with_device(_cell(self), device)

    def with_changed(self, name: str, **changes: Any) -> WorkCell:
        """Other fields of a frame: parent_H_frame, inertia, visuals, limits, home and so on.

        States stay valid as long as neither its kind nor its parent changes.
        """
        return edit.with_changed(_cell(self), name, changes)

    def with_default(self, state: State) -> WorkCell:
        """Another default state: what `cell.state()` gives."""
        return edit.with_default(_cell(self), state)

    def without(self, name: str) -> WorkCell:
        """Without a frame. Attachable frames that sit on it by default sit on WORLD then.

        Raises:
            ModelError: other frames are fixed to it, a joint depends on it, or a device needs it.
        """
        return edit.without(_cell(self), name)

    def without_device(self, name: str) -> WorkCell:
        """Without a device; its frames stay."""
        return edit.without_device(_cell(self), name)

    def without_robot(self, name: str) -> WorkCell:
        """Without a robot that was placed, its device and all its frames."""
        return edit.without_robot(_cell(self), name)


def _cell(editing: Editing) -> WorkCell:
    return cast("WorkCell", editing)  # the only class that has these methods
