"""Armature, damping and friction: never by themselves, and right when they are asked for."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from tests.support.kindyn import Interpreted, random_case
from tests.support.models import assert_close, random_model, random_q

import linkwork as lw
from linkwork.mechanics.base import REPRESENTATIONS

pytestmark = pytest.mark.peers


def with_drives(model, rng):
    """The same robot with numbers for every joint that moves."""
    joints = [
        joint
        if joint.kind == "fixed"
        else replace(
            joint,
            armature=float(rng.uniform(0.1, 2.0)),
            damping=float(rng.uniform(0.1, 2.0)),
            friction=float(rng.uniform(0.1, 2.0)),
        )
        for joint in model.joints
    ]
    return replace(model, joints=tuple(joints))


class Driven:
    def __init__(self, seed, *, floating, velocity):
        rng = np.random.default_rng(seed)
        self.model = with_drives(random_model(rng, 9), rng)
        self.bare = Interpreted(lw.KinDyn(self.model, floating=floating, representation=velocity))
        self.kd = Interpreted(self.bare.kd.replace(joint_dynamics=True))
        self.q = random_q(self.kd.layout, rng)
        self.nu, self.nu_dot = rng.normal(size=(2, self.kd.nv))

    def along(self, what, power):
        """Sum over joints of a number, times the multiplier of those that depend on others."""
        found = np.zeros(self.kd.nv)
        for joint in self.model.joints:
            follower = self.kd.layout.followers.get(joint.name)
            k = follower.multiplier if follower else 1.0
            if joint.motion_kind.nv:
                at = self.kd.layout.nu[follower.leader if follower else joint.name]
                found[at] += abs(k) ** power * getattr(joint, what)
        return found


@pytest.fixture(params=[1, 2, 3])
def case(request, floating, velocity):
    return Driven(request.param, floating=floating, velocity=velocity)


in_states = pytest.mark.parametrize(
    ("floating", "velocity"), [*((True, v) for v in REPRESENTATIONS), (False, "mixed")]
)


@in_states
def test_they_enter_only_when_asked_for(case):
    plain = replace(
        case.model,
        joints=tuple(
            replace(j, armature=0.0, damping=0.0, friction=0.0) for j in case.model.joints
        ),
    )
    without = Interpreted(lw.KinDyn(plain, **case.bare.kd.options))
    q, nu, nu_dot = case.q, case.nu, case.nu_dot
    assert np.array_equal(without.mass_matrix(q), case.bare.mass_matrix(q))
    for name, rows in [
        ("inverse_dynamics", (q, nu, nu_dot)),
        ("forward_dynamics", (q, nu, nu_dot)),
    ]:
        assert np.array_equal(getattr(without, name)(*rows), getattr(case.bare, name)(*rows))


@in_states
def test_each_acts_along_its_joint(case):
    kd, bare, q, nu, nu_dot = case.kd, case.bare, case.q, case.nu, case.nu_dot
    armature, damping = case.along("armature", 2), case.along("damping", 2)
    friction = case.along("friction", 1)
    felt = damping * nu + friction * np.sign(nu)

    assert_close(kd.mass_matrix(q), bare.mass_matrix(q) + np.diag(armature), rtol=1e-14)
    assert_close(kd.bias_force(q, nu), bare.bias_force(q, nu) + felt, rtol=1e-13)
    assert_close(kd.coriolis_force(q, nu), bare.coriolis_force(q, nu), rtol=1e-14)
    assert_close(kd.gravity_force(q), bare.gravity_force(q), rtol=1e-14)
    expected = bare.inverse_dynamics(q, nu, nu_dot) + felt + armature * nu_dot
    tau = kd.inverse_dynamics(q, nu, nu_dot)
    assert_close(tau, expected, rtol=1e-13)
    loss = np.linalg.cond(kd.mass_matrix(q))
    assert_close(kd.forward_dynamics(q, nu, tau), nu_dot, rtol=1e-12 * max(1.0, loss / 1e3))
    energy = bare.kinetic_energy(q, nu) + armature @ nu**2 / 2
    assert_close(kd.kinetic_energy(q, nu), energy, rtol=1e-14)


def test_at_rest_there_is_no_friction():
    case = Driven(1, floating=True, velocity="mixed")
    at_rest = np.zeros(case.kd.nv)
    assert_close(
        case.kd.bias_force(case.q, at_rest), case.bare.bias_force(case.q, at_rest), rtol=1e-14
    )


def test_an_armature_makes_a_finger_without_mass_move():
    builder = lw.ModelBuilder("finger")
    builder.add_link("hand", inertia=lw.Inertia(1.0, tensor=(1, 0, 0, 1, 0, 1)))
    builder.add_link("tip")
    builder.add_joint("knuckle", "revolute", "hand", "tip", armature=0.5)
    kd = lw.KinDyn(builder.build(), floating=False)
    with pytest.raises(lw.SingularJointError, match="knuckle"):
        kd.forward_dynamics([0.0], [0.0], [1.0])
    assert_close(
        kd.replace(joint_dynamics=True).forward_dynamics([0.0], [0.0], [1.0]), [2.0], rtol=1e-15
    )


MJCF = """
<mujoco><option gravity="0 0 -9.81"><flag contact="disable"/></option><worldbody>
<body><inertial pos=".1 0 .2" mass="2" diaginertia=".1 .2 .25"/>
  <joint name="a" axis="0 1 0" armature=".7" damping=".4" frictionloss="0"/>
  <body pos=".3 0 .1"><inertial pos=".1 .2 0" mass="1" diaginertia=".1 .2 .25"/>
    <joint name="b" type="slide" axis="1 0 0" armature=".2" damping=".3"/></body>
