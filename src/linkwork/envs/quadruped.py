"""A quadruped that follows velocity commands."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.envs.row import Row
from linkwork.envs.vector_env import VectorEnv
from linkwork.io.load import load
from linkwork.simulation.simulation import Simulation
from linkwork.spatial import quat

FEET = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
STANCE = np.tile([0.0, 0.8, -1.6], 4)  # hip roll, hip pitch and knee of each leg [rad]
HEIGHT = 0.31  # of the trunk in the stance [m]
SCALE = 0.3  # of actions [rad]
STIFFNESS, DAMPING = 50.0, 0.7  # of the joints [N m/rad], [N m s/rad]
TORQUE = np.tile([28.0, 28.0, 38.0], 4)  # limits [N m]
SLOWEST, FASTEST = np.array([-0.6, -0.3, -1.0]), np.array([1.2, 0.3, 1.0])  # vx, vy, yaw rate
STEPS = 500  # of an episode of 10 s
COMMAND_STEPS = 250  # the average time of a command
ON_THE_SPOT = 0.2  # part of the commands that ask for a yaw rate only


def body_velocity(row: Row) -> tuple[Any, Any, Any]:
    """Return velocity, angular velocity and the vertical, in the axes of the trunk."""
    R = quat.to_rotation(row.q[3:7])
    return R.T @ row.nu[:3], R.T @ row.nu[3:6], R[2]


def control(row: Row) -> Any:
    """Return the torques of a spring and damper at each joint."""
    target = STANCE + SCALE * row.action
    torque = STIFFNESS * (target - row.q[7:]) - DAMPING * row.nu[6:]
    return np.clip(torque, -TORQUE, TORQUE)


def observe(row: Row) -> Any:
    """Return what the policy sees: 48 numbers of about the same size."""
    v, w, up = body_velocity(row)
    command = row.command * np.array([2.0, 2.0, 0.25])
    return np.concatenate(
        [2.0 * v, 0.25 * w, up, command, row.q[7:] - STANCE, 0.05 * row.nu[6:], row.action]
    )


def reward(row: Row) -> dict[str, Any]:
    """Return the terms of the reward for a step of 20 ms."""
    v, w, up = body_velocity(row)
    error = row.command[:2] - v[:2]
    change = row.action - row.last_action
    return {
        "velocity": 0.05 * np.exp(-(error @ error) / 0.2),
        "yaw rate": 0.03 * np.exp(-((row.command[2] - w[2]) ** 2) / 0.3),
        "bounce": -0.03 * np.minimum(v[2] ** 2, 1.0),
        "sway": -0.001 * np.minimum(w[:2] @ w[:2], 40.0),
        "tilt": -0.015 * (up[:2] @ up[:2]),
        "smoothness": -0.0003 * (change @ change),
        "effort": -2e-7 * (row.nu[6:] @ row.nu[6:]),
        "fall": np.where(fallen(row), -0.05, 0.0),
    }


def fallen(row: Row) -> Any:
    """Return whether the trunk is low or tilted by more than 50 degrees."""
    return (row.q[2] < 0.17) | (quat.to_rotation(row.q[3:7])[2, 2] < 0.6)


def reset(row: Row) -> dict[str, Any]:
    """Start near the stance, with a random command."""
    joints = STANCE + row.random.normal(0.0, 0.1, 12)
    base = np.array([0.0, 0.0, HEIGHT + 0.02, 1.0, 0.0, 0.0, 0.0])
    return {
        "q": np.concatenate([base, joints]),
        "nu": row.random.normal(0.0, 0.2, 18),
        "command": new_command(row),
    }


def new_command(row: Row) -> Any:
    """Return a random command."""
    only_yaw = np.where(row.random.chance(ON_THE_SPOT), np.array([0.0, 0.0, 1.0]), np.ones(3))
    return only_yaw * row.random.uniform(SLOWEST, FASTEST)


def memory(row: Row) -> dict[str, Any]:
    """Choose another command from time to time."""
    is_new = row.random.chance(1.0 / COMMAND_STEPS)
    return {"command": np.where(is_new, new_command(row), row.command)}


def simulation() -> Simulation:
    """Return the simulation of the bundled quadruped on its feet."""
    # a solution to four digits is accurate enough to learn, and takes two thirds of the time
    return Simulation(
        load("quadruped"), ground=FEET, dt=0.005, friction=0.8, iterations=4, tolerance=1e-4
    )


def quadruped_velocity(
    num_envs: int = 4096, *, sim: Simulation | None = None, **options: Any
) -> VectorEnv:
    """Return environments in which a quadruped follows velocity commands.

    Args:
        num_envs: how many.
        sim: of another quadruped with the same joints; by default, the bundled one.
        options: of `VectorEnv`; they replace those of this page.
    """
    defaults: dict[str, Any] = {
        "observe": observe,
        "reward": reward,
        "terminate": fallen,
        "reset": reset,
        "control": control,
        "memory": memory,
        "action_range": (-5.0, 5.0),
        "substeps": 4,
        "max_steps": STEPS,
    }
    return VectorEnv(sim or simulation(), num_envs=num_envs, **defaults | options)
