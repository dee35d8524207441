"""SRDF files: groups, named configurations, disabled pairs; against Pinocchio on real files."""

from __future__ import annotations

import pickle
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.support.real_robots import FILES, label, load_quietly

import linkwork as lw
from linkwork.io.srdf import read_srdf
from linkwork.io.xml.documents import read_source

ARM = """<robot name="two_arms">
  <link name="torso"/> <link name="hip"/>
  <link name="l_upper"/> <link name="l_hand"/> <link name="l_tool"/>
  <link name="r_upper"/> <link name="r_hand"/> <link name="l_finger"/>
  <joint name="waist" type="continuous"><parent link="hip"/><child link="torso"/></joint>
  <joint name="l_shoulder" type="continuous"><parent link="torso"/><child link="l_upper"/></joint>
  <joint name="l_elbow" type="continuous"><parent link="l_upper"/><child link="l_hand"/></joint>
  <joint name="l_mount" type="fixed"><parent link="l_hand"/><child link="l_tool"/></joint>
  <joint name="r_shoulder" type="spherical"><parent link="torso"/><child link="r_upper"/></joint>
  <joint name="r_elbow" type="continuous"><parent link="r_upper"/><child link="r_hand"/></joint>
  <joint name="l_grip" type="continuous"><parent link="l_hand"/><child link="l_finger"/>
    <mimic joint="l_elbow" multiplier="2"/></joint>
</robot>"""


@pytest.fixture(scope="module")
def arm():
    return load_quietly(ARM)


def srdf_of(arm, *lines):
    return lw.load_srdf('<robot name="two_arms">\n' + "\n".join(lines) + "\n</robot>", arm)


def assert_contains(text, *facts):
    for fact in facts:
        assert fact in text


def messages(arm, *lines):
    """All findings of a file, by line; the first of the lines is line 2."""
    text = '<robot name="two_arms">\n' + "\n".join(lines) + "\n</robot>"
    _, findings = read_srdf(read_source(text), arm)
    return {f.location.line: f"{f.severity}: {f.element}: {f.text}" for f in findings}


def test_chains_links_joints_and_nested_groups_are_expanded(arm):
    srdf = srdf_of(
        arm,
        '<group name="both"><group name="left"/><group name="right"/></group>',
        '<group name="left"><chain base_link="torso" tip_link="l_tool"/></group>',
        '<group name="right"><joint name="r_shoulder"/><link name="r_hand"/></group>',
        '<group name="across"><chain base_link="r_hand" tip_link="l_upper"/></group>',
    )

    left, right = srdf.group("left"), srdf.group("right")
    assert left.joints == ("l_shoulder", "l_elbow", "l_mount")
    assert left.links == ("torso", "l_upper", "l_hand", "l_tool")
    assert right.joints == ("r_shoulder", "r_elbow")
    assert right.links == ("r_upper", "r_hand")
    assert set(srdf.group("both").joints) == {*left.joints, *right.joints}
    assert srdf.group("across").joints == ("l_shoulder", "r_shoulder", "r_elbow")
    assert srdf.group("across").links == ("torso", "l_upper", "r_upper", "r_hand")
    with pytest.raises(lw.NameNotFoundError, match="'left'"):
        srdf.group("lef")
    assert pickle.loads(pickle.dumps(srdf)) == srdf


def test_states_are_configurations_of_the_model(arm):
    srdf = srdf_of(
        arm,
        '<virtual_joint name="drive" type="planar" parent_frame="map" child_link="hip"/>',
        '<group name="left"><joint name="l_elbow"/></group>',
        '<group name="right"><joint name="r_elbow"/></group>',
        '<group_state name="up" group="left"><joint name="l_elbow" value="0.5"/>',
        '<joint name="l_grip" value="1"/></group_state>',
        '<group_state name="up" group="right"><joint name="r_elbow" value="-0.5"/></group_state>',
        '<group_state name="driven"><joint name="drive" value="1 2 0.5"/>',
        '<joint name="r_shoulder" value="0.5 0.5 -0.5 0.5"/></group_state>',
    )
    model = srdf.added_to(arm)
    kd = lw.KinDyn(model)

    assert [one.name for one in model.configurations] == ["left/up", "right/up", "driven"]
    np.testing.assert_array_equal(kd.q("left/up"), kd.q(l_elbow=0.5))
    np.testing.assert_array_equal(kd.q("right/up", l_elbow=1), kd.q(l_elbow=1, r_elbow=-0.5))
    driven = kd.q("driven")
    np.testing.assert_array_equal(driven[:3], [1, 2, 0])
    np.testing.assert_allclose(driven[3:7], [np.cos(0.25), 0, 0, np.sin(0.25)], atol=1e-15)
    np.testing.assert_array_equal(driven[kd.layout.q["r_shoulder"]], [0.5, 0.5, 0.5, -0.5])
    with pytest.raises(lw.NameNotFoundError, match="left/up"):
        kd.q("up")


