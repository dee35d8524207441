"""Collisions of workcells: robots, objects, attachments, excluded pairs."""

from __future__ import annotations

import pickle
from contextlib import nullcontext

import numpy as np
import pytest
from tests.support.collision import coal_distance, coal_shape
from tests.support.linkages import five_bar

import linkwork as lw
from linkwork.compat import robwork as rw

LINK = lw.Shape(lw.Capsule(0.04, 0.3), lw.Pose((0.2, 0.0, 0.0), (0.0, np.pi / 2, 0.0)))
TABLE = lw.Shape(lw.Box((4.0, 4.0, 0.1)))


def arm():
    """Three links, a hand with a palm and two fingers."""
    b = lw.ModelBuilder("arm")
    inertia = lw.solid_box(1.0, (0.1, 0.1, 0.1))
    b.add_link("base", inertia=inertia, collisions=[lw.Shape(lw.Cylinder(0.06, 0.1))])
    for k in range(3):
        before, x = (f"l{k - 1}", 0.4) if k else ("base", 0.0)
        b.add_link(f"l{k}", inertia=inertia, collisions=[LINK])
        mount = lw.Pose((x, 0.0, 0.0))
        ends = f"j{k}", "revolute", before, f"l{k}"
        b.add_joint(*ends, axis=(0.0, 1.0, 0.0), first_H_joint=mount, lower=-2.5, upper=2.5)
    b.add_link("hand", inertia=inertia, collisions=[lw.Shape(lw.Box((0.04, 0.2, 0.04)))])
    b.add_joint("wrist", "fixed", "l2", "hand", first_H_joint=lw.Pose((0.42, 0.0, 0.0)))
    for side, y in (("left", 0.06), ("right", -0.06)):
        finger = lw.Shape(lw.Box((0.1, 0.02, 0.02)), lw.Pose((0.07, 0.0, 0.0)))
        b.add_link(f"{side}_finger", inertia=inertia, collisions=[finger])
        ends = f"{side}_slide", "prismatic", "hand", f"{side}_finger"
        mount = lw.Pose((0.0, y, 0.0))
        b.add_joint(*ends, axis=(0.0, 1.0, 0.0), first_H_joint=mount, lower=-0.05, upper=0.05)
    return b.build()


@pytest.fixture(scope="module")
def cell():
    cell = lw.WorkCell("cell").with_frame("table", collisions=[TABLE])
    cell = cell.with_robot("arm", arm(), parent="table", parent_H_base=lw.Pose((0.0, 0.0, 0.1)))
    cell = cell.with_robot("other", arm(), parent_H_base=lw.Pose((0.5, 0.6, 0.1)))
    box = [lw.Shape(lw.Box((0.1, 0.1, 0.1)))]
    where = lw.Pose((0.6, 0.3, 0.1))  # on the table
    return cell.with_frame("box", "WORLD", where, movable=True, attachable=True, collisions=box)


def oracle(cell, state, pair):
    """Distance of two frames by coal."""
    sides = []
    for name in pair:
        H = cell.world_H_frame(name, state)
        shapes = cell.frame(name).collisions
        sides.append([(coal_shape(x.geometry), H @ x.link_H_shape.matrix()) for x in shapes])
    return min(coal_distance(*a, *b)[0] for a in sides[0] for b in sides[1])


def random_states(cell, state, n, seed=0):
    rng = np.random.default_rng(seed)
    for name in ("arm", "other"):
        q = rng.uniform(-1.5, 1.5, (n, 5)) * [1.0, 1.0, 1.0, 0.03, 0.03]
        state = cell.device(name).set_q(state, q)
    return state


