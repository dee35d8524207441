"""Derivatives of the functions of robots, against complex steps and against each other.

A function of q means that of the normalised q: its derivatives by q have no component along a
quaternion or a (cos, sin) pair.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.complex_steps import (
    arguments_of,
    as_list,
    drawn,
    evaluated,
    jacobian_by_steps,
    tangents_by_steps,
)
from tests.support.models import MOVING_KINDS, assert_close, random_model

import linkwork as lw
from linkwork.errors import ArgumentError, ValueRangeError

REPRESENTATIONS = ("mixed", "body", "inertial")
QUANTITIES = (
    "mass_matrix",
    "inverse_dynamics",
    "forward_dynamics",
    "coriolis_matrix",
    "gravity_force",
    "com",
    "com_jacobian",
    "centroidal_momentum",
    "kinetic_energy",
    "potential_energy",
    ("transform", "frame0"),
    ("jacobian", "frame1"),
    ("velocity", "frame0"),
    ("acceleration", "frame1"),
    ("relative_transform", "frame0", "frame1"),
    "average_velocity",
    "integrate",
    "difference",
    "normalize",
)


def robot(seed=3, representation="mixed", **options):
    """A robot with every kind of joint that moves, and dependent joints."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, len(MOVING_KINDS) + 1, MOVING_KINDS)
    return lw.KinDyn(model, representation=representation, **options)


@pytest.fixture(scope="module")
def kd():
    return robot()


def names_of(kernel):
    return [port.name for port in kernel.signature.inputs]


def check_products(kernel, arguments, rng, rtol=1e-9):
    """jvp and vjp by all inputs agree with complex steps, and with each other."""
    jvp, vjp = kernel.jvp(), kernel.vjp()
    tangents = drawn(kernel.signature.inputs, rng)
    cotangents = drawn(kernel.signature.outputs, rng)
    along = evaluated(jvp, [*arguments, *tangents])
    back = evaluated(vjp, [*arguments, *cotangents])
    wanted = tangents_by_steps(kernel, arguments, tangents)
    for got, expected in zip(along, wanted, strict=True):
        assert_close(got, expected, rtol)
    # ct . (J d) = (ct J) . d
    one = sum(float(np.sum(a * b)) for a, b in zip(cotangents, along, strict=True))
    other = sum(float(np.sum(a * b)) for a, b in zip(back, tangents, strict=True))
    scale = sum(np.abs(a * b).sum() for a, b in zip(back, tangents, strict=True))
    assert abs(one - other) <= 1e-12 * scale


@pytest.mark.parametrize("quantity", QUANTITIES, ids=str)
def test_products_of_every_quantity(kd, quantity, rng):
    kernel = kd.function(quantity)
    check_products(kernel, arguments_of(kernel, kd, rng), rng)


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("floating", [True, False])
def test_products_of_random_robots(representation, floating, rng):
    for seed, quantity in ((11, "inverse_dynamics"), (12, "forward_dynamics")):
        kd = robot(seed, representation, floating=floating, joint_dynamics=True)
        kernel = kd.function(quantity)
        check_products(kernel, arguments_of(kernel, kd, rng), rng)


@pytest.mark.parametrize("name", ["arm", "quadruped", "cartpole"])
def test_products_of_bundled_robots(name, rng):
    kd = lw.KinDyn(lw.robots.load(name))
    for quantity in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
        kernel = kd.function(quantity)
        check_products(kernel, arguments_of(kernel, kd, rng), rng)


@pytest.mark.parametrize("quantity", ["mass_matrix", "gravity_force", ("jacobian", "frame0")])
def test_a_jacobian_by_q_by_complex_steps(kd, quantity, rng):
    kernel = kd.function(quantity)
    arguments = arguments_of(kernel, kd, rng)
    (wanted,) = jacobian_by_steps(kernel, arguments, "q")
    (got,) = evaluated(kernel.jacobian("q"), arguments)
    assert_close(got, wanted, 1e-9)
    # products with it
    (ct,), (d,) = drawn(kernel.signature.outputs, rng), drawn(kernel.signature.inputs[:1], rng)
    (back,) = evaluated(kernel.vjp("q"), [*arguments, ct])
    (along,) = evaluated(kernel.jvp("q"), [*arguments, d])
    assert_close(back, np.tensordot(ct, got, np.ndim(ct)), 1e-12)
    assert_close(along, got @ d, 1e-12)


