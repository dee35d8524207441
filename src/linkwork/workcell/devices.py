"""Devices as data: which joints of a workcell belong together, between which frames.

`cell.with_device(...)` adds one, `cell.device(name)` gives it bound to the cell: see `device`.

    SerialDevice      the joints on the path between two frames
    TreeDevice        those between a base and several ends, in the order of first visit
    JointDevice       any joints, in the order given
    CompositeDevice   several devices as one, q in their order
    MobileDevice      a cart on two wheels
    FreeDevice        a movable frame: q is its position and quaternion wxyz
    RobotDevice       a Model that was placed in the cell; `with_robot` makes it
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from linkwork.errors import Finding, concerning, model_error, nearest
from linkwork.model.model import Model
from linkwork.model.numbers import finite, instance, settle, text
from linkwork.model.parts import check_name
from linkwork.workcell.parts import CellFrame

Frames: TypeAlias = Mapping[str, CellFrame]
Devices: TypeAlias = "Mapping[str, DeviceSpec]"


@dataclass(frozen=True)
class DeviceSpec:
    """What all devices have."""

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
        """Its end frames; `end` is the first."""
        return (self.end,)

    def driven(self, frames: Frames, devices: Devices) -> tuple[str, ...]:
        """The frames whose numbers are its q, in order."""
        return path_joints(frames, self.base, (self.end,))

    def frame_names(self) -> tuple[str, ...]:
        """The frames it names."""
        return (self.base, *self.all_ends())

    def findings(self, frames: Frames, devices: Devices) -> Iterator[Finding]:
        """What is wrong with it in a cell."""
        missing = False
        for name in self.frame_names():
            if name not in frames:
                missing = True
                what = f"frame {name!r} is not there; {nearest(name, frames)}"
                yield Finding("error", f"device {self.name!r}", what)
        if not missing:
            yield from self._more_findings(frames, devices)

    def _more_findings(self, frames: Frames, devices: Devices) -> Iterator[Finding]:
        yield from ()


@dataclass(frozen=True)
class SerialDevice(DeviceSpec):
    """The active joints on the path from a base frame to an end frame that it carries."""

    def _more_findings(self, frames: Frames, devices: Devices) -> Iterator[Finding]:
        yield from _off_the_base(self, frames)


@dataclass(frozen=True)
class TreeDevice(DeviceSpec):
    """The active joints on the paths from a base frame to several ends that it carries."""

    end: str = ""
    ends: tuple[str, ...] = ()

    def __init__(self, name: str, base: str, ends: Iterable[str]) -> None:
        given = (ends,) if isinstance(ends, str) else tuple(ends)
        if not given:
            raise model_error("a tree device needs an end", f"device {name!r}")
        settle(self, name=name, base=base, end=given[0], ends=given)
        self.__post_init__()

    def all_ends(self) -> tuple[str, ...]:
        """Its end frames; `end` is the first."""
        return self.ends

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.name, self.base, self.ends)

    def driven(self, frames: Frames, devices: Devices) -> tuple[str, ...]:
        """The frames whose numbers are its q, in order."""
        return path_joints(frames, self.base, self.ends)

    def _more_findings(self, frames: Frames, devices: Devices) -> Iterator[Finding]:
        yield from _off_the_base(self, frames)


@dataclass(frozen=True)
class JointDevice(DeviceSpec):
    """Any joint frames or movable frames, in the order given."""

    joints: tuple[str, ...] = ()

    def _settle(self) -> None:
        super()._settle()
        settle(self, joints=tuple(text(name, "joint") for name in self.joints))

    def driven(self, frames: Frames, devices: Devices) -> tuple[str, ...]:
        """The frames whose numbers are its q, in order."""
        return self.joints

    def frame_names(self) -> tuple[str, ...]:
        """The frames it names."""
        return (*super().frame_names(), *self.joints)

    def _more_findings(self, frames: Frames, devices: Devices) -> Iterator[Finding]:
        yield from _not_driven(self, self.joints, frames)


@dataclass(frozen=True)
class CompositeDevice(DeviceSpec):
    """Several devices as one; q is theirs, one after the other."""

    parts: tuple[str, ...] = ()
    more_ends: tuple[str, ...] = ()

    def _settle(self) -> None:
        super()._settle()
        settle(self, parts=tuple(text(name, "device") for name in self.parts))
        settle(self, more_ends=tuple(text(name, "end") for name in self.more_ends))

    def all_ends(self) -> tuple[str, ...]:
        """Its end frames; `end` is the first."""
        return (self.end, *self.more_ends)

    def driven(self, frames: Frames, devices: Devices) -> tuple[str, ...]:
        """The frames whose numbers are its q, in order."""
        return tuple(j for name in self.parts for j in devices[name].driven(frames, devices))

    def _more_findings(self, frames: Frames, devices: Devices) -> Iterator[Finding]:
        element = f"device {self.name!r}"
        earlier = list(devices)[: list(devices).index(self.name)]
        good = True
        for name in self.parts:
            if name not in earlier:
                good = False
                hint = nearest(name, earlier)
                yield Finding("error", element, f"no device {name!r} was added before it; {hint}")
        if good:
            yield from _named_twice(self, self.driven(frames, devices))


@dataclass(frozen=True)
class MobileDevice(DeviceSpec):
    """A cart on two wheels that do not slip. q holds the angles of the left and right wheel.

    The cart is the movable frame `base`: x forward, y to the left, its origin between the wheels.
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
                raise model_error(f"{name}: expected more than 0, got {value:g}")
            settle(self, **{name: value})

    def driven(self, frames: Frames, devices: Devices) -> tuple[str, ...]:
        """The frames whose numbers are its q, in order."""
        return (self.left, self.right)

    def frame_names(self) -> tuple[str, ...]:
        """The frames it names."""
        return (*super().frame_names(), self.left, self.right)

    def _more_findings(self, frames: Frames, devices: Devices) -> Iterator[Finding]:
        element = f"device {self.name!r}"
        if not frames[self.base].movable:
            yield Finding("error", element, f"frame {self.base!r} is not movable")
        for wheel in (self.left, self.right):
            if frames[wheel].size != 1:
                yield Finding("error", element, f"wheel {wheel!r} is no joint of one coordinate")
        yield from _named_twice(self, (self.left, self.right))


