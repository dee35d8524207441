"""The state of a workcell: an immutable object, or a batch of states.

    values     (..., n_values) values of movable frames and joints, in the order of the frames
    parents    (..., n_attachable) the parent of each attachable frame, by index

Both arrays are read-only. States compare and hash by value, and can be pickled. They refer only to
the layout of a cell, not to the cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, prod
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
from linkwork.model.graph import cycles
from linkwork.workcell.state.layout import (
    NORM_NOISE,
    NORM_TOLERANCE,
    StateLayout,
)

if TYPE_CHECKING:
    from typing_extensions import Never, Self


class State:
    """The values and attachments of a workcell; `cell.state()` returns the default state."""

    __slots__ = ("_hash", "layout", "parents", "values")

    layout: StateLayout
    values: Array
    parents: Array

    def __init__(self, layout: StateLayout, values: ArrayLike, parents: ArrayLike) -> None:
        """Create a state from checked copies of its values and parents.

        Args:
            layout: layout of the cell, `cell.layout`.
            values: (..., n_values); quaternions are normalized.
            parents: (..., n_attachable) indices of frames, with the same leading axes.

        Raises:
            ShapeError: the shapes do not match the layout or each other.
            ValueRangeError: a value is not finite, or a quaternion is far from unit norm.
            StateError: the attachments do not form a tree.
        """
        if not isinstance(layout, StateLayout):
            raise ArgumentError(f"layout: expected a StateLayout, got {shown(layout)}")
        value_array = checked_values(layout, values)
        indices = _checked_parents(layout, parents)
        if value_array.shape[:-1] != indices.shape[:-1]:
            shapes = f"values {value_array.shape[:-1]}, parents {indices.shape[:-1]}"
            raise ShapeError(f"batch axes of values and parents differ: {shapes}")
        self._set(layout, value_array, indices)

    def _set(self, layout: StateLayout, values: Array, parents: Array) -> None:
        values.flags.writeable = False
        parents.flags.writeable = False
        for name, value in (("layout", layout), ("values", values), ("parents", parents)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_hash", None)

    @classmethod
    def trusted(cls, layout: StateLayout, values: Array, parents: Array) -> Self:
        """Create a state from valid arrays that are not modified elsewhere, without checks."""
        state = cls.__new__(cls)
        state._set(layout, values, parents)
        return state

    def __setattr__(self, name: str, value: object) -> Never:
        raise FrozenError(f"{name}: a State is immutable; methods of the cell return new states")

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
            values = (self.values + 0.0).tobytes()  # -0.0 equals 0.0
            digest = hash((self.layout.digest, self.values.shape, values, self.parents.tobytes()))
            object.__setattr__(self, "_hash", digest)
        return self._hash  # type: ignore[return-value]

    def __repr__(self) -> str:
        cell, slots = self.layout.cell, self.layout.slots
        if self.batch_shape:
            return f"<State of {cell!r}: batch {self.batch_shape}>"
        attachments = [
            f"{slots[frame].name} on {slots[parent].name}"
            for frame, parent in zip(self.layout.attachable, self.parents.tolist(), strict=True)
        ]
        suffix = f"; {listed(attachments)}" if attachments else ""
        return f"<State of {cell!r}: {self.layout.n_values} values{suffix}>"

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The leading axes; () for a single state."""
        return self.values.shape[:-1]

    def __bool__(self) -> bool:
        return True  # as any object, so that `if state:` distinguishes a state from None

    def __len__(self) -> int:
        if not self.batch_shape:
            raise ArgumentError("a single state has no length; only a batch of states has one")
        return self.batch_shape[0]

    def __getitem__(self, rows: Any) -> State:
        """Select rows of a batch by an integer, a slice, an index array or a mask."""
        if not self.batch_shape:
            raise ArgumentError("a single state has no rows; only a batch of states has them")
        batch = self.values[..., 0:0]  # detects an index that also selects along the last axis
        try:
            selected = batch[rows]
        except IndexError as error:
            raise StateError(f"rows {shown(rows)} of a batch {self.batch_shape}: {error}") from None
        if selected.ndim == 0 or selected.shape[-1] != 0:
            raise StateError(f"rows {shown(rows)}: the batch has the axes {self.batch_shape}")
        return State.trusted(self.layout, _compact(self.values[rows]), _compact(self.parents[rows]))

    def __iter__(self) -> Iterator[State]:
        return (self[k] for k in range(len(self)))

    def broadcast(self, *batch: int) -> State:
        """Broadcast the state to these leading axes."""
        try:
            values = np.broadcast_to(self.values, (*batch, self.values.shape[-1]))
        except (TypeError, ValueError):
            message = f"a batch {self.batch_shape} of states cannot be broadcast to {batch}"
            raise ShapeError(message) from None
        parents = np.broadcast_to(self.parents, (*batch, self.parents.shape[-1]))
        return State.trusted(self.layout, values, parents)

    @staticmethod
    def stack(states: Sequence[State]) -> State:
        """Stack states of equal layout and batch shape along a new first axis."""
        states = list(states)
        for state in states:
            if not isinstance(state, State):
                raise ArgumentError(f"states: expected States, got {shown(state)}")
        if not states:
            raise ArgumentError("states: expected at least one state to stack")
        first = states[0]
        for k, state in enumerate(states):
            if state.layout.digest != first.layout.digest:
                reason = difference(state.layout, first.layout)
                raise StateError(f"state {k} has another structure than state 0: {reason}")
            if state.batch_shape != first.batch_shape:
                axes = f"state {k} has {state.batch_shape}, state 0 has {first.batch_shape}"
                raise ShapeError(f"batch axes of the states differ: {axes}")
        return State.trusted(
            first.layout,
            np.stack([state.values for state in states]),
            np.stack([state.parents for state in states]),
        )


