"""Pictures of the pages: made from what there is now, and each made by a tool."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import pictures_sources as pictures  # noqa: E402

MEASURED = {"growth_batch", "growth_joints", "history", "speed", "favicon"}  # of `make bench`


def test_no_picture_is_stale():
    """If this fails, `make pictures` makes them again; look at them before they are stored."""
    recorded = pictures.recorded()
    stale = [name for name in pictures.SOURCES if recorded.get(name) != pictures.digest(name)]
    assert not stale


def test_every_picture_has_its_sources_and_is_on_a_page():
    files = {
        path.stem.removesuffix("_dark") if path.stem != "viewer_dark" else path.stem
        for path in (ROOT / "docs" / "images").iterdir()
        if path.suffix != ".json"
    }
    assert files == set(pictures.SOURCES) | MEASURED
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = {name for page in pages for name in re.findall(r"images/(\w+)\.", page.read_text())}
    assert set(pictures.SOURCES) <= shown


def test_a_change_of_a_source_is_noticed(monkeypatch, tmp_path):
    for path in {path for paths in pictures.SOURCES.values() for path in paths}:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes((ROOT / path).read_bytes())
    before = {name: pictures.digest(name) for name in pictures.SOURCES}
    monkeypatch.setattr(pictures, "ROOT", tmp_path)
    assert {name: pictures.digest(name) for name in pictures.SOURCES} == before
    with (tmp_path / "src/linkwork/robots/humanoid.urdf").open("a") as file:
        file.write("<!-- new -->")
    changed = {name for name in pictures.SOURCES if pictures.digest(name) != before[name]}
    assert changed == {"viewer_dark", "robots"}
