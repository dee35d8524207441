"""The command that computes functions of large batches, on this machine or on a cluster."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Callable, Generator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkwork.cli.export import JointDynamics, Representation
from linkwork.cli.output import print_json, print_message, print_text, terminal
from linkwork.cli.robot_files import Base, File, Floating, Functions, Json, model_of_file
from linkwork.errors import ArgumentError, escaped

if TYPE_CHECKING:
    from linkwork.batch.chunks import Outcome
    from linkwork.batch.plan import Plan
    from linkwork.batch.run import Report
    from linkwork.batch.runners import Runner

LINE_PERIOD = 30.0  # [s] between lines of progress without a terminal

In = Annotated[
    Path | None, typer.Option("--in", metavar="FILE", help="states: .npy, .npz, .h5 or .zarr")
]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Zarr group for the results")]
Random = Annotated[
    int | None,
    typer.Option("--random", metavar="N", help="number of random states, instead of --in"),
]
Seed = Annotated[int, typer.Option("--seed", help="seed of random states")]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler", metavar="ADDRESS", help="dask scheduler, such as tcp://10.0.0.1:8786"
    ),
]
Workers = Annotated[
    int | None, typer.Option("--workers", metavar="N", help="number of local worker processes")
]
Chunk = Annotated[
    int | None, typer.Option("--chunk", metavar="ROWS", help="states computed and stored at once")
]
Float32 = Annotated[bool, typer.Option("--float32", help="single precision instead of double")]
Verify = Annotated[
    bool, typer.Option("--verify", help="then compute some chunks again and compare every bit")
]
Sample = Annotated[int, typer.Option("--sample", metavar="N", help="how many chunks to verify")]
Mixed = Annotated[
    bool,
    typer.Option("--mixed-processors", help="allow processors that may round differently"),
]


def batch(
    file: File,
    *,
    out: Out,
    functions: Functions = None,
    states: In = None,
    random: Random = None,
    seed: Seed = 0,
    scheduler: Scheduler = None,
    workers: Workers = None,
    chunk: Chunk = None,
    float32: Float32 = False,
    base: Base = None,
    floating: Floating = None,
    representation: Representation = None,
    joint_dynamics: JointDynamics = False,
    verify: Verify = False,
    sample: Sample = 16,
    mixed: Mixed = False,
    as_json: Json = False,
) -> None:
    """Compute functions of many states into a Zarr group.

    linkwork batch arm --function mass_matrix,jacobian:tool --random 1000000 --out result.zarr

    It can be stopped at any moment: rerun the same command to resume. Exits with 1 if states were
    rejected or results are damaged.
    """
    if functions is None:
        raise typer.BadParameter("--functions is missing")
    if scheduler is not None and workers is not None:
        raise ArgumentError("expected --scheduler or --workers, not both")
    if workers is not None and workers < 1:
        raise ArgumentError(f"--workers: expected at least one, got {workers}")
    if sample < 1:
        raise ArgumentError(f"--sample: expected at least one chunk, got {sample}")
    from linkwork.batch import run
    from linkwork.batch.plan import make_plan
    from linkwork.kindyn import KinDyn

    chosen: Any = representation
    kd = KinDyn(
        model_of_file(file),
        base,
        floating=floating,
        dtype="float32" if float32 else "float64",
        joint_dynamics=joint_dynamics,
        representation=chosen,
        check=True,
    )
    plan = make_plan(kd, functions, out, states=states, random=random, seed=seed, chunk=chunk)
    report = run.Report(plan)
    with open_runner(scheduler, workers) as runner:
        try:
            with _progress(plan, runner, "computed") as on_chunk:
                run.run(plan, runner, report, mixed=mixed, on_chunk=on_chunk)
            if verify:
                with _progress(plan, runner, "verified") as on_chunk:
                    run.verify(plan, runner, report, sample=sample, on_chunk=on_chunk)
        except BaseException:
            _print_hint_to_resume(report)
            raise
    if as_json:
        print_json(_report_data(report))
    else:
        _print_report(report)
    if report.rejected or report.damaged:
        sys.stdout.flush()
        raise typer.Exit(1)


@contextlib.contextmanager
def open_runner(scheduler: str | None, workers: int | None) -> Generator[Runner, None, None]:
    """This process, or a cluster whose log is hidden."""
    from linkwork.batch import optional_package
    from linkwork.batch.runners import Cluster, Local

    if scheduler is None and workers is None:
        yield Local()
        return
    optional_package("distributed")  # imported first, since it sets its log level then
    with _quiet("distributed"), Cluster(scheduler, workers or 0) as cluster:
        yield cluster


@contextlib.contextmanager
def _quiet(name: str) -> Generator[None, None, None]:
    """Hide the log of a package; its errors are raised."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextlib.contextmanager
