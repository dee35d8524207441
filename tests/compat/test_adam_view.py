"""linkwork in adam's clothes: how it is made, what it says of the robot, shapes, errors."""

from __future__ import annotations

import inspect
import pickle

import adam
import adam.numpy
import numpy as np
import pytest
from tests.support.adam import (
    GRAVITY,
    REPRESENTATIONS,
    AtIDynTree,
    State,
    adam_kindyn,
    quietly,
)
from tests.support.models import assert_close
from tests.support.real_robots import ROBOT_FILES, label

import linkwork as lw
from linkwork.compat.adam import KinDynComputations, Representations

BODY, MIXED, INERTIAL = REPRESENTATIONS
CHAIN = """<robot name="chain">
  <link name="base"><inertial><origin xyz="0 0 0.1" rpy="0 0 0"/><mass value="2"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <link name="slider"><inertial><origin xyz="0.1 0 0" rpy="0.3 0 0"/><mass value="1"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.15"/></inertial></link>
  <link name="arm"><inertial><origin xyz="0.1 0 0.2" rpy="0 0.5 0"/><mass value="1.5"/>
    <inertia ixx="0.2" ixy="0.01" ixz="0" iyy="0.2" iyz="0" izz="0.15"/></inertial></link>
  <link name="tip"/>
  <link name="weightless"><inertial><origin xyz="0 0 0" rpy="0 0 0"/><mass value="0"/>
    <inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>
  <joint name="slide" type="prismatic"><origin xyz="0.2 0 0.3" rpy="0.4 0.5 0.6"/>
    <parent link="base"/><child link="slider"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="turn" type="continuous"><origin xyz="0 0.1 0.3" rpy="0.1 0 0.6"/>
    <parent link="slider"/><child link="arm"/><axis xyz="0 1 0"/></joint>
  <joint name="tip_joint" type="fixed"><origin xyz="0 0 0.3" rpy="0 0 0"/>
    <parent link="arm"/><child link="tip"/></joint>
  <joint name="weightless_joint" type="fixed"><origin xyz="0 0 0.1" rpy="0 0 0"/>
    <parent link="arm"/><child link="weightless"/></joint>
</robot>"""


MANY = (
    "<text>:14: joint 'turn': a floating joint has several coordinates, which adam has no place "
    "for; leave it out of joints_name_list to lock it"
)


@pytest.fixture(scope="module")
def kd():
    return KinDynComputations(CHAIN)


@pytest.fixture
def state(kd):
    kd.set_frame_velocity_representation(MIXED)
    return State(kd.NDoF)


# The interface.


def test_every_method_of_adam_is_there_with_the_same_arguments():
    for name, method in vars(adam.numpy.KinDynComputations).items():
        if name.startswith("_") and name != "__init__":
            continue
        mine = inspect.signature(getattr(KinDynComputations, name)).parameters
        assert list(mine) == list(inspect.signature(method).parameters), name


def test_representations_are_those_of_adam(kd):
    assert {r.name: int(r) for r in Representations} == {
        r.name: int(r) for r in adam.Representations
    }
    kd.set_frame_velocity_representation(adam.Representations.BODY_FIXED_REPRESENTATION)
    assert kd.frame_velocity_representation == BODY


REFUSED_BY_ADAM = {
    "a1_description/a1",
    "anymal_b_simple_description/anymal",
    "b1_description/b1",
    "centauro_description/centauro",
    "hyq_description/hyq_no_sensors",
    "panda_description/panda_collision",
    "romeo_description/romeo_laas_small",
    "talos_data/talos_reduced_box",
    "tiago_description/tiago_no_hand",
    "iCubGenova03/model",
    "iCubNancy01/model",
}
TAKEN = [path for path in ROBOT_FILES[::4] if label(path) not in REFUSED_BY_ADAM]


