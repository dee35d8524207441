"""The command `linkwork view`."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.request

import numpy as np
import pytest
from tests.support.commands import run_here

from linkwork.cli.arguments import is_cell
from linkwork.io.named_robots import CELL_FOLDER


@pytest.mark.parametrize(
    "words", [["arm"], ["pick_and_place", "--dark"], ["arm", "quadruped", "--fixed"]]
)
def test_it_shows_the_page_until_it_is_interrupted(words, tmp_path):
    if words == ["arm"]:
        np.save(tmp_path / "motion.npy", np.zeros((3, 8)))
        words = ["arm", "--trajectory", str(tmp_path / "motion.npy"), "--floating"]
    called = [sys.executable, "-m", "linkwork.cli.main", "view", *words, "--no-open", "--port", "0"]
    with subprocess.Popen(called, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        line = run.stdout.readline()
        address = re.search(r"at (http://127\.0\.0\.1:\d+); Ctrl-C ends$", line)
        assert address, line + run.stderr.read()
        with urllib.request.urlopen(address[1], timeout=60) as answer:
            assert answer.status == 200
        run.send_signal(signal.SIGINT)
        assert run.wait(timeout=60) == 0
        assert run.stderr.read() == ""
        assert run.stdout.read() == ""


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("view", "armm"), "'arm'"),
        (("view", "arm", "--fixed", "--trajectory", "no.csv", "--port", "0"), "no.csv"),
        (("view", "arm", "--fixed", "--port", "99999"), "99999"),
        (("view", "arm", "two_arms"), "a workcell is shown alone"),
        (("view",), "'FILE'"),
    ],
)
def test_bad_use_is_one_line_and_exit_code_2(words, text):
    done = run_here(*words)

    assert done.returncode == 2
    assert done.stdout == ""
    assert text in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_workcells_are_recognized_by_their_root_element(tmp_path):
    assert is_cell("two_arms")
    assert is_cell(str(CELL_FOLDER / "two_arms.xml"))
    assert not is_cell("arm")
    assert not is_cell("no such file")
    robot = tmp_path / "robot.urdf"
    robot.write_text('<?xml version="1.0"?>\n<!-- <WorkCell> -->\n<robot name="r"/>')
    assert not is_cell(str(robot))
