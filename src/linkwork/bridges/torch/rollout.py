"""Rollouts as functions of PyTorch tensors: what `linkwork.torch.wrap` makes of a `Rollout`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from linkwork.bridges.precision import in_precision
from linkwork.bridges.torch.autograd import result_in_graph, result_of
from linkwork.bridges.torch.rollout_operators import Form, RolloutOperator
from linkwork.bridges.torch.tensors import NUMPY_TYPES, TORCH_TYPES, as_tensors
from linkwork.bridges.torch.torch_compile import token_of
from linkwork.engine.kernel import rollout_inputs
from linkwork.engine.kernel.rollout import Rollout

_is_compiling = torch.compiler.is_compiling


class TorchRollout:
    """Many steps of a compiled function, as a function of tensors with derivatives."""

    def __init__(self, rollout: Rollout) -> None:
        """Prepare rollouts.

        Args:
            rollout: `linkwork.Rollout(step)`.
        """
        self.rollout = rollout
        signature = rollout.step.signature
        self._names = tuple(port.name for port in signature.inputs)
        self._axes = tuple(len(port.shape) for port in signature.inputs)
        self._n_states = len(signature.outputs)
        self._operators: dict[tuple[torch.dtype, Form], RolloutOperator] = {}

    def __repr__(self) -> str:
        return repr(self.rollout).replace("<Rollout", "<TorchRollout", 1)

    def __reduce__(self) -> Any:
        return _made_again, (self.rollout.step,)

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
        if _is_compiling():
            return self._call_in_graph(x0, controls, params or {}, steps, final)
        signature = self.rollout.step.signature
        states, rest = signature.inputs[: self._n_states], signature.inputs[self._n_states :]
        constants = rollout_inputs._named(signature, rest, params)  # pyright: ignore
        free = [port for port in rest if port.name not in constants]
        timed = rollout_inputs._controls(signature, free, controls)  # pyright: ignore
        count = rollout_inputs._steps(signature, free, timed, steps)  # pyright: ignore
        by_name = {**constants, **timed}
        values = [*rollout_inputs.split("x0", states, x0), *(by_name[port.name] for port in rest)]
        tensors = as_tensors(self._names, values, self.rollout.step.dtype)
        form = Form(tuple(constants), count, bool(final))
        return result_of(self.operator(tensors[0].dtype, form), tensors)

    def operator(self, dtype: torch.dtype, form: Form) -> RolloutOperator:
        """What PyTorch runs for tensors of a type."""
        known = self._operators.get((dtype, form))
        if known is None:
            step = in_precision(self.rollout.step, NUMPY_TYPES[dtype])
            made = RolloutOperator(Rollout(step), form)
            known = self._operators.setdefault((dtype, form), made)
        return known

    # Inside `torch.compile`, which reads this code instead of running it.

    def _call_in_graph(
        self, x0: Any, controls: Any, params: Mapping[str, Any], steps: Any, final: bool
    ) -> Any:
        states = _listed(x0)
        timed = _listed(controls)
        names = [name for name in self._names[self._n_states :] if name not in params]
        if names:
            axes = self._axes[self._names.index(names[0])]
            steps = timed[0].shape[timed[0].ndim - axes - 1]
        by_name = dict(params)
        for name, value in zip(names, timed):  # noqa: B905 - the compiler knows no strict
            by_name[name] = value
        values = states + [by_name[name] for name in self._names[self._n_states :]]
        dtype = next((v.dtype for v in values if isinstance(v, Tensor)), None)
        token = self._token(str(dtype), tuple(params), int(steps), bool(final))
        tensors: list[Tensor] = []
        for value in values:
            is_tensor = isinstance(value, Tensor)
            tensors.append(value if is_tensor else torch.as_tensor(value, dtype=dtype))
        return result_in_graph(token, *tensors)

    def _token(self, dtype: str, params: tuple[str, ...], steps: int, final: bool) -> str:
        torch.compiler.allow_in_graph(result_in_graph)  # here, as it imports the compiler
        types = {str(known): known for known in NUMPY_TYPES}
        wanted = types.get(dtype, TORCH_TYPES[self.rollout.step.dtype])
        return token_of(self.operator(wanted, Form(params, steps, final)))

    # What `torch.compiler.assume_constant_result` does, without importing the compiler.
    _token._dynamo_marked_constant = True  # pyright: ignore


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return [*value] if isinstance(value, Sequence) else [value]


def _made_again(step: Any) -> TorchRollout:
    return TorchRollout(Rollout(step))
