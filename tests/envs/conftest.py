"""What tests of environments share that use PyTorch."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def one_thread():
    """Let PyTorch compute on one thread, and restore its setting."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def example(one_thread):
    """The names of the script that trains robots to walk."""
    return runpy.run_path(str(EXAMPLES / "24_train_quadruped.py"))
