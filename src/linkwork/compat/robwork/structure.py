"""States and the structure they belong to, under RobWork's names.

A `StateStructure` holds the newest version of an immutable linkwork WorkCell, and the one `Frame`
object of each of its frames. A `State` holds an immutable linkwork State, which it replaces by
another when it is written to. So two States never affect each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from linkwork.errors import ArgumentError, StateError, model_error, shown
from linkwork.workcell.cell import WorkCell as Cell
from linkwork.workcell.parts import WORLD, CellFrame
from linkwork.workcell.state import State as CellState

if TYPE_CHECKING:
    from typing_extensions import Self

    from linkwork.compat.robwork.frames import Frame


class Pointed:
    """What RobWork's pointers have: here every object is its own pointer."""

    def isNull(self) -> bool:
        """False: what is not found is None."""
        return False

    def deref(self) -> Self:
        """The object itself."""
        return self

    def cptr(self) -> Self:
        """The object itself."""
        return self


class State:
    """The numbers and attachments of a workcell. Functions that take it may write into it."""

    __slots__ = ("_structure", "value")
    __hash__ = None  # type: ignore[assignment]  # it is mutable
    value: CellState  # what it is now, as an immutable value of linkwork

    def __init__(self, structure: StateStructure | State, value: CellState | None = None) -> None:
        """Take the default state of a structure, a value of it, or copy another state."""
        if isinstance(structure, State):
            structure, value = structure.getStateStructure(), structure.value
        if not isinstance(structure, StateStructure):
            raise ArgumentError(
                f"State: expected a State or StateStructure, got {shown(structure)}"
            )
        self._structure = structure
        self.value = structure.cell.state() if value is None else value

    def copy(self, src: State | None = None) -> State:
        """Take over all that another state has of the same frames; without one, a copy of this."""
        if src is None:
            return self.clone()
        self.value = self._structure.cell.upgrade(src.value)
        return self

    def clone(self) -> State:
        """A state of its own."""
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
        """The structure it belongs to."""
        return self._structure

    def size(self) -> int:
        """How many numbers it has."""
        return int(self.value.values.shape[-1])

    def getFrame(self, id: int) -> Frame:
        """The frame of an index."""
        return self._structure.getFrames()[id]

    def upgrade(self) -> State:
        """Bring it, in place, to the newest structure: new frames are where they are by default."""
        self.value = self._structure.cell.upgrade(self.value)
        return self

    def upgradeTo(self, structure: StateStructure) -> State:
        """Bring it, in place, to another structure of the same cell."""
        self.value = structure.cell.upgrade(self.value)
        self._structure = structure
        return self

    def setQStateInState(self, target: State) -> None:
        """Write the numbers of this state, without the attachments, into another."""
        target.value = CellState(target.value.layout, self.value.values, target.value.parents)

    def setTreeStateInState(self, target: State) -> None:
        """Write the attachments of this state into another."""
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
        """The frame of a name; the same object every time."""
        known = self._frames.get(name)
        if known is None:
            from linkwork.compat.robwork.joints import frame_of

            known = self._frames.setdefault(name, frame_of(self, self.cell.frame(name)))
        return known

    def getFrames(self) -> list[Frame]:
        """All frames, WORLD first."""
        return self.frames_of(self.cell.frame_names)

    def frames_of(self, names: Iterable[str]) -> list[Frame]:
        """The frames of names, each once: a joint may be made of several frames of the cell."""
        return list(dict.fromkeys(map(self.frame, names)))

    def getDAFs(self) -> list[Frame]:
        """All frames that can be attached."""
        return [self.frame(frame.name) for frame in self.cell.frames if frame.attachable]

    def findFrame(self, name: str) -> Frame | None:
        """The frame of a name, or None."""
        frame = self.frame(name) if name in self.cell.layout.index else None
        return frame if frame and frame.cell_names[-1] == name else None

    def has(self, frame: Frame) -> bool:
        """Whether a frame belongs to this structure."""
        return frame.structure is self and frame.cell_names[-1] in self.cell.layout.index

    def getMaxID(self) -> int:
        """One more than the largest index of a frame."""
        return len(self.cell.frames)

    def getDefaultState(self) -> State:
        """The state to start from."""
        return State(self)

    def setDefaultState(self, state: State) -> None:
        """Start from another state."""
        self.cell = self.cell.with_default(self.checked(state))

    def upgradeState(self, oldState: State) -> State:
        """A state of an older structure as one of this."""
        return oldState.copy().upgradeTo(self)

    def addFrame(self, frame: Frame, parent: Frame | None = None) -> None:
        """Add a frame; on WORLD, if no parent is given."""
        self._add(frame, parent, attachable=False)

    def addDAF(self, frame: Frame, parent: Frame | None = None) -> None:
        """Add a frame that can be attached to others."""
        self._add(frame, parent, attachable=True)

    def addData(self, data: Frame) -> None:
        """Add a frame as RobWork adds data: names may be taken already. Here it sits on WORLD."""
        name, count = data.getName(), 2
        while any(taken in self.cell.layout.index for taken in data.cell_names):
            data.rename(f"{name}~{count}")
            count += 1
        self._add(data, None, attachable=False)

    def remove(self, frame: Frame) -> None:
        """Remove a frame that carries no fixed ones; frames attached to it fall to WORLD."""
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
            raise model_error("the frame is in a workcell already", f"frame {frame.getName()!r}")
        on = WORLD if parent is None else self.name_of(parent)
        parts: list[CellFrame] = []
        for part in frame.parts:
            if part.name in self.cell.layout.index:
                raise model_error("this name is taken", f"frame {part.name!r}")
            parts.append(replace(part, parent=on, attachable=attachable and not parts))
            on = part.name
        self.cell = replace(self.cell, frames=(*self.cell.frames, *parts))
        self._frames |= dict.fromkeys(frame.cell_names, frame)
        frame.structure = self

    def change(self, name: str, **changes: Any) -> None:
        """Change fields of a frame that are no part of a state: poses, limits."""
        self.cell = self.cell.with_changed(name, **changes)

    def name_of(self, frame: Frame | None) -> str:
        """Name of a frame of this structure; None stands for WORLD."""
        if frame is None:
            return WORLD
        if not self.has(frame):
            name = getattr(frame, "getName", lambda: shown(frame))()
            raise model_error("the frame is not in this workcell", f"frame {name!r}")
        return frame.cell_names[-1]

    def names_of(self, frames: Sequence[Frame]) -> list[str]:
        """Names of frames of this structure."""
        return [self.name_of(frame) for frame in frames]

    def checked(self, state: State) -> CellState:
        """The value of a state of this structure."""
        if not isinstance(state, State):
            raise ArgumentError(f"state: expected a State, got {shown(state)}")
        if state.value.layout.digest != self.cell.layout.digest:
            if state.getStateStructure() is self:
                raise StateError(
                    "the state is older than the last frame that was added or removed; "
                    "state.upgrade() brings it up to date"
                )
            raise StateError("the state belongs to another workcell")
        return state.value


def structure_of(state: State) -> StateStructure:
    """The structure of a state, or an error."""
    if not isinstance(state, State):
        raise ArgumentError(f"state: expected a State, got {shown(state)}")
    return state.getStateStructure()
