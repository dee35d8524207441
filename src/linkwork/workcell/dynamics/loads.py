"""Loads of the bodies of a device: gripped objects, and what is on them.

A frame with inertia that is not part of the device is carried by the first frame of the device on
its path to WORLD, if there is one. Joints on that path that the device does not move are locked at
their position in the state. The ten inertial parameters of such a frame are transformed to the body
from frame to frame. Rows of a batch whose attachments lead to equal paths are computed together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from linkwork.engine.kernel.compile import compile_function
from linkwork.engine.symbolic.arrays import Array
from linkwork.spatial import inertia
from linkwork.spatial.source import inertia as inertia_source
from linkwork.spatial.source import quat, se3
from linkwork.workcell.cell.cache import Results
from linkwork.workcell.cell.data import CellData
from linkwork.workcell.cell.structure import leader_of, local_pose, parent_index
from linkwork.workcell.state.state import equal_rows

Totals = dict[int, Array]
"""By body: (rows, 10) inertial parameters of its total load, in the axes of the body."""


@dataclass(frozen=True)
class CarrierTransform:
    """The transform from a frame to a frame that carries it, as one step of a path."""

    frame: int  # the frame whose pose in its parent depends on the state; -1 for none
    pose: Array  # (4, 4) of that parent in the carrying frame


@dataclass(frozen=True)
class CarriedFrame:
    """A frame with inertia that a body carries."""

    body: int
    parameters: Array  # (10,) inertial parameters in the axes of the frame
    steps: tuple[CarrierTransform, ...]


@dataclass(frozen=True, eq=False)
class Plan:
    """All frames that the bodies carry, for some attachments."""

    carried: tuple[CarriedFrame, ...]
    columns: Any  # state values that affect the loads: a slice or an array of indices


class Loads:
    """Finds and sums the loads of the bodies of a device."""

    def __init__(
        self, cell: CellData, frames: Mapping[int, tuple[int, Array]], more: Collection[int] = ()
    ) -> None:
        """Determine which frames can be carried.

        Args:
            cell: the workcell.
            frames: by index of each frame of the device: its body, and its pose (4, 4) there.
            more: frames of the device whose poses in their bodies depend on the state; their loads
                are transformed to the nearest of `frames` that carries them.
        """
        self._cell, self._frames = cell, frames
        self._plans = Results(self._build_plan)  # by the bytes of attachments
        layout = cell.layout
        n = len(layout.slots)
        self._is_carried = np.zeros(n, dtype=bool)  # whether a body carries it in every state
        # column of the attachable frame that carries it; -1 if WORLD does
        self._column = np.full(n, -1, dtype=np.int32)
        for k in range(n):
            current, root = k, int(layout.part_roots[k])
            while current not in frames and current not in (root, 0):
                current = layout.slots[current].parent
            self._is_carried[k] = current in frames
            self._column[k] = layout.columns[root] if root else -1
        self._sources = [
            (k, frame.inertia.parameters())
            for k, frame in enumerate(cell.frames)
            if k not in frames
            and k not in more
            and (frame.inertia.mass or any(frame.inertia.tensor))
        ]

    def plan(self, parents: Array) -> Plan:
        """Return the plan for the attachments (n_attachable,) of one state."""
        return self._plans[parents.tobytes()]

    def groups(self, parents: Array) -> list[tuple[Plan, Any]]:
        """Return the plans of rows of attachments (rows, n_attachable), and the rows of each."""
        if not parents.strides[0]:  # all rows are the same memory
            return [(self.plan(parents[0]), slice(None))]
        # attachments of frames that no body carries do not split groups
        parents = np.where(self._are_carried(parents), parents, np.int32(-1))
        return [(self.plan(parents[rows[0]]), rows) for rows in equal_rows(parents)]

    def _are_carried(self, parents: Array) -> Array:
        """Return whether a body carries each attachable frame, (rows, n_attachable)."""
        is_carried, parent_columns = self._is_carried[parents], self._column[parents]
        rows = np.arange(len(parents))[:, None]
        pending = ~is_carried & (parent_columns >= 0)
        while pending.any():  # frames attached to other attachable frames
            targets = np.where(pending, parent_columns, 0)
            target_carried, next_columns = is_carried[rows, targets], parent_columns[rows, targets]
            is_carried = is_carried | (pending & target_carried)
            parent_columns = np.where(pending, next_columns, parent_columns)
            pending = ~is_carried & (parent_columns >= 0)
        return is_carried

    def totals(self, plan: Plan, values: Array) -> Totals:
        """Sum the loads of each body, for state values (rows, n_values) with the same plan."""
        totals: Totals = {}
        for carried in plan.carried:
            parameters = carried.parameters
            for step in carried.steps:
                parameters = self._transform(step, parameters, values)
            totals[carried.body] = totals.get(carried.body, 0.0) + parameters
        return totals

    def _transform(self, step: CarrierTransform, parameters: Array, values: Array) -> Array:
        """Compute inertial parameters after one step, (..., 10)."""
        if step.frame < 0:
            return inertia.transform(step.pose, parameters)
        if self._cell.frames[step.frame].movable:
            xyz_wxyz = values[:, self._cell.layout.span(step.frame)]
            return _movable_transform()(parameters, xyz_wxyz, np.ascontiguousarray(step.pose[:3]))
        pose = step.pose @ local_pose(self._cell, step.frame, values)
        return inertia.transform(pose, parameters)

    def _build_plan(self, attachments: bytes) -> Plan:
        parents = np.frombuffer(attachments, dtype=np.int32)
        carried: list[CarriedFrame] = []
        columns: set[int] = set()
        for source, parameters in self._sources:
            path = self._path_to_body(source, parents)
            if path is not None:
                body, steps = path
                carried.append(CarriedFrame(body, parameters, tuple(steps)))
                for step in steps:
                    columns.update(self._columns_of_step(step))
        return Plan(tuple(carried), columns_of(sorted(columns)))

    def _path_to_body(
        self, frame: int, parents: Array
    ) -> tuple[int, list[CarrierTransform]] | None:
        """Return the body that carries a frame, and the steps to it; None without such a body."""
        layout = self._cell.layout
        steps: list[CarrierTransform] = []
        pose, moving = np.eye(4), -1  # product of constant poses since the last moving frame
        while frame not in self._frames:
            cell_frame = self._cell.frames[frame]
            if cell_frame.movable or cell_frame.motion:
                steps.append(CarrierTransform(moving, pose))
                pose, moving = np.eye(4), frame
            else:
                pose = cell_frame.parent_H_frame.matrix() @ pose
            frame = parent_index(layout, frame, parents)
            if frame < 0:
                return None
        body, body_H_frame = self._frames[frame]
        steps.append(CarrierTransform(moving, body_H_frame @ pose))
        identity = np.eye(4)
        is_trivial = [one.frame < 0 and np.array_equal(one.pose, identity) for one in steps]
        return body, [one for one, trivial in zip(steps, is_trivial, strict=True) if not trivial]

    def _columns_of_step(self, step: CarrierTransform) -> range:
        """Return the columns of the state values that a step depends on."""
        if step.frame < 0:
            return range(0)
        leader, _, _ = leader_of(self._cell, self._cell.frames[step.frame])
        span = self._cell.layout.span(leader)
        return range(span.start, span.stop)


def columns_of(columns: list[int]) -> Any:
    """Return an index of columns: a slice, which needs no copy, if they are contiguous."""
    if columns == list(range(columns[0], columns[0] + len(columns)) if columns else []):
        return slice(columns[0], columns[-1] + 1) if columns else slice(0, 0)
    return np.array(columns, dtype=np.intp)


@cache
def _movable_transform() -> Any:
    """Return the compiled step of a movable frame: transform parameters by mount @ pose."""

    @compile_function(parameters=(10,), xyz_wxyz=(7,), mount=(3, 4))
    def movable_transform(parameters: Array, xyz_wxyz: Array, mount: Array) -> Array:
        pose = se3.pose(quat.to_rotation(xyz_wxyz[3:]), xyz_wxyz[:3])
        last_row = np.array([[0.0, 0.0, 0.0, 1.0]])
        return inertia_source.transform(np.concatenate([mount, last_row]) @ pose, parameters)

    return movable_transform


def prepare_transforms() -> None:
    """Compile the step of a movable frame, so that gripping compiles nothing."""
    pose = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    _movable_transform()(np.zeros(10), pose, np.eye(3, 4))


def warm_transforms() -> None:
    """Wait for the optimized code of that step."""
    _movable_transform().warmup()
