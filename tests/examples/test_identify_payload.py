"""The example that identifies a payload finds it, and stays physical."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np

EXAMPLE = Path(__file__).parents[2] / "examples" / "12_identify_payload.py"


def test_the_payload_is_found():
    example = runpy.run_path(str(EXAMPLE))
    found, history = example["identified"](60, 0.01, iterations=900)
    box = example["BOX"].parameters()
    assert history[-1] < 1e-2 * history[0]
    np.testing.assert_allclose(found[0], box[0], rtol=0.02)
    np.testing.assert_allclose(found[1:4] / found[0], box[1:4] / box[0], atol=0.01)
    tensor = found[[4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(3, 3)
    assert (np.linalg.eigvalsh(tensor) > 0).all()
