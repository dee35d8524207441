"""Rollouts of JAX arrays: `scan` over the step of a `linkwork.Rollout`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from linkwork.errors import ArgumentError, ShapeError, name_not_found
from linkwork.kernel.rollout import Rollout
from linkwork.kernel.rollout_inputs import split


class RolloutFunction:
    """Many steps of a compiled function, as a function of JAX arrays."""

    def __init__(self, rollout: Rollout, step: Any) -> None:
        self.rollout = rollout
        self._step = step
        inputs, outputs = rollout.step.signature.inputs, rollout.step.signature.outputs
        self._states, self._others = inputs[: len(outputs)], inputs[len(outputs) :]

    def __repr__(self) -> str:
        return f"<linkwork.jax {self.rollout!r}>"

    def __call__(
        self,
        x0: Any,
        controls: Any = None,
        *,
        params: Mapping[str, Any] | None = None,
        steps: int | None = None,
        final: bool = False,
    ) -> Any:
        """The states at the start and after each of N steps, as `linkwork.Rollout` gives them.

        Args:
            x0: (..., *state.shape) the first state; a tuple if there are several.
            controls: (..., N, *control.shape) the values for each step; a tuple if the step has
                several such inputs.
            params: by name, (..., *param.shape): inputs that keep their value.
            steps: N, if there are no controls.
            final: give the last states alone.

        Returns:
            (..., N + 1, *state.shape), x0 first; (..., *state.shape) if `final`. A tuple if there
            are several states.
        """
        raise NotImplementedError
