"""Tests of other libraries' interfaces: fast code is made where a test waits for it by `warmup`.

Nobody else needs it, and making it in the background takes more time than the tests themselves.
"""

from __future__ import annotations

import pytest
from tests.support.kernels import Never

from linkwork.engine.runtime import compiled_program


@pytest.fixture(autouse=True)
def _no_background(monkeypatch):
    monkeypatch.setattr(compiled_program, "background", Never)
