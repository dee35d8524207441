"""Digests of numbers and of descriptions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from linkwork.arrays import Array


def digest_of(arrays: Iterable[Array]) -> str:
    """A short digest of all bits of some arrays."""
    digest = hashlib.blake2b(digest_size=8)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def digest_of_json(value: Any) -> str:
    """A digest of numbers, texts, lists and dictionaries."""
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
