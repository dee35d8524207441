"""`Models`: helpers for devices and workcells under RobWork's names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.compat.robwork.devices import Device, JointDevice
from linkwork.compat.robwork.frames import Frame
from linkwork.compat.robwork.joints import Joint
from linkwork.compat.robwork.numbers import Q, as_numbers
from linkwork.compat.robwork.structure import State
from linkwork.errors import ArgumentError, name_not_found
from linkwork.workcell import devices as specs

if TYPE_CHECKING:
    from linkwork.compat.robwork.workcell import WorkCell


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
