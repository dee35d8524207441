"""`WorkCell` and its loader under RobWork's names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from linkwork.compat.robwork import joints
from linkwork.compat.robwork.devices import (
    CompositeDevice,
    Device,
    JointDevice,
    MobileDevice,
    SE3Device,
    SerialDevice,
    TreeDevice,
    device_of,
)
from linkwork.compat.robwork.frames import FixedFrame, Frame, MovableFrame, PropertyMap
from linkwork.compat.robwork.joints import Joint
from linkwork.compat.robwork.numbers import Q, as_numbers
from linkwork.compat.robwork.structure import Pointed, State, StateStructure
from linkwork.errors import ArgumentError, model_error, name_not_found, shown
from linkwork.workcell import devices as specs
from linkwork.workcell.cell import WorkCell as Cell
from linkwork.workcell.files import load_workcell

if TYPE_CHECKING:
    # CHECK
    from linkwork.compat.robwork.workcell import WorkCell


F = TypeVar("F", bound=Frame)
D = TypeVar("D", bound=Device)


class Object:
    """A frame with shapes."""

    def __init__(self, base: Frame) -> None:
        self._base = base

    def __repr__(self) -> str:
        return f"Object[{self.getName()}]"

    def getName(self) -> str:
        """The name of its frame."""
        return self._base.getName()

    def getBase(self) -> Frame:
        """Its frame."""
        return self._base

    def getFrames(self) -> list[Frame]:
        """Its frame."""
        return [self._base]


class WorkCell(Pointed):
    """Frames and devices. Adding and removing changes it; `cell` is linkwork's immutable one."""

    def __init__(self, name: str | StateStructure | Cell, filename: str = "") -> None:
        """Make an empty workcell of a name, or take a StateStructure or a linkwork WorkCell."""
        if isinstance(name, Cell):
            name = StateStructure(name)
        if isinstance(name, str):
            name = StateStructure(Cell(name or "workcell"))
        if not isinstance(name, StateStructure):
            raise ArgumentError(f"WorkCell: expected a name, got {shown(name)}")
        self._structure = name
        self._filename = filename
        self._devices = [device_of(name, spec) for spec in name.cell.devices]

    @property
    def cell(self) -> Cell:
        """The workcell as linkwork has it, with the devices that are in it now."""
        specs = {s.name: s for device in self._devices for s in (*device.others, device.spec)}
        return replace(self._structure.cell, devices=tuple(specs.values()))

    def __repr__(self) -> str:
        return f"WorkCell[{self.getName()}]"

    def getName(self) -> str:
        """Its name."""
        return self._structure.cell.name

    def getFilename(self) -> str:
        """The file it comes from; empty if it comes from none."""
        return self._filename

    def getFilePath(self) -> str:
        """The folder of that file, with a separator at its end."""
        return f"{Path(self._filename).parent}/" if self._filename else ""

    def getPropertyMap(self) -> PropertyMap:
        """Nothing: files give properties to frames here."""
        return PropertyMap()

    def getStateStructure(self) -> StateStructure:
        """Its frames."""
        return self._structure

    def getDefaultState(self) -> State:
        """The state to start from."""
        return self._structure.getDefaultState()

    # Frames.

    def getWorldFrame(self) -> Frame:
        """The frame WORLD."""
        return self._structure.getRoot()

    def getFrames(self) -> list[Frame]:
        """All frames, WORLD first."""
        return self._structure.getFrames()

    def addFrame(self, frame: Frame, parent: Frame | None = None) -> None:
        """Add a frame; on WORLD, if no parent is given."""
        self._structure.addFrame(frame, parent)

    def addDAF(self, frame: Frame, parent: Frame | None = None) -> None:
        """Add a frame that can be attached to others."""
        self._structure.addDAF(frame, parent)

    def findFrame(self, name: str) -> Frame | None:
        """The frame of a name, or None."""
        return self._structure.findFrame(name)

    def findFixedFrame(self, name: str) -> FixedFrame | None:
        """The fixed frame of a name, or None."""
        return self._frame(name, FixedFrame)

    def findMovableFrame(self, name: str) -> MovableFrame | None:
        """The movable frame of a name, or None."""
        return self._frame(name, MovableFrame)

    def findJoint(self, name: str) -> joints.Joint | None:
        """The joint of a name, or None."""
        return self._frame(name, joints.Joint)

    def findRevoluteJoint(self, name: str) -> joints.RevoluteJoint | None:
        """The revolute joint of a name, or None."""
        return self._frame(name, joints.RevoluteJoint)

    def findPrismaticJoint(self, name: str) -> joints.PrismaticJoint | None:
        """The prismatic joint of a name, or None."""
        return self._frame(name, joints.PrismaticJoint)

    def findDependentJoint(self, name: str) -> joints.DependentJoint | None:
        """The dependent joint of a name, or None."""
        return self._frame(name, joints.DependentJoint)

    def findFixedFrames(self) -> list[FixedFrame]:
        """All fixed frames."""
        return [frame for frame in self.getFrames() if isinstance(frame, FixedFrame)]

    def findMovableFrames(self) -> list[MovableFrame]:
        """All movable frames."""
        return [frame for frame in self.getFrames() if isinstance(frame, MovableFrame)]

    def _frame(self, name: str, kind: type[F]) -> F | None:
        found = self._structure.findFrame(name)
        return found if isinstance(found, kind) else None

    def getObjects(self) -> list[Object]:
        """The frames that have shapes to see or to collide with."""
        frames = self._structure.getFrames()
        shapes = (frame.part.visuals or frame.part.collisions for frame in frames)
        return [Object(frame) for frame, some in zip(frames, shapes, strict=True) if some]

    def findObject(self, name: str) -> Object | None:
        """The object of a name, or None."""
        return next((one for one in self.getObjects() if one.getName() == name), None)

    # Devices.

    def addDevice(self, device: Device) -> None:
        """Add a device over frames of this workcell."""
        if not isinstance(device, Device):
            raise ArgumentError(f"addDevice: expected a Device, got {shown(device)}")
        what = f"device {device.getName()!r}"
        if device.structure is not self._structure:
            raise model_error("the device belongs to another workcell", what)
        if self.findDevice(device.getName()):
            raise model_error("this name is taken", what)
        self._devices.append(device)

    add = addDevice

    def remove(self, part: Frame | Device) -> None:
        """Remove a frame or a device."""
        if isinstance(part, Device):
            if part not in self._devices:
                raise model_error(
                    "the device is not in this workcell", f"device {part.getName()!r}"
                )
            self._devices.remove(part)
            return
        name, names = self._structure.name_of(part), set(part.cell_names)
        using = [d.getName() for d in self._devices if names & set(d.spec.frame_names())]
        using += [d.getName() for d in self._devices if names & set(d.bound().joint_names)]
        if using:
            raise model_error(
                f"devices need it: {', '.join(dict.fromkeys(using))}", f"frame {name!r}"
            )
        self._structure.remove(part)

    def getDevices(self) -> list[Device]:
        """All devices."""
        return list(self._devices)

    def findDevice(self, name: str) -> Device | None:
        """The device of a name, or None."""
        return next((device for device in self._devices if device.getName() == name), None)

    def findJointDevice(self, name: str) -> JointDevice | None:
        """The device of joints of a name, or None; serial and tree devices are such devices."""
        return self._device(name, JointDevice)

    def findSerialDevice(self, name: str) -> SerialDevice | None:
        """The serial device of a name, or None."""
        return self._device(name, SerialDevice)

    def findTreeDevice(self, name: str) -> TreeDevice | None:
        """The tree device of a name, or None."""
        return self._device(name, TreeDevice)

    def findCompositeDevice(self, name: str) -> CompositeDevice | None:
        """The composite device of a name, or None."""
        return self._device(name, CompositeDevice)

    def findMobileDevice(self, name: str) -> MobileDevice | None:
        """The mobile device of a name, or None."""
        return self._device(name, MobileDevice)

    def findSE3Device(self, name: str) -> SE3Device | None:
        """The free device of a name, or None."""
        return self._device(name, SE3Device)

    def _device(self, name: str, kind: type[D]) -> D | None:
        found = self.findDevice(name)
        return found if isinstance(found, kind) else None


