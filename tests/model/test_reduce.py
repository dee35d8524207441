"""Locked joints, lumped links, another root: what moves still moves and weighs the same."""

from __future__ import annotations

import copy
import sysconfig
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.support.models import (
    ONE_VELOCITY_AT_MOST,
    assert_close,
    random_model,
    random_q,
    random_theta,
)
from tests.support.skeletons import frame_poses
from tests.support.spatial import pin

from linkwork import (
    Inertia,
    Mimic,
    ModelBuilder,
    ModelError,
    NameNotFoundError,
    Pose,
    ShapeError,
    load,
)
from linkwork.model.geometry import Box, Shape
from linkwork.model.layout import Layout
from linkwork.model.pose import IDENTITY
from linkwork.model.reduce import lumped, reduced, rerooted
from linkwork.model.tree import tree_from

SEEDS = range(8)
ROBOTS = Path(sysconfig.get_paths()["purelib"], "cmeel.prefix/share/example-robot-data/robots")

each_seed = pytest.mark.parametrize("seed", SEEDS)


def poses_of(model, q, base=None, *, floating=True):
    found = frame_poses(tree_from(model, base), Layout(model, floating=floating), q)
    return dict(zip(model.frame_names, found, strict=True))


def whole_inertia(model, poses):
    """Spatial inertia of the whole robot about the origin of the world, by Pinocchio."""
    total = pin.Inertia.Zero()
    for link in model.links:
        inertia = pin.Inertia(link.inertia.mass, np.array(link.inertia.com), link.inertia.matrix())
        total += pin.SE3(poses[link.name]).act(inertia)
    return total.matrix()


def momentum(model, base, q, q_dot):
    """(6,) momentum of the whole robot about the origin of the world, by differences of poses."""

    def world_H(t):
        return frame_poses(tree_from(model, base), Layout(model), q + t * q_dot)

    weights, step = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}, 0.01
    rates = sum(w * (world_H(k * step) - world_H(-k * step)) for k, w in weights.items()) / step
    total = np.zeros(6)
    for link, pose, rate in zip(model.links, world_H(0.0), rates, strict=False):
        spin = np.linalg.inv(pose) @ rate
        v = np.array([*spin[:3, 3], spin[2, 1], spin[0, 2], spin[1, 0]])
        inertia = pin.Inertia(link.inertia.mass, np.array(link.inertia.com), link.inertia.matrix())
        total += pin.SE3(pose).act(inertia * pin.Motion(v)).vector
    return total


def random_choice(model, rng):
    """Some joints to keep in some order, and positions for some of the others."""
    names = rng.permutation(Layout(model).joint_names).tolist()
    half = len(names) // 2
    positions = {
        name: random_theta(model.joint(name).kind, rng)
        for name in names[half:]
        if rng.random() < 0.7
    }
    return names[:half], positions


def spread(model, kept, positions, base_q, kept_q):
    """The configuration of the whole robot that a reduced one stands for."""
    layout = Layout(model)
    q = layout.neutral()
    q[:7] = base_q
    for name, theta in {**positions, **kept_q}.items():
        q[layout.q[name]] = theta
    return q


@pytest.mark.peers
@each_seed
def test_a_reduced_robot_stands_as_the_whole_one_with_its_joints_locked(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, 16)
    kept, positions = random_choice(model, rng)
    small = reduced(model, kept, positions)
    layout = Layout(small)
    base = model.default_base

    assert layout.joint_names == tuple(kept)
    assert (small.links, small.frames, small.name) == (model.links, model.frames, model.name)
    assert sorted(small.joint_names) == sorted(model.joint_names)
    for _ in range(3):
        q = random_q(layout, rng)
        kept_q = {name: q[layout.q[name]] for name in kept}
        whole = poses_of(model, spread(model, kept, positions, q[:7], kept_q), base)
        found = poses_of(small, q, base)
        for name, pose in whole.items():
            assert_close(found[name], pose, rtol=1e-13)
        assert_close(whole_inertia(small, found), whole_inertia(model, whole), rtol=1e-13)


@pytest.mark.peers
@each_seed
def test_lumped_robots_move_and_weigh_the_same(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, 16)
    small = lumped(model)
    q, base = random_q(Layout(model), rng), model.default_base
    q_dot = rng.normal(size=q.size) * np.r_[np.zeros(7), np.ones(q.size - 7)]
    for name in Layout(model).joint_names:  # stay on circles and spheres to first order
        if model.joint(name).motion_kind.nq > 1:
            q_dot[Layout(model).q[name]] = 0.0

    found, whole = poses_of(small, q, base), poses_of(model, q, base)

    moving = tuple(joint.name for joint in model.joints if joint.kind != "fixed")
    assert small.joint_names == moving
    assert sorted(small.frame_names) == sorted(model.frame_names)
    assert len(small.links) == len(tree_from(model).links)
    for name, pose in whole.items():
        assert_close(found[name], pose, rtol=1e-12)
    assert_close(small.total_mass, model.total_mass, rtol=4e-15)
    assert_close(whole_inertia(small, found), whole_inertia(model, whole), rtol=1e-12)
    expected = momentum(model, base, q, q_dot)
    assert_close(momentum(small, base, q, q_dot), expected, rtol=1e-10)


