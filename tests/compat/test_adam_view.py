"""linkwork's adam interface: construction, model, shapes, errors."""

from __future__ import annotations

import pickle
from pathlib import Path

import adam
import adam.numpy
import numpy as np
import pytest
from tests.support.adam import (
    CHAIN,
    GRAVITY,
    REPRESENTATIONS,
    AtIDynTree,
    State,
    adam_kindyn,
    adam_model,
    quietly,
    readable,
)
from tests.support.models import assert_close
from tests.support.real_robots import ROBOT_FILES, label

import linkwork as lw
from linkwork.compat.adam import KinDynComputations, Representations
from linkwork.compat.adam.core import SpatialMath
from linkwork.compat.adam.model import read_adam_model
from linkwork.compat.adam.numpy import RBDAlgorithms

BODY, MIXED, INERTIAL = REPRESENTATIONS


@pytest.fixture(scope="module")
def kd():
    return KinDynComputations(CHAIN)


@pytest.fixture
def state(kd):
    kd.set_frame_velocity_representation(MIXED)
    return State(kd.NDoF)


def test_representations_are_those_of_adam(kd):
    assert {r.name: int(r) for r in Representations} == {
        r.name: int(r) for r in adam.Representations
    }
    kd.set_frame_velocity_representation(adam.Representations.BODY_FIXED_REPRESENTATION)
    assert kd.frame_velocity_representation == BODY


@pytest.mark.parametrize("path", ROBOT_FILES, ids=label)
def test_the_model_is_that_of_adam(path):
    """Links, frames, joints, their types and limits, the root, and the order of the tree."""
    xml = readable(path.read_bytes())
    theirs, actual = adam_model(xml), quietly(read_adam_model, xml)

    assert actual.actuated_joints == theirs.actuated_joints
    assert list(actual.links) == list(theirs.links)
    assert list(actual.frames) == list(theirs.frames)
    assert list(actual.joints) == list(theirs.joints)
    assert list(actual.tree.ordered_nodes_list) == theirs.tree.ordered_nodes_list
    assert [node.name for node in actual.tree] == [node.name for node in theirs.tree]
    assert (actual.root, actual.NDoF) == (theirs.tree.root, theirs.NDoF)
    assert (actual.name, actual.N) == (theirs.name, theirs.N)
    for name, joint in theirs.joints.items():
        ours = actual.joints[name]
        assert [ours.parent, ours.child, ours.type] == [joint.parent, joint.child, joint.type]
        assert ours.idx == joint.idx
        for bound in ("lower", "upper", "effort", "velocity"):
            assert getattr(ours.limit, bound) == getattr(joint.limit, bound), name
        assert ours.origin.xyz.tolist() == joint.origin.xyz.array.tolist()
    for name, link in theirs.links.items():
        assert_close(
            actual.links[name].spatial_inertia(), link.spatial_inertia().array, 1e-12, scale=1e-3
        )
    chains = [
        model.get_joints_chain(model.tree.root, list(model.links)[-1]) for model in (theirs, actual)
    ]
    assert [joint.name for joint in chains[0]] == [joint.name for joint in chains[1]]


def test_the_model_has_the_properties_of_the_file(kd):
    model = kd.model
    assert (model.name, model.NDoF, model.N) == ("chain", 2, 4)
    assert list(model.links) == ["base", "slider", "arm", "weightless"]
    assert list(model.frames) == ["tip"]
    assert model.actuated_joints == ["slide", "turn"]
    assert [model.joints[n].type for n in ("slide", "turn", "tip_joint")] == [
        *("prismatic", "continuous", "fixed"),
    ]
    assert model.joints["turn"].limit.upper == 2 * np.pi
    assert model.joints["slide"].origin.rpy.tolist() == [0.4, 0.5, 0.6]
    assert [joint.name for joint in model.get_joints_chain("base", "tip")] == [
        *("slide", "turn", "tip_joint"),
    ]
    assert kd.rbdalgos.model is model
    assert kd.get_total_mass() == model.get_total_mass() == 4.5


