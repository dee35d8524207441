"""The table of formats: every row can be read, written and recognized."""

from __future__ import annotations

import pytest

import linkwork as lw
from linkwork.errors import ArgumentError
from linkwork.io.formats import FORMATS, WRITTEN, endings, format_to_write
from linkwork.io.xml.documents import format_of, read_source


@pytest.mark.parametrize("name", FORMATS)
def test_a_converted_robot_is_recognized_and_read_by_its_format(name, tmp_path):
    model = lw.load("arm")
    text = FORMATS[name].converter()(model).text
    file = tmp_path / f"arm{FORMATS[name].endings[0]}"
    file.write_text(text)

    for source in (read_source(text), read_source(file)):
        assert format_of(source) == name
        robot = FORMATS[name].reader()(source).model
        assert set(model.link_names) <= {*robot.link_names, *robot.frame_names}


def test_endings_belong_to_one_format():
    assert len(set(endings())) == len(endings())


def test_the_longest_ending_decides():
    assert format_to_write("cell.wc.xml", None) == "workcell"
    assert format_to_write("ROBOT.XML", None) == "mjcf"
    assert format_to_write("robot.xml", "sdf") == "sdf"


@pytest.mark.parametrize("file", ["robot.usdc", "robot.xacro", "robot"])
def test_an_ending_that_cannot_be_written_is_an_error(file):
    with pytest.raises(ArgumentError, match=r"\.wc\.xml"):
        format_to_write(file, None)


def test_an_unknown_format_is_an_error_with_a_suggestion():
    with pytest.raises(ArgumentError, match="urdf"):
        format_to_write("robot.urdf", "urfd")
    assert set(WRITTEN) == {*FORMATS, "workcell"}
