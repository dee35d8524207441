"""Dynamics with what is gripped, against the same arm without: one call, and batches."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np
from report import Section
from timing import Patience, Task, best

import linkwork as lw

ROWS = 4096
OBJECTS = 50
MOST = 1.3  # times the same arm without payload
FUNCTIONS = {
    "mass_matrix": 0,
    "bias_force": 1,
    "gravity_force": 0,
    "inverse_dynamics": 2,
    "forward_dynamics": 2,
}


def workcell_dynamics(patience: Patience) -> Section:
    """An arm of seven joints among many objects, of which it holds one, or two."""
    section = Section("Dynamics that follow the grasp")
    cell = _cell()
    device, dyn = cell.device("arm"), cell.dynamics("arm")
    plain = lw.KinDyn(device.spec.model, floating=False)  # type: ignore[attr-defined]
    free = device.set_q(cell.state(), plain.random(seed=0))
    held = cell.grip(free, "object0", "arm.tool")
    stacked = cell.grip(cell.grip(free, "object1", "object0"), "object0", "arm.tool")
    q = plain.random(ROWS, seed=1)
    rng = np.random.default_rng(2)
    nu, tau = rng.normal(size=(2, ROWS, plain.nv))
    cases = {"free": free, "held": held, "stacked": stacked}
    states = {name: device.path(state, q) for name, state in cases.items()}
    mixed = lw.State.stack([states["free" if k % 2 else "stacked"][k] for k in range(ROWS)])
    columns = (
        "function",
        "kernel, arm alone",
        "with payload",
        "times",
        "dyn, free",
        "held",
        "times",
    )
    columns += ("new state, free", "held", "times", "target", "fulfilled")
    one = section.table("Microseconds of one call", *columns)
    many = section.table(
        f"Nanoseconds per row, batch of {ROWS:,}, one thread",
        *(*columns, "new, holds two", "new, holds two or none"),
    )
    for name, count in FUNCTIONS.items():
        kernel = getattr(plain, name)
        kernel.warmup()
        dyn.warmup(name)
        more = (nu, tau)[:count]
        _one_call(section, one, name, dyn, kernel, (free, held, [x[0] for x in more]), patience)
        _batches(section, many, name, dyn, kernel, (states, mixed, more), patience)
    section.notes += [
        f"The bundled arm, fingers locked, and {OBJECTS} objects, of which it holds one.",
        "Where it holds two, one sits on the other.",
        "dyn: `cell.dynamics(device)`, called with the same state again.",
        "New: a state that was not seen before, as in a simulation; the hand holds the same.",
        "Kernel: that of `dyn.kd`, with `dyn.parameters(state)` computed once.",
        "Where every second row holds two, held objects are looked up and added for every row.",
    ]
    return section


def _cell() -> lw.WorkCell:
    arm = lw.robots.load("arm")
    arm = arm.reduced([joint.name for joint in arm.joints if joint.kind == "revolute"])
    cell = lw.WorkCell("bench").with_frame("table", parent_H_frame=lw.Pose((0.0, 0.0, 0.8)))
    cell = cell.with_robot("arm", arm, parent="table", end="tool")
    for k in range(OBJECTS):
        cell = cell.with_frame(
            f"object{k}",
            parent="table",
            parent_H_frame=lw.Pose((0.1 * k, 0.0, 0.0)),
            movable=True,
            attachable=True,
            inertia=lw.solid_box(0.1 + 0.01 * k, (0.1, 0.2, 0.3)),
        )
    return cell


def _copies(state: lw.State, n: int = 64) -> Any:
    """Equal states that are not the same object, one after the other."""
    return cycle([lw.State.trusted(state.layout, state.values, state.parents) for _ in range(n)])


def _one_call(  # noqa: PLR0917
    section: Section, table: Any, name: str, dyn: Any, kernel: Any, inputs: Any, patience: Patience
) -> None:
    free, held, others = inputs
    tasks = _tasks(dyn, name, kernel, {"free": free, "held": held}, (others, {}))
    us = {key: seconds * 1e6 for key, seconds in best(tasks, patience).items()}
    table.add(name, *_cells(section, f"one call, {name}", us, 2))
    section.data.append({"function": name, "rows": 1} | us)


def _batches(  # noqa: PLR0917
    section: Section, table: Any, name: str, dyn: Any, kernel: Any, inputs: Any, patience: Patience
) -> None:
    states, mixed, others = inputs
    q = dyn.device.get_q(states["held"])
    named = {"out": np.empty_like(kernel(q, *others)), "threads": 1}
    tasks = _tasks(dyn, name, kernel, states | {"mixed": mixed}, (others, named))
    ns = {key: seconds / ROWS * 1e9 for key, seconds in best(tasks, patience).items()}
    more = [f"{ns[key]:.0f}" for key in ("new stacked", "new mixed")]
    table.add(name, *_cells(section, f"batch, {name}", ns, 0), *more)
    section.data.append({"function": name, "rows": ROWS} | ns)


def _tasks(dyn: Any, name: str, kernel: Any, states: Any, more: Any) -> dict[str, Task]:
    """Kernels without and with payload, and the methods at states that were seen or are new."""
    others, named = more
    method, loaded = getattr(dyn, name), getattr(dyn.kd, name)
    q, p = np.ascontiguousarray(dyn.device.get_q(states["held"])), dyn.parameters(states["held"])

    def fresh(state: lw.State) -> Any:
        copies = _copies(state)
        return lambda: method(next(copies), *others, **named)

    return {
        "plain": Task(kernel, (q, *others), named),
        "loaded": Task(loaded, (q, *others, p), named),
        "dyn free": Task(method, (states["free"], *others), named),
        "dyn held": Task(method, (states["held"], *others), named),
        **{f"new {key}": Task(fresh(state)) for key, state in states.items()},
    }


def _cells(section: Section, what: str, results: dict[str, float], digits: int) -> list[str]:
    """Three pairs of times with their ratios, and whether all meet their targets."""
    cells: list[str] = []
    verdicts: list[str] = []
    pairs = {
        "kernel": ("plain", "loaded"),
        "dyn": ("dyn free", "dyn held"),
        "new state": ("new free", "new held"),
    }
    for title, (without, with_) in pairs.items():
        ratio = results[with_] / results[without]
        verdicts.append(section.check(f"{what}, {title}", ratio, MOST, at_most=True))
        cells += [f"{results[without]:.{digits}f}", f"{results[with_]:.{digits}f}", f"{ratio:.2f}"]
    return [*cells, f"{MOST:g}", "NO" if "NO" in verdicts else "yes"]
