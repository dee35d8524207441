"""The command `linkwork batch`: what it prints, what it refuses, and how it is stopped."""

from __future__ import annotations

import json
import signal
import sys

import numpy as np
import pytest
import zarr
from tests.support.batches import check_all, done, robot, run_python
from tests.support.commands import run_here

from linkwork.batch.plan import make_plan

pytestmark = pytest.mark.peers

ROBOT, FUNCTION = "double_pendulum", "mass_matrix,jacobian:tip"


def command(out, *words, rows=500, chunk=100):
    drawn = ["--random", rows] if rows else []
    words = ("--floating", *words)
    return ["batch", ROBOT, "--function", FUNCTION, *drawn, "--chunk", chunk, "--out", out, *words]


def plan_of(out, rows=500):
    return make_plan(robot(), FUNCTION, out, random=rows, chunk=100)


def test_results_are_arrays_under_the_names_of_the_functions(tmp_path):
    out = tmp_path / "folder" / "out.zarr"
    run = run_here(*command(out, "--verify", "--sample", 3))
    assert run.stderr == ""
    total, *arrays, verified = run.stdout.splitlines()
    assert total.startswith(f"{out}: 5 of 5 chunks, 500 rows")
    assert [line.strip() for line in arrays] == [
        "mass_matrix (500, 8, 8)",
        "jacobian_tip (500, 6, 8)",
    ]
    assert verified.startswith("3 of 3 chunks")
    check_all(plan_of(out))
    again = run_here(*command(out))
    assert "5 chunks were done before" in again.stdout.splitlines()[0]


def test_a_terminal_of_80_columns_shows_rate_time_left_and_memory(tmp_path):
    run = run_here(*command(tmp_path / "out.zarr"), columns=80)
    assert run.returncode == 0
    assert "rows/s, 0:00:" in run.stderr
    assert " left, " in run.stderr
    assert " MB" in run.stderr


def test_states_of_a_file_fixed_bases_and_single_precision(tmp_path):
    kd = robot(floating=False, dtype=np.float32)
    rng = np.random.default_rng(0)
    given = {"q": kd.random(90, seed=0), "nu": rng.normal(size=(90, 2)).astype("f4")}
    np.savez(tmp_path / "states.npz", **given)
    words = ["--function", "bias_force", "--in", tmp_path / "states.npz", "--fixed", "--float32"]
    run = run_here("batch", ROBOT, *words, "--out", tmp_path / "out.zarr")
    assert run.returncode == 0, run.stderr
    kd.bias_force.warmup()
    stored = zarr.open_group(tmp_path / "out.zarr", mode="r")["bias_force"]
    assert stored.dtype == np.float32
    assert np.array_equal(stored[:], kd.bias_force(given["q"], given["nu"]))


def test_json_contains_the_report(tmp_path):
    out = tmp_path / "out.zarr"
    facts = json.loads(run_here(*command(out, "--verify", "--json")).stdout)
    counts = {"rows": 500, "chunks": 5, "done": 5, "computed": 5, "verified": 5}
    assert facts == {
        **{"out": str(out), "arrays": ["mass_matrix", "jacobian_tip"], **counts},
        **{"refused": [], "damaged": []},
    }


def test_rejected_states_are_listed_and_the_exit_code_is_1(tmp_path):
    q = robot().random(100, seed=0)
    q[33, 3:7] = 0
    np.save(tmp_path / "q.npy", q)
    words = ["--function", "com", "--in", tmp_path / "q.npy", "--chunk", "10"]
    run = run_here("batch", ROBOT, *words, "--out", tmp_path / "out.zarr")
    assert run.returncode == 1
    assert "9 of 10 chunks" in run.stdout
    assert "rows 30 to 39: q: " in run.stderr
    assert "(row 33)" in run.stderr


INTERRUPTED = """
import os, signal, sys, threading
from linkwork.cli.main import main
from linkwork.batch.journal import Journal

add = Journal.add

def added(self, chunk, digest):
    add(self, chunk, digest)
    if len(self.done) == 4:
        threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()

Journal.add = added
sys.argv = ["linkwork", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize("where", ["here", pytest.param("workers", marks=pytest.mark.cluster)])
def test_an_interrupted_command_goes_on_where_it_was(where, tmp_path):
    """With workers, too: they end with the command, and no chunk is lost."""
    out, rows = tmp_path / "out.zarr", 10_000
    words = command(out, *(["--workers", "1"] if where == "workers" else []), rows=rows)
    run = run_python(INTERRUPTED, *words)
    assert run.returncode == 128 + signal.SIGINT, run.stderr
    assert "of 100 chunks are done" in run.stderr
    assert "Traceback" not in run.stderr
    before = done(plan_of(out, rows))
    assert 4 <= len(before) < 100
    again = run_here(*command(out, rows=rows))
    assert f"({len(before)} chunks were done before)" in again.stdout
    check_all(plan_of(out, rows))


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (["--function", "mas_matrix"], ["'mas_matrix'", "'mass_matrix'"]),
        (["--function", "jacobian:tp"], ["'tp'", "'tip'"]),
        (["--function", "jacobian"], ["jacobian:FRAME", "'jacobian'"]),
        (["--function", "com,com"], ["--function", "'com'"]),
        (["--function", "com,"], ["--function", "'com,'"]),
        (["--chunk", 0], ["--chunk", "0"]),
        (["--workers", 0], ["--workers", "0"]),
        (["--workers", 1, "--scheduler", "tcp://h:1"], ["--scheduler", "--workers"]),
        (["--in", "states.npy"], ["--in FILE", "--random N"]),
        (["--random", -1], ["--random", "-1"]),
        (["--sample", 0], ["--sample", "0"]),
        (["--out", "/proc/out.zarr"], ["/proc/out.zarr.journal", "cannot be written"]),
        (["--out", sys.executable + "/x.zarr"], ["cannot be written"]),
    ],
)
def test_bad_use_is_one_line(words, facts, tmp_path):
    run = run_here(*command(tmp_path / "out.zarr"), *words)
    assert run.returncode == 2
    assert all(fact in run.stderr for fact in facts)
    assert run.stderr.count("\n") == 1
    assert run.stdout == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["zarr", "psutil", "distributed"])
def test_a_package_that_is_missing_is_named_with_how_to_get_it(name, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    words = ["--workers", 1] if name == "distributed" else []
    run = run_here(*command(tmp_path / "out.zarr", *words))
    assert run.returncode == 2
    assert run.stderr.startswith("linkwork: error: linkwork batch ")
    assert name in run.stderr.partition("pip install ")[2]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("version", ["2.18.3", "3.1.2"])
def test_an_old_zarr_is_rejected_with_its_version(version, tmp_path, monkeypatch):
    monkeypatch.setattr(zarr, "__version__", version)
    run = run_here(*command(tmp_path / "out.zarr"))
    assert run.returncode == 2
    assert all(fact in run.stderr for fact in ["zarr 3", "Python 3.11", version])
    assert not list(tmp_path.iterdir())
