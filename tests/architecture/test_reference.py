"""Every public name is on a reference page.

A page contains `::: name` and options, which mkdocstrings renders: a class with its public methods
(inherited ones on request), a module with the names listed as `members`, or else with the names
that it defines or has in `__all__`.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import linkwork as lw

ROOT = Path(lw.__file__).parents[2]
DIRECTIVE = re.compile(r"^::: ([\w.]+)\n((?:    .*\n)*)", re.MULTILINE)
PAGES = [*sorted((ROOT / "docs" / "reference").glob("*.md")), ROOT / "docs" / "export.md"]
MODULES = (
    "linkwork.parameters",
    "linkwork.spatial.so3",
    "linkwork.spatial.quat",
    "linkwork.spatial.se3",
    "linkwork.spatial.motion",
    "linkwork.spatial.inertia",
    "linkwork.compat.adam",
    "linkwork.compat.idyntree",
    "linkwork.compat.pinocchio",
    "linkwork.compat.mujoco",
    "linkwork.compat.pinnzoo",
    "linkwork.compat.robwork",
    "linkwork.torch",
    "linkwork.jax",
    "linkwork.casadi",
)
CLASSES = (
    "linkwork.KinDyn",
    "linkwork.Model",
    "linkwork.WorkCell",
    "linkwork.State",
    "linkwork.Rollout",
    "linkwork.workcell.kinematics.device.Device",
    "linkwork.workcell.dynamics.device_dynamics.CellDynamics",
    "linkwork.viewer.Viewer",
)


def resolved(path: str) -> object:
    """The object with a dotted name."""
    parts = path.split(".")
    for k in range(len(parts), 0, -1):
        try:
            value: object = importlib.import_module(".".join(parts[:k]))
        except ModuleNotFoundError:
            continue
        for part in parts[k:]:
            value = getattr(value, part)
        return value
    raise AssertionError(path)


def public(value: object) -> set[str]:
    """Names that are not private and not modules."""
    names = {name for name in dir(value) if not name.startswith("_") and name != "annotations"}
    return {name for name in names if not inspect.ismodule(getattr(value, name))}


@cache
def rendered() -> frozenset[str]:
    """All names that the pages render, as written there."""
    names: set[str] = set()
    for page in PAGES:
        for path, options in DIRECTIVE.findall(page.read_text(encoding="utf-8") + "\n"):
            names.add(path)
            names |= {f"{path}.{member}" for member in members(resolved(path), options)}
    return frozenset(names)


def members(value: object, options: str) -> set[str]:
    listed = re.search(r"members:(?: \[(.*)\]|((?:\n +- \w+)+))\n", options)
    if listed:
        return set(re.findall(r"\w+", listed[1] or listed[2]))
    if re.search(r"^ +members: false", options, re.MULTILINE):
        return set()
    if re.search(r"^ +members: true", options, re.MULTILINE):
        return public(value)
    if isinstance(value, ModuleType):
        everything = set(getattr(value, "__all__", ()))
        own = {
            n
            for n in public(value)
            if getattr(getattr(value, n), "__module__", "") == value.__name__
        }
        return everything | own
    if not inspect.isclass(value):
        return set()
    inherited = "inherited_members: true" in options
    return {name for name in public(value) if inherited or name in vars(value)}


@pytest.mark.peers
def test_names_on_the_pages_exist():
    assert len(rendered()) > 500
    for name in rendered():
        resolved(name)


@pytest.mark.peers
def test_every_name_of_linkwork_is_on_a_page():
    """Under that name, or where it is defined."""
    names = [name for name in dir(lw) if not name.startswith("_")]
    assert len(names) > 50
    objects = {id(resolved(name)) for name in rendered()}
    missing = [name for name in names if id(getattr(lw, name)) not in objects]
    assert missing == []


@pytest.mark.peers
@pytest.mark.parametrize("path", MODULES)
def test_every_name_of_a_module_is_on_a_page(path):
    module = importlib.import_module(path)
    names = set(getattr(module, "__all__", ())) or public(module)
    assert names
    assert {f"{path}.{name}" for name in names} - rendered() == set()


@pytest.mark.peers
@pytest.mark.parametrize("path", CLASSES)
def test_every_method_of_a_class_is_on_a_page(path):
    value = resolved(path)
    names = {f"{path}.{name}" for name in public(value)}
    assert names - rendered() == set()


@pytest.mark.peers
def test_every_name_on_a_page_has_a_docstring():
    undocumented = [
        name
        for name in rendered()
        if (inspect.isroutine(resolved(name)) or inspect.isclass(resolved(name)))
        and not name.startswith(("linkwork.compat.idyntree", "linkwork.compat.robwork"))
        and not inspect.getdoc(resolved(name))
    ]
    assert undocumented == []


SHOWN_BY_EXAMPLE = (
    *("transform", "velocity", "jacobian", "com", "integrate"),
    *("mass_matrix", "inverse_dynamics", "forward_dynamics", "bias_force", "gravity_force"),
)


@pytest.mark.parametrize("name", SHOWN_BY_EXAMPLE)
def test_the_example_of_a_method_prints_the_output_shown(name):
    text = inspect.getdoc(getattr(lw.KinDyn, name)) or ""
    example = doctest.DocTestParser().get_doctest(text, {"lw": lw, "np": np}, name, None, None)
    report: list[str] = []

    result = doctest.DocTestRunner(verbose=False).run(example, out=report.append)

    assert result.attempted >= 2
    assert report == []


@pytest.mark.peers
@pytest.mark.parametrize("framework", ["torch", "jax", "casadi"])
def test_methods_for_other_arrays_have_no_examples_of_numpy(framework):
    bridge = importlib.import_module(f"linkwork.{framework}")

    for name in SHOWN_BY_EXAMPLE:
        text = inspect.getdoc(getattr(bridge.KinDyn, name)) or ""
        assert text
        assert ">>>" not in text, name


def test_the_index_names_everything_in_linkwork():
    page = (ROOT / "docs" / "reference" / "index.md").read_text(encoding="utf-8")
    names = {name for name in dir(lw) if not name.startswith("_")}

    assert names - set(re.findall(r"`(\w+)`", page)) == set()
