"""Obstacles in the scene: what is drawn is what the planner avoids."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.viewer.drawing import OBSTACLE, linear

BOX = [0.5, 0.1, 0.2, np.cos(0.3), 0.0, 0.0, np.sin(0.3), 0.2, 0.3, 0.4]


@pytest.fixture
def viewer():
    with lw.view(lw.load("pendulum"), port=0) as viewer:
        yield viewer


def vertices(viewer, name):
    """(n, vertices, 3) of the bodies of a node, in the world."""
    handle = viewer.server.scene.get_handle_by_name(f"/obstacles/{name}")
    assert handle is not None, name
    R = lw.spatial.quat.to_rotation(np.asarray(handle.batched_wxyzs, float))
    scaled = handle.vertices[None] * handle.batched_scales[:, None]
    return scaled @ R.transpose(0, 2, 1) + handle.batched_positions[:, None]


def test_bodies_are_drawn_where_they_are(viewer):
    spheres, capsule = [[0.3, 0, 0.5, 0.1], [0, 0.4, 0, 0.2]], [0, 0, 0, 0, 0.3, 0.4, 0.05]
    viewer.obstacles(
        lw.Obstacles(
            spheres, points=[[1, 1, 1]], point_radius=0.03, capsules=[capsule], boxes=[BOX],
            half_spaces=[[0, 0, 1, -0.9]],
        )
    )  # fmt: skip

    for row, points in zip([*spheres, [1, 1, 1, 0.03]], vertices(viewer, "spheres"), strict=True):
        np.testing.assert_allclose(np.linalg.norm(points - row[:3], axis=1), row[3], rtol=1e-4)
    box, plate = vertices(viewer, "boxes")
    H = lw.spatial.se3.pose(lw.spatial.quat.to_rotation(np.array(BOX[3:7])), np.array(BOX[:3]))
    local = (box - H[:3, 3]) @ H[:3, :3]
    np.testing.assert_allclose(np.ptp(local, axis=0), BOX[7:], rtol=1e-5)
    np.testing.assert_allclose(box.mean(axis=0), BOX[:3], atol=1e-6)
    assert plate[:, 2].max() == pytest.approx(-0.9)
    assert np.ptp(plate, axis=0)[:2].min() > 2  # larger than the robot
    (round_body,) = vertices(viewer, "capsule 0")
    start, end = np.array(capsule[:3]), np.array(capsule[3:6])
    along = np.clip((round_body - start) @ (end - start) / 0.25, 0, 1)
    distance = np.linalg.norm(round_body - start - along[:, None] * (end - start), axis=1)
    np.testing.assert_allclose(distance, 0.05, rtol=1e-3)


def test_obstacles_replace_those_before_and_shapes_are_drawn_too(viewer):
    shape = lw.Shape(lw.Sphere(0.1), lw.Pose((1.0, 0.0, 0.0)))
    viewer.obstacles([shape, shape])
    assert vertices(viewer, "spheres").shape[0] == 2
    viewer.obstacles([shape], color=(10, 20, 30))
    assert vertices(viewer, "spheres").shape[0] == 1
    handle = viewer.server.scene.get_handle_by_name("/obstacles/spheres")
    np.testing.assert_array_equal(handle.batched_colors, linear(np.array([[10, 20, 30]])))
    assert OBSTACLE != (10, 20, 30)
    viewer.obstacles(())
    assert viewer.server.scene.get_handle_by_name("/obstacles/spheres") is None


def test_what_cannot_be_drawn_is_rejected(viewer):
    with pytest.raises(lw.ShapeError, match=r"one state.*spheres \(2, 1, 4\)"):
        viewer.obstacles(lw.Obstacles(np.full((2, 1, 4), 0.1)))
    with pytest.raises(lw.ArgumentError, match=r"obstacles.*Shapes.*3"):
        viewer.obstacles(3)
