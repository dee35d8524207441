"""E, E_T and the derivatives of integrate and difference.

Against what nu means, complex steps, power series in 40 digits, and Pinocchio.
"""

from __future__ import annotations

from functools import cache

import mpmath as mp
import numpy as np
import pytest
from tests.support.derivatives import Traced, velocity_kinematics_of
from tests.support.models import assert_close, random_q
from tests.support.peers import AtPinocchio, Moving
from tests.support.skeletons import (
    every_representation,
    floating_or_not,
    random_case,
    robot_file,
    skeleton_seen_by,
)
from tests.support.spatial import NEAR_PI, SMALL_ANGLES, pin

import linkwork as lw
from linkwork.algorithms.kinematics import manifold
from linkwork.algorithms.kinematics.manifold import (
    difference_derivatives,
    integrate_derivatives,
    velocity_kinematics,
    velocity_kinematics_inverse,
)

SEEDS = (7, 19)
ANGLES = [*SMALL_ANGLES[::2], 0.0317, 1.0, 3.0000001, *NEAR_PI[:3]]  # then the way back is another
REAL = [
    ("talos_data/talos_reduced", True),
    ("iCubGenova04/model", True),
    ("anymal_b_simple_description/anymal", False),
    ("panda_description/panda", True),
    ("kinova_description/kinova", False),
]
on_many_robots = pytest.mark.parametrize("seed", SEEDS)


def arrays(found):
    return [np.array(rows, dtype=float) for rows in found]


@on_many_robots
@floating_or_not
@every_representation
def test_E_is_the_rate_of_the_configuration(seed, floating, velocity):
    case = random_case(seed, floating=floating)
    E = case.at(velocity_kinematics, velocity=velocity)
    assert_close(E, velocity_kinematics_of(case.layout, case.q, velocity), rtol=1e-14)


@on_many_robots
@floating_or_not
@every_representation
def test_E_T_is_the_left_inverse_of_E_that_no_norm_enters(seed, floating, velocity):
    case = random_case(seed, floating=floating)
    layout = case.layout
    E = case.at(velocity_kinematics, velocity=velocity)
    E_T = case.at(velocity_kinematics_inverse, velocity=velocity)
    assert_close(E_T @ E, np.eye(layout.nv), rtol=1e-14)
    radial = radial_directions(layout, case.q)
    assert len(radial) == layout.nq - layout.nv
    assert_close(E_T @ radial.T, np.zeros((layout.nv, len(radial))), 1e-14, scale=1.0)


def radial_directions(layout, q):
    """One row for each quaternion and (cos, sin): q there, and zero elsewhere."""
    spans = [layout.base_wxyz] if layout.floating else []
    for name in layout.joint_names:
        start = layout.q[name].start
        parts = layout.model.joint(name).motion_kind.unit_norm
        spans += [slice(start + part.start, start + part.start + part.count) for part in parts]
    rows = np.zeros((len(spans), layout.nq))
    for row, span in zip(rows, spans, strict=True):
        row[span] = q[span]
    return rows


@on_many_robots
@floating_or_not
@every_representation
def test_derivatives_of_integrate_are_those_of_complex_steps(seed, floating, velocity):
    case = random_case(seed, floating=floating)
    layout, dt = case.layout, 0.7
    steps = Traced(manifold.integrate, case.skeleton, layout.nq, layout.nv, 1, velocity=velocity)
    at = case.q, case.nu, [dt]
    G = np.linalg.pinv(velocity_kinematics_of(layout, steps(*at), velocity))
    by_q, by_nu = arrays(
        integrate_derivatives(case.skeleton, list(case.q), list(case.nu), [dt], velocity=velocity)
    )
    E = velocity_kinematics_of(layout, case.q, velocity)
    assert_close(by_q, G @ steps.along(at, 0, E), rtol=1e-13)
    assert_close(by_nu, G @ steps.along(at, 1, np.eye(layout.nv)), rtol=1e-13)


@on_many_robots
@floating_or_not
@every_representation
def test_derivatives_of_difference_are_those_of_complex_steps(seed, floating, velocity):
    case = random_case(seed, floating=floating)
    layout = case.layout
    steps = Traced(manifold.difference, case.skeleton, layout.nq, layout.nq, velocity=velocity)
    at = case.q, random_q(layout, np.random.default_rng(seed + 50))
    by_start, by_end = arrays(
        difference_derivatives(case.skeleton, *map(list, at), velocity=velocity)
    )
    E, E_end = (velocity_kinematics_of(layout, q, velocity) for q in at)
    # the Jacobian of a logarithm grows without bound where the angle of a planar joint is 2 pi
    assert_close(by_start, steps.along(at, 0, E), rtol=1e-11)
    assert_close(by_end, steps.along(at, 1, E_end), rtol=1e-11)


@on_many_robots
@every_representation
def test_traced_derivatives_are_those_of_numbers(seed, velocity):
    case = random_case(seed, floating=True)
    layout, end = case.layout, random_q(case.layout, np.random.default_rng(seed))
    nq, nv = layout.nq, layout.nv
    cases = [
        (integrate_derivatives, (nq, nv, 1), (case.q, case.nu, [0.3])),
        (difference_derivatives, (nq, nq), (case.q, end)),
    ]
    for function, sizes, at in cases:
        found = Traced(function, case.skeleton, *sizes, velocity=velocity)(*at)
        expected = arrays(function(case.skeleton, *map(list, at), velocity=velocity))
        for own, other in zip(found, expected, strict=True):
            assert_close(own, other, rtol=1e-14)


