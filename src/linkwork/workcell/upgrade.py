"""States of other structures: refused with a reason, or brought over by the names of frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linkwork.errors import ArgumentError, StateError, listed, shown
from linkwork.workcell.layout import StateLayout
from linkwork.workcell.state import State, difference

if TYPE_CHECKING:
    from linkwork.workcell.cell import WorkCell


def checked(layout: StateLayout, state: State) -> State:
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


def upgraded(cell: WorkCell, state: State) -> State:
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
