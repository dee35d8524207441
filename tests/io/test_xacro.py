"""Expansion of xacro files by the package xacro."""

from __future__ import annotations

import sys
import threading
import warnings
from pathlib import Path

import pytest
from tests.support.messages import assert_facts

import linkwork as lw
from linkwork.io.load import read
from linkwork.io.xacro import is_xacro
from linkwork.io.xml.documents import read_source

pytestmark = pytest.mark.peers

xacro = pytest.importorskip("xacro")

SPACE = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
MACROS = f"""<robot {SPACE}><xacro:macro name="body" params="name mass">
<link name="${{name}}"><inertial><mass value="${{mass}}"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
</xacro:macro></robot>"""
ROBOT = f"""<?xml version="1.0"?>
<robot name="r" {SPACE}><xacro:arg name="mass" default="2"/>
<xacro:include filename="$(find parts)/inc/macros.xacro"/>
<xacro:body name="a" mass="${{2 * $(arg mass)}}"/></robot>"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A xacro file next to the package whose macros it uses."""
    (tmp_path / "parts/inc").mkdir(parents=True)
    (tmp_path / "parts/inc/macros.xacro").write_text(MACROS)
    (tmp_path / "urdf").mkdir()
    path = tmp_path / "urdf/robot.urdf.xacro"
    path.write_text(ROBOT)
    return path


def text_with(value: str) -> str:
    x = f'<xacro:property name="x" value="{value}"/>'
    return f'<robot name="r" {SPACE}>{x}<link name="${{x}}"/></robot>'


def error_message(source: str | Path, **options: object) -> str:
    with pytest.raises(lw.ParseError) as caught:
        lw.load(source, **options)
    return str(caught.value)


def test_file_is_expanded_as_by_xacro(file, monkeypatch):
    """Compared with xacro itself, without `$(find ...)`, which needs ROS."""
    plain = file.read_text().replace("$(find parts)", str(file.parents[1] / "parts"))
    file.write_text(plain)
    document = xacro.process_file(str(file), mappings={"mass": "3"})

    assert lw.load(file, xacro_args={"mass": "3"}) == lw.load(document.toxml())


def test_arguments_have_defaults_and_values(file):
    assert lw.load(file).total_mass == 4
    assert lw.load(file, xacro_args={"mass": "5"}).total_mass == 10
    assert lw.load(file, xacro_args={"mass": 0.5}).total_mass == 1


def test_packages_are_searched_as_for_meshes(file, tmp_path):
    (tmp_path / "parts").rename(tmp_path / "elsewhere_parts")
    elsewhere = tmp_path / "src"
    elsewhere.mkdir()
    (tmp_path / "elsewhere_parts").rename(elsewhere / "parts")

    assert_facts(error_message(file), ".*'parts'.*package_dirs.*ROS_PACKAGE_PATH")
    assert lw.load(file, package_dirs=elsewhere).total_mass == 4


def test_argument_that_the_file_does_not_have_is_a_warning(file):
    with pytest.warns(lw.LinkworkWarning, match=r"xacro: .*'mas'"):
        lw.load(file, xacro_args={"mas": "5"})


def test_arguments_for_a_file_without_xacro_are_rejected():
    with pytest.raises(lw.ArgumentError, match=r"<text>.*xacro"):
        lw.load('<robot name="r"><link name="a"/></robot>', xacro_args={"a": "1"})


@pytest.mark.parametrize("argument", [["a"], {"a": None}, {1: "a"}])
def test_arguments_of_wrong_types_are_rejected(file, argument):
    with pytest.raises(lw.ArgumentError, match="xacro_args: "):
        lw.load(file, xacro_args=argument)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("${1/0}", "division by zero when evaluating expression '1/0'"),
        ("${nix}", "name 'nix' is not defined"),
        ("$(arg nix)", "Undefined substitution argument nix"),
        ("$(find nix)", "no package named 'nix'"),
        ("$(nix)", "Unknown substitution command [nix]"),
        ("${", "invalid expression: ${"),
        ("${(lambda f: f(f))(lambda f: f(f))}", "maximum recursion depth exceeded"),
        ("${().__class__}", "Use of invalid name(s)"),
    ],
)
def test_error_of_xacro_is_one_line(value, reason):
    message = error_message(text_with(value))

    assert message.startswith(f"<text>:1: xacro: {reason}")
    assert "\n" not in message
    assert "<class" not in message