def test_distances_agree_with_coal(cell):
    states = random_states(cell, cell.state(), 12)
    distances = cell.distances(states)
    assert distances.shape == (12, len(cell.collision_pairs))
    colliding = cell.collisions(states)
    assert any(colliding)
    for row in range(12):
        expected = [oracle(cell, states[row], pair) for pair in cell.collision_pairs]
        np.testing.assert_allclose(distances[row], expected, atol=1e-8)
        overlapping = [p for p, d in zip(cell.collision_pairs, expected, strict=True) if d < -1e-9]
        assert colliding[row] == overlapping
        assert cell.collisions(states[row]) == overlapping
    np.testing.assert_array_equal(cell.in_collision(states), [bool(pairs) for pairs in colliding])
    # everything is checked but neighbors and what is fixed together
    pairs = set(map(frozenset, cell.collision_pairs))
    for absent in (
        {"arm.base", "table"},
        {"arm.base", "arm.l0"},
        {"arm.l0", "arm.l1"},
        {"arm.hand", "arm.left_finger"},
        {"arm.l2", "arm.hand"},
        {"other.base", "table"},
    ):
        assert frozenset(absent) not in pairs
    for present in (
        {"arm.l0", "table"},
        {"arm.l2", "other.l1"},
        {"arm.left_finger", "arm.right_finger"},
        {"box", "table"},
        {"box", "arm.hand"},
    ):
        assert frozenset(present) in pairs


def test_a_gripped_object_moves_with_its_gripper(cell):
    state = cell.state()
    assert cell.collisions(state) == []  # the box touches the table
    index = {pair: k for k, pair in enumerate(cell.collision_pairs)}
    held = cell.set_pose(state, "box", lw.Pose((0.1, 0.0, 0.0)), reference="arm.hand")
    squeezed = cell.device("arm").set_q(held, [0.0, 0.0, 0.0, -0.03, 0.03])
    free = cell.set_pose(squeezed, "box", cell.world_H_frame("box", held))
    assert ("arm.left_finger", "box") in cell.collisions(free)
    gripped = cell.grip(free, "box", "arm.hand")
    assert cell.collisions(gripped) == []
    distances = cell.distances(gripped)
    unchecked = {p for p in index if np.isinf(distances[index[p]])}
    holders = ("arm.l2", "arm.hand", "arm.left_finger", "arm.right_finger")
    assert unchecked == {(name, "box") for name in holders}
    # it collides with what the robot moves it into, and states of a batch may differ
    down = cell.device("arm").set_q(gripped, [0.0, 0.0, 0.2, -0.03, 0.03])
    released = cell.release(down, "box")
    states = lw.State.stack([gripped, down, released])
    pairs = cell.collisions(states)
    assert pairs[0] == []
    assert ("table", "box") in pairs[1]
    assert {("table", "box"), ("arm.left_finger", "box")} <= set(pairs[2])
    folded = cell.device("arm").set_q(gripped, [-1.2, 0.0, 2.5, -0.03, 0.03])
    assert np.isfinite(cell.distances(folded)[index["arm.l1", "box"]])


def test_excluded_pairs(cell):
    states = random_states(cell, cell.state(), 6, seed=1)
    pair = next(pairs[0] for pairs in cell.collisions(states) if pairs)
    edited = cell.with_excluded_pairs([pair[::-1]])
    assert set(edited.collision_pairs) == set(cell.collision_pairs) - {pair}
    kept = [[p for p in pairs if p != pair] for pairs in cell.collisions(states)]
    assert edited.collisions(states) == kept
    assert pickle.loads(pickle.dumps(edited)) == edited != cell
    assert edited.with_frame("more").excluded_pairs == (pair[::-1],)
    assert edited.without_robot("other").excluded_pairs == tuple(
        p for p in edited.excluded_pairs if not any(name.startswith("other.") for name in p)
    )
    with pytest.raises(lw.ModelError, match="'bax' does not exist"):
        cell.with_excluded_pairs([("bax", "table")])


