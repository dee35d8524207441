"""Loads of the bodies of a device in a state: gripped objects, and everything on them.

A frame with inertia that is not part of the device is carried by the first frame of the device on
its path to WORLD, if there is one. Joints on that path that the device does not move are locked at
their position in the state.

The ten inertial parameters of such a frame are transformed to the body from frame to frame. Rows of
a batch with equal attachments are computed together; the paths for given attachments are cached.

`Payloads` passes the loads to the functions of the robot as parameters.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, Generic, TypeVar

import numpy as np

from linkwork.engine.cached_property import cached_property
from linkwork.engine.kernel.compile import compile_function
from linkwork.engine.symbolic.arrays import Array
from linkwork.kindyn.core import KinDynCore
from linkwork.parameters import Parameter, Payload
from linkwork.spatial import inertia
from linkwork.spatial.source import inertia as inertia_source
from linkwork.spatial.source import quat, se3
from linkwork.workcell.cell.data import CellData
from linkwork.workcell.cell.structure import leader_of, local_pose, parent_index
from linkwork.workcell.state.state import flat_rows

Robot = TypeVar("Robot", bound=KinDynCore)

Totals = dict[int, Array]
"""By body: (rows, 10) inertial parameters of its total load, in the axes of the body."""

MAX_PLAIN_GROUPS = 16  # above this, attachments that do not affect the loads are ignored
CACHE_SIZE = 256  # number of cached plans, and of cached sums per plan


@dataclass(frozen=True)
class Step:
    """The transform from a frame to a frame that carries it."""

    frame: int  # the frame whose pose in its parent depends on the state; -1 for none
    columns: slice  # its state values, if it is movable
    pose: Array  # (4, 4) of that parent in the carrying frame

    @cached_property
    def mount(self) -> Array:
        """The pose as rotation and position, (3, 4)."""
        return np.ascontiguousarray(self.pose[:3])


@dataclass(frozen=True)
class CarriedFrame:
    """A frame with inertia that a body carries."""

    body: int
    parameters: Array  # (10,) inertial parameters in the axes of the frame
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Plan:
    """All frames that the bodies carry, for given attachments."""

    carried: tuple[CarriedFrame, ...]
    columns: Any  # state values that affect the loads: a slice or an array of indices
    movable: tuple[slice, ...]  # those of movable frames
    others: Any  # those of joints, as `columns`
    sums: dict[bytes, Any] = field(default_factory=dict[bytes, Any])  # cache by these values


class Loads:
    """Finds and sums the loads of the bodies of a device."""

    def __init__(
        self,
        cell: CellData,
        frames: Mapping[int, tuple[int, Array]],
        more: Collection[int] = (),
    ) -> None:
        """Determine which frames can be carried.

        Args:
            cell: the workcell.
            frames: by index of each frame of the device: its body, and its pose (4, 4) there.
            more: frames of the device whose poses in their bodies depend on the state; their loads
                are transformed to the nearest of `frames` that carries them.
        """
        self._cell, self._frames = cell, frames
        self._plans: dict[bytes, Plan] = {}
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
            self._column[k] = layout.column[root] if root else -1
        self._sources = [
            (k, frame.inertia.parameters())
            for k, frame in enumerate(cell.frames)
            if k not in frames
            and k not in more
            and (frame.inertia.mass or any(frame.inertia.tensor))
        ]

    def plan(self, parents: Array) -> Plan:
        """The plan for the attachments (n_attachable,) of one state."""
        key = parents.tobytes()
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= CACHE_SIZE:
                self._plans = {}
            plan = self._plans[key] = self._build_plan(parents)
        return plan

    def groups(self, parents: Array) -> list[tuple[Array, Array]]:
        """Group rows of attachments (rows, n_attachable) that have equal plans.

        Returns:
            The attachments and the rows of each group. If there are many different attachments,
            those of frames that no body carries are -1, so that they do not split groups.
        """
        columns = np.flatnonzero((parents != parents[0]).any(axis=0))
        distinct, of_row = distinct_rows(parents[:, columns])
        if len(distinct) > MAX_PLAIN_GROUPS:
            parents = np.where(self._are_carried(parents), parents, -1)
            columns = np.flatnonzero((parents != parents[0]).any(axis=0))
            distinct, of_row = distinct_rows(parents[:, columns])
        order = np.argsort(of_row, kind="stable")
        starts = np.searchsorted(of_row[order], np.arange(len(distinct) + 1))
        result: list[tuple[Array, Array]] = []
        for k, row in enumerate(distinct):
            attachments = parents[0].copy()
            attachments[columns] = row
            result.append((attachments, order[starts[k] : starts[k + 1]]))
        return result

    def _are_carried(self, parents: Array) -> Array:
        """(rows, n_attachable) whether a body carries each attachable frame."""
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

    def totals(self, plan: Plan, values: Array, rows: Array | None = None) -> Totals:
        """The load of each body, for rows of state values (rows, n_values) with the same plan."""
        totals: Totals = {}
        for carried in plan.carried:
            parameters = carried.parameters
            for step in carried.steps:
                parameters = self._transform(step, parameters, values, rows)
            previous = totals.get(carried.body)
            totals[carried.body] = parameters if previous is None else previous + parameters
        return totals

    def are_same(self, plan: Plan, values: Array) -> bool:
        """Whether all rows of state values (rows, n_values) have the same loads."""
        if any(_row_difference()(values[:, span], values[0, span]).any() for span in plan.movable):
            return False
        others = values[:, plan.others]
        return bool((others == others[0]).all())

    def _transform(self, step: Step, parameters: Array, values: Array, rows: Array | None) -> Array:
        """(..., 10) inertial parameters after one step."""
        if step.frame < 0:
            return inertia.transform(step.pose, parameters)
        if step.columns.stop:
            frame_values = values[:, step.columns] if rows is None else values[rows, step.columns]
            return _movable_transform()(parameters, frame_values, step.mount)
        chosen = values if rows is None else values[rows]
        pose = step.pose @ local_pose(self._cell, step.frame, chosen)
        return inertia.transform(pose, parameters)

    def _build_plan(self, parents: Array) -> Plan:
        carried: list[CarriedFrame] = []
        columns: set[int] = set()
        movable: set[tuple[int, int]] = set()
        for source, parameters in self._sources:
            path = self._path_to_body(source, parents)
            if path is not None:
                body, steps = path
                carried.append(CarriedFrame(body, parameters, tuple(steps)))
                for step in steps:
                    columns.update(self._columns_of_step(step))
                    if step.columns.stop:
                        movable.add((step.columns.start, step.columns.stop))
        spans = tuple(slice(*span) for span in sorted(movable))
        others = columns.difference(*(range(*span) for span in movable))
        return Plan(tuple(carried), columns_of(sorted(columns)), spans, columns_of(sorted(others)))

    def _path_to_body(self, frame: int, parents: Array) -> tuple[int, list[Step]] | None:
        """The body that carries a frame, and the steps to it; None if there is no such body."""
        layout = self._cell.layout
        steps: list[Step] = []
        pose, moving = np.eye(4), -1  # product of constant poses since the last moving frame
        while frame not in self._frames:
            cell_frame = self._cell.frames[frame]
            if cell_frame.movable or cell_frame.motion:
                steps.append(self._step(moving, pose))
                pose, moving = np.eye(4), frame
            else:
                pose = cell_frame.parent_H_frame.matrix() @ pose
            frame = parent_index(layout, frame, parents)
            if frame < 0:
                return None
        body, body_H_frame = self._frames[frame]
        steps.append(self._step(moving, body_H_frame @ pose))
        return body, [step for step in steps if step.frame >= 0 or not _is_identity(step.pose)]

    def _step(self, frame: int, pose: Array) -> Step:
        is_movable = frame >= 0 and self._cell.frames[frame].movable
        return Step(frame, self._cell.layout.span(frame) if is_movable else slice(0, 0), pose)

    def _columns_of_step(self, step: Step) -> list[int]:
        """The state values that a step depends on."""
        if step.frame < 0:
            return []
        leader, _, _ = leader_of(self._cell, self._cell.frames[step.frame])
        span = self._cell.layout.span(leader)
        return list(range(span.start, span.stop))


def distinct_rows(rows: Array) -> tuple[Array, Array]:
    """The distinct rows of integers, and the index of each row among them."""
    if not rows.shape[1] or not len(rows):
        return rows[:1], np.zeros(len(rows), dtype=np.intp)
    size = int(rows.max()) + 2  # entries are -1 or more
    if size ** rows.shape[1] < 2**62:  # a row fits into one integer
        packed = rows[:, 0].astype(np.int64)
        for column in rows.T[1:]:
            packed = packed * size + column
    else:
        row_type = np.dtype((np.void, rows.itemsize * rows.shape[1]))
        packed = np.ascontiguousarray(rows).view(row_type).ravel()
    _, first, of_row = np.unique(packed, return_index=True, return_inverse=True)
    return rows[first], of_row


def columns_of(columns: list[int]) -> Any:
    """An index for columns of an array: a slice, which needs no copy, if they are contiguous."""
    if columns == list(range(columns[0], columns[0] + len(columns)) if columns else []):
        return slice(columns[0], columns[-1] + 1) if columns else slice(0, 0)
    return np.array(columns, dtype=np.intp)


def _is_identity(pose: Array) -> bool:
    return np.array_equal(pose, np.eye(4))


@cache
def _movable_transform() -> Any:
    """The compiled step of a movable frame: transform inertial parameters by mount @ pose."""

    @compile_function(parameters=(10,), xyz_wxyz=(7,), mount=(3, 4))
    def movable_transform(parameters: Array, xyz_wxyz: Array, mount: Array) -> Array:
        pose = se3.pose(quat.to_rotation(xyz_wxyz[3:]), xyz_wxyz[:3])
        last_row = np.array([[0.0, 0.0, 0.0, 1.0]])
        return inertia_source.transform(np.concatenate([mount, last_row]) @ pose, parameters)

    return movable_transform


@cache
def _row_difference() -> Any:
    """The compiled 1-norm of the difference of the values of a movable frame to the first row."""

    @compile_function(xyz_wxyz=(7,), first=(7,))
    def row_difference(xyz_wxyz: Array, first: Array) -> Array:
        return abs(xyz_wxyz - first).sum()

    return row_difference


def prepare() -> None:
    """Compile the functions of this module, so that gripping compiles nothing."""
    pose = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    _movable_transform()(np.zeros(10), pose, np.eye(3, 4))
    _row_difference()(pose, pose)


def warmup() -> None:
    """Wait for their optimized code."""
    _movable_transform().warmup()
    _row_difference().warmup()


class Payloads(Generic[Robot]):
    """A robot with payloads on some bodies, and one with payloads on all of them."""

    def __init__(
        self, loads: Loads, plain: Robot, slots: dict[int, str], more: Sequence[Parameter]
    ) -> None:
        """Create the robot with payloads.

        Args:
            loads: computes the loads of its bodies.
            plain: the robot without payloads.
            slots: by body that may carry objects: the link of the payload.
            more: additional parameters after the payloads; their default is zero.
        """
        self._loads, self._plain, self._slots, self._more = loads, plain, slots, more
        self.kd = self._with_payloads(slots)
        prepare()

    def of(self, parents: Array, values: Array) -> tuple[Robot, Array]:
        """The robot for a state, and its parameters, (n,) or (..., n)."""
        if parents.ndim == 1:
            return self._of_state(parents, values)
        is_empty = 0 in parents.shape[:-1]
        if is_empty or not any(parents.strides[:-1]):  # all rows are the same memory
            return self._of_equal_attachments(parents, values)
        return self._of_rows(parents, values)

    def _of_state(self, parents: Array, values: Array) -> tuple[Robot, Array]:
        """The robot and its parameters (n,) for one state, cached by attachments and poses."""
        plan = self._loads.plan(parents)
        key = values[plan.columns].tobytes()
        cached = plan.sums.get(key)
        if cached is None:
            kd, slots, totals = self._sums(plan, values[None])
            cached = kd, self._parameter_rows(kd, slots, totals, 1)[0]
            cached[1].flags.writeable = False
            if len(plan.sums) >= CACHE_SIZE:
                plan.sums.clear()
            plan.sums[key] = cached
        return cached

    def _of_equal_attachments(self, parents: Array, values: Array) -> tuple[Robot, Array]:
        """The same for a batch with equal attachments in all rows; (n,) or (..., n)."""
        batch, values = values.shape[:-1], flat_rows(values)
        if not len(values):
            return self.kd, self.kd.parameter_values()
        row = flat_rows(parents)[0]
        plan = self._loads.plan(row)
        if self._loads.are_same(plan, values):
            return self._of_state(row, values[0])
        kd, slots, totals = self._sums(plan, values)
        return kd, self._parameter_rows(kd, slots, totals, len(values)).reshape(*batch, -1)

    def _of_rows(self, parents: Array, values: Array) -> tuple[Robot, Array]:
        """The same for a batch with different attachments; (..., n)."""
        batch, n = values.shape[:-1], values.shape[-1]
        values = flat_rows(values)
        groups = self._loads.groups(flat_rows(parents))
        if len(groups) == 1:
            row = np.broadcast_to(groups[0][0], (*batch, parents.shape[-1]))
            return self._of_equal_attachments(row, values.reshape(*batch, n))
        parts = [(self._sums(self._loads.plan(row), values, rows), rows) for row, rows in groups]
        kd, slots = next(
            (sums[:2] for sums, _ in parts if sums[0] is not self.kd),
            (self.kd, self._slots),
        )
        parameters = np.zeros((len(values), kd.parameters.size))
        for (_, _, totals), rows in parts:
            if totals:
                parameters[rows] = self._parameter_rows(kd, slots, totals, len(rows))
        return kd, parameters.reshape(*batch, -1)

    def _sums(
        self, plan: Plan, values: Array, rows: Array | None = None
    ) -> tuple[Robot, dict[int, str], Totals]:
        """The robot with all payloads of a plan, its slots, and the loads of its bodies."""
        totals = self._loads.totals(plan, values, rows)
        if not self._plain.floating:
            totals.pop(0, None)  # loads of a fixed base do not move
        if totals.keys() <= self._slots.keys():
            return self.kd, self._slots, totals
        return *self._general, totals

    def _parameter_rows(self, kd: Robot, slots: dict[int, str], totals: Totals, rows: int) -> Array:
        """(rows, n) the parameters of a robot with payloads."""
        parameters = np.zeros((rows, kd.parameters.size))
        for body, total in totals.items():
            parameters[:, kd.parameters[f"payload.{slots[body]}"]] = total
        return parameters

    @cached_property
    def _general(self) -> tuple[Robot, dict[int, str]]:
        """The robot with a payload on every body, for loads of bodies without a slot."""
        bodies = range(0 if self._plain.floating else 1, len(self._plain.tree.links))
        slots = {body: self._plain.tree.links[body][0] for body in bodies}
        return self._with_payloads(slots), slots

    def _with_payloads(self, slots: dict[int, str]) -> Robot:
        payloads = [Payload(link) for link in slots.values()]
        return _shared(self._plain.replace(parameters=[*payloads, *self._more]))


@lru_cache(maxsize=32)
def _shared(kd: Robot) -> Robot:
    """The same object for equal robots, so that other cells with the same arm compile nothing."""
    return kd
