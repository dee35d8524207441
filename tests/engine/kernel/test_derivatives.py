"""Derivatives of kernels are kernels: signature, calls, batches, names, pickles, and errors."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from tests.support.models import assert_close

import linkwork as lw
from linkwork.engine.kernel import kernel as kernel_module
from linkwork.engine.kernel.compile import CompiledFunction, compile_function
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic.program import Port
from linkwork.engine.symbolic.tracing import trace
from linkwork.errors import ArgumentError, NameNotFoundError, ShapeError


@compile_function(x=(3,), y=(2,))
def pair(x, y):
    return x * y[0] + np.sin(x[::-1]), x @ x * y[1]


@compile_function(x=(3,), A=(3, 3))
def energy(x, A):
    return x @ A @ x / 2.0 + np.exp(x[0])


def described(kernel):
    takes = [(port.name, port.shape) for port in kernel.signature.inputs]
    return takes, [(port.name, port.shape) for port in kernel.signature.outputs]


def test_signatures():
    inputs = [("x", (3,)), ("y", (2,))]
    assert described(pair.jvp("y")) == (
        [*inputs, ("d_y", (2,))],
        [("d_pair_0", (3,)), ("d_pair_1", ())],
    )
    assert described(pair.vjp("y", "x")) == (
        [*inputs, ("ct_pair_0", (3,)), ("ct_pair_1", ())],
        [("ct_y", (2,)), ("ct_x", (3,))],
    )
    assert described(pair.jacobian("y")) == (
        inputs,
        [("d pair[0] / d y", (3, 2)), ("d pair[1] / d y", (2,))],
    )
    assert described(energy.gradient("A"))[1] == [("d energy / d A", (3, 3))]
    assert described(energy.hessian("x"))[1] == [("d d energy / d x / d x", (3, 3))]
    assert repr(energy.vjp("x")) == (
        "<Kernel vjp of energy with respect to x: x (3,), A (3, 3), ct_energy () -> ct_x (3,)>"
    )


@pytest.mark.parametrize("batch", [(), (1,), (7,), (2, 3), (0,)])
def test_products_are_those_with_the_jacobian(batch, rng):
    x, y = rng.normal(size=(*batch, 3)), rng.normal(size=(*batch, 2))
    dx, dy = rng.normal(size=(*batch, 3)), rng.normal(size=2)
    ct = rng.normal(size=(*batch, 3)), rng.normal(size=batch)
    xx, xy, sx, sy = pair.jacobian("x", "y")(x, y)

    first, second = pair.jvp()(x, y, dx, dy)
    np.testing.assert_allclose(
        first, np.einsum("...ij,...j", xx, dx) + np.einsum("...ij,j", xy, dy), atol=1e-13
    )
    np.testing.assert_allclose(
        second, np.einsum("...j,...j", sx, dx) + np.einsum("...j,j", sy, dy), atol=1e-13
    )
    by_x, by_y = pair.vjp()(x, y, *ct)
    for got, (a, b) in ((by_x, (xx, sx)), (by_y, (xy, sy))):
        expected = np.einsum("...i,...ij->...j", ct[0], a) + ct[1][..., None] * b
        np.testing.assert_allclose(got, expected, atol=1e-13)


def test_calls_by_name_out_and_threads(rng):
    x, A = rng.normal(size=(3000, 3)), rng.normal(size=(3, 3))
    vjp = energy.vjp("x")
    out = np.empty((3000, 3))
    assert vjp(A=A, x=x, ct_energy=2.0, out=out, threads=2) is out
    expected = 2.0 * energy.gradient("x")(x, A)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)


def test_gradient_and_hessian(rng):
    x, A = rng.normal(size=(4, 3)), rng.normal(size=(4, 3, 3))
    by_x, by_A = energy.gradient()(x, A)
    symmetric = (A + np.swapaxes(A, 1, 2)) / 2.0
    first = np.exp(x[:, :1]) * [1.0, 0.0, 0.0]
    np.testing.assert_allclose(by_x, np.einsum("nij,nj->ni", symmetric, x) + first, rtol=1e-12)
    np.testing.assert_allclose(by_A, np.einsum("ni,nj->nij", x, x) / 2.0, rtol=1e-12, atol=1e-15)
    xx, xA, Ax, AA = energy.hessian()(x, A)
    assert xA.shape == (4, 3, 3, 3)
    np.testing.assert_allclose(xx - symmetric, np.einsum("ni,j->nij", first, [1, 0, 0]), atol=1e-12)
    np.testing.assert_array_equal(np.moveaxis(Ax, 3, 1), xA)
    np.testing.assert_array_equal(AA, 0.0)


def test_a_vjp_of_a_vjp_gives_hessian_products(rng):
    x, A, u = rng.normal(size=3), rng.normal(size=(3, 3)), rng.normal(size=3)
    product = energy.vjp("x").vjp("x")
    assert [port.name for port in product.signature.inputs] == ["x", "A", "ct_energy", "ct_ct_x"]
    H = energy.hessian("x")(x, A)
    np.testing.assert_allclose(product(x, A, 1.0, u), H @ u, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(
        energy.gradient("x").jvp("x")(x, A, u), H @ u, rtol=1e-12, atol=1e-13
    )


def test_each_derivative_is_created_once():
    for kind in ("jacobian", "jvp", "vjp"):
        make = getattr(pair, kind)
        assert make("x") is make("x")
        assert make() is make("x", "y")
        assert make("x", "y") is not make("y", "x")
        assert isinstance(make("x"), Kernel)
    assert pair.vjp("x").__name__ == "vjp of pair with respect to x"
    assert pair.vjp("x").__doc__ == "The vjp of pair with respect to x."
    assert energy.hessian("x").__doc__ == "The Hessian of energy with respect to x."


def test_single_precision():
    f = compile_function(x=(3,), dtype=np.float32)(lambda x: np.sin(2.0 * x))
    got = f.vjp("x")(np.ones(3, np.float32), np.ones(3, np.float32))
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, 2.0 * np.cos(2.0), rtol=1e-6)


def test_derivatives_inside_a_function_that_is_traced(rng):
    @compile_function(x=(3,), A=(3, 3))
    def outer(x, A):
        return energy.gradient("x")(x, A) * energy.vjp("x")(x, A, 2.0)

    x, A = rng.normal(size=3), rng.normal(size=(3, 3))
    np.testing.assert_allclose(outer(x, A), 2.0 * energy.gradient("x")(x, A) ** 2, rtol=1e-12)


def test_pickles_and_copies(kd, rng):
    q = kd.random(1, seed=3)[0]
    for derivative, arguments in (
        (pair.vjp("x"), (rng.normal(size=3), rng.normal(size=2), rng.normal(size=3), 1.0)),
        (kd.com.jvp("q"), (q, rng.normal(size=kd.nq))),
        (kd.com.vjp("q").jacobian("q"), (q, rng.normal(size=3))),
    ):
        again = pickle.loads(pickle.dumps(derivative))
        np.testing.assert_array_equal(np.asarray(again(*arguments)), derivative(*arguments))
    assert pickle.loads(pickle.dumps(pair.vjp("x"))) is pair.vjp("x")
    assert copy.copy(pair.vjp("x")) is pair.vjp("x")


# Errors.


def test_messages():
    with pytest.raises(NameNotFoundError, match=r"'xx'.*x, y"):
        pair.vjp("xx")
    many = compile_function(position=(3,), speed=(3,))(lambda position, speed: position @ speed)
    with pytest.raises(NameNotFoundError, match=r"'positon'.*mean 'position'"):
        many.gradient("positon")
    with pytest.raises(NameNotFoundError, match=r"\['x'\].*x, y"):
        pair.jvp(["x"])
    with pytest.raises(ArgumentError, match=r"vjp.*'x'.*twice"):
        pair.vjp("x", "y", "x")
    text = r"scalar.*pair\[0\] \(3,\), pair\[1\] \(\).*jacobian or vjp"
    with pytest.raises(ShapeError, match=rf"gradient.*{text}"):
        pair.gradient("x")
    with pytest.raises(ShapeError, match=rf"hessian.*{text}"):
        pair.hessian("x")
    text = r"^ct_pair_0: .*\(\.\.\., 3\).*\(2,\).*cotangent of pair\[0\]"
    with pytest.raises(ShapeError, match=text):
        pair.vjp("x")(np.zeros(3), np.zeros(2), np.zeros(2), 1.0)
    text = r"^d_y: .*\(\.\.\., 2\).*\(\).*tangent of y"
    with pytest.raises(ShapeError, match=text):
        pair.jvp("y")(np.zeros(3), np.zeros(2), 1.0)
    with pytest.raises(ArgumentError, match=r"energy.*x, A, ct_energy.*missing.*ct_energy"):
        energy.vjp("x")(np.zeros(3), np.zeros((3, 3)))


# Long Jacobians.


@pytest.fixture
def unrolled_to_nothing(monkeypatch, empty_cache):
    """Every Jacobian counts as too long to be unrolled."""
    monkeypatch.setattr(kernel_module, "MOST_UNROLLED_STEPS", 0)


def made_again(function):
    """The same function without its cached derivatives."""
    return CompiledFunction(function.__name__, function.program, np.float64)


@pytest.mark.parametrize("batch", [(), (1,), (5,), (2, 3), (0,)])
@pytest.mark.parametrize("wrt", [("x",), ("y",), ("y", "x")])
def test_a_long_jacobian_is_the_same(unrolled_to_nothing, batch, wrt, rng):
    x, y = rng.normal(size=(*batch, 3)), rng.normal(size=2)
    long = made_again(pair).jacobian(*wrt)
    got, expected = long(x, y), pair.jacobian(*wrt)(x, y)
    assert [a.shape for a in got] == [a.shape for a in expected]
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)
    out = tuple(np.empty_like(a) for a in got)
    long.warmup()
    assert long(x, y, out=out, threads=2)[0] is out[0]
    for a, b in zip(out, got, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


def test_a_long_hessian_and_one_of_a_robot(unrolled_to_nothing, kd, rng):
    x, A = rng.normal(size=(4, 3)), rng.normal(size=(4, 3, 3))
    for a, b in zip(made_again(energy).hessian()(x, A), energy.hessian()(x, A), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)
    q = kd.random(6, seed=1)
    other = kd.replace(gravity=(0.0, 0.0, -3.7))
    long, program = other.potential_energy.hessian("q"), other.potential_energy.hessian("q").program
    short = Kernel(long.signature, lambda: program)
    assert_close(long(q), short(q), 1e-12)
    assert_close(long(q), np.swapaxes(long(q), 1, 2), 1e-12)


def test_a_long_jacobian_has_a_program_up_to_some_length(unrolled_to_nothing, monkeypatch):
    assert made_again(pair).jacobian("x").program == pair.jacobian("x").program
    monkeypatch.setattr(kernel_module, "MOST_STEPS", 10)
    text = r"d pair / d x.*\d+ operations.*jvp or vjp"
    with pytest.raises(ArgumentError, match=text):
        _ = made_again(pair).jacobian("x").program


def test_an_analytic_program_is_used(empty_cache, rng):
    """If a derivative has an analytic formula."""
    inputs = [Port("x", (3,)), Port("A", (3, 3))]
    known = trace(lambda x, A: x + 7.0, inputs, ["d energy / d x"])
    function = made_again(energy)
    function.analytic = lambda kind, wrt: known if (kind, wrt) == ("jacobian", ("x",)) else None
    x, A = rng.normal(size=3), rng.normal(size=(3, 3))
    np.testing.assert_array_equal(function.jacobian("x")(x, A), x + 7.0)
    np.testing.assert_array_equal(function.jacobian("A")(x, A), energy.jacobian("A")(x, A))


def test_every_kernel_has_the_attribute_analytic():
    kd = lw.KinDyn(lw.robots.load("pendulum"), floating=True)
    assert kd.mass_matrix.vjp("q").key is not None
    assert kd.mass_matrix.analytic("jacobian", ("q",)) is None
