"""Equality constraints of MJCF have the residuals that MuJoCo computes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.urdf_files import notes

import linkwork as lw
from linkwork.compat.mujoco import Conventions, kindyn_from_mjmodel, model_from_mjmodel

mujoco = pytest.importorskip("mujoco")

BOX = '<geom type="box" size=".1 .2 .3" mass="1"/>'
CHAIN = f"""
<body name="a" pos=".1 .2 .3" euler="20 30 40"><joint name="one" axis="1 2 3" ref="10"/>
  <joint name="lift" type="slide" axis="0 0 1"/>{BOX}
  <site name="on_a" pos=".1 0 .2" euler="0 50 0"/>
  <body name="b" pos="0 .3 0" euler="0 0 70"><joint name="two" axis="0 1 1"/>{BOX}
    <body name="c" pos=".2 0 .1"><joint name="ball" type="ball" pos=".1 0 0"/>{BOX}
      <site name="on_c" pos="0 .1 0" euler="10 0 30"/></body></body></body>
"""
FIXED = f'<site name="post" pos=".3 .1 .4" euler="0 0 15"/>{CHAIN}'
FLOATING = FIXED.replace('<body name="a"', f'<body name="base"><freejoint/>{BOX}<body name="a"')
FLOATING += "</body>"

EQUALITIES = {
    "connect": '<connect body1="a" body2="c" anchor=".1 .2 .1"/>',
    "connect to the world": '<connect body1="c" anchor=".1 0 .2"/>',
    "connect from the world": '<connect body1="world" body2="c" anchor=".2 .3 .4"/>',
    "connect of sites": '<connect site1="on_a" site2="on_c"/>',
    "connect to a site of the world": '<connect site1="post" site2="on_c"/>',
    "weld": '<weld body1="a" body2="c"/>',
    "weld to the world": '<weld body1="c"/>',
    "weld with a pose": '<weld body1="c" anchor=".1 0 0" relpose="-.7 0 -.3 5 -3 0 -8"/>',
    "weld with an anchor": '<weld body1="a" body2="c" anchor=".3 .1 0" torquescale=".2"/>',
    "weld of points": '<weld body1="a" body2="c" anchor=".1 0 0" torquescale="0"/>',
    "weld to a site of the world": '<weld site1="on_c" site2="post"/>',
    "polynomial": '<joint joint1="two" joint2="one" polycoef=".1 .5 .3 -.2 .1"/>',
    "position": '<joint joint1="two" polycoef=".3"/>',
}


def compiled(body, equalities):
    text = f"<mujoco><worldbody>{body}</worldbody><equality>{equalities}</equality></mujoco>"
    return mujoco.MjModel.from_xml_string(text)


@pytest.fixture(scope="module", params=[FIXED, FLOATING], ids=["fixed", "floating"])
def body(request):
    """The bodies, and the robot without equalities."""
    return request.param, kindyn_from_mjmodel(compiled(request.param, ""))


def residual_of_mujoco(mj, kd, q):
    data = mujoco.MjData(mj)
    data.qpos[:] = Conventions(kd, mj).qpos(q)
    mujoco.mj_forward(mj, data)
    return data.efc_pos[data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY]


def poses_of_anchors(kd, constraint, q):
    first = kd.transform(constraint.first, q) @ constraint.first_H_anchor.matrix()
    second = np.eye(4) if constraint.second is None else kd.transform(constraint.second, q)
    return first, second @ constraint.second_H_anchor.matrix()


@pytest.mark.parametrize("name", EQUALITIES)
def test_residuals_agree_with_mujoco(name, body):
    bodies, kd = body
    mj = compiled(bodies, EQUALITIES[name])
    (constraint,) = model_from_mjmodel(mj).constraints
    q = kd.random(seed=3)
    expected = residual_of_mujoco(mj, kd, q)

    if constraint.kind == "coupling":
        theta = [float(q[kd.layout.q[joint].start]) for joint in constraint.joints]
        value = np.polynomial.polynomial.polyval(theta[-1], constraint.coefficients)
        assert expected == pytest.approx([theta[0] - value])
        return
    first, second = poses_of_anchors(kd, constraint, q)
    assert np.abs(first - second)[:3, 3] == pytest.approx(np.abs(expected[:3]), abs=1e-12)
    scale = mj.eq_data[0][10]
    assert constraint.kind == ("pose" if len(expected) == 6 and scale else "point")
    if constraint.kind == "pose":  # torquescale * sin(angle / 2) about the axis
        cosine = (np.trace(first[:3, :3].T @ second[:3, :3]) - 1) / 2
        sine_of_half = np.sqrt((1 - cosine) / 2)
        assert np.linalg.norm(expected[3:]) == pytest.approx(scale * sine_of_half)


def test_classes_and_names_of_equalities():
    text = f"""<mujoco><default><default class="off"><equality active="false"/></default></default>
    <worldbody>{FIXED}</worldbody><equality><connect name="two" body1="a" body2="c" anchor="0 0 0"/>
    <connect body1="a" body2="c" anchor="0 0 0" class="off"/><weld body1="c"/></equality>
    </mujoco>"""
    model = lw.load(text)

    # a joint has the name `two` already; those without a name have their index
    assert [(one.name, one.kind) for one in model.constraints] == [
        ("two_2", "point"),
        ("equality2", "pose"),
    ]


def test_notes_about_equalities():
    text = f"""<mujoco><worldbody>{FIXED}<site name="other"/></worldbody><equality>
    <connect name="idle" site1="post" site2="other"/><weld body1="c" solref=".01 1"/></equality>
    </mujoco>"""
    messages = notes(text)

    assert any("solref" in message for message in messages)
    assert any("idle" in message for message in messages)
    assert [one.kind for one in lw.load(text).constraints] == ["pose"]


def test_equalities_can_be_left_out():
    """`mj_rne` ignores equalities, and so does a robot without them."""
    mj = compiled(CHAIN, EQUALITIES["weld"] + EQUALITIES["polynomial"])
    kd = kindyn_from_mjmodel(mj, constraints=False)
    conventions = Conventions(kd, mj)
    q, nu, nu_dot = kd.random(seed=1), np.arange(1.0, 7.0), np.arange(6.0)
    data = mujoco.MjData(mj)
    data.qpos[:], data.qvel[:] = conventions.qpos(q), conventions.qvel(q, nu)
    data.qacc[:] = conventions.qacc(q, nu, nu_dot)
    mujoco.mj_fwdPosition(mj, data)
    mujoco.mj_fwdVelocity(mj, data)
    expected = np.zeros(mj.nv)
    mujoco.mj_rne(mj, data, 1, expected)

    tau = kd.inverse_dynamics(q, nu, nu_dot)
    assert np.allclose(conventions.qfrc(q, tau), expected, rtol=1e-10, atol=1e-10)
    assert len(model_from_mjmodel(mj).constraints) == 2
    with pytest.raises(lw.ArgumentError):
        kindyn_from_mjmodel(mj).inverse_dynamics(q, nu, nu_dot)


def test_views_of_trees_leave_equalities_out_with_a_warning_or_raise():
    from linkwork.compat.adam.model import read_description

    mj = compiled(CHAIN, EQUALITIES["weld"] + EQUALITIES["polynomial"])
    with pytest.warns(lw.LinkworkWarning, match="left out: .*equality0, equality1"):
        assert read_description(mj).source.constraints == ()
    model = model_from_mjmodel(mj)
    with pytest.raises(lw.ModelError, match="equality0"):
        read_description(model)
    with pytest.raises(lw.ModelError, match="equality0"):
        lw.dump_urdf(model)


def test_joints_with_actuators():
    """They are known if every actuator drives a joint with one coordinate."""
    dependent = '<equality><joint joint1="two" joint2="one"/></equality>'
    motors = '<motor joint="lift"/><position jointinparent="two"/>'
    free = f"<mujoco><worldbody>{CHAIN}</worldbody>{{}}<actuator>{{}}</actuator></mujoco>"
    model = lw.load(free.format("", motors))

    assert model.actuated == ("lift", "two")
    assert lw.load(free.format(dependent, motors)).actuated == ("one", "lift")
    assert lw.load(free.format(dependent, motors), mimic=False).actuated == ("lift", "two")
    assert lw.load(free.format("", motors + '<motor joint="ball"/>')).actuated is None
    assert lw.load(free.format("", motors + '<motor site="on_c"/>')).actuated is None
    assert lw.load(free.format("", "")).actuated is None
    with pytest.warns(lw.LinkworkWarning):  # of other things
        assert lw.load(lw.dump_mjcf(model)).actuated == model.actuated