@pytest.mark.parametrize("name", ["arm", "left.arm"])
def test_links_that_always_overlap_are_not_checked(name):
    model = arm()
    big = [lw.Shape(lw.Sphere(0.9))]
    links = [(link.name, big if link.name in ("l0", "l2") else ()) for link in model.links]
    b = lw.ModelBuilder("big")
    for link, shapes in links:
        b.add_link(link, inertia=lw.solid_box(1.0, (0.1, 0.1, 0.1)), collisions=shapes)
    for joint in model.joints:
        ends = joint.name, joint.kind, joint.first, joint.second
        b.add_joint(*ends, axis=joint.axis, first_H_joint=joint.first_H_joint)
    cell = lw.WorkCell("cell").with_robot(name, b.build())
    ball = [lw.Shape(lw.Sphere(1.0))]
    cell = cell.with_frame("ball", movable=True, collisions=ball)
    assert set(cell.collision_pairs) == {(f"{name}.l0", "ball"), (f"{name}.l2", "ball")}
    assert cell.in_collision(cell.state())


def test_a_frame_with_the_prefix_of_a_robot_is_not_one_of_its_links():
    box = lw.Shape(lw.Box((1.0, 1.0, 1.0)))
    builder = lw.ModelBuilder("r")
    builder.add_link("a"), builder.add_link("b", collisions=[box])
    builder.add_joint("j", "revolute", "a", "b", lower=-1, upper=1)
    cell = lw.WorkCell("c").with_robot("r", builder.build(), parent_H_base=lw.Pose((0, 0, 0.1)))
    cell = cell.with_frame("table", collisions=[box]).with_frame("r.box", collisions=[box])

    assert ("r.b", "r.box") in cell.collisions(cell.state())


def test_links_of_a_closed_loop_that_a_joint_connects_are_not_checked():
    model = five_bar()
    b = lw.ModelBuilder("loop")
    for link in model.links:
        rod = lw.Shape(lw.Capsule(0.02, 0.2), lw.Pose((0.15, 0.0, 0.0), (0.0, np.pi / 2, 0.0)))
        shapes = [rod] if link.name != "ground" else []
        b.add_link(link.name, inertia=link.inertia, collisions=shapes)
    for joint in model.joints:
        mounts = {"first_H_joint": joint.first_H_joint, "joint_H_second": joint.joint_H_second}
        b.add_joint(joint.name, joint.kind, joint.first, joint.second, axis=joint.axis, **mounts)
    cell = lw.WorkCell("cell").with_robot("r", b.build())
    pairs = set(map(frozenset, cell.collision_pairs))
    assert frozenset(("r.left_forearm", "r.right_forearm")) not in pairs
    assert frozenset(("r.left_crank", "r.right_forearm")) in pairs


CELL = """<WorkCell name="c">
  <SerialDevice name="d">
    <Frame name="base"/>
    <Joint name="j" type="Revolute"><RPY>0 0 0</RPY><Pos>0 0 0</Pos></Joint>
    <Joint name="k" type="Revolute"><RPY>0 0 0</RPY><Pos>0.1 0 0</Pos></Joint>
    <Frame name="tool" refframe="k"/>
    <CollisionModel name="a" refframe="base"><Sphere radius="0.3"/></CollisionModel>
    <CollisionModel name="b" refframe="k"><Sphere radius="0.3"/></CollisionModel>
    {device}
  </SerialDevice>
  <Frame name="x" refframe="WORLD" type="Movable"><Pos>0.2 0 0</Pos>
    <CollisionModel name="c"><Sphere radius="0.3"/></CollisionModel></Frame>
  <Frame name="y" refframe="WORLD" type="Movable"><Pos>0.3 0 0</Pos>
    <CollisionModel name="d"><Sphere radius="0.3"/></CollisionModel></Frame>
  {cell}
</WorkCell>"""
EXCLUDE = """<CollisionSetup><Exclude><FramePair first="{}" second="{}"/></Exclude>
<Volatile></Volatile><ExcludeStaticPairs/></CollisionSetup>"""


