"""`InverseKinematics`: its solutions are checked with iDynTree's kinematics.

iDynTree's wheel on PyPI is built without IPOPT, so its solver cannot be used.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.idyntree import compat, idyn, loader_of

import linkwork as lw

PANDA, QUADRUPED = "panda_description/panda", "solo_description/solo12"
UR5 = "ur_description/ur5_robot"
NONE = compat.InverseKinematicsTreatTargetAsConstraintNone
ROTATION_ONLY = compat.InverseKinematicsTreatTargetAsConstraintRotationOnly
POSITION_ONLY = compat.InverseKinematicsTreatTargetAsConstraintPositionOnly


class Judge:
    """A robot in iDynTree at the configuration of a solution."""

    def __init__(self, name):
        self.kd = idyn.KinDynComputations()
        assert self.kd.loadRobotModel(loader_of("iDynTree", name).model())
        self.n = self.kd.getNrOfDegreesOfFreedom()

    def place(self, s, base=None):
        zero = np.zeros(self.n)
        base = np.eye(4) if base is None else base
        assert self.kd.setRobotState(base, s, np.zeros(6), zero, np.zeros(3))

    def place_as_solved(self, ik):
        base, s = compat.Transform(), compat.VectorDynSize()
        assert ik.getFullJointsSolution(base, s)
        self.place(s.toNumPy(), base.toNumPy())
        return s.toNumPy(), base.toNumPy()

    def pose(self, frame):
        return self.kd.getWorldTransform(frame).asHomogeneousTransform().toNumPy()

    def com(self):
        return self.kd.getCenterOfMassPosition().toNumPy()


def solver(name, *joints):
    ik = compat.InverseKinematics()
    assert ik.setModel(loader_of("linkwork", name).model(), list(joints))
    return ik


def limits_of(ik):
    n = ik.fullModel().getNrOfDOFs()
    lower, upper = np.zeros(n), np.zeros(n)
    assert ik.getJointLimits(lower, upper)
    return lower, upper


def test_an_arm_reaches_a_pose_within_its_limits():
    judge, ik = Judge(PANDA), solver(PANDA)
    assert ik.reducedModel().getNrOfLinks() == ik.fullModel().getNrOfLinks()
    lower, upper = limits_of(ik)
    judge.place(lower + 0.3 * (upper - lower))
    target = judge.pose("panda_hand")
    ik.setVerbosity(0)
    ik.setMaxIterations(1000)
    ik.setDefaultTargetResolutionMode(NONE)
    assert ik.addFrameConstraint("panda_link0", compat.Transform.Identity())
    assert not ik.addFrameConstraint("panda_link0", compat.Transform.Identity())
    assert ik.addTarget("panda_hand", compat.Transform.Identity())
    assert not ik.addTarget(
        "panda_hand", compat.Transform.Identity()
    )  # users update the existing target
    assert ik.updateTarget("panda_hand", target)
    assert not ik.updateTarget("panda_link3", target)
    middle = compat.VectorDynSize((lower + upper) / 2)
    assert ik.setFullJointsInitialCondition(compat.Transform.Identity(), middle)
    assert ik.solve()

    s, base = judge.place_as_solved(ik)
    np.testing.assert_array_equal(base, np.eye(4))
    assert (lower <= s).all()
    assert (s <= upper).all()
    np.testing.assert_allclose(judge.pose("panda_hand"), target, atol=1e-5)
    pose = compat.Transform()
    assert ik.getPoseForFrame("panda_hand", pose)
    np.testing.assert_allclose(pose.toNumPy(), judge.pose("panda_hand"), atol=1e-12)


@pytest.mark.parametrize("mode", [NONE, ROTATION_ONLY])
def test_a_target_out_of_reach_is_approached_as_closely_as_from_other_starts(mode):
    judge, rng = Judge(UR5), np.random.default_rng(0)
    for _ in range(8):
        judge.place(rng.uniform(-3, 3, size=6))
        target = judge.pose("tool0")
        target[:3, 3] *= 1.15
        distances = []
        for start in (np.zeros(6), *rng.uniform(-3, 3, size=(3, 6))):
            ik = solver(UR5)
            assert ik.addFrameConstraint("base_link", compat.Transform.Identity())
            assert ik.addTarget("tool0", target)
            assert ik.setTargetResolutionMode("tool0", mode)
            assert ik.setFullJointsInitialCondition(compat.Transform.Identity(), start)
            assert ik.solve()
            judge.place_as_solved(ik)
            distances.append(np.linalg.norm(judge.pose("tool0")[:3, 3] - target[:3, 3]))
        assert distances[0] < 1.1 * min(distances) + 1e-6


def test_only_the_considered_joints_move():
    moving = ["panda_joint4", "panda_joint2"]
    judge, ik = Judge(PANDA), solver(PANDA, *moving)
    current = np.array([0.4, -0.3, 0.2, -1.5, 0.3, 1.2, 0.6, 0.01, 0.02])
    assert ik.setCurrentRobotConfiguration(np.eye(4), current)
    assert ik.setJointConfiguration("panda_joint6", 1.0)
    goal = current.copy()
    goal[[1, 3, 5]] = 0.1, -1.9, 1.0
    judge.place(goal)
    target = judge.pose("panda_hand")[:3, 3]
    assert ik.reducedModel().getNrOfDOFs() == 2
    assert ik.addFrameConstraint("panda_link0")
    assert ik.addPositionTarget("panda_hand", compat.Position(target))
    start = current.copy()
    start[[1, 3, 5]] = 0.0, -1.4, 1.0
    assert ik.setFullJointsInitialCondition(None, start)
    assert ik.solve()

    s, _ = judge.place_as_solved(ik)
    reduced, base = compat.VectorDynSize(), compat.Transform()
    ik.getReducedSolution(base, reduced)
    np.testing.assert_allclose(s, goal, atol=1e-4)
    np.testing.assert_array_equal(reduced, s[[3, 1]])
    np.testing.assert_allclose(judge.pose("panda_hand")[:3, 3], target, atol=1e-5)


def test_feet_stay_while_the_center_of_mass_moves_and_the_trunk_rotates():
    judge, ik = Judge(QUADRUPED), solver(QUADRUPED)
    feet = [f"{leg}_FOOT" for leg in ("FL", "FR", "HL", "HR")]
    joints = [ik.fullModel().getJointName(index) for index in range(12)]
    bent = np.array([{"HAA": 0.0, "HFE": 0.7, "KFE": -1.4}[joint[3:]] for joint in joints])
    judge.place(bent)
    positions = {foot: judge.pose(foot)[:3, 3] for foot in feet}
    com = judge.com() + np.array([0.02, 0.01, -0.02])
    turned = compat.Rotation.RPY(0.0, 0.05, 0.1)
    for foot in feet:
        assert ik.addFramePositionConstraint(foot, positions[foot])
    assert ik.addRotationTarget("base_link", turned)
    assert ik.setCOMTarget(compat.Position(com))
    ik.setCOMAsConstraint(True)
    assert ik.setFullJointsInitialCondition(compat.Transform.Identity(), compat.VectorDynSize(bent))
    assert ik.solve()

    judge.place_as_solved(ik)
    for foot in feet:
        np.testing.assert_allclose(judge.pose(foot)[:3, 3], positions[foot], atol=1e-5)
    np.testing.assert_allclose(judge.com(), com, atol=1e-5)
    np.testing.assert_allclose(judge.pose("base_link")[:3, :3], turned.toNumPy(), atol=1e-5)


def test_a_target_may_be_missed_and_a_constraint_may_not():
    judge, ik = Judge(PANDA), solver(PANDA)
    assert ik.addFrameConstraint("panda_link0", np.eye(4))
    assert ik.addPositionTarget("panda_hand", [5.0, 0.0, 0.5])
    assert ik.solve()
    judge.place_as_solved(ik)
    assert judge.pose("panda_hand")[0, 3] > 0.8  # as far as possible

    assert ik.setTargetResolutionMode("panda_hand", POSITION_ONLY)
    assert not ik.solve()
    ik.clearProblem()
    assert not ik.isFrameConstraintActive("panda_link0")


def test_constraints_are_kept_where_targets_exclude_them():
    """A constrained hand stays, while targets move the floating base away."""
    judge, ik = Judge(PANDA), solver(PANDA)
    judge.place(np.array([0.4, -0.3, 0.2, -1.5, 0.3, 1.2, 0.6, 0.01, 0.02]))
    hand, elbow = judge.pose("panda_hand"), judge.pose("panda_link4")[:3, 3]
    assert ik.addFrameConstraint("panda_hand", hand)
    assert ik.addFramePositionConstraint("panda_link4", elbow)
    assert ik.addPositionTarget("panda_link0", [9.0, 0.0, 0.0])
    assert ik.solve()

    judge.place_as_solved(ik)
    np.testing.assert_allclose(judge.pose("panda_hand"), hand, atol=1e-12)
    np.testing.assert_allclose(judge.pose("panda_link4")[:3, 3], elbow, atol=1e-4)
    assert ik.deactivateFrameConstraint("panda_link4")
    assert ik.isFrameConstraintActive("panda_hand")
    assert not ik.isFrameConstraintActive("panda_link4")


def test_limits_hold_and_the_posture_has_an_effect():
    judge, ik = Judge(PANDA), solver(PANDA)
    lower, upper = limits_of(ik)
    lower[0], upper[0] = 0.5, 0.6
    assert ik.setJointLimits(lower, upper)
    np.testing.assert_array_equal(limits_of(ik), [lower, upper])
    posture = np.array([0.55, -0.3, 0.2, -1.5, 0.3, 1.2, 0.6, 0.01, 0.02])
    judge.place(posture)
    assert ik.setFloatingBaseOnFrameNamed("panda_link0")
    assert ik.addFrameConstraint("panda_link0", compat.Transform.Identity())
    assert ik.addTarget("panda_hand", judge.pose("panda_hand"))
    assert ik.setDesiredFullJointsConfiguration(posture, 1e-3)
    assert ik.solve()

    s, _ = judge.place_as_solved(ik)
    np.testing.assert_allclose(s, posture, atol=1e-4)
    with pytest.raises(lw.ArgumentError, match="weight"):
        ik.setDesiredFullJointsConfiguration(posture, np.arange(9.0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda ik: ik.getFullJointsSolution(np.eye(4), np.zeros(9)), "solve"),
        (lambda ik: ik.setModel("robot.urdf"), "Model"),
    ],
)
def test_wrong_arguments_raise_with_the_facts(call, message):
    with pytest.raises(lw.LinkworkError, match=message):
        call(solver(PANDA))
