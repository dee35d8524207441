"""World poses from the C extension, from NumPy, and along paths agree."""

from __future__ import annotations

import sys
import threading
import warnings
from contextlib import suppress

import numpy as np
import pytest
from tests.support.cells import chained, random_cell, random_parents, random_state
from tests.support.models import BATCHES, assert_close

import linkwork as lw
from linkwork import errors
from linkwork.model.joints import KINDS
from linkwork.workcell.kinematics import fk
from linkwork.workcell.kinematics.steps import StepBuilder
from linkwork.workcell.state.state import State

SEEDS = range(6)
SMALL = 1e-13


@pytest.fixture(scope="module")
def cells():
    return [random_cell(np.random.default_rng(seed)) for seed in SEEDS]


@pytest.mark.parametrize("seed", SEEDS)
def test_tables_ranges_chains_and_numpy_agree(cells, seed):
    cell, rng = cells[seed], np.random.default_rng(100 + seed)
    for _ in range(2):
        state = random_state(cell, rng)
        table = cell.fk(state)
        assert_close(table.world_H_frames, fk.all_poses(cell, state), SMALL)
        for name in rng.choice(cell.frame_names, 6):
            assert_close(table[name], chained(cell, name, state), SMALL)
            assert_close(cell.world_H_frame(name, state), table[name], 1e-15)
        for a, b in rng.choice(cell.frame_names, (4, 2)):
            expected = np.linalg.inv(chained(cell, a, state)) @ chained(cell, b, state)
            assert_close(cell.frame_H_frame(a, b, state), expected, SMALL)
            assert_close(cell.fk_range(a, b, state)(state), expected, SMALL)
            assert_close(table.frame_H_frame(a, b), expected, SMALL)


@pytest.mark.parametrize("batch", BATCHES)
def test_rows_of_a_batch_equal_single_states(cells, batch, rng):
    cell = cells[0]
    states = random_state(cell, rng, batch)
    result = cell.fk(states).world_H_frames
    assert result.shape == (*batch, len(cell.frames), 4, 4)
    names = [*list(cell.frame_names[3:9:2]), cell.frame_names[3]]
    some = cell.world_H_frames(names, states)
    assert some.shape == (*batch, 4, 4, 4)
    related = cell.frame_H_frame(names[0], names[1], states)
    flat = State(
        states.layout,
        states.values.reshape(-1, cell.layout.n_values),
        states.parents.reshape(-1, len(cell.layout.attachable)),
    )
    for k, state in enumerate(flat):
        table = cell.fk(state)
        np.testing.assert_array_equal(
            result.reshape(-1, len(cell.frames), 4, 4)[k], table.world_H_frames
        )
        np.testing.assert_array_equal(some.reshape(-1, 4, 4, 4)[k], [table[n] for n in names])
        one = cell.frame_H_frame(names[0], names[1], state)
        np.testing.assert_array_equal(related.reshape(-1, 4, 4)[k], one)


def test_new_attachments_compile_nothing(cells, rng):
    cell = cells[1]
    values = random_state(cell, rng, (30,)).values[rng.integers(30, size=300)]
    for _ in range(3):
        shared = np.broadcast_to(random_parents(cell, rng), (300, len(cell.layout.attachable)))
        state = State.trusted(cell.layout, values, shared)
        whole = State(cell.layout, values, shared)
        np.testing.assert_array_equal(cell.fk(state).world_H_frames, cell.fk(whole).world_H_frames)
        assert_close(cell.fk(whole[7]).world_H_frames, fk.all_poses(cell, whole[7]), SMALL)


