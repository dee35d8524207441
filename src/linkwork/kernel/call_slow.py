"""`Call` without a compiler: what the C extension does, through ctypes, microseconds slower."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from linkwork.arrays import Array

_SIGNATURE = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64
)


class Call:
    """Calls a compiled function on NumPy arrays."""

    def __init__(  # noqa: PLR0917 - as the C extension
        self,
        in_shapes: tuple[tuple[int, ...], ...],
        out_shapes: tuple[tuple[int, ...], ...],
        units: tuple[tuple[int, int, int], ...],
        single_precision: bool,
        finite: bool,
        most_rows: int,
        slow: Callable[..., Any],
    ) -> None:
        del in_shapes, out_shapes, units, finite, most_rows
        self._item = 4 if single_precision else 8
        self._slow = slow
        self._functions: Any = None  # (one, many, width, keep), always taken as a whole

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the compiled function."""
        return self._slow(*args, **kwargs)

    def _use(self, one: int, many: int, width: int, keep: object) -> None:
        """Call the functions at these addresses from now on."""
        self._functions = (_SIGNATURE(one), _SIGNATURE(many) if many else None, width, keep)

    def _is_unit(self, inputs: tuple[Array, ...], strides: tuple[int, ...], rows: int) -> bool:
        """Whether what must have norm 1 has it: left to the caller to find out."""
        del inputs, strides, rows
        return False

    def _rows(
        self,
        inputs: tuple[Array, ...],
        strides: tuple[int, ...],
        outputs: tuple[Array, ...],
        start: int,
        stop: int,
    ) -> None:
        """Run on a range of rows, without the GIL."""
        one, many, width, keep = self._functions
        middle = stop - (stop - start) % width if many else start
        for function, first, last in ((many, start, middle), (one, middle, stop)):
            if last > first:
                ins = [
                    array.ctypes.data + first * stride * self._item
                    for array, stride in zip(inputs, strides, strict=True)
                ]
                outs = [
                    array.ctypes.data + first * (array.size // max(len(array), 1)) * self._item
                    for array in outputs
                ]
                function(
                    (ctypes.c_void_p * len(ins))(*ins),
                    (ctypes.c_void_p * len(outs))(*outs),
                    (ctypes.c_int64 * (len(strides) + 1))(*strides, 0),
                    last - first,
                )
        del keep
