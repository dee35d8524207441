"""The commands: what they print, and their exit codes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.commands import run_here as run
from tests.support.commands import run_process

from linkwork import robots
from linkwork.errors import warn

WARNS = """<robot name="r">
<link name="a"/><link name="b"><inertial><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="9"/></inertial></link>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>"""
BROKEN = """<robot name="r">
<link name="a"/>
<joint name="j" type="revolut"><parent link="a"/><child link="c"/></joint></robot>"""


@pytest.mark.parametrize(
    "words", [("info", "arm"), ("check", "BROKEN"), ("tree", "nowhere.urdf")], ids=lambda w: w[0]
)
def test_a_process_prints_and_ends_as_the_command_does_in_here(words, tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(BROKEN)
    words = [path if word == "BROKEN" else word for word in words]

    here, there = run(*words), run_process(*words)

    assert (there.returncode, there.stdout, there.stderr) == (
        here.returncode,
        here.stdout,
        here.stderr,
    )


def test_info_prints_the_joints_and_links():
    done = run("info", "arm")

    assert done.returncode == 0
    assert done.stderr == ""
    facts = ("arm: 12 links, 11 joints", "8 moving", "8 degrees of freedom", "16.97 kg")
    assert all(fact in done.stdout.splitlines()[0] for fact in facts)
    row = next(line for line in done.stdout.splitlines() if " right_finger_slide " in line)
    assert row.split()[1:3] == ["right_finger_slide", "prismatic"]
    assert row.endswith("  1 left_finger_slide")


def test_info_as_json_holds_every_part():
    facts = json.loads(run("info", "humanoid", "--json").stdout)
    model = robots.load("humanoid")

    assert facts["total_mass"] == model.total_mass
    assert [link["name"] for link in facts["links"]] == list(model.link_names)
    assert [joint["name"] for joint in facts["joints"]] == list(model.joint_names)
    assert facts["degrees_of_freedom"] == 31


def test_json_has_null_where_a_limit_is_infinite():
    facts = json.loads(run("info", "cartpole", "--json").stdout)
    hinge = next(joint for joint in facts["joints"] if joint["name"] == "hinge")

    assert hinge["limits"]["upper"] is None


def test_tree_starts_from_the_requested_link():
    lines = run("tree", robots.path("arm"), "--base", "wrist").stdout.splitlines()

    assert lines[0] == "wrist  0.75 kg"
    assert lines[1] == "├─ wrist_pitch (revolute y) ─ forearm  1.3 kg"


def test_tree_as_json_nests_the_links():
    facts = json.loads(run("tree", "pendulum", "--json").stdout)

    assert facts["link"] == "base"
    assert facts["joints"][0]["to"]["link"] == "rod"


def test_output_to_a_pipe_has_no_colors():
    for words in (("info", "arm"), ("tree", "arm"), ("check", "quadruped")):
        assert "\x1b" not in run(*words).stdout


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        (robots.path("arm").read_text(), (), 0),
        (robots.path("arm").read_text(), ("--strict",), 0),
        (WARNS, (), 0),
        (WARNS, ("--strict",), 1),
        (BROKEN, (), 2),
        (BROKEN, ("--strict",), 2),
    ],
    ids=["clean", "clean strict", "doubtful", "doubtful strict", "broken", "broken strict"],
)
def test_check_has_an_exit_code(text, options, code, tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(text)

    assert run("check", path, *options).returncode == code
    assert run("check", path, *options, "--json").returncode == code


def test_check_lists_every_error_with_its_line(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(BROKEN)

    lines = run("check", path).stdout.splitlines()

    kind, child, count = lines
    assert kind.startswith("error: robot.urdf:3: joint 'j': ")
    assert all(fact in kind for fact in ("'revolut'", "'revolute'"))
    assert child.startswith("error: robot.urdf:3: joint 'j': ")
    assert "'c'" in child
    assert count == f"{path}: 2 errors"


def test_check_as_json_contains_file_line_element_and_text(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(WARNS)

    found = json.loads(run("check", path, "--json").stdout)

    (finding,) = found
    assert "unphysical inertia" in finding.pop("text")
    place = {"file": str(path), "line": 2, "element": "link 'b'"}
    assert finding == {"severity": "warning", **place}


@pytest.mark.parametrize("command", ["info", "tree", "check"])
def test_a_missing_file_is_one_line_and_exit_code_2(command):
    done = run(command, "nowhere.urdf")

    assert done.returncode == 2
    assert done.stderr.startswith("linkwork: error: ")
    assert "'nowhere.urdf'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_info_on_a_broken_file_lists_its_errors(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(BROKEN)

    done = run("info", path)

    assert done.returncode == 2
    assert done.stderr.startswith(f"linkwork: error: 2 errors in {path}\n  robot.urdf:3: joint 'j'")


def test_an_unknown_base_is_an_error_with_the_nearest_name():
    done = run("tree", "arm", "--base", "wrst")

    assert done.returncode == 2
    assert "'wrst'" in done.stderr
    assert "'wrist'" in done.stderr


def test_robots_lists_the_bundled_ones():
    lines = run("robots").stdout.splitlines()

    own = lines[1 : 1 + len(robots.names())]
    assert [line.split(":")[0] for line in own] == list(robots.names())
    assert any(line.startswith("example-robot-data: ") for line in lines)


def test_a_file_wins_over_a_bundled_robot_of_the_same_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("arm").write_text(WARNS)

    assert run("info", "arm").stdout.startswith("r: 2 links")


def test_names_with_brackets_are_printed_as_they_are(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text('<robot name="[bold]r[/]"><link name="[red]a[/]"/></robot>')

    done = run("info", path)

    assert done.stdout.startswith("[bold]r[/]: 1 link")
    assert "[red]a[/]" in done.stdout


def test_conventions_prints_a_card():
    done = run("conventions", "pinocchio")

    assert done.returncode == 0
    assert done.stdout.startswith("Conventions of pinocchio\n")
    assert "quaternion         x y z w\n" in done.stdout
    assert "\x1b" not in done.stdout


def test_conventions_lists_the_cards():
    lines = run("conventions").stdout.splitlines()

    names = [line.split()[0] for line in lines[3:]]
    assert names[:3] == ["linkwork", "pinocchio", "idyntree"]


def test_an_unknown_card_is_an_error_with_the_nearest_name():
    done = run("conventions", "mujocco")

    assert done.returncode == 2
    assert "'mujocco'" in done.stderr
    assert "'mujoco'" in done.stderr


@pytest.mark.peers
def test_words_of_xacro_are_its_arguments(tmp_path):
    path = tmp_path / "robot.urdf.xacro"
    space = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
    argument = '<xacro:arg name="side" default="left"/>'
    path.write_text(f'<robot name="r" {space}>{argument}<link name="$(arg side)_arm"/></robot>')

    assert run("tree", path).stdout == "left_arm\n"
    assert run("tree", path, "side:=right").stdout == "right_arm\n"
    assert run("tree", path).stdout == "left_arm\n"  # nothing is kept from the last time
    assert "'sid'" in run("check", path, "sid:=right").stdout
    done = run("info", "arm", "side:=right")
    assert done.returncode == 2
    assert "arm.urdf" in done.stderr


@pytest.mark.peers
def test_commands_take_robots_of_packages_by_name():
    for words in (("info", "ur5"), ("tree", "ur5"), ("check", "example-robot-data:ur5")):
        assert run(*words).returncode == 0


def test_a_command_loads_only_what_it_needs():
    """So that it starts at once: no compiler, no viewer, none of the optional packages."""
    code = (
        "import sys; sys.argv = ['linkwork', 'info', 'arm']\n"
        "from linkwork.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)\n"
        "print([name for name in sys.modules if name.startswith('linkwork.')], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    for package in ("llvmlite", "mujoco", "xacro", "pinocchio", "robot_descriptions", "viser"):
        assert f"'{package}'" not in done.stderr
    for module in ("kindyn", "workcell", "viewer", "compat", "export"):
        assert f"'linkwork.{module}'" not in done.stderr


def test_warnings_about_a_file_reach_the_user_of_every_command(tmp_path):
    """On standard error, so that output for programs stays clean."""
    file = tmp_path / "doubtful.urdf"
    file.write_text(WARNS)

    commands = (["tree"], ["tree", "--json"], ["fk"], ["compare"], ["info"], ["info", "--json"])
    more = {"fk": ["b"], "compare": [file]}
    for command, *options in commands:
        words = [command, file, *more.get(command, []), *options]
        done = run(*words)
        assert done.returncode == 0, done.stderr
        assert f"linkwork check {file}" in done.stderr, words
        assert done.stderr.startswith("linkwork: warning: ")


def test_warnings_of_the_library_reach_the_user(monkeypatch):
    """Such as that of code that is not compiled."""

    def summary(model):
        warn("results are computed by NumPy")
        return model.name

    monkeypatch.setattr("linkwork.model.describe.summary", summary)

    assert run("info", "pendulum").stderr == "linkwork: warning: results are computed by NumPy\n"
