"""Derivatives against differences with sixty digits, on random programs and on robots."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from tests.support.expressions import (
    LIBM,
    mp_jacobian,
    program_for,
    random_program,
    run_compiled,
    values,
)
from tests.support.verifier import verify

import linkwork
from linkwork.engine.autodiff.diff import gradient, jacobian
from linkwork.engine.symbolic.loops import replay
from linkwork.engine.symbolic.operations import NUMPY_FUNCTIONS, Op
from linkwork.engine.symbolic.program import Port
from linkwork.engine.symbolic.tracing import trace
from linkwork.errors import NameNotFoundError, ShapeError

MODES = ("forward", "reverse")


def derivative(function, *point, wrt="a", mode="forward"):
    program = program_for(function, *(np.shape(x) for x in point))
    changed = jacobian(program, wrt, mode=mode)
    verify(changed)
    return values(changed, *point)[0]


SMOOTH = {
    "a + b": (lambda a, b: a + b, 0.3, 0.7),
    "a - b": (lambda a, b: a - b, 0.3, 0.7),
    "a b": (lambda a, b: a * b, 0.3, 0.7),
    "a / b": (lambda a, b: a / b, 0.3, 0.7),
    "b / a": (lambda a, b: b / a, 0.3, 0.7),
    "-a": (lambda a, b: -a, 0.3, 0.7),
    "sqrt": (lambda a, b: a.sqrt(), 0.3, 0.7),
    "sin": (lambda a, b: a.sin(), 0.3, 0.7),
    "cos": (lambda a, b: a.cos(), 0.3, 0.7),
    "exp": (lambda a, b: a.exp(), 0.3, 0.7),
    "log": (lambda a, b: a.log(), 0.3, 0.7),
    "atan2(a, b)": (lambda a, b: a.arctan2(b), 0.3, -0.7),
    "atan2(b, a)": (lambda a, b: b.arctan2(a), -0.3, -0.7),
    "a < b": (lambda a, b: (a < b) * 1.0, 0.3, 0.7),
    "a <= b": (lambda a, b: (a <= b) * 1.0, 0.3, 0.7),
    "first": (lambda a, b: (a < b).select(a * a, b), 0.3, 0.7),
    "second": (lambda a, b: (b < a).select(a * a, b * a), 0.3, 0.7),
    "selected by a": (lambda a, b: a.select(b, 2.0), 0.3, 0.7),
    "a twice": (lambda a, b: a * a * a, 0.3, 0.7),
    "|a|": (lambda a, b: abs(a), -0.3, 0.7),
    "a ** 5": (lambda a, b: a**5, 0.3, 0.7),
    "a ** b": (lambda a, b: a**b, 0.3, 0.7),
    "a ** 17": (lambda a, b: a**17, -0.3, 0.7),
    "a ** -3": (lambda a, b: a**-3, -0.3, 0.7),
    "a ** 1.5": (lambda a, b: a**1.5, 0.3, 0.7),
    "hypot": (lambda a, b: a.hypot(b), -0.3, 0.7),
    "fmod": (lambda a, b: a.fmod(b), -2.3, 0.7),
    "copysign": (lambda a, b: a.copysign(b), 0.3, -0.7),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SMOOTH)
def test_every_operation(name, mode):
    function, a, b = SMOOTH[name]
    program = program_for(lambda a, b: function(a[()], b[()]), (), ())
    expected = mp_jacobian(program, (a, b), [0, 1])[0]
    for wrt, slope in zip("ab", expected, strict=True):
        (got,) = values(jacobian(program, wrt, mode=mode), a, b)
        assert got.shape == ()
        assert got == pytest.approx(slope, rel=1e-15, abs=1e-18)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed, mode):
    program, point = random_program(seed)
    expected = mp_jacobian(program, point, range(7))
    changed = jacobian(program, ["a", "b"], mode=mode)
    verify(changed)
    got = values(changed, *point)

    assert [port.shape for port in changed.outputs] == [(3, 2, 3), (3, 2, 2, 2), (3,), (2, 2)]
    assert [port.name for port in changed.outputs] == [
        "d out[0] / d a",
        "d out[0] / d b",
        "d out[1] / d a",
        "d out[1] / d b",
    ]
    assert changed.inputs == program.inputs
    stacked = np.block(
        [[got[0].reshape(6, 3), got[1].reshape(6, 4)], [got[2][None], got[3].reshape(1, 4)]]
    )
    np.testing.assert_allclose(stacked, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("mode", MODES)
def test_structural_zeros_are_constants(mode):
    program = program_for(
        lambda a, b: np.stack([a[0] * a[0], b[0], a[1] * 3.0, 4.0 + 0 * a[0]]), (2,), (1,)
    )
    changed = jacobian(program, "a", mode=mode)
    steps = [changed.steps[k] for k in changed.results]

    assert [step[1] if step[0] is Op.CONST else None for step in steps] == [
        *[None, 0.0],
        *[0.0, 0.0],
        *[0.0, 3.0],
        *[0.0, 0.0],
    ]


def test_a_linear_function_has_a_constant_jacobian(rng):
    A = rng.normal(size=(4, 3))
    program = program_for(lambda a: A @ a, (3,))
    changed = jacobian(program, "a")

    assert changed.n_ops == 0
    np.testing.assert_array_equal(values(changed, np.zeros(3))[0], A)


def test_reverse_is_chosen_for_few_outputs():
    """The operations of the gradient of a long sum grow linearly, not quadratically."""
    n = 30

    def function(a):
        product = a[0]
        for k in range(1, n):
            product = product * a[k] + a[k].sin()
        return product

    program = program_for(function, (n,))
    chosen, forward = jacobian(program, "a"), jacobian(program, "a", mode="forward")

    assert chosen == jacobian(program, "a", mode="reverse")
    assert chosen.n_ops < 6 * n < forward.n_ops
    point = np.linspace(0.9, 1.1, n)
    np.testing.assert_allclose(values(chosen, point)[0], values(forward, point)[0], rtol=1e-13)


def test_forward_is_chosen_for_few_inputs():
    program = program_for(lambda a: np.stack([(a[0] * k).sin() for k in range(1, 20)]), (1,))

    assert jacobian(program, "a") == jacobian(program, "a", mode="forward")


@pytest.mark.parametrize("mode", MODES)
def test_the_length_of_a_vector_at_zero(mode):
    """The function is not differentiable there; the result is 0, not NaN."""
    for function in (
        lambda a: (a * a).sum().sqrt(),
        lambda a: ((a * a).sum() * 4.0).sqrt() * 2.0 + a[0],
        lambda a: (a[0] * a[0] * a[0] * a[0] + a[1] ** 4).sqrt(),
        lambda a: (1.0 - a[0].cos()).sqrt() * (1.0 + a[1]),
    ):
        got = derivative(lambda a, f=function: f(a), np.zeros(3), mode=mode)
        assert np.isfinite(got).all()
        assert set(got) <= {0.0, 1.0}
    # away from it nothing changes
    a = np.array([0.3, 0.0, -0.4])
    got = derivative(lambda a: (a * a).sum().sqrt(), a, mode=mode)
    np.testing.assert_allclose(got, a / 0.5, rtol=1e-15)


@pytest.mark.parametrize("mode", MODES)
def test_a_root_with_a_vertical_tangent(mode):
    assert derivative(lambda a: a[0].sqrt(), np.zeros(1), mode=mode) == [np.inf]
    assert derivative(lambda a: -(a[0].sqrt()), np.zeros(1), mode=mode) == [-np.inf]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x > 0.0).select(x.sin() / x, 1.0),
        lambda x: (x > 0.0).select(x.sqrt() * 0.0 + x.log(), x),
        lambda x: (x > 0.0).select((1.0 / x) * (1.0 / x) * x.log(), x * 2.0),
        lambda x: (x <= 0.0).select(x * x, x.log().sqrt() * x.arctan2(x)),
        lambda x: (x > 0.0).select(((1.0 / x) - (1.0 / x)).exp() * (1.0 / x).sin(), 3.0 * x),
        lambda x: (x <= 0.0).select(x.cos(), (x <= 1.0).select(x / x, x.sqrt())),
    ],
)
def test_a_branch_that_is_not_selected_has_no_effect(function, mode):
    """At zero, the branches that are not selected are NaN or infinite."""
    program = program_for(lambda a: function(a[0]) + a[0], (1,))
    (got,) = values(jacobian(program, "a", mode=mode), [0.0])
    near = [values(jacobian(program, "a", mode=mode), [x])[0][0] for x in (-1e-9, 0.0)]

    assert np.isfinite(got).all()
    assert near[0] == pytest.approx(near[1], abs=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_nan_stays_nan(mode):
    got = derivative(lambda a: (a[0] * a[1]).sqrt(), np.array([np.nan, 1.0]), mode=mode)

    assert np.isnan(got).all()


def test_second_derivatives_are_symmetric(rng):
    program = program_for(lambda a: (a[0] * a[1]).sin() * (a[2] * a[2] + a[0] * a[0]).sqrt(), (3,))
    first = gradient(program, "a")
    second = jacobian(first, "a")
    point = rng.uniform(0.5, 1.0, 3)
    (H,) = values(second, point)

    assert H.shape == (3, 3)
    np.testing.assert_allclose(H, H.T, rtol=1e-12)
    np.testing.assert_allclose(H, mp_jacobian(first, (point,), range(3)), rtol=1e-12)


def test_a_gradient_requires_a_scalar_output():
    program = program_for(lambda a: a * 2.0, (3,))

    with pytest.raises(ShapeError, match=r"gradient.*scalar.*out \(3,\).*jacobian or vjp"):
        gradient(program, "a")
    (got,) = values(gradient(program_for(lambda a: (a * a).sum(), (2, 2)), "a"), np.eye(2))
    np.testing.assert_array_equal(got, 2 * np.eye(2))


def test_an_input_that_does_not_exist():
    with pytest.raises(NameNotFoundError, match="no input named 'x'; known: a, b"):
        jacobian(program_for(lambda a, b: a, (1,), (1,)), "x")


def test_outputs_of_no_size():
    program = program_for(lambda a, b: (a, b * 2.0), (0,), (2,))
    changed = jacobian(program, ["a", "b"])

    assert [port.shape for port in changed.outputs] == [(0, 0), (0, 2), (2, 0), (2, 2)]


# Robots.


@pytest.fixture(params=["pendulum", "arm"])
def robot(request):
    return linkwork.KinDyn(linkwork.robots.load(request.param))


def state(kd, rng):
    return kd.random(1, seed=3)[0], rng.normal(size=kd.nv), rng.normal(size=kd.nv)


@pytest.mark.parametrize("mode", MODES)
def test_torque_derivative_in_acceleration_is_the_mass_matrix(robot, mode, rng):
    q, nu, nu_dot = state(robot, rng)
    program = jacobian(robot.function("inverse_dynamics").program, "nu_dot", mode=mode)
    (M,) = values(program, q, nu, nu_dot)
    expected = robot.mass_matrix(q)

    np.testing.assert_allclose(M, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("mode", MODES)
def test_torque_derivatives_in_velocity_and_position(robot, mode, rng):
    inputs = q, nu, _ = state(robot, rng)
    program = robot.function("inverse_dynamics").program
    got = values(jacobian(program, ["q", "nu"], mode=mode), *inputs)
    expected = mp_jacobian(program, inputs, range(len(q) + len(nu)))

    np.testing.assert_allclose(
        np.hstack(got), expected, rtol=0, atol=1e-12 * np.abs(expected).max()
    )


def test_derivatives_of_a_robot_as_machine_code(robot, rng):
    inputs = state(robot, rng)
    program = jacobian(robot.function("inverse_dynamics").program, "nu")
    (expected,) = values(program, *inputs)
    rows = [np.tile(array, (8, 1)) for array in inputs]
    for width in (1, 4):
        (got,) = run_compiled(program, *rows, width=width)
        error = np.abs(got - expected.reshape(1, -1)).max()
        assert error <= 1e-12 * np.abs(expected).max()


def test_the_mass_matrix_is_the_second_derivative_of_the_energy(rng):
    """T = nu.M nu / 2, so its second derivative with respect to nu is M."""
    kd = linkwork.KinDyn(linkwork.robots.load("arm"))
    q, nu, _ = state(kd, rng)
    mass = kd.function("mass_matrix").program
    n = kd.nv

    def energy(q, nu):

        graph = q[0].graph
        nodes = replay(mass, graph, list(q))
        M = np.array([nodes[k] for k in mass.results], dtype=object).reshape(n, n)
        return 0.5 * (nu @ M @ nu)

    program = trace(energy, [Port("q", (len(q),)), Port("nu", (n,))], "energy")
    momentum = gradient(program, "nu")
    (p,) = values(momentum, q, nu)
    (M,) = values(jacobian(momentum, "nu"), q, nu)

    np.testing.assert_allclose(p, kd.mass_matrix(q) @ nu, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(M, kd.mass_matrix(q), rtol=1e-12, atol=1e-12)


def test_libm_and_numpy_give_the_same(rng):
    """Check of the reference: two ways to run one program."""
    program = program_for(lambda a: np.stack([a[0].sin() * a[1].exp(), a[0].arctan2(a[1])]), (2,))
    point = rng.normal(size=2)
    with mp.workdps(30):
        np.testing.assert_allclose(
            program.run(point, functions=LIBM),
            program.run(point, functions=NUMPY_FUNCTIONS),
            rtol=1e-15,
        )


# Guards against 0 times infinity exist only where they are needed.


def distance_of_chain(n):
    """The distance from the end of a planar chain to a point, at least a margin."""

    def function(a, b):
        x, y, angle = a[0] * 0.0, a[0] * 0.0, a[0] * 0.0
        for k in range(n):
            angle = angle + a[k]
            x, y = x + angle.cos(), y + angle.sin()
            c, s = a[k].cos(), a[k].sin()
            x, y = c * x - s * y, s * x + c * y
        length = ((x - b[0]) * (x - b[0]) + (y - b[1]) * (y - b[1])).sqrt()
        return (length < 0.5).select(0.5 - length, 0.0)

    return program_for(function, (n,), (2,))


def test_a_distance_needs_as_many_guards_for_a_long_chain_as_for_a_short_one(rng):
    guards = []
    for n in (3, 12):
        program = distance_of_chain(n)
        changed = gradient(program, "a")
        guards.append(sum(step[0] in (Op.SELECT, Op.LESS_EQUAL) for step in changed.steps))
        point = (rng.normal(size=n), np.zeros(2))
        by_mode = [values(jacobian(program, "a", mode=mode), *point)[0] for mode in MODES]
        np.testing.assert_allclose(by_mode[0], by_mode[1], rtol=1e-12, atol=1e-12)
    assert guards[0] == guards[1]


@pytest.mark.parametrize("mode", MODES)
def test_a_distance_of_zero_has_the_derivative_zero(mode):
    """The end of the chain is at the point, so the root of the sum of squares is 0."""
    program = program_for(
        lambda a, b: (
            (a[0].cos() - b[0]) * (a[0].cos() - b[0]) + (a[0].sin() * a[1]) * (a[0].sin() * a[1])
        ).sqrt(),
        (2,),
        (1,),
    )
    (got,) = values(jacobian(program, "a", mode=mode), [0.0, 0.7], [1.0])
    np.testing.assert_array_equal(got, [0.0, 0.0])


@pytest.mark.parametrize("mode", MODES)
def test_a_parameter_may_be_infinite_where_it_is_not_selected(mode):
    program = program_for(
        lambda a, b: (b[0] < 1e10).select((a[0] - b[0]) * (a[0] - b[0]), a[0] * 3.0), (1,), (1,)
    )
    (got,) = values(jacobian(program, "a", mode=mode), [0.3], [np.inf])
    np.testing.assert_array_equal(got, [3.0])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("x", [0.0, 2.0, -1.0])
def test_a_root_that_is_never_zero_has_no_guard(mode, x):
    program = program_for(lambda a: (a[0] * a[0] + 0.25).sqrt() * a[1].sin(), (2,))
    changed = jacobian(program, "a", mode=mode)
    assert not any(step[0] is Op.SELECT for step in changed.steps)
    (got,) = values(changed, [x, 0.4])
    root = np.sqrt(x * x + 0.25)
    np.testing.assert_allclose(got, [x / root * np.sin(0.4), root * np.cos(0.4)], rtol=1e-14)


def guards_of(program):
    return sum(step[0] is Op.LESS_EQUAL for step in program.steps)


def test_a_value_that_results_depend_on_whatever_is_selected_has_no_guard():
    def kept(a):  # if 1 / a is infinite, so is a result
        x = 1.0 / a[0]
        return x * x + (a[0] < 0.0).select(x, 2.0)

    def chosen(a):
        return (a[0] < 0.0).select(1.0 / a[0], 2.0)

    assert guards_of(jacobian(program_for(kept, (1,)), "a", mode="reverse")) == 0
    discarding = jacobian(program_for(chosen, (1,)), "a", mode="reverse")
    assert guards_of(discarding) > 0
    assert values(discarding, [0.0])[0] == 0.0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("is_swapped", [False, True])
def test_a_root_of_a_clamped_value_has_no_guard(mode, is_swapped):
    def clamped(a):
        value = a[0] * a[0] * a[1]  # may be negative
        if is_swapped:
            return (value < 1e-9).select(1.0, value).sqrt()
        return (value > 1e-9).select(value, 1.0).sqrt()

    program = jacobian(program_for(clamped, (2,)), "a", mode=mode)
    assert guards_of(program) == 0
    np.testing.assert_allclose(values(program, [2.0, 4.0])[0], [2.0, 0.5], rtol=1e-15)
    np.testing.assert_array_equal(values(program, [2.0, -4.0])[0], [0.0, 0.0])
