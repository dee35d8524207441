"""The step of environments for tensors of PyTorch, with gradients.

The states are tensors. The graph of PyTorch goes through them from step to step, until `start`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic.arrays import Array
from linkwork.envs.transition import DIVERGED, FLAGS, OBSERVATIONS, REWARD, TERMS
from linkwork.errors import ArgumentError, shown
from linkwork.torch import wrap

CONSTANT = ("parameters", "steps", "sums", "done")  # parts of the state without gradients


class GradientStep:
    """Takes steps, and keeps the states."""

    def __init__(self, kernel: Kernel, n_groups: int) -> None:
        """Wrap the kernel of a step.

        Args:
            kernel: its first outputs are the next state.
            n_groups: how many groups of observations there are.
        """
        self._step, self._n_groups = wrap(kernel), n_groups
        self._names = [port.name for port in kernel.signature.inputs]
        self._state: tuple[Tensor, ...] = ()
        self._results: tuple[Tensor, ...] = ()

    def start(self, state: Sequence[Array]) -> None:
        """Continue from a state without a graph, whose memory is shared."""
        self._state = tuple(
            torch.from_numpy(part).requires_grad_(name not in CONSTANT)
            for name, part in zip(self._names, state, strict=False)
        )

    def __call__(self, random: Array, start_random: Array, actions: Any) -> tuple[Array, ...]:
        """Take a step; return the next state and the other outputs as arrays that share memory.

        Args:
            random, start_random: random numbers of all rows.
            actions: (num_envs, n) a tensor.
        """
        if not isinstance(actions, Tensor):
            raise ArgumentError(f"actions: expected a tensor of PyTorch, got {shown(actions)}")
        numbers = torch.from_numpy(random), torch.from_numpy(start_random)
        inputs = [part.view_as(part) for part in (*self._state, actions.to(numbers[0].dtype))]
        results = self._step(*inputs[:-1], *numbers, inputs[-1])
        diverged = results[len(self._state) + FLAGS][:, DIVERGED].detach() > 0.5
        if diverged.any():
            for part in inputs:
                if part.requires_grad:
                    part.register_hook(lambda slope: _without(slope, diverged))
        self._results = results
        return tuple(part.detach().numpy() for part in results)

    def accept(self) -> None:
        """Continue from the state after the last step."""
        state = zip(self._names, self._results[: len(self._state)], strict=False)
        self._state = tuple(part.detach() if name in CONSTANT else part for name, part in state)

    def results(
        self,
        grouped: Callable[[Sequence[Any]], Any],
        terminated: Array,
        truncated: Array,
        info: dict[str, Any],
    ) -> Any:
        """Return what a step returns, as tensors.

        Args:
            grouped: returns observations as environments return them.
            terminated, truncated: (num_envs,) the ends of episodes.
            info: of the step, with arrays.
        """
        outputs, n = self._results[len(self._state) :], self._n_groups
        observed = [part.float() for part in outputs[OBSERVATIONS:]]
        tensors = self.tensors(info)
        for k, name in enumerate(info["terms"]):
            tensors["terms"][name] = outputs[TERMS][:, k]
        if "final_obs" in info:
            tensors["final_obs"] = grouped(observed[n:])
        ends = self.tensors([terminated, truncated])
        return grouped(observed[:n]), outputs[REWARD].float(), *ends, tensors

    def tensors(self, values: Any) -> Any:
        """Return arrays in dictionaries and lists as tensors that share memory."""
        if isinstance(values, dict):
            return {name: self.tensors(part) for name, part in values.items()}
        if isinstance(values, list):
            return [self.tensors(part) for part in values]
        return torch.from_numpy(values)


def _without(slope: Tensor, rows: Tensor) -> Tensor:
    """Return a gradient that is 0 in some rows."""
    return torch.where(rows.reshape(-1, *[1] * (slope.ndim - 1)), 0.0, slope)
