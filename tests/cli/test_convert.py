"""`linkwork convert`: formats by ending, nothing overwritten, nothing lost in silence."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from tests.support.commands import COMMAND, run_process
from tests.support.commands import run_here as run

import linkwork as lw

pytestmark = pytest.mark.peers

mujoco = pytest.importorskip("mujoco")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("out", "options", "start"),
    [
        ("r.urdf", (), "<robot"),
        ("r.sdf", (), "<sdf"),
        ("r.xml", (), "<mujoco"),
        ("R.MJCF", (), "<mujoco"),
        ("r.wc.xml", (), "<WorkCell"),
        ("r.xml", ("--to", "urdf"), "<robot"),
        ("r", ("--to", "workcell"), "<WorkCell"),
    ],
)
def test_the_extension_or_an_option_selects_the_format(out, options, start, here):
    done = run("convert", "pendulum", out, *options)

    assert (done.returncode, done.stderr) == (0, "")
    assert (here / out).read_text().split("\n")[1].startswith(start)


def test_a_robot_goes_around_and_is_the_same(here):
    steps = [("quadruped", "a.wc.xml"), ("a.wc.xml", "b.urdf"), ("b.urdf", "c.urdf")]
    assert run("convert", "quadruped", "quadruped.sdf").stdout.endswith("the same robot\n")
    for words in steps:
        assert run("convert", *words).returncode == 0

    assert lw.load("c.urdf") == lw.load("quadruped")


def test_configurations_and_actuators_that_are_not_written_are_listed(here):
    body = '<body name="a"><joint name="j"/><geom size=".1" pos="1 0 0"/></body>'
    rest = '<actuator><motor name="u" joint="j" gear="3"/></actuator>'
    rest += '<keyframe><key name="home" qpos="0.3"/></keyframe>'
    (here / "a.xml").write_text(f"<mujoco><worldbody>{body}</worldbody>{rest}</mujoco>")

    for out, lost in (("a.urdf", "home u"), ("a.wc.xml", "home u"), ("b.xml", "")):
        done = run("convert", "a.xml", out)
        assert done.returncode == 0
        for name in lost.split():
            assert f": {name}\n" in done.stdout
    assert lw.load("b.xml").actuators == lw.load("a.xml").actuators
    assert lw.load("b.xml").configurations == lw.load("a.xml").configurations


def test_what_the_model_of_the_input_does_not_hold_is_listed(here):
    body = (
        '<body name="a"><freejoint/><geom type="ellipsoid" size=".1 .2 .3"/><site name="s"/></body>'
    )
    world = f'<site name="origin"/><camera name="eye"/>{body}'
    rest = '<actuator><motor name="jet" site="s"/></actuator>'
    rest += '<sensor><accelerometer site="s"/></sensor>'
    (here / "a.xml").write_text(f"<mujoco><worldbody>{world}</worldbody>{rest}</mujoco>")
    gear = '<transmission name="t"/><gazebo/><gazebo/>'
    (here / "a.urdf").write_text(f'<robot name="r"><link name="a"><sensor/></link>{gear}</robot>')
    model = '<model name="m"><link name="a"/><plugin name="p" filename="f"/></model>'
    (here / "a.sdf").write_text(f'<sdf version="1.9">{model}</sdf>')

    for file, facts in {
        "a.xml": ["jet", "origin", "1 geoms without a shape", "1 sensors", "1 cameras"],
        "a.urdf": ["<transmission> (1)", "<gazebo> (2)", "<sensor> (1)"],
        "a.sdf": ["<plugin> (1)"],
    }.items():
        lines = run("convert", file, "b.urdf", "--force").stdout.splitlines()
        for fact in facts:
            assert any("left out" in line and fact in line for line in lines), (file, fact)


def test_a_workcell_with_a_robot_is_read_by_linkwork_only(here):
    assert (
        "'pendulum': RobWork cannot read a <Robot>" in run("convert", "pendulum", "a.wc.xml").stdout
    )


def test_missing_inertias_come_from_shapes(here):
    box = '<collision><geometry><box size="1 1 1"/></geometry></collision>'
    (here / "a.urdf").write_text(f'<robot name="r"><link name="a">{box}</link></robot>')

    assert run("convert", "a.urdf", "b.urdf", "--inertia-from-meshes", "20").returncode == 0

    assert lw.load("b.urdf").link("a").inertia == lw.solid_box(20.0, (1.0, 1.0, 1.0))
    assert run("convert", "a.urdf", "c.urdf", "--inertia-from-meshes", "0").returncode == 2


def test_mjcf_is_checked_by_mujoco_and_what_is_lost_is_printed(here):
    done = run("convert", "arm", "arm.xml", "--fixed")

    assert "warning: left out: velocity limits" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("arm.xml: MJCF; MuJoCo")
    assert mujoco.MjModel.from_xml_path("arm.xml").nv == 9
    facts = json.loads(run("convert", "arm", "arm.xml", "--force", "--json").stdout)
    assert facts["format"] == "mjcf"
    assert {finding["severity"] for finding in facts["findings"]} == {"warning", "note"}
    assert mujoco.MjModel.from_xml_path("arm.xml").nv == 15


def test_without_mujoco_nobody_checks(here, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    done = run("convert", "pendulum", "p.xml")

    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "p.xml: MJCF")


def test_a_mesh_that_mujoco_rejects_is_left_out_with_a_warning(here):
    (here / "bad.stl").write_text("no mesh")
    shape = '<visual><geometry><mesh filename="bad.stl"/></geometry></visual>'
    (here / "r.urdf").write_text(f'<robot name="r"><link name="a">{shape}</link></robot>')

    done = run("convert", "r.urdf", "r.xml", "--fixed")

    assert done.returncode == 0
    assert "bad.stl" in done.stdout
    assert "bad.stl" not in (here / "r.xml").read_text()


def test_a_file_is_overwritten_with_force_only(here):
    (here / "r.urdf").write_text("mine")
    done = run("convert", "arm", "r.urdf")

    assert done.returncode == 2
    assert all(fact in done.stderr for fact in ("'r.urdf'", "--force"))
    assert (here / "r.urdf").read_text() == "mine"
    assert run("convert", "arm", "r.urdf", "--force").returncode == 0
    assert lw.load("r.urdf") == lw.load("arm")


def test_the_file_to_write_is_an_argument_or_an_option(here):
    assert run("convert", "arm", "a.urdf").returncode == 0
    assert run("convert", "arm", "-o", "b.urdf").returncode == 0
    assert (here / "a.urdf").read_text() == (here / "b.urdf").read_text()


def test_standard_output_holds_the_text_alone():
    done = run_process("convert", "arm", "-", "--to", "mjcf")

    assert mujoco.MjModel.from_xml_string(done.stdout).nv == 15
    assert "standard output: MJCF; MuJoCo loads it" in done.stderr


def test_standard_output_is_utf_8_as_declared(here):
    text = '<robot name="\u00e4"><link name="a"/></robot>'
    (here / "r.urdf").write_text(text, encoding="utf-8")
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    words = [str(COMMAND), "convert", "r.urdf", "-", "--to", "urdf"]
    done = subprocess.run(words, env=environment, capture_output=True, check=True)

    assert lw.load(done.stdout) == lw.load(text)


def test_links_off_their_joints_are_moved_for_urdf_and_reported(here):
    text = '<mujoco><worldbody><body name="a"><joint name="j" pos="0 0 1"/><geom size=".1"/></body>'
    (here / "m.xml").write_text(text + "</worldbody></mujoco>")

    done = run("convert", "m.xml", "m.urdf")

    assert "frames were moved: a" in done.stdout
    kds = [lw.KinDyn(lw.load(name), floating=False) for name in ("m.xml", "m.urdf")]
    assert abs(kds[0].mass_matrix([0.3]) - kds[1].mass_matrix([0.3])) < 1e-12


def test_a_device_of_a_workcell_is_written_by_its_name(here):
    done = run("convert", "pick_and_place", "p.urdf")
    assert all(fact in done.stderr for fact in ("--device NAME", "arm, manipulator"))
    done = run("convert", "pick_and_place", "p.urdf", "--device", "arm")
    assert done.returncode == 0
    assert "warning: of the workcell, only the device 'arm' is written" in done.stdout
    kd = lw.KinDyn(lw.load("p.urdf"), floating=False)
    assert kd.nv == len(lw.load_workcell("pick_and_place").device("arm").joint_names)
    assert run("convert", "pick_and_place", "p.wc.xml").returncode == 0
    assert lw.load_workcell("p.wc.xml") == lw.load_workcell("pick_and_place")


def test_shapes_of_a_device_are_written_and_its_home_configuration_is_listed(here):
    box = (
        '<Drawable name="{}"><RPY>0 0 0</RPY><Pos>0 0 0.1</Pos><Box x="1" y="2" z="3"/></Drawable>'
    )
    (here / "a.wc.xml").write_text(
        f"""<WorkCell name="cell"><SerialDevice name="arm">
        <Frame name="Base">{box.format("base")}</Frame>
        <Joint name="J" type="Revolute"><RPY>0 0 0</RPY><Pos>0 0 1</Pos>{box.format("j")}</Joint>
        <Q name="Home">0.5</Q></SerialDevice></WorkCell>"""
    )

    done = run("convert", "a.wc.xml", "a.urdf")

    assert "left out: the home configuration" in done.stdout
    with pytest.warns(lw.LinkworkWarning, match="without any mass"):
        links = lw.load("a.urdf").links
    for link in links:
        for shapes in (link.visuals, link.collisions):
            assert [shape.geometry for shape in shapes] == [lw.Box((1.0, 2.0, 3.0))]


def test_movable_frames_between_the_joints_of_a_device_are_fixed_and_named(here):
    (here / "arm.wc.xml").write_text(
        """<WorkCell name="cell"><SerialDevice name="arm"><Frame name="Base"/>
        <Joint name="J1" type="Revolute"><RPY>0 0 0</RPY><Pos>0 0 1</Pos></Joint>
        <Frame name="Calibration" type="Movable"><RPY>0 0 0</RPY><Pos>0 2 0</Pos></Frame>
        <Joint name="J2" type="Revolute"><RPY>0 0 0</RPY><Pos>1 0 0</Pos></Joint>
        </SerialDevice></WorkCell>"""
    )
    done = run("convert", "arm.wc.xml", "arm.urdf", "--device", "arm")
    assert done.returncode == 0
    assert "default state: arm.Calibration" in done.stdout
    with pytest.warns(lw.LinkworkWarning, match="without any mass"):
        kd = lw.KinDyn(lw.load("arm.urdf"), floating=False)
    assert kd.transform("arm.J2", [0.0, 0.0])[:3, 3].tolist() == [1.0, 2.0, 1.0]


def test_joints_of_a_workcell_that_robwork_cannot_read_are_named(here):
    (here / "screw.wc.xml").write_text(
        """<WorkCell name="cell"><Joint name="screw" type="linkwork">
        <Property name="linkwork.motion"><motion kind="helical" pitch="0.1"/></Property>
        </Joint></WorkCell>"""
    )
    done = run("convert", "screw.wc.xml", "again.wc.xml")
    assert done.returncode == 0
    assert "'screw': RobWork cannot read" in done.stdout


def test_relative_meshes_in_another_folder_are_reported(here):
    (here / "sub").mkdir()
    shape = '<visual><geometry><mesh filename="m.stl"/></geometry></visual>'
    (here / "r.urdf").write_text(f'<robot name="r"><link name="a">{shape}</link></robot>')

    assert "relative to the input file" in run("convert", "r.urdf", "sub/r.urdf").stdout
    assert "relative to the input file" not in run("convert", "r.urdf", "r2.urdf").stdout


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        ("arm x.foo", ["'x.foo'", ".urdf", ".wc.xml", ".mjcf", ".xml"]),
        ("arm x.urdf --to mjfc", ["'mjfc'", "'mjcf'"]),
        ("arm", ["OUT", "-o"]),
        ("arm x.urdf -o y.urdf", ["OUT", "twice"]),
        ("arm no/x.urdf", ["'no/x.urdf'", "No such file or directory"]),
        ("arm x.urdf --device a", ["--device", "workcell"]),
        ("arm x.urdf --fixed", ["--fixed", "MJCF"]),
        ("arm x.urdf --no-meshes", ["--no-meshes", "MJCF"]),
        ("pick_and_place x.xml --to workcell --repair", ["--repair", "workcell"]),
        ("nix.urdf x.urdf", ["'nix.urdf'"]),
        ("pick_and_place x.urdf --device amr", ["--device", "'amr'", "arm"]),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_code_2(words, facts, here):
    done = run("convert", *words.split())

    assert done.returncode == 2
    assert all(fact in done.stderr for fact in facts)
    assert done.stderr.count("\n") == 1
    assert not (here / "x.urdf").exists()


def test_spherize_writes_a_robot_and_prints_how_well_it_fits(here):
    shapes = (lw.Shape(lw.Box((0.05, 0.04, 0.03))), lw.Shape(lw.Sphere(0.1)))
    link = lw.Link(name="body", collisions=shapes)
    lw.dump_urdf(lw.Model(name="robot", links=(link,)), here / "in.urdf")

    done = run("spherize", "in.urdf", "-o", "out.urdf", "--tolerance", "0.03")
    assert (done.returncode, done.stderr) == (0, "")
    assert "body" in done.stdout
    spheres = lw.load("out.urdf").links[0].collisions
    assert {type(shape.geometry) for shape in spheres} == {lw.Sphere}
    assert run("spherize", "in.urdf", "-o", "out.urdf").returncode == 2  # exists
    data = json.loads(run("spherize", "in.urdf", "--json").stdout)
    assert (data["links"][0]["link"], data["links"][0]["coverage"]) == ("body", 1.0)
    assert "tolerance" in run("spherize", "in.urdf", "--tolerance", "-1").stderr
