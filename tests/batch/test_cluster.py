"""Batches on a cluster: a scheduler and workers in processes of their own, over TCP.

One cluster serves all tests; what a test kills it starts again.
"""

from __future__ import annotations

import logging
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
from linkwork.batch import batch, work
from linkwork.batch import cluster as clusters
from linkwork.batch.batch import Report
from linkwork.batch.cluster import Cluster, ClusterError
from linkwork.cli.batch import _runner

CHUNKS = 40
WORKERS = 2


@pytest.fixture(scope="module")
def machines(tmp_path_factory):
    with started(tmp_path_factory.mktemp("cluster"), WORKERS) as found:
        yield found


@pytest.fixture
def plan(tmp_path):
    return random_plan(tmp_path / "out.zarr", 25 * CHUNKS, 25, "mass_matrix,jacobian:tip")


def interfering(count, action):
    """What to call after each chunk: it does something once, in the middle of a run."""

    def tell(report):
        if report.computed == count:
            action()

    return tell


def test_the_bits_are_those_of_one_process(machines, plan):
    with Cluster(machines.address) as runner:
        report = computed(plan, runner)
        check_all(plan)
        batch.verify(plan, runner, report, sample=5)
        assert (report.computed, report.verified, report.damaged) == (CHUNKS, 5, [])
        assert computed(plan, runner).computed == 0
        assert runner.memory() > 0


def test_only_the_command_hides_the_log_of_distributed_and_only_for_a_while(machines):
    logger = logging.getLogger("distributed")
    before = logger.level
    assert before != logging.CRITICAL
    with Cluster(machines.address):
        assert logger.level == before
    with _runner(machines.address, None):
        assert logger.level == logging.CRITICAL
    assert logger.level == before


def test_dask_arrays_are_computed_there(machines):
    """Also a function that a worker has never heard of, and a kernel of the same robot."""
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
            report = computed(plan, runner, tell=interfering(5, kill))
    finally:
        machines.start_worker()
    assert (report.done, report.refused) == (CHUNKS, [])
    check_all(plan)


def test_a_chunk_that_is_refused_does_not_stop_the_others(machines, tmp_path):
    from linkwork.batch.plan import make_plan

    q = robot().random(100, seed=0)
    q[77, 4] = 9.0
    np.save(tmp_path / "q.npy", q)
    plan = make_plan(robot(), "com", tmp_path / "out.zarr", states=tmp_path / "q.npy", chunk=10)
    with Cluster(machines.address) as runner:
        report = computed(plan, runner)
    assert report.done == 9
    assert [one.chunk for one in report.refused] == [7]
    assert "(row 77)" in report.refused[0].refused


def test_a_worker_of_another_version_is_refused_with_both_versions(machines, plan, tmp_path):
    old = tmp_path / "old" / "linkwork"
    old.mkdir(parents=True)
    (old / "__init__.py").write_text("")
    (old / "version.py").write_text("__version__ = '0.0.1'\n")
    machines.start_worker(PYTHONPATH=str(old.parent))
    try:
        with Cluster(machines.address) as runner:
            runner._client.wait_for_workers(WORKERS + 1, timeout=60)
            with pytest.raises(lw.LinkworkError) as error:
                computed(plan, runner)
    finally:
        machines.workers[-1].kill()
        machines.workers.pop().wait()
    own = f"the command is linkwork {lw.__version__}, and there are workers with linkwork 0.0.1"
    assert str(error.value) == f"{own}; install the same one on all of them"
    assert not plan.out.exists()


def test_a_restarted_scheduler_is_found_again(machines, plan, monkeypatch):
    """Its workers are gone with it, and with them all that was submitted."""
    monkeypatch.setattr(clusters, "CONNECT_LIMIT", 30.0)

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
        batch.run(plan, runner, report, tell=interfering(5, restart))
    assert report.done == CHUNKS
    check_all(plan)


def test_a_scheduler_that_stays_away_ends_the_run_and_it_goes_on_elsewhere(
    machines, plan, monkeypatch
):
    monkeypatch.setattr(clusters, "CONNECT_LIMIT", 1.0)
    monkeypatch.setattr(clusters, "RETURN_LIMIT", 1.0)

    def end():
        machines.scheduler.kill()
        machines.scheduler.wait()

    monkeypatch.setattr(clusters, "AHEAD", 1)
    told = pytest.raises(ClusterError, match=r"no scheduler at tcp://127\.0\.0\.1:")
    with Cluster(machines.address) as runner, told:
        computed(plan, runner, tell=interfering(5, end))
    before = files(plan)
    assert len(before) >= 10
    assert computed(plan).computed == CHUNKS - len(before) // 2
    assert before.items() <= files(plan).items()
    check_all(plan)


def test_no_scheduler_and_no_workers_are_told_within_a_limit(monkeypatch):
    monkeypatch.setattr(clusters, "CONNECT_LIMIT", 0.5)
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
    """A client whose connection is fine, or looks so, and whose `submit` raises."""

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
    """A cluster without any machines, whose pauses are noted and not waited for."""

    def cluster(error):
        runner = Cluster.__new__(Cluster)
        runner._distributed, runner._address = distributed, "tcp://10.0.0.1:8786"
        runner._client = client = FailingClient(error)
        monkeypatch.setattr(runner, "_connected", lambda limit: client)
        return runner

    pauses = []
    monkeypatch.setattr(clusters.time, "sleep", pauses.append)
    return cluster, pauses


def test_an_error_of_submit_that_is_no_lost_connection_ends_the_run(failing, plan):
    cluster, pauses = failing
    runner = cluster(RuntimeError("event loop is of another thread"))
    with pytest.raises(ClusterError, match=r"tcp://10.0.0.1:8786.*event loop is of another"):
        next(runner.run(work.compute, plan, [0]))
    assert (runner._client.submitted, pauses) == (1, [])


def test_a_connection_that_is_lost_again_and_again_ends_the_run(failing, plan):
    cluster, pauses = failing
    runner = cluster(OSError("reset by peer"))
    with pytest.raises(ClusterError, match=r"tcp://10.0.0.1:8786.*reset by peer"):
        next(runner.run(work.compute, plan, [0]))
    assert runner._client.submitted == clusters.MOST_LOSSES + 1
    assert len(pauses) == clusters.MOST_LOSSES
    assert all(after > before for before, after in pairwise(pauses))


def test_a_client_that_was_closed_meanwhile_is_a_lost_connection(failing, plan):
    cluster, pauses = failing
    runner = cluster(RuntimeError("closed"))
    runner._client.status = "closed"
    with pytest.raises(ClusterError, match="was closed"):
        next(runner.run(work.compute, plan, [0]))
    assert len(pauses) == clusters.MOST_LOSSES


def test_dask_is_not_configured_by_us():
    assert dask.config.get("scheduler", None) is None
