"""Random workcells and random states of them.

`random_cell` has frames of every kind, attachable ones of every kind, joints that depend on others,
and robots, one of them twice and one that floats. `random_state` attaches every attachable frame to
any frame that does not sit on it, differently in each row of a batch.
"""

from __future__ import annotations

import numpy as np
from tests.support.models import (
    MOVING_KINDS,
    random_axis,
    random_inertia,
    random_model,
    random_pose,
    random_theta,
)

from linkwork import Mimic, State, WorkCell
from linkwork.model.joints import KINDS
from linkwork.workcell.cell.structure import parent_index


def random_cell(rng: np.random.Generator, *, n_frames: int = 24, robots: bool = True) -> WorkCell:
    """A cell with at least this many frames in addition to those of its robots."""
    cell = WorkCell("random")
    if robots:
        model = random_model(rng, 8)
        for name in ("left", "right"):
            cell = cell.with_robot(
                name, model, parent=_any(rng, cell), parent_H_base=random_pose(rng)
            )
        base = str(rng.choice(model.frame_names))
        cell = cell.with_robot(
            "walker", model, base=base, floating=True, attachable=True, parent=_any(rng, cell)
        )
    kinds = ["fixed", "movable", *MOVING_KINDS]
    for k in range(n_frames):
        kind, parent, pose = kinds[k % len(kinds)], _any(rng, cell), random_pose(rng)
        attachable = bool(rng.random() < 0.5)
        if kind in ("fixed", "movable"):
            cell = cell.with_frame(
                f"f{k}",
                parent,
                pose,
                movable=kind == "movable",
                attachable=attachable,
                inertia=random_inertia(rng),
            )
            continue
        leaders = [f.name for f in cell.frames if f.motion and f.motion.motion_kind.nq == 1]
        depends = None
        if KINDS[kind].nq == 1 and leaders and rng.random() < 0.5:
            leader = leaders[int(rng.integers(len(leaders)))]
            depends = Mimic(joint=leader, multiplier=rng.uniform(-2, 2), offset=rng.uniform(-1, 1))
        cell = cell.with_joint(
            f"f{k}",
            kind,
            parent,
            pose,
            axis=random_axis(rng),
            pitch=float(rng.uniform(-0.5, 0.5)) if KINDS[kind].has_pitch else 0.0,
            depends=depends,
            attachable=attachable,
        )
    return cell


def random_state(cell: WorkCell, rng: np.random.Generator, batch: tuple[int, ...] = ()) -> State:
    """A state, or a batch whose rows differ in everything."""
    layout = cell.layout
    values = np.zeros((*batch, layout.n_values))
    for k, slot in enumerate(layout.slots):
        if slot.size:
            values[..., layout.span(k)] = random_theta(slot.joint_kind.name, rng, batch)
    parents = np.zeros((*batch, len(layout.attachable)), dtype=np.int32)
    for row in parents.reshape(-1, len(layout.attachable)) if layout.attachable else ():
        row[:] = random_parents(cell, rng)
    return State(layout, values, parents)


def random_parents(cell: WorkCell, rng: np.random.Generator) -> np.ndarray:
    """Choose a parent for each attachable frame: fixed to WORLD, or to a frame chosen before."""
    layout = cell.layout
    roots = layout.part_roots
    parents = np.zeros(len(layout.attachable), dtype=np.int32)
    placed = [0]
    for frame in rng.permutation(layout.attachable).tolist():
        possible = np.flatnonzero(np.isin(roots, placed))
        parents[layout.columns[frame]] = rng.choice(possible)
        placed.append(frame)
    return parents


def chained(cell: WorkCell, frame: str, state: State) -> np.ndarray:
    """(4, 4) world pose of a frame in a single state, one frame after the other."""
    pose, index = np.eye(4), cell.frame_index(frame)
    while index > 0:
        pose = cell.parent_H_frame(cell.frame_names[index], state) @ pose
        index = parent_index(cell.layout, index, state.parents)
    return pose


def _any(rng: np.random.Generator, cell: WorkCell) -> str:
    return cell.frame_names[int(rng.integers(len(cell.frames)))]
