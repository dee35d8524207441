"""Writer of workcells as RobWork's XML. Reading the file returns an equal workcell.

Devices become RobWork's elements if their frames allow it: a chain of consecutive frames for a
SerialDevice, consecutive frames for a TreeDevice or a MobileDevice. Everything that RobWork cannot
express is written as extensions, see `extensions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from math import isfinite, isinf
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from linkwork.errors import Finding
from linkwork.io.urdf.writer import robot_element, write_link
from linkwork.io.writing import (
    add,
    degrees_text,
    document_text,
    format_numbers,
    top_element,
)
from linkwork.model.geometry import Material, Mesh, Shape
from linkwork.model.inertia import NO_INERTIA
from linkwork.model.joints import KINDS
from linkwork.model.parts import NO_LIMITS, Link, Mimic
from linkwork.model.pose import IDENTITY, Pose
from linkwork.workcell.cell.devices import (
    CompositeDevice,
    DeviceSpec,
    JointDevice,
    MobileDevice,
    RobotDevice,
    SerialDevice,
    TreeDevice,
)
from linkwork.workcell.cell.frames import WORLD, CellFrame, Motion
from linkwork.workcell.files.devices import mobile_frames
from linkwork.workcell.files.extensions import DEVICE_KINDS, attributes_of
from linkwork.workcell.files.geometry import MESH, PRIMITIVES
from linkwork.workcell.files.joints import JOINT_TYPES, LINKWORK_TYPE, MOTION_PROPERTY
from linkwork.workcell.workcell import WorkCell

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

# What devices consist of: names of joints or devices.
_PARTS: dict[type[DeviceSpec], Callable[[DeviceSpec], tuple[str, ...]]] = {
    MobileDevice: attrgetter("left", "right"),
    JointDevice: attrgetter("joints"),
    CompositeDevice: attrgetter("parts"),
}
_LARGEST = 1e6  # limits beyond this [rad] are not written in degrees


def with_local_leader(frame: CellFrame, prefix: str) -> CellFrame:
    """Return the frame with the name of its leader relative to the device."""
    if frame.motion is None or frame.motion.depends is None:
        return frame
    depends = frame.motion.depends
    leader = replace(depends, joint=depends.joint.removeprefix(prefix))
    return replace(frame, motion=replace(frame.motion, depends=leader))


def explicit_home(frame: CellFrame) -> tuple[float, ...]:
    """Return the values of a frame in the default state; empty if they need not be written."""
    return () if replace(frame, home=()).home == frame.home else frame.home


def add_property(frame: Element, name: str, text: str | None = None) -> Element:
    """Add a `<Property>`."""
    element = add(frame, "Property", name=name)
    element.text = text
    return element


def write_pose(parent: Element, pose: Pose, *, always: bool = False) -> None:
    """Add `<RPY>` and `<Pos>`; an identity is written only with `always`."""
    if pose == IDENTITY and not always:
        return
    x, y, z = pose.rpy
    add(parent, "RPY").text = " ".join(map(degrees_text, (z, y, x)))
    add(parent, "Pos").text = format_numbers(*pose.xyz)


def write_frame(
    parent: Element,
    frame: CellFrame,
    name: str,
    refframe: str | None = None,
    *,
    end: bool = False,
) -> None:
    """Add a frame or joint.

    Args:
        parent: the element to add it to.
        frame: the frame.
        name: name of the frame in that element.
        refframe: name of its parent, if it must be written.
        end: whether it is marked as an end of a TreeDevice.
    """
    joint, daf = frame.motion, "true" if frame.attachable else None
    if joint is None:
        kind = "Movable" if frame.movable else "EndEffector" if end else None
        element = add(parent, "Frame", name=name, refframe=refframe, type=kind, daf=daf)
        write_pose(element, frame.parent_H_frame)
    else:
        robwork = robwork_type(joint)
        kind, state = robwork or LINKWORK_TYPE, "Passive" if robwork and not joint.active else None
        names = {"name": name, "refframe": refframe}
        element = add(parent, "Joint", **names, type=kind, state=state, daf=daf)
        # without <Pos>, RobWork reads <PosLimit> as <Pos>
        write_pose(element, frame.parent_H_frame, always=True)
        if robwork:
            _write_limits(element, joint)
        if not robwork or not _is_plain(joint):
            _write_motion(add_property(element, MOTION_PROPERTY), joint)
    write_extras(element, frame)


def robwork_type(joint: Motion) -> str | None:
    """Return the type of a joint in RobWork with the same motion; None if there is none."""
    if joint.joint_H_frame != IDENTITY or joint.backwards:
        return None
    for name, motions in JOINT_TYPES.items():
        if len(motions) == 1 and motions[0][1:] == (joint.kind, joint.axis):
            return name
    return None


def _is_plain(joint: Motion) -> bool:
    """Whether RobWork's elements describe a joint with a RobWork type completely."""
    limits = joint.limits
    is_bounded = isfinite(limits.lower) and isfinite(limits.upper)
    is_free = (limits.lower, limits.upper) == (NO_LIMITS.lower, NO_LIMITS.upper)
    is_small = not is_bounded or max(-limits.lower, limits.upper) <= _LARGEST
    has_limits = KINDS[joint.kind].nv == 1 or isinf(joint.acceleration)
    is_in_robwork = isinf(limits.effort) and not joint.joint
    return (is_free or is_bounded) and is_small and has_limits and is_in_robwork


