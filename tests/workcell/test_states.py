"""States: equality, hashing, serialization, and rejection of foreign and damaged data."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from tests.support.cells import random_cell, random_state
from tests.support.models import BATCHES

import linkwork as lw
from linkwork.workcell.state.state import State


@pytest.fixture(scope="module")
def cell():
    return random_cell(np.random.default_rng(3), n_frames=13)


@pytest.mark.parametrize("batch", BATCHES)
def test_serialized_states_are_equal_when_read_back(cell, rng, batch):
    state = random_state(cell, rng, batch)
    for again in (pickle.loads(pickle.dumps(state)), copy.deepcopy(state)):
        assert again == state
        assert hash(again) == hash(state)
        np.testing.assert_array_equal(again.values, state.values)
        assert again.batch_shape == batch
        np.testing.assert_array_equal(cell.fk(again).world_H_frames, cell.fk(state).world_H_frames)


@pytest.mark.parametrize("batch", [(), (0,), (3,)])
def test_every_state_is_true(cell, rng, batch):
    """`if state:` distinguishes a state from None, also an empty batch."""
    assert random_state(cell, rng, batch)


def test_states_compare_by_value(cell, rng):
    state = random_state(cell, rng)
    other = State(state.layout, state.values.copy(), state.parents.copy())
    assert state == other
    assert len({state, other}) == 1
    values = state.values.copy()
    values[0] += 1e-15
    assert State(state.layout, values, state.parents) != state
    item = cell.frame_names[cell.layout.attachable[0]]
    assert cell.attach(state, item, "WORLD") != state or cell.parent(item, state) == "WORLD"
    assert state != "state"
    assert state != state.broadcast(1)
    zero, minus = (cell.set_values(state, "f2", [x]) for x in (0.0, -0.0))
    assert zero == minus
    assert hash(zero) == hash(minus)


def test_states_are_immutable(cell):
    state = cell.state()
    with pytest.raises(ValueError, match="read-only"):
        state.values[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        state.parents[0] = 1
    with pytest.raises(lw.FrozenError, match=r"^values: .*State"):
        state.values = np.zeros(3)
    with pytest.raises(lw.FrozenError, match=r"^parents: .*State"):
        del state.parents
    given_values = state.values.copy()
    created = State(state.layout, given_values, state.parents)
    given_values[:] = 0.5
    assert created == state


def test_rows_slices_masks_and_stacks(cell, rng):
    states = random_state(cell, rng, (6,))
    assert len(states) == 6
    assert len(list(states)) == 6
    assert State.stack(list(states)) == states
    assert states[-1] == states[5]
    assert states[1:4].batch_shape == (3,)
    assert states[np.array([True, False] * 3)] == State.stack([states[0], states[2], states[4]])
    grid = random_state(cell, rng, (2, 3))
    assert grid[1, 2] == grid[1][2]
    assert grid[:, 0].batch_shape == (2,)
    assert State.stack([grid, grid]).batch_shape == (2, 2, 3)
    assert states[0].broadcast(4)[2] == states[0]
    with pytest.raises(lw.StateError, match=r"rows.*\b7\b"):
        states[7]
    with pytest.raises(lw.StateError, match="rows"):
        states[0:2, 0]
    with pytest.raises(lw.ArgumentError, match=r"single state.*rows"):
        states[0][0]
    with pytest.raises(lw.ArgumentError, match=r"single state.*length"):
        len(states[0])
    with pytest.raises(lw.ShapeError, match=r"\(6,\).*\(5,"):
        states.broadcast(5)


def test_batches_of_unequal_shapes_are_rejected(cell, rng):
    states = random_state(cell, rng, (3,))
    with pytest.raises(lw.ShapeError, match=r"state 1.*\(2,\).*state 0.*\(3,\)"):
        State.stack([states, states[:2]])
    with pytest.raises(lw.ShapeError, match=r"values.*\(3,\).*parents.*\(2,\)"):
        State(states.layout, states.values, states.parents[:2])
    with pytest.raises(lw.ShapeError, match=r"\(4,\).*\(3,\)"):
        cell.set_values(states, "f2", np.zeros((4, 1)))
    with pytest.raises(lw.ShapeError, match="equal length"):
        cell.set_values(states, "f2", [[0.0], [0.0, 1.0], [0.0]])
    with pytest.raises(lw.ArgumentError, match="stack"):
        State.stack([])
    with pytest.raises(lw.ArgumentError, match=r"States.*\b3\b"):
        State.stack([states, 3])
    other = lw.WorkCell("other").state()
    with pytest.raises(lw.StateError, match=r"state 1 .*'other'"):
        State.stack([states[0], other])


def test_invalid_values_and_parents_are_rejected(cell):
    layout, start = cell.layout, cell.state()
    n, m = layout.n_values, len(layout.attachable)
    with pytest.raises(lw.ShapeError, match=rf"values: .*\(..., {n}\).*\(3,\)"):
        State(layout, np.zeros(3), start.parents)
    with pytest.raises(lw.ShapeError, match=rf"parents: .*\(..., {m}\)"):
        State(layout, start.values, [0])
    with pytest.raises(lw.ArgumentError, match=r"parents: .*indices.*float64"):
        State(layout, start.values, start.parents * 1.0)
    with pytest.raises(lw.StateError, match=r"from 0 to \d"):
        State(layout, start.values, start.parents + 1000)
    values = start.values.copy()
    values[layout.offsets[cell.frame_index("f2")]] = np.inf
    with pytest.raises(lw.ValueRangeError, match=r"'f2'.*not finite"):
        State(layout, values, start.parents)
    cyclic_parents = np.array(layout.attachable, dtype=np.int32)
    with pytest.raises(lw.StateError, match="attachment cycle"):
        State(layout, start.values, cyclic_parents)
    with pytest.raises(lw.ArgumentError, match=r"layout: .*StateLayout"):
        State("cell", start.values, start.parents)


def test_states_of_other_cells_and_structures_are_rejected(cell):
    other = lw.WorkCell("other").state()
    with pytest.raises(lw.StateError, match=r"'random'.*'other'"):
        cell.fk(other)
    with pytest.raises(lw.StateError, match="'random'"):
        cell.upgrade(other)
    newer = cell.with_frame("new", movable=True)
    text = r"'random'.*\(new\).*cell\.upgrade\(state\)"
    with pytest.raises(lw.StateError, match=text):
        newer.world_H_frame("new", cell.state())
    with pytest.raises(lw.StateError, match=r"\(new\)"):
        cell.device("left").get_q(newer.state())
    with pytest.raises(lw.ArgumentError, match=r"state: .*State.*array"):
        cell.fk(np.zeros(3))
    with pytest.raises(lw.ArgumentError, match=r"state: .*State.*None"):
        cell.upgrade(None)
    changed = cell.with_changed("f2", kind="prismatic")
    with pytest.raises(lw.StateError, match=r"changed \(f2\)"):
        changed.fk(cell.state())
    moved = cell.with_changed("f0", parent_H_frame=lw.Pose((1, 2, 3)))
    assert moved.fk(cell.state())["f0"].shape == (4, 4)  # numbers mean the same as before


def test_states_of_earlier_structures_are_upgraded_by_name(cell, rng):
    states = random_state(cell, rng, (4,))
    item = cell.frame_names[cell.layout.attachable[-1]]
    newer = cell.with_frame("shelf", parent_H_frame=lw.Pose((0, 0, 2.0)))
    newer = newer.with_frame("cup", "shelf", lw.Pose((0.1, 0, 0)), movable=True, attachable=True)
    upgraded = newer.upgrade(states)
    for name in cell.frame_names:
        np.testing.assert_allclose(
            newer.world_H_frame(name, upgraded), cell.world_H_frame(name, states), atol=1e-14
        )
    assert newer.parent("cup", upgraded) == "shelf"
    assert newer.upgrade(upgraded) is upgraded
    on_shelf = newer.attach(upgraded, item, "shelf")
    on_shelf = newer.attach(on_shelf, "cup", "WORLD")
    older = newer.without("shelf").upgrade(on_shelf)
    assert newer.without("shelf").parent(item, older) == "WORLD"
    changed = cell.with_changed("f2", kind="revolute_cos_sin")
    with pytest.raises(lw.StateError, match=r"f2.*revolute\b.*revolute_cos_sin"):
        changed.upgrade(states)


def test_repr_of_a_state(cell):
    small = lw.WorkCell("bench").with_frame("box", movable=True, attachable=True)
    assert repr(small.state()) == "<State of 'bench': 7 values; box on WORLD>"
    assert repr(small.state().broadcast(2, 3)) == "<State of 'bench': batch (2, 3)>"
