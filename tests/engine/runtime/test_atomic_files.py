"""Writing of files: complete or not at all, and never through a link."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import linkwork as lw
from linkwork.engine.runtime import atomic_files
from linkwork.engine.runtime.atomic_files import write_file


@pytest.mark.parametrize("data", [b"\xff\0new", "n\u00e9w"])
def test_content_replaces_a_file_which_keeps_its_mode(data, tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o640)

    write_file(path, data)

    assert path.read_bytes() == (data if isinstance(data, bytes) else data.encode())
    assert stat.S_IMODE(path.stat().st_mode) == 0o640 or os.name != "posix"
    assert list(tmp_path.iterdir()) == [path]


def test_error_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")
    monkeypatch.setattr(atomic_files.os, "replace", lambda *_, **__: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        write_file(path, "new")

    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.filterwarnings("ignore::linkwork.LinkworkWarning")
@pytest.mark.parametrize("writer", ["urdf", "mjcf", "sdf", "workcell"])
def test_link_at_the_path_of_a_robot_file_is_not_followed(writer, tmp_path):
    """In a folder that others can write to, it may lead anywhere."""
    victim, path = tmp_path / "victim", tmp_path / "out"
    victim.write_text("precious")
    path.symlink_to(victim)
    arm = lw.load("arm")
    write = {
        "urdf": lambda: lw.dump_urdf(arm, path),
        "mjcf": lambda: lw.dump_mjcf(arm, path),
        "sdf": lambda: lw.dump_sdf(arm, path),
        "workcell": lambda: lw.dump_workcell(lw.WorkCell(name="c"), path),
    }

    text = write[writer]()

    assert victim.read_text() == "precious"
    assert path.read_text(encoding="utf-8") == text
    assert not path.is_symlink()


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="no such device")
def test_devices_are_written_to(tmp_path):
    code = "from linkwork.engine.runtime.atomic_files import write_file; write_file('{}', 'new')"
    command = [sys.executable, "-c", code.format("/dev/stdout")]

    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout == "new"
