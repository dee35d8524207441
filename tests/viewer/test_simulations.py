"""Simulations in the viewer: rollouts with forces, and a live one that is run, reset and pushed."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.page import Page, soon

import linkwork as lw
from linkwork.viewer.live import LiveSimulation

WEIGHT = 2.0 * 9.80665


@pytest.fixture(scope="module")
def sim():
    """A ball with a servo on top, above a plane."""
    inertia = lw.solid_sphere(1.5, 0.1)
    b = lw.ModelBuilder("ball")
    b.add_link("ball", inertia=inertia, collisions=(lw.Shape(lw.Sphere(0.1)),))
    b.add_link("mast", inertia=lw.solid_sphere(0.5, 0.05))
    b.add_joint("turn", "revolute", "ball", "mast", axis=(0, 0, 1))
    return lw.Simulation(b.build(), ground=["ball"], dt=0.002, servos=(1.0, 0.1))


@pytest.fixture(scope="module")
def landing(sim):
    """States of one robot that falls onto the ground and rests; and their controls."""
    u = np.full((1000, 1), 0.2)
    return sim.rollout(sim.place_on_ground(sim.state(), 0.02), u), u


@pytest.fixture
def viewer(sim):
    with lw.view(sim, port=0) as viewer:
        yield viewer


def forces(viewer):
    """(n, 2, 3) ends of the arrows of contacts that the page shows."""
    node = viewer.server.scene.get_handle_by_name("/ball/contact forces")
    return node.points if node is not None and node.visible else np.zeros((0, 2, 3))


def test_it_starts_on_the_ground(viewer):
    np.testing.assert_allclose(viewer.q()[:3], [0.0, 0.0, 0.1], atol=1e-12)


def test_a_rollout_is_played_with_its_forces(viewer, landing):
    states, u = landing
    viewer.play(states, controls=u, start=False)
    viewer.flush()
    assert len(forces(viewer)) == 0  # in the air
    with Page(viewer) as page:
        page.set("Time [s]", 2.0)
        soon(lambda: len(forces(viewer)) == 1)
        start, end = forces(viewer)[0]
        np.testing.assert_allclose(start, [0.0, 0.0, 0.0], atol=1e-3)
        scale = viewer._extent.reach / WEIGHT
        np.testing.assert_allclose(end - start, [0.0, 0.0, scale * WEIGHT], atol=2e-3)
        np.testing.assert_allclose(viewer.q(), states.q[-1], atol=1e-12)
        page.set("Contact forces", False)
        soon(lambda: len(forces(viewer)) == 0)
        page.set("Contact forces", True)
        soon(lambda: len(forces(viewer)) == 1)
        page.set("turn", -0.5)  # what is shown is no state of the simulation any more
        soon(lambda: len(forces(viewer)) == 0)


def test_a_simulation_runs_until_it_is_stopped(viewer):
    viewer.simulate(control=lambda x: [0.3])
    soon(lambda: abs(viewer.q()[7] - 0.3) < 0.05)
    with Page(viewer) as page:
        page.set("Run", False)
        soon(lambda: not viewer._controller(None).live.running)
        q = viewer.q()
        viewer.flush()
        np.testing.assert_array_equal(viewer.q(), q)
        page.set("turn", 0.0)  # moved by hand: it goes on from there
        soon(lambda: abs(viewer.q()[7]) < 1e-6)
        page.set("Run", True)
        soon(lambda: abs(viewer.q()[7] - 0.3) < 0.05)
        assert "time" in page.text()


def test_a_trajectory_that_is_loaded_stops_the_simulation(viewer, landing):
    states, u = landing
    viewer.simulate(control=[0.3])
    viewer.play(states, controls=u, start=False)
    assert not viewer._controller(None).live.running
    np.testing.assert_allclose(viewer.q(), states.q[0], atol=1e-12)


def test_steps_resets_and_pushes(viewer, sim):
    viewer.simulate(control=[0.1], start=False)
    controller = viewer._controller(None)
    start = viewer.q()
    controller.step()
    once = sim.step(sim.place_on_ground(sim.state()), [0.1])
    np.testing.assert_allclose(viewer.q(), once.q, atol=1e-14)
    controller.push("ball", np.array([0.0, 1.0, 0.0]))
    changed = controller.live.x.nu - once.nu
    momentum = sim.kd.mass_matrix(once.q) @ changed
    np.testing.assert_allclose(momentum, [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0], atol=1e-12)
    controller.reset()
    np.testing.assert_array_equal(viewer.q(), start)


def test_time_passes_as_on_the_clock(sim):
    now = [0.0]
    live = LiveSimulation(sim, clock=lambda: now[0])
    live.advance()
    assert live.time == 0.0
    live.start()
    for now[0] in (0.003, 0.0095, 0.0201):
        live.advance()
    assert live.time == pytest.approx(0.02)
    live.speed, now[0] = 0.5, 0.0401
    live.advance()
    assert live.time == pytest.approx(0.03)
    now[0] = 100.0  # the page was busy: what is late is not caught up
    live.advance()
    assert live.time == pytest.approx(0.13)


def test_a_simulation_that_diverges_stops_and_says_so(viewer):
    viewer.simulate(control=[np.nan], start=False)
    with Page(viewer) as page:
        page.set("Run", True)
        soon(lambda: any("diverged" in note for note in page.notifications))
        assert not viewer._controller(None).live.running
        assert np.isfinite(viewer.q()).all()


def test_wrong_use_is_explained(viewer, sim, landing):
    states, u = landing
    with pytest.raises(lw.ShapeError, match="controls: expected"):
        viewer.play(states, controls=np.zeros((7, 1)))
    with pytest.raises(lw.ShapeError, match="times"):
        viewer.play(states, np.arange(7.0))
    with pytest.raises(lw.ShapeError, match="expected one state"):
        viewer.simulate(sim.state(batch=3))
    with lw.view(sim.kd, port=0) as other:
        for call in (lambda: other.play(states, controls=u), other.simulate):
            with pytest.raises(lw.ArgumentError, match=r"lw\.view\(sim\)"):
                call()


@pytest.mark.peers
def test_ground_that_is_tilted_is_drawn():
    text = """<mujoco model="ball"><worldbody><geom type="plane" size="1 1 1" euler="0 15 0"/>
    <body pos="0 0 0.5"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>"""
    for angle, drawn in ((15, True), (0, False)):
        with lw.view(lw.Simulation(text.replace("15", str(angle))), port=0) as viewer:
            node = viewer.server.scene.get_handle_by_name("/ball ground/boxes")
            assert (node is not None) == drawn
            if drawn:
                R = lw.spatial.quat.to_rotation(node.batched_wxyzs[0])
                np.testing.assert_allclose(abs(R[2]).max(), np.cos(np.radians(15)), atol=1e-6)


@pytest.mark.peers
def test_forces_of_a_box_push_the_robot_away():
    """MuJoCo's normal points from the ball, which is the first shape, into the box."""
    text = """<mujoco model="ball"><worldbody><geom type="box" size=".3 .3 .2"/>
    <body pos="0 0 0.5"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>"""
    sim = lw.Simulation(text)
    assert sim.scene.contacts[0].moving_first
    states = sim.rollout(sim.place_on_ground(sim.state()), np.zeros((200, 0)))
    with lw.view(sim, port=0) as viewer:
        assert viewer.q()[2] == pytest.approx(0.3)
        viewer.simulate(lw.SimulationState(*(part[-1] for part in states)), start=False)
        viewer.flush()
        start, end = forces(viewer)[0]
        np.testing.assert_allclose(start, [0.0, 0.0, 0.2], atol=1e-3)
        assert end[2] > start[2] + 0.1
