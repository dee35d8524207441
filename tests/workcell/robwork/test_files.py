"""The meaning of each element of RobWork's workcell files."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from linkwork.io.mesh_files import read_mesh
from linkwork.io.writing import degrees_text, radians_from_degrees
from linkwork.spatial import so3

JOINT = '<Frame name="B"/><Joint name="J" type="Revolute"/>'


def cell_of(inside: str, **options: object) -> lw.WorkCell:
    return lw.load_workcell(f'<WorkCell name="c">{inside}</WorkCell>', **options)


def device(inside: str, kind: str = "SerialDevice") -> lw.WorkCell:
    return cell_of(f'<{kind} name="d"><Frame name="B"/>{inside}</{kind}>')


def quietly(inside: str) -> lw.WorkCell:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cell_of(inside)


def pose(cell: lw.WorkCell, frame: str) -> np.ndarray:
    return cell.parent_H_frame(frame, cell.state())


def rot(x: float, y: float, z: float) -> np.ndarray:
    return so3.rot_z(z) @ so3.rot_y(y) @ so3.rot_x(x)


def test_rpy_is_in_degrees_and_its_first_angle_is_about_z():
    cell = cell_of('<Frame name="a"><RPY>30 20 10</RPY><Pos>1 2 3</Pos></Frame>')

    expected = rot(*np.radians([10, 20, 30]))
    np.testing.assert_allclose(pose(cell, "a")[:3, :3], expected, atol=1e-15)
    assert pose(cell, "a")[:3, 3].tolist() == [1, 2, 3]


def test_transform_is_three_rows_of_a_matrix():
    cell = cell_of(
        '<Frame name="a"><Transform>0 -1 0 0.1  1 0 0 0.2  0 0 1 0.3</Transform></Frame>'
    )

    np.testing.assert_allclose(pose(cell, "a")[:3, :3], rot(0, 0, math.pi / 2), atol=1e-16)
    assert pose(cell, "a")[:3, 3].tolist() == [0.1, 0.2, 0.3]


def test_inaccurate_transform_becomes_the_nearest_rotation_with_a_warning():
    text = '<Frame name="a"><Transform>.707 -.707 0 0 .707 .707 0 0 0 0 1 0</Transform></Frame>'
    with pytest.warns(lw.LinkworkWarning, match=r"rotation.*0\.0003"):
        cell = cell_of(text)

    np.testing.assert_allclose(pose(cell, "a")[:3, :3], rot(0, 0, math.pi / 4), atol=1e-12)


def test_reflection_is_replaced_by_the_rotation_with_the_same_first_axes():
    """RobWork's own scenes have such matrices; a reflection is not a pose."""
    rows = "0 1 0 .1  1 0 0 .2  0 0 1 .3"
    with pytest.warns(lw.LinkworkWarning, match=r"'a'.*reflection"):
        cell = lw.load_workcell(
            f'<WorkCell name="c"><Frame name="a" refframe="WORLD"><Transform>{rows}</Transform>'
            "</Frame></WorkCell>"
        )
    expected = [[0, 1, 0, 0.1], [1, 0, 0, 0.2], [0, 0, -1, 0.3], [0, 0, 0, 1]]
    np.testing.assert_allclose(cell.world_H_frame("a", cell.state()), expected, atol=1e-15)


def test_default_parent_of_frames_is_world():
    text = '<Frame name="a"/><Frame name="b"/><Frame name="c" refframe="a"/>'
    with pytest.warns(lw.LinkworkWarning, match=r"'refframe'.*WORLD.*'b'"):
        cell = cell_of(text)

    assert [frame.parent for frame in cell.frames[1:]] == ["WORLD", "WORLD", "a"]


def test_parents_may_come_later_in_the_file():
    frames = '<Frame name="a" refframe="b"/><Frame name="b" refframe="WORLD"/>'
    cell = cell_of(f'<Frame name="o"/>{frames}')

    assert cell.frame_names == ("WORLD", "o", "b", "a")


def test_first_frame_whose_parent_robwork_ignores_is_a_warning():
    """The file is read as written."""
    arm = f'<SerialDevice name="d">{JOINT}</SerialDevice>'
    with pytest.warns(lw.LinkworkWarning, match=r"'camera': .*'d\.J'.*RobWork"):
        cell = cell_of(f'{arm}<Frame name="camera" refframe="d.J"/>')

    assert cell.frame("camera").parent == "d.J"
    assert cell_of(f'<Frame name="t"/>{arm}<Frame name="camera" refframe="d.J"/>').frame("camera")


