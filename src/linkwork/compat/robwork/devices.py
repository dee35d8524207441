"""Devices with RobWork's names.

q        in the order of the device's joints
J        rows [linear; angular], in the axes of the device's base, at the origin of the frame
setQ     modifies the state passed to it
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from linkwork.compat.robwork.containers import PropertyMap
from linkwork.compat.robwork.frames import (
    Frame,
    PointerMethods,
    State,
    StateStructure,
    structure_of,
)
from linkwork.compat.robwork.joints import Joint, QBox
from linkwork.compat.robwork.transforms import Jacobian, Transform3D
from linkwork.compat.robwork.vectors import Q, as_floats
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ShapeError, model_error
from linkwork.workcell.cell import devices as specs
from linkwork.workcell.kinematics.device import Cart
from linkwork.workcell.kinematics.device import Device as BoundDevice

if TYPE_CHECKING:
    from typing_extensions import Self

R = TypeVar("R")


class Stateless:
    """An object whose values are stored in states."""

    structure: StateStructure

    def getStateStructure(self) -> StateStructure:
        """Return the structure that its states belong to."""
        return self.structure


class Device(PointerMethods, Stateless):
    """A set of joints that are actuated together, between a base frame and an end frame."""

    def __init__(
        self,
        structure: StateStructure,
        spec: specs.DeviceSpec,
        others: tuple[specs.DeviceSpec, ...] = (),
    ) -> None:
        self.structure, self.spec = structure, spec
        self.others = others  # devices that this one consists of
        self._properties = PropertyMap()
        self._cached: tuple[Any, BoundDevice] | None = None  # and the cell it was bound to
        self.bound()  # raises if it is not a valid device of the cell

    @classmethod
    def of(cls, *parts: Any) -> Self:
        """Return the device object of a device of a linkwork cell; arguments as of `Device`."""
        self = cls.__new__(cls)
        Device.__init__(self, *parts)
        return self

    def bound(self) -> BoundDevice:
        """Return linkwork's device, for the current version of the cell."""
        cell = self.structure.cell
        if self._cached is None or self._cached[0] is not cell:
            with_device = replace(cell, devices=(*self.others, self.spec))
            self._cached = (cell, with_device.device(self.spec.name))
        return self._cached[1]

    def __repr__(self) -> str:
        return f"{type(self).__name__}[{self.getName()}]"

    def getName(self) -> str:
        """Return its name."""
        return self.spec.name

    def setName(self, name: str) -> None:
        """Set its name."""
        self.spec = replace(self.spec, name=name)
        self._cached = None

    def getBase(self) -> Frame:
        """Return its base frame."""
        return self.structure.frame(self.spec.base)

    def getEnd(self) -> Frame:
        """Return its end frame; the first of several."""
        return self.structure.frame(self.spec.end)

    def getDOF(self) -> int:
        """Return the length of its q."""
        return self.bound().nq

    def getPropertyMap(self) -> PropertyMap:
        """Return the properties that were set; those of devices in files are not read."""
        return self._properties

    # Values in a state.

    def setQ(self, q: Q, state: State) -> None:
        """Set the positions of its joints in a state."""
        values = as_floats(q, f"q of {self.getName()!r}")
        if values.shape != (self.getDOF(),):
            message = f"q of {self.getName()!r}: expected {self.getDOF()} elements"
            raise ShapeError(f"{message}, got shape {values.shape}")
        state.value = self.bound().set_q(self.structure.checked(state), values)

    def getQ(self, state: State) -> Q:
        """Return the positions of its joints in a state."""
        return Q(self.bound().get_q(self.structure.checked(state)))

    # Bounds.

    def getBounds(self) -> QBox:
        """Return lower and upper bounds of q; infinite where there are none."""
        return QBox(Q(self._limit("lower")), Q(self._limit("upper")))

    def setBounds(self, *bounds: Any) -> None:
        """Set bounds: a lower and an upper one, or a pair of them."""
        lower, upper = bounds if len(bounds) == 2 else bounds[0]
        self._set_limits(lower=lower, upper=upper)

    def getVelocityLimits(self) -> Q:
        """Return the largest speeds; infinite where there are none."""
        return Q(self._limit("velocity"))

    def getAccelerationLimits(self) -> Q:
        """Return the largest accelerations; infinite where there are none."""
        return Q(self._limit("acceleration"))

    def _limit(self, field: str) -> Array:
        """Return limits of q by name: those of the joints, if all of q are joint coordinates."""
        device, joints = self.bound(), self._joints()
        if joints:
            return np.concatenate([joint.limit(field) for joint in joints])
        names = {"velocity": "velocity_limits", "acceleration": "acceleration_limits"}
        return getattr(device, names.get(field, field))

    def _set_limits(self, **limits: Any) -> None:
        joints = self._joints()
        if not joints:
            raise model_error("only limits of joints can be set", f"device {self.getName()!r}")
        arrays = {name: as_floats(q, name, (self.getDOF(),)) for name, q in limits.items()}
        ends = np.cumsum([joint.getDOF() for joint in joints])
        for joint, end in zip(joints, ends, strict=True):
            part = slice(end - joint.getDOF(), end)
            joint.set_limits(**{name: array[part] for name, array in arrays.items()})

    def _joints(self) -> list[Joint]:
        """Return its joints, if all of q are joint coordinates; else an empty list."""
        joints = [frame for frame in self.getJoints() if isinstance(frame, Joint)]
        return joints if sum(joint.getDOF() for joint in joints) == self.getDOF() else []

    # Kinematics.

    def baseTend(self, state: State) -> Transform3D:
        """Return the pose of its end in its base."""
        return Transform3D(self.bound().base_H_end(self.structure.checked(state)))

    def baseTframe(self, frame: Frame, state: State) -> Transform3D:
        """Return the pose of any frame in its base."""
        name = self.structure.name_of(frame)
        return Transform3D(self.bound().base_H_frame(name, self.structure.checked(state)))

    def worldTbase(self, state: State) -> Transform3D:
        """Return the pose of its base in the world."""
        return Transform3D(self.bound().world_H_base(self.structure.checked(state)))

    def baseJend(self, state: State) -> Jacobian:
        """Return the Jacobian of its end."""
        return Jacobian(self.bound().base_J_end(self.structure.checked(state)))

    def baseJframe(self, frame: Frame, state: State) -> Jacobian:
        """Return the Jacobian of any frame."""
        return self.baseJframes([frame], state)

    def baseJframes(self, frames: Sequence[Frame], state: State) -> Jacobian:
        """Return Jacobians of several frames, stacked vertically."""
        names = self.structure.names_of(frames)
        return Jacobian(self.bound().base_J_frames(names, self.structure.checked(state)))

    def getJoints(self) -> list[Frame]:
        """Return its joints, in the order of q."""
        return self.structure.frames_of(self.bound().joint_names)

    def getEnds(self) -> list[Frame]:
        """Return its end frames."""
        return [self.structure.frame(name) for name in self.bound().ends]

    def baseJends(self, state: State) -> Jacobian:
        """Return Jacobians of all its ends, stacked vertically; also correct for a rotated base."""
        return Jacobian(self.bound().base_J_ends(self.structure.checked(state)))


