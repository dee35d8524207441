"""Written simulations: MuJoCo computes the same for the file that was read and the one written."""

from __future__ import annotations

import re

import mujoco
import numpy as np
import pytest
from tests.simulation.mjcf.test_read import PARTS as ALL_PARTS
from tests.support.simulations import (
    RUNGE_KUTTA,
    menagerie_files,
    on_the_ground_only,
    random_states,
    set_state,
    suite_files,
)

from linkwork.simulation.mjcf.read import read_simulation
from linkwork.simulation.mjcf.write import write_simulation

# without the contact of two spheres, which simulations leave out, and a weld without effect
PARTS = re.sub('<geom name="ball"[^>]*>|<weld[^>]*>', "", ALL_PARTS)
SOURCES = {name: path for name, path in suite_files().items() if name not in RUNGE_KUTTA}
SOURCES["parts"] = PARTS
SOURCES |= {path.stem: path for path in menagerie_files()}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SOURCES)
def test_mujoco_computes_the_same_for_the_written_file(name):
    theirs = on_the_ground_only(SOURCES[name])
    model, scene = read_simulation(SOURCES[name])
    ours = mujoco.MjModel.from_xml_string(write_simulation(model, scene))
    for option in ("solver", "iterations", "tolerance", "ls_iterations", "ls_tolerance"):
        setattr(ours.opt, option, getattr(theirs.opt, option))
    assert (ours.nq, ours.nv, ours.nu, ours.na) == (theirs.nq, theirs.nv, theirs.nu, theirs.na)
    one, other = mujoco.MjData(theirs), mujoco.MjData(ours)
    for state in random_states(theirs, 10):
        set_state(theirs, one, state)
        set_state(ours, other, state)
        mujoco.mj_forward(theirs, one)
        mujoco.mj_forward(ours, other)
        assert one.nefc == other.nefc
        np.testing.assert_allclose(other.qacc, one.qacc, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(other.actuator_force, one.actuator_force, atol=1e-9)
        mujoco.mj_step(theirs, one)
        mujoco.mj_step(ours, other)
        np.testing.assert_allclose(other.qvel, one.qvel, rtol=1e-7, atol=1e-8)
        for sensor in scene.sensors:
            expected = one.sensor(sensor.name).data
            scale = 1e-6 * (1 + np.abs(expected).max())
            np.testing.assert_allclose(other.sensor(sensor.name).data, expected, atol=scale)


@pytest.mark.parametrize("name", SOURCES)
def test_keyframes_and_neutral_positions_survive(name):
    model, scene = read_simulation(SOURCES[name])
    text = write_simulation(model, scene)
    again = read_simulation(text)[1]
    ours = mujoco.MjModel.from_xml_string(text)
    for key in read_simulation(SOURCES[name])[1].keyframes:
        other = next(one for one in again.keyframes if one.name == key.name)
        np.testing.assert_allclose(other.q, key.q, atol=1e-15)
        np.testing.assert_allclose(other.nu or 0, key.nu or 0, atol=1e-14)
    assert dict(again.references) == dict(scene.references)
    assert ours.nkey == len(scene.keyframes)