def _progress(
    plan: Plan, runner: Runner, what: str
) -> Generator[Callable[[Report], None], None, None]:
    """Return a function to call after each chunk: it prints how far the computation is.

    On a terminal one line changes every second; in a file there is a line every half minute.
    """
    on_terminal = sys.stderr.isatty()
    period, end, width = (1.0, "\r", 78) if on_terminal else (LINE_PERIOD, "\n", 0)
    start = time.monotonic()
    printed = start - on_terminal * period  # the first line appears at once on a terminal
    first: int | None = None  # chunks that were done before the first one of this run

    def summary(report: Report) -> str:
        if what == "verified":
            return f"{report.verified} chunks verified"
        rate = (report.done - (first or 0)) * plan.chunk / max(time.monotonic() - start, 1e-9)
        left = (plan.n_chunks - report.done) * plan.chunk / rate if rate else 0
        rows = f"{min(report.done * plan.chunk, plan.rows):,} of {plan.rows:,} rows {what}"
        memory = f"{runner.memory() / 1e6:,.0f} MB"
        return f"{rows}: {rate:,.0f} rows/s, {timedelta(seconds=int(left))} left, {memory}"

    def print_line(report: Report) -> None:
        nonlocal first, printed
        first = report.done - 1 if first is None else first
        if time.monotonic() >= printed + period:
            printed = time.monotonic()
            sys.stderr.write(
                f"{summary(report):<78}{end}" if on_terminal else summary(report) + end
            )
            sys.stderr.flush()

    yield print_line
    if on_terminal:
        sys.stderr.write(f"{'':<{width}}\r")


def _print_hint_to_resume(report: Report) -> None:
    if report.done:
        text = f"{report.done:,} of {report.plan.n_chunks:,} chunks are done"
        print_text(terminal(errors=True), f"{text}; rerun the same command to resume")


def _print_report(report: Report) -> None:
    from linkwork.batch.run import list_errors

    plan, console = report.plan, terminal()
    if report.again:
        text = f"{report.again:,} chunks were computed again: their files were missing or truncated"
        print_text(console, text, "yellow")
    earlier = report.done - report.computed
    before = f" ({earlier:,} chunks were done before)" if earlier else ""
    rows = f"{report.done:,} of {plan.n_chunks:,} chunks, {plan.rows:,} rows"
    print_text(console, f"{escaped(str(plan.out))}: {rows}{before}", "bold")
    for function in plan.functions:
        for port in function.arrays:
            shape = ", ".join(map(str, (plan.rows, *port.shape)))
            print_text(console, f"  {escaped(port.name)} ({shape})")
    if report.verified:
        same = report.verified - len(report.damaged)
        print_text(console, f"{same:,} of {report.verified:,} chunks are the same bit for bit")
    if report.rejected:
        print_message(f"states were rejected\n{list_errors(plan, report.rejected)}")
    if report.damaged:
        text = f"results are damaged\n{list_errors(plan, report.damaged)}"
        print_message(f"{text}\nrerun the same command to compute these chunks again")


def _report_data(report: Report) -> dict[str, Any]:
    plan = report.plan

    def rejected_rows(outcomes: list[Outcome]) -> list[dict[str, Any]]:
        spans = [plan.span(outcome.chunk) for outcome in outcomes]
        return [
            {"first_row": start, "last_row": stop - 1, "why": outcome.error}
            for outcome, (start, stop) in zip(outcomes, spans, strict=True)
        ]

    return {
        "out": str(plan.out),
        "rows": plan.rows,
        "arrays": [port.name for function in plan.functions for port in function.arrays],
        "chunks": plan.n_chunks,
        "done": report.done,
        "computed": report.computed,
        "refused": rejected_rows(report.rejected),
        "verified": report.verified,
        "damaged": rejected_rows(report.damaged),
    }
