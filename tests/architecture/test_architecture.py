"""The shape of the package: what imports what, what an import does, what is exported."""

import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import linkwork

ROOT = Path(linkwork.__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
OPTIONAL = ("lxml", "typer", "rich", "llvmlite", "jax", "torch", "casadi", "mujoco", "viser")


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_importing_linkwork_loads_numpy_and_the_standard_library_only():
    code = f"""
import sys, linkwork
print([name for name in {OPTIONAL!r} if name in sys.modules])
"""
    assert run(code) == "[]"


def test_importing_linkwork_changes_nothing_global():
    code = """
import locale, logging, os, random, sys, threading, warnings
import numpy as np
def state():
    return (warnings.filters[:], np.get_printoptions(), np.geterr(), sys.getrecursionlimit(),
            logging.getLogger().level, logging.getLogger().handlers[:], dict(os.environ),
            random.getstate(), np.random.get_state()[1].tolist(), threading.active_count(),
            locale.setlocale(locale.LC_ALL), sys.excepthook, os.getcwd())
before = state()
import linkwork
print(before == state())
"""
    assert run(code) == "True"


def test_every_module_can_be_imported():
    names = [m.name for m in pkgutil.walk_packages(linkwork.__path__, "linkwork.")]

    assert len(names) > 30
    for name in names:
        importlib.import_module(name)


@pytest.mark.parametrize("path", [p for p in SOURCES if p.name == "__init__.py"], ids=str)
def test_what_a_package_exports_exists(path):
    module = importlib.import_module(".".join(path.relative_to(ROOT / "src").parent.parts))
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                assert hasattr(module, alias.asname or alias.name)


def test_public_names_are_documented():
    public = [getattr(linkwork, name) for name in dir(linkwork) if not name.startswith("_")]

    assert all(thing.__doc__ for thing in public)


def test_layers_are_kept():
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT / "src")))
def test_a_file_holds_one_idea(path):
    """A file longer than 400 lines holds two."""
    assert len(path.read_text().splitlines()) <= 400