@pytest.mark.parametrize("path", TAKEN, ids=label)
def test_links_frames_joints_and_root_are_those_of_adam(path):
    theirs = adam_kindyn(str(path)).rbdalgos
    mine = quietly(KinDynComputations, str(path))

    assert mine.model.actuated_joints == theirs.model.actuated_joints
    assert list(mine.model.links) == list(theirs.model.links)
    assert list(mine.model.frames) == list(theirs.model.frames)
    assert list(mine.model.joints) == list(theirs.model.joints)
    assert (mine.root_link, mine.NDoF) == (theirs.root_link, theirs.NDoF)
    assert (mine.model.name, mine.model.N) == (theirs.model.name, theirs.model.N)
    for name, joint in theirs.model.joints.items():
        assert mine.model.joints[name].parent == joint.parent
        assert mine.model.joints[name].child == joint.child
        assert mine.model.joints[name].idx == joint.idx


def test_the_model_tells_what_the_file_says(kd):
    model = kd.model
    assert (model.name, model.NDoF, model.N) == ("chain", 2, 4)
    assert list(model.links) == ["base", "slider", "arm", "weightless"]
    assert list(model.frames) == ["tip"]
    assert model.actuated_joints == ["slide", "turn"]
    assert [model.joints[n].type for n in ("slide", "turn", "tip_joint")] == [
        *("prismatic", "continuous", "fixed"),
    ]
    assert model.joints["turn"].limit.upper == 2 * np.pi
    assert model.joints["slide"].origin.rpy == (0.4, 0.5, 0.6)
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
    kept = [0, 1, 2, 3, 4, 5, 7]
    assert_close(locked.mass_matrix(state.H, s[1:]), at_zero[np.ix_(kept, kept)])


def test_mimic_joints_are_free():
    text = CHAIN.replace('<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><mimic joint="slide"/>')
    assert KinDynComputations(text).NDoF == 2


# Numbers.


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("root", ["base", "arm"])
def test_a_prismatic_joint_on_a_turned_origin_agrees_with_idyntree(root, representation):
    """In compiled code; the root may be any link, which adam 0.5 does not offer."""
    kd = KinDynComputations(CHAIN, root_link=root)
    kd.set_frame_velocity_representation(representation)
    state, wrenches = State(2), {"tip": np.arange(6.0), "slider": -np.arange(6.0)}
    idyntree = AtIDynTree(CHAIN, ["slide", "turn"], root, state, representation)

    found, expected = state.everything(kd, "tip", wrenches), idyntree.everything("tip")

    for name, value in expected.items():
        mine = found["jacobian_dot"] @ state.nu if name == "bias_acceleration" else found[name]
        assert_close(mine, value, 1e-12, scale=max(1.0, np.abs(value).max()))
    relative = idyntree.relative_jacobian(root, "tip")
    assert_close(found["relative_jacobian"], relative, 1e-12, scale=1.0)
    tau = np.concatenate([np.zeros(6), state.tau])
    pushed = sum(idyntree.jacobian(link).T @ wrench for link, wrench in wrenches.items())
    M, h = expected["mass_matrix"], expected["bias_force"]
    assert_close(M @ found["aba"] + h, tau, 1e-12, scale=np.abs(h).max())
    assert_close(M @ found["aba with wrenches"] + h, tau + pushed, 1e-12, scale=np.abs(h).max())


def test_link_poses_are_those_of_all_links_without_frames(kd, state):
    poses = kd.link_poses(state.H, state.s)
    assert list(poses) == list(kd.model.links)
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


def test_every_rotation_is_taken_exactly(kd, state):
    """Also half turns about any axis, at which quaternions from matrices are often poor."""
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
    with pytest.raises(ValueError, match=r"^g: the last three .* gravity turns nothing$"):
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


# Roots.


