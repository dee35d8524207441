"""Invalid URDF files.

A case changes the valid file of `tests.support.urdf_files` in one respect. `load` must report
exactly one error, with the location and the facts of the case. Files that load with warnings are in
`test_doubtful_inputs.py`.
"""

from __future__ import annotations

import locale
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.messages import assert_facts
from tests.support.urdf_files import (
    GOOD,
    MASS,
    before_end,
    chained,
    changed,
    error_lines,
    error_message,
    loaded,
)

AXIS = '<axis xyz="0 1 0"/>'
HINGE_ORIGIN = '<origin xyz="1 0 0" rpy="0 0 0"/>'
LIMIT = '<limit lower="-1" upper="1" effort="5" velocity="2"/>'
VALUE = 'value="2"'

A_TO_B = '<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>'
B_TO_A = '<joint name="k" type="fixed"><parent link="b"/><child link="a"/></joint>'
CLOSING = '<joint name="closing" type="fixed"><parent link="b"/><child link="arm"/></joint>'
SECOND_HINGE = '<joint name="hinge" type="fixed"><parent link="arm"/><child link="b"/></joint>'
KNOWN_TYPES = (
    "ball, continuous, fixed, floating, helical, planar, prismatic, revolute, revolute_cos_sin, "
    "spherical, universal"
)

