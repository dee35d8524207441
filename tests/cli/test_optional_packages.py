"""Only the command line needs typer and rich: the library works without them."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

BLOCKED = """
import sys, warnings
for name in ("typer", "rich", "click"):
    sys.modules[name] = None  # importing it raises
warnings.simplefilter("ignore")
"""
LIBRARY = """
import pickle
import linkwork as lw
model = lw.load("arm")
kd = lw.KinDyn(model, floating=False)
q = kd.neutral()
print(model, repr(kd), model._repr_html_()[:20])
print(lw.check(model), lw.dump_urdf(model)[:20], kd.mass_matrix(q).shape)
lw.ik(kd, {"tool": kd.transform("tool", q)}, q)
print(lw.load_workcell("two_arms"))
assert pickle.loads(pickle.dumps(kd)).nv == kd.nv
import linkwork.bridges, linkwork.collision, linkwork.export, linkwork.robots
import linkwork.compat.cards, linkwork.compat.idyntree, linkwork.compat.pinnzoo
import linkwork.compat.pinocchio, linkwork.compat.robwork, linkwork.compat.mujoco
from linkwork.compat.adam import KinDynComputations
KinDynComputations(lw.dump_urdf(lw.load("quadruped"))).model.print_table()
print(linkwork.compat.cards.card("adam").name)
"""


def run_without_them(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BLOCKED + code], capture_output=True, text=True, check=False
    )


def test_the_library_works_without_the_packages_of_the_command_line():
    done = run_without_them(LIBRARY)

    assert (done.returncode, done.stderr) == (0, "")
    assert "arm" in done.stdout
    assert "Joint name" in done.stdout


def test_they_are_blocked_in_these_tests():
    assert find_spec("typer") is not None
    assert "typer" in run_without_them("import linkwork.cli.main").stderr


def test_the_command_explains_what_to_install():
    done = run_without_them("from linkwork.cli import run; run()")
    assert done.returncode == 1
    assert done.stderr.startswith("linkwork: error: ")
    assert "pip install typer rich" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_module_outside_of_the_command_line_imports_them():
    code = """
import pkgutil, linkwork
names = [m.name for m in pkgutil.walk_packages(linkwork.__path__, "linkwork.", onerror=lambda _: 0)]
own = [n for n in names if not n.startswith("linkwork.cli")]
import importlib, contextlib
for name in own:
    try:
        importlib.import_module(name)
    except ImportError as error:
        assert getattr(error, "name", "") not in ("typer", "rich", "click"), (name, error)
"""
    done = run_without_them(code)
    assert done.returncode == 0, done.stderr
