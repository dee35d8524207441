"""Fixtures for the bridges."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def _same_directions():
    """Seed PyTorch, whose gradient checks use random directions."""
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)
