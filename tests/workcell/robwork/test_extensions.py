"""Extensions of the workcell format."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw


def cell_of(inside: str) -> lw.WorkCell:
    return lw.load_workcell(f'<WorkCell name="c">{inside}</WorkCell>')


def joint(motion: str) -> str:
    motion_property = f'<Property name="linkwork.motion">{motion}</Property>'
    return f'<Joint name="j" type="linkwork">{motion_property}</Joint>'


def message(inside: str) -> str:
    with pytest.raises(lw.ParseError) as caught:
        cell_of(inside)
    return str(caught.value)


def test_link_property_has_inertia_and_shapes_as_in_urdf():
    text = """<Frame name="a"><Property name="linkwork.link"><link><inertial><origin xyz="1 2 3"/>
    <mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="2" iyz="0" izz="2.5"/></inertial>
    <collision><geometry><capsule radius="1" length="2"/></geometry></collision></link></Property>
    </Frame>"""

    frame = cell_of(text).frame("a")

    assert frame.inertia == lw.Inertia(2, (1, 2, 3), (1, 0, 0, 2, 0, 2.5))
    assert frame.collisions == (lw.Shape(lw.Capsule(1, 2)),)


def test_efforts_homes_and_parents_are_read():
    text = """<Frame name="hand"/><SerialDevice name="d"><Frame name="B"/><Joint name="J"
    type="Revolute"><Property name="linkwork.motion"><motion kind="revolute">
    <limit effort="87"/></motion></Property></Joint></SerialDevice>
    <Frame name="m" refframe="WORLD" type="Movable" daf="true">
    <Property name="linkwork.home">1 2 3 0 1 0 0</Property>
    <Property name="linkwork.parent">hand</Property></Frame>"""

    cell = cell_of(text)

    assert cell.device("d").effort_limits.tolist() == [87]
    assert cell.parent("m", cell.state()) == "hand"
    assert cell.values("m", cell.state()).tolist() == [1, 2, 3, 0, 1, 0, 0]


def test_default_state_may_precede_what_it_depends_on():
    text = """<Joint name="j" type="linkwork"><Property name="linkwork.home">0.5</Property>
    <Property name="linkwork.motion"><motion kind="revolute"/></Property></Joint>
    <Frame name="m" refframe="WORLD" type="Movable" daf="true">
    <Property name="linkwork.parent">late</Property></Frame>
    <Robot name="r" refframe="WORLD"><robot name="x"><link name="l"/></robot></Robot>
    <Frame name="late" refframe="WORLD"/>"""

    cell = cell_of(text)

    assert cell.frame("j").home == (0.5,)
    assert cell.parent("m", cell.state()) == "late"


def test_motion_property_defines_the_motion_of_a_joint():
    text = """<motion kind="helical" axis="0 0 2" pitch="0.5" active="false" acceleration="3">
    <origin xyz="1 0 0"/><limit lower="-1" effort="9"/></motion>"""

    cell = cell_of(joint(text))

    motion = cell.frame("j").motion
    assert motion is not None
    assert (motion.axis, motion.active, motion.acceleration) == ((0, 0, 1), False, 3)
    assert motion.limits == lw.Limits(lower=-1, effort=9)
    H = cell.world_H_frame("j", cell.state({"j": [np.pi]}))
    np.testing.assert_allclose(H[:3, 3], [-1, 0, np.pi / 2], atol=1e-15)


def test_motion_property_defines_a_dependent_joint():
    text = joint('<motion kind="revolute"><depends on="lead" gain="2" offset="1"/></motion>')
    cell = cell_of(
        '<Joint name="lead" type="Revolute" refframe=""/>'
        + text.replace("<Joint", '<Joint refframe="lead"')
    )

    motion = cell.frame("j").motion
    assert motion is not None
    assert motion.depends == lw.Mimic(joint="lead", multiplier=2, offset=1)


WRONG = {
    joint('<motion kind="bend"/>'): "kind.*'bend'.*revolute",
    joint('<motion kind="fixed"/>'): "kind.*'fixed'",
    joint('<motion kind="revolute" axis="0 0 0"/>'): "axis.*zero",
    joint('<motion kind="revolute" active="no"/>'): "motion active: .*true or false.*'no'",
    joint('<motion kind="revolute"><limit lower="2" upper="1"/></motion>'): "lower.*upper",
    joint(""): "<Property>.*<motion>",
    joint('<motion kind="revolute"/>').replace("Joint", "Frame").replace('type="linkwork"', ""): (
        r"linkwork\.motion: .*<Joint>"
    ),
    '<Frame name="a"><Property name="linkwork.link"/></Frame>': "<Property>.*<link>",
    '<Frame name="a" daf="true"><Property name="linkwork.parent">x</Property></Frame>': "'x'",
    '<Property name="linkwork.home">1</Property>': "outside of a frame",
    '<Robot name="r" file="arm.urdf"/>': r"'arm\.urdf'.*path",
    '<Robot name="r"><robot name="x"><link name="a"/><link name="b"/></robot></Robot>': "<text>:1:",
    '<Robot name="r"><robot name="x"><link name="a"/></robot></Robot>' * 2: (
        "robot 'r': .*use.*<text>:1"
    ),
    '<Device name="d" kind="mobile" base="WORLD"><End name="WORLD"/></Device>': r"wheels.*\b0\b",
    '<Device name="d" kind="odd" base="WORLD"><End name="WORLD"/></Device>': "Device kind: .*'odd'",
    '<Frame name="r.a"/><Robot name="r"><robot name="x"><link name="a"/></robot></Robot>': (
        r"'r\.a'.*use.*<Robot>"
    ),
}


@pytest.mark.parametrize("text", WRONG)
def test_invalid_extensions_are_rejected(text):
    assert re.search(WRONG[text], message(text), re.DOTALL)


def test_lines_of_an_inline_robot_are_those_of_the_file():
    text = """
    <Robot name="r">
      <robot name="x">
        <link name="a">
          <inertial><mass value="heavy"/></inertial>
        </link>
      </robot>
    </Robot>"""

    assert "<text>:5: link 'a': mass value: 'heavy'" in message(text)


def test_robot_is_read_from_allowed_folders_only(tmp_path: Path):
    (tmp_path / "cells").mkdir()
    (tmp_path / "arm.urdf").write_text(lw.dump_urdf(lw.robots.load("pendulum")))
    main = tmp_path / "cells" / "c.xml"
    main.write_text('<WorkCell name="c"><Robot name="r" file="../arm.urdf"/></WorkCell>')

    with pytest.raises(lw.ParseError, match=r"arm\.urdf'.*outside"):
        lw.load_workcell(main)
    assert lw.load_workcell(main, include_dirs=tmp_path).device_names == ("r",)
