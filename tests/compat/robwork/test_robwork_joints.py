"""Joints with several coordinates, joints outside of workcells, and data of structures."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.compat import robwork as rw
from linkwork.spatial import se3, so3

FIXED = rw.Transform3D(rw.Vector3D(1, 2, 3), rw.RPY(0.3, 0.2, 0.1))


def along_z(length: float) -> np.ndarray:
    return se3.pose(np.eye(3), [0.0, 0.0, length])


def rotated(rotation: np.ndarray) -> np.ndarray:
    return se3.pose(rotation, np.zeros(3))


def xy(q) -> np.ndarray:
    return rotated(so3.rot_x(q[0]) @ so3.rot_y(q[1]))


def xyz(q) -> np.ndarray:
    return xy(q) @ rotated(so3.rot_z(q[2]))


JOINTS = {
    "RevoluteJoint": (1, lambda q: rotated(so3.rot_z(q[0]))),
    "PrismaticJoint": (1, lambda q: along_z(q[0])),
    "UniversalJoint": (2, xy),
    "SphericalJoint": (3, xyz),
    "PrismaticUniversalJoint": (3, lambda q: xy(q) @ along_z(q[2])),
    "PrismaticSphericalJoint": (4, lambda q: xyz(q) @ along_z(q[3])),
}


def derivatives(pose_of, q, step=1e-6) -> np.ndarray:
    """(6, n) velocities of a pose by central differences: at its origin, in the parent's axes."""
    columns = []
    for k in range(len(q)):
        d = np.eye(len(q))[k] * step
        low, high = pose_of(q - d), pose_of(q + d)
        rate = (high - low) / (2 * step)
        columns.append([*rate[:3, 3], *so3.vee(rate[:3, :3] @ pose_of(q)[:3, :3].T)])
    return np.transpose(columns)


@pytest.mark.parametrize("name", JOINTS)
def test_joints_move_by_their_coordinates(name, rng):
    """With and without a workcell, in a state and at some coordinates."""
    dof, motion = JOINTS[name]
    q = rng.uniform(-1, 1, size=dof)
    joint = getattr(rw, name)("J", FIXED)

    assert (joint.getDOF(), joint.size(), joint.getName()) == (dof, dof, "J")
    np.testing.assert_allclose(joint.getJointTransform(rw.Q(q)), motion(q), atol=1e-15)
    np.testing.assert_allclose(joint.getTransform(q), FIXED.e() @ motion(q), atol=1e-15)

    cell = rw.WorkCell("c")
    cell.addFrame(joint)
    tool = rw.FixedFrame("tool", rw.Transform3D(rw.Vector3D(0.1, 0.2, 0.3)))
    cell.addFrame(tool, joint)
    state = cell.getDefaultState()
    joint.setData(state, [*q, 9.0])  # one value too many, as RobWork allows
    assert joint.getData(state) == q.tolist()
    np.testing.assert_allclose(joint.getTransform(state), joint.getTransform(q), atol=1e-15)
    np.testing.assert_allclose(tool.wTf(state), FIXED.e() @ motion(q) @ tool.getTransform(state))
    np.testing.assert_allclose(joint.getJointTransform(state), motion(q), atol=1e-15)
    result = rw.Transform3D()
    joint.multiplyTransform(FIXED, state, result)
    np.testing.assert_allclose(result, FIXED.e() @ FIXED.e() @ motion(q), atol=1e-14)
    joint.multiplyJointTransform(rw.Transform3D(), rw.Q(q), result)
    np.testing.assert_allclose(result, joint.getTransform(q))


