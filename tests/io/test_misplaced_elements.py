"""Misspelled, misplaced and duplicate elements.

Contradictions are errors. Elements of other programs are ignored; possible misspellings are
warnings. A link is never ignored without an error.
"""

from __future__ import annotations

import pinocchio as pin
import pytest
from tests.support.messages import assert_facts
from tests.support.real_robots import load_quietly
from tests.support.urdf_files import (
    BASE,
    GOOD,
    before_end,
    chained,
    changed,
    error_lines,
    error_message,
    loaded,
)

from linkwork import Limits, LinkworkWarning, ParseError, Pose, load

pytestmark = pytest.mark.peers

LIMIT = '<limit lower="-1" upper="1" effort="5" velocity="2"/>'
XACRO = r".*`xacro robot\.xacro > robot\.urdf`"
DIRECTLY = ".*inside <robot>"


def twice(element: str) -> str:
    return changed("  </joint>", f"    {element}\n  </joint>")


# (what is wrong, text, a pattern of the facts in the only message)
ERRORS = [
    (
        "type in capitals",
        changed('"revolute"', '"Revolute"'),
        "<text>:13: joint 'hinge': .*'Revolute'.*'revolute'",
    ),
    (
        "empty type",
        changed('"revolute"', '""'),
        "<text>:13: joint 'hinge': <joint>.*empty 'type'",
    ),
    (
        "xacro for a type",
        changed('"revolute"', '"${t}"'),
        rf"<text>:13: joint 'hinge': type='\$\{{t\}}'{XACRO}",
    ),
    (
        "xacro for the name of the robot",
        changed('"lamp"', '"$(arg name)"'),
        rf"<text>:1: name='\$\(arg name\)'{XACRO}",
    ),
    (
        "robot in capitals",
        GOOD.replace("robot", "ROBOT"),
        "<text>:1: .*<robot>.*<ROBOT>",
    ),
    (
        "web page",
        "<!DOCTYPE html>\n<html></html>",
        "<text>:2: .*<robot>.*<html>",
    ),
    (
        "link in a link",
        changed(BASE, '<link name="base"><link name="inner"/></link>'),
        f"<text>:2: link 'base': .*<link>.*<link>{DIRECTLY}",
    ),
    (
        "joint in a link",
        changed(BASE, '<link name="base"><joint name="inner"/></link>'),
        f"<text>:2: link 'base': .*<joint>.*<link>{DIRECTLY}",
    ),
    (
        "link in an origin",
        changed('<origin xyz="0 0 0.5"/>', '<origin><link name="inner"/></origin>'),
        f"<text>:5: link 'arm': .*<link>.*<origin>{DIRECTLY}",
    ),
    *(
        (
            f"two of {element.split()[0]}",
            twice(f"<{element}/>"),
            (
                f"<text>:19: joint 'hinge': <joint>.*2 <{element.split()[0]}>.*"
                f"lines {line}, 19.*repair=True"
            ),
        )
        for line, element in (
            (14, 'origin xyz="0 0 0"'),
            (15, 'parent link="base"'),
            (16, 'child link="arm"'),
            (17, 'axis xyz="0 0 1"'),
            (18, LIMIT.strip("<>/")),
        )
    ),
    (
        "two masses",
        changed('<mass value="2"/>', '<mass value="2"/>\n<mass value="3"/>'),
        "<text>:7: link 'arm': <inertial>.*2 <mass>.*lines 6, 7.*repair=True",
    ),
    (
        "inertial without mass",
        changed('      <mass value="2"/>\n', ""),
        "<text>:4: link 'arm': <inertial>.*<mass>",
    ),
    (
        "blank behind a name",
        changed('<parent link="base"/>', '<parent link="base "/>'),
        "<text>:13: joint 'hinge': .*'base '.*'base'",
    ),
    (
        "pitch of a revolute joint",
        changed("<axis ", '<axis pitch="1" '),
        "<text>:13: joint 'hinge': .*revolute.*pitch.*1",
    ),
    (
        "attribute of another namespace for a name",
        changed(BASE, f'{BASE}<link xmlns:d="urn:d" d:name="b"/>'),
        "<text>:2: <link>.*'name'",
    ),
]

