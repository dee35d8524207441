"""Programs replayed as tensor operations, for devices that the compiled code does not reach.

Each step of the program is one operation on tensors of the batch: thousands of small operations,
which take microseconds each whatever the batch. Derivatives are replayed from the programs of vjp
and jvp, so that nothing of it is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.runtime.numpy_code import python_function
from linkwork.engine.symbolic.node import Op
from linkwork.engine.symbolic.program import per_port
from linkwork.engine.symbolic.rules import FLOAT_FUNCTIONS
from linkwork.errors import ArgumentError, warn_once


def _of_tensors(op: Op, function: Callable[..., Tensor]) -> Callable[..., Any]:
    """A function that also takes numbers, for steps of constants alone."""
    on_floats = FLOAT_FUNCTIONS[op]

    def apply(*args: Any) -> Any:
        if any(isinstance(arg, Tensor) for arg in args):
            return function(*args)
        return on_floats(*args)

    return apply


def _arctan2(y: Any, x: Any) -> Tensor:
    like = y if isinstance(y, Tensor) else x
    return torch.atan2(torch.as_tensor(y).to(like), torch.as_tensor(x).to(like))


_FUNCTIONS = {
    op: _of_tensors(op, function)
    for op, function in {
        Op.DIV: lambda a, b: a / b,
        Op.SQRT: torch.sqrt,
        Op.SIN: torch.sin,
        Op.COS: torch.cos,
        Op.ATAN2: _arctan2,
        Op.SELECT: lambda c, a, b: torch.where(c != 0, a, b),
        Op.EXP: torch.exp,
        Op.LOG: torch.log,
        Op.FLOOR: torch.floor,
        Op.EXPM1: torch.expm1,
        Op.LOG1P: torch.log1p,
        Op.EXP2: torch.exp2,
    }.items()
}


def checked_device(names: Sequence[str], tensors: Sequence[Tensor]) -> torch.device:
    """The device of all tensors; numbers without axes may be on the CPU."""
    first: tuple[str, torch.device] | None = None
    for name, tensor in zip(names, tensors, strict=True):
        if tensor.layout != torch.strided:
            text = f"{name}: expected a dense tensor, got {tensor.layout}"
            raise ArgumentError(f"{text}; use {name}.to_dense()")
        if tensor.ndim == 0 and tensor.device.type == "cpu":
            continue
        if first is not None and tensor.device != first[1]:
            text = f"{name} is on {tensor.device}, {first[0]} is on {first[1]}"
            raise ArgumentError(f"{text}; move all to one device")
        first = first or (name, tensor.device)
    return torch.device("cpu") if first is None else first[1]


class Replay:
    """The program of a kernel as a function of tensors."""

    def __init__(self, kernel: Kernel) -> None:
        if not kernel.is_unrolled:
            text = f"{kernel.signature.name}: its program is too long for other devices"
            raise ArgumentError(f"{text}; move the tensors to the CPU")
        self._signature = kernel.signature
        self._run = python_function(kernel.program, _FUNCTIONS)

    def __call__(self, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The outputs, with the batch axes of all inputs broadcast."""
        own = self._signature
        device = checked_device([port.name for port in own.inputs], tensors)
        if device.type != "cpu":
            warn_once(
                f"replay on {device.type}",
                f"compiled code runs on the CPU only, so {own.name} and others are replayed on"
                f" {device} as tensor operations, a few microseconds for each operation of the"
                " program; large batches are needed to make up for that",
            )
        axes = [len(port.shape) for port in own.inputs]
        batch = torch.broadcast_shapes(
            *(t.shape[: t.ndim - n] for t, n in zip(tensors, axes, strict=True))
        )
        rows = [
            tensor.reshape((*tensor.shape[: tensor.ndim - n], port.size))
            for tensor, n, port in zip(tensors, axes, own.inputs, strict=True)
        ]
        columns = [column for row in self._normalized(rows) for column in row.unbind(-1)]
        like = next((t for t in tensors if t.device == device), tensors[0])
        with torch.no_grad():
            numbers = [
                torch.as_tensor(number, dtype=like.dtype, device=device).expand(batch)
                for number in self._run(columns)
            ]
        return tuple(
            torch.stack(list(part), dim=-1).reshape((*batch, *port.shape))
            if port.size
            else like.new_empty((*batch, *port.shape))
            for port, part in per_port(own.outputs, numbers)
        )

    def _normalized(self, rows: list[Tensor]) -> list[Tensor]:
        """Rows with quaternions and (cos, sin) pairs divided by their norms."""
        for unit in self._signature.unit_norms:
            row, end = rows[unit.input], unit.offset + unit.count
            part = row[..., unit.offset : end]
            unit_part = part / part.norm(dim=-1, keepdim=True)
            rows[unit.input] = torch.cat([row[..., : unit.offset], unit_part, row[..., end:]], -1)
        return rows