def _write_limits(element: Element, joint: Motion) -> None:
    """Add the limits of a joint with one coordinate; RobWork needs both bounds or none."""
    if KINDS[joint.kind].nv != 1:
        return
    limits = joint.limits
    is_angular = joint.kind == "revolute"

    def in_file_units(value: float) -> str:
        return degrees_text(value) if is_angular else format_numbers(value)

    if isfinite(limits.lower) and isfinite(limits.upper):
        bounds = {"min": in_file_units(limits.lower), "max": in_file_units(limits.upper)}
        add(element, "PosLimit", **bounds)
    if isfinite(limits.velocity):
        add(element, "VelLimit", max=in_file_units(limits.velocity))
    if isfinite(joint.acceleration):
        add(element, "AccLimit", max=in_file_units(joint.acceleration))
    if joint.depends:
        _write_dependence(element, "Depend", joint.depends)


def _write_motion(parent: Element, joint: Motion) -> None:
    axis = format_numbers(*joint.axis)
    element = add(parent, "motion", kind=joint.kind, axis=axis, **attributes_of(joint))
    if joint.joint_H_frame != IDENTITY:
        pose = joint.joint_H_frame
        add(element, "origin", xyz=format_numbers(*pose.xyz), rpy=format_numbers(*pose.rpy))
    if joint.limits != NO_LIMITS:
        add(element, "limit", **attributes_of(joint.limits))
    if joint.depends:
        _write_dependence(element, "depends", joint.depends)


def _write_dependence(parent: Element, tag: str, depends: Mimic) -> None:
    gain, offset = format_numbers(depends.multiplier), format_numbers(depends.offset)
    add(parent, tag, on=depends.joint, gain=gain, offset=offset)


def write_extras(element: Element, frame: CellFrame, refframe: str | None = None) -> None:
    """Add the shapes, inertia, properties and default state of a frame."""
    reference = {"refframe": refframe}
    bare = tuple(replace(shape, material=None) for shape in frame.visuals)
    simple = all(map(_is_simple, (*frame.visuals, *frame.collisions)))
    simple = simple and all(shape.material is None for shape in frame.collisions)
    are_equal = frame.collisions == bare
    for shape in frame.visuals if simple else ():
        colmodel = None if are_equal else "Disabled"
        drawable = add(element, "Drawable", name=shape.name, **reference, colmodel=colmodel)
        _write_shape(drawable, shape)
    for shape in frame.collisions if simple and not are_equal else ():
        _write_shape(add(element, "CollisionModel", name=shape.name, **reference), shape)
    if frame.inertia != NO_INERTIA or not simple:
        shapes = () if simple else (frame.visuals, frame.collisions)
        visuals, collisions = shapes or ((), ())
        link = Link(name=frame.name, inertia=frame.inertia, visuals=visuals, collisions=collisions)
        write_link(add_property(element, "linkwork.link"), link)
    for name, value in frame.properties:
        add(element, "Property", name=name, **reference).text = value
    if home := explicit_home(frame):
        add_property(element, "linkwork.home", format_numbers(*home))
    if frame.home_parent is not None:
        add_property(element, "linkwork.parent", frame.home_parent)


def _is_simple(shape: Shape) -> bool:
    """Whether RobWork can express the geometry and the color of a shape."""
    material = shape.material
    has_only_color = material is None or (
        material.rgba is not None and material == Material(rgba=material.rgba)
    )
    if isinstance(shape.geometry, Mesh):
        return has_only_color and shape.geometry.scale == (1.0, 1.0, 1.0)
    return has_only_color and type(shape.geometry).__name__ in PRIMITIVES


def _write_shape(element: Element, shape: Shape) -> None:
    write_pose(element, shape.link_H_shape)
    if shape.material and shape.material.rgba:
        *color, alpha = shape.material.rgba
        add(element, "RGB").text = format_numbers(*color, *([] if alpha == 1 else [alpha]))
    if isinstance(shape.geometry, Mesh):
        add(element, MESH, file=shape.geometry.filename)
    else:
        tag = type(shape.geometry).__name__
        values = map(format_numbers, shape.geometry.sizes)
        add(element, tag, **dict(zip(PRIMITIVES[tag][1], values, strict=True)))