def test_disabled_pairs_count_more_than_enabled_ones_and_those_more_than_defaults(arm):
    srdf = srdf_of(
        arm,
        '<disable_default_collisions link="l_tool"/>',
        '<enable_collisions link1="l_tool" link2="hip"/>',
        '<enable_collisions link1="torso" link2="l_tool"/>',
        '<disable_collisions link1="l_tool" link2="torso" reason="Never"/>',
        '<disable_collisions link1="hip" link2="torso" reason="Adjacent"/>',
    )

    others = {"l_upper", "l_hand", "r_upper", "r_hand", "l_finger", "torso"}
    expected = {frozenset(("l_tool", other)) for other in others} | {frozenset(("hip", "torso"))}
    assert srdf.disabled_pairs == expected
    assert len(srdf.disabled_collisions) == len(expected)
    reasons = {frozenset((one.first, one.second)): one.reason for one in srdf.disabled_collisions}
    assert reasons[frozenset(("l_tool", "torso"))] == "Never"


def test_other_elements(arm):
    srdf = srdf_of(
        arm,
        '<group name="tool"><link name="l_tool"/></group> <gripper name="g"/>',
        '<group_tcps group="tool"/> <contact_managers_plugin_config filename="a.yaml"/>',
        '<end_effector name="ee" parent_link="l_hand" group="tool"/> <passive_joint name="v"/>',
        '<virtual_joint name="v" type="floating" parent_frame="world" child_link="hip"/>',
        '<link_sphere_approximation link="l_hand"><sphere center="1 2 3" radius="0.5"/>',
        "</link_sphere_approximation>",
    )

    assert srdf.virtual_joints[0].kind == "floating"
    ignored = ("gripper", "group_tcps", "contact_managers_plugin_config", "end_effector")
    assert srdf.ignored == (*ignored, "passive_joint", "link_sphere_approximation")


def test_all_findings_of_a_file_are_reported_with_line_and_nearest_name(arm):
    found = messages(
        arm,
        '<group name="a"><joint name="l_elbo"/></group>',
        '<group name="b"><link name="torso"/></group>',
        '<group name="c" nam="x"/>',
        '<group name="a"/>',
        '<group_state name="s" group="a"><joint name="l_elbow" value="1 2"/></group_state>',
        '<group_state name="t"><joint name="r_shoulder" value="1 1 1 1"/></group_state>',
        '<disable_collisions link1="torsso" link2="hip"/>',
        '<disable_collisions link1="torsso" link2="hip"/>',
        '<virtual_joint name="v" type="float" parent_frame="w" child_link="hip"/>',
        '<disable_collision link1="torso" link2="hip"/>',
        '<group_state name="m"><joint name="l_grip" value="1"/></group_state>',
        "",
        '<group_state name="f"><joint name="root_joint" value="0 0 0 0 0 0 2"/></group_state>',
        '<virtual_joint name="u" type="fixed" parent_frame="w" child_link="hipp"/>',
        '<virtual_joint name="x" type="fixed" parent_frame="w" child_link="hip"/>',
        '<virtual_joint name="x" type="fixed" parent_frame="w" child_link="hip"/>',
        '<virtual_joint name="x" type="fixed" parent_frame="w" child_link="torso"/>',
    )

    assert sorted(found) == [2, 4, 5, 6, 7, 8, 10, 11, 12, 14, 15, 18]
    assert_contains(found[2], "warning", "group 'a'", "'l_elbo'", "'l_elbow'")
    assert_contains(found[4], "warning", "group 'c'", "'nam'", "'name'")
    assert_contains(found[5], "error", "group 'a'", "taken", ":2")
    assert_contains(found[6], "error", "'s'", "1 number", "2")
    assert_contains(found[7], "error", "'r_shoulder'", "norm 2")
    assert_contains(found[8], "warning", "'torsso'", "'torso'")
    assert_contains(found[10], "error", "'float'", "'floating'")
    assert_contains(found[11], "warning", "<disable_collision>", "'disable_collisions'")
    assert_contains(found[12], "warning", "'l_grip'", "'l_elbow'")
    assert_contains(found[14], "error", "'root_joint'", "norm 2")
    assert_contains(found[15], "warning", "'u'", "'hipp'", "'hip'")
    assert_contains(found[18], "error", "virtual joint 'x'", "taken")


