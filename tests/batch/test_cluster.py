"""Batches on a cluster: a scheduler and workers in separate processes, over TCP.

All tests share one cluster; a test restarts the processes that it kills.
"""

from __future__ import annotations

import logging
import os
import time
from itertools import pairwise

import dask
import dask.array as da
import distributed
import numpy as np
import pytest
from tests.support.batches import check_all, computed, files, random_plan, robot
from tests.support.clusters import cluster as started

import linkwork as lw
from linkwork.batch import chunks, run, runners
from linkwork.batch.plan import make_plan
from linkwork.batch.run import Report
from linkwork.batch.runners import Cluster, ClusterError
from linkwork.cli.batch import open_runner

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

CHUNKS = 40
WORKERS = 2


@pytest.fixture(scope="module")
def machines(tmp_path_factory):
    with started(tmp_path_factory.mktemp("cluster"), WORKERS) as cluster:
        yield cluster


@pytest.fixture
def plan(tmp_path):
    return random_plan(tmp_path / "out.zarr", 25 * CHUNKS, 25, "mass_matrix,jacobian:tip")


def interfering(count, action):
    """Return a callback that performs an action once, after a number of chunks."""

    def on_chunk(report):
        if report.computed == count:
            action()

    return on_chunk


def test_the_bits_agree_with_one_process(machines, plan):
    with Cluster(machines.address) as runner:
        report = computed(plan, runner)
        check_all(plan)
        run.verify(plan, runner, report, sample=5)
        assert (report.computed, report.verified, report.damaged) == (CHUNKS, 5, [])
        assert computed(plan, runner).computed == 0
        assert runner.memory() > 0


def test_only_the_command_hides_the_log_of_distributed_temporarily(machines):
    logger = logging.getLogger("distributed")
    before = logger.level
    assert before != logging.CRITICAL
    with Cluster(machines.address):
        assert logger.level == before
    with open_runner(machines.address, None):
        assert logger.level == logging.CRITICAL
    assert logger.level == before


def test_dask_arrays_are_computed_there(machines):
    """Also a function that no worker can import, and a kernel of the same robot."""
    kd = robot()
    kd.mass_matrix.warmup()

    @lw.compile(q=kd.nq)
    def height(q):
        return kd.com(q)[2]

    height.warmup()
    q = kd.random(64, seed=0)
    lazy = da.from_array(q, chunks=(16, -1))
    with distributed.Client(machines.address, set_as_default=False) as client:
        client.wait_for_workers(1, timeout=60)
        futures = client.compute([kd.mass_matrix(lazy), height(lazy)])
        M, z = client.gather(futures)
    assert np.array_equal(M, kd.mass_matrix(q))
    assert np.array_equal(z, height(q))


def test_a_worker_killed_in_the_middle_loses_nothing(machines, plan):
    def kill():
        machines.workers[-1].kill()
        machines.workers.pop().wait()

    try:
        with Cluster(machines.address) as runner:
            report = computed(plan, runner, on_chunk=interfering(5, kill))
    finally:
        machines.start_worker()
    assert (report.done, report.rejected) == (CHUNKS, [])
    check_all(plan)


def test_a_rejected_chunk_does_not_stop_the_others(machines, tmp_path):
    q = robot().random(100, seed=0)
    q[77, 4] = 9.0
    np.save(tmp_path / "q.npy", q)
    plan = make_plan(robot(), "com", tmp_path / "out.zarr", states=tmp_path / "q.npy", chunk=10)
    with Cluster(machines.address) as runner:
        report = computed(plan, runner)
    assert report.done == 9
    assert [one.chunk for one in report.rejected] == [7]
    assert "(row 77)" in report.rejected[0].error


def test_changed_states_are_detected_by_the_workers(machines, tmp_path):
    path = tmp_path / "q.npy"
    np.save(path, robot().random(100, seed=0))
    plan = make_plan(robot(), "com", tmp_path / "out.zarr", states=path, chunk=10)
    with Cluster(machines.address) as runner:
        assert computed(plan, runner).done == 10
        os.utime(path, ns=(1, 1))
        assert computed(plan, runner).computed == 0


def test_a_worker_of_another_version_raises_with_both_versions(machines, plan, tmp_path):
    old = tmp_path / "old" / "linkwork"
    old.mkdir(parents=True)
    (old / "__init__.py").write_text("")
    (old / "version.py").write_text("__version__ = '0.0.1'\n")
    machines.start_worker(PYTHONPATH=str(old.parent))
    try:
        with Cluster(machines.address) as runner:
            with distributed.Client(machines.address, set_as_default=False) as client:
                client.wait_for_workers(WORKERS + 1, timeout=60)
            with pytest.raises(lw.LinkworkError) as error:
                computed(plan, runner)
    finally:
        machines.workers[-1].kill()
        machines.workers.pop().wait()
    assert f"linkwork {lw.__version__}" in str(error.value)
    assert "linkwork 0.0.1" in str(error.value)
    assert not plan.out.exists()