@pytest.mark.parametrize("name", JOINTS)
def test_joint_jacobians_are_added_at_a_row_and_column(name, rng):
    dof, motion = JOINTS[name]
    q = rng.uniform(-1, 1, size=dof)
    joint = getattr(rw, name)("J", FIXED)
    tool = rw.Transform3D(rw.Vector3D(0.1, 0.2, 0.3), rw.RPY(1, 2, 3)).e()
    start = rng.normal(size=(8, dof + 2))

    jacobian = rw.Jacobian(start)
    pose = joint.getTransform(q)
    joint.getJacobian(1, 2, pose, pose * rw.Transform3D(tool), rw.Q(q), jacobian)

    added = jacobian.e() - start
    expected = derivatives(lambda q: FIXED.e() @ motion(q) @ tool, q)
    np.testing.assert_allclose(added[1:7, 2:], expected, atol=1e-9)
    added[1:7, 2:] = 0
    assert not added.any()


def test_joints_with_several_coordinates_are_single_frames(rng):
    cell = rw.WorkCell("c")
    ball, tool = rw.SphericalJoint("ball", FIXED), rw.FixedFrame("tool", rw.Transform3D())
    cell.addFrame(ball)
    cell.addFrame(tool, ball)
    state = cell.getDefaultState()
    world = cell.getWorldFrame()

    assert cell.getFrames() == [world, ball, tool]
    assert [frame.getID() for frame in cell.getFrames()] == [0, 1, 2]
    assert (ball.getParent(), tool.getParent(state), world.getChildren()) == (world, ball, [ball])
    assert rw.Kinematics.findAllFrames(world, state) == [world, ball, tool]
    groups = rw.Kinematics.getStaticFrameGroups(world, state)
    assert sorted(frame.getName() for group in groups for frame in group) == [
        *("WORLD", "ball", "tool")
    ]
    assert cell.findJoint("ball") is ball
    assert cell.findFrame("ball.x") is None
    with pytest.raises(lw.ModelError, match=r"'ball\.x'"):
        cell.addFrame(rw.FixedFrame("ball.x", rw.Transform3D()))

    cell.remove(tool)
    cell.remove(ball)
    assert (cell.getFrames(), ball.getID()) == ([world], -1)
    cell.addDAF(ball)
    cell.addFrame(tool)
    state = cell.getDefaultState()
    assert ball.isDAF()
    ball.attachTo(tool, state)
    assert ball.getParent(state) is tool


def test_devices_actuate_joints_with_several_coordinates(rng):
    cell = rw.WorkCell("c")
    base = rw.FixedFrame("base", FIXED)
    joints = [
        rw.SphericalJoint("ball", FIXED),
        rw.UniversalJoint("cross", FIXED),
        rw.PrismaticUniversalJoint("slide", FIXED),
    ]
    tool = rw.FixedFrame("tool", FIXED)
    parent = None
    for frame in (base, *joints, tool):
        cell.addFrame(frame, parent)
        parent = frame
    state = cell.getDefaultState()
    q = rng.uniform(-1, 1, size=8)
    devices = [
        rw.SerialDevice(base, tool, "serial", state),
        rw.JointDevice("joints", base, tool, joints, state),
    ]

    for device in devices:
        device.setQ(rw.Q(q), state)
        assert device.getQ(state) == rw.Q(q)
        assert (device.getDOF(), device.getJoints()) == (8, joints)
        ball, cross, slide = (joint.getTransform for joint in joints)
        pose = ball(q[:3]) * cross(q[3:5]) * slide(q[5:]) * FIXED
        np.testing.assert_allclose(device.baseTend(state), pose, atol=1e-14)
        lower, upper = -np.arange(1.0, 9.0), np.arange(2.0, 10.0)
        device.setBounds((rw.Q(lower), rw.Q(upper)))
        joints[0].setMaxVelocity(rw.Q(upper[:3] + 1))
        joints[1].setMaxAcceleration(rw.Q(upper[3:5] + 2))
        assert device.getBounds() == (rw.Q(lower), rw.Q(upper))
        assert device.getVelocityLimits().toStdVector()[:3] == (upper[:3] + 1).tolist()
        assert device.getAccelerationLimits().toStdVector()[3:5] == (upper[3:5] + 2).tolist()
        assert joints[1].getBounds() == (rw.Q(lower[3:5]), rw.Q(upper[3:5]))
    assert devices[0].frames() == [base, *joints, tool]
    with pytest.raises(lw.ShapeError, match=r"lower of joint 'ball': .*3.*2"):
        joints[0].setBounds(rw.Q(2, 0.0), rw.Q(2, 1.0))

    def base_H_end(q):
        other = state.copy()
        devices[0].setQ(rw.Q(q), other)
        return devices[0].baseTend(other).e()

    np.testing.assert_allclose(devices[0].baseJend(state), derivatives(base_H_end, q), atol=1e-8)


