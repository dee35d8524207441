"""Arguments of a call with PyTorch tensors: converted to tensors of one type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from linkwork.engine.kernel.arguments import environment_threads
from linkwork.errors import ArgumentError, shown

NUMPY_TYPES: dict[torch.dtype, type[np.floating[Any]]] = {
    torch.float64: np.float64,
    torch.float32: np.float32,
}
TORCH_TYPES = {np.dtype(numpy_type): dtype for dtype, numpy_type in NUMPY_TYPES.items()}

SMALL_BATCH = 256  # calls whose inputs have at most this many elements use one thread anyway


def most_threads() -> int | None:
    """Return the thread limit of PyTorch, which applies to calls of kernels too.

    A `DataLoader` sets it to one in each worker, so that all workers together do not exceed the
    cores. None if LINKWORK_THREADS is set, which then applies.
    """
    return None if environment_threads() else torch.get_num_threads()


def first_dtype(values: Sequence[Any]) -> torch.dtype | None:
    """Return the type of the first tensor, None if there is none.

    `torch.compile` traces it; with PyTorch 2.6 it cannot trace `next` with a default.
    """
    dtypes = [value.dtype for value in values if isinstance(value, Tensor)]
    return dtypes[0] if dtypes else None


def as_tensors(names: Sequence[str], values: Sequence[Any], default: np.dtype[Any]) -> list[Tensor]:
    """Convert arguments to tensors of one type.

    Args:
        names: names of the inputs.
        values: tensors, numbers, lists and arrays; all are converted to the type of the tensors
            that have axes. As in PyTorch's own functions, a tensor without axes is converted too.
        default: the type if there are no tensors.
    """
    passed = [(n, v) for n, v in zip(names, values, strict=True) if isinstance(v, Tensor)]
    for name, value in passed:
        if value.dtype not in NUMPY_TYPES and (value.ndim or value.is_complex()):
            message = f"{name}: expected a tensor of float64 or float32, got {value.dtype}"
            raise ArgumentError(f"{message}; use {name}.double() or {name}.float()")
    with_axes = [(n, v) for n, v in passed if v.ndim and v.dtype in NUMPY_TYPES]
    typed = with_axes or [(n, v) for n, v in passed if v.dtype in NUMPY_TYPES]
    for name, value in with_axes:
        if value.dtype != typed[0][1].dtype:
            message = f"{name} is {value.dtype}, {typed[0][0]} is {typed[0][1].dtype}"
            raise ArgumentError(f"{message}; use one type, for example {name}.to({typed[0][0]})")
    dtype = typed[0][1].dtype if typed else TORCH_TYPES[default]
    device = typed[0][1].device if typed else None
    tensors: list[Tensor] = []
    for name, value in zip(names, values, strict=True):
        if isinstance(value, Tensor):
            tensors.append(value if value.dtype == dtype else value.to(dtype))
            continue
        tensors.append(torch.as_tensor(_numeric_array(name, value), dtype=dtype, device=device))
    return tensors


def summed(gradient: Tensor, like: Tensor) -> Tensor:
    """Sum a gradient over the batch axes along which a tensor was broadcast, in a fixed order.

    PyTorch's sum to one number depends on the number of threads, but each of two sums does not.
    """
    if gradient.shape == like.shape:
        return gradient
    if like.numel() != 1:
        return gradient.sum_to_size(like.shape)
    pair = gradient.unsqueeze(-1).expand(*gradient.shape, 2)
    return pair.sum_to_size((*like.shape, 2))[..., 0]


def _numeric_array(name: str, value: Any) -> Any:
    """Convert an argument that is not a tensor to an array; raise if it is not numeric."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        array = np.empty(0, object)
    if array.dtype.kind not in "fiub":
        raise ArgumentError(f"{name}: expected a tensor or numbers, got {shown(value)}")
    return array


def from_arrays(arrays: Any) -> Any:
    """Convert the result of a kernel, an array or a tuple of arrays, to tensors."""
    if isinstance(arrays, tuple):
        return tuple([torch.from_numpy(array) for array in arrays])
    return torch.from_numpy(arrays)
