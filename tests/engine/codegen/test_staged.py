"""Staged outputs, which are stored while the next rows are computed, have the right elements."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.expressions import cut_into_pieces, program_for, run_compiled

from linkwork.engine.codegen.lanes import Lanes
from linkwork.engine.codegen.llvm.emit import emit_llvm
from linkwork.engine.codegen.schedule import pieces, rows

LANES = [(2, "double"), (4, "double"), (8, "double"), (4, "float"), (8, "float"), (16, "float")]
SIZES = [(16, 17), (17, 17), (1, 256), (1, 257), (17, 20), (14, 19)]


def outer(shape):
    """A program whose outputs contain products, constants, inputs and repeated elements."""
    rows, columns = shape

    def function(a, b):
        left = np.resize(np.concatenate([a, b, a * a, [0.0, 1.0, 2.5]]), rows)
        right = np.resize(np.concatenate([a + 1.0, b, a]), columns)
        mixed = left[:, None] * right
        mixed[0, :3] = a
        mixed[-1, -2:] = 0.0, 7.0
        return mixed, a * 2.0, mixed.T

    return program_for(function, (3,), (2,))


def expected(shape, a, b):
    rows, columns = shape
    n = len(a)
    constants = np.tile([0.0, 1.0, 2.5], (n, 1))
    left = np.concatenate([a, b, a * a, constants], axis=1)
    right = np.concatenate([a + 1.0, b, a], axis=1)
    left = left[:, np.arange(rows) % left.shape[1]]
    right = right[:, np.arange(columns) % right.shape[1]]
    mixed = left[:, :, None] * right[:, None, :]
    mixed[:, 0, :3] = a
    mixed[:, -1, -2:] = 0.0, 7.0
    return mixed.reshape(n, -1), 2 * a, np.swapaxes(mixed, 1, 2).reshape(n, -1)


@pytest.mark.parametrize("shape", SIZES, ids=str)
@pytest.mark.parametrize(("width", "scalar"), LANES)
@pytest.mark.parametrize(
    ("large", "offset", "turns"),
    [(False, 0, 1), (False, 0, 3), (True, 0, 1), (True, 0, 2), (True, 1, 5), (True, 4, 3)],
)
def test_every_element_is_stored_at_its_index(shape, width, scalar, large, offset, turns):  # noqa: PLR0917
    rng = np.random.default_rng(0)
    n = turns * width
    a, b = rng.uniform(1, 2, size=(n, 3)), rng.uniform(1, 2, size=(n, 2))
    actual = run_compiled(
        outer(shape), a, b, width=width, scalar=scalar, large=large, offset=offset
    )
    tolerance = 1e-14 if scalar == "double" else 1e-6
    for one, other in zip(actual, expected(shape, a, b), strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance)


@pytest.mark.parametrize(("shape", "offset"), [((17, 17), 0), ((16, 17), 2)])
def test_a_program_in_pieces_is_staged(monkeypatch, shape, offset):
    monkeypatch.setattr(rows, "LONGEST_STAGED", 50)
    monkeypatch.setattr(pieces, "LONGEST_PIECE", 20)
    assert "@piece3" in emit_llvm(outer(shape), "f", Lanes(4))
    rng = np.random.default_rng(0)
    a, b = rng.uniform(1, 2, size=(12, 3)), rng.uniform(1, 2, size=(12, 2))
    actual = run_compiled(outer(shape), a, b, width=4, large=True, offset=offset)
    for one, other in zip(actual, expected(shape, a, b), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


@pytest.mark.parametrize("size", [64, 66, 67])
def test_smaller_outputs_of_large_rows_are_staged(size):
    def function(a):
        return np.resize(a * a, 1100), np.resize(a + 1.0, size), a - 1.0

    program = program_for(function, (5,))
    assert "@offsets1" in emit_llvm(program, "f", Lanes(4))
    assert "@offsets2" not in emit_llvm(program, "f", Lanes(4))
    a = np.arange(60.0).reshape(12, 5)
    actual = run_compiled(program, a, width=4, large=True, offset=2)
    indices = np.arange(1100) % 5
    for one, other in zip(actual, (a**2, a + 1, a - 1), strict=True):
        np.testing.assert_array_equal(one, other[:, indices[: one.shape[1]]])


def test_outputs_of_inputs_and_constants_only():
    program = program_for(lambda a: np.concatenate([a, [2.0]] * 100), (3,))
    a = np.arange(24.0).reshape(8, 3)
    (actual,) = run_compiled(program, a, width=4)
    np.testing.assert_array_equal(actual, np.tile(np.c_[a, np.full(8, 2.0)], 100))
    (constants,) = run_compiled(
        program_for(lambda a: np.full(300, 7.0) + 0.0 * a[0], (1,)), a[:, :1], width=4
    )
    assert (constants == 7.0).all()


def test_stages_too_large_for_the_cache_are_not_used(monkeypatch):
    monkeypatch.setattr(rows, "MOST_STAGE_BYTES", 100)
    program = outer((16, 17))
    assert "@offsets" not in emit_llvm(program, "f", Lanes(4))
    rng = np.random.default_rng(0)
    a, b = rng.uniform(1, 2, size=(12, 3)), rng.uniform(1, 2, size=(12, 2))
    for one, other in zip(
        run_compiled(program, a, b, width=4), expected((16, 17), a, b), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-14)


def test_small_outputs_and_single_rows_are_not_staged():
    program = outer((17, 17))
    assert "@offsets0" in emit_llvm(program, "f", Lanes(4))
    assert "@offsets1" not in emit_llvm(program, "f", Lanes(4))
    assert "@offsets" not in emit_llvm(program, "f", Lanes(1))


@pytest.mark.parametrize(
    ("size", "staged"),
    [(80, False), (96, True), (97, False), (98, True), (255, False), (257, True)],
)
def test_smaller_outputs_are_staged_if_they_can_use_non_temporal_stores(size, staged):
    program = program_for(lambda a: np.resize(a * a, size), (5,))
    assert ("@offsets0" in emit_llvm(program, "f", Lanes(4))) == staged
    a = np.arange(40.0).reshape(8, 5)
    (actual,) = run_compiled(program, a, width=4, large=True, offset=1)
    np.testing.assert_array_equal(actual, (a**2)[:, np.arange(size) % 5])


@pytest.mark.parametrize("steps", [None, 7])
@pytest.mark.parametrize(("width", "scalar"), [(4, "double"), (16, "float")])
def test_rows_in_columns_have_the_same_elements(width, scalar, steps, monkeypatch):
    if steps:
        cut_into_pieces(monkeypatch, steps)
    rng = np.random.default_rng(0)
    n, shape = 6 * width, (17, 20)
    a, b = rng.uniform(1, 2, size=(n, 3)), rng.uniform(1, 2, size=(n, 2))

    def turned(array, first, second):
        """Exchange elements and lanes in each block of rows."""
        size = array.shape[1]
        return array.reshape(-1, first or size, second or size).swapaxes(1, 2).reshape(n, size)

    inputs = [turned(array, width, None) for array in (a, b)]
    actual = run_compiled(outer(shape), *inputs, width=width, scalar=scalar, columns=True)
    tolerance = 1e-14 if scalar == "double" else 1e-6
    for one, other in zip(actual, expected(shape, a, b), strict=True):
        np.testing.assert_allclose(turned(one, None, width), other, rtol=tolerance)
