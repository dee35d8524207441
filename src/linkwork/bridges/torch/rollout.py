"""Rollouts of PyTorch tensors: many steps of a compiled function, and gradients through them.

Forward    `linkwork.Rollout`, all steps in C
Backward   `Rollout.vjp`, all steps in C
Otherwise  forward mode, second derivatives and other devices: step by step, with the operators of
           the step and its derivatives
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from linkwork.bridges.derived_kernels import in_precision
from linkwork.bridges.methods import BridgedRollout
from linkwork.bridges.torch.autograd import result_in_graph, result_of, token_of
from linkwork.bridges.torch.autograd import run as run_now
from linkwork.bridges.torch.operators import Derived, KernelOperator, Operator, Run, Tensors
from linkwork.bridges.torch.tensors import (
    NUMPY_TYPES,
    TORCH_TYPES,
    as_tensors,
    first_dtype,
    from_arrays,
    most_threads,
    summed,
)
from linkwork.engine.cached_property import cached_property
from linkwork.engine.kernel.rollout import Rollout
from linkwork.engine.kernel.rollout_inputs import assign
from linkwork.engine.symbolic.program import Port

_is_compiling = torch.compiler.is_compiling


class TorchRollout(BridgedRollout):
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
        return TorchRollout, (self.rollout,)

    def _states(self, x0: Any, controls: Any, params: Any, steps: Any, final: bool) -> Any:
        if _is_compiling():
            return self._call_in_graph(x0, controls, params or {}, steps, final)
        step = self.rollout.step
        inputs = assign(step.signature, x0, controls, params, steps)
        by_name = {**inputs.params, **inputs.controls}
        values = [*inputs.starts, *(by_name[name] for name in self._names[self._n_states :])]
        tensors = as_tensors(self._names, values, step.dtype)
        form = Form(tuple(inputs.params), inputs.steps, bool(final))
        return result_of(self.operator(tensors[0].dtype, form), tensors)

    def operator(self, dtype: torch.dtype, form: Form) -> RolloutOperator:
        """Return the operator that PyTorch runs for tensors of a type."""
        operator = self._operators.get((dtype, form))
        if operator is None:
            step = in_precision(self.rollout.step, NUMPY_TYPES[dtype])
            operator = RolloutOperator(Rollout(step), form)
            operator = self._operators.setdefault((dtype, form), operator)
        return operator

    # Inside `torch.compile`, which traces this code instead of running it.

    def _call_in_graph(
        self, x0: Any, controls: Any, params: Mapping[str, Any], steps: Any, final: bool
    ) -> Any:
        states = _listed(x0)
        control_values = _listed(controls)
        names = [name for name in self._names[self._n_states :] if name not in params]
        if names:
            axes = self._axes[self._names.index(names[0])]
            steps = control_values[0].shape[control_values[0].ndim - axes - 1]
        by_name = dict(params)
        for name, value in zip(names, control_values):  # noqa: B905 - no strict in dynamo
            by_name[name] = value
        values = states + [by_name[name] for name in self._names[self._n_states :]]
        dtype = first_dtype(values)
        token = self._token(str(dtype), tuple(params), int(steps), bool(final))
        tensors: list[Tensor] = []
        for value in values:
            is_tensor = isinstance(value, Tensor)
            tensors.append(value if is_tensor else torch.as_tensor(value, dtype=dtype))
        return result_in_graph(token, *tensors)

    def _token(self, dtype: str, params: tuple[str, ...], steps: int, final: bool) -> str:
        torch.compiler.allow_in_graph(result_in_graph)  # here, as it imports the compiler
        types = {str(torch_type): torch_type for torch_type in NUMPY_TYPES}
        torch_type = types.get(dtype, TORCH_TYPES[self.rollout.step.dtype])
        return token_of(self.operator(torch_type, Form(params, steps, final)))

    # The effect of `torch.compiler.assume_constant_result`, without importing the compiler.
    _token._dynamo_marked_constant = True  # pyright: ignore


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return [*value] if isinstance(value, Sequence) else [value]


@dataclass(frozen=True)
class Form:
    """The roles of the step's inputs, and which states are returned."""

    params: tuple[str, ...]  # inputs that are constant over all steps
    steps: int
    final: bool = False  # whether only the last states are returned