def test_unknown_and_recursive_groups(arm):
    found = messages(
        arm,
        '<group name="b"><group name="c"/></group>',
        '<group name="c"><group name="b"/></group>',
        '<group name="d"><group name="bb"/></group>',
    )

    assert_contains(found[2], "error", "contains itself", "b -> c -> b")
    assert_contains(found[4], "warning", "'bb'", "group 'd'")


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("<mujoco/>", ["<robot>", "<mujoco>"]),
        (ARM, ["URDF"]),
        ("<robot", ["<text>:1", "XML"]),
        ("<robot name='x'><group/></robot>", ["<group>", "'name'"]),
    ],
)
def test_files_that_are_not_srdf_are_rejected(text, facts, arm):
    with pytest.raises(lw.ParseError) as caught:
        lw.load_srdf(text, arm)
    assert_contains(str(caught.value), *facts)


def test_load_reads_both_files_and_strict_raises(tmp_path):
    urdf, srdf = tmp_path / "arm.urdf", tmp_path / "arm.srdf"
    urdf.write_text(ARM)
    states = '<joint name="wast" value="1"/><joint name="waist" value="2"/>'
    srdf.write_text(f'<robot name="x"><group_state name="s">{states}</group_state></robot>')

    with pytest.warns(lw.LinkworkWarning, match=r"'wast'.*'waist'"):
        model = lw.load(urdf, srdf=srdf)
    assert dict(model.configuration("s").positions) == {"waist": (2.0,)}
    with pytest.raises(lw.ParseError, match=r"arm\.srdf:1.*'wast'"):
        lw.load_srdf(srdf, model, strict=True)
    with pytest.raises(lw.MissingFileError):
        lw.load(urdf, srdf=tmp_path / "none.srdf")
    with pytest.raises(lw.ArgumentError, match="Model"):
        lw.load_srdf(srdf, "arm")


XACRO = """<?xml version="1.0"?>
<robot name="$(arg name)" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:include filename="$(find arms)/macros.xacro"/>
  <xacro:arm side="l"/> <xacro:arm side="$(arg name)"/>
</robot>"""
MACROS = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:macro name="arm" params="side">
  <group name="${side}_arm"><chain base_link="torso" tip_link="${side}_hand"/></group>
  <group_state name="${side}_up"><joint name="${side}_elbow" value="${pi / 2}"/></group_state>
