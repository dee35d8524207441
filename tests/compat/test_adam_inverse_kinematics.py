"""adam's inverse kinematics: targets are reached, limits and constraints are satisfied."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.compat.adam.casadi import InverseKinematics, KinDynComputations, TargetType

QUIET = {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes"}}
PATH = str(lw.robots.path("quadruped"))
JOINTS = [joint.name for joint in lw.robots.load("quadruped").joints if joint.nq == 1]


@pytest.fixture
def problem():
    return InverseKinematics(PATH, JOINTS, solver_settings=QUIET)


@pytest.fixture(scope="module")
def target():
    """Return reachable poses of two feet."""
    robot = KinDynComputations(PATH, JOINTS)
    rng = np.random.default_rng(0)
    H, s = np.eye(4), 0.2 * rng.normal(size=len(JOINTS))
    H[:3, 3] = rng.normal(size=3)
    return {name: robot.forward_kinematics(name, H, s).full() for name in FEET}


FEET = [name for name in lw.robots.load("quadruped").frame_names if "foot" in name.lower()][:2]


@pytest.mark.parametrize("soft", [True, False])
def test_frames_reach_their_targets(problem, target, soft):
    first, second = FEET
    problem.add_target_position(first, as_soft_constraint=True)
    problem.add_target(second, TargetType.POSE, as_soft_constraint=soft, weight=2.0)
    problem.update_target(first, target[first][:3, 3])
    problem.update_target(second, (target[second][:3, 3], target[second][:3, :3]))
    problem.solve()
    H, s = problem.get_solution()
    robot = problem.get_kin_dyn_computations()
    result = {name: robot.forward_kinematics(name, H, s).full() for name in FEET}
    np.testing.assert_allclose(result[first][:3, 3], target[first][:3, 3], atol=1e-4)
    np.testing.assert_allclose(result[second][:3, 3], target[second][:3, 3], atol=1e-4)
    np.testing.assert_allclose(result[second], target[second], atol=1e-5)
    limits = [robot.model.joints[name].limit for name in JOINTS]
    assert all(
        limit.lower - 1e-6 <= x <= limit.upper + 1e-6 for limit, x in zip(limits, s, strict=True)
    )
    problem.update_target_position(first, target[first][:3, 3] + [0, 0, 0.01])
    problem.solve()  # again, from the last solution
    np.testing.assert_allclose(np.linalg.det(problem.get_solution()[0]), 1.0, atol=1e-8)


def test_rotations_are_reached_to_many_digits(problem):
    """The cost of a rotation has curvature at the solution, so the solver is accurate."""
    problem.add_target_orientation("trunk", weight=1e3)
    rotation = lw.spatial.so3.exp(np.array([0.3, -0.5, 0.2]))
    problem.update_target_orientation("trunk", rotation)
    problem.solve()
    reached = problem.get_solution()[0][:3, :3]
    assert np.linalg.norm(lw.spatial.so3.log(rotation.T @ reached)) < 1e-7


def test_one_joint_is_limited(problem):
    first = FEET[0]
    problem.add_target_position(first)
    problem.set_joint_limit(JOINTS[1], 0.05, 0.06)
    problem.solve()
    assert 0.05 - 1e-7 <= problem.get_solution()[1][1] <= 0.06 + 1e-7


def test_a_hard_constraint_out_of_reach_raises(problem):
    problem.add_target_position("trunk", as_soft_constraint=False)
    problem.add_target_position(FEET[0], as_soft_constraint=False)
    problem.update_target(FEET[0], [0.0, 0.0, 5.0])
    with pytest.raises(RuntimeError, match="hard constraint"):
        problem.solve()


def test_without_limits_joints_may_be_anywhere(target):
    """A joint beyond its limits is needed to reach the target."""
    robot = KinDynComputations(PATH, JOINTS)
    s = np.zeros(len(JOINTS))
    s[2] = robot.model.joints[JOINTS[2]].limit.upper + 0.5
    pose = robot.forward_kinematics(FEET[0], np.eye(4), s).full()
    for active in (True, False):
        problem = InverseKinematics(PATH, JOINTS, active)
        problem.add_target_pose("trunk", weight=1e6)
        problem.add_target_pose(FEET[0])
        problem.update_target(FEET[0], (pose[:3, 3], pose[:3, :3]))
        problem.set_initial_guess(np.eye(4), s)
        problem.solve()
        H, solution = problem.get_solution()
        error = robot.forward_kinematics(FEET[0], H, solution).full() - pose
        assert bool(np.abs(error).max() > 0.05) is active


def test_wrong_arguments_raise_with_the_facts(problem):
    with pytest.raises(RuntimeError, match="no targets"):
        problem.solve()
    with pytest.raises(RuntimeError, match="no solution"):
        problem.get_solution()
    problem.add_target_position("trunk")
    for wrong, message in (
        (lambda: problem.add_target_pose("trunk"), "'trunk'"),
        (lambda: problem.update_target(FEET[0], np.zeros(3)), FEET[0]),
        (
            lambda: problem.update_target_pose("trunk", np.zeros(3), np.eye(3)),
            r"'trunk'.*POSITION.*POSE",
        ),
        (lambda: problem.add_target(FEET[0], "pose"), r"TargetType.*'pose'"),
        (lambda: problem.set_joint_limits([0.0], [1.0]), r"\(12,\).*\(1,\)"),
        (lambda: problem.set_joint_limit("FL_hip_rol", 0.0, 1.0), "FL_hip_roll"),
        (lambda: problem.set_joint_limit("FL_hip_roll", 1.0, 0.0), "FL_hip_roll"),
        (lambda: problem.add_target_position("trunc"), "trunc"),
    ):
        with pytest.raises(ValueError, match=message):
            wrong()
    problem.solve()
