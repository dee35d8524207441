"""`tools/check_install.py`, which decides whether a wheel may be published."""

from __future__ import annotations

import shutil
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import linkwork as lw

TOOL = Path(__file__).parents[2] / "tools" / "check_install.py"


@pytest.fixture(scope="module")
def tool():
    spec = spec_from_file_location("check_install", TOOL)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def installed(tool, tmp_path, monkeypatch):
    """A folder with the extensions of this installation alone; nothing is imported from it."""
    folder = Path(lw.__file__).parent
    for name in tool.extensions():
        place = Path(*name.split(".")[1:-1])
        for path in (folder / place).glob(f"{name.rpartition('.')[2]}.*[!c]"):  # no C file
            (tmp_path / place).mkdir(parents=True, exist_ok=True)
            shutil.copy(path, tmp_path / place)
    built = {path.name.partition(".")[0]: path for path in tmp_path.rglob("_*.*")}
    modules = {name: type(sys)(name) for name in tool.extensions()}
    for name, module in modules.items():
        module.__file__ = str(built.get(name.rpartition(".")[2]))
    monkeypatch.setattr(tool, "import_module", modules.__getitem__)
    return tmp_path


def test_a_wheel_without_one_of_the_extensions_fails(tool, installed):
    tool.check_extensions(installed)
    for path in sorted(installed.rglob("_*.*")):
        content = path.read_bytes()
        path.unlink()
        with pytest.raises(AssertionError, match=path.name.partition(".")[0]):
            tool.check_extensions(installed)
        path.write_bytes(content)


def test_the_checks_use_workcells_and_the_planner(tool, monkeypatch):
    tool.check_workcell()
    tool.check_plan()
    plan = lw.plan
    monkeypatch.setattr(lw, "plan", lambda *args: plan(*args[:3]), raising=False)  # no obstacles
    with pytest.raises(AssertionError, match="found"):
        tool.check_plan()
