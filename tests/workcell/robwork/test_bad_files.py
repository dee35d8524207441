"""Workcell files that are refused: each with its message, its file and its line."""

from __future__ import annotations

from pathlib import Path

import pytest

import linkwork as lw
from linkwork.workcell.robwork import include as workcell_include

JOINT = '<Frame name="B"/><Joint name="J" type="Revolute"'


def message(text: str | bytes | Path, **options: object) -> str:
    with pytest.raises(lw.LinkworkError) as caught:
        lw.load_workcell(text, **options)  # type: ignore[arg-type]
    return str(caught.value)


def cell(inside: str) -> str:
    return f'<WorkCell name="c">\n{inside}</WorkCell>'


def arm(inside: str) -> str:
    return cell(f'<SerialDevice name="d"><Frame name="B"/>{inside}</SerialDevice>')


def box(inside: str) -> str:
    return cell(f'<Frame name="a">{inside}</Frame>')


NOT_CELLS = {
    "": "<text>:1: empty document",
    "hello\n": "<text>:1: not well-formed XML (column 1): the text starts with",
    '<WorkCell name="c">': "<text>:1: not well-formed XML",
    '<robot name="r"/>': "<text>:1: expected <WorkCell> at the top, found <robot>; this is URDF",
    "<Workcell/>": "expected <WorkCell> at the top, found <Workcell>; did you mean 'WorkCell'?",
    '<!DOCTYPE w [<!ENTITY a "b">]><WorkCell name="&a;"/>': "a DOCTYPE that declares entities",
    '<WorkCell name="c" xmlns="urn:x"/>': "found <WorkCell> in the namespace 'urn:x'",
}


@pytest.mark.parametrize("text", NOT_CELLS)
def test_what_is_no_cell_is_refused(text):
    assert NOT_CELLS[text] in message(text)


FRAMES = {
    '<Frame refframe="WORLD"/>': "<text>:2: <Frame> has no 'name'",
    '<Frame name=" "/>': "<text>:2: frame ' ': <Frame> has an empty 'name'",
    '<Frame name="WORLD"><Pos>0 0 1</Pos></Frame>': "it is fixed, and has no pose",
    '<Frame name="a"/><Frame name="WORLD" refframe="a"/>': "and sits on no other frame",
    '<Frame name="a"/>\n<Frame name="a" refframe="a"/>': (
        "<text>:3: frame 'a': the name 'a' is taken by the frame of <text>:2"
    ),
    '<Frame name="tray"/><Frame name="b" refframe="tary"/>': (
        "frame 'b': no frame named 'tary'; did you mean 'tray'?"
    ),
    '<Frame name="a" refframe="b"/><Frame name="b" refframe="a"/>': (
        "frame 'a': frames that sit on each other: a -> b -> a"
    ),
    '<Frame name="a" refframe="a"/>': "frames that sit on each other: a -> a",
    '<Frame name="a" type="Moveable"/>': "Frame type: unknown word 'Moveable'; did you mean",
    '<Frame name="a" daf="yes"/>': "Frame daf: unknown word 'yes'; known: false, true",
    '<Drawable name="x"><Box x="1" y="1" z="1"/></Drawable>': "<Drawable> has no 'refframe'",
    '<Drawable name="x" refframe="q"/>': "no frame named 'q'",
    '<PosLimit refjoint="j" min="0" max="1"/>': "<PosLimit> stands outside of a device",
}


@pytest.mark.parametrize("text", FRAMES)
def test_frames_that_make_no_tree_are_refused(text):
    assert FRAMES[text] in message(cell(text))