def test_dh_joint_without_a_type_uses_craig_with_a_warning():
    """RobWork uses the type of the last joint that has one."""
    angle = degrees_text(0.7)
    dh = f'<DHJoint name="{{}}" alpha="90" a="0.2" d="0.3" offset="{angle}"{{}}/>'
    typed = dh.format("J1", ' type="schilling"')
    with pytest.warns(lw.LinkworkWarning, match=r"'craig'.*RobWork.*'schilling'.*'J2', 'J3'"):
        cell = device(typed + dh.format("J2", "") + dh.format("J3", ""))

    np.testing.assert_allclose(pose(cell, "d.J2"), craig(np.pi / 2, 0.2, 0.3, 0.7), atol=1e-15)
    device(dh.format("J1", ' type="craig"') + dh.format("J2", ""))  # the same in both


def test_empty_position_or_rotation_is_zero():
    with pytest.warns(lw.LinkworkWarning, match=r"(?s)<Pos>.*empty.*<RPY>.*empty"):
        cell = cell_of('<Frame name="a"><RPY /><Pos> </Pos></Frame>')

    np.testing.assert_array_equal(pose(cell, "a"), np.eye(4))


def test_two_hyphens_in_a_comment_are_ignored():
    comment = '<!-- off -- for now\n<Frame name="b"/> --->'
    text = f'<Frame name="a"/>{comment}\n<Frame name="c" refframe="x"/>'
    with pytest.raises(lw.ParseError) as caught:
        cell_of(text)
    lines = {finding.location.line: finding.text for finding in caught.value.findings}
    assert "comment" in lines[1]
    assert "'x'" in lines[3]
    with pytest.warns(lw.LinkworkWarning, match="comment"):
        assert cell_of(text.replace(' refframe="x"', ' refframe="a"')).frame_names[1:] == ("a", "c")


def test_end_tag_with_another_name_ends_its_element():
    """RobWork does not compare the names; the numbers of start and end tags must agree."""
    text = '<Frame name="a"\n><!-- <b> --><Pos>0 0 1</pos ></Fram><Frame name="c" refframe="a"/>'
    with pytest.warns(lw.LinkworkWarning, match=r":2: .*end tag") as caught:
        cell = cell_of(text)

    assert len(caught) == 1
    assert cell.frame("c").parent == "a"
    np.testing.assert_array_equal(pose(cell, "a")[:3, 3], [0, 0, 1])
    for wrong in (
        text.replace("</Fram>", ""),
        text + "</Frame>",
        text.replace("</Fram>", "</Fram"),
    ):
        with pytest.raises(lw.ParseError, match="not well-formed"):
            cell_of(wrong)


@pytest.mark.parametrize("kind", ["SerialDevice", "TreeDevice"])
def test_base_of_a_device_that_starts_with_a_joint_is_its_parent(kind):
    inside = f'<{kind} name="d"><Joint name="J" type="Prismatic"/><Frame name="E"/></{kind}>'
    with pytest.warns(lw.LinkworkWarning, match=r"'d\.J'.*base.*'t'"):
        cell = cell_of(f'<Frame name="t"/>{inside}')

    device = cell.device("d")
    assert (device.base, device.end, device.joint_names) == ("t", "d.E", ("d.J",))
    assert device.base_H_end(cell.state({"d": [0.5]}))[2, 3] == 0.5
    assert lw.load_workcell(lw.dump_workcell(cell)) == cell


def test_error_for_a_part_of_a_dynamic_workcell_has_a_hint():
    with pytest.raises(lw.ParseError, match="dynamic workcell"):
        lw.load_workcell('<IncludeData><RigidBody frame="box"/></IncludeData>')
    with pytest.raises(lw.ParseError, match="part of a workcell"):
        lw.load_workcell("<ProximitySetup/>")


def test_parent_of_a_device_is_the_last_frame_before_it():
    cell = cell_of(f'<Frame name="t"/><SerialDevice name="d">{JOINT}</SerialDevice>')

    assert [(f.name, f.parent) for f in cell.frames[2:]] == [("d.B", "t"), ("d.J", "d.B")]
    assert cell.devices == (lw.SerialDevice("d", "d.B", "d.J"),)


def test_file_may_contain_only_a_device():
    cell = lw.load_workcell(f'<SerialDevice name="d">{JOINT}</SerialDevice>')

    assert (cell.name, cell.frame("d.B").parent) == ("d", "WORLD")


