"""The ready environments, by the names under which gymnasium knows them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import gymnasium

from linkwork.envs.single import SingleEnv
from linkwork.envs.vector_env import VectorEnv


class ReadyEnv(NamedTuple):
    """Where an environment is defined, and its task."""

    module: str
    function: str
    task: str

    @property
    def make(self) -> Callable[..., VectorEnv]:
        """The function that returns it."""
        return getattr(import_module(f"linkwork.envs.{self.module}"), self.function)


READY = {
    "linkwork/CartpoleBalance-v0": ReadyEnv(
        "cartpole", "cartpole_balance", "swing a pole up and balance it"
    ),
    "linkwork/ArmReach-v0": ReadyEnv("arm", "arm_reach", "reach for points with an arm"),
    "linkwork/QuadrupedVelocity-v0": ReadyEnv(
        "quadruped", "quadruped_velocity", "follow velocity commands on four legs"
    ),
    "linkwork/Go2Velocity-v0": ReadyEnv(
        "go2", "go2_velocity", "the same with Unitree's go2, which needs example-robot-data"
    ),
    "linkwork/HumanoidVelocity-v0": ReadyEnv(
        "humanoid", "humanoid_velocity", "follow velocity commands on two feet, while pushed"
    ),
    "linkwork/HumanoidStand-v0": ReadyEnv(
        "humanoid", "humanoid_stand", "the same with the command to stand"
    ),
}


def register() -> None:
    """Register the environments with gymnasium, unless they are registered already."""
    for name in READY.keys() - gymnasium.registry.keys():
        gymnasium.register(
            name, entry_point=partial(_single, name), vector_entry_point=partial(_vector, name)
        )


def _single(name: str, **options: Any) -> SingleEnv:
    return SingleEnv(READY[name].make, **options)


def _vector(name: str, **options: Any) -> VectorEnv:
    return READY[name].make(**options)
