"""Value types: the algebra of NumPy on floats, traced scalars and columns, with zeros folded."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from tests.support.models import assert_close

from linkwork.engine.symbolic.operations import NUMPY_FUNCTIONS
from linkwork.engine.symbolic.program import Port
from linkwork.engine.symbolic.tracing import trace
from linkwork.mechanics.inertia import RigidInertia
from linkwork.spatial.blocks import (
    IDENTITY,
    ZERO,
    Force,
    Mat,
    Motion,
    Sym,
    Vec,
    as_mat,
    quaternion_rotation,
    rotation_about,
)
from linkwork.spatial.source import motion, so3

CONSTANTS = (0.0, 0.0, 1.0, -1.0)  # structural zeros and ones, which operators fold


def scalars(rng, n):
    """Return floats, about half of which are structural zeros or ones."""
    return [float(rng.choice(CONSTANTS)) if rng.random() < 0.5 else rng.normal() for _ in range(n)]


def vec(rng):
    return Vec(*scalars(rng, 3))


def mat(rng):
    return Mat(vec(rng), vec(rng), vec(rng))


def sym(rng):
    return Sym(*scalars(rng, 6))


def rotation(rng):
    return as_mat(so3.exp(rng.normal(size=3)).tolist())


def products(values):
    """Compute with every operator and method of vectors and matrices."""
    a, b, A, B, S, s = values
    matrices = (A @ B, A + B, A - B, -A, s * A, S @ A, a.outer(b))
    matrices += (A.rotated_about(1, 0.6, 0.8), A.minus_wedges(a, b))
    R = rotation_about(IDENTITY[1], 0.6, 0.8)
    return [
        *(a + b), *(a - b), *(-a), *(s * a), *(a * s), a.dot(b), *a.cross(b),
        *(A @ a), *(A.T @ b), *(S @ a), *(a.wedge @ b), *(a.wedge_squared @ b),
        *(x for matrix in matrices for row in matrix for x in row),
        *S.rotated(R), *(s * S + S), *S.shifted(a, s, b), *S.about_com(a, b),
        *S.euler_moment(a, b, a.wedge_squared.full + b.wedge),
    ]  # fmt: skip


def products_of_arrays(values):
    """Compute the same from the definitions."""
    a, b, A, B, S, s = values
    R = so3.rot_y(np.arctan2(0.8, 0.6))
    upper = np.triu_indices(3)
    wedge_a, wedge_b = so3.wedge(a), so3.wedge(b)
    shifted = S - wedge_a @ wedge_b - wedge_b @ wedge_a - s * wedge_a @ wedge_a
    about_com = S - np.eye(3) * (a @ b) + np.outer(a, b)
    euler = S @ b + np.cross(a, S @ a)
    values = [
        a + b, a - b, -a, s * a, s * a, a @ b, np.cross(a, b),
        A @ a, A.T @ b, S @ a, np.cross(a, b), np.cross(a, np.cross(a, b)),
        A @ B, A + B, A - B, -A, s * A, S @ A, np.outer(a, b),
        R @ A @ R.T, A - wedge_a @ wedge_b,
        (R @ S @ R.T)[upper], ((s + 1) * S)[upper], shifted[upper], about_com[upper], euler,
    ]  # fmt: skip
    return np.concatenate([np.ravel(value) for value in values])


def as_arrays(values):
    a, b, A, B, S, s = values
    return (*map(np.array, (a, b, A, B, S.full)), s)


def case(seed):
    rng = np.random.default_rng(seed)
    return vec(rng), vec(rng), mat(rng), mat(rng), sym(rng), scalars(rng, 1)[0]


@pytest.mark.parametrize("seed", range(20))
def test_operators_agree_with_numpy(seed):
    values = case(seed)
    assert_close(products(values), products_of_arrays(as_arrays(values)), rtol=1e-14)


@pytest.mark.parametrize("seed", range(10))
def test_traced_scalars_and_columns_give_the_same_numbers(seed):
    """Some entries are inputs, the others constants; both are mixed in every operation."""
    rng = np.random.default_rng(seed)
    values = case(seed)
    flat = np.concatenate([np.ravel(value) for value in values])
    inputs = np.flatnonzero(rng.random(flat.size) < 0.5)

    def compute(x):
        entries = flat.tolist()
        for k, entry in zip(inputs, x, strict=True):
            entries[k] = entry
        a, b, A, B, S = np.split(np.array(entries[:-1], dtype=object), [3, 6, 15, 24])
        matrices = (as_mat(m.reshape(3, 3).tolist()) for m in (A, B))
        return products((Vec(*a), Vec(*b), *matrices, Sym(*S), entries[-1]))

    expected = products(values)
    program = trace(
        lambda x: np.array(compute(list(x)), dtype=object), [Port("x", (len(inputs),))], "y"
    )
    assert_close(program.run(flat[inputs], functions=NUMPY_FUNCTIONS), expected, rtol=1e-14)
    columns = [np.full(4, x) for x in flat[inputs]]
    for actual, number in zip(compute(columns), expected, strict=True):
        assert_close(np.broadcast_to(actual, 4), np.full(4, number), rtol=1e-14)


def test_products_with_structural_zeros_and_ones_are_not_computed():
    def of_zeros(x):
        v = Vec(x[0], x[1], x[2])
        kept = IDENTITY @ v + ZERO + 0.0 * v + ZERO.cross(v)
        return np.array([*kept, v.dot(IDENTITY[2])], dtype=object)

    program = trace(of_zeros, [Port("x", (3,))], "y")
    assert program.n_ops == 0


@pytest.mark.parametrize("seed", range(10))
def test_motions_and_forces_agree_with_arrays(seed):
    rng = np.random.default_rng(seed)
    V, W, F, p, R = (
        Motion(vec(rng), vec(rng)),
        Motion.of(scalars(rng, 6)),
        None,
        vec(rng),
        rotation(rng),
    )
    F = Force.of(scalars(rng, 6))
    v, w, f = (np.ravel(pair) for pair in (V, W, F))
    H = np.eye(4)
    H[:3, 3] = p

    assert_close(V.dot(F), v @ f, rtol=1e-14)
    assert_close(V.cross(W).entries, motion.motion_cross(v, w), rtol=1e-14)
    assert_close(V.cross(F).entries, motion.force_cross(v, f), rtol=1e-14)
    assert_close(V.shifted(p).entries, motion.transform_motion(H, v), rtol=1e-14)
    assert_close(V.at(p).entries, motion.inverse_transform_motion(H, v), rtol=1e-14)
    assert_close(F.shifted(p).entries, motion.transform_force(H, f), rtol=1e-14)
    assert_close(V.at(p).dot(F), V.dot(F.shifted(p)), rtol=1e-14, scale=10.0)
    assert_close((R @ V).entries, np.ravel(np.reshape(v, (2, 3)) @ np.array(R).T), rtol=1e-14)
    assert isinstance(R @ F, Force)
    assert isinstance(2.0 * V - W, Motion)


def test_a_column_times_a_value_is_a_value_of_columns():
    column = np.array([1.0, 2.0])
    body = RigidInertia(2.0, Vec(1.0, 0.0, 0.0), IDENTITY.upper)
    for value in (Vec(3.0, 0.0, 1.0), IDENTITY, IDENTITY.upper, Motion(IDENTITY[0], ZERO)):
        assert type(column * value) is type(value)
    np.testing.assert_array_equal((column * Vec(3.0, 0.0, 1.0))[0], 3.0 * column)
    np.testing.assert_array_equal((column * body).first_moment[0], column)


@pytest.mark.parametrize("value", [ZERO, IDENTITY, IDENTITY.upper, Motion(ZERO, IDENTITY[0])])
def test_values_are_tuples_that_survive_copying(value):
    for other in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):
        assert type(other) is type(value)
        assert other == value
        assert hash(other) == hash(value)


def test_a_unit_quaternion_is_a_rotation(rng):
    wxyz = rng.normal(size=4)
    R = np.array(quaternion_rotation(wxyz / np.linalg.norm(wxyz)))
    assert_close(R @ R.T, np.eye(3), rtol=1e-14)
    assert_close(np.linalg.det(R), 1.0, rtol=1e-14)
