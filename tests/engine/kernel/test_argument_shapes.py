"""Inputs and outputs with any number of axes; masked arrays; names of compiled functions."""

from __future__ import annotations

import inspect
import pickle
import sys

import numpy as np
import pytest

import linkwork as lw

SHAPES = [(), (1,), (3, 4), (2, 3, 2), (2, 1, 2, 1, 2), (1, 2, 1, 2, 1, 2, 1), (0, 3)]


def doubled(x):
    """Twice the input."""
    return 2 * x


plain = doubled
doubled = named = lw.compile(x=(3,))(plain)  # as a decorator does


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("batch", [(), (1,), (5,), (2, 3), (2500,), (0,)])
def test_a_row_may_have_any_shape(shape, batch):
    function = lw.compile(x=shape)(lambda x: 2 * x)
    x = numbers(*batch, *shape)
    for _ in range(2):
        np.testing.assert_array_equal(function(x), 2 * x)
        out = np.empty_like(x)
        assert function(x, out=out) is out
        np.testing.assert_array_equal(out, 2 * x)
        function.warmup()


@pytest.mark.parametrize("given", [(4, 3), (12,), (2, 6), (6, 2), (3,), (4,), (), (4, 3, 1)])
def test_a_row_of_another_shape_is_rejected(given):
    """Even if it has the same number of elements, or the same last axis."""
    function = lw.compile(A=(3, 4))(lambda A: 2 * A)
    function(numbers(3, 4))
    function.warmup()
    for shape in (given, (5, *given)):
        with pytest.raises(lw.ShapeError) as caught:
            function(np.zeros(shape))
        for fact in ("A: ", "(..., 3, 4)", str(shape)):
            assert fact in str(caught.value)


def test_rows_of_a_last_axis_that_fits_are_not_taken_for_a_row():
    function = lw.compile(x=(3, 4))(lambda x: x)
    function.warmup()
    batch = numbers(3, 3, 4)
    np.testing.assert_array_equal(function(batch), batch)
    with pytest.raises(lw.ShapeError, match=r"x: .*\(..., 3, 4\).*\(2, 4\)"):
        function(numbers(2, 4))


def test_inputs_of_several_shapes_share_their_batch():
    function = lw.compile(a=(), x=(3,), A=(2, 3))(lambda a, x, A: a * (A @ x))
    a, x, A = numbers(7), numbers(7, 3), numbers(7, 2, 3)
    for _ in range(2):
        np.testing.assert_allclose(function(a, x, A), a[:, None] * np.einsum("nij,nj->ni", A, x))
        np.testing.assert_allclose(function(a[0], x[0], A[0]), a[0] * A[0] @ x[0])
        np.testing.assert_allclose(function(a, x[0], A[0]), np.outer(a, A[0] @ x[0]))
        function.warmup()


def test_derivatives_may_have_many_axes():
    function = lw.compile(A=(2, 2))(lambda A: A @ A)
    third = function.jacobian("A").jacobian("A").jacobian("A")
    assert function.jacobian("A").jacobian("A")(np.eye(2)).shape == (2,) * 6
    assert third(np.eye(2)).shape == (2,) * 8
    assert third(numbers(3, 2, 2)).shape == (3, *(2,) * 8)


# Masked arrays.


def test_a_masked_element_is_rejected():
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
    for argument in (masked, np.ma.array([masked, masked]), [masked, masked], (masked,)):
        with pytest.raises(lw.ArgumentError, match=r"^x: masked.*filled\(\)"):
            named(argument)
    np.testing.assert_array_equal(named(masked.filled(0.5)), [2, 1, 6])


def test_a_masked_array_without_masked_elements_is_an_array():
    for mask in (False, [False] * 3):
        np.testing.assert_array_equal(named(np.ma.array([1.0, 2.0, 3.0], mask=mask)), [2, 4, 6])
    assert type(named(np.ma.array([1.0, 2.0, 3.0]))) is np.ndarray


def test_masked_elements_are_not_written_to():
    out = np.ma.array([7.0, 7.0, 7.0], mask=[False, True, False])
    with pytest.raises(lw.ArgumentError, match=r"out: .*doubled.*masked"):
        named(np.ones(3), out=out)
    assert (out.data == 7).all()


# Names.


def test_a_compiled_function_has_the_name_of_its_function():
    assert named.__wrapped__ is plain
    assert (named.__name__, named.__qualname__) == ("doubled", "doubled")
    assert named.__doc__ == "Twice the input."
    assert named.__module__ == __name__
    assert list(inspect.signature(named).parameters) == ["x"]
    assert inspect.unwrap(named) is plain


def test_a_derivative_has_a_name_too():
    jacobian = named.jacobian("x")
    assert jacobian.__name__ == "d doubled / d x"
    assert jacobian.__doc__ == "The Jacobian of doubled with respect to x."
    assert not hasattr(jacobian, "__wrapped__")


def test_attributes_of_a_function_are_not_copied_to_the_kernel():
    def function(x):
        return 2 * x

    function.code = "nonsense"
    function.signature = "nonsense"
    np.testing.assert_array_equal(lw.compile(x=3)(function)(np.ones(3)), [2, 2, 2])
    again = lw.compile(x=3)(named)
    np.testing.assert_array_equal(again(np.ones(3)), [2, 2, 2])


def test_a_function_without_a_name_can_be_compiled():
    class Scale:
        def __call__(self, x):
            return 2 * x

    function = lw.compile(x=3)(Scale())
    assert function.__name__ == "Scale"
    np.testing.assert_array_equal(function(np.ones(3)), [2, 2, 2])


def test_a_compiled_function_is_pickled_by_its_name():
    if __name__ not in sys.modules:
        pytest.skip("this module has no name to be found by")
    assert pickle.loads(pickle.dumps(named)) is named