# (what is doubtful, text, patterns of the facts in the only warnings)
WARNINGS = [
    (
        "inertal",
        changed("<inertial>", "<inertal>", "</inertial>", "</inertal>"),
        [
            ("<text>:4: link 'arm': .*<inertal>.*<link>.*ignored.*<inertial>"),
            ("<text>:13: joint 'hinge': .*mass.*singular"),
        ],
    ),
    (
        "origin xzy",
        changed('<origin xyz="1 0 0" rpy="0 0 0"/>', '<origin xzy="1 0 0"/>'),
        ["<text>:14: joint 'hinge': <origin>.*'xzy'.*rpy, xyz"],
    ),
    (
        "limit lowr",
        changed(" lower=", " lowr="),
        [
            ("<text>:18: joint 'hinge': <limit>.*'lowr'.*'lower'"),
            "<text>:18: joint 'hinge': <limit>.*'lower'.* 0\\b",
        ],
    ),
    (
        "dampning",
        changed("  </joint>", '    <dynamics dampning="1"/>\n  </joint>'),
        [("<text>:19: joint 'hinge': <dynamics>.*'dampning'.*'damping'")],
    ),
    (
        "negative damping",
        changed("  </joint>", '    <dynamics damping="-1"/>\n  </joint>'),
        ["<text>:13: joint 'hinge': damping -1"],
    ),
    (
        "negative effort",
        changed('effort="5"', 'effort="-5"'),
        ["<text>:13: joint 'hinge': .*effort -5"],
    ),
    (
        "no upper limit",
        changed(' upper="1"', ""),
        ["<text>:18: joint 'hinge': <limit>.*'upper'.* 0\\b"],
    ),
    (
        "axis without xyz",
        changed('<axis xyz="0 1 0"/>', "<axis/>"),
        ["<text>:17: joint 'hinge': <axis>.*'xyz'.*1 0 0"],
    ),
    (
        "blank for a name",
        changed('"lamp"', '" "'),
        ["<text>:1: <robot>.*name.*'robot'"],
    ),
    (
        "empty version",
        changed('"lamp"', '"lamp" version=""'),
        ["<text>:1: .*''.*version 1"],
    ),
    (
        "text between elements",
        changed(BASE, f"{BASE} oops"),
        ["<text>:2: .*'oops'.*<robot>.*ignored"],
    ),
    (
        "CDATA that looks like a link",
        changed(BASE, f'{BASE}<![CDATA[<link name="x"/>]]>'),
        ["<text>:2: .*'<link name=\"x\"/>'.*<robot>.*ignored"],
    ),
    (
        "empty element nobody knows",
        before_end("<lights/>"),
        ["<text>:20: .*<lights>.*<robot>.*ignored"],
    ),
    (
        "prefix that is not declared",
        before_end("<drake:proximity/>", '<drake:mass d:x="1"/>'),
        ["<text>:20: .*prefix"],
    ),
]


@pytest.mark.parametrize(("text", "facts"), [e[1:] for e in ERRORS], ids=[e[0] for e in ERRORS])
def test_misplaced_element_has_one_error(text, facts):
    assert_facts(error_message(text), facts)


@pytest.mark.parametrize(("text", "facts"), [w[1:] for w in WARNINGS], ids=[w[0] for w in WARNINGS])
def test_misspelled_element_is_a_warning_and_an_error_when_strict(text, facts):
    model, messages = loaded(text)

    assert_facts(messages, facts)
    assert (model.link_names, model.joint_names) == (("base", "arm"), ("hinge",))
    assert_facts(error_lines(text, strict=True), [f"warning: {each}" for each in facts])


def test_mass_as_element_text_is_rejected_with_the_text():
    facts = [
        "error: <text>:6: link 'arm': <mass>.*'value'",
        "warning: <text>:6: link 'arm': .*'2'.*<mass>.*ignored",
    ]
    assert_facts(error_lines(changed('<mass value="2"/>', "<mass>2</mass>")), facts)


