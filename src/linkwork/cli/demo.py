"""The command `demo`: load a robot, print it, compute with it, check the physics."""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwork.cli.bench import least_time
from linkwork.cli.complete import robot_names
from linkwork.cli.output import print_findings, print_table, print_text, print_tree, terminal
from linkwork.cli.robot_files import Floating, read_file
from linkwork.errors import count_findings, counted, escaped
from linkwork.version import __version__

if TYPE_CHECKING:
    from rich.console import Console

    from linkwork.engine.symbolic.arrays import Array
    from linkwork.io.xml.source import Reading
    from linkwork.kindyn import KinDyn
    from linkwork.model.model import Model

BATCH = 10_000
WIDTH = 80  # columns, if the output is not a terminal
LONGEST = 40  # characters of a path in titles
GOOD = 1e-6  # relative errors up to this are due to rounding

Robot = Annotated[
    str,
    typer.Argument(
        metavar="[ROBOT]",
        help="a file or a robot's name; arm if not given",
        autocompletion=robot_names,
    ),
]


def demo(robot: Robot = "arm", *, floating: Floating = None) -> None:
    """Show what linkwork does with a robot, and check it.

    linkwork demo quadruped
    """
    from linkwork.io.convert import in_urdf_form
    from linkwork.io.load import read
    from linkwork.io.urdf.writer import urdf_text

    start = time.perf_counter()
    reading = read_file(robot)
    elapsed = time.perf_counter() - start
    console = terminal()
    _title(console, f"linkwork {__version__} loads {escaped(robot)}")
    name = escaped(robot if len(robot) <= LONGEST else robot.rpartition("/")[2])
    _show_reading(console, reading, elapsed, name)
    model = reading.model
    if model is None:
        raise typer.Exit(2)
    _show_robot(console, model, name)
    good = _show_computing(console, model, floating)
    if not _has_loops(model):  # which URDF cannot describe
        _title(console, "written as URDF and read again")
        fitting, moved = in_urdf_form(model)
        print_findings(console, moved)
        again = read(urdf_text(fitting)).model
        same = "equal to the first model, to the last digit"
        _print_wrapped(console, same if again == fitting else f"NOT {same}")
        good &= again == fitting
    if not good:
        raise typer.Exit(1)


def _has_loops(model: Model) -> bool:
    return bool(model.n_loops or model.constraints)


def _show_reading(console: Console, reading: Reading, elapsed: float, name: str) -> None:
    """Print the errors and warnings of a file, and a summary of the robot."""
    from linkwork.model.describe import summary

    serious = [finding for finding in reading.findings if finding.severity != "note"]
    print_findings(console, serious)
    notes = len(reading.findings) - len(serious)
    outcome = count_findings(serious) if serious else "no errors, no warnings"
    more = f", {counted(notes, 'note')} (shown by `linkwork check {name}`)" if notes else ""
    _print_wrapped(console, f"read in {elapsed * 1e3:.0f} ms: {outcome}{more}")
    if reading.model is not None:
        _print_wrapped(console, summary(reading.model))


def _show_robot(console: Console, model: Model, name: str) -> None:
    from linkwork.model.describe import tables

    width = console.width if sys.stdout.isatty() else WIDTH
    _title(console, f"linkwork tree {name}")
    print_tree(console, model, model.default_base, width)
    _title(console, f"linkwork info {name}")
    for table in tables(model):
        if table.rows:
            print_table(console, table, width)
            console.print()


def _show_computing(console: Console, model: Model, floating: bool | None) -> bool:
    """Print quantities, identities and times; return whether the identities hold."""
    from linkwork.kindyn import KinDyn

    kd = KinDyn(model, floating=floating)
    _title(console, "one configuration: the first call of a function compiles it")
    _show_quantities(console, kd)
    _title(console, "do the equations of motion hold? (relative error, random state)")
    good = _show_physics(console, kd)
    _title(console, f"time per configuration: one by one, and {BATCH:,} in one call")
    _show_speed(console, kd)
    return good


def _title(console: Console, text: str) -> None:
    console.print()
    for line in textwrap.wrap(text, WIDTH, break_on_hyphens=False):
        print_text(console, line, "bold")
    print_text(console, "─" * min(len(text), WIDTH), "dim")


def _print_wrapped(console: Console, text: str) -> None:
    """Print a string in lines that fit."""
    for line in textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False):
        print_text(console, line)


def _random_state(kd: KinDyn) -> tuple[Array, Array, Array]:
    import numpy as np

    rng = np.random.default_rng(0)
    q, nu, nu_dot = kd.random(seed=0), rng.normal(size=kd.nv), rng.normal(size=kd.nv)
    return q, kd.constrained().project_velocity(q, nu) if _has_loops(kd.model) else nu, nu_dot


