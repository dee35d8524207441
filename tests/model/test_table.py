"""Tables fit the width there is, and no cell loses a letter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.model.table import NARROWEST, Table, as_text, width_of

TABLE = Table(
    "parts",
    ("#", "name", "mass [kg]", "note"),
    (("0", "left_upper_arm", "1.5", "hangs on the shoulder"), ("1", "tool", "-", "")),
    frozenset({"#", "mass [kg]"}),
    n_naming=2,
)


def test_a_table_is_one_block_if_it_fits():
    assert as_text(TABLE) == as_text(TABLE, 51) == as_text(TABLE, 500)
    assert as_text(TABLE).splitlines() == [
        "parts",
        "#  name            mass [kg]  note",
        "─  ──────────────  ─────────  ─────────────────────",
        "0  left_upper_arm        1.5  hangs on the shoulder",
        "1  tool                    -",
    ]


def test_a_table_that_is_too_wide_comes_in_blocks_that_name_their_rows():
    assert as_text(TABLE, 40).splitlines() == [
        "parts",
        "#  name            mass [kg]",
        "─  ──────────────  ─────────",
        "0  left_upper_arm        1.5",
        "1  tool                    -",
        "",
        "#  name            note",
        "─  ──────────────  ─────────────────────",
        "0  left_upper_arm  hangs on the shoulder",
        "1  tool",
    ]


def test_a_cell_that_is_too_wide_goes_over_several_lines():
    assert as_text(TABLE, 25).splitlines()[-6:] == [
        "#  name          note",
        "─  ────────────  ────────",
        "0  left_upper_a  hangs on",
        "   rm            the",
        "                 shoulder",
        "1  tool",
    ]


CELLS = st.text(st.sampled_from("ab_ -é"), max_size=40).map(str.strip)


@given(
    st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=5),
    st.integers(3 * NARROWEST + 4, 90),
)
def test_every_letter_is_there_and_every_line_fits(rows, width):
    table = Table("t", ("a", "b", "c"), tuple(rows))
    lines = as_text(table, width).splitlines()

    assert max(map(width_of, lines)) <= width
    written = "".join(lines)
    for letter in "_-é":
        wanted = sum(cell.count(letter) for row in rows for cell in row[1:])
        assert written.count(letter) >= wanted


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("关节", 4), ("e\u0301", 1), ("", 0)])
def test_the_width_of_a_text_is_that_on_a_terminal(text, width):
    assert width_of(text) == width


def test_a_column_of_empty_cells_takes_no_room():
    table = Table("", ("", "x"), [("", "1"), ("", "22")], frozenset(["x"]))
    assert [line.strip() for line in as_text(table, 80).splitlines()][-2:] == ["1", "22"]
