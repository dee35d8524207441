"""`linkwork demo` on a good robot, on a broken one, and on none."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from tests.support.commands import run_here

import linkwork as lw

run = partial(run_here, "demo")


@pytest.fixture(autouse=True)
def few_quadrupeds(request, monkeypatch):
    """One test drops all thousand, the others a few."""
    if not request.node.name.endswith("[quadruped]"):
        monkeypatch.setattr("linkwork.cli.demo.DROPPED", 8)


def test_make_runs_the_command():
    makefile = Path(__file__).parents[2] / "Makefile"

    assert "linkwork demo $(ROBOT)" in makefile.read_text()


@pytest.mark.parametrize("robot", ["arm", "pendulum", "quadruped", "quadrotor"])
def test_the_demo_fits_one_screen_and_warns_of_nothing(robot, monkeypatch):
    monkeypatch.setattr("linkwork.errors._warned_topics", set())
    done = run(robot)

    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) < 24  # the prompt needs a line
    assert "NO" not in done.stdout.split()
    count = "1,000 of 1,000" if robot == "quadruped" else "8 of 8"
    assert any(line.startswith(f"{count} are at rest; ") for line in lines)
    assert lines[-1] == f"more: linkwork info {robot}, linkwork check {robot}"


@pytest.mark.parametrize("installed", [True, False])
def test_the_packages_of_the_viewer_are_named_where_they_are_missing(installed, monkeypatch):
    monkeypatch.setattr("linkwork.cli.demo.find_spec", lambda name: installed or None)
    monkeypatch.setenv("LINKWORK_BACKEND", "numpy")

    assert ("pip install viser trimesh pycollada" in run("pendulum").stdout) is not installed


def test_without_machine_code_nothing_is_simulated(monkeypatch):
    monkeypatch.setenv("LINKWORK_BACKEND", "numpy")
    done = run("pendulum")

    assert done.returncode == 0
    assert "not simulated" in done.stdout
    assert "at rest" not in done.stdout


@pytest.mark.parametrize(
    ("words", "size"),
    [(["arm"], "8 x 8"), (["arm", "--floating"], "14 x 14"), (["quadruped"], "18 x 18")],
)
def test_the_base_of_the_demo_is_that_of_the_robot(words, size):
    assert size in run(*words).stdout


@pytest.mark.peers
def test_a_robot_with_a_loop(tmp_path):
    """The demo and the export skip what is ambiguous."""
    b = lw.ModelBuilder("bar")
    for name in ("ground", "crank", "rocker"):
        b.add_link(name, inertia=lw.solid_box(1.0, (0.3, 0.1, 0.1)))
    for joint, link, z in (("a", "crank", 0.0), ("b", "rocker", 0.1)):
        b.add_joint(joint, "revolute", "ground", link, first_H_joint=lw.Pose((0.0, 0.0, z)))
    path = tmp_path / "bar.xml"
    coupled = b.build().with_constraint("coupling", "a", "b", coefficients=(0.0, 1.0, 0.5))
    with pytest.warns(lw.LinkworkWarning, match="soft"):
        path.write_text(lw.dump_mjcf(coupled))

    done = run(path, "--fixed")
    assert (done.returncode, done.stderr) == (0, "")
    assert "NO" not in done.stdout.split()
    assert "loops: J nu_dot" in done.stdout
    exported = run_here("export", path, "--fixed", "-o", tmp_path / "c", "--no-check")
    assert exported.returncode == 0
    assert "forward_dynamics" in exported.stdout
    assert "inverse_dynamics" not in exported.stdout


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
