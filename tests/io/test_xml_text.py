"""From bytes to elements: encodings, declarations, entities, line numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.messages import assert_facts
from tests.support.urdf_files import GOOD, before_end, changed, loaded, refusal

UMLAUT = GOOD.replace('"lamp"', '"Lämpchen"')
BROKEN = changed('<mass value="2"/>', '<mass value="?"/>')  # on line 6
ENTITIES = '[<!ENTITY x "seven">]'
REFUSED = "DOCTYPE"


def declared(encoding: str, text: str = UMLAUT) -> str:
    return f'<?xml version="1.0" encoding="{encoding}"?>\n{text}'


@pytest.mark.parametrize(
    "data",
    [
        UMLAUT.encode(),
        UMLAUT.encode("utf-8-sig"),
        UMLAUT.encode("utf-16"),
        "\ufeff".encode("utf-16-be") + UMLAUT.encode("utf-16-be"),
        UMLAUT.encode("utf-32"),
        declared("UTF-8").encode(),
        declared("utf-16").encode("utf-16"),
        declared("iso-8859-1").encode("latin-1"),
        declared("latin1").replace('"', "'", 4).encode("latin-1"),
        declared("windows-1252").encode("cp1252"),
        declared("koi8-r", GOOD).encode("koi8-r"),
    ],
    ids=lambda data: data[:24].decode("latin-1"),
)
def test_bytes_are_decoded_by_their_mark_or_declaration(data):
    model, said = loaded(data)

    assert model.name in ("Lämpchen", "lamp")
    assert said == []


def test_file_is_decoded_as_bytes_are(tmp_path: Path):
    file = tmp_path / "lamp.urdf"
    file.write_bytes(declared("iso-8859-1").encode("latin-1"))

    assert loaded(file)[0].name == "Lämpchen"


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1", "klingon", "rot13"])
def test_declared_encoding_of_a_text_means_nothing(encoding):
    """A str is decoded already."""
    assert loaded(declared(encoding))[0].name == "Lämpchen"


def test_latin_1_that_calls_itself_utf_8_is_refused():
    said = refusal(declared("utf-8").encode("latin-1"))
    assert_facts(said, "<text>:2: .*0xe4.*utf-8")


def test_latin_1_without_declaration_is_refused():
    assert_facts(refusal(UMLAUT.encode("latin-1")), "<text>:1: .*0xe4.*utf-8")


def test_utf_16_without_a_mark_is_refused():
    assert refusal(GOOD.encode("utf-16-le")) == "<text>:1: NUL byte"
    assert refusal(GOOD.encode("utf-16-be")) == "<text>:1: NUL byte"


def test_utf_16_that_stops_in_the_middle_is_refused():
    assert re.match(r"<text>:\d+: .*utf-16", refusal(UMLAUT.encode("utf-16")[:-1]))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "cp037"])
def test_plain_letters_that_call_themselves_something_wide_are_refused(encoding):
    assert refusal(declared(encoding, GOOD).encode("ascii")).startswith("<text>:")


@pytest.mark.parametrize(
    "encoding",
    [
        "klingon",
        "unicode_escape",
        "raw_unicode_escape",
        "rot13",
        "rot_13",
        "base64",
        "zip",
        "bz2",
        "hex",
        "uu",
        "quopri",
        "idna",
        "punycode",
        "undefined",
        "utf-7",
        "aliases",
    ],
)
def test_codec_that_is_no_character_set_is_unknown(encoding):
    said = refusal(declared(encoding, GOOD).encode())
    assert_facts(said, f"<text>:1: .*encoding {re.escape(repr(encoding))}")


def test_half_a_surrogate_pair_is_refused():
    said = refusal(changed('<link name="base"/>', '<link name="\ud800"/>'))
    assert_facts(said, "<text>:2: .*surrogate")


@pytest.mark.parametrize("letter", ["\x01", "\x1b", "\ufffe", "&#1;", "&#0;", "&#xD800;"])
def test_letter_that_xml_forbids_is_refused_on_its_line(letter):
    message = refusal(changed('<link name="base"/>', f'<link name="{letter}"/>'))

    assert_facts(message, r"<text>:2: .*XML.*column \d")


def test_name_may_hold_line_breaks_and_quotes_and_is_shown_in_one_line():
    name = 'a\n"b"\t<c>'
    written = "a&#10;&quot;b&quot;&#9;&lt;c&gt;"

    assert loaded(GOOD.replace('"arm"', f'"{written}"'))[0].link_names == ("base", name)
    message = refusal(BROKEN.replace('"arm"', f'"{written}"'))
    assert message.startswith(f"<text>:6: link {name!r}: mass value: '?' ")


@pytest.mark.parametrize(
    "doctype",
    [
        "<!DOCTYPE robot>",
        '<!DOCTYPE robot SYSTEM "robot.dtd">',
        '<!DOCTYPE robot SYSTEM "file:///dev/zero">',
        '<!DOCTYPE robot PUBLIC "-//x//y" "http://localhost:1/robot.dtd">',
    ],
)
def test_doctype_that_declares_nothing_is_passed_over_and_its_file_not_read(doctype):
    assert loaded(f"{doctype}\n{GOOD}") == loaded(GOOD)


@pytest.mark.parametrize(
    "head",
    [
        f"<!DOCTYPE robot {ENTITIES}>",
        f'<!DOCTYPE robot SYSTEM "a.dtd" {ENTITIES}>',
        f'<!DOCTYPE robot SYSTEM "a>b" {ENTITIES}>',
        f"<!DOCTYPE robot SYSTEM 'a>b' {ENTITIES}>",
        f'<!DOCTYPE robot PUBLIC "p" "a>b" {ENTITIES}>',
        f"<?p ?><!-- --><!DOCTYPE robot\n{ENTITIES}>",
        f"\ufeff\ufeff<!DOCTYPE robot {ENTITIES}>",
        '<!DOCTYPE robot [<!ENTITY % p SYSTEM "file:///dev/zero"> %p;]>',
        '<!DOCTYPE robot [<!ATTLIST mass value CDATA "7">]>',
        '<!DOCTYPE robot SYSTEM "a>b" [<!ATTLIST mass value CDATA "7">]>',
    ],
)
@pytest.mark.parametrize("form", ["str", "bytes", "utf-16"])
def test_doctype_that_declares_anything_is_refused_however_it_is_dressed(head, form):
    """Entities and default attributes put numbers into a file that do not stand there."""
    text = head + "\n" + changed('<mass value="2"/>', "<mass/>", '"lamp"', '"&x;"')
    source = {"str": text, "bytes": text.encode(), "utf-16": text.encode("utf-16")}[form]

    message = refusal(source)

    assert re.match(r"<text>:[12]: ", message)
    assert REFUSED in message or (head.startswith("\ufeff") and "not well-formed" in message)


def test_entity_that_is_not_declared_is_refused():
    message = refusal(changed('"lamp"', '"&x;"'))

    assert_facts(message, r"<text>:1: .*XML.*column \d")


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("encode", [str, str.encode], ids=["text", "bytes"])
def test_line_numbers_are_right_whatever_ends_a_line(ending, encode):
    text = BROKEN.replace("\n", ending)

    assert_facts(refusal(encode(text)), "<text>:6: link 'arm': mass value: '[?]'")


@pytest.mark.parametrize("before", ["\n", "<!--\n-->", "<?p\n?>"], ids=["blank", "comment", "PI"])
def test_line_numbers_are_right_beyond_65535(before):
    text = changed('  <link name="base"/>', before * 70_000 + '  <link name="base"/>', text=BROKEN)

    assert_facts(refusal(text), "<text>:70006: link 'arm': mass value: '[?]'")


def test_element_over_several_lines_is_named_by_its_first():
    text = changed('<mass value="2"/>', '<mass\n\n  value="?"\n/>')

    assert_facts(refusal(text), "<text>:6: link 'arm': mass value: '[?]'")


def test_line_of_a_syntax_error_is_right_beyond_65535():
    text = before_end("\n" * 70_000 + "<a></b>")

    assert_facts(refusal(text), r"<text>:70020: .*XML.*column \d")


def test_syntax_error_is_told_rather_than_a_prefix_that_is_not_declared():
    message = refusal(before_end("<drake:x/>", "<a></b>"))

    assert_facts(message, r"<text>:21: .*XML.*column \d")


@pytest.mark.parametrize("rest", ["junk", "<robot/>", "&", "\0"])
def test_anything_behind_the_robot_is_refused(rest):
    assert refusal(GOOD + rest).startswith("<text>:21: ")


def test_comment_behind_the_robot_is_passed_over():
    assert loaded(GOOD + "<!-- the end -->\n<?end?>\n") == loaded(GOOD)


def test_attribute_given_twice_is_refused():
    message = refusal(changed('<link name="base"/>', '<link name="base" name="b"/>'))

    assert_facts(message, r"<text>:2: .*XML.*column \d")


def test_xml_declaration_in_the_middle_is_refused():
    message = refusal('\n<?xml version="1.0"?>\n' + GOOD)

    assert_facts(message, r"<text>:2: .*XML.*column \d")
