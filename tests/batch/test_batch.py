"""Batches on one machine: bits of the results, and all ways to stop and resume a run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import zarr
from tests.support.batches import (
    check_all,
    computed,
    done,
    files,
    in_one_call,
    random_plan,
    robot,
    run_python,
)

import linkwork as lw
from linkwork.batch import chunks, journal, run, store
from linkwork.batch.journal import Journal
from linkwork.batch.plan import ALIGNMENT, make_plan
from linkwork.batch.run import Report, journal_path
from linkwork.batch.runners import Local

HEAD = {"facts": {"robot": ["arm"], "functions": ["com"]}, "stamp": None, "processor": "x"}


def line(content):
    """Return a line of a journal: JSON and its checksum."""
    data = json.dumps(content)
    return f"{data} {zlib.crc32(data.encode()):08x}\n"


@pytest.fixture(scope="module")
def quadruped():
    return lw.KinDyn(lw.robots.load("quadruped"))


@pytest.mark.parametrize(
    ("rows", "chunk"), [(203, 17), (203, 64), (64, 64), (5, 100), (1, 1), (0, 9)]
)
def test_every_bit_agrees_with_one_call_for_all_rows(rows, chunk, quadruped, tmp_path):
    """Also where chunks end within a group of rows that is computed together."""
    function = "forward_dynamics,jacobian:FL_foot"
    plan = make_plan(quadruped, function, tmp_path / "out.zarr", random=rows, chunk=chunk)
    report = computed(plan)
    assert report.done == plan.n_chunks == -(-rows // chunk)
    check_all(plan)


def test_the_bits_of_a_row_depend_on_where_a_call_ends(quadruped):
    """Otherwise the test above would be trivial."""
    q, nu = quadruped.random(64, seed=0), np.ones(quadruped.nv)
    quadruped.forward_dynamics.warmup()
    complete = quadruped.forward_dynamics(q, nu, nu)
    alone = [quadruped.forward_dynamics(q[k : k + 1], nu, nu)[0] for k in range(64)]
    aligned = quadruped.forward_dynamics(q[ALIGNMENT:], nu, nu)
    assert np.array_equal(aligned, complete[ALIGNMENT:])
    assert not np.array_equal(alone, complete)


def test_single_precision_and_several_results_of_one_function(tmp_path):
    kd = robot(dtype=np.float32)
    function = "velocity_derivatives:tip,com"
    plan = make_plan(kd, function, tmp_path / "out.zarr", random=100, chunk=32)
    computed(plan)
    check_all(plan)
    group = zarr.open_group(plan.out, mode="r")
    names = {"velocity_derivatives_tip_q", "velocity_derivatives_tip_nu", "com"}
    assert set(group.array_keys()) == names
    assert group["com"].attrs["function"] == "com"


def test_arrays_with_empty_rows(tmp_path):
    """A body without joints that is fixed to the world has a (0, 0) mass matrix."""
    model = lw.Model(name="stone", links=(lw.Link(name="stone"),), joints=())
    kd = lw.KinDyn(model, floating=False)
    plan = make_plan(kd, "mass_matrix,transform:stone", tmp_path / "out.zarr", random=50, chunk=16)
    assert computed(plan).done == 4
    check_all(plan)
    assert computed(plan).computed == 0


def test_a_frame_whose_name_contains_a_colon(tmp_path):
    model = lw.robots.load("double_pendulum").renamed(links={"tip": "robot1:tip"})
    plan = make_plan(lw.KinDyn(model), "transform:robot1:tip", tmp_path / "out.zarr", random=8)
    computed(plan)
    check_all(plan)


def test_states_of_a_file_of_another_type_and_order(tmp_path):
    q = robot().random(100, seed=0)
    np.save(tmp_path / "q.npy", q.astype("f4", order="F"))
    plan = make_plan(
        robot(), "mass_matrix", tmp_path / "out.zarr", states=tmp_path / "q.npy", chunk=30
    )
    computed(plan)
    check_all(plan)


def test_the_default_number_of_chunks_is_limited(tmp_path):
    few, many = (make_plan(robot(), "com", tmp_path / "out", random=n) for n in (10, 10**12))
    assert few.chunk * 3 * 8 <= 32 << 20
    assert many.n_chunks <= 100_000
    assert many.chunk % 1024 == 0


# Stopped and resumed.


def stopped_after(plan, chunks):
    """Run until a number of chunks are done, then interrupt."""

    def on_chunk(report):
        if report.computed == chunks:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        computed(plan, on_chunk=on_chunk)


def test_a_finished_chunk_is_never_computed_again(tmp_path):
    plan = random_plan(tmp_path / "out.zarr")
    stopped_after(plan, 4)
    before = files(plan)
    assert len(before) == 4

    report = computed(random_plan(tmp_path / "out.zarr"))
    assert (report.done, report.computed) == (10, 6)
    assert before.items() <= files(plan).items()
    check_all(plan)
    assert computed(random_plan(tmp_path / "out.zarr")).computed == 0


def test_rows_not_computed_yet_are_nan(tmp_path):
    plan = random_plan(tmp_path / "out.zarr")
    stopped_after(plan, 4)
    rows = zarr.open_group(plan.out, mode="r")["mass_matrix"][:]
    is_right = (rows == in_one_call(plan)["mass_matrix"]).all(axis=(1, 2))
    assert is_right[np.isin(np.arange(1000) // 100, list(done(plan)))].all()
    assert np.isnan(rows[~is_right]).all()
    assert 100 <= np.sum(~is_right) <= 600


KILLED = """
import os, signal, sys, threading
from pathlib import Path
import zarr.storage._local as local
from linkwork.batch.journal import Journal
from tests.support.batches import computed, random_plan

