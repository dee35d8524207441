"""The two visualizers with iDynTree's names on a page of `linkwork.view`, without a browser."""

from __future__ import annotations

import subprocess
import sys
import webbrowser

import numpy as np
import pytest
from tests.support.idyntree import compat, idyn, loader_of, path_of

import linkwork as lw
from linkwork.compat.idyntree.visualize import MeshcatVisualizer

ROBOT = "ur_description/ur5_robot"
Z_TO_X = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])


@pytest.fixture
def meshcat():
    page = MeshcatVisualizer()
    yield page
    page.close()


@pytest.fixture
def opened(monkeypatch):
    """Record addresses that would be opened in a browser."""
    addresses = []
    monkeypatch.setattr(webbrowser, "open", addresses.append)
    return addresses


@pytest.fixture
def visualizer(opened):
    page = compat.Visualizer()
    yield page
    page.close()


def node(page, name):
    page.viewer.flush()
    return page.viewer.server.scene.get_handle_by_name(name)


def pose(page, name):
    handle = node(page, name)
    return lw.spatial.se3.pose(lw.spatial.quat.to_rotation(handle.wxyz), handle.position)


def assert_shown(page, robot, s, base):
    """The links are where iDynTree has them."""
    kd = idyn.KinDynComputations()
    assert kd.loadRobotModel(loader_of("iDynTree", ROBOT).model())
    kd.setRobotState(base, s, np.zeros(6), 0 * s, np.zeros(3))
    for link in ("shoulder_link", "forearm_link", "wrist_3_link"):
        expected = kd.getWorldTransform(link).asHomogeneousTransform().toNumPy()
        np.testing.assert_allclose(pose(page, f"/{robot}/links/{link}"), expected, atol=1e-6)


def test_a_robot_has_the_link_poses_of_idyntree(meshcat, opened):
    s, base = np.array([0.3, -1.0, 0.8, 0.2, 0.5, -0.4]), np.eye(4)
    base[:3, :3], base[:3, 3] = Z_TO_X, [1.0, 2.0, 3.0]
    meshcat.open()  # before there is a robot
    assert opened == []
    assert meshcat.load_model_from_file(path_of(ROBOT), model_name="arm", color=[1.0, 0.0, 0.0])
    n_joints = loader_of("linkwork", ROBOT).model().getNrOfJoints()
    for joints in (s, np.append(s, np.zeros(n_joints - 6))):  # iDynTree: also for fixed joints
        meshcat.set_multibody_system_state(base[:3, 3], base[:3, :3], np.zeros(6), "arm")
        meshcat.set_multibody_system_state(base[:3, 3], base[:3, :3], joints, model_name="arm")
        assert_shown(meshcat, "arm", s, base)

    assert tuple(node(meshcat, "/arm/links/forearm_link/0").color) == (255, 0, 0)
    meshcat.set_link_color("arm", "forearm_link", [0.0, 0.0, 1.0, 0.5])
    assert tuple(node(meshcat, "/arm/links/forearm_link/0").color) == (0, 0, 255)
    assert_shown(meshcat, "arm", s, base)
    assert opened == [meshcat.viewer.url]
    assert meshcat.viewer.url in meshcat.jupyter_cell()._repr_html_()


def test_a_robot_with_another_base_link_and_a_reduced_robot(meshcat):
    loader = compat.ModelLoader()
    assert loader.loadReducedModelFromFile(path_of(ROBOT), ["elbow_joint"])
    assert meshcat.load_model(loader.model(), base_link="forearm_link")
    meshcat.set_multibody_system_state([0.5, 0.0, 0.0], np.eye(3), [0.7])

    assert pose(meshcat, "/iDynTree/links/forearm_link")[0, 3] == pytest.approx(0.5)


