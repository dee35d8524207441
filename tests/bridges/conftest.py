"""Fixtures for the bridges: no optimized code is compiled in the background."""

from __future__ import annotations

import sys

import pytest
from tests.support.kernels import Never

from linkwork.engine.runtime import compiled_program


@pytest.fixture(autouse=True)
def _no_background(monkeypatch):
    monkeypatch.setattr(compiled_program, "background", Never)


@pytest.fixture(autouse=True)
def _same_directions():
    """Seed PyTorch, whose gradient checks use random directions."""
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)