def test_file_that_is_not_xml_is_rejected_with_its_line(file):
    file.write_text(ROBOT.replace("</robot>", ""))
    assert_facts(error_message(file), ".*:4: .*XML")
    file.write_text('<!DOCTYPE r [<!ENTITY a "b">]>' + ROBOT.partition("?>\n")[2])
    assert_facts(error_message(file), ".*DOCTYPE.*entities")


def test_lines_are_those_of_the_output_of_xacro(file, tmp_path):
    plain = f'<robot name="r" {SPACE}>\n<xacro:if value="true"><link name="a"/></xacro:if>\n'
    file.write_text(plain + '<link name="b"/><joint name="j" type="nix"/></robot>')
    printed = xacro.process_file(str(file)).toprettyxml(indent="  ").splitlines()
    line = next(n for n, text in enumerate(printed, 1) if 'type="nix"' in text)

    lines = error_message(file).splitlines()
    assert_facts(lines[1], rf"  robot\.urdf\.xacro \(expanded\):{line}: joint 'j': .*'nix'")


def test_messages_of_xacro_are_warnings(file):
    text = text_with("a").replace("<xacro:property ", "<xacro:property odd='1' ", 1)
    findings = read(text).findings

    assert [f.severity for f in findings] == ["warning"]
    assert "xacro: " in findings[0].text
    assert "odd" in findings[0].text
    assert "\x1b" not in findings[0].text


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (text_with("a"), True),
        (f'<robot name="r" {SPACE}><link name="a"/></robot>', False),
        (f'<robot name="r" {SPACE}><link name="${{1}}"/></robot>', True),
        (f'<robot name="r" {SPACE}><!-- <xacro:if/> ${{1}} --><link name="a"/></robot>', False),
        ('<robot name="r"><link name="${a}"/></robot>', False),
    ],
)
def test_documents_that_must_be_expanded(text, verdict):
    assert is_xacro(read_source(text)) is verdict


