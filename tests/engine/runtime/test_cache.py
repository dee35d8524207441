"""Machine code on disk: reuse, trust, and keys."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.support.kernels import (
    BODY,
    Never,
    finish,
    floater,
    hinge,
    output_of,
    start_python,
    wait_for_background,
)

import linkwork as lw
from linkwork import errors
from linkwork.engine.runtime import cache, compiled_program, compiler

posix = pytest.mark.skipif(sys.platform == "win32", reason="files have no such owners there")
only_for_root = pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() != 0, reason="only root gives files away"
)

COUNTED = """
import linkwork.engine.runtime.compiler as module
compiled, counts = module.compiled, []
module.compiled = lambda ir, *level: (counts.append(1), compiled(ir, *level))[1]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A separate cache for this test, after jobs of other tests are done."""
    wait_for_background()
    monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / cache.SUBFOLDER


@pytest.fixture
def compile_count(monkeypatch):
    """Count compilations."""
    counts: list[str] = []
    compiled = compiler.compiled

    def counted(ir: str, *level: int) -> bytes:
        counts.append(ir)
        return compiled(ir, *level)

    monkeypatch.setattr(compiler, "compiled", counted)
    return counts


def ready(*, name: str = "com", **options: object) -> np.ndarray:
    """Load or compile fast code of a quantity, and use it."""
    kd = floater(**options)
    kd.warmup(name)
    return kd.function(name)(kd.random(6, seed=0))


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.o"))


def test_code_is_stored_and_reused(folder, compile_count):
    expected = ready()
    assert len(compile_count) == 2  # for one row, and for several
    assert len(files(folder)) == 2
    compile_count.clear()
    np.testing.assert_array_equal(ready(), expected)
    kd = floater()
    np.testing.assert_array_equal(kd.com(kd.random(6, seed=0)), expected)
    assert not compile_count


def test_code_compiled_in_the_background_is_stored(folder):
    kd = floater()
    actual = kd.com(kd.random(6, seed=0))
    kd.warmup()
    assert len(files(folder)) == 2
    np.testing.assert_allclose(ready(), actual, atol=1e-13)


@pytest.mark.parametrize("seed", ["0", "12345", "random"])
def test_another_process_starts_from_the_cache(folder, seed):
    ready()
    before = {path: path.stat().st_mtime_ns for path in files(folder)}
    count = output_of(
        COUNTED
        + "kd = floater()\nkd.warmup('com')\nassert kd.com(kd.neutral()).shape == (3,)\n"
        + "print(len(counts))",
        cache=folder.parent,
        PYTHONHASHSEED=seed,
    )
    assert count == "0"
    assert {path: path.stat().st_mtime_ns for path in files(folder)} == before


@posix
def test_folder_and_files_belong_to_the_user_alone(folder):
    ready()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in files(folder)} == {0o600}


def damage_truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def damage_cut_in_the_head(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:30])


def damage_empty(path: Path) -> None:
    path.write_bytes(b"")


def damage_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


def damage_digest(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(data)


def damage_magic(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"linkwork object", b"elsework object"))


def damage_random(path: Path) -> None:
    path.write_bytes(np.random.default_rng(0).bytes(path.stat().st_size))


def damage_longer(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"more")


def damage_folder_instead(path: Path) -> None:
    path.unlink()
    path.mkdir()


def damage_dangling(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.with_name("nowhere"))


DAMAGES = {
    name.removeprefix("damage_"): function
    for name, function in list(globals().items())
    if name.startswith("damage_")
}


@pytest.mark.parametrize("which", [0, 1, None])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_compiled_again(folder, compile_count, damage, which):
    expected = ready()
    compile_count.clear()
    for path in files(folder) if which is None else [files(folder)[which]]:
        DAMAGES[damage](path)
    np.testing.assert_array_equal(ready(), expected)
    assert compile_count


@posix
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_is_not_trusted(folder, compile_count, mode):
    expected = ready()
    for path in files(folder):
        path.chmod(mode)
    compile_count.clear()
    np.testing.assert_array_equal(ready(), expected)
    assert len(compile_count) == 2


@pytest.fixture
def not_told(monkeypatch):
    """Reset the warnings that were issued in this process."""
    monkeypatch.setattr(errors, "_warned_topics", set())


def refused(folder: Path) -> str:
    """A pattern of the warning, with the folder and the required mode."""
    return f"{re.escape(str(folder))}: .*not used.*mode 700"


@posix
@pytest.mark.parametrize("mode", [0o770, 0o777, 0o1777])
def test_a_folder_that_others_may_write_to_is_not_used_which_is_reported_once(
    folder, compile_count, not_told, mode
):
    expected = ready()
    before = files(folder)
    folder.chmod(mode)
    compile_count.clear()
    with pytest.warns(lw.LinkworkWarning, match=refused(folder)):
        np.testing.assert_array_equal(ready(), expected)
    assert len(compile_count) == 2
    np.testing.assert_array_equal(ready(gravity=(0.0, 0.0, -1.0)), expected)  # nothing more is said
    assert files(folder) == before


@only_for_root
@pytest.mark.parametrize("what", ["files", "folder"])
def test_a_folder_of_another_user_is_not_trusted(folder, compile_count, not_told, what):
    expected = ready()
    for path in files(folder) if what == "files" else [folder]:
        os.chown(path, 12345, 12345)
    compile_count.clear()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", refused(folder))
        np.testing.assert_array_equal(ready(), expected)
    assert len(compile_count) == 2


@posix
@pytest.mark.parametrize("what", ["files", "folder"])
def test_nothing_is_read_or_written_through_a_symbolic_link(tmp_path, folder, compile_count, what):
    """Otherwise the target could be overwritten, or its content run."""
    expected = ready()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    if what == "folder":
        folder.rename(elsewhere / folder.name)
        folder.symlink_to(elsewhere / folder.name)
    else:
        for path in files(folder):
            path.rename(elsewhere / path.name)
            path.symlink_to(elsewhere / path.name)
    before = {path: path.read_bytes() for path in elsewhere.rglob("*") if path.is_file()}
    assert before
    compile_count.clear()
    np.testing.assert_array_equal(ready(), expected)
    assert len(compile_count) == 2
    assert {path: path.read_bytes() for path in elsewhere.rglob("*") if path.is_file()} == before
    assert not any(path.is_symlink() for path in files(folder)) or what == "folder"


@posix
def test_a_pipe_in_place_of_a_file_does_not_hang(folder):
    ready()
    for path in files(folder):
        path.unlink()
        os.mkfifo(path, 0o600)
    code = "kd = floater()\nkd.warmup('com')\nprint(kd.com(kd.neutral()).shape)"
    assert output_of(code, cache=folder.parent) == "(3,)"


@pytest.mark.parametrize("place", ["os.fdopen", "os.urandom", "os.replace"])
def test_errors_of_writing_are_ignored(folder, compile_count, monkeypatch, place):
    """A disk that is read-only, full or over its quota, or a folder without permission."""
    expected = ready()
    shutil.rmtree(folder)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "read-only file system")

    compile_count.clear()
    with monkeypatch.context() as patch:
        patch.setattr(place, refuse)
        np.testing.assert_array_equal(ready(), expected)
    assert len(compile_count) == 2
    assert not files(folder)
    assert not list(folder.glob(".new-*"))


@posix
def test_files_of_another_user_are_not_trusted(folder, compile_count, not_told, monkeypatch):
    expected = ready()
    monkeypatch.setattr(os, "getuid", lambda: os.geteuid() + 1)
    compile_count.clear()
    with pytest.warns(lw.LinkworkWarning, match=refused(folder)):
        np.testing.assert_array_equal(ready(), expected)
    assert len(compile_count) == 2


def test_a_folder_that_is_a_file_is_ignored(tmp_path, monkeypatch, compile_count):
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    for name in ("file", "file/below"):
        monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path / name))
        assert ready().shape == (6, 3)
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


def test_an_impossible_folder_is_ignored(monkeypatch):
    for name in ("/proc/nowhere/code", "x" * 5000, "/dev/null"):
        monkeypatch.setenv("LINKWORK_CACHE", name)
        assert ready().shape == (6, 3)


@pytest.mark.parametrize("off", ["off", "OFF", "0", "no", "none"])
def test_off_stores_nothing(tmp_path, monkeypatch, compile_count, off):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LINKWORK_CACHE", off)
    assert cache.cache_folder() is None
    ready()
    ready()
    assert len(compile_count) == 4
    assert not list(tmp_path.iterdir())


def test_by_default_code_is_stored_in_the_cache_folder_of_the_user(monkeypatch):
    monkeypatch.delenv("LINKWORK_CACHE")
    actual = cache.cache_folder()
    assert actual is not None
    assert actual.is_absolute()
    assert "linkwork" in actual.parts


NO_HOME = """
import pwd
def no_entry(uid): raise KeyError(f"getpwuid(): uid not found: {uid}")
pwd.getpwuid = no_entry
"""


@posix
@pytest.mark.parametrize("how", ["as installed", "as before platformdirs 4.1", "refused"])
def test_a_user_without_a_home_has_no_cache(tmp_path, how):
    """Containers may run with an unknown user id."""
    patch = {
        "as installed": "",
        "as before platformdirs 4.1": """
