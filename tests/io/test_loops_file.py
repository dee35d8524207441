"""Loops that a YAML file next to a URDF describes, as in the collection example-parallel-robots."""

from __future__ import annotations

import re

import numpy as np
import pytest
import yaml  # noqa: F401 - the files are skipped without it
from tests.support.linkages import at, four_bar
from tests.support.models import assert_close

import linkwork as lw

FRAMES = """
<link name="loop_a"/><joint name="loop_a_frame" type="fixed"><parent link="coupler"/>
<child link="loop_a"/><origin xyz="0.8 0 0"/></joint>
<link name="loop_b"/><joint name="loop_b_frame" type="fixed"><parent link="rocker"/>
<child link="loop_b"/><origin xyz="0.6 0 0"/></joint></robot>
"""


def tree():
    """The URDF of a four-bar linkage without its closing joint, with a frame on each side."""
    model = four_bar()
    joints = [joint for joint in model.joints if joint.name != "c"]
    text = lw.dump_urdf(lw.Model(name="four_bar", links=model.links, joints=joints))
    return text.replace("</robot>", FRAMES)


YAML = """\
# names of frames
closed_loop: [['loop_a', 'loop_b']]
type: ['3D']
name_mot:
  - a
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "robot.urdf").write_text(tree())
    (tmp_path / "robot.yaml").write_text(YAML)
    return tmp_path


@pytest.fixture(scope="module")
def expected():
    """State and accelerations of the linkage, whose closing joint prevents more than it must."""
    kd = lw.KinDyn(four_bar(), floating=False)
    loop = kd.constrained(actuated=["a"])
    q = kd.random(seed=1)
    nu, tau = loop.project_velocity(q, np.ones(3)), np.array([1.0, 0.0, 0.0])
    return q, nu, tau, kd.forward_dynamics(q, nu, tau)


def test_file_next_to_the_urdf_closes_the_loop(files, expected):
    q, nu, tau, nu_dot = expected
    model = lw.load(files / "robot.urdf", loops=True)
    loop = lw.KinDyn(model, floating=False).constrained()

    assert model.actuated == loop.actuated == ("a",)
    assert_close(loop.forward_dynamics(q, nu, tau).nu_dot, nu_dot, rtol=1e-9)
    torques, _, residual = loop.inverse_dynamics(q, nu, nu_dot)
    assert_close(torques, tau[:1], rtol=1e-9)
    assert np.abs(residual).max() < 1e-9


@pytest.mark.parametrize(
    "loops",
    [
        [("loop_a", "loop_b", "3d")],
        [("loop_a_frame", "loop_b_frame", "point")],  # the joints of these links
        {"closed_loop": [["loop_a", "loop_b"]], "type": ["3d"], "name_mot": "a"},
        YAML,
    ],
)
def test_forms_of_loops(files, loops):
    (constraint,) = lw.load(files / "robot.urdf", loops=loops).constraints
    reference = lw.load(files / "robot.urdf", loops=files / "robot.yaml").constraints[0]

    assert constraint == reference
    assert (constraint.kind, constraint.first, constraint.second) == ("point", "loop_a", "loop_b")


def test_frames_coincide_unless_a_type_is_given(files):
    model = lw.load(files / "robot.urdf", loops=[("loop_a", "loop_b")])
    assert model.constraints[0].kind == "pose"


def test_motors_by_parts_of_names():
    text = tree().replace('"b"', '"leg_b"').replace('"d"', '"leg_d"')
    loops = {"closed_loop": [], "name_mot": ["leg", "a"]}
    assert lw.load(text, loops=loops).actuated == ("a", "leg_b", "leg_d")


@pytest.mark.parametrize("axes", ["XY", "YZ", "ZX", "YX", "ZY", "XZ"])
def test_universal_joints_rotate_about_two_axes_of_the_joint(axes):
    """As two revolute joints at the same place do, about the first axis and then the second."""
    b = lw.ModelBuilder("pendulum")
    for name in ("base", "between", "arm"):
        b.add_link(name, inertia=lw.solid_box(1.0, (0.1, 0.2, 0.3)))
    mount = at(0.1, 0.2, 0.3, rpy=(0.4, 0.5, 0.6))
    directions = {"X": (1, 0, 0), "Y": (0, 1, 0), "Z": (0, 0, 1)}
    first, second = (directions[axis] for axis in axes)
    b.add_joint("one", "revolute", "base", "between", axis=first, first_H_joint=mount)
    b.add_joint("two", "revolute", "between", "arm", axis=second)
    two = lw.KinDyn(b.build(), floating=False)
    plain = lw.ModelBuilder("pendulum")
    for name in ("base", "arm"):
        plain.add_link(name, inertia=lw.solid_box(1.0, (0.1, 0.2, 0.3)))
    plain.add_joint("one", "revolute", "base", "arm", axis=(0, 0, 1), first_H_joint=mount)
    loops = {"closed_loop": [], "joint_name": ["one"], "joint_type": [f"UJOINT_{axes}"]}
    read = lw.load(lw.dump_urdf(plain.build()), loops=loops)
    q = np.array([0.3, -0.7])

    assert read.joint("one").kind == "universal"
    assert_close(
        lw.KinDyn(read, floating=False).transform("arm", q), two.transform("arm", q), rtol=1e-12
    )


def test_spherical_and_fixed_types():
    loops = {
        "closed_loop": [],
        "joint_name": ["a", "b", "d"],
        "joint_type": ["SPHERICAL", "FIXED", "CARDAN"],
    }
    model = lw.load(tree(), loops=loops)

    assert [joint.kind for joint in model.joints][:3] == ["spherical", "fixed", "universal"]
    assert model.joint("b").first_H_joint == lw.load(tree()).joint("b").first_H_joint


BAD = {
    "closed_loop: [[loop_a, loop_c]]": r"closed_loop: .*'loop_c'.*'loop_a'",
    "closed_loop: [[loop_a]]": r"closed_loop: .*pairs",
    "type: [6d]": r"closed_loop: .*pairs",
    "closed_loop: [[loop_a, loop_b]]\ntype: [5d]": r"type: .*'5d'",
    "closed_loop: [[loop_a, loop_b]]\ntype: [6d, 6d]": r"type: .*1 type, .*, got 2",
    "closed_loop: []\nname_mot: [motor]": r"name_mot: .*'motor'",
    "closed_loop: []\njoint_name: [x]\njoint_type: [FIXED]": r"joint_name: .*'x'",
    "closed_loop: []\njoint_name: [a]\njoint_type: [CUBE]": r"joint_type: .*'CUBE'",
    "closed_loop: []\njoint_name: [a]": r"joint_type: .*1 type, .*, got 0",
    "closed_loop: [[loop_a, loop_a]]\n": r"'loop_a' to itself",
    "closed_loop: [\n": r":\d: .*not valid YAML",
    "- loop_a\n- loop_b": r"expected a mapping",
    "closed_loop: {a: b}\n": r"closed_loop: .*pairs",
    "closed_loop: []\nname_mot: [[a]]": r"name_mot: .*list of words",
}


@pytest.mark.parametrize("text", BAD)
def test_bad_files_are_errors(text):
    with pytest.raises(lw.ParseError) as caught:
        lw.load(tree(), loops=text + "\n")
    assert re.search(BAD[text], str(caught.value)), str(caught.value)


def test_unknown_keys_are_a_warning():
    with pytest.warns(lw.LinkworkWarning, match=r"closed_loops.*closed_loop"):
        lw.load(tree(), loops={"closed_loop": [], "closed_loops": []})


def test_bad_arguments(tmp_path):
    with pytest.raises(lw.ArgumentError, match="loops=True"):
        lw.load(tree(), loops=True)
    with pytest.raises(lw.ArgumentError, match="first frame"):
        lw.load(tree(), loops=["loop_a", "loop_b"])
    for loops in (3, [3]):
        with pytest.raises(lw.ArgumentError, match="got 3"):
            lw.load(tree(), loops=loops)
    (tmp_path / "alone.urdf").write_text(tree())
    with pytest.raises(lw.MissingFileError, match=r"alone\.yaml"):
        lw.load(tmp_path / "alone.urdf", loops=True)
