"""A robot seen from a base: its bodies, their order, and that no base is better than another."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tests.support.models import (
    ONE_VELOCITY_AT_MOST,
    assert_close,
    random_inertia,
    random_model,
    random_pose,
    random_q,
)
from tests.support.skeletons import frame_poses
from tests.support.spatial import pin

from linkwork import ModelBuilder, NameNotFoundError, Pose
from linkwork.model.layout import Layout
from linkwork.model.pose import as_pose
from linkwork.model.tree import tree_from

SEEDS = range(8)

each_seed = pytest.mark.parametrize("seed", SEEDS)


def with_base_at(layout, q, world_H_base):
    """The configuration with its base somewhere else."""
    xyzquat = pin.SE3ToXYZQUAT(pin.SE3(world_H_base))
    out = q.copy()
    out[layout.base_position], out[layout.base_wxyz] = xyzquat[:3], np.roll(xyzquat[3:], 1)
    return out


def relative(poses):
    """(n, n, 4, 4) pose of every frame in every other."""
    return np.linalg.inv(poses)[:, None] @ poses[None, :]


def chain(length):
    builder = ModelBuilder("chain")
    builder.add_link("l0")
    for number in range(1, length):
        builder.add_link(f"l{number}")
        ends = [f"l{number - 1}", f"l{number}"]
        kind, place = ("fixed" if number % 7 == 0 else "revolute"), Pose(xyz=(0.01, 0, 0))
        builder.add_joint(f"j{number}", kind, *ends, first_H_joint=place)
    return builder.build()


@each_seed
def test_parents_come_before_children_from_every_base(seed):
    model = random_model(np.random.default_rng(seed), 14)
    for base in model.frame_names:
        tree = tree_from(model, base)
        assert tree.parents[0] == -1
        assert tree.joints[0] is None
        assert all(0 <= parent < body for body, parent in enumerate(tree.parents[1:], start=1))
        assert [body for body, _, _ in tree.outward()] == list(range(1, len(tree.parents)))
        assert list(tree.inward()) == list(tree.outward())[::-1]


@each_seed
def test_every_link_belongs_to_exactly_one_body(seed):
    model = random_model(np.random.default_rng(seed), 14)
    moving = [joint.name for joint in model.joints if joint.kind != "fixed"]
    for base in model.frame_names:
        tree = tree_from(model, base)
        assert sorted(link for links in tree.links for link in links) == sorted(model.link_names)
        assert sorted(joint.name for _, _, joint in tree.outward()) == sorted(moving)
        assert len(tree.links) == len(moving) + 1
        assert model.frame(base).link in tree.links[0]
        for name, body in zip(model.frame_names, tree.frame_bodies, strict=True):
            assert model.frame(name).link in tree.links[body]


@each_seed
def test_joints_lead_from_the_parent_to_the_body(seed):
    model = random_model(np.random.default_rng(seed), 14)
    tree = tree_from(model, model.link_names[5])
    for body, parent, joint in tree.outward():
        near, far = (
            (joint.second, joint.first) if tree.backwards[body] else (joint.first, joint.second)
        )
        assert near in tree.links[parent]
        assert tree.links[body][0] == far


@each_seed
def test_branches_stay_together_in_the_numbering(seed):
    """Depth first: what hangs on a body has the numbers that follow its own."""
    model = random_model(np.random.default_rng(seed), 20)
    tree = tree_from(model)
    for body in range(len(tree.parents)):
        inside = [b for b in range(len(tree.parents)) if body in chain_up(tree, b)]
        assert inside == list(range(body, body + len(inside)))


def chain_up(tree, body):
    found = []
    while body >= 0:
        found.append(body)
        body = tree.parents[body]
    return found


@each_seed
def test_siblings_stand_in_the_order_of_the_joints(seed):
    model = random_model(np.random.default_rng(seed), 20, kinds=["revolute", "planar"])
    tree = tree_from(model)
    for parent in range(len(tree.parents)):
        siblings = [joint.name for _, above, joint in tree.outward() if above == parent]
        assert siblings == sorted(siblings, key=model.joint_index)


@each_seed
def test_path_leads_from_the_base_to_the_frame(seed):
    model = random_model(np.random.default_rng(seed), 14)
    tree = tree_from(model, "frame0")
    for name, body in zip(model.frame_names, tree.frame_bodies, strict=True):
        assert tree.path(name) == tuple(reversed(chain_up(tree, body)))


@pytest.mark.peers
@each_seed
def test_the_base_frame_is_where_q_says(seed):
    """The pose in q is that of the base, also if it is an additional frame."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, 12)
    layout = Layout(model)
    for base in model.frame_names:
        q = random_q(layout, rng)
        pose = frame_poses(tree_from(model, base), layout, q)[model.frame_index(base)]
        wxyz = pin.Quaternion(*q[3:7].tolist())
        assert_close(pose, pin.SE3(wxyz, q[:3]).homogeneous, rtol=1e-14)


