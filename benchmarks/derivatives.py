"""Derivatives: analytic ones against pin, and backward sweeps against the functions themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
from against_pin import ROWS
from functions import SHORT, arguments, kernel_of
from peers import Pinocchio
from report import Section
from startup import first_calls, run_alone
from timing import Patience, Task, best_of_variants

import linkwork as lw
from linkwork.engine.symbolic.arrays import Array
from robots import CASES, GRAVITY, TALOS, Case, State, kindyn_of, model_of, random_states

ANALYTIC = {  # inputs, and how many times faster than pin: one call, and in batches
    "inverse_dynamics_derivatives": (("q", "nu", "nu_dot"), 3.0, 12.0),
    "forward_dynamics_derivatives": (("q", "nu", "tau"), 2.5, 8.0),
    "inverse_mass_matrix": (("q",), 3.0, 12.0),
}
TITLES = {
    "inverse_dynamics_derivatives": "of inverse dynamics",
    "forward_dynamics_derivatives": "of forward dynamics",
    "inverse_mass_matrix": "M^-1",
}
ROBOTS = [case for case in CASES if case.name != "ur5"]
MOST_VJP = 3.2  # times the function itself
AGREES = 1e-9  # of the largest entry
_FIRST_TARGETS = {
    "inverse_dynamics_derivatives": 1.0,
    "forward_dynamics_derivatives": 3.0,
    "inverse_mass_matrix": 1.0,
    "inverse_dynamics.vjp": 1.0,
    "mass_matrix.vjp": 1.0,
    "forward_dynamics.vjp": 1.0,
}


def analytic(patience: Patience) -> Section:
    """Derivatives of the dynamics against pin: one call, and batches."""
    section = Section("Derivatives of the dynamics, against pin")
    table = section.table(
        "Microseconds per row on one thread, and how many times faster linkwork is",
        *("robot", "derivatives", "operations", "pin", "one call", f"batch of {ROWS:,}"),
        *("call is faster", "batch is faster", "target", "call", "batch", "difference"),
    )
    for case in ROBOTS:
        kd, states = kindyn_of(case), random_states(kindyn_of(case), ROWS)
        pin = Pinocchio(kd, str(case.path), case.frame)
        for name, (_, one_target, batch_target) in ANALYTIC.items():
            times, n_ops = _times(kd, pin, name, states, patience)
            one, batch = times["pin"] / times["one"], times["pin"] / times["batch"]
            apart = _difference(case, pin, name, states.row(0))
            assert apart < AGREES, (case.name, name, apart)
            what = f"{case.name} {TITLES[name]}"
            table.add(
                *(case.name, TITLES[name], f"{n_ops:,}"),
                *(f"{times[way] * 1e6:.2f}" for way in ("pin", "one", "batch")),
                *(f"{one:.1f}", f"{batch:.1f}", f"{one_target:g} / {batch_target:g}"),
                section.check(f"{what}, one call", one, one_target),
                section.check(f"{what}, batch", batch, batch_target),
                f"{apart:.0e}",
            )
            section.data.append({"robot": case.name, "function": name, "ops": n_ops} | times)
    section.notes += [
        'pin: computeRNEADerivatives, computeABADerivatives, computeMinverse, in "body".',
        "linkwork: in mixed, its default; fresh arrays for one call, reused ones for batches.",
        "difference: from pin's results, in the body representation, of the largest entry.",
    ]
    return section


def _times(
    kd: lw.KinDyn, pin: Pinocchio, name: str, states: State, patience: Patience
) -> tuple[dict[str, Any], int]:
    """Seconds per row, and the number of operations."""
    kernel: Any = kd.function(name)
    kernel.warmup()
    rows = tuple(getattr(states, one) for one in ANALYTIC[name][0])
    row = tuple(array[0] for array in rows)
    out = kernel(*rows, threads=1)
    measured: dict[str, Any] = best_of_variants(
        {
            "pin": [_pin_task(pin, name, states.row(0))],
            "one": [Task(kernel, row)],
            "batch": [Task(kernel, rows, {"out": out, "threads": 1})],
        },
        patience,
    )
    measured["batch"] /= ROWS
    return measured, kernel.program.n_ops


def _pin_task(peer: Pinocchio, name: str, state: State) -> Task:
    pin, own = peer.pin, peer.convention.state(state)
    q = peer.convention.q(state.q, scalar_last=True)
    start = (peer.model, peer.data, q)
    return {
        "inverse_dynamics_derivatives": Task(
            pin.computeRNEADerivatives, (*start, own.nu, own.nu_dot)
        ),
        "forward_dynamics_derivatives": Task(pin.computeABADerivatives, (*start, own.nu, own.tau)),
        "inverse_mass_matrix": Task(pin.computeMinverse, start),
    }[name]


def _difference(case: Case, peer: Pinocchio, name: str, state: State) -> float:
    """How far pin's results are from linkwork's in the body representation, relative."""
    inputs = ANALYTIC[name][0]
    kd = lw.KinDyn(model_of(case), floating=True, gravity=GRAVITY, representation="body")
    own = peer.convention.state(state)
    order = [*range(6), *(6 + k for k in peer.convention.order)]
    values = {"q": state.q} | {
        one: _in_our_order(getattr(own, one), order) for one in inputs if one != "q"
    }
    kernel: Any = kd.function(name)
    kernel.warmup()  # else it would be compiled in the background during the measurement
    measured = kernel(*(values[one] for one in inputs))
    results = _pin_task(peer, name, state).run()
    theirs = [np.array(array) for array in results] if isinstance(results, tuple) else [results]
    ours = list(measured) if isinstance(measured, tuple) else [measured]
    apart = 0.0
    for a, b in zip(ours, theirs, strict=False):  # pin has none by the wrenches
        mine, upper = a[np.ix_(order, order)], np.triu(b) if _is_upper(b) else b
        mine = np.triu(mine) if _is_upper(b) else mine
        apart = max(apart, float(np.abs(mine - upper).max() / np.abs(mine).max()))
    return apart


def _in_our_order(theirs: Array, order: list[int]) -> Array:
    ours = np.empty_like(theirs)
    ours[order] = theirs
    return ours


def _is_upper(matrix: Array) -> bool:
    return not np.tril(matrix, -1).any()


def sweeps(patience: Patience) -> Section:
    """Backward sweeps (vjp) against the functions themselves."""
    section = Section(f"Backward sweeps (vjp), batches of {ROWS:,}")
    table = section.table(
        "Operations, and microseconds per row on one thread",
        *("robot", "function", "operations", "of the vjp", "ratio", "function", "vjp", "ratio"),
        *("at most", ""),
    )
    for case in ROBOTS:
        kd, states = kindyn_of(case), random_states(kindyn_of(case), ROWS)
        for function in ("rnea", "crba", "aba"):
            kernel, rows = kernel_of(kd, function, case.frame), arguments(function, states)
            swept: Any = kernel.vjp()
            swept.warmup()
            value = np.asarray(kernel(*rows, threads=1))
            values = (*rows, np.ones_like(value))
            measured: dict[str, Any] = best_of_variants(
                {
                    "function": [Task(kernel, rows, {"out": value, "threads": 1})],
                    "vjp": [Task(swept, values, {"out": swept(*values), "threads": 1})],
                },
                patience,
            )
            ratio = measured["vjp"] / measured["function"]
            ops = kernel.program.n_ops, swept.program.n_ops
            table.add(
                *(case.name, SHORT[function], *(f"{n:,}" for n in ops), f"{ops[1] / ops[0]:.2f}"),
                *(f"{measured[way] / ROWS * 1e6:.3f}" for way in ("function", "vjp")),
                *(f"{ratio:.2f}", f"{MOST_VJP:g}"),
                section.check(f"{case.name} {SHORT[function]}", ratio, MOST_VJP, at_most=True),
            )
            section.data.append({"robot": case.name, "function": function} | measured)
    section.notes.append("vjp: by all inputs, the cotangent being one of the inputs.")
    return section


def starts(repeats: int) -> Section:
    """What it takes until the first derivative of talos, and until fast code is there."""
    section = Section(f"Start of derivatives, {TALOS.name}")
    table = section.table("Seconds", "what", "linkwork", "at most", "")
    for name, target in _FIRST_TARGETS.items():
        cold, warm = first_calls(name, repeats)
        measured = run_alone("compile", name, cache="off")
        rows = {
            f"first {name}, empty cache": (cold, target),
            f"first {name}, from the cache": (warm, 0.03),
            f"compile {name} in the background": (measured["one"] + measured["many"], 20.0),
        }
        for what, (seconds, most) in rows.items():
            verdict = section.check(what, seconds, most, at_most=True)
            table.add(what, f"{seconds:.3f}", f"{most:g}", verdict)
            section.data.append({"what": what, "seconds": seconds})
    return section
