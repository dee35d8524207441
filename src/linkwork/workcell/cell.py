"""The workcell: robots, objects and frames in one world, as data without any state.

    cell = WorkCell("bench").with_frame("table", parent_H_frame=Pose((0.0, 0.0, 0.8)))
    cell = cell.with_robot("arm", model, parent="table")
    cell = cell.with_frame("box", parent="table", movable=True, attachable=True)
    state = cell.grip(cell.state(), "box", "arm.tool")
    cell.world_H_frame("box", state)

A cell never changes: editing gives another one. Whatever moves is in a `State`. So a cell can be
used by many threads, and states can be kept, compared and sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ModelError, counted, name_not_found
from linkwork.model.parts import check_name
from linkwork.model.pose import Pose
from linkwork.workcell import attach, fk, paths
from linkwork.workcell.check import cell_findings
from linkwork.workcell.devices import DeviceSpec
from linkwork.workcell.editing import Editing
from linkwork.workcell.layout import StateLayout, layout_of
from linkwork.workcell.parts import ROOT, WORLD, CellFrame
from linkwork.workcell.state import State, check_state, upgraded_state

if TYPE_CHECKING:
    from linkwork.workcell.device import Device
    from linkwork.workcell.dynamics import CellDynamics
    from linkwork.workcell.fk import FKTable
    from linkwork.workcell.ik import CellIkResult
    from linkwork.workcell.paths import FKRange


@dataclass(frozen=True)
class WorkCell(Editing):
    """Frames in a tree whose root is WORLD, and devices over them."""

    name: str
    frames: tuple[CellFrame, ...] = (ROOT,)  # WORLD first
    devices: tuple[DeviceSpec, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", check_name("workcell", self.name))
        object.__setattr__(self, "frames", tuple(self.frames))
        object.__setattr__(self, "devices", tuple(self.devices))
        findings = cell_findings(self.frames, self.devices)
        if findings:
            raise ModelError(findings)

    def extended(self, frame: CellFrame) -> WorkCell:
        """A cell with a further frame that fits it; what is here already is not checked again."""
        cell = object.__new__(type(self))
        fields = {"name": self.name, "frames": (*self.frames, frame), "devices": self.devices}
        cell.__dict__.update(fields, layout=self.layout.extended(frame))
        return cell

    def __repr__(self) -> str:
        parts = (self.frames, "frame"), (self.layout.attachable, "attachable frame")
        counts = [
            counted(len(several), noun) for several, noun in (*parts, (self.devices, "device"))
        ]
        return f"<WorkCell {self.name!r}: {', '.join(counts)}>"

    def __reduce__(self) -> tuple[object, ...]:  # without what is computed from them
        return type(self), (self.name, self.frames, self.devices)

    @cached_property
    def layout(self) -> StateLayout:
        """Where the numbers of each frame stand in a state."""
        return layout_of(self.name, self.frames)

    @cached_property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all frames, WORLD first; their order is that of the indices."""
        return tuple(frame.name for frame in self.frames)

    @cached_property
    def device_names(self) -> tuple[str, ...]:
        """Names of the devices."""
        return tuple(device.name for device in self.devices)

    def frame(self, name: str) -> CellFrame:
        """The frame of this name."""
        return self.frames[self.layout.frame(name)]

    def frame_index(self, name: str) -> int:
        """Index of a frame in `frames`."""
        return self.layout.frame(name)

    def device(self, name: str) -> Device:
        """The device of this name, bound to this cell."""
        known = self._bound
        try:
            return known[name]
        except (KeyError, TypeError):
            pass
        for spec in self.devices:
            if spec.name == name:
                from linkwork.workcell.device import bound

                return known.setdefault(name, bound(self, spec))
        raise name_not_found("device", name, self.device_names)

    # States.

    def state(self, values: Mapping[str, ArrayLike] | None = None) -> State:
        """The default state, or one that differs from it.

        Args:
            values: q by the name of a device, poses (4, 4) by the name of a movable frame,
                positions by the name of a joint frame.
        """
        state = self._default
        for name, given in (values or {}).items():
            if name in self.device_names:
                state = self.device(name).set_q(state, given)
            elif self.frame(name).movable:
                state = self.set_pose(state, name, given)
            else:
                state = self.set_values(state, name, given)
        return state

    def check_state(self, state: State) -> State:
        """The state itself, or an error that says why it is no state of this cell."""
        return check_state(self.layout, state)

    def upgrade(self, state: State) -> State:
        """Bring a state of an older structure of this cell over, by the names of the frames.

        Frames that are new have their default values, and those that are gone are left out; what
        was attached to them sits on WORLD.

        Raises:
            StateError: the state is of another cell, or a frame has changed its kind.
        """
        return upgraded_state(self, state)

    def values(self, frame: str, state: State) -> Array:
        """(..., size) the numbers of a joint or movable frame in a state."""
        index = self.layout.frame(frame)
        return self.check_state(state).values[..., self.layout.span(index)]

    def set_values(self, state: State, frame: str, values: ArrayLike) -> State:
        """A state with other numbers of a joint or movable frame, (..., size)."""
        return attach.with_values(self, state, frame, values)

    def set_pose(
        self, state: State, frame: str, pose: Pose | ArrayLike, reference: str | None = None
    ) -> State:
        """A state in which a movable frame is elsewhere.

        Args:
            state: one or a batch.
            frame: a movable frame.
            pose: reference_H_frame, a `Pose` or (..., 4, 4).
            reference: the frame that the pose is in; the frame's own parent if not given.
        """
        return attach.with_pose(self, state, frame, pose, reference)

    # Attaching.

    def attach(self, state: State, frame: str, parent: str | Sequence[str]) -> State:
        """A state in which a frame sits on another; its pose there stays what it was.

        Args:
            state: one or a batch.
            frame: an attachable frame.
            parent: any frame that does not sit on it; for a batch also one name for each row.

        Raises:
            StateError: the frame is not attachable, or would sit on itself.
        """
        return attach.attached(self, state, frame, parent)

    def grip(self, state: State, frame: str, gripper: str | Sequence[str]) -> State:
        """A state in which a frame sits on another without having moved in the world.

        Args:
            state: one or a batch.
            frame: a movable and attachable frame.
            gripper: as the `parent` of `attach`.
        """
        return attach.gripped(self, state, frame, gripper)

    def release(self, state: State, frame: str, parent: str = WORLD) -> State:
        """A state in which a gripped frame sits on WORLD, or another, without having moved."""
        return attach.gripped(self, state, frame, parent)

    # Kinematics.

    def fk(
        self, state: State, *, threads: int | None = None, out: Array | FKTable | None = None
    ) -> FKTable:
        """World poses of all frames, computed at once; `table[name]` is (..., 4, 4).

        Args:
            state: one or a batch.
            threads: the most to use for a large batch; as many as there are cores if not given.
            out: (..., frames, 4, 4) to write to, or a table that is not needed any more, whose
                memory is used again; a new array if not given.
        """
        return fk.FKTable(self, state, threads=threads, out=out)

    def world_H_frame(self, frame: str, state: State) -> Array:
        """(..., 4, 4) pose of a frame in the world."""
        return fk.world_H_frames(self, (frame,), state)[..., 0, :, :]

    def world_H_frames(self, frames: Sequence[str], state: State) -> Array:
        """(..., n, 4, 4) poses of some frames in the world."""
        return fk.world_H_frames(self, tuple(frames), state)

    def frame_H_frame(self, a: str, b: str, state: State) -> Array:
        """(..., 4, 4) pose a_H_b of frame b in frame a."""
        return fk.frame_H_frame(self, a, b, state)

    def parent_H_frame(self, frame: str, state: State) -> Array:
        """(..., 4, 4) pose of a frame on the frame that it sits on."""
        return fk.parent_H_frame(self, frame, state)

    def fk_range(self, a: str, b: str, state: State) -> FKRange:
        """The path between two frames in a state; `path(other_state)` gives a_H_b.

        It refuses states in which frames on the path are attached elsewhere.
        """
        return paths.FKRange(self, a, b, state)

    def ik(
        self,
        state: State,
        targets: Mapping[str, Pose | ArrayLike],
        *,
        reference: str = WORLD,
        device: str | None = None,
        hold: Sequence[str] = (),
        limits: bool = True,
        tolerance: float | Sequence[float] = 1e-6,
        max_iterations: int = 96,
        restarts: int = 64,
        seed: int = 0,
    ) -> CellIkResult:
        """States in which frames are at their targets; only devices that carry them move.

        Args:
            state: one or a batch; the search starts there. Batch axes of the state and of the
                targets broadcast.
            targets: by frame, a pose, as `Pose` or (..., 4, 4), or a position (..., 3). The frame
                may be any that a device moves: its tool, or an object that it has gripped.
            reference: the frame that targets are in, which these devices must not move.
            device: name of the device that moves. If not given, each frame is moved by the device
                that carries it; of several, the one whose joints all the others have too.
            hold: joint frames that keep their position.
            limits: whether joints stay within their limits.
            tolerance, max_iterations, restarts, seed: as of `linkwork.ik`.

        Returns:
            The new state or states, and the errors; every other device, pose and attachment is as
            it was.

        Raises:
            NameNotFoundError: there is no such frame or device.
            ArgumentError: no device moves a frame, or several do and none was named; the device is
                a cart or a movable frame; a device moves the reference.

        A position as target of a frame that is not at the origin of a link, such as a gripped
        object, has functions compiled for that grasp; a pose has not.
        """
        from linkwork.workcell.ik import cell_ik

        options = {
            "limits": limits,
            "tolerance": tolerance,
            "max_iterations": max_iterations,
            "restarts": restarts,
            "seed": seed,
        }
        return cell_ik(
            self, state, targets, reference=reference, device=device, hold=hold, options=options
        )

    # Dynamics.

    def dynamics(
        self,
        device: str,
        *,
        carriers: Sequence[str] | None = None,
        gravity: ArrayLike = (0.0, 0.0, -9.80665),
        joint_dynamics: bool = False,
    ) -> CellDynamics:
        """The dynamics of a device as functions of a state, with all that it carries there.

        Args:
            device: its name.
            carriers: frames of the device whose bodies may carry something; its ends if not given.
                A state in which another link carries something is computed by slower functions,
                with a payload on every link, which are compiled when that happens first.
            gravity: acceleration of free fall in the world [m/s^2].
            joint_dynamics: whether armature, damping and friction of the joints enter.
        """
        from linkwork.workcell.dynamics import CellDynamics

        return CellDynamics(
            self, device, carriers=carriers, gravity=gravity, joint_dynamics=joint_dynamics
        )

    # Structure.

    def parent(self, frame: str, state: State) -> str | None:
        """The frame that a frame sits on in a state; None for WORLD."""
        return paths.parent_of(self, frame, state)

    def children(self, frame: str, state: State) -> tuple[str, ...]:
        """The frames that sit on a frame: those that always do, then attached ones."""
        return paths.children_of(self, frame, state)

    def chain(self, a: str, b: str, state: State) -> tuple[str, ...]:
        """Frames on the way from a up to the nearest common frame and down to b, both included."""
        return paths.chain(self, a, b, state)

    def frames_below(self, frame: str, state: State) -> tuple[str, ...]:
        """A frame and all that it carries in a state, each before what sits on it."""
        return paths.frames_below(self, frame, state)

    def static_groups(self, state: State, root: str = WORLD) -> tuple[tuple[str, ...], ...]:
        """Groups of frames that no joint, movable or attachable frame separates."""
        return paths.static_groups(self, state, root)

    def tree(self, state: State, root: str = WORLD) -> str:
        """The tree of frames as text, with the position of each in the world."""
        return paths.tree_text(self, state, root)

    @cached_property
    def _default(self) -> State:
        index = self.layout.index
        values = [number for frame in self.frames if frame.size for number in frame.home]
        parents = [index[str(f.default_parent)] for f in self.frames if f.attachable]
        return State(self.layout, values, np.array(parents, dtype=np.int32))

    @cached_property
    def _bound(self) -> dict[str, Device]:
        return {}

    @cached_property
    def steps(self) -> fk.Steps:
        """What computes world poses; see `fk`."""
        return fk.steps_of(self)
