"""`make demo` on a good robot, on a broken one, and on none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parents[2] / "tools" / "demo.py"


def run(robot: str | Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(DEMO), str(robot)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_every_line_of_the_demo_fits_80_columns():
    done = run("pendulum")

    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "equal to the first model, digit for digit" in done.stdout
    assert " NO" not in done.stdout


def test_a_broken_file_is_told_and_nothing_is_computed(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text('<robot name="r"><link name="[red]a"/><link name="[red]a"/></robot>')

    done = run(path)

    assert (done.returncode, done.stderr) == (2, "")
    assert "error: robot.urdf:1: link '[red]a': this name is taken" in done.stdout
    assert "equations" not in done.stdout


def test_a_missing_file_is_one_line():
    done = run("quadrupd")

    assert done.returncode == 2
    assert done.stderr == (
        "linkwork: error: no file 'quadrupd'; did you mean the bundled robot 'quadruped'?\n"
    )
