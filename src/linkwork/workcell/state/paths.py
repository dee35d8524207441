"""Structure of a cell in a state: parents, children, paths, and the tree as a string."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, StateError
from linkwork.workcell.cell.frames import WORLD
from linkwork.workcell.cell.layout import StateLayout
from linkwork.workcell.kinematics import fk
from linkwork.workcell.state.state import State, flat_rows

if TYPE_CHECKING:
    from linkwork.workcell.workcell import WorkCell


def parent_index(layout: StateLayout, frame: int, parents: Array) -> int:
    """Index of the parent of a frame, -1 for WORLD; `parents` is one row of a state."""
    if layout.slots[frame].attachable:
        return int(parents[layout.column[frame]])
    return layout.slots[frame].parent


def carriers(layout: StateLayout, frame: int, parents: Array) -> list[int]:
    """All frames that carry a frame: its parent, the parent of that one, and so on to WORLD."""
    result: list[int] = []
    while (frame := parent_index(layout, frame, parents)) >= 0:
        result.append(frame)
    return result


def attachments_above(layout: StateLayout, frame: int, trees: Array) -> Array:
    """(rows, depth) parents of the attachable frames from a frame upward, including the frame.

    Args:
        layout: layout of the states.
        frame: index of the frame.
        trees: (rows, n_attachable) parents in states. Shorter rows of the result end with WORLD.
    """
    roots, columns, rows = layout.part_roots, layout.columns, np.arange(len(trees))
    current = np.full(len(trees), roots[frame])
    result: list[Array] = []
    while current.any():
        parents = np.where(current > 0, trees[rows, columns[current]], 0)
        result.append(parents)
        current = roots[parents]
    return np.stack(result, axis=-1) if result else np.zeros((len(trees), 0), dtype=np.int32)


def attachments_of(layout: StateLayout, frame: int, row: Array) -> tuple[int, ...]:
    """As `attachments_above`, for one row."""
    roots, columns = layout.part_roots, layout.columns
    current, result = roots[frame], []
    while current:
        parents = row[columns[current]]
        result.append(int(parents))
        current = roots[parents]
    return tuple(result)


def path_between(
    layout: StateLayout, a: int, b: int, parents: Array
) -> tuple[list[int], int, list[int]]:
    """Frames from a up to the nearest common frame, that frame, and those down to b."""
    up, down = [a, *carriers(layout, a, parents)], [b, *carriers(layout, b, parents)]
    common = 0
    while up and down and up[-1] == down[-1]:
        common = up.pop()
        down.pop()
    return up, common, down[::-1]


def one_row(cell: WorkCell, state: State, columns: tuple[int, ...] = ()) -> Array:
    """The attachments of a state; rows of a batch must agree in `columns`, by default in all."""
    parents = cell.check_state(state).parents
    if not state.batch_shape:
        return parents
    flat = flat_rows(parents)
    if not len(flat):
        return cell.state().parents
    chosen = flat[:, list(columns)] if columns else flat
    if (chosen != chosen[0]).any():
        message = "the states of this batch have different attachments"
        raise ArgumentError(f"{message}; pass a single state, such as state[0]")
    return flat[0]


def parent_of(cell: WorkCell, frame: str, state: State) -> str | None:
    """The parent of a frame."""
    index = cell.layout.frame(frame)
    if not cell.layout.slots[index].attachable:
        cell.check_state(state)
        return cell.frames[index].parent
    row = one_row(cell, state, (cell.layout.column[index],))
    return cell.frame_names[parent_index(cell.layout, index, row)]


def children_of(cell: WorkCell, frame: str, state: State) -> tuple[str, ...]:
    """The children of a frame: first the static ones, then attached frames."""
    index = cell.layout.frame(frame)
    row = one_row(cell, state)
    return tuple(cell.frame_names[k] for k in _children(cell.layout, row)[index])


def _children(layout: StateLayout, parents: Array) -> list[list[int]]:
    result: list[list[int]] = [[] for _ in layout.slots]
    for k, slot in enumerate(layout.slots):
        if slot.parent >= 0:
            result[slot.parent].append(k)
    for k in layout.attachable:
        result[int(parents[layout.column[k]])].append(k)
    return result


def chain(cell: WorkCell, a: str, b: str, state: State) -> tuple[str, ...]:
    """Frames on the path from one frame to another, inclusive."""
    layout = cell.layout
    ends = layout.frame(a), layout.frame(b)
    up, common, down = path_between(layout, *ends, one_row(cell, state))
    return tuple(cell.frame_names[k] for k in (*up, common, *down))


def frames_below(cell: WorkCell, frame: str, state: State) -> tuple[str, ...]:
    """A frame and all frames that it carries, depth first."""
    root = cell.layout.frame(frame)
    return tuple(cell.frame_names[k] for k, _ in _walk(cell, state, root))


def _walk(cell: WorkCell, state: State, root: int) -> list[tuple[int, int]]:
    """(frame, depth) of a frame and all frames that it carries, depth first."""
    below = _children(cell.layout, one_row(cell, state))
    pending, result = [(root, 0)], []
    while pending:
        current, depth = pending.pop()
        result.append((current, depth))
        pending += [(child, depth + 1) for child in reversed(below[current])]
    return result


def static_groups(cell: WorkCell, state: State, root: str) -> tuple[tuple[str, ...], ...]:
    """Groups of frames that are fixed to each other in every state."""
    layout, start = cell.layout, cell.layout.frame(root)
    group_of: dict[int, list[int]] = {}
    groups: list[list[int]] = []
    for k, depth in _walk(cell, state, start):
        slot = layout.slots[k]
        if depth and slot.kind == "fixed" and not slot.attachable:
            group = group_of[slot.parent]
        else:
            group = []
            groups.append(group)
        group.append(k)
        group_of[k] = group
    return tuple(tuple(cell.frame_names[k] for k in group) for group in groups)


def tree_text(cell: WorkCell, state: State, root: str) -> str:
    """One line per frame, indented by its depth, with its position in the world."""
    if cell.check_state(state).batch_shape:
        raise ArgumentError("state: expected a single state, such as state[0], got a batch")
    table = fk.FKTable(cell, state).world_H_frames
    lines: list[str] = []
    for k, depth in _walk(cell, state, cell.layout.frame(root)):
        position = ", ".join(f"{entry:.6g}" for entry in (table[k, :3, 3] + 0.0).tolist())
        lines.append(f"{' ' * depth}{cell.frame_names[k]} at ({position})")
    return "\n".join(lines)


class FKRange:
    """The path between two frames; calling it with a state returns a_H_b.

    States with other attachments on the path are rejected.
    """

    def __init__(self, cell: WorkCell, a: str, b: str, state: State) -> None:
        layout = cell.layout
        ends = layout.frame(a), layout.frame(b)
        up, common, down = path_between(layout, *ends, one_row(cell, state))
        row = one_row(cell, state)
        frames = [k for k in (*up, *down) if layout.slots[k].attachable]
        self.cell, self.a, self.b = cell, a, b
        self.frames = tuple(cell.frame_names[k] for k in (*up, common, *down))
        self.attachments = {cell.frame_names[k]: parent_name(cell, k, row) for k in frames}
        self._columns = [layout.column[k] for k in frames]
        self._parents = row[self._columns]

    def __repr__(self) -> str:
        return (
            f"<FKRange {self.a!r} to {self.b!r} of {self.cell.name!r}: {len(self.frames)} frames>"
        )

    def __call__(self, state: State) -> Array:
        """(..., 4, 4) pose a_H_b in a state whose attachments on the path are the same."""
        self.cell.check_state(state)
        parents = state.parents[..., self._columns]
        if self._columns and (parents != self._parents).any():
            flat = parents.reshape(-1, len(self._columns))
            k = int(np.argwhere((flat != self._parents).any(axis=0))[0][0])
            other = flat[flat[:, k] != self._parents[k], k][0]
            name = list(self.attachments)[k]
            message = (
                f"frame {name!r} is attached to {self.cell.frame_names[other]!r} in this state"
            )
            message += f", but to {self.attachments[name]!r} on this path"
            raise StateError(f"{message}; call cell.fk_range for this state")
        return fk.frame_H_frame(self.cell, self.a, self.b, state)


def parent_name(cell: WorkCell, frame: int, row: Array) -> str:
    """Name of the parent of a frame; WORLD for WORLD."""
    return cell.frame_names[parent_index(cell.layout, frame, row)] if frame else WORLD
