"""A cluster of `distributed` on this machine: each part is a separate process, over TCP."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

LIMIT = 60.0  # [s] for a process to be there; far more than it takes


class Cluster:
    """A scheduler and its workers, each of one thread and without a nanny."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._count = folder, 0
        self._processes: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []
        self.address = "tcp://127.0.0.1:0"
        self.start_scheduler()

    def start_scheduler(self) -> None:
        """Start a scheduler, at the address of the previous one if there was one."""
        file = self._folder / f"scheduler{self._count}.json"
        self._count += 1
        port = self.address.rpartition(":")[2]
        words = ["--host", "127.0.0.1", "--port", port, "--scheduler-file", str(file)]
        self.scheduler = self._start("dask_scheduler", *words)
        until = time.monotonic() + LIMIT
        while not file.exists():
            assert time.monotonic() < until, "no scheduler"
            assert self.scheduler.poll() is None, "the scheduler ended"
            time.sleep(0.05)
        self.address = json.loads(file.read_text())["address"]

    def start_worker(self, **environment: str) -> None:
        words = [self.address, "--nthreads", "1", "--no-nanny"]
        words += ["--local-directory", str(self._folder)]
        self.workers.append(self._start("dask_worker", *words, **environment))

    def end(self) -> None:
        """Kill all processes that were started."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()

    def _start(self, module: str, *words: str, **environment: str) -> subprocess.Popen[bytes]:
        called = [sys.executable, "-m", f"distributed.cli.{module}", "--no-dashboard", *words]
        process = subprocess.Popen(
            called,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **environment},
        )
        self._processes.append(process)
        return process


@contextlib.contextmanager
def cluster(folder: Path, workers: int) -> Iterator[Cluster]:
    """Start a cluster in a context."""
    folder.mkdir(parents=True, exist_ok=True)
    started = Cluster(folder)
    try:
        for _ in range(workers):
            started.start_worker()
        yield started
    finally:
        started.end()
