"""Inverse kinematics in workcells: targets are reached, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.models import assert_close

import linkwork as lw
from linkwork.spatial import se3

SMALL = 2e-6


@pytest.fixture(scope="module")
def cell():
    """Two arms at a table, one of them on a tilted plate; boxes, and a lift below one arm."""
    arm = lw.robots.load("arm")
    cell = lw.WorkCell("bench").with_frame("table", parent_H_frame=lw.Pose((0.1, 0.2, 0.8)))
    cell = cell.with_joint("lift", "prismatic", "table").with_frame(
        "plate", "lift", lw.Pose((0, 1, 0), (0.3, 0.2, 0.1))
    )
    cell = cell.with_robot("left", arm, parent="table", end="tool")
    cell = cell.with_robot("right", arm, parent="plate", end="tool")
    for name in ("box", "can"):
        cell = cell.with_frame(
            name, "table", lw.Pose((0.4, 0.1, 0.2)), movable=True, attachable=True
        )
    return cell.with_frame("pallet", "table", lw.Pose((0.3, -0.2, 0.1), (0, 0, 0.5)))


def somewhere(cell, device, rng, batch=()):
    """Random positions within the limits."""
    q = rng.uniform(-0.6, 0.6, (*batch, device.nq))
    return np.clip(q, device.lower, device.upper)


def target_of(cell, state, name, frame, rng, *, batch=()):
    """A pose of a frame that a device can reach."""
    device = cell.device(name)
    return cell.world_H_frame(frame, device.set_q(state, somewhere(cell, device, rng, batch)))


def assert_only_moved(cell, device, before, after):
    """Only the joints of a device differ between two states."""
    q = cell.device(device).get_q(after)
    assert cell.device(device).set_q(before, q) == after


def test_device_reaches_its_target_and_nothing_else_moves(cell, rng):
    state = cell.state({"right": somewhere(cell, cell.device("right"), rng), "lift": [0.1]})
    targets = target_of(cell, state, "right", "right.tool", rng, batch=(3, 2))
    solution = cell.ik(state, {"right.tool": targets})
    assert solution.converged.shape == (3, 2)
    assert solution.converged.all()
    assert solution.devices == ("right",)
    assert_close(cell.fk(solution.state)["right.tool"], targets, SMALL)
    assert_only_moved(cell, "right", state.broadcast(3, 2), solution.state)
    assert "6 of 6 converged" in repr(solution)
    again = cell.device("right").ik(state, targets)
    assert again.state == solution.state


def test_gripped_objects_reach_their_targets(cell, rng):
    """Also an object on a gripped one, with a pose and a position as target."""
    start = cell.state({"left": somewhere(cell, cell.device("left"), rng)})
    state = cell.grip(cell.grip(start, "can", "box"), "box", "left.hand")
    target = target_of(cell, state, "left", "can", rng)
    solution = cell.ik(state, {"can": target})
    assert solution.converged
    assert_close(cell.fk(solution.state)["can"], target, SMALL)
    assert solution.position_errors["can"] <= 1e-6
    assert solution.rotation_errors["can"] <= 1e-6
    assert_only_moved(cell, "left", state, solution.state)
    point = cell.ik(state, {"can": target[:3, 3]})
    assert point.converged
    assert not point.rotation_errors
    assert_close(cell.fk(point.state)["can"][:3, 3], target[:3, 3], SMALL)
    with pytest.raises(lw.ArgumentError, match="'can'"):
        cell.ik(start, {"can": target})


def test_tolerance_applies_to_the_frame_not_the_link(cell, rng):
    """The object is 2 m from the hand, so a small rotation of the hand moves it by much."""
    left = cell.device("left")
    state = cell.attach(cell.state(), "box", "left.tool")
    state = cell.set_pose(state, "box", lw.Pose((2.0, 0.0, 0.0)))
    targets = target_of(cell, state, "left", "box", rng, batch=(40,))
    solution = left.ik(state, {"box": targets}, tolerance=1e-3)
    assert solution.converged.all()
    apart = cell.fk(solution.state)["box"][:, :3, 3] - targets[:, :3, 3]
    assert np.linalg.norm(apart, axis=-1).max() <= 1e-3


def test_rows_of_a_batch_may_grip_different_objects(cell, rng):
    """Each row has the same solution as alone."""
    left = cell.device("left")
    states = left.set_q(cell.state(), somewhere(cell, left, rng, (4,)))
    states = cell.grip(states, "box", ["left.tool", "left.hand", "left.tool", "left.hand"])
    targets = target_of(cell, states, "left", "box", rng, batch=(4,))
    solution = cell.ik(states, {"box": targets})
    assert solution.converged.all()
    assert_close(cell.fk(solution.state)["box"], targets, SMALL)
    assert_only_moved(cell, "left", states, solution.state)
    points = cell.ik(states, {"box": targets[:, :3, 3]})
    assert_close(cell.fk(points.state)["box"][:, :3, 3], targets[:, :3, 3], SMALL)


def test_targets_relative_to_a_frame_and_of_two_devices(cell, rng):
    state = cell.state({"lift": [0.2]})
    targets = {
        f"{name}.tool": se3.inverse(cell.world_H_frame("pallet", state))
        @ target_of(cell, state, name, f"{name}.tool", rng)
        for name in ("left", "right")
    }
    solution = cell.ik(state, targets, reference="pallet")
    assert solution.converged
    assert set(solution.devices) == {"left", "right"}
    for frame, target in targets.items():
        assert_close(cell.frame_H_frame("pallet", frame, solution.state), target, SMALL)
    with pytest.raises(lw.ArgumentError, match=r"reference: .*'left'.*'left\.hand'"):
        cell.ik(state, {"left.tool": np.eye(4)}, reference="left.hand")


def test_unreachable_target_reports_its_distance(cell):
    far = lw.Pose((5.0, 0.2, 0.8))
    solution = cell.ik(cell.state(), {"left.tool": far}, restarts=2)
    assert not solution.converged
    distance = np.linalg.norm(cell.fk(solution.state)["left.tool"][:3, 3] - far.xyz)
    assert_close(solution.position_errors["left.tool"], distance, 1e-12)
    assert 3 < distance < 6


def test_device_is_required_if_several_can_move_a_frame(cell, rng):
    """The smallest device is chosen; a lift below an arm is ambiguous."""
    rail = cell.with_device(lw.SerialDevice("rail", "table", "plate"))
    both = rail.with_device(lw.CompositeDevice("both", "table", "right.tool", ("rail", "right")))
    lone = cell.with_device(lw.CompositeDevice("pair", "WORLD", "left.tool", ("left", "right")))
    target = target_of(cell, cell.state(), "left", "left.tool", rng)
    assert lone.ik(lone.state(), {"left.tool": target}).devices == ("left",)
    state = both.state()
    target = target_of(both, both.state({"rail": [0.3]}), "right", "right.tool", rng)
    with pytest.raises(lw.ArgumentError, match=r"'right\.tool'.*right, rail, both"):
        both.ik(state, {"right.tool": target})
    held = both.ik(state, {"right.tool": target}, device="both", hold=["lift"])
    assert both.values("lift", held.state) == 0
    assert both.ik(state, {"right.tool": target}, device="both").converged
    with pytest.raises(lw.ArgumentError, match=r"'left'.*'right\.tool'"):
        both.ik(state, {"right.tool": target}, device="left")
    with pytest.raises(lw.NameNotFoundError, match=r"joint.*'lit'.*'lift'"):
        both.ik(state, {"right.tool": target}, device="both", hold=["lit"])


def test_locked_frames_between_joints_have_their_pose_in_each_state(rng):
    cell, parent = lw.WorkCell("chain"), "WORLD"
    for k in range(6):
        axis, pose = np.eye(3)[k % 3], lw.Pose((0.1, 0.05, 0.2))
        cell = cell.with_joint(f"j{k}", "revolute", parent, pose, axis=axis)
        parent = f"j{k}"
        if k == 2:
            cell = cell.with_frame("calibration", parent, movable=True)
            parent = "calibration"
    cell = cell.with_frame("tool", parent, lw.Pose((0.1, 0.1, 0.1)))
    cell = cell.with_device(lw.SerialDevice("arm", "WORLD", "tool"))
    poses = np.tile(np.eye(4), (3, 1, 1))
    poses[:, :3, 3] = [[0, 0, 0], [0.02, 0, 0.01], [0.02, 0, 0.01]]
    states = cell.set_pose(cell.state(), "calibration", poses)
    targets = target_of(cell, states, "arm", "tool", rng, batch=(3,))
    solution = cell.ik(states, {"tool": targets})
    assert solution.converged.all()
    assert_close(cell.fk(solution.state)["tool"], targets, SMALL)
    assert_only_moved(cell, "arm", states, solution.state)


def test_floating_robot_moves_its_base_unless_it_is_held(rng):
    cell = lw.WorkCell("field").with_frame("hill", parent_H_frame=lw.Pose((1, 2, 3), (0.1, 0.2, 0)))
    cell = cell.with_robot("arm", lw.robots.load("arm"), parent="hill", floating=True, end="tool")
    state, base = cell.state(), cell.device("arm").joint_names[0]
    far = lw.Pose((4.0, 2.0, 3.0))
    free = cell.ik(state, {"arm.tool": far})
    assert free.converged
    assert_close(cell.fk(free.state)["arm.tool"], far.matrix(), SMALL)
    held = cell.ik(state, {"arm.tool": far}, hold=[base], restarts=1)
    assert not held.converged
    assert_close(cell.values(base, held.state), cell.values(base, state), 1e-15)


def test_invalid_targets_are_rejected(cell):
    state = cell.state()
    with pytest.raises(lw.NameNotFoundError, match=r"'tool'.*'left\.tool'.*'right"):
        cell.ik(state, {"tool": np.eye(4)})
    with pytest.raises(lw.NameNotFoundError, match=r"'hand'.*'left\.hand'.*'right"):
        cell.grip(state, "box", "hand")
    with pytest.raises(lw.ArgumentError, match=r"poses.*by frame"):
        cell.ik(state, np.eye(4))
    with pytest.raises(lw.ShapeError, match=r"left\.tool: .*pose.*\(2, 2\)"):
        cell.ik(state, {"left.tool": np.eye(2)})
    with pytest.raises(lw.ValueRangeError, match=r"left\.tool: .*left-handed"):
        cell.ik(state, {"left.tool": np.diag([1.0, 1, -1, 1])})
    gripped = cell.grip(state, "box", "left.tool")
    with pytest.raises(lw.ArgumentError, match=r"'left\.tool'"):
        cell.ik(gripped, {"left.tool": np.eye(4), "box": np.eye(4)})
    with pytest.raises(lw.ShapeError, match=r"left\.tool: .*batch"):
        cell.ik(state.broadcast(3), {"left.tool": np.zeros((2, 3))})
    empty = cell.ik(state.broadcast(0), {"left.tool": np.zeros(3)})
    assert empty.converged.shape == (0,)


def test_positions_are_reached_in_the_bundled_cell():
    """Its robot is made of frames of the cell, so frames and links have the same names."""
    cell = lw.load_workcell("pick_and_place")
    target = (0.4, 0.1, 1.0)
    solution = cell.ik(cell.state(), {"arm.tcp": target})
    assert solution.converged
    assert_close(cell.world_H_frame("arm.tcp", solution.state)[:3, 3], target, SMALL)


def crowded():
    """The bundled cell with a column and balls at the arm, which holds the can."""
    cell = lw.load_workcell("pick_and_place")
    column = lw.Shape(lw.Cylinder(0.06, 0.5), lw.Pose((0.0, 0.0, 0.25)))
    cell = cell.with_frame("column", "table", lw.Pose((0.3, 0.1, 0.0)), collisions=[column])
    for k, xyz in enumerate([(0.3, -0.1, 1.1), (0.5, 0.3, 0.9), (0.1, 0.4, 1.0)]):
        ball = lw.Shape(lw.Sphere(0.08))
        cell = cell.with_frame(f"ball{k}", parent_H_frame=lw.Pose(xyz), collisions=[ball])
    state = cell.attach(cell.state(), "can", "arm.tcp")
    return cell, cell.set_pose(state, "can", lw.Pose((0.0, 0.0, 0.08)))


@pytest.mark.peers
def test_solutions_avoid_collisions(rng):
    """Of the arm, of what it holds and of the column; judged by the collision check of the cell."""
    cell, state = crowded()
    targets = rng.uniform([0.0, -0.4, 0.8], [0.6, 0.5, 1.3], (60, 3))
    plain = cell.ik(state, {"can": targets})
    hit = plain.converged & cell.in_collision(plain.state)
    assert hit.sum() >= 8
    assert plain.in_collision is None
    free = cell.ik(state, {"can": targets}, avoid=True)
    assert (hit & free.converged).sum() >= hit.sum() // 3
    assert np.array_equal(free.in_collision, cell.in_collision(free.state))
    assert np.array_equal(free.converged, plain.converged & ~free.in_collision)
    poses = cell.world_H_frame("can", free.state)
    assert_close(poses[plain.converged, :3, 3], targets[plain.converged], SMALL)
    kept = ~hit
    assert free.state[kept] == plain.state[kept]
    row = int(np.flatnonzero(hit & free.converged)[0])
    alone = cell.ik(state, {"can": targets[row]}, avoid=True)
    assert alone.converged
    assert_close(alone.state.values, free.state[row].values, 1e-9)
    # searches from 200 random states find nothing either where there is said to be no solution
    arm = cell.device("manipulator")
    for row in np.flatnonzero(hit & ~free.converged)[:3]:
        starts = arm.set_q(state, rng.uniform(arm.lower, arm.upper, (200, arm.nq)))
        tried = cell.ik(starts, {"can": targets[row]}, restarts=0)
        assert cell.in_collision(tried.state[tried.converged]).all()


@pytest.mark.peers
def test_devices_that_move_together_avoid_each_other(rng):
    """Two arms, side by side, reach for the same region; also one of them past the other."""
    arm = lw.robots.load("arm")
    cell = lw.WorkCell("two")
    for name, y in (("left", 0.25), ("right", -0.25)):
        cell = cell.with_robot(name, arm, parent_H_base=lw.Pose((0.0, y, 0.0)), end="tool")
    targets = {
        f"{name}.tool": rng.uniform([0.3, -0.15, 0.2], [0.6, 0.15, 0.7], (30, 3))
        for name in ("left", "right")
    }
    plain = cell.ik(cell.state(), targets)
    hit = plain.converged & cell.in_collision(plain.state)
    assert hit.any()
    free = cell.ik(cell.state(), targets, avoid=True)
    assert np.array_equal(free.in_collision, cell.in_collision(free.state))
    assert (free.converged & hit).any()
    for frame, target in targets.items():
        reached = cell.world_H_frame(frame, free.state)[plain.converged, :3, 3]
        assert_close(reached, target[plain.converged], SMALL)


def test_restarts_leave_joints_that_move_no_target(rng):
    """A hand keeps its fingers where they are, and an arm those of its joints after the frame."""
    cell = lw.WorkCell("one").with_robot("arm", lw.robots.load("arm"), end="tool")
    joints = cell.device("arm").joint_names
    state = cell.state()
    targets = rng.uniform(-0.5, 0.7, (20, 3))
    after = [name for name in joints if name not in cell.chain("WORLD", "arm.hand", state)]
    assert after
    solution = cell.ik(state, {"arm.hand": targets})
    for name in after:
        assert (cell.values(name, solution.state) == cell.values(name, state)).all()


def test_batch_with_one_grasp_is_solved_at_once(cell, rng, monkeypatch):
    """Rounding in the poses of the rows does not split the batch, for links and objects."""
    calls = []
    monkeypatch.setattr(
        "linkwork.workcell.kinematics.ik.ik", lambda *a, **k: calls.append(a[1]) or lw.ik(*a, **k)
    )
    right = cell.device("right")
    gripped = cell.grip(right.set_q(cell.state(), somewhere(cell, right, rng)), "box", "right.hand")
    states = right.set_q(gripped, somewhere(cell, right, rng, (20,)))
    for frame in ("right.tool", "box"):
        targets = target_of(cell, gripped, "right", frame, rng, batch=(20,))[:, :3, 3]
        assert cell.ik(states, {frame: targets}).converged.all()
    assert [len(next(iter(targets.values()))) for targets in calls] == [20, 20]


def test_object_may_have_the_name_of_a_link(rng):
    """Frames of the cell and of the robot model have separate names."""
    cell = lw.WorkCell("bench").with_robot("arm", lw.load("arm"), end="tool")
    cell = cell.with_frame("hand", movable=True, attachable=True)
    state = cell.grip(cell.state(), "hand", "arm.tool")
    target = target_of(cell, state, "arm", "hand", rng)[:3, 3]
    solution = cell.ik(state, {"hand": target})
    assert solution.converged
    assert_close(cell.world_H_frame("hand", solution.state)[:3, 3], target, SMALL)


def test_floating_robot_on_another_frame_reaches_its_targets(rng):
    """The rows of a batch have different parents, in whose axes the base moves."""
    cell = lw.WorkCell("field")
    for name in ("deck", "cliff"):
        pose = lw.Pose(tuple(rng.normal(size=3)), tuple(rng.normal(size=3)))
        cell = cell.with_frame(name, parent_H_frame=pose)
    options = {"floating": True, "attachable": True, "end": "tool"}
    cell = cell.with_robot("arm", lw.load("arm"), parent="deck", **options)
    root = cell.device("arm").joint_names[0]
    states = cell.attach(cell.state().broadcast(4), root, ["deck", "cliff", "WORLD", "cliff"])
    q = lw.KinDyn(lw.load("arm"), floating=True).random(4, seed=0)
    targets = cell.world_H_frame("arm.tool", cell.device("arm").set_q(states, q))
    for target in (targets, targets[:, :3, 3]):
        solution = cell.ik(states, {"arm.tool": target})
        assert solution.converged.all()
        assert_close(cell.fk(solution.state)["arm.tool"][:, :3, 3], targets[:, :3, 3], SMALL)
        assert_only_moved(cell, "arm", states, solution.state)


def test_joints_that_depend_on_a_device_outside_of_its_robot(rng):
    """They move with the device, which the solver does not know: an error, or not converged."""
    cell = lw.WorkCell("coupled").with_frame("cart", attachable=True)
    cell = cell.with_robot("arm", lw.load("arm"), parent="cart", end="tool")
    joint = cell.device("arm").joint_names[0]
    depends = lw.Mimic(joint=joint, multiplier=2.0)
    cell = cell.with_joint("rack", "prismatic", depends=depends)
    cell = cell.with_joint("lid", "revolute", "arm.tool", lw.Pose((0.1, 0, 0)), depends=depends)
    target = target_of(cell, cell.state(), "arm", "arm.tool", rng)
    assert cell.ik(cell.state(), {"arm.tool": target}).converged
    on_rack = cell.attach(cell.state(), "cart", "rack")
    solution = cell.ik(on_rack, {"arm.tool": target})
    assert not solution.converged
    assert solution.position_errors["arm.tool"] > 1e-3
    with pytest.raises(lw.ArgumentError, match=r"lid: .*'lid'.*'arm'.*JointDevice"):
        cell.ik(cell.state(), {"lid": target})
    joints = cell.device("arm").joint_names
    whole = cell.with_device(lw.JointDevice("whole", "arm.base", "arm.tool", joints))
    target = target_of(whole, whole.state(), "whole", "lid", rng)
    assert whole.ik(whole.state(), {"lid": target}, device="whole").converged
