"""Tests of workcells without background compilation.

Optimized code is only compiled by `warmup`; compiling it in the background takes longer than the
tests.
"""

from __future__ import annotations

import pytest
from tests.support.kernels import Never

from linkwork.engine.runtime import compiled_program


@pytest.fixture(autouse=True)
def _no_background(monkeypatch):
    monkeypatch.setattr(compiled_program, "background", Never)