moment, count, lock = sys.argv[2], 0, threading.Lock()
write, add = local._put, Journal.add

def put(path, value, exclusive=False):
    global count
    with lock:
        count += path.name.startswith("c.")
        number = count
    if moment == "half a chunk" and number > 5:
        threading.Event().wait()  # for the end: no chunk after the fifth is written
    if moment == "half a chunk" and number == 5:
        with local._atomic_write(path, "wb") as file:
            file.write(bytes(value.as_buffer_like())[:100])
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    return write(path, value, exclusive)

def added(self, chunk, digest):
    if len(self.done) == 4 and moment == "before its line":
        os.kill(os.getpid(), signal.SIGKILL)
    if len(self.done) == 4 and moment == "half a line":
        with self.path.open("ab") as file:
            file.write(b'[9, "00')
        os.kill(os.getpid(), signal.SIGKILL)
    add(self, chunk, digest)

local._put, Journal.add = put, added
computed(random_plan(Path(sys.argv[1])))
"""


@pytest.mark.parametrize("moment", ["half a chunk", "before its line", "half a line"])
def test_a_killed_run_can_be_resumed(moment, tmp_path):
    plan = random_plan(tmp_path / "out.zarr")
    assert run_python(KILLED, plan.out, moment).returncode == -signal.SIGKILL
    before = files(plan)
    assert 3 <= len(before) <= 4
    partial = list(plan.out.rglob("*.partial"))  # another chunk may be written at the same time
    assert (moment == "half a chunk") <= len(partial) <= 2

    computed(plan)
    assert before.items() <= files(plan).items()
    assert not list(tmp_path.rglob("*.partial"))
    check_all(plan)


def test_a_full_disk_stops_the_run_and_it_can_be_resumed(tmp_path):
    """On a small tmpfs; where it cannot be mounted, a process with a limited file size."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "none", str(disk)]
    is_mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    plan = random_plan(disk / "out.zarr")  # 10 chunks of 51 KB
    try:
        if is_mounted:
            with pytest.raises(lw.WriteError, match=r"out\.zarr.*No space left on device"):
                computed(plan)
            before = files(plan)
            assert 3 <= len(before) < 10
            assert not list(plan.out.rglob("*.partial"))
            subprocess.run(["mount", "-o", "remount,size=2m", str(disk)], check=True)
        else:
            failed = run_python(LIMITED, plan.out)
            assert "File too large" in failed.stderr
            before = files(plan)
            assert before == {}
        report = computed(plan)
        assert report.computed == 10 - len(before)
        assert before.items() <= files(plan).items()
        check_all(plan)
    finally:
        if is_mounted:
            subprocess.run(["umount", "-l", str(disk)], check=True)


LIMITED = """
import resource, sys
from pathlib import Path
from tests.support.batches import computed, random_plan
plan = random_plan(Path(sys.argv[1]))
for function in plan.functions:
    function.kernel.warmup()
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
computed(plan)
"""


def test_two_runs_do_not_write_at_the_same_time(tmp_path):
    plan = random_plan(tmp_path / "out.zarr")
    other = []

    def on_chunk(report):
        if report.computed == 2:
            with pytest.raises(lw.StateError, match=r"\.journal: .*run"):
                computed(random_plan(plan.out))
            other.append(report)

    computed(plan, on_chunk=on_chunk)
    assert other
    check_all(plan)


# Results of another run.


