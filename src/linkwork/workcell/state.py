"""The state of a workcell: one immutable value, or a batch of them.

    values     (..., n_values) the numbers of movable frames and joints, in the order of the frames
    parents    (..., n_attachable) the frame each attachable frame sits on, by index

Both arrays are read-only. States compare and hash by value, can be pickled, and be written to and
read from JSON and bytes. They refer to no cell, only to its layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array, as_array
from linkwork.errors import (
    ArgumentError,
    FrozenError,
    ShapeError,
    StateError,
    ValueRangeError,
    listed,
    shown,
)
from linkwork.workcell.layout import StateLayout
from linkwork.workcell.parts import NORM_NOISE, NORM_TOLERANCE

if TYPE_CHECKING:
    from typing_extensions import Never, Self

    from linkwork.workcell.cell import WorkCell


class State:
    """The numbers and attachments of a workcell; `cell.state()` makes one."""

    __slots__ = ("_hash", "layout", "parents", "values")

    layout: StateLayout
    values: Array
    parents: Array

    def __init__(self, layout: StateLayout, values: ArrayLike, parents: ArrayLike) -> None:
        """Take the numbers and parents of a state, and check them.

        Args:
            layout: of the cell, `cell.layout`.
            values: (..., n_values); quaternions are normalised.
            parents: (..., n_attachable) indices of frames, with the same leading axes.

        Raises:
            ShapeError: the arrays do not fit the layout, or each other.
            ValueRangeError: a number is not finite, or a quaternion is far from unit norm.
            StateError: attachments that do not form a tree.
        """
        if not isinstance(layout, StateLayout):
            raise ArgumentError(f"layout: expected a StateLayout, got {shown(layout)}")
        numbers = checked_values(layout, values)
        indices = _checked_parents(layout, parents)
        if numbers.shape[:-1] != indices.shape[:-1]:
            text = f"values have the batch axes {numbers.shape[:-1]}"
            raise ShapeError(f"{text}, parents {indices.shape[:-1]}: they must be the same")
        self._set(layout, numbers, indices)

    def _set(self, layout: StateLayout, values: Array, parents: Array) -> None:
        values.flags.writeable = False
        parents.flags.writeable = False
        for name, value in (("layout", layout), ("values", values), ("parents", parents)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_hash", None)

    @classmethod
    def trusted(cls, layout: StateLayout, values: Array, parents: Array) -> Self:
        """A state of arrays that are known to be right, and that nobody else writes to."""
        state = cls.__new__(cls)
        state._set(layout, values, parents)
        return state

    def __setattr__(self, name: str, value: object) -> Never:
        raise FrozenError(f"{name}: a State does not change; methods of the cell give another one")

    def __delattr__(self, name: str) -> Never:
        self.__setattr__(name, None)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.layout, self.values, self.parents)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, State):
            return NotImplemented
        return (
            (self.layout is other.layout or self.layout.digest == other.layout.digest)
            and np.array_equal(self.values, other.values)
            and np.array_equal(self.parents, other.parents)
        )

    def __hash__(self) -> int:
        if self._hash is None:
            numbers = (self.values + 0.0).tobytes()  # -0.0 equals 0.0
            known = hash((self.layout.digest, self.values.shape, numbers, self.parents.tobytes()))
            object.__setattr__(self, "_hash", known)
        return self._hash  # type: ignore[return-value]

    def __repr__(self) -> str:
        cell, slots = self.layout.cell, self.layout.slots
        if self.batch_shape:
            return f"<State of {cell!r}: batch {self.batch_shape}>"
        sits = [
            f"{slots[frame].name} on {slots[parent].name}"
            for frame, parent in zip(self.layout.attachable, self.parents.tolist(), strict=True)
        ]
        told = f"; {listed(sits)}" if sits else ""
        return f"<State of {cell!r}: {self.layout.n_values} numbers{told}>"

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The leading axes; () of a single state."""
        return self.values.shape[:-1]

    def __len__(self) -> int:
        if not self.batch_shape:
            raise ArgumentError("this is a single state, which has no length")
        return self.batch_shape[0]

    def __getitem__(self, rows: Any) -> State:
        """Some rows of a batch, by an integer, a slice, an index array or a mask."""
        if not self.batch_shape:
            raise ArgumentError("this is a single state, which has no rows")
        batch = self.values[..., 0:0]  # an index that reaches the last axis would pick numbers
        try:
            found = batch[rows]
        except IndexError as error:
            raise StateError(f"rows {shown(rows)} of a batch {self.batch_shape}: {error}") from None
        if found.ndim == 0 or found.shape[-1] != 0:
            raise StateError(f"rows {shown(rows)}: the batch has the axes {self.batch_shape}")
        return State.trusted(self.layout, _own(self.values[rows]), _own(self.parents[rows]))

    def __iter__(self) -> Iterator[State]:
        return (self[k] for k in range(len(self)))

    def broadcast(self, *batch: int) -> State:
        """The same state in every row of a batch of these leading axes."""
        try:
            values = np.broadcast_to(self.values, (*batch, self.values.shape[-1]))
        except ValueError:
            text = f"a batch {self.batch_shape} of states cannot be broadcast to {batch}"
            raise ShapeError(text) from None
        parents = np.broadcast_to(self.parents, (*batch, self.parents.shape[-1]))
        return State.trusted(self.layout, values, parents)

    @staticmethod
    def stack(states: Sequence[State]) -> State:
        """States of one layout and one batch shape, joined along a new first axis."""
        states = list(states)
        for state in states:
            if not isinstance(state, State):
                raise ArgumentError(f"states: expected States, got {shown(state)}")
        if not states:
            raise ArgumentError("states: there is none to stack")
        first = states[0]
        for k, state in enumerate(states):
            if state.layout.digest != first.layout.digest:
                text = f"state {k} is of another structure than state 0"
                raise StateError(f"{text}: {difference(state.layout, first.layout)}")
            if state.batch_shape != first.batch_shape:
                text = f"state {k} has the batch axes {state.batch_shape}"
                raise ShapeError(f"{text}, state 0 has {first.batch_shape}")
        return State.trusted(
            first.layout,
            np.stack([state.values for state in states]),
            np.stack([state.parents for state in states]),
        )

    def to_json(self) -> str:
        """The state as JSON, with the names of the frames; `State.from_json` reads it."""
        from linkwork.workcell.state_serialization import to_json

        return to_json(self)

    @staticmethod
    def from_json(text: str | bytes) -> State:
        """A state from what `to_json` wrote; refused with a reason if it is damaged."""
        from linkwork.workcell.state_serialization import from_json

        return from_json(text)

    def to_bytes(self) -> bytes:
        """The state as bytes, every bit of every number; `State.from_bytes` reads them."""
        from linkwork.workcell.state_serialization import to_bytes

        return to_bytes(self)

    @staticmethod
    def from_bytes(data: bytes) -> State:
        """A state from what `to_bytes` wrote; refused with a reason if it is damaged."""
        from linkwork.workcell.state_serialization import from_bytes

        return from_bytes(data)


