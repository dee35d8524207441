"""Fixtures for the interfaces of other libraries: optimized code is compiled only by `warmup`.

Compiling it in the background would take more time than the tests themselves.
"""

from __future__ import annotations

import pytest
from tests.support.kernels import Never

from linkwork.engine.runtime import compiled_program


@pytest.fixture(autouse=True)
def _no_background(monkeypatch):
    monkeypatch.setattr(compiled_program, "background", Never)
