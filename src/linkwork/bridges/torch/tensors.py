"""The arguments of a call with PyTorch tensors: of one type, and numbers made tensors of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from linkwork.errors import ArgumentError, shown

NUMPY_TYPES: dict[torch.dtype, type[np.floating[Any]]] = {
    torch.float64: np.float64,
    torch.float32: np.float32,
}
TORCH_TYPES = {np.dtype(numpy_type): own for own, numpy_type in NUMPY_TYPES.items()}

SMALL_BATCH = 256  # calls whose inputs have no more elements than this run on one thread anyway


def most_threads() -> int | None:
    """The most threads that a call uses: those of PyTorch, as for its own operators.

    A `DataLoader` gives each of its workers one, so that all together use no more than the cores.
    None if LINKWORK_THREADS is set, which is for those who want another number.
    """
    return None if os.environ.get("LINKWORK_THREADS") else torch.get_num_threads()


def as_tensors(names: Sequence[str], values: Sequence[Any], default: np.dtype[Any]) -> list[Tensor]:
    """Arguments as tensors of one type.

    Args:
        names: of the inputs.
        values: tensors; numbers, lists and arrays are made tensors of their type. A tensor without
            axes is converted to it, as in PyTorch's own functions.
        default: the type if no tensor says it.
    """
    given = [(n, v) for n, v in zip(names, values, strict=True) if isinstance(v, Tensor)]
    for name, value in given:
        if value.dtype not in NUMPY_TYPES and (value.ndim or value.is_complex()):
            text = f"{name}: expected a tensor of float64 or float32, got {value.dtype}"
            raise ArgumentError(f"{text}; use {name}.double() or {name}.float()")
    with_axes = [(n, v) for n, v in given if v.ndim and v.dtype in NUMPY_TYPES]
    typed = with_axes or [(n, v) for n, v in given if v.dtype in NUMPY_TYPES]
    for name, value in with_axes:
        if value.dtype != typed[0][1].dtype:
            text = f"{name} is {value.dtype}, {typed[0][0]} is {typed[0][1].dtype}"
            raise ArgumentError(f"{text}; give all in one type, such as {name}.to({typed[0][0]})")
    dtype = typed[0][1].dtype if typed else TORCH_TYPES[default]
    device = typed[0][1].device if typed else None
    tensors: list[Tensor] = []
    for name, value in zip(names, values, strict=True):
        if isinstance(value, Tensor):
            tensors.append(value if value.dtype == dtype else value.to(dtype))
            continue
        tensors.append(torch.as_tensor(_numbers(name, value), dtype=dtype, device=device))
    return tensors


def _numbers(name: str, value: Any) -> Any:
    """What is given in place of a tensor, if it holds numbers."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        array = np.empty(0, object)
    if array.dtype.kind not in "fiub":
        raise ArgumentError(f"{name}: expected a tensor or numbers, got {shown(value)}")
    return array
