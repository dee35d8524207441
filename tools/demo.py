"""The main job in one go: load a robot, look at it, compute with it, check the physics."""

from __future__ import annotations

import sys
import textwrap
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console

import linkwork as lw
from linkwork.cli.show import (
    print_error,
    print_findings,
    print_table,
    print_text,
    print_tree,
    terminal,
)
from linkwork.errors import count_findings, counted, escaped
from linkwork.io.load import read
from linkwork.model.describe import summary, tables

BATCH = 10_000
WIDTH = 80  # columns, where there is no terminal to ask


def main(robot: str) -> int:
    console = terminal()
    width = console.width if sys.stdout.isatty() else WIDTH
    bundled = not Path(robot).exists() and robot in lw.robots.names()
    path = lw.robots.path(robot) if bundled else Path(robot)

    name = robot if len(robot) <= 40 else Path(robot).name  # a long path is told once

    title(console, f"linkwork {lw.__version__} loads {robot}")
    start = time.perf_counter()
    try:
        reading = read(path)
    except lw.LinkworkError as error:
        print_error(str(error))
        return 2
    elapsed = time.perf_counter() - start
    serious = [finding for finding in reading.findings if finding.severity != "note"]
    print_findings(console, serious)
    notes = len(reading.findings) - len(serious)
    told = count_findings(serious) if serious else "no errors, no warnings"
    more = f", {counted(notes, 'note')} (shown by `linkwork check {name}`)" if notes else ""
    say(console, f"read in {elapsed * 1e3:.0f} ms: {told}{more}")
    if reading.model is None:
        return 2
    model = reading.model
    say(console, summary(model))

    title(console, f"linkwork tree {name}")
    print_tree(console, model, model.default_base, width)

    title(console, f"linkwork info {name}")
    for table in tables(model):
        if table.rows:
            print_table(console, table, width)
            console.print()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said already
        kd = lw.KinDyn(model)
    title(console, "one configuration: the first call of a function makes its machine code")
    show_quantities(console, kd)

    title(console, "do the equations of motion hold? (relative error, random state)")
    good = show_physics(console, kd)

    title(console, f"time per configuration: one by one, and {BATCH:,} in one call")
    show_speed(console, kd)

    title(console, "written as URDF and read again")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said already
        again = lw.load(lw.dump_urdf(model))
    same = "equal to the first model, digit for digit"
    say(console, same if again == model else f"NOT {same}")
    return 0 if again == model and good else 1


def title(console: Console, text: str) -> None:
    console.print()
    print_text(console, text, "bold")
    print_text(console, "─" * min(len(text), WIDTH), "dim")


def say(console: Console, text: str) -> None:
    """A text of any length, in lines that fit."""
    for line in textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False):
        print_text(console, line)


def random_state(kd: lw.KinDyn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return kd.random(seed=0), rng.normal(size=kd.nv), rng.normal(size=kd.nv)


def show_quantities(console: Console, kd: lw.KinDyn) -> None:
    """Some quantities of one state, and how soon the first of each is there."""
    q, nu, nu_dot = random_state(kd)
    frame = kd.model.link_names[-1]
    calls = {
        "pose": lambda: kd.transform(frame, q),
        "Jacobian": lambda: kd.jacobian(frame, q),
        "mass matrix": lambda: kd.mass_matrix(q),
        "inverse dynamics": lambda: kd.inverse_dynamics(q, nu, nu_dot),
        "centre of mass": lambda: kd.com(q) if kd.total_mass else np.zeros(3),
    }
    say(console, f"pose and Jacobian are those of the link {escaped(frame)}")
    for name, call in calls.items():
        start = time.perf_counter()
        result = call()
        elapsed = time.perf_counter() - start
        print_text(console, f"{name:18} {result.shape!s:10} after {elapsed * 1e3:6.1f} ms")


def show_physics(console: Console, kd: lw.KinDyn) -> bool:
    """Identities that hold for every robot; says how well they do."""
    q, nu, nu_dot = random_state(kd)
    frame = kd.model.link_names[-1]
    M, tau = kd.mass_matrix(q), kd.inverse_dynamics(q, nu, nu_dot)
    h = kd.bias_force(q, nu)
    checks = {
        "inverse dynamics = M nu_dot + h": (tau, M @ nu_dot + h),
        "kinetic energy = nu^T M nu / 2": (kd.kinetic_energy(q, nu), nu @ M @ nu / 2),
        "velocity of a frame = J nu": (kd.velocity(frame, q, nu), kd.jacobian(frame, q) @ nu),
    }
    try:
        forward = kd.forward_dynamics(q, nu, tau)
        checks["forward dynamics undoes inverse dynamics"] = (forward, nu_dot)
    except lw.SingularJointError as error:
        say(console, f"forward dynamics: {error}")
    good = True
    for name, (left, right) in checks.items():
        scale = max(np.abs(right).max(initial=0.0), 1e-300)
        off = np.abs(np.asarray(left) - right).max(initial=0.0) / scale
        good &= bool(off < 1e-6)
        print_text(console, f"{name:42} {off:.0e}  {'yes' if off < 1e-6 else 'NO'}")
    return good


def show_speed(console: Console, kd: lw.KinDyn) -> None:
    """Time per call and per row of a batch."""
    q, nu, nu_dot = random_state(kd)
    Q = kd.random(BATCH, seed=1)
    V = np.random.default_rng(1).normal(size=(BATCH, kd.nv))
    functions = {
        "inverse dynamics": ("inverse_dynamics", (q, nu, nu_dot), (Q, V, V)),
        "mass matrix": ("mass_matrix", (q,), (Q,)),
        "forward dynamics": ("forward_dynamics", (q, nu, nu_dot), (Q, V, V)),
    }
    for name, (function, one, many) in functions.items():
        kernel = kd.function(function)
        try:
            kernel.warmup()
            out = kernel(*many)
        except lw.SingularJointError:
            continue
        single = best(lambda k=kernel, a=one: [k(*a) for _ in range(200)]) / 200
        batch = best(lambda k=kernel, a=many, o=out: k(*a, out=o)) / BATCH
        print_text(
            console, f"{name:18} {single * 1e6:8.2f} µs one by one {batch * 1e6:8.3f} µs in a batch"
        )


def best(action: Callable[[], object], tries: int = 5) -> float:
    times = []
    for _ in range(tries):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "arm"))
