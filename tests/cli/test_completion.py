"""What a shell completes: commands, robots, files and quantities."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.support.commands import COMMAND, run_here, run_process

from linkwork.cli.main import COMMANDS


def asked(line: str) -> dict[str, str]:
    """How bash asks for the last word of a line."""
    return {
        "_LINKWORK_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
    }


def completed(line: str) -> list[str]:
    """What bash is offered for the last word of a line."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in asked(line).items():
            patch.setenv(name, value)
        done = run_here()
    assert done.stderr == ""
    return done.stdout.split()


def test_a_shell_gets_the_same_from_a_process():
    line = "linkwork info quadru"
    done = run_process(env=os.environ | asked(line))

    assert done.stdout.split() == completed(line) == ["quadruped"]


@pytest.mark.peers
@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("linkwork con", ["convert", "conventions"]),
        ("linkwork info quad", ["quadrotor", "quadruped"]),
        ("linkwork info tal", ["talos", "talos_full"]),
        ("linkwork view quad", ["quadruped"]),
        ("linkwork view mob", ["mobile_manipulator"]),
        ("linkwork export arm --functions mass_matrix,jac", ["mass_matrix,jacobian"]),
        ("linkwork export arm --functions com_j", ["com_jacobian"]),
        ("linkwork export arm --representation b", ["body"]),
        ("linkwork convert arm out --to m", ["mjcf"]),
    ],
)
def test_words_are_completed(line, some):
    assert set(some) <= set(completed(line))


LOADED = """
import sys
from linkwork.cli.main import main
try:
    main()
except SystemExit:
    print("loaded:", [name for name in ("numpy", "linkwork.model.model", "linkwork.io.load")
                      if name in sys.modules])
"""


@pytest.mark.parametrize(
    ("words", "line", "expected"),
    [
        ((), "linkwork inf", "info"),
        ((), "linkwork info qu", "quadruped"),
        ((), "linkwork view mob", "mobile_manipulator"),
        ((), "linkwork dynamics arm --flo", "--floating"),
        ((), "linkwork conventions pinn", "pinnzoo"),
        (("--version",), "", "linkwork "),
        (("--help",), "", "forces and mass matrix"),
        (("dynamics", "--help"), "", "--velocity"),
    ],
)
def test_what_a_shell_asks_for_often_imports_no_numpy(words, line, expected):
    """Importing it takes longer than all that these commands do."""
    environment = os.environ | (asked(line) if line else {})
    command = [sys.executable, "-c", LOADED, *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)

    assert expected in done.stdout
    assert done.stdout.endswith("loaded: []\n")


def test_files_and_folders_are_completed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "robots_of_mine").mkdir()
    (tmp_path / "robot.urdf").write_text("")
    (tmp_path / "robot.txt").write_text("")

    assert completed("linkwork info robo") == ["robot.urdf", "robots_of_mine/"]


def test_completion_can_be_installed(tmp_path):
    environment = os.environ | {"HOME": str(tmp_path)}
    line = f"{COMMAND} --show-completion; exit"  # typer asks which shell started the command
    command = ["bash", "-c", line]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)

    assert COMMAND.name in done.stdout
    assert "_LINKWORK_COMPLETE=complete_bash" in done.stdout


@pytest.mark.parametrize("command", [(), *[(one.__name__,) for one in COMMANDS]])
def test_help_has_an_example_and_fits_the_screen(command):
    written = run_here(*command, "--help", columns=80).stdout

    assert max(map(len, written.split("\n"))) <= 80
    assert f"linkwork {' '.join(command)}".rstrip() in written.partition("\n")[2]