</body></worldbody></mujoco>
"""


def test_mujoco_agrees_on_armature_and_damping():
    builder = lw.ModelBuilder("two")
    builder.add_link("world")
    inertia = {"tensor": (0.1, 0, 0, 0.2, 0, 0.25)}
    builder.add_link("one", inertia=lw.Inertia(2.0, (0.1, 0, 0.2), **inertia))
    builder.add_link("two", inertia=lw.Inertia(1.0, (0.1, 0.2, 0), **inertia))
    builder.add_joint("a", "revolute", "world", "one", axis=(0, 1, 0), armature=0.7, damping=0.4)
    moved = lw.Pose((0.3, 0, 0.1))
    builder.add_joint(
        "b", "prismatic", "one", "two", axis=(1, 0, 0), first_H_joint=moved, armature=0.2,
        damping=0.3,
    )  # fmt: skip
    kd = lw.KinDyn(builder.build(), floating=False, gravity=(0, 0, -9.81), joint_dynamics=True)
    model = mujoco.MjModel.from_xml_string(MJCF)
    data = mujoco.MjData(model)
    q, nu, tau = np.array([0.3, 0.2]), np.array([1.5, -0.7]), np.array([2.0, 3.0])
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, nu, tau
    mujoco.mj_forward(model, data)
    assert_close(kd.forward_dynamics(q, nu, tau), data.qacc, rtol=1e-12)


def test_energy_is_lost_to_damping_and_friction_alone():
    case = random_case(2)
    model = with_drives(case.model, np.random.default_rng(0))
    driven = Interpreted(lw.KinDyn(model, **case.kd.kd.options).replace(joint_dynamics=True))
    bare = Interpreted(lw.KinDyn(model, **case.kd.kd.options))
    q, nu, nu_dot = case.q, case.nu, case.nu_dot
    change = case.derivative(lambda q, nu: driven.kinetic_energy(q, nu) + bare.potential_energy(q))
    tau = driven.inverse_dynamics(q, nu, nu_dot)
    lost = nu @ (driven.bias_force(q, nu) - bare.bias_force(q, nu))
    assert lost > 0
    assert_close(nu @ tau - lost, change, rtol=1e-12, scale=np.abs(tau).max() * np.abs(nu).max())
