"""Fixtures for JAX: float64 is enabled."""

from __future__ import annotations

import jax
import pytest


@pytest.fixture(autouse=True)
def _double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture
def single_precision():
    """Disable `jax_enable_x64` during a test."""
    jax.config.update("jax_enable_x64", False)
