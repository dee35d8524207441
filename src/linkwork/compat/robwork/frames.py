"""Frames with RobWork's names. A frame has no state: values that change are in a `State`."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.compat.robwork.properties import PropertyMap
from linkwork.compat.robwork.structure import PointerMethods, State, StateStructure
from linkwork.compat.robwork.transforms import Transform3D
from linkwork.errors import ArgumentError, model_error, shown
from linkwork.model.pose import as_pose
from linkwork.workcell.cell.frames import CellFrame

if TYPE_CHECKING:
    from linkwork.engine.symbolic.arrays import Array


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
        structure = self._in_cell()
        value = structure.checked(state)
        poses = [structure.cell.parent_H_frame(name, value) for name in self.cell_names]
        return Transform3D.around(reduce(np.matmul, poses))

    def multiplyTransform(
        self, parent: Transform3D, state: State, result: Transform3D | None = None
    ) -> Transform3D:
        """Return a pose of its parent times its pose on the parent; also set `result`, if any."""
        return write_result(parent * self.getTransform(state), result)

    def wTf(self, state: State) -> Transform3D:
        """Return the pose of the frame in the world."""
        structure = self._in_cell()
        value = structure.checked(state)
        return Transform3D.around(structure.cell.world_H_frame(self._name, value))

    def fTf(self, to: Frame, state: State) -> Transform3D:
        """Return the pose of another frame in this one."""
        structure = self._in_cell()
        value = structure.checked(state)
        other = structure.name_of(to)
        return Transform3D.around(structure.cell.frame_H_frame(self._name, other, value))

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

    def getDafParent(self, state: State) -> Frame | None:
        """Return the parent of an attachable frame in a state; None for other frames."""
        return self.getParent(state) if self.isDAF() else None

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

    def getDafChildren(self, state: State) -> list[Frame]:
        """Return the attachable frames that are its children in a state."""
        return [frame for frame in self.getChildren(state) if frame.isDAF()]

    def isDAF(self) -> bool:
        """Whether it can be attached to other frames. WORLD cannot, unlike in RobWork."""
        return self.parts[0].attachable

    def attachTo(self, parent: Frame, state: State) -> None:
        """Attach it to another frame in a state; its pose on the parent is unchanged.

        Raises:
            StateError: it cannot be attached, or would be its own ancestor; the state is unchanged.
        """
        structure = self._in_cell()
        value = structure.checked(state)
        state.value = structure.cell.attach(value, self.cell_names[0], structure.name_of(parent))

    def attachFrame(self, parent: Frame, state: State) -> None:
        """Alias of `attachTo` from RobWork's manual; no version of RobWork has it."""
        self.attachTo(parent, state)


class FixedFrame(Frame):
    """A frame with a constant pose on its parent."""

    def __init__(self, name: Any, transform: Any = None, structure: Any = None) -> None:
        if isinstance(name, CellFrame):
            super().__init__(name, structure)
            return
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
        """Set its pose on its parent, in a state."""
        structure = self._in_cell()
        value = structure.checked(state)
        state.value = structure.cell.set_pose(value, self._name, as_matrix(transform))

    def moveTo(self, transform: Transform3D, refframe: Any, state: Any = None) -> None:
        """Set its pose relative to another frame or the world, in a state.

        Call it as `moveTo(transform, state)` or `moveTo(transform, refframe, state)`.
        """
        refframe, state = (refframe, state) if state is not None else (None, refframe)
        structure = self._in_cell()
        value = structure.checked(state)
        reference = structure.name_of(refframe)
        matrix = as_matrix(transform)
        state.value = structure.cell.set_pose(value, self._name, matrix, reference)