@pytest.mark.parametrize("offset", [0, 1, 2, 4])
def test_large_results_do_not_depend_on_alignment(offset, rng):
    """Non-temporal stores for different alignments of the output, with several threads."""
    cell = random_cell(rng, robots=False)
    rows = (8 << 20) // (128 * len(cell.frames)) + 300
    states = random_state(cell, rng, (40,))[rng.integers(40, size=rows)]
    size = rows * len(cell.frames) * 16
    memory = np.full(size + 16, np.nan)
    start = (-memory.ctypes.data // 8) % 8 + offset
    out = memory[start : start + size].reshape(rows, len(cell.frames), 4, 4)
    table = cell.fk(states, out=out, threads=1)
    assert table.world_H_frames is out
    assert np.isnan(memory[:start]).all()
    assert np.isnan(memory[start + size :]).all()
    for k in (0, 1, rows // 2, rows - 1):
        np.testing.assert_array_equal(out[k], cell.fk(states[k]).world_H_frames)
    np.testing.assert_array_equal(out, cell.fk(states, threads=2).world_H_frames)
    again = cell.fk(states[::-1], out=cell.fk(states))
    np.testing.assert_array_equal(again.world_H_frames, out[::-1])


def test_strided_and_broadcast_states_are_supported(cells, rng):
    cell = cells[2]
    states = random_state(cell, rng, (12,))
    for chosen in (slice(None, None, 3), [4, 1, 1], states.values[:, 0] > 0):
        rows = np.arange(12)[chosen]
        result = cell.fk(states[chosen]).world_H_frames
        np.testing.assert_array_equal(result, cell.fk(states).world_H_frames[rows])
    one = states[5].broadcast(2, 3)
    expected = np.broadcast_to(cell.fk(states[5]).world_H_frames, (2, 3, len(cell.frames), 4, 4))
    np.testing.assert_array_equal(cell.fk(one).world_H_frames, expected)


@pytest.mark.parametrize("axes", [8, 9, 29])
def test_states_may_have_many_batch_axes(axes, rng):
    """Batches with more axes than the C extension supports are flattened."""
    cell = random_cell(np.random.default_rng(0))
    states = random_state(cell, rng, (2, 3))
    batch = (2, *(1,) * (axes - 2), 3)
    many = State(
        states.layout,
        states.values.reshape(*batch, cell.layout.n_values),
        states.parents.reshape(*batch, len(cell.layout.attachable)),
    )
    expected = cell.fk(states).world_H_frames
    result = cell.fk(many).world_H_frames
    assert result.shape == (*batch, len(cell.frames), 4, 4)
    np.testing.assert_array_equal(result.reshape(expected.shape), expected)
    out = np.empty(result.shape)
    assert cell.fk(many, out=out).world_H_frames is out
    np.testing.assert_array_equal(out, result)
    names = cell.frame_names[2:4]
    some = cell.world_H_frames(names, many)
    np.testing.assert_array_equal(some.reshape(2, 3, 2, 4, 4), cell.world_H_frames(names, states))
    arm = cell.device(cell.devices[0].name)
    J = arm.base_J_end(many)
    np.testing.assert_array_equal(J.reshape(2, 3, 6, arm.nv), arm.base_J_end(states))


def test_more_batch_axes_than_results_can_have_are_an_error():
    cell = random_cell(np.random.default_rng(0))
    state = cell.state().broadcast(*(1,) * 63)  # poses would have 66 axes
    arm = cell.device(cell.devices[0].name)
    for compute in (
        cell.fk,
        arm.base_J_end,
        lambda state: cell.world_H_frame(cell.frame_names[1], state),
        lambda state: fk.all_poses(cell, state),
    ):
        with pytest.raises(lw.ShapeError, match="63 batch axes"):
            compute(state)


INVALID_ARGUMENTS = {
    "no row of parents": lambda v, p, n: (v, p[:0], None, -1, None, None),
    "other rows of parents": lambda v, p, n: (v, p[:2], None, -1, None, None),
    "more axes than are known": lambda v, p, n: (v.reshape(4, *(1,) * 8, -1), p, None, -1, None, 1),
    "out of other axes": lambda v, p, n: (v, p, None, -1, np.empty((4, n * 16)), None),
    "out of another batch": lambda v, p, n: (v, p, None, -1, np.empty((2, 2, n, 4, 4)), None),
    "a reference that is none": lambda v, p, n: (v, p, np.zeros(1, np.int32), 2**70, None, None),
    "parents that are none": lambda v, p, n: (v, p + n, None, -1, None, None),
}


@pytest.mark.parametrize("case", INVALID_ARGUMENTS)
def test_extension_rejects_invalid_arrays(cells, case, rng):
    cell = cells[0]
    states = random_state(cell, rng, (4,))
    arguments = INVALID_ARGUMENTS[case](states.values, states.parents, len(cell.frames))
    with pytest.raises((ValueError, OverflowError)):
        fk.steps_of(cell).run(*arguments)


@pytest.mark.parametrize("argument", [1, 2**31 - 5, 2**31 - 1, -1])
def test_extension_rejects_steps_with_indices_out_of_range(argument):
    cell = lw.WorkCell("bench").with_joint("hinge", "revolute")
    (frames, slots, values, attachable), steps, *arrays = StepBuilder(cell).arrays()
    make = type(fk.steps_of(cell))
    make((frames, slots, values, attachable), steps, *arrays)
    (turn,) = np.flatnonzero(steps[:, 0] == 1)
    other = steps.copy()
    other[turn, 4] = argument if argument != 1 else steps[turn, 4]
    with pytest.raises(ValueError, match="inconsistent"):
        make((frames, slots, 0 if argument == 1 else values, attachable), other, *arrays)


def test_poses_of_large_angles_are_accurate():
    cell = lw.WorkCell("spin").with_joint("hinge", "revolute")
    for angle in (1e4, 99_999.0, 1e5, 1e6, 1e15, -3e8):
        R = cell.world_H_frame("hinge", cell.state({"hinge": angle}))
        c, s = np.cos(angle), np.sin(angle)
        assert_close(R[:2, :2], [[c, -s], [s, c]], 1e-15)


def test_table_is_read_only_and_has_its_state(cells, rng):
    cell = cells[3]
    state = random_state(cell, rng)
    table = cell.fk(state)
    assert table.state is state
    assert table.cell is cell
    with pytest.raises(ValueError, match="read-only"):
        table["WORLD"][0, 0] = 2.0
    np.testing.assert_array_equal(table["WORLD"], np.eye(4))
    assert repr(table) == f"<FKTable of 'random': ({len(cell.frames)},) poses>"


def test_wrong_outputs_and_threads_are_rejected(cells):
    cell = cells[0]
    state, n = cell.state(), len(cell.frames)
    with pytest.raises(lw.ShapeError, match=rf"out: .*\({n}, 4, 4\).*\(2, 4, 4\)"):
        cell.fk(state, out=np.zeros((2, 4, 4)))
    with pytest.raises(lw.ArgumentError, match=r"out: .*float64.*float32"):
        cell.fk(state, out=np.zeros((n, 4, 4), dtype=np.float32))
    with pytest.raises(lw.ArgumentError, match=r"out: .*C order"):
        cell.fk(state, out=np.zeros((n, 4, 8))[:, :, ::2])
    with pytest.raises(lw.LinkworkError, match="threads"):
        cell.fk(state, threads="two")


def test_threads_can_share_a_cell(cells):
    cell = cells[4]
    rngs = [np.random.default_rng(k) for k in range(6)]
    states = [random_state(cell, rng, (20,))[rng.integers(20, size=400)] for rng in rngs]
    expected = [cell.fk(state, threads=1).world_H_frames for state in states]
    failed = []

    def work(k):
        for _ in range(5):
            if not np.array_equal(cell.fk(states[k]).world_H_frames, expected[k]):
                failed.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_paths_reject_only_other_attachments(rng):
    cell = lw.WorkCell("bench").with_frame("table", parent_H_frame=lw.Pose((1.0, 0.0, 0.0)))
    cell = cell.with_joint("arm", "revolute", "table").with_frame(
        "tool", "arm", lw.Pose((0.5, 0, 0))
    )
    cell = cell.with_frame("box", "table", movable=True, attachable=True)
    cell = cell.with_frame("lid", "table", movable=True, attachable=True)
    state = cell.state()
    path = cell.fk_range("tool", "box", state)
    assert path.frames == ("tool", "arm", "table", "box")
    assert path.attachments == {"box": "table"}
    assert repr(path) == "<FKRange 'tool' to 'box' of 'bench': 4 frames>"
    moved = cell.attach(cell.state({"arm": 0.7}), "lid", "tool")  # not on the path
    assert_close(path(moved), cell.frame_H_frame("tool", "box", moved), 1e-15)
    gripped = cell.grip(state, "box", "tool")
    with pytest.raises(lw.StateError, match=r"'box'.*'tool'.*'table'"):
        path(gripped)
    with pytest.raises(lw.StateError, match=r"'box'.*'tool'"):
        path(State.stack([state, gripped]))
    path_in_hand = cell.fk_range("tool", "box", gripped)
    assert path_in_hand.frames == ("tool", "box")
    assert_close(path_in_hand(gripped), cell.frame_H_frame("tool", "box", gripped), 1e-15)
    with pytest.raises(lw.ArgumentError, match="attachments"):
        cell.fk_range("tool", "box", State.stack([state, gripped]))


def test_without_the_extension_numpy_is_used_with_one_warning(monkeypatch, rng):
    monkeypatch.setitem(sys.modules, "linkwork.workcell._poses", None)
    monkeypatch.setattr(errors, "_warned_topics", set())
    cell = random_cell(np.random.default_rng(0))
    states = random_state(cell, rng, (5,))
    with pytest.warns(lw.LinkworkWarning, match="NumPy"):
        table = cell.fk(states)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = random_cell(np.random.default_rng(0))
        assert fk.steps_of(again) is None
        out = np.zeros((5, len(cell.frames), 4, 4))
        again.fk(states, out=out, threads=1)
        related = again.frame_H_frame("f3", "f7", states)
    monkeypatch.undo()
    fast = random_cell(np.random.default_rng(0))
    assert fk.steps_of(fast) is not None
    assert_close(table.world_H_frames, fast.fk(states).world_H_frames, SMALL)
    np.testing.assert_array_equal(out, table.world_H_frames)
    assert_close(related, fast.frame_H_frame("f3", "f7", states), SMALL)


def test_joint_kind_without_factors_uses_numpy_with_a_warning(monkeypatch, rng):
    monkeypatch.setattr(errors, "_warned_topics", set())
    monkeypatch.delattr(type(KINDS["universal"]), "factors")
    cell = random_cell(np.random.default_rng(0))
    state = random_state(cell, rng)
    with pytest.warns(lw.LinkworkWarning, match=r"'universal'.*NumPy"):
        pose = cell.world_H_frame("f7", state)
    assert fk.steps_of(cell) is None
    assert_close(pose, chained(cell, "f7", state), SMALL)


@pytest.mark.parametrize(
    "changed",
    [
        {0: np.zeros((3, 2))},
        {1: np.zeros(1, dtype=np.int64)},
        {1: np.array([-1], dtype=np.int32)},
        {1: np.array([99], dtype=np.int32)},
        {1: np.array([2], dtype=np.int32)},  # on what it carries
        {2: np.array([99], dtype=np.int32)},
        {2: np.array([1, 1], dtype=np.int32)},
        {3: 99},
        {3: "WORLD"},
        {4: np.zeros((2, 4, 4))},
        {5: 1.5},
    ],
    ids=str,
)
def test_extension_rejects_invalid_arguments(changed):
    """Python checks the arguments before, but invalid ones must not crash the extension."""
    cell = lw.WorkCell("bench").with_frame("box", movable=True, attachable=True)
    cell = cell.with_frame("lid", "box")
    state = cell.state()
    arguments = [state.values, state.parents, None, -1, None, None]
    assert fk.steps_of(cell).run(*arguments).shape == (3, 4, 4)
    for k, value in changed.items():
        arguments[k] = value
    with pytest.raises(ValueError, match="frames"):
        fk.steps_of(cell).run(*arguments)
    with pytest.raises(ValueError, match="frames"):
        fk.steps_of(cell).run(*arguments[:5])


def test_extension_rejects_inconsistent_steps(rng):
    cell = random_cell(rng, robots=False)
    arrays = list(StepBuilder(cell).arrays())
    make = type(fk.steps_of(cell))
    n_steps = len(arrays[1])
    for _ in range(300):
        changed = [np.array(a) if isinstance(a, np.ndarray) else a for a in arrays]
        changed[1][rng.integers(n_steps), rng.integers(6)] = rng.integers(-40, 2000)
        with suppress(ValueError):  # what is left is another valid list of steps
            steps = make(*changed)
            assert steps.run(cell.state().values, cell.state().parents, None, -1, None, None).size
    with pytest.raises(RuntimeError, match="once"):
        fk.steps_of(cell).__init__(*arrays)
    with pytest.raises(ValueError, match=r"inconsistent|do not match"):
        make.__new__(make).run()
