"""Simulations of bodies whose motion can be computed: sliding, spinning, landing, at a limit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw

pytestmark = pytest.mark.peers  # MuJoCo reads the files

G = 9.81
SPHERE = '<geom size=".1" mass="2" condim="{condim}" friction="{friction}"/>'
BLOCK = '<geom type="box" size=".15 .1 .05" mass="3" condim="3" friction="{friction}"/>'


def body(geom, height, timestep=0.001):
    """A free body above a floor; the friction of the floor does not count."""
    return lw.Simulation(f"""<mujoco><option cone="elliptic" timestep="{timestep}" impratio="100"/>
    <worldbody><geom type="plane" size="1 1 1" friction="1e-5 1e-5 1e-5"/>
    <body pos="0 0 {height}"><freejoint/>{geom}</body></worldbody></mujoco>""")


def settled(sim, seconds, **start):
    """The states of a rollout without controls."""
    x = sim.state(**start)
    return sim.rollout(x, np.zeros((round(seconds / sim.dt), sim.n_controls)))


def last(states):
    return lw.SimulationState(*(part[-1] for part in states))


def tilted(sim, angle):
    """The ground stays, gravity tilts."""
    gravity = (G * np.sin(angle), 0.0, -G * np.cos(angle))
    options = replace(sim.scene.options, gravity=gravity)
    return sim.replace(scene=replace(sim.scene, options=options))


@pytest.mark.parametrize("excess", [-0.02, 0.0, 0.02])
def test_a_block_at_the_angle_of_friction(excess):
    """Just below it creeps, at it the friction is that of sliding, beyond it accelerates."""
    mu = 0.4
    angle = np.arctan(mu) + excess
    sim = tilted(body(BLOCK.format(friction=mu), 0.05), angle)
    states = settled(sim, 1.0)
    acceleration = states.nu[-1, 0] - states.nu[-501, 0]  # in half a second
    expected = 0.5 * G * max(0.0, np.sin(angle) - mu * np.cos(angle))
    assert acceleration == pytest.approx(expected, abs=2e-3)
    half = lw.SimulationState(*(part[-500:] for part in states))
    forces = sim.forward(half, np.zeros((500, 0))).contact_forces.sum(axis=1).mean(axis=0)
    assert forces[0] == pytest.approx(3.0 * G * np.cos(angle), rel=5e-3)
    pull = np.linalg.norm(forces[1:3]) / forces[0]
    assert pull == pytest.approx(min(mu, np.tan(angle)), rel=5e-3)


def test_the_distance_of_sliding():
    mu, speed = 0.3, 2.0
    sim = body(BLOCK.format(friction=mu), 0.05)
    states = settled(sim, 1.5, nu=[speed, 0, 0, 0, 0, 0])
    assert states.q[-1, 0] == pytest.approx(speed**2 / (2 * mu * G), rel=5e-3)
    assert abs(states.nu[-1, 0]) < 1e-3


def test_a_spinning_sphere_is_stopped_by_torsional_friction():
    spin, torsion = 20.0, 0.01
    sim = body(SPHERE.format(condim=4, friction=f"1 {torsion} 0"), 0.1)
    rest = last(settled(sim, 1.0))
    turning = np.array([0, 0, 0, 0, 0, spin])
    end = last(sim.rollout(rest._replace(nu=rest.nu + turning), np.zeros((500, 0))))
    inertia = 0.4 * 2.0 * 0.1**2
    assert end.nu[5] == pytest.approx(spin - 0.5 * torsion * 2.0 * G / inertia, rel=1e-3)
    assert abs(end.nu[:2]).max() < 1e-9
    assert abs(end.nu[2]) < 5e-3


def test_a_capsule_lands_on_both_ends():
    sim = body('<geom type="capsule" size=".05 .2" mass="2" euler="0 90 0"/>', 0.3)
    x = last(settled(sim, 2.0, nu=[0, 0, 0, 0, 0.5, 0]))
    f = sim.forward(x, [])
    assert abs(x.nu).max() < 1e-6
    np.testing.assert_allclose(f.contact_forces[:, 0], 0.5 * 2.0 * G, rtol=1e-6)
    np.testing.assert_allclose(f.distances, f.distances.mean(), atol=1e-9)
    assert -1e-3 < f.distances.mean() < 0.0


def test_a_pendulum_rests_at_its_limit():
    sim = lw.Simulation("""<mujoco><option timestep="0.001"/><worldbody><body pos="0 0 1">
    <joint name="pivot" axis="0 1 0" range="-30 60" damping="0.01"/>
    <geom type="capsule" size=".02" fromto="0 0 0 .5 0 0" mass="1.2"/></body>
    </worldbody></mujoco>""")
    states = settled(sim, 3.0, nu=[2.0])
    q, limit = states.q[-1, 0], np.pi / 3
    assert 0.0 < q - limit < 0.01
    assert abs(states.nu[-1, 0]) < 1e-6
    assert states.q.max() < limit + 0.05


def test_contacts_only_take_energy():
    """Of a tumbling block, at times when no contact is compressed."""
    sim = body(BLOCK.format(friction=0.5), 0.6, timestep=0.0005)
    states = settled(sim, 1.5, nu=[1.0, 0.5, 0.0, 4.0, 3.0, 1.0])
    energy = sim.kd.kinetic_energy(states.q, states.nu) + 3.0 * G * states.q[:, 2]
    flat = lw.SimulationState(*states)
    flying = sim.forward(flat, np.zeros((len(energy), 0))).distances.min(axis=-1) > 0.0
    assert 100 < flying.sum() < len(energy) - 100
    assert np.diff(energy[flying]).max() < 1e-3 * energy[0]
    assert energy[-1] < 0.4 * energy[0]
