"""Random configurations: within limits, else within the reach of the kind, on every manifold."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.models import ALL_KINDS, BATCHES, assert_close, random_model

import linkwork as lw
from linkwork.kindyn.methods.configurations import random_configurations
from linkwork.model.joints import KINDS
from linkwork.model.layout import Layout


@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize("batch", BATCHES)
def test_positions_are_within_reach_and_of_unit_norm(kind, batch, rng):
    layout = Layout(random_model(rng, 4, kinds=[kind], mimic=False))

    q = random_configurations(layout, batch, rng)

    assert q.shape == (*batch, layout.nq)
    assert (np.abs(q[..., layout.base_position]) <= 1).all()
    assert_close(np.linalg.norm(q[..., layout.base_wxyz], axis=-1), np.ones(batch), rtol=1e-14)
    for at in layout.q.values():
        theta = q[..., at]
        assert (np.abs(theta) <= KINDS[kind].reach).all()
        for part in KINDS[kind].unit_norm:
            norm = np.linalg.norm(theta[..., part.start : part.start + part.count], axis=-1)
            assert_close(norm, np.ones(batch), rtol=1e-14)


@pytest.mark.parametrize(
    ("limits", "lower", "upper"),
    [
        ({"lower": -0.2, "upper": 0.1}, -0.2, 0.1),
        ({"lower": 2.0}, 2.0, np.pi),
        ({"upper": -2.0}, -np.pi, -2.0),
        ({"lower": 5.0}, 5.0, 5.0),
        ({"upper": -5.0}, -5.0, -5.0),
        ({}, -np.pi, np.pi),
    ],
)
def test_limits_are_kept_where_they_are_finite(limits, lower, upper, rng):
    builder = lw.ModelBuilder("door")
    builder.add_link("frame")
    builder.add_link("leaf")
    builder.add_joint("hinge", "revolute", "frame", "leaf", **limits)

    q = random_configurations(Layout(builder.build(), floating=False), (500,), rng)

    assert lower <= q.min() <= q.max() <= upper
    assert q.max() - q.min() >= 0.9 * (upper - lower)
