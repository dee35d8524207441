"""Reader of devices in a workcell file: their frames, in chains or trees, and home configuration.

In a device, the default parent of a frame is the frame before it; in a SerialDevice it is always
the parent. The first frame is the base. Its parent is always the last frame of the workcell before
the device. If the first frame is a joint, the base is the parent of that joint.

A `<ParallelDevice>` has several legs, each a `<SerialChain>` and the frames before and after it. A
`<Junction>` lists, in two or more `<Chains>`, the chains whose legs lead to frames that coincide;
without a junction, the last frames of all legs coincide.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from linkwork.errors import SourceLocation, nearest, shown
from linkwork.model.pose import Pose
from linkwork.workcell.cell.devices import DeviceSpec, MobileDevice, SerialDevice, TreeDevice
from linkwork.workcell.cell.frames import WORLD, CellFrame, Motion
from linkwork.workcell.files.collect import Collected, Junction, ParallelDevice, Pending
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
    chains: dict[str, str] = field(default_factory=dict)  # last frame of each <SerialChain>
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
    before = len(cell.pending)
    _read_body(device, part, (name,))
    if not device.frames:
        part.error(f"<{part.tag}> has no frames")
        return
    if parallel:
        _add_parallel(device, name, tuple(cell.pending)[before:])
        return
    base, first = device.frames[0], cell.pending[device.frames[0]].content
    if isinstance(first, CellFrame) and first.motion is not None:
        base = parent
        text = f"the first frame is the joint {first.name!r}, so the base is its parent {base!r}"
        part.warning(f"{text}; in RobWork, the joint is the base, and is fixed")
    ends = device.ends if part.tag == "TreeDevice" and device.ends else [device.frames[-1]]
    if device.serial:
        _add(device, SerialDevice(name, base, ends[0]))
    else:
        _add(device, TreeDevice(name, base, ends))


def _add_parallel(device: _Device, name: str, frames: tuple[str, ...]) -> None:
    """Add a device with closed loops, which is built when all names are resolved."""
    cell, part = device.cell, device.part
    if not set(device.frames) <= set(frames):
        return  # a name is used twice, which is reported
    first = cell.pending[frames[0]].content
    if isinstance(first, CellFrame) and first.motion is not None:
        part.error(f"the first frame is its base, which is fixed, but {first.name!r} is a joint")
    junctions = read_junctions(part, _ends_of_legs(device, frames))
    end = device.ends[0] if device.ends else junctions[0][0] if junctions else device.frames[-1]
    if cell.add_device(name, None, part):
        cell.parallels.append(ParallelDevice(part, name, frames, end, junctions))
        if device.home is not None:
            cell.homes[name] = device.home


def read_junctions(part: CellPart, chains: Mapping[str, str]) -> tuple[Junction, ...]:
    """Return the pairs of frames that the junctions of a device join.

    Args:
        part: the device.
        chains: the last frame of the leg of each chain, by the name of the chain.
    """
    junctions = [child for child in part.parts() if child.tag == "Junction"]
    if not junctions and len(chains) < 2:
        text = "expected two or more <SerialChain>, which form closed loops"
        part.error(f"{text}; a device without loops is a <TreeDevice>")
        return ()
    if not junctions:
        return tuple(_pairs(list(chains.values()), part.location))
    pairs: list[Junction] = []
    for junction in junctions:
        junction.warn_unknown(("Chains",), (), strict=True)
        lists = [child for child in junction.parts() if child.tag == "Chains"]
        ends = [end for one in lists if (end := _end(one, chains))]
        if len(lists) < 2:
            junction.error("expected two or more <Chains>")
        pairs += _pairs(ends, junction.location)
    return tuple(pairs)


def _pairs(ends: Sequence[str], location: SourceLocation) -> Iterable[Junction]:
    return ((ends[0], other, location) for other in ends[1:])


def _end(part: CellPart, chains: Mapping[str, str]) -> str | None:
    """Return the last frame of the leg of the last chain of a list."""
    names = part.content().split()
    for name in names:
        if name not in chains:
            part.error(f"no <SerialChain> named {shown(name)}; {nearest(name, chains)}")
            return None
    if not names:
        part.error("expected names of <SerialChain>")
        return None
    return chains[names[-1]]


def _ends_of_legs(device: _Device, frames: Sequence[str]) -> dict[str, str]:
    """Return the last frame of the leg of each chain, as in RobWork.

    The frames after a chain continue its leg, up to a frame whose parent is not the frame before it
    or has more children, and up to the frame that carries the next chain.

    Args:
        device: the device, whose elements are all read.
        frames: its frames, in the order of the file.
    """
    cell = device.cell
    parents = [cell.parent_of(cell.pending[name]) for name in frames]
    in_chain = [len(cell.pending[name].scope) > 1 for name in frames]
    indices = {name: k for k, name in enumerate(frames)}
    last_children = {parent: k for k, parent in enumerate(parents)}
    ends: dict[str, str] = {}
    for chain, last in device.chains.items():
        end = indices[last]
        for k in range(end + 1, len(frames)):
            carries_chain = in_chain[k + 1 : k + 2] == [True] and parents[k + 1] == frames[k]
            only_child = parents[k] == frames[end] and last_children[parents[k]] == k
            if in_chain[k] or carries_chain or not only_child:
                break
            end = k
        ends[chain] = frames[end]
    return ends


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
                before = len(device.frames)
                _read_body(device, chain, (*scope, name))
                if len(device.frames) > before:
                    device.chains[name] = device.frames[-1]
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
