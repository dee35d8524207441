"""NumPy's functions in compiled code, and constants that must not be folded to infinity."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.engine.kernel.compile import compile_function
from linkwork.errors import ArgumentError

X = np.array([-700.0, -20.5, -2.5, -1.0, -1e-9, 0.0, 1e-9, 0.3, 0.5, 1.5, 3.0, 20.5, 700.0])
NAMES = (
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "expm1",
    "exp2",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "sign",
)


@compile_function(x=())
def everything(x):
    positive = abs(x) + 1.0
    # none of X is a multiple of 0.71: there, rounding decides between the remainders 0 and 0.71
    return np.stack(
        [
            *(getattr(np, name)(x) for name in NAMES),
            *(np.log1p(positive), np.log2(positive), np.log10(positive), np.arccosh(positive)),
            *(np.arctanh(x / 701.0), x % 0.71, x // 0.71, np.mod(x, -2.0)),
        ]
    )


@pytest.mark.parametrize("warm", [False, True])
def test_functions_agree_with_numpy(warm):
    if warm:
        everything.warmup()
    expected = everything.__wrapped__(X).T

    np.testing.assert_allclose(everything(X), expected, rtol=1e-14, atol=1e-12)
    for x, row in zip(X, expected, strict=True):
        np.testing.assert_allclose(everything(x), row, rtol=1e-14, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_isnan_isinf_and_isfinite(dtype):
    f = compile_function(x=(), dtype=dtype)(
        lambda x: np.where(np.isfinite(x), 1.0, np.where(np.isinf(x), 2.0, 3.0))
    )
    x = np.array([1.0, np.finfo(dtype).max, np.inf, -np.inf, np.nan] * 4, dtype)
    for _ in range(2):
        np.testing.assert_array_equal(f(x), [1.0, 1.0, 2.0, 2.0, 3.0] * 4)
        f.warmup()


def test_functions_in_single_precision():
    f = compile_function(x=(), dtype=np.float32)(lambda x: np.stack([np.tanh(x), np.floor(x)]))
    x = np.linspace(-3.0, 3.0, 40).astype(np.float32)

    np.testing.assert_allclose(f(x), np.stack([np.tanh(x), np.floor(x)], -1), rtol=1e-6)


def test_derivatives_of_functions():
    x = np.array([-2.3, -0.4, 0.6, 1.9])
    slopes = {
        np.tanh: 1.0 / np.cosh(x) ** 2,
        np.sinh: np.cosh(x),
        np.arcsinh: 1.0 / np.sqrt(1.0 + x * x),
        np.expm1: np.exp(x),
        np.exp2: np.log(2.0) * 2.0**x,
        np.floor: 0.0 * x,
        (lambda a: a % 0.7): 0.0 * x + 1.0,
        (lambda a: np.log1p(a * a)): 2.0 * x / (1.0 + x * x),
    }
    for function, expected in slopes.items():
        f = compile_function(x=())(lambda x, function=function: function(x))
        np.testing.assert_allclose(f.jacobian("x")(x), expected, rtol=1e-13, atol=1e-15)


# Constants. NumPy computes from left to right; 0 times infinity would be NaN.

FRAGILE = {
    "products": (lambda x, big: x * big * 10.0, [0.0, 1e-30]),
    "from the left": (lambda x, big: 10.0 * (big * x), [0.0, 1e-30]),
    "negative": (lambda x, big: -(-x * big) * 10.0, [0.0, -1e-30]),
    "sums": (lambda x, big: x + 2.0 * big + 2.0 * big, ["-big", 0.0]),
    "differences": (lambda x, big: x - 2.0 * big - 2.0 * big, ["big"]),
    "quotients": (lambda x, big: x / (0.1 / big) / 0.1, [0.0]),
    "small products": (lambda x, big: x * (1.0 / big) * (1.0 / big), ["big", 0.0]),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FRAGILE)
def test_constants_are_not_folded_to_infinity(name, dtype):
    function, numbers = FRAGILE[name]
    big = 5e307 if dtype == np.float64 else 9e37
    x = np.array([{"big": big, "-big": -big}.get(number, number) for number in numbers], dtype)
    with np.errstate(all="ignore"):
        expected = np.array([function(dtype(number), dtype(big)) for number in x])
    f = compile_function(x=(), dtype=dtype)(lambda x: function(x, big))

    assert np.isfinite(expected).any()
    for _ in range(2):
        np.testing.assert_allclose(f(np.repeat(x, 16))[::16], expected, rtol=1e-6)
        np.testing.assert_allclose([f(number) for number in x], expected, rtol=1e-6)
        f.warmup()


def test_zero_divided_by_a_denormal_is_zero():
    f = compile_function(x=())(lambda x: x / 1e-320)
    for _ in range(2):
        np.testing.assert_array_equal(f(np.zeros(16)), np.zeros(16))
        f.warmup()


# Messages do not contain internal names of linkwork.


def arm(q, dq):
    return q + dq


@pytest.mark.parametrize(
    ("misuse", "facts"),
    [
        (lambda: lw.compile(arm), ("arm", "@linkwork.compile(q=(3,), dq=(3,))")),
        (lambda: lw.compile((3,)), ("by name", "got (3,)", "@linkwork.compile(x=(3,))")),
        (lambda: lw.compile(q=(3,))(arm), ("arm", "'dq'", "@linkwork.compile(dq=(3,), ...)")),
        (lambda: lw.compile(q=(3,), dq=(3,), ddq=(3,))(arm), ("arm", "'ddq'", "mean 'dq'")),
    ],
)
def test_a_misuse_is_explained(misuse, facts):
    with pytest.raises(ArgumentError) as caught:
        misuse()
    assert all(fact in str(caught.value) for fact in facts)


def test_a_function_of_another_package_is_explained():
    def other(x):
        text = f"sin(): argument 'input' must be Tensor, not {type(x).__name__}"
        raise TypeError(text)

    with pytest.raises(ArgumentError, match=r"^other .*must be Tensor, not traced array"):
        lw.compile(x=(3,))(other)


@pytest.mark.parametrize(
    ("value", "kind"), [("a", "str"), (None, "NoneType"), (1j, "complex"), (b"a", "bytes")]
)
def test_what_is_not_a_number_is_named(value, kind):
    with pytest.raises(ArgumentError, match=rf"numpy\.add.*real numbers.*{kind}"):
        lw.compile(x=(3,))(lambda x: x + value)


def test_an_attribute_that_does_not_exist():
    def f(x):
        return x.lenght

    with pytest.raises(ArgumentError, match=r"'traced array'.*'lenght'"):
        lw.compile(x=(3,))(f)


def test_a_value_of_another_package_is_not_returned():
    tensor = type("Tensor", (), {"__module__": "torch.core"})
    with pytest.raises(ArgumentError, match=r"<lambda>.*Tensor of torch"):
        lw.compile(x=(3,))(lambda x: tensor())


def test_errors_of_the_function_itself_pass():
    def broken(x):
        raise ValueError("mine")

    with pytest.raises(ValueError, match=r"^mine$"):
        lw.compile(x=(3,))(broken)


def test_writing_in_place():
    @lw.compile(x=(3,))
    def f(x):
        y = np.zeros_like(x)
        y[0] = x[1]
        y[1:] += 2.0 * x[:2]
        return y

    np.testing.assert_array_equal(f([1.0, 2.0, 3.0]), [2.0, 2.0, 4.0])


def test_a_function_of_numpy_itself_is_rejected_with_a_hint():
    with pytest.raises(ArgumentError, match=r"np\.tanh.*lambda x"):
        compile_function(x=())(np.tanh)
