"""Forward kinematics: closed forms, an independent product of matrices, batches."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.models import ALL_KINDS, BATCHES, assert_close, random_model, random_q
from tests.support.skeletons import frame_poses, walked_poses

from linkwork import ModelBuilder, Pose
from linkwork.model.layout import Layout
from linkwork.model.tree import tree_from

SEEDS = range(12)


def planar_arm(a=0.7, b=0.4):
    """Two links that turn about z, and a tool at the end of the second."""
    builder = ModelBuilder("arm")
    for link in ("base", "upper", "lower"):
        builder.add_link(link)
    builder.add_joint("shoulder", "revolute", "base", "upper")
    builder.add_joint("elbow", "revolute", "upper", "lower", first_H_joint=Pose(xyz=(a, 0, 0)))
    builder.add_frame("tool", "lower", Pose(xyz=(b, 0, 0)))
    return builder.build()


@pytest.mark.parametrize(("s1", "s2"), [(0, 0), (0.3, -1.1), (2.5, 3.1), (-100.0, 0.5)])
def test_planar_arm_reaches_where_trigonometry_says(s1, s2):
    model = planar_arm(a=0.7, b=0.4)

    poses = frame_poses(tree_from(model), Layout(model, floating=False), [s1, s2])
    tool = poses[model.frame_index("tool")]

    c, s = np.cos(s1 + s2), np.sin(s1 + s2)
    x, y = 0.7 * np.cos(s1) + 0.4 * c, 0.7 * np.sin(s1) + 0.4 * s
    assert_close(tool, [[c, -s, 0, x], [s, c, 0, y], [0, 0, 1, 0], [0, 0, 0, 1]], rtol=4e-15)


def test_screw_advances_by_its_pitch_for_each_radian():
    builder = ModelBuilder("press")
    builder.add_link("frame")
    builder.add_link("ram")
    builder.add_joint("screw", "helical", "frame", "ram", pitch=0.01)
    model = builder.build()

    poses = frame_poses(tree_from(model), Layout(model, floating=False), [2 * np.pi * 5])

    assert_close(poses[1][:3, 3], [0, 0, 0.1 * np.pi], rtol=4e-15)
    assert_close(poses[1][:3, :3], np.eye(3), rtol=1e-14)


def test_floating_base_stands_where_q_says():
    model = planar_arm()
    half = np.sqrt(0.5)
    q = [1.0, 2.0, 3.0, half, 0.0, 0.0, half, 0.0, 0.0]  # a quarter turn about z

    poses = frame_poses(tree_from(model), Layout(model), q)

    assert_close(poses[0], [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]], rtol=4e-15)
    assert_close(poses[-1][:3, 3], [1.0, 2.0 + 1.1, 3.0], rtol=4e-15)


@pytest.mark.peers
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("floating", [True, False])
def test_random_robots_stand_where_a_walk_over_their_graph_says(seed, floating):
    rng = np.random.default_rng(seed)
    model = random_model(rng, 14)
    layout = Layout(model, floating=floating)
    base = str(rng.choice(model.frame_names))
    q = random_q(layout, rng)

    poses = frame_poses(tree_from(model, base), layout, q)

    assert_close(poses, walked_poses(model, base, q, floating), rtol=1e-13)


@pytest.mark.peers
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_robots_of_one_kind_of_joint_stand_where_a_walk_says(kind, rng):
    """Long chains of one kind, where an error of that kind has nowhere to hide."""
    model = random_model(rng, 9, kinds=[kind])
    layout = Layout(model)
    q = random_q(layout, rng)

    poses = frame_poses(tree_from(model), layout, q)

    assert_close(poses, walked_poses(model, model.default_base, q, floating=True), rtol=1e-13)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("floating", [True, False])
def test_batches_hold_what_single_calls_give(batch, floating, rng):
    model = random_model(rng, 12)
    layout, tree = Layout(model, floating=floating), tree_from(model)
    q = random_q(layout, rng, batch)

    poses = frame_poses(tree, layout, q)

    assert poses.shape == (*batch, len(model.frame_names), 4, 4)
    for at in np.ndindex(batch):
        assert_close(poses[at], frame_poses(tree, layout, q[at]), rtol=4e-15)


@pytest.mark.parametrize("batch", BATCHES)
def test_robots_without_coordinates_keep_the_batch(batch, rng):
    model = random_model(rng, 5, kinds=["fixed"])
    layout = Layout(model, floating=False)

    poses = frame_poses(tree_from(model), layout, np.zeros((*batch, 0)))

    assert poses.shape == (*batch, len(model.frame_names), 4, 4)


def test_not_a_number_stays_on_the_branch_it_enters(rng):
    """What hangs elsewhere is still known."""
    model = planar_arm()
    layout = Layout(model, floating=False)

    poses = frame_poses(tree_from(model), layout, [0.5, np.nan])

    assert np.isfinite(poses[model.frame_index("upper")]).all()
    assert np.isnan(poses[model.frame_index("lower")]).any()
