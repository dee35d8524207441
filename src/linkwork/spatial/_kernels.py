"""Kernels of the functions of `linkwork.spatial`; imported when the first one is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.engine.kernel.arguments import Signature
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.runtime.background import background
from linkwork.engine.runtime.compiler import LOCK
from linkwork.engine.runtime.sources import source_digest
from linkwork.engine.symbolic.program import Port, trace


class SpatialKernel(Kernel):
    """A kernel of one function."""

    def __init__(
        self,
        name: str,
        source: Callable[..., Any],
        inputs: Sequence[str],
        shapes: Sequence[tuple[int, ...]],
    ) -> None:
        ports = tuple(map(Port, inputs, shapes))
        with np.errstate(all="ignore"):
            result = source(*(np.zeros(shape) for shape in shapes))
        output = Port(source.__name__, np.shape(result))
        super().__init__(
            Signature(name, ports, (output,)),
            lambda: trace(source, ports, source.__name__),
            key=f"{name}|{source_digest()}|{np.__version__}",
        )

    def make_ready(self, take: Callable[[SpatialKernel], None]) -> None:
        """Load or compile fast code in the background, then call `take`; on failure, never."""
        own = background()

        def job() -> None:
            with LOCK:
                ready = self._from_cache()
            if not ready:
                self._compile_later(own)
            take(self)

        own.submit(job)
