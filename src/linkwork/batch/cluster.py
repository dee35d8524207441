"""Chunks computed by the workers of a cluster of `distributed`.

Plan       goes to each worker once, as the result of a task, so that it can be had again
Lost       chunks of a worker that is gone are computed by others. If the scheduler is gone, chunks
           that are not known to be done are submitted again once it is back; not for ever, if
           the connection is lost again and again
Files      workers write their chunks themselves, so all must see the folder of the results
"""

from __future__ import annotations

import contextlib
import logging
import pickle
import signal
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any

from linkwork.batch.packages import package
from linkwork.batch.plan import Place, Plan, other_version
from linkwork.batch.work import Outcome
from linkwork.errors import LinkworkError

POLL = 0.02  # [s] between looks at the chunks that are being computed
LOOK = 2.0  # [s] between looks at the workers
AHEAD = 3  # chunks submitted for each thread of a worker
CONNECT_LIMIT = 10.0  # [s] to reach a scheduler at first
RETURN_LIMIT = 120.0  # [s] for a scheduler or the first worker to come back
WORKERS_LIMIT = 30.0  # [s] for the first worker
MOST_LOSSES = 6  # of the connection, one after the other, without a chunk that was computed
FIRST_PAUSE = 0.5  # [s] before connecting again; twice as long each further time


class ClusterError(LinkworkError, ConnectionError):
    """A scheduler or workers that cannot be reached."""


class _LostError(Exception):
    """The connection to the scheduler was lost."""