def test_parent_in_a_serial_device_is_the_frame_before():
    with pytest.warns(lw.LinkworkWarning, match=r"refframe 'B' is ignored.*SerialDevice"):
        cell = device('<Frame name="x"/><Frame name="y" refframe="B"/>')

    assert cell.frame("d.y").parent == "d.x"


def test_tree_device_has_its_end_effectors_as_ends():
    inside = """<Joint name="j1" type="Revolute"/><Frame name="e1" type="EndEffector"/>
    <Joint name="j2" type="Prismatic" refframe="B"/><Frame name="e2" type="EndEffector"/>"""
    cell = device(inside, "TreeDevice")

    assert cell.devices == (lw.TreeDevice("d", "d.B", ("d.e1", "d.e2")),)
    assert cell.frame("d.j2").parent == "d.B"
    assert cell.device("d").joint_names == ("d.j1", "d.j2")


def test_chains_prefix_names_and_can_refer_to_frames_of_the_device():
    inside = """<SerialChain name="c"><Joint name="j" type="Revolute"/></SerialChain>
    <SerialChain name="k"><Joint name="j" type="Revolute" refframe="B"/></SerialChain>"""
    cell = device(inside, "TreeDevice")

    assert cell.frame("d.k.j").parent == "d.B"


def test_parallel_device_is_read_as_a_tree_with_open_loops():
    inside = """<SerialChain name="l"><Joint name="a" type="Revolute"/>
    <Joint name="b" type="Revolute" state="Passive"/></SerialChain><Frame name="tool"/>
    <SerialChain name="r"><Joint name="c" type="Prismatic" refframe="B"/></SerialChain>
    <Junction><Chains>l</Chains><Chains>r</Chains></Junction>"""
    with pytest.warns(lw.LinkworkWarning, match="'d': the loops of a <ParallelDevice>"):
        cell = device(inside, "ParallelDevice")

    assert cell.devices == (lw.TreeDevice("d", "d.B", ("d.tool", "d.r.c")),)
    assert cell.device("d").joint_names == ("d.l.a", "d.r.c")


@pytest.mark.parametrize(
    ("attributes", "closed_form"),
    [
        ('d="0.3" offset="40"', lambda q: craig(0.5, 0.2, 0.3, np.radians(40) + q)),
        ('theta="25" offset="0.3"', lambda q: craig(0.5, 0.2, 0.3 + q, np.radians(25))),
        ('d="0.3" offset="40" type="craig"', lambda q: craig(0.5, 0.2, 0.3, np.radians(40) + q)),
        ('d="0.3" offset="40" type="schilling"', lambda q: dh(0.5, 0.2, 0.3, 40) @ turn(q)),
        ('theta="40" offset="0.3" type="schilling"', lambda q: dh(0.5, 0.2, 0.3, 40) @ lift(q)),
        ('d="0.3" offset="40" type="HGP"', lambda q: dh(0.5, 0.2, 0.3, 40) @ turn(q)),
        ('b="0.3" offset="40" type="HGP"', lambda q: hgp(0.5, 0.2, 40, 0.3) @ turn(q)),
        ('beta="40" offset="0.3" type="HGP"', lambda q: hgp(0.5, 0.2, 40, 0.3) @ lift(q)),
    ],
)
def test_denavit_hartenberg_joints_agree_with_closed_forms(attributes, closed_form):
    alpha = degrees_text(0.5)
    cell = device(f'<DHJoint name="J" alpha="{alpha}" a="0.2" {attributes}/>')

    for q in (0.0, 0.7, -1.2):
        H = pose_at(cell, q)
        np.testing.assert_allclose(H, closed_form(q), atol=1e-15)


def pose_at(cell: lw.WorkCell, q: float) -> np.ndarray:
    return cell.device("d").base_H_end(cell.state({"d": [q]}))


def craig(alpha: float, a: float, d: float, theta: float) -> np.ndarray:
    """As printed in Craig's book, chapter 3."""
    c, s, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
    rows = [[c, -s, 0, a], [s * ca, c * ca, -sa, -sa * d], [s * sa, c * sa, ca, ca * d]]
    return np.vstack([rows, [0, 0, 0, 1]])


def dh(alpha: float, a: float, d: float, degrees: float) -> np.ndarray:
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    ca, sa = np.cos(alpha), np.sin(alpha)
    rows = [[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0, sa, ca, d]]
    return np.vstack([rows, [0, 0, 0, 1]])


