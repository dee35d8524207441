"""Derivatives of frame velocities and accelerations: complex steps, Pinocchio, structural zeros."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.derivatives import Traced, velocity_kinematics_of
from tests.support.models import MOVING_KINDS, assert_close
from tests.support.peers import AtPinocchio, Moving
from tests.support.pinocchio import frame_index
from tests.support.real_robots import ROBOT_FILES, label
from tests.support.skeletons import (
    every_representation,
    floating_or_not,
    random_case,
    skeleton_seen_by,
)
from tests.support.spatial import pin

from linkwork.algorithms.derivatives.frames import acceleration_derivatives, velocity_derivatives
from linkwork.algorithms.kinematics.frames import frame_acceleration, frame_velocity, path_to
from linkwork.algorithms.kinematics.jacobians import jacobian

SEEDS = (7, 19)  # with joints of every kind read backwards, see below
on_many_robots = pytest.mark.parametrize("seed", SEEDS)


def deep_frames(case, count=2):
    """The frames farthest from the base, and one on it."""
    depth = {k: len(path_to(case.skeleton, case.skeleton.frames[k][0])) for k in case.frames}
    ordered = sorted(depth, key=lambda k: depth[k])
    return [ordered[0], *ordered[-count:]]


def arrays(found):
    return [np.array(rows, dtype=float) for rows in found]


@on_many_robots
@floating_or_not
@every_representation
def test_derivatives_are_those_of_complex_steps(seed, floating, velocity):
    case = random_case(seed, floating=floating)
    layout = case.layout
    nq, nv, one = layout.nq, layout.nv, np.eye(layout.nv)
    E = velocity_kinematics_of(layout, case.q, velocity)
    for frame in deep_frames(case):
        options = {"frame": frame, "velocity": velocity}
        V = Traced(frame_velocity, case.skeleton, nq, nv, **options)
        A = Traced(frame_acceleration, case.skeleton, nq, nv, nv, **options)
        at = case.q, case.nu, case.nu_dot
        lists = [list(numbers) for numbers in at]
        found = arrays(velocity_derivatives(case.skeleton, *lists[:2], **options))
        for own, other in zip(found, (V.along(at[:2], 0, E), V.along(at[:2], 1, one)), strict=True):
            assert_close(own, other, 1e-12, scale=np.abs(found).max())
        found = arrays(acceleration_derivatives(case.skeleton, *lists, **options))
        expected = A.along(at, 0, E), A.along(at, 1, one), A.along(at, 2, one)
        for own, other in zip(found, expected, strict=True):
            assert_close(own, other, 1e-12, scale=np.abs(expected).max())


def test_the_robots_have_every_kind_between_base_and_frame_read_either_way():
    met = set()
    for seed in SEEDS:
        for floating in (True, False):
            case = random_case(seed, floating=floating)
            for frame in deep_frames(case):
                for number in path_to(case.skeleton, case.skeleton.frames[frame][0]):
                    mount = case.skeleton.bodies[number].mount
                    follows = mount.joint.name in case.layout.followers
                    met.add((mount.kind.name, mount.backwards, follows))
    either_way = {name for name, backwards, _ in met if backwards}
    assert {name for name, _, _ in met} == set(MOVING_KINDS)
    assert either_way == {"universal", "planar", "spherical", "floating"}
    assert any(follows for _, _, follows in met)


@on_many_robots
@every_representation
def test_columns_of_joints_that_do_not_move_the_frame_are_structural_zeros(seed, velocity):
    case = random_case(seed, floating=True)
    frame = deep_frames(case)[-1]
    path = path_to(case.skeleton, case.skeleton.frames[frame][0])
    moving = {k for number in path for k in case.skeleton.bodies[number].nu_indices} | set(range(6))
    at = [list(numbers) for numbers in (case.q, case.nu, case.nu_dot)]
    found = acceleration_derivatives(case.skeleton, *at, frame, velocity=velocity)
    J = jacobian(case.skeleton, at[0], frame, velocity=velocity)
    assert found[2] == J
    for rows in found:
        for k in set(range(case.layout.nv)) - moving:
            assert all(isinstance(row[k], float) and row[k] == 0.0 for row in rows)


@pytest.mark.parametrize("path", ROBOT_FILES, ids=label)
def test_pinocchio_gives_the_same_in_the_body_representation(path):
    number = ROBOT_FILES.index(path)
    here = Moving(path, floating=number % 3 > 0, velocity="body")
    there = AtPinocchio(path, here)
    kd, T = here.kd, there.T
    name = kd.model.link_names[-1 - number % len(kd.model.link_names[:2])]
    frame, index = kd.model.frame_index(name), frame_index(there.model, name)
    pin.computeForwardKinematicsDerivatives(there.model, there.data, there.q, there.v, there.a)
    local = pin.ReferenceFrame.LOCAL
    V_q, V_v = pin.getFrameVelocityDerivatives(there.model, there.data, index, local)
    _, A_q, A_v, A_a = pin.getFrameAccelerationDerivatives(there.model, there.data, index, local)
    at = [list(numbers) for numbers in (here.q, here.nu, here.nu_dot)]
    found = velocity_derivatives(skeleton_seen_by(kd), *at[:2], frame, velocity="body")
    found += acceleration_derivatives(skeleton_seen_by(kd), *at, frame, velocity="body")
    for own, other in zip(arrays(found), (V_q, V_v, A_q, A_v, A_a), strict=True):
        assert_close(own, other @ T, 1e-11, scale=max(1.0, np.abs(other).max(initial=0.0)))
