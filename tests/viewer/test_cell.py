"""A workcell on the page: devices, gripping, moving things."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.page import Page, soon

import linkwork as lw
from linkwork.viewer.cell import ViewedCell


@pytest.fixture(scope="module")
def cell():
    return lw.load_workcell("pick_and_place")


def test_a_device_is_a_robot_that_moves_in_the_state(cell):
    viewed = ViewedCell(cell)
    robot = viewed.robots["arm"]
    robot.q = robot.configuration(np.full(7, 0.01))
    viewed.take("arm")

    np.testing.assert_allclose(cell.device("arm").get_q(viewed.state), 0.01)
    for name, frame in robot.behind.names.items():
        np.testing.assert_allclose(
            robot.pose(name), cell.world_H_frame(frame, viewed.state), atol=1e-12
        )


def test_what_is_gripped_moves_along_and_is_felt(cell):
    viewed = ViewedCell(cell)
    robot = viewed.robots["arm"]
    before = robot.gravity_force()
    free = robot.total_mass()
    viewed.grip("can", "arm.tcp")
    assert robot.total_mass() == pytest.approx(free + cell.frame("can").inertia.mass)
    assert not np.allclose(robot.gravity_force(), before, atol=1e-3)
    at = cell.world_H_frame("can", viewed.state)
    robot.q = robot.configuration(np.full(7, 0.01))
    viewed.take("arm")
    assert not np.allclose(cell.world_H_frame("can", viewed.state), at, atol=1e-2)
    viewed.release("can")
    assert cell.parent("can", viewed.state) == "WORLD"
    expected = cell.dynamics("arm").gravity_force(viewed.state)
    np.testing.assert_allclose(robot.gravity_force(), expected)


@pytest.mark.parametrize("name", ["two_arms", "mobile_manipulator"])
def test_other_cells_have_their_robots(name):
    cell = lw.load_workcell(name)
    viewed = ViewedCell(cell)

    assert set(viewed.robots) == ({"left", "right"} if name == "two_arms" else {"arm"})
    for robot in viewed.robots.values():
        end = cell.device(robot.name).end
        own = next(n for n, frame in robot.behind.names.items() if frame == end)
        pose = cell.world_H_frame(end, viewed.state)
        np.testing.assert_allclose(robot.pose(own), pose, atol=1e-12)


def test_an_arm_on_a_cart_is_carried_along():
    cell = lw.load_workcell("mobile_manipulator")
    viewed = ViewedCell(cell)
    base = cell.device("cart").base
    before = viewed.robots["arm"].base_pose
    pose = cell.world_H_frame(base, viewed.state).copy()
    pose[0, 3] += 0.7
    viewed.move(base, pose)

    np.testing.assert_allclose(viewed.robots["arm"].base_pose[0, 3], before[0, 3] + 0.7)


CALIBRATED = """<WorkCell name="cell"><SerialDevice name="arm"><Frame name="Base"/>
<Joint name="J1" type="Revolute"><RPY>0 0 0</RPY><Pos>0 0 1</Pos></Joint>
<Frame name="Calibration" type="Movable"><RPY>0 0 0</RPY><Pos>0 2 0</Pos></Frame>
<Joint name="J2" type="Revolute"><RPY>0 0 0</RPY><Pos>1 0 0</Pos></Joint>
</SerialDevice></WorkCell>"""


def test_an_arm_with_a_movable_frame_between_its_joints_is_a_robot(tmp_path):
    """Its poses follow the frame, which the arm does not drive."""
    (tmp_path / "cell.wc.xml").write_text(CALIBRATED)
    cell = lw.load_workcell(tmp_path / "cell.wc.xml")
    viewed = ViewedCell(cell)
    robot = viewed.robots["arm"]
    for x in (0.0, 0.7):
        pose = cell.world_H_frame("arm.Calibration", viewed.state).copy()
        pose[0, 3] += x
        viewed.move("arm.Calibration", pose)
        robot.q = robot.configuration([0.3, 0.2])
        viewed.take("arm")
        for name, frame in robot.behind.names.items():
            expected = cell.world_H_frame(frame, viewed.state)
            np.testing.assert_allclose(robot.pose(name), expected, atol=1e-12)
        axis = cell.world_H_frame("arm.J2", viewed.state)
        np.testing.assert_allclose(robot.joint_axes()[1][:3, 3], axis[:3, 3], atol=1e-12)
    np.testing.assert_allclose(cell.device("arm").get_q(viewed.state), [0.3, 0.2])


def test_a_floating_robot_in_a_cell_moves_its_base():
    cell = lw.WorkCell("c").with_frame("table", parent_H_frame=lw.Pose((0.0, 0.0, 0.8)))
    cell = cell.with_robot("dog", lw.robots.load("quadruped"), parent="table", floating=True)
    viewed = ViewedCell(cell)
    robot = viewed.robots["dog"]
    robot.move_base((1.0, 2.0, 3.0), (1.0, 0.0, 0.0, 0.0))
    viewed.take("dog")

    found = cell.world_H_frame("dog." + robot.kd.base, viewed.state)
    np.testing.assert_allclose(found[:3, 3], [1, 2, 3])
    np.testing.assert_allclose(robot.base_pose, found, atol=1e-12)
    assert robot.gravity_force().shape == (12,)


def test_frames_are_drawn_where_they_are_and_the_page_grips(cell):
    with lw.view(cell, port=0) as viewer:
        node = viewer.server.scene.get_handle_by_name
        with Page(viewer) as page:
            page.set("Object", "ball")
            page.set("", "grip")
            soon(lambda: cell.parent("ball", viewer.state) == "arm.tcp")
            far = f"{viewer._cell.viewed.distance('ball', 'arm.tcp'):.2g} m from arm.tcp"
            soon(lambda: any(far in text for text in page.notifications))
            viewer.show(np.full(7, 0.01), robot="arm")
            viewer.flush()
            pose = cell.world_H_frame("ball", viewer.state)
            np.testing.assert_allclose(node("/pick_and_place/links/ball").position, pose[:3, 3])
            soon(lambda: "on arm.tcp" in page.text())
            page.set("", "release")
            soon(lambda: "on arm.tcp" not in page.text())
            target = cell.world_H_frame("ball", cell.state())[:3, 3] + [0.0, 0.0, 0.02]
            viewer.show(cell.ik(cell.state(), {"arm.tcp": target}).state)
            count = len(page.notifications)
            page.set("", "grip")
            soon(lambda: "on arm.tcp" in page.text())
            assert len(page.notifications) == count  # near enough
            page.set("", "release")
            page.set("Move", "cube")
            soon(lambda: node("/pick_and_place/move") is not None)
            wanted = (0.3, 0.2, 0.9)

            def moved():
                return np.allclose(cell.world_H_frame("cube", viewer.state)[:3, 3], wanted)

            page.drag("/pick_and_place/move", wanted, moved)
        viewer.show(cell.state())
        viewer.flush()
        pose = cell.world_H_frame("cube", cell.state())
        np.testing.assert_allclose(node("/pick_and_place/links/cube").position, pose[:3, 3])
        viewer.grip("cube", "arm.tcp")
        assert cell.parent("cube", viewer.state) == "arm.tcp"
        viewer.release("cube")
        assert cell.parent("cube", viewer.state) == "WORLD"


def test_a_frame_of_a_device_is_dragged_in_the_world(cell):
    with lw.view(cell, port=0) as viewer:
        viewer.drag("tcp", robot="arm")
        viewer.flush()
        start = cell.world_H_frame("arm.tcp", viewer.state)
        target = start[:3, 3] + np.array([0.02, 0.05, 0.03])
        with Page(viewer) as page:
            wxyz = lw.spatial.quat.from_rotation(start[:3, :3])

            def there():
                here = cell.world_H_frame("arm.tcp", viewer.state)[:3, 3]
                return np.allclose(here, target, atol=3e-4)

            page.drag("/arm/drag", target, there, wxyz)


def test_bad_use_is_rejected(cell):
    other = lw.load_workcell("two_arms")
    with pytest.raises(lw.ArgumentError, match="a workcell is shown alone"):
        lw.view(cell, lw.robots.load("arm"))
    with pytest.raises(lw.ArgumentError, match="state: is for a workcell"):
        lw.view(lw.robots.load("arm"), state=cell.state())
    with pytest.raises(lw.StateError):
        lw.view(cell, state=other.state())
    batch = cell.device("arm").path(cell.state(), np.zeros((3, 7)))
    with pytest.raises(lw.ShapeError, match="state"):
        lw.view(cell, state=batch)


def test_the_page_shows_the_mass_of_what_is_carried_and_how_far_the_gripper_is(cell):
    with lw.view(cell, port=0) as viewer:
        viewed = ViewedCell(cell)
        distance, free = viewed.distance("can", "arm.tcp"), viewed.robots["arm"].total_mass()
        assert distance > 0.1
        with Page(viewer) as page:
            page.set("Object", "can")
            page.set("Gripper", "arm.tcp")
            soon(lambda: f"{distance:.3g} m" in page.text())
            soon(lambda: f"{free:.5g} kg" in page.text())
            viewer.grip("can", "arm.tcp")
            carried = free + cell.frame("can").inertia.mass
            soon(lambda: f"{carried:.5g} kg" in page.text())
