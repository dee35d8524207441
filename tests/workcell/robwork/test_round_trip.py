"""Workcells that are written as RobWork's XML and read back are equal."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.support.robwork_reader import read_as_robwork

import linkwork as lw

CELLS = ("pick_and_place", "two_arms", "mobile_manipulator")


def again(cell: lw.WorkCell) -> lw.WorkCell:
    return lw.load_workcell(lw.dump_workcell(cell), strict=True)


def random_pose(rng: np.random.Generator) -> lw.Pose:
    return lw.Pose(tuple(rng.normal(size=3)), tuple(rng.uniform(-3, 3, 3)))


def random_cell(seed: int) -> lw.WorkCell:
    """All kinds of frames, joints and devices, with values of full precision."""
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

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*RobWork", lw.LinkworkWarning)
        assert lw.load_workcell(lw.dump_workcell(cell)) == cell


def test_cell_with_robots_devices_and_another_default_state_reads_back():
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
def test_devices_are_written_as_robworks_elements(source, elements):
    cell = lw.load_workcell(source)

    text = lw.dump_workcell(cell)

    result = {tag: text.count(f"<{tag} ") for tag in ("SerialDevice", "TreeDevice", "MobileDevice")}
    assert {tag: n for tag, n in result.items() if n} == elements
    assert "<Robot" not in text
    assert "<Device" not in text
    assert "linkwork." not in text.replace("linkwork.link", "")
    assert again(cell) == cell


@pytest.mark.parametrize("change", ["moved", "renamed", "elsewhere"])
def test_devices_without_robworks_elements_read_back(change):
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


def test_file_is_written(tmp_path: Path):
    cell = lw.load_workcell("two_arms")

    text = lw.dump_workcell(cell, tmp_path / "out.xml")

    assert (tmp_path / "out.xml").read_text() == text
    assert lw.load_workcell(tmp_path / "out.xml") == cell


def test_cell_that_the_format_cannot_express_is_rejected():
    cell = lw.WorkCell("c").with_robot("arm", lw.robots.load("arm"))
    changed = cell.with_changed("arm.tool", properties={"a": "b"})

    with pytest.raises(lw.ModelError, match="read back"):
        lw.dump_workcell(changed)
    with pytest.raises(lw.ArgumentError, match=r"WorkCell.*\b3\b"):
        lw.dump_workcell(3)  # type: ignore[arg-type]


def device_cell(seed: int, kind: str, *, tilted: bool) -> lw.WorkCell:
    """A device of joints with all kinds of limits, on a frame of another device."""
    rng = np.random.default_rng(seed)
    cell = lw.load_workcell(HAND) if kind == "on a hand" else lw.WorkCell("c")
    parent = "hand.tip2" if kind == "on a hand" else "WORLD"
    cell = cell.with_frame("mount", parent, random_pose(rng))
    cell = cell.with_frame("arm.base", "mount", random_pose(rng))
    limits = [lw.Limits(lower=-1.0), lw.Limits(lower=-1, upper=2e7), lw.Limits(upper=2, lower=-2)]
    for k in range(6):
        parent, velocity_limits = cell.frame_names[-1], lw.Limits(velocity=1.5, effort=9.0)
        depends = lw.Mimic(joint="arm.j1", multiplier=-0.5, offset=0.1) if k in (3, 4) else None
        cell = cell.with_joint(
            f"arm.j{k}",
            "prismatic" if k == 2 else "revolute",
            parent,
            random_pose(rng) if k else lw.Pose(),
            axis=rng.normal(size=3) if tilted else (0, 0, 1),
            limits=velocity_limits if k > 2 else limits[k],
            depends=depends,
            active=k != 5,
        )
    if kind == "tree":
        cell = cell.with_joint("arm.side", "revolute", "arm.base", random_pose(rng))
        cell = cell.with_frame("arm.a", "arm.side").with_frame("arm.b", "arm.j5", random_pose(rng))
        return cell.with_device(lw.TreeDevice("arm", "arm.base", ("arm.a", "arm.b")))
    cell = cell.with_frame("arm.tcp", "arm.j5", random_pose(rng))
    return cell.with_device(lw.SerialDevice("arm", "arm.base", "arm.tcp"))


@pytest.mark.parametrize("kind", ["serial", "tree", "on a hand"])
@pytest.mark.parametrize("seed", range(4))
def test_robwork_reads_joints_about_z_as_the_same_motion(kind, seed, rng):
    cell = device_cell(seed, kind, tilted=False)
    text = lw.dump_workcell(cell, robwork=True)

    assert again(cell) == cell
    assert_same_in_robwork(cell, text, rng)


@pytest.mark.filterwarnings("ignore::linkwork.LinkworkWarning")
@pytest.mark.parametrize("kind", ["serial", "tree", "on a hand"])
def test_joints_with_any_axis_read_back(kind):
    cell = device_cell(0, kind, tilted=True)
    assert again(cell) == cell
    with pytest.raises(lw.ModelError, match=r"'arm\.j1': RobWork.*revolute joint, axis"):
        lw.dump_workcell(cell, robwork=True)


@pytest.mark.parametrize("name", ["two_arms", "mobile_manipulator", HAND])
def test_robwork_reads_bundled_cells(name, rng):
    cell = lw.load_workcell(name)
    assert_same_in_robwork(cell, lw.dump_workcell(cell, robwork=True), rng)


def assert_same_in_robwork(cell: lw.WorkCell, text: str, rng: np.random.Generator) -> None:
    """Frames have the same poses, and devices have the same joints."""
    there = read_as_robwork(text)
    state = cell.state()
    for device in map(cell.device, cell.device_names):
        state = device.set_q(state, rng.normal(size=device.nq))
    values = {frame.name: cell.values(frame.name, state) for frame in cell.frames if frame.size}
    table = cell.fk(state)
    for name in cell.frame_names:
        np.testing.assert_allclose(there.world_pose(name, values), table[name], atol=1e-12)
    for name in cell.device_names:
        assert sorted(there.devices[name]) == sorted(cell.device(name).joint_names)


def test_first_frame_that_is_not_on_world_is_named():
    cell = lw.load_workcell("mobile_manipulator")
    names = [n for n in cell.frame_names if n.startswith("cart.")]
    bare = lw.WorkCell("c", (cell.frames[0], *map(cell.frame, names)), cell.devices[:1])
    bare = bare.with_frame("camera", "cart.Top", lw.Pose((0, 0, 1)))

    with pytest.warns(lw.LinkworkWarning, match="'camera': .*uses WORLD"):
        assert lw.load_workcell(lw.dump_workcell(bare)) == bare
    with pytest.raises(lw.ModelError, match=r"'camera': .*first <Frame>"):
        lw.dump_workcell(bare, robwork=True)


def test_joints_that_robwork_cannot_read_are_warnings():
    cell = lw.WorkCell("c").with_frame("d.b").with_joint("d.j", "helical", "d.b", pitch=0.1)
    cell = cell.with_frame("d.e", "d.j").with_device(lw.SerialDevice("d", "d.b", "d.e"))
    with pytest.warns(lw.LinkworkWarning, match=r"'d\.j': RobWork.*helical"):
        text = lw.dump_workcell(cell)
    assert lw.load_workcell(text) == cell
    cell = cell.with_robot("arm", lw.robots.load("arm"))
    cell = cell.with_device(lw.JointDevice("all", "WORLD", "d.e", ("d.j",)))
    with pytest.raises(lw.ModelError) as caught:
        lw.dump_workcell(cell, robwork=True)
    named = [finding.element for finding in caught.value.findings]
    assert named == ["frame 'd.j'", "robot 'arm'", "device 'all'"]