def checked_values(layout: StateLayout, values: ArrayLike) -> Array:
    """Copy the values of a state, with normalized quaternions; raise an error if invalid."""
    copy = np.array(as_array(values, "values", (layout.n_values,)), dtype=np.float64, order="C")
    if not np.isfinite(copy).all():
        name = _frame_at(layout, int(np.argwhere(~np.isfinite(copy))[0][-1]))
        raise ValueRangeError(f"values: a value of frame {name!r} is not finite")
    for offset, count, description in layout.unit_norms:
        normalize(copy[..., offset : offset + count], description)
    return copy


def normalize(block: Array, description: str) -> None:
    """Normalize vectors in place; reject them if a norm is far from 1."""
    norm = np.sqrt(np.einsum("...i,...i->...", block, block))
    error = np.abs(norm - 1)
    if not error.size or error.max() <= NORM_NOISE:
        return
    if not error.max() <= NORM_TOLERANCE:
        worst = float(norm.reshape(-1)[int(np.argmax(error))])
        raise ValueRangeError(f"{description} has norm {worst:.6g}, not 1")
    drifted = error > NORM_NOISE
    block[drifted] /= norm[drifted][..., None]


def _checked_parents(layout: StateLayout, parents: ArrayLike) -> Array:
    array = np.asarray(parents)
    if array.dtype.kind not in "iu" and array.size:
        raise ArgumentError(f"parents: expected indices of frames, got {array.dtype}")
    n = len(layout.attachable)
    if array.ndim == 0 or array.shape[-1] != n:
        raise ShapeError(f"parents: expected (..., {n}), got {array.shape}")
    if array.size and not 0 <= array.min() <= array.max() < len(layout.slots):
        raise StateError(f"parents: indices must be from 0 to {len(layout.slots) - 1}")
    indices = np.array(array, dtype=np.int32, order="C")
    for row in distinct_rows(flat_rows(indices))[0]:
        cycle = cycle_of(layout, row)
        if cycle:
            raise StateError(f"parents: attachment cycle: {listed(cycle)}")
    return indices


def cycle_of(layout: StateLayout, parents: Array) -> list[str]:
    """Return the names of the attachable frames of an attachment cycle; none if there is none."""
    names = [slot.name for slot in layout.slots]
    above = zip(layout.attachable, layout.part_roots[parents].tolist(), strict=True)
    return next(cycles({names[frame]: names[root] for frame, root in above}), [])


def difference(theirs: StateLayout, ours: StateLayout) -> str:
    """Describe why a state of one layout does not belong to another."""
    if theirs.cell != ours.cell:
        return f"it is of cell {theirs.cell!r}, not of {ours.cell!r}"
    extra = [name for name in theirs.index if name not in ours.index]
    missing = [name for name in ours.index if name not in theirs.index]
    reasons: list[str] = []
    if extra:
        reasons.append(f"it has additional frames ({listed(extra)})")
    if missing:
        reasons.append(f"it lacks frames ({listed(missing)})")
    if not reasons:
        changed = [
            slot.name
            for slot in theirs.slots
            if _properties(theirs, slot.name) != _properties(ours, slot.name)
        ]
        order = "the order of the frames differs"
        reasons.append(f"frames have changed ({listed(changed)})" if changed else order)
    return " and ".join(reasons)


