"""Messages that name packages to install: pip must find them, and linkwork is on no index yet."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.kernels import output_of

import linkwork as lw
from linkwork.io.mesh_files import MESH_PACKAGES
from linkwork.io.named_robots import EXAMPLES
from linkwork.viewer.drawing import VIEWER_PACKAGES

ROOT = Path(__file__).parents[2]


def test_no_message_installs_an_extra_of_linkwork():
    sources = list(Path(lw.__file__).parent.rglob("*.py"))
    advice = [text for path in sources for text in re.findall(r"linkwork\[\w+\]", path.read_text())]
    assert len(sources) > 300
    assert not advice


def test_packages_in_messages_are_dependencies_of_an_extra():
    """What a message names is tested: it is in an extra, or in the packages of the tests."""
    text = (ROOT / "pyproject.toml").read_text()
    known = set(re.findall(r'"([A-Za-z][\w-]*)(?:\[\w+\])?[>=]=', text))
    named = {EXAMPLES, *MESH_PACKAGES, *VIEWER_PACKAGES}
    for path in Path(lw.__file__).parent.rglob("*.py"):
        for call in re.findall(r"raise missing_package\((.*)\)", path.read_text()):
            named |= set(re.findall(r'"([\w\[\]-]+)"', call.partition(",")[2]))
    assert {"coal", "mujoco", "casadi"} <= named
    assert {name.partition("[")[0] for name in named} <= known


@pytest.mark.parametrize(
    ("statement", "package"),
    [
        ("linkwork.VectorEnv", "gymnasium"),
        ("import linkwork.envs.quadruped", "gymnasium"),
        ("import linkwork.envs.stable_baselines3", "gymnasium"),
        ("import linkwork.torch", "torch"),
        ("import linkwork.jax", "jax"),
        ("import linkwork.compat.adam.pytorch", "torch"),
        ("import linkwork.compat.adam.jax", "jax"),
        ("import linkwork.casadi as c; c.KinDyn(linkwork.load('arm'), floating=False)", "casadi"),
        ("linkwork.view(linkwork.load('arm'))", "viser"),
        ("linkwork.load('<mujoco/>')", "mujoco"),
        ("linkwork.dump_usd(linkwork.load('arm'))", "usd-core"),
    ],
)
def test_what_needs_a_package_names_it(statement, package):
    module = {"usd-core": "pxr"}.get(package, package)
    code = f"""
import sys
sys.modules["{module}"] = None
import linkwork
try:
    {statement}
except linkwork.MissingPackageError as error:
    print(error)
"""
    assert f"pip install {package}" in output_of(code)
