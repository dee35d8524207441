"""The data of a workcell, which all functions of kinematics and dynamics take: frames and devices.

A cell is immutable, so whatever is derived from it is computed once and kept in its `cache`. Frames
and devices are checked when it is created; all errors are reported at once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from linkwork.engine.cached_property import cached_property
from linkwork.errors import Finding, ModelError, listed, nearest
from linkwork.model.graph import cycles
from linkwork.model.parts import check_name
from linkwork.workcell.cell.devices import DeviceSpec
from linkwork.workcell.cell.frames import ROOT, WORLD, CellFrame
from linkwork.workcell.state.layout import Slot, StateLayout
from linkwork.workcell.state.state import State, check_state

if TYPE_CHECKING:
    from typing_extensions import Self


def cell_findings(
    frames: Sequence[CellFrame],
    devices: Sequence[DeviceSpec],
    excluded_pairs: Sequence[Sequence[str]] = (),
) -> list[Finding]:
    """Return all errors in the frames, devices and pairs; empty if they form a workcell."""
    index = {frame.name: frame for frame in frames}
    findings = [
        *_root_findings(frames),
        *_duplicates("frame", [frame.name for frame in frames]),
        *_duplicates("device", [device.name for device in devices]),
        *_parent_findings(frames, index),
        *_dependence_findings(frames, index),
        *_pair_findings(excluded_pairs, index),
    ]
    if findings:
        return findings
    by_name = {device.name: device for device in devices}
    return [finding for device in devices for finding in device.findings(index, by_name)]


def _root_findings(frames: Sequence[CellFrame]) -> Iterator[Finding]:
    roots = [frame.name for frame in frames if frame.parent is None]
    if not frames or frames[0].name != WORLD or frames[0].parent is not None:
        yield Finding("error", "", f"the first frame must be {WORLD}, and have no parent")
    for name in roots[1:]:
        yield Finding("error", f"frame {name!r}", f"has no parent; only {WORLD} may have none")
    if frames and (frames[0].attachable or frames[0].kind != "fixed"):
        yield Finding("error", f"frame {WORLD!r}", "must be fixed and not attachable")


def _duplicates(kind: str, names: Sequence[str]) -> Iterator[Finding]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield Finding("error", f"{kind} {name!r}", "this name is used twice")
        seen.add(name)


def _parent_findings(
    frames: Sequence[CellFrame], index: Mapping[str, CellFrame]
) -> Iterator[Finding]:
    for frame in frames:
        for parent in {frame.parent, frame.default_parent} - {None, *index}:
            text = f"its parent {parent!r} does not exist; {nearest(parent, index)}"
            yield Finding("error", f"frame {frame.name!r}", text, frame.location)
    tree = {frame.name: frame.parent for frame in frames if frame.parent}
    default = {frame.name: frame.default_parent for frame in frames if frame.default_parent}
    for cycle in [*cycles(tree), *([] if default == tree else cycles(default))]:
        text = f"cycle of parents: {listed(cycle)}"
        yield Finding("error", f"frame {cycle[0]!r}", text, index[cycle[0]].location)


def leader_findings(frame: CellFrame, index: Mapping[str, CellFrame]) -> Iterator[Finding]:
    """Return errors of the joint that a frame depends on, if there is one."""
    depends = frame.motion.depends if frame.motion else None
    if depends is None:
        return
    leader, element = index.get(depends.joint), f"frame {frame.name!r}"
    if leader is None or leader.motion is None:
        joints = [name for name, other in index.items() if other.motion]
        hint = nearest(depends.joint, joints)
        text = f"depends on {depends.joint!r}, which is not a joint; {hint}"
        yield Finding("error", element, text, frame.location)
    elif leader.motion.motion_kind.nq != 1:
        text = f"depends on {depends.joint!r}, which has several coordinates"
        yield Finding("error", element, text, frame.location)


def _dependence_findings(
    frames: Sequence[CellFrame], index: Mapping[str, CellFrame]
) -> Iterator[Finding]:
    leaders: dict[str, str] = {}
    for frame in frames:
        if frame.motion and frame.motion.depends:
            leaders[frame.name] = frame.motion.depends.joint
            yield from leader_findings(frame, index)
    for cycle in cycles(leaders):
        text = f"cycle of dependent joints: {listed(cycle)}"
        yield Finding("error", f"frame {cycle[0]!r}", text, index[cycle[0]].location)


def _pair_findings(
    pairs: Sequence[Sequence[str]], index: Mapping[str, CellFrame]
) -> Iterator[Finding]:
    for pair in pairs:
        if len(pair) != 2:
            text = f"expected two frames, got {listed(list(pair))}"
            yield Finding("error", "excluded_pairs", text)
        for name in pair:
            if name not in index:
                text = f"frame {name!r} does not exist; {nearest(name, index)}"
                yield Finding("error", "excluded_pairs", text)


K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

CACHE_SIZE = 256  # entries of a dictionary below; one more replaces the oldest


class Results(dict[K, T]):
    """Results of a function by its argument; reading one that exists costs no call of Python."""

    def __init__(self, compute: Callable[[K], T]) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, key: K) -> T:
        return _stored(self, key, self._compute(key))


class Cache:
    """Values that are derived from an immutable object, by topic and key."""

    def __init__(self) -> None:
        self._topics: dict[str, dict[Hashable, Any]] = {}

    def get(self, topic: str, key: Hashable, compute: Callable[..., T], *arguments: Any) -> T:
        """Return the value of a key; if there is none, compute it from arguments and store it."""
        try:
            return self._topics[topic][key]
        except KeyError:
            pass
        return _stored(self._topics.setdefault(topic, {}), key, compute(*arguments))

    def count(self, topic: str) -> int:
        """Return the number of entries of a topic."""
        return len(self._topics.get(topic, {}))


def _stored(entries: dict[K, T], key: K, value: T) -> T:
    """Store a value; return the value that another thread has stored first, if any."""
    if len(entries) >= CACHE_SIZE:
        entries.pop(next(iter(entries)), None)  # the oldest
    return entries.setdefault(key, value)


@dataclass(frozen=True)
class CellData:
    """Frames and devices of a workcell, and the layout of its states."""

    name: str
    frames: tuple[CellFrame, ...] = (ROOT,)  # WORLD first
    devices: tuple[DeviceSpec, ...] = ()
    excluded_pairs: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", check_name("workcell", self.name))
        object.__setattr__(self, "frames", tuple(self.frames))
        object.__setattr__(self, "devices", tuple(self.devices))
        object.__setattr__(self, "excluded_pairs", tuple(map(tuple, self.excluded_pairs)))
        findings = cell_findings(self.frames, self.devices, self.excluded_pairs)
        if findings:
            raise ModelError(findings)

    def __reduce__(self) -> tuple[object, ...]:  # without cached values
        return type(self), (self.name, self.frames, self.devices, self.excluded_pairs)

    def extended(self, frame: CellFrame) -> Self:
        """Return the cell with an additional valid frame; nothing is checked again."""
        cell = object.__new__(type(self))
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        values |= {"frames": (*self.frames, frame)}
        layout = self.layout.extended(_slot(frame, self.layout.index))
        cell.__dict__.update(values, layout=layout)
        return cell

    @cached_property
    def cache(self) -> Cache:
        """Everything that is derived from the cell and worth keeping."""
        return Cache()

    @cached_property
    def layout(self) -> StateLayout:
        """The layout of states: the slice of each frame."""
        index = {frame.name: k for k, frame in enumerate(self.frames)}
        return StateLayout(self.name, tuple(_slot(frame, index) for frame in self.frames))

    @cached_property
    def default_state(self) -> State:
        """The state that the frames define by their default values and parents."""
        index = self.layout.index
        values = [value for frame in self.frames if frame.size for value in frame.home]
        parents = [index[str(f.default_parent)] for f in self.frames if f.attachable]
        return State(self.layout, values, np.array(parents, dtype=np.int32))

    @cached_property
    def frame_names(self) -> tuple[str, ...]:
        """Names of all frames in the order of their indices, WORLD first."""
        return tuple(frame.name for frame in self.frames)

    @cached_property
    def device_names(self) -> tuple[str, ...]:
        """Names of the devices."""
        return tuple(device.name for device in self.devices)

    @cached_property
    def device_specs(self) -> Mapping[str, DeviceSpec]:
        """Descriptions of the devices by name."""
        return {device.name: device for device in self.devices}

    def frame(self, name: str) -> CellFrame:
        """Return the frame with this name."""
        return self.frames[self.layout.frame(name)]

    def frame_index(self, name: str) -> int:
        """Return the index of a frame in `frames`."""
        return self.layout.frame(name)

    def check_state(self, state: State) -> State:
        """Return the state, or raise a StateError if it does not belong to this cell."""
        return check_state(self.layout, state)


def _slot(frame: CellFrame, index: Mapping[str, int]) -> Slot:
    """Return the slot of a frame in a state; `index` has the indices of all frames by name."""
    is_root = frame.attachable or frame.parent is None
    return Slot(
        name=frame.name,
        kind=frame.kind,
        size=frame.size,
        parent=-1 if is_root else index[str(frame.parent)],
        attachable=frame.attachable,
    )
