"""Models that a file attaches: their joints, poses and masses are those in MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.models import assert_close

import linkwork as lw

mujoco = pytest.importorskip("mujoco")

GRIPPER = """<mujoco model="gripper"><compiler angle="radian"/>
<default><default class="g"><geom type="box" size=".02 .02 .02"/></default></default>
<worldbody><body name="palm" pos="0 0 .1" euler="0 0 .3"><geom class="g"/>
<body name="finger" pos="0 .02 .05"><joint name="slide" type="slide" axis="0 1 0" range="0 .04"/>
<geom class="g" pos="0 0 .02"/></body></body></worldbody>
<actuator><motor name="close" joint="slide"/></actuator></mujoco>"""
ARM = """<mujoco model="arm"><compiler angle="degree"/>
<asset><model name="grip" file="gripper.xml"/></asset><worldbody><body name="link" pos="0 0 .5">
<joint name="hinge" axis="0 1 0" range="-90 90"/>
<geom type="capsule" size=".03" fromto="0 0 0 0 0 .4"/>
<frame pos="0 0 .4" euler="0 30 0"><attach model="grip" body="palm" prefix="left_"/></frame>
<attach model="grip" body="palm" prefix="right_"/></body></worldbody></mujoco>"""


def test_attached_models_are_those_of_mujoco(tmp_path):
    (tmp_path / "gripper.xml").write_text(GRIPPER)
    (tmp_path / "arm.xml").write_text(ARM)
    model = lw.load(tmp_path / "arm.xml")
    assert model.actuated == ("left_slide", "right_slide")
    mj = mujoco.MjModel.from_xml_path(str(tmp_path / "arm.xml"))
    kd, data = lw.KinDyn(model, floating=False), mujoco.MjData(mj)
    assert len(kd.model.link("left_finger").collisions) == 1
    data.qpos[:] = (0.3, 0.01, 0.03)  # hinge, left_slide, right_slide
    mujoco.mj_forward(mj, data)
    for name in ("link", "left_palm", "left_finger", "right_palm", "right_finger"):
        pose = kd.transform(name, data.qpos)
        assert_close(pose[:3, 3], data.body(name).xpos, 1e-12)
        assert_close(pose[:3, :3].ravel(), data.body(name).xmat, 1e-12)
    M = np.zeros((3, 3))
    mujoco.mj_fullM(mj, data, M)
    assert_close(kd.mass_matrix(data.qpos), M, 1e-12)


@pytest.mark.parametrize(
    "wrong", ['model="nope" body="palm" prefix="x"', 'model="grip" body="nope" prefix="x"']
)
def test_what_cannot_be_attached_is_named(tmp_path, wrong):
    (tmp_path / "gripper.xml").write_text(GRIPPER)
    text = ARM.replace('model="grip" body="palm" prefix="right_"', wrong)
    (tmp_path / "arm.xml").write_text(text)
    with pytest.raises(lw.ParseError, match="nope"):
        lw.load(tmp_path / "arm.xml")
