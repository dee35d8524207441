"""New arrays for results.

The memory of large ones is used again when they die, since the system takes longer to hand out
memory than it takes to fill it: see `csrc/result_memory.c`. `LINKWORK_POOL` sets how much is kept,
or `off`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from linkwork.errors import warn_once

if TYPE_CHECKING:
    empty = np.empty
else:
    try:
        from linkwork.engine.kernel._call import empty
    except ImportError:  # no compiler when linkwork was installed
        empty = np.empty

_given = os.environ.get("LINKWORK_POOL", "")
if _given not in ("", "off") and not (_given.isascii() and _given.isdigit()):
    warn_once(
        "pool", f"LINKWORK_POOL: expected megabytes, or off, got {_given!r}; the default is used"
    )
