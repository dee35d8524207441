"""One environment, for programs that do not take several at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.envs.vector_env import Observation, VectorEnv


class SingleEnv(gymnasium.Env[Observation, Array]):
    """A `VectorEnv` of one environment as a `gymnasium.Env`.

    Args:
        make: a function that returns a `VectorEnv`, such as `quadruped_velocity`.
        options: its arguments.
    """

    def __init__(self, make: Callable[..., VectorEnv], **options: Any) -> None:
        self.env = make(num_envs=1, autoreset_mode="Disabled", **options)
        self.metadata = {
            key: value for key, value in self.env.metadata.items() if key != "autoreset_mode"
        }
        self.render_mode = self.env.render_mode
        self.observation_space = self.env.single_observation_space
        self.action_space = self.env.single_action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start a new episode."""
        super().reset(seed=seed)
        observation, info = self.env.reset(seed=seed)
        return _first(observation), info

    def step(self, action: Array) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take a step."""
        batch = np.asarray(action)[None]
        observation, reward, terminated, truncated, info = self.env.step(batch)
        first = bool(terminated[0]), bool(truncated[0])
        return _first(observation), float(reward[0]), *first, _first(info)

    def render(self) -> None:
        """Show it in the viewer."""
        self.env.render()

    def close(self) -> None:
        """Close the viewer."""
        self.env.close()


def _first(batch: Any) -> Any:
    """Return the first row of arrays in dictionaries."""
    if isinstance(batch, dict):
        return {name: _first(part) for name, part in batch.items()}
    return batch[0]
