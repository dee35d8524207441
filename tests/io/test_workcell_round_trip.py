"""Workcells written as RobWork's XML and read again are the same, digit for digit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import linkwork as lw

CELLS = ("pick_and_place", "two_arms", "mobile_manipulator")


def again(cell: lw.WorkCell) -> lw.WorkCell:
    return lw.load_workcell(lw.dump_workcell(cell), strict=True)


def random_pose(rng: np.random.Generator) -> lw.Pose:
    return lw.Pose(tuple(rng.normal(size=3)), tuple(rng.uniform(-3, 3, 3)))


def random_cell(seed: int) -> lw.WorkCell:
    """All kinds of frames, joints and devices, with numbers of all digits."""
    rng = np.random.default_rng(seed)
    cell = lw.WorkCell(f"cell {seed}")
    kinds = ("revolute", "prismatic", "universal", "spherical", "helical", "floating")
    for k in range(14):
        parent = cell.frame_names[rng.integers(len(cell.frames))]
        name, pose = f"f{k}", random_pose(rng)
        options = {"attachable": bool(rng.integers(2))}
        if rng.integers(2):
            size, shape_pose = tuple(rng.uniform(0.1, 1, 3)), random_pose(rng)
            look = lw.Material(rgba=(0.1, 0.2, 0.3, float(rng.integers(2)) or 0.5))
            shapes = [lw.Shape(lw.Box(size), shape_pose, "b", look), lw.Shape(lw.Sphere(0.3))]
            options["visuals"] = shapes[: rng.integers(3)]
            options["collisions"] = [lw.Shape(lw.Capsule(0.1, 0.2))] * int(rng.integers(2))
            options["inertia"] = lw.solid_box(rng.uniform(0.1, 2), size)
            options["properties"] = {"note": "a < b & c"}
        kind = rng.choice([*kinds, "fixed", "movable"])
        if kind in ("fixed", "movable"):
            cell = cell.with_frame(name, parent, pose, movable=kind == "movable", **options)
            continue
        if kind in ("revolute", "prismatic", "helical"):
            low, high = np.sort(rng.normal(size=2))
            velocity = rng.choice([np.inf, 1.1])
            options["limits"] = lw.Limits(lower=low, upper=high, velocity=velocity)
            options["acceleration"] = rng.uniform(1, 2)
            options["home"] = [rng.normal()]
        axis = rng.normal(size=3) if rng.integers(2) else (0, 0, 1)
        cell = cell.with_joint(name, kind, parent, pose, axis=axis, **options)
    return cell


@pytest.mark.parametrize("name", CELLS)
def test_bundled_cells_read_back(name):
    cell = lw.load_workcell(name, strict=True)

    assert again(cell) == cell


@pytest.mark.parametrize("seed", range(12))
def test_random_cells_read_back(seed):
    cell = random_cell(seed)

    assert again(cell) == cell


def test_a_cell_with_robots_devices_and_another_default_state_reads_back():
    cell = lw.load_workcell("pick_and_place")
    cell = cell.with_robot("dog", lw.robots.load("quadruped"), floating=True, attachable=True)
    cell = cell.with_robot("arm2", lw.robots.load("arm"), parent="tray", base="tool")
    cell = cell.with_device(lw.CompositeDevice("all", "WORLD", "arm.tcp", ("dog", "arm2")))
    cell = cell.with_device(lw.JointDevice("one", "WORLD", "arm.hand", ("arm.wrist1",)))
    cell = cell.with_device(lw.FreeDevice("free", "WORLD", "cube"))
    cell = cell.with_device(lw.SerialDevice("part", "arm.base", "arm.wrist1"))
    state = cell.grip(cell.state({"arm": np.full(7, 0.03)}), "cube", "arm.tcp")
    cell = cell.with_default(state)

    assert again(cell) == cell
    assert again(cell).state() == cell.state()


HAND = """<WorkCell name="c"><Frame name="wrist"/><TreeDevice name="hand"><Frame name="palm"/>
<Joint name="a" type="Revolute"><PosLimit min="-90" max="30"/></Joint>
<Frame name="tip1" type="EndEffector"/><Joint name="b" refframe="palm" type="Prismatic">
<Depend on="a" gain="0.5" offset="0"/></Joint><Joint name="c" type="Revolute"/>
<Frame name="tip2" type="EndEffector"/><Q name="Home">0.1 0.2</Q></TreeDevice></WorkCell>"""


@pytest.mark.parametrize(
    ("source", "elements"),
    [
        ("two_arms", {"SerialDevice": 2}),
        ("mobile_manipulator", {"SerialDevice": 1, "MobileDevice": 1}),
        (HAND, {"TreeDevice": 1}),
    ],
)
def test_devices_are_written_as_robwork_reads_them(source, elements):
    cell = lw.load_workcell(source)

    text = lw.dump_workcell(cell)

    found = {tag: text.count(f"<{tag} ") for tag in ("SerialDevice", "TreeDevice", "MobileDevice")}
    assert {tag: n for tag, n in found.items() if n} == elements
    assert "<Robot" not in text
    assert "<Device" not in text
    assert "linkwork." not in text.replace("linkwork.link", "")
    assert again(cell) == cell


@pytest.mark.parametrize("change", ["moved", "renamed", "elsewhere"])
def test_devices_that_do_not_fit_robworks_elements_read_back_too(change):
    cell = lw.load_workcell(HAND)
    match change:
        case "moved":
            cell = cell.with_frame("later", "hand.tip1")
            cell = cell.with_device(lw.SerialDevice("long", "wrist", "later"))
        case "renamed":
            cell = cell.without_device("hand").with_device(
                lw.TreeDevice("fingers", "hand.palm", ("hand.tip2", "hand.tip1"))
            )
        case _:
            cell = cell.with_changed("hand.palm", parent="WORLD")

    assert again(cell) == cell


def test_a_file_is_written_where_asked(tmp_path: Path):
    cell = lw.load_workcell("two_arms")

    text = lw.dump_workcell(cell, tmp_path / "out.xml")

    assert (tmp_path / "out.xml").read_text() == text
    assert lw.load_workcell(tmp_path / "out.xml") == cell


def test_what_no_file_can_say_is_refused():
    cell = lw.WorkCell("c").with_robot("arm", lw.robots.load("arm"))
    changed = cell.with_changed("arm.tool", properties={"a": "b"})

    with pytest.raises(lw.ModelError, match="would not read back as the same cell"):
        lw.dump_workcell(changed)
    with pytest.raises(lw.ArgumentError, match="expected a WorkCell, got 3"):
        lw.dump_workcell(3)  # type: ignore[arg-type]
