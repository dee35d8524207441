"""Simulations compared with MuJoCo, state by state, where its solver converges."""

from __future__ import annotations

from collections import defaultdict

import mujoco
import numpy as np
import pytest
from tests.support.random_mjcf import RandomModel
from tests.support.simulations import (
    FEET,
    RUNGE_KUTTA,
    SHAPES_OF_BUNDLED,
    bundled,
    compared,
    contact_errors,
    menagerie_files,
    on_the_ground_only,
    random_states,
    set_state,
    suite_files,
    with_spheres_as_feet,
)

import linkwork as lw

# what simulations leave out, and words of MuJoCo about old files
pytestmark = pytest.mark.filterwarnings("ignore")

MEDIAN, WORST = 1e-10, 1e-6  # of relative errors


def check(sim, mj, *, count=60, seed=0, worst=WORST):
    errors = defaultdict(list)
    for what, error in compared(sim, mj, random_states(mj, count, seed)):
        errors[what].append(error)
    for what, numbers in errors.items():
        assert np.isfinite(numbers).all(), what
        assert np.median(numbers) < MEDIAN, what
        assert max(numbers) < worst, what


FILES = {**suite_files(), **{path.stem: path for path in menagerie_files()}}


@pytest.mark.parametrize("name", FILES)
def test_robots_in_mjcf(name):
    mj = on_the_ground_only(FILES[name])
    check(lw.Simulation(mj if name in RUNGE_KUTTA else FILES[name]), mj)


@pytest.mark.parametrize("name", SHAPES_OF_BUNDLED)
def test_bundled_robots_through_their_mjcf(name):
    sim, mj = bundled(name)
    check(sim, mj)
    errors = list(contact_errors(sim, mj, random_states(mj, 40, seed=1)))
    assert len(errors) > 20
    assert np.median(errors) < MEDIAN
    assert max(errors) < WORST


SENSORS = """<mujoco><option cone="elliptic"/><worldbody>
<geom name="floor" type="plane" size="1 1 1" friction="0.8"/>
<site name="home" pos="1 2 3" euler="10 20 30"/>
<body name="torso" pos="0 0 0.3"><freejoint/><geom name="hull" type="box" size="0.2 0.1 0.05"/>
<site name="imu" pos="0 0 0.1" euler="0 10 100"/>
<body name="leg" pos="0.2 0 0" euler="20 0 0"><joint name="knee" ref="0.3" armature="0.01"/>
<geom name="shank" size="0.05" pos="0 0 -0.1"/><site name="ankle" pos="0 0 -0.1" euler="40 0 0"/>
<body name="shoe" pos="0 0 -0.1" euler="0 30 0">
<geom name="sole" type="capsule" size="0.03 0.05" pos="0 0 -0.05"/>
<site name="load" pos="0.01 0 0" euler="5 6 7"/>
<site name="in_box" type="box" size="0.05 0.05 0.12" pos="0 0 -0.05"/>
<site name="in_ball" size="0.07" pos="0.02 0 -0.05"/>
<site name="in_capsule" type="capsule" size="0.04 0.06" pos="0 0 -0.1"/>
<site name="in_cylinder" type="cylinder" size="0.05 0.06" pos="0 0 -0.1" euler="90 0 0"/>
<site name="in_ellipsoid" type="ellipsoid" size="0.05 0.06 0.09" pos="0 0.03 -0.08"/>
</body></body>
<body name="head" pos="-0.3 0 0.2"><joint name="neck" type="ball"/><geom name="skull" size="0.1"/>
<site name="eye" euler="0 0 60" pos="0.1 0 0"/>
<body name="wrist" pos="0 0 0.2"><joint name="w1" axis="0 0 1"/><joint name="w2" axis="0 1 0"/>
<geom name="fist" size="0.05" pos="0.1 0 0"/><site name="hand"/></body></body></body></worldbody>
<actuator><position name="servo" joint="knee" kp="20" kv="2" gear="3" forcerange="-9 8"/></actuator>
<sensor>{}</sensor></mujoco>"""
OF_SITES = {
    **dict.fromkeys(("gyro", "accelerometer", "velocimeter"), ("imu", "hand", "eye", "home")),
    "touch": ("in_box", "in_ball", "in_capsule", "in_cylinder", "in_ellipsoid"),
    **dict.fromkeys(("force", "torque"), ("load", "ankle", "eye", "hand", "imu")),
}
OF_FRAMES = (
    *("framepos", "framequat", "framexaxis", "frameyaxis", "framezaxis"),
    *("framelinvel", "frameangvel", "framelinacc", "frameangacc"),
)
PLACES = (("site", "hand"), ("body", "shoe"), ("xbody", "head"), ("geom", "sole"), ("site", "home"))
REFERENCES = (None, ("site", "ankle"), ("body", "wrist"), ("site", "home"))
OTHERS = (
    *('<jointpos joint="knee"/>', '<jointvel joint="knee"/>', '<gyro site="imu" cutoff="0.1"/>'),
    *(
        '<ballquat joint="neck"/>',
        '<ballangvel joint="neck"/>',
        '<touch site="in_box" cutoff="1"/>',
    ),
    *('<actuatorpos actuator="servo"/>', '<actuatorvel actuator="servo"/>'),
    *('<actuatorfrc actuator="servo"/>', '<subtreecom body="torso"/>', '<subtreecom body="head"/>'),
    *('<subtreelinvel body="torso"/>', '<subtreelinvel body="leg"/>'),
)


