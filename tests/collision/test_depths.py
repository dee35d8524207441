"""Depths of curved shapes against the separation of the shapes along many directions."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw

pytestmark = pytest.mark.peers  # coal

SHAPES = {
    "cylinder": (lw.Cylinder(0.15, 0.6), lambda n: 0.3 * abs(n[..., 2]) + 0.15 * across(n)),
    "disc": (lw.Cylinder(0.3, 0.05), lambda n: 0.025 * abs(n[..., 2]) + 0.3 * across(n)),
    "capsule": (lw.Capsule(0.15, 0.6), lambda n: 0.3 * abs(n[..., 2]) + 0.15),
    "box": (lw.Box((0.2, 0.4, 0.6)), lambda n: abs(n) @ np.array([0.1, 0.2, 0.3])),
}


def across(n):
    return np.hypot(n[..., 0], n[..., 1])


@pytest.mark.parametrize(
    "kinds", [("cylinder", "cylinder"), ("capsule", "cylinder"), ("box", "disc"), ("disc", "disc")]
)
def test_no_direction_separates_shapes_by_less_than_their_depth(kinds):
    (first, height_a), (second, height_b) = (SHAPES[kind] for kind in kinds)
    b = lw.ModelBuilder("pair")
    b.add_link("a", collisions=[lw.Shape(first)])
    b.add_link("b", inertia=lw.point_mass(1.0), collisions=[lw.Shape(second)])
    b.add_joint("move", "floating", "a", "b")
    robot = lw.CollisionModel(b.build(), floating=False, pairs=[("a", "b")])
    rng = np.random.default_rng(0)
    q = np.concatenate([0.07 * rng.normal(size=(400, 3)), rng.normal(size=(400, 4))], axis=-1)
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=-1, keepdims=True)
    q[:2] = [[0, 0, 0, 1, 0, 0, 0], [0, 0, 0.1, 1, 0, 0, 0]]  # coaxial
    d = robot.distances(q)[:, 0]
    H = robot.kindyn.transform("b", q)
    normals = rng.normal(size=(2000, 3))
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)

    def separations(n):
        """Along n (..., 3), of b from a: a lower bound of the distance."""
        along = np.einsum("...j,rjk->r...k", n, H[:, :3, :3])
        return n @ H[:, :3, 3].T - (height_a(n)[..., None] + np.moveaxis(height_b(along), 0, -1))

    assert (d >= separations(normals).max(axis=0) - 1e-9).all()
    first, second, n = (points[:, 0] for points in robot.witness_points(q))
    own = [separations(n[k])[k] for k in range(len(q))]  # along its own normal
    np.testing.assert_allclose(d, own, atol=1e-9)
    np.testing.assert_allclose(second - first, d[:, None] * n, atol=1e-9)