class JointDevice(Device):
    """A device with any joints, in the order of a list."""

    def __init__(
        self, name: str, base: Frame, end: Frame, joints: Sequence[Joint], state: State
    ) -> None:
        """Create a device from name, base, end, joints and a state."""
        structure = structure_of(state)
        first, last = structure.names_of([base, end])
        structure.names_of(joints)
        parts = (
            part for joint in joints for part in joint.parts if part.size or part is joint.part
        )
        names = tuple(part.name for part in parts)
        super().__init__(structure, specs.JointDevice(name, first, last, names))


def _of_all_joints(method: Callable[..., R]) -> Callable[..., R]:
    """Convert a method of a device, whose last argument is a state, to one of a `ParallelLeg`."""

    @wraps(method)
    def call(self: ParallelLeg, *arguments: Any) -> R:
        ends, state = (self.getBase(), self.getEnd()), arguments[-1]
        return method(JointDevice("leg", *ends, self.joints(), state), *arguments)

    return call


class ParallelLeg(PointerMethods):
    """A chain of frames whose joints are active and passive ones, in the order of q."""

    def __init__(self, frames: Sequence[Frame | None]) -> None:
        """Create a leg from its frames, each the parent of the next."""
        self._frames = [frame for frame in frames if frame]

    def joints(self) -> list[Joint]:
        """Return its joints, active and passive."""
        return [frame for frame in self._frames if isinstance(frame, Joint)]

    def getKinematicChain(self) -> list[Frame]:
        """Return its frames."""
        return list(self._frames)

    def getBase(self) -> Frame:
        """Return its first frame."""
        return self._frames[0]

    def getEnd(self) -> Frame:
        """Return its last frame."""
        return self._frames[-1]

    def getActuatedJoints(self) -> list[Joint]:
        """Return its active joints."""
        return [joint for joint in self.joints() if joint.isActive()]

    def getUnactuatedJoints(self) -> list[Joint]:
        """Return its passive joints."""
        return [joint for joint in self.joints() if not joint.isActive()]

    def nrOfActiveJoints(self) -> int:
        """Return the number of active joints."""
        return len(self.getActuatedJoints())

    def nrOfPassiveJoints(self) -> int:
        """Return the number of passive joints."""
        return len(self.getUnactuatedJoints())

    def nrOfJoints(self) -> int:
        """Return the number of joints."""
        return len(self.joints())

    def getJointDOFs(self) -> int:
        """Return the number of coordinates of all joints."""
        return sum(joint.getDOF() for joint in self.joints())

    getQ, setQ = _of_all_joints(Device.getQ), _of_all_joints(Device.setQ)
    baseTend, baseTframe = _of_all_joints(Device.baseTend), _of_all_joints(Device.baseTframe)
    baseJend, baseJframe = _of_all_joints(Device.baseJend), _of_all_joints(Device.baseJframe)


