"""Runners: this process, or the workers of a cluster, which compute the chunks of a batch.

`Local` computes one chunk while it writes another one. `Cluster` uses the workers of `distributed`:

Plan       sent to each worker once, as the result of a task, so that it can be recomputed
Lost       chunks of a worker that is lost are computed by others. If the scheduler is lost,
           unfinished chunks are submitted again once it is back; the number of lost connections
           in a row is limited
Files      workers write their chunks themselves, so all need access to the folder of the results
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
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from functools import partial
from itertools import islice
from typing import Any, Protocol, TypeAlias

from linkwork.batch import optional_package
from linkwork.batch.chunks import Outcome, WorkerEnvironment, this_environment, version_mismatch
from linkwork.batch.plan import Plan
from linkwork.batch.states import first_line
from linkwork.errors import LinkworkError
from linkwork.version import __version__

LOCAL_CHUNKS = 2  # at a time: one is computed on all cores while the other one is written
POLL_PERIOD = 0.02  # [s] between two queries of pending chunks
WORKERS_PERIOD = 2.0  # [s] between two queries of the workers
AHEAD = 3  # number of chunks submitted for each thread of a worker
CONNECT_LIMIT = 10.0  # [s] for the first connection to a scheduler
RETURN_LIMIT = 120.0  # [s] for a lost scheduler, or the first worker, to return
WORKERS_LIMIT = 30.0  # [s] for the first worker
MOST_LOSSES = 6  # lost connections in a row without a computed chunk
FIRST_PAUSE = 0.5  # [s] before the first reconnection; doubled for each further one

Task: TypeAlias = Callable[..., Outcome]


class Runner(Protocol):
    """Runs a task for many chunks."""

    def environments(self) -> set[WorkerEnvironment]:
        """Return the environments of all workers."""
        ...

    def run(self, task: Task, plan: Plan, chunks: Iterable[int]) -> Iterator[Outcome]:
        """Run a task for each chunk; yield outcomes in any order, as soon as they are available."""
        ...

    def memory(self) -> int:
        """Return the memory in use [bytes]."""
        ...


class Local:
    """Runs tasks in threads of this process."""

    def __init__(self) -> None:
        self._process = optional_package("psutil").Process()

    def environments(self) -> set[WorkerEnvironment]:
        """Return the environment of this process."""
        return {this_environment()}

    def memory(self) -> int:
        """Return the memory of this process [bytes]."""
        return self._process.memory_info().rss

    def run(self, task: Task, plan: Plan, chunks: Iterable[int]) -> Iterator[Outcome]:
        """Run a task for each chunk; after an interrupt, finish chunks that have started."""
        waiting = iter(chunks)
        with ThreadPoolExecutor(LOCAL_CHUNKS, "linkwork batch") as pool:
            pending = {pool.submit(task, plan, chunk) for chunk in islice(waiting, LOCAL_CHUNKS)}
            while pending:
                try:
                    done, pending = wait(pending, return_when=FIRST_COMPLETED)
                except KeyboardInterrupt:
                    for future in pending:
                        yield future.result()
                    raise
                for future in done:
                    pending |= {pool.submit(task, plan, chunk) for chunk in islice(waiting, 1)}
                    yield future.result()


class ClusterError(LinkworkError, ConnectionError):
    """A scheduler or workers cannot be reached."""


class _LostError(Exception):
    """The connection to the scheduler was lost."""


class Cluster:
    """Runs tasks on the workers of a scheduler, or on workers that it starts."""

    def __init__(self, address: str | None = None, workers: int = 0) -> None:
        """Connect.

        Args:
            address: address of a scheduler, such as "tcp://10.0.0.1:8786"; if None,
            workers: number of workers to start on this machine, each a process with one thread.
        """
        self._distributed = optional_package("distributed")
        self._local_cluster: Any = None
        self._queried, self._memory = 0.0, 0  # time of the last query of the workers; their memory
        if address is None:
            with _interrupts_ignored():
                self._local_cluster = self._distributed.LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    dashboard_address=None,
                    silence_logs=logging.CRITICAL,
                    host="127.0.0.1",
                )
            address = str(self._local_cluster.scheduler_address)
        self._address = address
        self._client = self._connect(CONNECT_LIMIT)
        self._wait_for_workers(WORKERS_LIMIT)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
        if self._local_cluster is not None:
            self._local_cluster.close(timeout=10)

    def environments(self) -> set[WorkerEnvironment]:
        """Return the environments of the workers; raise if linkwork is missing or differs."""
        answers = self._client.run(_probe_version(), on_error="return")
        for worker, answer in answers.items():
            if isinstance(answer, BaseException):
                message = f"worker {worker}: linkwork cannot be imported there: {answer}"
                raise ClusterError(message) from None
        for version, *_ in answers.values():
            if version != __version__:
                raise version_mismatch(__version__, version)
        return {WorkerEnvironment(*answer) for answer in answers.values()}

    def memory(self) -> int:
        """Return the memory of all workers together [bytes], as of the last query."""
        return self._memory

    def run(self, task: Task, plan: Plan, chunks: Iterable[int]) -> Iterator[Outcome]:
        """Run a task for each chunk; lost chunks are submitted again."""
        remaining, losses = dict.fromkeys(chunks), 0
        while remaining:
            try:
                for outcome in self._session(task, plan, list(remaining)):
                    remaining.pop(outcome.chunk, None)
                    losses = 0
                    yield outcome
            except _LostError as error:
                losses += 1
                if losses > MOST_LOSSES:
                    message = f"the connection to the scheduler at {self._address} was lost"
                    message = f"{message} {losses} times in a row ({_reason(error)})"
                    raise ClusterError(message) from None
                time.sleep(FIRST_PAUSE * 2 ** (losses - 1))
                self._reconnect()

    # One connection.

    def _session(self, task: Task, plan: Plan, chunks: list[int]) -> Iterator[Outcome]:
        submit = partial(self._client.submit, pure=False)
        name = f"linkwork-{plan.digest[:12]}-{uuid.uuid4().hex[:8]}"
        plan_future = self._guarded(
            partial(submit, pickle.loads, pickle.dumps(plan), key=f"{name}-plan")
        )
        on_worker = partial(_on_worker, task)
        waiting, pending = iter(chunks), dict[Any, int]()
        try:
            while True:
                self._query_workers()
                for chunk in islice(waiting, max(0, self._ahead - len(pending))):
                    key = f"{task.__name__}-{name}-{chunk}"
                    submitted = partial(submit, on_worker, plan_future, chunk, key=key)
                    pending[self._guarded(submitted)] = chunk
                if not pending:
                    return
                done = [future for future in pending if future.status != "pending"]
                for future in done:
                    yield self._outcome(future, pending.pop(future))
                if not done:
                    time.sleep(POLL_PERIOD)
        finally:
            for future in pending:
                future.release()

    def _outcome(self, future: Any, chunk: int) -> Outcome:
        if future.status == "finished":
            return self._guarded(future.result)
        if future.status != "error":  # cancelled, or lost with the scheduler
            raise _LostError
        error = self._guarded(future.exception)
        if isinstance(error, LinkworkError):
            raise error
        if type(error).__name__ == "KilledWorker":
            return Outcome(chunk, "", "", "every worker that tried this chunk died")
        raise ClusterError(f"a worker failed: {type(error).__name__}: {error}")

    def _guarded(self, action: Callable[[], Any]) -> Any:
        """Call the scheduler; convert connection errors to `_LostError`."""
        if self._client.status != "running":
            raise _LostError
        try:
            return action()
        except LinkworkError:
            raise
        except (OSError, TimeoutError, self._distributed.CancelledError) as error:
            raise _LostError from error
        except Exception as error:
            if self._client.status != "running":  # closed in the meantime
                raise _LostError from error
            message = f"the scheduler at {self._address} cannot be used"
            raise ClusterError(f"{message}: {type(error).__name__}: {error}") from error

    def _query_workers(self) -> None:
        """Periodically query the threads and the memory of the workers."""
        if time.monotonic() < self._queried + WORKERS_PERIOD:
            return
        self._queried = time.monotonic()
        info = self._guarded(partial(self._client.scheduler_info, n_workers=-1))
        workers: list[Any] = list(info["workers"].values())
        self._memory = sum(worker.get("metrics", {}).get("memory", 0) for worker in workers)
        self._ahead = AHEAD * max(1, sum(worker["nthreads"] for worker in workers))
        if not workers:
            self._wait_for_workers(RETURN_LIMIT)

    # Connecting.

    def _connect(self, limit: float) -> Any:
        try:
            client = self._distributed.Client(
                self._address, timeout=limit, set_as_default=False, direct_to_workers=False
            )
        except (OSError, TimeoutError, ValueError) as error:
            message = f"no scheduler at {self._address} within {limit:.0f} s"
            raise ClusterError(f"{message} ({first_line(error)})") from None
        self._queried = 0.0
        return client

    def _wait_for_workers(self, limit: float) -> None:
        try:
            self._client.wait_for_workers(1, timeout=limit)
        except (OSError, TimeoutError):
            message = f"the scheduler at {self._address} has no workers after {limit:.0f} s"
            raise ClusterError(f"{message}; start one with `dask worker {self._address}`") from None

    def _reconnect(self) -> None:
        """Wait for the scheduler to return."""
        self._close()
        until = time.monotonic() + RETURN_LIMIT
        while True:
            try:
                self._client = self._connect(CONNECT_LIMIT)
            except ClusterError:
                if time.monotonic() > until:
                    raise
                time.sleep(1.0)
                continue
            self._wait_for_workers(RETURN_LIMIT)
            return

    def _close(self) -> None:
        with contextlib.suppress(Exception):  # it may already be closed or lost
            self._client.close(timeout=2)


def _reason(error: _LostError) -> str:
    cause = error.__cause__
    return "it was closed" if cause is None else f"{type(cause).__name__}: {cause}"


@contextlib.contextmanager
def _interrupts_ignored() -> Generator[None, None, None]:
    """Make child processes started here ignore Ctrl-C; this process stops them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _on_worker(task: Task, plan: Plan, chunk: int) -> Outcome:
    from linkwork.bridges.dask.arrays import threads_of_block

    return task(plan, chunk, threads_of_block())


def _probe_version() -> Callable[[], tuple[str, str, str]]:
    """Return a function for each worker, sent as code: other versions may not have this module."""

    def environment() -> tuple[str, str, str]:
        from linkwork.version import __version__

        try:
            from linkwork.batch.chunks import this_environment
        except ImportError:
            return __version__, "", ""
        current = this_environment()
        return current.linkwork, current.sources, current.processor

    return environment
