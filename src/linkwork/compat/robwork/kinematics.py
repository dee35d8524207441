"""Forward kinematics with RobWork's names: `Kinematics`, `FKTable`, `FKRange`."""

from __future__ import annotations

from linkwork.compat.robwork.frames import FixedFrame, Frame, MovableFrame, State, structure_of
from linkwork.compat.robwork.transforms import Transform3D
from linkwork.errors import ArgumentError, StateError, model_error, shown


class FKTable:
    """World poses of all frames of one state, computed once."""

    def __init__(self, state: State) -> None:
        self.reset(state)

    def reset(self, state: State) -> None:
        """Compute the poses of another state."""
        self._structure = structure_of(state)
        self._state = state.copy()
        self._table = self._structure.cell.fk(self._structure.checked(state))

    def get(self, frame: Frame) -> Transform3D:
        """Return the pose of a frame in the world."""
        return Transform3D(self._table[self._structure.name_of(frame)])

    def getState(self) -> State:
        """Return a copy of the state."""
        return self._state.copy()


class FKRange:
    """The path between two frames in the tree of a state, for use with many states.

    None means WORLD. A state in which a frame on the path is attached elsewhere raises; RobWork
    returns a wrong pose.
    """

    def __init__(self, fromFrame: Frame | None, toFrame: Frame | None, state: State) -> None:
        self._structure = structure_of(state)
        self._from, self._to = fromFrame, toFrame
        a, b = self._structure.name_of(fromFrame), self._structure.name_of(toFrame)
        self._path = self._structure.cell.fk_range(a, b, self._structure.checked(state))

    def get(self, state: State) -> Transform3D:
        """Return the pose of the second frame in the first.

        Raises:
            StateError: the state has another path between the frames.
        """
        return Transform3D(self._path(self._structure.checked(state)))

    def getBase(self) -> Frame:
        """Return the first frame."""
        return self._structure.frame(self._structure.name_of(self._from))

    def getEnd(self) -> Frame:
        """Return the second frame."""
        return self._structure.frame(self._structure.name_of(self._to))


class Kinematics:
    """Functions of frames and states."""

    @staticmethod
    def worldTframe(frame: Frame | None, state: State) -> Transform3D:
        """Return the pose of a frame in the world; None means WORLD."""
        structure = structure_of(state)
        return structure.frame(structure.name_of(frame)).wTf(state)

    @staticmethod
    def frameTframe(fromFrame: Frame, toFrame: Frame, state: State) -> Transform3D:
        """Return the pose of the second frame in the first."""
        return _frame(fromFrame).fTf(_frame(toFrame), state)

    @staticmethod
    def findAllFrames(root: Frame, state: State | None = None) -> list[Frame]:
        """Return a frame and all below it, parents first; with a state, including DAFs."""
        frames, waiting = [], [root]
        while waiting:
            frame = waiting.pop()
            frames.append(frame)
            waiting += reversed(frame.getChildren(state))
        return frames

    @staticmethod
    def worldFrame(frame: Frame, state: State) -> Frame:
        """Return the root above a frame."""
        return Kinematics.childToParentChain(frame, None, state)[-1]

    @staticmethod
    def childToParentChain(child: Frame, parent: Frame | None, state: State) -> list[Frame]:
        """Return the frames from a frame up to an ancestor, excluded, or to WORLD, included."""
        chain: list[Frame] = []
        frame: Frame | None = child
        while frame is not parent:
            if frame is None:
                names = f"frame {_frame(parent).getName()!r} is not above {child.getName()!r}"
                raise model_error(names)
            chain.append(frame)
            frame = frame.getParent(state)
        return chain

    @staticmethod
    def buildFrameMap(root: Frame, state: State) -> dict[str, Frame]:
        """Return a frame and all below it, by name."""
        return {frame.getName(): frame for frame in Kinematics.findAllFrames(root, state)}

    @staticmethod
    def isDAF(frame: Frame) -> bool:
        """Return whether a frame can be attached to others."""
        return _frame(frame).isDAF()

    @staticmethod
    def isFixedFrame(frame: Frame) -> bool:
        """Return whether a frame has a constant pose on its parent, and cannot be attached."""
        return isinstance(frame, FixedFrame) and not frame.isDAF()

    @staticmethod
    def gripFrame(item: Frame, gripper: Frame, state: State) -> None:
        """Attach an item to a gripper in a state, without moving it in the world.

        Raises:
            StateError: the item is not movable, cannot be attached, or is above the gripper; the
                state is unchanged.
        """
        structure = structure_of(state)
        value = structure.checked(state)
        item_name, gripper_name = structure.name_of(item), structure.name_of(gripper)
        if not isinstance(item, MovableFrame):
            raise StateError(f"frame {item_name!r} is not movable, so it cannot be gripped")
        state.value = structure.cell.grip(value, item_name, gripper_name)

    gripMovableFrame = gripFrame  # from RobWork's manual; no version of RobWork has it

    @staticmethod
    def getStaticFrameGroups(root: Frame, state: State) -> list[list[Frame]]:
        """Return groups of frames that do not move relative to each other."""
        structure = structure_of(state)
        groups = structure.cell.static_groups(structure.checked(state), structure.name_of(root))
        # Only the last of the frames that a joint consists of is a frame here.
        frames = ([structure.findFrame(name) for name in group] for group in groups)
        return [kept for group in frames if (kept := [frame for frame in group if frame])]


def _frame(frame: Frame | None) -> Frame:
    if not isinstance(frame, Frame):
        raise ArgumentError(f"expected a Frame, got {shown(frame)}")
    return frame