def _show_quantities(console: Console, kd: KinDyn) -> None:
    """Print shapes of quantities of one state, and the times of their first calls."""
    q, nu, nu_dot = _random_state(kd)
    frame = kd.model.link_names[-1]
    calls: dict[str, Callable[[], Array]] = {
        "pose": lambda: kd.transform(frame, q),
        "Jacobian": lambda: kd.jacobian(frame, q),
        "mass matrix": lambda: kd.mass_matrix(q),
    }
    if _has_loops(kd.model):
        calls["loop Jacobian"] = lambda: kd.constrained().jacobian(q)
    else:
        calls["inverse dynamics"] = lambda: kd.inverse_dynamics(q, nu, nu_dot)
    if kd.total_mass:
        calls["center of mass"] = lambda: kd.com(q)
    _print_wrapped(console, f"pose and Jacobian are those of the link {escaped(frame)}")
    for name, call in calls.items():
        start = time.perf_counter()
        result = call()
        elapsed = time.perf_counter() - start
        print_text(console, f"{name:18} {result.shape!s:10} after {elapsed * 1e3:6.1f} ms")


def _show_physics(console: Console, kd: KinDyn) -> bool:
    """Check identities that hold for every robot, and print the errors."""
    import numpy as np

    from linkwork.errors import SingularJointError

    q, nu, nu_dot = _random_state(kd)
    frame = kd.model.link_names[-1]
    checks: dict[str, tuple[Any, Any]] = {}
    M, h = kd.mass_matrix(q), kd.bias_force(q, nu)
    try:
        if _has_loops(kd.model):
            loops, tau = kd.constrained(), nu_dot
            accelerations, forces, _ = loops.forward_dynamics(q, nu, tau)
            J = loops.jacobian(q)
            checks["M nu_dot + h = tau + J^T forces"] = (M @ accelerations + h, tau + J.T @ forces)
            checks["loops: J nu_dot = -Jdot nu"] = (
                J @ accelerations,
                -loops.bias(q, nu),
            )
        else:
            tau = kd.inverse_dynamics(q, nu, nu_dot)
            checks["inverse dynamics = M nu_dot + h"] = (tau, M @ nu_dot + h)
            forward = kd.forward_dynamics(q, nu, tau)
            checks["forward dynamics undoes inverse dynamics"] = (forward, nu_dot)
    except SingularJointError as error:
        _print_wrapped(console, f"forward dynamics: {error}")
    checks |= {
        "kinetic energy = nu^T M nu / 2": (kd.kinetic_energy(q, nu), nu @ M @ nu / 2),
        "velocity of a frame = J nu": (kd.velocity(frame, q, nu), kd.jacobian(frame, q) @ nu),
    }
    good = True
    for name, (left, right) in checks.items():
        scale = max(np.abs(right).max(initial=0.0), 1e-300)
        off = np.abs(np.asarray(left) - right).max(initial=0.0) / scale
        good &= bool(off < GOOD)
        print_text(console, f"{name:42} {off:.0e}  {'yes' if off < GOOD else 'NO'}")
    return good


def _show_speed(console: Console, kd: KinDyn) -> None:
    """Print times per call and per row of a batch."""
    import numpy as np

    from linkwork.errors import SingularJointError
    from linkwork.kindyn.core import unambiguous

    q, nu, nu_dot = _random_state(kd)
    Q = kd.random(BATCH, seed=1)
    V = np.random.default_rng(1).normal(size=(BATCH, kd.nv))
    functions: dict[str, tuple[Any, tuple[Array, ...], tuple[Array, ...]]] = {
        "inverse dynamics": ("inverse_dynamics", (q, nu, nu_dot), (Q, V, V)),
        "mass matrix": ("mass_matrix", (q,), (Q,)),
        "forward dynamics": ("forward_dynamics", (q, nu, nu_dot), (Q, V, V)),
    }
    for name, (function, one, many) in functions.items():
        if not unambiguous(kd, [function]):
            continue
        kernel: Any = kd.function(function)
        try:
            kernel.warmup()
            out = kernel(*many)
        except SingularJointError:
            continue
        single = least_time(lambda k=kernel, a=one: k(*a))
        batch = least_time(lambda k=kernel, a=many, o=out: k(*a, out=o)) / BATCH
        print_text(
            console, f"{name:18} {single * 1e6:8.2f} µs one by one {batch * 1e6:8.3f} µs in a batch"
        )
