"""The maps: round trips, batches, dependent joints, and errors."""

from __future__ import annotations

import pickle
import re
import warnings
from dataclasses import FrozenInstanceError, replace

import mujoco
import numpy as np
import pytest
from tests.support.models import BATCHES, assert_close, random_q

import linkwork as lw
from linkwork.compat.mujoco import (
    Conventions,
    kindyn_from_mjmodel,
    model_from_mjmodel,
)
from linkwork.model.layout import Layout

BALL = '<geom size=".1" mass="1"/>'
ROBOT = f"""<mujoco><worldbody><body name="trunk"><freejoint name="root"/>{BALL}
<body name="leg"><joint name="hip" ref="40"/><joint name="roll" axis="1 0 0"/>{BALL}
<body name="foot"><joint name="ankle" type="ball"/>{BALL}
<body name="toe"><joint name="push" type="slide" ref="-.3"/>{BALL}</body></body></body></body>
</worldbody></mujoco>"""
TWO_FREE = f"""<mujoco><worldbody><body name="a"><freejoint name="fa"/>{BALL}<body name="c">
<joint name="j"/>{BALL}</body></body><body name="b"><freejoint name="fb"/>{BALL}</body>
</worldbody></mujoco>"""
COUPLED = f"""<mujoco><worldbody><body name="a"><joint name="one"/>{BALL}<body name="b">
<joint name="two"/>{BALL}</body></body></worldbody><equality><joint joint1="two" joint2="one"
polycoef=".1 -3 0 0 0"/></equality></mujoco>"""
REPRESENTATIONS = ["mixed", "body", "inertial"]


def compiled(xml):
    return mujoco.MjModel.from_xml_string(xml)


def state_of(kd, rng, batch):
    """Return random q, nu, nu_dot, tau, M, h, J, pose."""
    n = kd.nv
    q = random_q(kd.layout, rng, batch)
    rows = rng.normal(size=(4, *batch, n))
    return q, *rows, rng.normal(size=(*batch, n, n)), rng.normal(size=(*batch, 6, n))


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("velocity", REPRESENTATIONS)
@pytest.mark.parametrize("xml", [ROBOT, TWO_FREE], ids=["one base", "two free bodies"])
def test_every_map_and_its_inverse(xml, velocity, batch):
    mj = compiled(xml)
    kd = kindyn_from_mjmodel(mj, representation=velocity)
    to = Conventions(kd, mj)
    rng = np.random.default_rng(3)
    q, nu, nu_dot, tau, h, M, J = state_of(kd, rng, batch)
    pose = lw.Pose(xyz=(1, 2, 3), rpy=(0.1, 0.2, 0.3)).matrix()

    qpos, qvel, qacc = to.qpos(q), to.qvel(q, nu), to.qacc(q, nu, nu_dot)
    full_m, bias = to.full_m(q, M), to.qfrc_bias(q, nu, h, M)

    assert (qpos.shape, qvel.shape) == ((*batch, mj.nq), (*batch, mj.nv))
    assert_close(to.q(qpos), q, 1e-14)
    assert_close(to.nu(qpos, qvel), nu, 1e-14)
    assert_close(to.nu_dot(qpos, qvel, qacc), nu_dot, 1e-14, scale=10.0)
    assert_close(to.tau(qpos, to.qfrc(q, tau)), tau, 1e-14, scale=10.0)
    assert_close(to.mass_matrix(qpos, full_m), M, 1e-14, scale=10.0)
    assert_close(to.bias_force(qpos, qvel, bias, full_m), h, 1e-14, scale=100.0)
    assert_close(to.jacobian(qpos, *to.jac(q, J, pose), pose), J, 1e-14, scale=10.0)


@pytest.mark.parametrize("velocity", REPRESENTATIONS)
def test_each_row_of_a_batch_agrees_with_a_single_call(velocity):
    mj = compiled(ROBOT)
    kd = kindyn_from_mjmodel(mj, representation=velocity)
    to = Conventions(kd, mj)
    q, nu, nu_dot, *_ = state_of(kd, np.random.default_rng(1), (4,))

    rows = [to.qacc(*row) for row in zip(q, nu, nu_dot, strict=True)]

    assert_close(to.qacc(q, nu, nu_dot), rows, 1e-15)
    assert to.qvel(q[0], nu).shape == (4, mj.nv)  # one configuration, many velocities


