"""Where the camera stands and how large things are drawn, for robots of any size."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.viewer.drawing import drawing_of
from linkwork.viewer.robot import ViewedRobot
from linkwork.viewer.scene import (
    FIELD_OF_VIEW,
    PANEL,
    Extent,
    around,
    extent_of,
    margins_of,
    sight_of,
)


def on_page(extent, aspect, width):
    """(n, 2) where points are seen: -1 at the left and lower edge of the page, 1 at the others."""
    position, target = sight_of(extent, aspect, width)
    forward = (target - position) / np.linalg.norm(target - position)
    right = np.cross(forward, [0, 0, 1])
    right /= np.linalg.norm(right)
    seen = (extent.points - position) @ np.stack([right, np.cross(right, forward), forward]).T
    assert seen[:, 2].min() > 0  # in front of the camera
    tangent = np.tan(FIELD_OF_VIEW / 2)
    return seen[:, :2] / seen[:, 2:] / [tangent * aspect, tangent]


@pytest.mark.parametrize(("aspect", "width"), [(1.5, 1280), (1.15, 1050), (1.3, 800), (0.6, 400)])
@pytest.mark.parametrize("size", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 0.1, 0.1), (0.1, 5, 0.1), (0.1, 0.1, 5)])
def test_the_scene_fills_the_area_left_of_the_controls(rng, size, shape, aspect, width):
    extent = around([size * np.array(shape) * rng.uniform(size=(50, 3))])
    across, high = on_page(extent, aspect, width).T
    left, right, down, up = margins_of(aspect, width)
    if aspect > 1:  # the controls are at the right
        assert (1 + right) * width / 2 <= width - PANEL + 1e-9

    assert across.min() >= -left - 1e-9
    assert across.max() <= right + 1e-9
    assert high.min() >= -down - 1e-9
    assert high.max() <= up + 1e-9
    assert max(np.ptp(across) / (left + right), np.ptp(high) / (up + down)) > 0.5


def test_a_scene_of_one_point_or_none_can_be_seen():
    for extent in (around([]), around([np.ones((1, 3))])):
        assert np.isfinite(sight_of(extent)).all()
        assert extent.cell > 0


@pytest.mark.parametrize(("reach", "cell"), [(1.2, 0.1), (0.001, 1e-4), (100, 10), (39, 1)])
def test_lines_on_the_ground_are_powers_of_ten_apart(reach, cell):
    assert Extent(np.array([[0, 0, 0], [reach, 0, 0]]), 0.0).cell == pytest.approx(cell)


def test_the_ground_is_at_the_feet():
    robot = ViewedRobot(lw.robots.load("quadruped"))
    extent = extent_of([robot], [drawing_of(robot.kd.model)])

    assert extent.ground == extent.points[:, 2].min() < -0.1
    assert around([np.array([[0.0, 0.0, 2.0]])]).ground == 0


@pytest.mark.parametrize("size", [1e-3, 100.0])
def test_what_is_drawn_over_a_robot_has_its_size(size):
    links = [lw.Link(name=name, inertia=lw.solid_sphere(1.0, 0.1 * size)) for name in "abc"]
    joints = [
        lw.Joint(
            name=f"j{k}",
            kind="revolute",
            first=links[k].name,
            second=links[k + 1].name,
            axis=(0, 1, 0),
            first_H_joint=lw.Pose((0.3 * size, 0, size)),
        )
        for k in range(2)
    ]
    model = lw.Model(name="m", links=tuple(links), joints=tuple(joints))
    with lw.view(model, port=0) as viewer:
        viewer.look(com=True, torques=True)
        viewer.inspect("c", manipulability=True)
        viewer.frames("c")
        viewer.flush()
        node = viewer.server.scene.get_handle_by_name
        sizes = [
            node("/m/frames/c").axes_length,
            node("/m/com").radius,
            node("/m/torques").batched_scales.max(),
            node("/m/manipulability").batched_scales.max(),
        ]
        assert all(0.005 * size < own < size for own in sizes)
        assert 0.01 * size < node("/ground").cell_size < size
        assert viewer.server.initial_camera.near < 0.1 * size
