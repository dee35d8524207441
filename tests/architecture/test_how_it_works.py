"""The page How it works agrees with the code."""

from __future__ import annotations

import re
from pathlib import Path

import linkwork

ROOT = Path(linkwork.__file__).parents[2]
PAGE = (ROOT / "docs" / "how_it_works.md").read_text(encoding="utf-8")


def test_the_tables_list_the_folders_in_the_order_of_the_import_contracts():
    contracts = (ROOT / "pyproject.toml").read_text(encoding="utf-8").split("name = ")
    by_tier = {
        text.split('"')[1]: text.split("layers = [")[1].split("]")[0]
        for text in contracts
        if "layers = [" in text
    }
    ordered = [
        name
        for tier in ("Interfaces", "Tools", "Robot")
        for name in re.findall(r"linkwork\.(\w+)", by_tier[tier])
    ]
    engine = [
        f"engine/{name}"
        for name in re.findall(r"\w+", by_tier["Engine"])
        if name != "cached_property"
    ]
    table = PAGE.split("## The folders")[1].split("## ")[0]

    assert re.findall(r"^\| `([\w/]+)` \|", table, re.MULTILINE) == [*ordered, *engine]
    folders = {
        path.name
        for path in (ROOT / "src" / "linkwork").iterdir()
        if (path / "__init__.py").exists()
    }
    assert folders == {*ordered, "engine"}


def test_every_environment_variable_is_on_the_page():
    sources = [
        path.read_text(encoding="utf-8")
        for path in (ROOT / "src").rglob("*")
        if path.suffix in (".py", ".h", ".c")
    ]
    used = {name for text in sources for name in re.findall(r'["`](LINKWORK_[A-Z]+)["`]', text)}
    assert used == set(re.findall(r"^\| `(LINKWORK_[A-Z]+)` \|", PAGE, re.MULTILINE))