def test_a_restarted_scheduler_is_found_again(machines, plan, monkeypatch):
    """Its workers and all submitted tasks are lost with it."""
    monkeypatch.setattr(runners, "CONNECT_LIMIT", 30.0)

    def restart():
        machines.scheduler.kill()
        machines.scheduler.wait()
        for worker in machines.workers:
            worker.kill()
            worker.wait()
        machines.workers.clear()
        machines.start_scheduler()
        machines.start_worker()

    report = Report(plan)
    with Cluster(machines.address) as runner:
        run.run(plan, runner, report, on_chunk=interfering(5, restart))
    assert report.done == CHUNKS
    check_all(plan)


def test_a_lost_scheduler_ends_the_run_and_another_can_resume_it(machines, plan, monkeypatch):
    monkeypatch.setattr(runners, "CONNECT_LIMIT", 1.0)
    monkeypatch.setattr(runners, "RETURN_LIMIT", 1.0)

    def end():
        machines.scheduler.kill()
        machines.scheduler.wait()

    monkeypatch.setattr(runners, "AHEAD", 1)
    lost = pytest.raises(ClusterError, match=r"no scheduler at tcp://127\.0\.0\.1:")
    with Cluster(machines.address) as runner, lost:
        computed(plan, runner, on_chunk=interfering(5, end))
    before = files(plan)
    assert len(before) >= 10
    assert computed(plan).computed == CHUNKS - len(before) // 2
    assert before.items() <= files(plan).items()
    check_all(plan)


def test_missing_schedulers_and_workers_raise_within_a_limit(monkeypatch):
    monkeypatch.setattr(runners, "CONNECT_LIMIT", 0.5)
    before = time.monotonic()
    with pytest.raises(
        ClusterError, match=r"no scheduler at tcp://127.0.0.1:9 within 0 s"
    ) as error:
        Cluster("tcp://127.0.0.1:9")
    assert "\n" not in str(error.value)
    assert time.monotonic() - before < 60
    with pytest.raises(ClusterError, match="no scheduler at nonsense"):
        Cluster("nonsense://")


class FailingClient:
    """A client that is connected, and whose `submit` raises."""

    status = "running"

    def __init__(self, error):
        self.error, self.submitted = error, 0

    def submit(self, *_, **__):
        self.submitted += 1
        raise self.error

    def close(self, **_): ...

    def wait_for_workers(self, *_, **__): ...


@pytest.fixture
def failing(monkeypatch):
    """A cluster without workers that records pauses instead of waiting."""

    def cluster(error):
        client = FailingClient(error)
        monkeypatch.setattr(distributed, "Client", lambda *_, **__: client)
        return Cluster("tcp://10.0.0.1:8786"), client

    pauses = []
    monkeypatch.setattr(runners.time, "sleep", pauses.append)
    return cluster, pauses


def test_other_errors_of_submit_end_the_run(failing, plan):
    cluster, pauses = failing
    runner, client = cluster(RuntimeError("event loop is of another thread"))
    with pytest.raises(ClusterError, match=r"tcp://10.0.0.1:8786.*event loop is of another"):
        next(runner.run(chunks.compute, plan, [0]))
    assert (client.submitted, pauses) == (1, [])


def test_repeated_losses_of_the_connection_end_the_run(failing, plan):
    cluster, pauses = failing
    runner, client = cluster(OSError("reset by peer"))
    with pytest.raises(ClusterError, match=r"tcp://10.0.0.1:8786.*reset by peer"):
        next(runner.run(chunks.compute, plan, [0]))
    assert client.submitted == runners.MOST_LOSSES + 1
    assert len(pauses) == runners.MOST_LOSSES
    assert all(after > before for before, after in pairwise(pauses))


def test_a_closed_client_is_a_lost_connection(failing, plan):
    cluster, pauses = failing
    runner, client = cluster(RuntimeError("closed"))
    client.status = "closed"
    with pytest.raises(ClusterError, match="was closed"):
        next(runner.run(chunks.compute, plan, [0]))
    assert len(pauses) == runners.MOST_LOSSES


def test_the_configuration_of_dask_is_not_changed():
    assert dask.config.get("scheduler", None) is None
