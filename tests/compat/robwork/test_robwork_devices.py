"""Devices with RobWork's names: q, bounds, Jacobians, and creation from frames."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.compat import robwork as rw


def two_arms() -> tuple[rw.WorkCell, rw.SerialDevice, rw.SerialDevice]:
    cell = rw.WorkCellLoaderFactory.load("two_arms")
    left, right = cell.findSerialDevice("left"), cell.findSerialDevice("right")
    assert left is not None
    assert right is not None
    return cell, left, right


def differences(device: rw.Device, frame: rw.Frame, state: rw.State) -> np.ndarray:
    """Compute the Jacobian of a frame by central differences of its pose in the base."""
    columns, q, h = [], device.getQ(state).e(), 1e-6
    for k in range(device.getDOF()):
        poses = []
        for side in (1, -1):
            other = state.copy()
            step = q.copy()
            step[k] += side * h
            device.setQ(rw.Q(step), other)
            poses.append(device.baseTframe(frame, other))
        linear = (poses[0].P() - poses[1].P()).e() / (2 * h)
        angular = rw.EAA(poses[0].R() * rw.inverse(poses[1].R())).e() / (2 * h)
        columns.append(np.concatenate([linear, angular]))
    return np.stack(columns, axis=1)


def test_set_q_modifies_the_state():
    _, left, right = two_arms()
    state = left.structure.getDefaultState()
    before, other = right.getQ(state), state.copy()

    left.setQ([1, 2, 3, 4, 5, 6], state)  # type: ignore[arg-type]

    assert left.getQ(state) == rw.Q(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    assert right.getQ(state) == before
    assert other != state
    with pytest.raises(lw.ShapeError, match=r"q of 'left': .*6.*\(5,\)"):
        left.setQ(rw.Q(5, 0.0), state)


@pytest.mark.parametrize("name", ["left", "right"])
def test_jacobians_agree_with_differences_also_for_a_rotated_base(name):
    cell, *_ = two_arms()
    device = cell.findSerialDevice(name)
    assert device is not None
    state = cell.getDefaultState()
    elbow = cell.findFrame(f"{name}.Joint4")
    assert elbow is not None

    J, Je = device.baseJend(state), device.baseJframe(elbow, state)

    np.testing.assert_allclose(J.e(), differences(device, device.getEnd(), state), atol=1e-9)
    np.testing.assert_allclose(Je.e(), differences(device, elbow, state), atol=1e-9)
    both = device.baseJframes([elbow, device.getEnd()], state)
    np.testing.assert_array_equal(both.e(), np.vstack([Je.e(), J.e()]))


def test_frames_of_a_device():
    cell, left, _ = two_arms()
    state = cell.getDefaultState()

    assert [f.getName() for f in left.frames()] == [
        "left.Base",
        *(f"left.Joint{k}" for k in range(1, 7)),
        "left.TCP",
    ]
    assert left.getBase() is cell.findFrame("left.Base")
    assert left.getEnd() is cell.findFrame("left.TCP")
    assert left.worldTbase(state) == left.getBase().wTf(state)
    assert [j.getName() for j in left.getJoints()] == [f"left.Joint{k}" for k in range(1, 7)]
    assert left.getDOF() == 6


def test_bounds_and_limits_are_read_and_written():
    cell, left, right = two_arms()
    state = cell.getDefaultState()

    np.testing.assert_allclose(left.getBounds().second.e()[:2], np.radians([175, 110]))
    np.testing.assert_allclose(left.getVelocityLimits().e()[:2], np.radians([150, 150]))
    np.testing.assert_allclose(left.getAccelerationLimits().e()[:2], np.radians([300, 300]))
    left.setBounds((rw.Q(6, -1.0), rw.Q(6, 1.0)))

    assert left.getBounds() == rw.QBox(rw.Q(6, -1.0), rw.Q(6, 1.0))
    assert right.getBounds() != left.getBounds()
    left.setQ(rw.Q(6, 0.5), state)  # states stay valid


def gripper() -> tuple[rw.WorkCell, list[rw.Frame]]:
    """A rotated base, a joint, and two fingers, one of which depends on the other."""
    cell = rw.WorkCell("gripper")
    base = rw.FixedFrame("base", rw.Transform3D(rw.Vector3D(1, 2, 3), rw.RPY(0.5, 0.4, 0.3)))
    wrist = rw.RevoluteJoint("wrist", rw.Transform3D(rw.Vector3D(0, 0, 0.1)))
    first = rw.PrismaticJoint("first", rw.Transform3D(rw.RPY(0, np.pi / 2, 0)))
    second = rw.DependentPrismaticJoint(
        "second", rw.Transform3D(rw.RPY(0, -np.pi / 2, 0)), first, 0.5, 0.01
    )
    tips = [rw.FixedFrame(f"tip{k}", rw.Transform3D(rw.Vector3D(0.05, 0, 0))) for k in (1, 2)]
    for frame, parent in [
        *[(base, None), (wrist, base), (first, wrist), (second, wrist)],
        *[(tips[0], first), (tips[1], second)],
    ]:
        cell.addFrame(frame, parent)
    return cell, [base, wrist, first, second, *tips]


def test_a_tree_device_has_correct_jacobians_of_all_its_ends():
    """Those of RobWork are wrong if the base is rotated in the world."""
    cell, (base, *_, tip1, tip2) = gripper()
    state = cell.getDefaultState()
    device = rw.TreeDevice(base, [tip1, tip2], "gripper", state)
    cell.addDevice(device)
    device.setQ(rw.Q(0.3, 0.02), state)

    expected = [differences(device, tip, state) for tip in (tip1, tip2)]

    assert device.getDOF() == 2
    assert device.getEnds() == [tip1, tip2]
    np.testing.assert_allclose(device.baseJends(state).e(), np.vstack(expected), atol=1e-9)
    assert cell.findTreeDevice("gripper") is device
    assert cell.cell.device_names == ("gripper",)


def test_dependent_joints_follow_their_owner():
    cell, (_, _, first, second, *_) = gripper()
    state = cell.getDefaultState()
    assert isinstance(first, rw.PrismaticJoint)
    assert isinstance(second, rw.DependentJoint)

    first.setData(state, [0.04])

    assert second.getDOF() == 0
    moved = second.getJointTransform(state)
    np.testing.assert_allclose(moved.P().e(), [0, 0, 0.5 * 0.04 + 0.01], atol=1e-15)
    assert first.getData(state) == [0.04]


def test_a_joint_can_be_limited_before_and_after_it_is_added():
    joint = rw.RevoluteJoint("j", rw.Transform3D())
    joint.setBounds(rw.Q(1, -1.0), rw.Q(1, 1.0))
    assert joint.getMaxVelocity() == rw.Q([np.inf])
    cell = rw.WorkCell("c")
    cell.addFrame(joint)
    joint.setMaxVelocity(2.0)
    joint.setMaxAcceleration(3.0)
    joint.setActive(False)

    assert joint.getBounds() == rw.QBox(rw.Q(1, -1.0), rw.Q(1, 1.0))
    assert (joint.getMaxVelocity()[0], joint.getMaxAcceleration()[0]) == (2, 3)
    assert not joint.isActive()
    state = cell.getDefaultState()
    assert rw.SerialDevice(cell.getWorldFrame(), joint, "d", state).getDOF() == 0


def test_a_composite_device_moves_its_devices():
    cell, left, right = two_arms()
    state = cell.getDefaultState()
    both = rw.CompositeDevice(
        cell.getWorldFrame(), [left, right], [left.getEnd(), right.getEnd()], "both", state
    )
    cell.addDevice(both)

    both.setQ(rw.Q(np.arange(12) / 10), state)

    assert left.getQ(state) == rw.Q(np.arange(6) / 10)
    assert right.getQ(state) == rw.Q(np.arange(6, 12) / 10)
    J = both.baseJends(state).e()
    assert J.shape == (12, 12)
    assert not J[:6, 6:].any()
    np.testing.assert_allclose(J[6:], differences(both, right.getEnd(), state), atol=1e-9)
    assert cell.cell.device_names == ("left", "right", "both")


def test_a_joint_device_takes_any_joints_in_any_order():
    cell, left, right = two_arms()
    state = cell.getDefaultState()
    joints = [right.getJoints()[2], left.getJoints()[0]]

    device = rw.JointDevice("mixed", cell.getWorldFrame(), left.getEnd(), joints, state)
    device.setQ(rw.Q(0.7, 0.8), state)

    assert (right.getQ(state)[2], left.getQ(state)[0]) == (0.7, 0.8)


def test_a_cart_moves_when_its_wheels_rotate():
    cell = rw.WorkCellLoaderFactory.load("mobile_manipulator")
    cart = cell.findMobileDevice("cart")
    assert cart is not None
    state = cell.getDefaultState()

    cart.setQ(rw.Q(0.5, 0.5), state)
    assert cart.getBase().wTf(state).P() == rw.Vector3D(0.5, 0, 0)
    quarter = np.pi / 8  # wheel angle for pi/2 on the spot: the wheels are 0.5 apart
    cart.setQ(rw.Q(0.5 - quarter, 0.5 + quarter), state)
    turned = rw.RPY(cart.getBase().wTf(state).R())
    np.testing.assert_allclose(turned.e(), [np.pi / 2, 0, 0], atol=1e-14)


def test_a_free_device_moves_a_movable_frame():
    cell, *_ = two_arms()
    state, bar = cell.getDefaultState(), cell.findMovableFrame("bar")
    assert bar is not None
    device = rw.SE3Device("free", cell.findFrame("table"), bar)

    device.setQ(rw.Q([1, 2, 3, 1, 0, 0, 0]), state)

    assert bar.getTransform(state) == rw.Transform3D(rw.Vector3D(1, 2, 3))


def test_devices_are_added_and_removed():
    cell, left, _ = two_arms()
    other, *_ = two_arms()
    copy = rw.SerialDevice(left.getBase(), left.getEnd(), "copy", cell.getDefaultState())
    cell.addDevice(copy)

    with pytest.raises(lw.ModelError, match=r"device 'copy'"):
        cell.addDevice(copy)
    with pytest.raises(lw.ModelError, match="another workcell"):
        other.addDevice(copy)
    with pytest.raises(lw.ModelError, match=r"frame 'left\.TCP': .*left, copy"):
        cell.remove(left.getEnd())
    cell.remove(copy)
    assert cell.findDevice("copy") is None
    with pytest.raises(lw.ModelError, match=r"base 'left\.TCP'.*\bend\b"):
        rw.SerialDevice(left.getEnd(), left.getBase(), "back", cell.getDefaultState())


def test_a_placed_robot_is_a_serial_or_a_tree_device():
    cell = lw.WorkCell("c").with_robot("arm", lw.robots.load("double_pendulum"))
    cell = cell.with_robot("dog", lw.robots.load("quadruped"), floating=True)
    view = rw.WorkCell(cell)
    state = view.getDefaultState()
    arm, dog = view.findSerialDevice("arm"), view.findTreeDevice("dog")
    assert arm is not None
    assert dog is not None

    arm.setQ(rw.Q(0.1, 0.2), state)

    assert arm.getQ(state) == rw.Q(0.1, 0.2)
    assert dog.getDOF() == 7 + 12
    assert view.cell == cell
