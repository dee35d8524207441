"""MJCF elements beyond a tree of rigid bodies: converted, or reported as left out."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.support.messages import assert_facts
from tests.support.urdf_files import loaded, notes

import linkwork as lw
from linkwork import Mimic, Model
from linkwork.io.mjcf.reader import collected_warnings

mujoco = pytest.importorskip("mujoco")

BALL = '<geom size=".1" mass="1"/>'
ARM = f'<body name="arm"><joint name="hinge"/>{BALL}</body>'


def mjcf(body: str, more: str = "") -> str:
    return f"<mujoco><worldbody>{body}</worldbody>{more}</mujoco>"


def quietly(body: str, more: str = "", **options: bool) -> Model:
    """Load without warnings, which are errors in tests."""
    return lw.load(mjcf(body, more), **options)


TWO = f'<body name="a"><joint name="one" ref="10"/>{BALL}<body name="b"><joint name="two"/>{BALL}'
TWO += f'<body name="c"><joint name="three" type="slide"/>{BALL}</body></body></body>'


def equality(*lines: str) -> str:
    return f"<equality>{''.join(lines)}</equality>"


def test_linear_joint_equality_makes_a_dependent_joint():
    more = equality('<joint joint1="two" joint2="one" polycoef=".5 -2 0 0 0"/>')

    assert quietly(TWO, more).joint("two").mimic == Mimic(joint="one", multiplier=-2, offset=0.5)
    assert quietly(TWO, more, mimic=False).joint("two").mimic is None


TENDONS = "".join(
    f'<fixed name="{name}"><joint joint="{joint}" coef="1"/></fixed>'
    for name, joint in (("s", "one"), ("t", "two"))
)


def test_equality_of_tendons_is_left_out_with_a_warning():
    more = f"<tendon>{TENDONS}</tendon>"
    more += equality('<tendon name="rope" tendon1="s" tendon2="t"/>', '<tendon tendon1="s"/>')
    model, messages = loaded(mjcf(TWO, more))

    assert_facts(messages, ["left out: equality.*tendon: rope, .*index 1$"])
    assert model.constraints == ()


def test_inactive_equality_is_ignored_without_a_warning():
    lines = '<joint joint1="two" joint2="one" active="false"/><weld body1="b" active="false"/>'
    model = quietly(TWO, equality(lines))

    assert (model.joint("two").mimic, model.constraints) == (None, ())


TENDON = '<tendon><fixed name="t" stiffness="3"><joint joint="hinge" coef="1"/></fixed></tendon>'
SPRING = ARM.replace('"hinge"', '"hinge" stiffness="2"')
FREE = f'<body name="a"><joint type="free" damping="1" armature="2" frictionloss="3"/>{BALL}</body>'


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (mjcf(SPRING), ["left out: stiffness.*: hinge$"]),
        (
            mjcf(FREE),
            [
                "left out: damping.*free joint of 'a'",
                "left out: frictionloss.*free joint of 'a'",
                "left out: armature.*free joint of 'a'",
            ],
        ),
        (
            mjcf(ARM, TENDON),
            ["left out: tendons.*: t$"],
        ),
        (mjcf(ARM, '<option density="1.2"/>'), ["left out: .*fluid"]),
        (
            mjcf(ARM, '<option gravity="0 0 -3.71"/>'),
            [r"left out: gravity.*KinDyn\(model, gravity=\(0, 0, -3\.71\)\)"],
        ),
        (
            mjcf(ARM, '<option><flag gravity="disable"/></option>'),
            [r"left out: gravity.*KinDyn\(model, gravity=\(0, 0, 0\)\)"],
        ),
        (
            mjcf(ARM.replace('"arm"', '"arm" gravcomp="1"')),
            ["left out: gravity compensation.*: arm$"],
        ),
    ],
)
def test_unsupported_elements_that_affect_motion_are_warnings(text: str, messages: list[str]):
    assert_facts(loaded(text)[1], messages)
    assert_facts(error_lines_of(text), messages)


def error_lines_of(text: str) -> list[str]:
    with pytest.raises(lw.ParseError) as caught:
        lw.load(text, strict=True)
    return [str(finding) for finding in caught.value.findings]


@pytest.mark.parametrize("down", ["9.8", "9.80665", "9.81"])
def test_gravity_of_the_earth_has_no_warning(down: str):
    quietly(ARM, f'<option gravity="0 0 -{down}"/>')


def test_actuators_sensors_contacts_and_plain_tendons_have_no_warning():
    quietly(
        ARM + '<geom type="plane" size="1 1 1"/><light/><camera/>',
        '<actuator><motor joint="hinge"/></actuator><sensor><jointpos joint="hinge"/></sensor>'
        '<tendon><fixed><joint joint="hinge" coef="1"/></fixed></tendon>'
        '<contact><exclude body1="arm" body2="world"/></contact>'
        '<keyframe><key qpos="1"/></keyframe>',
    )


def test_ignored_elements_that_do_not_affect_motion_have_notes():
    free = f'<site name="mark"/><body name="a"><freejoint/>{BALL}</body>'
    mocap = f'{ARM}<body name="hand" mocap="true"/>'

    assert any(re.match("sites.*left out.*: mark$", note) for note in notes(mjcf(free)))
    assert any(re.match("left out: .*mocap.*: hand$", note) for note in notes(mjcf(mocap)))
    turned = '<body><joint name="j" ref="30"/><joint name="k"/><geom size=".1"/></body>'
    assert any(re.match("left out: ref .*: j$", note) for note in notes(mjcf(turned)))


def test_warnings_of_mujoco_are_collected_and_leave_no_file(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = mujoco.get_mju_user_warning()
    mj = mujoco.MjModel.from_xml_string(mjcf(ARM))
    data = mujoco.MjData(mj)
    data.qpos[0] = np.nan

    with collected_warnings(mujoco) as messages:
        mujoco.mj_step(mj, data)

    assert len(messages) == 1
    assert "QPOS at DOF 0" in messages[0]
    assert list(tmp_path.iterdir()) == []
    assert mujoco.get_mju_user_warning() is before


def test_one_warning_lists_all_findings():
    text = mjcf(SPRING, '<option density="1"/>' + TENDON)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lw.load(text)

    (warning,) = caught
    assert warning.filename == __file__
    assert str(warning.message).startswith("3 warnings\n")


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ("damper", (0.0, 0.7)),
        ("frictionloss", (0.3, 0.0)),
        ("constraint", (0.3, 0.0)),
        ("spring", (0.3, 0.7)),
    ],
)
def test_disabled_flags_disable_joint_forces(flag, expected):
    """Joint forces with `joint_dynamics=True` agree with MuJoCo's inverse dynamics."""
    joint = '<joint name="hinge" damping=".3" frictionloss=".7"/>'
    text = mjcf(
        ARM.replace('<joint name="hinge"/>', joint),
        f'<option><flag {flag}="disable" contact="disable"/></option>',
    )

    model = lw.load(text)

    assert (model.joint("hinge").damping, model.joint("hinge").friction) == expected
    if flag == "damper":
        text = text.replace('frictionloss=".7"', "")
        mj = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(mj)
        data.qvel[:] = 2.0
        mujoco.mj_inverse(mj, data)
        kd = lw.KinDyn(
            lw.load(text.replace('frictionloss=".7"', "")), joint_dynamics=True, floating=False
        )
        assert kd.inverse_dynamics([0.0], [2.0], [0.0]) == pytest.approx(data.qfrc_inverse)


@pytest.mark.parametrize("flag", ["equality", "constraint"])
def test_disabled_equalities_make_no_dependent_joints(flag):
    more = equality(
        '<joint joint1="two" joint2="one"/>', '<connect body1="a" body2="c" anchor="0 0 0"/>'
    )
    more += f'<option><flag {flag}="disable"/></option>'

    model = quietly(TWO, more)
    assert (model.joint("two").mimic, model.constraints) == (None, ())


def test_disabled_springs_have_no_warning():
    spring = ARM.replace('<joint name="hinge"/>', '<joint name="hinge" stiffness="3"/>')

    quietly(spring, '<option><flag spring="disable"/></option>')


def test_disabled_limits_are_read_with_a_note():
    limited = ARM.replace('<joint name="hinge"/>', '<joint name="hinge" range="-30 60"/>')
    text = mjcf(limited, '<option><flag limit="disable"/></option>')

    assert lw.load(text).joint("hinge").limits.upper == pytest.approx(1.0471975511965976)
    assert [note for note in notes(text) if "limits" in note]
