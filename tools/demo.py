"""The main job in one go: load a robot, look at it, compute with it, check the physics."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console

import linkwork as lw
from linkwork.cli.show import print_findings, print_table, print_tree, terminal
from linkwork.errors import count_findings
from linkwork.io.load import read
from linkwork.model.describe import summary, tables

BATCH = 10_000


def main(robot: str) -> int:
    console = terminal()
    bundled = not Path(robot).exists() and robot in lw.robots.names()
    path = lw.robots.path(robot) if bundled else Path(robot)

    title(console, f"linkwork {lw.__version__}: loading {robot}")
    start = time.perf_counter()
    reading = read(path)
    elapsed = time.perf_counter() - start
    print_findings(console, reading.findings)
    console.print(f"{count_findings(reading.findings)} in {elapsed * 1e3:.1f} ms")
    if reading.model is None:
        return 2
    model = reading.model
    console.print(summary(model))

    title(console, f"linkwork tree {robot}")
    print_tree(console, model, model.default_base)

    title(console, f"linkwork info {robot}")
    for table in tables(model):
        if table.rows:
            print_table(console, table)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said already
        kd = lw.KinDyn(model)
    title(console, "one configuration at a time")
    show_quantities(console, kd)

    title(console, "is the physics right?")
    good = show_physics(console, kd)

    title(console, f"{BATCH:,} configurations at once")
    show_speed(console, kd)

    title(console, "written as URDF and read again")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said already
        again = lw.load(lw.dump_urdf(model))
    console.print(f"equal to the first, digit for digit: {again == model}")
    return 0 if again == model and good else 1


def title(console: Console, text: str) -> None:
    console.print()
    console.rule(text, align="left")


def random_state(kd: lw.KinDyn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return kd.random(seed=0), rng.normal(size=kd.nv), rng.normal(size=kd.nv)


def show_quantities(console: Console, kd: lw.KinDyn) -> None:
    """Some quantities of one state, and how soon the first of each is there."""
    q, nu, nu_dot = random_state(kd)
    frame = kd.model.link_names[-1]
    calls = {
        f"pose of {frame}": lambda: kd.transform(frame, q),
        f"Jacobian of {frame}": lambda: kd.jacobian(frame, q),
        "mass matrix": lambda: kd.mass_matrix(q),
        "inverse dynamics": lambda: kd.inverse_dynamics(q, nu, nu_dot),
        "centre of mass": lambda: kd.com(q) if kd.total_mass else np.zeros(3),
    }
    for name, call in calls.items():
        start = time.perf_counter()
        result = call()
        elapsed = time.perf_counter() - start
        console.print(f"{name:28} {result.shape!s:10} first call {elapsed * 1e3:6.1f} ms")


def show_physics(console: Console, kd: lw.KinDyn) -> bool:
    """Identities that hold for every robot; says how well they do."""
    q, nu, nu_dot = random_state(kd)
    frame = kd.model.link_names[-1]
    M, tau = kd.mass_matrix(q), kd.inverse_dynamics(q, nu, nu_dot)
    h = kd.bias_force(q, nu)
    checks = {
        "inverse dynamics = M nu_dot + h": (tau, M @ nu_dot + h),
        "kinetic energy = nu M nu / 2": (kd.kinetic_energy(q, nu), nu @ M @ nu / 2),
        "Jacobian times nu = velocity": (
            kd.jacobian(frame, q) @ nu,
            kd.velocity(frame, q, nu),
        ),
    }
    try:
        checks["forward undoes inverse dynamics"] = (kd.forward_dynamics(q, nu, tau), nu_dot)
    except lw.SingularJointError as error:
        console.print(f"forward dynamics: {error}")
    good = True
    for name, (left, right) in checks.items():
        scale = max(np.abs(right).max(initial=0.0), 1e-300)
        off = np.abs(np.asarray(left) - right).max(initial=0.0) / scale
        good &= bool(off < 1e-6)
        console.print(f"{name:34} holds to {off:.0e}")
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
        console.print(
            f"{name:18} {single * 1e6:8.2f} µs one by one, {batch * 1e6:7.3f} µs each in a batch"
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
