"""A joint asked from either of its links: pose, motion subspace, rate of its coordinates."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.models import (
    ALL_KINDS,
    BATCHES,
    assert_close,
    random_axis,
    random_pose,
    random_theta,
)
from tests.support.spatial import pin

from linkwork import Joint, NameNotFoundError, ShapeError
from linkwork.model.joints import KINDS, plane_basis
from linkwork.model.joints import motion as joint_motion

SIZES = {
    "fixed": (0, 0),
    "revolute": (1, 1),
    "revolute_cos_sin": (2, 1),
    "prismatic": (1, 1),
    "helical": (1, 1),
    "universal": (2, 2),
    "planar": (3, 3),
    "spherical": (4, 3),
    "floating": (7, 6),
}
CHILDREN = ["left", "right"]
AXES = [(1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0), (-0.48, 0.64, 0.6), (0.6, 0.0, -0.8)]

each_kind = pytest.mark.parametrize("kind", ALL_KINDS)
each_child = pytest.mark.parametrize("child", CHILDREN)
each_axis = pytest.mark.parametrize("axis", AXES)


def joint_of(kind, axis=(0.0, 0.0, 1.0), **facts):
    pitch = 0.3 if kind == "helical" else 0.0
    return Joint(name="j", kind=kind, first="left", second="right", axis=axis, pitch=pitch, **facts)


def random_joint(kind, rng):
    facts = {"first_H_joint": random_pose(rng), "joint_H_second": random_pose(rng)}
    return joint_of(kind, random_axis(rng), **facts)


def other(child):
    return CHILDREN[1 - CHILDREN.index(child)]


def wedge(v):
    """(4, 4) of a 6-vector [linear; angular], written out."""
    x, y, z = v[3:]
    return np.array([[0, -z, y, v[0]], [z, 0, -x, v[1]], [-y, x, 0, v[2]], [0, 0, 0, 0]])


def slope(function, step=0.02):
    """d/dt of a smooth function at 0: central differences of eighth order."""
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    terms = [w * (function(k * step) - function(-k * step)) for k, w in weights.items()]
    return sum(terms) / step


@each_kind
def test_sizes_are_those_of_the_table(kind):
    joint = joint_of(kind)

    assert (joint.nq, joint.nv) == SIZES[kind] == (KINDS[kind].nq, KINDS[kind].nv)
    assert len(KINDS[kind].neutral) == joint.nq


@each_kind
@each_child
def test_child_H_parent_from_one_side_undoes_the_other(kind, child, rng):
    for _ in range(20):
        joint = random_joint(kind, rng)
        theta = random_theta(kind, rng)

        here = joint_motion.child_H_parent(joint, theta, child=child)
        there = joint_motion.child_H_parent(joint, theta, child=other(child))

        assert_close(here @ there, np.eye(4), rtol=1e-14 * (1 + np.abs(here).max()))


@each_kind
@each_child
def test_motion_subspace_is_the_velocity_of_the_child_in_its_own_axes(kind, child, rng):
    """parent_H_child @ wedge(S nu) = d/dt parent_H_child, with theta_dot = J nu."""
    for _ in range(20):
        joint = random_joint(kind, rng)
        theta, nu = random_theta(kind, rng), rng.normal(size=joint.nv)
        theta_dot = joint_motion.position_jacobian(joint, theta) @ nu

        def parent_H_child(t, joint=joint, theta=theta, theta_dot=theta_dot):
            return joint_motion.child_H_parent(joint, theta + t * theta_dot, child=other(child))

        S = joint_motion.motion_subspace(joint, theta, child=child)
        rate = parent_H_child(0.0) @ wedge(S @ nu)

        assert_close(slope(parent_H_child), rate, rtol=1e-11, scale=1 + np.abs(rate).max())


@pytest.mark.peers
@each_kind
def test_the_two_motion_subspaces_are_one_motion_seen_from_both_ends(kind, rng):
    """The child moves relative to the parent as the parent does relative to it, with a minus."""
    joint = random_joint(kind, rng)
    theta = random_theta(kind, rng)
    left_S = joint_motion.motion_subspace(joint, theta, child="left")
    right_S = joint_motion.motion_subspace(joint, theta, child="right")

    left_H_right = pin.SE3(joint_motion.child_H_parent(joint, theta, child="left"))

    assert_close(left_S, -left_H_right.action @ right_S, rtol=1e-13)


@each_kind
@each_child
def test_columns_of_the_motion_subspace_are_independent(kind, child, rng):
    joint = random_joint(kind, rng)

    S = joint_motion.motion_subspace(joint, random_theta(kind, rng), child=child)

    assert S.shape == (6, joint.nv)
    # NumPy 2.2 computes no rank of an empty matrix
    assert joint.nv == 0 or np.linalg.matrix_rank(S) == joint.nv


@pytest.mark.parametrize("kind", [kind for kind in ALL_KINDS if kind != "universal"])
def test_motion_subspace_seen_from_second_does_not_depend_on_position(kind, rng):
    joint = random_joint(kind, rng)

    S = joint_motion.motion_subspace(joint, random_theta(kind, rng, (9,)), child="right")

    assert np.array_equal(S, np.broadcast_to(S[0], S.shape))


@pytest.mark.parametrize(
    ("kind", "unit_part"),
    [("revolute_cos_sin", slice(0, 2)), ("spherical", slice(0, 4)), ("floating", slice(3, 7))],
)
def test_position_jacobian_keeps_circle_and_quaternion_normalised(kind, unit_part, rng):
    """A rate across the radius changes no length to first order."""
    joint = random_joint(kind, rng)
    theta = random_theta(kind, rng, (50,))

    J = joint_motion.position_jacobian(joint, theta)

    assert_close(
        np.einsum("ni,nij->nj", theta[:, unit_part], J[:, unit_part]),
        np.zeros((50, joint.nv)),
        scale=1e-3,
    )


@each_kind
def test_position_jacobian_is_the_same_map_for_every_velocity(kind, rng):
    """J has full column rank: no velocity leaves the position where it is."""
    joint = random_joint(kind, rng)
    J = joint_motion.position_jacobian(joint, random_theta(kind, rng))

    assert J.shape == SIZES[kind]
    # NumPy 2.2 computes no rank of an empty matrix
    assert joint.nv == 0 or np.linalg.matrix_rank(J) == joint.nv


@each_kind
@each_child
def test_neutral_transform_is_the_product_of_the_mounts(kind, child, rng):
    joint = random_joint(kind, rng)

    left_H_right = joint.first_H_joint.matrix() @ joint.joint_H_second.matrix()
    expected = left_H_right if child == "left" else np.linalg.inv(left_H_right)

    assert_close(joint_motion.neutral_transform(joint, child=child), expected, rtol=1e-14)


@each_kind
@each_child
@pytest.mark.parametrize("batch", BATCHES)
def test_batches_hold_what_single_calls_give(kind, child, batch, rng):
    joint = random_joint(kind, rng)
    theta = random_theta(kind, rng, batch)
    nq, nv = SIZES[kind]

    H = joint_motion.child_H_parent(joint, theta, child=child)
    S = joint_motion.motion_subspace(joint, theta, child=child)
    J = joint_motion.position_jacobian(joint, theta)

    assert (H.shape, S.shape, J.shape) == ((*batch, 4, 4), (*batch, 6, nv), (*batch, nq, nv))
    for at in np.ndindex(batch):
        single = joint_motion.child_H_parent(joint, theta[at], child=child)
        assert_close(H[at], single, rtol=4e-15)
        assert_close(S[at], joint_motion.motion_subspace(joint, theta[at], child=child), rtol=4e-15)
        assert_close(J[at], joint_motion.position_jacobian(joint, theta[at]), rtol=4e-15)


@each_kind
def test_lists_and_whole_numbers_are_positions_too(kind):
    joint = joint_of(kind)
    neutral = [int(number) for number in KINDS[kind].neutral]

    H = joint_motion.child_H_parent(joint, neutral, child="left")

    assert H.dtype == np.float64
    assert np.array_equal(H, np.eye(4))


@pytest.mark.parametrize("function", [joint_motion.child_H_parent, joint_motion.motion_subspace])
def test_a_link_the_joint_does_not_hold_is_refused(function):
    with pytest.raises(NameNotFoundError, match=r"link of joint 'j'.*'lefd'.*'left'"):
        function(joint_of("revolute"), [0.0], child="lefd")

    with pytest.raises(NameNotFoundError, match=r"link of joint 'j'.*'nowhere'.*left, right"):
        joint_motion.neutral_transform(joint_of("planar"), child="nowhere")


@pytest.mark.parametrize(
    ("kind", "theta", "text"),
    [
        ("revolute", 0.5, r"joint 'j': theta: .*\(..., 1\).*\(\)"),
        ("revolute", [0.1, 0.2], r"joint 'j': theta: .*\(..., 1\).*\(2,\)"),
        ("spherical", np.zeros((5, 3)), r"joint 'j': theta: .*\(..., 4\).*\(5, 3\)"),
        ("fixed", [0.0], r"joint 'j': theta: .*\(..., 0\).*\(1,\)"),
        ("floating", np.zeros(6), r"joint 'j': theta: .*\(..., 7\).*\(6,\)"),
    ],
)
def test_positions_of_the_wrong_size_are_refused(kind, theta, text):
    joint = joint_of(kind)
    calls = [
        lambda: joint_motion.child_H_parent(joint, theta, child="left"),
        lambda: joint_motion.motion_subspace(joint, theta, child="right"),
        lambda: joint_motion.position_jacobian(joint, theta),
    ]
    for call in calls:
        with pytest.raises(ShapeError, match=text):
            call()


@each_axis
def test_plane_basis_completes_a_right_handed_frame(axis):
    basis = plane_basis(np.array(axis))
    frame = np.column_stack([basis, axis])

    assert_close(frame.T @ frame, np.eye(3), rtol=4e-15)
    assert np.linalg.det(frame) > 0


@pytest.mark.parametrize(
    ("axis", "first", "second"),
    [("x", "y", "z"), ("y", "z", "x"), ("z", "x", "y")],
)
def test_plane_basis_of_a_coordinate_axis_is_the_other_two(axis, first, second):
    e = dict(zip("xyz", np.eye(3), strict=True))

    assert np.array_equal(plane_basis(e[axis]), np.stack([e[first], e[second]], axis=1))