@pytest.mark.parametrize("velocity", REPRESENTATIONS)
def test_power_and_energy_are_the_same_in_both(velocity):
    mj = compiled(ROBOT)
    kd = kindyn_from_mjmodel(mj, representation=velocity)
    to = Conventions(kd, mj)
    q, nu, _, tau, _, M, _ = state_of(kd, np.random.default_rng(2), ())

    qvel = to.qvel(q, nu)

    assert_close(qvel @ to.qfrc(q, tau), nu @ tau, 1e-13)
    assert_close(qvel @ to.full_m(q, M) @ qvel, nu @ M @ nu, 1e-13)


def test_mujoco_integrates_the_velocity_of_a_free_body():
    """[velocity in the world; angular velocity in the body's axes], by MuJoCo's integrator."""
    mj = compiled(ROBOT)
    kd = kindyn_from_mjmodel(mj)
    to = Conventions(kd, mj)
    q, nu, *_ = state_of(kd, np.random.default_rng(4), ())
    qpos, step = to.qpos(q), 1e-7

    moved = qpos.copy()
    mujoco.mj_integratePos(mj, moved, to.qvel(q, nu), step)
    rate = (to.q(moved) - q) / step

    assert_close(rate[:3], nu[:3], 1e-6)
    assert_close(rate[7:9], nu[6:8], 1e-6)


def test_reference_positions_of_mujoco_are_zero_here():
    mj = compiled(ROBOT)
    kd = kindyn_from_mjmodel(mj)

    assert_close(Conventions(kd, mj).q(mj.qpos0), kd.neutral(), 1e-15)


def test_joints_are_matched_by_name_whatever_their_order():
    mj = compiled(ROBOT)
    model = model_from_mjmodel(mj)
    turned = replace(model, joints=model.joints[::-1])
    q = random_q(Layout(turned), np.random.default_rng(6))

    there = Conventions(turned, mj).qpos(q)

    layout = Layout(turned)
    assert there[7] == q[layout.q["hip"]][0] + mj.qpos0[7]
    assert there[8] == q[layout.q["roll"]][0]
    assert_close(Conventions(turned, mj).q(there), q, 1e-15)


def test_dependent_joints_follow_in_mujoco_and_are_ignored_on_the_way_back():
    mj = compiled(COUPLED)
    to = Conventions(kindyn_from_mjmodel(mj), mj)
    q, nu, tau = [0.5], [2.0], [7.0]

    assert to.qpos(q).tolist() == pytest.approx([0.5, -1.4])
    assert to.qvel(q, nu).tolist() == [2.0, -6.0]
    assert to.q([0.5, 99.0]).tolist() == [0.5]
    assert to.nu([0.5, 99.0], [2.0, 99.0]).tolist() == [2.0]
    assert to.qfrc(q, tau).tolist() == [7.0, 0.0]
    assert to.tau([0.5, 0.0], [1.0, 2.0]).tolist() == [-5.0]
    assert to.mass_matrix([0.5, 0.0], np.eye(2)).tolist() == [[10.0]]


@pytest.mark.parametrize("name", ["full_m", "qfrc_bias", "jac"])
def test_quantities_of_dependent_joints_raise(name):
    mj = compiled(COUPLED)
    to = Conventions(kindyn_from_mjmodel(mj), mj)
    arguments = {
        "full_m": ([0.0], [[1.0]]),
        "qfrc_bias": ([0.0], [0.0], [0.0], [[1.0]]),
        "jac": ([0.0], np.zeros((6, 1))),
    }
    with pytest.raises(lw.ModelError, match=r"dependent joints.*mimic=False"):
        getattr(to, name)(*arguments[name])


def test_gravity_and_base_are_kept():
    xml = ROBOT.replace("<worldbody>", '<option gravity="1 2 3"/><worldbody>', 1)
    assert kindyn_from_mjmodel(compiled(xml)).gravity == (1, 2, 3)
    off = xml.replace('3"/>', '3"><flag gravity="disable"/></option>', 1)
    assert kindyn_from_mjmodel(compiled(off)).gravity == (0, 0, 0)
    assert kindyn_from_mjmodel(compiled(ROBOT)).floating
    assert not kindyn_from_mjmodel(compiled(TWO_FREE)).floating
    assert kindyn_from_mjmodel(compiled(TWO_FREE), representation="body").representation == "body"


