"""Two versions of linkwork side by side, in one run: is the new one as fast as the old one?

python benchmarks/compare.py PATH_OF_ANOTHER_CHECKOUT

Each version runs in a separate process. The two measure in turn, a burst of one and a burst of
the other, round after round, and the fastest burst of each counts: what disturbs the machine for a
moment disturbs both. The other checkout needs its C extension built in place.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from timeit import Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from timing import Task

HERE = Path(__file__).parent
ROUNDS = 12
NAMES = ("rnea", "crba", "aba", "pose", "jacobian", "cmm")  # as in functions.py
WAYS = ("kernel", "method", "batch", "fresh batch")
ROWS = 4096
BURST = 0.02  # of calls of one version [s]


def main(other: str) -> None:
    """Print a table of ratios, new time by old time; below 1 is faster."""
    from robots import CASES

    new, old = _Version(HERE.parent), _Version(Path(other))
    print(f"new / old, fastest of {ROUNDS} bursts each, one thread, batches of {ROWS}\n")
    print("| robot | function | " + " | ".join(WAYS) + " |")
    print("|---|---|" + "---|" * len(WAYS))
    for case in CASES:
        for name in NAMES:
            cells: list[str] = []
            for way in WAYS:
                request = {"robot": case.name, "name": name, "way": way}
                pairs = [(new.measure(request), old.measure(request)) for _ in range(ROUNDS)]
                after, before = (min(times) for times in zip(*pairs, strict=True))
                cells.append(f"{after * 1e6:.3f} / {before * 1e6:.3f} = {after / before:.2f}")
            print(f"| {case.name} | {name} | " + " | ".join(cells) + " |", flush=True)


class _Version:
    """A process that measures with the linkwork of a checkout."""

    def __init__(self, checkout: Path) -> None:
        path = os.pathsep.join([str(checkout / "src"), str(HERE.parent)])
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--measure"],
            env={**os.environ, "PYTHONPATH": path, "LINKWORK_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def measure(self, request: dict[str, str]) -> float:
        """Seconds for a call, or for a row of a batch."""
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())


def measure() -> None:
    """Measure the requests, line by line."""
    timers: dict[str, tuple[Timer, int, int]] = {}
    for line in sys.stdin:
        if line not in timers:
            task, rows = _task(**json.loads(line))
            timer = task.timer()
            timers[line] = timer, max(1, int(BURST / max(timer.timeit(3) / 3, 1e-8))), rows
        timer, count, rows = timers[line]
        print(timer.timeit(count) / count / rows, flush=True)


def _task(robot: str, name: str, way: str) -> tuple[Task, int]:
    """A call, and how many rows it computes."""
    from functions import arguments, kernel_of, method_task
    from timing import Task

    from robots import CASES, kindyn_of, random_states

    case = next(case for case in CASES if case.name == robot)
    kd = kindyn_of(case)
    kernel, states = kernel_of(kd, name, case.frame), random_states(kd, ROWS)
    if way == "method":
        return method_task(kd, name, case.frame, states.row(0)), 1
    if way == "kernel":
        return Task(kernel, arguments(name, states.row(0))), 1
    batch = arguments(name, states)
    return Task(kernel, batch, {"out": kernel(*batch)} if way == "batch" else {}), ROWS


if __name__ == "__main__":
    if sys.argv[1] == "--measure":
        measure()
    else:
        main(sys.argv[1])