@pytest.mark.parametrize(
    ("change", "facts"),
    [
        ({"chunk": 50}, "chunk 100.*50"),
        ({"rows": 900}, "rows 1000.*900"),
        ({"function": "com"}, "functions mass_matrix.*com"),
    ],
)
def test_another_plan_raises_with_the_difference(change, facts, tmp_path):
    stopped_after(random_plan(tmp_path / "out.zarr"), 2)
    with pytest.raises(lw.StateError, match=facts):
        computed(random_plan(tmp_path / "out.zarr", **change))


def test_another_seed_robot_precision_or_version_raises(tmp_path, monkeypatch):
    out = tmp_path / "out.zarr"
    computed(make_plan(robot(), "com", out, random=10))
    cases = {
        "states": make_plan(robot(), "com", out, random=10, seed=1),
        "options.*'double_pendulum'": make_plan(
            robot(representation="body"), "com", out, random=10, chunk=699392
        ),
        "dtype float64.*float32": make_plan(
            robot(dtype=np.float32), "com", out, random=10, chunk=699392
        ),
        "robot 'double_pendulum'.*'pendulum'": make_plan(
            lw.KinDyn(lw.robots.load("pendulum")), "com", out, random=10
        ),
    }
    for facts, plan in cases.items():
        with pytest.raises(lw.StateError, match=facts):
            computed(plan)
    monkeypatch.setattr("linkwork.batch.plan.__version__", "9.9")
    with pytest.raises(lw.StateError, match=rf"linkwork {lw.__version__}.* 9\.9"):
        computed(make_plan(robot(), "com", out, random=10))


def test_another_processor_raises_unless_allowed(tmp_path, monkeypatch):
    plan = random_plan(tmp_path / "out.zarr")
    stopped_after(plan, 2)
    this = Local().environments().pop()
    other = replace(this, processor="another one")
    monkeypatch.setattr(Local, "environments", lambda self: {other})
    with pytest.raises(lw.LinkworkError, match=r"another one.*--mixed-processors"):
        computed(plan)
    assert computed(plan, mixed=True).done == 10
    monkeypatch.setattr(Local, "environments", lambda self: {other, this})
    with pytest.raises(lw.LinkworkError, match=r"another one.*--mixed-processors"):
        computed(random_plan(tmp_path / "more.zarr"))


def test_a_chunk_of_another_processor_that_joins_later_does_not_count(tmp_path, monkeypatch):
    plan = random_plan(tmp_path / "out.zarr")
    other = replace(Local().environments().pop(), processor="another one")
    monkeypatch.setattr(chunks, "this_environment", lambda: other)
    with pytest.raises(lw.LinkworkError, match=r"another one.*--mixed-processors"):
        computed(plan)
    assert done(plan) == set()


def test_other_files_are_not_modified(tmp_path):
    out = tmp_path / "precious"
    out.mkdir()
    (out / "file").write_text("mine")
    with pytest.raises(lw.StateError, match=r"precious.*--out"):
        computed(random_plan(out))
    assert (out / "file").read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["precious"]


@pytest.mark.parametrize("content", ["my notes\n", "{}", line({"facts": 1})])
def test_a_file_that_is_not_a_journal_is_not_modified(content, tmp_path):
    path = tmp_path / "out.zarr.journal"
    path.write_text(content)
    with pytest.raises(lw.StateError, match=r"out\.zarr\.journal.*--out"):
        computed(random_plan(tmp_path / "out.zarr"))
    assert path.read_text() == content
    assert [p.name for p in tmp_path.iterdir()] == ["out.zarr.journal"]


def test_prepared_links_are_not_followed(tmp_path):
    """In a folder that others can write to, names that can be predicted may be links."""
    victim, path = tmp_path / "victim", tmp_path / "out.zarr.journal"
    victim.write_text("precious")
    names = [f"{path.name}.{pid}.partial" for pid in (os.getpid(), os.getpid() + 1)]
    for name in names:
        (tmp_path / name).symlink_to(victim)

    assert computed(random_plan(tmp_path / "out.zarr")).done == 10
    assert victim.read_text() == "precious"
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(lw.LinkworkError, match=r"out\.zarr"):
        computed(random_plan(tmp_path / "out.zarr"))
    with pytest.raises(lw.WriteError, match=r"out\.zarr\.journal"):
        Journal(path, HEAD, {})
    assert not (tmp_path / "elsewhere").exists()


def test_endless_journal_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "MAX_BYTES", 1000)
    path = tmp_path / "out.zarr.journal"
    path.write_text(line(HEAD) + "x" * 1000)
    with pytest.raises(lw.StateError, match="journal"):
        journal.read(path)
    path.unlink()
    os.mkfifo(path)
    assert journal.read(path) is None


