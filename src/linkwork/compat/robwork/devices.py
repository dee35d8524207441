"""Devices under RobWork's names.

q        in the order of the device's joints
J        rows [linear; angular], in the axes of the device's base, at the origin of the frame
setQ     writes into the state that it is given
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.compat.robwork.frames import Frame, PropertyMap, as_matrix
from linkwork.compat.robwork.joints import Joint, QBox
from linkwork.compat.robwork.numbers import Q, as_numbers
from linkwork.compat.robwork.structure import Pointed, State, StateStructure
from linkwork.compat.robwork.transforms import Jacobian, Transform3D
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, ShapeError, model_error, shown
from linkwork.workcell import devices as specs
from linkwork.workcell.device import Cart
from linkwork.workcell.device import Device as BoundDevice


class JacobianCalculator:
    """Jacobians of given frames of a device, for many states."""

    def __init__(self, device: Device, frames: Sequence[Frame]) -> None:
        self._device, self._frames = device, list(frames)

    def get(self, state: State) -> Jacobian:
        """The Jacobians, one below the other."""
        return self._device.baseJframes(self._frames, state)


class Stateless:
    """What keeps its numbers in states."""

    structure: StateStructure

    def getStateStructure(self) -> StateStructure:
        """The structure that its states belong to."""
        return self.structure


class Device(Pointed, Stateless):
    """A set of joints that are driven together, between a base frame and an end frame."""

    def __init__(
        self,
        structure: StateStructure,
        spec: specs.DeviceSpec,
        others: tuple[specs.DeviceSpec, ...] = (),
    ) -> None:
        self.structure, self.spec = structure, spec
        self.others = others  # devices that this one is made of
        self._known: tuple[Any, BoundDevice] | None = None
        self.bound()  # refuses what is no device of the cell

    def bound(self) -> BoundDevice:
        """The device of linkwork, over the newest version of the cell."""
        cell = self.structure.cell
        if self._known is None or self._known[0] is not cell:
            own = replace(cell, devices=(*self.others, self.spec))
            self._known = (cell, own.device(self.spec.name))
        return self._known[1]

    def __repr__(self) -> str:
        return f"{type(self).__name__}[{self.getName()}]"

    def getName(self) -> str:
        """Its name."""
        return self.spec.name

    def setName(self, name: str) -> None:
        """Another name."""
        self.spec = replace(self.spec, name=name)
        self._known = None

    def getBase(self) -> Frame:
        """Its base frame."""
        return self.structure.frame(self.spec.base)

    def getEnd(self) -> Frame:
        """Its end frame; the first of several."""
        return self.structure.frame(self.spec.end)

    def getDOF(self) -> int:
        """How many numbers its q has."""
        return self.bound().nq

    def getPropertyMap(self) -> PropertyMap:
        """Nothing: files give properties to frames here."""
        return PropertyMap()

    # Its part of a state.

    def setQ(self, q: Q, state: State) -> None:
        """Write the positions of its joints into a state."""
        given = as_numbers(q, f"q of {self.getName()!r}")
        if given.shape != (self.getDOF(),):
            text = f"q of {self.getName()!r}: expected {self.getDOF()} numbers"
            raise ShapeError(f"{text}, got {given.shape}")
        state.value = self.bound().set_q(self.structure.checked(state), given)

    def getQ(self, state: State) -> Q:
        """The positions of its joints in a state."""
        return Q(self.bound().get_q(self.structure.checked(state)))

    # Bounds.

    def getBounds(self) -> QBox:
        """Lower and upper bounds of q; infinite where there are none."""
        return QBox(Q(self._limit("lower")), Q(self._limit("upper")))

    def setBounds(self, *bounds: Any) -> None:
        """Other bounds: a lower and an upper one, or a pair of them."""
        lower, upper = bounds if len(bounds) == 2 else bounds[0]
        self._set_limits(lower=lower, upper=upper)

    def getVelocityLimits(self) -> Q:
        """Largest speeds; infinite where none is given."""
        return Q(self._limit("velocity"))

    def setVelocityLimits(self, vellimits: Q) -> None:
        """Other largest speeds."""
        self._set_limits(velocity=vellimits)

    def getAccelerationLimits(self) -> Q:
        """Largest accelerations; infinite where none is given."""
        return Q(self._limit("acceleration"))

    def setAccelerationLimits(self, acclimits: Q) -> None:
        """Other largest accelerations."""
        self._set_limits(acceleration=acclimits)

    def _limit(self, field: str) -> Array:
        """Limits of q by name: those that the joints hold, if all of q is theirs."""
        device, joints = self.bound(), self._joints()
        if joints:
            return np.concatenate([joint.limit(field) for joint in joints])
        names = {"velocity": "velocity_limits", "acceleration": "acceleration_limits"}
        return getattr(device, names.get(field, field))

    def _set_limits(self, **limits: Any) -> None:
        joints = self._joints()
        if not joints:
            raise model_error("only limits of joints can be set", f"device {self.getName()!r}")
        arrays = {name: as_numbers(q, name, (self.getDOF(),)) for name, q in limits.items()}
        ends = np.cumsum([joint.getDOF() for joint in joints])
        for joint, end in zip(joints, ends, strict=True):
            part = slice(end - joint.getDOF(), end)
            joint.set_limits(**{name: array[part] for name, array in arrays.items()})

    def _joints(self) -> list[Joint]:
        """Its joints, if all of q is theirs."""
        joints = [frame for frame in self.getJoints() if isinstance(frame, Joint)]
        return joints if sum(joint.getDOF() for joint in joints) == self.getDOF() else []

    # Kinematics.

    def baseTend(self, state: State) -> Transform3D:
        """Pose of its end in its base."""
        return Transform3D(self.bound().base_H_end(self.structure.checked(state)))

    def baseTframe(self, frame: Frame, state: State) -> Transform3D:
        """Pose of any frame in its base."""
        name = self.structure.name_of(frame)
        return Transform3D(self.bound().base_H_frame(name, self.structure.checked(state)))

    def worldTbase(self, state: State) -> Transform3D:
        """Pose of its base in the world."""
        return Transform3D(self.bound().world_H_base(self.structure.checked(state)))

    def baseJend(self, state: State) -> Jacobian:
        """Jacobian of its end."""
        return Jacobian(self.bound().base_J_end(self.structure.checked(state)))

    def baseJframe(self, frame: Frame, state: State) -> Jacobian:
        """Jacobian of any frame."""
        return self.baseJframes([frame], state)

    def baseJframes(self, frames: Sequence[Frame], state: State) -> Jacobian:
        """Jacobians of several frames, one below the other."""
        names = self.structure.names_of(frames)
        return Jacobian(self.bound().base_J_frames(names, self.structure.checked(state)))

    def baseJCend(self, state: State) -> JacobianCalculator:
        """Calculates the Jacobian of its end for many states."""
        return self.baseJCframes([self.getEnd()], state)

    def baseJCframe(self, frame: Frame, state: State) -> JacobianCalculator:
        """Calculates the Jacobian of a frame for many states."""
        return self.baseJCframes([frame], state)

    def baseJCframes(self, frames: Sequence[Frame], state: State) -> JacobianCalculator:
        """Calculates the Jacobians of several frames for many states."""
        self.structure.checked(state)
        return JacobianCalculator(self, frames)

    def getJoints(self) -> list[Frame]:
        """Its joints, in the order of q."""
        return self.structure.frames_of(self.bound().joint_names)

    def getEnds(self) -> list[Frame]:
        """Its end frames."""
        return [self.structure.frame(name) for name in self.bound().ends]

    def baseJends(self, state: State) -> Jacobian:
        """Jacobians of all its ends, one below the other; right also for a rotated base."""
        return Jacobian(self.bound().base_J_ends(self.structure.checked(state)))


class JointDevice(Device):
    """Any joints, in the order given."""

    def __init__(self, *given: Any) -> None:
        """Make a device by name, base, end, joints and a state."""
        if _is_spec(given):
            super().__init__(*given)
            return
        name, base, end, joints, state = given
        structure = _structure(state)
        first, last = structure.names_of([base, end])
        structure.names_of(joints)
        parts = (
            part for joint in joints for part in joint.parts if part.size or part is joint.part
        )
        names = tuple(part.name for part in parts)
        spec = specs.JointDevice(name, first, last, names)
        super().__init__(structure, spec)


class SerialDevice(JointDevice):
    """The active joints on the path from a first to a last frame."""

    def __init__(self, *given: Any) -> None:
        """Make a device by first frame, last frame, name and a state; or by a list of frames."""
        if _is_spec(given):
            Device.__init__(self, *given)
            return
        *frames, name, state = given
        chain = frames[0] if len(frames) == 1 else frames
        structure = _structure(state)
        first, last = structure.name_of(chain[0]), structure.name_of(chain[-1])
        Device.__init__(self, structure, specs.SerialDevice(name, first, last))

    def frames(self) -> list[Frame]:
        """The frames from its base to its end."""
        return self.structure.frames_of(_path(self, self.spec.end))


def _path(device: Device, end: str) -> list[str]:
    """Names of the frames of the cell from the base of a device to an end."""
    path: list[str] = []
    here: str | None = end
    while here is not None:
        path.append(here)
        here = None if here == device.spec.base else device.structure.cell.frame(here).parent
    return path[::-1]


class TreeDevice(JointDevice):
    """The active joints on the paths from a base to several ends."""

    def __init__(self, *given: Any) -> None:
        """Make a device by base, ends, name and a state."""
        if _is_spec(given):
            Device.__init__(self, *given)
            return
        base, ends, name, state = given
        structure = _structure(state)
        spec = specs.TreeDevice(name, structure.name_of(base), structure.names_of(ends))
        Device.__init__(self, structure, spec)

    def frames(self) -> list[Frame]:
        """The frames from its base to all its ends."""
        paths = (_path(self, end) for end in self.spec.all_ends())
        return self.structure.frames_of(name for path in paths for name in path)


class CompositeDevice(Device):
    """Several devices as one: q is theirs, one after the other."""

    def __init__(self, *given: Any) -> None:
        """Make a device by base, devices, end or ends, name and a state."""
        if len(given) == 3:
            super().__init__(*given)
            return
        base, devices, ends, name, state = given
        structure = _structure(state)
        last = structure.names_of([ends] if isinstance(ends, Frame) else ends)
        parts = tuple(device.getName() for device in devices)
        spec = specs.CompositeDevice(name, structure.name_of(base), last[0], parts, tuple(last[1:]))
        others = tuple(s for device in devices for s in (*device.others, device.spec))
        super().__init__(structure, spec, others)


class MobileDevice(Device):
    """A cart on two wheels: `setQ` turns the wheels and rolls the cart along.

    RobWork's goes backwards, and turns the wrong way, when its wheels turn unevenly.
    """

    def __init__(self, *given: Any) -> None:
        """Make a device by base, left wheel, right wheel, a state and a name."""
        if _is_spec(given):
            super().__init__(*given)
            return
        base, left, right, state, name = given
        structure = _structure(state)
        cart, *wheels = structure.names_of([base, left, right])
        sides = [structure.cell.frame(wheel).parent_H_frame.xyz[1] for wheel in wheels]
        track = abs(sides[0] - sides[1])
        spec = specs.MobileDevice(name, cart, cart, wheels[0], wheels[1], track=track)
        super().__init__(structure, spec)

    def setQ(self, q: Q, state: State) -> None:
        """Turn the wheels, in this state, and roll the cart along the arc that they describe."""
        given = as_numbers(q, f"q of {self.getName()!r}", (2,))
        value = self.structure.checked(state)
        cart = self.bound()
        assert isinstance(cart, Cart)
        state.value = cart.roll(value, given - cart.get_q(value))

    def setDevicePose(self, transform: Transform3D, state: State) -> None:
        """Put the cart somewhere, in this state."""
        value = self.structure.checked(state)
        state.value = self.structure.cell.set_pose(value, self.spec.base, as_matrix(transform))


class SE3Device(Device):
    """A movable frame: q is its position and quaternion w x y z. RobWork's has six numbers."""

    def __init__(self, *given: Any) -> None:
        """Make a device by name, base and the movable frame."""
        if _is_spec(given):
            super().__init__(*given)
            return
        name, base, moved = given[:3]
        structure = moved.structure
        if structure is None:
            raise model_error("the frame is in no workcell", f"frame {moved.getName()!r}")
        names = structure.names_of([base, moved])
        super().__init__(structure, specs.FreeDevice(name, *names))