def hgp(alpha: float, a: float, degrees: float, b: float) -> np.ndarray:
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    ca, sa = np.cos(alpha), np.sin(alpha)
    rows = [[c, sa * s, ca * s, a * c], [0, ca, -sa, b], [-s, sa * c, ca * c, -a * s]]
    return np.vstack([rows, [0, 0, 0, 1]])


def turn(q: float) -> np.ndarray:
    H = np.eye(4)
    H[:3, :3] = so3.rot_z(q)
    return H


def lift(q: float) -> np.ndarray:
    H = np.eye(4)
    H[2, 3] = q
    return H


@pytest.mark.parametrize(
    ("kind", "q", "expected"),
    [
        ("Universal", (0.3, 0.4), so3.rot_x(0.3) @ so3.rot_y(0.4)),
        ("Spherical", (0.3, 0.4, 0.5), so3.rot_x(0.3) @ so3.rot_y(0.4) @ so3.rot_z(0.5)),
        ("PrismaticUniversal", (0.3, 0.4, 0.1), so3.rot_x(0.3) @ so3.rot_y(0.4)),
        (
            "PrismaticSpherical",
            (0.3, 0.4, 0.5, 0.1),
            so3.rot_x(0.3) @ so3.rot_y(0.4) @ so3.rot_z(0.5),
        ),
    ],
)
def test_joints_with_several_coordinates_rotate_about_x_y_and_z(kind, q, expected):
    cell = device(f'<Joint name="J" type="{kind}"><Pos>1 0 0</Pos></Joint>')

    H = cell.frame_H_frame("d.B", "d.J", cell.state({"d": q}))

    np.testing.assert_allclose(H[:3, :3], expected, atol=1e-15)
    along = expected[:, 2] * (q[-1] if kind.startswith("Prismatic") else 0)
    np.testing.assert_allclose(H[:3, 3], np.array([1, 0, 0]) + along, atol=1e-15)


def test_limits_are_in_degrees_and_meters():
    inside = """<Joint name="r" type="Revolute"><PosLimit min="-90" max="180"/></Joint>
    <Joint name="p" type="Prismatic"><PosLimit min="-.1" max="2"/><VelLimit max="3"/></Joint>
    <VelLimit refjoint="r" max="90"/>
    <AccLimit refjoint="r" max="360"/><AccLimit refjoint="p" max="4"/>"""
    arm = device(inside).device("d")

    assert arm.lower.tolist() == [-math.pi / 2, -0.1]
    assert arm.upper.tolist() == [math.pi, 2]
    assert arm.velocity_limits.tolist() == [math.pi / 2, 3]
    assert arm.acceleration_limits.tolist() == [2 * math.pi, 4]


def test_home_is_in_radians_and_is_the_default_state():
    cell = device(
        '<Joint name="a" type="Revolute"/><Joint name="b" type="Revolute"/>'
        '<Q name="Home">1.5 -0.25</Q>'
    )

    assert cell.device("d").get_q(cell.state()).tolist() == [1.5, -0.25]


def test_dependent_and_passive_joints_are_not_in_q():
    inside = """<Joint name="a" type="Revolute"/>
    <Joint name="b" type="Revolute"><Depend on="a" gain="2" offset="0.1"/></Joint>
    <Joint name="c" type="Revolute" state="Passive"/>"""
    cell = device(inside)
    state = cell.state({"d": [0.3]})

    assert cell.device("d").joint_names == ("d.a",)
    H = cell.parent_H_frame("d.b", state)[:3, :3]
    np.testing.assert_allclose(H, so3.rot_z(2 * 0.3 + 0.1), atol=1e-15)


def test_movable_frames_start_at_their_pose_and_daf_makes_them_attachable():
    text = '<Frame name="m" type="Movable" daf="true"><Pos>1 2 3</Pos></Frame>'
    cell = cell_of(text + '<Frame name="f" refframe="m" daf="true"/>')
    frame = cell.frame("m")

    assert (frame.movable, frame.attachable) == (True, True)
    assert (cell.frame("f").movable, cell.frame("f").attachable) == (False, True)
    np.testing.assert_array_equal(cell.world_H_frame("m", cell.state())[:3, 3], [1, 2, 3])


