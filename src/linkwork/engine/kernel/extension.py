"""The C extension; if it could not be built, calls are handled in Python with NumPy.

The GIL guards the memory that calls share. The extension declares that it needs the GIL, so that a
free-threaded Python enables the GIL when it imports it, unless the user has disabled the GIL.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from linkwork.engine.symbolic.arrays import Array
from linkwork.errors import warn_once

_F = TypeVar("_F", bound=Callable[..., Any])

if TYPE_CHECKING:

    class Call:
        """Calls a compiled function with NumPy arrays; see `csrc/call.c`."""

        def __init__(self, **signature: Any) -> None: ...

        def __call__(self, *args: Any, **named: Any) -> Any:
            """Call the compiled function."""

        _use: Callable[[int, int, int, int, object], None] | None
        """Use the functions at these addresses in calls; None if machine code cannot be called."""

        def _run(
            self,
            inputs: tuple[Array, ...],
            outputs: tuple[Array, ...],
            rows: int,
            threads: int | None,
        ) -> bool | None:
            """Compute rows; return whether all results are finite, or None to reject an input."""

        def _roll(self, *arguments: Any) -> None: ...

        def _roll_back(self, *arguments: Any) -> None: ...

    empty = np.empty
    philox: Callable[[Array, Array], None] | None = None

    def in_usual_mode(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Call a function in the default floating-point mode of the processor."""
else:
    try:
        from linkwork.engine.kernel._call import Call, empty, in_usual_mode, philox
    except ImportError:  # there was no compiler when linkwork was installed
        empty = np.empty
        philox = None

        def in_usual_mode(function, *args, **named):
            return function(*args, **named)

        class Call:
            """Handles every call in Python."""

            _use = None  # no machine code is compiled

            def __init__(self, *, slow: Callable[..., Any], **signature: Any) -> None:
                self._slow = slow

            def __call__(self, *args: Any, **named: Any) -> Any:
                """Call the function in Python."""
                return self._slow(*args, **named)


if not getattr(sys, "_is_gil_enabled", lambda: True)():  # Python 3.13 and later have this function
    raise ImportError(
        "linkwork needs the GIL, which is disabled in this free-threaded Python; "
        "set PYTHON_GIL=1, or start Python with -X gil=1"
    )

# The extension reuses the memory of large results after they are freed: see `csrc/result_memory.c`.
_pool = os.environ.get("LINKWORK_POOL", "")
if _pool not in ("", "off") and not (_pool.isascii() and _pool.isdigit()):
    warn_once(
        "pool", f"LINKWORK_POOL: expected megabytes, or off, got {_pool!r}; using the default"
    )


def usual_mode(function: _F) -> _F:
    """Let a function compute in the default floating-point mode, which other libraries change.

    Calls of compiled functions set it themselves. Threads inherit it from those that start them.
    """

    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        return in_usual_mode(function, *args, **named)

    return call  # type: ignore[return-value] # pyright: ignore[reportReturnType]


__all__ = ["Call", "empty", "philox", "usual_mode"]
