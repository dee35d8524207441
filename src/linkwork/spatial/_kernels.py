"""Kernels of the functions of `linkwork.spatial`; imported when the first one is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from linkwork.expr.program import Port, trace
from linkwork.kernel.arguments import Signature
from linkwork.kernel.kernel import Kernel
from linkwork.machine.background import background
from linkwork.machine.compiler import LOCK
from linkwork.machine.sources import source_digest


class SpatialKernel(Kernel):
    """A kernel of one function."""

    def __init__(
        self, name: str, source: Callable[..., Any], shapes: Mapping[str, tuple[int, ...]]
    ) -> None:
        inputs = tuple(Port(*item) for item in shapes.items())
        with np.errstate(all="ignore"):
            result = source(*(np.zeros(shape) for shape in shapes.values()))
        output = Port(source.__name__, np.shape(result))
        super().__init__(
            Signature(name, inputs, (output,)),
            lambda: trace(source, inputs, source.__name__),
            key=f"{name}|{source_digest()}",
        )

    def make_ready(self, take: Callable[[SpatialKernel], None]) -> None:
        """Make fast code in the background, then call `take`; never, if that is not possible."""
        own = background()

        def job() -> None:
            with LOCK:
                ready = self._from_cache()
            if not ready:
                self._compile_later(own)
            take(self)

        own.submit(job)
