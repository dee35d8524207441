"""How PyTorch calls an operator: directly, recorded for a gradient, transformed, or compiled.

Recorded     `torch.autograd`: backward and double backward
Transformed  `torch.func` (vmap, grad, jacrev, jacfwd, hessian) and forward-mode dual numbers
Compiled     `torch.compile`, `torch.export` and fake tensors: one opaque operator of
             `torch.library` for all kernels, `linkwork::call(kernel, inputs)`. PyTorch knows only
             the shapes of its outputs. Differentiation and mapping happen before it is called, by
             the two ways above. A kernel is named by a token that is the same in every process,
             because compiled graphs are cached on disk
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function, forward_ad

from linkwork.bridges.torch.operators import DERIVED, Operator, Tensors
from linkwork.bridges.torch.tensors import as_tensors
from linkwork.errors import ArgumentError

_transforms_active: Any = torch._C._are_functorch_transforms_active  # pyright: ignore
_dispatch_modes: Any = torch._C._len_torch_dispatch_stack  # pyright: ignore
_is_batched: Any = torch._C._functorch.is_legacy_batchedtensor  # pyright: ignore
_grad_enabled = torch.is_grad_enabled
_PLAIN = (Tensor, torch.nn.Parameter)

_OPERATORS: dict[str, Operator] = {}  # by token: operators that the opaque operator may run

LIBRARY = torch.library.Library("linkwork", "DEF")
LIBRARY.define("call(str kernel, Tensor[] inputs) -> Tensor[]")
_CALL: Any = torch.ops.linkwork.call.default


def run(operator: Operator, tensors: Tensors) -> tuple[Tensor, ...]:
    """Run an operator; return its outputs as a tuple."""
    outputs = result_of(operator, tensors)
    return outputs if type(outputs) is tuple else (outputs,)


def result_of(operator: Operator, tensors: Tensors) -> Any:
    """Run an operator, recorded as PyTorch requires; return its output, or a tuple of outputs."""
    if _transforms_active() or forward_ad._current_level >= 0:  # pyright: ignore
        return Transformed.apply(operator, *tensors)
    if _grad_enabled():
        for tensor in tensors:
            if tensor.requires_grad:
                return Recorded.apply(operator, *tensors)
    return _evaluate(operator, tensors)


def result_in_graph(token: str, *tensors: Tensor) -> Any:
    """Run the operator of a token: what a graph of `torch.compile` calls.

    The last inputs may be omitted if they have defaults, as the parameters of a robot do.
    """
    operator = operator_of(token)
    inputs = as_tensors(operator.names[: len(tensors)], tensors, np.dtype(np.float64))
    return result_of(operator, [*inputs, *operator.defaults(len(inputs), inputs)])


def _evaluate(operator: Operator, tensors: Tensors) -> Any:
    """Compute the outputs now, or by the opaque operator where PyTorch records or delays calls."""
    if _dispatch_modes():
        return _opaque(operator, tensors)
    for tensor in tensors:
        if type(tensor) not in _PLAIN:  # such as fake tensors, which have no data
            return _opaque(operator, tensors)
    try:
        return operator.compute(tensors)
    except RuntimeError:
        if not any(map(_is_batched, tensors)):
            raise
        return _batched(operator, tensors)


def _batched(operator: Operator, tensors: Tensors) -> Any:
    """Compute outputs with a hidden axis: `is_grads_batched`, `functional.jacobian(vectorize)`.

    They use an older `vmap` than `torch.func`; it ignores the `vmap` rules of functions.
    """
    internals: Any = torch._C  # pyright: ignore[reportPrivateUsage]
    level = internals._vmapmode_increment_nesting() - 1
    internals._vmapmode_decrement_nesting()
    dims = [0 if _is_batched(tensor) else None for tensor in tensors]
    unwrapped = [
        tensor if dim is None else torch._remove_batch_dim(tensor, level, 1, 0)  # pyright: ignore
        for tensor, dim in zip(tensors, dims, strict=True)
    ]
    outputs = operator.compute(operator.batch_first(dims, unwrapped))
    batched = tuple(
        torch._add_batch_dim(output, 0, level)  # pyright: ignore
        for output in (outputs if isinstance(outputs, tuple) else (outputs,))
    )
    return batched if isinstance(outputs, tuple) else batched[0]


class Recorded(Function):
    """An operator that saves its inputs for a gradient."""

    @staticmethod
    def forward(ctx: Any, operator: Operator, *tensors: Tensor) -> Any:
        """Compute the outputs."""
        outputs = _evaluate(operator, tensors)
        ctx.operator = operator
        _save(ctx, tensors, outputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> Any:
        """Compute the gradients with respect to the inputs that need one."""
        needed = ctx.needs_input_grad[1:]
        return None, *ctx.operator.backward(run, needed, ctx.saved_tensors, cotangents)

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Any:
        """Compute the tangents of the outputs."""
        outputs = ctx.operator.forward_mode(run, ctx.saved_tensors, tangents[1:])
        return outputs if len(outputs) > 1 else outputs[0]


class Transformed(Recorded):
    """The same for `torch.func`, which requires `forward` and `setup_context` separately."""

    @staticmethod
    def forward(operator: Operator, *tensors: Tensor) -> Any:  # pyright: ignore
        """Compute the outputs."""
        return _evaluate(operator, tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save what the derivatives need."""
        ctx.operator = inputs[0]
        _save(ctx, inputs[1:], output)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> Any:
        """Make the mapped axis the first batch axis."""
        operator: Operator = args[0]
        outputs = result_of(operator, operator.batch_first(in_dims[1:], args[1:]))
        return outputs, 0 if isinstance(outputs, Tensor) else (0,) * len(outputs)


def _save(ctx: Any, tensors: Tensors, outputs: Any) -> None:
    saved = tensors
    if ctx.operator.keeps_outputs:
        saved = (*tensors, *((outputs,) if isinstance(outputs, Tensor) else outputs))
    ctx.save_for_backward(*saved)
    ctx.save_for_forward(*saved)


# The opaque operator.


def _opaque(operator: Operator, tensors: Tensors) -> Tensor | tuple[Tensor, ...]:
    """Run an operator through PyTorch's dispatcher."""
    outputs = _CALL(token_of(operator), list(tensors))
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def token_of(operator: Operator) -> str:
    """Register an operator, so that `operator_of` finds it, and return its token."""
    return _OPERATORS.setdefault(operator.token, operator).token


def operator_of(token: str) -> Operator:
    """Return the operator of a token; derivatives are created from their function."""
    operator = _OPERATORS.get(token)
    if operator is not None:
        return operator
    function, _, derivative = token.rpartition(DERIVED)
    if not function:
        message = f"linkwork::call: {token.rpartition(' ')[0]!r} is not known in this process"
        raise ArgumentError(f"{message}; create the same function with linkwork.torch first")
    kind, *wrt = json.loads(derivative)
    operator = operator_of(function).derivative(kind, tuple(wrt))
    return _OPERATORS.setdefault(token, operator)


@torch.library.impl("linkwork::call", "CompositeExplicitAutograd", lib=LIBRARY)
def _compute(kernel: str, inputs: list[Tensor]) -> list[Tensor]:
    outputs = operator_of(kernel).compute(inputs)
    return [outputs] if isinstance(outputs, Tensor) else list(outputs)


def _shapes(kernel: str, inputs: list[Tensor]) -> list[Tensor]:
    return operator_of(kernel).empty(inputs)


torch.library.register_fake("linkwork::call", _shapes, lib=LIBRARY)
