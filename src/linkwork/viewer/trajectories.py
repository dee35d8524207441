"""Trajectories: configurations over time, from files or arrays.

    .npy    (n, nq) an array, one row per sample; or (n, 1 + nq) with the time first
    .csv    numbers with commas, semicolons, tabs or spaces between them, in the same columns; or
            with a line of names first: joints, in any order, and `time` or `t`

q may also be without the seven numbers of the base. Without times, samples are 1/50 s apart.
"""

from __future__ import annotations

import csv
import time
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import (
    ArgumentError,
    MissingFileError,
    ShapeError,
    SourceError,
    ValueRangeError,
    name_not_found,
)
from linkwork.kindyn import KinDyn
from linkwork.model.layout import BASE_NQ
from linkwork.simulation.core import SimulationState
from linkwork.simulation.simulation import Simulation
from linkwork.viewer.robot import Moment, as_floats

PERIOD = 0.02  # between samples without times [s]
TIME_NAMES = ("time", "t", "time_s", "timestamp")


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Configurations of a robot with a floating base, at times that increase."""

    times: Array  # (n,) [s]
    q: Array  # (n, nq)
    moments: tuple[Moment, ...] = ()  # of each sample, if they are states of a simulation

    @property
    def duration(self) -> float:
        """Time from the first sample to the last [s]."""
        return float(self.times[-1] - self.times[0])

    def at(self, kd: KinDyn, time: float) -> tuple[Array, Array]:
        """Return q and nu at a time after the first sample; velocities are constant in between."""
        n = len(self.times)
        moment = float(np.clip(self.times[0] + time, self.times[0], self.times[-1]))
        k = int(np.clip(np.searchsorted(self.times, moment, side="right") - 1, 0, max(n - 2, 0)))
        if n == 1:
            return self.q[0], np.zeros(kd.nv)
        step = float(self.times[k + 1] - self.times[k])
        nu = kd.difference(self.q[k], self.q[k + 1]) / step
        return kd.integrate(self.q[k], nu, moment - float(self.times[k])), nu


class Player:
    """Plays a trajectory: a clock that can be stopped and set."""

    def __init__(
        self, kd: KinDyn, trajectory: Trajectory, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._kd, self.trajectory, self._clock = kd, trajectory, clock
        self.time, self.speed = 0.0, 1.0
        self._last: float | None = None  # clock reading when time was last advanced

    @property
    def playing(self) -> bool:
        """Whether the time advances."""
        return self._last is not None

    def start(self) -> None:
        """Play, from the start if it is at its end."""
        if self.time >= self.trajectory.duration:
            self.time = 0.0
        self._last = self._clock()

    def stop(self) -> None:
        """Stop at the current time."""
        self._last = None

    def seek(self, time: float) -> None:
        """Go to a time after the first sample [s]."""
        self.time = min(max(float(time), 0.0), self.trajectory.duration)

    def advance(self) -> None:
        """Advance the time to now; at the end, start again."""
        if self._last is None:
            return
        now = self._clock()
        self.time += (now - self._last) * self.speed
        self._last = now
        duration = self.trajectory.duration
        if duration > 0:
            self.time %= duration
        else:
            self.time = 0.0
            self.stop()

    def state(self) -> tuple[Array, Array]:
        """Return q and nu now."""
        return self.trajectory.at(self._kd, self.time)

    def moment(self) -> Moment | None:
        """Return the nearest state of a simulation."""
        times, moments = self.trajectory.times, self.trajectory.moments
        return moments[int(np.abs(times - times[0] - self.time).argmin())] if moments else None


def read_trajectory(kd: KinDyn, path: str | PathLike[str]) -> Trajectory:
    """Read a trajectory from a file.

    Args:
        kd: the robot, with a floating base.
        path: a .npy or .csv file.

    Raises:
        MissingFileError: there is no such file.
        SourceError: it is of another kind, or cannot be read.
        ShapeError: its columns are not those of the robot.
        ValueRangeError: a number is not finite, or the times do not increase.
    """
    file = Path(path)
    if not file.is_file():
        raise MissingFileError(f"no such file: {file}")
    if file.suffix.lower() == ".npy":
        return trajectory(kd, _array_in(file), what=str(file))
    if file.suffix.lower() == ".csv":
        return _table_in(kd, file)
    raise SourceError(f"{file}: expected a .npy or .csv file")


def trajectory(
    kd: KinDyn, q: ArrayLike, times: ArrayLike | None = None, *, what: str = "trajectory"
) -> Trajectory:
    """Return a trajectory from arrays.

    Args:
        kd: the robot, with a floating base.
        q: (n, nq), or without the base, or either with the time as its first column.
        times: (n,) [s], increasing; every 1/50 s by default.
        what: the name in messages.
    """
    rows = as_floats(q, what)
    joints = kd.nq - BASE_NQ
    widths = {joints: False, kd.nq: False}
    if times is None:
        widths = {joints + 1: True, kd.nq + 1: True, **widths}
    if rows.ndim != 2 or rows.shape[1] not in widths:
        shapes = f"(n, {joints}) joints or (n, {kd.nq}) with the base"
        more = "" if times is not None else ", and one more column if the time comes first"
        raise ShapeError(f"{what}: expected {shapes}{more}, got {rows.shape}")
    moments = None if times is None else as_floats(times, f"{what}: times")
    if widths[rows.shape[1]]:
        moments, rows = rows[:, 0], rows[:, 1:]
    return _checked(kd, rows, moments, what)


def _checked(kd: KinDyn, rows: Array, times: Array | None, what: str) -> Trajectory:
    n = len(rows)
    if not n:
        raise ShapeError(f"{what}: has no samples")
    times = np.arange(n) * PERIOD if times is None else times
    if times.shape != (n,):
        raise ShapeError(f"{what}: times: expected ({n},), got {times.shape}")
    for name, numbers in (("times", times[:, None]), ("samples", rows)):
        bad = ~np.isfinite(numbers).all(axis=1)
        if bad.any():
            raise ValueRangeError(f"{what}: {name}: row {int(bad.argmax())} is not finite")
    late = np.flatnonzero(np.diff(times) <= 0)
    if late.size:
        k = int(late[0])
        rows_text = f"row {k + 1} is at {times[k + 1]:g} s, after {times[k]:g} s"
        raise ValueRangeError(f"{what}: times do not increase: {rows_text}")
    if rows.shape[1] != kd.nq:
        base = np.tile(kd.neutral()[:BASE_NQ], (n, 1))
        rows = np.concatenate([base, rows], axis=1)
    return Trajectory(times, np.asarray(kd.normalize(rows)))


def simulated(
    kd: KinDyn,
    sim: Simulation,
    states: SimulationState,
    times: ArrayLike | None = None,
    controls: ArrayLike | None = None,
) -> Trajectory:
    """Return the trajectory of states of a simulation.

    Args:
        kd: the robot, with a floating base.
        sim: its simulation.
        states: (n, ...) of one rollout.
        times: (n,) [s]; one time step apart by default.
        controls: (n - 1, n_controls) of the steps, or (n_controls,); zeros by default.
    """
    n = len(states.q)
    u = np.zeros(sim.n_controls) if controls is None else np.asarray(controls, dtype=float)
    if u.ndim == 2 and len(u) == n - 1:
        u = np.concatenate([u, u[-1:]])  # the last state has the controls of the last step
    try:
        u = np.broadcast_to(u, (n, sim.n_controls))
    except ValueError:
        shapes = f"({n - 1}, {sim.n_controls}) or ({sim.n_controls},)"
        raise ShapeError(f"controls: expected {shapes}, got {u.shape}") from None
    rows = zip(*states, strict=True)
    moments = [Moment(SimulationState(*x), one) for x, one in zip(rows, u, strict=True)]
    clock = sim.dt * np.arange(n) if times is None else times
    motion = trajectory(kd, states.q, clock, what="states")
    return replace(motion, moments=tuple(moments))


def _array_in(file: Path) -> Array:
    if zipfile.is_zipfile(file):
        raise SourceError(f"{file}: holds several arrays; save one with np.save")
    try:  # as a memory map, which NumPy compares with the size of the file before it allocates
        mapped = np.load(file, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # noqa: BLE001 - the errors of a damaged header are not documented
        raise SourceError(f"{file}: cannot be read as a .npy file ({error})") from None
    if mapped.dtype.kind not in "fiub":
        raise ArgumentError(f"{file}: expected an array of numbers, got one of {mapped.dtype}")
    return np.array(mapped)


def _table_in(kd: KinDyn, file: Path) -> Trajectory:
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            cells = [[cell.strip() for cell in row] for row in csv.reader(stream) if row]
        names = [] if not cells or _is_number(cells[0][0]) else cells.pop(0)
        rows = np.array(cells, dtype=float).reshape(len(cells), len(names) or -1)
    except (OSError, ValueError, csv.Error) as error:
        raise SourceError(f"{file}: cannot be read as a table of numbers ({error})") from None
    return _named(kd, names, rows, str(file)) if names else trajectory(kd, rows, what=str(file))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _named(kd: KinDyn, names: Sequence[str], rows: Array, what: str) -> Trajectory:
    """Assign columns by name; joints that are not named stay where they are when all is neutral."""
    q = np.tile(kd.neutral(), (len(rows), 1))
    times: Array | None = None
    columns = {
        name: span.start for name, span in kd.layout.q.items() if span.stop - span.start == 1
    }
    done: set[str] = set()
    for k, name in enumerate(names):
        if name in done:
            raise ArgumentError(f"{what}: column {name!r} appears twice")
        done.add(name)
        if name in columns:
            q[:, columns[name]] = rows[:, k]
        elif name.lower() in TIME_NAMES:
            times = rows[:, k]
        else:
            raise name_not_found(f"joint of one coordinate for a column of {what}", name, columns)
    return _checked(kd, q, times, what)
