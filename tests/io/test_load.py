"""Warnings and errors of `load`: one warning per file, or one error with all findings."""

from __future__ import annotations

import inspect
import pickle
import warnings
from pathlib import Path

import pytest
from tests.support.messages import assert_facts
from tests.support.urdf_files import GOOD, before_end, changed, error_lines, loaded

from linkwork import Finding, LinkworkWarning, ParseError, check, dump_urdf, load
from linkwork.errors import SourceLocation
from linkwork.io.load import read

TWO_DOUBTS = changed(' name="lamp"', "", ' effort="5"', "")
TWO_ERRORS = changed('value="2"', 'value="?"', '"0 1 0"', '"0 0 0"')
UNNAMED = "<text>:1: <robot>.*name.*'robot'"
NO_EFFORT = "<text>:18: joint 'hinge': <limit>.*'effort'.*unlimited"


def test_warning_points_at_the_line_of_the_caller():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        current = inspect.currentframe()
        assert current is not None
        line = current.f_lineno + 1
        load(TWO_DOUBTS)

    (warning,) = caught
    assert (warning.filename, warning.lineno) == (__file__, line)


def test_warning_lists_each_finding_once():
    with pytest.warns(LinkworkWarning) as caught:
        load(TWO_DOUBTS)

    (warning,) = caught
    lines = str(warning.message).splitlines()
    assert_facts(lines, ["2 warnings$", f"  {UNNAMED}", f"  {NO_EFFORT}"])


def test_warning_with_one_finding_has_no_headline():
    with pytest.warns(LinkworkWarning) as caught:
        load(changed(' name="lamp"', ""))

    assert_facts(str(caught[0].message), UNNAMED)
    (finding,) = caught[0].message.findings  # pyright: ignore
    assert finding == Finding("warning", "", finding.text, SourceLocation("<text>", 1))


def test_error_lists_every_reason():
    with pytest.raises(ParseError) as caught:
        load(TWO_ERRORS)

    facts = [
        "2 errors$",
        "  <text>:6: link 'arm': mass value: '[?]'",
        "  <text>:17: joint 'hinge': axis.*zero",
    ]
    assert_facts(str(caught.value).splitlines(), facts)


def test_error_lists_at_most_twenty_findings_and_stores_all():
    with pytest.raises(ParseError) as caught:
        load(before_end(*["<link/>"] * 30))

    lines = str(caught.value).splitlines()
    assert (lines[0], len(lines), lines[-1]) == ("30 errors", 22, "  ... and 10 more")
    assert len(caught.value.findings) == 30


def test_error_is_a_value_error_and_survives_pickling():
    with pytest.raises(ValueError, match="2 errors") as caught:
        load(TWO_ERRORS)

    copy = pickle.loads(pickle.dumps(caught.value))
    assert type(copy) is ParseError
    assert copy.findings == caught.value.findings  # pyright: ignore
    assert str(copy) == str(caught.value)


def test_warning_survives_pickling():
    warning = LinkworkWarning("text", [Finding("warning", "", "text")])

    copy = pickle.loads(pickle.dumps(warning))

    assert (str(copy), copy.findings) == ("text", warning.findings)


def test_strict_rejects_a_file_with_only_warnings():
    facts = [f"warning: {UNNAMED}", f"warning: {NO_EFFORT}"]
    assert_facts(error_lines(TWO_DOUBTS, strict=True), facts)


def test_read_neither_raises_nor_warns_for_content():
    for text in ("", "<", "<robot/>", TWO_ERRORS, TWO_DOUBTS, "<!DOCTYPE a [ ]><a/>"):
        reading = read(text)
        assert reading.findings
        assert (reading.model is None) == (reading.findings[0].severity == "error")


def test_notes_are_ignored_even_when_strict():
    text = changed('lower="-1"', 'lower="0.5"')
    model, messages = loaded(text, strict=True)

    assert messages == []
    messages = [str(finding) for finding in check(model)]
    assert_facts(messages, ["<text>:13: joint 'hinge': .*0 .*limits 0.5 to 1"])


def test_load_changes_neither_warning_filters_nor_the_working_folder(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    filters = list(warnings.filters)

    load(GOOD)

    assert (list(warnings.filters), Path.cwd()) == (filters, tmp_path)


def test_written_robot_is_read_back_without_warnings(tmp_path: Path):
    model, _ = loaded(GOOD)
    file = tmp_path / "lamp.urdf"

    dump_urdf(model, file)

    assert loaded(file) == (model, [])
