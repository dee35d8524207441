"""Collisions in the viewer: colliding links in red, closest points, collision shapes."""

from __future__ import annotations

import numpy as np
from tests.support.page import Page, soon

import linkwork as lw
from linkwork.viewer.drawing import COLLIDING, FREE


def two_arms():
    b = lw.ModelBuilder("two_arms")
    rod = [lw.Shape(lw.Capsule(0.05, 0.5), lw.Pose((0.0, 0.0, 0.25)))]
    b.add_link("table", inertia=lw.solid_box(10.0, (1.0, 1.0, 0.1)))
    for name, x in (("left", -0.2), ("right", 0.2)):
        b.add_link(f"{name}_arm", inertia=lw.solid_box(1.0, (0.1, 0.1, 0.5)), collisions=rod)
        mount = lw.Pose((x, 0.0, 0.0))
        b.add_joint(
            name, "revolute", "table", f"{name}_arm", axis=(0.0, 1.0, 0.0), first_H_joint=mount
        )
    return b.build()


def test_colliding_links_are_red_and_near_ones_are_connected():
    model = two_arms()
    robot = lw.CollisionModel(model, floating=False)
    with lw.view(model, port=0) as viewer:
        viewer.look(collisions=True)

        def handle(name):
            return viewer.server.scene.get_handle_by_name(f"/two_arms/{name}")

        for q, color in ((np.array([0.5, -0.5]), COLLIDING), (np.array([0.28, -0.28]), FREE)):
            viewer.show(q)
            viewer.flush()
            assert robot.in_collision(q) == (color == COLLIDING)
            for link in robot.links:
                shapes = handle(f"collisions/{link}")
                assert tuple(shapes.color) == color
                assert shapes.visible
                at = lw.KinDyn(model, floating=False).transform(link, q)[:3, 3]
                np.testing.assert_allclose(shapes.position, at, atol=1e-6)
            points = robot.witness_points(q)
            expected = np.stack([points.first, points.second], axis=-2)
            np.testing.assert_allclose(handle("near").points, expected, atol=1e-6)
        viewer.show([0.0, 0.0])
        viewer.flush()
        assert not handle("near").visible
        viewer.look(collisions=False)
        viewer.flush()
        assert not handle("collisions/left_arm").visible


def test_collisions_of_a_cell_are_shown():
    box = [lw.Shape(lw.Box((0.2, 0.2, 0.2)))]
    cell = lw.WorkCell("cell").with_frame("table", collisions=[lw.Shape(lw.Sphere(0.3))])
    cell = cell.with_frame("box", "WORLD", lw.Pose((0.0, 0.0, 0.35)), movable=True, collisions=box)
    cell = cell.with_frame("far", "WORLD", lw.Pose((2.0, 0.0, 0.0)), movable=True, collisions=box)
    with lw.view(cell, port=0) as viewer, Page(viewer) as page:

        def colors():
            scene = viewer.server.scene
            names = [f"/cell/links/{name}/0" for name in ("table", "box", "far")]
            return [tuple(scene.get_handle_by_name(name).color) == COLLIDING for name in names]

        assert colors() == [False, False, False]
        page.set("Collision", True)
        soon(lambda: colors() == [True, True, False])
        viewer.show(cell.set_pose(cell.state(), "box", lw.Pose((0.0, 0.0, 0.5))))
        viewer.flush()
        assert colors() == [False, False, False]
