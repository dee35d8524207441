"""linkwork against pin: one call at a time, and batches, on one thread."""

from __future__ import annotations

from typing import Any

import numpy as np
from functions import SHORT, arguments, kernel_of, method_task
from peers import Pinocchio
from report import Section
from timing import Patience, Task, best_of_variants

from robots import CASES, Case, State, kindyn_of, random_states

ROWS = 4096
SINGLE_TARGETS = {"rnea": 2.2, "crba": 2.0, "aba": 3.0, "pose": 2.0, "jacobian": 1.5, "cmm": 2.0}
BATCH_TARGETS = {
    "rnea": 15.0,
    "crba": 10.0,
    "aba": 15.0,
    "pose": 10.0,
    "poses": 3.0,
    "jacobian": 8.0,
    "cmm": 8.0,
}


def single(patience: Patience) -> Section:
    """One call at a time, the result in a NumPy array."""
    section = Section("One call at a time, against pin")
    table = section.table(
        "Microseconds per call, and how many times faster linkwork is",
        *("robot", "function", "pin", "linkwork kernel", "linkwork method"),
        *("kernel is faster", "method is faster", "target", "kernel", "method"),
    )
    for case in CASES:
        kd = kindyn_of(case)
        pin = Pinocchio(kd, str(case.path), case.frame)
        state = random_states(kd, 1).row(0)
        for function, target in SINGLE_TARGETS.items():
            kernel = kernel_of(kd, function, case.frame)
            times: dict[str, Any] = best_of_variants(
                {
                    "pin": pin.tasks(function, state),
                    "kernel": [Task(kernel, arguments(function, state))],
                    "method": [method_task(kd, function, case.frame, state)],
                },
                patience,
            )
            ratios = {way: times["pin"] / times[way] for way in ("kernel", "method")}
            verdicts = [
                section.check(f"{case.name} {SHORT[function]} ({way})", ratio, target)
                for way, ratio in ratios.items()
            ]
            table.add(
                *(case.name, SHORT[function], *(f"{t * 1e6:.2f}" for t in times.values())),
                *(f"{ratio:.1f}" for ratio in ratios.values()),
                *(f"{target:g}", *verdicts),
            )
            section.data.append({"robot": case.name, "function": function} | times)
    section.notes += [
        "kernel: `f = kd.function(...)` once, then `f(q, ...)`.",
        "method: `kd.inverse_dynamics(q, ...)` and so on.",
        "pin: the fastest of its ways, such as the two conventions of crba and aba.",
    ]
    return section


def batch(patience: Patience) -> Section:
    """Batches with a reused output, and with a fresh one."""
    section = Section(f"Batches of {ROWS:,}, against pin")
    table = section.table(
        "Microseconds per row on one thread, and how many times faster linkwork is",
        *("robot", "function", "pin", "linkwork, out=", "linkwork, fresh", "filling out"),
        *("out= is faster", "fresh is faster", "target", "out="),
    )
    for case in CASES:
        kd = kindyn_of(case)
        pin, states = Pinocchio(kd, str(case.path), case.frame), random_states(kd, ROWS)
        for function, target in BATCH_TARGETS.items():
            times = _batch_times(case, pin, function, states, patience)
            out, fresh = times["pin"] / times["out"], times["pin"] / times["fresh"]
            table.add(
                *(case.name, SHORT[function], *(f"{t * 1e6:.3f}" for t in times.values())),
                *(f"{out:.1f}", f"{fresh:.1f}", f"{target:g}"),
                section.check(f"{case.name} {SHORT[function]}", out, target),
            )
            section.data.append({"robot": case.name, "function": function} | times)
    section.notes += [
        "pin: one call per row (the time of a single call, without a loop around it).",
        "pin's `rneaInParallel` and `abaInParallel` on one thread instead, where that is faster.",
        "filling out: NumPy writes zeros to the output: about what memory alone costs.",
        "poses of all links: pin leaves them in its `Data`, linkwork writes (rows, links, 4, 4).",
    ]
    return section


def _batch_times(
    case: Case, pin: Pinocchio, function: str, states: State, patience: Patience
) -> dict[str, Any]:
    """Seconds per row."""
    kernel = kernel_of(kindyn_of(case), function, case.frame)
    rows = arguments(function, states)
    out = np.asarray(kernel(*rows, threads=1))
    results: dict[str, Any] = best_of_variants(
        {
            "pin": pin.tasks(function, states.row(0)),
            "pin batch": pin.batch_tasks(function, states),
            "out": [Task(kernel, rows, {"out": out, "threads": 1})],
            "fresh": [Task(kernel, rows)],
            "fill": [Task(out.fill, (0.0,))],
        },
        patience,
    )
    of_batch = {name: results[name] / ROWS for name in ("out", "fresh", "fill")}
    pin_batch = results["pin batch"] / ROWS if results["pin batch"] else results["pin"]
    return {"pin": min(results["pin"], pin_batch)} | of_batch
