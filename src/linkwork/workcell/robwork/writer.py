"""Write a workcell as RobWork's XML. Reading the text again gives an equal document.

Devices become the elements of RobWork where their frames fit: in a row for a SerialDevice, in one
block for a TreeDevice or a MobileDevice. What RobWork has no words for is written in linkwork's,
see `workcell_own`. Helpers are frames for RobWork alone, which linkwork passes over: joints about
the z axis, and a first frame on WORLD, where RobWork puts the first frame of a workcell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from linkwork.errors import Finding
from linkwork.io.urdf.writer import urdf_text
from linkwork.io.xml.write import add, document_text, number_text, top_element
from linkwork.model.joints import KINDS
from linkwork.workcell.robwork.document import (
    WORLD,
    CellDocument,
    DeviceEntry,
    FrameEntry,
    RobotEntry,
    mobile_frames,
)
from linkwork.workcell.robwork.writer_frames import (
    add_property,
    needs_helper,
    robwork_type,
    with_local_leader,
    write_extras,
    write_frame,
    write_pose,
)

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]


class Written(NamedTuple):
    """A workcell as XML."""

    text: str
    joints: tuple[Finding, ...]  # joints that RobWork cannot read, as warnings
    elements: tuple[Finding, ...]  # robots, devices and joints in places where it cannot


def write_workcell(document: CellDocument, *, devices: bool = True) -> Written:
    """A document as XML.

    Args:
        document: the workcell, parents before children.
        devices: whether devices become elements of RobWork where they can; else all are written in
            linkwork's words.
    """
    top = top_element("WorkCell", name=document.name)
    write_extras(top, document.world, refframe=WORLD)
    writer = _Writer(top, document, devices)
    writer.write()
    return Written(document_text(top), tuple(writer.beyond_joints), tuple(writer.beyond))


class _Writer:
    """Writes frames, robots and devices in an order that keeps theirs."""

    def __init__(self, top: Element, document: CellDocument, blocks: bool) -> None:
        self.top = top
        self.nodes = document.nodes
        self.devices = document.devices
        self.blocks = blocks
        self.last = WORLD  # the last frame that is in no device
        self.beyond: list[Finding] = []  # elements that RobWork cannot read
        self.beyond_joints: list[Finding] = []
        self.has_first = False  # whether a <Frame> stands directly in the workcell
        names = {WORLD, *(node.name for node in document.nodes)}
        self.first = _free_name("linkwork.first", names)
        self.helpers = {
            node.name: _free_name(f"{node.name}.joint", names)
            for node in document.nodes
            if isinstance(node, FrameEntry) and needs_helper(node)
        }

    def write(self) -> None:
        """Write all nodes, and the devices in between and after them."""
        at = 0
        waiting = list(self.devices)
        while at < len(self.nodes):
            node = self.nodes[at]
            device = next((d for d in waiting if self.blocks and d.base == node.name), None)
            block = self._block(device, at) if device else ()
            if device and block:
                self._write_block(device, block)
                waiting.remove(device)
                at += len(block)
                continue
            if isinstance(node, RobotEntry):
                before = [d.name for d in waiting].index(node.name)
                self._write_devices(waiting[:before])
                del waiting[: before + 1]
                self._write_robot(node)
            else:
                self._write_first(node)
                self._write_frame(self.top, node, (node.name, node.parent))
                if node.joint is not None:
                    self._note(f"frame {node.name!r}", "a <Joint> outside of a device")
                self.last = node.name
            at += 1
        self._write_devices(waiting)

    def _write_first(self, frame: FrameEntry) -> None:
        """Write a frame on WORLD where the first frame of the workcell is none."""
        helper = self.helpers.get(frame.name)
        is_frame = frame.joint is None or helper is not None
        if is_frame and not self.has_first and (frame.parent != WORLD or helper):
            element = add(self.top, "Frame", name=self.first, refframe=WORLD)
            text = f"for RobWork, which puts the first frame of a workcell on {WORLD}"
            add_property(element, "linkwork.helper", text)
        self.has_first |= is_frame

    def _write_frame(
        self,
        parent: Element,
        frame: FrameEntry,
        names: tuple[str, str | None],
        prefix: str = "",
        *,
        end: bool = False,
    ) -> None:
        """Write a frame; names in an element of a device are without the prefix of the device."""
        helper, joint = self.helpers.get(frame.name), frame.joint
        leader = self.helpers.get(joint.depends.joint) if joint and joint.depends else None
        if joint and helper is None and (frame.attachable or robwork_type(joint) is None):
            kind = f"{'attachable ' if frame.attachable else ''}{joint.kind}"
            text = f"RobWork cannot read this {kind} joint, axis {number_text(*joint.axis)}"
            self.beyond_joints.append(Finding("warning", f"frame {frame.name!r}", text))
        write_frame(
            parent,
            with_local_leader(frame, prefix),
            *names,
            end=end,
            helper=helper.removeprefix(prefix) if helper else None,
            leader=leader.removeprefix(prefix) if leader else None,
        )

    def _note(self, element: str, text: str) -> None:
        self.beyond.append(Finding("error", element, f"RobWork cannot read {text}"))

    def _block(self, device: DeviceEntry, at: int) -> tuple[FrameEntry, ...]:
        """The frames of a device that can stand in an element of RobWork, from its base on."""
        block: dict[str, FrameEntry] = {}
        for node in self.nodes[at:]:
            inside = node.name.startswith(f"{device.name}.") and (not block or node.parent in block)
            if not isinstance(node, FrameEntry) or not inside:
                break
            block[node.name] = node
            if device.kind == "serial" and node.name == device.ends[0]:
                break
        frames = tuple(block.values())
        fits = {"serial": self._fits_serial, "tree": self._fits_tree, "mobile": self._fits_mobile}
        return frames if frames and fits.get(device.kind, _never)(device, frames) else ()

    def _fits_serial(self, device: DeviceEntry, frames: Sequence[FrameEntry]) -> bool:
        row = all(b.parent == a.name for a, b in pairwise(frames))
        return row and frames[-1].name == device.ends[0] and self._has_base(frames)

    def _fits_tree(self, device: DeviceEntry, frames: Sequence[FrameEntry]) -> bool:
        ends = [frame.name for frame in frames if _is_end(device, frame)]
        return self._has_base(frames) and tuple(ends) == device.ends

    def _has_base(self, frames: Sequence[FrameEntry]) -> bool:
        return frames[0].parent == self.last and frames[0].joint is None

    def _fits_mobile(self, device: DeviceEntry, frames: Sequence[FrameEntry]) -> bool:
        if (
            len(frames) < 3
            or device.radius != 1
            or device.joints != (frames[1].name, frames[2].name)
        ):
            return False
        cart, left, right = (frame.name for frame in frames[:3])
        plain = mobile_frames(cart, left, right, device.track)
        own = [replace(frame, visuals=(), collisions=(), home=()) for frame in frames[:3]]
        end = frames[-1].name if len(frames) > 3 else frames[0].name
        return own == plain and not frames[0].home and device.ends == (end,)

    def _write_block(self, device: DeviceEntry, frames: Sequence[FrameEntry]) -> None:
        prefix = f"{device.name}."
        local = {frame.name: frame.name.removeprefix(prefix) for frame in frames}
        tag = {"serial": "SerialDevice", "tree": "TreeDevice"}.get(device.kind, "MobileDevice")
        element = add(self.top, tag, name=device.name)
        if device.kind == "mobile":
            element.set("basename", local[frames[0].name])
            add(element, "AxelWidth").text = number_text(device.track)
            for wheel, frame in zip(("LeftWheel", "RightWheel"), frames[1:3], strict=True):
                add(element, wheel, name=local[frame.name])
        driven = _driven(device, frames)
        for frame in frames[3:] if device.kind == "mobile" else frames:
            own = replace(frame, home=()) if frame.name in driven else frame
            ref = None if device.kind == "serial" or frame is frames[0] else local[frame.parent]
            end = device.kind == "tree" and _is_end(device, frame)
            self._write_frame(element, own, (local[frame.name], ref), prefix, end=end)
        for frame in frames[:3] if device.kind == "mobile" else ():
            bare = FrameEntry(name=frame.name, parent="")
            shapes = replace(bare, visuals=frame.visuals, collisions=frame.collisions)
            write_extras(element, shapes, refframe=local[frame.name])
        home = [n for f in driven.values() for n in (f.home or KINDS[str(_kind(f))].neutral)]
        if any(home):
            add(element, "Q", name="Home").text = number_text(*home)

    def _write_robot(self, robot: RobotEntry) -> None:
        from lxml import etree

        self._note(f"robot {robot.name!r}", "a <Robot>")
        element = add(
            self.top,
            "Robot",
            name=robot.name,
            refframe=robot.parent,
            base=robot.base,
            end=robot.end,
            floating="true" if robot.floating else None,
            daf="true" if robot.attachable else None,
        )
        write_pose(element, robot.pose)
        element.append(etree.fromstring(urdf_text(robot.model).encode()))
        if robot.home is not None:
            add(element, "Q", name="Home").text = number_text(*robot.home)

    def _write_devices(self, devices: Iterable[DeviceEntry]) -> None:
        for device in devices:
            mobile = device.kind == "mobile"
            self._note(f"device {device.name!r}", "a <Device>")
            element = add(
                self.top,
                "Device",
                name=device.name,
                kind=device.kind,
                base=device.base,
                radius=number_text(device.radius) if mobile else None,
                track=number_text(device.track) if mobile else None,
            )
            for end in device.ends:
                add(element, "End", name=end)
            for name in (*device.joints, *device.parts):
                add(element, "Of", name=name)


def _free_name(name: str, taken: set[str]) -> str:
    """A name that no frame has, which is taken from now on."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _never(device: DeviceEntry, frames: Sequence[FrameEntry]) -> bool:
    del device, frames
    return False


def _is_end(device: DeviceEntry, frame: FrameEntry) -> bool:
    """Whether a frame is an end of a device that can be marked as one."""
    return frame.name in device.ends and frame.joint is None and not frame.movable


def _kind(frame: FrameEntry) -> str | None:
    return frame.joint.kind if frame.joint else None


def _driven(device: DeviceEntry, frames: Sequence[FrameEntry]) -> dict[str, FrameEntry]:
    """The frames whose numbers are the q of a device, in its order."""
    known = {frame.name: frame for frame in frames}
    if device.kind == "mobile":
        return {name: known[name] for name in device.joints}
    found: dict[str, FrameEntry] = {}
    for end in device.ends:
        path: list[FrameEntry] = []
        here = end
        while here != device.base:
            path.append(known[here])
            here = known[here].parent
        active = [f for f in path if f.joint and f.joint.active and not f.joint.depends]
        found.update({frame.name: frame for frame in reversed(active)})
    return found
