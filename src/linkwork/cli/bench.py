"""The command that times the functions of a robot on this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwork.cli.output import print_json, print_table, print_text, terminal
from linkwork.cli.robot_files import File, Floating, Functions, Json, model_of_file
from linkwork.errors import ArgumentError, escaped
from linkwork.model.table import Table

if TYPE_CHECKING:
    from linkwork.engine.kernel.kernel import Kernel
    from linkwork.kindyn import KinDyn

DEFAULT_ROWS = 4096
BURST = 0.005  # [s] of calls that are timed together, for the resolution of the clock
REPEATS = 7  # bursts, of which the fastest counts

Rows = Annotated[int, typer.Option("--rows", metavar="N", help="configurations in a batch")]
Threads = Annotated[
    int, typer.Option("--threads", metavar="N", help="threads of a batch; 0 for all cores")
]


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
    rows: Rows = DEFAULT_ROWS,
    threads: Threads = 1,
    floating: Floating = None,
    as_json: Json = False,
) -> None:
    """Time functions of a robot on this machine.

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
        kernel.warmup()
        single, many = _inputs(kd, kernel, 1), _inputs(kd, kernel, rows)
        single = tuple(array[0] for array in single)
        out = kernel(*many, threads=threads)
        one = least_time(lambda: kernel(*single))
        batch = least_time(lambda: kernel(*many, out=out, threads=threads)) / rows
    except SingularJointError:  # a joint without inertia has no finite acceleration
        return Timing(name, None, None, None, None, None)
    compile_time = None if compiling is None else traced + compiling
    return Timing(name, operations, compile_time, size, one, batch, kernel.status)


def _compile_time(kernel: Kernel) -> tuple[float | None, int | None]:
    """Seconds to compile without the cache, and bytes of the code; None if it is not compiled."""
    from linkwork.engine.runtime.backends import ObjectBackend
    from linkwork.engine.runtime.compiler import FAST
    from linkwork.engine.runtime.processor import NoMachineCodeError

    program, backend = kernel.code, kernel.code.backend
    if not kernel.is_unrolled or not isinstance(backend, ObjectBackend):
        return None, None
    try:
        widths = 1, program.width
        start = time.perf_counter()
        code = [backend.compile(program.emit(width), FAST) for width in widths]
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