def test_joints_move_in_the_order_of_the_list_and_others_are_locked(kd, state):
    turned = KinDynComputations(CHAIN, ["turn", "slide"])
    locked = KinDynComputations(CHAIN, ["turn"])
    s, order = state.s, [0, 1, 2, 3, 4, 5, 7, 6]

    M = kd.mass_matrix(state.H, s)
    assert_close(turned.mass_matrix(state.H, s[::-1]), M[np.ix_(order, order)])
    at_zero = kd.mass_matrix(state.H, np.array([0.0, s[1]]))
    indices = [0, 1, 2, 3, 4, 5, 7]
    assert_close(locked.mass_matrix(state.H, s[1:]), at_zero[np.ix_(indices, indices)])


def test_mimic_joints_are_free():
    xml = CHAIN.replace('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><mimic joint="slide"/>')
    assert KinDynComputations(xml).NDoF == 2


# Quantities.


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("root", ["base", "arm"])
def test_a_prismatic_joint_with_a_rotated_origin_agrees_with_idyntree(root, representation):
    """In compiled code; the root may be any link, which adam 0.5 does not support."""
    kd = KinDynComputations(CHAIN, root_link=root)
    kd.set_frame_velocity_representation(representation)
    state, wrenches = State(2), {"tip": np.arange(6.0), "slider": -np.arange(6.0)}
    idyntree = AtIDynTree(CHAIN, ["slide", "turn"], root, state, representation)

    result, expected = state.everything(kd, "tip", wrenches), idyntree.everything("tip")

    for name, value in expected.items():
        actual = result["jacobian_dot"] @ state.nu if name == "bias_acceleration" else result[name]
        assert_close(actual, value, 1e-12, scale=max(1.0, np.abs(value).max()))
    relative = idyntree.relative_jacobian(root, "tip")
    assert_close(result["relative_jacobian"], relative, 1e-12, scale=1.0)
    tau = np.concatenate([np.zeros(6), state.tau])
    pushed = sum(idyntree.jacobian(link).T @ wrench for link, wrench in wrenches.items())
    M, h = expected["mass_matrix"], expected["bias_force"]
    assert_close(M @ result["aba"] + h, tau, 1e-12, scale=np.abs(h).max())
    assert_close(M @ result["aba with wrenches"] + h, tau + pushed, 1e-12, scale=np.abs(h).max())


def test_link_poses_are_those_of_all_links_without_frames(kd, state):
    poses = kd.link_poses(state.H, state.s)
    assert set(poses) == set(kd.model.links)
    assert list(poses) == [node.name for node in kd.model.tree]
    for name, pose in poses.items():
        assert_close(pose, kd.forward_kinematics(name, state.H, state.s))


def test_batches_broadcast_and_nothing_is_squeezed(kd, state):
    many = State(2, batch=(3, 1))
    assert kd.mass_matrix(many.H, state.s).shape == (3, 1, 8, 8)
    assert kd.mass_matrix(state.H, many.s).shape == (3, 1, 8, 8)
    assert kd.relative_jacobian("tip", many.s).shape == (3, 1, 6, 2)
    assert kd.bias_force(many.H, many.s, state.v, many.sd).shape == (3, 1, 8)
    assert kd.link_poses(many.H, many.s)["arm"].shape == (3, 1, 4, 4)
    pushed = kd.aba(many.H, many.s, state.v, state.sd, state.tau, {"tip": many.v})
    assert pushed.shape == (3, 1, 8)
    row = many.row(1, 0)
    alone = kd.aba(row.H, row.s, state.v, state.sd, state.tau, {"tip": row.v})
    assert_close(pushed[1, 0], alone)
    one = KinDynComputations(CHAIN, ["turn"])
    assert one.relative_jacobian("tip", [0.3]).shape == (6, 1)
    assert one.jacobian("tip", np.eye(4).tolist(), [0]).shape == (6, 7)


def test_a_robot_without_joints_is_a_body(state):
    kd = KinDynComputations(CHAIN, [])
    none = np.zeros(0)
    assert kd.NDoF == 0
    assert kd.mass_matrix(state.H, none).shape == (6, 6)
    assert kd.relative_jacobian("tip", none).shape == (6, 0)
    assert_close(kd.aba(state.H, none, np.zeros(6), none, none)[:3], GRAVITY[:3])


def test_every_rotation_is_converted_exactly(kd, state):
    """Also rotations by pi, where the conversion to quaternions is often inaccurate."""
    axes = np.vstack([np.eye(3), np.random.default_rng(0).normal(size=(20, 3))])
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    H = np.tile(np.eye(4), (len(axes), 1, 1))
    H[:, :3, :3] = 2 * axes[:, :, None] * axes[:, None, :] - np.eye(3)
    assert_close(kd.forward_kinematics("base", H, state.s), H, 1e-15)


