"""Charts: bars against limits, matrices as images; nothing from a file becomes part of a page."""

from __future__ import annotations

import base64
import io
import re

import numpy as np
import pytest
from lxml import etree
from PIL import Image

from linkwork.viewer.charts import (
    bar_chart,
    heat_map,
    listed_numbers,
    png,
    shares_of,
    table,
)
from linkwork.viewer.drawing import signed_colors

EVIL = "<script>alert('x')</script>\"&"


def test_a_heat_map_has_a_pixel_for_each_entry(rng):
    matrix = rng.normal(size=(5, 11))
    found = re.search(r"base64,([^']+)'", heat_map(matrix))
    image = np.asarray(Image.open(io.BytesIO(base64.b64decode(found[1]))))

    np.testing.assert_array_equal(image, signed_colors(matrix))
    assert "aspect-ratio:11/5" in heat_map(matrix)
    assert heat_map(np.zeros((0, 0))) == ""


def test_a_png_is_read_back_as_it_was(rng):
    image = rng.integers(0, 256, size=(7, 3, 4)).astype(np.uint8)

    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(png(image)))), image)


def test_shares_are_of_the_limit_and_without_one_of_the_largest_force():
    shares = shares_of(np.array([5.0, -2.0, 4.0, 1.0]), np.array([10.0, np.inf, np.inf, 0.0]))

    np.testing.assert_allclose(shares, [0.5, -0.5, 1.0, 0.25])


def test_bars_are_as_long_as_the_share_of_the_limit_and_on_the_side_of_the_sign():
    drawn = etree.fromstring(bar_chart(["a", "b"], np.array([5.0, -20.0]), np.array([10.0, 10.0])))
    bars = drawn.findall("{*}rect")
    widths = [float(bar.get("width")) for bar in bars]
    texts = [text.text for text in drawn.findall("{*}text")]

    assert widths[1] == 2 * widths[0]  # beyond the limit is no longer than the limit
    assert float(bars[1].get("x")) + widths[1] == float(bars[0].get("x"))
    assert texts == ["a", "5 / 10", "b", "-20 / 10"]
    assert drawn.findall("{*}text")[3].get("font-weight") == "bold"


def test_a_chart_of_no_joints_can_be_drawn():
    assert etree.fromstring(bar_chart([], np.zeros(0), np.zeros(0))).findall("{*}rect") == []


def test_names_cannot_become_part_of_the_page():
    pages = [
        bar_chart([EVIL], np.array([1.0]), np.array([np.inf])),
        table([(EVIL, EVIL)]),
        heat_map(np.zeros((1, 1)), [EVIL], [EVIL]),
    ]

    assert all("<script" not in page for page in pages)
    assert EVIL[:20] in etree.fromstring(pages[0]).find(".//{*}title").text


def cells_of(matrix, *names):
    """Return text, tooltip and style of each cell of a small matrix."""
    cells = etree.fromstring(heat_map(matrix, *names)).findall(".//td")
    return [(cell.text, cell.get("title"), cell.get("style")) for cell in cells]


def test_a_small_matrix_is_a_table_of_its_values():
    matrix = [[1.5, -0.5], [-0.0, 1e-4]]
    drawn = etree.fromstring(heat_map(matrix, ["up", "down"], ["a", "b"]))
    cells = cells_of(matrix, ["up", "down"], ["a", "b"])
    opacities = [float(re.search(r"/ ([\d.]+)\)", style)[1]) for _, _, style in cells]

    assert [head.text for head in drawn.findall(".//th")] == [None, "a", "b", "up", "down"]
    assert [text for text, _, _ in cells] == ["1.50", "-0.50", "0", "0"]
    assert cells[1][1] == "up, b: -0.5"
    assert opacities[0] == 1
    assert 0 < opacities[1] < 1
    assert opacities[2] == 0
    assert "rgb(205 45 55" in cells[0][2]  # positive
    assert "rgb(45 105 205" in cells[1][2]  # negative


@pytest.mark.parametrize(("value", "text"), [(1234.5, "1234"), (3e-7, "3.0e-07"), (5e-324, "0")])
def test_values_in_a_matrix_are_short_whatever_their_size(value, text):
    assert cells_of([[value]])[0][0] == text


def test_what_is_not_finite_is_grey():
    (text, _, grey), (_, _, clear), _ = cells_of([[np.nan, 0.0, 1.0]])

    assert text == "nan"
    assert "rgb(128 128 128 / 1.000)" in grey
    assert "/ 0.000)" in clear


def test_numbers_are_listed_in_columns_without_signed_zeros():
    assert listed_numbers([1.0, -0.0, 0.123456, -1e-9]) == " 1.0000  0.0000  0.1235  0.0000"
    assert len(listed_numbers([-0.5, 0.25])) == len(listed_numbers([2.0, -3.0]))


def test_long_names_keep_their_ends():
    chart = bar_chart(["arm_left_shoulder_pitch_joint"], np.array([1.0]), np.array([2.0]))

    assert "arm_left_…itch_joint" in chart
