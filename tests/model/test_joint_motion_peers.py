"""Joints against the joints of Pinocchio and iDynTree."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.models import assert_close, random_pose, random_theta
from tests.support.spatial import idyn, pin

from linkwork import Joint, Pose
from linkwork.model.joints import KINDS
from linkwork.model.joints import motion as joint_motion

pytestmark = pytest.mark.peers

TILTED = (-0.48, 0.64, 0.6)
AXES = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, -1.0), TILTED]
PITCH = -0.37
LEFT, RIGHT = 0, 1  # of the links "left" and "right", in iDynTree


def same(theta):
    return theta


def wxyz_to_xyzw(theta):
    return np.roll(theta, -1)


def position_and_xyzw(theta):
    return np.concatenate([theta[:3], np.roll(theta[3:], -1)])


def angle_to_cos_sin(theta):
    return np.array([theta[0], theta[1], np.cos(theta[2]), np.sin(theta[2])])


# kind: its axes, the joint of Pinocchio about an axis, our theta as Pinocchio's q
PINOCCHIO = {
    "revolute": (AXES, pin.JointModelRevoluteUnaligned, same),
    "prismatic": (AXES, pin.JointModelPrismaticUnaligned, same),
    "helical": (AXES, lambda axis: pin.JointModelHelicalUnaligned(axis, PITCH), same),
    "revolute_cos_sin": (AXES[2:3], lambda axis: pin.JointModelRUBZ(), same),
    "planar": (AXES[2:3], lambda axis: pin.JointModelPlanar(), angle_to_cos_sin),
    "spherical": (AXES[2:3], lambda axis: pin.JointModelSpherical(), wxyz_to_xyzw),
    "floating": (AXES[2:3], lambda axis: pin.JointModelFreeFlyer(), position_and_xyzw),
}
CASES = [(kind, axis) for kind, (axes, _, _) in PINOCCHIO.items() for axis in axes]
COS_SIN = [((1.0, 0.0, 0.0), pin.JointModelRUBX), ((0.0, 1.0, 0.0), pin.JointModelRUBY)]


def joint_of(kind, axis, **mounts):
    pitch = PITCH if kind == "helical" else 0.0
    return Joint(
        name="j", kind=kind, first="left", second="right", axis=axis, pitch=pitch, **mounts
    )


def check_against_pinocchio(joint, theirs, to_q, rng):
    """Compare the poses of both links, and the velocity of each of them in its own axes."""
    model = pin.Model()
    number = model.addJoint(0, theirs, pin.SE3(joint.first_H_joint.matrix()), "j")
    place = pin.SE3(joint.joint_H_second.matrix())
    right = model.addFrame(pin.Frame("right", number, place, pin.FrameType.OP_FRAME))
    data = model.createData()
    for theta in (np.array(KINDS[joint.kind].neutral), *random_theta(joint.kind, rng, (10,))):
        q = to_q(theta)
        pin.framesForwardKinematics(model, data, q)
        left_H_right = data.oMf[right]
        right_S = pin.computeFrameJacobian(model, data, q, right, pin.ReferenceFrame.LOCAL)
        right_S = right_S.reshape(6, joint.nv)
        left_S = -left_H_right.action @ right_S

        here = joint_motion.child_H_parent(joint, theta, child="left")
        there = joint_motion.child_H_parent(joint, theta, child="right")
        assert_close(here, left_H_right.homogeneous, rtol=1e-14)
        assert_close(there, left_H_right.inverse().homogeneous, rtol=1e-14)
        assert_close(joint_motion.motion_subspace(joint, theta, child="right"), right_S, rtol=1e-14)
        assert_close(joint_motion.motion_subspace(joint, theta, child="left"), left_S, rtol=1e-14)


@pytest.mark.parametrize(("kind", "axis"), CASES)
def test_bare_joints_move_as_those_of_pinocchio(kind, axis, rng):
    _, make, to_q = PINOCCHIO[kind]
    check_against_pinocchio(joint_of(kind, axis), make(np.array(axis)), to_q, rng)


@pytest.mark.parametrize(("axis", "make"), COS_SIN)
def test_cos_sin_joints_about_x_and_y_move_as_those_of_pinocchio(axis, make, rng):
    check_against_pinocchio(joint_of("revolute_cos_sin", axis), make(), same, rng)


@pytest.mark.parametrize(("kind", "axis"), CASES)
def test_mounted_joints_move_as_those_of_pinocchio(kind, axis, rng):
    """Both mounts anything."""
    _, make, to_q = PINOCCHIO[kind]
    joint = joint_of(kind, axis, first_H_joint=random_pose(rng), joint_H_second=random_pose(rng))

    check_against_pinocchio(joint, make(np.array(axis)), to_q, rng)


def idyn_pose(H):
    rotation = idyn.Rotation(*np.asarray(H)[:3, :3].ravel().tolist())
    return idyn.Transform(rotation, idyn.Position(*np.asarray(H)[:3, 3].tolist()))


def idyn_model(joint):
    """The joint between two links in iDynTree, with the same coordinates as ours."""
    left_H_right = joint.first_H_joint.matrix() @ joint.joint_H_second.matrix()
    right_H_joint = np.linalg.inv(joint.joint_H_second.matrix())
    kinds = {
        "fixed": idyn.FixedJoint,
        "revolute": idyn.RevoluteJoint,
        "prismatic": idyn.PrismaticJoint,
        "spherical": idyn.SphericalJoint,
    }
    made = kinds[joint.kind]()
    made.setAttachedLinks(LEFT, RIGHT)
    made.setRestTransform(idyn_pose(left_H_right))
    if joint.kind == "spherical":
        made.setJointCenter(RIGHT, idyn.Position(*right_H_joint[:3, 3].tolist()))
    elif joint.kind != "fixed":
        direction = idyn.Direction(*(right_H_joint[:3, :3] @ np.array(joint.axis)).tolist())
        axis = idyn.Axis(direction, idyn.Position(*right_H_joint[:3, 3].tolist()))
        made.setAxis(axis, RIGHT, LEFT)  # in the axes of `right`, which moves
    model = idyn.Model()
    model.addLink("left", idyn.Link())
    model.addLink("right", idyn.Link())
    assert model.addJoint("j", made) == 0
    return model


def idyn_vector(numbers):
    vector = idyn.VectorDynSize(len(numbers))
    for place, number in enumerate(numbers):
        vector.setVal(place, float(number))
    return vector


@pytest.mark.parametrize("kind", ["fixed", "revolute", "prismatic", "spherical"])
@pytest.mark.parametrize(("child", "ends"), [("left", (LEFT, RIGHT)), ("right", (RIGHT, LEFT))])
def test_joints_move_as_those_of_idyntree_from_both_sides(kind, child, ends, rng):
    """getTransform is child_H_parent, getMotionSubspaceVector a column of S."""
    for axis in AXES:
        # iDynTree's quaternion turns the axes of `right`, so the second mount may only shift
        far = Pose(xyz=(0.2, -0.5, 0.1)) if kind == "spherical" else random_pose(rng)
        joint = joint_of(kind, axis, first_H_joint=random_pose(rng), joint_H_second=far)
        model = idyn_model(joint)
        theirs = model.getJoint(0)
        rest = theirs.getRestTransform(*ends).asHomogeneousTransform().toNumPy()

        assert_close(joint_motion.neutral_transform(joint, child=child), rest, rtol=1e-14)
        for theta in random_theta(kind, rng, (5,)):
            H = theirs.getTransform(idyn_vector(theta), *ends).asHomogeneousTransform().toNumPy()
            assert_close(joint_motion.child_H_parent(joint, theta, child=child), H, rtol=1e-14)
            if kind == "spherical" and child == "left":
                continue  # there S depends on the position, which iDynTree does not ask for
            S = joint_motion.motion_subspace(joint, theta, child=child)
            assert S.shape[1] == theirs.getNrOfDOFs()
            for column in range(S.shape[1]):
                theirs_S = theirs.getMotionSubspaceVector(column, *ends).toNumPy()
                assert_close(S[:, column], theirs_S, rtol=1e-14)
