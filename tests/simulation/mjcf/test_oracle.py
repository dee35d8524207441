"""Simulations compared with MuJoCo, state by state, where its solver converges."""

from __future__ import annotations

import re
from collections import defaultdict

import mujoco
import numpy as np
import pytest
from tests.support.simulations import (
    compared,
    contact_errors,
    converging,
    menagerie_files,
    on_the_ground_only,
    random_states,
    suite_files,
)

import linkwork as lw

pytestmark = pytest.mark.filterwarnings("ignore:.*leaves out")

MEDIAN, WORST = 1e-10, 1e-6  # of relative errors


def check(sim, mj, *, count=60, seed=0, worst=WORST):
    errors = defaultdict(list)
    for what, error in compared(sim, mj, random_states(mj, count, seed)):
        errors[what].append(error)
    for what, numbers in errors.items():
        assert np.isfinite(numbers).all(), what
        assert np.median(numbers) < MEDIAN, what
        assert max(numbers) < worst, what


def euler(path):
    """The content of a file, with an integrator that simulations have."""
    return re.sub('integrator="RK4"', "", path.read_text())


FILES = {name: path for name, path in suite_files().items() if name not in ("humanoid_CMU",)}
FILES |= {path.stem: path for path in menagerie_files()}


@pytest.mark.parametrize("name", FILES)
def test_robots_in_mjcf(name):
    check(lw.Simulation(FILES[name]), on_the_ground_only(FILES[name]))


@pytest.mark.parametrize("name", ["quadruped", "humanoid"])
def test_bundled_robots_through_their_mjcf(name):
    sim = lw.Simulation(lw.load(name), ground=True, dt=0.004, friction=0.7)
    mj = converging(mujoco.MjModel.from_xml_string(sim.to_mjcf()))
    check(sim, mj)
    errors = list(contact_errors(sim, mj, random_states(mj, 40, seed=1)))
    assert len(errors) > 20
    assert np.median(errors) < MEDIAN
    assert max(errors) < WORST