def test_capitalized_mass_is_rejected_with_a_hint():
    facts = [
        "error: <text>:4: link 'arm': <inertial>.*<mass>.*<Mass>",
        "warning: <text>:6: link 'arm': .*<Mass>.*<inertial>.*ignored.*<mass>",
    ]
    assert_facts(error_lines(changed("<mass ", "<Mass ")), facts)


@pytest.mark.parametrize(
    "lines",
    [
        ['<parts><link name="x"/></parts>'],
        ['<parts><more><joint name="x"/>', "</more></parts>"],
        ['<robot name="inner"><link name="x"/></robot>'],
        ['<p:parts xmlns:p="urn:p"><link name="x"/></p:parts>'],
        ['<link xmlns="urn:p" name="x"/>'],
        ['<x:macro xmlns:x="http://www.ros.org/wiki/xacro" name="m"><link name="x"/></x:macro>'],
    ],
    ids=["wrapper", "deep wrapper", "robot in robot", "namespace", "default namespace", "macro"],
)
def test_link_or_joint_inside_an_unknown_element_is_an_error(lines):
    """It would be ignored otherwise."""
    reasons = error_lines(before_end(*lines))

    assert [reason for reason in reasons if reason.startswith("error: <text>:20: ")]


def test_link_inside_an_unknown_element_of_a_link_is_an_error():
    text = changed(BASE, '<link name="base"><parts><link name="x"/></parts></link>')

    assert [r for r in error_lines(text) if r.startswith("error: <text>:2: link 'base': ")]


@pytest.mark.parametrize("tag", ["Link", "LINK", "Joint", "lnik"])
def test_misspelled_link_or_joint_is_never_ignored_silently(tag: str):
    meant = "joint" if tag == "Joint" else "link"
    text = before_end(f'<{tag} name="x"/>')

    assert_facts(loaded(text)[1], f"<text>:20: .*<{tag}>.*<robot>.*ignored.*<{meant}>")


@pytest.mark.parametrize(
    "line",
    [
        '<gazebo reference="arm"><link name="arm"/></gazebo>',
        '<group name="g"><link name="arm"/><joint name="hinge"/></group>',
        '<transmission name="t"><joint name="hinge"/></transmission>',
        '<ros2_control name="c"><joint name="other"/></ros2_control>',
        '<d:extension xmlns:d="urn:d"><d:link name="x"/></d:extension>',
        "<?php link ?><!-- <link name='x'/> -->",
    ],
    ids=["gazebo", "group", "transmission", "ros2_control", "namespace", "instruction"],
)
def test_extensions_of_other_programs_are_ignored(line: str):
    assert loaded(before_end(line)) == loaded(GOOD)


@pytest.mark.parametrize("around", ["gazebo", "group", "sensor", "plugin"])
@pytest.mark.parametrize("tag", ["link", "joint"])
def test_link_or_joint_inside_an_ignored_element_is_a_warning(around, tag):
    line = f'<{around} name="g"><inner><{tag} name="arms"/></inner></{around}>'

    model, messages = loaded(before_end(line))
    assert model == loaded(GOOD)[0]
    assert_facts(messages, [f"<text>:20: {tag} 'arms': .*<{tag}>.*<{around}>"])


def test_attribute_with_a_declared_prefix_is_ignored():
    assert loaded(changed(BASE, '<link name="base" xmlns:d="urn:d" d:nam="x"/>')) == loaded(GOOD)


def test_robot_in_a_namespace_is_rejected_with_its_name():
    text = changed("<robot ", '<robot xmlns="http://www.ros.org" ')

    message = error_message(text)

    assert_facts(message, r"<text>:1: .*<robot>.*http://www\.ros\.org")


def test_invalid_joint_causes_no_errors_of_joints_that_mimic_it():
    broken = chained("a", "arm", '<origin xyz="?"/>')
    follower = chained("b", "arm", '<mimic joint="a_joint"/>')

    facts = "<text>:20: joint 'a_joint': origin xyz: .*3.*1.*'[?]'"
    assert_facts(error_message(before_end(broken, follower)), facts)