def checked_values(layout: StateLayout, values: ArrayLike) -> Array:
    """A copy of the numbers of a state, finite and with unit norms; or an error."""
    numbers = np.array(as_array(values, "values", (layout.n_values,)), dtype=np.float64, order="C")
    if not np.isfinite(numbers).all():
        name = _frame_of(layout, int(np.argwhere(~np.isfinite(numbers))[0][-1]))
        raise ValueRangeError(f"values: a number of frame {name!r} is not finite")
    for offset, count, what in layout.unit_norms:
        normalize(numbers[..., offset : offset + count], what)
    return numbers


def normalize(block: Array, what: str) -> None:
    """Scale vectors to norm 1 where they are, if they are not; far from 1 they are refused."""
    norm = np.sqrt(np.einsum("...i,...i->...", block, block))
    off = np.abs(norm - 1)
    if not off.size or off.max() <= NORM_NOISE:
        return
    if not off.max() <= NORM_TOLERANCE:
        far = float(norm.reshape(-1)[int(np.argmax(off))])
        raise ValueRangeError(f"{what} has norm {far:.6g}, not 1")
    drifted = off > NORM_NOISE
    block[drifted] /= norm[drifted][..., None]


def _checked_parents(layout: StateLayout, parents: ArrayLike) -> Array:
    given = np.asarray(parents)
    if given.dtype.kind not in "iu" and given.size:
        raise ArgumentError(f"parents: expected indices of frames, got {given.dtype}")
    n = len(layout.attachable)
    if given.ndim == 0 or given.shape[-1] != n:
        raise ShapeError(f"parents: expected (..., {n}), got {given.shape}")
    if given.size and not 0 <= given.min() <= given.max() < len(layout.slots):
        raise StateError(f"parents: indices must be from 0 to {len(layout.slots) - 1}")
    indices = np.array(given, dtype=np.int32, order="C")
    for row in np.unique(flat_rows(indices), axis=0):
        loop = cycle_of(layout, row)
        if loop:
            raise StateError(f"parents: frames that sit on each other: {listed(loop)}")
    return indices


