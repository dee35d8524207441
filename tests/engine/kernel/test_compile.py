"""`compile_function`: users' functions are compiled, batched and differentiated; errors."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
import types

import numpy as np
import pytest
from tests.support.kernels import output_of

from linkwork.engine.kernel.compile import compile_function
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic.arrays import where
from linkwork.errors import ArgumentError, NameNotFoundError, ShapeError
from linkwork.spatial import so3

BATCHES = [(), (1,), (5,), (17,), (2, 3)]


@compile_function(x=(3,), A=(3, 3))
def product(x, A):
    """The product of a matrix and a vector."""
    return A @ x


@compile_function(x=(3,))
def length(x):
    return np.sqrt(x @ x)


@compile_function(x=3, y=3)
def both(x, y, scale=2.0):
    return np.cross(x, y) * scale, x @ y, np.stack([x, y])


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("batch", BATCHES)
def test_a_function_of_vector_and_matrix(batch, warm, rng):
    x, A = rng.normal(size=(*batch, 3)), rng.normal(size=(*batch, 3, 3))
    if warm:
        product.warmup()
    got = product(x, A)

    assert got.shape == (*batch, 3)
    np.testing.assert_allclose(got, (A @ x[..., None])[..., 0], rtol=1e-13, atol=1e-14)


def test_it_is_a_kernel_and_looks_like_the_function():
    assert isinstance(product, Kernel)
    assert repr(product) == "<Kernel product: x (3,), A (3, 3) -> product (3,)>"
    assert product.__name__ == "product"
    assert product.__doc__ == "The product of a matrix and a vector."
    assert copy.deepcopy(product) is product


def test_arguments_by_name_lists_broadcasting_and_out(rng):
    x, A = rng.normal(size=(4, 3)), rng.normal(size=(3, 3))
    expected = x @ A.T
    out = np.empty((4, 3))

    np.testing.assert_allclose(product(A=A, x=x), expected, rtol=1e-13)
    np.testing.assert_allclose(product(x.tolist(), A.tolist()), expected, rtol=1e-13)
    assert product(x, A, out=out) is out
    np.testing.assert_allclose(out, expected, rtol=1e-13)
    np.testing.assert_allclose(
        product(x[:, None], np.stack([A, A])), expected[:, None] + np.zeros((4, 2, 3))
    )
    np.testing.assert_allclose(product(x, A, threads=2), expected, rtol=1e-13)


def test_a_tuple_of_results(rng):
    x, y = rng.normal(size=(2, 6, 3))
    cross, dot, stacked = both(x, y)

    np.testing.assert_allclose(cross, 2.0 * np.cross(x, y), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(dot, (x * y).sum(-1), rtol=1e-13, atol=1e-14)
    np.testing.assert_array_equal(stacked, np.stack([x, y], axis=1))


def test_many_rows_on_several_threads(rng):
    x = rng.normal(size=(10_000, 3))
    expected = np.linalg.norm(x, axis=1)

    np.testing.assert_allclose(length(x), expected, rtol=1e-14)
    np.testing.assert_allclose(length(x, threads=3), expected, rtol=1e-14)


def test_calls_from_several_threads(rng):
    x = rng.normal(size=(50, 3))
    made = compile_function(x=(3,))(lambda x: np.sin(x) * x[0])
    results = []
    threads = [threading.Thread(target=lambda: results.append(made(x))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(results) == 4
    for result in results:
        np.testing.assert_allclose(result, np.sin(x) * x[:, :1], rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_both_precisions(dtype, rng):
    f = compile_function(x=(2,), dtype=dtype)(lambda x: np.exp(x) + np.arctan2(x, 1.0) * x[::-1])
    x = rng.normal(size=(20, 2)).astype(dtype)
    for _ in range(2):
        got = f(x)
        assert got.dtype == dtype
        x64 = x.astype(float)
        expected = np.exp(x64) + np.arctan2(x64, 1.0) * x64[:, ::-1]
        np.testing.assert_allclose(got, expected, rtol=0, atol=20 * np.finfo(dtype).eps)
        f.warmup()
    assert f.jacobian("x")(x).dtype == dtype


def test_numbers_as_inputs_and_results():
    @compile_function(a=(), b=())
    def divide(a, b):
        return a / b

    assert divide(1.0, 4.0) == 0.25
    assert divide(1.0, 4.0).shape == ()
    np.testing.assert_array_equal(divide([1.0, 2.0], 4.0), [0.25, 0.5])
    for _ in range(2):  # one number in an array is a batch of one, before and after warming up
        assert divide(np.ones(1), np.full(1, 4.0)).shape == (1,)
        assert divide(np.ones((5, 1)), np.full((5, 1), 4.0)).shape == (5, 1)
        divide.warmup()


def test_a_flat_matrix_is_rejected_before_and_after_warming_up():
    for _ in range(2):
        with pytest.raises(ShapeError, match=r"A: .*\(\.\.\., 3, 3\).*\(9,\)"):
            product(np.ones(3), np.ones(9))
        product.warmup()


def test_inputs_that_are_not_used_and_results_that_are_constant(rng):
    @compile_function(x=(3,), y=(2,))
    def lazy(x, y):
        return x[0], np.eye(2), 3, True

    x, y = rng.normal(size=(4, 3)), rng.normal(size=(4, 2))
    first, eye, three, yes = lazy(x, y)

    np.testing.assert_array_equal(first, x[:, 0])
    np.testing.assert_array_equal(eye, np.broadcast_to(np.eye(2), (4, 2, 2)))
    assert (three == 3.0).all()
    assert (yes == 1.0).all()
    assert [j.shape for j in lazy.jacobian("y")(x, y)] == [(4, 2), (4, 2, 2, 2), (4, 2), (4, 2)]
    assert all((j == 0.0).all() for j in lazy.jacobian("y")(x, y))


def test_a_function_without_arguments():
    f = compile_function()(lambda: np.arange(3.0))

    np.testing.assert_array_equal(f(), [0.0, 1.0, 2.0])


def test_defaults_are_constants_and_order_is_that_of_the_function(rng):
    @compile_function(gain=(), x=(2,))
    def f(x, offset=(1.0, 2.0), *, gain):
        return gain * x + np.array(offset)

    x = rng.normal(size=2)
    np.testing.assert_allclose(f(x, 3.0), 3.0 * x + [1.0, 2.0])
    np.testing.assert_allclose(f(gain=3.0, x=x), 3.0 * x + [1.0, 2.0])
    with pytest.raises(ArgumentError, match=r"f: .*'offset'.*x, gain"):
        f(x, gain=1.0, offset=2.0)


def test_selections_are_made_for_each_row():
    f = compile_function(x=(2,))(lambda x: where(x[0] < 0.0, -x, np.maximum(x, 1.0)))

    np.testing.assert_array_equal(f([[-3.0, 5.0], [3.0, 0.5]]), [[3.0, -5.0], [3.0, 1.0]])


def test_nan_in_is_nan_out():
    f = compile_function(x=(2,))(lambda x: np.sin(x) + x[0] * x[1])

    assert np.isnan(f([np.nan, 1.0])).all()


# Derivatives.


@pytest.mark.parametrize("batch", BATCHES)
def test_the_jacobian_of_a_product(batch, rng):
    x, A = rng.normal(size=(*batch, 3)), rng.normal(size=(*batch, 3, 3))
    by_x, by_A = product.jacobian("x")(x, A), product.jacobian("A")(x, A)

    assert by_x.shape == (*batch, 3, 3)
    assert by_A.shape == (*batch, 3, 3, 3)
    np.testing.assert_array_equal(by_x, A)
    np.testing.assert_array_equal(by_A, np.einsum("ij,...k->...ijk", np.eye(3), x))


def test_jacobians_with_respect_to_several_inputs(rng):
    x, y = rng.normal(size=(2, 3))
    results = both.jacobian("x", "y")(x, y)

    assert [r.shape for r in results] == [(3, 3), (3, 3), (3,), (3,), (2, 3, 3), (2, 3, 3)]
    np.testing.assert_allclose(results[0], -2.0 * so3.wedge(y))
    np.testing.assert_allclose(results[1], 2.0 * so3.wedge(x))
    np.testing.assert_array_equal(results[2], y)


def test_a_jacobian_is_created_once_and_can_be_differentiated(rng):
    x = rng.normal(size=3)
    n = np.linalg.norm(x)
    gradient = length.jacobian("x")
    hessian = gradient.jacobian("x")

    assert length.jacobian("x") is gradient
    assert isinstance(gradient, Kernel)
    np.testing.assert_allclose(gradient(x), x / n, rtol=1e-13)
    expected = (np.eye(3) - np.outer(x, x) / n**2) / n
    np.testing.assert_allclose(hessian(x), expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(gradient(np.zeros(3)), np.zeros(3))


def test_a_jacobian_of_what_does_not_exist():
    with pytest.raises(NameNotFoundError, match=r"input.*'z'.*A, x"):
        product.jacobian("z")
    with pytest.raises(ArgumentError, match=r"jacobian: .*'x'.*twice"):
        product.jacobian("x", "x")


def test_a_jacobian_with_respect_to_all_inputs(rng):
    x, A = rng.normal(size=3), rng.normal(size=(3, 3))
    for got, expected in zip(
        product.jacobian()(x, A), product.jacobian("x", "A")(x, A), strict=True
    ):
        np.testing.assert_array_equal(got, expected)


def test_a_result_of_many_axes():
    """More axes than the C extension supports."""
    x, A = np.ones((2, 3)), np.ones((2, 3, 3))
    second = product.jacobian("A").jacobian("A")
    assert second(x, A).shape == (2, 3, 3, 3, 3, 3)
    assert product.jacobian("A")(x, A).shape == (2, 3, 3, 3)


# Inside each other.


def test_a_compiled_function_inside_another(rng):
    @compile_function(x=(3,), A=(3, 3))
    def outer(x, A):
        cross, dot, _ = both(product(x, A=A), x)
        slope = length.jacobian("x")(x)
        rows = length(A)  # a batch of three
        return cross * dot + product([1.0, 2.0, 3.0], A) + rows * slope

    x, A = rng.normal(size=3), rng.normal(size=(3, 3))
    y = A @ x
    expected = 2.0 * np.cross(y, x) * (y @ x) + A @ [1.0, 2.0, 3.0]
    expected = expected + np.linalg.norm(A, axis=1) * x / np.linalg.norm(x)

    np.testing.assert_allclose(outer(x, A), expected, rtol=1e-12)
    with pytest.raises(ShapeError, match=r"A: .*\(\.\.\., 3, 3\).*\(3,\)"):
        compile_function(x=(3,))(lambda x: product(x, x))


def test_out_is_rejected_inside_another_function():
    with pytest.raises(ArgumentError, match=r"out.*traced"):
        compile_function(x=(3,))(lambda x: length(x, out=np.empty(())))


def test_objects_that_are_not_expressions_are_rejected():
    with pytest.raises(ArgumentError, match=r"x: .*ndarray"):
        length(np.array([1.0, 2.0, 3.0], dtype=object))


def test_functions_are_pickled_by_name(monkeypatch):
    module = types.ModuleType("a_module_of_a_user")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    module.length = length
    monkeypatch.setattr(length, "__module__", module.__name__, raising=False)

    assert pickle.loads(pickle.dumps(length)) is length
    slope = length.jacobian("x").jacobian("x")
    assert pickle.loads(pickle.dumps(slope)) is slope


# Errors.


def named_f(function):
    function.__name__ = "f"
    return function


def returning(value):
    """Compile a function `f` of x that returns a value."""
    return lambda: compile_function(x=(3,))(named_f(value))


F = named_f(lambda x: x)
ERRORS = [
    (lambda: compile_function(y=(3,))(F), ("f", "'y'", "known: x")),
    (
        lambda: compile_function(angel=(3,))(named_f(lambda angle: angle)),
        ("f", "'angel'", "mean 'angle'"),
    ),
    (lambda: compile_function()(F), ("f: ", "'x'", "@linkwork.compile(x=(3,), ...)")),
    (lambda: compile_function(x=(3, -1)), ("x: ", "(3, -1)")),
    (lambda: compile_function(x=2.5), ("x: ", "2.5")),
    (lambda: compile_function(x=True), ("x: ", "True")),
    (lambda: compile_function(x="abc"), ("x: ", "'abc'")),
    (lambda: compile_function(out=(3,)), ("'out'",)),
    (lambda: compile_function(dtype="int"), ("dtype: ", "float64", "float32", "'int'")),
    (lambda: compile_function(dtype=int), ("dtype: ", "float64", "float32", "<class 'int'>")),
    (lambda: compile_function()(named_f(lambda *rest: rest)), ("f: ", "*rest")),
    (lambda: compile_function(x=(3,))(3), ("int",)),
    (returning(lambda x: None), ("f: ", "NoneType")),
    (returning(lambda x: "x"), ("f: ", "str")),
    (returning(lambda x: (x, 1j)), ("f[1]: ", "complex")),
    (returning(lambda x: {"x": x}), ("f: ", "dict")),
    (returning(lambda x: ()), ("f returns an empty tuple",)),
]


@pytest.mark.parametrize(("call", "facts"), ERRORS)
def test_errors_are_explained(call, facts):
    with pytest.raises(ArgumentError) as caught:
        call()
    for fact in facts:
        assert fact in str(caught.value)


def test_rows_that_cannot_be_broadcast():
    with pytest.raises((ShapeError, ArgumentError)):
        compile_function(x=(3,))(lambda x: [x, x[:2]])


def test_a_branch_suggests_where():
    with pytest.raises(TypeError, match=r"np\.where"):
        compile_function(x=(3,))(lambda x: x if x[0] > 0 else -x)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: 1.0 if x.tolist()[0] == 2 else 3.0,
        lambda x: 1.0 if x[0].item() != 2 else 3.0,
        lambda x: 1.0 if x[0] == 2 else 3.0,
        lambda x: 1.0 if 2.0 in x.tolist() else 3.0,
        lambda x: x.tolist().index(2.0),
        lambda x: float(x.tolist().count(2.0)),
        lambda x: np.where(np.array([x[0].item(), 1.0]) == 2, 1.0, 3.0),
        lambda x: np.where(np.array(x.tolist()) != 2, 1.0, 3.0),
        lambda x: 1.0 if np.array_equal(x, [2.0, 2.0]) else 3.0,
        lambda x: np.isin(x, [2.0]) * 1.0,
    ],
)
def test_comparisons_are_not_evaluated_during_tracing(function):
    with pytest.raises(ArgumentError, match=r"np\.where"):
        compile_function(x=2)(function)


def test_comparisons_are_evaluated_in_each_call():
    @compile_function(x=2)
    def equal(x):
        a, b = x.tolist()
        conditions = [a == 2, a != 2, a == b, x[1] == 2, np.any(x == 2)]
        return np.stack([where(condition, 1.0, 0.0) for condition in conditions])

    actual = equal([[2.0, 3.0], [3.0, 2.0], [3.0, 3.0], [np.nan, 2.0]])
    expected = [[1, 0, 0, 0, 1], [0, 1, 0, 1, 1], [0, 1, 1, 0, 0], [0, 1, 0, 1, 1]]
    np.testing.assert_array_equal(actual, expected)


def test_linear_algebra_needs_no_import():
    assert output_of(
        """
        solve = lw.compile(A=(2, 2), b=2)(lambda A, b: np.linalg.solve(A, b))
        assert np.allclose(solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 4.0]), 1.0)
        for name in ("pinv", "eigvalsh"):
            try:
                lw.compile(A=(2, 2))(lambda A: getattr(np.linalg, name)(A))
            except lw.ArgumentError as error:
                print(all(word in str(error) for word in (name, "cholesky", "solve")))
        """
    ).split() == ["True", "True"]


def test_an_expression_cannot_leave_its_function():
    stored = []
    compile_function(x=(3,))(lambda x: stored.append(x) or x)

    with pytest.raises(ArgumentError, match=r"traced function.*another"):
        compile_function(x=(3,))(lambda x: stored[0] + x)
    with pytest.raises(ArgumentError, match=r"traced function.*another"):
        compile_function(x=(3,))(lambda x: stored[0])
