"""The commands on a terminal, in pipes that close or are full, and on files that mean harm."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from tests.support.commands import COMMAND, run_here
from tests.support.commands import run_process as run
from tests.support.real_robots import ROBOT_FILES

import linkwork
from linkwork import Joint, Link, Model, dump_urdf, load, robots

PANDA = next((path for path in ROBOT_FILES if path.name == "panda.urdf"), None)
COLORS = re.compile(r"\x1b\[[0-9;]*m")


def in_here(*words: object, columns: int | None = None) -> str:
    """What a command writes, run in this process; to a terminal, if it has columns."""
    return COLORS.sub("", run_here(*words, columns=columns, one_stream=True).stdout)


def on_terminal(columns: int, *words: object) -> list[str]:
    """The lines that a command writes to a terminal of that width, without colors."""
    return in_here(*words, columns=columns).split("\n")


def on_real_terminal(columns: int, *words: object) -> list[str]:
    """The same in a process and on a terminal of its own."""
    reader, writer = pty.openpty()
    fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
    with subprocess.Popen(
        [str(COMMAND), *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=writer,
        env=environment | {"TERM": "xterm"},
    ):
        os.close(writer)
        written = b""
        try:
            while piece := os.read(reader, 65536):
                written += piece
        except OSError:  # the other side is closed
            pass
    os.close(reader)
    return COLORS.sub("", written.decode()).replace("\r\n", "\n").split("\n")


def test_a_screen_is_like_a_terminal():
    assert on_terminal(80, "info", "arm") == on_real_terminal(80, "info", "arm")


@pytest.mark.parametrize("words", [("info", "arm"), ("tree", "arm"), ("info", "no_robot")])
def test_no_color_switches_off_every_escape_code(words, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in run_here(*words, columns=80, one_stream=True).stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run_here(*words, columns=80, one_stream=True).stdout


@pytest.mark.peers
@pytest.mark.parametrize("columns", [40, 80, 200])
def test_no_name_is_cut_and_no_line_is_too_long(columns):
    lines = on_terminal(columns, "info", PANDA)
    model = load(PANDA)

    assert max(map(len, lines)) <= columns
    words = {word for line in lines for word in line.split()}
    moving = [joint.name for joint in model.joints if joint.kind != "fixed"]
    assert {*model.link_names, *moving} <= words
    assert "…" not in "".join(lines)


def test_units_stand_in_the_headers():
    written = "\n".join(on_terminal(80, "info", "arm"))

    for header in ("mass [kg]", "center of mass [m]", "ixx, iyy, izz [kg m^2]"):
        assert header in written


def test_the_tree_fits_a_narrow_terminal_by_a_second_line():
    lines = on_terminal(40, "tree", "arm")

    assert lines[1:4] == [
        "└─ shoulder_yaw (revolute z)",
        "   ─ shoulder  3.2 kg",
        "   └─ shoulder_pitch (revolute y)",
    ]


def test_a_card_is_folded_between_words():
    lines = on_terminal(60, "conventions", "pinocchio")

    assert max(map(len, lines)) <= 60
    assert sum("getFrameClassicalAcceleration" in line for line in lines) == 1


HARMFUL = {
    "markup": "[red]a[/red]",
    "emoji": ":x:",
    "C1 control": "a&#x9b;31mb",
    "next line": "a&#x85;b",
    "line break": "a&#10;error: b",
    "bidi": "a&#x202e;b",
}


@pytest.mark.parametrize("terminal", [False, True], ids=["pipe", "terminal"])
@pytest.mark.parametrize("case", HARMFUL)
def test_names_act_on_nothing(case, terminal, tmp_path):
    name = HARMFUL[case]
    path = tmp_path / "robot.urdf"
    joint = f'<joint name="j {name}" type="continuous"><parent link="{name}"/><child link="c"/>'
    good = f'<robot name="r {name}"><link name="{name}"/><link name="c"/>{joint}</joint></robot>'
    doubled = good.replace('<link name="c"/>', f'<link name="c"/><link name="{name}"/>')
    for text, commands in ((good, ("info", "tree", "check")), (doubled, ("info", "check"))):
        path.write_text(text, encoding="utf-8")
        for command in commands:
            written = in_here(command, path, columns=200 if terminal else None)
            assert written.replace("\n", "").isprintable()
            assert not any(line.startswith("error: b") for line in written.split("\n"))
            if case in ("markup", "emoji"):
                assert name in written


def test_escape_sequences_of_mjcf_names_act_on_nothing(tmp_path):
    path = tmp_path / "robot.xml"
    body = '<body name="a\x1b[31mb"><joint name="\x1b]0;x\x07"/><geom size="1"/></body>'
    path.write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>")

    for command in ("info", "tree", "check"):
        assert in_here(command, path).replace("\n", "").isprintable()


def test_json_of_harmful_names_is_ascii(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text('<robot name="r"><link name="ä&#x9b;"/></robot>', encoding="utf-8")

    for words in (("info", path), ("tree", path), ("check", path)):
        written = in_here(*words, "--json")
        assert written.isascii()
        json.loads(written)
    assert json.loads(in_here("tree", path, "--json"))["link"] == "ä\x9b"


@pytest.mark.parametrize(
    "words", [("info", "humanoid"), ("tree", "humanoid", "--json"), ("conventions",)]
)
def test_a_full_disk_is_one_line(words):
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [str(COMMAND), *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )

    assert done.stderr == "linkwork: error: cannot write: No space left on device\n"
    assert done.returncode == 2


@pytest.mark.parametrize("words", [("info", "humanoid"), ("tree", "humanoid", "--json")])
def test_a_closed_pipe_ends_the_command_without_a_word(words):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [str(COMMAND), *words], stdout=writer, stderr=subprocess.PIPE, text=True, check=False
        )
    finally:
        os.close(writer)

    assert done.stderr == ""
    assert done.returncode == 1


def test_an_encoding_without_lines_is_no_reason_to_fail():
    done = run("tree", "pendulum", env=os.environ | {"PYTHONIOENCODING": "ascii"})

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("base")


def test_a_file_comes_from_standard_input():
    text = robots.path("arm").read_text()

    assert run("info", "-", input=text).stdout == in_here("info", "arm")
    done = run("check", "-", input=text.replace('"revolute"', '"revolut"', 1))
    assert done.stdout.startswith("error: <standard input>:")
    assert done.stdout.endswith("<standard input>: 1 error\n")
    assert done.returncode == 2
    assert run("info", "-", input="").stderr == (
        "linkwork: error: <standard input>:1: empty document\n"
    )


def test_bytes_on_standard_input_that_are_no_text_are_one_error():
    done = subprocess.run(
        [str(COMMAND), "check", "-"], input=b"<robot \xff>", capture_output=True, check=False
    )

    assert done.stdout.startswith(b"error: <standard input>:1: byte 0xff is not valid utf-8")
    assert (done.returncode, done.stderr) == (2, b"")


def test_the_version_is_that_of_the_package():
    assert run("--version").stdout == f"linkwork {linkwork.__version__}\n"


@pytest.mark.parametrize("command", [(), *[(c,) for c in ("info", "tree", "check", "robots")]])
def test_help_is_short_and_has_no_types_of_switches(command):
    short = in_here(*command, "-h")

    assert short == in_here(*command, "--help")
    assert "-h, --help" in short
    assert "bool" not in short
    assert "..." not in short.replace("[ARGS]...", "")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("info", "quadrupd"), r"no file 'quadrupd'; did you mean the robot 'quadruped'\?"),
        (("info",), "Missing argument 'FILE'"),
        (("inf", "arm"), "No such command 'inf'"),
        (("info", "arm", "--jso"), "No such option:? '?--jso"),  # depends on the version of click
    ],
)
def test_a_wrong_call_is_one_line(words, text):
    written = in_here(*words)

    assert re.match(f"linkwork: error: {text}", written)
    assert written.count("\n") == 1


@pytest.mark.parametrize("command", ["info", "tree", "check"])
@pytest.mark.parametrize("length", [300, 5000])
def test_a_path_of_any_length_is_one_line(command, length):
    written = in_here(command, "a" * length)

    # since Python 3.14, such a path does not exist
    assert re.match(r"linkwork: error: (cannot read|no file) 'aaa", written)
    assert "File name too long" in written or "bundled robots" in written
    assert written.count("\n") == 1


def test_a_long_chain_and_long_names_can_be_printed(tmp_path):
    links = tuple(Link(name=f"l{k}" + "x" * 300 * (k == 7)) for k in range(400))
    joints = tuple(
        Joint(name=f"j{k}", kind="revolute", first=links[k].name, second=links[k + 1].name)
        for k in range(399)
    )
    path = tmp_path / "chain.urdf"
    path.write_text(dump_urdf(Model(name="chain", links=links, joints=joints)))

    written = run_here("tree", path, "--json").stdout
    assert written.count('"link":') == 400
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)  # the standard library reads JSON by recursion
    try:
        facts = json.loads(written)
    finally:
        sys.setrecursionlimit(limit)
    depth = 1
    while facts["joints"]:
        facts, depth = facts["joints"][0]["to"], depth + 1
    assert depth == 400
    assert max(map(len, on_terminal(80, "info", path))) <= 80


@pytest.mark.peers
def test_robots_and_conventions_as_json():
    found = json.loads(in_here("robots", "--json"))
    cards = json.loads(in_here("conventions", "--json"))

    own = [one for one in found if one["package"] == "linkwork"]
    examples = {one["name"]: one for one in found if one["package"] == "example-robot-data"}
    assert [one["name"] for one in own] == list(robots.names())
    assert all(Path(one["file"]).is_file() for one in (*own, *examples.values()))
    assert examples["talos"]["file"].endswith("/talos_reduced.urdf")
    assert found[0]["total_mass"] == robots.load(found[0]["name"]).total_mass
    assert [one["name"] for one in cards][:2] == ["linkwork", "pinocchio"]
    assert json.loads(in_here("conventions", "pinocchio", "--json")) == cards[1]
