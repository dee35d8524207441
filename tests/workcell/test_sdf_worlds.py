"""SDF worlds as workcells."""

from __future__ import annotations

import warnings

import numpy as np
from tests.support.commands import run_here as run
from tests.support.urdf_files import error_lines, loaded

import linkwork as lw

MASS = "<inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"
ARM = f"""<link name="upper"><pose>0 0 1 0 0 0</pose>{MASS}</link>
<link name="lower"><pose>0 0 2 0 0 0</pose>{MASS}</link>
<joint name="elbow" type="revolute"><pose>0 0 -1 0 0 0</pose><parent>upper</parent>
<child>lower</child><axis><xyz>1 0 0</xyz></axis></joint>"""
MOUNT = '<joint name="mount" type="fixed"><parent>world</parent><child>upper</child></joint>'
WORLD = f"""<sdf version="1.9"><world name="lab">
<frame name="table"><pose>5 0 0 0 0 0</pose></frame>
<model name="left"><pose relative_to="table">0 1 0 0 0 0</pose>{ARM}{MOUNT}</model>
<model name="right"><pose relative_to="left">0 -2 0 0 0 0</pose>{ARM}</model>
<model name="wall"><static>true</static><pose>9 0 0 0 0 0</pose><link name="brick"/></model>
</world></sdf>"""


def test_models_of_a_world_are_robots_of_a_workcell():
    """Static models are fixed frames; models without a joint to the world float."""
    cell = lw.load_workcell(WORLD)
    assert (cell.name, cell.device_names) == ("lab", ("left", "right"))
    state = cell.state()
    positions = {
        name: cell.world_H_frame(name, state)[:3, 3].tolist()
        for name in ("left.upper", "left.lower", "right.upper", "wall.brick")
    }
    assert positions == {
        "left.upper": [5, 1, 1],
        "left.lower": [5, 1, 2],
        "right.upper": [5, -1, 1],
        "wall.brick": [9, 0, 0],
    }
    assert [len(cell.device(name).get_q(state)) for name in ("left", "right")] == [1, 8]


def test_one_robot_among_static_models_is_loaded_alone():
    one = WORLD.replace('<model name="right">', '<model name="right"><static>1</static>')
    robot, found = loaded(one)
    assert robot.name == "left"
    assert len(found) == 1
    assert all(name in found[0] for name in ("right", "wall"))
    assert any("load_workcell" in line and "left, right" in line for line in error_lines(WORLD))


def test_models_with_closed_loops_are_robots_of_the_workcell():
    loop = '<joint name="again" type="ball"><parent>upper</parent><child>lower</child></joint>'
    cell = lw.load_workcell(WORLD.replace("</model>", f"{loop}</model>", 1))
    assert "again" in cell.dynamics("left").kd.constrained().rows


def test_commands_convert_worlds(tmp_path, monkeypatch):
    """Link frames are moved onto their joints, as workcell files require; masses stay in place."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lab.world").write_text(WORLD)
    done = run("convert", "lab.world", "lab.wc.xml")
    assert done.returncode == 0, done.stderr
    assert "lower" in done.stdout
    cell, written = lw.load_workcell("lab.world"), lw.load_workcell("lab.wc.xml")
    assert written.device_names == cell.device_names
    assert run("convert", "lab.world", "left.urdf", "--device", "left").returncode == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kd = lw.KinDyn(lw.load("left.urdf"), floating=False)
    np.testing.assert_allclose(kd.mass_matrix([0.0]), [[2.0]])
