"""Commands that time the functions of a robot on this machine: bench and demo."""

from __future__ import annotations

import os
import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwork.cli.arguments import (
    File,
    Floating,
    Functions,
    Json,
    model_of_file,
    option,
    read_file,
    robot_names,
)
from linkwork.cli.output import print_findings, print_json, print_table, print_text, terminal
from linkwork.errors import ArgumentError, count_findings, counted, escaped
from linkwork.model.table import Table
from linkwork.version import __version__

if TYPE_CHECKING:
    from rich.console import Console

    from linkwork.engine.kernel.kernel import Kernel
    from linkwork.engine.symbolic.arrays import Array
    from linkwork.io.formats import Reading
    from linkwork.kindyn import KinDyn
    from linkwork.model.model import Model

DEFAULT_ROWS = 4096
BURST = 0.005  # [s] of calls that are timed together, for the resolution of the clock
REPEATS = 7  # bursts, of which the fastest counts


@dataclass(frozen=True)
class Timing:
    """Measurements of one function; times are in seconds, None where there is none."""

    function: str
    operations: int | None  # additions, multiplications, divisions of one configuration
    compile_time: float | None  # tracing included
    object_bytes: int | None  # machine code for one configuration and for several at a time
    one_call: float | None
    per_row: float | None  # of a batch
    code: str | None = None  # `Kernel.status` of the code that was timed


def bench(
    file: File,
    *,
    functions: Functions = None,
    rows: int = option("--rows", "N", "configurations in a batch", DEFAULT_ROWS),
    threads: int = option("--threads", "N", "threads of a batch; 0 for all cores", 1),
    floating: Floating = None,
    as_json: Json = False,
) -> None:
    """Time functions of a robot.

    linkwork bench arm --functions mass_matrix,jacobian:tool
    """
    from linkwork.kindyn import KinDyn

    if rows < 1 or threads < 0:
        raise ArgumentError("--rows is at least 1, and --threads at least 0")
    kd = KinDyn(model_of_file(file), floating=floating)
    workers = threads or os.cpu_count() or 1
    timings = [_timing(kd, one, rows, workers) for one in _requests(kd, functions)]
    if as_json:
        facts: dict[str, Any] = {"robot": kd.model.name, "rows": rows, "threads": workers}
        print_json({**facts, "functions": [asdict(one) for one in timings]})
        return
    _print(kd, timings, rows, workers)


def _requests(kd: KinDyn, functions: str | None) -> list[tuple[Any, ...]]:
    from linkwork.kindyn.core import unambiguous
    from linkwork.kindyn.requests import request_of_text

    if functions is not None:
        texts = map(str.strip, functions.split(","))
        return [request_of_text(text, kd.quantities) for text in texts if text]
    frame = kd.model.link_names[-1]
    of_robot = ("inverse_dynamics", "mass_matrix", "forward_dynamics", "bias_force", "com")
    names = unambiguous(kd, of_robot)
    return [*((name,) for name in names), ("transform", frame), ("jacobian", frame)]


def _timing(kd: KinDyn, request: tuple[Any, ...], rows: int, threads: int) -> Timing:
    from linkwork.errors import SingularJointError

    kernel: Any = kd.function(request)  # pyright: ignore[reportArgumentType]
    name = kernel.signature.name
    try:
        start = time.perf_counter()
        operations = kernel.code.make_program().n_ops  # `program` may come from the cache
        traced = time.perf_counter() - start
        compiling, size = _compile_time(kernel)
        single, many = _inputs(kd, kernel, 1), _inputs(kd, kernel, rows)
        single = tuple(array[0] for array in single)
        one, batch = _times(kernel, single, many, threads=threads)
    except SingularJointError:  # a joint without inertia has no finite acceleration
        return Timing(name, None, None, None, None, None)
    compile_time = None if compiling is None else traced + compiling
    return Timing(name, operations, compile_time, size, one, batch, kernel.status)


def _compile_time(kernel: Kernel) -> tuple[float | None, int | None]:
    """Return seconds to compile without the cache, and bytes of code; None if not compiled."""
    from linkwork.engine.runtime.compiler import compiled
    from linkwork.engine.runtime.processor import NoMachineCodeError

    program = kernel.code
    if not kernel.is_unrolled or program.backend == "numpy":
        return None, None
    try:
        widths = 1, program.width
        start = time.perf_counter()
        code = [compiled(program.emit(width)) for width in widths]
        return time.perf_counter() - start, sum(map(len, code))
    except NoMachineCodeError:
        return None, None


def _inputs(kd: KinDyn, kernel: Kernel, rows: int) -> tuple[Any, ...]:
    import numpy as np

    rng = np.random.default_rng(0)
    return tuple(
        kd.random(rows, seed=1)
        if port.shape == (kd.nq,) and port.name.startswith("q")
        else rng.normal(size=(rows, *port.shape))
        for port in kernel.signature.inputs
    )


def _print(kd: KinDyn, timings: list[Timing], rows: int, threads: int) -> None:
    columns = ["function", "ops", "compile [s]", "code [kB]", "call [us]", "row [us]"]
    cells = [
        (
            escaped(one.function),
            _shown(one.operations, 1, 0),
            _shown(one.compile_time, 1, 2),
            _shown(one.object_bytes, 1e-3, 1),
            _shown(one.one_call, 1e6, 2),
            _shown(one.per_row, 1e6, 3),
        )
        for one in timings
    ]
    heading = f"{escaped(kd.model.name)}: nv = {kd.nv}, the least of several repeats"
    console = terminal()
    print_table(console, Table(heading, tuple(columns), tuple(cells), frozenset(columns[1:])))
    print_text(console, "")
    cores = "1 thread" if threads == 1 else f"{threads} threads"
    print_text(console, "ops: additions, multiplications and the like of one configuration")
    print_text(console, "call: one configuration, from Python, with a new array for the result")
    print_text(console, f"row: one of {rows:,} configurations in one call, on {cores}, with out=")
    for one in timings:
        if one.code not in ("fast", None):
            text = f"{one.function}: timed without the fast machine code: {one.code}"
            print_text(console, escaped(text), "bold red")


def _shown(value: float | None, factor: float, digits: int) -> str:
    return "-" if value is None else f"{value * factor:,.{digits}f}"


def _times(
    kernel: Any, single: Sequence[Any], many: Sequence[Any], threads: int | None = None
) -> tuple[float, float]:
    """Return seconds of a call with one row, and per row of a call with many rows and `out=`."""
    kernel.warmup()
    out = kernel(*many, threads=threads)
    batch = least_time(lambda: kernel(*many, out=out, threads=threads))
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
    _title(console, f"µs per configuration: one by one, and {BATCH:,} in one call")
    _show_speed(console, kd)
    _title(console, f"{DROPPED:,} quadrupeds fall on the floor, for {FALL:g} s")
    _show_fall(console)
    console.print()
    base = "" if kd.floating else " --fixed"
    print_text(
        console, f"next: linkwork view {name}{base}  (the robot on a local web page)", "bold"
    )
    print_text(console, f"more: linkwork info {name}, linkwork bench {name}")
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