class Cluster:
    """Runs tasks on the workers of a scheduler, or on those that it starts itself."""

    def __init__(self, address: str | None = None, workers: int = 0) -> None:
        """Connect.

        Args:
            address: of a scheduler, such as "tcp://10.0.0.1:8786"; or
            workers: how many to start on this machine, each a process of one thread.
        """
        self._distributed = package("distributed")
        self._own: Any = None
        self._looked, self._memory = 0.0, 0
        if address is None:
            with _interrupts_ignored():
                self._own = self._distributed.LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    dashboard_address=None,
                    silence_logs=logging.CRITICAL,
                    host="127.0.0.1",
                )
            address = str(self._own.scheduler_address)
        self._address = address
        self._client = self._connected(CONNECT_LIMIT)
        self._wait_for_workers(WORKERS_LIMIT)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
        if self._own is not None:
            self._own.close(timeout=10)

    def places(self) -> set[Place]:
        """What the workers compute with; raises if one has no linkwork, or one without this."""
        found = self._client.run(_question(), on_error="return")
        for worker, answer in found.items():
            if isinstance(answer, BaseException):
                text = f"worker {worker}: linkwork cannot be used there: {answer}"
                raise ClusterError(text) from None
        from linkwork.version import __version__

        for answer in found.values():
            if answer[0] != __version__:
                raise LinkworkError(other_version(__version__, answer[0]))
        return {Place(*answer) for answer in found.values()}

    def memory(self) -> int:
        """Bytes that all workers have together, as of a moment ago."""
        return self._memory

    def run(
        self, task: Callable[..., Outcome], plan: Plan, chunks: Iterable[int]
    ) -> Iterator[Outcome]:
        """Do a task for each chunk; outcomes come in any order, each as soon as it is there."""
        left, losses = dict.fromkeys(chunks), 0
        while left:
            try:
                for outcome in self._session(task, plan, list(left)):
                    left.pop(outcome.chunk, None)
                    losses = 0
                    yield outcome
            except _LostError as error:
                losses += 1
                if losses > MOST_LOSSES:
                    text = f"the connection to the scheduler at {self._address} was lost"
                    raise ClusterError(
                        f"{text} {losses} times in a row ({_reason(error)})"
                    ) from None
                time.sleep(FIRST_PAUSE * 2 ** (losses - 1))
                self._reconnect()

    # One connection.

    def _session(
        self, task: Callable[..., Outcome], plan: Plan, chunks: list[int]
    ) -> Iterator[Outcome]:
        client, run = self._client, uuid.uuid4().hex[:8]
        name = f"linkwork-{plan.digest[:12]}-{run}"
        sent = self._guarded(
            partial(client.submit, pickle.loads, pickle.dumps(plan), key=f"{name}-plan", pure=False)
        )
        on_worker = partial(_on_worker, task)
        waiting, pending = iter(chunks), dict[Any, int]()
        try:
            while True:
                self._look_at_workers()
                for chunk in islice(waiting, max(0, self._wanted - len(pending))):
                    key = f"{task.__name__}-{name}-{chunk}"
                    submitted = partial(client.submit, on_worker, sent, chunk, key=key, pure=False)
                    pending[self._guarded(submitted)] = chunk
                if not pending:
                    return
                done = [future for future in pending if future.status != "pending"]
                for future in done:
                    yield self._outcome(future, pending.pop(future))
                if not done:
                    time.sleep(POLL)
        finally:
            for future in pending:
                future.release()

    def _outcome(self, future: Any, chunk: int) -> Outcome:
        if future.status == "finished":
            return self._guarded(future.result)
        if future.status != "error":  # cancelled or lost, with the scheduler
            raise _LostError
        error = self._guarded(future.exception)
        if isinstance(error, LinkworkError):
            raise error
        if type(error).__name__ == "KilledWorker":
            return Outcome(chunk, "", "", "the workers that computed it died, one after the other")
        raise ClusterError(f"a worker failed: {type(error).__name__}: {error}")

    def _guarded(self, action: Callable[[], Any]) -> Any:
        """Do something with the scheduler; errors of the connection become `_LostError`."""
        if self._client.status != "running":
            raise _LostError
        try:
            return action()
        except LinkworkError:
            raise
        except (OSError, TimeoutError, self._distributed.CancelledError) as error:
            raise _LostError from error
        except Exception as error:
            if self._client.status != "running":  # it was closed meanwhile
                raise _LostError from error
            text = f"the scheduler at {self._address} cannot be used"
            raise ClusterError(f"{text}: {type(error).__name__}: {error}") from error

    def _look_at_workers(self) -> None:
        """Count the threads and the memory of the workers, from time to time."""
        if time.monotonic() < self._looked + LOOK:
            return
        self._looked = time.monotonic()
        workers: dict[str, Any] = self._guarded(partial(self._client.scheduler_info, n_workers=-1))[
            "workers"
        ]
        self._memory = sum(w.get("metrics", {}).get("memory", 0) for w in workers.values())
        self._wanted = AHEAD * max(1, sum(w["nthreads"] for w in workers.values()))
        if not workers:
            self._wait_for_workers(RETURN_LIMIT)

    # Connecting.

    def _connected(self, limit: float) -> Any:
        try:
            client = self._distributed.Client(
                self._address, timeout=limit, set_as_default=False, direct_to_workers=False
            )
        except (OSError, TimeoutError, ValueError) as error:
            why = str(error).strip().splitlines() or [type(error).__name__]
            text = f"no scheduler at {self._address} within {limit:.0f} s"
            raise ClusterError(f"{text} ({why[0]})") from None
        self._looked = 0.0
        return client

    def _wait_for_workers(self, limit: float) -> None:
        try:
            self._client.wait_for_workers(1, timeout=limit)
        except (OSError, TimeoutError):
            text = f"the scheduler at {self._address} has no workers after {limit:.0f} s"
            raise ClusterError(f"{text}; `dask worker {self._address}` starts one") from None

    def _reconnect(self) -> None:
        """Wait for the scheduler to come back."""
        self._close()
        until = time.monotonic() + RETURN_LIMIT
        while True:
            try:
                self._client = self._connected(CONNECT_LIMIT)
            except ClusterError:
                if time.monotonic() > until:
                    raise
                time.sleep(1.0)
                continue
            self._wait_for_workers(RETURN_LIMIT)
            return

    def _close(self) -> None:
        with contextlib.suppress(Exception):  # it may be gone already, in many ways
            self._client.close(timeout=2)


def _reason(error: _LostError) -> str:
    cause = error.__cause__
    return "it was closed" if cause is None else f"{type(cause).__name__}: {cause}"


@contextlib.contextmanager
def _interrupts_ignored() -> Generator[None, None, None]:
    """Processes that are started here leave Ctrl-C to this one, which then ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _on_worker(task: Callable[..., Outcome], plan: Plan, chunk: int) -> Outcome:
    from linkwork.bridges.dask.arrays import threads_of_block

    return task(plan, chunk, threads_of_block())


def _question() -> Callable[[], tuple[str, str, str]]:
    """What each worker is asked; sent as code, for its linkwork may be without this file."""

    def answer() -> tuple[str, str, str]:
        from linkwork.version import __version__

        try:
            from linkwork.batch.plan import this_place
        except ImportError:
            return __version__, "", ""
        place = this_place()
        return place.linkwork, place.sources, place.processor

    return answer