class WorkcellOutput(NamedTuple):
    """A workcell as XML."""

    text: str
    joints: tuple[Finding, ...]  # joints that RobWork cannot read, as warnings
    elements: tuple[Finding, ...]  # robots, devices, and joints outside of devices, as errors


def write_workcell(cell: WorkCell, *, devices: bool = True) -> WorkcellOutput:
    """Write a workcell as XML.

    Args:
        cell: the workcell.
        devices: whether devices become RobWork's elements where possible; if not, all devices are
            written as extensions.
    """
    top = top_element("WorkCell", name=cell.name)
    write_extras(top, cell.frames[0], refframe=WORLD)
    writer = _Writer(top, cell, devices)
    writer.write()
    return WorkcellOutput(
        document_text(top), tuple(writer.unsupported_joints), tuple(writer.unsupported_elements)
    )


class _Writer:
    """Writes frames, robots and devices, and preserves their order."""

    def __init__(self, top: Element, cell: WorkCell, blocks: bool) -> None:
        self.top = top
        self.cell = cell
        self.nodes = _nodes(cell)
        self.blocks = blocks
        self.last = WORLD  # the last frame outside of devices
        self.unsupported_elements: list[Finding] = []  # elements that RobWork cannot read
        self.unsupported_joints: list[Finding] = []
        self.has_first = False  # whether there is a <Frame> directly in the workcell

    def write(self) -> None:
        """Write all nodes, and the devices between and after them."""
        index = 0
        pending = list(self.cell.devices)
        while index < len(self.nodes):
            node = self.nodes[index]
            device = next((d for d in pending if self._starts_at(node, d)), None)
            block = self._block(device, index) if device else ()
            if device and block:
                self._write_block(device, block)
                pending.remove(device)
                index += len(block)
                continue
            if isinstance(node, RobotDevice):
                before = [d.name for d in pending].index(node.name)
                self._write_devices(pending[:before])
                del pending[: before + 1]
                self._write_robot(node)
            else:
                self._write_frame(self.top, node, (node.name, str(node.parent)))
                if node.motion is not None:
                    self._note(f"frame {node.name!r}", "a <Joint> outside of a device")
                elif not self.has_first and node.parent != WORLD:
                    self._note(f"frame {node.name!r}", "a first <Frame> that is not on WORLD")
                self.has_first |= node.motion is None
                self.last = node.name
            index += 1
        self._write_devices(pending)
        self._write_setup()

    def _write_setup(self) -> None:
        """Write the pairs of frames whose collisions are ignored."""
        if not self.cell.excluded_pairs:
            return
        exclude = add(add(self.top, "CollisionSetup"), "Exclude")
        for first, second in self.cell.excluded_pairs:
            add(exclude, "FramePair", first=first, second=second)
        self._note("the workcell", "a <CollisionSetup> that is not a file of its own")

    def _starts_at(self, node: CellFrame | RobotDevice, device: DeviceSpec) -> bool:
        """Whether RobWork's element for a device could start with a node."""
        return self.blocks and not isinstance(device, RobotDevice) and device.base == node.name

    def _write_frame(
        self,
        parent: Element,
        frame: CellFrame,
        names: tuple[str, str | None],
        prefix: str = "",
        *,
        end: bool = False,
    ) -> None:
        """Write a frame; in the element of a device, names are without the prefix."""
        joint = frame.motion
        if joint and (frame.attachable or robwork_type(joint) is None):
            kind = f"{'attachable ' if frame.attachable else ''}{joint.kind}"
            text = f"RobWork cannot read this {kind} joint, axis {format_numbers(*joint.axis)}"
            self.unsupported_joints.append(Finding("warning", f"frame {frame.name!r}", text))
        write_frame(parent, with_local_leader(frame, prefix), *names, end=end)

    def _note(self, element: str, text: str) -> None:
        self.unsupported_elements.append(Finding("error", element, f"RobWork cannot read {text}"))

    def _block(self, device: DeviceSpec, index: int) -> tuple[CellFrame, ...]:
        """Return the frames of RobWork's element for a device; empty if impossible."""
        block: dict[str, CellFrame] = {}
        for node in self.nodes[index:]:
            if not isinstance(node, CellFrame) or not node.name.startswith(f"{device.name}."):
                break
            if block and node.parent not in block:
                break
            block[node.name] = node
            if isinstance(device, SerialDevice) and node.name == device.end:
                break
        frames = tuple(block.values())
        return frames if frames and self._fits(device, frames) else ()

    def _fits(self, device: DeviceSpec, frames: Sequence[CellFrame]) -> bool:
        """Whether RobWork's element with these frames describes a device completely."""
        has_base = frames[0].parent == self.last and frames[0].motion is None
        match device:
            case SerialDevice():
                row = all(b.parent == a.name for a, b in pairwise(frames))
                return has_base and row and frames[-1].name == device.end
            case TreeDevice():
                ends = [frame.name for frame in frames if _is_end(device, frame)]
                return has_base and tuple(ends) == device.ends
            case MobileDevice():
                return _fits_mobile(device, frames)
            case _:
                return False

    def _write_block(self, device: DeviceSpec, frames: Sequence[CellFrame]) -> None:
        prefix = f"{device.name}."
        local = {frame.name: frame.name.removeprefix(prefix) for frame in frames}
        element = add(self.top, type(device).__name__, name=device.name)
        mobile = isinstance(device, MobileDevice)
        if mobile:
            element.set("basename", local[frames[0].name])
            add(element, "AxelWidth").text = format_numbers(device.track)
            for wheel, frame in zip(("LeftWheel", "RightWheel"), frames[1:3], strict=True):
                add(element, wheel, name=local[frame.name])
        driven = device.driven({frame.name: frame for frame in self.cell.frames}, {})
        for frame in frames[3:] if mobile else frames:
            without_home = replace(frame, home=()) if frame.name in driven else frame
            is_implicit = isinstance(device, SerialDevice) or frame is frames[0]
            ref = None if is_implicit else local[str(frame.parent)]
            end = isinstance(device, TreeDevice) and _is_end(device, frame)
            self._write_frame(element, without_home, (local[frame.name], ref), prefix, end=end)
        for frame in frames[:3] if mobile else ():
            bare = CellFrame(name=frame.name, parent=None)
            shapes = replace(bare, visuals=frame.visuals, collisions=frame.collisions)
            write_extras(element, shapes, refframe=local[frame.name])
        home = [value for name in driven for value in self.cell.frame(name).home]
        if any(home):
            add(element, "Q", name="Home").text = format_numbers(*home)

    def _write_robot(self, robot: RobotDevice) -> None:
        self._note(f"robot {robot.name!r}", "a <Robot>")
        base = self.cell.frame(robot.frame(robot.base_link))
        element = add(
            self.top,
            "Robot",
            name=robot.name,
            refframe=str(base.parent),
            base=None if robot.base_link == robot.model.default_base else robot.base_link,
            end=robot.end.removeprefix(f"{robot.name}."),
            floating="true" if robot.floating else None,
            daf="true" if base.attachable else None,
        )
        write_pose(element, base.parent_H_frame)
        element.append(robot_element(robot.model))
        joints = [self.cell.frame(name) for name in robot.joints]
        if any(explicit_home(joint) for joint in joints):
            home = [value for joint in joints for value in joint.home]
            add(element, "Q", name="Home").text = format_numbers(*home)

    def _write_devices(self, devices: Iterable[DeviceSpec]) -> None:
        kinds = {cls: kind for kind, cls in DEVICE_KINDS.items()}
        for device in devices:
            self._note(f"device {device.name!r}", "a <Device>")
            element = add(
                self.top, "Device", name=device.name, kind=kinds[type(device)], base=device.base
            )
            if isinstance(device, MobileDevice):
                element.set("radius", format_numbers(device.radius))
                element.set("track", format_numbers(device.track))
            for end in device.all_ends():
                add(element, "End", name=end)
            for name in _PARTS[type(device)](device) if type(device) in _PARTS else ():
                add(element, "Of", name=name)


