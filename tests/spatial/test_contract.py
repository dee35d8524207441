"""Properties of every spatial function: batches, lists, float32, tracing, purity, messages."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.spatial import (
    BATCHES,
    Scalar,
    as_scalars,
    assert_close,
    from_scalars,
    random_poses,
    random_rotations,
)

from linkwork.errors import LinkworkError, ShapeError
from linkwork.spatial import inertia, motion, quat, se3, so3


def vector3(rng, batch):
    return rng.normal(size=(*batch, 3))


def vector6(rng, batch):
    return rng.normal(size=(*batch, 6))


def number(rng, batch):
    return rng.uniform(0.5, 2.0, size=batch)


def wxyz(rng, batch):
    q = rng.normal(size=(*batch, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def rotation(rng, batch):
    return random_rotations(rng, *batch)


def pose(rng, batch):
    return random_poses(rng, *batch)


def tensor(rng, batch):
    m = rng.normal(size=(*batch, 3, 3))
    moments = m @ np.swapaxes(m, -1, -2)
    return np.trace(moments, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - moments


def params(rng, batch):
    return inertia.from_com(number(rng, batch), vector3(rng, batch), tensor(rng, batch))


def matrix6(rng, batch):
    return inertia.matrix(params(rng, batch))


# function: arguments, traceable
FUNCTIONS = {
    so3.wedge: ([vector3], True),
    so3.vee: ([tensor], True),
    so3.exp: ([vector3], True),
    so3.log: ([rotation], True),
    so3.rot_x: ([number], True),
    so3.rot_y: ([number], True),
    so3.rot_z: ([number], True),
    so3.about: ([vector3, number], True),
    so3.from_rpy: ([vector3], True),
    so3.to_rpy: ([rotation], True),
    so3.left_jacobian: ([vector3], True),
    so3.right_jacobian: ([vector3], True),
    so3.left_jacobian_inverse: ([vector3], True),
    so3.right_jacobian_inverse: ([vector3], True),
    so3.project: ([rotation], False),
    quat.multiply: ([wxyz, wxyz], True),
    quat.conjugate: ([wxyz], True),
    quat.normalize: ([wxyz], True),
    quat.exp: ([vector3], True),
    quat.log: ([wxyz], True),
    quat.rotate: ([wxyz, vector3], True),
    quat.to_rotation: ([wxyz], True),
    quat.from_rotation: ([rotation], True),
    quat.left_matrix: ([wxyz], True),
    quat.right_matrix: ([wxyz], True),
    quat.rate_matrix: ([wxyz], True),
    quat.rate_inverse: ([wxyz], True),
    se3.pose: ([rotation, vector3], True),
    se3.rotation_of: ([pose], True),
    se3.position_of: ([pose], True),
    se3.from_xyz_rpy: ([vector3, vector3], True),
    se3.inverse: ([pose], True),
    se3.transform_point: ([pose, vector3], True),
    se3.wedge: ([vector6], True),
    se3.vee: ([pose], True),
    se3.exp: ([vector6], True),
    se3.log: ([pose], True),
    se3.left_jacobian: ([vector6], True),
    se3.right_jacobian: ([vector6], True),
    se3.left_jacobian_inverse: ([vector6], True),
    se3.right_jacobian_inverse: ([vector6], True),
    motion.join: ([vector3, vector3], True),
    motion.motion_transform: ([pose], True),
    motion.force_transform: ([pose], True),
    motion.transform_motion: ([pose, vector6], True),
    motion.inverse_transform_motion: ([pose, vector6], True),
    motion.transform_force: ([pose, vector6], True),
    motion.inverse_transform_force: ([pose, vector6], True),
    motion.motion_cross: ([vector6, vector6], True),
    motion.force_cross: ([vector6, vector6], True),
    motion.motion_cross_matrix: ([vector6], True),
    motion.force_cross_matrix: ([vector6], True),
    inertia.from_com: ([number, vector3, tensor], True),
    inertia.matrix: ([params], True),
    inertia.from_matrix: ([matrix6], True),
    inertia.transform: ([pose, params], True),
    inertia.apply: ([params, vector6], True),
    inertia.kinetic_energy: ([params, vector6], True),
    inertia.second_moments: ([tensor], True),
    inertia.from_second_moments: ([tensor], True),
    inertia.pseudo_inertia: ([params], True),
    inertia.principal_moments: ([tensor], False),
    inertia.is_physical: ([params], False),
}


def whole_numbers(shape):
    """1, (1, 0, 0, ...) or an identity matrix: arguments for which every function is defined."""
    identity = np.eye(shape[-1] if shape else 1, dtype=int)
    return identity if len(shape) == 2 else identity[0].reshape(shape)


def name_of(function):
    return f"{function.__module__.rsplit('.', 1)[-1]}.{function.__name__}"


every_function = pytest.mark.parametrize("function", FUNCTIONS, ids=name_of)
every_function_of_floats = pytest.mark.parametrize(
    "function", [f for f in FUNCTIONS if f is not inertia.is_physical], ids=name_of
)
every_traceable_function = pytest.mark.parametrize(
    "function", [f for f, (_, traceable) in FUNCTIONS.items() if traceable], ids=name_of
)


def arguments(function, batch=(), seed=0):
    rng = np.random.default_rng(seed)
    return [make(rng, batch) for make in FUNCTIONS[function][0]]


def test_the_table_contains_every_public_function():
    public = {
        f
        for module in (so3, quat, se3, motion, inertia)
        for name, f in vars(module).items()
        if callable(f) and not name.startswith("_") and isinstance(f, type(name_of))
    }
    tested_elsewhere = {
        se3.identity,
        motion.split,
        inertia.to_com,
        inertia.nearest_physical,
    }

    assert public - set(FUNCTIONS) == tested_elsewhere


@every_function
@pytest.mark.parametrize("batch", BATCHES)
def test_a_batch_is_the_same_as_one_call_for_each_element(function, batch):
    args = arguments(function, batch)

    result = function(*args)

    tail = np.shape(function(*arguments(function)))
    assert np.shape(result) == (*batch, *tail)
    for index in np.ndindex(*batch):
        assert_close(result[index], function(*(a[index] for a in args)), 1e-13)


@every_function
def test_batch_axes_broadcast(function):
    args = arguments(function, (3, 5))
    args[0] = args[0][:, :1]

    result = function(*args)

    if len(args) > 1:
        full = np.broadcast_to(args[0], (3, 5, *args[0].shape[2:]))
        assert_close(result, function(full, *args[1:]), 1e-13)
    else:
        assert np.shape(result)[:2] == (3, 1)


@every_function
def test_lists_are_accepted_as_arrays(function):
    args = arguments(function)

    assert np.array_equal(function(*(a.tolist() for a in map(np.asarray, args))), function(*args))


@every_function
def test_integers_are_converted_to_floats(function):
    args = [whole_numbers(np.shape(a)) for a in arguments(function)]

    result = np.asarray(function(*args))

    assert result.dtype == (bool if function is inertia.is_physical else np.float64)
    assert np.array_equal(result, function(*(a.astype(float) for a in args)))


@every_function_of_floats
@pytest.mark.parametrize("batch", [(), (4,)])
def test_float32_stays_float32(function, batch):
    args = arguments(function, batch)

    result = np.asarray(function(*(np.float32(a) for a in args)))

    assert result.dtype == np.float32
    assert_close(result, function(*args), 1e-4)


@every_function
def test_arguments_are_not_modified(function):
    args = [np.array(a) for a in arguments(function, (4,))]
    before = [a.copy() for a in args]
    for a in args:
        a.setflags(write=False)

    function(*args)

    assert all(np.array_equal(a, b) for a, b in zip(args, before, strict=True))


@every_traceable_function
def test_what_is_not_a_number_passes_through_without_a_warning(function):
    args = [np.full(np.shape(a), np.nan) for a in arguments(function)]

    assert np.isnan(function(*args)).any()


@every_traceable_function
@pytest.mark.parametrize("batch", [(), (2,)])
def test_object_arrays_of_scalars_give_the_same_values(function, batch):
    args = arguments(function, batch)

    result = function(*map(as_scalars, args))

    assert_close(from_scalars(result), function(*args), 1e-13)
    assert any(isinstance(entry, Scalar) for entry in np.ravel(result))


@every_traceable_function
def test_object_arrays_work_around_the_zero_of_every_branch(function):
    args = [
        a * 0.0 if np.ndim(a) == 1 and a.shape[-1] in (3, 6) else a for a in arguments(function)
    ]

    result = function(*map(as_scalars, args))

    assert_close(from_scalars(result), function(*args), 1e-13)


def test_to_com_accepts_batches():
    rng = np.random.default_rng(1)
    for batch in BATCHES:
        mass, com, tensor_at_com = inertia.to_com(params(rng, batch))
        assert mass.shape == batch
        assert com.shape == (*batch, 3)
        assert tensor_at_com.shape == (*batch, 3, 3)
        mass, com, tensor_at_com = inertia.nearest_physical(mass, com, tensor_at_com)
        assert tensor_at_com.shape == (*batch, 3, 3)


def test_to_com_of_a_massless_body_can_be_traced():
    p = as_scalars([0, 0, 0, 0, 1, 0, 0, 2, 0, 3])
    _, com, at_com = inertia.to_com(p)
    assert np.array_equal(from_scalars(com), np.zeros(3))
    assert np.array_equal(from_scalars(at_com), np.diag([1, 2, 3]))


@pytest.mark.parametrize(
    ("call", "name", "expected", "actual"),
    [
        (lambda: so3.exp([1, 2]), "phi", "(..., 3)", "(2,)"),
        (lambda: so3.exp(1.0), "phi", "(..., 3)", "()"),
        (lambda: so3.log(np.zeros((5, 4, 4))), "rotation", "(..., 3, 3)", "(5, 4, 4)"),
        (lambda: so3.log(np.zeros(3)), "rotation", "(..., 3, 3)", "(3,)"),
        (lambda: so3.wedge(np.zeros(6)), "vector", "(..., 3)", "(6,)"),
        (lambda: so3.vee(np.zeros(3)), "skew", "(..., 3, 3)", "(3,)"),
        (lambda: so3.about([0, 1], 0.1), "axis", "(..., 3)", "(2,)"),
        (lambda: so3.from_rpy(0), "rpy", "(..., 3)", "()"),
        (lambda: so3.to_rpy(np.eye(4)), "rotation", "(..., 3, 3)", "(4, 4)"),
        (lambda: so3.left_jacobian([0]), "phi", "(..., 3)", "(1,)"),
        (lambda: so3.right_jacobian_inverse([0]), "phi", "(..., 3)", "(1,)"),
        (lambda: so3.project(np.eye(2)), "near", "(..., 3, 3)", "(2, 2)"),
        (lambda: quat.multiply(np.ones(4), np.ones(3)), "b_wxyz", "(..., 4)", "(3,)"),
        (lambda: quat.multiply(np.ones(3), np.ones(4)), "a_wxyz", "(..., 4)", "(3,)"),
        (lambda: quat.log(np.ones((2, 3))), "wxyz", "(..., 4)", "(2, 3)"),
        (lambda: quat.rotate(np.ones(4), 1), "vector", "(..., 3)", "()"),
        (lambda: quat.from_rotation(np.eye(4)), "rotation", "(..., 3, 3)", "(4, 4)"),
        (lambda: quat.rate_matrix([1]), "wxyz", "(..., 4)", "(1,)"),
        (lambda: se3.pose(np.eye(3), [1]), "position", "(..., 3)", "(1,)"),
        (lambda: se3.pose(np.eye(4), [1]), "rotation", "(..., 3, 3)", "(4, 4)"),
        (lambda: se3.from_xyz_rpy([1], [0, 0, 0]), "xyz", "(..., 3)", "(1,)"),
        (lambda: se3.inverse(np.eye(3)), "a_H_b", "(..., 4, 4)", "(3, 3)"),
        (lambda: se3.transform_point(np.eye(4), [1]), "b_point", "(..., 3)", "(1,)"),
        (lambda: se3.exp(np.zeros(3)), "xi", "(..., 6)", "(3,)"),
        (lambda: se3.right_jacobian(np.zeros(3)), "xi", "(..., 6)", "(3,)"),
        (lambda: se3.vee(np.zeros(6)), "matrix", "(..., 4, 4)", "(6,)"),
        (lambda: motion.split(np.zeros(3)), "vector", "(..., 6)", "(3,)"),
        (lambda: motion.join([1, 2, 3], [1]), "angular", "(..., 3)", "(1,)"),
        (lambda: motion.join([1], [1, 2, 3]), "linear", "(..., 3)", "(1,)"),
        (lambda: motion.motion_cross([1], [1]), "v", "(..., 6)", "(1,)"),
        (lambda: motion.motion_cross(np.ones(6), [1]), "m", "(..., 6)", "(1,)"),
        (lambda: motion.force_cross(np.ones(6), [1]), "f", "(..., 6)", "(1,)"),
        (lambda: motion.motion_cross_matrix([1]), "v", "(..., 6)", "(1,)"),
        (lambda: motion.transform_motion(np.eye(4), [1]), "b_v", "(..., 6)", "(1,)"),
        (lambda: motion.transform_force(np.eye(4), [1]), "b_f", "(..., 6)", "(1,)"),
        (
            lambda: motion.inverse_transform_motion(np.eye(4), [1]),
            "a_v",
            "(..., 6)",
            "(1,)",
        ),
        (
            lambda: motion.inverse_transform_force(np.eye(4), [1]),
            "a_f",
            "(..., 6)",
            "(1,)",
        ),
        (lambda: inertia.matrix(np.zeros(6)), "params", "(..., 10)", "(6,)"),
        (lambda: inertia.from_matrix(np.eye(4)), "inertia", "(..., 6, 6)", "(4, 4)"),
        (lambda: inertia.from_com(1, [0, 0], np.eye(3)), "com", "(..., 3)", "(2,)"),
        (
            lambda: inertia.from_com(1, [0, 0, 0], np.ones(6)),
            "tensor_at_com",
            "(..., 3, 3)",
            "(6,)",
        ),
        (lambda: inertia.apply(np.zeros(10), [1]), "v", "(..., 6)", "(1,)"),
        (lambda: inertia.second_moments([1]), "tensor", "(..., 3, 3)", "(1,)"),
        (lambda: inertia.from_second_moments([1]), "moments", "(..., 3, 3)", "(1,)"),
    ],
)
def test_an_error_about_a_shape_names_the_argument_and_both_shapes(call, name, expected, actual):
    with pytest.raises(ShapeError) as caught:
        call()
    assert str(caught.value).startswith(f"{name}: ")
    assert expected in str(caught.value)
    assert actual in str(caught.value)
    assert isinstance(caught.value, LinkworkError)