class RolloutOperator(Operator):
    """A rollout as an operator: its inputs are those of the step, with controls for all steps."""

    def __init__(self, rollout: Rollout, form: Form) -> None:
        super().__init__()
        signature = rollout.step.signature
        self.rollout, self.form = rollout, form
        self.step = KernelOperator(rollout.step)
        self.n_states = len(signature.outputs)
        self.names = self.step.names
        self.is_control = tuple(
            k >= self.n_states and name not in form.params for k, name in enumerate(self.names)
        )
        self.axes = tuple(
            axes + is_control
            for axes, is_control in zip(self.step.axes, self.is_control, strict=True)
        )
        time_axis = () if form.final else (form.steps + 1,)
        states = signature.inputs[: self.n_states]
        self.outputs = tuple(Port(port.name, (*time_axis, *port.shape)) for port in states)
        self.keeps_outputs = not form.final

    def _identity(self) -> tuple[Any, ...]:
        name = self.rollout.step.signature.name
        return (
            f"rollout of {name}",
            self.step.token,
            self.form.params,
            self.form.steps,
            self.outputs,
        )

    def _new_derivative(self, kind: Derived, wrt: tuple[str, ...]) -> Operator:
        assert kind == "vjp", "only the gradient of a rollout is an operator"
        return RolloutGradient(self)

    def arguments(self, arrays: Sequence[Any]) -> tuple[Any, dict[str, Any]]:
        """Convert the inputs to the arguments of `Rollout`: initial states, and keywords."""
        params = {
            name: array
            for name, array in zip(self.names, arrays, strict=True)
            if name in self.form.params
        }
        controls = tuple(
            a for a, is_control in zip(arrays, self.is_control, strict=True) if is_control
        )
        steps = None if controls else self.form.steps
        named = {"controls": controls or None, "params": params or None, "steps": steps}
        return tuple(arrays[: self.n_states]), {**named, "threads": most_threads()}

    def compute(self, tensors: Tensors) -> Tensor | tuple[Tensor, ...]:
        """Compute the states, all steps in C; step by step on other devices."""
        if not all(tensor.is_cpu for tensor in tensors):
            states: Any = self.by_steps(tensors)
            return states if self.n_states > 1 else states[0]
        x0, named = self.arguments([tensor.numpy() for tensor in tensors])
        outputs: Any = self.rollout(x0, final=self.form.final, **named)
        return from_arrays(outputs)

    def backward(
        self, run: Run, needed: Sequence[bool], saved: Tensors, cotangents: Tensors
    ) -> Sequence[Tensor | None]:
        """Compute the gradients, all steps in C."""
        inputs = saved[: len(self.names)]
        gradients = run(self.derivative("vjp", self.names), (*saved, *cotangents))
        return [
            summed(gradient, tensor) if is_needed else None
            for gradient, tensor, is_needed in zip(gradients, inputs, needed, strict=True)
        ]

    def forward_mode(
        self, run: Run, saved: Tensors, tangents: Sequence[Tensor | None]
    ) -> tuple[Tensor, ...]:
        """Compute the tangents of the states, step by step."""
        inputs, n = saved[: len(self.names)], self.n_states
        states = run(self._with_all_states, inputs)
        batch = self.batch(inputs)
        first = [
            torch.zeros_like(x) if tangent is None else tangent
            for x, tangent in zip(inputs[:n], tangents[:n], strict=True)
        ]
        history = [[self.expanded(k, tangent, batch)] for k, tangent in enumerate(first)]
        for t in range(self.form.steps):
            now = [state.select(len(batch), t) for state in states]
            step_tangents: list[Any] = [values[-1] for values in history]
            for k in range(n, len(inputs)):
                tangent = tangents[k]
                now.append(self._at_step(k, inputs[k], t))
                step_tangents.append(None if tangent is None else self._at_step(k, tangent, t))
            for values, tangent in zip(
                history, self.step.forward_mode(run, now, step_tangents), strict=True
            ):
                values.append(tangent)
        return self._over_time(history, len(batch))

    def by_steps(self, inputs: Tensors) -> tuple[Tensor, ...]:
        """Compute the states, step by step, with all derivatives."""
        batch, n = self.batch(inputs), self.n_states
        history = [[self.expanded(k, x, batch)] for k, x in enumerate(inputs[:n])]
        for t in range(self.form.steps):
            others = [self._at_step(k, inputs[k], t) for k in range(n, len(inputs))]
            next_states = run_now(self.step, [*(values[-1] for values in history), *others])
            for values, state in zip(history, next_states, strict=True):
                values.append(state)
        return self._over_time(history, len(batch))

    def expanded(self, index: int, tensor: Tensor, batch: Sequence[int]) -> Tensor:
        """Expand an input to all batch axes."""
        return tensor.expand((*batch, *tensor.shape[tensor.ndim - self.axes[index] :]))

    def _at_step(self, index: int, tensor: Tensor, t: int) -> Tensor:
        """Return the value of an input in a step."""
        if not self.is_control[index]:
            return tensor
        return tensor.select(tensor.ndim - self.axes[index], t)

    def _over_time(self, history: Sequence[Sequence[Tensor]], axis: int) -> tuple[Tensor, ...]:
        """Convert the tensors of all times to what a call returns."""
        if self.form.final:
            return tuple(values[-1] for values in history)
        return tuple(torch.stack(list(values), dim=axis) for values in history)

    @cached_property
    def _with_all_states(self) -> RolloutOperator:
        """The same rollout, with the states of all times as outputs."""
        return RolloutOperator(self.rollout, replace(self.form, final=False))