class SerialDevice(JointDevice):
    """A device with the active joints on the path from a first to a last frame."""

    def __init__(self, *args: Any) -> None:
        """Create a device from first and last frame, or a list of frames, a name and a state."""
        *frames, name, state = args
        chain = frames[0] if len(frames) == 1 else frames
        structure = structure_of(state)
        first, last = structure.name_of(chain[0]), structure.name_of(chain[-1])
        Device.__init__(self, structure, specs.SerialDevice(name, first, last))

    def frames(self) -> list[Frame]:
        """Return the frames from its base to its end."""
        return self.structure.frames_of(_path(self, self.spec.end))


def _path(device: Device, end: str) -> list[str]:
    """Return the names of the cell's frames from the base of a device to an end."""
    path: list[str] = []
    name: str | None = end
    while name is not None:
        path.append(name)
        name = None if name == device.spec.base else device.structure.cell.frame(name).parent
    return path[::-1]


class TreeDevice(JointDevice):
    """A device with the active joints on the paths from a base to several ends."""

    def __init__(self, base: Frame, ends: Sequence[Frame], name: str, state: State) -> None:
        """Create a device from base, ends, name and a state."""
        structure = structure_of(state)
        spec = specs.TreeDevice(name, structure.name_of(base), structure.names_of(ends))
        Device.__init__(self, structure, spec)

    def frames(self) -> list[Frame]:
        """Return the frames from its base to all its ends."""
        paths = (_path(self, end) for end in self.spec.all_ends())
        return self.structure.frames_of(name for path in paths for name in path)


class CompositeDevice(Device):
    """Several devices as one: q is the concatenation of theirs."""

    def __init__(
        self, base: Frame, devices: Sequence[Device], ends: Any, name: str, state: State
    ) -> None:
        """Create a device from base, devices, end or ends, name and a state."""
        structure = structure_of(state)
        last = structure.names_of([ends] if isinstance(ends, Frame) else ends)
        parts = tuple(device.getName() for device in devices)
        spec = specs.CompositeDevice(name, structure.name_of(base), last[0], parts, tuple(last[1:]))
        others = tuple(s for device in devices for s in (*device.others, device.spec))
        super().__init__(structure, spec, others)


class MobileDevice(Device):
    """A cart on two wheels: `setQ` rotates the wheels and moves the cart.

    In RobWork it moves backwards, and rotates in the wrong direction, if the wheels differ.
    """

    def __init__(self, base: Frame, left: Joint, right: Joint, state: State, name: str) -> None:
        """Create a device from base, left wheel, right wheel, a state and a name."""
        structure = structure_of(state)
        cart, *wheels = structure.names_of([base, left, right])
        sides = [structure.cell.frame(wheel).parent_H_frame.xyz[1] for wheel in wheels]
        track = abs(sides[0] - sides[1])
        spec = specs.MobileDevice(name, cart, cart, wheels[0], wheels[1], track=track)
        super().__init__(structure, spec)

    def setQ(self, q: Q, state: State) -> None:
        """Rotate the wheels in a state, and move the cart along the resulting arc."""
        target = as_floats(q, f"q of {self.getName()!r}", (2,))
        value = self.structure.checked(state)
        cart = self.bound()
        assert isinstance(cart, Cart)
        state.value = cart.roll(value, target - cart.get_q(value))


class SE3Device(Device):
    """A movable frame: q is its position and quaternion w x y z. In RobWork q has six elements."""

    def __init__(self, name: str, base: Frame, moved: Frame, *_: Any) -> None:
        """Create a device from name, base and the movable frame."""
        structure = moved.structure
        if structure is None:
            raise model_error("the frame is not in a workcell", f"frame {moved.getName()!r}")
        names = structure.names_of([base, moved])
        super().__init__(structure, specs.FreeDevice(name, *names))


def device_of(structure: StateStructure, spec: specs.DeviceSpec) -> Device:
    """Return the device object of a device of a linkwork cell."""
    kinds: dict[type[specs.DeviceSpec], type[Device]] = {
        specs.SerialDevice: SerialDevice,
        specs.TreeDevice: TreeDevice,
        specs.JointDevice: JointDevice,
        specs.MobileDevice: MobileDevice,
        specs.FreeDevice: SE3Device,
    }
    if isinstance(spec, specs.CompositeDevice):
        before = structure.cell.device_names.index(spec.name)
        return CompositeDevice.of(structure, spec, structure.cell.devices[:before])
    if isinstance(spec, specs.RobotDevice):
        return _robot(structure, spec)
    return kinds[type(spec)].of(structure, spec)


def _robot(structure: StateStructure, spec: specs.RobotDevice) -> Device:
    """Return a SerialDevice if all joints of a robot are on one path, else a TreeDevice."""
    path: tuple[str, ...] = ()
    if not spec.floating:
        frames = {frame.name: frame for frame in structure.cell.frames}
        path = specs.path_joints(frames, spec.base, (spec.end,))
    return (SerialDevice if path == spec.joints else TreeDevice).of(structure, spec)
