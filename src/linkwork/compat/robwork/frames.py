"""Frames, states, and the structure that both belong to, with RobWork's names.

A frame has no state: values that change are in a `State`. A `StateStructure` has the current
version of an immutable linkwork WorkCell, and one `Frame` object for each of its frames. A `State`
has an immutable linkwork State, which is replaced when the `State` is modified. So two States never
affect each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from linkwork.compat.robwork.containers import PropertyMap
from linkwork.compat.robwork.transforms import Transform3D
from linkwork.errors import ArgumentError, StateError, model_error, shown
from linkwork.model.numbers import argument
from linkwork.model.pose import as_pose
from linkwork.workcell.cell.frames import WORLD, CellFrame
from linkwork.workcell.state.state import State as CellState
from linkwork.workcell.workcell import WorkCell as Cell

if TYPE_CHECKING:
    from typing_extensions import Self

    from linkwork.engine.symbolic.arrays import Array


T = TypeVar("T")


class PointerMethods:
    """Methods of RobWork's pointers: here every object is its own pointer."""

    def isNull(self) -> bool:
        """Return False: missing objects are None."""
        return False

    def deref(self) -> Self:
        """Return the object itself."""
        return self

    def cptr(self) -> Self:
        """Return the object itself."""
        return self


def ownedPtr(value: T) -> T:
    """Return the value itself; RobWork returns a pointer that owns it."""
    return value


def as_matrix(transform: Any, name: str = "transform") -> Array:
    """Convert a Transform3D or a (4, 4) matrix to a matrix."""
    matrix = np.asarray(transform, dtype=np.float64)
    if matrix.shape != (4, 4):
        raise ArgumentError(f"{name}: expected a Transform3D, got {shown(transform)}")
    return matrix


def write_result(value: Transform3D, result: Transform3D | None) -> Transform3D:
    """Return a value, and also write it to an output argument as C++ does."""
    if result is not None:
        result.e()[...] = np.asarray(value)
    return value