def test_gravity_can_be_set_and_changed_in_place():
    kd, state = KinDynComputations(CHAIN), State(2)
    assert kd.g.tolist() == GRAVITY.tolist()
    g = kd.gravity_term(state.H, state.s)
    kd.g = 2 * GRAVITY
    assert_close(kd.gravity_term(state.H, state.s), 2 * g)
    kd.g[2] = 0.0
    moving = (state.H, state.s, state.v, state.sd)
    assert_close(kd.bias_force(*moving), kd.coriolis_term(*moving))
    with pytest.raises(ValueError, match=r"expected \(6,\), got \(3,\)"):
        kd.g = [0, 0, -9.81]
    with pytest.raises(ValueError, match=r"last three"):
        kd.g = [0, 0, -9.81, 0, 0, 1]
    kd.g[5] = 1.0
    with pytest.raises(ValueError, match=r"^g: .*last three"):
        kd.bias_force(*moving)


def test_single_precision_is_kept():
    kd, state = KinDynComputations(CHAIN, dtype=np.float32), State(2)
    M = kd.mass_matrix(state.H, state.s)
    assert M.dtype == np.float32
    assert_close(M, KinDynComputations(CHAIN).mass_matrix(state.H, state.s), 1e-5)


def test_it_can_be_pickled(kd, state):
    kd.set_frame_velocity_representation(BODY)
    copy = pickle.loads(pickle.dumps(kd))
    assert copy.frame_velocity_representation == BODY
    assert list(copy.model.links) == list(kd.model.links)
    assert_close(copy.mass_matrix(state.H, state.s), kd.mass_matrix(state.H, state.s))


# Internal objects of adam.


def test_joints_and_links_agree_with_adam(kd):
    xml = CHAIN.replace('type="prismatic"', 'type="revolute"')  # adam 0.5 lacks prismatic ones
    theirs, actual = adam_model(xml), quietly(KinDynComputations, xml).model
    for name, joint in theirs.joints.items():
        ours = actual.joints[name]
        for q in (0.0, 0.3, [0.1, -2.0]):
            there = joint.math.asarray(np.array(q))
            batch = np.shape(q)
            expected = np.broadcast_to(joint.homogeneous(there).array, (*batch, 4, 4))
            assert_close(ours.homogeneous(q), expected, 1e-14)
            expected = np.broadcast_to(joint.spatial_transform(there).array, (*batch, 6, 6))
            assert_close(ours.spatial_transform(q).array, expected, 1e-14)
        assert_close(ours.motion_subspace(), joint.motion_subspace().array, 1e-15, scale=1.0)
    for name, link in theirs.links.items():
        ours, theirs_inertial = actual.links[name], link.inertial
        assert_close(ours.spatial_inertia().array, link.spatial_inertia().array, 1e-14, scale=1.0)
        assert float(ours.inertial.mass.array) == float(theirs_inertial.mass.array)
        assert ours.inertial.origin.xyz.tolist() == theirs_inertial.origin.xyz.array.tolist()


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_algorithms_agree_with_adam(representation):
    xml = CHAIN.replace('type="prismatic"', 'type="revolute"')
    theirs, actual = (
        make(xml).rbdalgos for make in (adam_kindyn, lambda xml: quietly(KinDynComputations, xml))
    )
    theirs.frame_velocity_representation = actual.frame_velocity_representation = representation
    assert actual.frame_velocity_representation == representation
    state, wrench = State(2), {"arm": np.arange(6.0)}
    q, moving = (state.H, state.s), (state.H, state.s, state.v, state.sd)
    calls = [
        lambda a: a.crba(*q)[0],
        lambda a: a.crba(*q)[1],
        lambda a: a.rnea(*moving, 2 * GRAVITY),
        lambda a: a.aba(*moving, state.tau, 2 * GRAVITY, wrench),
        lambda a: a.aba(*moving, state.tau, 2 * GRAVITY),
        lambda a: a.joints_jacobian("tip", state.s),
        lambda a: a.relative_jacobian("tip", state.s),
        lambda a: a.forward_kinematics("tip", *q),
        lambda a: a.jacobian("arm", *q),
        lambda a: a.CoM_position(*q),
        lambda a: a.CoM_jacobian(*q),
    ]
    for call in calls:
        result, expected = call(actual).array, np.squeeze(call(theirs).array)
        assert_close(result, expected, 1e-10, scale=max(1.0, np.abs(expected).max()))
        assert type(result) is np.ndarray
    assert actual.frame_velocity_representation == representation
    assert actual.get_total_mass() == theirs.get_total_mass()
    assert list(actual.link_poses(*q)) == list(actual.model.tree.ordered_nodes_list)


