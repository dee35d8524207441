"""Simulations of models: servos, contact frames and placement, against MuJoCo and by hand."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from tests.support.simulation import compare

import linkwork as lw

pytestmark = pytest.mark.peers

LEANING = """<mujoco><option cone="elliptic"/><worldbody>
<geom type="plane" size="1 1 1" euler="20 10 0"/>
<body pos="0 0 0.3"><freejoint/><geom type="capsule" size="0.1 0.2" euler="80 0 30"/>
<geom type="box" pos="0.3 0 0" size=".1 .1 .3"/></body></worldbody></mujoco>"""


def test_contact_frames_are_those_of_mujoco():
    mj = mujoco.MjModel.from_xml_string(LEANING)
    sim, data, seen = lw.Simulation(mj), mujoco.MjData(mj), 0
    for k in range(300):
        mujoco.mj_step(mj, data)
        if k % 20:
            continue
        mujoco.mj_forward(mj, data)
        now = sim.forward(sim.state(qpos=data.qpos, qvel=data.qvel), [])
        own = now.contact_frames[now.active > 0]
        assert len(own) == data.ncon
        for contact in data.contact:
            expected = np.eye(4)
            expected[:3, :3], expected[:3, 3] = contact.frame.reshape(3, 3).T, contact.pos
            assert min(abs(H - expected).max() for H in own) < 1e-12
            seen += 1
    assert seen > 10


def test_servos_are_those_of_mujoco():
    sim = lw.Simulation(lw.load("quadruped"), ground=["FL_foot", "RR_foot"], servos=(60.0, 1.5))
    mj = mujoco.MjModel.from_xml_string(sim.to_mjcf())
    assert mj.nu == sim.n_controls == 12
    assert mj.opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    np.testing.assert_allclose(mj.actuator_gainprm[:, 0], 60.0)
    np.testing.assert_allclose(mj.actuator_biasprm[:, :3], np.tile([0.0, -60.0, -1.5], (12, 1)))
    np.testing.assert_allclose(mj.actuator_forcerange[2], [-38.0, 38.0])  # the effort of a knee
    _, _, errors = compare(mj, 20)
    assert errors.max() < 1e-6


@pytest.mark.parametrize("servos", [(1.0,), (-1.0, 0.0), (1.0, np.inf), (1.0, 2.0, 3.0)])
def test_wrong_gains_of_servos_are_errors(servos):
    with pytest.raises(lw.ArgumentError, match="servos: expected stiffness and damping"):
        lw.Simulation(lw.load("pendulum"), floating=False, servos=servos)
    with pytest.raises(lw.ArgumentError, match="servos: the file has it"):
        lw.Simulation(LEANING, servos=servos)


def test_robots_are_placed_on_slopes():
    sim = lw.Simulation(LEANING)
    rng = np.random.default_rng(0)
    x = sim.state(batch=20)
    x.q[:] = sim.kd.random(20, seed=1)
    x.q[:, 2] = rng.normal(size=20)
    placed = sim.place_on_ground(x, 0.03)
    np.testing.assert_array_equal(np.delete(placed.q, 2, axis=1), np.delete(x.q, 2, axis=1))
    lowest = sim.forward(placed, []).distances.min(axis=1)
    np.testing.assert_allclose(lowest, 0.03, atol=1e-12)


@pytest.mark.parametrize(
    ("floor", "height"), [("", -0.7), ('<geom type="plane" size="1 1 1"/>', 0.1)]
)
def test_no_robot_is_placed_on_a_wall(floor, height):
    wall = '<geom type="plane" size="1 1 1" zaxis="1 0 0"/>'
    ball = '<body><freejoint/><geom size="0.1"/></body>'
    sim = lw.Simulation(f"<mujoco><worldbody>{wall}{floor}{ball}</worldbody></mujoco>")
    inside = sim.state(q=[0.05, 0, -0.7, 1, 0, 0, 0])
    assert sim.place_on_ground(inside).q[2] == pytest.approx(height)