class Frame(PointerMethods):
    """A node of the tree of frames. Compare frames with `==`: each has one object per cell."""

    structure: StateStructure | None  # None if it is not in a workcell
    cell_names: tuple[str, ...]  # names of the cell's frames that it consists of, parent first

    def __init__(
        self,
        part: CellFrame,
        structure: StateStructure | None = None,
        before: tuple[CellFrame, ...] = (),
    ) -> None:
        self._parts, self.structure = (*before, part), structure
        self._label = part.name
        self.cell_names = tuple(part.name for part in self._parts)

    @classmethod
    def of(cls, part: CellFrame, structure: StateStructure) -> Self:
        """Return the frame object of a frame of a linkwork cell."""
        self = cls.__new__(cls)
        Frame.__init__(self, part, structure)
        return self

    @property
    def _name(self) -> str:
        """Its name in the cell."""
        return self.cell_names[-1]

    @property
    def parts(self) -> tuple[CellFrame, ...]:
        """The frames of the cell that it consists of, starting at its parent."""
        if self.structure is None:
            return self._parts
        return tuple(map(self.structure.cell.frame, self.cell_names))

    @property
    def part(self) -> CellFrame:
        """The frame as a linkwork object."""
        return self.parts[-1]

    def _change(self, index: int = -1, **changes: Any) -> None:
        if self.structure is not None:
            self.structure.change(self.cell_names[index], **changes)
            return
        parts = list(self._parts)
        moving = {"limits", "acceleration", "active"} & changes.keys()
        motion = {name: changes.pop(name) for name in moving}
        if motion and (before := parts[index].motion):
            changes["motion"] = replace(before, **motion)
        parts[index] = replace(parts[index], **changes)
        self._parts = tuple(parts)

    def leave(self) -> None:
        """Leave the workcell, keeping all properties."""
        self._parts, self.structure = self.parts, None

    def rename(self, name: str) -> None:
        """Change its name in the cell, not `getName()`. Only while it is not in a workcell."""
        new = {old: name + old.removeprefix(self._name) for old in self.cell_names}
        parts: list[CellFrame] = []
        for part in self._parts:
            motion = part.motion
            if motion and motion.depends and motion.depends.joint in new:
                owner = replace(motion.depends, joint=new[motion.depends.joint])
                motion = replace(motion, depends=owner)
            parts.append(replace(part, name=new[part.name], motion=motion))
        self._parts, self.cell_names = tuple(parts), tuple(new.values())

    def _in_cell(self) -> StateStructure:
        if self.structure is None:
            raise model_error("the frame is not in a workcell", f"frame {self._label!r}")
        return self.structure

    def _in_state(self, state: State) -> tuple[StateStructure, CellState]:
        """Return the structure that it belongs to, and the value of a state of this structure."""
        structure = self._in_cell()
        return structure, structure.checked(state)

    def __repr__(self) -> str:
        return f"{type(self).__name__}[{self._label}]"

    def getName(self) -> str:
        """Return its name."""
        return self._label

    def getID(self) -> int:
        """Return its index among the frames of its workcell; -1 if it is in none."""
        return -1 if self.structure is None else self.structure.getFrames().index(self)

    def getDOF(self) -> int:
        """Return the number of coordinates of a joint; 0 for other frames."""
        return sum(part.size for part in self.parts if part.motion)

    def getPropertyMap(self) -> PropertyMap:
        """Return its properties by name; values that are set become strings of the frame."""
        return PropertyMap(self.part.properties, self._set_properties)

    def _set_properties(self, properties: PropertyMap) -> None:
        self._change(properties=tuple((name, str(value)) for name, value in properties.items()))

    # Poses.

    def getTransform(self, state: State) -> Transform3D:
        """Return the pose of the frame on its parent."""
        structure, value = self._in_state(state)
        poses = [structure.cell.parent_H_frame(name, value) for name in self.cell_names]
        return Transform3D.around(reduce(np.matmul, poses))

    def multiplyTransform(
        self, parent: Transform3D, state: State, result: Transform3D | None = None
    ) -> Transform3D:
        """Return a pose of its parent times its pose on the parent; also set `result`, if any."""
        return write_result(parent * self.getTransform(state), result)

    def wTf(self, state: State) -> Transform3D:
        """Return the pose of the frame in the world."""
        structure, value = self._in_state(state)
        return Transform3D.around(structure.cell.world_H_frame(self._name, value))

    def fTf(self, to: Frame, state: State) -> Transform3D:
        """Return the pose of another frame in this one."""
        structure, value = self._in_state(state)
        other = structure.name_of(to)
        return Transform3D.around(structure.cell.frame_H_frame(self._name, other, value))

    def _on_parent(self, transform: Any, refframe: Any, state: Any) -> tuple[Transform3D, State]:
        """Convert a pose relative to a frame, or to the world if there is none, to its parent."""
        refframe, state = (refframe, state) if state is not None else (None, refframe)
        structure, value = self._in_state(state)
        parent = str(structure.cell.parent(self._name, value))
        pose = structure.cell.frame_H_frame(parent, structure.name_of(refframe), value)
        return Transform3D(pose @ as_matrix(transform)), state

    # The tree.

    def getParent(self, state: State | None = None) -> Frame | None:
        """Return its parent: the permanent one, or that in a state.

        Without a state, None for a frame that can be attached, and for WORLD.
        """
        structure = self._in_cell()
        if state is None:
            part = self.parts[0]
            return None if part.attachable or part.parent is None else structure.frame(part.parent)
        parent = structure.cell.parent(self.cell_names[0], structure.checked(state))
        return None if parent is None else structure.frame(parent)

    def getChildren(self, state: State | None = None) -> list[Frame]:
        """Return its children: the permanent ones, then, in a state, the attached ones."""
        structure = self._in_cell()
        if state is None:
            fixed = [f.name for f in structure.cell.frames if f.parent == self._name]
            names = [name for name in fixed if not structure.cell.frame(name).attachable]
        else:
            names = list(structure.cell.children(self._name, structure.checked(state)))
        return structure.frames_of(names)

    getChildrenList = getChildren

    def isDAF(self) -> bool:
        """Return whether it can be attached to other frames. WORLD cannot, unlike in RobWork."""
        return self.parts[0].attachable

    def attachTo(self, parent: Frame, state: State) -> None:
        """Attach it to another frame in a state; its pose on the parent is unchanged.

        Raises:
            StateError: it cannot be attached, or would be its own ancestor; the state is unchanged.
        """
        structure, value = self._in_state(state)
        state.value = structure.cell.attach(value, self.cell_names[0], structure.name_of(parent))

    attachFrame = attachTo  # from RobWork's manual; no version of RobWork has it


