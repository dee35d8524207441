"""Where the numbers of each frame stand in a state, and which frames can be attached.

The layout is all that a state needs to know of its cell. Its digest tells states of one structure
from all others: names, kinds and static parents of the frames; poses, limits and shapes may change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import NameNotFoundError, name_not_found, shown
from linkwork.model.joints import KINDS, JointKind
from linkwork.workcell.parts import CellFrame


@dataclass(frozen=True, slots=True)
class Slot:
    """What a state knows of one frame."""

    name: str
    kind: str  # fixed, movable, or the kind of a joint
    size: int  # how many numbers it has in a state
    parent: int  # index of its static parent; -1 of an attachable frame, and of WORLD
    attachable: bool

    @property
    def joint_kind(self) -> JointKind:
        """The kind of joint that its coordinates belong to."""
        return KINDS["floating" if self.kind == "movable" else self.kind]


@dataclass(frozen=True)
class StateLayout:
    """Slices of a state's numbers by frame."""

    cell: str  # name of the workcell
    slots: tuple[Slot, ...]  # of all frames, WORLD first

    def __reduce__(self) -> tuple[object, ...]:  # without what is computed from them
        return type(self), (self.cell, self.slots)

    @cached_property
    def digest(self) -> str:
        """Identifies the structure."""
        text = repr((self.cell, self.slots))
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Index of a frame by its name."""
        return {slot.name: k for k, slot in enumerate(self.slots)}

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where the numbers of each frame begin."""
        ends = np.cumsum([0, *(slot.size for slot in self.slots)])
        return tuple(ends[:-1].tolist())

    @cached_property
    def n_values(self) -> int:
        """How many numbers a state has."""
        return sum(slot.size for slot in self.slots)

    @cached_property
    def attachable(self) -> tuple[int, ...]:
        """Indices of the attachable frames, in the order of a state's parents."""
        return tuple(k for k, slot in enumerate(self.slots) if slot.attachable)

    @cached_property
    def column(self) -> Mapping[int, int]:
        """Where the parent of an attachable frame stands in a state's parents, by its index."""
        return {frame: k for k, frame in enumerate(self.attachable)}

    @cached_property
    def columns(self) -> Array:
        """(frames,) where the parent of an attachable frame stands in a state's parents; else 0."""
        found = np.zeros(len(self.slots), dtype=np.int32)
        found[list(self.attachable)] = np.arange(len(self.attachable))
        return found

    @cached_property
    def unit_norms(self) -> tuple[tuple[int, int, str], ...]:
        """(offset, count, what) of each quaternion or (cos, sin) pair among the numbers."""
        return tuple(
            (offset + part.start, part.count, f"the {part.name} of {slot.name!r}")
            for slot, offset in zip(self.slots, self.offsets, strict=True)
            if slot.size
            for part in slot.joint_kind.unit_norm
        )

    @cached_property
    def part_roots(self) -> Array:
        """(frames,) the attachable frame, or WORLD, that carries each frame in every state."""
        roots = np.zeros(len(self.slots), dtype=np.int32)
        for k in range(len(self.slots)):
            above, chain = k, []
            while above and not self.slots[above].attachable:
                chain.append(above)
                above = self.slots[above].parent
            roots[[*chain, k]] = above
        return roots

    def extended(self, frame: CellFrame) -> StateLayout:
        """The layout with a further frame at the end."""
        layout = StateLayout(self.cell, (*self.slots, slot_of(frame, self.index)))
        layout.__dict__["index"] = {**self.index, frame.name: len(self.slots)}
        return layout

    def frame(self, name: object) -> int:
        """Index of a frame, or an error with the nearest names."""
        try:
            return self.index[name]  # type: ignore[index]  # pyright: ignore[reportArgumentType]
        except (KeyError, TypeError):
            pass
        full = [known for known in self.index if known.endswith(f".{name}")]
        if full:
            text = f"no frame named {shown(name)}; did you mean {' or '.join(map(repr, full[:3]))}?"
            raise NameNotFoundError(text)
        raise name_not_found("frame", name, self.index)

    def norms_in(self, columns: Array) -> tuple[tuple[int, int, str], ...]:
        """Those of `unit_norms` that some of a state's numbers belong to."""
        chosen = set(columns.tolist())
        return tuple(unit for unit in self.unit_norms if unit[0] in chosen)

    def span(self, frame: int) -> slice:
        """Slice of a state's numbers that belongs to a frame."""
        offset = self.offsets[frame]
        return slice(offset, offset + self.slots[frame].size)


def layout_of(cell: str, frames: Iterable[CellFrame]) -> StateLayout:
    """The layout of the states of some frames."""
    frames = tuple(frames)
    index = {frame.name: k for k, frame in enumerate(frames)}
    return StateLayout(cell, tuple(slot_of(frame, index) for frame in frames))


def slot_of(frame: CellFrame, index: Mapping[str, int]) -> Slot:
    """What a state knows of a frame; `index` is that of all frames by name."""
    is_root = frame.attachable or frame.parent is None
    return Slot(
        name=frame.name,
        kind=frame.kind,
        size=frame.size,
        parent=-1 if is_root else index[str(frame.parent)],
        attachable=frame.attachable,
    )
