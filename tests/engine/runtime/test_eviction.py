"""The cache stays below its limit, and keeps recently used files."""

from __future__ import annotations

import hashlib
import os
import time

import pytest

from linkwork.engine.runtime import cache

DAY = 86_400.0


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path))
    monkeypatch.setattr(cache, "_watch", cache.SizeWatch())
    return tmp_path / cache.SUBFOLDER


def key(name):
    return hashlib.sha256(str(name).encode()).hexdigest()


def keep(name, *, size=1000, days_ago=0.0):
    cache.store(key(name), bytes(size))
    path = cache.cache_folder() / f"{key(name)}.o"
    then = time.time() - days_ago * DAY
    os.utime(path, (then, then))
    return path


def test_the_least_recently_used_files_are_removed(folder):
    paths = [keep(f"k{k}", days_ago=10 - k) for k in range(6)]
    limit = 4 * paths[0].stat().st_size
    cache.evict(folder, limit)
    assert [path.exists() for path in paths] == [False] * 3 + [True] * 3
    assert sum(file.size for file in cache.cached_files(folder)) <= cache.LEFT * limit


def test_nothing_is_removed_below_the_limit(folder):
    paths = [keep(f"k{k}") for k in range(3)]
    cache.evict(folder, 10 * paths[0].stat().st_size)
    assert all(path.exists() for path in paths)


def test_using_a_file_keeps_it(folder):
    old, other = keep("old", days_ago=9), keep("other", days_ago=5)
    assert cache.fetch(key("old")) == bytes(1000)
    cache.evict(folder, int(1.5 * old.stat().st_size))
    assert old.exists()
    assert not other.exists()


def test_reading_writes_to_the_disk_once_a_day_at_most(folder):
    path = keep("k", days_ago=0.5)
    before = path.stat().st_mtime
    assert cache.fetch(key("k"))
    assert path.stat().st_mtime == before
    path = keep("k", days_ago=1.5)
    assert cache.fetch(key("k"))
    assert time.time() - path.stat().st_mtime < 60


def test_files_are_counted_at_first_and_after_each_tenth_of_the_limit(folder, monkeypatch):
    monkeypatch.setenv("LINKWORK_CACHE_SIZE", "0.1")  # 100 kB
    counted = []
    monkeypatch.setattr(cache, "evict", lambda *given: counted.append(given))
    for k in range(25):
        cache.store(key(f"k{k}"), bytes(1000))
    assert counted == [(folder, 100_000)] * 3  # at first, and after more than 10 kB


def test_a_process_that_writes_much_stays_below_the_limit(folder, monkeypatch):
    monkeypatch.setenv("LINKWORK_CACHE_SIZE", "0.05")
    for k in range(200):
        cache.store(key(f"k{k}"), bytes(1000))
    assert sum(file.size for file in cache.cached_files(folder)) <= 55_000 + 10_000
    assert cache.fetch(key("k199")) == bytes(1000)


def test_files_of_processes_that_ended_while_writing_are_removed(folder):
    keep("k")
    new, abandoned = (folder / f".new-{k}-{k:016x}" for k in (1, 2))
    for path, age in ((new, 10.0), (abandoned, 7200.0)):
        path.write_bytes(bytes(10))
        os.utime(path, (time.time() - age,) * 2)
    cache.evict(folder, 10**9)
    assert new.exists()
    assert not abandoned.exists()


@pytest.mark.parametrize(("given", "expected"), [("", 10**9), ("5", 5_000_000), ("0", None)])
def test_the_limit_is_read_in_megabytes(given, expected, monkeypatch):
    monkeypatch.setenv("LINKWORK_CACHE_SIZE", given)
    assert cache.size_limit() == expected


@pytest.mark.parametrize("given", ["much", "-1", "nan", "inf", "1e400", "1e305"])
def test_an_invalid_limit_is_reported(given, monkeypatch):
    from linkwork import errors

    monkeypatch.setattr(errors, "_warned_topics", set(), raising=False)
    monkeypatch.setenv("LINKWORK_CACHE_SIZE", given)
    with pytest.warns(UserWarning, match=r"LINKWORK_CACHE_SIZE: .*megabytes"):
        assert cache.size_limit() == 10**9


def test_clearing_removes_everything(folder):
    for k in range(3):
        keep(f"k{k}")
    assert cache.clear(folder) == 3
    assert cache.cached_files(folder) == []
    assert cache.clear(folder / "nowhere") == 0


FOREIGN = ("data.csv", "notes.o", "0123.program", ".new-mine", f"{'a' * 64}.txt", f"{'A' * 64}.o")


def test_files_of_others_are_neither_counted_nor_removed(tmp_path, folder, monkeypatch):
    """Next to the folder of the cache, and in it."""
    keep("k")
    monkeypatch.setenv("LINKWORK_CACHE_SIZE", "0.000001")
    before = {}
    for parent in (tmp_path, folder):
        for name in FOREIGN:
            (parent / name).write_bytes(bytes(5000))
            os.utime(parent / name, (0.0, 0.0))
            before[parent / name] = bytes(5000)
    monkeypatch.setattr(cache, "_watch", cache.SizeWatch())
    cache.store(key("other"), bytes(1000))  # and evict
    assert cache.cached_files(folder) == []
    cache.store(key("other"), bytes(1000))
    cache.clear(folder)
    assert cache.cached_files(folder) == []
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("how", ["no marker", "link"])
def test_a_folder_that_is_not_a_cache_is_not_changed(tmp_path, folder, how):
    stored = keep("k")
    if how == "no marker":
        (folder / cache.MARKER).unlink()
    else:
        (tmp_path / "elsewhere").mkdir()
        stored = stored.rename(tmp_path / "elsewhere" / stored.name)
        (folder / cache.MARKER).rename(tmp_path / "elsewhere" / cache.MARKER)
        folder.rmdir()
        folder.symlink_to(tmp_path / "elsewhere")
    cache.evict(folder, 1)
    assert cache.clear(folder) == 0
    assert stored.exists()
