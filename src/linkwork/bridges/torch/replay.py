"""Programs replayed as tensor operations, for devices that compiled code does not support.

Each step of the program is one operation on tensors of the batch: thousands of small operations,
which take microseconds each for any batch size. Derivatives replay the programs of vjp and jvp, so
autograd records nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.runtime.numpy_code import python_function
from linkwork.engine.symbolic.operations import FLOAT_FUNCTIONS, OPERATIONS, Op, Operation
from linkwork.engine.symbolic.program import per_port
from linkwork.errors import ArgumentError, warn_once


def _of_tensors(op: Op, function: Callable[..., Tensor]) -> Callable[..., Any]:
    """Extend a function of tensors to floats, for steps that have only constants."""
    on_floats = FLOAT_FUNCTIONS[op]

    def apply(*args: Any) -> Any:
        if any(isinstance(arg, Tensor) for arg in args):
            return function(*args)
        return on_floats(*args)

    return apply


def _of_two_tensors(function: Any) -> Any:
    """Extend a function of two tensors to a tensor and a float."""

    def apply(a: Any, b: Any) -> Tensor:
        like = a if isinstance(a, Tensor) else b
        return function(torch.as_tensor(a).to(like), torch.as_tensor(b).to(like))

    return apply


def _torch_function(op: Op, row: Operation) -> Callable[..., Any]:
    if op is Op.SELECT:
        return lambda c, a, b: torch.where(c != 0, a, b)
    function = None if row.symbol else getattr(torch, op.name.lower(), None)
    if function is None:
        assert row.on_any is not None
        return row.on_any
    return function if row.arity == 1 else _of_two_tensors(function)


_FUNCTIONS = {op: _of_tensors(op, _torch_function(op, row)) for op, row in OPERATIONS.items()}


def checked_device(names: Sequence[str], tensors: Sequence[Tensor]) -> torch.device:
    """Return the common device of all tensors; scalars may be on the CPU."""
    first: tuple[str, torch.device] | None = None
    for name, tensor in zip(names, tensors, strict=True):
        if tensor.layout != torch.strided:
            message = f"{name}: expected a dense tensor, got {tensor.layout}"
            raise ArgumentError(f"{message}; use {name}.to_dense()")
        if tensor.ndim == 0 and tensor.device.type == "cpu":
            continue
        if first is not None and tensor.device != first[1]:
            message = f"{name} is on {tensor.device}, {first[0]} is on {first[1]}"
            raise ArgumentError(f"{message}; move all tensors to one device")
        first = first or (name, tensor.device)
    return torch.device("cpu") if first is None else first[1]


class Replay:
    """The program of a kernel as a function of tensors."""

    def __init__(self, kernel: Kernel) -> None:
        if not kernel.is_unrolled:
            message = f"{kernel.signature.name}: its program is too long for other devices"
            raise ArgumentError(f"{message}; move the tensors to the CPU")
        self._signature = kernel.signature
        self._run = python_function(kernel.program, _FUNCTIONS)

    def __call__(self, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Compute the outputs, with the broadcast batch axes of all inputs."""
        signature = self._signature
        device = checked_device([port.name for port in signature.inputs], tensors)
        if device.type != "cpu":
            warn_once(
                f"replay on {device.type}",
                f"compiled code runs on the CPU only, so {signature.name} and others are replayed"
                f" on {device} as tensor operations, each of which takes a few microseconds;"
                " this is slower except for large batches",
            )
        axes = [len(port.shape) for port in signature.inputs]
        batch = torch.broadcast_shapes(
            *(t.shape[: t.ndim - n] for t, n in zip(tensors, axes, strict=True))
        )
        rows = [
            tensor.reshape((*tensor.shape[: tensor.ndim - n], port.size))
            for tensor, n, port in zip(tensors, axes, signature.inputs, strict=True)
        ]
        columns = [column for row in self._normalized(rows) for column in row.unbind(-1)]
        like = next((t for t in tensors if t.device == device), tensors[0])
        with torch.no_grad():
            elements = [
                torch.as_tensor(element, dtype=like.dtype, device=device).expand(batch)
                for element in self._run(columns)
            ]
        return tuple(
            torch.stack(list(part), dim=-1).reshape((*batch, *port.shape))
            if port.size
            else like.new_empty((*batch, *port.shape))
            for port, part in per_port(signature.outputs, elements)
        )

    def _normalized(self, rows: list[Tensor]) -> list[Tensor]:
        """Divide the quaternions and (cos, sin) pairs of rows by their norms."""
        for unit in self._signature.unit_norms:
            row, end = rows[unit.input], unit.offset + unit.count
            part = row[..., unit.offset : end]
            unit_part = part / part.norm(dim=-1, keepdim=True)
            rows[unit.input] = torch.cat([row[..., : unit.offset], unit_part, row[..., end:]], -1)
        return rows