def test_another_root_changes_the_base_only():
    kd, state = KinDynComputations(CHAIN), State(2)
    H_arm = kd.forward_kinematics("arm", state.H, state.s)
    com = kd.CoM_position(state.H, state.s)
    kd.set_root_link("arm")
    assert kd.root_link == "arm"
    assert_close(kd.CoM_position(H_arm, state.s), com)
    assert_close(kd.forward_kinematics("base", H_arm, state.s), state.H)
    assert kd.frame_velocity_representation == MIXED


def test_a_frame_cannot_be_the_root(kd):
    text = "no link named 'tip'; known: arm, base, slider, weightless"
    with pytest.raises(ValueError, match=text):
        kd.set_root_link("tip")
    with pytest.raises(ValueError, match=text):
        KinDynComputations(CHAIN, root_link="tip")


# Errors. Those about what users get wrong are ValueErrors, as in adam.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((CHAIN, ["trun"]), "no joint named 'trun'; did you mean 'turn'?"),
        ((CHAIN, ["tip_joint"]), "joint 'tip_joint': is fixed"),
        ((CHAIN, ["turn", "turn"]), "joint 'turn': named twice"),
        ((CHAIN, "turn"), "joints_name_list: expected names, got the text 'turn'"),
        (
            (3.0,),
            "urdfstring: expected the path or text of a URDF, or a mujoco.MjModel, got 3.0",
        ),
        ((CHAIN.replace("continuous", "floating"),), MANY),
    ],
)
def test_what_makes_no_robot_is_told(arguments, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the whole text is compared below
        quietly(KinDynComputations, *arguments)
    assert str(error.value) == message


def test_what_cannot_be_computed_is_told(kd, state):
    with pytest.raises(
        ValueError, match=r"^no link or frame named 'sliders'; did you mean 'slider'\?$"
    ):
        kd.jacobian("sliders", state.H, state.s)
    with pytest.raises(ValueError, match=r"^no link or frame named"):
        kd.aba(state.H, state.s, state.v, state.sd, state.tau, {"tpi": state.v})
    with pytest.raises(ValueError, match=r"no link or frame named 3"):
        kd.jacobian(3, state.H, state.s)
    with pytest.raises(ValueError, match=r"^joint_positions: expected \(..., 2\), got \(3,\)$"):
        kd.mass_matrix(state.H, np.zeros(3))
    with pytest.raises(ValueError, match=r"^base_transform: expected \(..., 4, 4\), got"):
        kd.mass_matrix(np.eye(3), state.s)
    for unknown in (0, 4, "mixed", None):
        with pytest.raises(ValueError, match=r"^unknown representation .*known: BODY_FIXED"):
            kd.set_frame_velocity_representation(unknown)
    with pytest.raises(ValueError, match=r"^link 'slider': does not hang on link 'arm'$"):
        kd.model.get_joints_chain("arm", "slider")


@pytest.mark.parametrize("spoil", [lambda H: H.T, lambda H: 1.1 * H, lambda H: H * [1, 1, -1, 1]])
def test_a_matrix_that_is_no_pose_is_refused(kd, state, spoil):
    text = "^base_transform: expected a pose, the rotation and position of the base in the world"
    with pytest.raises(ValueError, match=text):
        kd.mass_matrix(np.ascontiguousarray(spoil(state.H)), state.s)
    with pytest.raises(ValueError, match=r"\(in row 1 of 2\)$"):
        kd.mass_matrix(np.stack([state.H, spoil(state.H)]), state.s)


def test_what_is_not_a_number_gives_what_is_not_a_number(kd, state):
    assert np.isnan(kd.mass_matrix(np.full((4, 4), np.nan), state.s)[:6, :6]).any()


def test_a_joint_that_nothing_resists_is_named(state):
    light = CHAIN.replace('mass value="1.5"', 'mass value="0"')
    light = light.replace(
        'ixx="0.2" ixy="0.01" ixz="0" iyy="0.2" iyz="0" izz="0.15"',
        'ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"',
    )
    kd = quietly(KinDynComputations, light)
    with pytest.raises(lw.SingularJointError, match=r"^joint 'turn': nothing resists its motion"):
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