def test_lumping_twice_is_lumping_once(rng):
    small = lumped(random_model(rng, 16))
    assert lumped(small) == small


def test_lumping_a_robot_without_fixed_joints_changes_nothing(rng):
    model = random_model(rng, 10, kinds=["revolute", "spherical"])
    assert lumped(model) == model


def test_lumped_links_keep_their_shapes_where_they_were():
    builder = ModelBuilder("m")
    cube = Shape(Box((1.0, 1.0, 1.0)), Pose(xyz=(0, 0, 0.5)))
    builder.add_link("a", inertia=Inertia(1.0), visuals=[cube])
    builder.add_link("b", inertia=Inertia(1.0), visuals=[cube], collisions=[cube])
    turn = Pose(xyz=(1, 0, 0), rpy=(np.pi / 2, 0, 0))
    builder.add_joint("weld", "fixed", "a", "b", first_H_joint=turn)

    link = lumped(builder.build()).link("a")

    places = [shape.link_H_shape.matrix() for shape in link.visuals]
    assert_close(places[0], cube.link_H_shape.matrix(), rtol=4e-15)
    assert_close(places[1], turn.matrix() @ cube.link_H_shape.matrix(), rtol=4e-15)
    assert len(link.collisions) == 1
    assert link.inertia.mass == 2.0
    assert link.inertia.com == (0.5, 0.0, 0.0)


@pytest.mark.peers
@each_seed
def test_rerooted_robots_move_and_weigh_the_same(seed):
    """Joints point outward and sit on their links; coordinates keep their meaning."""
    rng = np.random.default_rng(seed)
    model = random_model(rng, 12, kinds=ONE_VELOCITY_AT_MOST)
    q = random_q(Layout(model), rng)
    for base in model.link_names:
        other = rerooted(model, base)

        found, whole = poses_of(other, q, base), poses_of(model, q, base)

        assert other.default_base == base
        assert (other.joint_names, other.frame_names) == (model.joint_names, model.frame_names)
        assert all(joint.joint_H_second == IDENTITY for joint in other.joints)
        assert not any(tree_from(other, base).backwards)
        for frame in (base, *(frame.name for frame in model.frames)):
            assert_close(found[frame], whole[frame], rtol=1e-12)
        assert_close(whole_inertia(other, found), whole_inertia(model, whole), rtol=1e-12)


@each_seed
def test_rerooting_at_the_default_base_is_the_default(seed):
    model = random_model(np.random.default_rng(seed), 8, kinds=ONE_VELOCITY_AT_MOST)
    assert rerooted(model) == rerooted(model, model.default_base)


def gripper():
    builder = ModelBuilder("gripper")
    for link in ("palm", "thumb", "finger", "tip", "ball"):
        builder.add_link(link, inertia=Inertia(1.0))
    builder.add_joint("grasp", "revolute", "palm", "thumb")
    builder.add_joint(
        "curl", "revolute", "palm", "finger", mimic=Mimic(joint="grasp", multiplier=2, offset=0.5)
    )
    builder.add_joint(
        "slide",
        "prismatic",
        "finger",
        "tip",
        axis=(1, 0, 0),
        mimic=Mimic(joint="curl", multiplier=3),
    )
    builder.add_joint("socket", "spherical", "palm", "ball")
    return builder.build()


def test_a_locked_joint_takes_along_what_mimics_it():
    """curl = 2 * 0.25 + 0.5, and slide = 3 * curl."""
    model = gripper()

    small = reduced(model, ["socket"], {"grasp": 0.25})

    assert Layout(small).followers == {}
    poses = poses_of(small, [1.0, 0, 0, 0], floating=False)
    assert_close(np.arctan2(poses["finger"][1, 0], poses["finger"][0, 0]), 1.0, rtol=4e-15)
    assert_close(poses["tip"][:3, 3], [3 * np.cos(1.0), 3 * np.sin(1.0), 0], rtol=4e-15)
    assert {joint.kind for joint in small.joints} == {"fixed", "spherical"}


def test_a_kept_joint_keeps_what_mimics_it():
    small = reduced(gripper(), ["grasp"])

    assert Layout(small).joint_names == ("grasp",)
    assert set(Layout(small).followers) == {"curl", "slide"}
    assert small.joint("socket").kind == "fixed"


def test_keeping_all_joints_in_order_changes_nothing():
    model = gripper()
    kept = reduced(model, ["grasp", "socket"])

    assert sorted(kept.joints, key=str) == sorted(model.joints, key=str)


def test_positions_are_normalised_before_they_lock():
    small = reduced(gripper(), [], {"socket": [3.0, 0, 0, 3.0]})

    ball = poses_of(small, [], floating=False)["ball"]

    assert_close(ball[:3, :3], [[0, -1, 0], [1, 0, 0], [0, 0, 1]], rtol=4e-15)


