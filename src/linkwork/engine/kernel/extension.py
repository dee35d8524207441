"""The C extension; where it could not be built, calls are left to Python, and NumPy computes."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import warn_once

if TYPE_CHECKING:

    class Call:
        """Calls a compiled function on NumPy arrays; see `csrc/call.c`."""

        def __init__(self, *signature: Any) -> None: ...

        def __call__(self, *args: Any, **named: Any) -> Any:
            """Call the compiled function."""

        _use: Callable[[int, int, int, int, object], None] | None
        """Call the functions at these addresses from now on; None if machine code is not called."""

        def _run(
            self,
            inputs: tuple[Array, ...],
            outputs: tuple[Array, ...],
            rows: int,
            threads: int | None,
        ) -> bool | None:
            """Compute rows: whether all results are finite; None if an input is rejected."""

        def _roll(self, *arguments: Any) -> None: ...

        def _roll_back(self, *arguments: Any) -> None: ...

    empty = np.empty
else:
    try:
        from linkwork.engine.kernel._call import Call, empty
    except ImportError:  # no compiler when linkwork was installed
        empty = np.empty

        class Call:
            """Leaves every call to Python."""

            _use = None  # so that no machine code is compiled

            def __init__(self, *signature: Any) -> None:
                self._slow = signature[-1]

            def __call__(self, *args: Any, **named: Any) -> Any:
                """Call the function in Python."""
                return self._slow(*args, **named)


# The extension uses the memory of large results again when they die: see `csrc/result_memory.c`.
_pool = os.environ.get("LINKWORK_POOL", "")
if _pool not in ("", "off") and not (_pool.isascii() and _pool.isdigit()):
    warn_once(
        "pool", f"LINKWORK_POOL: expected megabytes, or off, got {_pool!r}; the default is used"
    )

__all__ = ["Call", "empty"]
