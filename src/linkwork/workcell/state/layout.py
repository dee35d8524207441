"""The layout of a state: the slice of each frame, and the attachable frames.

A state refers to the layout of its cell, not to the cell. The digest of the layout identifies the
structure: names, kinds and static parents of the frames, but not poses, limits and shapes.

JSON of a state has the names of the frames, is readable, and keeps the full precision of all
values. It contains the layout, so a state can be read without its cell; the cell checks it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np

from linkwork.engine.cached_property import cached_property
from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import (
    LinkworkError,
    NameNotFoundError,
    StateError,
    clipped,
    name_not_found,
    shown,
)
from linkwork.model.graph import cycles
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


Contents: TypeAlias = tuple[StateLayout, Array, Array]
"""The layout, values and parents of a state."""

FORMAT = "linkwork state 1"
_SIZES = {"movable": 7} | {name: kind.nq for name, kind in KINDS.items()}
# Limit of a batch of states without values, whose size the length of the data cannot confirm.
_MAX_EMPTY_ROWS = 1 << 20


def state_to_json(layout: StateLayout, values: Array, parents: Array) -> str:
    """Convert a state to JSON."""
    names = [slot.name for slot in layout.slots]
    data = {
        "format": FORMAT,
        "digest": layout.digest,
        "cell": layout.cell,
        "batch": list(values.shape[:-1]),
        "frames": [astuple(slot) for slot in layout.slots],
        "values": {
            slot.name: values[..., layout.span(k)].tolist()
            for k, slot in enumerate(layout.slots)
            if slot.size
        },
        "attached": {
            names[k]: np.array(names, dtype=object)[parents[..., column]].tolist()
            if parents.ndim > 1
            else names[int(parents[column])]
            for column, k in enumerate(layout.attachable)
        },
    }
    return json.dumps(data)


def state_from_json(text: str | bytes) -> Contents:
    """Read a state from JSON, within `state_errors`."""
    data = json.loads(text)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise StateError(f"expected the format {FORMAT!r}")
    layout, batch = _layout(data)
    if data["digest"] != layout.digest:
        raise StateError("its digest does not match its frames")
    values = [_block(data["values"], slot, batch) for slot in layout.slots if slot.size]
    attached = [_attached(data["attached"], layout, k, batch) for k in layout.attachable]
    # Arrays are allocated only after the size of the batch is confirmed.
    parents = np.stack(attached, axis=-1) if attached else np.empty((*batch, 0), dtype=np.int32)
    return layout, np.concatenate([np.empty((*batch, 0)), *values], axis=-1), parents


@contextmanager
def state_errors() -> Generator[None, None, None]:
    """Convert all errors that invalid data can cause to a StateError."""
    try:
        yield
    except (LinkworkError, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        is_missing = isinstance(error, KeyError) and not isinstance(error, LinkworkError)
        reason = f"{error} is missing" if is_missing else clipped(str(error), 300)
        raise StateError(f"the state cannot be read: {reason}") from None


def _layout(data: Mapping[str, Any]) -> tuple[StateLayout, tuple[int, ...]]:
    """Return the layout and the batch axes of a header, checked."""
    batch = tuple(_integer(n, "batch") for n in data["batch"])
    if not isinstance(data["cell"], str):
        raise StateError("cell must be a string")
    slots: list[Slot] = []
    for k, entry in enumerate(data["frames"]):
        name, kind, size, parent, attachable = entry
        if not (isinstance(name, str) and isinstance(attachable, bool)):
            raise StateError(f"frame {k} is invalid")
        if kind not in _SIZES or size not in (0, _SIZES[kind]) or (kind == "movable" and not size):
            raise StateError(f"frame {name!r} has the kind {kind!r}")
        parent_index = _integer(parent, "parent", least=-1)
        if (parent_index < 0) != (attachable or k == 0) or parent_index >= len(data["frames"]):
            raise StateError(f"frame {name!r} has an invalid parent")
        slots.append(Slot(name, kind, int(size), parent_index, attachable))
    layout = StateLayout(data["cell"], tuple(slots))
    parents = {slot.name: slots[slot.parent].name for slot in slots if slot.parent >= 0}
    if not slots or len(layout.index) != len(slots) or any(cycles(parents)):
        raise StateError("its frames do not form a tree")
    if not (layout.n_values or layout.attachable) and prod(batch) > _MAX_EMPTY_ROWS:
        raise StateError(f"batch {batch} of states without any values")
    return layout, batch


def _integer(value: Any, name: str, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise StateError(f"{name}: expected an integer >= {least}, got {value!r}")
    return value


def _block(values: Mapping[str, Any], slot: Slot, batch: tuple[int, ...]) -> Array:
    """Return the values of a frame."""
    block = np.array(values[slot.name], dtype=np.float64)
    return _shaped(block, (*batch, slot.size), slot.name)


def _attached(
    attached: Mapping[str, Any], layout: StateLayout, k: int, batch: Sequence[int]
) -> Array:
    """Return the parents of an attachable frame, as indices."""
    name = layout.slots[k].name
    names = _shaped(np.array(attached[name], dtype=object), tuple(batch), name)
    indices = [layout.frame(parent) for parent in names.reshape(-1).tolist()]
    return np.array(indices, dtype=np.int32).reshape(batch)


def _shaped(block: Array, shape: tuple[int, ...], name: str) -> Array:
    if not prod(shape) and not block.size:
        return np.zeros(shape, dtype=block.dtype)
    if block.shape != shape:
        raise StateError(f"{name!r}: expected the shape {shape}, got {block.shape}")
    return block
