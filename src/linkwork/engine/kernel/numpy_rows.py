"""Rows of a batch by NumPy, chunk by chunk: where there is no machine code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.engine.kernel import norms
from linkwork.engine.kernel.arguments import Signature
from linkwork.engine.symbolic.arrays import Array

# NumPy computes at most this many bytes of inputs and outputs, and this many rows, at a time, so
# that the arrays of intermediate values stay in the cache.
NUMPY_CHUNK_BYTES, NUMPY_CHUNK_ROWS = 4 << 20, 4096


def run_with_numpy(
    signature: Signature,
    compute: Callable[..., Sequence[Any]],
    rows: tuple[Array, ...],
    outputs: tuple[Array, ...],
) -> bool:
    """Fill the outputs on the calling thread; False if a number of them is not finite.

    Args:
        signature: the inputs and outputs, and which inputs have norm 1.
        compute: gives the numbers of each output for columns of inputs.
        rows: (n, size) of each input, or (1, size) for one that all rows share.
        outputs: (n, size) of each output.
    """
    dtype, n = outputs[0].dtype, len(outputs[0])
    spans = tuple(unit.span for unit in signature.unit_norms)
    rows = norms.normalized(rows, spans, dtype) or rows
    width = sum(port.size for port in (*signature.inputs, *signature.outputs))
    chunk = NUMPY_CHUNK_BYTES // (max(width, 1) * dtype.itemsize)
    chunk = max(64, min(NUMPY_CHUNK_ROWS, chunk))
    for start in range(0, n, chunk):
        columns = [tuple((a[start : start + chunk] if len(a) > 1 else a).T) for a in rows]
        with np.errstate(all="ignore"):  # compiled code gives no warnings either
            for array, numbers in zip(outputs, compute(*columns), strict=True):
                if _is_row(numbers):
                    array[start : start + chunk] = numbers
                    continue
                for index, number in enumerate(numbers):
                    array[start : start + chunk, index] = number
    return all(bool(np.isfinite(array).all()) for array in outputs)


def _is_row(numbers: Any) -> bool:
    """Whether these are the numbers of one row, rather than a column for each number."""
    return isinstance(numbers, np.ndarray) and numbers.ndim == 1 and numbers.dtype != object
