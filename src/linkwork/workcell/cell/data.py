"""The data of a workcell, which all functions of kinematics and dynamics take: frames and devices.

A cell is immutable, so whatever is derived from it is computed once and kept in its `cache`. Frames
and devices are checked when it is created; all errors are reported at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from linkwork.engine.cached_property import cached_property
from linkwork.errors import ModelError
from linkwork.model.parts import check_name
from linkwork.workcell.cell.cache import Cache
from linkwork.workcell.cell.checks import cell_findings
from linkwork.workcell.cell.devices import DeviceSpec
from linkwork.workcell.cell.frames import ROOT, CellFrame
from linkwork.workcell.state.layout import Slot, StateLayout
from linkwork.workcell.state.state import State, check_state

if TYPE_CHECKING:
    from typing_extensions import Self


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
