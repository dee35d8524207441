"""The cost of other ways to call a function: lists, strided arrays, further arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
from report import Section
from timing import Patience, Task, best

import linkwork as lw
from linkwork.engine.symbolic.arrays import Array
from robots import CASES, kindyn_of

ROWS = 4096
DRIFT = 1 + 1e-9  # of a quaternion, as an integrator leaves it
MORE = 2.0  # microseconds on top of the plain call, at most
TIMES = 1.15  # the plain batch, at most
FRESH = 1.25  # a batch with a new result, at most, of one with a reused result
ROBOTS = ("arm", "humanoid")


def as_called(patience: Patience) -> Section:
    """One call and one batch, in the ways that people write them."""
    section = Section("As people call it")
    one = section.table(
        "Microseconds of one call of the method", "way", "robot", "plain", "this way", "more", "ok"
    )
    batch = section.table(
        f"Microseconds of a batch of {ROWS} rows, one thread, with `out`",
        *("way", "robot", "plain", "this way", "times", "ok"),
    )
    fresh = section.table(
        f"Microseconds per row of mass_matrix, {ROWS} rows, all threads, results dropped at once",
        *("robot", "out=", "new result", "times", "ok"),
    )
    for case in (case for case in CASES if case.name in ("iCub", "talos_reduced")):
        _fresh_results(section, fresh, case.name, kindyn_of(case), patience)
    for robot in ROBOTS:
        kd = lw.KinDyn(lw.robots.load(robot), floating=True)
        _one_call(section, one, robot, kd, patience)
        _batches(section, batch, robot, kd, patience)
    section.notes += [
        "mass_matrix; gravity_force for gravity=, inverse_dynamics for wrenches=.",
        f"Drifted: the norm of the base quaternion is off by {DRIFT - 1:.0e}.",
        f"Wanted: at most {MORE:g} microseconds more for one call, {TIMES:g} times for a batch.",
    ]
    return section


def _one_call(section: Section, table: Any, robot: str, kd: lw.KinDyn, patience: Patience) -> None:
    q, nu = kd.random(seed=0), np.full(kd.nv, 0.1)
    checked = kd.replace(check=True)
    fall, wrench = (0.0, 0.0, -9.81), np.arange(6.0)
    frame = kd.model.frame_names[-1]
    mass, inverse = kd.mass_matrix, kd.inverse_dynamics
    tasks = {
        "plain": Task(mass, (q,)),
        "drifted quaternion": Task(mass, (drifted(q),)),
        "float32": Task(mass, (q.astype(np.float32),)),
        "list": Task(mass, (q.tolist(),)),
        "strided row": Task(mass, (np.repeat(q, 2)[::2],)),
        "column of an array": Task(mass, (np.repeat(q[:, None], 3, axis=1)[:, 1],)),
        "check=True": Task(checked.mass_matrix, (q,)),
        "plain gravity_force": Task(kd.gravity_force, (q,)),
        "gravity= tuple": Task(kd.gravity_force, (q,), {"gravity": fall}),
        "gravity= array": Task(kd.gravity_force, (q,), {"gravity": np.array(fall)}),
        "plain inverse_dynamics": Task(inverse, (q, nu, nu)),
        "wrenches= one": Task(inverse, (q, nu, nu), {"wrenches": {frame: wrench}}),
        "wrenches= list": Task(inverse, (q, nu, nu), {"wrenches": {frame: wrench.tolist()}}),
    }
    measured = _measured(tasks, (kd, checked), patience)
    plain = ""
    for way, seconds in measured.items():
        if way.startswith("plain"):
            plain = way
            continue
        more = 1e6 * (seconds - measured[plain])
        verdict = section.check(f"{robot}: {way} [us more]", more, MORE, at_most=True)
        times = f"{measured[plain] * 1e6:.2f}", f"{seconds * 1e6:.2f}"
        table.add(way, robot, *times, f"{more:+.2f}", verdict)
        section.data.append({"robot": robot, "way": way, "seconds": seconds, "more": more})


def _batches(section: Section, table: Any, robot: str, kd: lw.KinDyn, patience: Patience) -> None:
    q = kd.random(ROWS, seed=0)
    kernel = kd.function("mass_matrix")
    out = np.empty((ROWS, kd.nv, kd.nv))
    wide = np.zeros((ROWS, kd.nq + 3))
    wide[:, : kd.nq] = q
    ways: dict[str, Array] = {
        "plain": q,
        "every second row": np.repeat(q, 2, axis=0)[::2],
        "part of each row": wide[:, : kd.nq],
        "Fortran order": np.asfortranarray(q),
        "float32": q.astype(np.float32),
        "drifted quaternions": drifted(q),
    }
    named = {"out": out, "threads": 1}
    tasks = {way: Task(kernel, (array,), named) for way, array in ways.items()}
    measured = _measured(tasks, (kd,), patience)
    for way, seconds in list(measured.items())[1:]:
        ratio = seconds / measured["plain"]
        verdict = section.check(f"{robot}: batch, {way}", ratio, TIMES, at_most=True)
        times = f"{measured['plain'] * 1e6:.0f}", f"{seconds * 1e6:.0f}"
        table.add(way, robot, *times, f"{ratio:.2f}", verdict)
        section.data.append({"robot": robot, "way": f"batch, {way}", "seconds": seconds})


def _fresh_results(
    section: Section, table: Any, robot: str, kd: lw.KinDyn, patience: Patience
) -> None:
    q, kernel = kd.random(ROWS, seed=0), kd.function("mass_matrix")
    out = np.empty((ROWS, kd.nv, kd.nv))
    tasks = {"out=": Task(kernel, (q,), {"out": out}), "new result": Task(kernel, (q,))}
    measured = _measured(tasks, (kd,), patience)
    ratio = measured["new result"] / measured["out="]
    verdict = section.check(f"{robot}: new results, times out=", ratio, FRESH, at_most=True)
    times = (f"{seconds / ROWS * 1e6:.3f}" for seconds in measured.values())
    table.add(robot, *times, f"{ratio:.2f}", verdict)
    section.data.append({"robot": robot, "way": "new result", "times": ratio} | measured)


def drifted(q: Array) -> Array:
    """The same with base quaternions whose norm is not quite 1."""
    q = q.copy()
    q[..., 3:7] *= DRIFT
    return q


def _measured(
    tasks: dict[str, Task], robots: tuple[lw.KinDyn, ...], patience: Patience
) -> dict[str, float]:
    """Seconds of each call, once its code is the fast one."""
    for task in tasks.values():
        task.run()
    for kd in robots:
        kd.warmup()
    return best(tasks, patience)
