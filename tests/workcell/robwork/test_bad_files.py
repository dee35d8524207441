"""Invalid workcell files, with the message, file and line of each error."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import linkwork as lw
from linkwork.workcell.files import include as workcell_include

JOINT = '<Frame name="B"/><Joint name="J" type="Revolute"'


def message(text: str | bytes | Path, **options: object) -> str:
    with pytest.raises(lw.LinkworkError) as caught:
        lw.load_workcell(text, **options)  # type: ignore[arg-type]
    return str(caught.value)


def says(facts: str, messages: str) -> bool:
    """Whether the message contains these facts in this order."""
    return re.search(facts, messages, re.DOTALL) is not None


def cell(inside: str) -> str:
    return f'<WorkCell name="c">\n{inside}</WorkCell>'


def arm(inside: str) -> str:
    return cell(f'<SerialDevice name="d"><Frame name="B"/>{inside}</SerialDevice>')


def box(inside: str) -> str:
    return cell(f'<Frame name="a">{inside}</Frame>')


NOT_CELLS = {
    "": "^<text>:1: .*empty",
    "hello\n": "^<text>:1: .*XML.*column 1",
    '<WorkCell name="c">': "^<text>:1: .*XML",
    '<robot name="r"/>': "^<text>:1: .*<WorkCell>.*<robot>.*URDF",
    "<Workcell/>": "<WorkCell>.*<Workcell>.*'WorkCell'",
    '<!DOCTYPE w [<!ENTITY a "b">]><WorkCell name="&a;"/>': "DOCTYPE.*entities",
    '<WorkCell name="c" xmlns="urn:x"/>': "<WorkCell>.*namespace 'urn:x'",
}


@pytest.mark.parametrize("text", NOT_CELLS)
def test_documents_that_are_not_cells_are_rejected(text):
    assert says(NOT_CELLS[text], message(text))


FRAMES = {
    '<Frame refframe="WORLD"/>': "^<text>:2: <Frame>.*'name'",
    '<Frame name=" "/>': "^<text>:2: frame ' ': .*empty 'name'",
    '<Frame name="WORLD"><Pos>0 0 1</Pos></Frame>': "no pose",
    '<Frame name="a"/><Frame name="WORLD" refframe="a"/>': "root of every cell",
    '<Frame name="a"/>\n<Frame name="a" refframe="a"/>': ("^<text>:3: frame 'a': .*use.*<text>:2"),
    '<Frame name="tray"/><Frame name="b" refframe="tary"/>': ("frame 'b': .*'tary'.*'tray'"),
    '<Frame name="a" refframe="b"/><Frame name="b" refframe="a"/>': ("frame 'a': .*a -> b -> a"),
    '<Frame name="a" refframe="a"/>': "a -> a",
    '<Frame name="a" type="Moveable"/>': "Frame type: .*'Moveable'.*'Movable'",
    '<Frame name="a" daf="yes"/>': "Frame daf: .*'yes'.*false, true",
    '<Drawable name="x"><Box x="1" y="1" z="1"/></Drawable>': "<Drawable>.*'refframe'",
    '<Drawable name="x" refframe="q"/>': "frame.*'q'",
    '<PosLimit refjoint="j" min="0" max="1"/>': "<PosLimit>.*device",
}


@pytest.mark.parametrize("text", FRAMES)
def test_frames_that_do_not_form_a_tree_are_rejected(text):
    assert says(FRAMES[text], message(cell(text)))


INSIDE = {
    "<Pos>1 2</Pos>": r"^<text>:2: frame 'a': Pos: .*\b3\b.*\b2\b.*'1 2'",
    "<Pos>1 2 nan</Pos>": "Pos: 'nan'.*finite",
    "<Pos>1 2 1e99</Pos>": "Pos: '1e99'.*large",
    "<Pos>1,5 0 0</Pos>": "Pos: '1,5'",
    "<Pos>0x1 0 0</Pos>": "Pos: '0x1'",
    "<Pos>1_0 0 0</Pos>": "Pos: '1_0'",
    "<Pos>${x} 0 0</Pos>": "Pos=",
    "<RPY>0 0 1e300</RPY>": "RPY: '1e300'.*large",
    "<RPY>0 0</RPY>": r"RPY: .*\b3\b.*\b2\b",
    "<Pos>0 0 0</Pos><Pos>1 1 1</Pos>": "<Frame>.*2 <Pos>.*lines 2, 2",
    "<Transform>1 0 0</Transform>": r"Transform: .*\b12\b.*\b3\b",
    "<Transform>1 0 0 0 0 1 0 0 0 0 2 0</Transform>": "columns.*rotation",
    "<Pos>0 0 0</Pos><Transform>1 0 0 0 0 1 0 0 0 0 1 0</Transform>": "expected one",
    '<Drawable name="x"><Box x="1" y="1"/></Drawable>': "<Box>.*'z'",
    '<Drawable name="x"><Sphere radius="-1"/></Drawable>': "Sphere radius: -1",
    '<Drawable name="x" colmodel="On"/>': "Drawable colmodel: .*'On'",
    '<Drawable name="x"><RGB>1 0</RGB></Drawable>': r"RGB: .*\b3\b.*\b2\b",
    '<Property name="linkwork.lonk">1</Property>': r"'linkwork\.lonk'.*'link'",
    '<Property name="linkwork.home">1</Property>': r"linkwork\.home: .*\b0\b.*\b1\b",
    '<Property name="linkwork.link"><link><inertial/></link></Property>': "<mass>",
}


@pytest.mark.parametrize("text", INSIDE)
def test_invalid_numbers_and_shapes_are_rejected(text):
    assert says(INSIDE[text], message(box(text)))


DEVICES = {
    '<Joint name="J"/>': "joint 'J': <Joint>.*'type'",
    '<Joint name="J" type="Hinge"/>': "joint 'J': .*'Hinge'.*Prismatic.*Revolute",
    '<Joint name="J" type="Revolut"/>': "'Revolut'.*'Revolute'",
    '<Joint name="J" type="Revolute" state="Off"/>': "Joint state: .*'Off'",
    '<Joint name="J" type="Revolute"><PosLimit min="9" max="1"/></Joint>': "min 9.*max 1",
    '<Joint name="J" type="Revolute"><PosLimit min="9"/></Joint>': "<PosLimit>.*'max'",
    '<Joint name="J" type="Revolute"><VelLimit max="-1"/></Joint>': "VelLimit: max -1",
    '<Joint name="J" type="Revolute"><VelLimit max="1"/><VelLimit max="1"/></Joint>': (
        "<Joint>.*2 <VelLimit>.*per coordinate"
    ),
    '<Joint name="J" type="Revolute"><Depend on="K" gain="1" offset="0"/></Joint>': (
        "joint 'J': .*'K'"
    ),
    '<Joint name="J" type="Revolute"><Depend on="B" gain="1" offset="0"/></Joint>': (
        "joint 'J': .*'B'"
    ),
    '<Joint name="J" type="Revolute"><Depend on="J" gain="1" offset="0"/></Joint>': (
        r"cycle.*d\.J"
    ),
    '<Joint name="J" type="Universal"><Depend on="J" gain="1" offset="0"/></Joint>': (
        "Universal.*depend"
    ),
    '<Joint name="J" type="linkwork"/>': "<Joint>.*'linkwork'.*property",
    '<DHJoint name="J" alpha="0" a="0" offset="0"/>': "<DHJoint>.*'d', 'theta', 'b'",
    '<DHJoint name="J" alpha="0" a="0" d="0" theta="0" offset="0"/>': "'d' and 'theta'",
    '<DHJoint name="J" alpha="0" a="0" b="0" offset="0"/>': "'b'.*'HGP'",
    '<DHJoint name="J" alpha="0" a="0" d="0" offset="0" type="dh"/>': "DHJoint type: .*'dh'",
    '<DHJoint name="J" alpha="x" a="0" d="0" offset="0"/>': "DHJoint alpha: 'x'",
    '<PosLimit refjoint="X" min="0" max="1"/>': "joint.*'X'",
    '<PosLimit refjoint="B" min="0" max="1"/>': "'B'.*not a joint",
    '<PosLimit min="0" max="1"/>': "<PosLimit>.*'refjoint'",
    '<Q name="Home">1 2</Q>': r"device 'd': Q 'Home': .*\b0\b.*\b2\b",
    '<Q name="Home">1</Q><Q name="Home">1</Q>': "several <Q>.*'Home'",
}


@pytest.mark.parametrize("text", DEVICES)
def test_invalid_joints_and_limits_are_rejected(text):
    assert says(DEVICES[text], message(arm(text)))


WHOLE_DEVICES = {
    '<SerialDevice name="d"/>': "device 'd': <SerialDevice>.*frames",
    f'<SerialDevice name="d">{JOINT}/></SerialDevice>' * 2: r"'d\.B'.*use",
    '<ParallelDevice name="d"/>': "ParallelDevice.*no frames",
    '<MobileDevice name="d"/>': "<MobileDevice>.*'basename'",
    '<MobileDevice name="d" basename="b"><AxelWidth>0</AxelWidth><LeftWheel name="l"/>'
    '<RightWheel name="r"/></MobileDevice>': r"AxelWidth: .*\b0\b",
    '<Device name="d" kind="serial" base="WORLD"/>': "<Device>.*<End>",
    '<Device name="d" kind="serial" base="x"><End name="WORLD"/></Device>': "frame.*'x'",
    '<Robot name="r"/>': "<Robot>.*'file'.*<robot>",
    '<Robot name="r"><robot name="x"/></Robot>': "no links",
    '<Robot name="r"><robot name="x"><link name="l"/></robot></Robot>'
    '<Drawable name="d" refframe="r.l"/>': r"frame 'r\.l'.*<Robot>",
    '<Joint name="j" type="linkwork"><Property name="linkwork.motion">'
    '<motion kind="revolute" acceleration="-1"/></Property></Joint>': (
        "^<text>:2: joint 'j': acceleration: .*-1"
    ),
    '<Robot name="r" base="q"><robot name="x"><link name="l"/></robot></Robot>': ("base: .*'q'"),
}


@pytest.mark.parametrize("text", WHOLE_DEVICES)
def test_invalid_devices_are_rejected(text):
    assert says(WHOLE_DEVICES[text], message(cell(text)))


def test_all_errors_are_reported_at_once_with_their_lines():
    text = """<WorkCell name="c">
    <Frame name="a" refframe="nowhere">
      <Pos>1 2</Pos>
    </Frame>
    <SerialDevice name="d"><Frame name="B"/>
      <Joint name="J" type="Bend"/></SerialDevice>
    <Frame name="on_joint" refframe="d.J"/>
    </WorkCell>"""

    first, position, kind, parent = message(text).splitlines()
    assert first == "3 errors"
    assert says(r"<text>:3: frame 'a': Pos: .*\b3\b.*\b2\b.*'1 2'", position)
    known = "Prismatic, PrismaticSpherical, PrismaticUniversal, Revolute, Spherical, Universal"
    assert says(f"<text>:6: joint 'J': .*'Bend'.*{known}", kind)
    assert says("<text>:2: frame 'a': .*'nowhere'", parent)


def test_warnings_are_errors_if_strict():
    text = cell('<CollisionSetup file="x"/>')

    assert "<CollisionSetup>" in message(text, strict=True)


INCLUDED = {
    "missing.xml": r"'missing\.xml'.*no file",
    "../outside.xml": r"outside\.xml'.*outside of the allowed folders",
    "/etc/passwd": "'/etc/passwd'.*outside of the allowed folders",
    "main.xml": r"cycle.*main\.xml -> main\.xml",
    "bad.xml": r"bad\.xml:2: ",
    "bomb.xml": r"bomb\.xml:1: ",
    "a\tb.xml": r"'a\\tb\.xml'.*no file",
    "": "<Include>.*empty 'file'",
}


@pytest.mark.parametrize("name", INCLUDED)
def test_includes_outside_of_allowed_folders_are_rejected(name, tmp_path: Path):
    folder = tmp_path / "cells"
    folder.mkdir()
    (tmp_path / "outside.xml").write_text('<Frame name="x"/>')
    (folder / "bad.xml").write_text('<Frame name="x">\n</Frame></Frame>')
    (folder / "bomb.xml").write_text('<!DOCTYPE x [<!ENTITY a "b">]><Frame name="&a;"/>')
    main = folder / "main.xml"
    main.write_text(
        f'<WorkCell name="c"><Include file="{name.replace(chr(9), "&#9;")}"/></WorkCell>'
    )

    assert says(INCLUDED[name], message(main))


def test_include_dirs_allow_further_folders(tmp_path: Path):
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
def test_robots_of_a_cell_cannot_read_other_folders(name, secret, tmp_path: Path):
    """Neither by xacro, which can evaluate Python, nor by includes of MuJoCo."""
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
    assert "xacro is disabled" in text or "secret.xml' is outside" in text


def test_a_robot_inside_a_cell_is_not_expanded_by_xacro(tmp_path: Path):
    (tmp_path / "secret.yaml").write_text("key: hidden_value")
    robot = READING["plain.urdf"].replace("FILE", str(tmp_path / "secret.yaml"))

    text = message(cell(f'<Robot name="r">{robot}</Robot>'))

    assert "xacro is disabled" in text
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


def test_symbolic_link_out_of_the_folder_is_not_followed(tmp_path: Path):
    (tmp_path / "cells").mkdir()
    (tmp_path / "secret.xml").write_text('<Frame name="x"/>')
    (tmp_path / "cells" / "link.xml").symlink_to(tmp_path / "secret.xml")
    main = tmp_path / "cells" / "main.xml"
    main.write_text('<WorkCell name="c"><Include file="link.xml"/></WorkCell>')

    assert says(r"secret\.xml'.*outside", message(main))


def test_include_cycle_is_reported_with_its_files(tmp_path: Path):
    (tmp_path / "a.xml").write_text('<WorkCell name="c"><Include file="b.xml"/></WorkCell>')
    (tmp_path / "b.xml").write_text('<Include file="a.xml"/>')

    assert says(r"b\.xml:1: .*a\.xml -> b\.xml -> a\.xml", message(tmp_path / "a.xml"))


def test_string_cannot_include_files_without_include_dirs():
    assert says("'a.xml'.*path", message(cell('<Include file="a.xml"/>')))


def test_definition_cycles_are_rejected():
    text = '<Define id="a"><Use id="b"/></Define><Define id="b"><Use id="a"/></Define><Use id="a"/>'

    assert "a -> b -> a" in message(cell(text))
    assert "'z'" in message(cell('<Use id="z"/>'))


def test_exponential_definitions_are_rejected(monkeypatch):
    """Eleven layers of ten are 10^11 elements; reading stops at the limit."""
    monkeypatch.setattr(workcell_include, "MAX_ELEMENTS", 3_000)
    uses = [f'<Use id="d{k}"/>' * 10 for k in range(11)]
    layers = [f'<Define id="d{k + 1}">{inside}</Define>' for k, inside in enumerate(uses)]
    text = '<Define id="d0"><Drawable name="x"/></Define>' + "".join(layers)

    assert "3000 elements" in message(cell(text + '<Frame name="a"><Use id="d11"/></Frame>'))


def test_cell_with_too_many_files_is_rejected(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(workcell_include, "MAX_FILES", 5)
    (tmp_path / "empty.xml").write_text(" ")
    main = tmp_path / "main.xml"
    main.write_text(cell('<Include file="empty.xml"/>' * 9))

    assert says(r"main\.xml:2: .*\b5 files", message(main))


def test_too_deeply_nested_elements_are_rejected():
    text = "<SerialChain>" * 150 + "</SerialChain>" * 150

    assert "nested" in message(cell(text))


def test_error_for_a_missing_file_suggests_bundled_cells():
    known = "mobile_manipulator, pick_and_place, two_arms"
    assert says(f"'kitchen'.*{known}", message("kitchen"))
    assert "no file 'kitchen.xml'" in message("kitchen.xml")


@pytest.mark.parametrize("text", ['<WorkCell name="c"/>', '<SerialDevice name="d"/>'])
def test_error_for_a_workcell_loaded_as_a_robot_has_a_hint(text):
    with pytest.raises(lw.ParseError, match=r"RobWork.*load_workcell"):
        lw.load(text)
