"""The layout of a state: the slice of each frame, and the attachable frames.

A state refers to the layout of its cell, not to the cell. The digest of the layout identifies the
structure: names, kinds and static parents of the frames, but not poses, limits and shapes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import (
    NameNotFoundError,
    name_not_found,
    shown,
)
from linkwork.model.joints import KINDS, JointKind

NORM_TOLERANCE = 1e-3
"""A quaternion or (cos, sin) pair whose norm differs from 1 by more is rejected."""

NORM_NOISE = 4e-16
"""A norm that differs from 1 by no more is not normalized."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One frame in the layout of a state."""

    name: str
    kind: str  # fixed, movable, or the kind of a joint
    size: int  # number of its values in a state
    parent: int  # index of its static parent; -1 of an attachable frame, and of WORLD
    attachable: bool

    @property
    def joint_kind(self) -> JointKind:
        """The joint kind of its coordinates."""
        return KINDS["floating" if self.kind == "movable" else self.kind]


@dataclass(frozen=True)
class StateLayout:
    """The slices of state values by frame."""

    cell: str  # name of the workcell
    slots: tuple[Slot, ...]  # of all frames, WORLD first

    def __reduce__(self) -> tuple[object, ...]:  # without cached values
        return type(self), (self.cell, self.slots)

    @cached_property
    def digest(self) -> str:
        """Digest of the structure."""
        text = repr((self.cell, self.slots))
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Index of a frame by its name."""
        return {slot.name: k for k, slot in enumerate(self.slots)}

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Index of the first value of each frame."""
        ends = np.cumsum([0, *(slot.size for slot in self.slots)])
        return tuple(ends[:-1].tolist())

    @cached_property
    def n_values(self) -> int:
        """The number of values of a state."""
        return sum(slot.size for slot in self.slots)

    @cached_property
    def attachable(self) -> tuple[int, ...]:
        """Indices of the attachable frames, in the order of a state's parents."""
        return tuple(k for k, slot in enumerate(self.slots) if slot.attachable)

    @cached_property
    def columns(self) -> Array:
        """(frames,) column of each attachable frame in a state's parents; 0 for other frames."""
        columns = np.zeros(len(self.slots), dtype=np.int32)
        columns[list(self.attachable)] = np.arange(len(self.attachable))
        return columns

    @cached_property
    def unit_norms(self) -> tuple[tuple[int, int, str], ...]:
        """(offset, count, description) of each quaternion or (cos, sin) pair in the values."""
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

    def extended(self, slot: Slot) -> StateLayout:
        """Return the layout with an additional frame at the end."""
        layout = StateLayout(self.cell, (*self.slots, slot))
        layout.__dict__["index"] = {**self.index, slot.name: len(self.slots)}
        return layout

    def frame(self, name: object) -> int:
        """Return the index of a frame; if there is none, raise an error with the nearest names."""
        try:
            return self.index[name]  # type: ignore[index]  # pyright: ignore[reportArgumentType]
        except (KeyError, TypeError):
            pass
        full_names = [frame for frame in self.index if frame.endswith(f".{name}")]
        if full_names:
            hint = f"did you mean {' or '.join(map(repr, full_names[:3]))}?"
            raise NameNotFoundError(f"no frame named {shown(name)}; {hint}")
        raise name_not_found("frame", name, self.index)

    def norms_in(self, columns: Array) -> tuple[tuple[int, int, str], ...]:
        """Return the entries of `unit_norms` that are in some columns of the values."""
        chosen = set(columns.tolist())
        return tuple(unit for unit in self.unit_norms if unit[0] in chosen)

    def span(self, frame: int) -> slice:
        """Return the slice of a frame in the values of a state."""
        offset = self.offsets[frame]
        return slice(offset, offset + self.slots[frame].size)
