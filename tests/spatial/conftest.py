"""Every test of this folder runs twice: on the sources with NumPy, and on compiled code."""

from __future__ import annotations

import numpy as np
import pytest

from linkwork.engine.symbolic.arrays import batch_of
from linkwork.spatial import _compiled


def _with_numpy(function):
    """Compute with the source in place of the kernel."""

    def compute(*arrays):
        batch_of(function.names, function.shapes, arrays)
        with np.errstate(all="ignore"):
            return function.source(*arrays)

    return compute


@pytest.fixture(autouse=True, params=["source", "compiled"])
def how(request, monkeypatch):
    """The implementation of the public functions."""
    if request.param == "source":
        for function in _compiled.FUNCTIONS.values():
            monkeypatch.setattr(function, "compute", _with_numpy(function))
    return request.param