def _nodes(cell: WorkCell) -> tuple[CellFrame | RobotDevice, ...]:
    """Return the frames of a cell in their order; a robot replaces its frames."""
    robots = [device for device in cell.devices if isinstance(device, RobotDevice)]
    owner = {robot.frame(name): robot for robot in robots for name in robot.model.frame_names}
    nodes: list[CellFrame | RobotDevice] = []
    written: set[str] = set()
    for frame in cell.frames[1:]:
        robot = owner.get(frame.name)
        if robot is None:
            nodes.append(frame)
        elif robot.name not in written:
            nodes.append(robot)
            written.add(robot.name)
    return tuple(nodes)


def _fits_mobile(device: MobileDevice, frames: Sequence[CellFrame]) -> bool:
    if len(frames) < 3 or device.radius != 1:
        return False
    cart, left, right = (frame.name for frame in frames[:3])
    expected = mobile_frames(cart, left, right, device.track)
    plain = [replace(frame, visuals=(), collisions=(), home=()) for frame in frames[:3]]
    end = frames[-1].name if len(frames) > 3 else cart
    has_names = (device.left, device.right, device.end) == (left, right, end)
    return has_names and plain == expected and not explicit_home(frames[0])


def _is_end(device: TreeDevice, frame: CellFrame) -> bool:
    """Whether a frame can be marked as an end of a device."""
    return frame.name in device.ends and frame.motion is None and not frame.movable