def _is_spec(given: tuple[Any, ...]) -> bool:
    return len(given) == 2 and isinstance(given[1], specs.DeviceSpec)


def _structure(state: object) -> StateStructure:
    if not isinstance(state, State):
        raise ArgumentError(f"state: expected a State as the last argument, got {shown(state)}")
    return state.getStateStructure()


def device_of(structure: StateStructure, spec: specs.DeviceSpec) -> Device:
    """The device object of a device of a linkwork cell."""
    kinds: dict[type[specs.DeviceSpec], type[Device]] = {
        specs.SerialDevice: SerialDevice,
        specs.TreeDevice: TreeDevice,
        specs.JointDevice: JointDevice,
        specs.MobileDevice: MobileDevice,
        specs.FreeDevice: SE3Device,
    }
    if isinstance(spec, specs.CompositeDevice):
        before = structure.cell.device_names.index(spec.name)
        return CompositeDevice(structure, spec, structure.cell.devices[:before])
    if isinstance(spec, specs.RobotDevice):
        return _robot(structure, spec)
    return kinds[type(spec)](structure, spec)


def _robot(structure: StateStructure, spec: specs.RobotDevice) -> Device:
    """A placed robot: a SerialDevice if all its joints are on one path, in its order."""
    path: tuple[str, ...] = ()
    if not spec.floating:
        frames = {frame.name: frame for frame in structure.cell.frames}
        path = specs.path_joints(frames, spec.base, (spec.end,))
    return (SerialDevice if path == spec.joints else TreeDevice)(structure, spec)
