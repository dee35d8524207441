"""`linkwork demo` on a good robot, on a broken one, and on none."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.support.commands import run_here

run = partial(run_here, "demo")


def test_make_runs_the_command():
    makefile = Path(__file__).parents[2] / "Makefile"

    assert "linkwork demo $(ROBOT)" in makefile.read_text()


def test_every_line_of_the_demo_fits_80_columns():
    done = run("pendulum")

    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "NO" not in done.stdout.split()


def test_errors_of_a_file_are_printed_and_nothing_is_computed(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text('<robot name="r"><link name="[red]a"/><link name="[red]a"/></robot>')

    done = run(path)

    assert (done.returncode, done.stderr) == (2, "")
    assert "error: robot.urdf:1: link '[red]a': " in done.stdout
    assert "equations" not in done.stdout


def test_a_missing_file_is_one_line():
    done = run("quadrupd")

    assert done.returncode == 2
    assert all(fact in done.stderr for fact in ("'quadrupd'", "'quadruped'"))
    assert done.stderr.count("\n") == 1