class FixedFrame(Frame):
    """A frame with a constant pose on its parent."""

    def __init__(self, name: str, transform: Any = None) -> None:
        pose = as_pose(as_matrix(Transform3D() if transform is None else transform))
        super().__init__(CellFrame(name=name, parent="WORLD", parent_H_frame=pose))

    def getFixedTransform(self) -> Transform3D:
        """Return its pose on its parent."""
        return Transform3D(self.part.parent_H_frame.matrix())

    def setTransform(self, transform: Transform3D) -> None:
        """Set its pose on its parent, in all states."""
        self._change(parent_H_frame=as_pose(as_matrix(transform)))

    def moveTo(self, transform: Transform3D, refframe: Any, state: Any = None) -> None:
        """Set its pose relative to another frame or the world, in all states.

        Call it as `moveTo(transform, state)` or `moveTo(transform, refframe, state)`.
        """
        pose, _ = self._on_parent(transform, refframe, state)
        self.setTransform(pose)


class MovableFrame(Frame):
    """A frame whose pose on its parent is in the state."""

    def __init__(self, name: str) -> None:
        super().__init__(CellFrame(name=name, parent="WORLD", movable=True))

    def setTransform(self, transform: Transform3D, state: State) -> None:
        """Set its pose on its parent, in a state."""
        structure, value = self._in_state(state)
        state.value = structure.cell.set_pose(value, self._name, as_matrix(transform))

    def moveTo(self, transform: Transform3D, refframe: Any, state: Any = None) -> None:
        """Set its pose relative to another frame or the world, in a state.

        Call it as `moveTo(transform, state)` or `moveTo(transform, refframe, state)`.
        """
        self.setTransform(*self._on_parent(transform, refframe, state))


class State:
    """The values and attachments of a workcell. Functions that take a state may modify it."""

    __slots__ = ("_structure", "value")
    __hash__ = None  # type: ignore[assignment]  # it is mutable
    value: CellState  # the current value, an immutable linkwork State

    def __init__(self, structure: StateStructure | State, value: CellState | None = None) -> None:
        """Start with the default state of a structure, a value of it, or a copy of a state."""
        if isinstance(structure, State):
            structure, value = structure.getStateStructure(), structure.value
        if not isinstance(structure, StateStructure):
            raise ArgumentError(
                f"State: expected a State or StateStructure, got {shown(structure)}"
            )
        self._structure = structure
        self.value = structure.cell.state() if value is None else value

    def copy(self, src: State | None = None) -> State:
        """Copy the values of another state for the same frames; without one, copy this state."""
        if src is None:
            return self.clone()
        self.value = self._structure.cell.upgrade(src.value)
        return self

    def clone(self) -> State:
        """Return an independent copy."""
        return State(self._structure, self.value)

    def __copy__(self) -> State:
        return self.clone()

    def __deepcopy__(self, memo: object) -> State:
        return self.clone()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self.value == other.value

    def __repr__(self) -> str:
        return f"State[{self.size()}] of {self._structure.cell.name!r}"

    def getStateStructure(self) -> StateStructure:
        """Return the structure it belongs to."""
        return self._structure

    def size(self) -> int:
        """Return the number of its values."""
        return int(self.value.values.shape[-1])

    def getFrame(self, id: int) -> Frame:
        """Return the frame with an index."""
        return self._structure.getFrames()[id]

    def upgrade(self) -> State:
        """Update it, in place, to the current structure: new frames have their default poses."""
        self.value = self._structure.cell.upgrade(self.value)
        return self

    def upgradeTo(self, structure: StateStructure) -> State:
        """Update it, in place, to another structure of the same cell."""
        self.value = structure.cell.upgrade(self.value)
        self._structure = structure
        return self