INSIDE = {
    "<Pos>1 2</Pos>": "<text>:2: frame 'a': Pos: expected 3 numbers, got 2 in '1 2'",
    "<Pos>1 2 nan</Pos>": "Pos: 'nan' is not finite",
    "<Pos>1 2 1e99</Pos>": "Pos: '1e99' is too large",
    "<Pos>1,5 0 0</Pos>": "Pos: '1,5' is not a decimal number",
    "<Pos>0x1 0 0</Pos>": "Pos: '0x1' is not a decimal number",
    "<Pos>1_0 0 0</Pos>": "Pos: '1_0' is not a decimal number",
    "<Pos>${x} 0 0</Pos>": "Pos=",
    "<RPY>0 0 1e300</RPY>": "RPY: '1e300' is too large",
    "<RPY>0 0</RPY>": "RPY: expected 3 numbers, got 2",
    "<Pos>0 0 0</Pos><Pos>1 1 1</Pos>": "<Frame> has 2 <Pos>, on lines 2, 2; expected one",
    "<Transform>1 0 0</Transform>": "Transform: expected 12 numbers, got 3",
    "<Transform>1 0 0 0 0 1 0 0 0 0 2 0</Transform>": "the first three columns are no rotation",
    "<Transform>1 0 0 0 0 1 0 0 0 0 -1 0</Transform>": "the first three columns are no rotation",
    "<Pos>0 0 0</Pos><Transform>1 0 0 0 0 1 0 0 0 0 1 0</Transform>": "one of the two is wanted",
    '<Drawable name="x"><Box x="1" y="1"/></Drawable>': "<Box> has no 'z'",
    '<Drawable name="x"><Sphere radius="-1"/></Drawable>': "Sphere radius: -1 is negative",
    '<Drawable name="x" colmodel="On"/>': "Drawable colmodel: unknown word 'On'",
    '<Drawable name="x"><RGB>1 0</RGB></Drawable>': "RGB: expected 3 numbers, got 2",
    '<Property name="linkwork.lonk">1</Property>': "unknown property 'linkwork.lonk'; did you mean",
    '<Property name="linkwork.home">1</Property>': "linkwork.home: expected 0 numbers, got 1",
    '<Property name="linkwork.link"><link><inertial/></link></Property>': "has no <mass>",
}


@pytest.mark.parametrize("text", INSIDE)
def test_numbers_and_shapes_that_are_wrong_are_refused(text):
    assert INSIDE[text] in message(box(text))


DEVICES = {
    '<Joint name="J"/>': "joint 'J': <Joint> has no 'type'",
    '<Joint name="J" type="Hinge"/>': "joint 'J': unknown type 'Hinge' of a joint; known: ",
    '<Joint name="J" type="Revolut"/>': "did you mean 'Revolute'?",
    '<Joint name="J" type="Revolute" state="Off"/>': "Joint state: unknown word 'Off'",
    '<Joint name="J" type="Revolute"><PosLimit min="9" max="1"/></Joint>': "min 9 is above max 1",
    '<Joint name="J" type="Revolute"><PosLimit min="9"/></Joint>': "<PosLimit> has no 'max'",
    '<Joint name="J" type="Revolute"><VelLimit max="-1"/></Joint>': "VelLimit: max -1 is negative",
    '<Joint name="J" type="Revolute"><VelLimit max="1"/><VelLimit max="1"/></Joint>': (
        "<Joint> has 2 <VelLimit>; one for each coordinate is wanted"
    ),
    '<Joint name="J" type="Revolute"><Depend on="K" gain="1" offset="0"/></Joint>': (
        "joint 'J': no joint named 'K'"
    ),
    '<Joint name="J" type="Revolute"><Depend on="B" gain="1" offset="0"/></Joint>': (
        "joint 'J': no joint named 'B'"
    ),
    '<Joint name="J" type="Revolute"><Depend on="J" gain="1" offset="0"/></Joint>': (
        "joints that depend on each other: d.J"
    ),
    '<Joint name="J" type="Universal"><Depend on="J" gain="1" offset="0"/></Joint>': (
        "a Universal joint cannot depend on another"
    ),
    '<Joint name="J" type="linkwork"/>': "a <Joint> of type 'linkwork' wants a property",
    '<DHJoint name="J" alpha="0" a="0" offset="0"/>': "<DHJoint> has none of 'd', 'theta', 'b'",
    '<DHJoint name="J" alpha="0" a="0" d="0" theta="0" offset="0"/>': "has 'd' and 'theta' of",
    '<DHJoint name="J" alpha="0" a="0" b="0" offset="0"/>': "'b' is for the convention 'HGP'",
    '<DHJoint name="J" alpha="0" a="0" d="0" offset="0" type="dh"/>': "DHJoint type: unknown word",
    '<DHJoint name="J" alpha="x" a="0" d="0" offset="0"/>': "DHJoint alpha: 'x' is not a decimal",
    '<PosLimit refjoint="X" min="0" max="1"/>': "no joint named 'X'",
    '<PosLimit refjoint="B" min="0" max="1"/>': "'B' is no joint",
    '<PosLimit min="0" max="1"/>': "<PosLimit> has no 'refjoint', and no joint is around it",
    '<Q name="Home">1 2</Q>': "device 'd': Q 'Home': expected 0 numbers, got 2",
    '<Q name="Home">1</Q><Q name="Home">1</Q>': "has several <Q> named 'Home'",
}


