"""States and the structure they belong to, with RobWork's names.

A `StateStructure` has the current version of an immutable linkwork WorkCell, and one `Frame` object
for each of its frames. A `State` has an immutable linkwork State, which is replaced when the
`State` is modified. So two States never affect each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from linkwork.errors import ArgumentError, StateError, model_error, shown
from linkwork.workcell.cell.frames import WORLD, CellFrame
from linkwork.workcell.state.state import State as CellState
from linkwork.workcell.workcell import WorkCell as Cell

if TYPE_CHECKING:
    from typing_extensions import Self

    from linkwork.compat.robwork.frames import Frame


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

    def setQStateInState(self, target: State) -> None:
        """Copy the values of this state, without the attachments, to another."""
        target.value = CellState(target.value.layout, self.value.values, target.value.parents)

    def setTreeStateInState(self, target: State) -> None:
        """Copy the attachments of this state to another."""
        target.value = CellState(target.value.layout, target.value.values, self.value.parents)


class StateStructure:
    """The frames of a workcell: a tree whose root is WORLD."""

    def __init__(self, cell: Cell | None = None) -> None:
        self.cell = Cell("workcell") if cell is None else cell
        self._frames: dict[str, Frame] = {}

    def getRoot(self) -> Frame:
        """The frame WORLD."""
        return self.frame(WORLD)

    def frame(self, name: str) -> Frame:
        """Return the frame with a name; the same object every time."""
        frame = self._frames.get(name)
        if frame is None:
            from linkwork.compat.robwork.joints import frame_of

            frame = self._frames.setdefault(name, frame_of(self, self.cell.frame(name)))
        return frame

    def getFrames(self) -> list[Frame]:
        """All frames, WORLD first."""
        return self.frames_of(self.cell.frame_names)

    def frames_of(self, names: Iterable[str]) -> list[Frame]:
        """Return the frames with names, each once: a joint may have several frames of the cell."""
        return list(dict.fromkeys(map(self.frame, names)))

    def getDAFs(self) -> list[Frame]:
        """All frames that can be attached."""
        return [self.frame(frame.name) for frame in self.cell.frames if frame.attachable]

    def findFrame(self, name: str) -> Frame | None:
        """Return the frame with a name, or None."""
        frame = self.frame(name) if name in self.cell.layout.index else None
        return frame if frame and frame.cell_names[-1] == name else None

    def has(self, frame: Frame) -> bool:
        """Whether a frame belongs to this structure."""
        return frame.structure is self and frame.cell_names[-1] in self.cell.layout.index

    def getMaxID(self) -> int:
        """One more than the largest index of a frame."""
        return len(self.cell.frames)

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
        if not isinstance(state, State):
            raise ArgumentError(f"state: expected a State, got {shown(state)}")
        if state.value.layout.digest != self.cell.layout.digest:
            if state.getStateStructure() is self:
                raise StateError(
                    "the state is older than the last change of the frames; "
                    "update it with state.upgrade()"
                )
            raise StateError("the state belongs to another workcell")
        return state.value


def structure_of(state: State) -> StateStructure:
    """Return the structure of a state; raise if it is not a state."""
    if not isinstance(state, State):
        raise ArgumentError(f"state: expected a State, got {shown(state)}")
    return state.getStateStructure()
