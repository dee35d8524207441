"""The commands about the cache."""

import json

import pytest
from tests.support.commands import run_here as run
from tests.support.kernels import wait_for_background

from linkwork.engine.runtime import cache


@pytest.fixture
def folder(tmp_path, monkeypatch):
    wait_for_background()  # what other tests asked for would be kept here
    path = tmp_path / "linkwork-code"
    monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path))
    monkeypatch.setenv("LINKWORK_CACHE_SIZE", "50")
    return path


def test_info_prints_folder_and_size(folder):
    cache.store("a" * 64, bytes(2_000_000))
    lines = run("cache", "info").stdout.splitlines()
    facts = json.loads(run("cache", "info", "--json").stdout)

    assert lines[0] == str(folder)
    assert all(fact in lines[1] for fact in ("1 files", "2.0 MB", "50 MB"))
    assert "0 days" in lines[2]
    assert facts["files"] == 1
    assert facts["most_megabytes"] == 50
    assert facts["folder"] == str(folder)


def test_clear_removes_only_code(folder):
    cache.store("a" * 64, bytes(10))

    others = [folder.parent / "data.csv", folder / "data.csv"]
    for path in others:
        path.write_text("1, 2", encoding="utf-8")

    assert run("cache", "clear").stdout.startswith("1 files")
    assert list(folder.glob("*.o")) == []
    assert [path.read_text(encoding="utf-8") for path in others] == ["1, 2"] * 2


def test_alone_it_lists_its_commands():
    done = run("cache")

    assert done.returncode == 0
    assert done.stdout == run("cache", "--help").stdout
    assert "Usage: linkwork cache" in done.stdout


def test_a_missing_cache_is_reported(monkeypatch):
    monkeypatch.setenv("LINKWORK_CACHE", "off")

    assert run("cache", "info").stdout.startswith("there is no cache")
    assert run("cache", "clear").stdout.startswith("0 files")
    assert "Show or clear the cache" in run("cache", "--help").stdout
