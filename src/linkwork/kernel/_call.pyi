from collections.abc import Callable
from typing import Any

from linkwork.arrays import Array

class Call:
    def __init__(
        self,
        in_shapes: tuple[tuple[int, ...], ...],
        out_shapes: tuple[tuple[int, ...], ...],
        units: tuple[tuple[int, int, int], ...],
        single_precision: bool,
        finite: bool,
        most_rows: int,
        slow: Callable[..., Any],
    ) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def _use(self, one: int, many: int, width: int, keep: object) -> None: ...
    def _is_unit(self, inputs: tuple[Array, ...], strides: tuple[int, ...], rows: int) -> bool: ...
    def _rows(
        self,
        inputs: tuple[Array, ...],
        strides: tuple[int, ...],
        outputs: tuple[Array, ...],
        start: int,
        stop: int,
    ) -> None: ...
