"""Frames, states and kinematics with RobWork's names, and values of RobWork's tests."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from tests.support.robwork_cells import PUMA_SIZES, kr16, puma_560

import linkwork as lw
from linkwork.compat import robwork as rw


def loaded(name: str = "pick_and_place") -> rw.WorkCell:
    return rw.WorkCellLoaderFactory.load(name)


def frame_of(cell: rw.WorkCell, name: str) -> rw.Frame:
    frame = cell.findFrame(name)
    assert frame is not None
    return frame


def bench() -> tuple[rw.WorkCell, rw.FixedFrame, rw.MovableFrame, rw.MovableFrame]:
    """Build a cell with a table, a movable frame on it, and an attachable frame."""
    cell = rw.WorkCell("bench")
    table = rw.FixedFrame("table", rw.Transform3D(rw.Vector3D(1, 2, 3), rw.RPY(0.3, 0.2, 0.1)))
    cart, item = rw.MovableFrame("cart"), rw.MovableFrame("item")
    cell.addFrame(table)
    cell.addFrame(cart, table)
    cell.addDAF(item, table)
    return cell, table, cart, item


def test_the_puma_560_agrees_with_its_closed_form():
    """Craig, Introduction to Robotics, section 3.7."""
    arm = loaded(puma_560()).findSerialDevice("PUMA560")
    assert arm is not None
    state = arm.structure.getDefaultState()
    a2, d3, a3, d4 = PUMA_SIZES
    for q in np.random.default_rng(0).uniform(-3, 3, (10, 6)):
        arm.setQ(rw.Q(q), state)
        angles = q[0], q[1], q[1] + q[2]
        (c1, c2, c23), (s1, s2, s23) = np.cos(angles), np.sin(angles)
        reach = a2 * c2 + a3 * c23 - d4 * s23

        P = arm.baseTend(state).P()

        expected = [c1 * reach - d3 * s1, s1 * reach + d3 * c1, -a3 * s23 - a2 * s2 - d4 * c23]
        np.testing.assert_allclose(P.e(), expected, atol=1e-14)


def test_the_kr16_agrees_with_robworks_tests():
    arm = loaded(kr16()).findSerialDevice("KR16")
    assert arm is not None
    state = arm.structure.getDefaultState()

    arm.setQ(rw.Q([0, -60 * rw.Deg2Rad, 15 * rw.Deg2Rad, 0, 0, 0]), state)

    T = arm.baseTend(state)
    np.testing.assert_allclose(T.P().e(), [1.16074, 0, 0.22074], atol=1e-5)
    np.testing.assert_allclose(T.R().e(), [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)


def test_chains_add_up():
    cell = rw.WorkCell("chain")
    frames = [
        rw.FixedFrame(f"l{k}", rw.Transform3D(rw.Vector3D(k, k + 1, k + 2))) for k in (1, 2, 3)
    ]
    for frame, parent in zip(frames, [None, *frames], strict=False):
        cell.addFrame(frame, parent)

    world, state = cell.getWorldFrame(), cell.getDefaultState()

    assert rw.Kinematics.frameTframe(world, frames[-1], state).P() == rw.Vector3D(6, 9, 12)


def test_static_groups_are_split_at_movable_and_attachable_frames():
    cell = rw.WorkCell("groups")
    fixed = {4, 5, 12}
    frames = [rw.FixedFrame(f"f{k}") if k in fixed else rw.MovableFrame(f"f{k}") for k in range(13)]
    for child, parent in [(1, 0), (3, 1), (4, 1), (2, 0), (5, 2), (6, 5), (9, 6), (12, 0)]:
        cell.addFrame(frames[child], frames[parent] if parent else None)
    for child, parent in [(8, 1), (7, 4), (10, 9), (11, 9)]:
        cell.addDAF(frames[child], frames[parent])

    groups = rw.Kinematics.getStaticFrameGroups(cell.getWorldFrame(), cell.getDefaultState())

    assert len(groups) == 10
    assert sorted(frame.getName() for group in groups for frame in group) == sorted(
        ["WORLD", *(f"f{k}" for k in range(1, 13))]
    )


def test_structures_change_and_states_are_upgraded():
    cell, table, cart, item = bench()
    structure = cell.getStateStructure()
    state = cell.getDefaultState()
    cart.setTransform(rw.Transform3D(rw.Vector3D(1, 2, 3)), state)
    item.attachTo(cart, state)
    assert item.getParent(state) is cart
    structure.setDefaultState(state)

    late = rw.FixedFrame("late")
    cell.addFrame(late, table)

    with pytest.raises(lw.StateError, match=r"state\.upgrade\(\)"):
        late.wTf(state)
    state.upgrade()
    assert item.getParent(state) is cart
    assert cart.getTransform(state).P() == rw.Vector3D(1, 2, 3)
    assert item.getParent(cell.getDefaultState()) is cart
    assert structure.upgradeState(state) == state
    assert cell.getDefaultState().copy(state) == state


def test_a_frame_is_attached_to_the_world_when_its_parent_is_removed():
    cell, table, cart, item = bench()
    state = cell.getDefaultState()
    item.attachTo(cart, state)
    cell.getStateStructure().setDefaultState(state)

    cell.remove(cart)

    assert item.getParent(cell.getDefaultState()) is cell.getWorldFrame()
    assert cell.findFrame("cart") is None
    with pytest.raises(lw.ModelError, match=r"frame .*workcell"):
        cart.getTransform(state)
    with pytest.raises(lw.ModelError, match="not in this workcell"):
        cell.remove(cart)
    cell.addFrame(cart, table)
    assert cell.findMovableFrame("cart") is cart


def test_states_are_independent_copies():
    cell = loaded()
    state = cell.getDefaultState()
    others = [state.copy(), state.clone(), rw.State(state), copy.copy(state), copy.deepcopy(state)]
    item = cell.findMovableFrame("cube")
    assert item is not None

    item.setTransform(rw.Transform3D(), state)
    rw.Kinematics.gripFrame(item, frame_of(cell, "arm.tcp"), state)

    assert all(other == cell.getDefaultState() != state for other in others)


def test_gripping_keeps_the_pose_in_the_world():
    cell = loaded()
    state = cell.getDefaultState()
    cube, hand = frame_of(cell, "cube"), frame_of(cell, "arm.tcp")
    before = cube.wTf(state)

    rw.Kinematics.gripFrame(cube, hand, state)

    assert cube.wTf(state).equal(before, 1e-14)
    assert cube.getParent(state) is hand
    assert cube in hand.getChildren(state)
    assert cube.getParent() is None


def test_names_of_the_manual_that_robwork_lacks():
    cell = loaded()
    one, other = cell.getDefaultState(), cell.getDefaultState()
    cube, hand = frame_of(cell, "cube"), frame_of(cell, "arm.tcp")

    rw.Kinematics.gripMovableFrame(cube, hand, one)
    rw.Kinematics.gripFrame(cube, hand, other)
    assert one == other
    cube.attachFrame(frame_of(cell, "tray"), one)
    cube.attachTo(frame_of(cell, "tray"), other)
    assert one == other


def test_a_failed_grip_leaves_the_state_unchanged():
    cell, table, cart, item = bench()
    daf = rw.FixedFrame("daf")
    cell.addDAF(daf, item)
    state = cell.getDefaultState()
    before = state.copy()

    for bad, on, match in [
        (cart, item, "cart"),
        (table, cart, "'table' is not movable"),
        (daf, cart, "'daf' is not movable"),
        (item, item, "item"),
        (item, daf, "item"),
    ]:
        with pytest.raises(lw.StateError, match=match):
            rw.Kinematics.gripFrame(bad, on, state)
        assert state == before
    with pytest.raises(lw.StateError, match="item"):
        item.attachTo(daf, state)
    assert state == before


def test_world_is_not_attachable_and_other_properties_of_frames():
    cell, table, cart, item = bench()
    state, world = cell.getDefaultState(), cell.getWorldFrame()

    assert not rw.Kinematics.isDAF(world)
    assert world.getParent() is None
    assert [f.isDAF() for f in (table, cart, item)] == [False, False, True]
    assert [rw.Kinematics.isFixedFrame(f) for f in (table, cart, item)] == [True, False, False]
    assert cart.getParent() is cart.getParent(state) is table
    assert table.getChildren() == [cart]
    assert table.getChildrenList(state) == [cart, item]
    assert rw.Kinematics.worldFrame(item, state) is world
    assert rw.Kinematics.findAllFrames(world) == [world, table, cart]
    assert rw.Kinematics.findAllFrames(world, state) == [world, table, cart, item]
    assert rw.Kinematics.childToParentChain(cart, world, state) == [cart, table]
    assert rw.Kinematics.childToParentChain(cart, None, state) == [cart, table, world]
    assert list(rw.Kinematics.buildFrameMap(table, state)) == ["table", "cart", "item"]
    with pytest.raises(lw.ModelError, match=r"frame 'cart'.*'item'"):
        rw.Kinematics.childToParentChain(item, cart, state)


def test_movable_and_fixed_frames_move_to_poses_in_other_frames():
    cell, table, cart, item = bench()
    state = cell.getDefaultState()
    there = rw.Transform3D(rw.Vector3D(4, 5, 6), rw.EAA(0.1, 0.2, 0.3))

    item.moveTo(there, state)
    assert item.wTf(state).equal(there, 1e-14)
    item.moveTo(there, cart, state)
    assert cart.fTf(item, state).equal(there, 1e-14)
    table.moveTo(there, state)
    assert table.wTf(state).equal(there, 1e-14)
    assert table.getFixedTransform().equal(there, 1e-14)
    assert cart.multiplyTransform(there, state).equal(there * cart.getTransform(state), 0)


def test_tables_and_ranges_agree_with_single_poses():
    cell = loaded("two_arms")
    state = cell.getDefaultState()
    table = rw.FKTable(state)
    a, b = frame_of(cell, "left.TCP"), frame_of(cell, "right.Joint3")

    for frame in cell.getFrames():
        assert table.get(frame).equal(frame.wTf(state), 1e-14)
    path = rw.FKRange(a, b, state)
    assert path.get(state).equal(rw.Kinematics.frameTframe(a, b, state), 1e-14)
    assert (path.getBase(), path.getEnd()) == (a, b)
    assert rw.FKRange(None, b, state).get(state).equal(b.wTf(state), 1e-14)
    assert rw.Kinematics.worldTframe(None, state) == rw.Transform3D()
    assert table.getState() == state


def test_a_range_rejects_a_state_with_another_path():
    cell = loaded()
    state = cell.getDefaultState()
    cube, table = frame_of(cell, "cube"), frame_of(cell, "table")
    path = rw.FKRange(table, cube, state)

    rw.Kinematics.gripFrame(cube, frame_of(cell, "arm.tcp"), state)

    with pytest.raises(lw.StateError, match="cube"):
        path.get(state)


def test_frames_and_states_of_other_cells_raise():
    one, other = loaded(), loaded("two_arms")
    state = one.getDefaultState()

    with pytest.raises(lw.ModelError, match=r"frame 'bar': .*not in this workcell"):
        rw.Kinematics.worldTframe(other.findFrame("bar"), state)
    with pytest.raises(lw.StateError, match="another workcell"):
        frame_of(other, "bar").wTf(state)
    with pytest.raises(lw.ArgumentError, match=r"state: .*State.*None"):
        rw.FKTable(None)  # type: ignore[arg-type]
    with pytest.raises(lw.ModelError, match=r"frame 'cube'"):
        one.addFrame(rw.MovableFrame("cube"))
    with pytest.raises(lw.ModelError, match="already"):
        one.addFrame(frame_of(other, "bar"))


def test_finders_return_none_for_missing_names_and_other_types():
    cell = loaded("mobile_manipulator")

    assert cell.findFrame("nothing") is None
    assert cell.findMovableFrame("shelf") is None
    assert cell.findFixedFrame("shelf") is cell.findFrame("shelf")
    assert isinstance(cell.findJoint("arm.Joint1"), rw.RevoluteJoint)
    assert cell.findDevice("nothing") is None
    assert cell.findSerialDevice("cart") is None
    assert isinstance(cell.findMobileDevice("cart"), rw.MobileDevice)
    assert [frame.getName() for frame in cell.findMovableFrames()] == ["cart.Base", "parcel"]
    assert frame_of(loaded(), "camera").getPropertyMap() == {"Camera": "50 640 480"}
