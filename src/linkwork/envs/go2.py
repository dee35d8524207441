"""Unitree's go2 that follows velocity commands: the page on the quadruped, with another robot.

Its file is that of example-robot-data (extra `zoo`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.envs import quadruped
from linkwork.envs.row import Row
from linkwork.envs.vector_env import VectorEnv
from linkwork.io.load import load
from linkwork.model.geometry import Shape, Sphere
from linkwork.model.model import Model
from linkwork.simulation.simulation import Simulation

FOOT = Shape(Sphere(0.022))  # in place of the mesh of a foot
TORQUE = np.tile([23.7, 23.7, 45.43], 4)  # limits [N m]
STEPS = quadruped.STEPS
observe, memory, fallen = quadruped.observe, quadruped.memory, quadruped.fallen


def robot() -> Model:
    """Return go2 with spheres as feet."""
    model = load("go2")
    links = [
        replace(link, collisions=(FOOT,)) if link.name in quadruped.FEET else link
        for link in model.links
    ]
    return replace(model, links=tuple(links))


def control(row: Row) -> Any:
    """Return the torques of a spring and damper at each joint."""
    return np.clip(quadruped.control(row), -TORQUE, TORQUE)


def go2_velocity(num_envs: int = 4096, **options: Any) -> VectorEnv:
    """Return environments in which go2 follows velocity commands.

    Args:
        num_envs: how many.
        options: of `VectorEnv`; they replace those of the quadruped.
    """
    sim = Simulation(
        robot(), ground=quadruped.FEET, dt=0.005, friction=0.8, iterations=4, tolerance=1e-4
    )
    defaults: dict[str, Any] = {"sim": sim, "control": control}
    return quadruped.quadruped_velocity(num_envs, **defaults | options)
