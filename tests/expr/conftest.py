from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(20240601)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    """Machine code of these tests is kept with them."""
    monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path / "cache"))
