from collections.abc import Callable
from typing import Any

from linkwork.arrays import Array

class Call:
    def __init__(
        self,
        in_shapes: tuple[tuple[int, ...], ...],
        out_shapes: tuple[tuple[int, ...], ...],
        unit_norms: tuple[tuple[int, int, int], ...],
        norm_limits: tuple[float, float],
        single_precision: bool,
        check_inputs: bool,
        check_outputs: bool,
        slow: Callable[..., Any],
    ) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def _use(self, one: int, many: int, width: int, keep: object) -> None: ...
    def _run(
        self,
        inputs: tuple[Array, ...],
        outputs: tuple[Array, ...],
        rows: int,
        threads: int | None,
    ) -> int: ...
