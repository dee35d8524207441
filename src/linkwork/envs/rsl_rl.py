"""Vector environments for rsl_rl.

from linkwork.envs.rsl_rl import VecEnv

runner = rsl_rl.runners.OnPolicyRunner(VecEnv(env), config)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from linkwork.envs.vector_env import VectorEnv
from linkwork.errors import ArgumentError, missing_package

try:
    import torch
    from rsl_rl.env import VecEnv as BaseVecEnv
    from tensordict import TensorDict
except ModuleNotFoundError as error:
    if error.name not in ("rsl_rl", "tensordict", "torch"):
        raise
    raise missing_package("linkwork.envs.rsl_rl", "rsl-rl-lib") from error


class VecEnv(BaseVecEnv):
    """A `VectorEnv` as rsl_rl takes it.

    Groups of observations have their names; a single array is the group `policy`. The value of a
    last state is not known to rsl_rl, so it uses that of the state before: `time_outs`.

    Args:
        env: the environments, with the autoreset SameStep.
        seed: of the first reset.
    """

    def __init__(self, env: VectorEnv, seed: int | None = None) -> None:
        if env.metadata["autoreset_mode"] is not AutoresetMode.SAME_STEP:
            raise ArgumentError("env: rsl_rl needs the autoreset_mode 'SameStep'")
        self.env, self.num_envs, self.device, self.cfg = env, env.num_envs, "cpu", {}
        self.num_actions = int(np.prod(env.single_action_space.shape or ()))
        self.max_episode_length = env.max_steps or 2**31
        self._observations = self._tensors(env.reset(seed=seed)[0])

    @property
    def episode_length_buf(self) -> torch.Tensor:
        """The steps of each episode; runners set it, to spread the ends of episodes over time."""
        return torch.from_numpy(self.env.episode_steps)

    @episode_length_buf.setter
    def episode_length_buf(  # pyright: ignore[reportIncompatibleVariableOverride]
        self, value: torch.Tensor
    ) -> None:
        self.env.episode_steps = value.numpy()

    def get_observations(self) -> TensorDict:
        """Return the current observations."""
        return self._observations

    def step(
        self, actions: torch.Tensor
    ) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict[str, Any]]:
        """Take a step."""
        observations, rewards, terminated, truncated, info = self.env.step(actions.detach().numpy())
        extras: dict[str, Any] = {"time_outs": torch.from_numpy(truncated)}
        ended = terminated | truncated
        if ended.any():
            terms = info["final_info"]["terms"].items()
            extras["log"] = {f"/terms/{name}": float(sums[ended].mean()) for name, sums in terms}
        self._observations = self._tensors(observations)
        done = torch.from_numpy(ended).long()
        return self._observations, torch.from_numpy(rewards), done, extras

    def _tensors(self, observations: Any) -> TensorDict:
        groups = observations if isinstance(observations, dict) else {"policy": observations}
        tensors = {name: torch.from_numpy(part) for name, part in groups.items()}
        return TensorDict(tensors, batch_size=[self.num_envs])