def test_threads_do_not_disturb_each_other(file):
    result: list[float] = []

    def load(mass: int) -> None:
        with warnings.catch_warnings():
            result.append(read(file, xacro_args={"mass": str(mass)}).model.total_mass - 2 * mass)

    threads = [threading.Thread(target=load, args=(mass,)) for mass in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert result == [0.0] * 8


def test_only_messages_of_xacro_are_captured_from_standard_error(monkeypatch, capsys):
    """Other threads may write to it at the same time."""
    original = xacro.process_doc

    def process(*args, **options):
        print("of another thread", file=sys.stderr)  # noqa: T201
        return original(*args, **options)

    monkeypatch.setattr(xacro, "process_doc", process)
    text = """<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
      <link name="${xacro.message('of the file') or 'base'}"/></robot>"""
    with pytest.warns(lw.LinkworkWarning, match="xacro: of the file") as messages:
        lw.load(text)
    assert "of another thread" not in str(messages[0].message)
    assert capsys.readouterr().err == "of another thread\n"
    assert xacro.sys is sys


def test_file_that_only_defines_macros_is_rejected_with_a_hint():
    assert_facts(error_message(MACROS), ".*macros, but no links.*load the file that uses")


@pytest.mark.parametrize(
    "inside",
    [
        '<xacro:macro name="body"><link name="a"/></xacro:macro><body/>',
        '<xacro:include filename="{file}"/><body name="a" mass="1"/>',
    ],
)
def test_macro_without_the_prefix_creates_no_links(file, inside):
    """Old versions of xacro expanded it, current versions do not."""
    included = file.parents[1] / "parts/inc/macros.xacro"
    message = error_message(f'<robot name="r" {SPACE}>{inside.format(file=included)}</robot>')

    assert_facts(message, "(?s).*no links")


def test_unexpanded_elements_of_xacro_are_warnings():
    text = f"""<robot name="r" {SPACE}><include filename="${{'a'}}.xacro"/>
      <xacro:macro name="box"><inertia ixx="1"/></xacro:macro>
      <link name="a"><box/></link></robot>"""

    include, box = (finding.text for finding in read(text).findings)
    assert_facts(include, "unknown element <include> in <robot>")
    assert_facts(box, "unknown element <box> in <link>")


@pytest.mark.parametrize(
    ("included", "facts"),
    [
        ('<link name="${nix}"/>', ".*'nix' is not defined.* \\(in .*macros.xacro\\)"),
        ("\n<link>", ".*line 2.* \\(in .*macros.xacro\\)"),
        (
            '<xacro:macro name="m"><link name="${nix}"/></xacro:macro><xacro:m/>',
            ".*'nix' is not defined.* \\(in macro 'm', in .*macros.xacro\\)",
        ),
    ],
)
def test_error_in_an_included_file_is_reported_with_its_position(file, included, facts):
    macros = file.parents[1] / "parts/inc/macros.xacro"
    macros.write_text(f"<robot {SPACE}>{included}</robot>")

    assert_facts(error_message(file), facts)


@pytest.mark.parametrize(
    ("element", "tag"),
    [
        ('<macro name="m" params="x"><mass value="${x}"/></macro>', "macro"),
        ('<property name="x" value="1"/><mass value="${x}"/>', "property"),
    ],
)
def test_undefined_name_is_explained_by_an_element_without_the_prefix(file, element, tag):
    text = f'<robot name="r" {SPACE}>{element}<link name="a"/></robot>'
    included = file.parents[1] / "parts/inc/macros.xacro"
    included.write_text(text)

    for source in (text, file):
        assert_facts(error_message(source), f".*'x' is not defined.*<{tag}> only as <xacro:{tag}>")


def test_missing_namespace_is_rejected_with_a_hint():
    message = error_message(
        '<robot name="r"><xacro:if value="1"><link name="a"/></xacro:if></robot>'
    )
    assert_facts(message, ".*unbound prefix.*xmlns:xacro=")


def test_message_of_several_lines_is_one_warning(file):
    text = text_with("a").replace(SPACE, f'{SPACE} xmlns:b="urn:b"')
    included = file.parents[1] / "parts/inc/macros.xacro"
    included.write_text(f'<robot {SPACE} xmlns:b="urn:c"/>')
    properties = f'<xacro:include filename="{included}"/><xacro:property name="pi" value="3"/>'
    findings = read(text.replace("<link", f"{properties}<link")).findings

    assert_facts(findings[0].text, "xacro: inconsistent.*xmlns:b.*urn:b.*urn:c.*macros.xacro")
    assert_facts(findings[1].text, "xacro: redefining global symbol: pi when processing file")
    assert len(findings) == 2


def test_macros_of_other_formats_need_no_links():
    pytest.importorskip("mujoco")
    body = '<body><joint name="${name}"/><geom size=".1"/></body>'
    macro = f'<xacro:macro name="part" params="name">{body}</xacro:macro>'
    text = f'<mujoco {SPACE}>{macro}<worldbody><xacro:part name="j"/></worldbody></mujoco>'

    assert [joint.name for joint in lw.load(text).joints] == ["j"]


def test_package_is_found_by_the_name_in_its_manifest(file, tmp_path):
    """The folder of a repository often has another name."""
    folder = tmp_path / "Parts-ROS2"
    (tmp_path / "parts").rename(folder)
    (folder / "package.xml").write_text("<package><name>parts</name></package>")

    assert lw.load(file, package_dirs=tmp_path).total_mass == 4
    assert lw.load(file, package_dirs=folder).total_mass == 4
    inside = folder / "inc/robot.xacro"
    inside.write_text(ROBOT)
    assert lw.load(inside).total_mass == 4