import platformdirs
platformdirs.user_cache_dir = lambda *_, **__: os.path.expanduser("~/.cache/linkwork")
""",
        "refused": """
import platformdirs
def refuse(*_, **__): raise RuntimeError("Could not determine home directory.")
platformdirs.user_cache_dir = refuse
""",
    }
    done = output_of(
        NO_HOME
        + patch[how]
        + f"""
for name in ("HOME", "XDG_CACHE_HOME", "LINKWORK_CACHE"): os.environ.pop(name, None)
os.chdir({str(tmp_path)!r})
from linkwork.engine.runtime.cache import cache_folder
kd = floater()
print(kd.com(kd.neutral()).shape, cache_folder())
kd.warmup()
"""
    )
    assert done == "(3,) None"
    assert not list(tmp_path.iterdir())


def test_several_processes_may_fill_one_cache_at_once(folder):
    code = """
    kd = floater()
    sys.stdin.readline()
    q = kd.random(9, seed=0)
    kd.warmup("mass_matrix", "com")
    print(repr(float(kd.mass_matrix(q).sum())), repr(float(kd.com(q).sum())))
    """
    processes = [start_python(code, cache=folder.parent) for _ in range(4)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    ends = [finish(process) for process in processes]
    assert [(returncode, err) for returncode, _, err in ends] == [(0, "")] * 4
    assert len({out for _, out, _ in ends}) == 1
    assert len(files(folder)) == 4
    assert not list(folder.glob(".new-*"))


def test_a_file_under_the_name_of_another_is_not_run(folder):
    """Its content is valid, but belongs to another function."""
    small = lw.KinDyn(hinge(BODY), floating=False)
    small.warmup("mass_matrix")
    mine = files(folder)
    large = floater()
    large.warmup("mass_matrix")
    others = [path for path in files(folder) if path not in mine]
    for own, other in zip(mine, others, strict=True):
        shutil.copyfile(other, own)
    code = """
    from linkwork.robots import load
    kd = lw.KinDyn(hinge(BODY), floating=False)
    kd.warmup("mass_matrix")
    found = kd.mass_matrix(np.array([[0.3], [0.4]]))
    print(np.round(found, 9).tolist())
    """
    expected = np.round(small.mass_matrix(np.array([[0.3], [0.4]])), 9).tolist()
    assert output_of(code, cache=folder.parent) == str(expected)


def test_functions_of_wrenches_and_gravity_have_separate_code(folder, compile_count):
    kd = floater()
    q, nu = kd.random(seed=0), np.zeros(8)
    plain = kd.inverse_dynamics(q, nu, nu)
    weightless = kd.inverse_dynamics(q, nu, nu, gravity=(0, 0, 0))
    pushed = kd.inverse_dynamics(q, nu, nu, wrenches={"tip": np.ones(6)})
    kd.warmup()
    again = floater()
    np.testing.assert_allclose(again.inverse_dynamics(q, nu, nu), plain, atol=1e-12)
    actual = again.inverse_dynamics(q, nu, nu, gravity=(0, 0, 0))
    np.testing.assert_allclose(actual, weightless, atol=1e-12)
    actual = again.inverse_dynamics(q, nu, nu, wrenches={"tip": np.ones(6)})
    np.testing.assert_allclose(actual, pushed, atol=1e-12)
    assert len({str(np.round(actual, 6)) for actual in (plain, weightless, pushed)}) == 3


def endings(folder: Path) -> list[str]:
    """Extensions of all files except the marker and the digest of the sources."""
    return sorted(
        path.suffix for path in folder.iterdir() if path.suffix not in (".sources", ".TAG")
    )


def test_quick_code_is_stored_until_there_is_fast_code(folder, monkeypatch, compile_count):
    """A process that ends early leaves quick code for the next one."""
    monkeypatch.setattr(compiled_program, "background", Never)
    expected = floater().com(floater().neutral())
    assert endings(folder) == [".program", ".quick"]
    compile_count.clear()
    again = floater()
    actual = again.function("com")
    monkeypatch.setattr(actual.code, "make_program", lambda: pytest.fail("it was traced"))
    np.testing.assert_array_equal(actual(again.neutral()), expected)
    assert not compile_count
    ready()
    assert endings(folder) == [".o", ".o", ".program"]


def test_fast_code_of_one_row_is_used_where_that_of_several_is_missing(folder, monkeypatch):
    ready()
    kd = floater()
    several = folder / f"{kd.function('com').code.cache_key(kd.function('com').code.width)}.o"
    several.unlink()
    monkeypatch.setattr(compiled_program, "background", Never)
    monkeypatch.setattr(
        kd.function("com").code, "make_program", lambda: pytest.fail("it was traced")
    )
    kd.com(kd.neutral())
    assert kd.function("com").code.level == compiled_program.FAST


@pytest.mark.parametrize("damage", [damage_truncated, damage_bit, damage_empty])
def test_damaged_quick_code_is_compiled_again(damage, folder, monkeypatch):
    monkeypatch.setattr(compiled_program, "background", Never)
    expected = floater().com(floater().neutral())
    (path,) = folder.glob("*.quick")
    damage(path)
    np.testing.assert_array_equal(floater().com(floater().neutral()), expected)