class WorkCellLoaderFactory:
    """Loads workcells."""

    @staticmethod
    def load(filename: str | PathLike[str], **options: Any) -> WorkCell:
        """Load a workcell.

        Args:
            filename: of RobWork's XML, or the name of a bundled cell.
            **options: as of `linkwork.load_workcell`, except that files may be included from any
                folder, as in RobWork, unless `include_dirs` is given; `include_dirs=()` allows
                only the folder of the file and the package around it.

        Raises:
            ParseError: it is no workcell; RobWork returns NULL.
        """
        path = Path(filename)
        if path.is_file():
            options.setdefault("include_dirs", (path.absolute().anchor,))
        cell = load_workcell(filename, **options)
        return WorkCell(cell, str(path.resolve()) if path.is_file() else "")

    @staticmethod
    def getWorkCellLoader(format: str = "") -> WorkCellLoader:
        """The loader; the contents of a file decide on its format."""
        return WorkCellLoader()


class WorkCellLoader:
    """The loader as C++ names it: `WorkCellLoader.Factory.load`."""

    Factory = WorkCellLoaderFactory

    def loadWorkCell(self, filename: str | PathLike[str], **options: Any) -> WorkCell:
        """Load a workcell, as `WorkCellLoaderFactory.load`."""
        return WorkCellLoaderFactory.load(filename, **options)


