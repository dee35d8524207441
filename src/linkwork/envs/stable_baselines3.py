"""Vector environments for Stable-Baselines3.

from linkwork.envs.stable_baselines3 import VecEnv

model = stable_baselines3.PPO("MlpPolicy", VecEnv(env))
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from linkwork.engine.symbolic.arrays import Array
from linkwork.envs.vector_env import VectorEnv
from linkwork.errors import ArgumentError, missing_package

try:
    from stable_baselines3.common.vec_env.base_vec_env import VecEnv as BaseVecEnv
except ModuleNotFoundError as error:
    if error.name != "stable_baselines3":
        raise
    raise missing_package("linkwork.envs.stable_baselines3", "stable-baselines3") from error


class VecEnv(BaseVecEnv):
    """A `VectorEnv` as Stable-Baselines3 takes it.

    Args:
        env: the environments, with the autoreset SameStep.
    """

    def __init__(self, env: VectorEnv) -> None:
        if env.metadata["autoreset_mode"] is not AutoresetMode.SAME_STEP:
            raise ArgumentError("env: Stable-Baselines3 needs the autoreset_mode 'SameStep'")
        self.env = env
        self._actions = np.zeros(env.action_space.shape or (), np.float32)
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def reset(self) -> Any:
        """Start new episodes, with the seed of `seed(...)`."""
        observations, _ = self.env.reset(seed=self._seeds[0])
        self._reset_seeds()
        return observations

    def step_async(self, actions: Array) -> None:
        """Store the actions of the next step."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, Array, Array, list[dict[str, Any]]]:
        """Take a step."""
        observations, rewards, terminated, truncated, info = self.env.step(self._actions)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        ended = terminated | truncated
        for row in np.flatnonzero(ended).tolist():
            final = info["final_info"]
            infos[row] = {
                "terminal_observation": _row(info["final_obs"], row),
                "TimeLimit.truncated": bool(truncated[row]),
                "episode": {"r": float(final["return"][row]), "l": int(final["steps"][row])},
            }
        return observations, rewards, ended, infos

    def close(self) -> None:
        """Close the environments."""
        self.env.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute, which all environments share."""
        return [getattr(self.env, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of all environments."""
        del indices
        setattr(self.env, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method of all environments together, once."""
        result = getattr(self.env, method_name)(*method_args, **method_kwargs)
        return [result] * len(list(self._get_indices(indices)))

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Return False for each environment: none has a wrapper of its own."""
        del wrapper_class
        return [False] * len(list(self._get_indices(indices)))


def _row(observations: Any, row: int) -> Any:
    if isinstance(observations, dict):
        return {name: part[row] for name, part in observations.items()}
    return observations[row]