def cycle_of(layout: StateLayout, parents: Array) -> list[str]:
    """Names of attachable frames that sit on each other in a circle; none in a tree."""
    roots = layout.part_roots
    above = dict(zip(layout.attachable, roots[parents].tolist(), strict=True))
    settled = {0}
    for start in above:
        path: dict[int, None] = {}
        here = start
        while here not in settled and here not in path:
            path[here] = None
            here = above[here]
        if here in path:
            loop = list(path)
            return [layout.slots[k].name for k in loop[loop.index(here) :]]
        settled.update(path)
    return []


def difference(theirs: StateLayout, ours: StateLayout) -> str:
    """Why a state of one layout is no state of another, in words."""
    if theirs.cell != ours.cell:
        return f"it is of cell {theirs.cell!r}, not of {ours.cell!r}"
    more = [name for name in theirs.index if name not in ours.index]
    fewer = [name for name in ours.index if name not in theirs.index]
    told: list[str] = []
    if more:
        told.append(f"it has frames that are not there ({listed(more)})")
    if fewer:
        told.append(f"it lacks frames ({listed(fewer)})")
    if not told:
        changed = [
            slot.name for slot in theirs.slots if _what(theirs, slot.name) != _what(ours, slot.name)
        ]
        told.append(f"frames have changed ({listed(changed)})" if changed else "other order")
    return " and ".join(told)


def _what(layout: StateLayout, name: str) -> tuple[object, ...]:
    slot = layout.slots[layout.index[name]]
    return slot.kind, slot.size, slot.attachable, layout.slots[slot.parent].name


def _frame_of(layout: StateLayout, number: int) -> str:
    frames = [k for k, slot in enumerate(layout.slots) if slot.size]
    return layout.slots[max(k for k in frames if layout.offsets[k] <= number)].name


def check_state(layout: StateLayout, state: State) -> State:
    """The state itself, or an error that says why it is no state of this layout."""
    if not isinstance(state, State):
        raise ArgumentError(f"state: expected a State, got {shown(state)}")
    theirs = state.layout
    if theirs is layout or theirs.digest == layout.digest:
        return state
    why = difference(theirs, layout)
    if theirs.cell != layout.cell:
        raise StateError(f"this is no state of cell {layout.cell!r}: {why}")
    text = f"this state is of another structure of cell {layout.cell!r}: {why}"
    raise StateError(f"{text}; cell.upgrade(state) brings it over")


def upgraded_state(cell: WorkCell, state: State) -> State:
    """A state of this cell with the numbers and attachments of one of another structure."""
    if not isinstance(state, State):
        raise ArgumentError(f"state: expected a State, got {shown(state)}")
    ours, theirs = cell.layout, state.layout
    if theirs is ours or theirs.digest == ours.digest:
        return state
    if theirs.cell != ours.cell:
        why = difference(theirs, ours)
        raise StateError(f"this is no state of cell {ours.cell!r}: {why}")
    _refuse_changed(theirs, ours)
    start = cell.state()
    values = np.broadcast_to(start.values, (*state.batch_shape, ours.n_values)).copy()
    parents = np.broadcast_to(start.parents, (*state.batch_shape, len(ours.attachable))).copy()
    new_index = np.array([ours.index.get(slot.name, 0) for slot in theirs.slots], dtype=np.int32)
    for k, slot in enumerate(ours.slots):
        old = theirs.index.get(slot.name)
        if old is None:
            continue
        if slot.size and theirs.slots[old].size:
            values[..., ours.span(k)] = state.values[..., theirs.span(old)]
        if slot.attachable and theirs.slots[old].attachable:
            parents[..., ours.column[k]] = new_index[state.parents[..., theirs.column[old]]]
    return State(ours, values, parents)


def _refuse_changed(theirs: StateLayout, ours: StateLayout) -> None:
    """Refuse numbers that mean something else now."""
    changed: list[str] = []
    for slot in theirs.slots:
        k = ours.index.get(slot.name)
        if k is not None and slot.size and ours.slots[k].size and slot.kind != ours.slots[k].kind:
            changed.append(f"{slot.name} ({slot.kind} then, {ours.slots[k].kind} now)")
    if changed:
        raise StateError(
            f"the state cannot be upgraded, frames changed their kind: {listed(changed)}"
        )


def flat_rows(array: Array) -> Array:
    """(rows, n) of an array (..., n)."""
    return array.reshape(prod(array.shape[:-1]), array.shape[-1])


def _own(array: Any) -> Array:
    """An array that keeps no larger one alive if it is much smaller."""
    found = np.asarray(array)
    base = found.base
    if isinstance(base, np.ndarray) and base.size > 4 * found.size:
        return found.copy()
    return found
