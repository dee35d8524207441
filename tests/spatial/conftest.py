"""Every test of this folder runs twice: on the sources with NumPy, and on compiled code."""

from __future__ import annotations

import pytest

from linkwork import spatial
from linkwork.spatial import _compiled


@pytest.fixture(scope="session")
def _all_compiled():
    spatial.warmup()


@pytest.fixture(autouse=True, params=["source", "compiled"])
def how(request, monkeypatch):
    """What the public functions run on."""
    if request.param == "compiled":
        request.getfixturevalue("_all_compiled")
    else:
        monkeypatch.setattr(_compiled, "CALLS", 10**9)
        for function in _compiled._functions.values():
            monkeypatch.setattr(function, "kernel", None)
    return request.param
