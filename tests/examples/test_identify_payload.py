"""The example identifies a payload with physically consistent parameters."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np

EXAMPLE = Path(__file__).parents[2] / "examples" / "12_identify_payload.py"


def test_the_payload_is_identified():
    example = runpy.run_path(str(EXAMPLE))
    result, history = example["identify"](60, 0.01, iterations=900)
    box = example["BOX"].parameters()
    assert history[-1] < 1e-2 * history[0]
    np.testing.assert_allclose(result[0], box[0], rtol=0.02)
    np.testing.assert_allclose(result[1:4] / result[0], box[1:4] / box[0], atol=0.01)
    tensor = result[[4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(3, 3)
    assert (np.linalg.eigvalsh(tensor) > 0).all()


def test_deviations_agree_with_repeated_experiments_and_may_be_infinite():
    example = runpy.run_path(str(EXAMPLE))
    kd, box = example["kd"], example["BOX"].parameters()
    sigma = example["deviations"](50, 0.1)
    rng = np.random.default_rng(0)
    q, (nu, nu_dot) = kd.random(50, seed=1), rng.normal(size=(2, 50, kd.nv))
    by_load = kd.function("inverse_dynamics").jacobian("parameters")
    Y = by_load(q, nu, nu_dot, kd.parameter_values()).reshape(-1, 10)
    noisy = (Y @ box)[:, None] + 0.1 * rng.normal(size=(len(Y), 4000))
    spread = np.linalg.lstsq(Y, noisy, rcond=None)[0].std(axis=1)
    np.testing.assert_allclose(sigma, spread, rtol=0.06)
    at_rest = example["deviations"](50, 0.1, speed=0.0)
    np.testing.assert_array_equal(np.isfinite(at_rest), [True] * 4 + [False] * 6)
