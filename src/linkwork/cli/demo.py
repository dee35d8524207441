"""The command demo, which checks a robot and times its functions on this machine."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwork.cli.arguments import (
    Floating,
    read_file,
    robot_names,
)
from linkwork.cli.output import print_findings, print_text, terminal
from linkwork.errors import count_findings, counted, escaped
from linkwork.version import __version__

if TYPE_CHECKING:
    from rich.console import Console

    from linkwork.engine.symbolic.arrays import Array
    from linkwork.io.formats import Reading
    from linkwork.kindyn import KinDyn
    from linkwork.model.model import Model

BURST = 0.005  # [s] of calls that are timed together, for the resolution of the clock
REPEATS = 7  # bursts, of which the fastest counts


def _times(kernel: Any, single: Sequence[Any], many: Sequence[Any]) -> tuple[float, float]:
    """Return seconds of a call with one row, and per row of a call with many rows and `out=`."""
    kernel.warmup()
    out = kernel(*many)
    batch = least_time(lambda: kernel(*many, out=out))
    return least_time(lambda: kernel(*single)), batch / len(many[0])


def least_time(
    call: Callable[[], object], *, burst: float = BURST, repeats: int = REPEATS
) -> float:
    """Return seconds per call, in the fastest of several bursts: other load can only add to it."""
    count, elapsed = 1, _elapsed(call, 1)
    while elapsed < burst:
        count = max(2 * count, int(count * burst / max(elapsed, 1e-9)))
        elapsed = _elapsed(call, count)
    return min([elapsed, *(_elapsed(call, count) for _ in range(repeats - 1))]) / count


def _elapsed(call: Callable[[], object], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return time.perf_counter() - start


BATCH = 10_000
DROPPED, FALL = 1000, 1.5  # quadrupeds, and how long they are simulated [s]
STILL = 0.05  # [rad/s] and [m/s]: slower robots are at rest
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
    """Check and time a robot; drop a thousand quadrupeds.

    A base that looks fixed is fixed, unless --floating is given.

    linkwork demo quadruped
    """
    from linkwork.kindyn import KinDyn
    from linkwork.viewer.drawing import VIEWER_PACKAGES

    start = time.perf_counter()
    reading = read_file(robot)
    elapsed = time.perf_counter() - start
    console = terminal()
    name = escaped(robot if len(robot) <= LONGEST else robot.rpartition("/")[2])
    _title(console, f"linkwork {__version__} loads {name}", gap=False)
    _show_reading(console, reading, elapsed, name)
    model = reading.model
    if model is None:
        raise typer.Exit(2)
    kd = KinDyn(model, floating=_choose_base(console, model, floating))
    _title(console, "do the equations of motion hold? (relative error, random state)")
    good = _show_physics(console, kd)
    _title(console, f"microseconds per configuration: one by one, and {BATCH:,} in one call")
    _show_speed(console, kd)
    _title(console, f"{DROPPED:,} quadrupeds fall on the floor, for {FALL:g} s")
    _show_fall(console)
    console.print()
    base = "" if kd.floating else " --fixed"
    print_text(
        console, f"next: linkwork view {name}{base}  (the robot on a local web page)", "bold"
    )
    if find_spec("viser") is None:
        print_text(console, f"      it needs: pip install {' '.join(VIEWER_PACKAGES)}")
    print_text(console, f"more: linkwork info {name}, linkwork check {name}")
    if not good:
        raise typer.Exit(1)


def _choose_base(console: Console, model: Model, floating: bool | None) -> bool:
    """Return whether the base floats; what was assumed is printed."""
    from linkwork.model.check import sign_of_fixed_base

    if floating is not None:
        return floating
    sign = sign_of_fixed_base(model, model.default_base)
    if sign:
        _print_wrapped(console, f"its base is fixed here: {escaped(sign)}")
    return not sign


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


def _title(console: Console, text: str, *, gap: bool = True) -> None:
    if gap:
        console.print()
    _print_wrapped(console, text, "bold")


def _print_wrapped(console: Console, text: str, style: str = "") -> None:
    """Print a string in lines that fit."""
    width = min(WIDTH, console.width)
    for line in textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False):
        print_text(console, line, style)


def _random_state(kd: KinDyn) -> tuple[Array, Array, Array]:
    import numpy as np

    rng = np.random.default_rng(0)
    q, nu, nu_dot = kd.random(seed=0), rng.normal(size=kd.nv), rng.normal(size=kd.nv)
    return q, kd.constrained().project_velocity(q, nu) if _has_loops(kd.model) else nu, nu_dot


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
    """Print times per call and per row of a batch, and the times of NumPy's `solve` to compare."""
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
        try:
            _show_times(console, name, *_times(kd.function(function), one, many))
        except SingularJointError:
            continue
    if kd.nv:
        M, tau = kd.mass_matrix(Q), V[..., None]
        M[np.arange(BATCH)[:, None], range(kd.nv), range(kd.nv)] += 1.0  # massless links too
        single = least_time(lambda: np.linalg.solve(M[0], tau[0]))
        batch = least_time(lambda: np.linalg.solve(M, tau)) / BATCH
        _show_times(console, f"NumPy's solve, {kd.nv} x {kd.nv}", single, batch)


def _show_fall(console: Console) -> None:
    """Simulate quadrupeds that servos hold; print how fast that is, and how many are at rest."""
    import numpy as np

    from linkwork.cli.simulate import run_simulation
    from linkwork.robots import load
    from linkwork.simulation.simulation import Simulation

    feet = [f"{leg}_foot" for leg in ("FL", "FR", "RL", "RR")]
    sim = Simulation(load("quadruped"), ground=feet, friction=0.8, servos=(200.0, 8.0))
    stance = np.tile([0.0, 0.7, -1.4], 4)
    with terminal(errors=True).status("compiling the simulation, once"):
        sim.step.warmup()
    if sim.step.status.startswith("NumPy"):
        print_text(console, "not simulated: without machine code, this would take minutes")
        return
    x = sim.state(q=[*sim.layout.neutral()[:7], *stance], batch=DROPPED)
    moved = 0.1 * np.random.default_rng(0).normal(size=(DROPPED, sim.nv))
    x = sim.place_on_ground(x._replace(q=sim.kd.integrate(x.q, moved, 1.0)), 0.1)
    _, states, each = run_simulation(sim, x, stance, FALL)
    last = states[-1]
    at_rest = int((np.abs(last.nu).max(axis=-1) < STILL).sum())
    speed = f"{DROPPED / each:,.0f} steps of {sim.dt * 1e3:g} ms per second on all cores"
    print_text(console, f"{at_rest:,} of {DROPPED:,} are at rest; {speed}")


def _show_times(console: Console, name: str, single: float, batch: float) -> None:
    print_text(console, f"{name:26} {single * 1e6:8.2f} {batch * 1e6:10.3f}")
