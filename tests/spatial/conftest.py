"""Every test of this folder runs twice: on the sources with NumPy, and on compiled code."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.engine.symbolic.arrays import batch_of
from linkwork.spatial import _compiled


def _with_numpy(function):
    """What computes instead of the kernel: the source, which linkwork itself uses."""

    def compute(*arrays):
        batch_of(function.names, function.shapes, arrays)
        with np.errstate(all="ignore"):
            return function.source(*arrays)

    return compute


@pytest.fixture(autouse=True, params=["source", "compiled"])
def how(request, monkeypatch):
    """What the public functions run on."""
    if request.param == "source":
        for function in _compiled.FUNCTIONS.values():
            monkeypatch.setattr(function, "compute", _with_numpy(function))
    return request.param
