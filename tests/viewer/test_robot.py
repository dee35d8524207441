"""A robot that is looked at: sliders, dragging, what is shown; without any page."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import linkwork as lw
from linkwork.model.joints import KINDS
from linkwork.viewer.joints import Slider, slider_values, sliders_of, with_slider
from linkwork.viewer.robot import ViewedRobot
from linkwork.viewer.robot_controller import frame_tree


def chain_of_all_kinds():
    body = lw.solid_box(1.0, (0.1, 0.1, 0.1), com=(0.05, 0.0, 0.1))
    kinds = [kind for kind in KINDS if kind != "fixed"]
    links = [lw.Link(name=f"l{k}", inertia=body) for k in range(len(kinds) + 1)]
    pose = lw.Pose((0.0, 0.1, 0.2), (0.3, 0.0, 0.0))
    joints = [
        lw.Joint(name=kind, kind=kind, first=f"l{k}", second=f"l{k + 1}", first_H_joint=pose)
        for k, kind in enumerate(kinds)
    ]
    return lw.Model(name="chain", links=tuple(links), joints=tuple(joints))


@pytest.fixture(scope="module")
def arm():
    return lw.robots.load("arm")


def test_sliders_stay_within_the_limits(arm):
    kd = lw.KinDyn(arm)
    sliders = sliders_of(kd)

    assert [s.joint for s in sliders] == list(kd.joint_names)
    np.testing.assert_allclose([s.lower for s in sliders], kd.limits.lower)
    np.testing.assert_allclose([s.upper for s in sliders], kd.limits.upper)
    assert all(0 < s.step <= (s.upper - s.lower) / 100 for s in sliders)
    assert Slider("a", "a", 0, -1.0, 1.0).shown(3.0) == 1.0


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [
        (-np.inf, np.inf, (-np.pi, np.pi)),
        (5.0, np.inf, (5.0, 5.0 + 2 * np.pi)),
        (-np.inf, -5.0, (-5.0 - 2 * np.pi, -5.0)),
        (0.5, 0.5, (0.5, 0.5)),
    ],
)
def test_a_joint_without_a_limit_has_a_slider_all_the_same(lower, upper, expected):
    joint = lw.Joint(
        name="j", kind="revolute", first="a", second="b", limits=lw.Limits(lower=lower, upper=upper)
    )
    model = lw.Model(name="m", links=(lw.Link(name="a"), lw.Link(name="b")), joints=(joint,))
    (slider,) = sliders_of(lw.KinDyn(model))

    assert (slider.lower, slider.upper) == pytest.approx(expected)
    assert slider.step > 0


@pytest.mark.parametrize(
    ("lower", "upper", "ends"),
    [
        (-1.308997, 1.308997, (-1.308, 1.308)),
        (-2.9, 2.9, (-2.9, 2.9)),
        (0.0, 0.04, (0.0, 0.04)),
        (-6.283185, 6.283185, (-6.28, 6.28)),
        (0.5, 0.5, (0.5, 0.5)),
        (-1e-30, 1e-30, (-1e-30, 1e-30)),
    ],
)
def test_sliders_end_at_short_numbers_within_the_limits(lower, upper, ends):
    slider = Slider("a", "a", 0, lower, upper)

    assert slider.ends == pytest.approx(ends, rel=1e-12)
    assert slider.shown(10.0) == slider.ends[1]
    assert lower <= slider.shown(-10.0) <= slider.shown(10.0) <= upper


def test_sliders_of_any_kind_of_joint_lead_to_where_they_point(rng):
    kd = lw.KinDyn(chain_of_all_kinds())
    sliders = sliders_of(kd)
    q = kd.neutral()
    wanted = rng.uniform(-0.6, 0.6, len(sliders))
    for slider, value in zip(sliders, wanted, strict=True):
        q = with_slider(kd, q, slider, value)

    assert len(sliders) == kd.nv - 6
    np.testing.assert_allclose(slider_values(kd, q), wanted, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(kd.normalize(q), q, rtol=1e-12, atol=1e-15)


def test_a_robot_starts_within_its_limits():
    robot = ViewedRobot(lw.robots.load("quadruped"))
    lower, upper = robot.kd.limits.lower, robot.kd.limits.upper

    assert (robot.q[7:] >= lower).all()
    assert (robot.q[7:] <= upper).all()
    assert robot.fixed


def test_what_is_shown_agrees_with_a_fixed_robot(arm, rng):
    fixed = lw.KinDyn(arm, floating=False)
    robot = ViewedRobot(fixed)
    s, sd = fixed.random(seed=3), rng.normal(size=fixed.nv)
    robot.q, robot.nu = robot.configuration(s), robot.velocity(sd)

    for mine, theirs in (
        (robot.poses(), fixed.transforms(s)),
        (robot.com(), fixed.com(s)),
        (robot.gravity_force(), fixed.gravity_force(s)),
        (robot.jacobian("tool"), fixed.jacobian("tool", s)),
        (robot.frame_velocity("tool"), fixed.velocity("tool", s, sd)),
    ):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(robot.efforts(), fixed.limits.effort)


def test_a_floating_robot_shows_its_base_too():
    robot = ViewedRobot(lw.KinDyn(lw.robots.load("quadruped")))

    assert not robot.fixed
    assert robot.gravity_force().shape == (12,)


def test_base_and_gravity_are_taken_from_the_given(arm):
    pose = lw.Pose((1.0, 2.0, 0.5), (0.0, 0.0, 0.3))
    given = lw.KinDyn(arm, floating=False, base_pose=pose, gravity=(0, 0, -1), base="tool")
    robot = ViewedRobot(given, "mine")

    np.testing.assert_allclose(robot.base_pose, pose.matrix(), atol=1e-12)
    np.testing.assert_allclose(robot.pose("tool"), pose.matrix(), atol=1e-12)
    assert (robot.kd.gravity, robot.name) == ((0, 0, -1), "mine")


def test_axes_of_joints_are_where_velocities_vanish(arm):
    """A point on the axis of a joint does not move when only that joint turns."""
    robot = ViewedRobot(arm)
    robot.q = robot.configuration(lw.KinDyn(arm, floating=False).random(seed=5))
    axes = robot.joint_axes()
    for k, slider in enumerate(robot.sliders):
        joint = arm.joint(slider.joint)
        J = robot.kd.jacobian(joint.second, robot.q)[:, 6 + k]
        axis, at = axes[k, :3, 2], axes[k, :3, 3]
        if joint.kind == "prismatic":
            np.testing.assert_allclose(np.cross(J[:3], axis), 0, atol=1e-12)
            continue
        np.testing.assert_allclose(J[3:], axis, atol=1e-12)
        there = robot.pose(joint.second)[:3, 3]
        np.testing.assert_allclose(J[:3] + np.cross(J[3:], at - there), 0, atol=1e-12)


def test_a_dragged_frame_goes_where_it_is_dragged(arm):
    robot = ViewedRobot(arm)
    robot.q = robot.configuration(lw.KinDyn(arm, floating=False).random(seed=8))
    target = robot.pose("tool").copy()
    robot.q = robot.q + np.array([0] * 7 + [0.1] * (robot.kd.nq - 7))
    base = robot.base_pose
    done = robot.drag("tool", target)

    assert done.reached
    assert str(done) == "reached"
    np.testing.assert_allclose(robot.pose("tool"), target, atol=2e-4)
    np.testing.assert_array_equal(robot.base_pose, base)


def test_a_frame_that_cannot_be_reached_gets_as_near_as_it_can(arm):
    robot = ViewedRobot(arm)
    target = robot.pose("tool").copy()
    target[:3, 3] = [5.0, 0.0, 0.5]
    done = robot.drag("tool", target, position_only=True)

    assert not done.reached
    assert done.distance == pytest.approx(np.linalg.norm(robot.pose("tool")[:3, 3] - target[:3, 3]))
    assert "mm" in str(done)
    moved = ViewedRobot(arm)
    assert moved.drag("tool", target, with_base=True).reached


def test_bad_configurations_are_rejected(arm):
    robot = ViewedRobot(arm)
    n = robot.kd.nq - 7

    with pytest.raises(lw.ShapeError, match=rf"expected \({n},\) joints or \({n + 7},\) with the"):
        robot.configuration([1.0])
    with pytest.raises(lw.ValueRangeError, match="is not finite"):
        robot.configuration([np.nan] * n)
    with pytest.raises(lw.ArgumentError, match="'q'"):
        robot.configuration("q")
    with pytest.raises(lw.ShapeError, match="nu of 'arm'"):
        robot.velocity([1.0])
    drifted = robot.q.copy()
    drifted[3:7] *= 1 + 1e-6
    np.testing.assert_allclose(np.linalg.norm(robot.configuration(drifted)[3:7]), 1, rtol=1e-14)


def test_the_tree_of_frames_lists_each_once_and_children_after_parents():
    model = lw.robots.load("humanoid")
    tree = frame_tree(model, model.default_base)

    assert sorted(name for _, name in tree) == sorted(model.frame_names)
    assert tree[0] == (0, model.default_base)
    for (depth, _), (after, _) in pairwise(tree):
        assert after <= depth + 1


def test_forces_of_a_robot_that_stands_on_one_foot():
    """They are those of the same robot with the foot as its fixed base."""
    model = lw.robots.load("humanoid")
    robot = ViewedRobot(model)
    robot.q = robot.kd.random(seed=3)
    on_foot = lw.KinDyn(model, "l_foot", floating=False, base_pose=robot.pose("l_foot"))
    assert on_foot.joint_names == robot.kd.joint_names

    robot.support = "l_foot"

    expected = on_foot.gravity_force(robot.q[7:])
    np.testing.assert_allclose(robot.gravity_force(), expected, atol=1e-10)
    robot.support = robot.base_link
    np.testing.assert_array_equal(robot.gravity_force(), robot.kd.gravity_force(robot.q)[6:])
