"""Frames under RobWork's names. A frame holds no state: whatever moves is in a `State`."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.compat.robwork.structure import Pointed, State, StateStructure
from linkwork.compat.robwork.transforms import Transform3D
from linkwork.errors import ArgumentError, model_error, name_not_found, shown
from linkwork.model.pose import as_pose
from linkwork.workcell.parts import CellFrame

if TYPE_CHECKING:
    from linkwork.engine.symbolic.arrays import Array


def as_matrix(transform: Any, what: str = "transform") -> Array:
    """Take a Transform3D or a (4, 4) matrix as a matrix."""
    matrix = np.asarray(transform, dtype=np.float64)
    if matrix.shape != (4, 4):
        raise ArgumentError(f"{what}: expected a Transform3D, got {shown(transform)}")
    return matrix


def written(value: Transform3D, result: Transform3D | None) -> Transform3D:
    """A value, also written into the one that is to hold it, as C++ returns values."""
    if result is not None:
        result.e()[...] = value.asNumpy()
    return value


class PropertyMap(dict[str, str]):
    """Properties, which are texts here, by name."""

    def has(self, identifier: str) -> bool:
        """Whether there is a property of this name."""
        return identifier in self

    def getString(self, identifier: str, *default: Any) -> Any:
        """A property; without a default, one that is missing is an error."""
        if identifier not in self and not default:
            raise name_not_found("property", identifier, self)
        return self.get(identifier, *default)

    def getDouble(self, identifier: str, *default: Any) -> Any:
        """A property as a number."""
        return self._number(identifier, float, default)

    getFloat = getDouble

    def getInt(self, identifier: str, *default: Any) -> Any:
        """A property as an integer."""
        return self._number(identifier, int, default)

    def _number(self, identifier: str, kind: type, default: tuple[Any, ...]) -> Any:
        if identifier not in self and default:
            return default[0]
        text = self.getString(identifier)
        try:
            return kind(text)
        except ValueError:
            what = f"property {identifier!r}: expected a number of type {kind.__name__}"
            raise ArgumentError(f"{what}, got {shown(text)}") from None


class Frame(Pointed):
    """A node of the tree of frames. Compare frames with `==`: each has one object in its cell."""

    structure: StateStructure | None  # None as long as it is in no workcell
    cell_names: tuple[str, ...]  # of the frames of the cell that it is made of, from its parent on

    def __init__(
        self,
        part: CellFrame,
        structure: StateStructure | None = None,
        before: tuple[CellFrame, ...] = (),
    ) -> None:
        self._parts, self.structure = (*before, part), structure
        self._label = part.name
        self.cell_names = tuple(part.name for part in self._parts)

    @property
    def _name(self) -> str:
        """Its name in the cell."""
        return self.cell_names[-1]

    @property
    def parts(self) -> tuple[CellFrame, ...]:
        """The frames of the cell that it is made of, from its parent on."""
        if self.structure is None:
            return self._parts
        return tuple(map(self.structure.cell.frame, self.cell_names))

    @property
    def part(self) -> CellFrame:
        """What linkwork knows of it."""
        return self.parts[-1]

    def _change(self, at: int = -1, **changes: Any) -> None:
        if self.structure is not None:
            self.structure.change(self.cell_names[at], **changes)
            return
        parts = list(self._parts)
        moving = {"limits", "acceleration", "active"} & changes.keys()
        motion = {name: changes.pop(name) for name in moving}
        if motion and (before := parts[at].motion):
            changes["motion"] = replace(before, **motion)
        parts[at] = replace(parts[at], **changes)
        self._parts = tuple(parts)

    def leave(self) -> None:
        """Keep what it is, and belong to no workcell any more."""
        self._parts, self.structure = self.parts, None

    def rename(self, name: str) -> None:
        """Take another name in the cell; `getName()` stays. Only while it is in no workcell."""
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
            raise model_error("the frame is in no workcell", f"frame {self._label!r}")
        return self.structure

    def __repr__(self) -> str:
        return f"{type(self).__name__}[{self._label}]"

    def getName(self) -> str:
        """Its name."""
        return self._label

    def getID(self) -> int:
        """Its index among the frames of its workcell; -1 if it is in none."""
        return -1 if self.structure is None else self.structure.getFrames().index(self)

    def getDOF(self) -> int:
        """How many coordinates of devices it has: those of a joint."""
        return sum(part.size for part in self.parts if part.motion)

    def getPropertyMap(self) -> PropertyMap:
        """Texts that its file gives it, by name; a copy."""
        return PropertyMap(self.part.properties)

    # Poses.

    def getTransform(self, state: State) -> Transform3D:
        """Pose of the frame on its parent."""
        structure = self._in_cell()
        value = structure.checked(state)
        poses = [structure.cell.parent_H_frame(name, value) for name in self.cell_names]
        return Transform3D.around(reduce(np.matmul, poses))

    def multiplyTransform(
        self, parent: Transform3D, state: State, result: Transform3D | None = None
    ) -> Transform3D:
        """A pose of its parent times its pose on the parent; written into `result`, if any."""
        return written(parent * self.getTransform(state), result)

    def wTf(self, state: State) -> Transform3D:
        """Pose of the frame in the world."""
        structure = self._in_cell()
        value = structure.checked(state)
        return Transform3D.around(structure.cell.world_H_frame(self._name, value))

    def fTf(self, to: Frame, state: State) -> Transform3D:
        """Pose of another frame in this one."""
        structure = self._in_cell()
        value = structure.checked(state)
        other = structure.name_of(to)
        return Transform3D.around(structure.cell.frame_H_frame(self._name, other, value))

    # The tree.

    def getParent(self, state: State | None = None) -> Frame | None:
        """The frame it sits on: always, or in a state.

        Without a state, None for a frame that can be attached, and for WORLD.
        """
        structure = self._in_cell()
        if state is None:
            part = self.parts[0]
            return None if part.attachable or part.parent is None else structure.frame(part.parent)
        parent = structure.cell.parent(self.cell_names[0], structure.checked(state))
        return None if parent is None else structure.frame(parent)

    def getDafParent(self, state: State) -> Frame | None:
        """The frame that an attachable frame sits on in a state; None for all others."""
        return self.getParent(state) if self.isDAF() else None

    def getChildren(self, state: State | None = None) -> list[Frame]:
        """The frames that sit on it: those that always do, then, in a state, the attached ones."""
        structure = self._in_cell()
        if state is None:
            fixed = [f.name for f in structure.cell.frames if f.parent == self._name]
            names = [name for name in fixed if not structure.cell.frame(name).attachable]
        else:
            names = list(structure.cell.children(self._name, structure.checked(state)))
        return structure.frames_of(names)

    getChildrenList = getChildren

    def getDafChildren(self, state: State) -> list[Frame]:
        """The attachable frames that sit on it in a state."""
        return [frame for frame in self.getChildren(state) if frame.isDAF()]

    def isDAF(self) -> bool:
        """Whether it can be attached to other frames. WORLD cannot, though RobWork says so."""
        return self.parts[0].attachable

    def attachTo(self, parent: Frame, state: State) -> None:
        """Let it sit on another frame, in this state; its pose there stays what it was.

        Raises:
            StateError: it cannot be attached, or would sit on itself; the state stays as it was.
        """
        structure = self._in_cell()
        value = structure.checked(state)
        state.value = structure.cell.attach(value, self.cell_names[0], structure.name_of(parent))

    def attachFrame(self, parent: Frame, state: State) -> None:
        """The name that RobWork's manual gives to `attachTo`; no version of RobWork has it."""
        self.attachTo(parent, state)


