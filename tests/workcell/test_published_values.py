"""Values from RobWork's tests and examples, and closed forms from textbooks."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw

TURN = np.pi / 2
IDENTITY = lw.Pose()


def craig(alpha: float, a: float, d: float) -> np.ndarray:
    """Pose of a joint in the previous one, by Craig's Denavit-Hartenberg parameters."""
    c, s = np.cos(alpha), np.sin(alpha)
    return np.array([[1, 0, 0, a], [0, c, -s, -s * d], [0, s, c, c * d], [0, 0, 0, 1]])


def chain_of(rows, tool=IDENTITY, mount=IDENTITY) -> lw.WorkCell:
    cell = lw.WorkCell("arm").with_frame("base", parent_H_frame=mount)
    parent = "base"
    for k, row in enumerate(rows):
        cell = cell.with_joint(f"joint{k}", "revolute", parent, craig(*row))
        parent = f"joint{k}"
    cell = cell.with_frame("tool", parent, tool)
    return cell.with_device(lw.SerialDevice("arm", "base", "tool"))


def test_puma_560_agrees_with_its_closed_form():
    """Craig, Introduction to Robotics, section 3.7."""
    a2, d3, a3, d4 = 0.4318, -1.15005, 0.0203, -0.4318
    rows = [(0, 0, 0), (-TURN, 0, 0), (0, a2, d3), (-TURN, a3, d4), (TURN, 0, 0), (-TURN, 0, 0)]
    cell = chain_of(rows)
    arm = cell.device("arm")
    q = np.random.default_rng(0).uniform(-3, 3, (200, 6))
    H = arm.base_H_end(arm.set_q(cell.state(), q))
    c1, c2, _, c4, c5, c6 = np.cos(q).T
    s1, s2, _, s4, s5, s6 = np.sin(q).T
    c23, s23 = np.cos(q[:, 1] + q[:, 2]), np.sin(q[:, 1] + q[:, 2])
    reach = a2 * c2 + a3 * c23 - d4 * s23
    position = [c1 * reach - d3 * s1, s1 * reach + d3 * c1, -a3 * s23 - a2 * s2 - d4 * c23]
    np.testing.assert_allclose(H[:, :3, 3].T, position, atol=1e-14)
    across, along = c4 * c5 * c6 - s4 * s6, s4 * c5 * c6 + c4 * s6
    x_axis = [
        c1 * (c23 * across - s23 * s5 * c6) + s1 * along,
        s1 * (c23 * across - s23 * s5 * c6) - c1 * along,
        -s23 * across - c23 * s5 * c6,
    ]
    np.testing.assert_allclose(H[:, :3, 0].T, x_axis, atol=1e-14)