def test_the_table_lists_joints_and_their_links(kd, capsys):
    kd.model.print_table()
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    words = [[word for word in line if word not in "│┃|"] for line in lines]
    assert ["Idx", "Parent", "Link", "Joint", "name", "Child", "Link", "Type"] in words
    assert ["2", "slider", "turn", "arm", "continuous"] in words


@pytest.mark.parametrize("joints", [["slide", "turn"], ["turn"]])
def test_idyntree_accepts_the_model(joints):
    from linkwork.compat.adam import to_idyntree_model

    kd, state = KinDynComputations(CHAIN, joints), State(len(joints))
    idyntree = AtIDynTree(to_idyntree_model(kd.model), joints, "base", state, MIXED)
    assert_close(kd.mass_matrix(state.H, state.s), idyntree.everything("tip")["mass_matrix"], 1e-12)
    assert_close(kd.jacobian("tip", state.H, state.s), idyntree.jacobian("tip"), 1e-12)


# Roots.


def test_another_root_changes_only_the_base():
    kd, state = KinDynComputations(CHAIN), State(2)
    H_arm = kd.forward_kinematics("arm", state.H, state.s)
    com = kd.CoM_position(state.H, state.s)
    kd.set_root_link("arm")
    assert kd.root_link == "arm"
    assert_close(kd.CoM_position(H_arm, state.s), com)
    assert_close(kd.forward_kinematics("base", H_arm, state.s), state.H)
    assert kd.frame_velocity_representation == MIXED


def test_the_root_can_be_reset():
    kd = KinDynComputations(CHAIN, root_link="arm")
    assert (kd.root_link, kd.model.root) == ("arm", "arm")
    kd.set_root_link(None)
    assert (kd.root_link, kd.model.root) == ("base", "base")


def test_the_tree_follows_the_root():
    """Arcs that are not on the path to the root of the file come first, as in adam."""
    kd, state = KinDynComputations(CHAIN), State(2)
    assert kd.model.tree.ordered_nodes_list == ("base", "slider", "arm", "weightless")
    kd.set_root_link("slider")
    tree = kd.model.tree
    assert tree.ordered_nodes_list == ("slider", "arm", "weightless", "base")
    assert list(kd.link_poses(state.H, state.s)) == list(tree.ordered_nodes_list)
    arc = tree.get_node_from_name("base").parent_arc
    assert (arc.name, arc.parent, arc.child) == ("slide", "slider", "base")
    assert_close(arc.homogeneous(0.3) @ kd.model.joints["slide"].homogeneous(0.3), np.eye(4), 1e-15)
    chain = kd.model.get_joints_chain("slider", "tip")
    assert [joint.name for joint in chain] == ["turn", "tip_joint"]
    assert kd.model.get_joints_chain("arm", "arm") == []
    assert [node.name for node in reversed(tree)] == list(tree.ordered_nodes_list)[::-1]
    assert (len(tree), tree.get_idx_from_name("base"), tree.get_name_from_idx(3)) == (4, 3, "base")


def test_a_frame_cannot_be_the_root(kd):
    message = "^root_link: 'tip' is a frame.*'arm'"
    with pytest.raises(ValueError, match=message):
        kd.set_root_link("tip")
    with pytest.raises(ValueError, match=message):
        KinDynComputations(CHAIN, root_link="tip")
    with pytest.raises(ValueError, match=r"'slid'.*'slider'"):
        kd.set_root_link("slid")


# Errors of users are ValueErrors, as in adam.


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        ((CHAIN, ["trun"]), "'trun'.*'turn'"),
        ((CHAIN, ["turn", "turn"]), "'turn'.*twice"),
        ((CHAIN, ["tip_joint", "turn", "tip_joint"]), "'tip_joint'.*twice"),
        ((CHAIN, "turn"), "^joints_name_list: .*'turn'"),
        ((3.0,), r"^urdfstring: .*URDF.*MjModel.*3\.0"),
        ((CHAIN.replace("continuous", "floating"),), ":14: .*'turn'.*floating.*joints_name_list"),
    ],
)
def test_invalid_descriptions_raise_with_the_facts(arguments, facts):
    with pytest.raises(ValueError, match=facts):
        quietly(KinDynComputations, *arguments)


