"""Derivatives of inverse dynamics and of the gravity force, against complex steps and identities.

Robots of all kinds of joints, seen from any base: joints read backwards, dependent joints, wrenches
on frames, joint dynamics; in all representations.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.kindyn.test_joint_dynamics import with_drives
from tests.support.derivatives import Traced, velocity_kinematics_of
from tests.support.kindyn import STEP, run_program
from tests.support.models import assert_close, random_model, random_q
from tests.support.skeletons import Case, random_case

import linkwork as lw
from linkwork.algorithms.derivatives.gravity import gravity_force_derivative
from linkwork.algorithms.derivatives.inverse_dynamics import inverse_dynamics_derivatives
from linkwork.algorithms.dynamics.coriolis import coriolis_matrix
from linkwork.algorithms.dynamics.crba import mass_matrix
from linkwork.algorithms.dynamics.rnea import inverse_dynamics
from linkwork.mechanics.base import REPRESENTATIONS
from linkwork.mechanics.joint_dynamics import joint_dynamics_of
from linkwork.spatial.blocks import ZERO, Vec

pytestmark = pytest.mark.peers

GRAVITY = Vec(0.7, -1.3, -9.6)
STATES = [*((True, velocity) for velocity in REPRESENTATIONS), (False, "mixed"), (False, "body")]
in_states = pytest.mark.parametrize(("floating", "velocity"), STATES)
SEEDS = (3, 7, 10)
WHAT = ("damping", "armature")


def by_complex_steps(case, velocity, **options):
    """Derivatives of inverse dynamics by q along the tangent, by nu and by nu_dot."""
    at = [case.q, case.nu, case.nu_dot]

    def along(which, columns):
        """By one input along columns of a matrix, as a batch."""
        moved = [np.repeat(x[:, None], columns.shape[1], axis=1).astype(complex) for x in at]
        moved[which] += 1j * STEP * columns
        found = inverse_dynamics(
            case.skeleton, *map(list, moved), gravity=GRAVITY, velocity=velocity, **options
        )
        return np.array([np.broadcast_to(x, columns.shape[1:]) for x in found]).imag / STEP

    E, e = velocity_kinematics_of(case.layout, case.q, velocity), np.eye(len(case.nu))
    return [along(which, columns) for which, columns in enumerate((E, e, e))]


def derivatives(case, velocity, function=inverse_dynamics_derivatives, **options):
    numbers = [list(array) for array in (case.q, case.nu, case.nu_dot)]
    options = {"gravity": GRAVITY} | options
    found = function(case.skeleton, *numbers, velocity=velocity, **options)
    return [np.array(rows, dtype=float) for rows in found]


def wrenches_on(case, rng):
    """On every frame."""
    return {frame: list(50 * rng.normal(size=6)) for frame in case.frames}


@in_states
@pytest.mark.parametrize("seed", SEEDS)
def test_derivatives_are_those_of_complex_steps(seed, floating, velocity):
    case = random_case(seed, floating=floating)
    expected = by_complex_steps(case, velocity)
    for part, other in zip(derivatives(case, velocity), expected, strict=True):
        assert_close(part, other, rtol=1e-12)


@in_states
@pytest.mark.parametrize("seed", SEEDS)
def test_wrenches_on_frames_are_numbers_that_stay(seed, floating, velocity, rng):
    case = random_case(seed, floating=floating)
    wrenches = wrenches_on(case, rng)
    expected = by_complex_steps(case, velocity, wrenches=wrenches)
    found = derivatives(case, velocity, wrenches=wrenches)
    for part, other in zip(found, expected, strict=True):
        assert_close(part, other, rtol=1e-12)
    change = np.abs(found[0] - derivatives(case, velocity)[0]).max()
    assert change > 1e-6 * np.abs(found[0]).max()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_robots_have_what_is_difficult(seed):
    case = random_case(seed, floating=True)
    mounts = [body.mount for body in case.skeleton.bodies[1:]]
    kinds = {mount.kind.name for mount in mounts}
    assert {"universal", "spherical", "planar", "floating", "helical"} <= kinds
    assert case.layout.followers


def test_some_robot_has_each_difficult_kind_backwards():
    cases = [random_case(seed, floating=True) for seed in SEEDS]
    mounts = [body.mount for case in cases for body in case.skeleton.bodies[1:]]
    backwards = {mount.kind.name for mount in mounts if mount.backwards}
    assert backwards == {"universal", "spherical", "planar", "floating"}


@in_states
def test_joint_dynamics_add_damping_and_armature(floating, velocity):
    rng = np.random.default_rng(4)
    case = Case(with_drives(random_model(rng, 12), rng), rng, floating=floating)
    options = {"joint_dynamics": joint_dynamics_of(case.layout)}
    expected = by_complex_steps(case, velocity)
    found = derivatives(case, velocity, **options)
    assert_close(found[0], expected[0], rtol=1e-12)
    added = [options["joint_dynamics"].get(k) for k in range(case.layout.nv)]
    damping, armature = [[0.0 if a is None else getattr(a, what) for a in added] for what in WHAT]
    assert_close(found[1], expected[1] + np.diag(damping), rtol=1e-12)
    assert_close(found[2], expected[2] + np.diag(armature), rtol=1e-12)


@in_states
@pytest.mark.parametrize("seed", SEEDS)
def test_by_nu_dot_is_the_mass_matrix_and_by_nu_is_linear(seed, floating, velocity):
    """Forces at nu_dot = 0 without gravity are quadratic in nu: by nu, times nu, is twice them."""
    case = random_case(seed, floating=floating)
    case.nu_dot = 0 * case.nu_dot
    _, by_nu, M = derivatives(case, velocity, gravity=ZERO)
    assert_close(M, case.at(mass_matrix, velocity=velocity), rtol=1e-13)
    forces = case.moving(coriolis_matrix, velocity=velocity) @ case.nu
    assert_close(by_nu @ case.nu, 2 * forces, rtol=1e-11)


@in_states
def test_at_rest_nothing_depends_on_velocity(floating, velocity):
    case = random_case(7, floating=floating)
    case.nu = 0 * case.nu
    _, by_nu, _ = derivatives(case, velocity)
    assert not by_nu.any()


@pytest.mark.parametrize("velocity", ["mixed", "body"])
def test_where_the_base_is_does_not_matter(velocity, rng):
    """Traced, so that the zeros are known beforehand and cost nothing."""
    case = random_case(3, floating=True)
    sizes = case.layout.nq, case.layout.nv, case.layout.nv
    options = {"gravity": GRAVITY, "velocity": velocity}
    traced = Traced(inverse_dynamics_derivatives, case.skeleton, *sizes, **options)
    zero = [step for step, (op, *args) in enumerate(traced.program.steps) if args == [0.0]]
    nv = case.layout.nv
    by_q = np.array(traced.program.results[: nv * nv]).reshape(nv, nv)
    assert np.isin(by_q[:, :3], zero).all()
    by_nu = np.array(traced.program.results[nv * nv : 2 * nv * nv]).reshape(nv, nv)
    assert np.isin(by_nu[:, :3], zero).all() == (velocity == "mixed")


@in_states
@pytest.mark.parametrize("seed", SEEDS)
def test_gravity_force_derivative_is_that_at_rest(seed, floating, velocity):
    case = random_case(seed, floating=floating)
    case.nu, case.nu_dot = 0 * case.nu, 0 * case.nu_dot
    expected = by_complex_steps(case, velocity)[0]
    found = case.at(gravity_force_derivative, gravity=GRAVITY, velocity=velocity)
    assert_close(found, expected, rtol=1e-12)
    assert_close(derivatives(case, velocity)[0], expected, rtol=1e-12)


def test_second_derivatives_of_an_energy_are_symmetric(rng):
    """Where coordinates are independent of each other, which the base's and a ball's are not."""
    model = random_model(rng, 12, ("revolute", "prismatic", "helical", "universal"))
    case = Case(model, rng, floating=False)
    found = case.at(gravity_force_derivative, gravity=GRAVITY, velocity="mixed")
    assert_close(found, found.T, rtol=1e-13)


@in_states
def test_columns_of_a_batch(floating, velocity, rng):
    """Numbers may be arrays, as for robots that are too long to be compiled."""
    case = random_case(10, floating=floating)
    case_2 = random_case(10, floating=floating)
    case_2.nu, case_2.nu_dot = rng.normal(size=(2, case.layout.nv))
    pairs = [(case.q, case_2.q), (case.nu, case_2.nu), (case.nu_dot, case_2.nu_dot)]
    columns = [list(np.stack(pair, axis=-1)) for pair in pairs]
    found = inverse_dynamics_derivatives(
        case.skeleton, *columns, gravity=GRAVITY, velocity=velocity
    )
    for row, one in enumerate((case, case_2)):
        for rows, expected in zip(found, derivatives(one, velocity), strict=True):
            part = [[np.broadcast_to(x, (2,))[row] for x in numbers] for numbers in rows]
            assert_close(part, expected, rtol=1e-13)


def test_second_derivatives_are_those_of_complex_steps(rng):
    """They are the Jacobians of the first ones, and symmetric where coordinates are independent."""
    kinds = ("revolute", "prismatic", "helical", "universal")
    kd = lw.KinDyn(random_model(rng, 5, kinds, mimic=False), floating=False)
    q = random_q(kd.layout, rng)
    nu, nu_dot = rng.normal(size=(2, kd.nv))
    first = kd.inverse_dynamics_derivatives
    second = first.jacobian("q", "nu")
    by_q_q, by_q_nu, by_nu_q, by_nu_nu, M_by_q, M_by_nu = run_program(second.program, q, nu, nu_dot)

    for place, found in enumerate((by_q_q, by_nu_q, M_by_q)):
        for k, e in enumerate(np.eye(kd.nv)):
            moved = run_program(first.program, q + 1j * STEP * e, nu, nu_dot)[place]
            assert_close(found[..., k], moved.imag / STEP, rtol=1e-12, scale=np.abs(found).max())
    assert_close(by_q_q, np.swapaxes(by_q_q, 1, 2), rtol=1e-12)
    assert_close(by_nu_nu, np.swapaxes(by_nu_nu, 1, 2), rtol=1e-12)
    assert_close(by_q_nu, np.swapaxes(by_nu_q, 1, 2), rtol=1e-12)
    assert not M_by_nu.any()
