"""Expressions: equal ones are one object, they are freed, and they have no numeric value."""

from __future__ import annotations

import gc
import math
import weakref

import numpy as np
import pytest
from tests.support.expressions import LIBM, program_for

from linkwork.engine.symbolic.node import Expr, Graph
from linkwork.engine.symbolic.operations import Op
from linkwork.engine.symbolic.rules import RULES
from linkwork.errors import ArgumentError, LinkworkError


@pytest.fixture
def xy():
    graph = Graph(RULES)
    return graph.input(), graph.input()


def value_of(function, *numbers):
    program = program_for(lambda a: function(*a), (len(numbers),))
    (result,) = program.run(numbers, functions=LIBM)
    return result


def test_equal_expressions_are_one_object(xy):
    x, y = xy

    assert x + y is y + x
    assert x * y - 1.0 is y * x - 1
    assert (x + y).sin() is (y + x).sin()
    assert x.arctan2(y) is x.arctan2(y)
    assert x.arctan2(y) is not y.arctan2(x)
    assert x is x + 0.0
    assert x is not y


def test_a_comparison_is_a_condition(xy):
    """Never a boolean, which would be evaluated during tracing."""
    x, y = xy

    try:
        assert isinstance(np.float64(2.0) == x, Expr)
    except ArgumentError:  # older NumPy asks for a boolean
        assert np.lib.NumpyVersion(np.__version__) < "2.3.0"
    for condition in (x == 2, 2.0 == x, x != 2, x == y, x != y):  # noqa: SIM300
        assert isinstance(condition, Expr)
        with pytest.raises(ArgumentError, match=r"np\.where"):
            bool(condition)
    assert (x == x).number() is None  # false for NaN  # noqa: PLR0124
    assert (x == None) is False  # noqa: E711
    assert (x != "x") is True
    assert {x: 1, y: 2}[x] == 1


def test_equal_constants_are_one_object():
    graph = Graph(RULES)

    assert graph.constant(1) is graph.constant(1.0)
    assert graph.constant(-0.0) is graph.constant(0.0)
    assert math.copysign(1.0, graph.constant(-0.0).args[0]) == 1.0


def test_a_node_is_numbered_after_its_arguments(xy):
    x, y = xy
    z = ((x + y) * x).sqrt() / y

    for node in z.graph.nodes:
        assert node.graph.nodes[node.index] is node
        if node.op not in (Op.CONST, Op.INPUT):
            assert all(arg.index < node.index for arg in node.args)


def test_a_graph_is_freed_when_it_is_dropped():
    class Watched(Graph):
        """A graph that can be watched."""

    graph = Watched(RULES)
    watch = weakref.ref(graph)
    x = graph.input()
    y = x * 2.0 + x.sin()

    del graph, x, y
    gc.collect()
    assert watch() is None


def test_a_traced_program_keeps_no_graph():
    seen = []

    def function(a):
        class Watched:
            """An object that is freed with the graph."""

        a[0].graph.watched = Watched()
        seen.append(weakref.ref(a[0].graph.watched))
        return a * 2.0

    program = program_for(function, (3,))
    gc.collect()
    assert program.n_ops == 3
    assert seen[0]() is None


def test_branching_on_a_traced_value_suggests_where(xy):
    x, y = xy
    for branch in (lambda: bool(x), lambda: max(x, y), lambda: 1 if x > 0 else 2):
        with pytest.raises(TypeError, match=r"np\.where"):
            branch()
        with pytest.raises(LinkworkError):
            branch()


@pytest.mark.parametrize("use", [float, int, math.sin, range(3).__getitem__])
def test_a_traced_value_is_not_a_number(xy, use):
    with pytest.raises(ArgumentError, match="traced value"):
        use(xy[0])


@pytest.mark.parametrize("other", ["3", b"3", None, 1j, {}, [1.0]])
def test_what_is_not_a_number_is_rejected(xy, other):
    with pytest.raises(TypeError):
        xy[0] + other
    with pytest.raises(TypeError):
        other * xy[0]
    with pytest.raises(ArgumentError, match="number"):
        (xy[0] < 0.0).select(other, 1.0)


def test_expressions_of_two_functions_do_not_mix(xy):
    other = Graph(RULES).input()
    with pytest.raises(ArgumentError, match=r"traced function.*another"):
        xy[0] + other
    with pytest.raises(ArgumentError, match=r"traced function.*another"):
        (xy[0] < 1.0).select(other, 0.0)


def test_numpy_numbers_and_arrays_are_operands_on_either_side(xy):
    x, _ = xy

    assert x + np.float64(2.0) is x + 2.0
    assert np.float64(2.0) * x is x * 2.0
    assert (np.array([1.0, 2.0]) * x)[1] is x * 2.0
    assert (x + np.array([1.0])).shape == (1,)
    assert (x + np.array(1.0)) is x + 1.0


@pytest.mark.parametrize("x", [-2.5, -0.0, 0.0, 0.75, 3.0])
@pytest.mark.parametrize("power", [0, 1, 2, 3, 7, 64])
def test_integer_powers(x, power):
    assert value_of(lambda a: a**power, x) == pytest.approx(x**power, rel=1e-15 * 64)


@pytest.mark.parametrize("power", [-1, -3, 0.5, -0.5, 1.5, 2.5, 0.3, -1.7, 65.0, 1e3])
def test_other_powers(power):
    assert value_of(lambda a: a**power, 1.25) == pytest.approx(1.25**power, rel=1e-9)


def test_powers_of_expressions():
    assert value_of(lambda a, b: a**b, 1.5, -2.5) == pytest.approx(1.5**-2.5, rel=1e-15)
    assert value_of(lambda a: 2.0**a, -2.5) == pytest.approx(2.0**-2.5, rel=1e-15)


@pytest.mark.parametrize("x", [-0.5, 0.0, 0.3])
def test_absolute_values(x):
    assert value_of(abs, x) == abs(x)


@pytest.mark.parametrize("a", [-1.0, 0.0, 2.0])
@pytest.mark.parametrize("b", [-1.0, 0.0, 2.0])
def test_comparisons_and_their_combinations(a, b):
    assert value_of(lambda a, b: a < b, a, b) == (a < b)
    assert value_of(lambda a, b: a > b, a, b) == (a > b)
    assert value_of(lambda a, b: a <= b, a, b) == (a <= b)
    assert value_of(lambda a, b: a >= b, a, b) == (a >= b)
    assert value_of(lambda a, b: (a < b) & (b > 0), a, b) == (a < b and b > 0)
    assert value_of(lambda a, b: (a < b) | (b > 0), a, b) == (a < b or b > 0)
    assert value_of(lambda a, b: ~(a < b) & True, a, b) == (not a < b)
    assert value_of(lambda a, b: ~((a < b) | (b < a)), a, b) == (a == b)


def test_only_comparisons_can_be_combined(xy):
    x, y = xy
    for join in (lambda: x & y, lambda: (x < y) | y, lambda: ~x, lambda: (x - (x < y)) & True):
        with pytest.raises(ArgumentError, match="comparisons"):
            join()