class Models:
    """Functions of workcells, devices and states."""

    @staticmethod
    def findAllFrames(workcell: WorkCell) -> list[Frame]:
        """All frames of a workcell."""
        return workcell.getFrames()

    @staticmethod
    def getFrame(workcell: WorkCell, name: str) -> Frame:
        """The frame of a name, or an error with the nearest names."""
        return workcell.getStateStructure().frame(name)

    @staticmethod
    def getDevice(workcell: WorkCell, name: str) -> Device:
        """The device of a name, or an error with the nearest names."""
        device = workcell.findDevice(name)
        if device is None:
            names = [device.getName() for device in workcell.getDevices()]
            raise name_not_found("device", name, names)
        return device

    @staticmethod
    def inBounds(q: Any, bounds: Any, tolerance: float = 0.0) -> bool:
        """Whether a configuration, or the joints of a state, are within bounds.

        Args:
            q: a configuration, or a State.
            bounds: a pair of bounds, a device or a joint; of a State, its WorkCell.
            tolerance: by how much they may be outside.
        """
        if isinstance(q, State):
            joints = [frame for frame in bounds.getFrames() if isinstance(frame, Joint)]
            return all(_within(joint.getData(q), joint.getBounds(), tolerance) for joint in joints)
        box = bounds.getBounds() if isinstance(bounds, (Device, Joint)) else bounds
        return _within(q, box, tolerance)

    @staticmethod
    def getStatePath(
        device: Device, path: Iterable[Q], common_state: State, result: list[State] | None = None
    ) -> list[State]:
        """A state for each configuration of a path; all else is as in `common_state`."""
        states = [] if result is None else result
        for q in path:
            state = common_state.copy()
            device.setQ(q, state)
            states.append(state)
        return states

    @staticmethod
    def makeDevice(
        device: Device, state: State, base: Frame | None = None, end: Frame | None = None
    ) -> Device:
        """The same joints between another base and end, which are fixed to those of the device."""
        start = base or device.getBase()
        last = end or device.getEnd()
        if (start, last) == (device.getBase(), device.getEnd()):
            return device
        for given, own in ((start, device.getBase()), (last, device.getEnd())):
            _check_fixed(device, given, own, state)
        joints = device.bound().joint_names
        a, b = device.structure.names_of([start, last])
        return JointDevice(device.structure, specs.JointDevice(device.getName(), a, b, joints))


def _within(q: Any, box: Any, tolerance: float) -> bool:
    given = as_numbers(q, "q")
    lower, upper = (as_numbers(bound, "bounds", given.shape) for bound in box)
    return bool(np.all((given >= lower - tolerance) & (given <= upper + tolerance)))


def _check_fixed(device: Device, given: Frame, own: Frame, state: State) -> None:
    """Refuse a frame that moves relative to one of the device's when the device moves."""
    other = state.copy()
    device.setQ(device.getQ(state) + Q([0.1] * device.getDOF()), other)
    before, after = own.fTf(given, state), own.fTf(given, other)
    if not before.equal(after, 1e-9):
        text = f"frame {given.getName()!r} moves relative to {own.getName()!r} of the device"
        raise ArgumentError(f"makeDevice: {text}")
