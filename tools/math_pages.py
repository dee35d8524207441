r"""Convert the formulas of the pages, $...$ and $$...$$ in LaTeX, to MathML, for mkdocs.

Browsers draw MathML themselves, so the pages load nothing and work offline. pymdownx.arithmatex
marks the formulas in the pages that mkdocs builds.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

MARKED = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<latex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)
FORMULAS = re.compile(r"\$\$(?P<block>[^$]+)\$\$|\$(?P<line>[^$\n]+)\$")
CODE = re.compile(r"^```.*?^```$|^ {4}[^\n]*$|`[^`\n]*`", re.DOTALL | re.MULTILINE)


def on_page_content(content: str, **_: Any) -> str:
    """Replace the marked formulas of a page; mkdocs calls this with its HTML."""
    return MARKED.sub(_mathml, content)


def _mathml(match: re.Match[str]) -> str:
    latex = html.unescape(match["latex"]).strip()
    display = "block" if match["tag"] == "div" else "inline"
    return convert(latex, display=display)


def formulas(markdown: str) -> list[str]:
    """Return the LaTeX of all formulas in the Markdown of a page, without code."""
    return [match["block"] or match["line"] for match in FORMULAS.finditer(CODE.sub("", markdown))]
