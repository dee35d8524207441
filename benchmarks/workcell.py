"""Workcells: world poses of all frames, against pin (one appended model) and MuJoCo."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

import numpy as np
from report import Section
from timing import Patience, Task, best
from workcell_peers import MuJoCoCell, PinocchioCell

import linkwork as lw
from linkwork.engine.symbolic.arrays import Array
from linkwork.workcell.state.state import State

ROWS = 4096
N_OBJECTS = 50
ONE_TARGETS, ROW_TARGETS = 15.0, 1.5  # microseconds
AGREES = 1e-12


def bench_cell() -> lw.WorkCell:
    """Three arms on a table, twenty sensors on each, and fifty objects: 148 frames."""
    rng = np.random.default_rng(0)
    model = lw.robots.load("arm")
    cell = lw.WorkCell("bench").with_frame("table", parent_H_frame=lw.Pose((0.0, 0.0, 0.8)))
    for k in range(3):
        pose = lw.Pose((float(k), 0.0, 0.0), (0.0, 0.0, 0.4 * k))
        cell = cell.with_robot(f"arm{k}", model, parent="table", parent_H_base=pose)
        for n in range(20):
            link = f"arm{k}.{model.links[n % len(model.links)].name}"
            mount = lw.Pose(tuple(rng.normal(size=3)), tuple(rng.normal(size=3)))
            cell = cell.with_frame(f"sensor{k}_{n}", link, mount)
    for k in range(N_OBJECTS):
        mount = lw.Pose(tuple(rng.normal(size=3)), tuple(rng.normal(size=3)))
        parent = "table" if k % 2 else "WORLD"
        cell = cell.with_frame(f"box{k}", parent, mount, movable=True, attachable=True)
    return cell


def random_states(cell: lw.WorkCell, rows: int, *, mixed: bool) -> State:
    """States with random joints and poses; in mixed ones every object sits on any frame."""
    rng = np.random.default_rng(1)
    states = cell.state().broadcast(rows)
    for name in cell.device_names:
        device = cell.device(name)
        q = rng.uniform(-1.5, 1.5, (rows, device.nq))
        states = device.set_q(states, np.clip(q, device.lower, device.upper))
    values = states.values.copy()
    for offset, count, _ in states.layout.unit_norms:
        wxyz = rng.normal(size=(rows, count))
        values[:, offset : offset + count] = wxyz / np.linalg.norm(wxyz, axis=-1, keepdims=True)
    parents = states.parents
    if mixed:
        parents = rng.integers(len(cell.frames) - N_OBJECTS, size=parents.shape)
    return State(cell.layout, values, parents)


def workcell(patience: Patience) -> Section:
    """World poses and Jacobians: one state, batches, attachments never seen before."""
    section = Section("Workcells")
    cell = bench_cell()
    shared, mixed = (random_states(cell, ROWS, mixed=mixed) for mixed in (False, True))
    peers = PinocchioCell(cell), MuJoCoCell(cell)
    for peer in peers:
        apart = np.abs(peer.poses(shared[0]) - cell.fk(shared[0]).world_H_frames).max()
        assert apart < AGREES, (peer.name, apart)
    tasks = _tasks(cell, shared, mixed) | {peer.name: peer.task(shared[0]) for peer in peers}
    times = {name: 1e6 * results for name, results in best(tasks, patience).items()}
    per_row = {name: times[name] / ROWS for name in _BATCHES}
    table = section.table(
        f"Microseconds for the world poses of {len(cell.frames)} frames, on one thread",
        *("what", "linkwork", "target", "", *(f"{peer.name}" for peer in peers)),
    )
    for name, results, target in (
        *((name, times[name], ONE_TARGETS) for name in _SINGLE),
        *((name, per_row[name], ROW_TARGETS) for name in _BATCHES),
    ):
        is_asked = name != "grip"
        good = section.check(name, results, target, at_most=True) if is_asked else ""
        others = [f"{times[peer.name]:.1f}" for peer in peers]
        others = others if name not in _ONLY_HERE else ["-"] * len(peers)
        table.add(name, f"{results:.2f}", f"{target:g}" if is_asked else "", good, *others)
    section.data.append(times | {f"{name}, per row": time for name, time in per_row.items()})
    section.notes += [
        "Poses are (4, 4) matrices of float64; batches use the memory of an earlier table.",
        "pin: one model of all arms and objects, framesForwardKinematics. MuJoCo: mj_kinematics.",
        "Neither can attach a frame elsewhere without building the model again, or takes batches.",
        "RobWork itself (sdurw) is not on PyPI for this Python.",
    ]
    return section


_SINGLE = (
    "one state",
    "one state, attached as never before",
    "grip",
    "Jacobian of a gripped object",
)
_BATCHES = (f"a row of {ROWS:,}", f"a row of {ROWS:,}, each attached differently")
_ONLY_HERE = (*_SINGLE[1:], _BATCHES[1])


def _tasks(cell: lw.WorkCell, shared: State, mixed: State) -> dict[str, Task]:
    one, arm = shared[0], cell.device("arm1")
    held = cell.grip(one, "box0", arm.end)
    tables = cell.fk(shared), cell.fk(mixed)
    named: dict[str, Any] = {"threads": 1}
    return dict(
        zip(
            (*_SINGLE, *_BATCHES),
            (
                Task(cell.fk, (one,)),
                Task(_fresh(cell, one)),
                Task(cell.grip, (one, "box0", arm.end)),
                Task(arm.base_J_frame, ("box0", held)),
                Task(cell.fk, (shared,), named | {"out": tables[0]}),
                Task(cell.fk, (mixed,), named | {"out": tables[1]}),
            ),
            strict=True,
        )
    )


def _fresh(cell: lw.WorkCell, state: State) -> Callable[[], Array]:
    """Computes the poses of a state whose attachments are others in each call."""
    rng = np.random.default_rng(2)
    parents = rng.integers(len(cell.frames) - N_OBJECTS, size=(20_000, N_OBJECTS), dtype=np.int32)
    states = cycle([State.trusted(cell.layout, state.values, row) for row in parents])
    return lambda: cell.fk(next(states)).world_H_frames