def _properties(layout: StateLayout, name: str) -> tuple[object, ...]:
    slot = layout.slots[layout.index[name]]
    return slot.kind, slot.size, slot.attachable, layout.slots[slot.parent].name


def _frame_at(layout: StateLayout, index: int) -> str:
    """Name of the frame that a value belongs to."""
    frames = [k for k, slot in enumerate(layout.slots) if slot.size]
    return layout.slots[max(k for k in frames if layout.offsets[k] <= index)].name


def check_state(layout: StateLayout, state: State) -> State:
    """Return the state, or raise a StateError if it does not have this layout."""
    if isinstance(state, State) and (
        state.layout is layout or state.layout.digest == layout.digest
    ):
        return state
    _reject_other_cells(layout, state)
    reason = difference(state.layout, layout)
    message = f"this state has another structure than cell {layout.cell!r}: {reason}"
    raise StateError(f"{message}; cell.upgrade(state) converts it")


def _reject_other_cells(layout: StateLayout, state: State) -> None:
    if not isinstance(state, State):
        raise ArgumentError(f"state: expected a State, got {shown(state)}")
    if state.layout.cell != layout.cell:
        reason = difference(state.layout, layout)
        raise StateError(f"this is not a state of cell {layout.cell!r}: {reason}")


def upgraded_state(state: State, default: State) -> State:
    """Convert a state to the layout of another one, whose values are the default of new frames."""
    _reject_other_cells(default.layout, state)
    ours, theirs = default.layout, state.layout
    if theirs.digest == ours.digest:
        return state
    _reject_changed_kinds(theirs, ours)
    start = default.broadcast(*state.batch_shape)
    values, parents = start.values.copy(), start.parents.copy()
    new_index = np.array([ours.index.get(slot.name, 0) for slot in theirs.slots], dtype=np.int32)
    for k, slot in enumerate(ours.slots):
        old = theirs.index.get(slot.name)
        if old is None:
            continue
        if slot.size and theirs.slots[old].size:
            values[..., ours.span(k)] = state.values[..., theirs.span(old)]
        if slot.attachable and theirs.slots[old].attachable:
            parents[..., ours.columns[k]] = new_index[state.parents[..., theirs.columns[old]]]
    return State(ours, values, parents)


def _reject_changed_kinds(theirs: StateLayout, ours: StateLayout) -> None:
    """Reject states whose values have a different meaning now."""
    changed: list[str] = []
    for slot in theirs.slots:
        k = ours.index.get(slot.name)
        if k is not None and slot.size and ours.slots[k].size and slot.kind != ours.slots[k].kind:
            changed.append(f"{slot.name} (was {slot.kind}, is {ours.slots[k].kind})")
    if changed:
        raise StateError(
            f"the state cannot be upgraded, because frames changed their kind: {listed(changed)}"
        )


def flat_rows(array: Array) -> Array:
    """Reshape an array (..., n) to (rows, n)."""
    return array.reshape(prod(array.shape[:-1]), array.shape[-1])


def distinct_rows(rows: Array) -> tuple[Array, Array]:
    """Return the distinct rows of a table, and the index of each row among them."""
    if not rows.shape[1] or not len(rows):
        return rows[:1], np.zeros(len(rows), dtype=np.intp)
    size = int(rows.max()) + 2 if rows.dtype.kind == "i" else inf  # integers are -1 or more
    if size ** rows.shape[1] < 2**62:  # a row fits into one integer
        packed = rows[:, 0].astype(np.int64)
        for column in rows.T[1:]:
            packed = packed * size + column
    else:
        row_type = np.dtype((np.void, rows.itemsize * rows.shape[1]))
        packed = np.ascontiguousarray(rows).view(row_type).ravel()
    _, first, of_row = np.unique(packed, return_index=True, return_inverse=True)
    return rows[first], of_row


def equal_rows(table: Array) -> list[Array]:
    """Return the indices of the rows of each group of equal rows of a table (rows, n)."""
    distinct, of_row = distinct_rows(table)
    if len(distinct) <= 1:
        return [np.arange(len(table))] * len(distinct)
    order = np.argsort(of_row, kind="stable")
    starts = np.searchsorted(of_row[order], np.arange(len(distinct) + 1))
    return [order[starts[k] : starts[k + 1]] for k in range(len(distinct))]


def _compact(array: Any) -> Array:
    """Copy a view of a much larger array, so that the larger one can be freed."""
    view = np.asarray(array)
    base = view.base
    if isinstance(base, np.ndarray) and base.size > 4 * view.size:
        return view.copy()
    return view
