"""Reader of devices in a workcell file: their frames, in chains or trees, and home configuration.

In a device, the default parent of a frame is the frame before it; in a SerialDevice it is always
the parent. The first frame is the base. Its parent is always the last frame of the workcell before
the device. If the first frame is a joint, the base is the parent of that joint.

A `<ParallelDevice>` is read as a TreeDevice, whose ends are the frames without children. Its loops,
which a `<Junction>` or the ends of its legs close in RobWork, are left open.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from linkwork.errors import shown
from linkwork.model.pose import Pose
from linkwork.workcell.cell.devices import DeviceSpec, MobileDevice, SerialDevice, TreeDevice
from linkwork.workcell.cell.frames import WORLD, CellFrame, Motion
from linkwork.workcell.files.collect import Collected, Pending
from linkwork.workcell.files.elements import (
    IGNORED_ELEMENTS,
    CellPart,
    Scope,
    full_name,
)
from linkwork.workcell.files.extensions import read_configuration
from linkwork.workcell.files.joints import LIMITS, MODELS, read_limit

DEVICES = ("SerialDevice", "TreeDevice", "ParallelDevice", "MobileDevice")
FRAMES = ("Frame", "Joint", "DHJoint")
_MOBILE_ELEMENTS = ("AxelWidth", "LeftWheel", "RightWheel")
_BODY = (*FRAMES, *MODELS, *LIMITS, "SerialChain", "Q", *IGNORED_ELEMENTS)
HOME = "Home"


@dataclass(slots=True)
class _Device:
    """A device while it is read."""

    cell: Collected
    part: CellPart
    parent: str  # full name of the parent of its base
    frames: list[str] = field(default_factory=list)  # full names, in the order of the file
    ends: list[str] = field(default_factory=list)
    home: tuple[float, ...] | None = None

    @property
    def serial(self) -> bool:
        return self.part.tag == "SerialDevice"


def read_device(cell: Collected, part: CellPart, parent: str) -> None:
    """Read a device element and add its frames and itself to a cell."""
    part = part.name("device")
    name = part.required_attribute("name")
    mobile = part.tag == "MobileDevice"
    parallel = part.tag == "ParallelDevice"
    extra = _MOBILE_ELEMENTS if mobile else ("Junction",) if parallel else ()
    part.warn_unknown((*_BODY, *extra), ("name", *(("basename",) if mobile else ())), strict=True)
    if not name.strip():
        return
    device = _Device(cell, part, parent)
    if mobile:
        _read_mobile(device, name)
        return
    _read_body(device, part, (name,))
    if not device.frames:
        part.error(f"<{part.tag}> has no frames")
        return
    base, first = device.frames[0], cell.pending[device.frames[0]].content
    if isinstance(first, CellFrame) and first.motion is not None:
        base = parent
        text = f"the first frame is the joint {first.name!r}, so the base is its parent {base!r}"
        part.warning(f"{text}; in RobWork, the joint is the base, and is fixed")
    ends = device.ends if part.tag == "TreeDevice" and device.ends else [device.frames[-1]]
    if parallel:
        part.warning("the loops of a <ParallelDevice> are left open; it becomes a TreeDevice")
        parents = {cell.parent_of(cell.pending[name]) for name in device.frames}
        ends = [name for name in device.frames if name not in parents]
    if device.serial:
        _add(device, SerialDevice(name, base, ends[0]))
    else:
        _add(device, TreeDevice(name, base, ends))


def _add(device: _Device, spec: DeviceSpec) -> None:
    if device.cell.add_device(spec.name, spec, device.part) and device.home is not None:
        device.cell.homes[spec.name] = device.home


def _read_body(device: _Device, part: CellPart, scope: Scope) -> None:
    """Read the elements of a device or a chain, in order."""
    for child in part.parts():
        if child.tag in FRAMES:
            _read_frame(device, child, scope)
        elif child.tag == "SerialChain":
            chain = child.name("chain")
            chain.warn_unknown(_BODY, ("name",), strict=True)
            name = chain.required_attribute("name")
            if name.strip():
                _read_body(device, chain, (*scope, name))
        elif child.tag in LIMITS:
            device.cell.add_limit(read_limit(child), scope)
        elif child.tag == "Q":
            _read_home(device, child)
        else:
            device.cell.add_other(child, scope)


def _read_frame(device: _Device, part: CellPart, scope: Scope) -> None:
    ref = part.attribute("refframe")
    previous = device.frames[-1] if device.frames else device.parent
    first = not device.frames and device.part.tag != "MobileDevice"
    if ref is not None and (first or device.serial):
        if full_name(ref, scope) != previous and ref != previous:
            kind = "the base of a device" if first else "a frame of a SerialDevice"
            rule = "the last frame of the workcell before it" if first else "the frame before it"
            part.name("frame").warning(
                f"refframe {shown(ref)} is ignored: the parent of {kind} is {rule}, {previous!r}"
            )
        ref = None
    name = device.cell.add_frame(part, scope, ref or None, previous)
    if name is not None:
        device.frames.append(name)
        if part.attribute("type") == "EndEffector":
            device.ends.append(name)


def _read_home(device: _Device, part: CellPart) -> None:
    name = part.required_attribute("name")
    configuration = read_configuration(part)
    if name != HOME:
        device.cell.report.ignore(part.element, f"<Q> other than {HOME!r}")
    elif device.home is not None:
        part.error(f"<{device.part.tag}> has several <Q> named {HOME!r}")
    else:
        device.home = configuration


def _read_mobile(device: _Device, name: str) -> None:
    """Read a cart on two wheels: a movable frame on WORLD, two joints, and further frames."""
    cell, part = device.cell, device.part
    base = part.required_attribute("basename")
    width_part = part.required_child("AxelWidth")
    wheels = [part.required_child(tag) for tag in ("LeftWheel", "RightWheel")]
    names = [wheel.required_attribute("name") if wheel else "" for wheel in wheels]
    width = width_part.content_numbers(1) if width_part else None
    if not base.strip() or not all(map(str.strip, names)) or width is None:
        return
    if width[0] <= 0:
        part.error(f"AxelWidth: expected a number > 0, got {width[0]:g}")
        return
    cart, left, right = (full_name(local_name, (name,)) for local_name in (base, *names))
    for frame in mobile_frames(cart, left, right, width[0]):
        located = replace(frame, location=part.location)
        cell.add(Pending(located, part, (name,), None, str(frame.parent)))
    device.parent = cart
    _read_body(device, part, (name,))
    end = device.frames[-1] if device.frames else cart
    _add(device, MobileDevice(name, cart, end, left, right, track=width[0]))


def mobile_frames(base: str, left: str, right: str, width: float) -> list[CellFrame]:
    """Return the frames of a cart: itself on WORLD, and wheels that rotate about its y axis."""
    cart = CellFrame(name=base, parent=WORLD, movable=True, attachable=True)
    wheels = [
        CellFrame(
            name=name,
            parent=base,
            parent_H_frame=Pose((0.0, side * width, 0.0), (math.pi / 2, 0.0, 0.0)),
            motion=Motion(kind="revolute"),
        )
        for name, side in ((left, 0.5), (right, -0.5))
    ]
    return [cart, *wheels]
