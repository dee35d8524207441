"""Each simplification rule, and a check that none of them changes a value."""

from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.support.expressions import ALGEBRA, MPMATH
from tests.support.verifier import verify

from linkwork.engine.symbolic.node import Graph
from linkwork.engine.symbolic.operations import Op
from linkwork.engine.symbolic.program import Port
from linkwork.engine.symbolic.rules import RULES
from linkwork.engine.symbolic.tracing import program_of

IDENTITIES = {
    "0 + b = b": lambda a, b: (0.0 + b, b),
    "a + 0 = a": lambda a, b: (a + 0.0, a),
    "a + (-b) = a - b": lambda a, b: (a + (-b), a - b),
    "(-a) + b = b - a": lambda a, b: ((-a) + b, b - a),
    "a + (-3) = a - 3": lambda a, b: (a + (-3.0), a - 3.0),
    "a + b = b + a": lambda a, b: (b + a, a + b),
    "a - a = 0": lambda a, b: (a - a, a.graph.constant(0.0)),
    "a - 0 = a": lambda a, b: (a - 0.0, a),
    "0 - b = -b": lambda a, b: (0.0 - b, -b),
    "a - (-b) = a + b": lambda a, b: (a - (-b), a + b),
    "(-a) - b = -(a + b)": lambda a, b: ((-a) - b, -(a + b)),
    "a - b = -(b - a), known": lambda a, b: (-(b - a), a - b),
    "0 b = 0": lambda a, b: (0.0 * b, a.graph.constant(0.0)),
    "a 0 = 0": lambda a, b: (a * 0.0, a.graph.constant(0.0)),
    "1 b = b": lambda a, b: (1.0 * b, b),
    "(-3) b = -(3 b)": lambda a, b: (-3.0 * b, -(3.0 * b)),
    "2 (3 b) = 6 b": lambda a, b: (2.0 * (3.0 * b), 6.0 * b),
    "(-a) b = -(a b)": lambda a, b: ((-a) * b, -(a * b)),
    "a (-b) = -(a b)": lambda a, b: (a * (-b), -(a * b)),
    "a b = b a": lambda a, b: (b * a, a * b),
    "0 / b = 0": lambda a, b: (0.0 / b, a.graph.constant(0.0)),
    "a / 4 = 0.25 a": lambda a, b: (a / 4.0, 0.25 * a),
    "(-a) / b = -(a / b)": lambda a, b: ((-a) / b, -(a / b)),
    "a / (-b) = -(a / b)": lambda a, b: (a / (-b), -(a / b)),
    "-(-a) = a": lambda a, b: ((-a).__neg__(), a),
    "sin(-a) = -sin(a)": lambda a, b: ((-a).sin(), -(a.sin())),
    "cos(-a) = cos(a)": lambda a, b: ((-a).cos(), a.cos()),
    "select(1, a, b) = a": lambda a, b: (a.graph.constant(1.0).select(a, b), a),
    "select(0, a, b) = b": lambda a, b: (a.graph.constant(0.0).select(a, b), b),
    "select(c, a, a) = a": lambda a, b: (b.select(a, a), a),
    "2 + 3 = 5": lambda a, b: (a.graph.constant(2.0) + 3.0, a.graph.constant(5.0)),
    "sqrt(9) = 3": lambda a, b: (a.graph.constant(9.0).sqrt(), a.graph.constant(3.0)),
    "2 < 3 is 1": lambda a, b: (a.graph.constant(2.0) < 3.0, a.graph.constant(1.0)),
    "3 <= 2 is 0": lambda a, b: (a.graph.constant(3.0) <= 2.0, a.graph.constant(0.0)),
}


@pytest.mark.parametrize("rule", IDENTITIES)
def test_a_rule(rule):
    graph = Graph(RULES)
    left, right = IDENTITIES[rule](graph.input(), graph.input())

    assert left is right


def test_a_difference_is_computed_once_for_both_signs():
    graph = Graph(RULES)
    a, b = graph.input(), graph.input()
    first, second = a - b, b - a

    assert second.op is Op.NEG
    assert second.args[0] is first
    assert -second is first


@pytest.mark.parametrize(
    "make",
    [
        lambda x: 1e200 * (1e200 * x),
        lambda x: 1e-200 * (1e-200 * x),
        lambda x: x / 1e-310,
        lambda x: x / 1.7e308,
        lambda x: (x * 1e-310) * 1e10,
    ],
)
@pytest.mark.parametrize("x", [1e-250, 1.0, 1e250])
def test_constants_are_not_combined_beyond_the_range_of_floats(make, x):
    """1e200 (1e200 x) is finite for a small x, but an infinite constant times x is not."""
    graph = Graph(RULES)
    program = program_of((Port("x", ()),), (Port("y", ()),), [make(graph.input())], graph)
    (value,) = program.run([x], functions=ALGEBRA)

    assert value == pytest.approx(make(x), rel=1e-15)


