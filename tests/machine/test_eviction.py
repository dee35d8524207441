"""The cache stays below its limit, and keeps what is used."""

from __future__ import annotations

import os
import time

import pytest

from linkwork.machine import cache, eviction

DAY = 86_400.0


@pytest.fixture
def folder(tmp_path, monkeypatch):
    path = tmp_path / "code"
    monkeypatch.setenv("LINKWORK_CACHE", str(path))
    monkeypatch.setattr(cache, "_watch", eviction.Watch())
    return path


def keep(name, *, size=1000, days_ago=0.0):
    cache.keep(name, bytes(size))
    path = cache.cache_folder() / f"{name}.o"
    then = time.time() - days_ago * DAY
    os.utime(path, (then, then))
    return path


def test_what_was_used_longest_ago_is_removed(folder):
    paths = [keep(f"k{k}", days_ago=10 - k) for k in range(6)]
    limit = 4 * paths[0].stat().st_size
    eviction.evict(folder, limit)
    assert [path.exists() for path in paths] == [False] * 3 + [True] * 3
    assert sum(file.size for file in eviction.kept_files(folder)) <= eviction.LEFT * limit


def test_nothing_is_removed_below_the_limit(folder):
    paths = [keep(f"k{k}") for k in range(3)]
    eviction.evict(folder, 10 * paths[0].stat().st_size)
    assert all(path.exists() for path in paths)


def test_using_a_file_keeps_it(folder):
    old, other = keep("old", days_ago=9), keep("other", days_ago=5)
    assert cache.fetch("old") == bytes(1000)
    eviction.evict(folder, int(1.5 * old.stat().st_size))
    assert old.exists()
    assert not other.exists()


def test_reading_writes_to_the_disk_once_a_day_at_most(folder):
    path = keep("k", days_ago=0.5)
    before = path.stat().st_mtime
    assert cache.fetch("k")
    assert path.stat().st_mtime == before
    path = keep("k", days_ago=1.5)
    assert cache.fetch("k")
    assert time.time() - path.stat().st_mtime < 60


def test_files_are_counted_at_first_and_after_each_tenth_of_the_limit(folder, monkeypatch):
    monkeypatch.setenv("LINKWORK_CACHE_SIZE", "0.1")  # 100 kB
    counted = []
    monkeypatch.setattr(eviction, "evict", lambda *given: counted.append(given))
    for k in range(25):
        cache.keep(f"k{k}", bytes(1000))
    assert counted == [(folder, 100_000)] * 3  # at first, and after more than 10 kB


def test_a_process_that_writes_much_stays_below_the_limit(folder, monkeypatch):
    monkeypatch.setenv("LINKWORK_CACHE_SIZE", "0.05")
    for k in range(200):
        cache.keep(f"k{k}", bytes(1000))
    assert sum(file.size for file in eviction.kept_files(folder)) <= 55_000 + 10_000
    assert cache.fetch("k199") == bytes(1000)


def test_files_of_processes_that_ended_while_writing_are_removed(folder):
    keep("k")
    new, abandoned = folder / ".new-1-a", folder / ".new-2-b"
    for path, age in ((new, 10.0), (abandoned, 7200.0)):
        path.write_bytes(bytes(10))
        os.utime(path, (time.time() - age,) * 2)
    eviction.evict(folder, 10**9)
    assert new.exists()
    assert not abandoned.exists()


@pytest.mark.parametrize(("given", "expected"), [("", 10**9), ("5", 5_000_000), ("0", None)])
def test_the_limit_is_read_in_megabytes(given, expected, monkeypatch):
    monkeypatch.setenv("LINKWORK_CACHE_SIZE", given)
    assert eviction.size_limit() == expected


@pytest.mark.parametrize("given", ["much", "-1", "nan"])
def test_a_limit_that_makes_no_sense_is_told(given, monkeypatch):
    from linkwork.machine import notices

    monkeypatch.setattr(notices, "_told", set(), raising=False)
    monkeypatch.setenv("LINKWORK_CACHE_SIZE", given)
    with pytest.warns(UserWarning, match="LINKWORK_CACHE_SIZE: expected megabytes"):
        assert eviction.size_limit() == 10**9


def test_clearing_removes_everything(folder):
    for k in range(3):
        keep(f"k{k}")
    assert eviction.clear(folder) == 3
    assert eviction.kept_files(folder) == []
    assert eviction.clear(folder / "nowhere") == 0