def test_a_run_killed_before_its_first_line_starts_again(tmp_path):
    (tmp_path / "out.zarr.journal").touch()
    assert computed(random_plan(tmp_path / "out.zarr")).done == 10


def test_changed_states_are_detected(tmp_path):
    path, out = tmp_path / "q.npy", tmp_path / "out.zarr"
    q = robot().random(200, seed=0)
    np.save(path, q)

    def plan():
        return make_plan(robot(), "com", out, states=path, chunk=20)

    stopped_after(plan(), 4)
    os.utime(path, ns=(1, 1))
    assert computed(plan()).computed == 6

    changed = next(k for k in range(200) if k not in np.linspace(0, 199, 64).astype(int))
    q[changed, 0] += 1e-12
    np.save(path, q)
    work_plan = plan()
    message = rf"rows {changed // 20 * 20} to {changed // 20 * 20 + 19} "
    for _ in range(2):  # also the second time
        with pytest.raises(lw.StateError, match=message):
            computed(work_plan)


# Chunks with invalid states.


def poisoned(tmp_path, row, column, value):
    q = robot().random(100, seed=0)
    q[row, column] = value
    np.save(tmp_path / "q.npy", q)
    return make_plan(
        robot(), "mass_matrix", tmp_path / "out.zarr", states=tmp_path / "q.npy", chunk=30
    )


@pytest.mark.parametrize(
    ("row", "column", "value", "facts"),
    [
        (65, 8, np.nan, ["q: ", "joint", "nan", "(row 65)"]),
        (60, 0, np.inf, ["q: ", "base", "inf", "(row 60)"]),
        (89, 4, 7.0, ["q: ", "base quaternion", "norm 7.", "(row 89)"]),
    ],
)
def test_invalid_states_are_rejected_by_row_and_other_chunks_computed(
    row, column, value, facts, tmp_path
):
    """Also the neighboring chunks, whose groups of rows overlap the invalid one."""
    plan = poisoned(tmp_path, row, column, value)
    report = computed(plan)
    (outcome,) = report.rejected
    assert all(fact in outcome.error for fact in facts), outcome.error
    assert run.list_errors(plan, report.rejected).startswith("rows 60 to 89: q: ")
    assert done(plan) == {0, 1, 3}
    stored = zarr.open_group(plan.out, mode="r")["mass_matrix"][:]
    assert np.isnan(stored[60:90]).all()

    again = computed(plan)
    assert (again.computed, len(again.rejected)) == (0, 1)


def test_a_run_with_many_rejected_chunks_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "MOST_REJECTED", 3)
    plan = poisoned(tmp_path, slice(None), 4, 7.0)
    with pytest.raises(lw.LinkworkError, match="3 chunks"):
        computed(plan)


def test_a_damaged_chunk_is_found_and_computed_again(tmp_path):
    plan = random_plan(tmp_path / "out.zarr")
    computed(plan)
    (port,) = plan.functions[0].arrays
    complete = store.chunk_file(plan, port, 3)
    data = bytearray(complete.read_bytes())
    data[1000] ^= 1
    complete.write_bytes(data)
    array = zarr.open_group(plan.out, mode="r+")["mass_matrix"]
    array[930] = 0.0  # with a valid checksum

    report = Report(plan)
    run.verify(plan, Local(), report, sample=100)
    result = {one.chunk: one.error for one in report.damaged}
    assert report.verified == 10
    assert set(result) == {3, 9}
    assert "checksum" in result[3]
    assert "mass_matrix" in result[9]
    assert "row 930" in result[9]

    before = files(plan)
    assert done(plan) == set(range(10)) - {3, 9}
    assert computed(plan).computed == 2
    assert before.items() <= files(plan).items()
    check_all(plan)


@pytest.mark.parametrize("damage", ["removed", "cut off"])
def test_missing_and_truncated_files_are_computed_again(damage, tmp_path):
    plan = random_plan(tmp_path / "out.zarr")
    computed(plan)
    (port,) = plan.functions[0].arrays
    path = store.chunk_file(plan, port, 5)
    path.unlink() if damage == "removed" else os.truncate(path, 77)
    report = computed(plan)
    assert (report.again, report.computed) == (1, 1)
    check_all(plan)


