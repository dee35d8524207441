"""Attaching, gripping and releasing: poses are preserved, and cycles are rejected."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.cells import random_cell, random_state
from tests.support.models import assert_close, random_pose

import linkwork as lw
from linkwork.workcell.state.state import State, cycle_of


def bench() -> lw.WorkCell:
    cell = lw.WorkCell("bench").with_frame("table", parent_H_frame=lw.Pose((1.0, 0.0, 0.8)))
    cell = cell.with_joint("arm", "revolute", "table", axis=(0, 1, 0))
    cell = cell.with_frame("tool", "arm", lw.Pose((0.5, 0.0, 0.1), (0.1, 0.2, 0.3)))
    cell = cell.with_frame("box", "table", lw.Pose((0.2, 0.1, 0)), movable=True, attachable=True)
    cell = cell.with_frame("lid", "box", lw.Pose((0.0, 0.0, 0.1)), attachable=True)
    cell = cell.with_frame("handle", "lid", lw.Pose((0.0, 0.0, 0.02)))
    return cell.with_frame("cart", movable=True)


@pytest.mark.parametrize("seed", range(4))
def test_gripping_and_releasing_keep_world_poses(seed):
    rng = np.random.default_rng(seed)
    cell = random_cell(rng)
    items = [f.name for f in cell.frames if f.movable and f.attachable]
    for _ in range(6):
        states = random_state(cell, rng, (3,))
        item, target = str(rng.choice(items)), str(rng.choice(cell.frame_names))
        before = cell.fk(states).world_H_frames
        try:
            gripped = cell.grip(states, item, target)
        except lw.StateError:  # the item carries the target, in one of the rows
            carries = [target in cell.frames_below(item, state) for state in states]
            assert any(carries)
            continue
        scale = max(1.0, np.abs(before).max())
        assert_close(cell.fk(gripped).world_H_frames, before, 1e-14, scale=scale)
        assert cell.parent(item, gripped) == target
        released = cell.release(gripped, item)
        assert_close(cell.fk(released).world_H_frames, before, 1e-14, scale=scale)
        assert cell.parent(item, released) == "WORLD"
        assert cell.release(released, item) == released


@pytest.mark.parametrize("seed", range(4))
def test_attachment_cycles_are_rejected(seed):
    rng = np.random.default_rng(seed)
    cell = random_cell(rng, robots=False)
    state = random_state(cell, rng)
    attachable = [cell.frame_names[k] for k in cell.layout.attachable]
    refused = 0
    for _ in range(200):
        item, target = str(rng.choice(attachable)), str(rng.choice(cell.frame_names))
        carried = target in cell.frames_below(item, state)
        try:
            state = cell.attach(state, item, target)
        except lw.StateError:
            assert carried
            refused += 1
        else:
            assert not carried
            assert cell.parent(item, state) == target
        assert not cycle_of(cell.layout, state.parents)
        assert len(cell.frames_below("WORLD", state)) == len(cell.frames)
    assert 0 < refused < 200


def test_attaching_keeps_the_pose_in_the_parent():
    cell = bench()
    state = cell.state({"arm": 0.4})
    after = cell.attach(state, "box", "tool")
    np.testing.assert_array_equal(
        cell.parent_H_frame("box", after), cell.parent_H_frame("box", state)
    )
    on_tool = cell.world_H_frame("tool", after) @ cell.parent_H_frame("box", state)
    assert_close(cell.world_H_frame("box", after), on_tool, 1e-15)


def test_children_of_a_gripped_frame_move_with_it():
    cell = bench()
    state = cell.grip(cell.state(), "box", "tool")
    moved = cell.set_values(state, "arm", 1.0)
    for frame in ("box", "lid", "handle"):
        assert_close(
            cell.frame_H_frame("tool", frame, moved),
            cell.frame_H_frame("tool", frame, state),
            1e-15,
        )
        assert not np.allclose(cell.world_H_frame(frame, moved), cell.world_H_frame(frame, state))


def test_rows_of_a_batch_may_have_different_parents(rng):
    cell = bench()
    states = cell.state().broadcast(3)
    states = cell.set_values(states, "arm", rng.normal(size=(3, 1)))
    mixed = cell.grip(states, "box", ["tool", "WORLD", "table"])
    assert [cell.parent("box", state) for state in mixed] == ["tool", "WORLD", "table"]
    assert_close(cell.world_H_frame("box", mixed), cell.world_H_frame("box", states), 1e-14)
    for k, name in enumerate(["tool", "WORLD", "table"]):
        alone = cell.grip(states[k], "box", name)
        assert_close(mixed[k].values, alone.values, 1e-15)
        np.testing.assert_array_equal(mixed[k].parents, alone.parents)
    with pytest.raises(lw.ShapeError, match=r"parent: .*\(3,\)"):
        cell.attach(states, "box", ["tool", "table"])
    with pytest.raises(lw.ArgumentError, match=r"attachments.*single state"):
        cell.parent("box", mixed)
    assert cell.parent("lid", mixed) == "box"  # the same in all rows


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda c, s: c.attach(s, "box", "box"), "'box'.*itself"),
        (
            lambda c, s: c.attach(s, "box", "handle"),
            "'box'.*'handle'.*carries",
        ),
        (lambda c, s: c.grip(s, "box", "lid"), "'box'.*'lid'"),
        (lambda c, s: c.attach(s, "tool", "table"), "'tool'.*not attachable"),
        (lambda c, s: c.attach(s, "WORLD", "table"), "'WORLD'.*root"),
        (lambda c, s: c.grip(s, "cart", "tool"), "'cart'.*not attachable"),
        (lambda c, s: c.grip(s, "lid", "tool"), "'lid'.*not movable"),
        (lambda c, s: c.release(s, "table"), "'table'.*not movable"),
        (lambda c, s: c.attach(s, "box", "tol"), "frame.*'tol'.*'tool'"),
        (lambda c, s: c.attach(s, "bx", "tool"), "frame.*'bx'.*'box'"),
        (lambda c, s: c.attach(s, "box", None), "frame.*None"),
        (lambda c, s: c.set_pose(s, "lid", lw.Pose()), "'lid'.*not movable"),
        (lambda c, s: c.set_pose(s, "box", lw.Pose(), "handle"), "'handle'.*carries"),
        (
            lambda c, s: c.set_values(s, "table", 1.0),
            "'table'.*fixed",
        ),
        (lambda c, s: c.set_values(s, "arm", [1.0, 2.0]), r"arm: .*\(..., 1\).*\(2,\)"),
        (lambda c, s: c.set_values(s, "arm", np.nan), "arm: .*not finite"),
        (
            lambda c, s: c.set_pose(s, "box", np.eye(3)),
            r"pose: .*\(..., 4, 4\).*\(3, 3\)",
        ),
        (lambda c, s: c.set_pose(s, "box", 2 * np.eye(4)), "pose: .*last row"),
        (
            lambda c, s: c.set_pose(s, "box", np.diag([2.0, 1, 1, 1])),
            "pose: .*orthonormal",
        ),
        (
            lambda c, s: c.set_pose(s, "box", np.diag([-1.0, 1, 1, 1])),
            "pose: .*left-handed",
        ),
        (
            lambda c, s: c.set_values(s, "box", np.ones(7)),
            r"'box'.*norm 2\b",
        ),
    ],
)
def test_invalid_changes_are_rejected_and_change_nothing(call, text):
    cell = bench()
    state = cell.state({"arm": 0.3})
    values, parents = state.values.copy(), state.parents.copy()
    with pytest.raises(lw.LinkworkError, match=text):
        call(cell, state)
    np.testing.assert_array_equal(state.values, values)
    np.testing.assert_array_equal(state.parents, parents)


def test_states_do_not_affect_each_other(rng):
    cell = random_cell(rng)
    states = [random_state(cell, rng) for _ in range(3)]
    before = [(state.values.copy(), state.parents.copy()) for state in states]
    tables = [cell.fk(state).world_H_frames.copy() for state in states]
    for state in states:
        item = cell.frame_names[cell.layout.attachable[0]]
        cell.attach(state, item, "WORLD")
        cell.device("left").set_q(state, cell.device("left").get_q(states[0]))
        cell.with_default(state)
    for state, (values, parents), table in zip(states, before, tables, strict=True):
        np.testing.assert_array_equal(state.values, values)
        np.testing.assert_array_equal(state.parents, parents)
        np.testing.assert_array_equal(cell.fk(state).world_H_frames, table)


def test_poses_can_be_relative_to_any_frame(rng):
    cell = bench()
    state = cell.state({"arm": 0.7})
    for reference in ("WORLD", "table", "tool", None):
        pose = random_pose(rng).matrix()
        moved = cell.set_pose(state, "box", pose, reference)
        result = cell.frame_H_frame(reference or "table", "box", moved)
        assert_close(result, pose, 1e-14)
    several = np.array([random_pose(rng).matrix() for _ in range(4)])
    moved = cell.set_pose(cell.grip(state, "box", "tool"), "box", several, "WORLD")
    assert moved.batch_shape == (4,)
    assert_close(cell.world_H_frame("box", moved), several, 1e-14)
    cart = cell.set_pose(state, "cart", several[0], "tool")
    assert_close(cell.frame_H_frame("tool", "cart", cart), several[0], 1e-14)
    assert cell.set_pose(state, "box", lw.Pose((1, 2, 3))) == cell.state(
        {"arm": 0.7, "box": lw.Pose((1, 2, 3))}
    )


def test_quaternions_are_normalized_and_other_types_converted():
    cell = bench()
    state = cell.set_values(cell.state(), "box", [0, 0, 0, 1.0001, 0, 0, 0])
    assert cell.values("box", state).tolist() == [0, 0, 0, 1, 0, 0, 0]
    singles = np.array([0.1, 0.2, 0.3, 1, 0, 0, 0], dtype=np.float32)
    assert_close(cell.values("box", cell.set_values(state, "box", singles)), singles, 1e-15)
    strided = np.zeros((5, 4))
    assert cell.set_values(state, "arm", strided[:, 1:2]).batch_shape == (5,)
    assert cell.set_values(state, "arm", np.zeros((0, 1))).batch_shape == (0,)
    assert State.stack([state, state])[1] == state
