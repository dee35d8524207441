"""Accelerations, contact forces and steps agree with MuJoCo's, state by state."""

from __future__ import annotations

from types import SimpleNamespace

import mujoco
import numpy as np
import pytest
from tests.support.simulation import compare
from tests.support.simulations import compared, converging

import linkwork as lw

SHAPES = {
    "sphere": 'size=".1"',
    "capsule": 'size=".06 .12"',
    "box": 'size=".1 .15 .08"',
    "cylinder": 'size=".1 .08"',
    "ellipsoid": 'size=".1 .15 .07"',
}
TOLERANCE = 1e-9  # of MuJoCo's solver, which compares costs, on the worst state


def on_a_slope(shape, cone, condim, *, option="", geom=""):
    """A body that falls on a tilted plane."""
    return f"""<mujoco><compiler angle="degree"/><option cone="{cone}" {option}/><worldbody>
        <geom name="floor" type="plane" size="5 5 .1" euler="6 -4 20" condim="1"/>
        <body pos="0 0 .14" euler="20 30 10"><freejoint/>
        <geom name="g" type="{shape}" {SHAPES[shape]} condim="{condim}" friction=".7 .02 .01"
        {geom}/><geom size=".02" pos=".1 0 .2" contype="0" conaffinity="0"/></body>
        </worldbody></mujoco>"""


def arm(*, option="", flag="", j1="", j2="", j3='type="slide"', c="", act="", equal=""):
    """Three joints that carry a sphere over a plane, and a pendulum beside them."""
    capsule = '<geom type="capsule" size=".04 .15" pos="0 0 -.2" contype="0" conaffinity="0"/>'
    return f"""<mujoco><compiler angle="radian"/><option {option} timestep="0.004">{flag}</option>
        <worldbody><geom type="plane" size="5 5 .1"/>
        <body name="a" pos="0 0 1"><joint name="j1" axis="0 1 0" {j1}/>{capsule}
        <body name="b" pos="0 .02 -.4"><joint name="j2" axis="0 1 .3" {j2}/>{capsule}
        <body name="c" pos="0 0 -.4" {c}><joint name="j3" {j3}/><geom size=".05"/></body>
        </body></body>
        <body name="d" pos=".5 .3 1"><joint name="j4" axis="0 1 0"/><joint name="j5" axis="1 0 0"/>
        {capsule}</body></worldbody>
        <actuator>{act}</actuator><equality>{equal}</equality></mujoco>"""


MOTORS = """<motor joint="j1" gear="3" ctrlrange="-.5 .5" ctrllimited="true"/>
    <position joint="j2" kp="20" gear="2"/><damper joint="j1" kv="2" ctrlrange="0 2"/>
    <general joint="j3" dyntype="filter" dynprm=".05" gainprm="30"/>
    <general joint="j4" dyntype="filterexact" dynprm=".02" gainprm="30" actearly="true"/>
    <intvelocity joint="j5" kp="10" actrange="-1 1"/>"""
SERVOS = """<velocity joint="j1" kv="7"/><general joint="j2" gainprm="2 1 3" biastype="affine"
    gaintype="affine" biasprm="1 -2 -3" ctrlrange="-1 1" ctrllimited="true"/>
    <position joint="j3" kp="50" kv="5" forcerange="-2 2" forcelimited="true"/>"""
ARMS = {
    "limits": arm(
        j1='range="-.3 .4" limited="true"',
        j2='range="-.1 .2" limited="true" margin=".05" solreflimit="-2000 -30"',
        j3='type="slide" range="-.1 .1" limited="true" solimplimit=".7 .95 .05 .3 3"',
    ),
    "close limits": arm(j1='range="-.1 .1" limited="true" margin=".15"'),
    "friction": arm(
        j1='frictionloss=".5"',
        j2='frictionloss="2" solreffriction=".05 .7" solimpfriction=".6 .9 .01 .5 2"',
        j3='type="slide" frictionloss="3"',
    ),
    "springs and implicit damping": arm(
        j1='damping="3"',
        j2='damping=".5" armature=".1" stiffness="5" springref=".4"',
        j3='type="slide" damping="20" stiffness="100"',
    ),
    "explicit damping": arm(
        flag='<flag eulerdamp="disable"/>',
        j1='damping="1"',
        j2='ref=".3" stiffness="4" springref=".1"',
    ),
    "servos, implicit": arm(option='integrator="implicitfast"', j1='damping="3"', act=SERVOS),
    "servos, Euler": arm(act=SERVOS),
    "actuators": arm(j2='ref=".5"', act=MOTORS),
    "ranges of joint forces": arm(
        j1='actuatorfrcrange="-1 1" actuatorfrclimited="true"',
        act='<motor joint="j1" gear="3"/><motor joint="j1"/>',
    ),
    "gravity compensation": arm(c='gravcomp=".7"'),
    "gravity compensation by actuators": arm(
        c='gravcomp="1"',
        j1='actuatorgravcomp="true" actuatorfrcrange="-1 1" actuatorfrclimited="true"',
        act='<motor joint="j2"/>',
    ),
    "connect": arm(
        equal='<connect body1="c" body2="d" anchor=".05 .1 0" solref=".05 .8"/>', j3='type="ball"'
    ),
    "connect to the world": arm(equal='<connect body1="c" anchor=".05 .1 0"/>'),
    "weld": arm(equal='<weld body1="c" body2="d" torquescale=".5" solimp=".8 .95 .1 .4 3"/>'),
    "weld to the world": arm(j3='type="ball"', equal='<weld body1="c"/>'),
    "couplings": arm(
        j1='ref=".2"',
        equal='<joint joint1="j1" joint2="j4" polycoef=".1 .7 .2 -.3 .1"/>'
        '<joint joint1="j3" polycoef=".05 0 0 0 0"/>',
    ),
    "ball joint": arm(j3='type="ball" range="0 .4" limited="true" damping=".1" stiffness="2"'),
}
CONTACTS = [
    *((shape, "elliptic", 6, 'impratio="3"', "") for shape in SHAPES),
    *((shape, "pyramidal", 4, 'impratio="3"', "") for shape in SHAPES),
    ("box", "elliptic", 1, "", ""),
    ("capsule", "elliptic", 3, 'timestep=".004"', 'margin=".03" gap=".01" solref="-3000 -20"'),
    ("box", "elliptic", 4, "", 'solimp=".5 .99 .02 .2 1" solref=".001 2"'),
    ("sphere", "pyramidal", 3, "", 'solimp=".9 .9 .02" priority="1"'),
    ("cylinder", "pyramidal", 6, "", 'solimp=".1 .9 .05 .7 2.5"'),
]


