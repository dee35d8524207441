"""Tests of bridges: code that is made quickly will do, so none is made in the background."""

from __future__ import annotations

import pytest
from tests.support.kernels import Never

from linkwork.kernel import kernel


@pytest.fixture(autouse=True)
def _no_background(monkeypatch):
    monkeypatch.setattr(kernel, "background", Never)
