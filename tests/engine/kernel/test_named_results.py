"""Kernels with several outputs that return a named tuple."""

from __future__ import annotations

import gc
import sys
from typing import NamedTuple

import numpy as np
import pytest
from tests.support.calls import make

from linkwork.engine.kernel.arguments import Signature
from linkwork.engine.kernel.compile import compile_function
from linkwork.engine.kernel.kernel import Kernel
from linkwork.engine.symbolic.arrays import Array
from linkwork.engine.symbolic.program import Port
from linkwork.engine.symbolic.tracing import trace


class Pair(NamedTuple):
    """Sums and products."""

    sums: Array
    products: Array


@pytest.fixture
def kernel():
    inputs = (Port("a", (2,)), Port("b", (2,)))
    program = trace(lambda a, b: (a + b, a * b), inputs, ["sums", "products"])
    return Kernel(Signature("both", inputs, program.outputs), lambda: program, result=Pair)


@pytest.mark.parametrize("batch", [(), (3,), (4, 700)])
@pytest.mark.parametrize("is_warm", [False, True])
def test_results_are_a_named_tuple(kernel, batch, is_warm, rng):
    if is_warm:
        kernel.warmup()
    a, b = rng.normal(size=(2, *batch, 2))
    actual = kernel(a, b)

    assert type(actual) is Pair
    np.testing.assert_allclose(actual.sums, a + b)
    np.testing.assert_allclose(actual.products, a * b)
    assert kernel(a.tolist(), b).sums.shape == (*batch, 2)


def test_results_can_be_passed_as_out(kernel, rng):
    kernel.warmup()
    a, b = rng.normal(size=(2, 5, 2))
    first = kernel(a, b)
    second = kernel(b, b, out=first)

    assert second is first
    np.testing.assert_allclose(first.products, b * b)
    third = kernel(a, b, out=tuple(first))
    assert type(third) is Pair
    assert third.sums is first.sums
    assert type(kernel(a.tolist(), b, out=tuple(first))) is Pair


def test_inside_a_traced_function_they_are_named_too(kernel, rng):
    @compile_function(a=2, b=2)
    def total(a, b):
        actual = kernel(a, b)
        assert type(actual) is Pair
        return actual.sums * actual.products

    a, b = rng.normal(size=(2, 2))
    np.testing.assert_allclose(total(a, b), (a + b) * (a * b))


def test_nothing_is_leaked(kernel, rng):
    kernel.warmup()
    a, b = rng.normal(size=(2, 2))
    out = kernel(a, b)
    before = sys.getrefcount(out.sums)
    for _ in range(100):
        kernel(a, b)
        kernel(a, b, out=tuple(out))
    gc.collect()

    after = sys.getrefcount(out.sums)
    assert after == before
    assert [one for one in gc.get_objects() if type(one) is Pair] == [out]


@pytest.mark.parametrize("result", [list, 3, ()])
def test_only_tuple_types_are_accepted(result):
    with pytest.raises(TypeError, match=r"result: .*tuple"):
        make(result=result, out_shapes=((2,), (2,)))
    with pytest.raises(TypeError):
        make(result=tuple)  # one output
