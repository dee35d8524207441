"""The C extension, or what stands in for it where it could not be built."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the C extension has the same signatures
    from linkwork.engine.kernel.call_slow import DONE, NOT_FINITE_OUTPUT, Call
else:
    try:
        from linkwork.engine.kernel._call import DONE, NOT_FINITE_OUTPUT, Call
    except ImportError:  # no compiler when linkwork was installed
        from linkwork.engine.kernel.call_slow import DONE, NOT_FINITE_OUTPUT, Call

__all__ = ["DONE", "NOT_FINITE_OUTPUT", "Call"]
