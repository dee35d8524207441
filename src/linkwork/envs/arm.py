"""An arm that reaches for points."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.envs.row import Row
from linkwork.envs.vector_env import VectorEnv
from linkwork.io.load import load
from linkwork.simulation.simulation import Simulation

N = 7  # joints that move the hand; the fingers stay closed
HOME = np.array([0.0, 0.4, 0.0, 1.0, 0.0, 0.6, 0.0])
TORQUE = np.array([90.0, 90.0, 90.0, 45.0, 45.0, 14.0, 14.0])  # limits [N m]
STIFFNESS, DAMPING = 3.0 * TORQUE, 0.3 * TORQUE
SPREAD = 0.5  # of goals and starts around HOME [rad]

sim = Simulation(load("arm"), floating=False, ground=False, dt=0.005)


def hand(q: Any) -> Any:
    """Return the position of the tool."""
    return sim.kd.transform("tool", q)[:3, 3]


def control(row: Row) -> Any:
    """Return torques: gravity, and a spring and damper at each joint."""
    gravity = sim.kd.gravity_force(row.q)
    torque = STIFFNESS * (HOME + row.action - row.q[:N]) - DAMPING * row.nu[:N]
    fingers = -200.0 * row.q[N:] - 20.0 * row.nu[N:]
    return np.concatenate([np.clip(torque, -TORQUE, TORQUE), fingers]) + gravity


def observe(row: Row) -> Any:
    """Return joints, goal, and the way from the tool to the goal."""
    return np.concatenate(
        [row.q[:N] - HOME, 0.3 * row.nu[:N], row.goal, 3.0 * (row.goal - hand(row.q)), row.action]
    )


def reward(row: Row) -> dict[str, Any]:
    """Return the terms of the reward: the tool is near the goal."""
    error = hand(row.q) - row.goal
    change = row.action - row.last_action
    return {
        "distance": -0.1 * np.sqrt(error @ error),
        "near": 0.05 * np.exp(-(error @ error) / 0.03**2),
        "smoothness": -0.001 * (change @ change),
    }


def reset(row: Row) -> dict[str, Any]:
    """Start near home; the goal is where other joint positions put the tool."""
    start, other = row.random.uniform(-SPREAD, SPREAD, (2, N))
    closed = np.zeros(sim.nq - N)
    goal = hand(np.concatenate([HOME + other, closed]))
    return {"q": np.concatenate([HOME + start, closed]), "goal": goal}


def arm_reach(num_envs: int = 4096, **options: Any) -> VectorEnv:
    """Return environments in which the bundled arm reaches for points.

    Args:
        num_envs: how many.
        options: of `VectorEnv`; they replace those of this page.
    """
    defaults: dict[str, Any] = {
        "observe": observe,
        "reward": reward,
        "reset": reset,
        "control": control,
        "action_range": (-np.ones(N), np.ones(N)),
        "substeps": 4,
        "max_steps": 150,
    }
    return VectorEnv(sim, num_envs=num_envs, **defaults | options)
