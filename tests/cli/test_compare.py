"""What differs between two files of a robot."""

import json

import numpy as np
import pytest
from tests.support.commands import run_here as run

import linkwork as lw
from linkwork.model.describe import differences


@pytest.fixture
def changed(tmp_path):
    """The arm with another mass, limit, joint origin, and without a frame."""
    text = lw.robots.path("arm").read_text()
    text = text.replace('<mass value="1.3"/>', '<mass value="1.4"/>')
    assert 'mass value="1.4"' in text
    path = tmp_path / "arm.urdf"
    path.write_text(text)
    return path


def test_a_file_does_not_differ_from_itself():
    done = run("compare", "arm", "arm")

    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == "no differences"


def test_a_robot_that_was_written_again_is_the_same(tmp_path):
    model = lw.robots.load("quadruped")
    lw.dump_urdf(model, tmp_path / "again.urdf")

    assert run("compare", "quadruped", tmp_path / "again.urdf").returncode == 0


def test_what_differs_is_listed(changed):
    done = run("compare", "arm", changed)

    assert done.returncode == 1
    difference, count, mass, distance = done.stdout.splitlines()
    assert all(fact in difference for fact in ("'forearm'", "mass", "1.3", "1.4"))
    assert count == "1 difference"
    assert all(fact in mass for fact in ("16.97 kg", "17.07 kg", "+0.1 kg"))
    assert " 0 m " in distance
    facts = json.loads(run("compare", "arm", changed, "--json").stdout)
    assert facts["differences"][0]["element"] == "link 'forearm'"
    assert run("compare", "arm", changed, "--tolerance", "0.2").returncode == 0


def test_the_center_of_mass_of_a_link_without_mass_is_no_difference():
    def built(mass, com):
        builder = lw.ModelBuilder("one")
        builder.add_link("tip", inertia=lw.Inertia(mass, com, (mass, 0, 0, mass, 0, mass)))
        return builder.build()

    here, there = (0, 0, 0), (0, 0, 0.1)
    assert not differences(built(0, here), built(0, there))
    said = [str(d) for d in differences(built(1, here), built(1, there))]
    assert said == ["link 'tip': center of mass [m]: 0 0 0 -> 0 0 0.1"]


def test_every_kind_of_difference_has_its_words():
    model = lw.robots.load("arm")
    other = model.with_frame("tip", "tool", lw.Pose(xyz=(0, 0, 0.1)))
    assert [str(d) for d in differences(model, other)] == ["frame 'tip': only in the second"]
    assert [str(d) for d in differences(other, model)] == ["frame 'tip': only in the first"]

    def built(**joint):
        builder = lw.ModelBuilder("pair")
        builder.add_link("a", inertia=lw.solid_box(1.0, (0.1, 0.1, 0.1)))
        builder.add_link("b", inertia=lw.solid_box(1.0, (0.1, 0.1, 0.1)))
        builder.add_joint("j", joint.pop("kind", "revolute"), "a", "b", **joint)
        return builder.build()

    plain = built()
    for changes, text in (
        ({"axis": (1, 0, 0)}, "joint 'j': axis: 0 0 1 -> 1 0 0"),
        ({"upper": 2.0}, "joint 'j': upper limit: none -> 2"),
        ({"kind": "prismatic"}, "joint 'j': kind: revolute -> prismatic"),
        ({"damping": 0.5}, "joint 'j': damping: 0 -> 0.5"),
        (
            {"first_H_joint": lw.Pose((1, 2, 3))},
            "joint 'j': mount on its first link, position [m]: 0 0 0 -> 1 2 3",
        ),
        (
            {"joint_H_second": lw.Pose((0, 0, 0), (np.pi / 2, 0, 0))},
            "joint 'j': mount of its second link, rotation: rpy 0 0 0 -> rpy 1.57079633 0 0",
        ),
    ):
        assert [str(d) for d in differences(plain, built(**changes))] == [text]
    screws = [built(kind="helical", pitch=pitch) for pitch in (0.1, 0.2)]
    assert [str(d) for d in differences(*screws)] == ["joint 'j': pitch [m/rad]: 0.1 -> 0.2"]


def test_shapes_that_differ_are_listed():
    def built(geometry, **pose):
        builder = lw.ModelBuilder("one")
        shape = lw.Shape(geometry, lw.Pose(**pose))
        builder.add_link("a", inertia=lw.solid_box(1.0, (1, 1, 1)), visuals=(shape,))
        return builder.build()

    plain = built(lw.Box((1, 2, 3)))
    mesh = built(lw.Mesh("package://robot/meshes/a.stl", (1, 1, 1)))
    for first, second, text in (
        (plain, built(lw.Box((1, 2, 4))), "visual 0, size: 1 2 3 -> 1 2 4"),
        (plain, built(lw.Sphere(1.0)), "visual 0: box -> sphere"),
        (built(lw.Cylinder(1, 2)), built(lw.Capsule(1, 2)), "visual 0: cylinder -> capsule"),
        (plain, built(lw.Box((1, 2, 3)), xyz=(0, 0, 1)), "visual 0, position [m]: 0 0 0 -> 0 0 1"),
        (mesh, built(lw.Mesh("b.stl", (1, 1, 1))), "visual 0: mesh a.stl -> mesh b.stl"),
    ):
        assert [str(d) for d in differences(first, second)] == [f"link 'a': {text}"]
    assert not differences(mesh, built(lw.Mesh("C:\\meshes\\a.stl", (1, 1, 1))))


@pytest.mark.peers
def test_a_ball_joint_has_three_degrees_of_freedom(tmp_path):
    path = tmp_path / "ball.xml"
    body = '<body name="a"><joint type="ball"/><geom size=".1"/></body>'
    path.write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>")

    facts = json.loads(run("compare", path, path, "--json").stdout)
    assert facts["degrees_of_freedom"] == [3, 3]


def test_robots_that_move_differently_are_far_apart(tmp_path):
    model = lw.robots.load("double_pendulum")
    text = lw.dump_urdf(model).replace('axis xyz="0 1 0"', 'axis xyz="1 0 0"', 1)
    path = tmp_path / "other.urdf"
    path.write_text(text)
    facts = json.loads(run("compare", "double_pendulum", path, "--json").stdout)

    assert facts["differences"]
    assert facts["largest_distance"] > 0.1
