"""Paths between frames, what carries what, and the tree as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import ArgumentError, StateError
from linkwork.workcell import fk
from linkwork.workcell.layout import StateLayout
from linkwork.workcell.parts import WORLD
from linkwork.workcell.state import State, flat_rows

if TYPE_CHECKING:
    from linkwork.workcell.cell import WorkCell


def parent_index(layout: StateLayout, frame: int, parents: Array) -> int:
    """Index of the frame that a frame sits on, -1 for WORLD; `parents` is a row of a state."""
    if layout.slots[frame].attachable:
        return int(parents[layout.column[frame]])
    return layout.slots[frame].parent


def carriers(layout: StateLayout, frame: int, parents: Array) -> list[int]:
    """All frames that carry a frame: its parent, that one's parent, up to WORLD."""
    found: list[int] = []
    while (frame := parent_index(layout, frame, parents)) >= 0:
        found.append(frame)
    return found


def attachments_above(layout: StateLayout, frame: int, trees: Array) -> Array:
    """(rows, depth) parents of the attachable frames that carry a frame, or are it, going upwards.

    Args:
        layout: of the states.
        frame: index of the frame.
        trees: (rows, n_attachable) parents in states; WORLD stands for no more.
    """
    roots, columns, rows = layout.part_roots, layout.columns, np.arange(len(trees))
    here = np.full(len(trees), roots[frame])
    found: list[Array] = []
    while here.any():
        above = np.where(here > 0, trees[rows, columns[here]], 0)
        found.append(above)
        here = roots[above]
    return np.stack(found, axis=-1) if found else np.zeros((len(trees), 0), dtype=np.int32)


def attachments_of(layout: StateLayout, frame: int, row: Array) -> tuple[int, ...]:
    """The same of one row."""
    roots, columns = layout.part_roots, layout.columns
    here, found = roots[frame], []
    while here:
        above = row[columns[here]]
        found.append(int(above))
        here = roots[above]
    return tuple(found)


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


def one_row(cell: WorkCell, state: State, rows: tuple[int, ...] = ()) -> Array:
    """The attachments of a state, which must be the same in all rows of a batch."""
    parents = cell.check_state(state).parents
    if not state.batch_shape:
        return parents
    flat = flat_rows(parents)
    if not len(flat):
        return cell.state().parents
    chosen = flat[:, list(rows)] if rows else flat
    if (chosen != chosen[0]).any():
        text = "the rows of this batch of states differ in their attachments"
        raise ArgumentError(f"{text}; ask for one row, such as state[0]")
    return flat[0]


def parent_of(cell: WorkCell, frame: str, state: State) -> str | None:
    """The frame that a frame sits on."""
    index = cell.layout.frame(frame)
    if not cell.layout.slots[index].attachable:
        cell.check_state(state)
        return cell.frames[index].parent
    row = one_row(cell, state, (cell.layout.column[index],))
    return cell.frame_names[parent_index(cell.layout, index, row)]


def children_of(cell: WorkCell, frame: str, state: State) -> tuple[str, ...]:
    """Frames that always sit on a frame, then attached ones."""
    index = cell.layout.frame(frame)
    row = one_row(cell, state)
    return tuple(cell.frame_names[k] for k in _children(cell.layout, row)[index])


def _children(layout: StateLayout, parents: Array) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in layout.slots]
    for k, slot in enumerate(layout.slots):
        if slot.parent >= 0:
            found[slot.parent].append(k)
    for k in layout.attachable:
        found[int(parents[layout.column[k]])].append(k)
    return found


def chain(cell: WorkCell, a: str, b: str, state: State) -> tuple[str, ...]:
    """Frames on the way from one frame to another, both included."""
    layout = cell.layout
    ends = layout.frame(a), layout.frame(b)
    up, common, down = path_between(layout, *ends, one_row(cell, state))
    return tuple(cell.frame_names[k] for k in (*up, common, *down))


def frames_below(cell: WorkCell, frame: str, state: State) -> tuple[str, ...]:
    """A frame and all that it carries, depth first."""
    root = cell.layout.frame(frame)
    return tuple(cell.frame_names[k] for k, _ in _walk(cell, state, root))


def _walk(cell: WorkCell, state: State, root: int) -> list[tuple[int, int]]:
    """(frame, depth) of a frame and all that it carries, depth first."""
    below = _children(cell.layout, one_row(cell, state))
    waiting, found = [(root, 0)], []
    while waiting:
        here, depth = waiting.pop()
        found.append((here, depth))
        waiting += [(child, depth + 1) for child in reversed(below[here])]
    return found


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
    """One line for each frame, indented by its depth, with its position in the world."""
    if cell.check_state(state).batch_shape:
        raise ArgumentError("state: a tree is printed of a single state, such as state[0]")
    table = fk.FKTable(cell, state).world_H_frames
    lines: list[str] = []
    for k, depth in _walk(cell, state, cell.layout.frame(root)):
        position = ", ".join(f"{number:.6g}" for number in (table[k, :3, 3] + 0.0).tolist())
        lines.append(f"{' ' * depth}{cell.frame_names[k]} at ({position})")
    return "\n".join(lines)


class FKRange:
    """The path between two frames, found once; calling it with a state gives a_H_b.

    A state in which a frame on the path is attached elsewhere is refused.
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
        self._wanted = row[self._columns]

    def __repr__(self) -> str:
        return (
            f"<FKRange {self.a!r} to {self.b!r} of {self.cell.name!r}: {len(self.frames)} frames>"
        )

    def __call__(self, state: State) -> Array:
        """(..., 4, 4) pose a_H_b in a state whose attachments on the path are the same."""
        self.cell.check_state(state)
        found = state.parents[..., self._columns]
        if self._columns and (found != self._wanted).any():
            flat = found.reshape(-1, len(self._columns))
            k = int(np.argwhere((flat != self._wanted).any(axis=0))[0][0])
            other = flat[flat[:, k] != self._wanted[k], k][0]
            name = list(self.attachments)[k]
            text = f"frame {name!r} sits on {self.cell.frame_names[other]!r} in this state"
            text += f", not on {self.attachments[name]!r} as on this path"
            raise StateError(f"{text}; make another one with cell.fk_range")
        return fk.frame_H_frame(self.cell, self.a, self.b, state)


def parent_name(cell: WorkCell, frame: int, row: Array) -> str:
    """Name of the frame that another sits on."""
    return cell.frame_names[parent_index(cell.layout, frame, row)] if frame else WORLD
