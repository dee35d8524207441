"""Closed loops in the viewer: sliders and buttons keep them closed, and open ones are shown."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.linkages import four_bar, gripper, parallel_ankle
from tests.support.page import Page, soon

import linkwork as lw
from linkwork.viewer.drawing import CLOSED, OPEN, linear
from linkwork.viewer.robot import ViewedRobot


@pytest.fixture(scope="module")
def kd():
    return lw.KinDyn(four_bar(), floating=False)


def slide(robot, joint, value):
    [slider] = [one for one in robot.sliders if one.label == joint]
    return robot.move_slider(slider, value)


@pytest.mark.parametrize(
    ("make", "joint"), [(four_bar, "a"), (parallel_ankle, "ankle 1"), (gripper, "right_tip")]
)
def test_a_slider_moves_the_others_so_that_the_loops_stay_closed(make, joint):
    robot = ViewedRobot(make())
    assert not robot.open_loops()
    base, labels = robot.q[:7].copy(), [slider.label for slider in robot.sliders]
    before = robot.slider_values()
    assert slide(robot, joint, 0.3)
    after = robot.slider_values()
    assert after[labels.index(joint)] == 0.3
    assert not robot.open_loops()
    assert np.count_nonzero(after != before) > 1
    np.testing.assert_array_equal(robot.q[:7], base)


def test_a_slider_stops_where_the_loops_cannot_be_closed(kd):
    """The rocker of a four-bar swings between two positions: crank and coupler in line."""
    robot = ViewedRobot(kd)
    robot.q = robot.configuration(lw.assemble(kd, kd.q(a=0.5, d=0.8)).q)
    ends = [np.arccos((r**2 - 0.7**2 - 0.6**2) / (2 * 0.7 * 0.6)) for r in (1.2, 0.4)]
    for value, end in ((0.1, ends[0]), (3.0, ends[1])):
        assert not slide(robot, "d", value)
        assert not robot.open_loops()
        np.testing.assert_allclose(robot.slider_values()[2], end, atol=1e-3)


def test_a_crank_that_turns_comes_back_to_where_it_was():
    """Long ways are followed in small steps: the mechanism does not change its assembly mode."""
    robot = ViewedRobot(four_bar())
    assert slide(robot, "a", 0.5)
    start = robot.q.copy()
    for value in (3.1, -3.1, 0.5):
        assert slide(robot, "a", value)
    np.testing.assert_allclose(robot.q, start, atol=1e-8)


def test_a_dragged_frame_keeps_the_loops_closed(kd):
    robot = ViewedRobot(kd)
    robot.q = robot.configuration(lw.assemble(kd, kd.q(a=0.5, d=0.8)).q)
    target = kd.transform("coupler", lw.assemble(kd, kd.q(a=0.9, d=0.8), fixed=["a"]).q)
    assert robot.drag("coupler", target, position_only=True).reached
    assert not robot.open_loops()
    np.testing.assert_allclose(robot.q[7], 0.9, atol=1e-3)
    target[2, 3] += 1.0
    result = robot.drag("coupler", target)
    assert not result.reached
    assert not robot.open_loops()


def test_a_robot_that_cannot_be_assembled_is_shown_open():
    model = four_bar().with_constraint("point", "crank", second_xyz=(9, 0, 0), name="rope")
    robot = ViewedRobot(model)
    assert "rope" in robot.open_loops()
    assert not slide(robot, "a", 0.4)
    assert robot.slider_values()[0] == 0.4


def test_the_page_keeps_and_shows_loops(kd):
    def loop_colors():
        return viewer.server.scene.get_handle_by_name("/four_bar/loops").batched_colors

    def is_closed():
        return np.abs(kd.constrained().error(viewer.q())).max() < 1e-9

    with lw.view(kd, port=0) as viewer, Page(viewer) as page:
        page.set("a", 0.8)
        soon(lambda: viewer.q()[0] == 0.8)
        viewer.flush()
        assert is_closed()
        soon(lambda: "revolute, coupler to rocker" in page.text())
        assert "closed" in page.text()
        np.testing.assert_array_equal(loop_colors(), linear(np.array([CLOSED, CLOSED])))
        # a program may show any configuration: the gap is drawn
        viewer.show([0.5, 0.2, 0.3])
        viewer.flush()
        soon(lambda: "open: c" in page.text())
        np.testing.assert_array_equal(loop_colors(), linear(np.array([OPEN, OPEN])))
        first = kd.transform("coupler", viewer.q()) @ lw.Pose((0.8, 0, 0)).matrix()
        second = kd.transform("rocker", viewer.q()) @ lw.Pose((0.6, 0, 0)).matrix()
        gap = viewer.server.scene.get_handle_by_name("/four_bar/gaps")
        assert gap.visible
        np.testing.assert_allclose(gap.points[0], [first[:3, 3], second[:3, 3]], atol=1e-6)
        # the next slider closes it, as do the buttons
        page.set("d", 1.2)
        soon(lambda: viewer.q()[2] == 1.2)
        soon(is_closed)
        for posture in ("random", "neutral"):
            viewer.show([0.5, 0.2, 0.3])
            page.set("All joints", posture)
            soon(is_closed)
        viewer.show(lw.assemble(kd, kd.q(a=0.5, d=0.8)).q)
        viewer.flush()  # else it may be shown after the slider has moved
        page.set("d", 3.0)
        soon(lambda: "d stopped" in page.text())
        viewer.flush()
        soon(lambda: page.control("d")["value"] < 2.6)
        viewer.look(loops=False)
        viewer.flush()
        assert not viewer.server.scene.get_handle_by_name("/four_bar/loops").visible
