"""Least time of a call: what the machine does besides can only add to it."""

from __future__ import annotations

import time
from collections.abc import Callable

BURST = 0.005  # seconds of calls that are timed together, so that the clock's steps do not matter
REPEATS = 7  # bursts, of which the fastest counts


def least_time(
    call: Callable[[], object], *, burst: float = BURST, repeats: int = REPEATS
) -> float:
    """Seconds per call, in the fastest of several bursts."""
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
