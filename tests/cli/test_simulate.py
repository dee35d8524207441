"""The command that simulates robots on the ground."""

import json
import sys

import mujoco
import numpy as np
import pytest
from tests.support.commands import run_here as run

import linkwork as lw

BALL = """<mujoco model="ball"><option timestep="0.005" gravity="0 0 -10"/>
<worldbody><geom type="plane" size="1 1 1"/>
<body name="ball" pos="0 0 0.5"><freejoint/><geom size="0.1" mass="1"/>
<body name="arm" pos="0 0 0.1"><joint name="hinge" axis="0 1 0" damping="1" stiffness="5"/>
<geom size="0.02" mass="0.1" contype="0" conaffinity="0"/></body></body></worldbody>
<actuator><position joint="hinge" kp="1"/></actuator>
<keyframe><key name="up" qpos="0 0 2 1 0 0 0 0.3" ctrl="0.2"/></keyframe></mujoco>"""
URDF = """<robot name="brick"><link name="brick"><inertial><mass value="2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><sphere radius="0.2"/></geometry></collision></link></robot>"""


@pytest.fixture
def ball(tmp_path):
    path = tmp_path / "ball.xml"
    path.write_text(BALL)
    return path


def test_the_states_that_are_saved_are_those_of_the_simulation(ball, tmp_path):
    saved = tmp_path / "states.npz"
    done = run("simulate", ball, "--seconds", 0.2, "--rows", 3, "--keyframe", "up", "--save", saved)
    assert done.returncode == 0
    sim = lw.Simulation(ball)
    with np.load(saved) as data:
        assert data["q"].shape == (3, 11, sim.nq)
        np.testing.assert_allclose(data["times"], np.arange(11) * 0.02)
        start = sim.state("up")
        expected = sim.rollout(start, np.full((40, 1), 0.2))
        np.testing.assert_allclose(data["q"][0], expected.q[::4], atol=1e-12)
        np.testing.assert_allclose(data["nu"][0], expected.nu[::4], atol=1e-12)
        assert (data["q"][1:, 0, 7] != data["q"][0, 0, 7]).all()


def test_facts_for_programs_and_a_file_for_view(ball, tmp_path):
    saved, written = tmp_path / "states.npy", tmp_path / "written.xml"
    words = ("--seconds", 2, "--save", saved, "--mjcf", written, "--json")
    facts = json.loads(run("simulate", ball, *words).stdout)
    assert (facts["robot"], facts["rows"], facts["steps"]) == ("ball", 1, 400)
    assert (facts["contact_points"], facts["touching"], facts["diverged"]) == (1, 1, 0)
    assert facts["steps_per_second"] > 0
    assert np.load(saved).shape == (101, 8)
    assert mujoco.MjModel.from_xml_path(str(written)).npair == 1


def test_nothing_is_simulated_for_a_viewer_that_is_not_installed(ball, monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    done = run("simulate", ball, "--view")
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install viser" in done.stderr


def test_other_robots_are_dropped_on_a_plane(tmp_path):
    path, saved = tmp_path / "brick.urdf", tmp_path / "states.npz"
    path.write_text(URDF)
    done = run("simulate", path, "--height", 0.1, "--seconds", 1.5, "--save", saved, "--step", 0.01)
    assert "1 of 1 are at rest" in done.stdout
    with np.load(saved) as data:
        assert data["q"][0, 0, 2] == pytest.approx(0.3)
        assert data["q"][0, -1, 2] == pytest.approx(0.2, abs=1e-3)


def test_servos_hold_a_robot_that_stands_on_chosen_links(tmp_path):
    words = ("--ground", "FL_foot, FR_foot,RL_foot,RR_foot", "--servos", "200,8", "--json")
    facts = json.loads(run("simulate", "quadruped", *words).stdout)
    assert (facts["contact_points"], facts["touching"]) == (4, 4)
    saved = tmp_path / "states.npz"
    done = run("simulate", "pendulum", "--servos", "50,5", "--save", saved, "--seconds", 0.5)
    assert done.returncode == 0, done.stderr
    with np.load(saved) as data:  # its base looks fixed; the servo holds it where it starts
        assert data["q"].shape[-1] == 1


@pytest.mark.parametrize(
    "words",
    [
        ("--seconds", 0),
        ("--seconds", "inf"),
        ("--rows", 0),
        ("--save", "states.txt"),
        ("--save", "no_folder/states.npz"),
        ("--keyframe", "none"),
        ("--spread", "nan"),
        ("--servos", "1,2"),
        ("--step", 0.01),
        ("--floating",),
    ],
)
def test_wrong_options_are_errors(ball, words):
    done = run("simulate", ball, *words)
    assert done.returncode == 2
    assert "linkwork: error" in done.stderr