@dataclass(frozen=True)
class FreeDevice(DeviceSpec):
    """A movable frame as a device: q = [position (3), quaternion wxyz (4)] in its parent."""

    def driven(self, frames: Frames, devices: Devices) -> tuple[str, ...]:
        """The frames whose numbers are its q, in order."""
        return (self.end,)

    def _more_findings(self, frames: Frames, devices: Devices) -> Iterator[Finding]:
        if not frames[self.end].movable:
            text_ = f"frame {self.end!r} is not movable"
            yield Finding("error", f"device {self.name!r}", text_)


@dataclass(frozen=True)
class RobotDevice(DeviceSpec):
    """A Model placed in the cell: link `x` of it is the frame `<name>.x`; q is that of a KinDyn."""

    model: Model
    base_link: str  # link, or frame of the model, that was placed
    floating: bool  # whether q starts with position and quaternion of the base
    joints: tuple[str, ...]  # frames whose numbers are q, in the order of a KinDyn's

    def _settle(self) -> None:
        super()._settle()
        instance(self.model, Model, "model")

    def driven(self, frames: Frames, devices: Devices) -> tuple[str, ...]:
        """The frames whose numbers are its q, in order."""
        return self.joints

    def frame_names(self) -> tuple[str, ...]:
        """The frames it names."""
        return (*super().frame_names(), *map(self.frame, self.model.frame_names))

    def frame(self, name: str) -> str:
        """Name in the cell of a link or frame of the model."""
        return f"{self.name}.{name}"


def path_joints(frames: Frames, base: str, ends: Sequence[str]) -> tuple[str, ...]:
    """Active joints with coordinates between a base and some ends, each once, base first."""
    found: dict[str, None] = {}
    for end in ends:
        path: list[str] = []
        here: str | None = end
        while here is not None and here != base:
            path.append(here)
            here = frames[here].parent
        for name in reversed(path):
            motion = frames[name].motion
            if motion and motion.active and frames[name].size:
                found[name] = None
    return tuple(found)


def _off_the_base(device: DeviceSpec, frames: Frames) -> Iterator[Finding]:
    for end in device.all_ends():
        here: str | None = end
        while here is not None and here != device.base:
            here = frames[here].parent
        if here is None:
            what = f"its base {device.base!r} does not carry its end {end!r}"
            yield Finding("error", f"device {device.name!r}", what)


def _not_driven(device: DeviceSpec, names: Sequence[str], frames: Frames) -> Iterator[Finding]:
    for name in names:
        if not frames[name].size:
            depends = frames[name].motion is not None
            why = "depends on another joint" if depends else "is fixed"
            what = f"frame {name!r} has no coordinate of its own: it {why}"
            yield Finding("error", f"device {device.name!r}", what)
    yield from _named_twice(device, names)


def _named_twice(device: DeviceSpec, names: Sequence[str]) -> Iterator[Finding]:
    for name in dict.fromkeys(name for name in names if list(names).count(name) > 1):
        what = f"joint {name!r} is there twice"
        yield Finding("error", f"device {device.name!r}", what)