def test_shapes_stay_where_they_were_placed(meshcat):
    meshcat.load_sphere(0.1, "ball", [0.0, 1.0, 0.0, 0.5])
    meshcat.load_box(1.0, 2.0, 3.0, shape_name="crate")
    meshcat.load_arrow(0.1, "force/left")
    meshcat.set_arrow_transform([1.0, 0.0, 0.0], [0.0, 2.0, 0.0], "force/left")
    meshcat.set_primitive_geometry_transform([1.0, 2.0, 3.0], Z_TO_X, "ball")
    for name in ("arm", "other"):  # the second one creates the page again
        meshcat.load_model(loader_of("linkwork", ROBOT).model(), model_name=name)
        ball = node(meshcat, "/shapes/ball/0")
        assert (tuple(ball.color), ball.opacity) == ((0, 255, 0), 0.5)
        np.testing.assert_allclose(pose(meshcat, "/shapes/ball/0")[:3, 3], [1.0, 2.0, 3.0])
        assert np.ptp(node(meshcat, "/shapes/crate/0").vertices, axis=0) == pytest.approx([1, 2, 3])
    meshcat.set_primitive_geometry_transform([4.0, 5.0, 6.0], Z_TO_X, "ball")
    np.testing.assert_allclose(pose(meshcat, "/shapes/ball/0")[:3, 3], [4.0, 5.0, 6.0])
    ends = [[[1.0, 0.0, 0.0], [1.0, 2.0, 0.0]]]
    np.testing.assert_allclose(node(meshcat, "/arrows/force%2Fleft").points, ends)
    meshcat.delete("force/left")
    assert node(meshcat, "/arrows/force%2Fleft") is None
    meshcat.delete("ball")
    assert node(meshcat, "/shapes/ball/0") is None
    meshcat.delete("other")
    assert meshcat.viewer.robots == ("arm",)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m: m.set_model_color("arm", 0.5), lw.NameNotFoundError, "robot"),
        (lambda m: m.load_sphere(0.1, "robot"), lw.LinkworkError, "robot"),
        (lambda m: m.delete("nothing"), lw.NameNotFoundError, "nothing"),
        (lambda m: m.set_link_color("robot", "arm", 0.5), lw.NameNotFoundError, "arm"),
        (lambda m: m.set_model_color("robot", [1.0, 2.0]), lw.ShapeError, "color"),
        (
            lambda m: m.set_multibody_system_state(np.zeros(3), np.eye(3), np.zeros(4), "robot"),
            lw.ShapeError,
            "6.*4",
        ),
        (lambda m: m.set_arrow_transform(*np.zeros((2, 3)), "robot"), KeyError, "arrow"),
        (lambda m: m.load_line(np.zeros((3, 4)), 1.0), AttributeError, "load_line"),
    ],
)
def test_wrong_arguments_raise_with_the_facts(meshcat, call, error, message):
    meshcat.load_model(loader_of("linkwork", ROBOT).model(), model_name="robot")
    with pytest.raises(error, match=message):
        call(meshcat)


def test_the_visualizer_shows_robots(visualizer, opened):
    assert visualizer.init(compat.VisualizerOptions())
    assert visualizer.enviroment().setElementVisibility("floor_grid", False)
    assert visualizer.setColorPalette("meshcat")
    visualizer.camera().setPosition(compat.Position(3.0, 0.0, 0.5))
    visualizer.camera().animator().enableMouseControl(True)
    assert visualizer.addModel(loader_of("linkwork", ROBOT).model(), "arm")
    s, base = np.array([0.3, -1.0, 0.8, 0.2, 0.5, -0.4]), np.eye(4)
    base[:3, 3] = [0.0, 0.5, 0.0]
    assert visualizer.modelViz("arm").setPositions(compat.Transform(base), compat.VectorDynSize(s))

    assert visualizer.run()
    visualizer.draw()

    assert opened == [visualizer.viewer.url]
    assert_shown(visualizer, "arm", s, base)
    visualizer.modelViz(0).setModelColor(compat.ColorViz(1.0, 0.2, 0.2, 0.2))
    assert tuple(node(visualizer, "/arm/links/forearm_link/0").color) == (255, 51, 51)
    assert list(visualizer.viewer.server.initial_camera.position) == [3.0, 0.0, 0.5]
    with pytest.raises(AttributeError, match="drawToFile"):
        visualizer.drawToFile("image.png")
    visualizer.close()
    assert not visualizer.run()


def test_the_viewer_is_imported_only_when_needed():
    code = "import sys, linkwork.compat.idyntree; print('linkwork.viewer' in sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "False"