def test_mobile_device_is_a_movable_frame_with_two_wheels():
    text = """<MobileDevice name="m" basename="Base"><AxelWidth>0.4</AxelWidth><LeftWheel name="L"/>
    <RightWheel name="R"/><Frame name="Top" refframe="Base"/></MobileDevice>"""
    cell = cell_of(text)
    spec = cell.devices[0]

    assert spec == lw.MobileDevice("m", "m.Base", "m.Top", "m.L", "m.R", 1.0, 0.4)
    assert cell.frame("m.Base").movable
    np.testing.assert_allclose(pose(cell, "m.L")[:3, 3], [0, 0.2, 0])
    np.testing.assert_allclose(pose(cell, "m.R")[:3, :3], so3.rot_x(math.pi / 2), atol=1e-16)


def test_drawables_are_also_collisions_unless_disabled():
    text = """<Frame name="a"><Drawable name="b"><RPY>90 0 0</RPY><Pos>0 0 1</Pos><RGB>1 0 0</RGB>
    <Box x="1" y="2" z="3"/><Sphere radius="0.1" level="9"/></Drawable>
    <Drawable name="c" colmodel="Disabled"><Cylinder radius="0.1" z="2"/></Drawable>
    <CollisionModel name="e"><Polytope file="mesh/e"/></CollisionModel></Frame>
    <Drawable name="floor" refframe="WORLD"><Box x="9" y="9" z="1"/></Drawable>"""
    frame, cell = cell_of(text).frame("a"), cell_of(text)

    red = lw.Material(rgba=(1, 0, 0, 1))
    there = lw.Pose((0, 0, 1), (0, 0, math.pi / 2))
    assert frame.visuals == (
        lw.Shape(lw.Box((1, 2, 3)), there, "b", red),
        lw.Shape(lw.Sphere(0.1), there, "b", red),
        lw.Shape(lw.Cylinder(0.1, 2), name="c"),
    )
    assert [type(shape.geometry).__name__ for shape in frame.collisions] == [
        "Box",
        "Sphere",
        "Mesh",
    ]
    assert frame.collisions[-1].geometry == lw.Mesh("mesh/e")
    assert cell.frame("WORLD").visuals[0].name == "floor"


def test_ignored_elements_are_one_warning_per_kind():
    text = """<CollisionSetup file="a"/><CollisionSetup file="b"/><Calibration file="c"/>
    <Frame name="a"><Drawable name="x"><Plane/><Plane/></Drawable></Frame>
    <Property name="p">1</Property><ProximitySetup file="d"/>"""
    with pytest.warns(lw.LinkworkWarning) as caught:
        cell_of(text)

    lines = str(caught[0].message).splitlines()
    facts = [
        "5 warnings",
        "<text>:1: .*<CollisionSetup>.*2 times",
        "<text>:1: .*<Calibration>",
        "<text>:2: .*<Plane>.*2 times",
        "<text>:3: .*<Property>",
        "<text>:3: .*<ProximitySetup>",
    ]
    assert all(re.search(*pair) for pair in zip(facts, lines, strict=True))


def test_frame_named_world_is_the_root():
    cell = cell_of('<Frame name="WORLD" refframe="WORLD"><Property name="p">1</Property></Frame>')

    assert cell.frame_names == ("WORLD",)
    assert cell.frame("WORLD").properties == (("p", "1"),)


def test_properties_of_frames_are_read():
    cell = cell_of('<Frame name="a"><Property name="Camera"> 50 640 480 </Property></Frame>')

    assert cell.frame("a").properties == (("Camera", "50 640 480"),)


def test_definitions_are_copied_where_they_are_used():
    text = """<Define id="shape"><Drawable name="s"><Sphere radius="1"/></Drawable></Define>
    <Define id="two"><Use id="shape"/><Use id="shape"/></Define>
    <Frame name="a"><Use id="two"/></Frame><Frame name="b" refframe="a"><Use id="shape"/></Frame>"""
    cell = cell_of(text)

    assert [len(cell.frame(name).visuals) for name in "ab"] == [2, 1]


def test_includes_are_relative_to_the_including_file(tmp_path: Path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "links.xml").write_text(
        '<?xml version="1.0"?>\n<Frame name="B"/>\n<Joint name="J" type="Revolute">'
        '<Drawable name="m"><Polytope file="geo/part"/></Drawable></Joint>'
    )
    (tmp_path / "sub" / "arm.xml").write_text(
        '<SerialDevice name="d"><Include file="links.xml"/></SerialDevice>'
    )
    main = tmp_path / "main.wc.xml"
    main.write_text('<WorkCell name="c"><Include file="sub/arm.xml"/></WorkCell>')
    (tmp_path / "sub" / "geo").mkdir()
    (tmp_path / "sub" / "geo" / "part.stl").touch()

    cell = lw.load_workcell(main)

    assert cell.frame_names == ("WORLD", "d.B", "d.J")
    mesh = cell.frame("d.J").visuals[0].geometry
    assert isinstance(mesh, lw.Mesh)
    assert mesh.filename == "sub/geo/part"
    assert mesh.path == str(tmp_path / "sub" / "geo" / "part.stl")
    location = cell.frame("d.J").location
    assert location is not None
    assert location.short == "links.xml:3"


