"""`WorkCell` and its loader with RobWork's names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from linkwork.compat.robwork.containers import PropertyMap
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
from linkwork.compat.robwork.frames import (
    FixedFrame,
    Frame,
    MovableFrame,
    PointerMethods,
    State,
    StateStructure,
)
from linkwork.compat.robwork.joints import (
    Joint,
)
from linkwork.errors import ArgumentError, model_error, shown
from linkwork.model.numbers import argument
from linkwork.workcell.files.load import load_workcell
from linkwork.workcell.workcell import WorkCell as Cell

Part = TypeVar("Part", bound="Frame | Device")


def _finder(find: str, kind: type[Part]) -> Callable[[WorkCell, str], Part | None]:
    """Build a method that returns the frame or device of a class with a name, or None."""

    def method(self: WorkCell, name: str) -> Part | None:
        part = getattr(self, find)(name)
        return part if isinstance(part, kind) else None

    method.__doc__ = f"Return the {kind.__name__} with a name, or None."
    return method


class Object:
    """A frame with shapes."""

    def __init__(self, base: Frame) -> None:
        self._base = base

    def __repr__(self) -> str:
        return f"Object[{self.getName()}]"

    def getName(self) -> str:
        """Return the name of its frame."""
        return self._base.getName()

    def getBase(self) -> Frame:
        """Return its frame."""
        return self._base

    def getFrames(self) -> list[Frame]:
        """Return its frame."""
        return [self._base]


class WorkCell(PointerMethods):
    """Frames and devices, which can be added and removed; `cell` is linkwork's immutable one."""

    def __init__(self, name: str | StateStructure | Cell, filename: str = "") -> None:
        """Create an empty workcell with a name, or wrap a StateStructure or linkwork WorkCell."""
        if isinstance(name, Cell):
            name = StateStructure(name)
        if isinstance(name, str):
            name = StateStructure(Cell(name or "workcell"))
        if not isinstance(name, StateStructure):
            raise ArgumentError(f"WorkCell: expected a name, got {shown(name)}")
        self._structure = name
        self._filename = filename
        self._properties = PropertyMap()
        self._devices = [device_of(name, spec) for spec in name.cell.devices]

    @property
    def cell(self) -> Cell:
        """The workcell as an immutable linkwork object, with its current devices."""
        specs = {s.name: s for device in self._devices for s in (*device.others, device.spec)}
        return replace(self._structure.cell, devices=tuple(specs.values()))

    def __repr__(self) -> str:
        return f"WorkCell[{self.getName()}]"

    def getName(self) -> str:
        """Return its name."""
        return self._structure.cell.name

    def getFilename(self) -> str:
        """Return the file it was loaded from; empty if there is none."""
        return self._filename

    def getFilePath(self) -> str:
        """Return the folder of that file, with a separator at its end."""
        return f"{Path(self._filename).parent}/" if self._filename else ""

    def getPropertyMap(self) -> PropertyMap:
        """Return the properties that were set; those of workcells in files are not read."""
        return self._properties

    def getStateStructure(self) -> StateStructure:
        """Return the structure of its frames."""
        return self._structure

    def getDefaultState(self) -> State:
        """Return the default state."""
        return self._structure.getDefaultState()

    # Frames.

    def getWorldFrame(self) -> Frame:
        """Return the frame WORLD."""
        return self._structure.getRoot()

    def getFrames(self) -> list[Frame]:
        """Return all frames, WORLD first."""
        return self._structure.getFrames()

    def addFrame(self, frame: Frame, parent: Frame | None = None) -> None:
        """Add a frame; to WORLD if no parent is passed."""
        self._structure.addFrame(frame, parent)

    def addDAF(self, frame: Frame, parent: Frame | None = None) -> None:
        """Add a frame that can be attached to others."""
        self._structure.addDAF(frame, parent)

    def findFrame(self, name: str) -> Frame | None:
        """Return the frame with a name, or None."""
        return self._structure.findFrame(name)

    findFixedFrame = _finder("findFrame", FixedFrame)
    findMovableFrame = _finder("findFrame", MovableFrame)
    findJoint = _finder("findFrame", Joint)

    def findMovableFrames(self) -> list[MovableFrame]:
        """Return all movable frames."""
        return [frame for frame in self.getFrames() if isinstance(frame, MovableFrame)]

    def getObjects(self) -> list[Object]:
        """Return the frames that have visual or collision shapes."""
        frames = self._structure.getFrames()
        shapes = (frame.part.visuals or frame.part.collisions for frame in frames)
        return [Object(frame) for frame, some in zip(frames, shapes, strict=True) if some]

    def findObject(self, name: str) -> Object | None:
        """Return the object with a name, or None."""
        return next((one for one in self.getObjects() if one.getName() == name), None)

    # Devices.

    def addDevice(self, device: Device) -> None:
        """Add a device with frames of this workcell."""
        element = f"device {argument(device, Device, 'addDevice').getName()!r}"
        if device.structure is not self._structure:
            raise model_error("the device belongs to another workcell", element)
        if self.findDevice(device.getName()):
            raise model_error("the name is already in use", element)
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
                f"it is used by devices: {', '.join(dict.fromkeys(using))}", f"frame {name!r}"
            )
        self._structure.remove(part)

    def getDevices(self) -> list[Device]:
        """Return all devices."""
        return list(self._devices)

    def findDevice(self, name: str) -> Device | None:
        """Return the device with a name, or None."""
        return next((device for device in self._devices if device.getName() == name), None)

    findJointDevice = _finder("findDevice", JointDevice)  # serial and tree devices are included
    findSerialDevice = _finder("findDevice", SerialDevice)
    findTreeDevice = _finder("findDevice", TreeDevice)
    findCompositeDevice = _finder("findDevice", CompositeDevice)
    findMobileDevice = _finder("findDevice", MobileDevice)
    findSE3Device = _finder("findDevice", SE3Device)


class WorkCellLoaderFactory:
    """Loads workcells."""

    @staticmethod
    def load(filename: str | PathLike[str], **options: Any) -> WorkCell:
        """Load a workcell.

        Args:
            filename: a file in RobWork's XML format, or the name of a bundled cell.
            **options: options of `linkwork.load_workcell`. Unlike there, files may be included
                from any folder, as in RobWork, unless `include_dirs` is passed;
                `include_dirs=()` allows only the folder of the file and its package.

        Raises:
            ParseError: the file is not a workcell; RobWork returns NULL.
        """
        path = Path(filename)
        if path.is_file():
            options.setdefault("include_dirs", (path.absolute().anchor,))
        cell = load_workcell(filename, **options)
        return WorkCell(cell, str(path.resolve()) if path.is_file() else "")


class WorkCellLoader:
    """The loader with its name in C++: `WorkCellLoader.Factory.load`."""

    Factory = WorkCellLoaderFactory