def test_damaged_lines_of_the_journal_are_ignored(tmp_path):
    path = tmp_path / "a.journal"
    writer = Journal(path, HEAD, {})
    for chunk in range(5):
        writer.add(chunk, f"{chunk:016x}")
    writer.close()
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b"1", b"7", 1)
    path.write_bytes(b"".join(lines)[:-5])
    head, result = journal.read(path)
    assert head == HEAD
    assert set(result) == {0, 2, 3}
    again = Journal(path, head, result)
    again.add(9, "ff")
    again.close()
    assert set(journal.read(path)[1]) == {0, 2, 3, 9}


def test_lines_with_wrong_content_are_ignored(tmp_path):
    path = tmp_path / "a.journal"
    contents = [HEAD, [0, "ab"], [], [1], ["2", "ab"], [3, 4], [-1, "ab"], None]
    path.write_text("".join(map(line, contents)))
    assert journal.read(path) == (HEAD, {0: "ab"})


@pytest.mark.parametrize(
    "change",
    [{"facts": 1}, {"facts": {"robot": 3}}, {"processor": None}, {"stamp": ...}],
)
def test_a_journal_that_does_not_describe_a_run_is_rejected(tmp_path, change):
    plan = random_plan(tmp_path / "out.zarr", 100, 25)
    computed(plan)
    head, done = journal.read(journal_path(plan))
    head = {k: v for k, v in {**head, **change}.items() if v is not ...}
    journal_path(plan).write_text("".join(map(line, [head, *done.items()])))
    with pytest.raises(lw.StateError, match=r"out\.zarr\.journal"):
        computed(plan)


def open_handles():
    return {int(path.name) for path in Path("/proc/self/fd").iterdir() if path.exists()}


@pytest.mark.parametrize("failing_call", [1, 2])
def test_a_lock_held_by_another_run_raises(tmp_path, monkeypatch, failing_call):
    """The first lock is on the journal, the second on the file that replaces it."""
    calls, opened = [], open_handles()

    def flock(handle, how):
        calls.append(handle)
        if len(calls) == failing_call:
            raise BlockingIOError

    monkeypatch.setattr(journal.fcntl, "flock", flock)
    with pytest.raises(lw.StateError, match=r"\.journal: .*run"):
        Journal(tmp_path / "a.journal", HEAD, {})
    assert open_handles() == opened
    assert [path.name for path in tmp_path.iterdir()] == ["a.journal"]


def test_a_journal_written_by_another_run_is_not_overwritten(tmp_path):
    path = tmp_path / "a.journal"
    first = Journal(path, HEAD, {})
    first.add(4, "x")
    first.close()
    for head, expected in ((HEAD, {}), ({**HEAD, "facts": {}}, {4: "x"})):
        with pytest.raises(lw.StateError, match=r"\.journal: .*run"):
            Journal(path, head, expected)
    assert journal.read(path) == (HEAD, {4: "x"})


def test_many_missing_files_rewrite_the_journal_once(tmp_path, monkeypatch):
    plan = random_plan(tmp_path / "out.zarr")
    computed(plan)
    for path in plan.out.glob("*/c.*"):
        path.unlink()
    written, move = [], Path.replace
    monkeypatch.setattr(Path, "replace", lambda *paths: (written.append(paths[1]), move(*paths)))
    report = computed(plan)
    assert (report.again, report.computed) == (10, 10)
    assert (
        written.count(journal_path(plan)) == 2
    )  # when it is opened, and when the chunks are removed


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_all_files_of_a_chunk_are_synchronized_before_it_is_done(tmp_path, monkeypatch):
    """Its file, the metadata of the group and the array, and the folders."""
    plan = random_plan(tmp_path / "out.zarr", rows=100)
    on_disk = []
    fsync, add = os.fsync, Journal.add
    monkeypatch.setattr(
        os,
        "fsync",
        lambda handle: (on_disk.append(Path(f"/proc/self/fd/{handle}").readlink()), fsync(handle)),
    )
    seen = []
    monkeypatch.setattr(
        Journal, "add", lambda self, *line: (seen.extend(on_disk), add(self, *line))
    )
    computed(plan)
    array = plan.out / "mass_matrix"
    described = {plan.out / "zarr.json", array / "zarr.json"}
    assert {array / "c.0.0.0", array, plan.out, tmp_path} | described <= set(seen)


def test_the_journal_is_not_part_of_the_zarr_group(tmp_path):
    plan = random_plan(tmp_path / "out.zarr")
    computed(plan)
    assert journal_path(plan) == tmp_path / "out.zarr.journal"
    assert [name for name, _ in zarr.open_group(plan.out, mode="r").members()] == ["mass_matrix"]
    assert in_one_call(plan)["mass_matrix"].shape == (1000, 8, 8)