# (row and what is wrong, text, a pattern of the facts in the only message)
ERRORS = [
    ("01 empty string", "", "<text>:1: .*empty"),
    ("01 blanks only", " \n\t\n", "<text>:1: .*empty"),
    ("04 no links", '<robot name="r">\n</robot>', "<text>:1: .*no links"),
    (
        "another root element",
        "<!-- a machine -->\n<machine/>",
        "<text>:2: .*<robot>.*<machine>",
    ),
    (
        "two links with one name",
        before_end('<link name="arm"/>'),
        "<text>:20: link 'arm': .*taken.*<text>:3",
    ),
    (
        "two root links with one name",
        before_end('<link name="base"/>'),
        "<text>:20: link 'base': .*taken.*<text>:2",
    ),
    (
        "two joints with one name",
        before_end('<link name="b"/>', SECOND_HINGE),
        "<text>:21: joint 'hinge': .*taken.*<text>:13",
    ),
    (
        "parent does not exist",
        changed('<parent link="base"/>', '<parent link="bse"/>'),
        "<text>:13: joint 'hinge': .*link.*'bse'.*'base'",
    ),
    (
        "child does not exist",
        changed('<child link="arm"/>', '<child link="arms"/>'),
        "<text>:13: joint 'hinge': .*link.*'arms'.*'arm'",
    ),
    (
        "no parent",
        changed('    <parent link="base"/>\n', ""),
        "<text>:13: joint 'hinge': .*<parent>",
    ),
    (
        "parent is its child",
        changed('<parent link="base"/>', '<parent link="arm"/>'),
        "<text>:13: joint 'hinge': .*arm -> arm",
    ),
    (
        "cycle without a root",
        f'<robot name="r">\n<link name="a"/>\n<link name="b"/>\n{A_TO_B}\n{B_TO_A}\n</robot>',
        "<text>:5: joint 'k': .*a -> b -> a",
    ),
    (
        "cycle beside a tree",
        before_end('<link name="a"/>', '<link name="b"/>', A_TO_B, B_TO_A),
        "<text>:23: joint 'k': .*a -> b -> a",
    ),
    (
        "two parents",
        before_end(chained("b", "base"), CLOSING),
        ("<text>:21: link 'arm': .*2 joints.*'hinge' .<text>:13.*'closing' .<text>:21"),
    ),
    (
        "two roots",
        before_end('<link name="other"/>'),
        "<text>:20: .*2 links.*'base' .<text>:2.*'other' .<text>:20",
    ),
    (
        "unknown type",
        changed('"revolute"', '"screw"'),
        f"<text>:13: joint 'hinge': .*'screw'.*{KNOWN_TYPES}",
    ),
    (
        "no type",
        changed(' type="revolute"', ""),
        "<text>:13: joint 'hinge': .*'type'",
    ),
    (
        "axis zero",
        changed(AXIS, '<axis xyz="0 0 0"/>'),
        "<text>:17: joint 'hinge': axis.*zero",
    ),
    (
        "axis nan",
        changed(AXIS, '<axis xyz="0 nan 0"/>'),
        "<text>:17: joint 'hinge': axis xyz: 'nan'.*finite",
    ),
    (
        "axis of two numbers",
        changed(AXIS, '<axis xyz="0 1"/>'),
        "<text>:17: joint 'hinge': axis xyz: .*3.*2.*'0 1'",
    ),
    (
        "negative mass",
        changed(VALUE, 'value="-2"'),
        "<text>:4: link 'arm': mass -2",
    ),
    *(
        (
            f"{row} mass {value}",
            changed(VALUE, f'value="{value}"'),
            f"<text>:6: link 'arm': mass value: '{value}'.*{problem}",
        )
        for row, value, problem in (
            ("25", "nan", "finite"),
            ("26", "inf", "finite"),
            ("27", "heavy", "decimal"),
            ("28", "1,5", "decimal"),
            ("67", "0x10", "decimal"),
            ("68", "1.0kg", "decimal"),
            ("69", "1_0", "decimal"),
        )
    ),
    (
        "ixx nan",
        changed('ixx="0.3"', 'ixx="nan"'),
        "<text>:7: link 'arm': inertia ixx: 'nan'.*finite",
    ),
    (
        "izz missing",
        changed(' izz="0.5"', ""),
        "<text>:7: link 'arm': <inertia>.*'izz'",
    ),
    (
        "lower above upper",
        changed('lower="-1"', 'lower="3"'),
        "<text>:18: joint 'hinge': .*lower 3.*upper 1",
    ),
    (
        "lower nan",
        changed('lower="-1"', 'lower="nan"'),
        "<text>:18: joint 'hinge': limit lower: 'nan'.*finite",
    ),
    (
        "mimic of an unknown joint",
        before_end(chained("a", "arm", '<mimic joint="knee"/>')),
        "<text>:20: joint 'a_joint': .*'knee'.*hinge",
    ),
    (
        "mimic of itself",
        changed(LIMIT, f'{LIMIT}<mimic joint="hinge"/>'),
        "<text>:13: joint 'hinge': mimics itself",
    ),
    (
        "two joints mimic each other",
        before_end(
            chained("a", "arm", '<mimic joint="b_joint"/>'),
            chained("b", "arm", '<mimic joint="a_joint"/>'),
        ),
        "<text>:20: joint 'a_joint': .*a_joint -> b_joint -> a_joint",
    ),
    (
        "origin nan",
        changed(HINGE_ORIGIN, '<origin xyz="1 nan 0"/>'),
        "<text>:14: joint 'hinge': origin xyz: 'nan'.*finite",
    ),
    (
        "origin of four numbers",
        changed(HINGE_ORIGIN, '<origin xyz="1 0 0 0"/>'),
        "<text>:14: joint 'hinge': origin xyz: .*3.*4.*'1 0 0 0'",
    ),
    (
        "origin with text",
        changed(HINGE_ORIGIN, '<origin xyz="1 up 0"/>'),
        "<text>:14: joint 'hinge': origin xyz: 'up'",
    ),
    ("48 link without name", before_end("<link/>"), "<text>:20: <link>.*'name'"),
    ("49 empty name", before_end('<link name=""/>'), "<text>:20: <link>.*empty 'name'"),
    (
        "unexpanded xacro",
        changed(VALUE, 'value="${m}"'),
        (
            r"<text>:6: link 'arm': value='\$\{m\}'.*"
            r"`xacro robot\.xacro > robot\.urdf`"
        ),
    ),
    (
        "deep nesting",
        before_end("<a>" * 20_000 + "</a>" * 20_000),
        "<text>:20: .*nested",
    ),
    (
        "huge angle",
        changed('rpy="0 0 0"', 'rpy="1e300 0 0"'),
        "<text>:14: joint 'hinge': origin rpy: .*angle",
    ),
    (
        "two inertials",
        changed("    <inertial>", f"    {MASS}\n    <inertial>"),
        ("<text>:5: link 'arm': .*2 <inertial>.*lines 4, 5.*repair=True"),
    ),
    ("72 NUL byte", changed('"lamp"', '"lamp\0"'), "<text>:1: NUL byte"),
]