@pytest.mark.peers
@each_seed
def test_poses_do_not_depend_on_the_base(seed):
    """Another base with its pose set accordingly changes nothing in the world."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, 14)
    layout = Layout(model)
    q = random_q(layout, rng)
    poses = frame_poses(tree_from(model), layout, q)

    for base in model.frame_names:
        q_there = with_base_at(layout, q, poses[model.frame_index(base)])
        assert_close(frame_poses(tree_from(model, base), layout, q_there), poses, rtol=1e-12)


@each_seed
def test_relative_poses_do_not_depend_on_the_base_of_a_fixed_robot(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, 10)
    layout = Layout(model, floating=False)
    q = random_q(layout, rng)
    expected = relative(frame_poses(tree_from(model), layout, q))

    for base in model.frame_names:
        assert_close(relative(frame_poses(tree_from(model, base), layout, q)), expected, rtol=1e-12)


@each_seed
def test_order_of_joints_does_not_change_poses(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, 12)
    layout, q = Layout(model), random_q(Layout(model), rng)
    order = rng.permutation(len(model.joints))
    shuffled = dataclasses.replace(model, joints=tuple(model.joints[k] for k in order))
    there = Layout(shuffled)
    q_there = np.concatenate([q[:7], *(q[layout.q[name]] for name in there.joint_names)])

    base = model.default_base
    expected = frame_poses(tree_from(model, base), layout, q)
    assert_close(frame_poses(tree_from(shuffled, base), there, q_there), expected, rtol=1e-13)


@each_seed
def test_a_joint_written_from_its_other_link_is_the_same_joint(seed):
    """Ends and mounts swapped and inverted, and the axis turned round."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, 12, kinds=ONE_VELOCITY_AT_MOST)
    turned = dataclasses.replace(model, joints=tuple(map(read_backwards, model.joints)))
    q = random_q(Layout(model), rng)

    for base in model.frame_names:
        expected = frame_poses(tree_from(model, base), Layout(model), q)
        actual = frame_poses(tree_from(turned, base), Layout(turned), q)
        assert_close(actual, expected, rtol=1e-13)


def read_backwards(joint):
    return dataclasses.replace(
        joint,
        first=joint.second,
        second=joint.first,
        axis=tuple(-number for number in joint.axis),
        first_H_joint=as_pose(np.linalg.inv(joint.joint_H_second.matrix())),
        joint_H_second=as_pose(np.linalg.inv(joint.first_H_joint.matrix())),
    )


