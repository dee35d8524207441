"""Programs are large and live long: without this, Python looks through them again and again."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture(autouse=True, scope="session")
def _seldom_collected():
    gc.set_threshold(200_000, 50, 1000)
