"""The two visualizers with iDynTree's names: the objects on the page, without a browser."""

from __future__ import annotations

import subprocess
import sys
import urllib.request

import numpy as np
import pytest
from tests.support.idyntree import compat, idyn, loader_of, path_of

import linkwork as lw
from linkwork.compat.idyntree import visualize
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
    monkeypatch.setattr(visualize.webbrowser, "open", addresses.append)
    return addresses


@pytest.fixture
def visualizer(opened):
    page = compat.Visualizer()
    yield page
    page.close()


def node(scene, name):
    return scene.server.scene.get_handle_by_name(name)


def pose(scene, name):
    handle = node(scene, name)
    return lw.spatial.se3.pose(lw.spatial.quat.to_rotation(handle.wxyz), handle.position)


def surfaces(scene, name, link):
    return [handle for handle, _ in scene[name].surfaces[link]]


def link_poses(s, base):
    """Return the poses of the links in iDynTree, by name."""
    kd = idyn.KinDynComputations()
    model = loader_of("iDynTree", ROBOT).model()
    assert kd.loadRobotModel(model)
    kd.setRobotState(base, s, np.zeros(6), 0 * s, np.zeros(3))
    names = [model.getLinkName(index) for index in range(model.getNrOfLinks())]
    return {name: kd.getWorldTransform(name).asHomogeneousTransform().toNumPy() for name in names}


def test_a_robot_has_the_link_poses_of_idyntree(meshcat):
    s, base = np.array([0.3, -1.0, 0.8, 0.2, 0.5, -0.4]), np.eye(4)
    base[:3, :3], base[:3, 3] = Z_TO_X, [1.0, 2.0, 3.0]
    assert meshcat.load_model_from_file(path_of(ROBOT), model_name="arm", color=0.5)
    fixed = meshcat.model["arm"].getNrOfJoints() - 6
    for joints in (
        s,
        np.concatenate([s, np.zeros(fixed)]),
    ):  # iDynTree also expects values for fixed joints
        meshcat.set_multibody_system_state(base[:3, 3], base[:3, :3], np.zeros(6), "arm")
        meshcat.set_multibody_system_state(
            base_position=base[:3, 3],
            base_rotation=base[:3, :3],
            joint_value=joints,
            model_name="arm",
        )
        for name, expected in link_poses(s, base).items():
            np.testing.assert_allclose(pose(meshcat.viewer, f"/arm/{name}"), expected, atol=1e-6)

    drawn = surfaces(meshcat.viewer, "arm", "forearm_link")
    assert drawn
    assert {handle.opacity for handle in drawn} == {0.5}
    meshcat.set_link_color("arm", "forearm_link", [1.0, 0.0, 0.0])
    assert {tuple(handle.color) for handle in drawn} == {(255, 0, 0)}
    with urllib.request.urlopen(meshcat.viewer.url(), timeout=30) as answer:
        assert b"<html" in answer.read()
    assert meshcat.viewer.url() in meshcat.jupyter_cell()._repr_html_()


def test_a_robot_with_another_base_link_and_a_reduced_robot(meshcat):
    loader = compat.ModelLoader()
    assert loader.loadReducedModelFromFile(path_of(ROBOT), ["elbow_joint"])
    assert meshcat.load_model(loader.model(), base_link="forearm_link")
    meshcat.set_multibody_system_state([0.5, 0.0, 0.0], np.eye(3), [0.7])

    assert pose(meshcat.viewer, "/iDynTree/forearm_link")[0, 3] == pytest.approx(0.5)


