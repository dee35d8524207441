"""Least time of a call; candidates are measured in turn, so that disturbances affect all."""

from __future__ import annotations

import timeit
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Task:
    """A call to be timed. Its arguments are ready: making them is not timed."""

    call: Callable[..., Any]
    args: tuple[Any, ...] = ()
    named: dict[str, Any] = field(default_factory=dict)

    def run(self) -> Any:
        """Call it once."""
        return self.call(*self.args, **self.named)

    def timer(self) -> timeit.Timer:
        """Times the call as a user would write it, `f(a0, a1, name=n0)`."""
        names = {f"a{k}": value for k, value in enumerate(self.args)}
        named = {f"n{k}": value for k, value in enumerate(self.named.values())}
        listed = [*names, *(f"{word}={name}" for word, name in zip(self.named, named, strict=True))]
        return timeit.Timer(f"f({', '.join(listed)})", globals={"f": self.call} | names | named)


@dataclass(frozen=True)
class Patience:
    """How long to measure."""

    burst: float = 0.02  # of calls of one candidate [s]
    rounds: int = 15  # bursts of each candidate


QUICK = Patience(burst=0.002, rounds=3)


def best(tasks: Mapping[str, Task], patience: Patience) -> dict[str, float]:
    """Seconds per call of each candidate: the fastest burst, divided by its number of calls.

    Bursts of the candidates follow each other in turn, round after round, in this one process.
    """
    timers = {name: task.timer() for name, task in tasks.items()}
    counts = {name: _calls(timer, patience.burst) for name, timer in timers.items()}
    times = dict.fromkeys(tasks, float("inf"))
    for _ in range(patience.rounds):
        for name, timer in timers.items():
            times[name] = min(times[name], timer.timeit(counts[name]) / counts[name])
    return times


def best_of_variants(
    groups: Mapping[str, list[Task]], patience: Patience
) -> dict[str, float | None]:
    """The same, where each candidate may have several ways; the fastest counts. None for no way."""
    flat = {(name, k): task for name, tasks in groups.items() for k, task in enumerate(tasks)}
    times = best({f"{name} {k}": task for (name, k), task in flat.items()}, patience)
    return {
        name: min((times[f"{name} {k}"] for k in range(len(tasks))), default=None)
        for name, tasks in groups.items()
    }


def _calls(timer: timeit.Timer, burst: float) -> int:
    """How many calls fill a burst; the first call is not counted, it may prepare things."""
    timer.timeit(1)
    count = 1
    while True:
        elapsed = timer.timeit(count)
        if elapsed >= burst / 4:
            return max(1, round(count * burst / elapsed))
        count *= 2 if elapsed > burst / 50 else 10
