"""Chunks computed in this process: one is written while another one is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from itertools import islice

from linkwork.batch.packages import package
from linkwork.batch.plan import Place, Plan, this_place
from linkwork.batch.work import Outcome

AT_A_TIME = 2  # chunks: each computes on all cores, and while it is written, so does the other


class Local:
    """Runs tasks in threads of this process."""

    def __init__(self) -> None:
        self._process = package("psutil").Process()

    def places(self) -> set[Place]:
        """What computes."""
        return {this_place()}

    def memory(self) -> int:
        """Bytes that this process has."""
        return self._process.memory_info().rss

    def run(
        self, task: Callable[[Plan, int], Outcome], plan: Plan, chunks: Iterable[int]
    ) -> Iterator[Outcome]:
        """Do a task for each chunk; outcomes come in any order, each as soon as it is there.

        After an interrupt, chunks that have begun are finished, and come too.
        """
        left = iter(chunks)
        with ThreadPoolExecutor(AT_A_TIME, "linkwork batch") as pool:
            pending = {pool.submit(task, plan, chunk) for chunk in islice(left, AT_A_TIME)}
            while pending:
                try:
                    done, pending = wait(pending, return_when=FIRST_COMPLETED)
                except KeyboardInterrupt:
                    for future in pending:
                        yield future.result()
                    raise
                for future in done:
                    pending |= {pool.submit(task, plan, chunk) for chunk in islice(left, 1)}
                    yield future.result()