@pytest.mark.parametrize(
    ("kept", "positions", "error", "text"),
    [
        (["grip"], {}, NameNotFoundError, "moving joint.*'grip'.*grasp, socket"),
        (
            ["sockets"],
            {},
            NameNotFoundError,
            "moving joint.*'sockets'.*'socket'",
        ),
        ([], {"gras": 1}, NameNotFoundError, "moving joint.*'gras'.*'grasp'"),
        (["grasp", "grasp"], {}, ModelError, "joint 'grasp': .*twice"),
        (
            ["grasp"],
            {"grasp": 0.0},
            ModelError,
            "joint 'grasp': .*move.*locked",
        ),
        (["curl"], {}, ModelError, "joint 'curl': mimics 'grasp'"),
        ([], {"slide": 1.0}, ModelError, "joint 'slide': mimics 'curl'"),
        ([], {"grasp": np.nan}, ModelError, r"joint 'grasp': position \[nan\].*finite"),
        ([], {"grasp": [1, 2]}, ShapeError, r"joint 'grasp': theta: .*\(..., 1\).*\(2,\)"),
        ([], {"socket": 1.0}, ShapeError, r"joint 'socket': theta: .*\(..., 4\).*\(1,\)"),
    ],
)
def test_reductions_that_make_no_sense_are_refused(kept, positions, error, text):
    with pytest.raises(error, match=text):
        reduced(gripper(), kept, positions)


def test_fixed_joints_cannot_be_kept_moving():
    model = reduced(gripper(), [])
    with pytest.raises(ModelError, match=r"^joint 'socket': .*fixed"):
        reduced(model, ["socket"])


def test_a_quaternion_of_zeros_is_no_position_to_lock_at():
    with pytest.raises(ModelError, match=r"^joint 'socket': position "):
        reduced(gripper(), [], {"socket": [0, 0, 0, 0]})


def test_a_batch_of_positions_is_no_position_to_lock_at():
    with pytest.raises(ShapeError, match=r"^joint 'grasp': "):
        reduced(gripper(), [], {"grasp": [[0.1], [0.2]]})


def test_rerooting_refuses_to_turn_joints_whose_coordinates_would_change():
    with pytest.raises(ModelError, match=r"^joint 'socket': .*spherical"):
        rerooted(gripper(), "ball")
    with pytest.raises(NameNotFoundError, match=r"link.*'bal'.*'ball'"):
        rerooted(gripper(), "bal")


def test_nothing_changes_the_model_it_is_given(rng):
    model = random_model(rng, 14)
    twin = copy.deepcopy(model)
    kept, positions = random_choice(model, rng)
    copies = {name: theta.copy() for name, theta in positions.items()}

    reduced(model, kept, positions)
    lumped(model)

    assert model == twin
    assert all(np.array_equal(positions[name], copies[name]) for name in copies)


@pytest.mark.peers
@pytest.mark.parametrize(
    "file",
    [
        "talos_data/robots/talos_reduced.urdf",
        "panda_description/urdf/panda.urdf",
        "g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf",
        "ur_description/urdf/ur5_robot.urdf",
    ],
)
def test_reduced_robots_have_the_inertias_of_pinocchio(file, rng):
    """Mass, center of mass, and the inertia of every body in the frame of its joint."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = load(ROBOTS / file, mimic=False)
    theirs = pin.buildModelFromUrdf(str(ROBOTS / file), pin.JointModelFreeFlyer())
    layout = Layout(model)
    locked = rng.permutation(layout.joint_names)[::2].tolist()
    q = random_q(layout, rng)
    q_pin = pin.neutral(theirs)
    q_pin[:7] = np.r_[q[:3], np.roll(q[3:7], -1)]
    for name in layout.joint_names:
        q_pin[theirs.joints[theirs.getJointId(name)].idx_q] = q[layout.q[name]].item()
    small_pin = pin.buildReducedModel(theirs, [theirs.getJointId(name) for name in locked], q_pin)

    kept = [name for name in layout.joint_names if name not in locked]
    small = reduced(model, kept, {name: q[layout.q[name]] for name in locked})
    tree, merged = tree_from(small), lumped(small)

    order = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]  # Pinocchio has Iyy before Ixz
    for body, joint in enumerate(tree.joints):
        number = small_pin.getJointId(joint.name if joint else "root_joint")
        expected = small_pin.inertias[number].toDynamicParameters()[order]
        assert_close(tree.inertias[body], expected, rtol=1e-12)
        ours = merged.link(tree.links[body][0]).inertia
        assert_close(ours.matrix(), small_pin.inertias[number].inertia, rtol=1e-9, scale=ours.mass)
        assert_close(ours.com, small_pin.inertias[number].lever, rtol=1e-12, scale=1.0)

    poses = poses_of(model, q)
    com = pin.centerOfMass(theirs, theirs.createData(), q_pin)
    total = whole_inertia(model, poses)
    assert_close(model.total_mass, pin.computeTotalMass(theirs), rtol=1e-14)
    assert_close(total[[5, 3, 4], [1, 2, 0]] / model.total_mass, com[[0, 1, 2]], rtol=1e-12)