def test_compiled_derivatives_are_those_of_the_program(kd, rng):
    for kernel in (kd.inverse_dynamics.vjp(), kd.mass_matrix.jvp("q"), kd.com.jacobian("q")):
        given = [
            kd.random(5, seed=2) if port.name == "q" else rng.normal(size=(5, *port.shape))
            for port in kernel.signature.inputs
        ]
        results = as_list(kernel(*given))
        for row in range(5):
            wanted = evaluated(kernel, [array[row] for array in given])
            for result, expected in zip(results, wanted, strict=True):
                assert_close(result[row], expected, 1e-11)


def test_several_outputs_and_several_inputs(kd, rng):
    both = kd.function("mass_matrix", "bias_force", ("jacobian", "frame0"))
    arguments = arguments_of(both, kd, rng)
    back = both.vjp("nu", "q")
    assert names_of(back) == ["q", "nu", "ct_mass_matrix", "ct_bias_force", "ct_jacobian_frame0"]
    assert [port.name for port in back.signature.outputs] == ["ct_nu", "ct_q"]
    cotangents = drawn(both.signature.outputs, rng)
    by_nu, by_q = evaluated(back, [*arguments, *cotangents])
    for name, got in (("nu", by_nu), ("q", by_q)):
        parts = jacobian_by_steps(both, arguments, name)
        pairs = zip(cotangents, parts, strict=True)
        assert_close(got, sum(np.tensordot(ct, J, np.ndim(ct)) for ct, J in pairs), 1e-9)


def test_derivatives_by_gravity_and_by_wrenches(kd, rng):
    kernel = kd.function("inverse_dynamics", wrenches=["frame0"], gravity=True)
    arguments = arguments_of(kernel, kd, rng)
    (ct,) = drawn(kernel.signature.outputs, rng)
    by_gravity, by_wrench = evaluated(kernel.vjp("gravity", "wrench_frame0"), [*arguments, ct])
    assert_close(by_gravity, ct @ jacobian_by_steps(kernel, arguments, "gravity")[0], 1e-9)
    # tau = ... - J^T f
    (J,) = evaluated(kd.function(("jacobian", "frame0")), arguments[:1])
    assert_close(by_wrench, -J @ ct, 1e-11)
    check_products(kernel, arguments, rng)


# Quaternions and (cos, sin) pairs: differences of the compiled functions themselves.


def differences(function, arguments, place, tangent, step):
    """The derivative along a tangent, by differences of fourth order."""

    def at(factor):
        moved = list(arguments)
        moved[place] = arguments[place] + factor * step * tangent
        return np.asarray(function(*moved))

    return (8.0 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12.0 * step)


def test_the_ambient_derivative_is_that_of_the_function_itself(kd, rng):
    """q is moved off the unit quaternions, as far as a call takes it."""
    q = kd.random(1, seed=4)[0]
    J = kd.gravity_force.jacobian("q")(q)
    for tangent in rng.normal(size=(4, kd.nq)):
        wanted = differences(kd.gravity_force, [q], 0, tangent, 1e-4)
        assert_close(J @ tangent, wanted, 1e-8)
    for unit in kd.gravity_force.signature.unit_norms:
        part = slice(unit.offset, unit.offset + unit.count)
        assert np.abs(J[:, part] @ q[part]).max() <= 1e-13 * np.abs(J).max()


def test_second_derivatives_are_those_of_the_first(kd, rng):
    """A derivative is a function of the normalised q again."""
    q, ct = kd.random(1, seed=5)[0], rng.normal(size=kd.nv)
    first = kd.gravity_force.vjp("q")
    again = first.jvp("q")
    for tangent in rng.normal(size=(4, kd.nq)):
        wanted = differences(first, [q, ct], 0, tangent, 1e-4)
        assert_close(again(q, ct, tangent), wanted, 1e-8)
    back = first.vjp("q", "ct_gravity_force")
    u = rng.normal(size=kd.nq)
    by_q, by_ct = back(q, ct, u)
    assert_close(by_q @ tangent, u @ again(q, ct, tangent), 1e-11)
    assert_close(by_ct, kd.gravity_force.jvp("q")(q, u), 1e-11)


