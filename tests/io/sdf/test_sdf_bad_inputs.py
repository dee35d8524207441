"""Invalid and doubtful SDF files.

A case changes the valid file of `tests.support.sdf_files` in one respect. `load` must report
exactly one error, or one warning, with the location and the facts of the case.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.messages import assert_facts
from tests.support.sdf_files import GOOD
from tests.support.urdf_files import changed, error_lines, error_message, loaded, notes

import linkwork as lw
from linkwork.io.folders import AllowedFolders
from linkwork.io.load import read
from linkwork.io.xml.documents import Source

HINGE = "<xyz>0 1 0</xyz>"
LIMIT = "<limit><lower>-1</lower><upper>1</upper></limit>"
ARM_POSE = "<pose>1 0 0.5 0 0 0</pose>"


def good(*pairs):
    return changed(*pairs, text=GOOD)


def before_end(line):
    """The valid file with a line before the end of the model: line 25."""
    return good("  </model>", f"{line}\n  </model>")


def in_world(*elements):
    """The valid model after other elements of a world."""
    model = GOOD.partition("\n")[2].replace("</sdf>", "</world></sdf>")
    return f'<sdf version="1.11"><world name="w">{"".join(elements)}{model}'


MOMENTS = "<inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia>"
LINK = f'<link name="{{}}"><inertial><mass>1</mass>{MOMENTS}</inertial></link>'
ERRORS = [
    ("not XML", "<sdf", "<text>:1: .*XML"),
    ("no model", '<sdf version="1.6"/>', "<text>:1: .*<model>"),
    ("no links", '<sdf version="1.6"><model name="m"/></sdf>', ".*no links"),
    ("no version", good(' version="1.9"', ""), "<text>:1: .*version"),
    ("old version", good('"1.9"', '"1.3"'), "<text>:1: .*1.3.*1.4 to 1.12"),
    ("SDF 1.2", '<gazebo version="1.2"><model name="m"/></gazebo>', "<text>:1: .*1.2.*1.4 to 1.12"),
    (
        "include on a server, and a joint to it",
        before_end(
            "<include><uri>https://server/Arm</uri><name>b</name></include>"
            '<joint name="j" type="fixed"><parent>arm</parent><child>b::link</child></joint>'
        ),
        "<text>:25: .*'https://server/Arm'.*nothing is downloaded",
    ),
    ("version is not a number", good('"1.9"', '"one"'), "<text>:1: .*version.*'one'"),
    ("model without name", good(' name="lamp"', ""), "<text>:2: .*'name'"),
    ("link without name", before_end("<link/>"), "<text>:25: .*'name'"),
    ("link called world", before_end(LINK.format("world")), "<text>:25: link 'world': .*reserved"),
    ("reserved name", before_end('<frame name="__x__"/>'), "<text>:25: .*'__x__'.*reserved"),
    ("scoped name", before_end('<frame name="a::b"/>'), "<text>:25: .*'::'"),
    ("link twice", before_end(LINK.format("arm")), "<text>:25: link 'arm'.*taken.*<text>:6"),
    (
        "link and joint share a name",
        before_end(LINK.format("hinge")),
        "<text>:25: link 'hinge'.*<joint>",
    ),
    (
        "unknown parent",
        good("<parent>base<", "<parent>bass<"),
        "<text>:17: .*'hinge'.*'bass'.*'base'",
    ),
    ("unknown child", good("<child>arm<", "<child>harm<"), "<text>:17: .*'hinge'.*'harm'.*'arm'"),
    ("no parent", good("<parent>base</parent>", ""), "<text>:17: .*'hinge'.*<parent>"),
    ("empty child", good("<child>arm<", "<child> <"), "<text>:19: .*'hinge'.*<child>.*empty"),
    ("child is the world", good("<child>arm<", "<child>world<"), "<text>:17: .*'hinge'.*'world'"),
    ("to itself", good("<child>arm<", "<child>base<"), "<text>:17: .*'hinge'.*base -> base"),
    ("no type", good(' type="revolute"', ""), "<text>:17: .*'hinge'.*'type'"),
    ("unknown type", good('"revolute"', '"revolut"'), "<text>:17: .*'revolut'.*'revolute'"),
    (
        "no axis",
        good(HINGE, "", LIMIT, "", "<axis>", "", "</axis>", ""),
        "<text>:17: .*'hinge'.*<axis>",
    ),
    ("zero axis", good(HINGE, "<xyz>0 0 0</xyz>"), "<text>:20: .*'hinge'.*zero"),
    ("axis of 2 numbers", good(HINGE, "<xyz>0 1</xyz>"), "<text>:21: .*'hinge'.*3 numbers.*2"),
    ("axis with nan", good(HINGE, "<xyz>0 nan 1</xyz>"), "<text>:21: .*'hinge'.*'nan'.*finite"),
    (
        "axis in an unknown frame",
        good("<xyz>", '<xyz expressed_in="harm">'),
        ".*'hinge'.*'harm'.*'arm'",
    ),
    ("screw without pitch", good('"revolute"', '"screw"'), "<text>:17: .*'hinge'.*pitch"),
    ("attribute of old poses", good("<pose>1", '<pose frame="base">1'), "<text>:7: .*relative_to"),
    (
        "flag of old axes",
        good(HINGE, HINGE + "<use_parent_model_frame>1</use_parent_model_frame>"),
        "<text>:20: .*'hinge'.*__model__",
    ),
    ("joint to no link", before_end('<model name="n"/>').replace("base<", "n<"), ".*'hinge'.*'n'"),
    ("frame on no link", before_end('<model name="n"><frame name="f"/></model>'), ".*'f'"),
    (
        "automatic inertia of an ellipsoid",
        before_end(
            '<link name="a"><inertial auto="true"/><collision name="c"><geometry><ellipsoid/>'
            "</geometry></collision></link>"
        ),
        "<text>:25: link 'a': .*inertia",
    ),
    ("lower above upper", good("<lower>-1", "<lower>2"), "<text>:22: .*'hinge'.*2.*1"),
    ("lower nan", good("<lower>-1", "<lower>nan"), "<text>:22: .*'hinge'.*'nan'"),
    ("negative mass", good("<mass>2", "<mass>-2"), "<text>:8: link 'arm': .*-2.*negative"),
    ("mass in words", good("<mass>2", "<mass>heavy"), "<text>:10: link 'arm': .*'heavy'"),
    ("mass with comma", good("<mass>2", "<mass>1,5"), "<text>:10: link 'arm': .*'1,5'"),
    ("unexpanded xacro", good("<mass>2", "<mass>${m}"), "<text>:10: link 'arm': .*xacro"),
    (
        "two masses",
        good("<mass>2</mass>", "<mass>2</mass><mass>3</mass>"),
        "<text>:10: .*'arm'.*2 <mass>",
    ),
    ("moment is nan", good("<ixx>0.3", "<ixx>nan"), "<text>:11: link 'arm': .*ixx.*'nan'"),
    (
        "pose of 5 numbers",
        good(ARM_POSE, "<pose>1 0 0 0 0</pose>"),
        "<text>:7: .*'arm'.*6 numbers.*5",
    ),
    ("large angle", good(ARM_POSE, "<pose>1 0 0 0 0 1e300</pose>"), "<text>:7: .*'arm'.*rad"),
    (
        "pose in an unknown frame",
        good("<pose>1", '<pose relative_to="bass">1'),
        ".*'arm'.*'bass'.*'base'",
    ),
    (
        "quaternion without norm 1",
        good("<pose>1 0 0.5 0 0 0<", '<pose rotation_format="quat_xyzw">1 0 0 0 0 0 3<'),
        "<text>:7: .*'arm'.*norm 3",
    ),
    ("rotation format", good("<pose>1", '<pose rotation_format="zyx">1'), "<text>:7: .*'zyx'"),
    (
        "poses in a cycle",
        good("<pose>1", '<pose relative_to="hinge">1'),
        "<text>:6: link 'arm': .*arm -> hinge -> arm",
    ),
    (
        "frames attached in a cycle",
        before_end(
            '<frame name="a" attached_to="b"><pose relative_to="arm"/></frame>'
            '<frame name="b" attached_to="a"><pose relative_to="arm"/></frame>'
        ),
        "<text>:25: frame 'a': .*a -> b -> a",
    ),
    (
        "frame on nothing",
        before_end('<frame name="a" attached_to="harm"/>'),
        ".*'a'.*'harm'.*'arm'",
    ),
    (
        "inertial in a frame",
        good("<pose>0 0 0.5", '<pose relative_to="base">0 0 0.5'),
        "<text>:9: .*relative",
    ),
    ("negative edge", good("<size>1 2 3", "<size>1 -2 3"), "<text>:14: link 'arm': .*negative"),
    ("boolean", before_end("<static>maybe</static>"), "<text>:25: .*'maybe'"),
    (
        "canonical link",
        good('name="lamp"', 'name="lamp" canonical_link="harm"'),
        "<text>:2: .*'harm'",
    ),
    (
        "mimic of an unknown joint",
        good(LIMIT, '<mimic joint="hing"/>'),
        "<text>:17: joint 'hinge': .*'hing'",
    ),
    (
        "universal joint with parallel axes",
        good(
            '"revolute"',
            '"universal"',
            "</axis>",
            "</axis><axis2><xyz>0 1 0</xyz></axis2>",
            LIMIT,
            "",
        ),
        "<text>:17: joint 'hinge': .*perpendicular",
    ),
    (
        "gearbox without joints",
        before_end(
            '<joint name="gear" type="gearbox"><parent>base</parent><child>arm</child>'
            "<gearbox_ratio>1</gearbox_ratio><gearbox_reference_body>base</gearbox_reference_body>"
            "<axis/><axis2/></joint>"
        ),
        "<text>:25: joint 'gear': .*revolute.*'base'",
    ),
    (
        "include that does not exist",
        before_end("<include><uri>model://nothing</uri></include>"),
        "<text>:25: .*'model://nothing'",
    ),
    (
        "include from the web",
        before_end("<include><uri>https://fuel.gazebosim.org/arm</uri></include>"),
        "<text>:25: .*download",
    ),
    (
        "link in a link",
        good('<visual name="body">', LINK.format("x") + '<visual name="body">'),
        ".*<link>.*<model>",
    ),
    (
        "joint of a world",
        in_world('<joint name="j" type="fixed"/>'),
        ".*joints between the models",
    ),
]


@pytest.mark.parametrize(("text", "facts"), [e[1:] for e in ERRORS], ids=[e[0] for e in ERRORS])
def test_invalid_file_has_one_error(text, facts):
    errors = [line for line in error_lines(text) if line.startswith("error")]
    assert len(errors) == 1, errors
    assert_facts(errors[0].removeprefix("error: "), facts)


WARNINGS = [
    ("newer version", good('"1.9"', '"1.13"'), "<text>:1: .*1.13.*1.12"),
    ("axis of length 2", good(HINGE, "<xyz>0 2 0</xyz>"), "<text>:20: .*'hinge'.*length 2"),
    (
        "spring",
        good(LIMIT, "<dynamics><spring_stiffness>3</spring_stiffness></dynamics>"),
        ".*'hinge'.*stiffness",
    ),
    (
        "no gravity",
        good(ARM_POSE, ARM_POSE + "<gravity>false</gravity>"),
        "<text>:6: link 'arm': .*<gravity>",
    ),
    (
        "kinematic",
        good(ARM_POSE, ARM_POSE + "<kinematic>true</kinematic>"),
        "<text>:6: link 'arm': .*<kinematic>",
    ),
    ("no mass", good("<mass>2</mass>", ""), "<text>:8: link 'arm': .*<mass>.*1"),
    ("no moments", good("<izz>1</izz>", ""), "<text>:4: link 'base': .*<izz>.*1"),
    (
        "ellipsoid",
        good("<box><size>1 2 3</size></box>", "<ellipsoid/>"),
        "<text>:14: link 'arm': .*<ellipsoid>",
    ),
    (
        "unknown element",
        good(ARM_POSE, ARM_POSE + "<inertal/>"),
        "<text>:7: link 'arm': .*<inertal>.*<inertial>",
    ),
    (
        "Drake's extension",
        before_end('<drake:joint xmlns:drake="d"/>'),
        "<text>:2: .*<drake:joint>",
    ),
    (
        "limits of a universal joint",
        good('"revolute"', '"universal"', "</axis>", "</axis><axis2><xyz>1 0 0</xyz></axis2>"),
        "<text>:17: .*'hinge'.*limits",
    ),
    (
        "gravity of the world",
        in_world("<gravity>0 0 -1.6</gravity>"),
        ".*gravity=.0, 0, -1.6",
    ),
    (
        "gravity of the default physics profile",
        in_world(
            "<physics><gravity>0 0 -1</gravity></physics>"
            '<physics default="1"><gravity>0 0 -1.6</gravity></physics>'
        ),
        ".*gravity=.0, 0, -1.6",
    ),
    (
        "no geometry",
        good("<geometry><box><size>1 2 3</size></box></geometry>", ""),
        ".*'arm'.*<visual> without <geometry>",
    ),
    (
        "two polylines",
        good("<box><size>1 2 3</size></box>", "<polyline/><polyline/>"),
        "<text>:14: link 'arm': .*<polyline>",
    ),
    (
        "velocity decay twice",
        good(
            ARM_POSE,
            ARM_POSE + "<velocity_decay/><velocity_decay><linear>1</linear></velocity_decay>",
        ),
        "<text>:7: link 'arm': .*<velocity_decay>",
    ),
    ("blank line before the XML declaration", f"\n<?xml version='1.0'?>{GOOD}", "<text>:2: .*XML"),
]


@pytest.mark.parametrize(("text", "facts"), [e[1:] for e in WARNINGS], ids=[e[0] for e in WARNINGS])
def test_doubtful_file_has_one_warning(text, facts):
    robot, warnings = loaded(text)
    assert len(robot.links) == 2
    assert_facts(warnings, [facts])


def test_custom_elements_are_ignored_with_their_content():
    robot, warnings = loaded(before_end('<my:part xmlns:my="m"><link name="x"/></my:part>'))
    assert len(robot.links) == 2
    assert warnings == []


def test_links_without_inertia_have_the_default_of_sdf():
    robot, warnings = loaded('<sdf version="1.9"><model name="m">\n<link name="a"/></model></sdf>')
    assert_facts(warnings, ["<text>:2: link 'a': .*<inertial>"])
    assert robot.link("a").inertia == lw.Inertia(1.0, tensor=(1, 0, 0, 1, 0, 1))


def test_all_errors_are_reported_at_once():
    text = good("<mass>2", "<mass>heavy", "<parent>base", "<parent>bass", HINGE, "<xyz>0 0 0</xyz>")
    assert len(error_lines(text)) == 3


def test_repair_uses_the_first_of_several_elements():
    text = good("<mass>2</mass>", "<mass>2</mass><mass>3</mass>")
    robot, warnings = loaded(text, repair=True)
    assert robot.link("arm").inertia.mass == 2
    assert_facts(warnings, ["<text>:10: .*2 <mass>"])


class TestFiles:
    """Included files: only in allowed folders, no cycles, no exponential growth."""

    def write(self, folder, name, *uris, merge=""):
        includes = "".join(
            f"<include{merge}><uri>{uri}</uri><name>m{index}</name></include>"
            for index, uri in enumerate(uris)
        )
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        body = f"{LINK.format('a')}{includes}"
        path.write_text(f'<sdf version="1.9"><model name="m">{body}</model></sdf>')
        return path

    def test_file_outside_of_the_folder_is_not_read(self, tmp_path):
        outside = self.write(tmp_path, "secret.sdf")
        (tmp_path / "inner").mkdir()
        (tmp_path / "inner" / "link.sdf").symlink_to(outside)
        for uri in (
            "link.sdf",
            "../secret.sdf",
            str(outside),
            f"file://{outside}",
            "model://../secret.sdf",
        ):
            path = self.write(tmp_path / "inner", "robot.sdf", uri)
            assert_facts(error_message(path), ".*robot.sdf:1: .*cannot find")
        loaded(self.write(tmp_path / "inner", "robot.sdf", "../secret.sdf"), package_dirs=tmp_path)

    def test_robots_in_workcells_include_files_of_the_allowed_folders_only(self, tmp_path):
        """Symbolic links do not lead out of them."""
        self.write(tmp_path, "secret.sdf")
        path = self.write(tmp_path / "inner", "robot.sdf", "link.sdf")
        (path.parent / "link.sdf").symlink_to(tmp_path / "secret.sdf")
        source = Source(str(path), path.read_text(), path, allowed=AllowedFolders([path.parent]))
        (error,) = read(source).findings
        assert_facts(str(error), ".*robot.sdf:1: .*outside")
        assert read(replace(source, allowed=AllowedFolders([tmp_path]))).model is not None

    def test_cycle_of_files(self, tmp_path):
        self.write(tmp_path, "b.sdf", "a.sdf")
        assert_facts(
            error_message(self.write(tmp_path, "a.sdf", "b.sdf")),
            ".*b.sdf:1: .*a.sdf -> b.sdf -> a.sdf",
        )

    def test_exponential_growth_stops(self, tmp_path):
        for level in range(20):
            self.write(tmp_path, f"{level}.sdf", *[f"{level + 1}.sdf"] * 2)
        assert any("1000 models" in line for line in error_lines(tmp_path / "0.sdf"))

    def test_errors_name_the_included_file(self, tmp_path):
        (tmp_path / "b.sdf").write_text(GOOD.replace("<mass>2", "<mass>heavy"))
        assert_facts(
            error_message(self.write(tmp_path, "a.sdf", "b.sdf")), ".*b.sdf:10: link 'arm'"
        )

    def test_urdf_is_not_included(self, tmp_path):
        (tmp_path / "b.urdf").write_text('<robot name="r"/>')
        message = error_message(self.write(tmp_path, "a.sdf", "b.urdf"))
        assert_facts(message, ".*a.sdf:.*b.urdf' is a URDF file.*linkwork convert")


def test_nested_models_have_a_limit():
    depth = 60
    text = (
        '<sdf version="1.9">'
        + '<model name="m">' * depth
        + '<link name="a"/>'
        + "</model>" * depth
        + "</sdf>"
    )
    assert any("nested 30 times" in line for line in error_lines(text))


def test_long_chain_of_links_and_frames_loads():
    """Poses are resolved without recursion."""
    n = 1000
    references = [f"l{k + 1}" for k in range(n)] + ["__model__"]
    links = "".join(
        f'<link name="l{k}"><pose relative_to="{reference}">0 0 1 0 0 0</pose>'
        f"<inertial><mass>1</mass>{MOMENTS}</inertial></link>"
        for k, reference in enumerate(references)
    )
    joints = "".join(
        f'<joint name="j{k}" type="ball"><parent>l{k}</parent><child>l{k + 1}</child></joint>'
        for k in range(n)
    )
    robot, _ = loaded(f'<sdf version="1.9"><model name="m">{links}{joints}</model></sdf>')
    assert len(robot.joints) == n


def test_notes_say_what_static_models_lose():
    text = before_end("<static>1</static>")
    assert loaded(text)[1] == []
    assert_facts(notes(text), [".*static.*hinge"])