@pytest.mark.peers
@each_seed
def test_a_fixed_joint_in_between_does_not_change_poses(seed):
    """Split a mount in two and put a link where it was cut."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, 10)
    for cut in model.joints:
        first_H_new = random_pose(rng)
        new_H_joint = pin.SE3(first_H_new.matrix()).inverse() * pin.SE3(cut.first_H_joint.matrix())
        builder = ModelBuilder("cut")
        for link in (*model.link_names, "new"):
            builder.add_link(link)
        for joint in model.joints:
            facts = {f.name: getattr(joint, f.name) for f in dataclasses.fields(joint)}
            del facts["limits"], facts["location"]
            if joint is cut:
                builder.add_joint("glue", "fixed", cut.first, "new", first_H_joint=first_H_new)
                facts |= {"first": "new", "first_H_joint": new_H_joint.homogeneous}
            builder.add_joint(**facts)
        longer = builder.build()
        q = random_q(Layout(model), rng)
        base = model.default_base

        expected = frame_poses(tree_from(model, base), Layout(model), q)[: len(model.links)]
        actual = frame_poses(tree_from(longer, base), Layout(longer), q)[: len(model.links)]
        assert_close(actual, expected, rtol=1e-13)


@pytest.mark.peers
@each_seed
def test_inertias_of_the_tree_add_up_to_those_of_the_links(seed):
    """Mass, center of mass and rotational inertia of the whole robot at rest, by Pinocchio."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, 14)
    for base in model.frame_names:
        tree, layout = tree_from(model, base), Layout(model)
        poses = frame_poses(tree, layout, layout.neutral())
        bodies = {
            body: poses[f] @ np.linalg.inv(tree.body_H_frame[f])
            for f, body in enumerate(tree.frame_bodies)
        }

        by_links = pin.Inertia.Zero()
        for link, pose in zip(model.links, poses, strict=False):
            inertia = pin.Inertia(
                link.inertia.mass, np.array(link.inertia.com), link.inertia.matrix()
            )
            by_links += pin.SE3(pose).act(inertia)
        by_bodies = np.zeros((6, 6))
        for body, parameters in enumerate(tree.inertias):
            m, (hx, hy, hz), (xx, xy, xz, yy, yz, zz) = (
                parameters[0],
                parameters[1:4],
                parameters[4:],
            )
            h = np.array([[0, -hz, hy], [hz, 0, -hx], [-hy, hx, 0]])
            I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])  # noqa: E741 - the usual letter
            X = pin.SE3(bodies[body]).inverse().action
            by_bodies += X.T @ np.block([[m * np.eye(3), -h], [h, I]]) @ X

        assert_close(by_bodies, by_links.matrix(), rtol=1e-13)
        assert_close(tree.inertias[:, 0].sum(), model.total_mass, rtol=1e-14)


def test_a_tree_cannot_be_changed_by_writing_into_it(rng):
    """It is shared by everything computed from it."""
    tree = tree_from(random_model(rng, 8))
    for array in (tree.parent_H_joint, tree.joint_H_body, tree.inertias, tree.body_H_frame):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0


def test_unknown_base_is_refused_with_the_nearest_name(rng):
    with pytest.raises(NameNotFoundError, match=r"frame.*'l9'.*l0, l1, l2"):
        tree_from(chain(3), "l9")


def test_a_single_link_is_a_tree_of_one_body():
    builder = ModelBuilder("brick")
    builder.add_link("brick", inertia=random_inertia(np.random.default_rng(1)))
    tree = tree_from(builder.build())

    assert (tree.links, tree.parents, tree.base) == ((("brick",),), (-1,), "brick")
    assert tree.inertias.shape == (1, 10)
    assert list(tree.outward()) == []


@pytest.mark.parametrize("base", ["l0", "l2500", "l4999"])
def test_a_chain_of_5000_links_is_as_welcome_as_a_short_one(base):
    model = chain(5000)
    tree, layout = tree_from(model, base), Layout(model)
    last = model.frame_index("l4999" if base != "l4999" else "l0")

    pose = frame_poses(tree, layout, layout.neutral())[last]

    sign = -1 if base == "l4999" else 1
    links = 4999 - int(base[1:]) if sign > 0 else 4999
    assert_close(pose[:3, 3], [sign * 0.01 * links, 0, 0], rtol=1e-12)
