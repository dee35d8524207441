"""The JAX example reaches its goal."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np

EXAMPLE = Path(__file__).parents[3] / "examples" / "15_jax_swing_up.py"


def test_the_cartpole_is_swung_up_by_gradients_through_a_scan():
    example = runpy.run_path(str(EXAMPLE))
    forces, costs = example["optimize"]()
    (q, nu), _ = example["rollout"](forces)
    assert costs[-1] < 0.02 * costs[0]
    assert np.cos(q[1]) > 0.99
    assert np.abs(nu).max() < 0.5