def test_setups_of_robwork_are_read_and_written(tmp_path):
    (tmp_path / "device.xml").write_text(EXCLUDE.format("base", "k"))
    (tmp_path / "cell.xml").write_text(EXCLUDE.format("x", "d.k"))
    rules = """<ProximitySetup UseIncludeAll="true"><Exclude PatternA="{}" PatternB="{}"/>
    <Include PatternA="x" PatternB="d.bas?"/></ProximitySetup>"""
    setup = '<CollisionSetup file="{}"/>'.format
    scene = tmp_path / "scene.wc.xml"

    def pairs(device="", cell=""):
        scene.write_text(CELL.format(device=device, cell=cell))
        loaded = lw.load_workcell(scene)
        path = tmp_path / "again.wc.xml"
        lw.dump_workcell(loaded, path)
        assert lw.load_workcell(path).collision_pairs == loaded.collision_pairs
        return {frozenset(pair) for pair in loaded.collision_pairs}

    # base and k overlap in all random states
    everything = {frozenset(p) for p in (("d.base", "x"), ("d.base", "y"), ("d.k", "x"))}
    everything |= {frozenset(p) for p in (("d.k", "y"), ("x", "y"))}
    assert pairs() == pairs(setup("device.xml")) == everything
    assert pairs(cell=setup("cell.xml")) == everything - {frozenset(("x", "d.k"))}
    remaining = {frozenset(("x", "y")), frozenset(("x", "d.base"))}
    for patterns in (("d.*", "*"), ("*.*", "?*"), ("REGEXd[.].+", "REGEX.*")):
        (tmp_path / "rules.xml").write_text(rules.format(*patterns))
        assert pairs(cell='<ProximitySetup file="rules.xml"/>') == remaining
    for pattern in ("d..*", "d[.]*", "d.", ".*"):  # these are no regular expressions
        (tmp_path / "rules.xml").write_text(rules.format(pattern, "*"))
        assert pairs(cell='<ProximitySetup file="rules.xml"/>') == everything
    in_device = '<ProximitySetup><Exclude PatternA="REGEX(" PatternB="*"/></ProximitySetup>'
    with pytest.raises(lw.ParseError, match=r"'REGEX\(' and '\*': .*position 0"):
        pairs(device=in_device)
    (tmp_path / "cell.xml").write_text(EXCLUDE.format("x", "d.kk"))
    with pytest.warns(lw.LinkworkWarning, match="'d.kk'.*'d.k'"):
        pairs(cell=setup("cell.xml"))
    (tmp_path / "cell.xml").write_text(EXCLUDE.format("x", "d.k").replace("</Exc", "</exc"))
    with pytest.warns(lw.LinkworkWarning, match=r"cell\.xml:1: .*end tag"):
        assert frozenset(("x", "d.k")) not in pairs(cell=setup("cell.xml"))
    (tmp_path / "cell.xml").write_text("<Exclude/>")
    with pytest.raises(lw.ParseError, match="<CollisionSetup> as the root"):
        pairs(cell=setup("cell.xml"))
    with pytest.raises(lw.ParseError, match=r"<CollisionSetup>.*load the file that names it"):
        lw.load_workcell(tmp_path / "device.xml")


def test_robworks_collision_detector(cell):
    workcell = rw.WorkCell(cell)
    detector = rw.CollisionDetector(workcell)
    state = workcell.getDefaultState()
    assert detector.inCollision(state) is False
    box = workcell.findMovableFrame("box")
    box.setTransform(rw.Transform3D(rw.Vector3D(0.6, 0.3, 0.05)), state)
    result = rw.CollisionDetectorQueryResult()
    assert detector.inCollision(state, result) is True
    expected = [(workcell.findFrame("table"), box)]
    assert result.collidingFrames == expected
    data, pairs = rw.ProximityData(), rw.FramePairVector()
    named = rw.CollisionDetector.make(
        workcell, rw.ProximityStrategyFactory.makeCollisionStrategy("PQP")
    )
    assert named.inCollision(state, data)
    assert named.inCollision(state, pairs)
    assert data._collisionData.getFramePairVector() == pairs == expected
    assert rw.ProximityStrategyFactory.makeCollisionStrategy("unknown") is None
    with pytest.raises(lw.ArgumentError, match="WorkCell"):
        rw.CollisionDetector(cell)
    with pytest.raises(lw.ArgumentError, match=r"result: .*ProximityData"):
        detector.inCollision(state, 3)