def test_kr16_agrees_with_robworks_tests():
    s = np.sqrt(0.5)
    rows = [
        *[(0, 0, 0), (TURN, 0.26, 0), (0, 0.68, 0)],
        *[(TURN, -0.035, -0.67), (-TURN, 0, 0), (TURN, 0, 0)],
    ]
    tool = np.array([[0, -s, -s, -0.141], [-1, 0, 0, 0], [0, s, -s, -0.299], [0, 0, 0, 1]])
    cell = chain_of(rows, tool, lw.Pose((2.0, 0.0, 1.0), (np.pi, 0.0, np.pi)))
    arm = cell.device("arm")
    state = arm.set_q(cell.state(), np.deg2rad([0, -60, 15, 0, 0, 0]))
    H = arm.base_H_end(state)
    np.testing.assert_allclose(H[:3, 3], [1.16074, 0, 0.22074], atol=1e-5)
    np.testing.assert_allclose(H[:3, :3], [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)


PRINTED = """\
Device at (0, 0, 0)
 J0 at (0, 0, 0)
  J1 at (0, 0, 0.1)
   J2 at (-0.414295, 0.277871, 0.133872)
    J3 at (-0.414295, 0.277871, 0.133872)
     J4 at (-0.90526, 0.192917, 0.17553)
      J5 at (-0.90526, 0.192917, 0.17553)
       J6 at (-0.955356, 0.107485, 0.161679)
        TCP at (-0.955356, 0.107485, 0.161679)"""


def test_tree_of_robworks_example_is_printed_with_positions():
    cell, parent = lw.WorkCell("workcell").with_frame("Device"), "Device"
    home = (0.98, 1.503, -1.521, -0.76, -0.237, -0.895, 0.0)
    where = [(0, 0, 0), (0, 0, 0.1), (0.5, 0, 0), (0, 0, 0), (0.5, 0, 0), (0, 0, 0), (0.1, 0, 0)]
    for k, (xyz, q) in enumerate(zip(where, home, strict=True)):
        pitch = 0.0 if k == 0 else TURN * (-1) ** k
        pose = lw.Pose(xyz, (0.0, pitch, 0.0))
        cell = cell.with_joint(f"J{k}", "revolute", parent, pose, home=q)
        parent = f"J{k}"
    cell = cell.with_frame("TCP", parent)
    assert cell.tree(cell.state(), "Device") == PRINTED
    assert cell.tree(cell.state()).startswith("WORLD at (0, 0, 0)\n Device at (0, 0, 0)\n  J0")
    with pytest.raises(lw.ArgumentError, match="single state"):
        cell.tree(cell.state().broadcast(2))


def test_static_groups_are_split_at_movable_and_attachable_frames():
    cell = lw.WorkCell("world")
    for child, parent in [(1, 0), (3, 1), (4, 1), (8, 1), (7, 4), (2, 0), (5, 2), (6, 5), (9, 6)]:
        cell = _with(cell, child, parent)
    for child, parent in [(10, 9), (11, 9), (12, 0)]:
        cell = _with(cell, child, parent)
    groups = cell.static_groups(cell.state())
    assert len(groups) == 10
    assert sorted(sum(groups, ())) == sorted(cell.frame_names)
    assert ("WORLD", "f12") in groups
    assert ("f1", "f4") in groups
    assert ("f2", "f5") in groups
    assert cell.static_groups(cell.state(), "f2")[0] == ("f2", "f5")
    for group in groups:  # fixed to each other, whatever moves
        moved = cell.set_pose(cell.state(), "f1", lw.Pose((1, 2, 3), (0.1, 0.2, 0.3)))
        for name in group:
            before = cell.frame_H_frame(group[0], name, cell.state())
            np.testing.assert_allclose(
                cell.frame_H_frame(group[0], name, moved), before, atol=1e-15
            )


def _with(cell, child, parent):
    movable, attachable = child not in (4, 5, 12), child in (7, 8, 10, 11)
    on = f"f{parent}" if parent else "WORLD"
    return cell.with_frame(f"f{child}", on, movable=movable, attachable=attachable)


def test_chains_are_concatenated():
    cell, parent = lw.WorkCell("chain"), "WORLD"
    for k in (1, 2, 3):
        cell = cell.with_frame(f"l{k}", parent, lw.Pose((k, k + 1, k + 2)))
        parent = f"l{k}"
    cell = cell.with_frame("daf", "l2", attachable=True)
    state = cell.state()
    assert cell.world_H_frame("l3", state)[:3, 3].tolist() == [6, 9, 12]
    assert cell.chain("l3", "daf", state) == ("l3", "l2", "daf")
    assert cell.chain("l1", "l3", state) == ("l1", "l2", "l3")
    assert cell.chain("daf", "daf", state) == ("daf",)
    assert cell.children("l2", state) == ("l3", "daf")
    moved = cell.attach(state, "daf", "l1")
    assert cell.children("l1", moved) == ("l2", "daf")
    assert cell.children("l2", moved) == ("l3",)
    assert cell.frames_below("l1", moved) == ("l1", "l2", "l3", "daf")
    assert cell.parent("WORLD", state) is None
    assert cell.parent("l1", state) == "WORLD"
