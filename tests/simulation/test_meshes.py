"""Convex meshes on a plane, compared with MuJoCo."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest
from tests.support.simulations import assert_agrees, converging

import linkwork as lw

NONE = np.zeros(0)
FRUSTUM = np.array([[x * (1 + 0.3 * z), y, z] for x, y, z in product((-1, 1), repeat=3)])
ORIGIN = np.array([0.1, 0.2, 0.05])


def mesh_on_a_slope(points):
    vertices = " ".join(f"{x:.5f}" for x in points.ravel())
    return f"""<mujoco><option cone="elliptic"/><asset><mesh name="m" vertex="{vertices}"/></asset>
<worldbody><geom name="floor" type="plane" size="1 1 1" pos=".1 .2 .05" euler="10 20 30"/>
<body name="a"><freejoint/><geom name="g" type="mesh" mesh="m" mass="1" condim="4" margin=".002"/>
</body></worldbody></mujoco>"""


def states(mj, count):
    """States on a corner, an edge or a face, near which many are."""
    rng, data = np.random.default_rng(0), mujoco.MjData(mj)
    mujoco.mj_kinematics(mj, data)
    normal = data.geom("floor").xmat.reshape(3, 3)[:, 2]
    shape, body = np.zeros(9), np.zeros(4)
    mujoco.mju_quat2Mat(shape, mj.geom("g").quat)
    for _ in range(count):
        face = shape.reshape(3, 3) @ mj.mesh_polynormal[rng.integers(len(mj.mesh_polynormal))]
        turn = np.r_[1.0 - face @ normal, np.cross(face, -normal)]  # face down
        tilt = np.r_[1.0, 0.5 * rng.choice([0.01, 0.05, 0.2, 1.0]) * rng.normal(size=3)]
        mujoco.mju_mulQuat(body, tilt / np.linalg.norm(tilt), turn / np.linalg.norm(turn))
        data.qpos[:] = [0.0, 0.0, 0.0, *body]
        mujoco.mj_kinematics(mj, data)
        points = mj.mesh_vert @ data.geom("g").xmat.reshape(3, 3).T + data.geom("g").xpos
        lowest = ((points - ORIGIN) @ normal).min() + rng.choice([-0.001, 0.001, 0.005, 0.02])
        yield SimpleNamespace(
            qpos=np.r_[-lowest * normal, body], qvel=rng.normal(size=6), ctrl=NONE, act=NONE
        )


@pytest.mark.parametrize(
    ("points", "most"),
    [
        (FRUSTUM * [0.1, 0.08, 0.06], 4),
        (np.random.default_rng(0).normal(size=(12, 3)) * 0.1, 3),
    ],
)
def test_meshes_on_a_plane(points, most):
    text = mesh_on_a_slope(points)
    mj, sim = converging(mujoco.MjModel.from_xml_string(text)), lw.Simulation(text)
    chosen = list(states(mj, 400))
    assert_agrees(sim, mj, chosen)
    x = sim.state(qpos=[one.qpos for one in chosen])
    assert set(sim.forward(x, NONE).active.sum(axis=-1)) >= set(range(1, most + 1))


def test_meshes_with_large_faces_are_left_out():
    angles = np.arange(8) * np.pi / 4
    points = np.array([[np.cos(a), np.sin(a), z] for a in angles for z in (0.0, 1.0)])
    with pytest.warns(lw.LinkworkWarning, match="its hull has 16 points, and faces with 8"):
        sim = lw.Simulation(mesh_on_a_slope(0.1 * points))
    assert sim.contacts == ()
    (text,) = sim.ignored
    assert "contact 'g floor'" in text
    with pytest.raises(lw.ArgumentError, match="at most 100 and 4 are supported"):
        lw.Simulation(mesh_on_a_slope(0.1 * points), strict=True)