@pytest.mark.parametrize("text", DEVICES)
def test_joints_and_limits_that_are_wrong_are_refused(text):
    assert DEVICES[text] in message(arm(text))


WHOLE_DEVICES = {
    '<SerialDevice name="d"/>': "device 'd': <SerialDevice> has no frames",
    f'<SerialDevice name="d">{JOINT}/></SerialDevice>' * 2: "the name 'd.B' is taken",
    '<ParallelDevice name="d"/>': "a ParallelDevice closes loops between its chains",
    '<MobileDevice name="d"/>': "<MobileDevice> has no 'basename'",
    '<MobileDevice name="d" basename="b"><AxelWidth>0</AxelWidth><LeftWheel name="l"/>'
    '<RightWheel name="r"/></MobileDevice>': "AxelWidth: expected more than 0, got 0",
    '<Device name="d" kind="serial" base="WORLD"/>': "<Device> has no <End>",
    '<Device name="d" kind="serial" base="x"><End name="WORLD"/></Device>': "no frame named 'x'",
    '<Robot name="r"/>': "<Robot> wants a 'file', or a <robot> inside, and not both",
    '<Robot name="r"><robot name="x"/></Robot>': "the robot has no links",
    '<Robot name="r"><robot name="x"><link name="l"/></robot></Robot>'
    '<Drawable name="d" refframe="r.l"/>': "frame 'r.l' belongs to a <Robot>; put this into",
    '<Joint name="j" type="linkwork"><Property name="linkwork.motion">'
    '<motion kind="revolute" acceleration="-1"/></Property></Joint>': (
        "<text>:2: joint 'j': acceleration: expected 0 or more, got -1"
    ),
    '<Robot name="r" base="q"><robot name="x"><link name="l"/></robot></Robot>': (
        "base: no frame named 'q'"
    ),
}


@pytest.mark.parametrize("text", WHOLE_DEVICES)
def test_devices_that_are_wrong_are_refused(text):
    assert WHOLE_DEVICES[text] in message(cell(text))


def test_all_errors_are_told_at_once_with_their_lines():
    text = """<WorkCell name="c">
    <Frame name="a" refframe="nowhere">
      <Pos>1 2</Pos>
    </Frame>
    <SerialDevice name="d"><Frame name="B"/>
      <Joint name="J" type="Bend"/></SerialDevice>
    </WorkCell>"""

    known = "Prismatic, PrismaticSpherical, PrismaticUniversal, Revolute, Spherical, Universal"
    assert message(text).splitlines()[:3] == [
        "2 errors",
        "  <text>:3: frame 'a': Pos: expected 3 numbers, got 2 in '1 2'",
        f"  <text>:6: joint 'J': unknown type 'Bend' of a joint; known: {known}",
    ]


def test_what_is_doubtful_is_refused_if_strict():
    text = cell('<CollisionSetup file="x"/>')

    assert "<CollisionSetup> (which frames" in message(text, strict=True)


INCLUDED = {
    "missing.xml": "cannot include 'missing.xml': no file",
    "../outside.xml": "lies outside of the folders that files may be read from",
    "/etc/passwd": "'/etc/passwd' lies outside of the folders",
    "main.xml": "include cycle: main.xml -> main.xml",
    "bad.xml": "bad.xml:2: not well-formed XML",
    "bomb.xml": "bomb.xml:1: not well-formed XML",
    "a\tb.xml": "cannot include 'a\\tb.xml': no file",
    "": "<Include> has an empty 'file'",
}


