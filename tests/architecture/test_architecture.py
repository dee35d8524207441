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
OPTIONAL = (
    "lxml",
    "typer",
    "rich",
    "llvmlite",
    "jax",
    "torch",
    "casadi",
    "mujoco",
    "viser",
    "gymnasium",
)


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


@pytest.mark.peers
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


PUBLIC = {
    *("ik", "IkResult", "view", "CollisionModel", "Obstacles", "plan", "Plan"),
    *("load_srdf", "SRDF", "Configuration", "Actuator", "spherize", "Spherization", "LinkCover"),
    *(
        "load",
        "dump_mjcf",
        "dump_urdf",
        "dump_sdf",
        "dump_usd",
        "check",
        "describe",
        "compile",
        "export",
        "linalg",
        "robots",
    ),
    *(
        "Simulation",
        "SimulationState",
        "VectorEnv",
        "implicit",
        "parameters",
        "repeat",
        "rollout",
        "Rollout",
        "spatial",
        "stop_gradient",
    ),
    *("KinDyn", "Kernel", "Model", "ModelBuilder", "ConstrainedKinDyn", "Contact", "Constraint"),
    *("assemble", "AssemblyResult"),
    *("Link", "Joint", "Frame", "Limits", "Mimic", "Pose"),
    *("Inertia", "solid_box", "solid_cylinder", "solid_sphere", "point_mass"),
    *("Shape", "Material", "Box", "Cylinder", "Capsule", "Sphere", "Mesh"),
    *("LinkworkError", "LinkworkWarning", "Finding", "FindingsError", "ParseError", "ModelError"),
    *("ArgumentError", "FrozenError", "MissingFileError", "MissingPackageError", "ShapeError"),
    *("load_workcell", "dump_workcell", "WriteError"),
    *("NameNotFoundError", "SingularJointError", "SourceError", "StateError", "ValueRangeError"),
    *("WorkCell", "State", "SerialDevice", "TreeDevice", "JointDevice", "CompositeDevice"),
    *("MobileDevice", "FreeDevice", "SlowCompileWarning", "FloatingBaseWarning"),
}


@pytest.mark.peers
def test_what_is_imported_later_is_what_type_checkers_see():
    seen = {
        alias.asname: getattr(importlib.import_module(node.module), alias.name)
        for node in ast.parse(Path(f"{linkwork.__file__}i").read_text()).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    seen["compile"] = importlib.import_module("linkwork.engine.kernel.compile").compile_function
    assert set(seen) == {*linkwork._LATER, *linkwork._MODULES}
    for name, value in seen.items():
        assert getattr(linkwork, name) is value or name == "export"


def test_importing_linkwork_imports_no_other_package():
    """It is fast: what is used is imported when it is used."""
    code = """
import sys
before = set(sys.modules)
import linkwork
found = {name.partition(".")[0] for name in set(sys.modules) - before}
print(found - set(sys.stdlib_module_names), sorted(n for n in sys.modules if "linkwork." in n))
"""
    # the engine holds the names of the bridges, and imports nothing
    assert run(code) == "{'linkwork'} ['linkwork.engine', 'linkwork.version']"


READERS = {
    "urdf": '<robot name="r"><link name="a"/></robot>',
    "sdf": '<sdf version="1.9"><model name="m"><link name="a"/></model></sdf>',
    "mjcf": '<mujoco><worldbody><body name="a"><geom size="1"/></body></worldbody></mujoco>',
}


@pytest.mark.parametrize("name", READERS)
def test_loading_a_robot_imports_the_reader_of_its_format_only(name):
    code = f"""
import sys, warnings
import linkwork
warnings.simplefilter("ignore")
linkwork.load({READERS[name]!r})
modules = [module for module in sys.modules if module.startswith("linkwork.")]
readers = {{module.split(".")[2] for module in modules if module.endswith(".reader")}}
print(len(modules), *sorted(readers))
"""
    count, *readers = run(code).split()

    assert readers == [name]
    assert int(count) <= 80  # 65 for URDF


def public_names():
    return [name for name in dir(linkwork) if not name.startswith("_")]


def test_public_names_are_these_and_no_module_leaks():
    assert public_names() == sorted(PUBLIC)


def test_every_error_is_public():
    errors = importlib.import_module("linkwork.errors")
    defined = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type)
        and issubclass(value, Exception)
        and value.__module__ == errors.__name__
    }
    assert defined <= PUBLIC


@pytest.mark.peers
def test_public_names_are_documented():
    assert all(getattr(linkwork, name).__doc__ for name in public_names())


def test_a_name_that_nobody_has_is_no_attribute():
    for name, hint in (
        ("KinDin", "'KinDyn'"),
        ("rnea", r"kd\.inverse_dynamics"),
        ("com", r"kd\.com"),
    ):
        with pytest.raises(AttributeError, match=f"module 'linkwork' .*'{name}'.*{hint}"):
            getattr(linkwork, name)
    assert not hasattr(linkwork, "_private")


@pytest.mark.peers
def test_layers_are_kept():
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
