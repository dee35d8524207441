"""Descriptions of devices: groups of joints of a workcell with a base and an end frame.

`cell.with_device(...)` adds a device, and `cell.device(name)` returns a `device.Device` that
computes.

    SerialDevice      the joints on the path between two frames
    TreeDevice        the joints between a base and several ends, in the order of the first visit
    JointDevice       any joints, in the given order
    CompositeDevice   several devices as one, q in their order
    MobileDevice      a cart on two wheels
    FreeDevice        a movable frame: q is its position and quaternion wxyz
    RobotDevice       a Model that `with_robot` has placed in the cell
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from linkwork.errors import Finding, concerning, model_error, nearest
from linkwork.model.graph import closing_joints
from linkwork.model.model import Model
from linkwork.model.numbers import finite, instance, settle, text
from linkwork.model.parts import Joint, check_name
from linkwork.workcell.cell.frames import CellFrame

Frames: TypeAlias = Mapping[str, CellFrame]
Devices: TypeAlias = "Mapping[str, DeviceSpec]"


@dataclass(frozen=True)
class DeviceSpec:
    """Base class of all descriptions of devices."""

    name: str
    base: str
    end: str

    def __post_init__(self) -> None:
        settle(self, name=check_name("device", self.name))
        with concerning(f"device {self.name!r}"):
            self._settle()

    def _settle(self) -> None:
        settle(self, base=text(self.base, "base"), end=text(self.end, "end"))

    def all_ends(self) -> tuple[str, ...]:
        """Return its end frames; `end` is the first."""
        return (self.end,)

    def driven(self, frames: Frames, devices: Devices) -> tuple[str, ...]:
        """Return the frames whose values are its q, in order."""
        return path_joints(frames, self.base, (self.end,))

    def frame_names(self) -> tuple[str, ...]:
        """Return the frames that it refers to."""
        return (self.base, *self.all_ends())

    def findings(self, frames: Frames, devices: Devices) -> list[Finding]:
        """Return errors of the device in a cell."""
        problems = [
            f"frame {name!r} does not exist; {nearest(name, frames)}"
            for name in self.frame_names()
            if name not in frames
        ]
        element = f"device {self.name!r}"
        return [
            Finding("error", element, text) for text in problems or self._problems(frames, devices)
        ]

    def _problems(self, frames: Frames, devices: Devices) -> Iterator[str]:
        """Describe errors of a device whose frames exist."""
        yield from ()


@dataclass(frozen=True)
class SerialDevice(DeviceSpec):
    """The active joints on the path from a base frame to an end frame below it."""

    def _problems(self, frames: Frames, devices: Devices) -> Iterator[str]:
        yield from _off_the_base(self, frames)


@dataclass(frozen=True)
class TreeDevice(DeviceSpec):
    """The active joints on the paths from a base frame to several ends below it."""

    end: str = ""
    ends: tuple[str, ...] = ()

    def __init__(self, name: str, base: str, ends: Iterable[str]) -> None:
        names = (ends,) if isinstance(ends, str) else tuple(ends)
        if not names:
            raise model_error("a tree device needs at least one end", f"device {name!r}")
        settle(self, name=name, base=base, end=names[0], ends=names)
        self.__post_init__()

    def all_ends(self) -> tuple[str, ...]:
        """Return its end frames; `end` is the first."""
        return self.ends

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.name, self.base, self.ends)

    def driven(self, frames: Frames, devices: Devices) -> tuple[str, ...]:
        """Return the frames whose values are its q, in order."""
        return path_joints(frames, self.base, self.ends)

    def _problems(self, frames: Frames, devices: Devices) -> Iterator[str]:
        yield from _off_the_base(self, frames)


@dataclass(frozen=True)
class JointDevice(DeviceSpec):
    """Any joint frames or movable frames, in the given order."""

    joints: tuple[str, ...] = ()

    def _settle(self) -> None:
        super()._settle()
        settle(self, joints=tuple(text(name, "joint") for name in self.joints))

    def driven(self, frames: Frames, devices: Devices) -> tuple[str, ...]:
        """Return the frames whose values are its q, in order."""
        return self.joints

    def frame_names(self) -> tuple[str, ...]:
        """Return the frames that it refers to."""
        return (*super().frame_names(), *self.joints)

    def _problems(self, frames: Frames, devices: Devices) -> Iterator[str]:
        yield from _not_driven(self.joints, frames)


@dataclass(frozen=True)
class CompositeDevice(DeviceSpec):
    """Several devices as one; q is the concatenation of theirs."""

    parts: tuple[str, ...] = ()
    more_ends: tuple[str, ...] = ()

    def _settle(self) -> None:
        super()._settle()
        settle(self, parts=tuple(text(name, "device") for name in self.parts))
        settle(self, more_ends=tuple(text(name, "end") for name in self.more_ends))

    def all_ends(self) -> tuple[str, ...]:
        """Return its end frames; `end` is the first."""
        return (self.end, *self.more_ends)

    def driven(self, frames: Frames, devices: Devices) -> tuple[str, ...]:
        """Return the frames whose values are its q, in order."""
        return tuple(j for name in self.parts for j in devices[name].driven(frames, devices))

    def _problems(self, frames: Frames, devices: Devices) -> Iterator[str]:
        earlier = list(devices)[: list(devices).index(self.name)]
        missing = [name for name in self.parts if name not in earlier]
        for name in missing:
            yield f"no device {name!r} was added before it; {nearest(name, earlier)}"
        if not missing:
            yield from _duplicates(self.driven(frames, devices))


@dataclass(frozen=True)
class MobileDevice(DeviceSpec):
    """A cart on two wheels that do not slip. q has the angles of the left and right wheel.

    The cart is the movable frame `base`: x forward, y to the left, with its origin between the
    wheels.
    """

    end: str = ""
    left: str = ""
    right: str = ""
    radius: float = 1.0  # of the wheels [m]
    track: float = 1.0  # distance between the wheels [m]

    def _settle(self) -> None:
        settle(self, end=self.end or self.base)
        super()._settle()
        settle(self, left=text(self.left, "left"), right=text(self.right, "right"))
        for name in ("radius", "track"):
            value = finite(getattr(self, name), name)
            if value <= 0:
                raise model_error(f"{name}: expected a number > 0, got {value:g}")
            settle(self, **{name: value})

    def driven(self, frames: Frames, devices: Devices) -> tuple[str, ...]:
        """Return the frames whose values are its q, in order."""
        return (self.left, self.right)

    def frame_names(self) -> tuple[str, ...]:
        """Return the frames that it refers to."""
        return (*super().frame_names(), self.left, self.right)

    def _problems(self, frames: Frames, devices: Devices) -> Iterator[str]:
        if not frames[self.base].movable:
            yield f"frame {self.base!r} is not movable"
        for wheel in (self.left, self.right):
            if frames[wheel].size != 1:
                yield f"wheel {wheel!r} is not a joint with one coordinate"
        yield from _duplicates((self.left, self.right))


@dataclass(frozen=True)
class FreeDevice(DeviceSpec):
    """A movable frame as a device: q = [position (3), quaternion wxyz (4)] in its parent."""

    def driven(self, frames: Frames, devices: Devices) -> tuple[str, ...]:
        """Return the frames whose values are its q, in order."""
        return (self.end,)

    def _problems(self, frames: Frames, devices: Devices) -> Iterator[str]:
        if not frames[self.end].movable:
            yield f"frame {self.end!r} is not movable"


@dataclass(frozen=True)
class RobotDevice(DeviceSpec):
    """A Model in the cell: its link `x` is the frame `<name>.x`, with the q of its KinDyn."""

    model: Model
    base_link: str  # link or frame of the model that is the base
    floating: bool  # whether q starts with position and quaternion of the base
    joints: tuple[str, ...]  # frames whose values are q, in the order of the KinDyn
    cut: tuple[str, ...] = ()  # joints of the model to cut where it has closed loops, as of KinDyn

    def _settle(self) -> None:
        super()._settle()
        instance(self.model, Model, "model")

    def driven(self, frames: Frames, devices: Devices) -> tuple[str, ...]:
        """Return the frames whose values are its q, in order."""
        return self.joints

    def frame_names(self) -> tuple[str, ...]:
        """Return the frames that it refers to."""
        return (*super().frame_names(), *map(self.frame, self.model.frame_names))

    def frame(self, name: str) -> str:
        """Name of a link or frame of the model in the cell."""
        return f"{self.name}.{name}"

    def closing_joints(self) -> tuple[Joint, ...]:
        """Return the joints of the model that close loops; they are not frames of the cell."""
        return closing_joints(self.model, self.base_link, self.cut)


def path_joints(frames: Frames, base: str, ends: Sequence[str]) -> tuple[str, ...]:
    """Return the active joints between a base and ends that have coordinates, base first."""
    path = [frame for end in ends for frame in reversed(_frames_above(frames, end, base))]
    is_driven = {frame.name: frame.motion and frame.motion.active and frame.size for frame in path}
    return tuple(name for name, driven in is_driven.items() if driven)


def _frames_above(frames: Frames, end: str, base: str) -> list[CellFrame]:
    """Return the frames from an end up to a base, which is not included, or to WORLD."""
    path: list[CellFrame] = []
    current: str | None = end
    while current is not None and current != base:
        path.append(frames[current])
        current = frames[current].parent
    return path


def _off_the_base(device: DeviceSpec, frames: Frames) -> Iterator[str]:
    for end in device.all_ends():
        path = _frames_above(frames, end, device.base)
        if path and path[-1].parent is None:
            yield f"its base {device.base!r} does not carry its end {end!r}"


def _not_driven(names: Sequence[str], frames: Frames) -> Iterator[str]:
    for name in names:
        if not frames[name].size:
            reason = "depends on another joint" if frames[name].motion else "is fixed"
            yield f"frame {name!r} has no independent coordinates: it {reason}"
    yield from _duplicates(names)


def _duplicates(names: Sequence[str]) -> Iterator[str]:
    for name in dict.fromkeys(name for name in names if list(names).count(name) > 1):
        yield f"joint {name!r} appears twice"