@pytest.mark.parametrize("name", INCLUDED)
def test_files_that_may_not_be_included_are_refused(name, tmp_path: Path):
    folder = tmp_path / "cells"
    folder.mkdir()
    (tmp_path / "outside.xml").write_text('<Frame name="x"/>')
    (folder / "bad.xml").write_text('<Frame name="x">\n</Fram>')
    (folder / "bomb.xml").write_text('<!DOCTYPE x [<!ENTITY a "b">]><Frame name="&a;"/>')
    main = folder / "main.xml"
    main.write_text(
        f'<WorkCell name="c"><Include file="{name.replace(chr(9), "&#9;")}"/></WorkCell>'
    )

    assert INCLUDED[name] in message(main)


def test_folders_that_the_caller_allows_may_be_included_from(tmp_path: Path):
    (tmp_path / "cells").mkdir()
    (tmp_path / "outside.xml").write_text('<Frame name="x"/>')
    main = tmp_path / "cells" / "main.xml"
    main.write_text('<WorkCell name="c"><Include file="../outside.xml"/></WorkCell>')

    assert lw.load_workcell(main, include_dirs=tmp_path).frame_names == ("WORLD", "x")


XACRO = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
LINK = "<link name=\"${xacro.load_yaml('FILE')['key']}\"/>"
BODY = '<worldbody><body name="b"><geom size="1" mass="1"/></body></worldbody>'
MESH = '<worldbody><body><geom type="mesh" mesh="m" mass="1"/></body></worldbody>'
# What a robot in a cell can say to read a file of another folder, by the name of the robot's file.
READING = {
    "include.xacro": f'<robot name="r" {XACRO}><xacro:include filename="FILE"/></robot>',
    "yaml.xacro": f'<robot name="r" {XACRO}>{LINK}</robot>',
    "plain.urdf": f'<robot name="r" {XACRO}>{LINK}</robot>',
    "include.xml": f'<mujoco><include file="FILE"/>{BODY}</mujoco>',
    "nested.xml": f'<mujoco><include file="inner.xml"/>{BODY}</mujoco>',
    "model.xml": f'<mujoco><asset><model name="m" file="FILE"/></asset>{BODY}</mujoco>',
    "mesh.xml": f'<mujoco><asset><mesh name="m" file="FILE"/></asset>{MESH}</mujoco>',
    "folder.xml": f"""<mujoco><compiler meshdir="FOLDER"/>
      <asset><mesh name="m" file="secret.xml"/></asset>{MESH}</mujoco>""",
    "stripped.xml": f"""<mujoco><compiler meshdir="FOLDER" strippath="true"/>
      <asset><mesh name="m" file="in/secret.xml"/></asset>{MESH}</mujoco>""",
    "latin.xml": f"""<?xml version="1.0" encoding="iso-8859-1"?>
      <mujoco><include file="FILE"/>{BODY}</mujoco>""",
}


@pytest.mark.parametrize("name", READING)
@pytest.mark.parametrize("secret", ["../secret.xml", "ABSOLUTE", "link.xml"])
def test_robots_of_a_cell_read_no_files_of_other_folders(name, secret, tmp_path: Path):
    """Neither by xacro, which could evaluate anything, nor by what MuJoCo includes."""
    pytest.importorskip("mujoco")
    folder = tmp_path / "cells"
    folder.mkdir()
    outside = tmp_path / "secret.xml"
    outside.write_text("key: hidden_value")
    (folder / "link.xml").symlink_to(outside)
    file = str(outside) if secret == "ABSOLUTE" else secret

    def written(text: str) -> str:
        return text.replace("FILE", file).replace("FOLDER", str(tmp_path))

    (folder / "inner.xml").write_text(
        written('<mujocoinclude><include file="FILE"/></mujocoinclude>')
    )
    (folder / name).write_text(written(READING[name]))
    main = folder / "main.xml"
    main.write_text(f'<WorkCell name="c"><Robot name="r" file="{name}"/></WorkCell>')

    text = message(main)

    assert "hidden_value" not in text
    assert "xacro is not expanded" in text or "secret.xml' lies outside" in text


def test_a_robot_inside_a_cell_is_not_expanded_by_xacro(tmp_path: Path):
    (tmp_path / "secret.yaml").write_text("key: hidden_value")
    robot = READING["plain.urdf"].replace("FILE", str(tmp_path / "secret.yaml"))

    text = message(cell(f'<Robot name="r">{robot}</Robot>'))

    assert "xacro is not expanded" in text
    assert "hidden_value" not in text