@pytest.mark.parametrize(
    "make",
    [
        lambda g: g.constant(1.0) / 0.0,
        lambda g: g.constant(-1.0).sqrt(),
        lambda g: g.constant(0.0).log(),
        lambda g: g.constant(1000.0).exp(),
        lambda g: g.constant(1e300) * 1e300,
    ],
)
def test_results_that_are_not_finite_are_not_folded(make):
    assert make(Graph(RULES)).op is not Op.CONST


# Random expressions: a tree is a number, the name of an input, or (op, trees).

DYADIC = st.sampled_from([-4.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0])
LEAVES = DYADIC | st.sampled_from(["x", "y", "z"])


def trees(unary, binary, ternary=()):
    def grown(inner):
        return st.one_of(
            *(st.tuples(st.just(op), inner) for op in unary),
            *(st.tuples(st.just(op), inner, inner) for op in binary),
            *(st.tuples(st.just(op), inner, inner, inner) for op in ternary),
        )

    return st.recursive(LEAVES, grown, max_leaves=25)


def plain_value(tree, inputs, functions, largest=None):
    """The value of a tree without simplification."""
    if isinstance(tree, str):
        return inputs[tree]
    if isinstance(tree, float):
        return type(inputs["x"])(tree)
    op, *args = tree
    value = functions[op](*[plain_value(arg, inputs, functions, largest) for arg in args])
    if largest is not None:
        largest.append(abs(value))
    return value


def as_program(tree, graph=None):
    """The program of a tree, with simplification."""
    graph = graph or Graph(RULES)
    names = {name: graph.input() for name in "xyz"}

    def node(tree):
        if isinstance(tree, str):
            return names[tree]
        if isinstance(tree, float):
            return graph.constant(tree)
        return graph.apply(tree[0], *map(node, tree[1:]))

    ports = tuple(Port(name, ()) for name in "xyz")
    return program_of(ports, (Port("out", ()),), [node(tree)], graph)


def size_of(tree):
    return 1 + sum(map(size_of, tree[1:])) if isinstance(tree, tuple) else 0


FRACTIONS = st.tuples(*[st.fractions(-5, 5, max_denominator=8)] * 3)


@given(
    trees(
        (Op.NEG,),
        (Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.LESS, Op.LESS_EQUAL),
        (Op.SELECT,),
    ),
    FRACTIONS,
)
@settings(max_examples=600, deadline=None)
def test_rules_do_not_change_exact_values(tree, numbers):
    """Constants that are combined without rounding keep fractions exact."""
    inputs = dict(zip("xyz", numbers, strict=True))
    try:
        expected = plain_value(tree, inputs, EXACT)
    except ZeroDivisionError:
        assume(False)
    graph = Graph(RULES)
    program = as_program(tree, graph)
    verify(program)
    constants = [Fraction(node.args[0]) for node in graph.nodes if node.op is Op.CONST]
    assume(all(constant.denominator < 2**30 for constant in constants))
    (value,) = program.run([*numbers], functions=EXACT)

    assert value == expected


@given(
    trees((Op.NEG, Op.SIN, Op.COS), (Op.ADD, Op.SUB, Op.MUL, Op.ATAN2)),
    st.tuples(*[st.floats(0.25, 3.0)] * 3),
)
@settings(max_examples=300, deadline=None)
def test_rules_do_not_change_values_of_functions(tree, numbers):
    with mp.workdps(40):
        largest = [mp.mpf(1)]
        inputs = {name: mp.mpf(number) for name, number in zip("xyz", numbers, strict=True)}
        try:
            expected = plain_value(tree, inputs, MPMATH, largest)
        except ValueError:  # the angle of the origin
            assume(False)
        scale = mp.mpf(1)
        for value in largest:
            scale *= 1 + value
        assume(scale < 1e6)
        (value,) = as_program(tree).run([mp.mpf(number) for number in numbers], functions=MPMATH)

        assume(not any(0 < value < 1e-3 for value in largest))
        assert abs(value - expected) <= 1e-14 * scale


@given(trees((Op.NEG,), (Op.ADD, Op.SUB, Op.MUL, Op.DIV)))
@settings(max_examples=200, deadline=None)
def test_rules_add_no_operations_except_negations(tree):
    steps = as_program(tree).steps

    assert sum(step[0] in (Op.ADD, Op.SUB, Op.MUL, Op.DIV) for step in steps) <= size_of(tree)


def exactly(function):
    return lambda *args: function(*map(Fraction, args))


EXACT = {op: exactly(function) for op, function in ALGEBRA.items()}