def test_algorithms_of_a_model_are_those_of_its_class(kd, state):
    """adam's `RBDAlgorithms(model, math)`."""
    algorithms = RBDAlgorithms(kd.model.with_root("slider"), SpatialMath())
    expected = KinDynComputations(CHAIN, root_link="slider")

    assert (algorithms.root_link, algorithms.NDoF) == ("slider", kd.NDoF)
    M, _ = algorithms.crba(state.H, state.s)
    np.testing.assert_array_equal(M.array, expected.mass_matrix(state.H, state.s))


def test_subclasses_may_have_a_model_of_their_own(state):
    class Controller(KinDynComputations):
        def __init__(self):
            super().__init__(CHAIN)
            self.model = self.rbdalgos = "another model"

    controller = Controller()
    expected = KinDynComputations(CHAIN).mass_matrix(state.H, state.s)
    np.testing.assert_array_equal(controller.mass_matrix(state.H, state.s), expected)
    controller.set_root_link("slider")
    assert (controller.model, controller.root_link) == ("another model", "slider")


def test_invalid_arguments_raise_with_the_facts(kd, state):
    with pytest.raises(ValueError, match=r"'sliders'.*'slider'"):
        kd.jacobian("sliders", state.H, state.s)
    with pytest.raises(ValueError, match=r"'tpi'.*tip"):
        kd.aba(state.H, state.s, state.v, state.sd, state.tau, {"tpi": state.v})
    with pytest.raises(ValueError, match="3"):
        kd.jacobian(3, state.H, state.s)
    with pytest.raises(ValueError, match=r"^joint_positions: expected \(..., 2\), got \(3,\)$"):
        kd.mass_matrix(state.H, np.zeros(3))
    with pytest.raises(ValueError, match=r"^base_transform: expected \(..., 4, 4\), got"):
        kd.mass_matrix(np.eye(3), state.s)
    for unknown in (0, 4, "mixed", None):
        with pytest.raises(ValueError, match=r"representation.*BODY_FIXED"):
            kd.set_frame_velocity_representation(unknown)
    with pytest.raises(ValueError, match=r"'slider'.*'arm'"):
        kd.model.get_joints_chain("arm", "slider")
    with pytest.raises(ValueError, match=r"'arms'.*'arm'"):
        kd.model.get_joints_chain("base", "arms")


def calls_with_a_pose(kd, state, H):
    """Return calls of every method with a pose, by name."""
    q, moving = (H, state.s), (H, state.s, state.v, state.sd)
    return {
        "forward_kinematics": lambda: kd.forward_kinematics("tip", *q),
        "link_poses": lambda: kd.link_poses(*q),
        "jacobian": lambda: kd.jacobian("tip", *q),
        "jacobian_dot": lambda: kd.jacobian_dot("tip", *moving),
        "CoM_position": lambda: kd.CoM_position(*q),
        "CoM_jacobian": lambda: kd.CoM_jacobian(*q),
        "mass_matrix": lambda: kd.mass_matrix(*q),
        "centroidal_momentum_matrix": lambda: kd.centroidal_momentum_matrix(*q),
        "bias_force": lambda: kd.bias_force(*moving),
        "coriolis_term": lambda: kd.coriolis_term(*moving),
        "gravity_term": lambda: kd.gravity_term(*q),
        "aba": lambda: kd.aba(*moving, state.tau),
    }


@pytest.mark.parametrize("spoil", [lambda H: H.T, lambda H: 1.1 * H, lambda H: H * [1, 1, -1, 1]])
@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_a_matrix_that_is_not_a_pose_raises(kd, state, spoil, representation):
    """Also where the result does not depend on the pose, as with body velocities."""
    kd.set_frame_velocity_representation(representation)
    message = "^base_transform: expected a pose"
    for call in calls_with_a_pose(kd, state, np.ascontiguousarray(spoil(state.H))).values():
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(ValueError, match=r"\(in row 1 of 2\)$"):
        kd.mass_matrix(np.stack([state.H, spoil(state.H)]), state.s)
    for call in calls_with_a_pose(kd, state, state.H).values():
        call()


