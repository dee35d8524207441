"""Rollouts of JAX arrays: `scan` over the step of a `linkwork.Rollout`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from linkwork.bridges.jax.arguments import array_of, broadcast, precision
from linkwork.bridges.jax.primitive import Value
from linkwork.engine.kernel.rollout import Rollout
from linkwork.engine.kernel.rollout_inputs import assign
from linkwork.engine.symbolic.program import Port

Step = Callable[..., Any]


class RolloutFunction:
    """Many steps of a compiled function, as a function of JAX arrays.

    It takes and gives what `linkwork.Rollout` does, without `out` and `threads`.
    """

    def __init__(self, rollout: Rollout, step: Step, pickled: tuple[Any, ...]) -> None:
        self.rollout = rollout
        self._step = step
        self._pickled = pickled
        self._jitted = jax.jit(self._traced, static_argnames=("steps", "final"), inline=True)

    def __repr__(self) -> str:
        return f"<linkwork.jax {self.rollout!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return self._pickled

    def __call__(
        self,
        x0: Any,
        controls: Any = None,
        *,
        params: Mapping[str, Any] | None = None,
        steps: int | None = None,
        final: bool = False,
    ) -> Any:
        """The states at the start and after each of N steps.

        Args:
            x0: (..., *state.shape) the first state; a tuple if there are several. Batch axes of all
                arguments are broadcast against each other.
            controls: (..., N, *control.shape) the values for each step; a tuple if the step has
                several such inputs.
            params: by name, (..., *param.shape): inputs that keep their value.
            steps: N, if there are no controls.
            final: give the last states alone.

        Returns:
            (..., N + 1, *state.shape), x0 first; (..., *state.shape) if `final`. A tuple if there
            are several states.
        """
        return self._jitted(x0, controls, params=params, steps=steps, final=final)

    def _traced(self, x0: Any, controls: Any, *, params: Any, steps: Any, final: bool) -> Any:
        kernel = self.rollout.step
        signature = kernel.signature
        given = assign(signature, x0, controls, params, steps)
        n, timed = len(signature.outputs), given.controls
        ports = [
            Port(port.name, (given.steps, *port.shape)) if port.name in timed else port
            for port in signature.inputs
        ]
        values = [*given.starts, *({**given.params, **timed}[p.name] for p in ports[n:])]
        arrays = [array_of(value, port) for value, port in zip(values, ports, strict=True)]
        dtype = precision(kernel, arrays)
        batch = broadcast(arrays, ports)
        full = [
            jnp.broadcast_to(jnp.asarray(array, dtype), (*batch, *port.shape))
            for array, port in zip(arrays, ports, strict=True)
        ]
        at = {port.name: array for port, array in zip(ports[n:], full[n:], strict=True)}
        each = {name: jnp.moveaxis(at[name], len(batch), 0) for name in timed}
        constant = {name: at[name] for name in given.params}
        states = self._scanned(full[:n], each, constant, given.steps, final)
        if not final:
            states = [jnp.moveaxis(array, 0, len(batch)) for array in states]
        return tuple(states) if n > 1 else states[0]

    def _scanned(
        self,
        starts: Sequence[Value],
        controls: Mapping[str, Value],
        params: Mapping[str, Value],
        steps: int,
        final: bool,
    ) -> list[Value]:
        """The states, with the axis of steps in front unless `final`."""

        def one(states: Any, now: Any) -> Any:
            named = dict(zip((p.name for p in self._states), states, strict=True))
            results = self._step(**named, **now, **params)
            following = tuple(results) if len(states) > 1 else (results,)
            return following, None if final else following

        last, all_states = lax.scan(one, tuple(starts), dict(controls), length=steps)
        if final:
            return list(last)
        pairs = zip(starts, all_states, strict=True)
        return [jnp.concatenate([first[None], rest]) for first, rest in pairs]

    @property
    def _states(self) -> Sequence[Port]:
        signature = self.rollout.step.signature
        return signature.inputs[: len(signature.outputs)]
