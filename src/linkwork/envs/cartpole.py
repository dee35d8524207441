"""A pole on a cart that is swung up and balanced."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.envs.row import Row
from linkwork.envs.vector_env import VectorEnv
from linkwork.io.load import load
from linkwork.simulation.simulation import Simulation

FORCE = 30.0  # [N]
TRACK = 1.2  # the largest distance of the cart from the middle [m]


def control(row: Row) -> Any:
    """Return the force on the cart; no motor turns the pole."""
    return np.concatenate([FORCE * row.action, np.zeros(1)])


def observe(row: Row) -> Any:
    """Return position and velocity of the cart, and the direction and velocity of the pole."""
    angle = row.q[1:]
    return np.concatenate([row.q[:1], np.sin(angle), np.cos(angle), 0.2 * row.nu])


def reward(row: Row) -> dict[str, Any]:
    """Return the terms of the reward: the pole points up in the middle of the track."""
    return {
        "upright": 0.1 * (0.5 + 0.5 * np.cos(row.q[1])),
        "center": -0.01 * row.q[0] ** 2,
        "spin": -2e-4 * row.nu[1] ** 2,
        "effort": -0.002 * (row.action @ row.action),
        "end of the track": np.where(off_track(row), -1.0, 0.0),
    }


def off_track(row: Row) -> Any:
    """Return whether the cart has left the track."""
    return abs(row.q[0]) > TRACK


def reset(row: Row) -> dict[str, Any]:
    """Start with the pole in any direction."""
    low, high = np.array([-0.5, -np.pi]), np.array([0.5, np.pi])
    return {"q": row.random.uniform(low, high), "nu": row.random.normal(0.0, 0.3, 2)}


def cartpole_balance(num_envs: int = 4096, **options: Any) -> VectorEnv:
    """Return environments in which the bundled cartpole is swung up.

    Args:
        num_envs: how many.
        options: of `VectorEnv`; they replace those of this page.
    """
    sim = Simulation(load("cartpole"), floating=False, dt=0.005)
    defaults: dict[str, Any] = {
        "observe": observe,
        "reward": reward,
        "terminate": off_track,
        "reset": reset,
        "control": control,
        "action_range": ([-1.0], [1.0]),
        "substeps": 4,
        "max_steps": 500,
    }
    return VectorEnv(sim, num_envs=num_envs, **defaults | options)
