"""One cache shared by several versions of linkwork and LLVM, and full disks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from tests.support.kernels import floater, output_of

import linkwork as lw
from linkwork.engine.runtime import processor
from linkwork.engine.runtime.cache import SUBFOLDER

CODE = """
import sys, linkwork as lw
kd = lw.KinDyn(lw.robots.load("double_pendulum"), floating=True)
kd.warmup("com")
print(lw.__version__, float(kd.com(kd.neutral())[0]), "llvmlite" in sys.modules)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LINKWORK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / SUBFOLDER


def run(package_folder: Path) -> list[str]:
    others = [path for path in (os.environ.get("PYTHONPATH"),) if path]
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join([str(package_folder), *others])}
    command = [sys.executable, "-c", textwrap.dedent(CODE)]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_versions_do_not_read_each_others_code(tmp_path, folder):
    """The other one adds 1 to the first coordinate of the center of mass, and nothing else tells
    them apart: it has the same number."""
    here = Path(lw.__file__).parents[1]
    shutil.copytree(here / "linkwork", tmp_path / "linkwork")
    com = tmp_path / "linkwork" / "algorithms" / "centroidal" / "com.py"
    text = com.read_text()
    expected = "    return [*base.o + base.R @ c]\n"
    assert expected in text
    com.write_text(
        text.replace(expected, expected.replace("base.o", "Vec(1.0, 0.0, 0.0) + base.o"))
    )
    first = run(here)
    stored = {path.name for path in folder.glob("*.o")}
    other = run(tmp_path)
    assert float(other[1]) == pytest.approx(float(first[1]) + 1.0)
    assert stored < {path.name for path in folder.glob("*.o")}
    if processor.IS_LINUX_ON_X86_64:  # both find their own code: neither needs LLVM
        assert run(here) == [*first[:2], "False"]
        assert run(tmp_path) == [*other[:2], "False"]


def test_versions_of_llvm_have_separate_code(folder, monkeypatch):
    floater().warmup("com")
    ours = set(folder.glob("*.o"))
    machine = processor.this_machine()
    monkeypatch.setattr(
        "linkwork.engine.runtime.backends.this_machine",
        lambda: processor.Machine(f"{machine.name}|another LLVM", machine.lanes),
    )
    floater().warmup("com")
    assert len(set(folder.glob("*.o")) - ours) == len(ours) == 2
    assert ours < set(folder.glob("*.o"))


@pytest.mark.skipif(sys.platform == "win32", reason="limits are others there")
@pytest.mark.parametrize("limit", [0, 20_000])
def test_a_file_that_cannot_be_written_to_its_end_leaves_nothing(tmp_path, limit):
    """As on a full disk: writing fails in the middle of a file."""
    done = output_of(
        f"""
        import resource
        resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
        kd = lw.KinDyn(lw.robots.load("arm"), floating=True)
        kd.warmup("mass_matrix")
        M = kd.mass_matrix(kd.neutral())
        print(float(M.sum()))
        """,
        cache=tmp_path,
    )
    kd = lw.KinDyn(lw.robots.load("arm"), floating=True)
    assert float(done) == pytest.approx(float(np.sum(kd.mass_matrix(kd.neutral()))), rel=1e-9)
    folder = tmp_path / SUBFOLDER
    assert all(0 < path.stat().st_size <= limit for path in folder.iterdir())
    assert not list(folder.glob(".new-*"))
