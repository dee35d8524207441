"""Rotations by an angle: the derivative of a rotated vector needs no further operations."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.expressions import mp_jacobian, program_for, values

from linkwork.engine.autodiff.diff import jacobian, jvp, vjp
from linkwork.engine.autodiff.primal import Primal
from linkwork.engine.autodiff.rotations import rotation_pairs
from linkwork.engine.symbolic.node import Graph
from linkwork.engine.symbolic.rules import RULES


def turned(a):
    c, s = a[0].cos(), a[0].sin()
    return c * a[1] - s * a[2], s * a[1] + c * a[2]


def turned_back(a):
    c, s = a[0].cos(), a[0].sin()
    return c * a[1] + s * a[2], c * a[2] - s * a[1]


def mirrored(a):
    c, s = a[0].cos(), a[0].sin()
    return c * a[1] + s * a[2], s * a[1] - c * a[2]


def of_a_function_of_the_angle(a):
    theta = 2.0 * a[0] + a[3]
    c, s = theta.cos(), theta.sin()
    x, y = c * a[1] - s * a[2], s * a[1] + c * a[2]
    return x * y, c * x - s * y, s * x + c * y  # turned twice


FOUND = {
    "forwards": (turned, 2),
    "backwards": (turned_back, 2),
    "mirrored": (mirrored, 2),
    "twice": (of_a_function_of_the_angle, 4),
}


def one_of_two(a):
    return a[0].cos() * a[1] - a[0].sin() * a[2]


def used_elsewhere(a):
    x, y = turned(a)
    return x, y, a[0].cos() * a[1] * a[3]


def an_output_itself(a):
    x, y = turned(a)
    return x, y, a[0].sin() * a[2]


def of_two_angles(a):
    return a[0].cos() * a[1] - a[3].sin() * a[2], a[0].sin() * a[1] + a[3].cos() * a[2]


def cosine_alone(a):
    x, y = turned(a)
    return x, y + a[0].cos() * a[0].sin()


NOT_ALL_FOUND = {
    "one of two": (one_of_two, 0),
    "a product that is used elsewhere": (used_elsewhere, 1),
    "a product that is an output": (an_output_itself, 1),
    "two angles": (of_two_angles, 0),
    "a cosine that is used elsewhere": (cosine_alone, 2),
}


def program_of(function):
    return program_for(
        lambda a: np.stack(function(a)) if isinstance(function(a), tuple) else function(a), (4,)
    )


@pytest.mark.parametrize("name", FOUND | NOT_ALL_FOUND)
def test_derivatives_with_rotations(name, rng):
    function, count = (FOUND | NOT_ALL_FOUND)[name]
    program = program_of(function)
    rotations = rotation_pairs(program)
    assert len(rotations.angle_derivative) == count
    assert len(rotations.absorbed_factor) == 2 * count

    point = rng.normal(size=4)
    expected = mp_jacobian(program, (point,), range(4))
    for mode in ("forward", "reverse"):
        (got,) = values(jacobian(program, "a", mode=mode), point)
        np.testing.assert_allclose(np.atleast_2d(got), expected, rtol=1e-13, atol=1e-14)
    ct, d = rng.normal(size=program.outputs[0].shape), rng.normal(size=4)
    (back,), (along,) = values(vjp(program, "a"), point, ct), values(jvp(program, "a"), point, d)
    np.testing.assert_allclose(back, np.atleast_1d(ct) @ expected, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(np.atleast_1d(along), expected @ d, rtol=1e-13, atol=1e-14)


def test_a_rotation_costs_two_products_for_its_angle():
    """Two products for each of x and y, two for the angle, and the rotation itself."""
    made = vjp(program_of(turned), "a")
    assert made.n_ops == 6 + 2 * 3 + 3


def test_a_root_or_a_select_elsewhere_does_not_affect_rotations(rng):
    """Only steps with guards are differentiated without the rule."""

    def function(a):
        x, y = turned(a)
        length = (x * x + y * y + a[3] * a[3]).sqrt()
        return (length < 1.0).select(length, x * y)

    program = program_for(function, (4,))
    made = vjp(program, "a")
    point = rng.normal(size=4)
    (got,) = values(made, point, np.ones(program.outputs[0].shape))
    np.testing.assert_allclose(got, mp_jacobian(program, (point,), range(4))[0], rtol=1e-12)
    graph = Graph(RULES)
    inputs = [graph.input() for _ in range(4)]
    assert len(Primal(program, graph, inputs, frozenset(range(4))).rotations.angle_derivative) == 2
