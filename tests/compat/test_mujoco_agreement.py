"""MJCF models with every feature, read by linkwork and simulated by MuJoCo, in the same state."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from tests.support.kindyn import on_numpy
from tests.support.models import assert_close, random_q
from tests.support.mujoco import Both, compiled, mass_matrix, rigid

import linkwork as lw
from linkwork.compat.mujoco import (
    Conventions,
    kindyn_from_mjmodel,
    model_from_mjmodel,
)

BALL = '<geom size=".1" mass="1" pos=".1 .2 -.1"/>'
ROD = '<geom type="capsule" fromto="0 0 0 .3 .1 .4" size=".05"/>'
BOX = '<geom type="box" size=".1 .2 .3" pos=".2 0 .1" euler="20 30 40"/>'

MODELS = {
    "pendulum": f'<body name="a"><joint axis="0 1 0"/>{ROD}</body>',
    "pendulum that hangs somewhere": (
        f'<body name="a" pos="1 2 3" euler="10 20 30"><joint axis="0 1 1"/>{ROD}</body>'
    ),
    "anchor off the origin": (
        f'<body name="a" pos="0 0 1"><joint name="j" pos=".3 -.2 .5" axis="1 2 3"/>{ROD}'
        f'<body name="b" pos="0 .4 0" euler="0 90 0"><joint pos="0 .1 0" axis="0 0 1"/>{BOX}</body>'
        "</body>"
    ),
    "slide with an anchor": (
        f'<body name="a" quat="1 2 3 4"><joint type="slide" pos="1 1 1" axis="1 1 0"/>{BOX}</body>'
    ),
    "three hinges on one body": (
        '<body name="a" pos="0 1 0" euler="30 0 0"><joint name="x" axis="1 0 0" pos=".1 0 0"/>'
        '<joint name="y" axis="0 1 0" pos="0 .2 0"/><joint axis="0 0 1"/>'
        f'{BOX}<body name="b" pos="1 0 0"><joint axis="0 1 0"/>{ROD}</body></body>'
    ),
    "slides and a ball on one body": (
        '<body name="a"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>'
        f'<joint type="ball" pos=".1 .2 .3"/>{BOX}</body>'
    ),
    "a ball, then a slide": (
        f'<body name="a"><joint type="ball" pos="0 0 .5"/><joint type="slide" axis="1 1 1"/>{BOX}'
        "</body>"
    ),
    "a hinge, a slide, a hinge with anchors": (
        '<body name="a"><joint pos=".5 0 0" axis="0 0 1"/><joint type="slide" axis="1 0 0"/>'
        f'<joint pos="0 .5 0" axis="1 1 0"/>{BOX}</body>'
    ),
    "ball joints in a chain": (
        f'<body name="a" pos="0 0 1"><joint type="ball"/>{ROD}<body name="b" pos=".3 .1 .4">'
        f'<joint type="ball" pos="0 0 .1"/>{ROD}</body></body>'
    ),
    "free body": f'<body name="a" pos="1 2 3"><freejoint/>{BOX}</body>',
    "free base with limbs": (
        f'<body name="trunk" pos="0 0 1"><freejoint name="root"/>{BOX}<site name="imu" pos="0 0 .1"'
        f' euler="0 0 90"/><body name="leg" pos=".2 0 0" euler="0 45 0"><joint axis="0 1 0"/>{ROD}'
        f'<body name="foot" pos="0 0 -.4"><joint type="ball"/>{BALL}<site name="sole" pos="0 0 -.1"'
        f'/></body></body><body name="arm" pos="0 .3 .3"><joint type="slide"/>{ROD}</body></body>'
    ),
    "two free bodies": (
        f'<body name="a"><freejoint name="fa"/>{BOX}<body name="c"><joint axis="1 0 0"/>{ROD}'
        f'</body></body><body name="b" pos="1 0 0"><freejoint/>{ROD}</body>'
    ),
    "an arm, a free body and a fixed one": (
        f'<site name="mark" pos="1 1 1"/><body name="arm" pos="0 0 1"><joint axis="0 1 0"/>{ROD}'
        f'</body><body name="cup" pos="1 0 0"><freejoint/>{BALL}</body>'
        f'<body name="table" pos="2 0 0" euler="0 0 30">{BOX}<site name="top" pos="0 0 .3"/>'
        f'<body name="lid"><joint axis="1 0 0" pos="0 .2 .3"/>{BOX}</body></body>'
    ),
    "fixed bodies inside": (
        f'<body name="a"><joint axis="0 1 0"/>{ROD}<body name="b" pos=".1 .2 .3" euler="10 20 30">'
        f'{BOX}<body name="c" pos="0 0 .5"><joint axis="1 0 0"/>{ROD}</body></body></body>'
    ),
    "positions at rest that are not zero": (
        f'<body name="a"><joint name="h" axis="0 1 0" ref="40"/>{ROD}<body name="b" pos="0 0 .4">'
        f'<joint name="s" type="slide" ref=".25" axis="1 0 1"/>{BOX}</body></body>'
    ),
    "inertial given": (
        '<body name="a"><joint axis="1 0 0"/><inertial pos=".1 .2 .3" quat="1 .2 .3 .4" mass="2"'
        ' diaginertia=".3 .4 .5"/></body><body name="b"><joint/><inertial pos="0 .1 0" mass="1.5"'
        ' fullinertia=".3 .4 .5 .01 .02 -.03"/></body>'
    ),
    "joint dynamics": (
        '<body name="a"><joint axis="0 1 0" damping="2" armature=".3" frictionloss=".1"'
        f' stiffness="5"/>{ROD}</body>'
    ),
    "nothing has a name": (
        f"<body><freejoint/>{BOX}<site/><body><joint axis='1 0 0'/><joint axis='0 1 0'/>{ROD}"
        f"<site/></body><body><joint type='ball'/>{BALL}</body></body>"
    ),
    "a body of each size": "".join(
        f'<body pos="{x} 0 0"><joint axis="0 1 0"/><geom type="{kind}" size=".1 .2 .3"/></body>'
        for x, kind in enumerate(["sphere", "capsule", "cylinder", "box", "ellipsoid"])
    ),
}


def mjcf(body: str, head: str = "") -> str:
    return f"<mujoco>{head}<worldbody>{body}</worldbody></mujoco>"


@pytest.mark.parametrize("velocity", ["mixed", "body", "inertial"])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())
def test_linkwork_and_mujoco_agree_on_everything(model, velocity):
    for seed in (1, 2):
        Both(compiled(mjcf(model)), seed, representation=velocity).agree(rtol=1e-11)


HEADS = {
    "radians": '<compiler angle="radian"/>',
    "euler in another order": '<compiler eulerseq="ZYX"/>',
    "mass by density": '<compiler inertiagrouprange="0 5"/>',
    "total mass set": '<compiler settotalmass="7"/>',
    "inertia from geoms": '<compiler inertiafromgeom="true"/>',
    "defaults": (
        '<default><joint axis="1 0 0" damping="1"/><geom density="500"/><default class="x">'
        '<joint type="slide"/></default></default>'
    ),
    "gravity": '<option gravity="1 2 -3"/>',
    "no gravity": '<option><flag gravity="disable"/></option>',
    "bodies that do not move are merged": '<compiler fusestatic="true"/>',
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS.keys())
@pytest.mark.parametrize(
    "model", ["free base with limbs", "fixed bodies inside", "anchor off the origin"]
)
def test_compiler_options_have_the_meaning_of_mujoco(model, head):
    both = Both(compiled(mjcf(MODELS[model], head)))
    both.agree_on_poses(1e-11)
    both.agree_on_jacobians(1e-11)
    both.agree_on_dynamics(1e-11)


def test_armature_is_on_the_diagonal_of_mujocos_mass_matrix():
    xml = mjcf(
        f'<body name="a"><freejoint/>{BOX}<body name="b"><joint type="ball" armature=".2"/>{ROD}'
        f'<body name="c"><joint armature=".3" axis="1 0 0"/>{BOX}</body></body></body>'
    )
    both = Both(compiled(xml))
    there = compiled(xml)
    data = mujoco.MjData(there)
    data.qpos[:] = both.data.qpos
    mujoco.mj_forward(there, data)
    M = mass_matrix(there, data)

    joints = [joint for joint in model_from_mjmodel(there).joints if joint.nv]
    assert [joint.armature for joint in joints] == [0.2, 0.3]
    without = M - np.diag(there.dof_armature)
    assert_close(both.map.mass_matrix(data.qpos, without), both.kd.mass_matrix(both.q), 1e-12)


def test_dependent_joints_follow_the_equality():
    """Both measure from the reference position, so the polynomial needs no conversion."""
    xml = mjcf(
        f'<body name="a"><joint name="one" axis="0 1 0" ref="20"/>{ROD}<body name="b" pos="0 0 .4">'
        f'<joint name="two" axis="0 1 0" ref="-10"/>{ROD}<body name="c"><joint name="three" '
        f'type="slide"/>{BOX}</body></body></body>',
    ).replace(
        "</mujoco>",
        '<equality><joint joint1="two" joint2="one" polycoef=".3 -2 0 0 0"/>'
        '<joint joint1="three" joint2="two" polycoef="0 .5 0 0 0"/></equality></mujoco>',
    )
    both = Both(compiled(xml))
    assert (both.kd.nv, both.mj.nv) == (1, 3)

    theta = both.data.qpos - both.mj.qpos0
    assert_close(theta[1], 0.3 - 2 * theta[0], 1e-15)
    assert_close(theta[2], 0.5 * theta[1], 1e-15)
    mujoco.mj_makeConstraint(both.mj, both.data)
    both.agree(1e-11)

    both.mj.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    mujoco.mj_forward(both.mj, both.data)
    assert both.data.nefc == 2
    assert np.abs(both.data.efc_pos).max() < 1e-14
    assert np.abs(both.data.efc_vel).max() < 1e-14


def test_freed_joints_of_an_equality_agree_too():
    xml = mjcf(
        f'<body name="a"><joint name="one"/>{BOX}<body name="b"><joint name="two"/>{BOX}</body>'
        "</body>"
    ).replace("</mujoco>", '<equality><joint joint1="two" joint2="one"/></equality></mujoco>')
    mj = compiled(xml)

    assert rigid(mj).nv == 1
    Both(mj, mimic=False).agree(1e-11)


def test_included_files_and_meshes_are_found_next_to_the_file(tmp_path, monkeypatch):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/leg.xml").write_text(
        f'<mujocoinclude><body name="leg"><joint name="hip" axis="0 1 0"/>{ROD}</body>'
        "</mujocoinclude>"
    )
    file = tmp_path / "robot.xml"
    file.write_text(
        '<mujoco><worldbody><body name="trunk"><freejoint/>' + BOX + '<include file="parts/leg.xml"'
        "/></body></worldbody></mujoco>"
    )
    monkeypatch.chdir(tmp_path.parent)
    mj = mujoco.MjModel.from_xml_path(str(file))
    mj.opt.disableflags |= compiled(mjcf("")).opt.disableflags
    mj.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)

    both = Both(mj)

    assert both.kd.joint_names == ("hip",)
    both.agree(1e-11)


def test_armature_and_damping_agree_with_mujoco_if_enabled():
    xml = mjcf(
        f'<body name="a"><freejoint/>{BOX}<body name="b"><joint type="ball" armature=".2" '
        f'damping="2"/>{ROD}<body name="c"><joint armature=".3" damping="1"/>{BOX}</body></body>'
        "</body>"
    )
    mj = mujoco.MjModel.from_xml_string(xml)
    mj.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    kd = kindyn_from_mjmodel(mj, joint_dynamics=True)
    to, here = Conventions(kd, mj), on_numpy(kd)
    rng = np.random.default_rng(8)
    q, nu, tau = random_q(kd.layout, rng), *rng.normal(size=(2, kd.nv))
    data = mujoco.MjData(mj)
    data.qpos[:], data.qvel[:] = to.qpos(q), to.qvel(q, nu)
    data.qfrc_applied[:] = to.qfrc(q, tau)
    mujoco.mj_forward(mj, data)
    M = mass_matrix(mj, data)

    assert_close(here.mass_matrix(q), to.mass_matrix(data.qpos, M), 1e-12)
    nu_dot = to.nu_dot(data.qpos, data.qvel, data.qacc)
    assert_close(here.forward_dynamics(q, nu, tau), nu_dot, 1e-11)


def test_armature_of_a_free_body_warns_and_the_difference_is_as_documented():
    """Forces differ by armature * (w x v) for bodies that are not the floating base."""
    xml = """<mujoco><worldbody><body name="ball"><joint name="free" type="free" armature="0.7"/>
      <geom type="box" size=".1 .2 .3" mass="2"/></body>
      <body name="post"><joint name="hinge"/><geom size=".1"/></body></worldbody></mujoco>"""
    mj = mujoco.MjModel.from_xml_string(xml)
    with pytest.warns(lw.LinkworkWarning, match=r"armature of free joints.*free$") as caught:
        kd = kindyn_from_mjmodel(mj, joint_dynamics=True)
    assert [Path(warning.filename).name for warning in caught] == [Path(__file__).name]
    maps, data, rng = Conventions(kd, mj), mujoco.MjData(mj), np.random.default_rng(0)
    q, nu = kd.random(seed=0), rng.normal(size=kd.nv)
    data.qpos[:], data.qvel[:] = maps.qpos(q), maps.qvel(q, nu)
    mujoco.mj_forward(mj, data)
    nu_dot = maps.nu_dot(data.qpos, data.qvel, data.qacc)

    tau = kd.inverse_dynamics(q, nu, nu_dot)

    free = kd.layout.nu["free"]
    v, w = nu[free][:3], nu[free][3:]
    expected = np.zeros(kd.nv)
    expected[free] = [*(-0.7 * np.cross(w, v)), 0, 0, 0]
    assert_close(tau, expected, 1e-9, scale=np.abs(expected).max())


def test_armature_with_the_same_meaning_does_not_warn():
    xml = """<mujoco><worldbody><body name="ball"><freejoint/><geom size=".1"/>
      <body name="post"><joint name="hinge" armature="1"/><geom size=".1"/></body></body>
      </worldbody></mujoco>"""
    assert kindyn_from_mjmodel(mujoco.MjModel.from_xml_string(xml)).nv == 7