def test_shapes_are_placed_scaled_hidden_and_deleted(meshcat):
    meshcat.load_sphere(0.1, "ball", [0.0, 1.0, 0.0, 0.5])
    meshcat.load_box(1.0, 2.0, 3.0, shape_name="crate")
    meshcat.load_arrow(0.02, "force/left", color=[0.0, 0.0, 1.0, 1.0])
    meshcat.load_line(np.arange(12.0).reshape(3, 4), 5.0, "way", [1.0, 0.0, 0.0])
    meshcat.set_primitive_geometry_transform([1.0, 2.0, 3.0], Z_TO_X, "ball")
    meshcat.set_arrow_transform(
        origin=[1.0, 0.0, 0.0], vector=[0.0, 3.0, 0.0], shape_name="force/left"
    )
    meshcat.viewer["crate"].set_property(key="visible", value=False)

    np.testing.assert_allclose(pose(meshcat.viewer, "/ball")[:3, :3], Z_TO_X, atol=1e-12)
    (ball,) = surfaces(meshcat.viewer, "ball", "ball")
    assert (tuple(ball.color), ball.opacity) == ((0, 255, 0), 0.5)
    arrow = pose(meshcat.viewer, "/force%2Fleft")
    (shaft,) = surfaces(meshcat.viewer, "force/left", "force/left")
    points = np.asarray(shaft.vertices) @ arrow[:3, :3].T + arrow[:3, 3]
    assert (points[:, 1].min(), points[:, 1].max()) == pytest.approx((0.0, 3.0), abs=1e-6)
    assert abs(points[:, 0] - 1.0).max() == pytest.approx(0.02, abs=1e-4)
    meshcat.set_arrow_transform([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], "force/left")
    assert np.ptp(shaft.vertices[:, 2]) == 0.0
    assert not node(meshcat.viewer, "/crate").visible
    meshcat.delete("ball")
    assert node(meshcat.viewer, "/ball") is None
    meshcat.load_sphere(0.2, "ball")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m: m.set_model_color("arm", 0.5), lw.NameNotFoundError, "robot"),
        (lambda m: m.load_sphere(0.1, "robot"), lw.LinkworkError, "robot"),
        (lambda m: m.delete("nothing"), lw.NameNotFoundError, "nothing"),
        (lambda m: m.set_link_color("robot", "arm", 0.5), lw.NameNotFoundError, "arm"),
        (lambda m: m.set_model_color("robot", [1.0, 2.0]), lw.ShapeError, "color"),
        (lambda m: m.set_model_color("robot", [1.0, 2.0, 0.0]), lw.ValueRangeError, "color"),
        (
            lambda m: m.set_arrow_transform(*np.zeros((2, 3)), "robot"),
            lw.NameNotFoundError,
            "arrow",
        ),
        (lambda m: m.load_line(np.zeros((4, 3)), 1.0, "x"), lw.ShapeError, r"\(4, 3\)"),
        (
            lambda m: m.set_multibody_system_state(np.zeros(3), np.eye(3), np.zeros(4), "robot"),
            lw.ShapeError,
            "6.*4",
        ),
        (lambda m: m.viewer["robot"].set_property("shiny", 1), lw.ArgumentError, "shiny"),
        (lambda m: m.start_recording_animation(), AttributeError, "start_recording_animation"),
        (lambda _: MeshcatVisualizer("tcp://127.0.0.1:6000"), lw.ArgumentError, "zmq_url"),
    ],
)
def test_wrong_arguments_raise_with_the_facts(meshcat, call, error, message):
    meshcat.load_model(loader_of("linkwork", ROBOT).model(), model_name="robot")
    with pytest.raises(error, match=message):
        call(meshcat)


def test_the_visualizer_shows_robots(visualizer, opened):
    options = compat.VisualizerOptions()
    options.winWidth = 1500
    assert visualizer.init(options)
    assert opened == [visualizer.viewer.url()]
    visualizer.enviroment().setElementVisibility("floor_grid", False)
    visualizer.environment().setElementVisibility("world_frame", True)
    visualizer.setColorPalette("meshcat")
    visualizer.camera().setPosition(compat.Position(3.0, 0.0, 0.5))
    visualizer.camera().animator().enableMouseControl(True)
    model = loader_of("linkwork", ROBOT).model()
    assert visualizer.addModel(model, "arm")
    s, base = np.array([0.3, -1.0, 0.8, 0.2, 0.5, -0.4]), np.eye(4)
    base[:3, 3] = [0.0, 0.5, 0.0]
    assert visualizer.modelViz("arm").setPositions(compat.Transform(base), compat.VectorDynSize(s))
    assert visualizer.run()
    visualizer.draw()

    scene = visualizer.viewer
    for name, expected in link_poses(s, base).items():
        np.testing.assert_allclose(pose(scene, f"/arm/{name}"), expected, atol=1e-6)
    robot = visualizer.modelViz(0)
    robot.setModelColor(compat.ColorViz(compat.Vector4_FromPython([1, 0.2, 0.2, 0.2])))
    robot.setLinkColor(model.getLinkIndex("forearm_link"), compat.ColorViz(0.0, 0.0, 1.0, 1.0))
    assert tuple(surfaces(scene, "arm", "upper_arm_link")[0].color) == (255, 51, 51)
    assert tuple(surfaces(scene, "arm", "forearm_link")[0].color) == (0, 0, 255)
    robot.setModelVisibility(False)
    assert not node(scene, "/arm").visible
    frames = visualizer.frames()
    assert frames.updateFrame(frames.addFrame(compat.Transform.Identity()), base)
    np.testing.assert_allclose(pose(scene, "/frames/0"), base)
    assert list(scene.server.initial_camera.position) == [3.0, 0.0, 0.5]
    assert not node(scene, "/ground").visible
    assert visualizer.getModelInstanceName(0) == "arm"
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
