"""The base of a robot on the command line: one default, one option, one warning."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from tests.support.commands import run_here as run

import linkwork as lw
from linkwork.cli.main import COMMANDS

COMPUTING = {
    "dynamics": ("arm",),
    "ik": ("arm", "tool", "--position", "0.5,0.1,0.5"),
    "view": ("arm", "--no-open"),
    "export": ("arm", "-o", "unused"),
}


class _RobotRequestedError(lw.LinkworkError):
    """Ends a command as soon as it has chosen the base."""


@pytest.fixture
def no_warnings_yet(monkeypatch):
    monkeypatch.setattr("linkwork.errors._warned_topics", set())


@pytest.mark.parametrize("command", COMPUTING)
@pytest.mark.parametrize(
    ("option", "floating"), [((), None), (("--floating",), True), (("--fixed",), False)]
)
def test_each_command_leaves_the_base_to_kindyn_unless_an_option_names_it(
    command, option, floating, monkeypatch
):
    assert requested_base((command, *COMPUTING[command], *option), monkeypatch) is floating


@pytest.mark.parametrize(
    ("arguments", "floating"),
    [(("arm",), False), (("quadruped",), True), (("arm", "--floating"), True)],
)
def test_the_demo_fixes_a_base_that_looks_fixed(arguments, floating, monkeypatch):
    assert requested_base(("demo", *arguments), monkeypatch) is floating


def requested_base(words, monkeypatch):
    """The option `floating` that a command passes to `KinDyn`."""
    options = {}

    def record(_kd, _model, *_base, **given):
        options.update(given)
        raise _RobotRequestedError("recorded")

    monkeypatch.setattr(lw.KinDyn, "__init__", record)
    run(*words)
    return options["floating"]


def test_a_floating_arm_is_warned_about_once_in_terms_of_the_options(no_warnings_yet):
    done = run("dynamics", "arm", "--json")
    facts = json.loads(done.stdout)

    assert len(facts["mass_matrix"]) == 8 + 6
    (line,) = done.stderr.splitlines()
    assert line.startswith("linkwork: warning: ")
    assert all(word in line for word in ("arm", "'base'", "--fixed", "--floating"))
    assert "floating=" not in line


@pytest.mark.parametrize(("option", "size"), [("--floating", 14), ("--fixed", 8)])
def test_an_option_leaves_nothing_to_warn_about(option, size, no_warnings_yet):
    done = run("dynamics", "arm", option, "--json")

    assert len(json.loads(done.stdout)["mass_matrix"]) == size
    assert done.stderr == ""


def test_fk_is_the_same_for_both_kinds_of_base(no_warnings_yet):
    done = [run("fk", "arm", "tool", *option) for option in ((), ("--fixed",), ("--floating",))]

    assert len({one.stdout for one in done}) == 1
    assert {one.stderr for one in done} == {""}


def test_ik_prints_the_pose_of_a_floating_base():
    done = run("ik", "arm", "tool", "--floating", "--position", "2,0,1", "--json")
    q = json.loads(done.stdout)["q"]
    kd = lw.KinDyn(lw.load("arm"), floating=True)

    assert [*q][:4] == ["base x", "base y", "base z", "base quaternion w"]
    position = kd.transform("tool", np.array([*q.values()]))[:3, 3]
    np.testing.assert_allclose(position, [2, 0, 1], atol=1e-5)


def test_pinnzoo_files_have_the_same_default(tmp_path, no_warnings_yet):
    words = ("export", lw.robots.path("arm"), "-o", tmp_path, "--pinnzoo", "--no-check")
    done = run(*words)

    assert (done.returncode, done.stderr.count("--fixed")) == (0, 1)
    assert run(*words, "--fixed").stderr == ""


def test_an_option_means_the_same_in_every_command():
    """`--velocity` is followed by values, `--representation` by a convention, and so on."""
    meanings = {}
    for command in COMMANDS:
        for line in run(command.__name__, "--help", columns=200).stdout.splitlines():
            option = re.match(r"  (--[\w-]+(?: / --[\w-]+)?)(?: ([A-Z][^ ]*))?  +", line)
            if option:
                meanings.setdefault(option[1], set()).add(option[2])

    assert meanings["--velocity"] == {"JOINT=VALUE"}
    assert meanings["--representation"] == {"NAME"}
    assert {option for option in meanings if "--fixed" in option} == {"--floating / --fixed"}
    allowed = {"--base", "--set", "--tolerance"}  # a length, or of any values
    assert {o for o, forms in meanings.items() if len(forms) > 1} <= allowed
