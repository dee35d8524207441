"""Digests of numbers and of descriptions."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from linkwork.engine.symbolic.arrays import Array


def digest_of(arrays: Iterable[Array]) -> str:
    """A checksum of all bits of some arrays."""
    digest = 0
    for array in arrays:
        digest = zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, digest)
    return f"{digest:08x}"


def digest_of_json(value: Any) -> str:
    """A digest of numbers, texts, lists and dictionaries."""
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
