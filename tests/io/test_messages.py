"""Messages about invalid files: severity, path and line of all findings."""

from __future__ import annotations

import pickle
import re
import tracemalloc
import warnings

import pytest
from tests.support.messages import assert_facts
from tests.support.named_robots import only_bundled
from tests.support.urdf_files import GOOD, before_end, changed, loaded

import linkwork as lw
from linkwork import Finding, LinkworkWarning, SourceError, load
from linkwork.compat.adam import KinDynComputations
from linkwork.errors import LinkworkError, MissingFileError, SourceLocation, escaped, list_findings

UNPHYSICAL = changed('izz="0.5"', 'izz="5"')
WHY = "unphysical inertia.*0.3, 0.4, 5"


def message(source, **options) -> str:
    with pytest.raises(LinkworkError) as caught:
        load(source, **options)
    return str(caught.value)


def test_errors_and_warnings_are_listed_with_their_severity():
    text = changed('type="revolute"', 'type="revolut"', 'upper="1"', 'uper="1"', text=UNPHYSICAL)

    facts = [
        "1 error, 2 warnings$",
        "  <text>:13: error: joint 'hinge': .*'revolut'.*'revolute'",
        f"  <text>:3: warning: link 'arm': {WHY}",
        "  <text>:18: warning: joint 'hinge': <limit>.*'uper'.*'upper'",
    ]
    assert_facts(message(text).splitlines(), facts)


def test_single_warning_as_an_error_is_labeled_as_warning():
    assert_facts(message(UNPHYSICAL, strict=True), f"<text>:3: warning: link 'arm': {WHY}")


def test_errors_alone_have_no_label():
    text = changed('value="2"', 'value="two"', 'izz="0.5"', 'izz="half"')

    facts = [
        "2 errors$",
        "  <text>:6: link 'arm': mass value: 'two'",
        "  <text>:7: link 'arm': inertia izz: 'half'",
    ]
    assert_facts(message(text).splitlines(), facts)


def test_path_is_stated_once_for_several_findings(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(before_end('<link name="arm"/>', '<link name="base"/>'))

    lines = message(path).splitlines()

    assert lines[0] == f"2 errors in {path}"
    assert_facts(lines[1], r"  robot\.urdf:20: link 'arm': .*taken.*robot\.urdf:3")
    assert str(tmp_path) not in "\n".join(lines[1:])


def test_single_finding_has_the_complete_path(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(before_end('<link name="arm"/>'))

    assert message(path).startswith(f"{path}:20: link 'arm': ")


def test_a_missing_file_is_a_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        load(tmp_path / "robot.urdf")

    error = caught.value
    assert isinstance(error, SourceError)
    assert error.errno == 2
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is MissingFileError
    assert (str(again), again.errno) == (str(error), 2)
    assert repr(str(tmp_path / "robot.urdf")) in str(error)


REAL = "pip install robot_descriptions, or example-robot-data"
NAMES = "arm, cartpole, double_pendulum, humanoid, pendulum, quadrotor, quadruped"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("arm.urdf", "'arm' "),
        ("quadrupd", "robot 'quadruped'"),
        ("Humanoid", "robot 'humanoid'"),
        ("nowhere.urdf", "$"),
    ],
)
def test_error_for_a_missing_file_suggests_robot_names(name, hint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    only_bundled(monkeypatch)

    assert_facts(message(name), f"no file {re.escape(repr(name))}.*{hint}")


def test_error_for_a_missing_file_suggests_robot_packages(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    only_bundled(monkeypatch)

    packages = "pip install example-robot-data, or robot_descriptions"
    assert_facts(message("panda"), f"no file 'panda'.*{NAMES}.*{packages}")


@pytest.mark.parametrize("function", [lw.robots.load, lw.robots.path])
def test_error_for_an_unknown_robot_suggests_packages(function):
    with pytest.raises(lw.NameNotFoundError) as caught:
        function("panther")

    assert_facts(str(caught.value), f".*robot.*'panther'.*{NAMES}.*{REAL}")


def test_small_file_takes_little_memory(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(GOOD)
    load(path)  # so that modules are there
    tracemalloc.start()
    try:
        load(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 8 * 1024 * 1024


@pytest.mark.parametrize("value", ["nan nan nan", "0 0", "up", "0 0 inf"])
def test_invalid_axis_of_a_fixed_joint_is_a_warning(value):
    fixed = changed('type="revolute"', 'type="fixed"')
    model, messages = loaded(changed('xyz="0 1 0"', f'xyz="{value}"', text=fixed))

    assert model == loaded(fixed)[0]
    assert messages
    assert_facts(messages, ["<text>:17: joint 'hinge': axis xyz: .*ignored.*fixed"] * len(messages))


def test_warnings_of_loading_point_at_the_calling_line():
    for call in (load, KinDynComputations):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(UNPHYSICAL)
        places = {warning.filename for warning in caught if warning.category is LinkworkWarning}
        assert places == {__file__}, call


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a\nerror: b", r"a\nerror: b"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x9b31m", r"\x9b31m"),
        ("a\u202eb", r"a\u202eb"),
        ("Gelenk_ä_关节", "Gelenk_ä_关节"),
        ("back\\slash", "back\\slash"),
    ],
)
def test_control_characters_in_names_are_escaped(name, shown):
    finding = Finding("error", name, name, SourceLocation(name, 3))

    assert escaped(name) == shown
    assert str(finding) == f"{shown}:3: {shown}: {shown}"
    assert list_findings([finding, finding]).count("\n") == 2


def test_line_breaks_in_names_are_escaped():
    names = ("a&#10;b", "c&#x85;d")
    links = "".join(f'<link name="{name}"/>' for name in names)
    text_of_error = message(f'<robot name="r">{links}{links}</robot>')

    assert len(text_of_error.splitlines()) == 3
    assert text_of_error.replace("\n", "").isprintable()