def test_a_hessian_is_that_of_the_function_and_symmetric(kd, rng):
    q = kd.random(1, seed=6)[0]
    H = kd.potential_energy.hessian("q")(q)
    assert_close(H, H.T, 1e-13)

    def slope(tangent):
        return lambda at: tangents_by_steps(kd.potential_energy, [at], [tangent])[0]

    for a, b in rng.normal(size=(3, 2, kd.nq)):
        wanted = differences(slope(a), [q], 0, b, 1e-3)
        assert abs(a @ H @ b - wanted) <= 1e-8 * np.abs(H).max()
    # The function does not change along a quaternion n, where its gradient falls as 1 / |n|.
    gradient = kd.potential_energy.gradient("q")(q)
    unit = kd.potential_energy.signature.unit_norms[0]
    part = slice(unit.offset, unit.offset + unit.count)
    assert_close(H[part, part] @ q[part], -gradient[part], 1e-11)


def test_the_second_derivative_of_the_energy_by_the_velocity_is_the_mass_matrix(kd, rng):
    q, nu = kd.random(1, seed=7)[0], rng.normal(size=kd.nv)
    assert_close(kd.kinetic_energy.hessian("nu")(q, nu), kd.mass_matrix(q), 1e-11)
    assert_close(kd.kinetic_energy.gradient("nu")(q, nu), kd.mass_matrix(q) @ nu, 1e-11)


# Checks and large robots.


def test_derivatives_check_what_the_function_checks(kd, rng):
    checked = kd.replace(check=True)
    q, bad = kd.random(1, seed=8)[0], rng.normal(size=kd.nv)
    bad[2] = np.nan
    vjp = checked.gravity_force.vjp("q")
    with pytest.raises(ValueRangeError, match=r"ct_gravity_force: .*2.*nan"):
        vjp(q, bad)
    far = q.copy()
    far[0] = np.inf
    with pytest.raises(ValueRangeError, match=r"q: .*base.*inf.*row 1"):
        vjp(np.stack([q, far]), np.zeros(kd.nv))
    assert np.isnan(kd.gravity_force.vjp("q")(q, bad)).any()


def test_a_singular_joint_is_named(rng):
    """The link that the last joint moves has no mass."""
    builder = lw.ModelBuilder("arm")
    for name, mass in (("base", 1.0), ("upper", 1.0), ("leaf", 0.0)):
        builder.add_link(
            name,
            inertia=lw.Inertia(mass, (0.1, 0.2, 0.3), (0.1, 0, 0, 0.1, 0, 0.1))
            if mass
            else lw.Inertia(),
        )
    builder.add_joint("elbow", "revolute", "base", "upper", axis=(0, 1, 0))
    builder.add_joint("wrist", "revolute", "upper", "leaf", axis=(1, 0, 0))
    kd = lw.KinDyn(builder.build(), floating=False)
    q, nu, tau, ct = rng.normal(size=(4, 2))
    with pytest.raises(lw.SingularJointError, match="joint 'wrist'"):
        kd.forward_dynamics.vjp()(q, nu, tau, ct)


def test_a_norm_that_drifted_is_normalised_and_one_further_away_is_refused(kd, rng):
    q, ct = kd.random(1, seed=9)[0], rng.normal(size=kd.nv)
    vjp = kd.gravity_force.vjp("q")
    drifted = q.copy()
    drifted[3:7] *= 1.0005
    assert_close(vjp(drifted, ct), vjp(q, ct), 1e-12)
    drifted[3:7] *= 1.01
    with pytest.raises(ValueRangeError, match=r"q: .*quaternion.*1\.0105"):
        vjp(drifted, ct)


def test_a_robot_too_large_to_compile_says_so():
    builder = lw.ModelBuilder("snake")
    builder.add_link("link0", inertia=lw.Inertia(1.0))
    for k in range(257):
        builder.add_link(f"link{k + 1}", inertia=lw.Inertia(1.0, (0.1, 0.0, 0.0)))
        builder.add_joint(f"joint{k}", "revolute", f"link{k}", f"link{k + 1}")
    with pytest.warns(lw.errors.LinkworkWarning):
        kd = lw.KinDyn(builder.build())
    text = "com: .*too long.*vjp"
    with pytest.raises(ArgumentError, match=text):
        kd.com.vjp("q")