def test_robworks_detector_takes_triangles_unless_hulls_are_requested(tmp_path):
    """Two walls as one mesh: the space between them is free, as in RobWork."""
    corners = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    faces = ["1 2 4", "1 4 3", "5 6 8", "5 8 7"]
    walls = tmp_path / "walls.obj"
    lines = [*(f"v {x} {y} {z}" for x, y, z in corners), *(f"f {face}" for face in faces)]
    walls.write_text("\n".join(lines))
    mesh = lw.Shape(lw.Mesh(walls.name, path=str(walls)))
    cell = lw.WorkCell("hall").with_frame("walls", collisions=[mesh])
    ball = [lw.Shape(lw.Sphere(0.5))]
    cell = cell.with_frame("ball", movable=True, collisions=ball)
    workcell = rw.WorkCell(cell)
    state, factory = workcell.getDefaultState(), rw.ProximityStrategyFactory
    expected = {"triangles": False, "PQP": False, "hull": True}
    for name, collides in expected.items():
        detector = rw.CollisionDetector(workcell, factory.makeCollisionStrategy(name))
        with expected_warning(collides):
            assert detector.inCollision(state) is collides
    assert set(factory.getCollisionStrategyIDs()) < set(expected)
    assert not rw.CollisionDetector(workcell).inCollision(state)
    workcell.findMovableFrame("ball").setTransform(rw.Transform3D(rw.Vector3D(0.7, 0, 0)), state)
    assert rw.CollisionDetector(workcell).inCollision(state)


def expected_warning(is_hull):
    """A hull that stands for another mesh is reported."""
    return pytest.warns(lw.LinkworkWarning, match="'walls'") if is_hull else nullcontext()


def test_robworks_proximity_data_asks_for_one_pair_or_all(cell):
    workcell = rw.WorkCell(cell)
    state, data = workcell.getDefaultState(), rw.ProximityData()
    pose = rw.Transform3D(rw.Vector3D(0.5, 0.6, 0.05))  # in the table and the base of an arm
    workcell.findMovableFrame("box").setTransform(pose, state)
    counts = []
    for query in (data.getCollisionQueryType(), rw.CollisionDetectorQueryType.AllContactsNoInfo):
        data.setCollisionQueryType(query)
        assert rw.CollisionDetector(workcell).inCollision(state, data)
        counts.append(len(data._collisionData.getFramePairVector()))
    assert counts[0] == 1 < counts[1]


def test_cell_without_shapes_has_no_collisions():
    device = (
        '<SerialDevice name="d"><Frame name="b"/><Joint name="J" type="Revolute"/></SerialDevice>'
    )
    cell = lw.load_workcell(f'<WorkCell name="c">{device}</WorkCell>')
    for batch in ((), (3,), (0,), (2, 3)):
        state = cell.state({"d": np.zeros((*batch, 1))})
        assert np.array_equal(cell.in_collision(state), np.zeros(batch, bool))
        assert cell.distances(state).shape == (*batch, 0)


def test_missing_meshes_are_reported():
    mesh = [lw.Shape(lw.Mesh("missing.stl"))]
    cell = lw.WorkCell("cell").with_frame("table", collisions=[TABLE])
    cell = cell.with_frame("part", movable=True, collisions=mesh)
    with pytest.raises(lw.MissingFileError, match=r"frame 'part'.*missing\.stl"):
        cell.collisions(cell.state())
