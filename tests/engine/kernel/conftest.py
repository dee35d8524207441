"""Steps of rollouts, with fast code in use."""

from __future__ import annotations

import pytest
from tests.support.rollouts import pendulum, spring


@pytest.fixture(scope="module")
def swing():
    step = pendulum()
    step.warmup()
    return step


@pytest.fixture(scope="module")
def sprung():
    step = spring()
    step.warmup()
    return step
