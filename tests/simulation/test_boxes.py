"""Spheres and capsules on fixed boxes, compared with MuJoCo in all cases of its search."""

from __future__ import annotations

from types import SimpleNamespace

import mujoco
import numpy as np
import pytest
from tests.support.simulations import assert_agrees, converging

import linkwork as lw

CENTER = np.array([0.1, 0.2, 0.05])
NONE = np.zeros(0)


def on_a_box(shape, size, cone):
    return f"""<mujoco><option cone="{cone}"/><worldbody>
<geom name="step" type="box" size=".2 .12 .1" pos=".1 .2 .05" euler="10 20 30"/>
<body name="a"><freejoint/><geom name="g" type="{shape}" size="{size}" mass="1" condim="4"
margin=".01"/></body></worldbody></mujoco>"""


def states(mj, count):
    """States around, on and in the box; some with a capsule along its edges."""
    rng, data = np.random.default_rng(0), mujoco.MjData(mj)
    mujoco.mj_kinematics(mj, data)
    R = data.geom("step").xmat.reshape(3, 3)
    for k in range(count):
        wxyz = rng.normal(size=4)
        if k % 10 == 0:
            mujoco.mju_mat2Quat(wxyz, np.roll(R, k // 10 % 3, axis=1).ravel())
            wxyz += 1e-9 * rng.normal(size=4)
        position = CENTER + R @ (rng.uniform(-1, 1, 3) * [0.35, 0.3, 0.25])
        yield SimpleNamespace(
            qpos=np.r_[position, wxyz / np.linalg.norm(wxyz)],
            qvel=rng.normal(size=6),
            ctrl=NONE,
            act=NONE,
        )


@pytest.mark.parametrize(
    ("shape", "size", "cone"),
    [("sphere", ".06", "elliptic"), ("capsule", ".04 .15", "pyramidal")],
)
def test_fixed_boxes(shape, size, cone):
    text = on_a_box(shape, size, cone)
    mj, sim = converging(mujoco.MjModel.from_xml_string(text)), lw.Simulation(text)
    chosen = list(states(mj, 600))
    assert_agrees(sim, mj, chosen)
    x = sim.state(qpos=[one.qpos for one in chosen])
    counts = sim.forward(x, NONE).active.sum(axis=-1)
    assert set(counts) == set(range(len(sim.contacts) + 1))
    gradients = sim.step.vjp("q")(*x, NONE, *map(np.ones_like, x))
    assert np.isfinite(gradients).all()


def test_steps_of_a_file_that_is_written():
    sim = lw.Simulation(on_a_box("sphere", ".06", "elliptic"))
    again = lw.Simulation(sim.to_mjcf())
    x = sim.state(q=[[0.1, 0.2, 0.2, 1, 0, 0, 0]])
    np.testing.assert_allclose(again.step(*x, NONE).nu, sim.step(x, NONE).nu, atol=1e-12)
    assert sim.forward(x, NONE).active.all()
