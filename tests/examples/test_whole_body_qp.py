"""The humanoid of `20_whole_body_qp.py` moves as planned, with admissible forces."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw

pytestmark = [pytest.mark.peers, pytest.mark.slow]

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_forces_are_admissible_and_those_of_the_simulation(capsys):
    result = runpy.run_path(str(EXAMPLES / "20_whole_body_qp.py"))["main"]()
    assert result["error"] < 2e-3
    assert result["moved"] < 5e-4
    assert result["worst"] < 1e-5
    assert result["mismatch"] < 1e-4  # [N], between the forces of the program and of the contacts
    assert 0.2 < result["share"] < 0.8
    weight = lw.robots.load("humanoid").total_mass * 9.80665
    np.testing.assert_allclose(result["weight"], weight, rtol=0.05)
    printed = capsys.readouterr().out
    assert printed in (EXAMPLES / "README.md").read_text(encoding="utf-8")
