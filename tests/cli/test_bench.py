"""`linkwork bench`: a row for each function; no claims about how fast."""

from __future__ import annotations

import itertools
import json

import pytest
from tests.support.commands import run_here as run

import linkwork as lw
from linkwork.cli.bench import least_time
from linkwork.engine.runtime.processor import NoMachineCodeError
from linkwork.kindyn import kernels

FAST = ("--floating", "--rows", "8", "--functions")


def test_each_function_has_a_row_that_fits_the_screen():
    done = run("bench", "pendulum", *FAST, "mass_matrix,jacobian:rod", columns=80)

    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80 + 20  # with colors
    assert any("mass_matrix" in line for line in lines)
    assert any("jacobian(rod)" in line for line in lines)
    assert "one of 8 configurations" in done.stdout


def test_several_frames_are_named_as_for_other_commands():
    done = run("bench", "pendulum", *FAST, "transforms:rod:base")

    assert (done.returncode, done.stderr) == (0, "")
    assert "transforms(rod, base)" in done.stdout


@pytest.mark.peers
def test_json_holds_every_number():
    facts = json.loads(run("bench", "pendulum", *FAST, "mass_matrix", "--json").stdout)
    row = facts["functions"][0]

    kd = lw.KinDyn(lw.load("pendulum"))
    assert row["operations"] == kd.function("mass_matrix").program.n_ops
    assert (facts["rows"], facts["threads"]) == (8, 1)
    assert all(row[name] > 0 for name in ("compile_time", "object_bytes", "one_call", "per_row"))


def test_tracing_is_timed_though_the_program_is_on_the_disk(monkeypatch, tmp_path):
    monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path))
    kd = lw.KinDyn(lw.load("pendulum"))
    kd.mass_matrix(kd.neutral())
    assert list(tmp_path.rglob("*.program"))
    traced, trace = [], kernels.trace
    monkeypatch.setattr(kernels, "trace", lambda *a, **k: (traced.append(1), trace(*a, **k))[1])
    assert run("bench", "pendulum", *FAST, "mass_matrix").returncode == 0
    assert traced


def test_times_of_numpy_are_marked_as_such(monkeypatch):
    def refuse() -> None:
        raise NoMachineCodeError("memory is not executable")

    for module in ("compiler", "objects"):
        monkeypatch.setattr(
            f"linkwork.engine.runtime.{module}.check_executable", refuse, raising=False
        )
    monkeypatch.setattr("linkwork.errors._warned_topics", {"machine code"})
    # code that the background compiles for earlier tests must not be found
    monkeypatch.setenv("LINKWORK_CACHE", "off")
    done = run("bench", "pendulum", *FAST, "mass_matrix", columns=200)
    note = done.stdout.partition("mass_matrix:")[2]
    assert "NumPy" in note
    assert "memory is not executable" in note
    facts = json.loads(run("bench", "pendulum", *FAST, "mass_matrix", "--json").stdout)
    assert facts["functions"][0]["code"].startswith("NumPy")


def test_a_function_that_is_singular_has_no_times(tmp_path):
    path = tmp_path / "r.urdf"
    joint = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint>'
    path.write_text(f'<robot name="r"><link name="a"/><link name="b"/>{joint}</robot>')
    facts = json.loads(run("bench", path, *FAST, "forward_dynamics", "--fixed", "--json").stdout)

    assert facts["functions"][0]["one_call"] is None


def test_wrong_names_and_numbers_are_one_line():
    for words, facts in (
        (("--functions", "mass_matix"), ["'mass_matix'", "'mass_matrix'"]),
        (("--functions", "jacobian"), ["jacobian:FRAME", "'jacobian'"]),
        (("--functions", "com:rod"), ["'com:rod'"]),
        (("--functions", "transforms"), ["transforms:FRAMES", "'transforms'"]),
        (("--functions", "jacobian:rodd"), ["'rodd'", "'rod'"]),
        (("--rows", "0"), ["--rows"]),
        (("--threads", "-1"), ["--threads"]),
        (("--rows", "many"), ["--rows"]),
    ):
        done = run("bench", "pendulum", *words)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert all(fact in done.stderr for fact in facts)


def test_the_least_time_is_per_call(monkeypatch):
    clock = itertools.count(step=1e-6)  # every reading, and nothing else, takes a microsecond
    monkeypatch.setattr("linkwork.cli.bench.time.perf_counter", lambda: next(clock))
    time = least_time(lambda: next(clock), burst=1e-4, repeats=2)

    assert time == pytest.approx(1e-6, rel=0.05)