def test_dependent_joints_move_by_their_owner(rng):
    cell = rw.WorkCell("c")
    owner = rw.RevoluteJoint("owner", FIXED)
    cell.addFrame(owner)
    screw = rw.DependentPrismaticJoint("screw", FIXED, owner, 0.5, 0.1)
    cell.addFrame(screw)
    state = cell.getDefaultState()
    owner.setData(state, 0.6)
    pose, tool = screw.getTransform(state), FIXED

    jacobian = rw.Jacobian(6, 2)
    screw.getJacobian(0, 1, pose, pose * tool, state, jacobian)

    np.testing.assert_allclose(screw.getJointTransform(state), along_z(0.5 * 0.6 + 0.1))
    np.testing.assert_allclose(screw.getTransform(0.4), pose, atol=1e-15)
    moved = derivatives(lambda q: (screw.getTransform(0.5 * q + 0.1) * tool).e(), np.array([0.6]))
    np.testing.assert_allclose(jacobian, np.hstack([np.zeros((6, 1)), moved]), atol=1e-9)


def test_data_may_have_a_name_that_is_in_use():
    structure = rw.StateStructure()
    joints = [rw.SphericalJoint("J", FIXED), rw.RevoluteJoint("J", FIXED)]
    for joint in joints:
        structure.addData(joint)
    state = structure.getDefaultState()

    joints[0].setData(state, [1, 2, 3])
    joints[1].setData(state, 4)

    assert [joint.getName() for joint in joints] == ["J", "J"]
    assert [joint.getData(state) for joint in joints] == [[1, 2, 3], [4]]
    assert structure.findFrame("J") is joints[0]


def test_coordinates_are_counted():
    joint = rw.PrismaticJoint("J", FIXED)

    assert joint.getTransform(0.2).P() == FIXED.P() + FIXED.R().getCol(2) * 0.2
    with pytest.raises(lw.ShapeError, match=r"joint 'J': .*1.*2"):
        joint.getTransform([0.2, 0.3])
    with pytest.raises(lw.ModelError, match=r"frame 'J': .*workcell"):
        joint.getTransform(rw.StateStructure().getDefaultState())


@pytest.mark.parametrize("base", ["a", "b"])
def test_joints_of_robots_move_as_in_their_file(base):
    """They have any axis, and a frame may be on the fixed side of its joint."""
    body = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    robot = lw.load(
        f"""<robot name="r"><link name="a">{body}</inertial></link>
        <link name="b">{body}</inertial></link>
        <joint name="j" type="revolute"><parent link="a"/><child link="b"/>
        <origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="0.6 0 0.8"/>
        <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
    )
    view = rw.WorkCell(lw.WorkCell("c").with_robot("r", robot, base=base))
    joint = next(frame for frame in view.getFrames() if isinstance(frame, rw.Joint))
    state = view.getDefaultState()
    joint.setData(state, [0.3])
    pose = joint.getTransform(state)

    jacobian = rw.Jacobian(6, 1)
    joint.getJacobian(0, 0, pose, pose, state, jacobian)

    np.testing.assert_allclose(joint.getTransform(0.3), pose, atol=1e-15)
    expected = derivatives(lambda q: joint.getTransform(q).e(), np.array([0.3]))
    np.testing.assert_allclose(jacobian, expected, atol=1e-9)
