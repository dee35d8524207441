"""The digest of linkwork's own sources, part of every key of the disk cache.

Machine code in the cache is used only by the sources that made it. All sources count, so that no
list of folders has to be kept up to date.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_EXCLUDED = ("cli", "viewer", "robots")  # folders whose sources do not enter programs


@cache
def source_digest() -> str:
    """SHA-256 of the sources that make programs, or make code from them."""
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        name = path.relative_to(_PACKAGE)
        if name.parts[0] not in _EXCLUDED:
            digest.update(name.as_posix().encode() + b"\n" + path.read_bytes())
    return digest.hexdigest()
