"""Parsing of XML: encodings, declarations, entities, line numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.messages import assert_facts
from tests.support.urdf_files import GOOD, before_end, changed, error_lines, error_message, loaded

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
def test_bytes_are_decoded_by_their_byte_order_mark_or_declaration(data):
    model, messages = loaded(data)

    assert model.name in ("Lämpchen", "lamp")
    assert messages == []


def test_file_is_decoded_like_bytes(tmp_path: Path):
    file = tmp_path / "lamp.urdf"
    file.write_bytes(declared("iso-8859-1").encode("latin-1"))

    assert loaded(file)[0].name == "Lämpchen"


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1", "klingon", "rot13"])
def test_declared_encoding_of_a_string_is_ignored(encoding):
    """A str is already decoded."""
    assert loaded(declared(encoding))[0].name == "Lämpchen"


def test_latin_1_declared_as_utf_8_is_rejected():
    message = error_message(declared("utf-8").encode("latin-1"))
    assert_facts(message, "<text>:2: .*0xe4.*utf-8")


def test_latin_1_without_declaration_is_rejected():
    assert_facts(error_message(UMLAUT.encode("latin-1")), "<text>:1: .*0xe4.*utf-8")


def test_utf_16_without_a_mark_is_rejected():
    assert error_message(GOOD.encode("utf-16-le")) == "<text>:1: NUL byte"
    assert error_message(GOOD.encode("utf-16-be")) == "<text>:1: NUL byte"


def test_truncated_utf_16_is_rejected():
    assert re.match(r"<text>:\d+: .*utf-16", error_message(UMLAUT.encode("utf-16")[:-1]))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "cp037"])
def test_ascii_declared_as_a_wide_encoding_is_rejected(encoding):
    assert error_message(declared(encoding, GOOD).encode("ascii")).startswith("<text>:")


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
def test_codec_that_is_not_a_character_set_is_rejected(encoding):
    message = error_message(declared(encoding, GOOD).encode())
    assert_facts(message, f"<text>:1: .*encoding {re.escape(repr(encoding))}")


def test_unpaired_surrogate_is_rejected():
    message = error_message(changed('<link name="base"/>', '<link name="\ud800"/>'))
    assert_facts(message, "<text>:2: .*surrogate")


@pytest.mark.parametrize("letter", ["\x01", "\x1b", "\ufffe", "&#1;", "&#0;", "&#xD800;"])
def test_invalid_xml_character_is_rejected_with_its_line(letter):
    message = error_message(changed('<link name="base"/>', f'<link name="{letter}"/>'))

    assert_facts(message, r"<text>:2: .*XML.*column \d")


def test_name_with_line_breaks_and_quotes_is_shown_in_one_line():
    name = 'a\n"b"\t<c>'
    written = "a&#10;&quot;b&quot;&#9;&lt;c&gt;"

    assert loaded(GOOD.replace('"arm"', f'"{written}"'))[0].link_names == ("base", name)
    message = error_message(BROKEN.replace('"arm"', f'"{written}"'))
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
def test_doctype_without_declarations_is_ignored(doctype):
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
def test_doctype_with_declarations_is_rejected(head, form):
    """Entities and default attributes add values that are not visible in the elements."""
    text = head + "\n" + changed('<mass value="2"/>', "<mass/>", '"lamp"', '"&x;"')
    source = {"str": text, "bytes": text.encode(), "utf-16": text.encode("utf-16")}[form]

    message = error_message(source)

    assert re.match(r"<text>:[12]: ", message)
    assert REFUSED in message or (head.startswith("\ufeff") and "not well-formed" in message)


def test_undeclared_entity_is_rejected():
    message = error_message(changed('"lamp"', '"&x;"'))

    assert_facts(message, r"<text>:1: .*XML.*column \d")


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("encode", [str, str.encode], ids=["text", "bytes"])
def test_line_numbers_are_right_for_all_line_endings(ending, encode):
    text = BROKEN.replace("\n", ending)

    assert_facts(error_message(encode(text)), "<text>:6: link 'arm': mass value: '[?]'")


@pytest.mark.parametrize("before", ["\n", "<!--\n-->", "<?p\n?>"], ids=["blank", "comment", "PI"])
def test_line_numbers_are_right_beyond_65535(before):
    text = changed('  <link name="base"/>', before * 70_000 + '  <link name="base"/>', text=BROKEN)

    assert_facts(error_message(text), "<text>:70006: link 'arm': mass value: '[?]'")


def test_element_over_several_lines_has_the_line_of_its_start():
    text = changed('<mass value="2"/>', '<mass\n\n  value="?"\n/>')

    assert_facts(error_message(text), "<text>:6: link 'arm': mass value: '[?]'")


def test_line_of_a_syntax_error_is_right_beyond_65535():
    text = before_end("\n" * 70_000 + "<a></b>")

    assert_facts(error_message(text), r"<text>:70020: .*XML.*column \d")


def test_syntax_error_takes_precedence_over_an_undeclared_prefix():
    message = error_message(before_end("<drake:x/>", "<a></b>"))

    assert_facts(message, r"<text>:21: .*XML.*column \d")


@pytest.mark.parametrize("rest", ["junk", "<robot/>", "&", "\0"])
def test_content_after_the_root_is_rejected(rest):
    assert error_message(GOOD + rest).startswith("<text>:21: ")


def test_comment_after_the_root_is_ignored():
    assert loaded(GOOD + "<!-- the end -->\n<?end?>\n") == loaded(GOOD)


def test_duplicate_attribute_is_rejected():
    message = error_message(changed('<link name="base"/>', '<link name="base" name="b"/>'))

    assert_facts(message, r"<text>:2: .*XML.*column \d")


def test_unknown_version_of_xml_is_a_warning():
    """PyBullet's files have the version 0.0."""
    model, messages = loaded('<?xml version="0.0" ?>\n' + BROKEN.replace("?", "2"))

    assert model.name == "lamp"
    assert_facts(messages, ["<text>:1: .*version.*XML 1.0"])


@pytest.mark.parametrize("before", ["\n", "<!-- a -->\n", "<!-- a\n<?xml version='1.0'?> -- -->"])
def test_xml_declaration_after_comments_or_white_space_is_a_warning(before):
    """SRDF files of PAL Robotics start with a comment; Pinocchio and MoveIt read them."""
    line = before.count("\n") + 1
    text = before + '<?xml version="1.0"?>\n'
    model, messages = loaded(text + GOOD)

    assert model == loaded(GOOD)[0]
    assert_facts(messages[-1], f"<text>:{line}: .*before the XML declaration")
    assert_facts(error_lines(text + BROKEN)[0], f"error: <text>:{line + 6}: link 'arm': mass")


def test_second_xml_declaration_is_rejected_in_linear_time():
    message = error_message(
        "<!-- -->" * 10_000 + changed("</robot>", '<?xml version="1.0"?></robot>')
    )

    assert_facts(message, r"<text>:20: .*XML.*column \d")


@pytest.mark.parametrize("start", ["<!--", "<![CDATA[", "<?a ", "<!-- xacro: <xacro:a/> ${a} "])
def test_documents_full_of_starts_without_an_end_are_rejected(start):
    """The time to read a document must not grow with the square of its size."""
    message = error_message("<robot>" + start * 300_000)

    assert "not well-formed" in message or "xacro" in message