class RolloutGradient(Operator):
    """Gradients through a rollout, from its inputs, its states if kept, and their cotangents.

    It computes one gradient for each input, with all batch axes.
    """

    def __init__(self, function: RolloutOperator) -> None:
        super().__init__()
        self._function = function
        states = function.outputs if function.keeps_outputs else ()
        self._n_inputs, self._n_kept = len(function.names), len(states)
        self.names = (
            *function.names,
            *(f"states of {port.name}" for port in states),
            *(f"ct_{port.name}" for port in function.outputs),
        )
        self.axes = (
            *function.axes,
            *(len(port.shape) for port in (*states, *function.outputs)),
        )
        inputs = function.rollout.step.signature.inputs
        steps = function.form.steps
        self.outputs = tuple(
            Port(f"ct_{port.name}", (*(steps,) * is_control, *port.shape))
            for port, is_control in zip(inputs, function.is_control, strict=True)
        )

    def compute(self, tensors: Tensors) -> Tensor | tuple[Tensor, ...]:
        """Compute the gradients, all steps in C; step by step on other devices."""
        function, n = self._function, self._n_inputs
        if not all(tensor.is_cpu for tensor in tensors):
            inputs, cotangents = tensors[:n], tensors[n + self._n_kept :]
            gradients: Any = self._by_steps(*inputs, *cotangents)
            return gradients if n > 1 else gradients[0]
        arrays: list[Any] = [tensor.numpy() for tensor in tensors]
        kept, cotangents = arrays[n : n + self._n_kept], tuple(arrays[n + self._n_kept :])
        x0, named = function.arguments(arrays[:n])
        which = "final" if function.form.final else "cotangents"
        vjp = function.rollout.vjp(x0, states=tuple(kept) or None, **{which: cotangents}, **named)
        of_controls = iter(vjp.controls if isinstance(vjp.controls, tuple) else (vjp.controls,))
        gradients = [*(vjp.x0 if function.n_states > 1 else (vjp.x0,))]
        for name in function.names[function.n_states :]:
            gradients.append(vjp.params[name] if name in vjp.params else next(of_controls))
        return from_arrays(tuple(gradients) if n > 1 else gradients[0])

    def backward(
        self, run: Run, needed: Sequence[bool], saved: Tensors, cotangents: Tensors
    ) -> Sequence[Tensor | None]:
        """Compute second derivatives, step by step."""
        pull_back = _pull_back(self._by_steps, self._varying(saved))
        gradients = list(pull_back(tuple(cotangents)))
        n = self._n_inputs
        return [*gradients[:n], *[None] * self._n_kept, *gradients[n:]]

    def forward_mode(
        self, run: Run, saved: Tensors, tangents: Sequence[Tensor | None]
    ) -> tuple[Tensor, ...]:
        """Compute second derivatives, step by step."""
        varying = [x.contiguous() for x in self._varying(saved)]  # memory for each tangent
        directions = [
            torch.zeros_like(x) if d is None else d
            for x, d in zip(varying, self._varying(tangents), strict=True)
        ]
        return torch.func.jvp(self._by_steps, tuple(varying), tuple(directions))[1]

    def _varying(self, values: Sequence[Any]) -> list[Any]:
        """Select what the gradients depend on; the states follow from the inputs."""
        n = self._n_inputs
        return [*values[:n], *values[n + self._n_kept :]]

    def _by_steps(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        function, n = self._function, self._n_inputs
        axes = self._varying(self.axes)
        batch = torch.broadcast_shapes(
            *(tensor.shape[: tensor.ndim - k] for tensor, k in zip(tensors, axes, strict=True))
        )
        full = [
            tensor.expand((*batch, *tensor.shape[tensor.ndim - k :]))
            for tensor, k in zip(tensors, axes, strict=True)
        ]
        pull_back = _pull_back(lambda *inputs: function.by_steps(inputs), full[:n])
        return pull_back(tuple(full[n:]))


def _pull_back(function: Callable[..., Any], primals: Tensors) -> Callable[..., Any]:
    """Return the function from cotangents of the results to cotangents of the arguments."""
    return torch.func.vjp(function, *primals)[1]
