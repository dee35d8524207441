"""The code that the documents show is run, and does what they say."""

import contextlib
import io
import re
from pathlib import Path

import pytest

import linkwork

ROOT = Path(linkwork.__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"```python\n(.*?)```(?:\n+```text\n(.*?)```)?", re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_code_on_a_page_runs_and_prints_what_the_page_says(page, tmp_path, monkeypatch):
    """Blocks of one page share their names; a text block after one is what it prints."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code, expected in BLOCK.findall(page.read_text()):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(page), "exec"), names)
        if expected:
            assert printed.getvalue().strip() == expected.strip()


def test_the_readme_shows_code():
    assert len(BLOCK.findall((ROOT / "README.md").read_text())) >= 2


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target