@pytest.mark.parametrize(("shape", "cone", "condim", "option", "geom"), CONTACTS)
def test_contacts_agree_with_mujoco(shape, cone, condim, option, geom):
    mj = mujoco.MjModel.from_xml_string(on_a_slope(shape, cone, condim, option=option, geom=geom))
    sim, x, errors = compare(mj, 20)
    assert errors.max() < TOLERANCE
    assert np.median(errors) < 1e-12
    assert sim.forward(x, np.zeros(0)).active.any(), "it touches the plane"


@pytest.mark.parametrize("name", ARMS)
def test_joints_and_actuators_agree_with_mujoco(name):
    sim, _, errors = compare(mujoco.MjModel.from_xml_string(ARMS[name]), 20, spread=1.0)
    assert errors.max() < TOLERANCE, errors.max(axis=0)
    assert np.median(errors) < 1e-12
    assert sim.nv in (5, 7)


@pytest.mark.parametrize("child", ["", '<body pos=".2 0 .1"><geom size=".05"/></body>'])
def test_gyroscopic_forces_of_a_rigid_body_are_implicit(child):
    """In MuJoCo, implicitfast has them for free bodies that carry no joints."""
    text = f"""<mujoco><option integrator="implicitfast" timestep="0.01"/><worldbody>
        <geom type="plane" size="1 1 1"/><body pos="0 0 .15"><joint type="free" damping=".02"/>
        <geom type="box" size=".3 .1 .02" pos=".1 .05 0" euler="10 20 30"/>{child}</body>
        </worldbody></mujoco>"""
    mj = converging(mujoco.MjModel.from_xml_string(text))
    rng = np.random.default_rng(0)
    states = [
        SimpleNamespace(qpos=mj.qpos0 + height, qvel=10.0 * rng.normal(size=6), ctrl=[], act=[])
        for height in ([0, 0, 0, 0, 0, 0, 0], [0, 0, 3, 0, 0, 0, 0])
        for _ in range(5)
    ]
    sim = lw.Simulation(text)
    assert max(error for _, error in compared(sim, mj, states)) < 1e-11
    x = sim.state(qpos=[one.qpos for one in states], qvel=[one.qvel for one in states])
    change, h = rng.normal(size=(10, 6)), 1e-5
    found = sim.step.jvp("nu")(*x, np.zeros((10, 0)), change)[1]
    after, before = (sim.step(x._replace(nu=x.nu + s * change), []).nu for s in (h, -h))
    np.testing.assert_allclose(found[5:], (after - before)[5:] / (2.0 * h), rtol=1e-7, atol=1e-7)


def test_welds_that_are_turned_by_half_a_turn():
    """Where the real part of the relative quaternion vanishes, or is negative."""
    mj = converging(mujoco.MjModel.from_xml_string(ARMS["weld to the world"]))
    rng, states = np.random.default_rng(0), []
    for rest in (1e-1, 1e-3, 1e-5, 1e-7, -1e-7, -1e-3):
        axis = rng.normal(size=3)
        half = 0.5 * (np.pi - rest)
        ball = np.r_[np.cos(half), np.sin(half) * axis / np.linalg.norm(axis)]
        qpos, qvel = np.r_[0.0, 0.0, ball, 0.0, 0.0], rng.normal(size=mj.nv)
        states.append(SimpleNamespace(qpos=qpos, qvel=qvel, ctrl=np.zeros(0), act=np.zeros(0)))
    sim = lw.Simulation(ARMS["weld to the world"])
    assert max(error for _, error in compared(sim, mj, states)) < 1e-11


def test_a_second_free_body_is_rejected():
    text = arm().replace(
        "<worldbody>",
        '<worldbody><body name="f"><freejoint/>\
        <geom size=".1" contype="0" conaffinity="0"/></body>',
    )
    with pytest.raises(lw.ArgumentError, match="at most one free body, its base"):
        compare(mujoco.MjModel.from_xml_string(text))
