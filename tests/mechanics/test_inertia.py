"""Inertias of rigid and articulated bodies, against sums over point masses and 6 x 6 matrices."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.models import assert_close

from linkwork.mechanics.inertia import NO_INERTIA, ArticulatedInertia, RigidInertia
from linkwork.spatial.blocks import Motion, Sym, Vec, as_mat, as_vec
from linkwork.spatial.source import so3

UPPER = np.triu_indices(3)
SEEDS = range(3)


class Points:
    """A rigid body of point masses."""

    def __init__(self, masses, positions):
        self.masses, self.positions = masses, positions

    @classmethod
    def random(cls, rng):
        return cls(rng.uniform(0.5, 2.0, size=5), rng.normal(size=(5, 3)))

    def momentum(self, v, w):
        """Linear momentum, and angular momentum about the origin."""
        p = self.masses[:, None] * (v + np.cross(w, self.positions))
        return np.concatenate([p.sum(axis=0), np.cross(self.positions, p).sum(axis=0)])

    def inertia(self):
        m, r = self.masses, self.positions
        tensor = (m @ (r * r).sum(axis=1)) * np.eye(3) - (m * r.T) @ r
        return RigidInertia(m.sum(), as_vec((m @ r).tolist()), Sym(*tensor[UPPER].tolist()))


def matrix_of(inertia):
    """(6, 6) the momentum at each unit velocity, as columns."""
    return np.array([(inertia @ Motion.of(unit)).entries for unit in np.eye(6).tolist()]).T


def random_articulated(rng):
    """An articulated inertia, and its matrix, which is positive definite."""
    root = rng.normal(size=(6, 6))
    K = root @ root.T + np.eye(6)
    A, B, D = K[:3, :3], K[:3, 3:], K[3:, 3:]
    blocks = Sym(*A[UPPER].tolist()), as_mat(B.tolist()), Sym(*D[UPPER].tolist())
    return ArticulatedInertia(*blocks), K


def rotation(rng):
    R = so3.exp(rng.normal(size=3))
    return R, as_mat(R.tolist())


@pytest.mark.parametrize("seed", SEEDS)
def test_a_rigid_body_has_the_momentum_of_its_points(seed):
    rng = np.random.default_rng(seed)
    body, other = Points.random(rng), Points.random(rng)
    v, w = rng.normal(size=(2, 3))
    (R, blocks_R), p = rotation(rng), rng.normal(size=3)
    inertia = body.inertia()
    both = Points(
        np.append(body.masses, other.masses), np.vstack([body.positions, other.positions])
    )
    bodies = {
        "as it is": (inertia, body),
        "rotated": (inertia.rotated(blocks_R), Points(body.masses, body.positions @ R.T)),
        "shifted": (inertia.shifted(as_vec(p.tolist())), Points(body.masses, body.positions + p)),
        "with another": (inertia + other.inertia(), both),
        "denser": (2.5 * inertia, Points(2.5 * body.masses, body.positions)),
    }

    for moved, points in bodies.values():
        velocity = Motion.of([*v.tolist(), *w.tolist()])
        assert_close((moved @ velocity).entries, points.momentum(v, w), rtol=1e-13)


def test_the_tensor_about_the_center_of_mass_is_that_of_the_points_seen_from_it(rng):
    body = Points.random(rng)
    c = body.masses @ body.positions / body.masses.sum()

    tensor = body.inertia().tensor_about_com(as_vec(c.tolist()))

    assert_close(tensor, Points(body.masses, body.positions - c).inertia().tensor, rtol=1e-13)


def test_a_body_without_joints_is_felt_as_it_is(rng):
    inertia = Points.random(rng).inertia()

    felt = inertia.articulated()

    assert_close(felt.matrix, matrix_of(inertia), rtol=1e-14)
    assert_close(matrix_of(felt), matrix_of(inertia), rtol=1e-14)


@pytest.mark.parametrize("seed", SEEDS)
def test_articulated_inertias_change_as_quadratic_forms(seed):
    """The kinetic energy of a motion is the same in other axes and about another origin."""
    rng = np.random.default_rng(seed)
    (felt, K), (other, L) = random_articulated(rng), random_articulated(rng)
    (R, blocks_R), p = rotation(rng), rng.normal(size=3)
    turned = np.kron(np.eye(2), R.T)  # from velocities in the new axes to those in the old
    moved = np.eye(6)
    moved[:3, 3:] = -so3.wedge(p)  # v of the old origin, which is at p: v + w x p

    assert_close(felt.matrix, K, rtol=1e-15)
    assert_close(matrix_of(felt), K, rtol=1e-15)
    assert_close((felt + other).matrix, K + L, rtol=1e-15)
    assert_close((felt - other).matrix, K - L, rtol=1e-15, scale=np.abs(K + L).max())
    assert_close(felt.rotated(blocks_R).matrix, turned.T @ K @ turned, rtol=1e-13)
    assert_close(felt.shifted(as_vec(p.tolist())).matrix, moved.T @ K @ moved, rtol=1e-13)
    assert_close((felt + NO_INERTIA).matrix, K, rtol=1e-15)


@pytest.mark.parametrize(("linear", "angular"), [([], [2]), ([0], []), ([1, 2], [0, 2])])
def test_axes_without_resistance_are_rows_and_columns_of_zeros(linear, angular, rng):
    felt, K = random_articulated(rng)

    free = felt.without(linear, angular)

    for k in [*linear, *(3 + k for k in angular)]:
        K[k] = K[:, k] = 0.0
    assert_close(free.matrix, K, rtol=1e-15)


def test_momentum_of_a_sphere_is_that_of_its_center_and_its_spin():
    """m v, and I w with I = 2/5 m r^2 about the center."""
    sphere = RigidInertia(3.0, Vec(0.0, 0.0, 0.0), Sym(0.3, 0.0, 0.0, 0.3, 0.0, 0.3))

    momentum = sphere @ Motion(Vec(1.0, 2.0, 3.0), Vec(4.0, 5.0, 6.0))

    assert_close(momentum.entries, [3.0, 6.0, 9.0, 1.2, 1.5, 1.8], rtol=1e-15)
