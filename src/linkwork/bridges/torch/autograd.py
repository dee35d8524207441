"""How PyTorch calls an operator: at once, recorded for a gradient, transformed, or compiled.

Recorded     `torch.autograd`: backward and double backward
Transformed  `torch.func` (vmap, grad, jacrev, jacfwd, hessian) and forward-mode dual numbers
Compiled     `torch.compile`, `torch.export` and tensors without numbers: one opaque operator of
             `torch.library` for all kernels, `linkwork::call(kernel, inputs)`. They do not look
             inside; they know the shapes of its outputs. What is differentiated or mapped is so
             before it is called, by the two above. A kernel is named by a token that is the same
             in every process, as compiled graphs are kept on disk
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

_OPERATORS: dict[str, Operator] = {}  # by token: those that an opaque operator may be asked for

LIBRARY = torch.library.Library("linkwork", "DEF")
LIBRARY.define("call(str kernel, Tensor[] inputs) -> Tensor[]")
_CALL: Any = torch.ops.linkwork.call.default


def run(operator: Operator, tensors: Tensors) -> tuple[Tensor, ...]:
    """The outputs of an operator as a tuple."""
    outputs = result_of(operator, tensors)
    return outputs if type(outputs) is tuple else (outputs,)


def result_of(operator: Operator, tensors: Tensors) -> Any:
    """The output of an operator, or a tuple of them, recorded in whatever way PyTorch wants."""
    if _transforms_active() or forward_ad._current_level >= 0:  # pyright: ignore
        return Transformed.apply(operator, *tensors)
    if _grad_enabled():
        for tensor in tensors:
            if tensor.requires_grad:
                return Recorded.apply(operator, *tensors)
    return _numbers(operator, tensors)


def result_in_graph(token: str, *tensors: Tensor) -> Any:
    """The same for the operator of a token: what a graph of `torch.compile` calls.

    The last inputs may be left out if they have defaults, as the parameters of a robot do.
    """
    operator = operator_of(token)
    given = as_tensors(operator.names[: len(tensors)], tensors, np.dtype(np.float64))
    return result_of(operator, [*given, *operator.defaults(len(given), given)])


def _numbers(operator: Operator, tensors: Tensors) -> Any:
    """The outputs, computed now, or by an opaque operator where that is recorded or delayed."""
    if _dispatch_modes():
        return _opaque(operator, tensors)
    for tensor in tensors:
        if type(tensor) not in _PLAIN:  # such as tensors without numbers
            return _opaque(operator, tensors)
    try:
        return operator.compute(tensors)
    except RuntimeError:
        if not any(map(_is_batched, tensors)):
            raise
        return _batched(operator, tensors)


def _batched(operator: Operator, tensors: Tensors) -> Any:
    """The outputs where an axis is hidden: `is_grads_batched`, `functional.jacobian(vectorize)`.

    They use an older `vmap` than that of `torch.func`, which knows no rules of functions.
    """
    own: Any = torch._C  # pyright: ignore[reportPrivateUsage]
    level = own._vmapmode_increment_nesting() - 1
    own._vmapmode_decrement_nesting()
    dims = [0 if _is_batched(tensor) else None for tensor in tensors]
    shown = [
        tensor if dim is None else torch._remove_batch_dim(tensor, level, 1, 0)  # pyright: ignore
        for tensor, dim in zip(tensors, dims, strict=True)
    ]
    outputs = operator.compute(operator.batch_first(dims, shown))
    hidden = tuple(
        torch._add_batch_dim(output, 0, level)  # pyright: ignore
        for output in (outputs if isinstance(outputs, tuple) else (outputs,))
    )
    return hidden if isinstance(outputs, tuple) else hidden[0]


class Recorded(Function):
    """An operator that keeps its inputs for a gradient."""

    @staticmethod
    def forward(ctx: Any, operator: Operator, *tensors: Tensor) -> Any:
        """The outputs."""
        outputs = _numbers(operator, tensors)
        ctx.operator = operator
        _keep(ctx, tensors, outputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> Any:
        """The gradients by the inputs that need one."""
        needed = ctx.needs_input_grad[1:]
        return None, *ctx.operator.backward(run, needed, ctx.saved_tensors, cotangents)

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Any:
        """The tangents of the outputs."""
        outputs = ctx.operator.forward_mode(run, ctx.saved_tensors, tangents[1:])
        return outputs if len(outputs) > 1 else outputs[0]


class Transformed(Recorded):
    """The same for `torch.func`, which needs the parts one by one."""

    @staticmethod
    def forward(operator: Operator, *tensors: Tensor) -> Any:  # pyright: ignore
        """The outputs."""
        return _numbers(operator, tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keep what the derivatives need."""
        ctx.operator = inputs[0]
        _keep(ctx, inputs[1:], output)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> Any:
        """The mapped axis becomes the first batch axis."""
        operator: Operator = args[0]
        outputs = result_of(operator, operator.batch_first(in_dims[1:], args[1:]))
        return outputs, 0 if isinstance(outputs, Tensor) else (0,) * len(outputs)


def _keep(ctx: Any, tensors: Tensors, outputs: Any) -> None:
    kept = tensors
    if ctx.operator.keeps_outputs:
        kept = (*tensors, *((outputs,) if isinstance(outputs, Tensor) else outputs))
    ctx.save_for_backward(*kept)
    ctx.save_for_forward(*kept)


# The opaque operator.


def _opaque(operator: Operator, tensors: Tensors) -> Tensor | tuple[Tensor, ...]:
    """The output of an operator, or a tuple of them, through PyTorch's dispatcher."""
    outputs = _CALL(token_of(operator), list(tensors))
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def token_of(operator: Operator) -> str:
    """The name of an operator, which stays known from now on."""
    return _OPERATORS.setdefault(operator.token, operator).token


def operator_of(token: str) -> Operator:
    """The operator of a token; a derivative is made from its function if need be."""
    operator = _OPERATORS.get(token)
    if operator is not None:
        return operator
    function, _, derivative = token.rpartition(DERIVED)
    if not function:
        text = f"linkwork::call: {token.rpartition(' ')[0]!r} is not known in this process"
        raise ArgumentError(f"{text}; make the same function with linkwork.torch first")
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