def floater():
    """A body that floats, and one that hangs on it by a floating joint."""
    builder = lw.ModelBuilder("floater")
    builder.add_link("body")
    builder.add_link("moon")
    builder.add_joint("orbit", "floating", "body", "moon")
    return lw.KinDyn(builder.build())


def adjoint(twist):
    """(6, 6) of mpmath numbers: [[w^, v^], [0, w^]]."""
    x, y, z = twist[3:]
    a, b, c = twist[:3]
    return mp.matrix(
        [
            [0, -z, y, 0, -c, b],
            [z, 0, -x, c, 0, -a],
            [-y, x, 0, -b, a, 0],
            [0, 0, 0, 0, -z, y],
            [0, 0, 0, z, 0, -x],
            [0, 0, 0, -y, x, 0],
        ]
    )


def series(twist, shift):
    """Sum of ad^n / (n + shift)!: Ad(exp) for shift 0, the left Jacobian for shift 1."""
    ad, power, total = adjoint(twist), mp.eye(6), mp.zeros(6)
    for n in range(45):
        total += power / mp.factorial(n + shift)
        power = power * ad
    return total


def numbers(matrix):
    return np.array(matrix.tolist(), dtype=float)


@cache
def expected_derivatives(step):
    """Of integrate and of difference for each representation, from the power series."""
    with mp.workdps(40):
        there = [mp.mpf(float(x)) for x in step]
        back = [-x for x in there]
        Ad, Ad_back = (numbers(series(x, 0)) for x in (there, back))
        left, right = (numbers(series(x, 1)) for x in (there, back))
        left_inverse, right_inverse = (numbers(series(x, 1) ** -1) for x in (there, back))
    of_inertial = Ad, left, -right_inverse, left_inverse
    signs = 1.0, 1.0, -1.0, 1.0
    return {
        "body": (Ad_back, right, -left_inverse, right_inverse),
        "inertial": of_inertial,
        "mixed": [_angular_only(x, sign) for x, sign in zip(of_inertial, signs, strict=True)],
    }


def _angular_only(matrix, sign):
    found = np.zeros((6, 6))
    found[:3, :3], found[3:, 3:] = sign * np.eye(3), matrix[3:, 3:]
    return found


@every_representation
@pytest.mark.parametrize("angle", ANGLES)
def test_steps_of_any_angle_have_derivatives_to_the_last_digits(angle, velocity):
    """Power series in 40 digits, at angles where formulas change and at zero."""
    kd, rng = floater(), np.random.default_rng(3)
    axis = rng.normal(size=3)
    step = np.concatenate([rng.normal(size=3), angle * axis / np.linalg.norm(axis)])
    expected = expected_derivatives(tuple(step))
    q, nu = list(random_q(kd.layout, rng)), [*step, *step]
    found = integrate_derivatives(skeleton_seen_by(kd), q, nu, [1.0], velocity=velocity)
    end = manifold.integrate(skeleton_seen_by(kd), q, nu, [1.0], velocity=velocity)
    found += difference_derivatives(skeleton_seen_by(kd), q, end, velocity=velocity)
    pairs = zip(expected[velocity], expected["body"], strict=True)
    for rows, (of_base, of_joint) in zip(found, pairs, strict=True):
        matrix = np.array(rows, dtype=float)
        assert_close(matrix[:6, :6], of_base, rtol=1e-14)
        assert_close(matrix[6:, 6:], of_joint, rtol=1e-14)


@every_representation
def test_derivatives_of_half_a_turn(velocity):
    kd = floater()
    q, end = kd.neutral(), kd.neutral()
    end[3:7] = end[10:14] = [0, 0, 1, 0]
    found = difference_derivatives(skeleton_seen_by(kd), list(q), list(end), velocity=velocity)
    expected = expected_derivatives((0.0, 0.0, 0.0, 0.0, np.pi, 0.0))
    pairs = zip(expected[velocity][2:], expected["body"][2:], strict=True)
    for matrix, (of_base, of_joint) in zip(arrays(found), pairs, strict=True):
        assert_close(matrix[:6, :6], of_base, rtol=1e-14)
        assert_close(matrix[6:, 6:], of_joint, rtol=1e-14)


@pytest.mark.peers
@pytest.mark.parametrize(("name", "floating"), REAL)
def test_pinocchio_gives_the_same_in_the_body_representation(name, floating):
    path = robot_file(name)
    here = Moving(path, floating=floating, velocity="body")
    there = AtPinocchio(path, here)
    kd, T = here.kd, there.T
    found = arrays(
        integrate_derivatives(
            skeleton_seen_by(kd), list(here.q), list(here.nu), [1.0], velocity="body"
        )
    )
    for own, other in zip(found, pin.dIntegrate(there.model, there.q, there.v), strict=True):
        assert_close(own, T.T @ other @ T, rtol=1e-11)
    end = here.kd.random(seed=5)
    q_end = AtPinocchio(path, MovedTo(here, end)).q
    found = arrays(
        difference_derivatives(skeleton_seen_by(kd), list(here.q), list(end), velocity="body")
    )
    for own, other in zip(found, pin.dDifference(there.model, there.q, q_end), strict=True):
        assert_close(own, T.T @ other @ T, rtol=1e-10)


class MovedTo:
    """The same robot somewhere else."""

    def __init__(self, here, q):
        self.kd, self.q, self.nu, self.nu_dot = here.kd, q, here.nu, here.nu_dot