class FixedFrame(Frame):
    """A frame that never moves on its parent."""

    def __init__(self, name: Any, transform: Any = None, structure: Any = None) -> None:
        if isinstance(name, CellFrame):
            super().__init__(name, structure)
            return
        pose = as_pose(as_matrix(Transform3D() if transform is None else transform))
        super().__init__(CellFrame(name=name, parent="WORLD", parent_H_frame=pose))

    def getFixedTransform(self) -> Transform3D:
        """Its pose on its parent."""
        return Transform3D(self.part.parent_H_frame.matrix())

    def setTransform(self, transform: Transform3D) -> None:
        """Another pose on its parent, in all states."""
        self._change(parent_H_frame=as_pose(as_matrix(transform)))

    def moveTo(self, transform: Transform3D, refframe: Any, state: Any = None) -> None:
        """Another pose, given in another frame or in the world, in all states.

        Call it as `moveTo(transform, state)` or `moveTo(transform, refframe, state)`.
        """
        refframe, state = (refframe, state) if state is not None else (None, refframe)
        structure = self._in_cell()
        value = structure.checked(state)
        reference = structure.name_of(refframe)
        parent = structure.cell.parent(self._name, value)
        parent_H_reference = structure.cell.frame_H_frame(str(parent), reference, value)
        self.setTransform(Transform3D(parent_H_reference @ as_matrix(transform)))


class MovableFrame(Frame):
    """A frame whose pose on its parent is in the state."""

    def __init__(self, name: Any, structure: Any = None) -> None:
        if isinstance(name, CellFrame):
            super().__init__(name, structure)
            return
        super().__init__(CellFrame(name=name, parent="WORLD", movable=True))

    def setTransform(self, transform: Transform3D, state: State) -> None:
        """Another pose on its parent, in this state."""
        structure = self._in_cell()
        value = structure.checked(state)
        state.value = structure.cell.set_pose(value, self._name, as_matrix(transform))

    def moveTo(self, transform: Transform3D, refframe: Any, state: Any = None) -> None:
        """Another pose in this state, given in another frame or in the world.

        Call it as `moveTo(transform, state)` or `moveTo(transform, refframe, state)`.
        """
        refframe, state = (refframe, state) if state is not None else (None, refframe)
        structure = self._in_cell()
        value = structure.checked(state)
        reference = structure.name_of(refframe)
        matrix = as_matrix(transform)
        state.value = structure.cell.set_pose(value, self._name, matrix, reference)
