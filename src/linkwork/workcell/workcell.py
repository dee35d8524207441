"""The workcell: robots, objects and frames in one world, without any state.

    cell = WorkCell("bench").with_frame("table", parent_H_frame=Pose((0.0, 0.0, 0.8)))
    cell = cell.with_robot("arm", model, parent="table")
    cell = cell.with_frame("box", parent="table", movable=True, attachable=True)
    state = cell.grip(cell.state(), "box", "arm.tool")
    cell.world_H_frame("box", state)

A cell is immutable: editing returns another cell. Everything that moves is in a `State`. So threads
can share a cell, and states can be stored, compared and sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, counted, name_not_found, shown
from linkwork.model.pose import Pose
from linkwork.model.table import Table, as_html
from linkwork.workcell.cell import structure
from linkwork.workcell.cell.editing import Editing
from linkwork.workcell.cell.frames import WORLD
from linkwork.workcell.kinematics import fk, state_changes
from linkwork.workcell.kinematics.device import Device, device_of
from linkwork.workcell.state.state import State, upgraded_state

if TYPE_CHECKING:
    from linkwork.collision.exact.queries import Meshes
    from linkwork.workcell.dynamics.device_dynamics import CellDynamics
    from linkwork.workcell.kinematics.collisions import CellCollisions
    from linkwork.workcell.kinematics.ik import CellIkResult


@dataclass(frozen=True, repr=False)
class WorkCell(Editing):
    """Robots, objects and frames in one world, as a tree of frames with the root WORLD.

    A cell is immutable and has no state: `with_robot`, `with_frame` and similar methods return
    another cell, and everything that can change is in a `State`.

    Args:
        name: of the cell.
        frames: all frames, WORLD first. Usually they are added with `with_frame`.
        devices: robots, as groups of these frames. Usually they are added with `with_robot`.
        excluded_pairs: frames whose collisions are ignored. Usually they are added with
            `with_excluded_pairs`.

    Examples:
        >>> cell = lw.WorkCell("bench").with_robot("arm", lw.load("arm"), end="tool")
        >>> cell = cell.with_frame("box", movable=True, attachable=True)
        >>> state = cell.grip(cell.state(), "box", "arm.tool")
        >>> cell.world_H_frame("box", state).shape
        (4, 4)
    """

    def __repr__(self) -> str:
        parts = (self.frames, "frame"), (self.layout.attachable, "attachable frame")
        counts = [
            counted(len(several), noun) for several, noun in (*parts, (self.devices, "device"))
        ]
        return f"<WorkCell {self.name!r}: {', '.join(counts)}>"

    def _repr_html_(self) -> str:
        """Return tables of frames and devices, for notebooks."""
        devices = tuple((name, repr(self.device(name))) for name in self.device_names)
        frames = tuple(
            (f.name, f.parent or "", "joint" if f.motion else "movable" if f.movable else "")
            for f in self.frames
        )
        tables = Table("devices", ("", ""), devices), Table("frames", ("", "parent", ""), frames)
        return as_html(repr(self), tables)

    def device(self, name: str) -> Device:
        """Return the device with this name, for computations in this cell."""
        return device_of(self, name)

    # States.

    def state(self, values: Mapping[str, ArrayLike] | None = None) -> State:
        """Return the default state with some other values.

        Args:
            values: q by the name of a device, poses (4, 4) by the name of a movable frame, or
                joint positions by the name of a joint frame.
        """
        state = self.default_state
        if not isinstance(values, Mapping | None):
            expected = "values by device or frame, as in {'arm': q}"
            raise ArgumentError(f"values: expected {expected}, got {shown(values)}")
        for name, value in (values or {}).items():
            if name not in self.device_names and name not in self.layout.index:
                names = (*self.device_names, *self.frame_names)
                raise name_not_found("device or frame", name, names)
            if name in self.device_names:
                state = self.device(name).set_q(state, value)
            elif self.frame(name).movable:
                state = self.set_pose(state, name, value)
            else:
                state = self.set_values(state, name, value)
        return state

    def upgrade(self, state: State) -> State:
        """Convert a state of an earlier structure of this cell, by the names of the frames.

        New frames have their default values, and removed frames are ignored; frames that were
        attached to them become attached to WORLD.

        Raises:
            StateError: the state is of another cell, or a frame has changed its kind.
        """
        return upgraded_state(state, self.default_state)

    def values(self, frame: str, state: State) -> Array:
        """Return the values of a joint frame or movable frame in a state, (..., size)."""
        index = self.layout.frame(frame)
        return self.check_state(state).values[..., self.layout.span(index)]

    def set_values(self, state: State, frame: str, values: ArrayLike) -> State:
        """Return the state with other values (..., size) of a joint frame or movable frame."""
        return state_changes.with_values(self, state, frame, values)

    def set_pose(
        self, state: State, frame: str, pose: Pose | ArrayLike, reference: str | None = None
    ) -> State:
        """Return the state with another pose of a movable frame.

        Args:
            state: a state or a batch of states.
            frame: a movable frame.
            pose: reference_H_frame, a `Pose` or (..., 4, 4).
            reference: the frame that the pose is relative to; default the parent of the frame.
        """
        return state_changes.with_pose(self, state, frame, pose, reference)

    def with_default(self, state: State) -> WorkCell:
        """Change the default state, which `cell.state()` returns."""
        self.check_state(state)
        if state.batch_shape:
            raise ArgumentError(f"state: expected a single state, got a batch {state.batch_shape}")
        layout, frames = self.layout, list(self.frames)
        for k, frame in enumerate(frames):
            if frame.size:
                frame = replace(frame, home=tuple(state.values[layout.span(k)].tolist()))  # noqa: PLW2901
            if frame.attachable:
                parent = frames[int(state.parents[layout.columns[k]])].name
                frame = replace(frame, home_parent=None if parent == frame.parent else parent)  # noqa: PLW2901
            frames[k] = frame
        return replace(self, frames=tuple(frames))

    # Attaching.

    def attach(self, state: State, frame: str, parent: str | Sequence[str]) -> State:
        """Attach a frame to another one, with the same parent_H_frame; return the new state.

        Args:
            state: a state or a batch of states.
            frame: an attachable frame.
            parent: any frame that `frame` does not carry; for a batch also one name per row.

        Raises:
            StateError: the frame is not attachable, or the attachments would form a cycle.
        """
        return state_changes.attached(self, state, frame, parent)

    def grip(self, state: State, frame: str, gripper: str | Sequence[str]) -> State:
        """Attach a frame to another one, with the same pose in the world; return the new state.

        Args:
            state: a state or a batch of states.
            frame: a movable and attachable frame.
            gripper: as the `parent` of `attach`.
        """
        return state_changes.gripped(self, state, frame, gripper)

    def release(self, state: State, frame: str, parent: str = WORLD) -> State:
        """Attach a frame to WORLD or another parent, with the same pose in the world."""
        return state_changes.gripped(self, state, frame, parent)

    # Kinematics.

    def fk(
        self, state: State, *, threads: int | None = None, out: Array | fk.FKTable | None = None
    ) -> fk.FKTable:
        """Compute the world poses of all frames; `table[name]` is (..., 4, 4).

        Args:
            state: a state or a batch of states.
            threads: the maximum number of threads for a large batch; default the number of cores.
            out: array (..., frames, 4, 4) for the result, or a table that is no longer needed,
                whose memory is reused; default a new array.
        """
        return fk.FKTable(self, state, threads=threads, out=out)

    def world_H_frame(self, frame: str, state: State) -> Array:
        """Compute the pose of a frame in the world, (..., 4, 4)."""
        return fk.world_H_frames(self, (frame,), state)[..., 0, :, :]

    def world_H_frames(self, frames: Sequence[str], state: State) -> Array:
        """Compute poses of some frames in the world, (..., n, 4, 4)."""
        return fk.world_H_frames(self, tuple(frames), state)

    def frame_H_frame(self, a: str, b: str, state: State) -> Array:
        """Compute the pose a_H_b of frame b in frame a, (..., 4, 4)."""
        return fk.frame_H_frame(self, a, b, state)

    def parent_H_frame(self, frame: str, state: State) -> Array:
        """Compute the pose of a frame in its parent, (..., 4, 4)."""
        return fk.parent_H_frame(self, frame, state)

    def fk_range(self, a: str, b: str, state: State) -> fk.FKRange:
        """Return the path between two frames in a state; `path(other_state)` returns a_H_b.

        It rejects states with other attachments on the path.
        """
        return fk.FKRange(self, a, b, state)

    def ik(
        self,
        state: State,
        targets: Mapping[str, Pose | ArrayLike],
        *,
        reference: str = WORLD,
        device: str | None = None,
        hold: Sequence[str] = (),
        limits: bool = True,
        avoid: bool = False,
        meshes: Meshes = "hull",
        tolerance: float | Sequence[float] = 1e-6,
        max_iterations: int = 96,
        restarts: int = 64,
        seed: int = 0,
    ) -> CellIkResult:
        """Compute states in which frames reach their targets; only devices that carry them move.

        Args:
            state: a state or a batch of states, the start of the search. Batch axes of the state
                and of the targets are broadcast.
            targets: by frame, a pose, as `Pose` or (..., 4, 4), or a position (..., 3). The frame
                may be any that a device moves: its tool, or an object that it has gripped.
            reference: the frame that targets are relative to, which these devices must not move.
            device: name of the device that moves. By default, each frame is moved by the device
                that carries it; of several, by the one whose joints all of them contain.
            hold: joint frames that keep their position.
            limits: whether joints stay within their limits.
            avoid: whether to search for states without collisions, see `in_collision`.
            meshes: with `avoid`, what a mesh stands for: "hull" or "triangles".
            tolerance, max_iterations, restarts, seed: as in `linkwork.ik`.

        Returns:
            The new state or states, and the errors. All other devices, poses and attachments are
            unchanged.

        Raises:
            NameNotFoundError: there is no such frame or device.
            ArgumentError: no device moves a frame, or several do and `device` is missing; the
                device is a cart or a movable frame; a device moves the reference.

        If the target of a frame that is not the origin of a link, such as a gripped object, is a
        position, functions are compiled for each grasp; for a pose they are not.
        """
        from linkwork.workcell.kinematics.ik import cell_ik

        return cell_ik(
            self,
            state,
            targets,
            reference=reference,
            device=device,
            hold=hold,
            limits=limits,
            avoid=avoid,
            meshes=meshes,
            tolerance=tolerance,
            max_iterations=max_iterations,
            restarts=restarts,
            seed=seed,
        )

    # Collisions.

    @property
    def collision_pairs(self) -> tuple[tuple[str, str], ...]:
        """Pairs of frames with collision shapes that can collide, in the order of `distances`.

        Not among them are frames that are fixed to each other, or connected by a joint; pairs in
        `excluded_pairs`; and links of one robot that overlap in all of many random states.
        """
        return self._collisions_of("hull").names

    def collisions(self, state: State, *, meshes: Meshes = "hull") -> Any:
        """Return the pairs of frames that overlap.

        Shapes are the collision shapes of links and frames. An object that is attached to a robot
        is part of the body that carries it: it is not compared with that body, nor with bodies that
        its joints move, such as fingers. Frames that touch do not collide.

        Args:
            state: a state or a batch of states.
            meshes: what a mesh stands for: "hull" for its convex hull, with a warning if it is not
                convex, "triangles" for its surface.

        Returns:
            Pairs of names, in the order of `collision_pairs`; for a batch, nested lists of them.

        Raises:
            MissingPackageError: meshes, or boxes and cylinders with each other, need `coal`.
            MissingFileError: a mesh cannot be read.
        """
        collisions = self._collisions_of(meshes)
        colliding, pairs = collisions.colliding(self.check_state(state)), collisions.names

        def listed(rows: Array) -> Any:
            if rows.ndim == 1:
                return [pairs[k] for k in rows.nonzero()[0]]
            return [listed(row) for row in rows]

        return listed(colliding)

    def in_collision(self, state: State, *, meshes: Meshes = "hull") -> Array:
        """Return whether any two frames overlap, (...); see `collisions`."""
        return self._collisions_of(meshes).any_colliding(self.check_state(state))

    def distances(self, state: State) -> Array:
        """Compute signed distances [m] of the frames of each pair of `collision_pairs`, (..., n).

        Meshes stand for their convex hulls. Distances are negative where frames overlap, and
        infinite where the frames of a pair are one body in a state, or connected by a joint.
        """
        return self._collisions_of("hull").distances(self.check_state(state))

    def _collisions_of(self, meshes: Meshes) -> CellCollisions:
        """Return the pairs of frames that are compared, by what meshes stand for."""
        from linkwork.workcell.kinematics.collisions import collisions_of

        return collisions_of(self, meshes)

    # Dynamics.

    def dynamics(
        self,
        device: str,
        *,
        carriers: Sequence[str] | None = None,
        gravity: ArrayLike = (0.0, 0.0, -9.80665),
        joint_dynamics: bool = False,
    ) -> CellDynamics:
        """Return the dynamics of a device in a state, including all objects it carries.

        Args:
            device: its name.
            carriers: frames of the device whose bodies may carry objects; default its ends. For
                states in which another link carries an object, slower functions with a payload on
                every link are compiled on first use.
            gravity: acceleration of free fall in the world [m/s^2].
            joint_dynamics: whether to include armature, damping and friction of the joints.
        """
        from linkwork.workcell.dynamics.device_dynamics import CellDynamics

        return CellDynamics(
            self, device, carriers=carriers, gravity=gravity, joint_dynamics=joint_dynamics
        )

    # Structure.

    def parent(self, frame: str, state: State) -> str | None:
        """Return the parent of a frame in a state; None for WORLD."""
        return structure.parent_of(self, frame, state)

    def children(self, frame: str, state: State) -> tuple[str, ...]:
        """Return the children of a frame in a state: static frames, then attached frames."""
        return structure.children_of(self, frame, state)

    def chain(self, a: str, b: str, state: State) -> tuple[str, ...]:
        """Return the frames from a up to the nearest common frame and down to b, inclusive."""
        return structure.chain(self, a, b, state)

    def frames_below(self, frame: str, state: State) -> tuple[str, ...]:
        """Return a frame and all frames that it carries in a state, parents before children."""
        return structure.frames_below(self, frame, state)

    def static_groups(self, state: State, root: str = WORLD) -> tuple[tuple[str, ...], ...]:
        """Return groups of frames that are fixed to each other in every state."""
        return structure.static_groups(self, state, root)

    def tree(self, state: State, root: str = WORLD) -> str:
        """Return the tree of frames as a string, with the position of each frame in the world."""
        return fk.tree_text(self, state, root)
