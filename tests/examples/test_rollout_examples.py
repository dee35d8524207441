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


def test_mppi_walks():
    main = runpy.run_path(str(EXAMPLES / "11_mppi_quadruped.py"))["main"]
    states = main(samples=32, seconds=1.2)
    up = lw.spatial.quat.to_rotation(states.q[:, 3:7])[:, 2, 2]
    assert len(states.q) == 241
    assert states.q[-1, 0] > 0.35
    assert abs(states.q[-1, 1]) < 0.15
    assert up.min() > 0.95
    assert states.q[:, 2].min() > 0.25


def test_gradients_find_how_to_stay_on_the_feet():
    main = runpy.run_path(str(EXAMPLES / "23_push_recovery.py"))["main"]
    result = main(iterations=20)
    assert result["costs"][0].mean() > 5.0
    assert result["costs"].min(axis=0).mean() < 0.5
    assert result["before"].sum() == 0
    assert result["after"].all()
