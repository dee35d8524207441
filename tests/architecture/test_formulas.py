"""Formulas of the pages are LaTeX that browsers can draw after conversion to MathML."""

import re
from pathlib import Path

import pytest
from latex2mathml.converter import convert
from tools import math_pages

PAGES = Path(__file__).parents[2] / "docs"
pytestmark = pytest.mark.peers


@pytest.mark.parametrize("name", ["theory", "derivatives", "closed_loops", "contacts", "collision"])
def test_every_formula_is_converted(name):
    formulas = math_pages.formulas((PAGES / f"{name}.md").read_text(encoding="utf-8"))
    assert formulas
    for formula in formulas:
        mathml = convert(formula)
        leftover = re.search(r"<m[io]>(&|\\[a-zA-Z]+)</m[io]>", mathml)  # not understood
        assert leftover is None, (formula, leftover)


def test_formulas_in_code_are_left_alone():
    text = "cost $x^2$ and `echo $HOME $PATH`\n\n```sh\necho $A $B\n```\n\n$$ y = 1 $$\n"
    assert math_pages.formulas(text) == ["x^2", " y = 1 "]


def test_marked_formulas_are_replaced():
    inline = '<span class="arithmatex">\\(a &lt; b\\)</span>'
    page = f'<p>{inline}</p><div class="arithmatex">\\[\nc\n\\]</div>'
    html = math_pages.on_page_content(page)
    assert "arithmatex" not in html
    assert html.count("<math") == 2
    assert 'display="block"' in html