def all_sensors():
    """The model with every kind of sensor, on several objects, in several references."""
    elements = [f'<{kind} site="{site}"/>' for kind, sites in OF_SITES.items() for site in sites]
    for kind in OF_FRAMES:
        for number, (what, name) in enumerate(PLACES):
            reference = None if kind.endswith("acc") else REFERENCES[number % len(REFERENCES)]
            more = f'reftype="{reference[0]}" refname="{reference[1]}"' if reference else ""
            elements.append(f'<{kind} objtype="{what}" objname="{name}" {more}/>')
    elements += OTHERS
    named = [text.replace(" ", f' name="s{k}" ', 1) for k, text in enumerate(elements)]
    return SENSORS.format("".join(named))


def test_sensors():
    mj = on_the_ground_only(all_sensors())
    sim = lw.Simulation(all_sensors())
    data = mujoco.MjData(mj)
    states = list(random_states(mj, 200))
    x = sim.state(
        qpos=np.array([one.qpos for one in states]), qvel=np.array([one.qvel for one in states])
    )
    ours = sim.forward(x, np.array([one.ctrl for one in states])).sensors
    theirs = np.zeros_like(ours)
    for k, state in enumerate(states):
        set_state(mj, data, state)
        mujoco.mj_forward(mj, data)
        theirs[k] = data.sensordata
    assert len(sim.sensors) == mj.nsensor
    for name, where in sim.sensors.items():
        a, b = ours[:, where], theirs[:, where]
        if mj.sensor(name).type[0] == mujoco.mjtSensor.mjSENS_FRAMEQUAT:
            a = a * np.sign((a * b).sum(axis=1, keepdims=True))
        np.testing.assert_allclose(a, b, atol=1e-9 * (1 + np.abs(b).max()), err_msg=name)
        kind = mujoco.mjtSensor(int(mj.sensor(name).type[0])).name
        if kind == "mjSENS_TOUCH":  # the states tell whether rays meet the sites
            touching = (b > 0).any(axis=1).mean()
            assert 0 < touching < 1


def test_contact_forces():
    mj = on_the_ground_only(all_sensors())
    errors = list(contact_errors(lw.Simulation(all_sensors()), mj, random_states(mj, 100)))
    assert len(errors) > 50
    assert np.median(errors) < MEDIAN
    assert max(errors) < WORST


@pytest.mark.parametrize("name", FEET)
def test_robots_on_spheres(name):
    mj = with_spheres_as_feet(name)
    assert mj.neq == (0 if name == "anymal" else 4)
    check(lw.Simulation(mj), mj)


@pytest.mark.parametrize("seed", range(5))
def test_random_models(seed):
    text = RandomModel(seed).text
    mj = on_the_ground_only(text)
    check(lw.Simulation(text), mj, count=40, seed=seed)
