"""What the bodies of a device carry in a state: gripped objects, and what sits on them.

A frame with inertia that is no part of the device is carried by the first frame of the device on
its way to WORLD, if there is one: fixed to it, attached to it, or on other frames that are. Joints
on that way that the device does not drive are where they are in the state, and taken for locked.

The ten numbers of such a frame are brought to the body from frame to frame. Rows of a batch with
the same attachments are computed together; the way of each frame is found once for each row of
attachments, and kept.

`Payloads` makes what is carried an input of the functions of the robot, as parameters.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.engine.cached_property import cached_property
from linkwork.engine.kernel.compile import compile_function
from linkwork.engine.symbolic.arrays import Array
from linkwork.kindyn import KinDyn
from linkwork.parameters import Parameter, Payload
from linkwork.spatial import inertia
from linkwork.spatial.source import inertia as inertia_source
from linkwork.spatial.source import quat, se3
from linkwork.workcell.parts import leader_of, local_pose
from linkwork.workcell.paths import parent_index
from linkwork.workcell.state import flat_rows

if TYPE_CHECKING:
    from linkwork.workcell.cell import WorkCell


Totals = dict[int, Array]
"""By body: (rows, 10) numbers of all that it carries, in the axes of the body."""

FEW_GROUPS = 16  # so many rows of attachments are taken one by one
MOST_KEPT = 256  # rows of attachments whose ways are kept, and sums for each of them


@dataclass(frozen=True)
class Step:
    """From the axes of one frame to those of a frame that carries it."""

    frame: int  # whose pose on its parent depends on the state; -1 for none
    columns: slice  # its numbers, if it is a movable frame
    pose: Array  # (4, 4) of that parent in the axes of what carries it

    @cached_property
    def mount(self) -> Array:
        """The pose as rotation and position, (3, 4)."""
        return np.ascontiguousarray(self.pose[:3])


@dataclass(frozen=True)
class Carried:
    """A frame with inertia that a body carries."""

    body: int
    numbers: Array  # (10,) in its own axes
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Plan:
    """All that the bodies carry where frames are attached in one way."""

    carried: tuple[Carried, ...]
    columns: Any  # numbers of a state that enter: a slice or an array of indices
    movable: tuple[slice, ...]  # those of movable frames
    others: Any  # those of joints, as `columns`
    sums: dict[bytes, Any] = field(default_factory=dict[bytes, Any])  # by those numbers


class Loads:
    """Finds and adds up what the bodies of a device carry."""

    def __init__(
        self,
        cell: WorkCell,
        frames: Mapping[int, tuple[int, Array]],
        more: Collection[int] = (),
    ) -> None:
        """Look at which frames can be carried.

        Args:
            cell: the workcell.
            frames: by the index of each frame of the device: the number of its body, and its pose
                (4, 4) there.
            more: frames of the device whose poses on their bodies depend on the state; what sits
                on them is brought to the next of `frames` that carries them.
        """
        self._cell, self._frames = cell, frames
        self._plans: dict[bytes, Plan] = {}
        layout = cell.layout
        n = len(layout.slots)
        self._is_carried = np.zeros(n, dtype=bool)  # by a body, in every state
        self._column = np.full(n, -1, dtype=np.int32)  # of what it is attached by; -1 on WORLD
        for k in range(n):
            here, root = k, int(layout.part_roots[k])
            while here not in frames and here not in (root, 0):
                here = layout.slots[here].parent
            self._is_carried[k] = here in frames
            self._column[k] = layout.column[root] if root else -1
        self._sources = [
            (k, frame.inertia.parameters())
            for k, frame in enumerate(cell.frames)
            if k not in frames
            and k not in more
            and (frame.inertia.mass or any(frame.inertia.tensor))
        ]

    def plan(self, parents: Array) -> Plan:
        """What is carried with the attachments (n_attachable,) of one state."""
        key = parents.tobytes()
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= MOST_KEPT:
                self._plans = {}
            plan = self._plans[key] = self._made(parents)
        return plan

    def groups(self, parents: Array) -> list[tuple[Array, Array]]:
        """Rows (rows, n_attachable) of attachments with the same frames carried in the same way.

        Returns:
            For each group its attachments, and its rows. If there are many ways of attaching, what
            no body carries is -1 there, so that groups differ in what is carried only.
        """
        columns = np.flatnonzero((parents != parents[0]).any(axis=0))
        distinct, of_row = _distinct(parents[:, columns])
        if len(distinct) > FEW_GROUPS:
            parents = np.where(self._are_carried(parents), parents, -1)
            columns = np.flatnonzero((parents != parents[0]).any(axis=0))
            distinct, of_row = _distinct(parents[:, columns])
        order = np.argsort(of_row, kind="stable")
        starts = np.searchsorted(of_row[order], np.arange(len(distinct) + 1))
        found: list[tuple[Array, Array]] = []
        for k, row in enumerate(distinct):
            full = parents[0].copy()
            full[columns] = row
            found.append((full, order[starts[k] : starts[k + 1]]))
        return found

    def _are_carried(self, parents: Array) -> Array:
        """(rows, n_attachable) whether some body carries each attachable frame."""
        is_carried, above = self._is_carried[parents], self._column[parents]
        rows = np.arange(len(parents))[:, None]
        waits = ~is_carried & (above >= 0)
        while waits.any():  # on other attachable frames: are those carried?
            onward = np.where(waits, above, 0)
            found, further = is_carried[rows, onward], above[rows, onward]
            is_carried, above = is_carried | (waits & found), np.where(waits, further, above)
            waits = ~is_carried & (above >= 0)
        return is_carried

    def totals(self, plan: Plan, values: Array, rows: Array | None = None) -> Totals:
        """What each body carries, for some rows of numbers (rows, n_values), all of one plan."""
        found: Totals = {}
        for one in plan.carried:
            numbers = one.numbers
            for step in one.steps:
                numbers = self._brought(step, numbers, values, rows)
            known = found.get(one.body)
            found[one.body] = numbers if known is None else known + numbers
        return found

    def are_same(self, plan: Plan, values: Array) -> bool:
        """Whether all rows of numbers (rows, n_values) give the same sums."""
        if any(_differ()(values[:, span], values[0, span]).any() for span in plan.movable):
            return False
        others = values[:, plan.others]
        return bool((others == others[0]).all())

    def _brought(self, step: Step, numbers: Array, values: Array, rows: Array | None) -> Array:
        """(..., 10) numbers of a frame, in the axes of what carries it."""
        if step.frame < 0:
            return inertia.transform(step.pose, numbers)
        if step.columns.stop:
            own = values[:, step.columns] if rows is None else values[rows, step.columns]
            return _carried_by()(numbers, own, step.mount)
        chosen = values if rows is None else values[rows]
        pose = step.pose @ local_pose(self._cell, step.frame, chosen)
        return inertia.transform(pose, numbers)

    def _made(self, parents: Array) -> Plan:
        carried: list[Carried] = []
        columns: set[int] = set()
        movable: set[tuple[int, int]] = set()
        for source, numbers in self._sources:
            way = self._way(source, parents)
            if way is not None:
                body, steps = way
                carried.append(Carried(body, numbers, tuple(steps)))
                for step in steps:
                    columns.update(self._entering(step))
                    if step.columns.stop:
                        movable.add((step.columns.start, step.columns.stop))
        spans = tuple(slice(*span) for span in sorted(movable))
        others = columns.difference(*(range(*span) for span in movable))
        return Plan(tuple(carried), columns_of(sorted(columns)), spans, columns_of(sorted(others)))

    def _way(self, frame: int, parents: Array) -> tuple[int, list[Step]] | None:
        """The body that carries a frame, and the steps to it; None if no body does."""
        layout = self._cell.layout
        steps: list[Step] = []
        pose, moving = np.eye(4), -1  # constant poses since the last frame that moves
        while frame not in self._frames:
            own = self._cell.frames[frame]
            if own.movable or own.motion:
                steps.append(self._step(moving, pose))
                pose, moving = np.eye(4), frame
            else:
                pose = own.parent_H_frame.matrix() @ pose
            frame = parent_index(layout, frame, parents)
            if frame < 0:
                return None
        body, body_H_frame = self._frames[frame]
        steps.append(self._step(moving, body_H_frame @ pose))
        return body, [step for step in steps if step.frame >= 0 or not _is_identity(step.pose)]

    def _step(self, frame: int, pose: Array) -> Step:
        is_movable = frame >= 0 and self._cell.frames[frame].movable
        return Step(frame, self._cell.layout.span(frame) if is_movable else slice(0, 0), pose)

    def _entering(self, step: Step) -> list[int]:
        """Which numbers of a state enter a step."""
        if step.frame < 0:
            return []
        leader, _, _ = leader_of(self._cell, self._cell.frames[step.frame])
        span = self._cell.layout.span(leader)
        return list(range(span.start, span.stop))


def _distinct(rows: Array) -> tuple[Array, Array]:
    """The distinct rows of integers, and which of them each row is."""
    if not rows.shape[1] or not len(rows):
        return rows[:1], np.zeros(len(rows), dtype=np.intp)
    size = int(rows.max()) + 2  # -1 stands for none
    if size ** rows.shape[1] < 2**62:  # one number for each row
        packed = rows[:, 0].astype(np.int64)
        for column in rows.T[1:]:
            packed = packed * size + column
    else:
        whole = np.dtype((np.void, rows.itemsize * rows.shape[1]))
        packed = np.ascontiguousarray(rows).view(whole).ravel()
    _, first, of_row = np.unique(packed, return_index=True, return_inverse=True)
    return rows[first], of_row


def columns_of(columns: list[int]) -> Any:
    """Columns of an array: a slice, if they are in one piece and so need no copy."""
    if columns == list(range(columns[0], columns[0] + len(columns)) if columns else []):
        return slice(columns[0], columns[-1] + 1) if columns else slice(0, 0)
    return np.array(columns, dtype=np.intp)


def _is_identity(pose: Array) -> bool:
    return np.array_equal(pose, np.eye(4))


@cache
def _carried_by() -> Any:
    """The compiled step of a movable frame: ten numbers on it, on what its parent is mounted on."""

    @compile_function(numbers=(10,), at=(7,), mount=(3, 4))
    def carried_by(numbers: Array, at: Array, mount: Array) -> Array:
        pose = se3.pose(quat.to_rotation(at[3:]), at[:3])
        last = np.array([[0.0, 0.0, 0.0, 1.0]])
        return inertia_source.transform(np.concatenate([mount, last]) @ pose, numbers)

    return carried_by


@cache
def _differ() -> Any:
    """Compiled: 0 for rows of numbers of a movable frame that are a given row, else not 0."""

    @compile_function(at=(7,), first=(7,))
    def differ(at: Array, first: Array) -> Array:
        return abs(at - first).sum()

    return differ


def prepare() -> None:
    """Have the functions ready that states are computed with, so that gripping compiles nothing."""
    pose = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    _carried_by()(np.zeros(10), pose, np.eye(3, 4))
    _differ()(pose, pose)


def warmup() -> None:
    """Wait until their fast code is in use."""
    _carried_by().warmup()
    _differ().warmup()


class Payloads:
    """A robot with payloads on some bodies, and one with payloads on all of them."""

    def __init__(
        self, loads: Loads, plain: KinDyn, slots: dict[int, str], more: Sequence[Parameter]
    ) -> None:
        """Take the robot without payloads.

        Args:
            loads: says what its bodies carry.
            plain: the robot.
            slots: by body that may carry something: the link whose payload that is.
            more: further parameters, after the payloads; zero where nobody sets them.
        """
        self._loads, self._plain, self._slots, self._more = loads, plain, slots, more
        self.kd = self._with_payloads(slots)
        prepare()

    def of(self, parents: Array, values: Array) -> tuple[KinDyn, Array]:
        """The robot that computes a state, and its parameters, (n,) or (..., n)."""
        if parents.ndim == 1:
            return self._of_one(parents, values)
        is_empty = 0 in parents.shape[:-1]
        if is_empty or not any(parents.strides[:-1]):  # or all rows are the same one in memory
            return self._of_shared(parents, values)
        return self._of_rows(parents, values)

    def _of_one(self, parents: Array, values: Array) -> tuple[KinDyn, Array]:
        """The robot, and (n,) parameters, of one state; kept for the same attachments and poses."""
        plan = self._loads.plan(parents)
        key = values[plan.columns].tobytes()
        known = plan.sums.get(key)
        if known is None:
            kd, slots, totals = self._sums(plan, values[None])
            known = kd, self._numbers(kd, slots, totals, 1)[0]
            known[1].flags.writeable = False
            if len(plan.sums) >= MOST_KEPT:
                plan.sums.clear()
            plan.sums[key] = known
        return known

    def _of_shared(self, parents: Array, values: Array) -> tuple[KinDyn, Array]:
        """The same for a batch with the same attachments in all rows; (n,) or (..., n)."""
        batch, values = values.shape[:-1], flat_rows(values)
        if not len(values):
            return self.kd, self.kd.parameter_values()
        row = flat_rows(parents)[0]
        plan = self._loads.plan(row)
        if self._loads.are_same(plan, values):
            return self._of_one(row, values[0])
        kd, slots, totals = self._sums(plan, values)
        return kd, self._numbers(kd, slots, totals, len(values)).reshape(*batch, -1)

    def _of_rows(self, parents: Array, values: Array) -> tuple[KinDyn, Array]:
        """The same for a batch whose rows may differ in their attachments; (..., n)."""
        batch, n = values.shape[:-1], values.shape[-1]
        values = flat_rows(values)
        groups = self._loads.groups(flat_rows(parents))
        if len(groups) == 1:
            row = np.broadcast_to(groups[0][0], (*batch, parents.shape[-1]))
            return self._of_shared(row, values.reshape(*batch, n))
        parts = [(self._sums(self._loads.plan(row), values, at), at) for row, at in groups]
        kd, slots = next(
            (own[:2] for own, _ in parts if own[0] is not self.kd), (self.kd, self._slots)
        )
        numbers = np.zeros((len(values), kd.parameters.size))
        for (_, _, totals), at in parts:
            if totals:
                numbers[at] = self._numbers(kd, slots, totals, len(at))
        return kd, numbers.reshape(*batch, -1)

    def _sums(
        self, plan: Plan, values: Array, rows: Array | None = None
    ) -> tuple[KinDyn, dict[int, str], Totals]:
        """The robot that has all payloads of a plan, and what its bodies carry."""
        found = self._loads.totals(plan, values, rows)
        if not self._plain.floating:
            found.pop(0, None)  # what sits on a base that is fixed does not move
        if found.keys() <= self._slots.keys():
            return self.kd, self._slots, found
        return *self._general, found

    def _numbers(self, kd: KinDyn, slots: dict[int, str], totals: Totals, rows: int) -> Array:
        """(rows, n) the parameters of a robot with payloads."""
        numbers = np.zeros((rows, kd.parameters.size))
        for body, total in totals.items():
            numbers[:, kd.parameters[f"payload.{slots[body]}"]] = total
        return numbers

    @cached_property
    def _general(self) -> tuple[KinDyn, dict[int, str]]:
        """The robot with a payload on every body, for what the carriers do not carry."""
        bodies = range(0 if self._plain.floating else 1, len(self._plain.tree.links))
        slots = {body: self._plain.tree.links[body][0] for body in bodies}
        return self._with_payloads(slots), slots

    def _with_payloads(self, slots: dict[int, str]) -> KinDyn:
        listed = [Payload(link) for link in slots.values()]
        return _shared(self._plain.replace(parameters=[*listed, *self._more]))


@lru_cache(maxsize=32)
def _shared(kd: KinDyn) -> KinDyn:
    """One robot for all that are equal: another cell with the same arm compiles nothing anew."""
    return kd