class StateStructure:
    """The frames of a workcell: a tree whose root is WORLD."""

    frame_class: ClassVar[Callable[[CellFrame], type[Frame]]]  # of a frame of a cell; see `joints`

    def __init__(self, cell: Cell | None = None) -> None:
        self.cell = Cell("workcell") if cell is None else cell
        self._frames: dict[str, Frame] = {}

    def getRoot(self) -> Frame:
        """Return the frame WORLD."""
        return self.frame(WORLD)

    def frame(self, name: str) -> Frame:
        """Return the frame with a name; the same object every time."""
        if name not in self._frames:
            part = self.cell.frame(name)
            self._frames[name] = StateStructure.frame_class(part).of(part, self)
        return self._frames[name]

    def getFrames(self) -> list[Frame]:
        """Return all frames, WORLD first."""
        return self.frames_of(self.cell.frame_names)

    def frames_of(self, names: Iterable[str]) -> list[Frame]:
        """Return the frames with names, each once: a joint may have several frames of the cell."""
        return list(dict.fromkeys(map(self.frame, names)))

    def findFrame(self, name: str) -> Frame | None:
        """Return the frame with a name, or None."""
        frame = self.frame(name) if name in self.cell.layout.index else None
        return frame if frame and frame.cell_names[-1] == name else None

    def has(self, frame: Frame) -> bool:
        """Return whether a frame belongs to this structure."""
        return frame.structure is self and frame.cell_names[-1] in self.cell.layout.index

    def getDefaultState(self) -> State:
        """Return the default state."""
        return State(self)

    def setDefaultState(self, state: State) -> None:
        """Set another default state."""
        self.cell = self.cell.with_default(self.checked(state))

    def upgradeState(self, oldState: State) -> State:
        """Convert a state of an older structure to this one."""
        return oldState.copy().upgradeTo(self)

    def addFrame(self, frame: Frame, parent: Frame | None = None) -> None:
        """Add a frame; to WORLD if no parent is passed."""
        self._add(frame, parent, attachable=False)

    def addDAF(self, frame: Frame, parent: Frame | None = None) -> None:
        """Add a frame that can be attached to others."""
        self._add(frame, parent, attachable=True)

    def addData(self, data: Frame) -> None:
        """Add a frame to WORLD, like data in RobWork: its name may already be in use."""
        name, count = data.getName(), 2
        while any(cell_name in self.cell.layout.index for cell_name in data.cell_names):
            data.rename(f"{name}~{count}")
            count += 1
        self._add(data, None, attachable=False)

    def remove(self, frame: Frame) -> None:
        """Remove a frame without fixed children; frames attached to it are attached to WORLD."""
        self.name_of(frame)
        smaller = self.cell
        for name in reversed(frame.cell_names):
            smaller = smaller.without(name)
        frame.leave()
        self.cell = smaller
        for name in frame.cell_names:
            self._frames.pop(name, None)

    def _add(self, frame: Frame, parent: Frame | None, *, attachable: bool) -> None:
        if frame.structure is not None:
            raise model_error("the frame is already in a workcell", f"frame {frame.getName()!r}")
        parent_name = WORLD if parent is None else self.name_of(parent)
        parts: list[CellFrame] = []
        for part in frame.parts:
            if part.name in self.cell.layout.index:
                raise model_error("the name is already in use", f"frame {part.name!r}")
            parts.append(replace(part, parent=parent_name, attachable=attachable and not parts))
            parent_name = part.name
        self.cell = replace(self.cell, frames=(*self.cell.frames, *parts))
        self._frames |= dict.fromkeys(frame.cell_names, frame)
        frame.structure = self

    def change(self, name: str, **changes: Any) -> None:
        """Change fields of a frame that are not part of a state: poses, limits."""
        self.cell = self.cell.with_changed(name, **changes)

    def name_of(self, frame: Frame | None) -> str:
        """Return the name of a frame of this structure; None means WORLD."""
        if frame is None:
            return WORLD
        if not self.has(frame):
            name = getattr(frame, "getName", lambda: shown(frame))()
            raise model_error("the frame is not in this workcell", f"frame {name!r}")
        return frame.cell_names[-1]

    def names_of(self, frames: Sequence[Frame]) -> list[str]:
        """Return the names of frames of this structure."""
        return [self.name_of(frame) for frame in frames]

    def checked(self, state: State) -> CellState:
        """Return the value of a state; raise if it does not belong to this structure."""
        if argument(state, State, "state").value.layout.digest != self.cell.layout.digest:
            if state.getStateStructure() is self:
                raise StateError(
                    "the state is older than the last change of the frames; "
                    "update it with state.upgrade()"
                )
            raise StateError("the state belongs to another workcell")
        return state.value


def structure_of(state: State) -> StateStructure:
    """Return the structure of a state; raise if it is not a state."""
    return argument(state, State, "state").getStateStructure()
