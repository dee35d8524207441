"""What a shell completes: commands, robots, files, frames and joints."""

from __future__ import annotations

import os

import pytest
from tests.support.commands import COMMAND, run_process


def completed(line: str, cwd=None) -> list[str]:
    """What bash is offered for the last word of a line."""
    words = line.split(" ")
    environment = os.environ | {
        "_LINKWORK_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    done = run_process(env=environment, cwd=cwd)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("linkwork con", ["convert", "conventions"]),
        ("linkwork info quad", ["quadrotor", "quadruped"]),
        ("linkwork info tal", ["talos", "talos_full"]),
        ("linkwork fk arm to", ["tool"]),
        ("linkwork fk arm tool --set elbow", ["elbow_pitch="]),
        ("linkwork tree arm --base wri", ["wrist"]),
    ],
)
def test_words_are_completed(line, some):
    assert set(some) <= set(completed(line))


def test_files_and_folders_are_completed(tmp_path):
    (tmp_path / "robots_of_mine").mkdir()
    (tmp_path / "robot.urdf").write_text("")
    (tmp_path / "robot.txt").write_text("")

    assert completed("linkwork info robo", tmp_path) == ["robot.urdf", "robots_of_mine/"]


def test_a_broken_robot_completes_nothing(tmp_path):
    (tmp_path / "broken.urdf").write_text("<robot")

    assert completed("linkwork fk broken.urdf a", tmp_path) == []
    assert completed("linkwork fk nowhere a", tmp_path) == []


def test_completion_can_be_installed(tmp_path):
    environment = os.environ | {"HOME": str(tmp_path), "SHELL": "/bin/bash"}
    done = run_process("--show-completion", "bash", env=environment)

    assert COMMAND.name in done.stdout
    assert "_LINKWORK_COMPLETE=complete_bash" in done.stdout
