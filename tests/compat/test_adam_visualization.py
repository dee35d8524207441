"""adam's `Visualizer` on a viser page: poses of links, surfaces, sliders."""

from __future__ import annotations

import inspect

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from tests.support.parametric import JOINTS, solids

import linkwork as lw
from linkwork.compat.adam import KinDynComputations
from linkwork.compat.adam.casadi import KinDynComputations as OfCasadi
from linkwork.compat.adam.jax import KinDynComputations as OfJax
from linkwork.compat.adam.pytorch import KinDynComputations as OfTorch
from linkwork.compat.adam.visualization import ModelHandle, Visualizer

URDF = """<robot name="two">
  <link name="base"><visual name="block"><origin xyz="0 0 0.1"/>
    <geometry><box size="0.2 0.3 0.4"/></geometry></visual></link>
  <link name="arm"><visual><geometry><cylinder radius="0.05" length="0.3"/></geometry>
    <material name="red"><color rgba="1 0 0 0.5"/></material></visual></link>
  <joint name="elbow" type="revolute"><parent link="base"/><child link="arm"/>
    <origin xyz="0 0 1"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="2" effort="1" velocity="1"/></joint>
</robot>"""


@pytest.fixture
def page():
    visualizer = Visualizer(port=0, world_axes=True, ground=True, camera_position=(2.0, 0.0, 1.0))
    yield visualizer
    visualizer.close()


@pytest.fixture(scope="module")
def kindyn():
    with pytest.warns(lw.LinkworkWarning):  # the links have no inertia
        return KinDynComputations(URDF, ["elbow"])


def node(visualizer, path):
    return visualizer.scene.get_handle_by_name(path)


def test_links_are_shown_at_their_poses(page, kindyn):
    robot = page.add_model(kindyn, root_name="/robot", show_frames=True)
    H = np.eye(4)
    H[:3, 3] = 1.0, 2.0, 3.0
    robot.update(H, [np.pi / 2])
    np.testing.assert_allclose(node(page, "/robot/base").position, [1, 2, 3])
    np.testing.assert_allclose(node(page, "/robot/arm").position, [1, 2, 4])
    half = np.sqrt(0.5)
    np.testing.assert_allclose(node(page, "/robot/arm").wxyz, [half, 0, 0, half], atol=1e-12)
    np.testing.assert_allclose(node(page, "/robot/base/block").position, [0, 0, 0.1])
    block = node(page, "/robot/base/block").vertices
    np.testing.assert_allclose(np.ptp(block, axis=0), [0.2, 0.3, 0.4], rtol=1e-6)
    arm = node(page, "/robot/arm/visual_0")
    assert (tuple(arm.color), arm.opacity) == ((255, 0, 0), 0.5)
    assert tuple(node(page, "/robot/base/block").color) == (160, 160, 160)


@pytest.mark.parametrize("kind", [OfJax, OfTorch, OfCasadi])
def test_robots_of_every_framework_are_shown(page, kind):
    expected = KinDynComputations(solids(), JOINTS).link_poses(np.eye(4), np.ones(3))
    robot = page.add_model(kind(solids(), JOINTS), name="robot")
    convert = {OfJax: jnp.asarray, OfTorch: torch.tensor}.get(kind, np.asarray)
    robot.update(convert(np.eye(4)), convert(np.ones(3)))
    position = node(page, "/robot/shank").position
    np.testing.assert_allclose(position, expected["shank"][:3, 3], atol=1e-6)


def test_sliders_move_the_robot(page, kindyn):
    page.add_model(kindyn)
    sliders = page.add_joint_sliders(initial_joint_positions=[0.3])
    slider = sliders["elbow"]
    assert (slider.min, slider.max, slider.value) == (-1.0, 2.0, 0.3)
    assert page.add_joint_sliders() is sliders
    page.models["/two"]._moved(0, type("Event", (), {"target": type("T", (), {"value": 0.5})}))
    np.testing.assert_allclose(
        node(page, "/two/arm").wxyz, [np.cos(0.25), 0, 0, np.sin(0.25)], atol=1e-12
    )
    page.models["/two"]._reset(np.array([0.3]), None)
    assert slider.value == 0.3
    np.testing.assert_allclose(
        node(page, "/two/arm").wxyz, [np.cos(0.15), 0, 0, np.sin(0.15)], atol=1e-12
    )


def test_users_nodes_are_added_by_name(page, kindyn):
    robot = page.add_model(kindyn, root_name="robot/")
    assert page.scene_path("debug/box") == "/debug/box"
    assert robot.scene_path("tool") == "/robot/tool"
    assert robot.scene_path("/world/tool") == "/world/tool"
    page.add_box("box", root_name=robot.root_name, dimensions=(0.1, 0.1, 0.1), color=(1, 2, 3))
    page.add_scene_node("add_frame", "/target", show_axes=False)
    assert node(page, "/robot/box") is not None
    assert node(page, "/target") is not None
    with pytest.raises(AttributeError, match="add_nothing"):
        page.add_nothing("x")


def test_slashes_in_names_of_links_do_not_nest_nodes(page):
    """A node moves with its parent, which would move the second link twice."""
    with pytest.warns(lw.LinkworkWarning):
        kindyn = KinDynComputations(URDF.replace('"arm"', '"base/arm"'), ["elbow"])
    page.add_model(kindyn, root_name="/robot")
    np.testing.assert_allclose(node(page, "/robot/base%2Farm").position, [0, 0, 1])
    assert node(page, "/robot/base/arm") is None


def test_several_robots_on_one_page_and_an_existing_server(page, kindyn):
    shared = Visualizer(kindyn, server=page.server)
    shared.close()  # the page stays open, as it was opened by the program
    page.add_model(kindyn, root_name="/other", joint_positions=[1.0])
    assert list(page.models) == ["/other"]
    assert node(page, "/adam/base/block") is not None
    with pytest.raises(ValueError, match="'/other'"):
        page.add_model(kindyn, root_name="/other")


def test_wrong_arguments_raise_with_the_facts(page, kindyn):
    with pytest.raises(RuntimeError, match="add_model"):
        page.update(np.eye(4), [0.0])
    robot = page.add_model(kindyn)
    with pytest.raises(ValueError, match=r"joint_positions: expected \(1,\), got \(2,\)"):
        robot.update(np.eye(4), np.zeros(2))
    with pytest.raises(ValueError, match="base_transform"):
        robot.update(np.eye(3), np.zeros(1))
    with pytest.raises(TypeError, match="KinDynComputations"):
        Visualizer(lw.robots.load("arm"))


def test_arguments_are_those_of_adam():
    """Those of the newest version; adam 0.5 has no Visualizer."""
    names = list(inspect.signature(Visualizer).parameters)
    assert names[:5] == ["kindyn", "server", "host", "port", "up_direction"]
    options = ["show_frames", "axes_length", "axes_radius", "origin_radius", "default_color"]
    assert names[-6:] == ["root_name", *options]
    ends = ["base_transform", "joint_positions"]
    of_model = list(inspect.signature(Visualizer.add_model).parameters)
    assert of_model == ["self", "kindyn", "name", "root_name", *options, *ends]
    sliders = list(inspect.signature(ModelHandle.add_joint_sliders).parameters)
    expected = ["folder_name", "expand_by_default", "step", "initial_joint_positions"]
    assert sliders == ["self", *expected]