def test_robots_of_a_cell_may_include_files_of_its_folders(tmp_path: Path):
    pytest.importorskip("mujoco")
    (tmp_path / "cells").mkdir()
    (tmp_path / "part.xml").write_text(f"<mujocoinclude>{BODY}</mujocoinclude>")
    (tmp_path / "cells" / "near.xml").write_text(f"<mujocoinclude>{BODY}</mujocoinclude>")
    robot, main = tmp_path / "cells" / "robot.xml", tmp_path / "cells" / "main.xml"
    main.write_text('<WorkCell name="c"><Robot name="r" file="robot.xml"/></WorkCell>')

    robot.write_text('<mujoco><include file="near.xml"/></mujoco>')
    assert "r.b" in lw.load_workcell(main).frame_names
    robot.write_text('<mujoco><include file="../part.xml"/></mujoco>')
    assert "r.b" in lw.load_workcell(main, include_dirs=tmp_path).frame_names


def test_a_link_that_leads_out_of_the_folder_is_not_followed(tmp_path: Path):
    (tmp_path / "cells").mkdir()
    (tmp_path / "secret.xml").write_text('<Frame name="x"/>')
    (tmp_path / "cells" / "link.xml").symlink_to(tmp_path / "secret.xml")
    main = tmp_path / "cells" / "main.xml"
    main.write_text('<WorkCell name="c"><Include file="link.xml"/></WorkCell>')

    assert "lies outside of the folders" in message(main)


def test_a_cycle_of_files_is_told_with_its_files(tmp_path: Path):
    (tmp_path / "a.xml").write_text('<WorkCell name="c"><Include file="b.xml"/></WorkCell>')
    (tmp_path / "b.xml").write_text('<Include file="a.xml"/>')

    assert "b.xml:1: include cycle: a.xml -> b.xml -> a.xml" in message(tmp_path / "a.xml")


def test_a_text_includes_nothing_without_a_folder():
    assert "a text lies in no folder" in message(cell('<Include file="a.xml"/>'))


def test_definitions_that_use_each_other_are_refused():
    text = '<Define id="a"><Use id="b"/></Define><Define id="b"><Use id="a"/></Define><Use id="a"/>'

    assert "definition cycle: a -> b -> a" in message(cell(text))
    assert "nothing is defined as 'z' here; there is none" in message(cell('<Use id="z"/>'))


def test_definitions_that_multiply_without_bound_are_refused(monkeypatch):
    """Eleven layers of ten would be 10^11 elements; reading stops at the limit."""
    monkeypatch.setattr(workcell_include, "MOST_ELEMENTS", 3_000)
    uses = [f'<Use id="d{k}"/>' * 10 for k in range(11)]
    layers = [f'<Define id="d{k + 1}">{inside}</Define>' for k, inside in enumerate(uses)]
    text = '<Define id="d0"><Drawable name="x"/></Define>' + "".join(layers)

    assert "the cell has more than 3000 elements" in message(
        cell(text + '<Frame name="a"><Use id="d11"/></Frame>')
    )


def test_a_cell_of_very_many_files_is_refused(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(workcell_include, "MOST_FILES", 5)
    (tmp_path / "empty.xml").write_text(" ")
    main = tmp_path / "main.xml"
    main.write_text(cell('<Include file="empty.xml"/>' * 9))

    assert "main.xml:2: the cell includes more than 5 files" in message(main)


def test_elements_inside_each_other_without_bound_are_refused():
    text = "<SerialChain>" * 150 + "</SerialChain>" * 150

    assert "elements are nested too deep" in message(cell(text))


def test_a_missing_file_says_what_is_bundled():
    known = "known: mobile_manipulator, pick_and_place, two_arms"
    assert message("kitchen") == f"no file and no bundled workcell named 'kitchen'; {known}"
    assert "no file 'kitchen.xml'" in message("kitchen.xml")


@pytest.mark.parametrize("text", ['<WorkCell name="c"/>', '<SerialDevice name="d"/>'])
def test_a_workcell_that_is_loaded_as_a_robot_is_told_how_to_load_it(text):
    with pytest.raises(lw.ParseError, match="this is a RobWork workcell: load it with load_workc"):
        lw.load(text)
