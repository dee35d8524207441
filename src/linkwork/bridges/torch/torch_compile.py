"""One opaque operator of `torch.library` for all kernels: `linkwork::call(kernel, inputs)`.

`torch.compile` and `torch.export` do not look inside; they know the shapes of its outputs. What
is differentiated or mapped is so before it is called: see `torch_autograd`. A kernel is named by a
token that is the same in every process, as compiled graphs are kept on disk.
"""

from __future__ import annotations

import json
from typing import Any

import torch
from torch import Tensor

from linkwork.bridges.torch.operators import DERIVED, Operator, Tensors
from linkwork.errors import ArgumentError

_OPERATORS: dict[str, Operator] = {}  # by token: those that an opaque operator may be asked for

LIBRARY = torch.library.Library("linkwork", "DEF")
LIBRARY.define("call(str kernel, Tensor[] inputs) -> Tensor[]")
_CALL: Any = torch.ops.linkwork.call.default


def opaque(operator: Operator, tensors: Tensors) -> Tensor | tuple[Tensor, ...]:
    """The output of an operator, or a tuple of them, through PyTorch's dispatcher."""
    outputs = _CALL(token_of(operator), list(tensors))
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def token_of(operator: Operator) -> str:
    """The name of an operator, which stays known from now on."""
    return _OPERATORS.setdefault(operator.token, operator).token


def found(token: str) -> Operator:
    """The operator of a token; a derivative is made from its function if need be."""
    operator = _OPERATORS.get(token)
    if operator is not None:
        return operator
    function, _, derivative = token.rpartition(DERIVED)
    if not function:
        text = f"linkwork::call: {token.rpartition(' ')[0]!r} is not known in this process"
        raise ArgumentError(f"{text}; make the same function with linkwork.torch first")
    kind, *wrt = json.loads(derivative)
    operator = found(function).derivative(kind, tuple(wrt))
    return _OPERATORS.setdefault(token, operator)


@torch.library.impl("linkwork::call", "CompositeExplicitAutograd", lib=LIBRARY)
def _compute(kernel: str, inputs: list[Tensor]) -> list[Tensor]:
    outputs = found(kernel).compute(inputs)
    return [outputs] if isinstance(outputs, Tensor) else list(outputs)


def _shapes(kernel: str, inputs: list[Tensor]) -> list[Tensor]:
    return found(kernel).empty(inputs)


torch.library.register_fake("linkwork::call", _shapes, lib=LIBRARY)
