"""The examples with rollouts reach their goals."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np

import linkwork as lw

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_cartpole_is_swung_up_by_gradients_through_time():
    example = runpy.run_path(str(EXAMPLES / "14_cartpole_swing_up.py"))
    controls, cost = example["optimize"](120, 150)
    q, nu = lw.rollout(example["step"], example["START"], controls, final=True)
    assert cost < 10
    assert np.cos(q[1]) > 0.95
    assert np.abs(nu).max() < 0.5


def test_mppi_levels_a_thrown_quadruped():
    example = runpy.run_path(str(EXAMPLES / "11_mppi_quadruped.py"))
    cost, without = example["main"](None, samples=48, ticks=40)
    assert cost < 0.95 * without


def test_mppi_accepts_the_file_of_another_robot():
    example = runpy.run_path(str(EXAMPLES / "11_mppi_quadruped.py"))
    cost, _ = example["main"](str(lw.robots.path("quadrotor")), samples=8, ticks=2)
    assert np.isfinite(cost)