def test_wrenches_have_names(kd, state):
    moving = (state.H, state.s, state.v, state.sd, state.tau)
    with pytest.raises(TypeError, match=r"^external_wrenches: .*mapping"):
        kd.aba(*moving, np.zeros(6))
    assert_close(kd.aba(*moving, {}), kd.aba(*moving))


def test_complex_numbers_raise(kd, state):
    with pytest.raises(TypeError, match=r"^joint_positions: .*complex128"):
        kd.mass_matrix(state.H, state.s + 1j)


def spoilt(old, new):
    assert old in CHAIN
    return CHAIN.replace('type="prismatic"', 'type="revolute"').replace(old, new)


SECOND_PARENT = """<joint name="more" type="fixed"><origin xyz="0 0 0" rpy="0 0 0"/>
<parent link="base"/><child link="arm"/></joint></robot>"""
TIP = '<link name="tip"/>'
READ_BY_ADAM = {
    "link 'tip': this name is taken": (
        '<link name="tip"/>',
        '<link name="tip"/><link name="tip"/>',
    ),
    "joint 'turn': this name is taken": ('name="tip_joint"', 'name="turn"'),
    "no link named 'tipp'": ('<child link="tip"/>', '<child link="tipp"/>'),
    "link 'arm': is the child of 2 joints": ("</robot>", SECOND_PARENT),
    "2 links are not the child of a joint": (
        '<link name="tip"/>',
        '<link name="tip"/><link name="x"/>',
    ),
    "mass value: 'nan' is not finite": ('mass value="1.5"', 'mass value="nan"'),
    "mass -1.5 is negative": ('mass value="1.5"', 'mass value="-1.5"'),
    "axis is zero": ('<axis xyz="0 1 0"/>', '<axis xyz="0 0 0"/>'),
    "axis xyz: 'nan' is not finite": ('<axis xyz="0 1 0"/>', '<axis xyz="nan 0 0"/>'),
    "limit lower 1 is above upper -1": ('lower="-1" upper="1"', 'lower="1" upper="-1"'),
}


@pytest.mark.parametrize("reason", READ_BY_ADAM)
def test_invalid_files_raise_although_adam_reads_them(reason):
    """See docs/adam.md."""
    xml = spoilt(*READ_BY_ADAM[reason])
    assert adam_kindyn(xml).NDoF == 2
    with pytest.raises(ValueError, match=reason):
        quietly(KinDynComputations, xml)


def test_a_missing_file_is_not_found():
    with pytest.raises(lw.SourceError, match=r"nowhere\.urdf"):
        KinDynComputations("nowhere.urdf")


def test_warnings_about_a_file_point_to_the_line_of_the_caller():
    doubtful = CHAIN.replace('izz="0.15"', 'izz="15"')
    with pytest.warns(lw.LinkworkWarning) as caught:
        KinDynComputations(doubtful)
    assert [Path(warning.filename).name for warning in caught] == [Path(__file__).name]


def test_nan_results_in_nan(kd, state):
    assert np.isnan(kd.mass_matrix(np.full((4, 4), np.nan), state.s)[:6, :6]).any()


def test_a_joint_without_inertia_raises(state):
    light = CHAIN.replace('mass value="1.5"', 'mass value="0"')
    light = light.replace(
        'ixx="0.2" ixy="0.01" ixz="0" iyy="0.2" iyz="0" izz="0.15"',
        'ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"',
    )
    kd = quietly(KinDynComputations, light)
    with pytest.raises(lw.SingularJointError, match="'turn'"):
        kd.aba(state.H, state.s, state.v, state.sd, state.tau)


def test_robots_too_large_to_compile_are_computed_with_numpy():
    n = 260
    links = "".join(
        f'<link name="l{k}"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" '
        f'iyy="1" iyz="0" izz="1"/></inertial></link>'
        for k in range(n + 1)
    )
    joints = "".join(
        f'<joint name="j{k}" type="continuous"><origin xyz="0.01 0 0"/><parent link="l{k}"/>'
        f'<child link="l{k + 1}"/><axis xyz="0 0 1"/></joint>'
        for k in range(n)
    )
    kd = quietly(KinDynComputations, f'<robot name="long">{links}{joints}</robot>')
    state = State(n, batch=(2,))
    com = kd.CoM_position(state.H, state.s)
    poses = kd.link_poses(state.H, state.s)
    assert_close(com, np.mean([pose[:, :3, 3] for pose in poses.values()], axis=0))