def test_meshes_are_in_the_folders_that_included_files_may_be_in(tmp_path: Path):
    shape = """<Frame name="{0}" refframe="WORLD">
    <Drawable name="{0}"><Polytope file="../{0}"/></Drawable></Frame>"""
    folder = tmp_path / "cells"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "b.xml").write_text(shape.format("b"))
    text = f'<WorkCell name="c">{shape.format("a")}<Include file="sub/b.xml"/></WorkCell>'
    (folder / "main.xml").write_text(text)
    files = [tmp_path / "a.stl", folder / "b.stl"]
    for file in files:
        file.touch()
    link = tmp_path / "link"
    link.symlink_to(folder)

    def meshes(path: Path, **options: list[Path]) -> list[lw.Mesh]:
        cell = lw.load_workcell(path / "main.xml", **options)
        shapes = [cell.frame(name).visuals[0].geometry for name in "ab"]
        return [shape for shape in shapes if isinstance(shape, lw.Mesh)]

    outside, inside = meshes(folder)
    assert (outside.path, inside.path) == (None, str(files[1]))
    assert re.search("outside of the allowed folders.*package_dirs", read_mesh(outside)[1])
    for path in (folder, link):
        for options in ({"include_dirs": [tmp_path]}, {"package_dirs": [tmp_path]}):
            found = [Path(mesh.path or "").resolve() for mesh in meshes(path, **options)]
            assert found == files


def test_robot_of_a_file_is_added_with_its_inertias(tmp_path: Path):
    (tmp_path / "arm.urdf").write_text(lw.dump_urdf(lw.robots.load("arm")))
    main = tmp_path / "c.xml"
    main.write_text(
        '<WorkCell name="c"><Frame name="t"/><Robot name="r" refframe="t" file="arm.urdf">'
        "<Pos>1 2 3</Pos></Robot></WorkCell>"
    )

    cell = lw.load_workcell(main)

    assert cell == lw.WorkCell("c").with_frame("t").with_robot(
        "r", lw.robots.load("arm"), parent="t", parent_H_base=lw.Pose((1, 2, 3))
    )


def test_angles_in_degrees_are_read_back_exactly(rng):
    angles = np.concatenate([rng.uniform(-7, 7, 500), 10.0 ** rng.uniform(-300, 5, 200)])
    for angle in [*angles.tolist(), 0.0, 5e-324, math.pi, -math.pi / 2]:
        assert radians_from_degrees(degrees_text(angle)) == angle
    assert degrees_text(math.pi / 2) == "90"


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_bundled_cell_is_loaded_by_name():
    assert lw.load_workcell("two_arms").name == "two_arms"
    with pytest.raises(lw.MissingFileError, match="'two_arms'"):
        lw.load_workcell("two_arm")


def test_refframe_of_a_shape_inside_a_frame_is_ignored():
    text = '<Frame name="a"><Drawable name="s" refframe="b"><Sphere radius="1"/></Drawable></Frame>'
    with pytest.warns(lw.LinkworkWarning, match=r"refframe 'b' is ignored.*<Drawable>.*'a'"):
        cell = cell_of(text)

    assert len(cell.frame("a").visuals) == 1


def test_refjoint_of_a_limit_inside_a_joint_is_ignored():
    joint = '<Joint name="{}" type="Prismatic"><PosLimit refjoint="{}" min="-2" max="2"/></Joint>'
    with pytest.warns(
        lw.LinkworkWarning, match=r"refjoint 'J' is ignored.*<PosLimit>.*'K'"
    ) as all_:
        cell = device(joint.format("J", "J") + joint.format("K", "J"))

    assert len(all_) == 1
    np.testing.assert_array_equal(cell.device("d").upper, [2, 2])


def test_shape_of_an_unknown_frame_of_a_device_is_a_warning():
    text = '<Drawable name="s" refframe="base"><Sphere radius="1"/></Drawable>'
    with pytest.warns(lw.LinkworkWarning, match=r"'base'.*\bB\b"):
        cell = device(text)

    assert not any(frame.visuals for frame in cell.frames)
