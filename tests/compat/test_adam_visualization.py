"""adam's `Visualizer` on a page of `linkwork.view`."""

from __future__ import annotations

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
from linkwork.compat.adam.visualization import Visualizer

H = np.eye(4)
H[:3, 3] = 1.0, 2.0, 3.0


@pytest.fixture
def page():
    visualizer = Visualizer(port=0, world_axes=True, ground=True, camera_position=(2.0, 0.0, 1.0))
    yield visualizer
    visualizer.close()


@pytest.fixture(scope="module")
def kindyn():
    return KinDynComputations(solids(), JOINTS)


def position(page, robot, link):
    page.page.viewer.flush()
    return page.scene.get_handle_by_name(f"/{robot}/links/{link}").position


@pytest.mark.parametrize("kind", [KinDynComputations, OfJax, OfTorch, OfCasadi])
def test_links_are_shown_at_their_poses(page, kindyn, kind):
    expected = kindyn.link_poses(H, np.ones(3))
    robot = page.add_model(kind(solids(), JOINTS), root_name="/robot", show_frames=True)
    convert = {OfJax: jnp.asarray, OfTorch: torch.tensor}.get(kind, np.asarray)
    robot.update(convert(H), convert(np.ones(3)))

    np.testing.assert_allclose(
        position(page, "robot", "shank"), expected["shank"][:3, 3], atol=1e-6
    )
    assert list(page.server.initial_camera.position) == [2.0, 0.0, 1.0]


def test_a_robot_that_is_added_later_is_on_the_same_page(page, kindyn):
    page.add_model(kindyn, name="first", joint_positions=np.ones(3))
    url = page.page.viewer.url
    page.add_model(kindyn, name="second", base_transform=H)

    assert page.page.viewer.url == url
    assert list(page.models) == ["/first", "/second"]
    poses = kindyn.link_poses(np.eye(4), np.ones(3)), kindyn.link_poses(H, np.zeros(3))
    for name, expected in zip(("first", "second"), poses, strict=True):
        np.testing.assert_allclose(
            position(page, name, "shank"), expected["shank"][:3, 3], atol=1e-6
        )
    page.update(H, np.zeros(3))  # the first one
    np.testing.assert_allclose(
        position(page, "first", "shank"), poses[1]["shank"][:3, 3], atol=1e-6
    )


def test_wrong_arguments_raise_with_the_facts(page, kindyn):
    for use in (lambda: page.update(np.eye(4), [0.0]), lambda: page.scene):
        with pytest.raises(RuntimeError, match="add_model"):
            use()
    robot = page.add_model(kindyn, name="robot")
    with pytest.raises(ValueError, match=r"joint_positions: expected \(3,\), got \(2,\)"):
        robot.update(np.eye(4), np.zeros(2))
    with pytest.raises(ValueError, match="'robot'"):
        page.add_model(kindyn, name="robot")
    with pytest.raises(TypeError, match="KinDynComputations"):
        Visualizer(lw.robots.load("arm"))
    with pytest.raises(TypeError, match="server"):
        Visualizer(server=page.server)
