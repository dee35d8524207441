"""Charts: bars against limits; nothing from a file becomes part of a page."""

from __future__ import annotations

import numpy as np
from lxml import etree

from linkwork.viewer.charts import (
    bar_chart,
    listed_numbers,
    shares_of,
    table,
)

EVIL = "<script>alert('x')</script>\"&"


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
    ]

    assert all("<script" not in page for page in pages)
    assert EVIL[:20] in etree.fromstring(pages[0]).find(".//{*}title").text


def test_numbers_are_listed_in_columns_without_signed_zeros():
    assert listed_numbers([1.0, -0.0, 0.123456, -1e-9]) == " 1.0000  0.0000  0.1235  0.0000"
    assert len(listed_numbers([-0.5, 0.25])) == len(listed_numbers([2.0, -3.0]))


def test_long_names_keep_their_ends():
    chart = bar_chart(["arm_left_shoulder_pitch_joint"], np.array([1.0]), np.array([2.0]))

    assert "arm_left_…itch_joint" in chart
