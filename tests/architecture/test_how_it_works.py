"""The page on how it works tells the same story as the code."""

from __future__ import annotations

import re
from pathlib import Path

import linkwork

ROOT = Path(linkwork.__file__).parents[2]
PAGE = (ROOT / "docs" / "how_it_works.md").read_text(encoding="utf-8")


def test_the_layers_are_those_of_the_import_contract():
    contract = (ROOT / "pyproject.toml").read_text(encoding="utf-8").split("layers = [")[1]
    checked = re.findall(r"linkwork\.(\w+)", contract.split("]")[0])
    parts = {path.stem for path in (ROOT / "src" / "linkwork").iterdir()}
    table = PAGE.split("| layer |")[1].split("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [
        name for name in checked if name in parts
    ]


def test_every_environment_variable_is_on_the_page():
    sources = [
        path.read_text(encoding="utf-8")
        for path in (ROOT / "src").rglob("*")
        if path.suffix in (".py", ".h", ".c")
    ]
    used = {name for text in sources for name in re.findall(r'["`](LINKWORK_[A-Z]+)["`]', text)}
    assert used == set(re.findall(r"^\| `(LINKWORK_[A-Z]+)` \|", PAGE, re.MULTILINE))
