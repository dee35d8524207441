"""Very many states: the rate of `linkwork batch` per core, on all cores, and where it is spent.

python benchmarks/run.py scale

Each figure is one run of the command's own code on states that it draws itself, from the first
chunk to the last; code is compiled before. The best of three runs counts.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from report import Section

from linkwork.batch import chunks, run
from linkwork.batch.plan import Plan, make_plan
from linkwork.batch.runners import Cluster, Local
from robots import TALOS, kindyn_of

FUNCTIONS = ("mass_matrix", "jacobian:{frame}", "inverse_dynamics")
MEMORY, DISK = Path("/dev/shm"), Path(tempfile.gettempdir())
REPEATS = 3
MOST_ROWS = 1_000_000
EFFICIENCY = 0.9  # target of all cores against one, for results in memory


def scale(most_bytes: int = 1 << 30) -> Section:
    """Rates of talos_reduced, into memory and onto the disk."""
    section = Section(f"Very many states, {TALOS.name}")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    kd = kindyn_of(TALOS)
    table = section.table(
        "Thousand states per second, drawn from a seed; into memory but for the last column",
        *(
            "function",
            "states",
            "bytes per state",
            "computed only, one core",
            "one process, one thread",
        ),
        *(f"{cores} workers", "efficiency", f"one process, {cores} threads", "onto the disk"),
    )
    for pattern in FUNCTIONS:
        text = pattern.format(frame=TALOS.frame)
        plan = make_plan(kd, text, MEMORY / "unused", random=0)
        row_bytes = sum(8 * port.size for one in plan.functions for port in one.arrays)
        rows = min(MOST_ROWS, most_bytes // row_bytes)
        kd.warmup(*(function.kernel.order.key for function in plan.functions))
        alone = _best(_computed_only, kd, text, rows, MEMORY)
        one = _best(lambda p: _local(p, 1), kd, text, rows, MEMORY)
        workers = _best_of_cluster(kd, text, rows, 1), _best_of_cluster(kd, text, rows, cores)
        threaded = _best(lambda p: _local(p, cores), kd, text, rows, MEMORY)
        disk = _best(lambda p: _local(p, cores), kd, text, rows, DISK, repeats=1)
        efficiency = workers[1] / workers[0] / cores
        verdict = section.check(f"{text}, efficiency of {cores} workers", efficiency, EFFICIENCY)
        rates = [f"{rate / 1e3:,.0f}" for rate in (alone, one, workers[1], threaded, disk)]
        shares = [rates[2], f"{efficiency:.0%} {verdict}", rates[3], rates[4]]
        table.add(text, f"{rows:,}", f"{row_bytes:,}", rates[0], rates[1], *shares)
        section.data.append({
            **{"function": text, "bytes": row_bytes, "rows": rows, "cores": cores},
            **{"computed": alone, "one": one, "threads": threaded, "disk": disk},
            **{"one_worker": workers[0], "workers": workers[1]},
        })  # fmt: skip
    section.notes.append(_arithmetic(section.data[0]))
    return section


def _arithmetic(figures: dict[str, Any], states: int = 10**9, nodes: int = 100) -> str:
    """What 10^9 states take on 100 nodes of 32 cores, if nothing but one thing took time."""
    size = states * figures["bytes"]
    compute = states / (figures["one"] * 32 * nodes)
    return (
        f"{states:.0e} states on {nodes} nodes of 32 cores, {figures['function']}: computing"
        f" {compute:.0f} s; storing {size / 1e12:.1f} TB {size / 1e10:.0f} s at 10 GB/s for all"
        f" nodes together, {size / (nodes * 2e9):.0f} s on a disk of 2 GB/s in each node."
    )


def _best(
    action: Any, kd: Any, text: str, rows: int, place: Path, *, repeats: int = REPEATS
) -> float:
    """States per second of the best run, each into a new folder."""
    times: list[float] = []
    for _ in range(repeats):
        folder = Path(tempfile.mkdtemp(prefix="linkwork-scale", dir=place))
        try:
            plan = make_plan(kd, text, folder / "result.zarr", random=rows)
            start = time.perf_counter()
            action(plan)
            times.append(time.perf_counter() - start)
        finally:
            shutil.rmtree(folder)
    return rows / min(times)


def _best_of_cluster(kd: Any, text: str, rows: int, workers: int) -> float:
    """The same, with workers that have started and have the code."""
    with Cluster(workers=workers) as runner:
        return _best(lambda plan: run.run(plan, runner, run.Report(plan)), kd, text, rows, MEMORY)


def _local(plan: Plan, threads: int) -> None:
    before = os.environ.get("LINKWORK_THREADS")
    os.environ["LINKWORK_THREADS"] = str(threads)
    try:
        run.run(plan, Local(), run.Report(plan))
    finally:
        os.environ["LINKWORK_THREADS"] = before or "1"


def _computed_only(plan: Plan) -> None:
    """Draw the states and compute, and store nothing."""
    for chunk in range(plan.n_chunks):
        states = chunks.read_states(plan, chunk)[1]
        for _ in chunks.results(plan, chunk, states, 1):
            pass
