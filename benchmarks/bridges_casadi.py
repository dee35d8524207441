"""CasADi functions of linkwork against those of adam: one call, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from peers_adam import AdamCasadi
from report import Section
from timing import Patience, Task, best

import linkwork as lw
from robots import CASES, State, kindyn_of, random_states

ICUB = next(case for case in CASES if case.name == "iCub")
FUNCTIONS = {  # linkwork's name, the name of the benchmarks, adam's name
    "mass_matrix": ("crba", "mass_matrix_fun"),
    "bias_force": ("rnea", "bias_force_fun"),
    "forward_dynamics": ("aba", "aba_fun"),
}
TARGETS, TARGETS_GRADIENT = 5.0, 3.0  # times faster than adam
AGREES, ADAM_AGREES = 1e-9, 1e-6  # of the largest entry: with itself, and with adam


def bridges_casadi(patience: Patience) -> Section:
    """One call from Python, and of the gradient of the sum of all entries."""
    section = Section("CasADi functions, against adam's")
    table = section.table(
        "Microseconds of one call from Python, and how many times faster linkwork is",
        *("function", "adam", "linkwork, SX", "linkwork, compiled", "SX is faster"),
        *("compiled is faster", "target", "check", "difference"),
    )
    kd, state = kindyn_of(ICUB), random_states(kindyn_of(ICUB), 1).row(0)
    adam = AdamCasadi(kd, str(ICUB.path), ICUB.frame)
    for name in FUNCTIONS:
        ways = _ways(kd, adam, name, state)
        for gradient in (False, True):
            tasks = {key: _task(way, gradient) for key, way in ways.items()}
            results = {key: task.run() for key, task in tasks.items()}
            apart = _apart(results["SX"], results["compiled"])
            assert apart < AGREES, (name, apart)
            if not gradient:
                apart = _apart(results["SX"], results["adam"])
                assert apart < ADAM_AGREES, (name, apart)
            times = best(tasks, patience)
            target = TARGETS_GRADIENT if gradient else TARGETS
            what = f"{'gradient of ' if gradient else ''}{name}"
            faster = {key: times["adam"] / times[key] for key in ("SX", "compiled")}
            table.add(
                what,
                *(f"{times[key] * 1e6:.1f}" for key in ("adam", "SX", "compiled")),
                *(f"{faster[key]:.1f}" for key in ("SX", "compiled")),
                f"{target:g}",
                section.check(f"CasADi, {what}", faster["compiled"], target),
                f"{apart:.0e}",
            )
            section.data.append({"robot": ICUB.name, "function": what} | times)
    section.notes += [
        "SX: the program on CasADi's virtual machine; compiled: linkwork's machine code.",
        "Gradients: of the sum of all entries by all inputs (of adam by all but the base pose).",
        "Arguments are DM; the wrapper of CasADi takes some 10 us of each call.",
    ]
    return section


def _ways(
    kd: lw.KinDyn, adam: AdamCasadi, name: str, state: State
) -> dict[str, tuple[Any, Sequence[Any], int]]:
    """For each candidate its function, its arguments, and how many of them come before s."""
    import casadi as ca

    import linkwork.casadi as lwc

    kernel: Any = kd.function((name,))  # pyright: ignore[reportArgumentType]
    inputs = {"q": state.q, "nu": state.nu, "tau": state.tau}
    values = [ca.DM(inputs[port.name]) for port in kernel.signature.inputs]
    short, maker = FUNCTIONS[name]
    task = adam.tasks(short, state)[0]
    return {
        "adam": (
            getattr(adam.kindyn, maker)(),
            [ca.DM(np.asarray(value)) for value in task.args],
            1,
        ),
        "SX": (lwc.wrap(kernel), values, 0),
        "compiled": (lwc.wrap(kernel, compiled=True), values, 0),
    }


def _task(way: tuple[Any, Sequence[Any], int], gradient: bool) -> Task:
    import casadi as ca

    function, values, first = way
    if not gradient:
        return Task(function, tuple(values))
    symbols = [ca.MX.sym(f"x{k}", *value.shape) for k, value in enumerate(values)]
    total = ca.sum1(ca.sum2(function(*symbols)))
    gradients = [ca.gradient(total, symbol) for symbol in symbols[first:]]
    return Task(ca.Function("gradient", symbols, gradients), tuple(values))


def _apart(a: Any, b: Any) -> float:
    pairs = zip(*[x if isinstance(x, (tuple, list)) else [x] for x in (a, b)], strict=True)
    return max(float(np.abs(x.full() - y.full()).max() / np.abs(x.full()).max()) for x, y in pairs)
