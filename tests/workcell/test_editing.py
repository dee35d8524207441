"""Adding, changing and removing frames, robots and devices of a workcell."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.support.cells import random_cell, random_state
from tests.support.models import assert_close, random_model, random_pose

import linkwork as lw
from linkwork.workcell.cell.frames import ROOT, CellFrame, Motion


def bench() -> lw.WorkCell:
    cell = lw.WorkCell("bench").with_frame("table", parent_H_frame=lw.Pose((1.0, 0.0, 0.8)))
    cell = cell.with_joint("slide", "prismatic", "table", limits=lw.Limits(lower=0, upper=1))
    cell = cell.with_joint("twin", "prismatic", "table", depends=lw.Mimic(joint="slide"))
    cell = cell.with_frame("box", "slide", movable=True, attachable=True)
    return cell.with_device(lw.JointDevice("lift", "table", "slide", ("slide",)))


def test_editing_does_not_change_the_cell():
    cell = bench()
    before = (cell.frames, cell.devices, cell.layout.digest)
    cell.with_frame("more")
    cell.without_device("lift").without("box")
    cell.with_changed("table", parent_H_frame=lw.Pose())
    cell.with_default(cell.state({"slide": 0.5}))
    assert (cell.frames, cell.devices, cell.layout.digest) == before
    with pytest.raises(AttributeError):
        cell.name = "other"


def test_cells_compare_hash_and_pickle_by_value(rng):
    cell = random_cell(rng)
    again = pickle.loads(pickle.dumps(cell))
    assert again == cell
    assert hash(again) == hash(cell)
    assert again.layout.digest == cell.layout.digest
    state = random_state(cell, rng)
    np.testing.assert_array_equal(again.fk(state).world_H_frames, cell.fk(state).world_H_frames)
    assert cell != cell.with_frame("more")
    assert repr(bench()) == "<WorkCell 'bench': 5 frames, 1 attachable frame, 1 device>"
    assert repr(lw.WorkCell("x")) == "<WorkCell 'x': 1 frame, 0 attachable frames, 0 devices>"


def test_new_cell_has_only_the_world():
    cell = lw.WorkCell("empty")
    assert cell.frame_names == ("WORLD",)
    assert cell.state().values.shape == (0,)
    np.testing.assert_array_equal(cell.fk(cell.state())["WORLD"], np.eye(4))
    assert cell.fk(cell.state().broadcast(3)).world_H_frames.shape == (3, 1, 4, 4)
    assert cell.tree(cell.state()) == "WORLD at (0, 0, 0)"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda c: c.with_frame("box"), "frame 'box': .*use"),
        (lambda c: c.with_frame("WORLD"), "frame 'WORLD': .*use"),
        (lambda c: c.with_joint("box", "revolute"), "frame 'box': .*use"),
        (lambda c: c.with_frame(""), "name of a frame.*empty"),
        (lambda c: c.with_frame(3), "name of a frame.*str.*3"),
        (lambda c: c.with_frame("x", "tabel"), "frame.*'tabel'.*'table'"),
        (
            lambda c: c.with_frame("x", "table", np.eye(3)),
            r"frame 'x': parent_H_frame: .* \(3, 3\)",
        ),
        (lambda c: c.with_frame("x", "table", np.ones((4, 4)), movable=True), "last row"),
        (lambda c: c.with_joint("x", "revolut"), "kind.*'revolut'.*'revolute'"),
        (lambda c: c.with_joint("x", "fixed"), "kind.*'fixed'"),
        (lambda c: c.with_joint("x", "revolute", axis=(0, 0, 0)), "axis.*zero"),
        (lambda c: c.with_joint("x", "revolute", pitch=0.1), "revolute.*pitch"),
        (lambda c: c.with_joint("x", "revolute", acceleration=-1), "acceleration: .*-1"),
        (lambda c: c.with_joint("x", "revolute", home=[1, 2]), r"home: .*\b1\b.*\b2\b"),
        (lambda c: c.with_joint("x", "spherical", home=[1, 1, 0, 0]), r"quaternion.*1\.414"),
        (
            lambda c: c.with_joint("x", "spherical", depends=lw.Mimic(joint="slide")),
            "spherical.*depend",
        ),
        (
            lambda c: c.with_joint("x", "planar", limits=lw.Limits(lower=0)),
            "planar.*limits",
        ),
        (
            lambda c: c.with_joint("x", "revolute", depends=lw.Mimic(joint="table")),
            "'table'.*not a joint",
        ),
        (
            lambda c: c.with_joint("x", "revolute", home=1.0, depends=lw.Mimic(joint="slide")),
            "home: .*depends",
        ),
        (
            lambda c: c.with_changed("slide", depends=lw.Mimic(joint="twin")),
            "cycle of dependent",
        ),
        (lambda c: c.with_changed("table", parent="slide"), "cycle of parents: .*table"),
        (
            lambda c: c.with_changed("table", parnt="slide"),
            "field.*'parnt'.*'parent'",
        ),
        (lambda c: c.with_changed("WORLD", movable=True), "root.*changed"),
        (lambda c: c.with_changed("tabel"), "frame.*'tabel'"),
        (lambda c: c.without("WORLD"), "root.*removed"),
        (lambda c: c.without("table"), "frames.*: slide, twin"),
        (lambda c: c.without("slide"), "joints.*: twin"),
        (lambda c: c.without("slide"), "devices.*: lift"),
        (lambda c: c.without("tabel"), "frame.*'tabel'"),
        (lambda c: c.without_device("left"), "device.*'left'.*'lift'"),
        (lambda c: c.without_robot("lift"), "robot.*'lift'"),
        (lambda c: c.with_robot("arm", "arm.urdf"), r"model: .*Model.*'arm\.urdf'"),
        (lambda c: c.with_default(c.state().broadcast(2)), "single state.*batch"),
        (lambda c: lw.WorkCell(""), "name of a workcell.*empty"),
        (lambda c: lw.WorkCell("x", ()), "first frame.*WORLD"),
        (lambda c: lw.WorkCell("x", (ROOT, ROOT)), "frame 'WORLD': .*parent"),
        (lambda c: CellFrame(name="x", parent="x"), "parent"),
        (
            lambda c: CellFrame(name="x", parent="y", movable=True, motion=Motion(kind="revolute")),
            "joint.*movable",
        ),
    ],
)
def test_invalid_cells_are_rejected(call, text):
    cell = bench()
    with pytest.raises(lw.LinkworkError, match=text):
        call(cell)


def test_all_errors_are_reported_at_once():
    frames = (ROOT, CellFrame(name="a", parent="b"), CellFrame(name="c", parent="d"))
    with pytest.raises(lw.ModelError, match="2 errors") as caught:
        lw.WorkCell("x", frames)
    assert len(caught.value.findings) == 2


def test_children_of_a_removed_frame_are_attached_to_world():
    cell = bench().without_device("lift").without("twin")
    cell = cell.with_default(cell.attach(cell.state(), "box", "slide"))
    without = cell.without("slide")
    assert without.frame_names == ("WORLD", "table", "box")
    assert without.parent("box", without.state()) == "WORLD"
    assert without.upgrade(cell.state()) == without.state()
    assert without.without("box").without("table") == lw.WorkCell("bench")


def test_default_state_can_be_changed():
    cell = bench()
    state = cell.grip(cell.state({"slide": 0.25}), "box", "table")
    changed = cell.with_default(state)
    assert changed.state() == state
    assert changed.state().layout.digest == cell.layout.digest  # states of both are the same
    assert changed.device("lift").joint_names == ("slide",)
    assert changed.with_default(cell.state()) == cell
    assert cell.state({"lift": [0.5]}) == cell.state({"slide": 0.5})
    with pytest.raises(lw.NameNotFoundError, match=r"frame.*'lifd'"):
        cell.state({"lifd": [0.5]})


def test_fields_of_a_frame_can_be_changed():
    cell = bench().with_changed("slide", limits=lw.Limits(lower=-1, upper=2), axis=(0, 2, 0))
    assert cell.device("lift").upper.tolist() == [2.0]
    assert cell.world_H_frame("slide", cell.state({"slide": 0.5}))[:3, 3].tolist() == [1, 0.5, 0.8]
    moved = cell.with_changed("box", parent_H_frame=lw.Pose((0.0, 0.0, 3.0)).matrix())
    assert moved.values("box", moved.state()).tolist() == [0, 0, 3, 1, 0, 0, 0]
    named = moved.with_changed("box", properties={"color": "red"}, inertia=lw.point_mass(2.0))
    assert named.frame("box").properties == (("color", "red"),)
    assert named.frame("box").inertia.mass == 2.0
    same = named.layout.digest == cell.layout.digest
    assert same  # neither poses nor limits nor inertias are part of the structure


def test_robots_are_added_with_all_their_parts(rng):
    model = random_model(rng, 7)
    cell = lw.WorkCell("pair").with_frame("table", parent_H_frame=random_pose(rng))
    for name in ("left", "right"):
        cell = cell.with_robot(name, model, parent="table", parent_H_base=random_pose(rng))
    assert len(cell.frames) == 2 + 2 * len(model.frame_names)
    for link in model.links:
        frame = cell.frame(f"left.{link.name}")
        assert (frame.inertia, frame.visuals) == (link.inertia, link.visuals)
    mass = sum(frame.inertia.mass for frame in cell.frames)
    assert_close(mass, 2 * model.total_mass, 1e-14)
    with pytest.raises(lw.ModelError, match=r"already.*frames left"):
        cell.with_robot("left", model)
    with pytest.raises(lw.NameNotFoundError, match=r"frame.*'link99'"):
        cell.with_robot("third", model, base="link99")
    with pytest.raises(lw.NameNotFoundError, match=r"frame.*'nose'"):
        cell.with_robot("third", model, end="nose")
    with pytest.raises(lw.ModelError, match=r"devices.*: left"):
        cell.without("left.frame0")
    alone = cell.without_robot("right")
    assert alone.device_names == ("left",)
    assert alone.without_robot("left").frame_names == ("WORLD", "table")
    ended = cell.with_robot("third", model, end="frame1").device("third")
    assert ended.end == "third.frame1"


def test_a_robot_can_be_carried_and_carry():
    """An arm with a gripped box on a cart, and the cart on a ship."""
    model = lw.robots.load("arm")
    cell = lw.WorkCell("ship").with_joint("roll", "revolute", axis=(1, 0, 0))
    cell = cell.with_robot("arm", model, floating=True, attachable=True)
    cell = cell.with_frame("box", movable=True, attachable=True)
    state = cell.grip(cell.state(), "box", "arm.tool")
    state = cell.grip(state, "arm.base", "roll")
    assert cell.chain("roll", "box", state)[:2] == ("roll", "arm.base")
    rolled = cell.set_values(state, "roll", 0.5)
    pose = cell.frame_H_frame("roll", "box", state)
    assert_close(cell.frame_H_frame("roll", "box", rolled), pose, 1e-14)
    with pytest.raises(lw.StateError, match=r"'arm\.base'.*'box'"):
        cell.attach(state, "arm.base", "box")


def test_poses_of_movable_frames_are_exact(rng):
    quarter = [tuple(rng.integers(-2, 3, 3) * np.pi / 2) for _ in range(8)]
    tilted = [random_pose(rng).rpy for _ in range(8)]
    for rpy in (*quarter, *tilted):
        pose = lw.Pose((1.0, 2.0, 3.0), rpy)
        for argument in (pose, pose.matrix()):
            cell = lw.WorkCell("x").with_frame("f", parent_H_frame=argument, movable=True)
            assert_close(cell.world_H_frame("f", cell.state()), pose.matrix(), 1e-15)
            fixed = lw.WorkCell("x").with_frame("f", parent_H_frame=argument)
            assert_close(fixed.world_H_frame("f", fixed.state()), pose.matrix(), 1e-15)


def test_long_chains_of_attachments_are_supported():
    """The parent of each frame is added after it, and the chain exceeds the recursion limit."""
    cell, n = lw.WorkCell("tower"), 1500
    for k in range(n):
        cell = cell.with_frame(f"f{k}", parent_H_frame=lw.Pose((0, 0, 1.0)), attachable=True)
    parents = np.arange(2, n + 2, dtype=np.int32)
    parents[-1] = 0
    state = lw.State(cell.layout, [], parents)
    assert cell.world_H_frame("f0", state)[2, 3] == n
    assert cell.fk(state)["f1"][2, 3] == n - 1
    assert len(cell.chain("WORLD", "f0", state)) == n + 1
    assert len(cell.tree(state).splitlines()) == n + 1
    with pytest.raises(lw.StateError, match=r"carries"):
        cell.attach(state, f"f{n - 1}", "f0")
    again = pickle.loads(pickle.dumps(state))
    assert again == state


CELL = lw.WorkCell("cell").with_robot("arm", lw.load("arm"), end="tool").with_frame("box")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: CELL.state([0.0] * 8), r"values: .*\{'arm': q\}"),
        (lambda: CELL.state({"amr": [0.0] * 8}), "'amr'.*arm"),
        (lambda: CELL.state().broadcast("a"), r"broadcast.*'a'"),
        (lambda: CELL.with_frame("b", collisions=lw.Box((1, 1, 1))), "'b': collisions: .*Shape"),
        (lambda: CELL.with_frame("b", collisions=[lw.Box((1, 1, 1))]), "'b': collisions: .*Shape"),
        (lambda: CELL.with_frame("b", visuals=[3]), "'b': visuals: .*Shape.*3"),
        (lambda: CELL.with_changed("box", collisions=[3]), "'box': collisions: .*Shape.*3"),
        (lambda: CELL.with_excluded_pairs("box"), "two frames"),
        (lambda: CELL.with_robot("other", "arm"), r"model: .*lw\.load.*'arm'"),
        (lambda: CELL.ik(CELL.state(), {"box": (0, 0, 1)}), "'box'.*no device"),
        (lambda: CELL.ik(CELL.state(), {"arm.tool": np.eye(3)}), r"rotation.*\(\.\.\., 3, 3\)"),
    ],
)
def test_wrong_arguments_are_reported_by_name(call, text):
    """When they are passed, not where they are needed first."""
    with pytest.raises(lw.LinkworkError, match=text):
        call()
