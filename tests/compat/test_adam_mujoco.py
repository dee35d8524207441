"""MuJoCo models in the adam interface: the root, the moving joints, and poses of bodies."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from tests.support.adam import State, adam_model, quietly
from tests.support.models import assert_close

from linkwork.compat.adam import KinDynComputations

ARM = """<mujoco model="arm"><compiler angle="radian"/><worldbody>
  <body name="trunk" pos="0 0 1">{free}<geom type="box" size=".1 .1 .1" mass="2"/>
    <body name="upper" pos="0.1 0 0.2"><joint name="shoulder" axis="0 1 0" pos="0 0 -0.1"/>
      <geom type="box" size=".05 .05 .2" mass="1"/><site name="mark" pos="0 0 .2"/>
      <body name="lower" pos="0 0 0.4"><joint name="slide" type="slide" axis="0 0 1"/>
        <geom type="box" size=".05 .05 .1" mass=".5"/></body></body></body>
  </worldbody><actuator><motor name="drive" joint="slide"/></actuator></mujoco>"""


@pytest.mark.parametrize("free", ["<freejoint/>", "", '<joint name="hinge" axis="0 0 1"/>'])
def test_a_mujoco_model_has_its_one_body_as_the_root(free):
    mj = mujoco.MjModel.from_xml_string(ARM.format(free=free))
    kd = quietly(KinDynComputations.from_mujoco_model, mj)
    assert kd.root_link == "trunk"
    assert kd.model.actuated_joints == ["shoulder", "slide"]
    assert list(kd.model.links) == ["trunk", "upper", "lower"]
    assert list(kd.model.frames) == ["mark"]
    assert_close(kd.get_total_mass(), 3.5)
    assert quietly(KinDynComputations, mj).NDoF == 2


UNNAMED = """<mujoco><compiler angle="radian"/><worldbody>
  <site name="of the world"/>
  <body name="trunk"><freejoint/><geom size=".1" mass="2"/><site pos="0 0 .1"/>
    <body pos="0 .1 0"><joint axis="0 1 0"/><geom size=".1" mass="1"/>
      <body name="rigid" pos="0 0 .3"><geom size=".1" mass="1"/></body>
      <body name="tool"><site name="tool" pos="0 0 1"/><site name="tip" pos=".1 0 0" euler="1 0 0"/>
      </body></body>
    <body name="foot"><joint name="slide" type="slide" range="-1 2"/><geom size=".1" mass="1"/>
      <body/></body></body>
  </worldbody></mujoco>"""


def test_parts_of_a_mujoco_model_have_the_names_and_types_of_adam():
    """adam 0.5 has no sites; later versions have each as a frame on a fixed joint."""
    mj = mujoco.MjModel.from_xml_string(UNNAMED)
    theirs, kd = adam_model(mj), quietly(KinDynComputations, mj)
    actual, sites = kd.model, ["site_1", "tip"]

    assert theirs.name == actual.name
    assert list(actual.links) == list(theirs.links)
    assert "body_2" in actual.links
    assert list(actual.frames) == [*theirs.frames, *sites]
    holders = ["trunk_to_site_1_fixed", "tool_to_tip_fixed"]
    assert list(actual.joints) == [*theirs.joints, *holders]
    assert actual.actuated_joints == theirs.actuated_joints
    assert list(actual.tree.ordered_nodes_list) == theirs.tree.ordered_nodes_list
    for name, joint in theirs.joints.items():
        ours = actual.joints[name]
        assert [ours.parent, ours.child, ours.type] == [joint.parent, joint.child, joint.type]
        assert [ours.limit.lower, ours.limit.upper] == [joint.limit.lower, joint.limit.upper]


def test_sites_are_frames_on_fixed_joints():
    mj = mujoco.MjModel.from_xml_string(UNNAMED)
    kd, state = quietly(KinDynComputations, mj), State(2)
    chain = kd.model.get_joints_chain("trunk", "tip")
    assert [joint.name for joint in chain] == [
        "joint_1",
        "body_2_to_tool_fixed",
        "tool_to_tip_fixed",
    ]
    pose = state.H
    for joint in chain:
        pose = pose @ joint.homogeneous(state.s[joint.idx] if joint.idx is not None else 0.0)
    assert_close(kd.forward_kinematics("tip", state.H, state.s), pose, 1e-12)
    assert kd.model.frames["tip"].inertial.mass == 0


def test_a_mujoco_joint_rotates_about_its_anchor():
    """adam rotates the body about another point if the anchor is not its origin."""
    mj = mujoco.MjModel.from_xml_string(ARM.format(free="<freejoint/>"))
    kd = quietly(KinDynComputations.from_mujoco_model, mj)
    data, state = mujoco.MjData(mj), State(2)
    wxyz = np.zeros(4)
    mujoco.mju_mat2Quat(wxyz, state.H[:3, :3].ravel())
    data.qpos[:] = np.concatenate([state.H[:3, 3], wxyz, state.s])
    mujoco.mj_kinematics(mj, data)
    for body in ("trunk", "upper", "lower"):
        pose = kd.forward_kinematics(body, state.H, state.s)
        assert_close(pose[:3, 3], data.body(body).xpos, 1e-12)
        assert_close(pose[:3, :3], data.body(body).xmat.reshape(3, 3), 1e-12)


def test_actuators_select_the_moving_joints():
    mj = mujoco.MjModel.from_xml_string(ARM.format(free="<freejoint/>"))
    kd = quietly(KinDynComputations.from_mujoco_model, mj, use_mujoco_actuators=True)
    assert kd.model.actuated_joints == ["slide"]


def test_a_mujoco_model_with_several_robots_raises():
    two = ARM.replace("</worldbody>", '<body name="ball"><geom size=".1"/></body></worldbody>')
    mj = mujoco.MjModel.from_xml_string(two.format(free=""))
    with pytest.raises(ValueError, match=r"one top-level body.*trunk"):
        quietly(KinDynComputations, mj)
