"""Devices: coordinates, bounds, and Jacobians compared with finite differences and KinDyn."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.support.cells import random_cell, random_state
from tests.support.models import assert_close, random_model, random_pose, random_q

import linkwork as lw
from linkwork.spatial.source import se3, so3
from linkwork.workcell.cell import cache
from linkwork.workcell.kinematics import fk
from linkwork.workcell.state.state import State

STEP = 1e-6


def differences(device, frame: str, state: State) -> np.ndarray:
    """(6, nv) Jacobian by central differences of base_H_frame along each velocity."""
    cell = device.cell
    start = device.base_H_frame(frame, state)
    columns = []
    for k in range(device.nv):
        ends = []
        for sign in (1, -1):
            moved = _moved(device, state, k, sign * STEP)
            ends.append(cell.frame_H_frame(device.base, frame, moved))
        linear = (ends[0][:3, 3] - ends[1][:3, 3]) / (2 * STEP)
        turned = so3.log(ends[0][:3, :3] @ ends[1][:3, :3].T) / (2 * STEP)
        columns.append([*linear, *turned])
    assert start.shape == (4, 4)
    return np.array(columns).reshape(device.nv, 6).T


def _moved(device, state, k, step):
    """The state after a step along one velocity coordinate."""
    cell = device.cell
    for name in device.joint_names:
        frame = cell.frame(name)
        if k < frame.velocity_size:
            break
        k -= frame.velocity_size
    if frame.movable:  # linear and angular velocity along the axes of the parent
        pose = cell.parent_H_frame(name, state).copy()
        if k < 3:
            pose[k, 3] += step
        else:
            pose[:3, :3] = so3.exp(step * np.eye(3)[k - 3]) @ pose[:3, :3]
        return cell.set_pose(state, name, pose)
    theta = cell.values(name, state)
    nu = np.zeros(frame.velocity_size)
    nu[k] = step
    after = frame.coordinate_kind.moved(list(theta), list(nu))
    return cell.set_values(state, name, np.array(after, dtype=float).reshape(-1))


@pytest.mark.parametrize("seed", range(3))
def test_jacobians_of_any_frame_agree_with_differences(seed):
    rng = np.random.default_rng(seed)
    cell = random_cell(rng)
    joints = tuple(f.name for f in cell.frames if f.size)
    ends = rng.choice(cell.frame_names, 2)
    cell = cell.with_device(lw.JointDevice("all", str(ends[0]), str(ends[1]), joints))
    state = random_state(cell, rng)
    for name in ("all", "left", "walker"):
        device = cell.device(name)
        for frame in (device.end, rng.choice(cell.frame_names)):
            result = device.base_J_frame(str(frame), state)
            expected = differences(device, str(frame), state)
            assert_close(result, expected, 1e-8, scale=max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("seed", range(3))
def test_placed_robots_agree_with_kindyn(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, 8)
    base = str(rng.choice(model.frame_names))
    cell = lw.WorkCell("place").with_frame("mount", parent_H_frame=random_pose(rng))
    for name, floating in (("still", False), ("floats", True)):
        cell = cell.with_robot(
            name,
            model,
            parent="mount",
            parent_H_base=random_pose(rng),
            base=base,
            floating=floating,
        )
        kd = lw.KinDyn(model, base, floating=floating)
        device = cell.device(name)
        assert (device.nq, device.nv) == (kd.nq, kd.nv)
        q = random_q(kd.layout, rng, (3,))
        states = device.set_q(cell.state(), q)
        assert_close(device.get_q(states), q, 1e-15)
        for frame in rng.choice(model.frame_names, 3):
            cell_frame = f"{name}.{frame}"
            assert_close(device.base_H_frame(cell_frame, states), kd.transform(frame, q), 1e-13)
            J = kd.jacobian(frame, q)
            assert_close(
                device.base_J_frame(cell_frame, states), J, 1e-12, scale=max(1, np.abs(J).max())
            )
        np.testing.assert_array_equal(
            device.lower, kd.limits.lower if not floating else device.lower
        )


def test_jacobian_with_a_rotated_base_and_a_gripped_object(rng):
    """Compared with the explicit Jacobian of a chain of two hinges and a slide."""
    pose = random_pose(rng)
    cell = lw.WorkCell("bench").with_frame("base", parent_H_frame=pose)
    cell = cell.with_joint("a", "revolute", "base", axis=(0, 0, 1))
    cell = cell.with_joint("b", "prismatic", "a", lw.Pose((1.0, 0, 0)), axis=(1, 0, 0))
    cell = cell.with_joint(
        "c",
        "revolute",
        "b",
        axis=(0, 0, 1),
        depends=lw.Mimic(joint="a", multiplier=-2.0, offset=0.3),
    )
    cell = cell.with_frame("tip", "c", lw.Pose((0.5, 0, 0.2)))
    cell = cell.with_frame("box", movable=True, attachable=True)
    cell = cell.with_device(lw.SerialDevice("arm", "base", "tip"))
    arm = cell.device("arm")
    assert arm.joint_names == ("a", "b")
    a, b = 0.4, 0.7
    state = arm.set_q(cell.state(), [a, b])
    c = -2 * a + 0.3
    ux, uy = np.cos(a), np.sin(a)
    tx, ty = 0.5 * np.cos(a + c), 0.5 * np.sin(a + c)
    x, y = (1 + b) * ux + tx, (1 + b) * uy + ty
    J = np.zeros((6, 2))
    J[:3, 0] = [-y + 2 * ty, x - 2 * tx, 0]
    J[5, 0] = 1 - 2
    J[:2, 1] = ux, uy
    assert_close(arm.base_J_end(state), J, 1e-14)
    assert_close(arm.base_H_end(state)[:3, 3], [x, y, 0.2], 1e-15)
    held = cell.set_pose(cell.attach(state, "box", "tip"), "box", lw.Pose((0.1, 0.2, 0)))
    p = arm.base_H_frame("box", held)[:3, 3]
    shifted = J.copy()
    shifted[:3] += np.cross(J[3:].T, p - [x, y, 0.2]).T
    assert_close(arm.base_J_frame("box", held), shifted, 1e-14)
    assert not arm.base_J_frame("box", state).any()
    both = arm.base_J_frames(["tip", "box"], State.stack([state, held]))
    assert both.shape == (2, 12, 2)
    assert_close(both[1], np.concatenate([J, shifted]), 1e-14)
    assert_close(both[0], np.concatenate([J, np.zeros((6, 2))]), 1e-14)


def two_hands() -> lw.WorkCell:
    cell = lw.WorkCell("bench").with_joint("torso", "revolute", limits=lw.Limits(lower=-1, upper=1))
    for side, y in (("left", 0.3), ("right", -0.3)):
        cell = cell.with_joint(
            f"{side}_arm",
            "revolute",
            "torso",
            lw.Pose((0.0, y, 0.5)),
            axis=(0, 1, 0),
            limits=lw.Limits(lower=-2, upper=0.5, velocity=3.0, effort=7.0),
            acceleration=4.0,
        )
        cell = cell.with_joint(f"{side}_idle", "revolute", f"{side}_arm", active=False)
        cell = cell.with_frame(f"{side}_hand", f"{side}_idle", lw.Pose((0.4, 0.0, 0.0)))
    cell = cell.with_frame("cart", movable=True)
    for wheel, y in (("wheel_l", 0.25), ("wheel_r", -0.25)):
        cell = cell.with_joint(wheel, "revolute", "cart", lw.Pose((0, y, 0.1)), axis=(0, 1, 0))
    return cell.with_frame("mast", "cart", lw.Pose((0.2, 0.1, 1.0)))


def test_tree_and_composite_devices():
    cell = two_hands().with_device(lw.TreeDevice("hands", "WORLD", ["left_hand", "right_hand"]))
    cell = cell.with_device(lw.SerialDevice("left", "torso", "left_hand"))
    cell = cell.with_device(lw.SerialDevice("right", "torso", "right_hand"))
    both = lw.CompositeDevice("both", "torso", "left_hand", ("right", "left"), ("right_hand",))
    cell = cell.with_device(both)
    hands, pair = cell.device("hands"), cell.device("both")
    assert hands.joint_names == ("torso", "left_arm", "right_arm")
    assert hands.ends == ("left_hand", "right_hand")
    assert hands.end == "left_hand"
    assert pair.joint_names == ("right_arm", "left_arm")
    assert pair.ends == (
        "left_hand",
        "right_hand",
    )
    state = hands.set_q(cell.state(), [0.3, -0.4, -0.5])
    assert pair.get_q(state).tolist() == [-0.5, -0.4]
    for device in (hands, pair):
        J = device.base_J_ends(state)
        expected = [differences(device, end, state) for end in device.ends]
        assert_close(J, np.concatenate(expected), 1e-8)
    assert hands.lower.tolist() == [-1, -2, -2]
    assert hands.upper.tolist() == [1, 0.5, 0.5]
    assert hands.velocity_limits.tolist() == [np.inf, 3, 3]
    assert hands.acceleration_limits.tolist() == [np.inf, 4, 4]
    assert hands.effort_limits.tolist() == [np.inf, 7, 7]
    assert pickle.loads(pickle.dumps(hands)).joint_names == hands.joint_names
    assert repr(hands) == "<TreeDevice 'hands' of 'bench': 'WORLD' to 'left_hand', nq 3>"
    assert pickle.loads(pickle.dumps(cell)) == cell


def test_bounds_and_paths():
    cell = two_hands().with_device(lw.TreeDevice("hands", "WORLD", ["left_hand", "right_hand"]))
    hands = cell.device("hands")
    assert hands.in_bounds([0, 0, 0])
    assert not hands.in_bounds([0, 0.6, 0])
    assert hands.in_bounds([0, 0.6, 0], tolerance=0.1 + 1e-12)
    path = hands.path(cell.state(), np.linspace([0, 0, 0], [2, 0, 0], 5))
    assert path.batch_shape == (5,)
    assert hands.in_bounds(path).tolist() == [True, True, True, False, False]
    assert_close(hands.base_H_end(path)[2], hands.base_H_end(path[2]), 1e-15)
    with pytest.raises(lw.ShapeError, match=r"path of 'hands': .*\(N, 3\).*\(3,\)"):
        hands.path(cell.state(), [0, 0, 0])
    with pytest.raises(lw.ShapeError, match=r"q of 'hands': .*\(..., 3\).*\(2,\)"):
        hands.set_q(cell.state(), [0, 0])
    with pytest.raises(lw.ShapeError, match=r"q of 'hands': .*\(..., 3\).*\(4,\)"):
        hands.in_bounds([0, 0, 0, 0])
    with pytest.raises(lw.ValueRangeError, match=r"q of 'hands': .*not finite"):
        hands.set_q(cell.state(), [0, np.nan, 0])
    with pytest.raises(lw.ArgumentError, match="tolerance: "):
        hands.in_bounds([0, 0, 0], tolerance=-1.0)
    with pytest.raises(lw.NameNotFoundError, match=r"device.*'hand'.*'hands'"):
        cell.device("hand")


def test_free_device_moves_its_frame(rng):
    cell = lw.WorkCell("air").with_frame("drone", parent_H_frame=random_pose(rng), movable=True)
    cell = cell.with_device(lw.FreeDevice("drone", "WORLD", "drone"))
    drone = cell.device("drone")
    assert (drone.nq, drone.nv) == (7, 6)
    assert drone.lower.tolist() == [-np.inf] * 7
    assert_close(drone.base_J_end(cell.state()), np.eye(6), 1e-15)
    q = np.array([1.0, 2, 3, 0.5, 0.5, 0.5, 0.5])
    assert_close(drone.get_q(drone.set_q(cell.state(), q)), q, 1e-15)


def test_cart_rolls_along_arcs():
    cart = lw.MobileDevice("cart", "cart", left="wheel_l", right="wheel_r", radius=0.1, track=0.5)
    cell = two_hands().with_device(cart)
    cart = cell.device("cart")
    ahead = cart.roll(cell.state(), [2.0, 2.0])
    assert_close(cell.world_H_frame("cart", ahead)[:3, 3], [0.2, 0, 0], 1e-15)
    assert cart.get_q(ahead).tolist() == [2, 2]
    turned = cart.roll(cell.state(), [-np.pi, np.pi])  # on the spot: 2 pi 0.1 / 0.5
    R = cell.world_H_frame("cart", turned)[:3, :3]
    assert_close(R, so3.rot_z(np.array(2 * np.pi * 0.1 / 0.5)), 1e-14)
    rates = np.array([0.7, 1.9])
    for frame in ("cart", "mast", "wheel_l"):
        ends = [cart.roll(ahead, sign * STEP * rates) for sign in (1, -1)]
        start = cell.world_H_frame("cart", ahead)
        a, b = (se3.inverse(start) @ cell.world_H_frame(frame, end) for end in ends)
        twist = [*(a - b)[:3, 3], *so3.log(a[:3, :3] @ b[:3, :3].T)]
        result = cart.base_J_frame(frame, ahead) @ rates
        assert_close(result, np.array(twist) / (2 * STEP), 1e-8)
    assert cart.base_J_frames(["cart", "mast"], ahead).shape == (12, 2)
    assert cart.base_J_end(ahead.broadcast(3)).shape == (3, 6, 2)
    assert not cart.base_J_frame("torso", ahead).any()
    cell = cell.with_frame("parcel", movable=True, attachable=True)
    cart, mixed = cell.device("cart"), cell.upgrade(ahead).broadcast(2)
    mixed = cell.grip(mixed, "parcel", ["mast", "WORLD"])
    J = cart.base_J_frame("parcel", mixed)
    assert J[0].any()
    assert not J[1].any()
    ahead = mixed[1]
    away = cart.set_pose(ahead, lw.Pose((5, 5, 0)))
    assert cell.world_H_frame("mast", away)[:3, 3].tolist() == [5.2, 5.1, 1.0]
    with pytest.raises(lw.ShapeError, match=r"angles: .*\(..., 2\).*\(3,\)"):
        cart.roll(ahead, [1, 2, 3])


@pytest.mark.parametrize(
    ("device", "text"),
    [
        (lw.SerialDevice("x", "torso", "hand"), "frame 'hand'"),
        (lw.SerialDevice("x", "left_hand", "torso"), "'left_hand'.*end 'torso'"),
        (lw.JointDevice("x", "torso", "torso", ("mast",)), "'mast'.*fixed"),
        (lw.JointDevice("x", "torso", "torso", ("torso", "torso")), "joint 'torso'.*twice"),
        (lw.FreeDevice("x", "WORLD", "torso"), "'torso'.*movable"),
        (lw.CompositeDevice("x", "torso", "torso", ("y",)), "device 'y'"),
        (lw.MobileDevice("x", "torso", left="wheel_l", right="wheel_r"), "'torso'.*movable"),
        (lw.MobileDevice("x", "cart", left="mast", right="wheel_r"), "'mast'.*joint"),
    ],
)
def test_invalid_devices_are_rejected(device, text):
    with pytest.raises(lw.ModelError, match=f"device 'x': .*{text}"):
        two_hands().with_device(device)


def test_devices_with_invalid_fields_are_rejected():
    with pytest.raises(lw.ModelError, match=r"tree.*\bend\b"):
        lw.TreeDevice("x", "WORLD", [])
    with pytest.raises(lw.ModelError, match=r"radius: .*\b0\b"):
        lw.MobileDevice("x", "cart", left="a", right="b", radius=0)
    with pytest.raises(lw.ModelError, match=r"name of a device.*empty"):
        lw.SerialDevice("", "a", "b")
    cell = two_hands().with_device(lw.SerialDevice("x", "torso", "left_hand"))
    with pytest.raises(lw.ModelError, match=r"device 'x': .*use"):
        cell.with_device(lw.SerialDevice("x", "torso", "left_hand"))
    with pytest.raises(lw.ArgumentError, match=r"SerialDevice.*\b3\b"):
        cell.with_device(3)


def test_jacobians_of_batches_with_and_without_the_extension(rng, monkeypatch):
    cell = random_cell(np.random.default_rng(5))
    slow = random_cell(np.random.default_rng(5))
    monkeypatch.setattr(fk, "steps_of", lambda _cell: None)
    states = random_state(cell, rng, (2, 6))
    frames = [str(name) for name in rng.choice(cell.frame_names, 3)]
    by_numpy = slow.device("walker").base_J_frames(frames, states)
    monkeypatch.undo()
    walker = cell.device("walker")
    result = walker.base_J_frames(frames, states)
    assert result.shape == (2, 6, 18, walker.nv)
    assert_close(result, by_numpy, 1e-13)
    for k in range(6):
        assert_close(result[1, k], walker.base_J_frames(frames, states[1, k]), 1e-15)
    assert walker.base_J_end(states[:0]).shape == (0, 6, 6, walker.nv)
    assert walker.base_J_frames([], states).shape == (2, 6, 0, walker.nv)


def test_cache_of_columns_is_limited(monkeypatch):
    monkeypatch.setattr(cache, "CACHE_SIZE", 2)
    cell = two_hands().with_device(lw.TreeDevice("hands", "WORLD", ["left_hand", "right_hand"]))
    hands, state = cell.device("hands"), cell.state()
    for frame in cell.frame_names:
        assert_close(
            hands.base_J_frame(frame, state), differences(hands, frame, state), 1e-8, scale=1
        )
        assert cell.cache.count("columns") <= 2


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0, np.zeros(2)),
        (1, np.zeros(2, dtype=np.int32)),
        (1, np.array([99], dtype=np.int32)),
        (2, 99),
        (2, -1),
        (3, np.array([99], dtype=np.int32)),
        (4, np.array([[1, 0, 0, 0]], dtype=np.int32)),
        (4, np.array([[0, 9, 0, 0]], dtype=np.int32)),
        (4, np.array([[0, 0, 9, 0]], dtype=np.int32)),
        (4, np.array([[0, 0, 0, 9]], dtype=np.int32)),
        (5, np.zeros((2, 6))),
        (6, -1),
        (7, "two"),
    ],
)
def test_extension_rejects_invalid_arguments(place, value):
    cell = lw.WorkCell("bench").with_frame("box", movable=True, attachable=True)
    state = cell.state()
    columns = np.array([[0, 1, 1, 0]], dtype=np.int32)
    expected = np.array([1], dtype=np.int32)
    arguments = [state.values, state.parents, 0, expected, columns, np.ones((1, 6)), 1, None]
    assert fk.steps_of(cell).jacobians(*arguments).shape == (1, 6, 1)
    arguments[place] = value
    with pytest.raises(ValueError, match="frames"):
        fk.steps_of(cell).jacobians(*arguments)
    with pytest.raises(ValueError, match="frames"):
        fk.steps_of(cell).jacobians(*arguments[:7])
