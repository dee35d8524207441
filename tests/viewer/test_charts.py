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
from linkwork.viewer.colors import signed_colors

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


def test_a_small_matrix_is_written_in_numbers():
    drawn = etree.fromstring(heat_map([[1.5, -0.5], [-0.0, 1e-4]], ["up", "down"], ["a", "b"]))
    texts = [text.text for text in drawn.findall("{*}text")]
    cells = drawn.findall("{*}rect")[:4]
    full, half, zero, _ = (float(cell.get("fill-opacity")) for cell in cells)

    assert texts == ["up", "down", "a", "b", "1.50", "-0.50", "0", "0"]
    assert cells[1].find("{*}title").text == "up, b: -0.5"
    assert full == 1
    assert 0 < half < 1
    assert zero == 0
    assert cells[0].get("fill") != cells[1].get("fill")  # of the other sign


@pytest.mark.parametrize(("largest", "texts"), [(1234.5, ["1234"]), (3e-7, ["3.00", "x 1e-7"])])
def test_numbers_in_a_matrix_are_short_whatever_their_size(largest, texts):
    drawn = etree.fromstring(heat_map([[largest]]))

    assert [text.text for text in drawn.findall("{*}text")] == texts


def test_what_is_not_finite_is_grey():
    grey, clear = etree.fromstring(heat_map([[np.nan, 0.0]])).findall("{*}rect")[:2]

    assert (grey.get("fill"), grey.get("fill-opacity")) == ("#808080", "1.000")
    assert clear.get("fill-opacity") == "0.000"


def test_numbers_are_listed_in_columns_without_signed_zeros():
    assert listed_numbers([1.0, -0.0, 0.123456, -1e-9]) == " 1.0000  0.0000  0.1235  0.0000"
    assert len(listed_numbers([-0.5, 0.25])) == len(listed_numbers([2.0, -3.0]))


def test_long_names_keep_their_ends():
    chart = bar_chart(["arm_left_shoulder_pitch_joint"], np.array([1.0]), np.array([2.0]))

    assert "arm_left_…itch_joint" in chart