def test_joint_without_a_parent_is_known_to_joints_that_mimic_it():
    broken = changed('<parent link="arm"/>', "", text=chained("a", "arm"))
    follower = chained("b", "arm", '<mimic joint="a_joint"/>')

    facts = "<text>:20: joint 'a_joint': <joint>.*<parent>"
    assert_facts(error_message(before_end(broken, follower)), facts)


def test_hint_for_an_unknown_leader_excludes_the_joint():
    text = changed(LIMIT, f'{LIMIT}<mimic joint="hinges"/>')

    assert_facts(error_message(text), "<text>:13: joint 'hinge': .*'hinges'")
    assert "mean 'hinge'" not in error_message(text)


def test_axis_and_limits_of_a_fixed_joint_are_ignored():
    text = changed('"revolute"', '"fixed"', '"0 1 0"', '"0 0 0"', 'lower="-1"', 'lower="7"')
    model, messages = loaded(text)

    assert model.joint("hinge").limits == Limits()
    assert messages == []


@pytest.mark.parametrize(
    ("kind", "read_as", "limits"),
    [
        ("continuous", "revolute", Limits(effort=5, velocity=2)),
        ("revolute_cos_sin", "revolute_cos_sin", Limits(effort=5, velocity=2)),
        ("prismatic", "prismatic", Limits(lower=-1, upper=1, effort=5, velocity=2)),
        ("helical", "helical", Limits(lower=-1, upper=1, effort=5, velocity=2)),
        ("fixed", "fixed", Limits()),
        ("planar", "planar", Limits()),
        ("floating", "floating", Limits()),
        ("ball", "spherical", Limits()),
    ],
)
def test_joint_type_decides_which_limits_apply(kind, read_as, limits):
    model, messages = loaded(changed('"revolute"', f'"{kind}"'))

    assert model.joint("hinge").kind == read_as
    assert model.joint("hinge").limits == limits
    assert model.joint("hinge").first_H_joint == Pose((1, 0, 0))
    assert messages == []


def test_repair_uses_the_first_of_two_elements_as_pinocchio():
    text = changed(
        "<axis ",
        '<origin xyz="7 0 0"/>\n<axis ',
        '<mass value="2"/>',
        '<mass value="2"/><mass value="3"/>',
    )

    with pytest.warns(LinkworkWarning, match=r"<joint>.*2 <origin>") as caught:
        model = load(text, repair=True)

    assert len(caught[0].message.findings) == 2
    assert model == load(GOOD)
    assert load_quietly(text, repair=True, strict=True) == model  # repairs are no doubts
    peer = pin.buildModelFromXML(text)
    assert peer.jointPlacements[1].translation[0] == model.joint("hinge").first_H_joint.xyz[0]


def test_two_origins_of_a_visual_are_a_warning():
    """Other programs use the first, and it affects only the appearance."""
    text = changed("<visual>", '<visual><origin xyz="1 0 0"/>\n<origin xyz="2 0 0"/>')

    with pytest.warns(LinkworkWarning, match=r"<visual>.*2 <origin>"):
        model = load(text)

    assert model.link("arm").visuals[0].link_H_shape.xyz == (1.0, 0.0, 0.0)
    with pytest.raises(ParseError, match=r"<collision>.*2 <origin>"):
        load(text.replace("visual>", "collision>"))


@pytest.mark.parametrize(
    ("data", "fact"),
    [
        (
            b'<robot name="a"><group name="arm"><link name="b"/></group></robot>',
            "SRDF",
        ),
        (b'#usda 1.0\ndef Xform "a" {}', "USD"),
        (b"PXR-USDC\x00\x00\x08\xff", "USD"),
        (b"PK\x03\x04\x00\xff", "usdz"),
        (b'<DynamicWorkCell workcell="a.wc.xml"/>', "load_workcell"),
    ],
)
def test_error_names_other_file_formats(data, fact, tmp_path):
    file = tmp_path / "robot"
    file.write_bytes(data)

    with pytest.raises(ParseError, match=fact):
        load(file)
