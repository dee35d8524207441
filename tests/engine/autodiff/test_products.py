"""Products with Jacobians and Hessians, and vectors of norm 1, on random programs."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.expressions import mp_jacobian, program_for, random_program, values
from tests.support.verifier import verify

from linkwork.engine.autodiff.diff import gradient, hessian, hvp, jacobian, jvp, vjp
from linkwork.engine.symbolic.operations import Op
from linkwork.errors import ArgumentError, NameNotFoundError, ShapeError

SEEDS = range(8)
NORMED = [[0, 1, 2], [3, 4]]  # all of a, and the first two numbers of b


def at_norm_1(point):
    a, b = (array.copy() for array in point)
    a /= np.linalg.norm(a)
    b[0] /= np.linalg.norm(b[0])
    return a, b


def flat(arrays):
    return np.concatenate([np.ravel(array) for array in arrays])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("units", [(), NORMED], ids=["free", "norm 1"])
def test_products_agree_with_the_jacobian(seed, units, rng):
    program, point = random_program(seed)
    point = at_norm_1(point)
    J = np.vstack(
        [
            np.hstack([part.reshape(rows, -1) for part in pair])
            for rows, pair in zip(
                (6, 1),
                np.split(
                    np.array(values(jacobian(program, ["a", "b"], units=units), *point), object), 2
                ),
                strict=True,
            )
        ]
    ).astype(float)
    tangents, cotangents = (
        [rng.normal(size=3), rng.normal(size=(2, 2))],
        [rng.normal(size=(3, 2)), rng.normal()],
    )
    forward, reverse = jvp(program, ["a", "b"], units=units), vjp(program, ["a", "b"], units=units)
    for made in (forward, reverse):
        verify(made)
    along = flat(values(forward, *point, *tangents))
    back = flat(values(reverse, *point, *cotangents))

    np.testing.assert_allclose(along, J @ flat(tangents), rtol=1e-12, atol=1e-12 * abs(J).max())
    np.testing.assert_allclose(back, flat(cotangents) @ J, rtol=1e-12, atol=1e-12 * abs(J).max())


def test_names_and_shapes():
    program, _ = random_program(0)
    forward, reverse = jvp(program, "b"), vjp(program, ["b", "a"])

    assert [(p.name, p.shape) for p in forward.inputs] == [
        ("a", (3,)),
        ("b", (2, 2)),
        ("d_b", (2, 2)),
    ]
    assert [(p.name, p.shape) for p in forward.outputs] == [("d_out_0", (3, 2)), ("d_out_1", ())]
    assert [(p.name, p.shape) for p in reverse.inputs[2:]] == [
        ("ct_out_0", (3, 2)),
        ("ct_out_1", ()),
    ]
    assert [(p.name, p.shape) for p in reverse.outputs] == [("ct_b", (2, 2)), ("ct_a", (3,))]


def test_a_number_is_appended_to_names_that_exist():
    program = program_for(lambda a: a * a, (2,))
    twice = jvp(jvp(program, "a"), "a")
    again = vjp(vjp(vjp(program, "a"), "a"), "a")

    assert [port.name for port in twice.inputs] == ["a", "d_a", "d_a_2"]
    assert [port.name for port in again.inputs] == ["a", "ct_out", "ct_ct_a", "ct_ct_a_2"]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_projection_of_a_jacobian(seed):
    """J P with P = 1 - n n^T for each vector n of norm 1."""
    program, point = random_program(seed)
    point = at_norm_1(point)
    P = np.eye(7)
    n = flat(point)
    for unit in NORMED:
        P[np.ix_(unit, unit)] -= np.outer(n[unit], n[unit])
    for mode in ("forward", "reverse"):
        got = values(jacobian(program, ["a", "b"], mode=mode, units=NORMED), *point)
        plain = values(jacobian(program, ["a", "b"], mode=mode), *point)
        for k in (0, 2):
            rows = plain[k].size // 3
            joined = np.hstack([part.reshape(rows, -1) for part in plain[k : k + 2]])
            expected = joined @ P
            actual = np.hstack([part.reshape(rows, -1) for part in got[k : k + 2]])
            np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-12 * abs(joined).max())


def cost(a, b):
    return (a[0] * b[0]).sin() * (a[1] * a[1] + b[1] * a[2]).exp() + a[2] / (2.0 + b[0] * a[1])


def scaled_cost(a, b):
    """The cost as a function of the normalized a."""
    return cost(a / (a * a).sum().sqrt(), b)


def test_a_hessian_by_differences_with_sixty_digits(rng):
    program = program_for(cost, (3,), (2,))
    point = rng.uniform(0.3, 1.0, 3), rng.uniform(0.3, 1.0, 2)
    (aa, ab, ba, bb) = values(hessian(program, ["a", "b"]), *point)
    expected = mp_jacobian(gradient(program, ["a", "b"]), point, range(5))

    assert [port.name for port in hessian(program, ["a", "b"]).outputs] == [
        *("d d out / d a / d a", "d d out / d a / d b"),
        *("d d out / d b / d a", "d d out / d b / d b"),
    ]
    np.testing.assert_allclose(np.block([[aa, ab], [ba, bb]]), expected, rtol=1e-12, atol=1e-13)


def test_the_hessian_of_a_function_of_a_normalized_vector(rng):
    """The Hessian of the function with normalization: symmetric, and not zero along n."""
    program, full = program_for(cost, (3,), (2,)), program_for(scaled_cost, (3,), (2,))
    a, b = rng.uniform(0.3, 1.0, 3), rng.uniform(0.3, 1.0, 2)
    a /= np.linalg.norm(a)
    expected = mp_jacobian(gradient(full, ["a", "b"]), (a, b), range(5))
    got = values(hessian(program, ["a", "b"], units=[[0, 1, 2]]), a, b)
    joined = np.block([[got[0], got[1]], [got[2], got[3]]])
    np.testing.assert_allclose(joined, expected, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(joined, joined.T, rtol=1e-12, atol=1e-13)

    d = rng.normal(size=5)
    along = values(hvp(program, ["a", "b"], units=[[0, 1, 2]]), a, b, d[:3], d[3:])
    np.testing.assert_allclose(flat(along), joined @ d, rtol=1e-11, atol=1e-12)


def test_derivatives_of_independent_outputs_are_zero():
    program = program_for(lambda a, b: (b * 2.0, a[0] * a[1]), (2,), (3,))
    for made, zero in ((jvp(program, "a"), [0, 1, 2]), (vjp(program, "b"), [])):
        steps = [made.steps[k] for k in made.results]
        assert [k for k, step in enumerate(steps) if step == (Op.CONST, 0.0)] == zero


def test_a_cotangent_of_equal_outputs_is_summed():
    program = program_for(lambda a: np.stack([a[0] * a[1], a[1] * a[0], a[0]]), (2,))
    (got,) = values(vjp(program, "a"), [2.0, 3.0], [10.0, 100.0, 1000.0])
    np.testing.assert_array_equal(got, [1330.0, 220.0])


def test_a_branch_that_is_not_selected_has_no_effect_in_products():
    program = program_for(lambda a: (a[0] > 0.0).select(a[0].sqrt().log(), a[0] * a[1]), (2,))
    (got,) = values(vjp(program, "a"), [0.0, 5.0], 2.0)
    np.testing.assert_array_equal(got, [10.0, 0.0])


def test_bad_use():
    program, _ = random_program(0)
    with pytest.raises(NameNotFoundError, match=r"input.*'aa'.*a, b"):
        vjp(program, "aa")
    with pytest.raises(ArgumentError, match=r"jvp.*'a'.*twice"):
        jvp(program, ["a", "b", "a"])
    text = r"hessian.*scalar.*out\[0\] \(3, 2\), out\[1\] \(\)"
    with pytest.raises(ShapeError, match=text + r".*jacobian or vjp"):
        hessian(program, "a")