def test_valid_file_loads_without_warnings():
    model, messages = loaded(GOOD)

    assert model.link_names == ("base", "arm")
    assert model.joint_names == ("hinge",)
    assert messages == []


@pytest.mark.parametrize(("text", "facts"), [e[1:] for e in ERRORS], ids=[e[0] for e in ERRORS])
def test_invalid_file_has_one_error(text, facts):
    assert_facts(error_message(text), facts)


@pytest.mark.parametrize(
    ("text", "line"),
    [("this is no robot\nat all", 1), (GOOD[:400], 15), (changed("</robot>\n", ""), 20)],
    ids=["02 not XML", "03 truncated in a tag", "03 truncated before the end"],
)
def test_malformed_xml_is_reported_with_line_and_column(text, line):
    message = error_message(text)

    assert re.match(rf"<text>:{line}: .*XML.*column \d+", message)


def test_error_shows_the_start_of_a_document_that_is_not_xml():
    assert error_message("no robot\n").endswith("'no robot\\n'")


def test_errors_state_the_path_and_line(tmp_path):
    file = tmp_path / "lamp.urdf"
    file.write_text(changed(VALUE, 'value="heavy"'), encoding="utf-8")

    facts = re.escape(f"{file}:6: link 'arm': mass value: 'heavy'")
    assert_facts(error_message(file), facts)
    assert_facts(error_message(str(file)), facts)


def test_all_errors_of_a_file_are_reported_in_the_order_of_lines():
    text = changed(VALUE, 'value="heavy"', AXIS, '<axis xyz="0 0 0"/>', 'izz="0.5"', 'izz="?"')

    facts = [
        "error: <text>:6: link 'arm': mass value: 'heavy'",
        "error: <text>:7: link 'arm': inertia izz: '[?]'",
        "error: <text>:17: joint 'hinge': axis.*zero",
    ]
    assert_facts(error_lines(text), facts)


@pytest.fixture
def german_numbers(tmp_path, monkeypatch):
    """A German locale, whose decimal separator is a comma."""
    before = locale.setlocale(locale.LC_NUMERIC)
    names = ["de_DE.UTF-8", "de_DE.utf8", "de_DE", "German_Germany.1252"]
    localedef = shutil.which("localedef")
    if localedef and os.name == "posix":
        created = tmp_path / "xx_german"
        subprocess.run([localedef, "-i", "de_DE", "-f", "UTF-8", str(created)], check=False)
        if created.exists():
            monkeypatch.setenv("LOCPATH", str(tmp_path))
            names.insert(0, created.name)
    for name in names:
        try:
            locale.setlocale(locale.LC_NUMERIC, name)
        except locale.Error:
            continue
        assert locale.localeconv()["decimal_point"] == ","
        yield
        locale.setlocale(locale.LC_NUMERIC, before)
        return
    pytest.skip("no German locale here")


@pytest.mark.usefixtures("german_numbers")
def test_numbers_do_not_depend_on_the_locale():
    assert_facts(
        error_message(changed(VALUE, 'value="1,5"')), "<text>:6: link 'arm': mass value: '1,5'"
    )

    model, messages = loaded(changed(VALUE, 'value="1.5"'))
    assert model.link("arm").inertia.mass == 1.5
    assert messages == []


def test_entity_expansion_attack_is_rejected():
    declared = "".join(
        f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' if n else '<!ENTITY a0 "boom">' for n in range(12)
    )
    text = f"<!DOCTYPE robot [{declared}]>\n" + GOOD.replace('"lamp"', '"&a11;"')

    assert_facts(error_message(text), "<text>:1: .*DOCTYPE.*entities")


def test_external_entity_is_rejected_without_reading_its_file(tmp_path: Path):
    secret = tmp_path / "secret.txt"
    secret.write_text("hunter2", encoding="utf-8")
    declared = f'<!DOCTYPE robot [<!ENTITY x SYSTEM "{secret.as_uri()}">]>'

    for text in (changed("</robot>", "&x;</robot>"), changed('"lamp"', '"&x;"')):
        message = error_message(f"<!-- first -->\n{declared}\n{text}")
        assert_facts(message, "<text>:2: .*DOCTYPE.*entities")
        assert "hunter2" not in message
