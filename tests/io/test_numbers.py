"""Numbers in files are decimal, finite, and independent of the locale."""

from __future__ import annotations

import html
import re
import warnings

import pytest
from tests.support.messages import assert_facts
from tests.support.urdf_files import before_end, chained, changed, error_message, loaded

from linkwork import LinkworkWarning, Model, ParseError, load

INERTIA = 'ixx="0.3" ixy="0" ixz="0" iyy="0.4" iyz="0" izz="0.5"'
HUGE_INERTIA = " ".join(f'{name}="1e308"' for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
COM = '<origin xyz="0 0 0.5"/>'
HINGE_ORIGIN = '<origin xyz="1 0 0" rpy="0 0 0"/>'


def with_mass(value: str) -> str:
    return changed('<mass value="2"/>', f'<mass value="{value}"/>')


@pytest.mark.parametrize(
    ("written", "number"),
    [
        (".5", 0.5),
        ("5.", 5.0),
        ("+1", 1.0),
        ("1e3", 1000.0),
        ("1E+3", 1000.0),
        ("+.5e-3", 0.0005),
        ("007", 7.0),
        (" 1 ", 1.0),
        ("0.1", 0.1),
        ("1e-300", 1e-300),
        ("0." + "1" * 1000, 0.1111111111111111),
        ("4.9e-324", 5e-324),
        ("&#49;&#46;5", 1.5),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else None,
)
def test_decimal_number_is_rounded_to_the_nearest_float(written, number):
    assert loaded(with_mass(written))[0].link("arm").inertia.mass == number


@pytest.mark.parametrize("written", ["0", "-0", "0e99", "1e-400"])
def test_mass_of_zero_or_underflow_is_a_warning(written):
    model, messages = loaded(with_mass(written))

    assert model.link("arm").inertia.mass == 0
    assert_facts(messages, ["<text>:3: link 'arm': .*rotational inertia.*no mass"])


@pytest.mark.parametrize(
    "written",
    [
        "\uff11",
        "٣",
        "²",
        "∞",
        "0x10",
        "0b1",
        "1_0",
        "1f",
        "1d3",
        "1,5",
        "--1",
        "+-1",
        ".",
        "+",
        "e5",
        "1e",
        "1e+",
        "1e5.5",
        "1.2.3",
        "1;",
        "1/2",
        "True",
        "None",
        "1j",
    ],
)
def test_other_notations_of_numbers_are_rejected(written):
    expected = f"<text>:6: link 'arm': mass value: {written!r} "
    assert error_message(with_mass(written)).startswith(expected)


@pytest.mark.parametrize("written", ["nan", "NaN", "-nan", "inf", "-inf", "+Infinity", "INF"])
def test_numbers_that_are_not_finite_are_rejected(written):
    facts = f"<text>:6: link 'arm': mass value: {re.escape(repr(written))}.*finite"
    assert_facts(error_message(with_mass(written)), facts)


@pytest.mark.parametrize("written", ["1e999", "-1e999", "1" * 400])
def test_number_that_overflows_is_too_large(written):
    shown = written if len(written) < 60 else "1" * 57 + "..."
    facts = f"<text>:6: link 'arm': mass value: {re.escape(repr(shown))}.*large"
    assert_facts(error_message(with_mass(written)), facts)


@pytest.mark.parametrize(
    ("written", "count"), [("", 0), ("  ", 0), ("1 e3", 2), ("1 2", 2), ("1&#10;2&#9;3", 3)]
)
def test_wrong_count_of_numbers_is_reported(written, count):
    seen = html.unescape(written)
    facts = f"<text>:6: link 'arm': mass value: .*1 .*{count} .*{re.escape(repr(seen))}"
    assert_facts(error_message(with_mass(written)), facts)


@pytest.mark.parametrize("blank", ["\u00a0", "\u2009", "\u3000", "\u0085"])
def test_unicode_white_space_does_not_separate_numbers(blank):
    text = changed(HINGE_ORIGIN, f'<origin xyz="1{blank}0 0 0"/>')

    expected = f"<text>:14: joint 'hinge': origin xyz: {f'1{blank}0'!r} "
    assert error_message(text).startswith(expected)


@pytest.mark.parametrize("name", ["lower", "upper", "effort", "velocity"])
def test_limit_that_is_not_a_number_is_rejected(name):
    old = {"lower": "-1", "upper": "1", "effort": "5", "velocity": "2"}[name]
    text = changed(f'{name}="{old}"', f'{name}="none"')

    assert_facts(error_message(text), f"<text>:18: joint 'hinge': limit {name}: 'none'")


@pytest.mark.parametrize("axis", ["5e-324 0 0", "1e308 0 0", "1e-200 0 0"])
def test_axis_of_any_nonzero_length_is_normalized(axis):
    model, (message,) = loaded(changed('"0 1 0"', f'"{axis}"'))

    assert model.joint("hinge").axis == (1, 0, 0)
    assert "scaled" in message


def test_axis_that_underflows_to_zero_is_rejected():
    message = error_message(changed('"0 1 0"', '"1e-400 0 0"'))
    assert_facts(message, "<text>:17: joint 'hinge': axis.*zero")


def far(name: str, parent: str, kind: str = "fixed") -> str:
    return chained(name, parent, '<origin xyz="1e308 1e308 1e308" rpy="1 1 1"/>', kind)


@pytest.mark.parametrize(
    "text",
    [
        changed(INERTIA, HUGE_INERTIA, COM, '<origin rpy="1 2 3"/>'),
        changed(INERTIA, HUGE_INERTIA.replace('iyy="', 'iyy="-')),
        changed(COM, '<origin xyz="1e200 0 0"/>'),
        changed(COM, '<origin xyz="1e308 1e308 1e308"/>', 'value="2"', 'value="1e308"'),
        before_end(far("a", "arm"), far("b", "a"), far("c", "b")),
        before_end(far("a", "arm", "revolute"), far("b", "a", "prismatic")),
        changed('"revolute"', '"helical"', "<axis ", '<axis pitch="1e308" '),
        before_end(
            chained("a", "arm", '<mimic joint="hinge" multiplier="1e308"/>'),
            chained("b", "arm", '<mimic joint="a_joint" multiplier="1e308" offset="-1e308"/>'),
        ),
        before_end(*(chained(x, "arm").replace('"1"', '"1e308"') for x in "abc")),
        changed('value="2"', 'value="1e-320"', INERTIA, INERTIA.replace("0.", "1e-32")),
    ],
    ids=[
        "turned inertia",
        "negative inertia",
        "far centre",
        "far heavy centre",
        "far fixed links",
        "far moving links",
        "pitch",
        "mimic",
        "masses",
        "tiny",
    ],
)
@pytest.mark.parametrize("repair", [False, True])
def test_extreme_numbers_are_loaded_or_rejected_without_other_errors(text, repair):
    """No overflow warning, no error of linear algebra; a loaded robot can be printed."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", LinkworkWarning)
        try:
            model = load(text, repair=repair)
        except ParseError:
            return
        assert isinstance(model, Model)
        assert repr(model).startswith("<Model 'lamp'")