def test_reading_a_model_warns_once_at_the_line_of_the_caller():
    mj = compiled(COUPLED.replace('"one"', '"one" stiffness="1"', 1))
    for read in (model_from_mjmodel, kindyn_from_mjmodel):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            read(mj)
        (warning,) = caught
        assert (warning.filename, warning.category) == (__file__, lw.LinkworkWarning)
        assert re.search("stiffness.*one", str(warning.message))


def test_the_maps_are_frozen_and_survive_pickling():
    mj = compiled(ROBOT)
    to = Conventions(model_from_mjmodel(mj), mj)

    assert pickle.loads(pickle.dumps(to)) == to
    with pytest.raises(FrozenInstanceError):
        to.nq = 3  # pyright: ignore


def test_arguments_of_other_types_raise():
    mj = compiled(ROBOT)
    with pytest.raises(lw.ArgumentError, match=r"^mj_model: .*MjModel.*'x'"):
        model_from_mjmodel("x")
    with pytest.raises(lw.ArgumentError, match=r"^robot: .*KinDyn.*Model.*3"):
        Conventions(3, mj)  # pyright: ignore


def test_arrays_of_other_shapes_raise():
    mj = compiled(ROBOT)
    to = Conventions(model_from_mjmodel(mj), mj)
    with pytest.raises(lw.ShapeError, match=r"q: expected \(\.\.\., 14\), got \(3,\)"):
        to.qpos([1, 2, 3])
    with pytest.raises(lw.ShapeError, match=r"full_m: expected \(\.\.\., 12, 12\), got \(12,\)"):
        to.mass_matrix(mj.qpos0, np.zeros(12))


def test_pose_of_the_frame_is_needed_where_it_matters():
    mj = compiled(ROBOT)
    to = Conventions(kindyn_from_mjmodel(mj, representation="body"), mj)
    with pytest.raises(lw.ArgumentError, match=r"^world_H_frame: .*body"):
        to.jac(to.q(mj.qpos0), np.zeros((6, mj.nv)))


def test_robots_that_do_not_match_are_rejected():
    mj, model = compiled(ROBOT), model_from_mjmodel(compiled(ROBOT))
    fixed = compiled(ROBOT.replace('<freejoint name="root"/>', ""))
    other = compiled(ROBOT.replace('"hip"', '"hips"'))
    slide = compiled(ROBOT.replace('"roll"', '"roll" type="slide"'))
    renamed = model.renamed(links={"trunk": "torso"})
    for robot, there, facts in (
        (lw.KinDyn(model), fixed, r"^link 'trunk': .*floats.*floating=False"),
        (lw.KinDyn(model, floating=False), mj, r"^joint 'root': .*'trunk'.*floating base"),
        (lw.KinDyn(model, base="toe"), mj, r"^link 'toe': .*floats.*floating=False"),
        (model, other, r"(?s)joint 'hips': .*'hip'.*joint 'hip': .*'hips'"),
        (model, slide, r"^joint 'roll': .*revolute.*prismatic"),
        (renamed, mj, r"^link 'torso': .*body.*trunk"),
    ):
        with pytest.raises(lw.ModelError, match=facts):
            Conventions(robot, there)


def test_a_floating_joint_with_a_pose_on_its_link_is_rejected():
    mj = compiled(TWO_FREE)
    model = model_from_mjmodel(mj)
    joints = [
        replace(joint, first_H_joint=lw.Pose(xyz=(1, 0, 0))) if joint.name == "fb" else joint
        for joint in model.joints
    ]
    with pytest.raises(lw.ModelError, match=r"^joint 'fb': .*free joint"):
        Conventions(replace(model, joints=tuple(joints)), mj)


def test_a_world_without_moving_joints_has_empty_vectors():
    mj = compiled(f'<mujoco><worldbody><body name="a">{BALL}</body></worldbody></mujoco>')
    to = Conventions(kindyn_from_mjmodel(mj), mj)

    assert (to.qpos([]).shape, to.qvel(np.zeros((3, 0)), []).shape) == ((0,), (3, 0))
