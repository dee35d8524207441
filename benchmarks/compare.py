"""Two versions of linkwork side by side, in one run: is the new one as fast as the old one?

python benchmarks/compare.py PATH_OF_ANOTHER_CHECKOUT

Each version runs in a process of its own. The two measure in turn, a burst of one and a burst of
the other, round after round, and the fastest burst of each counts: what disturbs the machine for a
moment disturbs both. The other checkout needs its C extension built in place.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROUNDS = 12
NAMES = ("inverse_dynamics", "mass_matrix", "forward_dynamics", "transform", "jacobian")
NAMES = (*NAMES, "centroidal_momentum_matrix")
WAYS = ("kernel", "method", "batch", "fresh batch")
ROWS = 4096


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
                pairs = [(new.ask(request), old.ask(request)) for _ in range(ROUNDS)]
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

    def ask(self, request: dict[str, str]) -> float:
        """Seconds for a call, or for a row of a batch."""
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())


def measure() -> None:
    """Measure what is asked for, line by line."""
    import timeit

    timers: dict[str, tuple[Any, int, int]] = {}
    for line in sys.stdin:
        if line not in timers:
            call, rows = _call(**json.loads(line))
            count = max(1, int(0.02 / max(timeit.timeit(call, number=3) / 3, 1e-8)))
            timers[line] = timeit.Timer("call()", globals={"call": call}), count, rows
        timer, count, rows = timers[line]
        print(timer.timeit(count) / count / rows, flush=True)


def _call(robot: str, name: str, way: str) -> tuple[Any, int]:
    """A call without arguments, and how many rows it computes."""
    from robots import CASES, kindyn_of, random_states

    case = next(case for case in CASES if case.name == robot)
    kd = kindyn_of(case)
    frames = (case.frame,) if name in ("transform", "jacobian") else ()
    kernel = kd.function((name, *frames) if frames else name)
    kernel.warmup()
    states = random_states(kd, ROWS)
    one = states.row(0)
    wanted = {"inverse_dynamics": ("q", "nu", "nu_dot"), "forward_dynamics": ("q", "nu", "tau")}
    inputs = wanted.get(name, ("q",))
    args = [getattr(one if way in ("kernel", "method") else states, field) for field in inputs]
    if way == "method":
        return eval(_lambda(args, frames), {"f": getattr(kd, name), "a": args}), 1
    if way == "kernel":
        return eval(_lambda(args, ()), {"f": kernel, "a": args}), 1
    out = kernel(*args)
    if way == "batch":
        return lambda: kernel(*args, out=out), ROWS
    return lambda: kernel(*args), ROWS


def _lambda(args: list[Any], frames: tuple[str, ...]) -> str:
    """The source of a call as a user writes it, with the arguments as defaults."""
    names = [f"a{k}" for k in range(len(args))]
    defaults = ", ".join(f"{name}=a[{k}]" for k, name in enumerate(names))
    given = ", ".join([*(repr(frame) for frame in frames), *names])
    return f"lambda f=f, {defaults}: f({given})"


if __name__ == "__main__":
    if sys.argv[1] == "--measure":
        measure()
    else:
        main(sys.argv[1])
