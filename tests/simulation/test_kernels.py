"""Steps of simulations as kernels: in other libraries, in functions of users, and exported."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw

pytestmark = pytest.mark.peers  # MuJoCo reads the file

XML = """<mujoco><option cone="elliptic"/><worldbody><geom type="plane" size="1 1 1"/>
<body name="ball" pos="0 0 .09"><freejoint/><geom size=".1" mass="2"/>
<body name="arm" pos="0 0 .1"><joint name="hinge" axis="0 1 0" range="-40 40"/>
<geom type="capsule" size=".02 .1" pos="0 0 .1" contype="0" conaffinity="0"/></body></body>
</worldbody><actuator><motor joint="hinge"/></actuator></mujoco>"""


@pytest.fixture(scope="module")
def sim():
    return lw.Simulation(XML)


@pytest.fixture(scope="module")
def start(sim):
    """Five states that touch the ground, and controls."""
    rng = np.random.default_rng(0)
    x = sim.state(batch=5)
    return x._replace(nu=0.3 * rng.normal(size=x.nu.shape)), rng.normal(size=(5, 1))


def gradient(sim, x, u):
    """The derivative of the sum of the next velocities with respect to nu."""
    cotangents = [np.zeros_like(part) for part in x]
    cotangents[1] += 1.0
    return sim.step.vjp("nu")(*x, u, *cotangents)


def test_pytorch(sim, start):
    torch, bridge = pytest.importorskip("torch"), pytest.importorskip("linkwork.torch")
    x, u = start
    q, nu, activation, acceleration = (torch.tensor(part, requires_grad=True) for part in x)
    after = bridge.wrap(sim.step)(q, nu, activation, acceleration, torch.tensor(u))
    np.testing.assert_array_equal(after[1].detach(), sim.step(x, u).nu)
    after[1].sum().backward()
    np.testing.assert_allclose(nu.grad, gradient(sim, x, u), rtol=1e-12, atol=1e-12)
    assert not acceleration.grad.any()


def test_jax(sim, start):
    jax, bridge = pytest.importorskip("jax"), pytest.importorskip("linkwork.jax")
    x, u = start
    with jax.enable_x64(True):
        step = bridge.wrap(sim.step)
        after = jax.jit(jax.vmap(step))(*x, u)
        np.testing.assert_array_equal(after[1], sim.step(x, u).nu)
        found = jax.grad(lambda nu: step(x.q, nu, *x[2:], u)[1].sum())(x.nu)
    np.testing.assert_allclose(found, gradient(sim, x, u), rtol=1e-12, atol=1e-12)


def test_exported_c_is_checked(sim, tmp_path):
    report = lw.export(sim.kd, tmp_path, {"step": sim.step})
    assert [row.difference <= row.allowed for row in report.rows] == [True]


def test_functions_of_users(sim, start):
    x, u = start

    @lw.compile(q=sim.nq, nu=sim.nv, acceleration=sim.nv, u=1)
    def forces_after_a_step(q, nu, acceleration, u):
        state = lw.SimulationState(q, nu, np.zeros(0), acceleration)
        return sim.forward(sim.step(state, u), u).contact_forces

    after = sim.step(x, u)
    found = forces_after_a_step(x.q, x.nu, x.acceleration, u)
    np.testing.assert_allclose(found, sim.forward(after, u).contact_forces, rtol=1e-9, atol=1e-9)


def test_ways_to_call(sim, start):
    x, u = start
    sim.step.warmup()
    expected = sim.step(x, u)
    out = lw.SimulationState(*map(np.empty_like, x))
    assert sim.step(x, u, out=out).nu is out.nu
    wide = np.zeros((10, sim.nq))
    wide[::2] = x.q
    for after in (
        out,
        sim.step(x._replace(q=wide[::2]), u.tolist()),
        sim.step(*x, control=u),
        sim.step(x, u, threads=2),
    ):
        np.testing.assert_array_equal(after.nu, expected.nu)
    single = sim.step(x._replace(nu=x.nu.astype(np.float32)), u)
    np.testing.assert_allclose(single.nu, expected.nu, atol=1e-6)
    assert sim.step(sim.state(batch=(4, 1)), np.zeros((3, 1))).nu.shape == (4, 3, sim.nv)


def test_gradients_through_rollouts(sim, start):
    """Of 50 steps in contact, against differences."""
    x, u = start
    x = x._replace(nu=0.1 * x.nu)
    controls = np.repeat(0.1 * u[:, None], 50, axis=1)
    cotangents = tuple(np.zeros((5, 51, part.shape[-1])) for part in x)
    cotangents[0][:, -1], cotangents[1][:, -1] = 1.0, 1.0

    def cost(moved):
        after = sim.rollout(x, moved)
        return after.q[:, -1].sum(-1) + after.nu[:, -1].sum(-1)

    _, found, _ = lw.Rollout(sim.step).vjp(tuple(x), controls, cotangents)
    direction = np.random.default_rng(1).normal(size=controls.shape)
    h = 1e-5
    difference = (cost(controls + h * direction) - cost(controls - h * direction)) / (2.0 * h)
    np.testing.assert_allclose((found * direction).sum((1, 2)), difference, rtol=1e-5)