</xacro:macro></robot>"""


@pytest.fixture
def xacro_file(tmp_path):
    (tmp_path / "arms").mkdir()
    (tmp_path / "arms/package.xml").write_text("<package><name>arms</name></package>")
    (tmp_path / "arms/macros.xacro").write_text(MACROS)
    (tmp_path / "arm.srdf.xacro").write_text(XACRO)
    return tmp_path / "arm.srdf.xacro"


def test_xacro_is_expanded(xacro_file, arm, tmp_path):
    pytest.importorskip("xacro")
    options = {"xacro_args": {"name": "r"}, "package_dirs": tmp_path}
    srdf = lw.load_srdf(xacro_file, arm, **options)

    assert srdf.name == "r"
    assert [(group.name, group.joints) for group in srdf.groups] == [
        ("l_arm", ("l_shoulder", "l_elbow")),
        ("r_arm", ("r_shoulder", "r_elbow")),
    ]
    assert srdf.configurations[1].positions == (("r_elbow", (np.pi / 2,)),)
    with pytest.raises(lw.ParseError, match=r"arm\.srdf\.xacro:1: xacro: .*argument name"):
        lw.load_srdf(xacro_file, arm, package_dirs=tmp_path)
    with pytest.raises(lw.ParseError, match=r"macros\.xacro:1: xacro: .*macros.*no groups"):
        lw.load_srdf(tmp_path / "arms/macros.xacro", arm)
    with pytest.raises(lw.ArgumentError, match="xacro_args"):
        lw.load_srdf("<robot name='x'/>", arm, xacro_args={"name": "r"})


def test_load_passes_its_xacro_arguments_to_both_files(xacro_file, tmp_path):
    pytest.importorskip("xacro")
    space = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
    declared = '<xacro:arg name="base" default="x"/><xacro:property name="a" value="$(arg base)"/>'
    robot = ARM.replace("<robot ", f"<robot {space} ").replace("</robot>", f"{declared}</robot>")
    arguments = {"base": "hip", "name": "r"}

    with pytest.warns(lw.LinkworkWarning) as caught:
        model = lw.load(robot, srdf=xacro_file, xacro_args=arguments, package_dirs=tmp_path)

    assert [configuration.name for configuration in model.configurations] == ["l_up", "r_up"]
    assert "arm.srdf.xacro" not in str(caught[0].message)  # it need not declare `base`


def test_without_xacro_its_files_are_rejected_with_a_hint(xacro_file, arm, monkeypatch):
    monkeypatch.setitem(sys.modules, "xacro", None)  # as if it were not installed
    with pytest.raises(lw.ParseError, match=r":3: <xacro:include>.*pip install xacro"):
        lw.load_srdf(xacro_file, arm)


# Files whose URDF has another name; cassie_v2 has only SDF files.
URDF_OF = {
    "hyq": "hyq_no_sensors",
    "talos": "talos_full_v2",
    "alexander": "alexander_v1.lowerBodyOnly",
    "baxter_manipulation": "baxter",
    "ur5": "ur5_robot",
    "romeo_moveit": "romeo",
    "pr2_manipulation": "pr2",
}


def real_pairs():
    folders = {path.parents[1] for path in FILES}
    for path in sorted(p for folder in folders for p in folder.glob("srdf/*.srdf")):
        stem = URDF_OF.get(path.stem, path.stem)
        yield path, next(f for f in FILES if f.stem == stem and f.parents[1] == path.parents[1])


REAL = list(real_pairs())


@pytest.mark.peers
def test_example_robot_data_has_37_files_with_a_urdf():
    assert len(REAL) == 37


@pytest.mark.peers
@pytest.mark.parametrize(("path", "urdf"), REAL, ids=[label(path) for path, _ in REAL])
def test_real_files_agree_with_pinocchio(path: Path, urdf: Path):
    """Named configurations as in Pinocchio, and the disabled pairs of links that exist."""
    import pinocchio as pin
    from lxml import etree

    model = load_quietly(urdf, mimic=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)
        srdf = lw.load_srdf(path, model)
    peer = pin.buildModelFromUrdf(str(urdf), pin.JointModelFreeFlyer())
    pin.loadReferenceConfigurations(peer, str(path), False)

    kd = lw.KinDyn(srdf.added_to(model), floating=True)
    assert {c.name for c in srdf.configurations} == {x.key() for x in peer.referenceConfigurations}
    for item in peer.referenceConfigurations:
        q, expected = kd.q(item.key()), item.data()
        np.testing.assert_allclose(q[:7], expected[[0, 1, 2, 6, 3, 4, 5]], atol=1e-12)
        for name, theta in kd.model.configuration(item.key()).positions:
            joint = peer.joints[peer.getJointId(name)]
            value = expected[joint.idx_q : joint.idx_q + joint.nq]
            angle = [np.arctan2(value[1], value[0])] if joint.nq == 2 else value
            np.testing.assert_allclose(theta, angle, atol=1e-12)
    elements = etree.parse(path).iter("disable_collisions")
    pairs = {frozenset((e.get("link1"), e.get("link2"))) for e in elements}
    assert srdf.disabled_pairs == {pair for pair in pairs if pair <= set(model.link_names)}


@pytest.mark.filterwarnings("ignore::linkwork.LinkworkWarning")
def test_a_collision_model_uses_the_srdf_file_that_the_robot_was_loaded_with(tmp_path):
    ball = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
    links = "".join(f'<link name="l{k}">{ball}</link>' for k in range(5))
    joint = '<joint name="j{0}" type="continuous"><parent link="l{0}"/><child link="l{1}"/></joint>'
    joints = "".join(joint.format(k, k + 1) for k in range(4))
    path = tmp_path / "r.srdf"
    path.write_text('<robot name="r"><disable_collisions link1="l3" link2="l0"/></robot>')
    text = f'<robot name="r">{links}{joints}</robot>'

    model = lw.load(text, srdf=path).with_limits(effort={"j0": 1})
    pairs = lw.CollisionModel(model, floating=False, pairs="srdf").pairs

    assert pairs == (("l0", "l2"), ("l0", "l4"), ("l1", "l3"), ("l1", "l4"), ("l2", "l4"))
    without = lw.load(text)
    assert lw.CollisionModel(without, floating=False, pairs="srdf", srdf=path).pairs == pairs
    with pytest.raises(lw.ArgumentError, match="srdf"):
        lw.CollisionModel(without, floating=False, pairs="srdf")
